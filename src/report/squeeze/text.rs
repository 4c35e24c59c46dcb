//! Plans of hsqueeze as text.

use crate::model::number::counted;
use crate::model::shown::printable;
use crate::model::standby::NodeSize;
use crate::model::{Cluster, NodeIdx};
use crate::plan::opcode::PowerCommand;
use crate::plan::switching::Switching;
use crate::report::why::words::{EXPOSED, hindrance_words, node_text};
use crate::search::squeeze::standby::SizeSource;
use crate::search::squeeze::{Decision, GroupPlan, NodeProof, Squeeze, Standby};

/// Maximum length of a line for people, in characters.
const LINE: usize = 400;
/// Maximum number of nodes named in a summary.
const NAMES: usize = 10;

/// Level of detail.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Style {
    pub candidates: bool,
    pub headers: bool,
}

/// Tense of the summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tense {
    /// It is only planned.
    Planned,
    /// It was done.
    Done,
}

fn names(cluster: &Cluster, nodes: impl IntoIterator<Item = NodeIdx>) -> Vec<&str> {
    nodes.into_iter().map(|n| cluster.node(n).spec.name.as_str()).collect()
}

/// The output: for one group in the form that scripts know, for several groups with a section each.
pub(crate) fn text(found: &Squeeze, cluster: &Cluster, style: Style) -> Vec<String> {
    let mut lines = Vec::new();
    for (at, plans) in found.by_group().enumerate() {
        if found.has_several_groups() && style.headers {
            if at > 0 {
                lines.push(String::new());
            }
            lines.push(format!("Node group: {}", cluster.group(plans[0].group).name));
        }
        lines.extend(section(&plans[0], cluster, style));
        let names_alone = Style { candidates: false, ..style };
        lines.extend(plans[1..].iter().flat_map(|plan| section(plan, cluster, names_alone)));
    }
    if found.plans.is_empty() {
        if style.candidates {
            lines.extend(["Offline candidates: ".to_owned(), "Online candidates: ".to_owned()]);
        }
        lines.extend(style.headers.then(|| header(Decision::Nothing).to_owned()));
    }
    lines
}

fn header(decision: Decision) -> &'static str {
    match decision {
        Decision::Expand => "'Nodes to online'",
        Decision::Nothing => "'No action'",
        Decision::Condense => "'Nodes to offline'",
    }
}

fn section(plan: &GroupPlan, cluster: &Cluster, style: Style) -> Vec<String> {
    let mut lines = Vec::new();
    if style.candidates {
        let offline = names(cluster, plan.offline_candidates.iter().copied());
        let online = names(cluster, plan.online_candidates.iter().map(|s| s.node));
        lines.push(format!("Offline candidates: {}", offline.join(",")));
        lines.push(format!("Online candidates: {}", online.join(",")));
    }
    if style.headers {
        lines.push(header(plan.decision).to_owned());
    }
    lines.extend(names(cluster, plan.nodes.iter().copied()).into_iter().map(str::to_owned));
    if style.candidates && !plan.enough && plan.nodes.len() == plan.online_candidates.len() {
        lines.push("Onlining all nodes will not yield enough capacity".to_owned());
    }
    lines
}

/// The lower bounds of the numbers of online nodes: one line a group.
pub(crate) fn proofs(found: &Squeeze, cluster: &Cluster) -> Vec<String> {
    let line = |proof: &NodeProof| {
        let group = match found.has_several_groups() {
            true => format!("Group {}: at", cluster.group(proof.group).name),
            false => "At".to_owned(),
        };
        let verb = if proof.online == 1 { "stays" } else { "stay" };
        let fewest = counted(proof.fewest, "node");
        printable(&format!("{group} least {fewest} must stay on ({} {verb} on)", proof.online), LINE)
    };
    found.proofs.iter().map(line).collect()
}

/// Planned or completed changes in a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GroupResult {
    /// The name of the group, if there are several.
    pub group: Option<String>,
    pub decision: Decision,
    /// The nodes that are switched.
    pub nodes: Vec<String>,
    /// Number of moves.
    pub moves: usize,
    /// Number of those moves that stop the instance while its disks are copied.
    pub copies: usize,
    /// True if the minimal reserve is met at the end.
    pub enough: bool,
}

impl GroupResult {
    /// The planned changes in a group; `None` if there are none.
    pub(crate) fn planned(plan: &GroupPlan, cluster: &Cluster, several: bool) -> Option<GroupResult> {
        let nodes = names(cluster, plan.nodes.iter().copied()).into_iter().map(str::to_owned).collect();
        let group = several.then(|| cluster.group(plan.group).name.clone());
        let result = GroupResult {
            group,
            decision: plan.decision,
            nodes,
            moves: plan.steps.len(),
            copies: plan.steps.iter().filter(|step| step.copies_while_stopped(cluster)).count(),
            enough: plan.enough,
        };
        (!plan.is_idle()).then_some(result)
    }

    /// Tells if nothing is changed.
    pub(crate) fn is_idle(&self) -> bool {
        self.nodes.is_empty() && self.moves == 0
    }
}

/// A plan in the form that the execution needs; `None` if there is nothing to do.
pub(crate) fn switching<'p>(plan: &'p GroupPlan, cluster: &'p Cluster) -> Option<Switching<'p>> {
    let power = match plan.decision {
        Decision::Condense => PowerCommand::PowerOff,
        Decision::Expand => PowerCommand::PowerOn,
        Decision::Nothing => return None,
    };
    let cluster = plan.start(cluster);
    Some(Switching { group: plan.group, cluster, power, nodes: &plan.nodes, steps: &plan.steps })
}

/// The planned changes in all groups.
pub(crate) fn planned(found: &Squeeze, cluster: &Cluster) -> Vec<GroupResult> {
    let several = found.has_several_groups();
    found.plans.iter().filter_map(|plan| GroupResult::planned(plan, cluster, several)).collect()
}

/// All changes in one line, for a mail.
pub(crate) fn summary(results: &[GroupResult], tense: Tense) -> String {
    let part = |result: &GroupResult| match &result.group {
        Some(group) => format!("group {group}: {}", in_words(result, tense)),
        None => in_words(result, tense),
    };
    let parts: Vec<String> = results.iter().map(part).collect();
    let nothing = match tense {
        Tense::Planned => "nothing to do",
        Tense::Done => "nothing was done",
    };
    let text = if parts.is_empty() { nothing.to_owned() } else { parts.join("; ") };
    printable(&format!("hsqueeze: {text}"), LINE)
}

fn in_words(result: &GroupResult, tense: Tense) -> String {
    let verb = match (result.decision, tense) {
        (Decision::Condense, Tense::Planned) => "would power down",
        (Decision::Condense, Tense::Done) => "powered down",
        (_, Tense::Planned) => "would power up",
        (_, Tense::Done) => "powered up",
    };
    let mut named = result.nodes.iter().take(NAMES).map(String::as_str).collect::<Vec<_>>().join(", ");
    if result.nodes.len() > NAMES {
        named.push_str(", ...");
    }
    let stopped = match (result.copies, tense) {
        (0, _) => String::new(),
        (1, Tense::Planned) => " (1 instance is stopped for a copy of its disks)".to_owned(),
        (1, Tense::Done) => " (1 instance was stopped for a copy of its disks)".to_owned(),
        (many, Tense::Planned) => format!(" ({many} instances are stopped for copies of their disks)"),
        (many, Tense::Done) => format!(" ({many} instances were stopped for copies of their disks)"),
    };
    let moves = counted(result.moves, "move") + &stopped;
    let mut text = match (result.nodes.is_empty(), result.decision, tense) {
        (true, Decision::Condense, Tense::Done) => format!("powered down no node, with {moves}"),
        (true, _, Tense::Planned) => format!("would balance with {moves}"),
        (true, _, Tense::Done) => format!("balanced with {moves}"),
        (false, ..) => format!("{verb} {} ({named}) with {moves}", counted(result.nodes.len(), "node")),
    };
    if !result.enough {
        text.push_str(", which does not give enough room");
    }
    text
}

/// The reason that each node stays, missing reserves, and the source of each size: one line each.
pub(crate) fn reasons(found: &Squeeze, cluster: &Cluster) -> Vec<String> {
    let mut lines = Vec::new();
    for plan in &found.plans {
        if let Some(lack) = &plan.missing {
            lines.push(format!("The minimal reserve is missing: {}", node_text(lack, cluster)));
        }
        if plan.exposed.is_some() {
            lines.push(format!("The minimal reserve is missing: {EXPOSED}"));
        }
        for standby in &plan.online_candidates {
            let name = &cluster.node(standby.node).spec.name;
            lines.push(format!("Node {name} can be powered up: {}", size_text(standby, cluster)));
        }
        for kept in &plan.kept {
            let name = &cluster.node(kept.node).spec.name;
            lines.push(format!("Node {name} stays online: {}", hindrance_words(&kept.why, cluster).text));
        }
    }
    lines.iter().map(|line| printable(line, LINE)).collect()
}

/// The size of a standby node and its source.
pub(crate) fn size_text(standby: &Standby, cluster: &Cluster) -> String {
    let source = match standby.source {
        SizeSource::Reported => return "its size is reported".to_owned(),
        SizeSource::Unknown => return "nothing is known of its size".to_owned(),
        SizeSource::Tag => "by its tag".to_owned(),
        SizeSource::File => "by the file of --standby-data".to_owned(),
        SizeSource::Like(node) => format!("taken to be like {}", cluster.node(node).spec.name),
    };
    match standby.size {
        Some(NodeSize { memory, disk, cpus, .. }) => {
            format!("{memory} MiB memory, {disk} MiB disk, {cpus} CPUs, {source}")
        }
        None => source,
    }
}

/// The source of a standby node's size, in one word.
pub(crate) fn size_name(source: SizeSource) -> &'static str {
    match source {
        SizeSource::Reported => "reported",
        SizeSource::Tag => "tag",
        SizeSource::File => "standby-data",
        SizeSource::Like(_) => "like-node",
        SizeSource::Unknown => "unknown",
    }
}
