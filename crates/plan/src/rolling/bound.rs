//! Lower bounds of the number of batches of a rolling reboot, and of its duration.
//!
//! The proofs in plain words are in docs/bounds.md.

use std::time::Duration;

use super::OutageTime;
use crate::stream::StreamLimits;
use htools_model::outage::{BatchSearch, BatchTimes, OutageRules, search_batches, shortest_batches};
use htools_model::{Mib, NodeIdx};

/// Largest number of nodes for which fewer batches are refuted by exhaustive search.
const SMALL: usize = 128;
/// Placements of one such search.
const BUDGET: u64 = 20_000;
/// Placements of the search for the shortest division.
const SHORTEST_BUDGET: u64 = 100_000;
/// Number of searches that may end without a result.
const UNDECIDED: usize = 10;
/// Most levels of time that are looked at.
const LEVELS: usize = 64;
/// Ratio of a plan to the bound up to which it needs no explanation.
const NEAR: f64 = 1.1;

/// Reason why there are at least so many batches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BatchProof {
    /// There is a node.
    One,
    /// No two of these nodes are ever down together.
    Clique(Vec<usize>),
    /// At most so many nodes are down at once.
    MaxDown(usize),
    /// The instances that this node takes over do not fit into its memory in fewer batches.
    Takeover(NodeIdx),
    /// An exhaustive search found no division into fewer batches.
    Exhausted,
}

/// Lower bound of any plan for the same nodes that obeys the rules.
#[derive(Debug, Clone, PartialEq)]
pub struct RollingBound {
    /// Least number of batches.
    pub batches: usize,
    /// Reason for that number; `None` without nodes.
    pub proof: Option<BatchProof>,
    /// Least duration, in seconds.
    pub seconds: f64,
    /// Least duration of plans with the least number of batches, in seconds. More batches can take less time if they
    /// keep nodes that take long together.
    pub seconds_of_fewest: f64,
    /// True if searches for fewer batches, or for fewer long batches, ended without a result.
    pub undecided: bool,
}

/// Figures of a plan, to be compared with the bound.
#[derive(Debug, Clone, PartialEq)]
pub struct RollingFigures<'p> {
    /// Number of batches.
    pub batches: usize,
    /// Duration in seconds.
    pub seconds: f64,
    /// Sum over the batches of the least time of their slowest nodes, in seconds.
    pub slowest: f64,
    /// Nodes that the rules allowed in a batch, but that found no room there.
    pub postponed: &'p [NodeIdx],
}

/// Reason for a gap between a plan and the bound: a rule that the plan obeys, or may obey, and the bound does not know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RollingGap {
    /// These nodes found no room in a batch that the known rules allowed: memory, disks, N+1 or tags of the nodes that
    /// take their instances.
    Capacity(Vec<NodeIdx>),
    /// Fewer batches were neither found nor refuted.
    Batches,
    /// It has the fewest batches, and more batches could take less time.
    FewestFirst,
    /// Nodes that take long were not proved to need so many batches.
    LongNodes,
    /// Batches take longer than their slowest nodes, because nodes share the limits of the run.
    SharedLimits,
}

impl RollingBound {
    /// The bound under the rules, with the times of the nodes.
    ///
    /// *Batches.* Each proof of [`BatchProof`] holds for any plan.
    ///
    /// *Duration.* Batches go down one after another, and each takes at least as long as its slowest node. For any time
    /// t, let b(t) be the least number of batches for the nodes that take at least t. A plan has at least b(t) batches
    /// that take at least t, since each of these nodes is in one. So the sum over its batches is at least the integral
    /// of b(t). This is at least the sum of the times of any clique, and at least the sum of every m-th time in
    /// descending order, where m nodes may be down.
    ///
    /// *Shortest division.* For small clusters, a search with a budget tries all divisions by the longest times of their
    /// batches. The least time of those that it did not rule out is a bound.
    ///
    /// *Steps.* If at most N steps run at once, the duration is at least the sum of all steps over N.
    pub fn of(rules: &OutageRules, times: &[OutageTime], limits: StreamLimits) -> RollingBound {
        let times: Vec<OutageTime> =
            (0..rules.len()).map(|node| times.get(node).copied().unwrap_or_default()).collect();
        let mut levels = Levels::new(rules);
        let mut order: Vec<usize> = (0..rules.len()).collect();
        let least: Vec<u64> = times.iter().map(|time| milliseconds(time.least)).collect();
        order.sort_by_key(|node| (std::cmp::Reverse(least[*node]), *node));
        let chunk = order.len().div_ceil(LEVELS).max(1);
        let mut total = Duration::ZERO;
        let mut groups = order.chunks(chunk).peekable();
        while let Some(group) = groups.next() {
            group.iter().for_each(|node| levels.add(*node));
            levels.refute();
            // All nodes so far take at least as long as the last one of this group.
            let here = group.last().map_or(0, |node| least[*node]);
            let next = groups.peek().and_then(|group| group.last()).map_or(0, |node| least[*node]);
            let count = u32::try_from(levels.batches).unwrap_or(u32::MAX);
            total = total.saturating_add(Duration::from_millis(here - next).saturating_mul(count));
        }
        let shortest = |most: usize| {
            let found = shortest_batches(rules, &least, most, u64::MAX, &mut SHORTEST_BUDGET.clone());
            // No such division at all: that is a matter of the number of batches.
            Duration::from_millis(if found.least == u64::MAX { 0 } else { found.least })
        };
        let mut of_fewest = total;
        if rules.len() <= SMALL {
            total = total.max(shortest(rules.len()));
            of_fewest = total.max(shortest(levels.batches));
        }
        let busy: f64 = times.iter().map(|time| time.busy).sum();
        let parallel = limits.parallel.and_then(|most| u32::try_from(most.max(1)).ok());
        let by_steps = parallel.map_or(0.0, |most| busy / f64::from(most));
        RollingBound {
            batches: levels.batches,
            proof: levels.proof,
            seconds: total.as_secs_f64().max(by_steps),
            seconds_of_fewest: of_fewest.as_secs_f64().max(by_steps),
            undecided: levels.undecided > 0,
        }
    }

    /// Reasons why a plan takes more than 1.1 times as many batches or as long as the bound. Empty if it does not.
    pub fn gaps(&self, plan: &RollingFigures<'_>) -> Vec<RollingGap> {
        let mut gaps = Vec::new();
        let more_batches = plan.batches > self.batches;
        if plan.seconds <= self.seconds * NEAR && (plan.batches as f64) <= self.batches as f64 * NEAR {
            return gaps;
        }
        if !plan.postponed.is_empty() {
            gaps.push(RollingGap::Capacity(plan.postponed.to_vec()));
        }
        if more_batches && (self.undecided || plan.postponed.is_empty()) {
            gaps.push(RollingGap::Batches);
        }
        if !more_batches && self.seconds_of_fewest > self.seconds {
            gaps.push(RollingGap::FewestFirst);
        }
        if !more_batches && plan.slowest > self.seconds_of_fewest {
            gaps.push(RollingGap::LongNodes);
        }
        if plan.seconds > plan.slowest {
            gaps.push(RollingGap::SharedLimits);
        }
        gaps
    }
}

/// Whole milliseconds, rounded down; 0 if it is not a positive number.
fn milliseconds(seconds: f64) -> u64 {
    let duration = Duration::try_from_secs_f64(seconds).unwrap_or_default();
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Least number of batches for a growing set of nodes.
struct Levels<'r> {
    rules: &'r OutageRules,
    nodes: Vec<usize>,
    is_in: Vec<bool>,
    batches: usize,
    proof: Option<BatchProof>,
    /// Searches that ended without a result.
    undecided: usize,
}

impl<'r> Levels<'r> {
    fn new(rules: &'r OutageRules) -> Levels<'r> {
        Levels {
            rules,
            nodes: Vec::new(),
            is_in: vec![false; rules.len()],
            batches: 0,
            proof: None,
            undecided: 0,
        }
    }

    fn raise(&mut self, batches: usize, proof: impl FnOnce() -> BatchProof) {
        if batches > self.batches {
            self.batches = batches;
            self.proof = Some(proof());
        }
    }

    /// Adds a node, and raises the number by the cheap proofs that concern it.
    fn add(&mut self, node: usize) {
        let rules = self.rules;
        self.nodes.push(node);
        self.is_in[node] = true;
        self.raise(1, || BatchProof::One);
        let most = rules.most();
        self.raise(self.nodes.len().div_ceil(most), || BatchProof::MaxDown(most));
        let clique = self.clique_with(node);
        self.raise(clique.len(), || BatchProof::Clique(clique));
        for takeover in rules.takeovers_of(node) {
            let loads = takeover.loads.iter().filter(|load| self.is_in[load.from]);
            let total: Mib = loads.map(|load| load.load).sum();
            // In each batch, the loads are less than the room beyond the reserve for others.
            let most = takeover.room - takeover.others.max(Mib::ZERO) - Mib(1);
            if most > Mib::ZERO && total > Mib::ZERO {
                let batches =
                    u64::try_from(total.0).unwrap_or(0).div_ceil(u64::try_from(most.0).unwrap_or(1));
                self.raise(usize::try_from(batches).unwrap_or(usize::MAX), || {
                    BatchProof::Takeover(takeover.node)
                });
            }
        }
    }

    /// A clique with this node, found greedily: the neighbour with most neighbours comes next.
    fn clique_with(&self, node: usize) -> Vec<usize> {
        let degree = |node: usize| self.rules.neighbours(node).len();
        let mut near: Vec<usize> =
            self.rules.neighbours(node).iter().copied().filter(|other| self.is_in[*other]).collect();
        near.sort_by_key(|other| (std::cmp::Reverse(degree(*other)), *other));
        let mut clique = vec![node];
        for other in near {
            if clique[1..].iter().all(|member| self.rules.are_apart(*member, other)) {
                clique.push(other);
            }
        }
        clique
    }

    /// Raises the number as long as a search proves that there is no division into that many batches.
    fn refute(&mut self) {
        while self.rules.len() <= SMALL && self.undecided < UNDECIDED {
            let limits = vec![u64::MAX; self.batches];
            let times = BatchTimes { of_node: &[], limits: &limits };
            match search_batches(self.rules, &self.nodes, times, &mut BUDGET.clone()) {
                BatchSearch::Impossible => self.raise(self.batches + 1, || BatchProof::Exhausted),
                BatchSearch::Found(_) => return,
                BatchSearch::Undecided => {
                    self.undecided += 1;
                    return;
                }
            }
        }
    }
}
