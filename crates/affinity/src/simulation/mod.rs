//! Simulation of machines that come and go, with several strategies side by side. It compares the requests that each
//! strategy refuses, the evenness of node use, and the share of customers' wishes that is met.
//!
//! All strategies are subject to the same hard rule, that of placement by [affinity keys](crate). The node must run,
//! and both its memory left to allocate and its free memory must exceed the machine's need. Strategies differ only in
//! their choice among the possible nodes. With keys, none of these may be good enough.

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
    /// A strategy that takes part in the comparison.
    pub Contender, "strategy" {
        /// Affinity keys, in rounds.
        Affinity = "affinity",
        /// Pacemaker: the node with the most room.
        Balanced = "balanced",
        /// Pacemaker: the node with the fewest machines.
        Utilization = "utilization",
        /// Pacemaker: the first node by name.
        Minimal = "minimal",
        /// hail: the node that gives the best score of the cluster.
        Hail = "hail",
    }
);

impl Contender {
    /// Pacemaker's strategy, if it is one.
    fn strategy(self) -> Option<Strategy> {
        match self {
            Contender::Affinity | Contender::Hail => None,
            Contender::Balanced => Some(Strategy::Balanced),
            Contender::Utilization => Some(Strategy::Utilization),
            Contender::Minimal => Some(Strategy::Minimal),
        }
    }
}

/// Treatment of hbal's moves at night.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NightWork {
    /// The moves are counted but not made, so each strategy is seen alone.
    #[default]
    Counted,
    /// The moves are made.
    Made,
}

/// Result of one strategy.
#[derive(Debug, Clone, PartialEq)]
pub struct SimulatedRun {
    /// The strategy.
    pub contender: Contender,
    /// Number of machines that got no node.
    pub refused: usize,
    /// Memory of these machines.
    pub refused_ram: Mib,
    /// Number of these machines for which some node had room.
    pub refused_with_room: usize,
    /// Standard deviation of the nodes' shares of allocated memory, averaged over time.
    pub unevenness: f64,
    /// Largest standard deviation at any time.
    pub worst_unevenness: f64,
    /// Customers' wishes to be together: amounts at stake and met.
    pub together: WishShare,
    /// Customers' wishes to be apart: amounts at stake and met.
    pub apart: WishShare,
    /// Number of moves that hbal made, or would have made, in all nights together.
    pub moves: usize,
    /// Mean number of nodes without machines at night.
    pub empty_nodes: f64,
    /// Largest share of the memory of all nodes that was allocated.
    pub peak: f64,
    /// Results by day.
    pub days: Vec<SimulatedDay>,
}

/// Result of one strategy on one day.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SimulatedDay {
    /// Unevenness, averaged over the day.
    pub unevenness: f64,
    /// Number of machines refused by the end of the day.
    pub refused: usize,
    /// hbal's moves in the following night.
    pub moves: usize,
    /// Number of nodes without machines at the end of the day.
    pub empty_nodes: usize,
    /// Allocated share of the memory of all nodes at the end of the day.
    pub used: f64,
}

/// Runs all strategies on the same machines.
pub fn simulate(timeline: &Timeline, nights: NightWork) -> Vec<SimulatedRun> {
    let wishes = timeline.wishes();
    Contender::ALL.par_iter().map(|contender| course::run(timeline, &wishes, *contender, nights)).collect()
}

#[cfg(test)]
mod tests;
