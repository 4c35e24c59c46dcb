//! The numbers of nodes by level of their reserve, and what the reserves cost by them.

use super::super::ranges::RangeCosts;

/// Maximum number of ways to divide the nodes by level.
const MOST_WAYS: usize = 150_000;

/// Numbers of nodes by level.
#[derive(Debug, Clone)]
pub(super) struct NodesByLevel {
    /// For each level, the number of nodes that are exactly at it.
    pub nodes: Vec<u32>,
    /// Cost of the reserves.
    pub cost: f64,
}

/// All numbers of nodes by level whose reserves cost less than `most`; `None` if there are too many ways to divide the nodes.
pub(super) fn level_counts(costs: &RangeCosts, nodes: usize, most: f64) -> Option<Vec<NodesByLevel>> {
    let others = costs.levels.len() - 1;
    let mut ways = 1;
    for at in 1..=others {
        ways = ways * (nodes + at) / at;
        if ways > MOST_WAYS {
            return None;
        }
    }
    let mut all = Vec::new();
    divide(costs, nodes, &mut Vec::new(), &mut |counts| {
        let cost = cost(costs, counts);
        if cost < most {
            all.push(NodesByLevel { nodes: counts.to_vec(), cost });
        }
    });
    Some(all)
}

/// Calls `see` for each way to divide the nodes that are left.
fn divide(costs: &RangeCosts, left: usize, counts: &mut Vec<u32>, see: &mut impl FnMut(&[u32])) {
    if counts.len() + 1 == costs.levels.len() {
        counts.push(left as u32);
        see(counts);
        counts.pop();
        return;
    }
    for own in 0..=left {
        counts.push(own as u32);
        divide(costs, left - own, counts, see);
        counts.pop();
    }
}

/// The cost of reserves at exactly these levels.
fn cost(costs: &RangeCosts, counts: &[u32]) -> f64 {
    let over = |of: &dyn Fn(f64) -> f64| -> f64 {
        counts.iter().zip(&costs.levels).map(|(count, level)| f64::from(*count) * of(*level)).sum()
    };
    let (nodes, sum) = (over(&|_| 1.0), over(&|level| level));
    let mean = sum / nodes;
    costs.of_sum * sum + costs.of_deviation * (over(&|level| (level - mean).powi(2)) / nodes).sqrt()
}
