//! Moves between groups, replayed leg by leg.
//!
//! In the middle of such a move, a DRBD instance has one node in each of two groups. On the nodes that it leaves only
//! physical limits apply in the meantime; on the new nodes every rule applies from the first moment.

use super::group::GroupMemory;
use super::room::CountedRoom;
use super::rules::{SecondaryTerms, arrive_primary, arrive_secondary, migrates};
use super::state::ReplayedCluster;
use super::{Fault, Replay, Violation, violation};
use htools_model::{AllocPolicy, Cluster, GroupIdx, InstanceIdx, Leg, NodeIdx, Placement, Step, StorageMap};

/// Replays moves between groups that start from `cluster`.
///
/// # Errors
/// The first move that must not be executed, and the reason.
pub fn check_crossings(cluster: &Cluster, steps: &[Step]) -> Result<Replay, Violation> {
    let storage = StorageMap::of(cluster);
    let mut checker = CrossingChecker { state: ReplayedCluster::new(cluster), storage };
    for (at, step) in steps.iter().enumerate() {
        checker.step(step).map_err(|fault| violation(cluster, at, step, fault))?;
    }
    Ok(checker.state.replay())
}

struct CrossingChecker<'a> {
    state: ReplayedCluster<'a>,
    storage: StorageMap,
}

impl CrossingChecker<'_> {
    fn step(&mut self, step: &Step) -> Result<(), Fault> {
        let cluster = self.state.cluster;
        let instance = cluster.instances.get(step.instance.get()).ok_or(Fault::NoInstance)?;
        for node in step.from.nodes().chain(step.to.nodes()).chain(step.mv.targets()) {
            if node.get() >= cluster.nodes.len() {
                return Err(Fault::NoNode(node.get()));
            }
        }
        if !instance.is_movable() || !instance.auto_balance || instance.forthcoming {
            return Err(Fault::Immovable);
        }
        let mirrored = instance.template.has_secondary();
        let found = self.state.placement(step.instance);
        let found = Placement { secondary: found.secondary.filter(|_| mirrored), ..found };
        if step.from != found {
            return Err(Fault::Elsewhere {
                claimed: self.state.show(step.from),
                found: self.state.show(found),
            });
        }
        let (source, target) = step.groups(cluster);
        let both_there = step.to.secondary.is_none_or(|s| cluster.node(s).spec.group == target);
        if source == target || !both_there || step.to.secondary.is_some() != mirrored {
            return Err(Fault::Groups);
        }
        self.admission(step, source, target)?;
        let before = GroupMemory::of(&self.state, target);
        let room = CountedRoom::of(&self.state).filter(|_| !super::room::leaves_lost(cluster, step.from));
        let mut at = step.from;
        for (number, (leg, _, to)) in (1..).zip(step.legs()) {
            self.leg(step.instance, leg, at, number, target)?;
            at = to;
        }
        if at != step.to {
            let (claimed, found) = (self.state.show(step.to), self.state.show(at));
            return Err(Fault::OtherDestination { claimed, found });
        }
        if let Some(after) = GroupMemory::of(&self.state, target) {
            after.follows(before, &self.name(at.primary))?;
        }
        if let Some((before, after)) = room.zip(CountedRoom::of(&self.state)) {
            after.follows(before, &self.name(at.primary))?;
        }
        self.healthy(target)
    }

    /// Checks that the instance may move from one group to the other at all.
    fn admission(&self, step: &Step, source: GroupIdx, target: GroupIdx) -> Result<(), Fault> {
        let cluster = self.state.cluster;
        let instance = cluster.instance(step.instance);
        let name = |g: GroupIdx| cluster.group(g).name.clone();
        for group in [source, target] {
            if cluster.denies_moves_between_groups() || cluster.group(group).denies_moves_between_groups() {
                return Err(Fault::Denied(name(group)));
            }
        }
        let there = cluster.group(target);
        if there.alloc_policy == AllocPolicy::Unallocable {
            return Err(Fault::Unallocable(name(target)));
        }
        if !there.connects(instance) {
            return Err(Fault::Networks(name(target)));
        }
        for node in step.to.nodes() {
            if !self.storage.reaches(node, step.instance) {
                return Err(Fault::Storage(self.name(node)));
            }
        }
        let exclusive = cluster.node(step.to.primary).spec.exclusive_storage;
        let accepted = there.policy.accepts(instance, exclusive);
        accepted.map_err(|breach| Fault::Policy(name(target), breach))?;
        self.healthy(target)
    }

    /// Executes one leg.
    fn leg(
        &mut self,
        i: InstanceIdx,
        leg: Leg,
        at: Placement,
        number: usize,
        target: GroupIdx,
    ) -> Result<(), Fault> {
        let (p, s) = (at.primary, at.secondary);
        let state = &mut self.state;
        let offline = |n: NodeIdx| state.spec(n).offline;
        let leaves = |n: NodeIdx| state.spec(n).group != target;
        match (leg, s) {
            (Leg::FailoverTo(t), None) => {
                if offline(t) {
                    return Err(Fault::LegOffline(number));
                }
                migrates(state, p, t)?;
                state.leave_all(i);
                arrive_primary(state, i, t, false)?;
            }
            (Leg::Failover, Some(s)) => {
                if offline(s) {
                    return Err(Fault::LegOffline(number));
                }
                let transit = leaves(s);
                migrates(state, p, s)?;
                state.leave_all(i);
                arrive_primary(state, i, s, transit)?;
                // The disks are there, and the node had the instance before.
                state.enter_secondary(i, p, s);
            }
            (Leg::ReplaceSecondary(t), Some(s)) => {
                if offline(p) || offline(t) {
                    return Err(Fault::LegOffline(number));
                }
                if t == p || t == s {
                    return Err(Fault::NotNew(self.name(t)));
                }
                state.leave_all(i);
                // The instance never left.
                state.enter_primary(i, p);
                let terms = SecondaryTerms { primary: p, forced: false, disk_is_there: false, left: None };
                arrive_secondary(state, i, t, terms)?;
            }
            _ => return Err(Fault::WrongKind),
        }
        Ok(())
    }

    /// Checks that a group that takes instances has no node that fails N+1 and no instances on offline nodes.
    fn healthy(&self, group: GroupIdx) -> Result<(), Fault> {
        let cluster = self.state.cluster;
        let wrong = |node: NodeIdx| {
            if self.state.spec(node).offline {
                let mut secondaries = self.state.secondaries(node);
                let mirrored = secondaries.any(|i| i.template.has_secondary());
                mirrored || self.state.primaries(node).next().is_some()
            } else {
                self.state.figures(node).n1_fail
            }
        };
        if cluster.nodes_of(group).iter().copied().any(wrong) {
            Err(Fault::Health(cluster.group(group).name.clone()))
        } else {
            Ok(())
        }
    }

    fn name(&self, node: NodeIdx) -> String {
        self.state.spec(node).name.clone()
    }
}
