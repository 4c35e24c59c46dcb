//! Chooses the group for an instance.

use std::iter;

use super::PrimaryRule;
use crate::place::{Conditions, NoTargets, PlaceMetric, PlaceSearch, Targets, dedicated};
use crate::why::GroupObstacle;
use crate::{Deadline, place};
use htools_model::{AllocPolicy, Cluster, FailCounts, GroupIdx, Instance, NodeIdx, NodeSpec, Place};

/// Requirements for placing an instance in a group.
#[derive(Debug, Clone, Copy)]
pub(super) struct PlaceRequirements<'a> {
    pub instance: &'a Instance,
    /// Number of nodes that it needs.
    pub required: i64,
    /// Full names of the nodes that may be used; `None` allows all.
    pub restrict_to: Option<&'a [String]>,
    /// Nodes that must not be used.
    pub avoided: &'a [NodeIdx],
    /// The instance comes from another group, and tags that deny such moves apply.
    pub heeds_denials: bool,
    /// Compare places by lost allocations, not by score.
    pub dedicated: bool,
    pub conditions: &'a Conditions,
    /// Rule that chooses the primary node; `None` to use the score.
    pub rule: Option<&'a dyn PrimaryRule>,
    pub deadline: &'a Deadline,
}

impl PlaceRequirements<'_> {
    /// Returns true if a node may be used.
    pub(super) fn admits(&self, spec: &NodeSpec) -> bool {
        !spec.offline
            && !self.avoided.contains(&spec.idx)
            && self.restrict_to.is_none_or(|names| names.contains(&spec.name))
    }
}

/// Result of trying a group.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupTrial {
    /// The group.
    pub group: GroupIdx,
    /// The places found, or the reason why no place was tried.
    pub result: Result<Box<PlaceSearch>, GroupObstacle>,
}

impl GroupTrial {
    /// The best place in the group, if there is one.
    pub fn best(&self) -> Option<&(PlaceMetric, Place)> {
        self.result.as_ref().ok()?.best.as_ref()
    }
}

/// Results of all groups that were tried for an instance.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupChoice {
    /// Full name of the instance.
    pub instance: String,
    /// The groups, in order.
    pub trials: Vec<GroupTrial>,
    /// Position of the chosen group in `trials`.
    pub selected: Option<usize>,
    /// The request named the group, so there was no choice.
    pub named: bool,
    /// Places were compared by lost allocations, not by score.
    pub dedicated: bool,
}

impl GroupChoice {
    pub(crate) fn place(&self) -> Option<&Place> {
        let trial = &self.trials[self.selected?];
        trial.best().map(|b| &b.1)
    }

    /// Positions in `trials` of the groups that accept new instances.
    pub(super) fn allocable(&self, cluster: &Cluster) -> Vec<usize> {
        allocable(cluster, &self.trials).collect()
    }

    /// Removes the best group with a place from `left`, which has positions in `trials`.
    pub(super) fn take_best(&self, cluster: &Cluster, left: &mut Vec<usize>) -> Option<&GroupTrial> {
        let at = best(cluster, &self.trials, left.iter().copied())?;
        left.retain(|other| *other != at);
        Some(&self.trials[at])
    }

    /// All groups with a place, best first. Groups that accept no new instances come last.
    pub fn ranked(&self, cluster: &Cluster) -> Vec<&GroupTrial> {
        let mut left: Vec<usize> = (0..self.trials.len()).collect();
        iter::from_fn(|| self.take_best(cluster, &mut left)).collect()
    }
}

/// Positions of the groups that accept new instances.
fn allocable(cluster: &Cluster, trials: &[GroupTrial]) -> impl Iterator<Item = usize> {
    let policy = |at: &usize| cluster.group(trials[*at].group).alloc_policy;
    (0..trials.len()).filter(move |at| policy(at) != AllocPolicy::Unallocable)
}

/// The places to try in a group for an instance.
pub(super) fn targets(
    cluster: &Cluster,
    group: GroupIdx,
    wanted: &PlaceRequirements<'_>,
) -> Result<Targets, NoTargets> {
    let usable = |node: &NodeIdx| wanted.admits(&cluster.node(*node).spec);
    let nodes: Vec<NodeIdx> = cluster.nodes_of(group).iter().copied().filter(usable).collect();
    Targets::of(cluster, &nodes, wanted.required)
}

/// The best of some groups with a place. Preferred groups come before those of last resort; then the better
/// place decides, then the later group.
fn best(cluster: &Cluster, trials: &[GroupTrial], among: impl Iterator<Item = usize>) -> Option<usize> {
    let mut best: Option<(usize, AllocPolicy, &PlaceMetric)> = None;
    for at in among {
        let Some((metric, _)) = trials[at].best() else { continue };
        let policy = cluster.group(trials[at].group).alloc_policy;
        let better = best.is_none_or(|(_, p, m)| policy < p || (policy == p && metric.beats_earlier(m)));
        if better {
            best = Some((at, policy, metric));
        }
    }
    best.map(|b| b.0)
}

/// Searches for a place in one group; the score is that of `nodes`.
pub(super) fn search(
    cluster: &Cluster,
    group: GroupIdx,
    nodes: &[NodeIdx],
    wanted: &PlaceRequirements<'_>,
) -> Result<Box<PlaceSearch>, GroupObstacle> {
    let targets = targets(cluster, group, wanted).map_err(GroupObstacle::Nodes)?;
    match wanted.rule {
        Some(rule) => search_by_rule(cluster, group, nodes, wanted, &targets, rule),
        None => Ok(Box::new(search_among(cluster, nodes, wanted, &targets))),
    }
}

fn search_among(
    cluster: &Cluster,
    nodes: &[NodeIdx],
    wanted: &PlaceRequirements<'_>,
    targets: &Targets,
) -> PlaceSearch {
    if wanted.dedicated {
        dedicated::find(cluster, wanted.instance, targets, wanted.conditions)
    } else {
        place::find(cluster, nodes, wanted.instance.into(), targets, wanted.conditions)
    }
}

/// Like [`search`], if a rule chooses the primary node: the first one with a place, and the best secondary for
/// it.
fn search_by_rule(
    cluster: &Cluster,
    group: GroupIdx,
    nodes: &[NodeIdx],
    wanted: &PlaceRequirements<'_>,
    targets: &Targets,
    rule: &dyn PrimaryRule,
) -> Result<Box<PlaceSearch>, GroupObstacle> {
    let ranked = rule.ranked(cluster, wanted.instance, group, targets.primaries());
    if ranked.is_empty() {
        return Err(GroupObstacle::NoPrimary);
    }
    let mut failures = FailCounts::default();
    for (tried, primary) in ranked.into_iter().enumerate() {
        if let Some(stopped) = wanted.deadline.reached_before(tried) {
            return Err(GroupObstacle::NoTime(stopped));
        }
        let one = match targets {
            Targets::Singles(_) => Targets::Singles(vec![primary]),
            _ => Targets::Partners(primary, targets.partners(cluster, primary).collect()),
        };
        let found = search_among(cluster, nodes, wanted, &one);
        failures += found.failures;
        if found.best.is_some() {
            return Ok(Box::new(PlaceSearch { failures, ..found }));
        }
    }
    Ok(Box::new(PlaceSearch { failures, ..PlaceSearch::default() }))
}

/// Tries several groups and chooses the best one that accepts new instances.
pub(super) fn choose(cluster: &Cluster, groups: &[GroupIdx], wanted: &PlaceRequirements<'_>) -> GroupChoice {
    let nodes = cluster.all_nodes();
    let mut searched = 0;
    let mut result = |group: GroupIdx| {
        if wanted.heeds_denials && cluster.group(group).denies_moves_between_groups() {
            return Err(GroupObstacle::Denied);
        }
        GroupObstacle::networks(cluster, group, wanted.instance)?;
        if let Some(stopped) = wanted.deadline.reached_before(searched) {
            return Err(GroupObstacle::NoTime(stopped));
        }
        searched += 1;
        search(cluster, group, &nodes, wanted)
    };
    let trials: Vec<GroupTrial> =
        groups.iter().map(|group| GroupTrial { group: *group, result: result(*group) }).collect();
    let selected = best(cluster, &trials, allocable(cluster, &trials));
    GroupChoice {
        instance: wanted.instance.name.clone(),
        selected,
        trials,
        named: false,
        dedicated: wanted.dedicated,
    }
}
