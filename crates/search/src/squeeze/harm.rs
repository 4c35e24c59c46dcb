//! Harm that switching nodes must not do: to exclusion tags, locations and policies.
//!
//! By itself, balancing respects exclusion tags and policies. But instances that must leave an offline node go
//! wherever it is possible at all, and locations are only one part of the score. So this module compares the
//! result with the state before.

use std::collections::BTreeMap;

use super::trial::{BalancedState, GroupScope};
use super::{Hindrance, balance_options};
use crate::moves::perform;
use htools_model::score::Touched;
use htools_model::{
    Cluster, Draft, Immobile, InstanceIdx, Ledger, Mib, NodeIdx, NodeSpec, Rule, Step, TagId,
};

/// A way in which the result is worse than the state before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deterioration {
    /// More primaries share a node with another one that has the same exclusion tag.
    Exclusion {
        /// A node where this happens.
        node: NodeIdx,
        /// The tag.
        tag: TagId,
    },
    /// A node exceeds a ratio of its policy by more than before, now or with its planned instances.
    Policy {
        /// The node.
        node: NodeIdx,
        /// The rule about that ratio.
        rule: Rule,
    },
    /// The two nodes of instances have more location tags in common.
    SharedLocation,
    /// Instances miss more of their desired locations.
    DesiredLocation,
}

/// State of a group before the change.
pub(super) struct Baseline<'c> {
    before: &'c Cluster,
    conflicts: BTreeMap<TagId, i64>,
    locations: Locations,
}

/// Location tags, summed over all primaries of a group.
#[derive(Clone, Copy)]
struct Locations {
    /// Tags that the primary node and the secondary have in common.
    shared: i64,
    /// Desired tags that the node does not have.
    missed: i64,
}

impl<'c> Baseline<'c> {
    pub(super) fn of(before: &'c Cluster, nodes: &[NodeIdx]) -> Baseline<'c> {
        Baseline { before, conflicts: conflicts(before, nodes), locations: locations(before, nodes) }
    }

    /// The harm in another state of the same group.
    pub(super) fn harm(&self, after: &Cluster, nodes: &[NodeIdx]) -> Option<Deterioration> {
        let Locations { shared, missed } = locations(after, nodes);
        self.breach(after, nodes)
            .or_else(|| (shared > self.locations.shared).then_some(Deterioration::SharedLocation))
            .or_else(|| (missed > self.locations.missed).then_some(Deterioration::DesiredLocation))
    }

    /// Like [`harm`](Baseline::harm), but only harm that balancing never does by itself.
    pub(super) fn breach(&self, after: &Cluster, nodes: &[NodeIdx]) -> Option<Deterioration> {
        self.crowded(after, nodes).or_else(|| nodes.iter().find_map(|node| self.beyond(after, *node)))
    }

    fn crowded(&self, after: &Cluster, nodes: &[NodeIdx]) -> Option<Deterioration> {
        let known = |tag| self.conflicts.get(&tag).copied().unwrap_or(0);
        let (tag, _) = conflicts(after, nodes).into_iter().find(|(tag, count)| *count > known(*tag))?;
        let count = |cluster: &Cluster, node: NodeIdx| cluster.node(node).state.tag_count.get(tag);
        let more = |node: &NodeIdx| count(after, *node) > count(self.before, *node).max(1);
        nodes.iter().copied().find(more).map(|node| Deterioration::Exclusion { node, tag })
    }

    fn beyond(&self, after: &Cluster, node: NodeIdx) -> Option<Deterioration> {
        let (spec, now) = (&after.node(node).spec, &after.node(node).state.ledger);
        // The ledger also counts spindles of disks on shared storage, which take none from the node.
        let takes_spindles = || local_spindles(after, node) > local_spindles(self.before, node);
        let rule = self.broken_limit(spec, now, takes_spindles)?;
        Some(Deterioration::Policy { node, rule })
    }

    /// The limit of its policy that a node in this state exceeds by more than before. `takes_spindles` tells whether more
    /// spindles of it are taken than before.
    fn broken_limit(&self, spec: &NodeSpec, now: &Ledger, takes_spindles: impl Fn() -> bool) -> Option<Rule> {
        let was = &self.before.node(spec.idx).state.ledger;
        let cpus = |now: i64, was: i64| now > was && spec.exceeds_cpu_ratio(now);
        let spindles = |now: f64, was: f64| now > was && now > spec.spindle_limit;
        let lacks_spindles = || {
            let is_short =
                spec.exclusive_storage && now.spindles_free_planned < was.spindles_free_planned.min(0);
            is_short && takes_spindles()
        };
        if spec.offline {
            None
        } else if spindles(now.spindles_used, was.spindles_used) {
            Some(Rule::SpindleRatio)
        } else if spindles(now.spindles_used_planned, was.spindles_used_planned) {
            Some(Rule::PlannedSpindleRatio)
        } else if now.disk_free_planned < was.disk_free_planned && now.disk_free_planned <= Mib::ZERO {
            Some(Rule::PlannedDisk)
        } else if lacks_spindles() {
            Some(Rule::PlannedSpindles)
        } else if cpus(now.vcpus, was.vcpus) {
            Some(Rule::CpuRatio)
        } else if cpus(now.vcpus_planned, was.vcpus_planned) {
            Some(Rule::PlannedCpuRatio)
        } else {
            None
        }
    }
}

impl GroupScope<'_> {
    /// Returns true if nodes may change in this way when instances leave freed nodes: no node that changes fails N+1, loses
    /// the target reserve or exceeds its policy, and tags and locations are no worse. If this holds for each change, it
    /// holds for all together.
    pub(super) fn allows(&self, changed: &[Touched<'_>]) -> bool {
        let online = || changed.iter().filter(|node| !node.spec.offline);
        let (failed, soft) =
            (|n: &Touched<'_>| self.ledger_before(n.spec).n1_fail, self.options.ignore_soft_errors);
        let is_sound = |n: &Touched<'_>| !n.after.n1_fail || failed(n);
        let keeps_reserve = |n: &Touched<'_>| {
            let takes_nothing =
                n.after.mem_instances <= n.before.mem_instances && n.after.vcpus <= n.before.vcpus;
            takes_nothing || self.target.fits(n.spec, &n.after)
        };
        let is_within = |n: &Touched<'_>| self.baseline.broken_limit(n.spec, &n.after, || true).is_none();
        let sum =
            |of: fn(&Ledger) -> i64| -> i64 { changed.iter().map(|n| of(&n.after) - of(n.before)).sum() };
        online().all(|n| is_sound(n) && keeps_reserve(n))
            && (soft
                || (sum(|ledger| ledger.tag_conflicts) <= 0
                    && sum(|ledger| ledger.location_sum) <= 0
                    && online().all(is_within)))
    }

    fn ledger_before(&self, spec: &NodeSpec) -> &Ledger {
        &self.cluster.node(spec.idx).state.ledger
    }
}

/// Number of spindles that the disks of instances take on a node, as far as they are known.
fn local_spindles(cluster: &Cluster, node: NodeIdx) -> i64 {
    let state = &cluster.node(node).state;
    let there = state.primaries.iter().chain(&state.secondaries).map(|i| cluster.instance(*i));
    there.filter(|i| i.template.uses_local_storage()).filter_map(|i| i.spindles).sum()
}

/// For each exclusion tag, the number of primaries beyond the first on each node.
fn conflicts(cluster: &Cluster, nodes: &[NodeIdx]) -> BTreeMap<TagId, i64> {
    let mut found = BTreeMap::new();
    // Most nodes have no conflicts.
    let states = nodes.iter().map(|node| &cluster.node(*node).state);
    for state in states.filter(|state| state.ledger.tag_conflicts > 0) {
        for (tag, count) in state.tag_count.iter().filter(|(_, count)| *count > 1) {
            *found.entry(tag).or_insert(0) += count - 1;
        }
    }
    found
}

fn locations(cluster: &Cluster, nodes: &[NodeIdx]) -> Locations {
    let (mut shared, mut missed) = (0, 0);
    // Neither value is ever negative.
    let nodes = nodes.iter().map(|node| cluster.node(*node));
    for node in nodes.filter(|node| node.state.ledger.location_sum > 0) {
        for instance in node.state.primaries.iter().map(|i| cluster.instance(*i)) {
            shared += instance.location_score;
            missed += instance.desired_locations.missing_in(&node.spec.location_tags);
        }
    }
    Locations { shared, missed }
}

impl GroupScope<'_> {
    /// The harm that freeing nodes has done.
    pub(super) fn harm(&self, after: &Cluster) -> Option<Hindrance> {
        let harm = || self.baseline.harm(after, &self.nodes).map(Hindrance::Worse);
        (!self.options.ignore_soft_errors).then(harm).flatten()
    }

    /// Balances a group with `balance` without violating more exclusion tags or policies. An instance on an
    /// offline node stays there if its only possible places do. Returns these instances, too, which are
    /// immobile in the result; see [`release`].
    /// result these are immobile; see [`release`].
    pub(super) fn balanced_within_rules(
        &self,
        start: &Cluster,
        balance: impl Fn(Draft) -> BalancedState,
    ) -> (BalancedState, Vec<InstanceIdx>) {
        let baseline = Baseline::of(start, &self.nodes);
        let mut draft = Draft::of(start);
        let unchanged = draft.mark();
        let mut held = Vec::new();
        loop {
            hold(&mut draft, &held);
            let balanced = balance(draft);
            let soft = self.options.ignore_soft_errors;
            if soft || baseline.breach(&balanced.cluster, &self.nodes).is_none() {
                return (balanced, held);
            }
            draft = balanced.cluster;
            draft.back_to(unchanged);
            let first_violation = self.first_violation(&mut draft, &baseline, &balanced.steps);
            draft.back_to(unchanged);
            match first_violation {
                Some(instance) => held.push(instance),
                None => {
                    hold(&mut draft, &held);
                    return (balance(draft), held);
                }
            }
        }
    }

    /// The instance whose step is the first to violate the rules.
    fn first_violation(
        &self,
        draft: &mut Draft,
        baseline: &Baseline<'_>,
        steps: &[Step],
    ) -> Option<InstanceIdx> {
        let rules = balance_options(self.options).rules;
        let breaks = |step: &&Step| {
            let made = perform(draft, step.instance, step.mv, &rules).is_ok();
            made && baseline.breach(draft, &self.nodes).is_some()
        };
        steps.iter().find(breaks).map(|step| step.instance)
    }

    /// Instances on offline nodes whose only possible places violate tags or policies. They stay where they
    /// are, since that is not due to freeing nodes.
    pub(super) fn held(&self, state: &Cluster) -> Vec<InstanceIdx> {
        let nodes = state.nodes_of(self.group).iter().copied();
        let offline: Vec<NodeIdx> = nodes.filter(|node| state.node(*node).spec.offline).collect();
        let stranded = || state.residents(&offline).iter().any(|i| state.instance(*i).is_movable());
        if !stranded() || self.options.ignore_soft_errors {
            return Vec::new();
        }
        self.balanced_within_rules(state, |cluster| self.evacuated(cluster)).1
    }
}

/// Makes instances immobile.
pub(super) fn hold(cluster: &mut Draft, held: &[InstanceIdx]) {
    cluster.set_immobile(held, Some(Immobile::Excluded));
}

/// Allows instances to move again.
pub(super) fn release(cluster: &mut Draft, held: &[InstanceIdx]) {
    cluster.set_immobile(held, None);
}

#[cfg(test)]
mod tests;
