//! Turns a placement into steps, each of which is possible in its turn.
//!
//! The possible move that gains most comes first, so that even part of a plan pays. If no move is possible, for
//! example because two instances must change places and neither node has room for both:
//!
//! 1. One of them makes a detour over a third node.
//! 2. If there is no detour, a concession is made, if the options allow it.
//! 3. Otherwise the remaining moves are given up. Their instances stay at home; none is left half-way.

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;

use super::terrain::{NOWHERE, Seat, SlotStanding, Terrain};
use crate::balance::{BalanceOptions, Concessions};
use crate::moves::{Outcome, Trial};
use htools_model::score::interval::Running;
use htools_model::score::{Board, Touched};
use htools_model::{Cluster, Concession, Draft, Instance, InstanceIdx, Mark, Move, NodeIdx, Placement, Step};

/// The steps to a placement.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OrderedSteps {
    /// The steps, each with the score after it.
    pub steps: Vec<Step>,
    /// Instances that make a detour, which takes one step more.
    pub detours: Vec<InstanceIdx>,
    /// Instances that stay where they are, since no order makes their move possible, not even with a detour.
    pub given_up: Vec<InstanceIdx>,
}

/// Approximate limit on the number of moves evaluated in total. With many moves, several of the best are made
/// before the others are evaluated again.
const MOST_TRIALS: usize = 60_000;

/// Maximum number of detours considered for one instance, and tried for all before the rest is given up.
const MOST_WAYS: usize = 8;
const MOST_TRIED: usize = 256;

/// The steps that bring instances of the set `nodes` (ascending) to `placements`, with at most `most_detours`
/// detours.
pub fn order(
    cluster: &Cluster,
    nodes: &[NodeIdx],
    options: &BalanceOptions,
    placements: &[(InstanceIdx, Placement)],
    most_detours: usize,
) -> OrderedSteps {
    let terrain = Terrain::of(cluster, nodes, options);
    let (mut wanted, mut given_up) = (placements.to_vec(), Vec::new());
    let mut concessions = options.concessions;
    loop {
        let (mut ordered, is_sound) = sequence(&terrain, nodes, &wanted, most_detours, concessions);
        if !is_sound && ordered.given_up.is_empty() {
            concessions = Concessions::default();
            continue;
        }
        let half_way =
            !is_sound || ordered.given_up.iter().any(|instance| ordered.detours.contains(instance));
        given_up.append(&mut ordered.given_up);
        if !half_way {
            given_up.sort_unstable();
            return OrderedSteps { given_up, ..ordered };
        }
        wanted.retain(|(instance, _)| !given_up.contains(instance));
    }
}

/// Returns true if there are steps to some placements without detours and concessions.
pub(super) fn is_direct(terrain: &Terrain<'_>, placements: &[(InstanceIdx, Placement)]) -> bool {
    let in_set = |slot: &usize| terrain.standing[*slot] != SlotStanding::Outside;
    let nodes: Vec<NodeIdx> =
        (0..terrain.nodes.len()).filter(in_set).map(|slot| terrain.nodes[slot]).collect();
    sequence(terrain, &nodes, placements, 0, Concessions::default()).0.given_up.is_empty()
}

/// The steps to some placements, as far as possible; true if all concessions have ended after them.
fn sequence(
    terrain: &Terrain<'_>,
    nodes: &[NodeIdx],
    placements: &[(InstanceIdx, Placement)],
    most_detours: usize,
    concessions: Concessions,
) -> (OrderedSteps, bool) {
    let mut sequence = StepSequence::of(terrain, nodes, placements);
    let every = placements.len().saturating_pow(2) / (2 * MOST_TRIALS) + 1;
    while !sequence.left.is_empty() {
        let more = sequence.ordered.detours.len() < most_detours;
        if !(sequence.advance(every) || (more && sequence.detour()) || sequence.concede(concessions)) {
            break;
        }
    }
    let is_sound = sequence.is_sound();
    let mut ordered = sequence.ordered;
    ordered.given_up = sequence.left.keys().map(|m| terrain.mobiles[*m as usize].instance).collect();
    (ordered, is_sound)
}

/// The state of the cluster between the steps.
pub(super) struct StepSequence<'t> {
    pub(super) terrain: &'t Terrain<'t>,
    pub(super) draft: Draft,
    board: Board,
    running: Running,
    nodes: &'t [NodeIdx],
    slot_of: BTreeMap<NodeIdx, u32>,
    /// Targets of the mobiles that have not arrived yet.
    pub(super) left: BTreeMap<u32, Seat>,
    detoured: BTreeSet<u32>,
    /// The mobiles that are stopped at present.
    pub(super) stopped: BTreeSet<u32>,
    pub(super) ordered: OrderedSteps,
}

impl<'t> StepSequence<'t> {
    fn of(
        terrain: &'t Terrain<'t>,
        nodes: &'t [NodeIdx],
        placements: &[(InstanceIdx, Placement)],
    ) -> StepSequence<'t> {
        let slot_of: BTreeMap<NodeIdx, u32> =
            terrain.nodes.iter().enumerate().map(|(at, n)| (*n, at as u32)).collect();
        let mobile_of: BTreeMap<InstanceIdx, u32> =
            (0..).zip(&terrain.mobiles).map(|(m, mobile)| (mobile.instance, m)).collect();
        let left = placements.iter().filter_map(|(instance, to)| {
            let mobile = *mobile_of.get(instance)?;
            let seat = seat(terrain, &slot_of, mobile, *to)?;
            (seat != terrain.mobiles[mobile as usize].home).then_some((mobile, seat))
        });
        let board = Board::new(terrain.cluster, nodes);
        StepSequence {
            left: left.collect(),
            draft: Draft::of(terrain.cluster),
            running: Running::of(&board),
            board,
            nodes,
            slot_of,
            detoured: BTreeSet::new(),
            stopped: BTreeSet::new(),
            ordered: OrderedSteps::default(),
            terrain,
        }
    }

    /// Makes up to `most` of the remaining moves, best first. Returns false if none is possible.
    fn advance(&mut self, most: usize) -> bool {
        let left: Vec<(u32, Seat)> = self.left.iter().map(|(mobile, to)| (*mobile, *to)).collect();
        let mut possible: Vec<(f64, u32)> =
            left.par_iter().filter_map(|(m, to)| Some((self.trial(*m, *to)?.0, *m))).collect();
        possible.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let mut made = 0;
        for (_, mobile) in possible {
            let to = self.left[&mobile];
            // A move that was possible may no longer be.
            if made < most && self.make(mobile, to) {
                self.left.remove(&mobile);
                made += 1;
            }
        }
        made > 0
    }

    pub(super) fn seat_of(&self, mobile: u32) -> Seat {
        let instance = self.instance(mobile);
        let at = instance.placement();
        let home = self.terrain.mobiles[mobile as usize].home;
        seat(self.terrain, &self.slot_of, mobile, at).unwrap_or(home)
    }

    pub(super) fn instance(&self, mobile: u32) -> &Instance {
        self.draft.instance(self.terrain.mobiles[mobile as usize].instance)
    }

    /// The approximate score after a mobile's move to a seat, and the move; `None` if it is not possible now.
    fn trial(&self, mobile: u32, to: Seat) -> Option<(f64, Move)> {
        let mv = self.terrain.move_between(mobile, self.seat_of(mobile), to)?;
        let instance = self.instance(mobile);
        let trial = Trial::new(&self.draft, instance, &self.terrain.rules);
        let outcome = trial.run(mv).ok()?;
        Some((self.running.interval(&self.board, outcome.touched(), self.spread(instance, &outcome)).hi, mv))
    }

    fn spread(&self, instance: &Instance, outcome: &Outcome<'_>) -> i64 {
        let (from, to) = (instance.primary, outcome.placement.primary);
        if from == to {
            return 0;
        }
        let spec = |n: NodeIdx| Some(&self.draft.node(n).spec);
        self.board.spread().change(instance, spec(from), spec(to))
    }

    /// Makes a move, if it is possible.
    fn make(&mut self, mobile: u32, to: Seat) -> bool {
        let was_stopped = self.stopped.remove(&mobile);
        let concession = if was_stopped { Concession::Restart } else { Concession::None };
        let made = self.make_with(mobile, to, concession);
        if was_stopped && !made {
            self.stopped.insert(mobile);
        }
        made
    }

    /// Makes a move with a concession, if it is possible with it.
    pub(super) fn make_with(&mut self, mobile: u32, to: Seat, concession: Concession) -> bool {
        let Some(mv) = self.terrain.move_between(mobile, self.seat_of(mobile), to) else { return false };
        let instance = self.instance(mobile).clone();
        let from = instance.placement();
        let trial = Trial::new(&self.draft, &instance, &self.terrain.rules).conceding(concession);
        let Ok(outcome) = trial.run(mv) else { return false };
        let (to, location, ledgers) = (outcome.placement, outcome.location_score, outcome.ledgers());
        let touched: Vec<Touched<'_>> = outcome.touched().to_vec();
        let before: Vec<_> = touched.iter().filter_map(|t| self.board.row(t.spec.idx)).collect();
        let old: Vec<_> = before.iter().map(|row| self.board.rows()[*row]).collect();
        let spec = |n: NodeIdx| &self.draft.node(n).spec;
        self.board.commit(&touched, &instance, Some(spec(from.primary)), spec(to.primary));
        for (row, old) in before.iter().zip(old) {
            self.running.replace(&old, &self.board.rows()[*row]);
        }
        self.draft.relocate(instance.idx, to, location, &ledgers);
        let step = Step { instance: instance.idx, mv, from, to, score: self.board.score(), concession };
        self.ordered.steps.push(step);
        if self.ordered.steps.len().is_multiple_of(256) {
            self.score_anew();
        }
        true
    }

    fn score_anew(&mut self) {
        self.board = Board::new(&self.draft, self.nodes);
        self.running = Running::of(&self.board);
    }

    /// Sends one of the remaining mobiles to a third node from which it can go on. Chooses the cheapest detour
    /// after which another move is possible, or else the cheapest of all.
    fn detour(&mut self) -> bool {
        let ways = self.possible_detours();
        for (mobile, over) in ways.iter().copied() {
            let mark = self.draft.mark();
            if !self.make(mobile, over) {
                continue;
            }
            if self.can_go_on() {
                return self.note_detour(mobile);
            }
            self.take_back(mark);
        }
        // Making room may take two detours.
        ways.first().is_some_and(|(mobile, over)| self.make(*mobile, *over) && self.note_detour(*mobile))
    }

    /// Returns true if any of the remaining moves is possible.
    pub(super) fn can_go_on(&self) -> bool {
        self.left.par_iter().any(|(other, to)| self.trial(*other, *to).is_some())
    }

    pub(super) fn take_back(&mut self, mark: Mark) {
        self.draft.back_to(mark);
        self.ordered.steps.pop();
        self.score_anew();
    }

    fn note_detour(&mut self, mobile: u32) -> bool {
        self.ordered.detours.push(self.terrain.mobiles[mobile as usize].instance);
        self.detoured.insert(mobile)
    }

    /// The possible detours. Those that leave a node needed by another mobile come first.
    fn possible_detours(&self) -> Vec<(u32, Seat)> {
        let mut ways: Vec<Detour> = Vec::new();
        for (mobile, end) in &self.left {
            // A stopped instance starts only at its target.
            if self.detoured.contains(mobile) || self.stopped.contains(mobile) {
                continue;
            }
            let (from, mut found) = (self.seat_of(*mobile), Vec::new());
            for over in self.thirds(*mobile, from, *end) {
                if over != *end && over != from && self.terrain.way(*mobile, over, *end).is_some() {
                    found.extend(self.trial(*mobile, over).map(|(score, _)| (score, over)));
                }
            }
            let blocks = |over: Seat| !self.frees(*mobile, from, over);
            let mut found: Vec<_> =
                found.into_iter().map(|(score, over)| (blocks(over), score, *mobile, over)).collect();
            found.sort_by(cheapest_way);
            ways.extend(found.into_iter().take(MOST_WAYS));
        }
        ways.sort_by(cheapest_way);
        ways.into_iter().map(|(.., mobile, over)| (mobile, over)).take(MOST_TRIED).collect()
    }

    /// The seats over which a mobile could go.
    fn thirds(&self, mobile: u32, from: Seat, end: Seat) -> Vec<Seat> {
        let online = || self.terrain.online.iter().copied();
        if !self.terrain.mobiles[mobile as usize].mirrored {
            return online().map(|primary| Seat { primary, secondary: NOWHERE }).collect();
        }
        let keep = [from.primary, from.secondary, end.primary, end.secondary];
        let seats_on = |slot: u32| {
            keep.into_iter().flat_map(move |kept| {
                [Seat { primary: kept, secondary: slot }, Seat { primary: slot, secondary: kept }]
            })
        };
        let mut seats: Vec<Seat> = online().flat_map(seats_on).filter(|s| s.primary != s.secondary).collect();
        seats.sort_unstable();
        seats.dedup();
        seats
    }

    /// Returns true if a detour frees a node to which another remaining mobile wants to go.
    fn frees(&self, mobile: u32, from: Seat, over: Seat) -> bool {
        let gone = |slot: u32| slot != NOWHERE && slot != over.primary && slot != over.secondary;
        let waits = |slot: u32| {
            self.left.iter().any(|(m, to)| *m != mobile && (to.primary == slot || to.secondary == slot))
        };
        [from.primary, from.secondary].into_iter().any(|slot| gone(slot) && waits(slot))
    }
}

/// Sort key of a detour: true if it leaves others blocked, its score, the mobile, and the seat on the way.
type Detour = (bool, f64, u32, Seat);

fn cheapest_way(a: &Detour, b: &Detour) -> std::cmp::Ordering {
    a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)).then((a.2, a.3).cmp(&(b.2, b.3)))
}

fn seat(terrain: &Terrain<'_>, slot_of: &BTreeMap<NodeIdx, u32>, mobile: u32, at: Placement) -> Option<Seat> {
    let secondary = match (terrain.mobiles[mobile as usize].mirrored, at.secondary) {
        (true, Some(secondary)) => *slot_of.get(&secondary)?,
        _ => NOWHERE,
    };
    Some(Seat { primary: *slot_of.get(&at.primary)?, secondary })
}
