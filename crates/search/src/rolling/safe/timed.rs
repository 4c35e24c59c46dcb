//! Safe plans whose batches are as short as possible, with their lower bound.

use super::{SafePlan, SafePlanner};
use htools_plan::durations::Rates;
use htools_plan::names::Impossible;
use htools_plan::rolling::{OutageTime, RollingBound, outage_times};
use htools_plan::stream::StreamLimits;

/// A planner that knows how long each node takes.
#[derive(Debug)]
pub struct TimedPlanner<'a> {
    planner: SafePlanner<'a>,
    limits: StreamLimits,
    /// Times of the planner's nodes, in their order.
    times: Vec<OutageTime>,
}

impl<'a> SafePlanner<'a> {
    /// Estimates the time of each node as a batch of its own.
    ///
    /// # Errors
    /// If a name is not valid in Ganeti.
    pub fn timed(self, rates: &Rates, limits: StreamLimits) -> Result<TimedPlanner<'a>, Impossible> {
        let alone = self.alone.iter().map(|part| (&part.nodes[..], &part.moves[..]));
        let offline = self.options.offline_maintenance;
        let times = outage_times(self.cluster, alone, offline, rates, limits, 0.0)?;
        Ok(TimedPlanner { planner: self, limits, times })
    }
}

impl TimedPlanner<'_> {
    /// The plan.
    pub fn plan(&self) -> SafePlan {
        self.planner.plan(&self.times.iter().map(|time| time.least).collect::<Vec<_>>())
    }

    /// Lower bound of the batches and the duration of all plans.
    pub fn bound(&self) -> RollingBound {
        RollingBound::of(&self.planner.rules, &self.times, self.limits)
    }

    /// Sum over the batches of a plan of the least time of their slowest nodes, in seconds.
    pub fn slowest(&self, plan: &SafePlan) -> f64 {
        let nodes = &self.planner.nodes;
        let least = |node| nodes.binary_search(node).map_or(0.0, |at| self.times[at].least);
        plan.parts.iter().map(|part| part.nodes.iter().map(least).fold(0.0, f64::max)).sum()
    }
}
