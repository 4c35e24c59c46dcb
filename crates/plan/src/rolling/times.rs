//! Least time of a node in a rolling reboot, whichever nodes are down with it.

use super::Reboots;
use crate::durations::Rates;
use crate::graph::StepIdx;
use crate::names::Impossible;
use crate::stream::{LimitKey, StreamLimits};
use crate::work::{Task, Work};
use htools_model::{Cluster, MovedMeanwhile, NodeIdx};

/// Times of the maintenance of a node, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct OutageTime {
    /// Least time from the first to the last of its steps.
    pub least: f64,
    /// Sum of the durations of its steps.
    pub busy: f64,
}

/// Times of nodes, each given as a batch of its own with its moves. `offline` is set if all instances are stopped
/// meanwhile. `extra` is the time of further steps of each node that come before or after all others, such as marks.
///
/// The least time of a node is a lower bound of the duration of any batch with it:
///
/// * All moves away end before the reboot begins, and all other steps begin after the node has answered.
/// * Each of the three phases lasts at least as long as the longest chain of its steps.
/// * At most N steps that copy from the node run at once, so they take at least their sum over N. The same holds for
///   copies to the node, for steps that copy disks, and for all steps.
/// * The nodes that take its instances do not change these durations.
///
/// # Errors
/// If a name is not valid in Ganeti.
pub fn outage_times<'p>(
    cluster: &Cluster,
    alone: impl IntoIterator<Item = (&'p [NodeIdx], &'p [MovedMeanwhile])>,
    offline: bool,
    rates: &Rates,
    limits: StreamLimits,
    extra: f64,
) -> Result<Vec<OutageTime>, Impossible> {
    let of_part = |part| {
        let work = Reboots::of(cluster, [part], offline)?.work;
        let seconds = rates.of(&work);
        let phases = Phases { work: &work, seconds: &seconds, limits };
        Ok(OutageTime { least: phases.least() + extra, busy: seconds.iter().sum::<f64>() + extra })
    };
    alone.into_iter().map(of_part).collect()
}

/// The steps of a single node.
struct Phases<'w> {
    work: &'w Work,
    seconds: &'w [f64],
    limits: StreamLimits,
}

impl Phases<'_> {
    fn least(&self) -> f64 {
        let switches = |step: &StepIdx| {
            matches!(self.work.step(*step).task, Task::Reboot | Task::RebootByHand | Task::Await)
        };
        let of_node: Vec<StepIdx> = self.work.all().filter(switches).collect();
        let (Some(first), Some(last)) = (of_node.first(), of_node.last()) else {
            return self.of_phase(self.work.all());
        };
        let (first, last) = (first.get(), last.get());
        let phase = |steps: std::ops::Range<usize>| self.of_phase(steps.map(StepIdx::new));
        phase(0..first) + phase(first..last + 1) + phase(last + 1..self.seconds.len())
    }

    /// Least time of the steps of a phase.
    fn of_phase(&self, steps: impl Iterator<Item = StepIdx>) -> f64 {
        let steps: Vec<StepIdx> = steps.collect();
        let mut sums: std::collections::BTreeMap<LimitKey, f64> = std::collections::BTreeMap::new();
        for step in &steps {
            for key in LimitKey::of(self.work.step(*step)) {
                *sums.entry(key).or_default() += self.seconds[step.get()];
            }
        }
        let limited = sums.iter().filter_map(|(key, sum)| {
            let most = u32::try_from(self.limits.of(key)?.max(1)).unwrap_or(u32::MAX);
            Some(sum / f64::from(most))
        });
        limited.fold(self.longest_chain(&steps), f64::max)
    }

    /// Longest chain of steps among these, which are in order.
    fn longest_chain(&self, steps: &[StepIdx]) -> f64 {
        let Some(first) = steps.first() else { return 0.0 };
        let mut ends: Vec<f64> = steps.iter().map(|step| self.seconds[step.get()]).collect();
        // Edges are sorted by the step that waits, so the ends of its predecessors are final.
        for edge in &self.work.edges {
            let at = |step: StepIdx| step.get().checked_sub(first.get()).filter(|at| *at < steps.len());
            if let (Some(before), Some(after)) = (at(edge.before), at(edge.after)) {
                ends[after] = ends[after].max(ends[before] + self.seconds[edge.after.get()]);
            }
        }
        ends.into_iter().fold(0.0, f64::max)
    }
}
