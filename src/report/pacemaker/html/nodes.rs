//! Hosts with their capacities, and the effect of the loss of each.

use maud::html;

use super::PlacementPage;
use crate::model::shown::shown_name;
use crate::pacemaker::loss::HostLoss;
use crate::pacemaker::{AttributeIdx, Capacities, HostIdx, by_shown_name};
use crate::report::form::html::bars::{SharePair, change_text};
use crate::report::form::html::grid::{Grid, GridCell, GridColumn, GridRow};
use crate::report::form::html::{Section, class, sign};
use crate::report::form::table::Align;
use crate::report::form::tone::Tone;
use crate::report::pacemaker::changes::primitives;
use crate::report::pacemaker::text::state;

/// The resources of a host, and the effect of its loss.
#[derive(Clone, Default)]
struct HostTally<'a> {
    /// Capacity that the running resources use.
    used: Capacities,
    /// Number of resources that run there now.
    before: usize,
    /// Number of resources that run there after the transition.
    after: usize,
    loss: Option<&'a HostLoss>,
}

impl PlacementPage<'_> {
    /// Capacity in use on each host, now and then.
    pub(super) fn nodes(&self) -> Option<Section> {
        let kinds: Vec<(AttributeIdx, String)> = self
            .set
            .attribute_indices()
            .map(|kind| (kind, shown_name(&self.set.attributes[kind.get()])))
            .collect();
        let tallies = self.tallies();
        let row = |host: HostIdx| self.node_row(host, &kinds, &tallies[host.get()]);
        let mut columns: Vec<GridColumn<'_>> = vec![("Node", Align::Left), ("State", Align::Left)];
        columns.extend(kinds.iter().map(|(_, name)| (name.as_str(), Align::Left)));
        columns.extend([("Resources", Align::Right), ("If it is lost", Align::Left)]);
        let grid = Grid {
            id: "node-table",
            caption: "Nodes, with their capacities",
            columns,
            rows: by_shown_name(self.set).into_iter().map(row).collect(),
            noun: Some("node"),
        };
        let body = html! {
            p class="legend" {
                span { span class="key b" {} "in use now" }
                span { span class="key a" {} "in use afterwards" }
            }
            (grid.some()?)
        };
        Section::of("nodes", "Nodes", Some(body))
    }

    /// The tally of each host.
    fn tallies(&self) -> Vec<HostTally<'_>> {
        let mut tallies = vec![HostTally::default(); self.set.hosts.len()];
        for resource in primitives(self.set) {
            let of = self.set.resource(resource);
            for host in of.active_hosts() {
                let tally = &mut tallies[host.get()];
                tally.used.add(&of.utilization);
                tally.before += 1;
            }
            if let Some(host) = self.plan.changes.get(resource).runs_on() {
                tallies[host.get()].after += 1;
            }
        }
        for loss in self.survival.iter().flat_map(|survival| survival.losses) {
            if let [host] = loss.hosts[..] {
                tallies[host.get()].loss = Some(loss);
            }
        }
        tallies
    }

    fn node_row(&self, host: HostIdx, kinds: &[(AttributeIdx, String)], tally: &HostTally<'_>) -> GridRow {
        let of = self.set.host(host);
        let HostTally { used, before, after, loss } = tally;
        let counts = change_text(&before.to_string(), Some(&after.to_string()));
        let capacity = |kind: &(AttributeIdx, String)| {
            let all = of.capacity.get(kind.0);
            capacity_cell(all, used.get(kind.0), all - self.placed.remaining[host.get()].get(kind.0))
        };
        let mut cells = vec![GridCell::name(self.host(host)), state_cell(state(self.set, host))];
        cells.extend(kinds.iter().map(capacity));
        cells.push(GridCell::number(counts, *before as f64));
        cells.push(loss_cell(*loss));
        GridRow { cells, changes: before != after }
    }
}

/// Effect of the loss of a host, in short; empty if it was not tried.
fn loss_cell(loss: Option<&HostLoss>) -> GridCell {
    let Some(loss) = loss else { return GridCell::text("") };
    let (tone, text) = match loss.down.len() {
        0 => (Tone::Good, "everything runs on".to_owned()),
        1 => (Tone::Bad, "1 resource stays down".to_owned()),
        count => (Tone::Bad, format!("{count} resources stay down")),
    };
    GridCell::of(html! { span class=[class(tone)] { (sign(tone)) (text) } })
}

fn state_cell(state: &str) -> GridCell {
    let class = if state == "online" { "" } else { "bad" };
    GridCell::of(html! { span class={ "badge " (class) } { (state) } })
}

/// A kind of capacity: the amounts in use now and afterwards, of the whole.
fn capacity_cell(all: i64, before: i64, after: i64) -> GridCell {
    if (all, before, after) == (0, 0, 0) {
        return GridCell::text("");
    }
    let share = |used: i64| if all > 0 { used as f64 / all as f64 } else { f64::from(used > 0) };
    let pair = SharePair { before: share(before), after: Some(share(after)) };
    let text = change_text(&before.to_string(), Some(&after.to_string()));
    GridCell::bar(pair, None, format!("{text} of {all}"), share(before))
}
