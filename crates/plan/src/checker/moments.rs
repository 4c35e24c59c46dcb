//! Steps that overlap: one begins, others are under way, and what they move is in two places.
//!
//! From its begin to its end a step holds what it will have and what it had: a migration has its
//! memory on both nodes, and what is copied is on the old node until the copy is complete.

use std::collections::BTreeMap;

use super::state::ReplayedCluster;
use super::{CheckOptions, Checker, Fault, Replay, Violation, violation};
use crate::graph::StepIdx;
use htools_model::{Cluster, Leg, NodeIdx, Placement, Step};

/// Event of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlanMoment {
    /// It begins.
    Begins(StepIdx),
    /// It ends.
    Ends(StepIdx),
}

/// Replays a plan for the set `nodes` that starts from `cluster`, in an order in which steps overlap. Each has to begin
/// and to end once.
///
/// # Errors
/// The first step that must not begin then, and why.
pub fn check_moments(
    cluster: &Cluster,
    nodes: &[NodeIdx],
    steps: &[Step],
    options: CheckOptions,
    moments: impl IntoIterator<Item = PlanMoment>,
) -> Result<Replay, Violation> {
    let mut replay = Overlapping::of(cluster, nodes, steps, options);
    for moment in moments {
        match moment {
            PlanMoment::Begins(at) => replay.begin(at)?,
            PlanMoment::Ends(at) => replay.end(at),
        }
    }
    Ok(replay.checker.state.replay())
}

/// Tells if a step may begin when some are done and others are under way, however they came to that.
///
/// # Errors
/// Why it must not.
pub fn check_beginning(
    cluster: &Cluster,
    nodes: &[NodeIdx],
    steps: &[Step],
    options: CheckOptions,
    (done, running): (&[StepIdx], &[StepIdx]),
    next: StepIdx,
) -> Result<(), Violation> {
    let mut replay = Overlapping::of(cluster, nodes, steps, options);
    let mut begun: Vec<StepIdx> = done.iter().chain(running).copied().collect();
    begun.sort_unstable();
    for at in begun {
        let step = &steps[at.get()];
        replay.checker.state.jump(step.instance, step.to);
        replay.hold(at);
        if done.contains(&at) {
            replay.end(at);
        }
    }
    replay.begin(next)
}

/// Roles that a step under way has besides those that it will have: by node, before and after its end.
#[derive(Debug, Clone, Copy)]
struct ExtraRole {
    node: NodeIdx,
    /// It runs there, or did.
    as_primary: bool,
    /// True if the instance will be secondary there then.
    becomes_secondary: bool,
}

struct Overlapping<'a> {
    cluster: &'a Cluster,
    steps: &'a [Step],
    checker: Checker<'a>,
    /// By step under way.
    extra_roles: BTreeMap<StepIdx, Vec<ExtraRole>>,
}

impl<'a> Overlapping<'a> {
    fn of(
        cluster: &'a Cluster,
        nodes: &[NodeIdx],
        steps: &'a [Step],
        options: CheckOptions,
    ) -> Overlapping<'a> {
        let checker = Checker {
            state: ReplayedCluster::new(cluster),
            nodes: nodes.iter().copied().collect(),
            soft: options.ignore_soft_errors,
        };
        Overlapping { cluster, steps, checker, extra_roles: BTreeMap::new() }
    }

    fn begin(&mut self, at: StepIdx) -> Result<(), Violation> {
        let step = &self.steps[at.get()];
        let fail = |fault| violation(self.cluster, at.get(), step, fault);
        let mut others = self.extra_roles.keys().map(|other| self.steps[other.get()].instance);
        if others.any(|instance| instance == step.instance) {
            return Err(fail(Fault::Moving));
        }
        self.checker.step(step).map_err(fail)?;
        self.hold(at);
        Ok(())
    }

    /// Leaves a step that was just replayed as it is under way.
    fn hold(&mut self, at: StepIdx) {
        let step = &self.steps[at.get()];
        let mirrored = self.cluster.instance(step.instance).template.has_secondary();
        let copy = |place: Placement| place.secondary.filter(|_| mirrored);
        let legs = step.legs().filter(|(leg, ..)| !matches!(leg, Leg::ReplaceSecondary(_)));
        let mut ran: Vec<NodeIdx> = legs.map(|(_, from, _)| from.primary).collect();
        if step.from.primary != step.to.primary {
            ran.push(step.from.primary);
        }
        ran.sort();
        ran.dedup();
        ran.retain(|node| *node != step.to.primary);
        let stays = |node: NodeIdx| copy(step.to) == Some(node);
        let extra = |node: NodeIdx, as_primary| ExtraRole {
            node,
            as_primary,
            becomes_secondary: as_primary && stays(node),
        };
        let copies =
            copy(step.from).filter(|node| !ran.contains(node) && !step.to.nodes().any(|n| n == *node));
        let extra_roles: Vec<ExtraRole> =
            ran.iter().map(|node| extra(*node, true)).chain(copies.map(|node| extra(node, false))).collect();
        for ExtraRole { node, as_primary, becomes_secondary } in &extra_roles {
            self.checker.state.linger(step.instance, *node, *as_primary, step.from.primary);
            if *becomes_secondary {
                self.checker.state.defer_secondary(step.instance, *node);
            }
        }
        self.extra_roles.insert(at, extra_roles);
    }

    fn end(&mut self, at: StepIdx) {
        let instance = self.steps[at.get()].instance;
        for ExtraRole { node, as_primary, becomes_secondary } in
            self.extra_roles.remove(&at).unwrap_or_default()
        {
            self.checker.state.vanish(instance, node, as_primary);
            if becomes_secondary {
                self.checker.state.come_as_secondary(instance, node);
            }
        }
    }
}
