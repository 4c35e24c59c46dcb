//! Moves between groups, replayed leg by leg.
//!
//! On its way a DRBD instance has one node in each of two groups. On the nodes that it
//! leaves only what is impossible is forbidden meanwhile; on the new ones every rule holds
//! from the first moment.

use std::collections::BTreeSet;

use super::rules::{SecondaryTerms, arrive_primary, arrive_secondary, migrates};
use super::state::ReplayedCluster;
use super::{Fault, Replay};
use crate::model::{
    AllocPolicy, Cluster, DiskTemplate, GroupIdx, InstanceIdx, NodeIdx, Placement, PolicyBreach, StorageMap,
};
use crate::plan::jobset::Jobset;
use crate::search::regroup::Passage;
use crate::search::{Move, Step};

/// A move that must not be carried out.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("move {number}, instance '{instance}': {fault}")]
pub struct PassageViolation {
    /// Number of the move, from 1; one more than there are if it is about the jobsets.
    pub number: usize,
    /// Name of the instance (its number, if there is no such instance).
    pub instance: String,
    /// What is wrong.
    pub fault: PassageFault,
}

/// What is wrong with a move between groups. Groups and nodes are given by name.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PassageFault {
    /// What would be wrong with any step.
    #[error(transparent)]
    Step(#[from] Fault),
    /// Tags forbid moves between groups.
    #[error("moves from or to group '{0}' are denied")]
    Denied(String),
    /// Nothing is placed in the group.
    #[error("group '{0}' is unallocable")]
    Unallocable(String),
    /// It stays in its group, or ends in two.
    #[error("it does not go from one group to one other")]
    Groups,
    /// Its legs do not lead from one end to the other.
    #[error("leg {0} does not begin where the one before ended, or leads elsewhere")]
    Chain(usize),
    /// A node that a leg needs is offline.
    #[error("leg {0} needs a node that is offline")]
    Offline(usize),
    /// The new node does not reach the instance's storage.
    #[error("node '{0}' does not reach its storage")]
    Storage(String),
    /// The group lacks networks of the instance.
    #[error("group '{0}' is not connected to its networks")]
    Networks(String),
    /// The policy of the group does not accept the instance.
    #[error("the policy of group '{0}' does not accept it: {1:?}")]
    Policy(String, PolicyBreach),
    /// The group was not healthy before, or is not afterwards.
    #[error("group '{0}' is not healthy")]
    Health(String),
    /// The jobsets are not in order, leave moves out, or use a node twice at a time.
    #[error("the jobsets are wrong")]
    Jobsets,
}

/// Replays a plan that starts from `cluster`.
///
/// # Errors
/// The first move that must not be carried out, and why.
pub fn check_passages(
    cluster: &Cluster,
    passages: &[Passage],
    jobsets: &[Jobset],
) -> Result<Replay, PassageViolation> {
    let storage = StorageMap::of(cluster);
    let mut checker = PassageChecker { state: ReplayedCluster::new(cluster), storage };
    let violation = |at: usize, instance: InstanceIdx, fault| {
        let name = cluster.instances.get(instance.get()).map(|i| i.name.clone());
        PassageViolation {
            number: at + 1,
            instance: name.unwrap_or_else(|| format!("number {instance}")),
            fault,
        }
    };
    for (at, passage) in passages.iter().enumerate() {
        checker.passage(passage).map_err(|fault| violation(at, passage.instance, fault))?;
    }
    if !jobsets_are_right(passages, jobsets) {
        let (number, instance) = (passages.len() + 1, String::new());
        return Err(PassageViolation { number, instance, fault: PassageFault::Jobsets });
    }
    let placements = cluster.instances.iter().map(|i| checker.state.placement(i.idx)).collect();
    Ok(Replay { placements })
}

/// Whether the jobsets name every move once and in order, and no node twice in a set.
fn jobsets_are_right(passages: &[Passage], jobsets: &[Jobset]) -> bool {
    let listed: Vec<usize> = jobsets.iter().flatten().copied().collect();
    let nodes = |p: &Passage| -> BTreeSet<NodeIdx> {
        let legs = p.legs.iter().flat_map(|leg| [leg.from, leg.to]);
        legs.flat_map(|at| [Some(at.primary), at.secondary]).flatten().collect()
    };
    let apart = |set: &Jobset| {
        let mut used = BTreeSet::new();
        set.iter().flat_map(|at| nodes(&passages[*at])).all(|node| used.insert(node))
    };
    listed.iter().copied().eq(0..passages.len()) && jobsets.iter().all(apart)
}

struct PassageChecker<'a> {
    state: ReplayedCluster<'a>,
    storage: StorageMap,
}

impl PassageChecker<'_> {
    fn passage(&mut self, passage: &Passage) -> Result<(), PassageFault> {
        let cluster = self.state.cluster;
        let instance = cluster.instances.get(passage.instance.get()).ok_or(Fault::NoInstance)?;
        let ends = [passage.from, passage.to].into_iter().chain(passage.legs.iter().map(|leg| leg.to));
        for node in ends.flat_map(|p| [Some(p.primary), p.secondary]).flatten() {
            if node.get() >= cluster.nodes.len() {
                return Err(Fault::NoNode(node.get()).into());
            }
        }
        let may_move = instance.is_movable() || instance.template == DiskTemplate::Diskless;
        if !may_move || !instance.auto_balance || instance.forthcoming {
            return Err(Fault::Immovable.into());
        }
        let mirrored = instance.template.has_secondary();
        let found = self.state.placement(passage.instance);
        let found = Placement { secondary: found.secondary.filter(|_| mirrored), ..found };
        if passage.from != found {
            let (claimed, found) = (self.show(passage.from), self.show(found));
            return Err(Fault::Elsewhere { claimed, found }.into());
        }
        let group = |n: NodeIdx| cluster.node(n).spec.group;
        let (source, target) = (group(passage.from.primary), group(passage.to.primary));
        let both_there = passage.to.secondary.is_none_or(|s| group(s) == target);
        let named = (passage.source, passage.target) == (source, target);
        if source == target || !both_there || !named || passage.to.secondary.is_some() != mirrored {
            return Err(PassageFault::Groups);
        }
        self.admission(passage, source, target)?;
        let mut at = passage.from;
        for (number, leg) in (1..).zip(&passage.legs) {
            if leg.instance != passage.instance || leg.from != at {
                return Err(PassageFault::Chain(number));
            }
            at = self.leg(leg, number, target)?;
            if leg.to != at {
                return Err(PassageFault::Chain(number));
            }
        }
        if at != passage.to {
            return Err(PassageFault::Chain(passage.legs.len()));
        }
        self.healthy(target)
    }

    /// Whether the instance may go from one group to the other at all.
    fn admission(&self, passage: &Passage, source: GroupIdx, target: GroupIdx) -> Result<(), PassageFault> {
        let cluster = self.state.cluster;
        let instance = cluster.instance(passage.instance);
        let name = |g: GroupIdx| cluster.group(g).name.clone();
        for group in [source, target] {
            if cluster.denies_moves_between_groups() || cluster.group(group).denies_moves_between_groups() {
                return Err(PassageFault::Denied(name(group)));
            }
        }
        let there = cluster.group(target);
        if there.alloc_policy == AllocPolicy::Unallocable {
            return Err(PassageFault::Unallocable(name(target)));
        }
        if !there.connects(instance) {
            return Err(PassageFault::Networks(name(target)));
        }
        for node in [Some(passage.to.primary), passage.to.secondary].into_iter().flatten() {
            if !self.storage.reaches(node, passage.instance) {
                return Err(PassageFault::Storage(self.name(node)));
            }
        }
        let exclusive = cluster.node(passage.to.primary).spec.exclusive_storage;
        let accepted = there.policy.accepts(instance, exclusive);
        accepted.map_err(|breach| PassageFault::Policy(name(target), breach))?;
        self.healthy(target)
    }

    /// Makes one move; returns where it leads.
    fn leg(&mut self, leg: &Step, number: usize, target: GroupIdx) -> Result<Placement, PassageFault> {
        let (i, p, s) = (leg.instance, leg.from.primary, leg.from.secondary);
        let state = &mut self.state;
        let offline = |n: NodeIdx| state.spec(n).offline;
        let leaves = |n: NodeIdx| state.spec(n).group != target;
        Ok(match (leg.mv, s) {
            (Move::FailoverTo(t), None) => {
                if offline(t) {
                    return Err(PassageFault::Offline(number));
                }
                migrates(state, p, t)?;
                state.leave_all(i);
                arrive_primary(state, i, t, false)?;
                Placement { primary: t, secondary: None }
            }
            (Move::Failover, Some(s)) => {
                if offline(s) {
                    return Err(PassageFault::Offline(number));
                }
                let transit = leaves(s);
                migrates(state, p, s)?;
                state.leave_all(i);
                arrive_primary(state, i, s, transit)?;
                // the disks are there, and the node has had the instance
                state.enter_secondary(i, p, s);
                Placement { primary: s, secondary: Some(p) }
            }
            (Move::ReplaceSecondary(t), Some(s)) => {
                if offline(p) || offline(t) {
                    return Err(PassageFault::Offline(number));
                }
                if t == p || t == s {
                    return Err(Fault::NotNew(self.name(t)).into());
                }
                state.leave_all(i);
                // it never left
                state.enter_primary(i, p);
                let terms = SecondaryTerms { primary: p, forced: false, disk_is_there: false };
                arrive_secondary(state, i, t, terms)?;
                Placement { primary: p, secondary: Some(t) }
            }
            _ => return Err(Fault::WrongKind.into()),
        })
    }

    /// A group that takes instances has no node that fails N+1, and nothing on offline nodes.
    fn healthy(&self, group: GroupIdx) -> Result<(), PassageFault> {
        let cluster = self.state.cluster;
        let wrong = |node: NodeIdx| match self.state.spec(node).offline {
            true => {
                let mut secondaries = self.state.secondaries(node);
                let mirrored = secondaries.any(|i| i.template.has_secondary());
                mirrored || self.state.primaries(node).next().is_some()
            }
            false => self.state.figures(node).n1_fail,
        };
        match cluster.nodes_of(group).into_iter().any(wrong) {
            true => Err(PassageFault::Health(cluster.group(group).name.clone())),
            false => Ok(()),
        }
    }

    fn name(&self, node: NodeIdx) -> String {
        self.state.spec(node).name.clone()
    }

    fn show(&self, at: Placement) -> String {
        let secondary = at.secondary.map(|s| format!(":{}", self.name(s))).unwrap_or_default();
        format!("'{}{secondary}'", self.name(at.primary))
    }
}

#[cfg(test)]
mod tests;
