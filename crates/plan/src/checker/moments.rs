//! Overlapping steps: one begins while others are under way, and their instances are in two places.
//!
//! From its beginning to its end a step holds both its old and its new resources. A live migration has its memory on
//! both nodes, and a disk stays on the old node until the copy is complete.

use std::collections::BTreeMap;

use super::state::ReplayedCluster;
use super::{CheckOptions, Checker, Fault, Replay, Violation, violation};
use crate::graph::StepIdx;
use htools_model::{Cluster, Leg, NodeIdx, Placement, Step};

/// Event of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlanMoment {
    /// The step begins.
    Begins(StepIdx),
    /// The step ends.
    Ends(StepIdx),
}

/// Replays a plan for the set `nodes` that starts from `cluster`, in an order in which steps overlap. Each step must
/// begin and end once.
///
/// # Errors
/// The first step that must not begin at its time, and the reason.
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

/// Checks that a step may begin when some steps are done and others are under way, in whatever order these began.
///
/// # Errors
/// The reason that it must not.
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

/// Role on a node that a step under way holds besides its future ones, before and after its end.
#[derive(Debug, Clone, Copy)]
struct ExtraRole {
    node: NodeIdx,
    /// The instance runs there, or ran there.
    as_primary: bool,
    /// True if the instance will be secondary there afterwards.
    becomes_secondary: bool,
}

struct Overlapping<'a> {
    cluster: &'a Cluster,
    steps: &'a [Step],
    checker: Checker<'a>,
    /// The roles held by each step under way.
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

    /// Puts a step that was just replayed as done into its state while under way.
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
