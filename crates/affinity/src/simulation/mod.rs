//! Machines that come and go, placed by several strategies side by side: what each of them refuses, how evenly it uses the nodes, and
//! how much of what customers wish it keeps.
//!
//! All strategies are judged under the same hard rule, that of placement by [affinity keys](crate): a node runs, and both what may
//! be promised of its memory and what is free of it are more than the machine needs. They only differ in which of the nodes that
//! can take a machine they choose; by keys, none may be good enough.

mod arrivals;
mod choosers;
mod course;
pub mod document;
mod gauge;
mod nights;
mod tenants;
mod timeline;
mod wishes;

use rayon::prelude::*;

use htools_model::Mib;
use htools_model::words;
use htools_pacemaker::working_set::Strategy;

pub use arrivals::PoissonArrivals;
pub use timeline::{Rental, Timeline, TimelineError};
pub use wishes::WishShare;

words!(
    /// A way to choose nodes that takes part in the comparison.
    pub Contender, "strategy" {
        /// By keys, in rounds.
        Affinity = "affinity",
        /// As Pacemaker does: the node with the most room.
        Balanced = "balanced",
        /// As Pacemaker does: the node with the fewest machines.
        Utilization = "utilization",
        /// As Pacemaker does: the first node by name.
        Minimal = "minimal",
        /// As hail does: the node with which the score of the cluster is best.
        Hail = "hail",
    }
);

impl Contender {
    /// The strategy of Pacemaker's, if it is one.
    fn strategy(self) -> Option<Strategy> {
        match self {
            Contender::Affinity | Contender::Hail => None,
            Contender::Balanced => Some(Strategy::Balanced),
            Contender::Utilization => Some(Strategy::Utilization),
            Contender::Minimal => Some(Strategy::Minimal),
        }
    }
}

/// What happens at night, when hbal looks at the nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NightWork {
    /// Its moves are counted, and machines stay where they are: each strategy is seen alone.
    #[default]
    Counted,
    /// Its moves are made.
    Made,
}

/// What came of one strategy.
#[derive(Debug, Clone, PartialEq)]
pub struct SimulatedRun {
    /// The strategy.
    pub contender: Contender,
    /// How many machines got no node.
    pub refused: usize,
    /// The memory of these.
    pub refused_ram: Mib,
    /// How many of them a node had room for.
    pub refused_with_room: usize,
    /// The standard deviation of the nodes' shares of memory that is allocated, averaged over the time.
    pub unevenness: f64,
    /// Its largest value.
    pub worst_unevenness: f64,
    /// Of what customers wish together: what was at stake and what was kept.
    pub together: WishShare,
    /// Of what customers wish apart.
    pub apart: WishShare,
    /// How many moves hbal had to make, or would have, in all nights together.
    pub moves: usize,
    /// How many nodes had no machines at night, on average.
    pub empty_nodes: f64,
    /// The largest share of the memory of all nodes that was allocated.
    pub peak: f64,
    /// Day by day.
    pub days: Vec<SimulatedDay>,
}

/// What came of one strategy on one day.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SimulatedDay {
    /// The unevenness, averaged over the day.
    pub unevenness: f64,
    /// How many machines were refused until its end.
    pub refused: usize,
    /// The moves of hbal's in the night after it.
    pub moves: usize,
    /// How many nodes had no machines then.
    pub empty_nodes: usize,
    /// The share of the memory of all nodes that was allocated then.
    pub used: f64,
}

/// Lets all strategies place the same machines.
pub fn simulate(timeline: &Timeline, nights: NightWork) -> Vec<SimulatedRun> {
    let wishes = timeline.wishes();
    Contender::ALL.par_iter().map(|contender| course::run(timeline, &wishes, *contender, nights)).collect()
}

#[cfg(test)]
mod tests;
