//! Texts of responses, which Ganeti's logs and users know.

use crate::model::{Cluster, GroupIdx, NodeIdx, Placement};
use crate::report::balance::components::score;
use crate::report::why::words::{hold_words, no_time, untried_words};
use crate::search::place::evacuation::{EvacuationObstacle, PairStep};
use crate::search::place::{PlaceMetric, PlaceSearch};
use crate::search::requests::{Failure, GroupChoice, GroupTrial};
use crate::search::why::GroupObstacle;

/// Selection of a group: the group, unless the request named it, and the results for all groups tried.
pub fn selection_text(cluster: &Cluster, choice: &GroupChoice) -> String {
    let selected = choice.selected.filter(|_| !choice.named);
    let selected =
        selected.map(|at| format!("Selected group: {}", cluster.group(choice.trials[at].group).name));
    selected.into_iter().chain(group_texts(cluster, choice)).collect::<Vec<_>>().join(", ")
}

/// The result for each group. Groups that lack a network come first, except on dedicated clusters.
fn group_texts(cluster: &Cluster, choice: &GroupChoice) -> Vec<String> {
    let lacks_network =
        |t: &&GroupTrial| matches!(t.result, Err(GroupObstacle::Networks(_))) && !choice.dedicated;
    let (unconnected, tried): (Vec<&GroupTrial>, Vec<&GroupTrial>) =
        choice.trials.iter().partition(lacks_network);
    let unconnected = unconnected
        .into_iter()
        .map(|t| format!("group {}", not_connected(cluster, t.group, &choice.instance)));
    let tried = tried.into_iter().map(|t| trial_text(cluster, t, &choice.instance));
    unconnected.chain(tried).collect()
}

fn trial_text(cluster: &Cluster, trial: &GroupTrial, instance: &str) -> String {
    let group = cluster.group(trial.group);
    match &trial.result {
        Ok(search) => {
            format!("Group {} ({}): {}", group.name, group.alloc_policy, search_text(cluster, search))
        }
        Err(obstacle) => format!(
            "Group {}: error {}",
            group.name,
            group_obstacle_text(cluster, trial.group, instance, obstacle)
        ),
    }
}

/// The reason that a group was not tried.
fn group_obstacle_text(
    cluster: &Cluster,
    group: GroupIdx,
    instance: &str,
    obstacle: &GroupObstacle,
) -> String {
    match obstacle {
        GroupObstacle::Networks(_) => format!("The group {}", not_connected(cluster, group, instance)),
        obstacle => untried_words(obstacle, cluster).text,
    }
}

fn not_connected(cluster: &Cluster, group: GroupIdx, instance: &str) -> String {
    format!("{} is not connected to a network required by instance {instance}", cluster.group(group).name)
}

/// The result of the search for a place in one group.
pub(super) fn search_text(cluster: &Cluster, search: &PlaceSearch) -> String {
    let PlaceSearch { best, successes, failures } = search;
    match best {
        Some((metric, place)) => format!(
            "score: {}, successes {successes}, failures {} ({failures}) for node(s) {}",
            metric_text(metric),
            failures.total(),
            nodes(cluster, place.placement)
        ),
        None if failures.total() == 0 => {
            "No valid allocation solutions, failure reasons: unknown reasons".to_owned()
        }
        None => format!("No valid allocation solutions, failure reasons: {failures}"),
    }
}

pub(super) fn nodes(cluster: &Cluster, place: Placement) -> String {
    let primary = name(cluster, place.primary);
    place.secondary.map_or_else(|| primary.to_owned(), |s| format!("{primary}/{}", name(cluster, s)))
}

/// The quality of a place.
pub(super) fn metric_text(metric: &PlaceMetric) -> String {
    match metric {
        PlaceMetric::Score(s) => score(*s),
        PlaceMetric::Lost(lost, disk) => format!("({},{disk})", numbers(lost.iter())),
    }
}

fn numbers<T: ToString>(list: impl Iterator<Item = T>) -> String {
    let texts: Vec<String> = list.map(|n| n.to_string()).collect();
    format!("[{}]", texts.join(","))
}

pub(super) fn name(cluster: &Cluster, node: NodeIdx) -> &str {
    &cluster.node(node).spec.name
}

/// The reason that a request, or a part of one, failed.
pub fn failure_text(cluster: &Cluster, failure: &Failure) -> String {
    match failure {
        Failure::UnknownGroup(key) => format!("Wrong number of elems found with name {key}"),
        Failure::GroupExcluded(group, instance, obstacle) => {
            group_obstacle_text(cluster, *group, instance, obstacle)
        }
        Failure::NoGroup(choice) => group_texts(cluster, choice).join(", "),
        Failure::NoTargetGroups(asked) => no_target_groups(cluster, asked),
        Failure::NotFound(search) => search_text(cluster, search),
        Failure::Exchange(nodes) => format!("Exchange {nodes} nodes mode is not implemented"),
        Failure::NotMirrored => "Can't relocate non-mirrored instances".to_owned(),
        Failure::NotItsNode(role, node, given) => {
            let number = |n: &NodeIdx| cluster.node_number(*n);
            format!(
                "Unsupported request: excluded nodes not equal to instance's {role}({} versus {})",
                node.as_ref().map_or_else(|| "-1".to_owned(), |n| number(n).to_string()),
                numbers(given.iter().map(number))
            )
        }
        Failure::NoTime(stopped) => no_time("not looked at", *stopped),
        Failure::HasSecondary => "Instance already has a secondary".to_owned(),
        Failure::Held(hold) => hold_words(*hold, cluster).text,
        Failure::Stuck(stuck) => stuck_text(cluster, stuck),
        Failure::NowhereElse(here, elsewhere) => {
            format!("{}, other groups: {}", stuck_text(cluster, here), failure_text(cluster, elsewhere))
        }
    }
}

fn no_target_groups(cluster: &Cluster, asked: &[GroupIdx]) -> String {
    let names: Vec<&str> = asked.iter().map(|g| cluster.group(*g).name.as_str()).collect();
    let which = match names[..] {
        [] => "every group".to_owned(),
        [name] => format!("group {name}"),
        _ => format!("each of the groups {}", names.join(", ")),
    };
    format!("no groups for evacuation: {which} has no nodes, or is one that the instances are to leave")
}

fn stuck_text(cluster: &Cluster, stuck: &EvacuationObstacle) -> String {
    match stuck {
        EvacuationObstacle::NotMirrored(template) => {
            format!("Instances of type {template} cannot be relocated")
        }
        EvacuationObstacle::NoSecondary(template) => {
            format!("Instances with disk template '{template}' can't execute change secondary")
        }
        EvacuationObstacle::Failover(kind) => kind.as_str().to_owned(),
        EvacuationObstacle::SecondaryOffline(node) => {
            format!("The secondary node {} is drained or offline", name(cluster, *node))
        }
        EvacuationObstacle::NoNode(failures) => {
            let each = failures
                .iter()
                .map(|(node, kind)| format!(" Node {} failed: {};", name(cluster, *node), kind.as_str()));
            format!("Can't find any good node: {}", each.collect::<String>())
        }
        EvacuationObstacle::NoPair => {
            "Can't find any good nodes for relocation: no nodes available".to_owned()
        }
        EvacuationObstacle::PairFailed(step, kind) => {
            let (step, kind) = (step_text(*step), kind.as_str());
            format!("Can't find any good nodes for relocation: Allocation failed: {step}: {kind}")
        }
    }
}

fn step_text(step: PairStep) -> &'static str {
    match step {
        PairStep::LeavePrimary => "Failing over to the secondary",
        PairStep::FirstSecondary => "Changing secondary to new primary",
        PairStep::NewPrimary => "Failing over to new primary",
        PairStep::FinalSecondary => "Changing secondary to final secondary",
    }
}
