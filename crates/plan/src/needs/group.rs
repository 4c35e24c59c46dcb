//! Reserve of a group for the loss of several nodes at once, over all possible orders of steps.
//!
//! An arrival never raises the reserve, and a departure never lowers it. So the reserve is enough in every order if it
//! is enough once every step so far has arrived and none has left. Otherwise, departures of some earlier steps may make
//! it enough. If they do not, the step follows all earlier ones, as in the plan, where the rule holds. Steps between
//! nodes with room to spare do not change the reserve, and need no order among each other.

use crate::graph::StepIdx;
use htools_model::{Class, Cluster, GroupIdx, GroupReserve, InstanceIdx, NodeIdx, Step};

/// A group, and the steps so far that change its reserve.
pub(super) struct TouchedGroup {
    /// The reserve once every step since the settled one has arrived and none has left.
    least: GroupReserve,
    steps: Vec<EarlierStep>,
    /// The last step that follows all earlier ones.
    settled: Option<StepIdx>,
    /// True once an instance on shared storage has come from another group. Then the largest instance may have changed,
    /// and the reserve is no longer followed.
    is_open: bool,
}

/// A step that may precede the next one.
struct EarlierStep {
    step: StepIdx,
    /// Primaries that leave, with their nodes.
    departures: Vec<(InstanceIdx, NodeIdx)>,
    effect: ReserveEffect,
}

/// Effect of a step on the reserve of a group.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ReserveEffect {
    /// It does not change the reserve.
    Even,
    /// It changes the reserve but is not bound by it: its instance leaves the group or an offline node, or returns.
    Free,
    /// It changes the reserve, and must leave enough of it.
    Bound,
}

impl TouchedGroup {
    /// A group before the first step; `None` if only N+1 is required.
    pub(super) fn of(cluster: &Cluster, group: GroupIdx) -> Option<TouchedGroup> {
        let least = cluster.group_reserve(group)?.clone();
        Some(TouchedGroup { least, steps: Vec::new(), settled: None, is_open: false })
    }

    /// Adds the next step of the plan. Returns the steps that it must follow.
    pub(super) fn push(
        &mut self,
        cluster: &Cluster,
        group: GroupIdx,
        at: StepIdx,
        step: &Step,
    ) -> Vec<StepIdx> {
        let (new, arrives) = self.arrive(cluster, group, at, step);
        let lacks = arrives && (self.is_open || self.least.margin() <= 0);
        let waits = match new.effect {
            _ if !lacks => Some(Vec::new()),
            ReserveEffect::Even => Some(self.earlier(|effect| effect == ReserveEffect::Bound)),
            ReserveEffect::Free => Some(self.earlier(|effect| effect != ReserveEffect::Free)),
            ReserveEffect::Bound => self.helpers(cluster),
        };
        let settled = self.settled;
        let waits = waits.unwrap_or_else(|| {
            let all = self.earlier(|_| true);
            for step in self.steps.drain(..) {
                leave(&mut self.least, cluster, &step.departures, -1);
            }
            leave(&mut self.least, cluster, &new.departures, -1);
            self.settled = Some(at);
            all
        });
        if self.settled != Some(at) {
            self.steps.push(new);
        }
        waits.into_iter().chain(settled).collect()
    }

    /// Adds the arrival of a step. Returns the step, and true if its instance comes to a node of the group.
    fn arrive(
        &mut self,
        cluster: &Cluster,
        group: GroupIdx,
        at: StepIdx,
        step: &Step,
    ) -> (EarlierStep, bool) {
        let instance = cluster.instance(step.instance);
        let is_here = |node: &NodeIdx| cluster.node(*node).spec.group == group;
        let hops = step.legs().map(|(_, from, to)| [from.primary, to.primary]);
        let hops: Vec<[NodeIdx; 2]> = hops.filter(|[from, to]| from != to).collect();
        for [from, to] in hops.iter().filter(|[_, to]| is_here(to)) {
            self.is_open |= !is_here(from) && Class::of(instance.template) == Class::Relocate;
            self.least.change(instance, *to, 1);
        }
        let [from, to] = [step.from.primary, step.to.primary];
        let is_free = from == to || !is_here(&to) || cluster.node(from).spec.offline;
        let effect = if !self.is_open && self.least.is_even(instance, hops.as_flattened()) {
            ReserveEffect::Even
        } else if is_free {
            ReserveEffect::Free
        } else {
            ReserveEffect::Bound
        };
        let departures = hops.iter().map(|[from, _]| *from).filter(is_here);
        let departures = departures.map(|node| (step.instance, node)).collect();
        (EarlierStep { step: at, departures, effect }, hops.iter().any(|[_, to]| is_here(to)))
    }

    /// The steps since the settled one that have certain effects.
    fn earlier(&self, is_meant: impl Fn(ReserveEffect) -> bool) -> Vec<StepIdx> {
        self.steps.iter().filter(|one| is_meant(one.effect)).map(|one| one.step).collect()
    }

    /// A minimal set of steps after whose end the reserve is enough; `None` if even all of them do not suffice.
    fn helpers(&self, cluster: &Cluster) -> Option<Vec<StepIdx>> {
        let mut reserve = self.least.clone();
        let mut helpers = Vec::new();
        for step in self.steps.iter().filter(|step| !self.is_open && !step.departures.is_empty()) {
            if reserve.margin() > 0 {
                break;
            }
            leave(&mut reserve, cluster, &step.departures, -1);
            helpers.push(step);
        }
        if self.is_open || reserve.margin() <= 0 {
            return None;
        }
        for at in (0..helpers.len()).rev() {
            leave(&mut reserve, cluster, &helpers[at].departures, 1);
            if reserve.margin() > 0 {
                helpers.remove(at);
            } else {
                leave(&mut reserve, cluster, &helpers[at].departures, -1)
            }
        }
        Some(helpers.into_iter().map(|helper| helper.step).collect())
    }
}

/// Removes departures from a reserve (`sign` -1), or adds them again (1).
fn leave(reserve: &mut GroupReserve, cluster: &Cluster, departures: &[(InstanceIdx, NodeIdx)], sign: i64) {
    for (instance, node) in departures {
        reserve.change(cluster.instance(*instance), *node, sign);
    }
}
