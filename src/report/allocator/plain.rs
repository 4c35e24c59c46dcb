//! What was in the way of an instance, and how to make room for it, for people.

use super::text::{metric_text, name, no_targets, no_time};
use crate::model::shown::printable;
use crate::model::{Cluster, Placement, PolicyBreach};
use crate::plan::command::commands;
use crate::report::explain::{rule_name, shortfall_text};
use crate::search::allocate::NoTargets;
use crate::search::allocator::RoomFound;
use crate::search::allocator::why::{Bar, GroupWhy, Hurdle, InTheWay, Nearest, Untried};

/// Most characters of a line.
const LINE: usize = 400;

/// What is in the way, in one word.
pub(super) fn bar_name(bar: Bar) -> &'static str {
    match bar {
        Bar::Policy(breach) => policy_name(breach),
        Bar::Rule(rule) => rule_name(rule),
        Bar::Expendability => "global-n+1",
        Bar::Offline => "offline",
    }
}

/// What a policy does not accept, in one word.
pub fn policy_name(breach: PolicyBreach) -> &'static str {
    match breach {
        PolicyBreach::Memory { .. } => "policy-memory",
        PolicyBreach::DiskSize { .. } => "policy-disk-size",
        PolicyBreach::Cpus { .. } => "policy-vcpus",
        PolicyBreach::Spindles { .. } => "policy-spindles",
        PolicyBreach::DiskCount { .. } => "policy-disk-count",
        PolicyBreach::Template(_) => "policy-disk-template",
    }
}

/// Why no place of a group was tried, in one word.
pub(super) fn untried_name(untried: &Untried) -> &'static str {
    match untried {
        Untried::Networks(_) => "networks",
        Untried::Nodes(NoTargets::NoOnlineNodes) => "no-online-nodes",
        Untried::Nodes(NoTargets::NotEnoughOnlineNodes) => "not-enough-online-nodes",
        Untried::Nodes(NoTargets::UnsupportedNumber) => "unsupported-number-of-nodes",
        Untried::NoTime(_) => "no-time",
    }
}

/// What was in the way of an instance, line by line.
pub fn why_lines(cluster: &Cluster, why: &InTheWay) -> Vec<String> {
    let mut lines = vec![format!("In the way of {}:", why.instance)];
    lines.extend(why.groups.iter().flat_map(|group| group_lines(cluster, group)));
    if let Some(moves) = &why.moves {
        lines.extend(places(cluster, "moves", moves));
    }
    lines.iter().map(|line| printable(line, LINE)).collect()
}

fn group_lines(cluster: &Cluster, why: &GroupWhy) -> Vec<String> {
    let group = cluster.group(why.group);
    let title = format!("group {} ({})", group.name, group.alloc_policy);
    match &why.untried {
        None => places(cluster, &format!("{title}, places"), &why.places),
        Some(Untried::Networks(networks)) => {
            vec![format!("  {title}: not connected to network {}", networks.join(", "))]
        }
        Some(Untried::Nodes(reason)) => vec![format!("  {title}: {}", no_targets(*reason))],
        Some(Untried::NoTime(stopped)) => vec![format!("  {title}: {}", no_time(*stopped))],
    }
}

fn places(cluster: &Cluster, title: &str, nearest: &Nearest) -> Vec<String> {
    let shown = nearest.kept.len();
    let title = match nearest.refused {
        0 => return vec![format!("  {title} refused: none that were tried")],
        refused if refused == shown => format!("  {title} refused: {refused}"),
        refused => format!("  {title} refused: {refused}, of which the nearest {shown}"),
    };
    let hurdles = nearest.kept.iter().map(|hurdle| format!("    {}", hurdle_text(cluster, hurdle)));
    std::iter::once(title).chain(hurdles).collect()
}

fn hurdle_text(cluster: &Cluster, hurdle: &Hurdle) -> String {
    let nodes = nodes(cluster, hurdle.place);
    let at = name(cluster, hurdle.node);
    let problem = match (&hurdle.shortfall, hurdle.bar) {
        (Some(shortfall), _) => shortfall_text(shortfall),
        (None, Bar::Expendability) => {
            return format!("{nodes}: afterwards a node could not be emptied any more");
        }
        (None, bar) => bar_name(bar).to_owned(),
    };
    if nodes == at { format!("{nodes}: {problem}") } else { format!("{nodes}: {at}: {problem}") }
}

fn nodes(cluster: &Cluster, place: Placement) -> String {
    let primary = name(cluster, place.primary);
    place.secondary.map_or_else(|| primary.to_owned(), |s| format!("{primary}/{}", name(cluster, s)))
}

/// How to make room, if that was looked for, line by line.
pub fn plan_lines(cluster: &Cluster, room: &RoomFound) -> Vec<String> {
    let plan = match room {
        RoomFound::NotSought => return Vec::new(),
        RoomFound::NotFound => return vec!["No moves were found that would make room.".to_owned()],
        RoomFound::Found(plan) => plan,
    };
    let (count, nodes) = (plan.steps.len(), nodes(cluster, plan.place));
    let moves = if count == 1 { "1 move makes".to_owned() } else { format!("{count} moves make") };
    let group = &cluster.group(plan.group).name;
    let score = metric_text(&plan.metric);
    let title = format!("{moves} room on node(s) {nodes} of group {group}, score {score}:");
    let commands: Result<Vec<_>, _> = plan.steps.iter().map(|step| commands(cluster, step)).collect();
    let mut lines = vec![printable(&title, LINE)];
    match commands {
        // whole: what is cut is another command
        Ok(commands) => lines.extend(commands.iter().flatten().map(|command| format!("  {command}"))),
        Err(refused) => lines.push(format!("  {refused}")),
    }
    lines
}
