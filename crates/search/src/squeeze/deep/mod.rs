//! `--deep`: looks for a plan that leaves fewer nodes online than freeing one node after the other.
//!
//! The lower bound of the number of nodes is tried first, then numbers by bisection up to the plan that is known. For each
//! number, the nodes that stay are chosen at once ([`choice`]), and the instances are packed on them ([`packing`]). A packing
//! counts if its steps have an order, and if the result passes the checks that every plan passes.

mod choice;
mod cost;
mod packing;
#[cfg(test)]
mod tests;

use std::ops::ControlFlow;

use self::choice::StayingNodes;
use self::packing::{Packing, STREAMS};
use super::condense::carried_out;
use super::trial::GroupScope;
use super::{Decision, GroupPlan, Hindrance, UnfreedNode, balance_options};
use crate::balance::deep::terrain::Terrain;
use htools_model::score::{Board, Touched};
use htools_model::{Cluster, Draft, NodeIdx, Step};

/// Number of packings of which the steps have no order, after which a set of nodes is given up: tight packings of DRBD
/// instances seldom have one, and looking for it takes long.
const MOST_WITHOUT_ORDER: usize = 3;

/// Nodes that can be freed together, with the steps, and the cluster after them.
struct FreedNodes {
    nodes: Vec<NodeIdx>,
    steps: Vec<Step>,
    cluster: Draft,
}

/// Looks for a plan that frees more nodes than `plan`, at most `most`. Also returns the cluster after it.
pub(super) fn free_more(
    scope: &GroupScope<'_>,
    most: usize,
    state: &Cluster,
    plan: &GroupPlan,
) -> Option<(GroupPlan, Draft)> {
    let online: Vec<NodeIdx> = scope.online().collect();
    let fewest = scope.fewest();
    let mut low = fewest.max(online.len().saturating_sub(most));
    let mut high = online.len() - plan.nodes.len();
    let (mut best, mut next) = (None, low);
    while low < high && !scope.has_to_end() {
        match keep(scope, state, &online, next) {
            Some(freed) => (high, best) = (next, Some(freed)),
            None => low = next + 1,
        }
        next = low + (high - low) / 2;
    }
    let FreedNodes { nodes, steps, cluster } = best?;
    let why = if high == fewest {
        Hindrance::Fewest
    } else if nodes.len() == most {
        Hindrance::MaxNodes
    } else if low < high {
        Hindrance::NotTried
    } else {
        Hindrance::NoFewer
    };
    let is_freed = scope.cluster.mask(&nodes);
    let plan = GroupPlan {
        decision: Decision::Condense,
        nodes: scope.candidates.iter().copied().filter(|n| is_freed[n.get()]).collect(),
        steps,
        kept: kept(scope, plan, &nodes, &why),
        final_score: Board::new(&cluster, &scope.nodes).score(),
        ..plan.clone()
    };
    Some((plan, cluster))
}

/// The nodes that are not freed: `why` is the reason for those that could have been.
fn kept(scope: &GroupScope<'_>, plan: &GroupPlan, freed: &[NodeIdx], why: &Hindrance) -> Vec<UnfreedNode> {
    let online: Vec<NodeIdx> = scope.online().collect();
    let staying = online.iter().zip(scope.must_stay(&online)).filter(|(node, _)| !freed.contains(node));
    let known = |node: NodeIdx| plan.kept.iter().find(|kept| kept.node == node).cloned();
    let entry = |(node, stays): (&NodeIdx, bool)| {
        let reason = known(*node).filter(|_| stays);
        reason.unwrap_or(UnfreedNode { node: *node, why: why.clone() })
    };
    staying.map(entry).collect()
}

/// Frees all online nodes but `count`, if a packing is found.
fn keep(scope: &GroupScope<'_>, state: &Cluster, online: &[NodeIdx], count: usize) -> Option<FreedNodes> {
    let choice = StayingNodes::of(scope, online, count);
    if scope.hopeless(&choice.freed).is_some() || scope.lacks_spindles(&choice.freed) {
        return None;
    }
    let mut start = Draft::of(state);
    start.set_offline(&choice.freed, true);
    let allows = |changed: &[Touched<'_>]| scope.allows(changed);
    let mut terrain = Terrain::of(&start, &scope.nodes, &balance_options(scope.options));
    terrain.in_two_moves = true;
    terrain.restraint = Some(&allows);
    let mut placed = Packing::of(scope, &terrain, &choice);
    placed.place();
    let (mut found, mut without_order) = (None, 0);
    for stream in 0..STREAMS {
        placed.clone().anneal(stream, |packing| {
            let mut cluster = start.clone();
            match carried_out(scope, &mut cluster, &packing.placements()) {
                None => without_order += 1,
                Some(steps) if scope.objection(&cluster, &choice.freed, false).is_none() => {
                    found = Some(FreedNodes { nodes: choice.freed.clone(), steps, cluster });
                }
                Some(_) => {}
            }
            if found.is_some() || without_order == MOST_WITHOUT_ORDER {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
        if found.is_some() || without_order == MOST_WITHOUT_ORDER || scope.has_to_end() {
            break;
        }
    }
    found
}
