//! Balances a group with some nodes switched, and checks the result.

use std::collections::HashSet;
use std::sync::{Mutex, OnceLock, PoisonError};

use super::candidates::{offline_candidates, online_candidates};
use super::harm::Baseline;
use super::reserve::Reserve;
use super::{Hindrance, SqueezeOptions, SqueezeWatch, Standby, balance_options};
use crate::parallel::note;
use crate::why::RefusedPlace;
use crate::{BalanceOptions, Balancer, Stopped};
use htools_model::redundancy::global::{self, Departures};
use htools_model::score::Board;
use htools_model::{Cluster, Draft, GroupIdx, Instance, InstanceIdx, NodeIdx, Step};

/// A group before any change, with the options.
pub(super) struct GroupScope<'c> {
    pub cluster: &'c Cluster,
    pub options: &'c SqueezeOptions,
    pub group: GroupIdx,
    pub nodes: Vec<NodeIdx>,
    pub minimal: Reserve,
    pub target: Reserve,
    /// The lack of the first node without the minimal reserve.
    pub missing: Option<RefusedPlace>,
    /// If no node lacks it: the node with most room, if using the reserve anywhere would put a node at risk.
    pub exposed: Option<NodeIdx>,
    pub standby: Vec<Standby>,
    pub candidates: Vec<NodeIdx>,
    /// State that must not become worse.
    pub baseline: Baseline<'c>,
    /// Nodes that could not be emptied at the start.
    at_risk: HashSet<NodeIdx>,
    /// Nodes that could not be emptied at the start, if the smallest instances leave first.
    loosely_at_risk: HashSet<NodeIdx>,
    pub watch: SqueezeWatch<'c>,
    /// Reason why the search ended here, once it has.
    stopped: OnceLock<Stopped>,
    /// The node that could not be emptied in the last trial; the next trial checks it first.
    stuck: Mutex<Option<NodeIdx>>,
}

pub(super) struct BalancedState {
    pub cluster: Draft,
    pub steps: Vec<Step>,
    pub score: f64,
}

impl<'c> GroupScope<'c> {
    pub(super) fn of(
        cluster: &'c Cluster,
        group: GroupIdx,
        options: &'c SqueezeOptions,
        watch: SqueezeWatch<'c>,
    ) -> GroupScope<'c> {
        let nodes = cluster.nodes_of(group);
        let minimal = Reserve::of(&cluster.policy, options.minimal);
        let at_risk = |departures| -> HashSet<NodeIdx> {
            if options.capacity_checks {
                global::nodes_at_risk(cluster, nodes, departures).into_iter().collect()
            } else {
                HashSet::new()
            }
        };
        let mut scope = GroupScope {
            missing: minimal.first_lack(cluster, nodes),
            exposed: None,
            target: Reserve::of(&cluster.policy, options.target),
            standby: online_candidates(cluster, nodes, options),
            candidates: offline_candidates(cluster, nodes, options),
            baseline: Baseline::of(cluster, nodes),
            cluster,
            options,
            group,
            nodes: nodes.to_vec(),
            minimal,
            at_risk: at_risk(Departures::BySize),
            loosely_at_risk: at_risk(Departures::SmallestFirst),
            watch,
            stopped: OnceLock::new(),
            stuck: Mutex::new(None),
        };
        if scope.missing.is_none() {
            scope.exposed = scope.unusable(&scope.minimal, cluster);
        }
        scope
    }

    /// Checks whether using a reserve would put a node at risk in a state of the cluster, wherever it is used.
    /// If so, returns the node with most room. Nothing is required if nodes are at risk both at the start and
    /// in that state.
    pub(super) fn unusable(&self, reserve: &Reserve, state: &Cluster) -> Option<NodeIdx> {
        let sound = || {
            let online = |n| !state.node(n).spec.offline;
            global::any_at_risk(state, &self.nodes, Departures::BySize, online).is_none()
        };
        let expected = || self.online().all(|n| !self.at_risk.contains(&n)) || sound();
        let expected = self.options.capacity_checks && expected();
        if !expected {
            return None;
        }
        note(self.nodes.len());
        let stuck = || self.stuck.lock().unwrap_or_else(PoisonError::into_inner);
        let mut first = *stuck();
        let found = reserve.unusable(state, &self.nodes, &mut first);
        *stuck() = first;
        found
    }

    /// Returns true if a node could not be emptied at the start.
    pub(super) fn is_at_risk(&self, node: NodeIdx) -> bool {
        self.at_risk.contains(&node) || self.loosely_at_risk.contains(&node)
    }

    /// Returns true if a search that could go on must end.
    pub(super) fn has_to_end(&self) -> bool {
        let reached = self.watch.deadline.reached();
        if let Some(why) = reached {
            let _ = self.stopped.set(why);
        }
        reached.is_some()
    }

    /// Reason for an early end of the search.
    pub(super) fn stopped(&self) -> Option<Stopped> {
        self.stopped.get().copied()
    }

    /// Returns true if the group lacks the minimal reserve.
    pub(super) fn needs_more(&self) -> bool {
        self.missing.is_some()
            || self.exposed.is_some()
            || (self.online().next().is_none() && !self.standby.is_empty())
    }

    /// The nodes that are online before any change.
    pub(super) fn online(&self) -> impl Iterator<Item = NodeIdx> + '_ {
        self.nodes.iter().copied().filter(|n| !self.cluster.node(*n).spec.offline)
    }

    /// Score of the group before any change.
    pub(super) fn initial_score(&self) -> f64 {
        Board::new(self.cluster, &self.nodes).score()
    }

    /// Balances the group in a state of the cluster until the deadline. In any case, all movable instances
    /// leave offline nodes.
    pub(super) fn balanced(&self, cluster: Draft) -> BalancedState {
        let (balanced, complete) = self.moved(cluster, balance_options(self.options), false);
        if complete {
            return balanced;
        }
        let BalancedState { cluster, mut steps, .. } = balanced;
        let rest = self.evacuated(cluster);
        steps.extend(rest.steps);
        BalancedState { steps, ..rest }
    }

    /// Moves instances away from offline nodes, and does nothing else.
    pub(super) fn evacuated(&self, cluster: Draft) -> BalancedState {
        self.moved(cluster, BalanceOptions { evacuate: true, ..balance_options(self.options) }, true).0
    }

    /// Makes steps until the search must end, or with `wholly` to the end. Also returns true if it reached the
    /// end.
    fn moved(&self, mut cluster: Draft, options: BalanceOptions, wholly: bool) -> (BalancedState, bool) {
        let mut balancer = Balancer::new(&mut cluster, &self.nodes, options);
        let mut steps = Vec::new();
        let mut complete = true;
        loop {
            if !wholly && self.has_to_end() {
                complete = false;
                break;
            }
            let Some(step) = balancer.next_step() else { break };
            steps.push(step);
        }
        let score = balancer.score();
        (BalancedState { cluster, steps, score }, complete)
    }

    /// The objection to a balanced state in which `freed` are offline, if there is one. With `hasty`, checks
    /// that rarely make a difference are left out.
    pub(super) fn objection(&self, after: &Cluster, freed: &[NodeIdx], hasty: bool) -> Option<Hindrance> {
        let is_freed = after.mask(freed);
        let is_freed = |n: NodeIdx| is_freed[n.get()];
        if let Some(left) = after.instances.iter().find(|i| places(i).any(is_freed)) {
            return Some(Hindrance::Stays(left.idx));
        }
        if let Some(lack) = self.target.first_lack(after, &self.nodes) {
            return Some(Hindrance::Reserve(Box::new(lack)));
        }
        let online = || self.nodes.iter().copied().filter(|n| !after.node(*n).spec.offline);
        let failed = |cluster: &Cluster, n: NodeIdx| cluster.node(n).state.ledger.n1_fail;
        if let Some(node) = online().find(|n| failed(after, *n) && !failed(self.cluster, *n)) {
            return Some(Hindrance::Redundancy(node));
        }
        if let Some(worse) = self.harm(after) {
            return Some(worse);
        }
        if let Some(lack) = self.lacks_room(after) {
            return Some(lack);
        }
        if !self.options.capacity_checks {
            return None;
        }
        let exposed = |reserve| self.unusable(reserve, after).map(Hindrance::Exposed);
        // More room does not prove that a node can be emptied, since that depends on where the room is.
        let at_risk = || self.newly_at_risk(after).map(Hindrance::Expendable);
        if hasty && self.at_risk.is_empty() {
            exposed(&self.target)
        } else {
            at_risk().or_else(|| exposed(&self.target)).or_else(|| exposed(&self.minimal))
        }
    }

    /// Returns the lack of room for further instances, if room is kept and there is less than at the start.
    fn lacks_room(&self, after: &Cluster) -> Option<Hindrance> {
        let (before, after) = (self.cluster.room()?, after.room()?);
        let (needed, fitting) = (before.count(), after.count());
        (fitting < needed).then_some(Hindrance::Room { needed, fitting })
    }

    /// A node that cannot be emptied but could be at the start; offline nodes count, too. If it fails with the
    /// smallest instances first, it usually also fails in the order of some list, such as that of hcheck.
    fn newly_at_risk(&self, after: &Cluster) -> Option<NodeIdx> {
        note(self.nodes.len());
        let found = |departures, before: &HashSet<NodeIdx>| {
            global::any_at_risk(after, &self.nodes, departures, |n| !before.contains(&n))
        };
        found(Departures::BySize, &self.at_risk)
            .or_else(|| found(Departures::SmallestFirst, &self.loosely_at_risk))
    }

    /// The reason why a set cannot be freed, without a trial: balancing cannot move fixed instances or create
    /// memory.
    pub(super) fn hopeless(&self, freed: &[NodeIdx]) -> Option<Hindrance> {
        let is_freed = self.cluster.mask(freed);
        let online: Vec<NodeIdx> = self.online().filter(|n| !is_freed[n.get()]).collect();
        if online.is_empty() {
            return Some(Hindrance::LastNode);
        }
        let sum = |nodes: &mut dyn Iterator<Item = i64>| nodes.map(i128::from).sum::<i128>();
        let room = |n: &NodeIdx| {
            let node = self.cluster.node(*n);
            node.state.ledger.mem_unallocated(&node.spec).0
        };
        let used = |n: &NodeIdx| self.cluster.node(*n).state.ledger.mem_instances.0;
        let free = sum(&mut online.iter().map(room)) - sum(&mut freed.iter().map(used));
        // On every node, one MiB must stay free beyond the reserve.
        let needed = online.len() as i128 * (i128::from(self.target.memory().0) + 1);
        let missing = needed - free;
        (missing > 0).then(|| Hindrance::Memory(i64::try_from(missing).unwrap_or(i64::MAX)))
    }

    /// For each node, an instance on it that balancing never moves.
    pub(super) fn fixed(&self) -> Vec<Option<InstanceIdx>> {
        let mut fixed = vec![None; self.cluster.nodes.len()];
        for instance in &self.cluster.instances {
            let stays = !instance.is_movable() || !instance.auto_balance;
            // A node that is only named as the secondary, without being one, never changes.
            let nominal = instance.secondary.filter(|_| stays || instance.mirror().is_none());
            let primary = Some(instance.primary).filter(|_| stays);
            for node in [primary, nominal].into_iter().flatten() {
                fixed[node.get()].get_or_insert(instance.idx);
            }
        }
        fixed
    }
}

/// All nodes that an instance names.
fn places(instance: &Instance) -> impl Iterator<Item = NodeIdx> {
    [Some(instance.primary), instance.secondary].into_iter().flatten()
}
