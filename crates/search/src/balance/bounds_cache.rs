//! State that a search keeps from one step to the next.

use super::Balancer;
use super::bounds::MoveBounds;
use super::likeness::Likeness;
use super::survivor::Survivor;
use super::tally::Tally;
use htools_model::{NodeIdx, Step};

/// The bounds of all moves, if there are any, and the step made since they were computed.
#[derive(Default)]
pub(super) struct BoundsCache {
    bounds: Option<MoveBounds>,
    /// True if bounds are impossible for this group.
    hopeless: bool,
    last: Option<MadeStep>,
    /// Classes of alike nodes, once they have been computed.
    pub likeness: Likeness,
    /// Lists of survivors to be used again.
    pub spare: Vec<Vec<Survivor>>,
    /// Rough time of the last search on one thread, in nanoseconds.
    pub work: u64,
    /// Number of moves that the last search evaluated.
    pub evaluated: u64,
    /// The work of all searches so far.
    pub tally: Tally,
}

/// A step that was made, and the nodes that it changed.
struct MadeStep {
    nodes: Vec<NodeIdx>,
    step: Step,
}

impl BoundsCache {
    /// Records that a step was made, which changed these nodes.
    pub(super) fn step_made(&mut self, step: &Step, nodes: Vec<NodeIdx>) {
        self.likeness.note(&nodes);
        if self.last.replace(MadeStep { nodes, step: *step }).is_some() {
            // No search has updated the bounds for the state in between.
            self.bounds = None;
        }
    }

    /// The bounds as a search last used them.
    pub(super) fn last_bounds(&self) -> Option<&MoveBounds> {
        self.bounds.as_ref()
    }

    /// The bounds for the present state; `None` if there can be none.
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
