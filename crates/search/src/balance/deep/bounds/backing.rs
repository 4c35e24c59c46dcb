//! The reserves after a limited number of moves.
//!
//! A node keeps at least as much as the secondaries need that it still backs for one and the same other node. So it can
//! keep less only if enough of these instances move. docs/bounds.md has the proof.

use std::collections::{BTreeMap, BinaryHeap};

use ordered_float::OrderedFloat;
use rayon::prelude::*;
use smallvec::{SmallVec, smallvec};

use crate::balance::deep::ledgers::Ledgers;
use crate::balance::deep::terrain::Terrain;

/// Maximum number of instances of a pair of nodes whose choices are tried one by one. The smaller ones beyond count as if
/// they moved for nothing.
const MOST_TOGETHER: usize = 10;

/// Instances with the same primary and the same secondary node at the start.
struct NodePair {
    /// Reserve for instances that cannot move, as a share of the secondary's memory.
    fixed: f64,
    /// Mobiles and their needs in the same unit, largest first.
    members: Vec<(u32, f64)>,
}

/// The pairs of one secondary node.
struct BackingNode {
    pairs: Vec<NodePair>,
}

/// The pairs of all online nodes.
pub(super) struct Backing {
    /// By online node.
    nodes: Vec<BackingNode>,
    /// Mobiles for which no online node keeps memory at the start.
    others: Vec<u32>,
}

/// A choice of what remains of a pair: the rest of the reserve, and the cost of the moves.
#[derive(Debug, Clone, Copy, PartialEq)]
struct PairChoice {
    rest: f64,
    cost: f64,
    /// The members that move, by their positions.
    moved: u32,
}

/// The choices of one pair. Most pairs have one or two.
type Ladder = SmallVec<[PairChoice; 2]>;

/// Placement of least cost if every move has a price.
pub(super) struct Response {
    /// The cost.
    pub value: f64,
    /// Sum of the absolute values of its parts.
    pub size: f64,
    /// The mobiles that move.
    pub moved: Vec<u32>,
    /// For each online node, its reserve.
    pub reserves: Vec<f64>,
}

/// Reserve of one node at its least cost, and the moves that lead to it.
struct NodeResponse {
    value: f64,
    size: f64,
    moved: Vec<u32>,
    reserve: f64,
}

impl Backing {
    pub(super) fn of(terrain: &Terrain<'_>, ledgers: &Ledgers) -> Backing {
        let mut pairs: Vec<BTreeMap<u32, Vec<(u32, f64)>>> = vec![BTreeMap::new(); terrain.nodes.len()];
        let mut others = Vec::new();
        for (mobile, details) in (0..).zip(&terrain.mobiles) {
            if details.mirrored && details.need > 0 && terrain.is_online(details.home.secondary) {
                let of_node = &mut pairs[details.home.secondary as usize];
                of_node.entry(details.home.primary).or_default().push((mobile, details.need as f64));
            } else {
                others.push(mobile);
            }
        }
        let node = |slot: &u32| {
            let of_one_mib = 1.0 / terrain.spec(*slot).mem_total;
            let pairs = std::mem::take(&mut pairs[*slot as usize]);
            let pair = |(peer, mut members): (u32, Vec<(u32, f64)>)| {
                members.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
                let movable: f64 = members.iter().map(|(_, need)| need).sum();
                let fixed = (ledgers.peer(*slot, peer) as f64 - movable).max(0.0) * of_one_mib;
                members.iter_mut().for_each(|(_, need)| *need *= of_one_mib);
                NodePair { fixed, members }
            };
            BackingNode { pairs: pairs.into_iter().map(pair).collect() }
        };
        Backing { nodes: terrain.online.iter().map(node).collect(), others }
    }

    /// Lower bound of the sum of the prices of all reserves and of the costs of the instances that move, over all sets of such
    /// instances. `reserve_prices` has the price of a reserve of 1 by online node, none below 0; `costs` is by mobile, with
    /// costs below 0 for gains.
    pub(super) fn respond(&self, reserve_prices: &[f64], costs: &[f64]) -> Response {
        let of_node = |(node, weight): (&BackingNode, &f64)| node.respond(*weight, costs);
        let nodes: Vec<NodeResponse> = self.nodes.par_iter().zip(reserve_prices).map(of_node).collect();
        let mut all = Response { value: 0.0, size: 0.0, moved: Vec::new(), reserves: Vec::new() };
        for node in nodes {
            all.value += node.value;
            all.size += node.size;
            all.moved.extend(node.moved);
            all.reserves.push(node.reserve);
        }
        for mobile in &self.others {
            let cost = costs[*mobile as usize];
            if cost < 0.0 {
                all.value += cost;
                all.size += cost.abs();
                all.moved.push(*mobile);
            }
        }
        all
    }
}

impl BackingNode {
    /// The least cost: the reserve, priced with `weight`, and the moves that make it so small.
    fn respond(&self, weight: f64, costs: &[f64]) -> NodeResponse {
        let ladders: Vec<Ladder> = self.pairs.iter().map(|pair| pair.ladder(costs)).collect();
        // The pair with the largest rest is what the node keeps. Only moves of that pair make it less.
        let mut largest: BinaryHeap<(OrderedFloat<f64>, usize, usize)> = ladders
            .iter()
            .enumerate()
            .map(|(pair, ladder)| (OrderedFloat(ladder[0].rest), pair, 0))
            .collect();
        let mut cost: f64 = ladders.iter().map(|ladder| ladder[0].cost).sum();
        let mut size: f64 = ladders.iter().map(|ladder| ladder[0].cost.abs()).sum();
        let mut best = (f64::INFINITY, 0.0);
        while let Some((rest, pair, step)) = largest.pop() {
            let value = cost + weight * rest.0;
            if value < best.0 {
                best = (value, rest.0);
            }
            let Some(next) = ladders[pair].get(step + 1) else { break };
            cost += next.cost - ladders[pair][step].cost;
            if cost >= best.0 {
                break;
            }
            largest.push((OrderedFloat(next.rest), pair, step + 1));
        }
        if ladders.is_empty() {
            best = (0.0, 0.0);
        }
        let mut moved = Vec::new();
        for (pair, ladder) in self.pairs.iter().zip(&ladders) {
            let choice = ladder.iter().find(|choice| choice.rest <= best.1).unwrap_or(&ladder[0]);
            size += choice.cost.abs();
            let members = pair.members.iter().enumerate();
            moved.extend(
                members.filter(|(at, _)| choice.moved >> (*at).min(31) & 1 == 1).map(|(_, one)| one.0),
            );
        }
        NodeResponse { value: best.0, size: size + weight * best.1, moved, reserve: best.1 }
    }
}

impl NodePair {
    /// The choices that are worth looking at: the rest falls and the cost rises from each to the next.
    fn ladder(&self, costs: &[f64]) -> Ladder {
        let mut first = PairChoice { rest: self.fixed, cost: 0.0, moved: 0 };
        let mut kept: SmallVec<[(usize, f64, f64); 4]> = SmallVec::new();
        for (at, (mobile, need)) in self.members.iter().enumerate() {
            let cost = costs[*mobile as usize];
            if cost <= 0.0 {
                first.cost += cost;
                first.moved |= 1 << at.min(31);
            } else if kept.len() < MOST_TOGETHER {
                first.rest += need;
                kept.push((at, *need, cost));
            }
        }
        let mut choices: Ladder = smallvec![first];
        for (at, need, cost) in kept {
            let with = |choice: &PairChoice| PairChoice {
                rest: (choice.rest - need).max(self.fixed),
                cost: choice.cost + cost,
                moved: choice.moved | 1 << at.min(31),
            };
            let more: Ladder = choices.iter().map(with).collect();
            choices.extend(more);
            if choices.len() == 2 {
                // The second one costs more, and leaves less.
                continue;
            }
            choices.sort_by(|a, b| a.cost.total_cmp(&b.cost).then(a.rest.total_cmp(&b.rest)));
            let mut least = f64::INFINITY;
            choices.retain(|choice| {
                let is_better = choice.rest < least;
                least = least.min(choice.rest);
                is_better
            });
        }
        choices
    }
}
