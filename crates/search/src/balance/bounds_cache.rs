//! What a search keeps from one step to the next.

use super::Balancer;
use super::bounds::MoveBounds;
use super::likeness::Likeness;
use super::tally::Tally;
use htools_model::{NodeIdx, Step};

/// The bounds of all moves, if there are any, and what happened since they were
/// right.
#[derive(Default)]
pub(super) struct BoundsCache {
    bounds: Option<MoveBounds>,
    /// There can be no bounds for this group.
    hopeless: bool,
    last: Option<MadeStep>,
    /// Which nodes are alike, if that was ever asked.
    pub likeness: Likeness,
    /// How many moves the last search evaluated.
    pub evaluated: u64,
    /// The work of all searches so far.
    pub tally: Tally,
}

/// A step that was made.
struct MadeStep {
    nodes: Vec<NodeIdx>,
    step: Step,
}

impl BoundsCache {
    /// Notes that a step was made, which changed these nodes.
    pub(super) fn step_made(&mut self, step: &Step, nodes: Vec<NodeIdx>) {
        self.likeness.note(&nodes);
        if self.last.replace(MadeStep { nodes, step: *step }).is_some() {
            // nobody looked at the state in between
            self.bounds = None;
        }
    }

    /// The bounds as they were last asked for.
    pub(super) fn last_bounds(&self) -> Option<&MoveBounds> {
        self.bounds.as_ref()
    }

    /// The bounds for the present state; nothing if there can be none.
    pub(super) fn bounds(&mut self, balancer: &Balancer<'_>) -> Option<&mut MoveBounds> {
        if let (Some(bounds), Some(change)) = (&mut self.bounds, &self.last) {
            let from = [Some(change.step.from.primary), change.step.from.secondary];
            if !bounds.follow(balancer, &change.nodes, change.step.instance, from) {
                self.bounds = None;
                self.hopeless = true;
            }
        }
        self.last = None;
        if self.bounds.is_none() && !self.hopeless {
            self.bounds = MoveBounds::of(balancer);
            self.hopeless = self.bounds.is_none();
        }
        self.bounds.as_mut()
    }
}
