//! Concessions where neither another order nor a detour makes room. Either an instance is stopped for a while,
//! or a node has more memory in use than it has until another instance leaves it.
//!
//! A concession is possible for a remaining move that lacks nothing except memory on its new primary. The first
//! choice is the move for which the smallest instance is stopped, or which lacks least memory. The stopped
//! instance leaves that node by another remaining move and has at least the lacking memory.

use super::order::StepSequence;
use super::terrain::Seat;
use crate::balance::Concessions;
use crate::moves::Trial;
use htools_model::score::Touched;
use htools_model::{Concession, Leg, Mib, Move, NodeIdx, Placement};

/// Number of moves tried before giving up.
const MOST_TRIED: usize = 64;

/// A move that lacks memory.
struct Lacking {
    mobile: u32,
    to: Seat,
    node: NodeIdx,
    memory: Mib,
}

/// Price of a concession: whether a further instance is stopped, its memory, the lacking memory, and the
/// mobile.
type Price = (bool, Mib, Mib, u32);

/// A concession that would make a move possible.
struct PossibleConcession {
    price: Price,
    concession: Concession,
    /// The mobile that is stopped for it.
    stops: Option<u32>,
}

impl StepSequence<'_> {
    /// Makes one of the remaining moves with a concession, if another move is possible after it. Returns false
    /// if there is no such move.
    pub(super) fn concede(&mut self, allowed: Concessions) -> bool {
        if allowed == Concessions::default() {
            return false;
        }
        let lacking: Vec<Lacking> =
            self.left.iter().filter_map(|(mobile, to)| self.lacking(*mobile, *to)).collect();
        allowed.interruptions && self.concede_one(&lacking, |at, lacking| at.interruption(lacking))
            || allowed.overcommit && self.concede_one(&lacking, |at, lacking| at.overcommit(lacking))
    }

    fn concede_one(
        &mut self,
        lacking: &[Lacking],
        way: impl Fn(&Self, &Lacking) -> Option<PossibleConcession>,
    ) -> bool {
        let mut ways: Vec<_> =
            lacking.iter().filter_map(|lacking| way(self, lacking).map(|found| (found, lacking))).collect();
        ways.sort_by_key(|(way, _)| way.price);
        for (PossibleConcession { concession, stops, .. }, lacking) in ways.into_iter().take(MOST_TRIED) {
            let mark = self.draft.mark();
            if !self.make_with(lacking.mobile, lacking.to, concession) {
                continue;
            }
            self.left.remove(&lacking.mobile);
            if self.can_go_on() {
                self.stopped.extend(stops);
                return true;
            }
            self.take_back(mark);
            self.left.insert(lacking.mobile, lacking.to);
        }
        false
    }

    /// The memory that a move lacks on its new primary; `None` if it lacks anything else or nothing.
    fn lacking(&self, mobile: u32, to: Seat) -> Option<Lacking> {
        if self.stopped.contains(&mobile) {
            return None;
        }
        let mv = self.terrain.move_between(mobile, self.seat_of(mobile), to)?;
        if comes_by_another(mv) {
            return None;
        }
        let instance = self.instance(mobile);
        let outcome = Trial::new(&self.draft, instance, &self.terrain.rules).crowded().run(mv).ok()?;
        let (from, to_nodes, need) = (instance.placement(), outcome.placement, instance.mem_reserved());
        let mut short = outcome.touched().iter().filter_map(|node| {
            let memory = lack(node, from, to_nodes, need);
            (memory > Mib::ZERO).then_some((node.spec.idx, memory))
        });
        let (node, memory) = short.next()?;
        let is_one = short.next().is_none() && node == outcome.placement.primary;
        is_one.then_some(Lacking { mobile, to, node, memory })
    }

    /// The mobiles whose remaining moves take them away from the primary that lacks memory.
    fn leaving(&self, lacking: &Lacking) -> impl Iterator<Item = u32> {
        let leaves = move |(mobile, to): &(&u32, &Seat)| {
            **mobile != lacking.mobile
                && self.instance(**mobile).primary == lacking.node
                && self.terrain.nodes[to.primary as usize] != lacking.node
        };
        self.left.iter().filter(leaves).map(|(mobile, _)| *mobile)
    }

    fn interruption(&self, lacking: &Lacking) -> Option<PossibleConcession> {
        let runs = |mobile: &u32| self.instance(*mobile).status.is_running();
        let memory = |mobile: u32| self.instance(mobile).mem_in_use();
        let enough = self.leaving(lacking).filter(runs).filter(|mobile| memory(*mobile) >= lacking.memory);
        let price = |mobile: u32| (!self.stopped.contains(&mobile), memory(mobile), lacking.memory, mobile);
        let stopped = enough.min_by_key(|mobile| price(*mobile))?;
        let concession =
            Concession::Interruption { memory: lacking.memory, stopped: self.instance(stopped).idx };
        Some(PossibleConcession { price: price(stopped), concession, stops: Some(stopped) })
    }

    fn overcommit(&self, lacking: &Lacking) -> Option<PossibleConcession> {
        let leaves: Mib = self.leaving(lacking).map(|mobile| self.instance(mobile).mem_in_use()).sum();
        let price = (false, Mib::ZERO, lacking.memory, lacking.mobile);
        let concession = Concession::Overcommit(lacking.memory);
        (leaves >= lacking.memory).then_some(PossibleConcession { price, concession, stops: None })
    }

    /// Returns true if all concessions have ended: no instance is stopped, and no node lacks memory.
    pub(super) fn is_sound(&self) -> bool {
        let conceded = self.ordered.steps.iter().filter(|step| step.concession.memory() > Mib::ZERO);
        let is_well = |node: NodeIdx| {
            let (now, before) = (self.draft.node(node), &self.terrain.cluster.node(node).state.ledger);
            let ledger = &now.state.ledger;
            ledger.mem_unallocated(&now.spec) > Mib::ZERO
                && (!ledger.n1_fail || before.n1_fail)
                && !ledger.lacks_more_than(before, &now.spec)
        };
        let mut nodes = conceded.flat_map(|step| step.to.nodes());
        self.stopped.is_empty() && nodes.all(is_well)
    }
}

/// Returns true if the move makes the instance run on an intermediate node.
fn comes_by_another(mv: Move) -> bool {
    let goes = mv.legs().filter(|leg| !matches!(leg, Leg::ReplaceSecondary(_)));
    goes.count() > 1
}

/// The memory that a node lacks by the rules after the arrival of an instance whose secondary must keep `need`
/// free.
fn lack(node: &Touched<'_>, from: Placement, to: Placement, need: Mib) -> Mib {
    let (spec, after) = (node.spec, &node.after);
    let runs_here = to.primary == spec.idx && from.primary != spec.idx;
    let is_kept_here =
        to.secondary == Some(spec.idx) && (from.secondary, from.primary) != (to.secondary, to.primary);
    if !runs_here && !is_kept_here {
        return Mib::ZERO;
    }
    let free = after.mem_unallocated(spec);
    let kept = if is_kept_here { need } else { Mib::ZERO };
    let wanted = after.mem_reserved.max(after.joint.sum).max(kept) - free;
    (wanted.max(kept - after.mem_free_planned) + Mib(1)).max(Mib::ZERO)
}

#[cfg(test)]
mod tests;
