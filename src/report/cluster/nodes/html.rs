//! Nodes with bars, before and after, the worst first.

use maud::html;

use super::NodeMemory;
use crate::model::number::fixed;
use crate::model::{Cluster, Mib, Node, NodeIdx};
use crate::report::form::amount::amount;
use crate::report::form::html::bars::{SharePair, change_text};
use crate::report::form::html::grid::{Grid, GridCell, GridColumn, GridRow};
use crate::report::form::html::words::unbroken;
use crate::report::form::html::{Section, alias};
use crate::report::form::table::Align;

/// Nodes of a cluster, and the same nodes afterwards, if they change.
pub(in crate::report) struct NodeRows<'a> {
    pub before: &'a Cluster,
    pub after: Option<&'a Cluster>,
    pub nodes: &'a [NodeIdx],
}

/// Figures of a node at one moment.
#[derive(Debug, Clone, PartialEq)]
struct NodeShares {
    offline: bool,
    fails: bool,
    memory: f64,
    reserved: f64,
    reserve: Mib,
    disk: f64,
    cpus: f64,
    load: f64,
    instances: (usize, usize),
}

impl NodeShares {
    fn of(node: &Node) -> NodeShares {
        let (spec, ledger) = (&node.spec, &node.state.ledger);
        let memory = NodeMemory::of(node);
        NodeShares {
            offline: spec.offline,
            fails: ledger.n1_fail && !spec.offline,
            memory: memory.share_in_use(),
            reserved: memory.share_reserved(),
            reserve: memory.reserved,
            disk: 1.0 - ledger.free_disk_ratio(spec),
            cpus: ledger.vcpus as f64 / (spec.cpu_total * spec.vcpu_ratio),
            load: ledger.load.cpu,
            instances: (node.state.primaries.len(), node.state.secondaries.len()),
        }
    }

    fn is_in_trouble(&self) -> bool {
        self.fails || self.offline && self.instances != (0, 0)
    }
}

const COLUMNS: [GridColumn<'static>; 8] = [
    ("Node", Align::Left),
    ("State", Align::Left),
    ("Memory", Align::Left),
    ("Reserve", Align::Right),
    ("Disk", Align::Left),
    ("CPUs", Align::Left),
    ("Load", Align::Left),
    ("Instances", Align::Right),
];

/// Properties of all nodes that each row depends on.
#[derive(Clone, Copy)]
struct NodeScale {
    /// Load of the busiest node.
    heaviest: f64,
    has_secondaries: bool,
    shows_groups: bool,
}

impl NodeRows<'_> {
    /// The section with all nodes.
    pub(in crate::report) fn section(&self) -> Option<Section> {
        let mut nodes: Vec<(&Node, NodeShares, Option<NodeShares>)> = self
            .nodes
            .iter()
            .map(|n| {
                let node = self.before.node(*n);
                (node, NodeShares::of(node), self.after.map(|after| NodeShares::of(after.node(*n))))
            })
            .collect();
        nodes.sort_by(|(_, a, a_after), (_, b, b_after)| {
            let trouble = |now: &NodeShares, then: &Option<NodeShares>| {
                now.is_in_trouble() || then.as_ref().is_some_and(NodeShares::is_in_trouble)
            };
            let full = |figures: &NodeShares| {
                if figures.offline { -1.0 } else { figures.memory + figures.reserved }
            };
            trouble(b, b_after).cmp(&trouble(a, a_after)).then(full(b).total_cmp(&full(a)))
        });
        let loads = nodes.iter().flat_map(|(_, now, then)| [Some(now), then.as_ref()]).flatten();
        let heaviest = loads.map(|figures| figures.load).filter(|load| load.is_finite()).fold(0.0, f64::max);
        let scale = NodeScale {
            heaviest,
            has_secondaries: self.has_secondaries(),
            shows_groups: self.shows_groups(),
        };
        let rows = nodes.iter().map(|(node, now, then)| self.row(node, now, then.as_ref(), scale));
        let grid = Grid {
            id: "node-table",
            caption: "Nodes, with what of them is in use",
            columns: COLUMNS.to_vec(),
            rows: rows.collect(),
            noun: Some("node"),
        };
        let body = html! { (self.legend(scale)) (grid.some()?) };
        Section::of("nodes", "Nodes", Some(body))
    }

    fn legend(&self, scale: NodeScale) -> maud::Markup {
        html! {
            p class="legend" {
                @if self.after.is_some() {
                    span { span class="key b" {} "before" }
                    span { span class="key a" {} "after" }
                } @else {
                    span { span class="key a" {} "in use" }
                }
                span { span class="key r" {} "memory reserved for failovers (N+1)" }
                span { "CPUs: virtual CPUs in use, of those that the policy allows" }
                span { "Load: processor load; the bar compares it with that of the busiest node" }
                @if !self.before.is_load_measured() { span { "load not measured: every instance counts 1" } }
                @if scale.has_secondaries {
                    span { "Instances 5+2: 5 with their primary node here, 2 with their secondary node here" }
                }
            }
        }
    }

    fn row(&self, node: &Node, now: &NodeShares, then: Option<&NodeShares>, scale: NodeScale) -> GridRow {
        let pair = |of: fn(&NodeShares) -> f64| SharePair { before: of(now), after: then.map(of) };
        let text = |of: &dyn Fn(&NodeShares) -> String| change_text(&of(now), then.map(of).as_deref());
        let beside = |load: f64| if scale.heaviest > 0.0 { load / scale.heaviest } else { 0.0 };
        let load = SharePair { before: beside(now.load), after: then.map(|then| beside(then.load)) };
        let instances = |f: &NodeShares| match scale.has_secondaries {
            true => format!("{}+{}", f.instances.0, f.instances.1),
            false => f.instances.0.to_string(),
        };
        let name = html! { (unbroken(alias(self.before, &node.spec.name))) @if scale.shows_groups { " " small { (self.before.group(node.spec.group).name) } } };
        GridRow {
            cells: vec![
                GridCell::of(name),
                state(node, now, then),
                GridCell::share(pair(|f| f.memory), Some(pair(|f| f.reserved))),
                GridCell::number(text(&|f| amount(f.reserve)), now.reserve.as_f64()),
                GridCell::share(pair(|f| f.disk), None),
                GridCell::share(pair(|f| f.cpus), None),
                GridCell::bar(load, None, text(&|f| fixed(f.load, 2)), now.load),
                GridCell::number(text(&instances), (now.instances.0 + now.instances.1) as f64),
            ],
            changes: then.is_some_and(|then| then != now),
        }
    }

    /// Tells if some instance has a secondary node, before or after.
    fn has_secondaries(&self) -> bool {
        let clusters = [Some(self.before), self.after].into_iter().flatten();
        clusters.flat_map(|cluster| &cluster.instances).any(|instance| instance.secondary.is_some())
    }

    fn shows_groups(&self) -> bool {
        let group = |n: &NodeIdx| self.before.node(*n).spec.group;
        self.nodes.iter().any(|n| group(n) != group(&self.nodes[0]))
    }
}

/// The state of a node, as badges.
fn state(node: &Node, now: &NodeShares, then: Option<&NodeShares>) -> GridCell {
    let then = then.unwrap_or(now);
    let badges = [
        node.spec.master.then_some(("", "master")),
        match (now.offline, then.offline) {
            (false, false) => None,
            (true, true) => Some(("", "offline")),
            (false, true) => Some(("", "goes offline")),
            (true, false) => Some(("", "comes online")),
        },
        match (now.fails, then.fails) {
            (false, false) => None,
            (true, true) => Some(("bad", "⚠ fails N+1")),
            (false, true) => Some(("bad", "⚠ will fail N+1")),
            (true, false) => Some(("good", "✓ N+1 mended")),
        },
        match (now.offline && now.instances != (0, 0), then.instances) {
            (false, _) => None,
            (true, (0, 0)) => Some(("good", "✓ is left")),
            (true, _) => Some(("bad", "⚠ holds instances")),
        },
    ];
    GridCell::of(html! {
        @for (class, text) in badges.into_iter().flatten() { span class={ "badge " (class) } { (text) } " " }
    })
}
