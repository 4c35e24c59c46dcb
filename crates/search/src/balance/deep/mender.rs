//! Finds, compares and makes the changes that repair faults, one instance at a time.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use super::arrangement::{Arrangement, Shift};
use super::faults::Faults;
use super::sift::{ALL, NodeSelection};
use super::terrain::{NOWHERE, Seat, Terrain};

/// On clusters of more than [`ALL`] nodes, the nodes are sifted again after this number of changes.
const SIFTED: usize = 32;

/// Number of passes over the instances without a place; each needs a change in the pass before.
const ROUNDS: usize = 3;

/// Maximum number of pairs of changes tried to make room: for one instance, and in total.
const MOST_PUSHES: usize = 30_000;
const MOST_PUSHES_IN_ALL: usize = 300_000;

/// Up to this number of moves, all subsets are tried.
const FEW: usize = 10;

/// A change that repairs something, with the faults and the score after it.
struct Remedy {
    then: Faults,
    score: f64,
    shift: Shift,
}

/// Upper bound of the improvement by a move of the mobile.
struct Potential {
    gain: Faults,
    score: f64,
    mobile: u32,
    /// Number of times the potential has been computed for the mobile; older ones are void.
    version: u32,
}

impl Ord for Potential {
    fn cmp(&self, other: &Potential) -> Ordering {
        let scores = self.score.total_cmp(&other.score);
        let whose = (self.mobile, self.version).cmp(&(other.mobile, other.version));
        self.gain.cmp(&other.gain).then(scores).then(whose)
    }
}

impl PartialOrd for Potential {
    fn partial_cmp(&self, other: &Potential) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Potential {
    fn eq(&self, other: &Potential) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Potential {}

/// Faults that a repair ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MendScope {
    /// All faults.
    All,
    /// Instances on nodes that must become empty.
    LeftBehind,
    /// Nodes above limits of their use.
    Overloads,
}

impl MendScope {
    /// The faults that count.
    pub(super) fn of(self, faults: Faults) -> Faults {
        match self {
            MendScope::All => faults,
            MendScope::LeftBehind => faults.left_behind_only(),
            MendScope::Overloads => faults.overloads_only(),
        }
    }
}

/// The state of a repair.
pub(super) struct Mender<'t> {
    pub at: Arrangement<'t>,
    /// The present faults.
    pub now: Faults,
    /// The faults that count.
    scope: MendScope,
    sift: NodeSelection,
    /// Number of changes since the nodes were sifted.
    since: usize,
    typical: Vec<u32>,
    pushes: usize,
}

impl<'t> Mender<'t> {
    pub(super) fn of(terrain: &'t Terrain<'t>, scope: MendScope) -> Mender<'t> {
        let at = Arrangement::of(terrain);
        let now = at.faults();
        let (sift, typical) = (NodeSelection::of(&at, &[]), Vec::new());
        let mut mender = Mender { at, now, scope, sift, since: 0, typical, pushes: 0 };
        let faulty_mobiles = mender.faulty_mobiles();
        // The typical mobiles: of each kind, the one with the median memory.
        for mirrored in [false, true] {
            let mut of_kind: Vec<u32> = faulty_mobiles
                .iter()
                .copied()
                .filter(|m| terrain.mobiles[*m as usize].mirrored == mirrored)
                .collect();
            of_kind.sort_unstable_by_key(|m| (terrain.mobiles[*m as usize].mem, *m));
            mender.typical.extend(of_kind.get(of_kind.len() / 2));
        }
        mender.sift = NodeSelection::of(&mender.at, &mender.typical);
        mender
    }

    /// Returns true if the mobile is involved in a fault that counts.
    pub(super) fn is_wrong(&self, mobile: u32) -> bool {
        match self.scope {
            MendScope::All => self.at.is_in_fault(mobile),
            MendScope::LeftBehind => self.at.is_left_behind(mobile),
            MendScope::Overloads => self.at.is_overloading(mobile),
        }
    }

    /// All mobiles that are involved in a fault that counts.
    pub(super) fn faulty_mobiles(&self) -> Vec<u32> {
        (0..self.at.terrain.mobiles.len() as u32).filter(|m| self.is_wrong(*m)).collect()
    }

    /// The faults that count here.
    fn counting(&self, faults: Faults) -> Faults {
        self.scope.of(faults)
    }

    /// The faults and the score after a proposal.
    fn after(&mut self, proposal: &[Shift]) -> (Faults, f64) {
        let score = self.at.appraise(proposal).score;
        (self.at.faults_then(&self.now, proposal), score)
    }

    /// Returns true if there are fewer faults then.
    fn removes_faults(&self, then: Faults) -> bool {
        self.counting(then) < self.counting(self.now)
    }

    /// Returns true if there are no more faults then.
    fn adds_no_fault(&self, then: Faults) -> bool {
        self.counting(then) <= self.counting(self.now)
    }

    /// Makes a change, if the rules allow it.
    fn make(&mut self, proposal: &[Shift]) -> bool {
        let (then, _) = self.after(proposal);
        if !self.at.commit(proposal) {
            return false;
        }
        self.now = if self.at.terrain.unknown_spindles { self.at.faults() } else { then };
        self.since += 1;
        if self.since >= SIFTED || self.at.terrain.online.len() <= ALL {
            self.sift = NodeSelection::of(&self.at, &self.typical);
            self.since = 0;
        }
        true
    }

    /// Returns true if both nodes of the mobile may change: both have a fault, or it moves already.
    fn may_change_both(&self, mobile: u32) -> bool {
        let (seat, home) = (self.at.seats[mobile as usize], self.at.terrain.mobiles[mobile as usize].home);
        seat != home || (self.at.has_fault(seat.primary) && self.at.has_fault(seat.secondary))
    }

    /// The changes of a mobile that repair something, best first.
    fn remedies(&mut self, mobile: u32, both: bool) -> Vec<Remedy> {
        let terrain = self.at.terrain;
        let pool = self.sift.pool().to_vec();
        let found = self.remedies_at(mobile, &pool, both);
        if found.is_empty() && pool.len() < terrain.online.len() {
            return self.remedies_at(mobile, &terrain.online, both);
        }
        found
    }

    fn remedies_at(&mut self, mobile: u32, slots: &[u32], both: bool) -> Vec<Remedy> {
        let mut remedies = Vec::new();
        for to in self.sift.seats(&self.at, mobile, slots, both) {
            let shift = Shift { mobile, to };
            let (then, score) = self.after(&[shift]);
            if self.removes_faults(then) {
                remedies.push(Remedy { then, score, shift });
            }
        }
        remedies.sort_by(|a, b| {
            let copies = self.copies(a.shift).cmp(&self.copies(b.shift));
            let scores = a.score.total_cmp(&b.score);
            a.then.cmp(&b.then).then(copies).then(scores).then(a.shift.to.cmp(&b.shift.to))
        });
        remedies
    }

    /// Returns true if a change copies disks and should be avoided for that: an overload that a live migration ends is not
    /// worth a copy.
    fn copies(&self, shift: Shift) -> bool {
        let Seat { primary, secondary } = self.at.seats[shift.mobile as usize];
        self.scope == MendScope::Overloads
            && secondary != NOWHERE
            && shift.to != Seat { primary: secondary, secondary: primary }
    }

    /// Moves a mobile away from nodes that must become empty. If necessary, it moves another instance out of
    /// the way.
    pub(super) fn evacuate(&mut self, mobile: u32) {
        for both in [self.may_change_both(mobile), true] {
            if self.remedies(mobile, both).iter().any(|remedy| self.make(&[remedy.shift])) {
                return;
            }
        }
        self.make_room(mobile);
    }

    /// Computes an upper bound of the repair by a move of the mobile, as if it left for nodes that take it
    /// without harm.
    fn potential(&mut self, mobile: u32, version: u32) -> Option<Potential> {
        let Seat { primary, secondary } = self.at.seats[mobile as usize];
        let mut leaving = vec![(NOWHERE, secondary)];
        if secondary != NOWHERE {
            leaving.extend([(primary, NOWHERE), (secondary, primary)]);
            if self.may_change_both(mobile) {
                leaving.push((NOWHERE, NOWHERE));
            }
        }
        let mut best: Option<Potential> = None;
        for (primary, secondary) in leaving {
            let (then, score) = self.after(&[Shift { mobile, to: Seat { primary, secondary } }]);
            let potential = Potential { gain: then - self.now, score, mobile, version };
            if self.removes_faults(then) && best.as_ref().is_none_or(|best| potential < *best) {
                best = Some(potential);
            }
        }
        best
    }

    /// Repeats the change that repairs most. A potential is checked only when it is the best of all; its real effect
    /// then decides.
    pub(super) fn repair_all(&mut self) {
        let mobiles = self.at.terrain.mobiles.len();
        let (mut versions, mut without_remedy) = (vec![0_u32; mobiles], vec![false; mobiles]);
        for _ in 0..ROUNDS {
            let faulty_mobiles = self.faulty_mobiles();
            let potentials =
                faulty_mobiles.into_iter().filter_map(|m| self.potential(m, versions[m as usize]));
            let mut potentials: BinaryHeap<Reverse<Potential>> = potentials.map(Reverse).collect();
            without_remedy.fill(false);
            let mut repaired = false;
            while let Some(Reverse(potential)) = potentials.pop() {
                let Potential { mobile, version, .. } = potential;
                if version != versions[mobile as usize] {
                    continue;
                }
                let Some(fresh) = self.potential(mobile, version) else { continue };
                let next = potentials.peek().map(|next| next.0.gain);
                let is_best = |gain: Faults| gain <= potential.gain || next.is_none_or(|next| gain <= next);
                if !is_best(fresh.gain) {
                    potentials.push(Reverse(fresh));
                    continue;
                }
                let both = self.may_change_both(mobile);
                let remedies = self.remedies(mobile, both);
                if let Some(best) = remedies.first().filter(|best| !is_best(best.then - self.now)) {
                    let (gain, score) = (best.then - self.now, best.score);
                    potentials.push(Reverse(Potential { gain, score, mobile, version }));
                    continue;
                }
                let from = self.at.seats[mobile as usize];
                let Some(made) = remedies.iter().find(|remedy| self.make(&[remedy.shift])) else {
                    without_remedy[mobile as usize] = true;
                    continue;
                };
                repaired = true;
                let to = made.shift.to;
                for other in self.still_faulty(&[from.primary, from.secondary, to.primary, to.secondary]) {
                    if !without_remedy[other as usize] {
                        versions[other as usize] += 1;
                        potentials.extend(self.potential(other, versions[other as usize]).map(Reverse));
                    }
                }
            }
            if !repaired {
                break;
            }
        }
    }

    /// The mobiles on those of the slots that have a fault.
    fn still_faulty(&self, slots: &[u32]) -> Vec<u32> {
        let faulty = slots.iter().filter(|slot| self.at.has_fault(**slot));
        let mut mobiles: Vec<u32> = faulty
            .flat_map(|slot| {
                let residents = &self.at.residents[*slot as usize];
                residents.primaries.iter().chain(&residents.secondaries).copied()
            })
            .collect();
        mobiles.sort_unstable();
        mobiles.dedup();
        mobiles
    }

    /// Moves another instance out of the way of one that finds no place.
    fn make_room(&mut self, mobile: u32) {
        let mut slots = self.at.terrain.online.clone();
        slots.sort_by_key(|slot| (Reverse(self.at.room(*slot)), *slot));
        slots.truncate(ALL);
        let most = (self.pushes + MOST_PUSHES).min(MOST_PUSHES_IN_ALL);
        let mut targets = self.refused_seats(mobile, &slots);
        targets.sort_by_key(|to| (Reverse(self.at.room(to.primary)), *to));
        for to in targets {
            let residents = &self.at.residents[to.primary as usize];
            let mut there: Vec<u32> = residents.primaries.clone();
            if let Some(residents) = self.at.residents.get(to.secondary as usize) {
                there.extend(&residents.secondaries);
            }
            for other in there.into_iter().filter(|other| *other != mobile) {
                for aside in self.sift.seats(&self.at, other, &slots, false) {
                    self.pushes += 1;
                    if self.pushes > most {
                        return;
                    }
                    let pair = [Shift { mobile: other, to: aside }, Shift { mobile, to }];
                    let (then, _) = self.after(&pair);
                    if self.removes_faults(then) && self.make(&pair) {
                        return;
                    }
                }
            }
        }
    }

    /// The seats on some slots that the mobile can reach, ignoring the lack of room there.
    fn refused_seats(&self, mobile: u32, slots: &[u32]) -> Vec<Seat> {
        let home = self.at.terrain.mobiles[mobile as usize].home;
        let to = self.at.terrain.seats_with_way(mobile, slots, self.may_change_both(mobile));
        to.into_iter().filter(|to| *to != home && *to != self.at.seats[mobile as usize]).collect()
    }

    /// Sends every mobile home whose move removes no fault, since a partial improvement is not worth a move.
    /// With few moves all subsets are tried, with many each move alone.
    pub(super) fn drop_useless_moves(&mut self) {
        let mut moved = self.at.moved.clone();
        moved.sort_unstable();
        if moved.len() > FEW {
            moved.into_iter().for_each(|mobile| {
                self.send_home(&[mobile]);
            });
            return;
        }
        // The largest subsets come first.
        let mut parts: Vec<u32> = (1..1 << moved.len()).collect();
        parts.sort_by_key(|part| (Reverse(part.count_ones()), *part));
        let places_in = |part: u32| (0..moved.len()).filter(move |at| part & (1 << at) != 0);
        for part in parts {
            let returning: Vec<u32> = places_in(part).map(|at| moved[at]).collect();
            if self.send_home(&returning) {
                return;
            }
        }
    }

    /// Sends some mobiles home, if that adds no faults.
    fn send_home(&mut self, mobiles: &[u32]) -> bool {
        let terrain = self.at.terrain;
        let home = |mobile: &u32| terrain.mobiles[*mobile as usize].home;
        let back: Vec<Shift> =
            mobiles.iter().map(|mobile| Shift { mobile: *mobile, to: home(mobile) }).collect();
        let (then, _) = self.after(&back);
        if self.counting(then).without_shortage() > self.counting(self.now).without_shortage() {
            return false;
        }
        self.make(&back) || self.begin_without(mobiles)
    }

    /// Starts again without the moves of some mobiles, since their home nodes may no longer take them back.
    fn begin_without(&mut self, mobiles: &[u32]) -> bool {
        if self.at.moved.len() > FEW {
            return false;
        }
        let stays = |mobile: &&u32| !mobiles.contains(*mobile);
        let shift = |mobile: &u32| Shift { mobile: *mobile, to: self.at.seats[*mobile as usize] };
        let others: Vec<Shift> = self.at.moved.iter().filter(stays).map(shift).collect();
        let Some(at) = Arrangement::of(self.at.terrain).with(&others) else { return false };
        let then = at.faults();
        let harmless = self.counting(then).without_shortage() <= self.counting(self.now).without_shortage();
        if harmless {
            (self.at, self.now) = (at, then);
        }
        harmless
    }

    /// Looks for seats with a better score and no more faults for the mobiles that moved. Returns true if any
    /// was found.
    pub(super) fn settle(&mut self) -> bool {
        let mut moved = self.at.moved.clone();
        moved.sort_unstable();
        let mut any = false;
        for mobile in moved {
            let score = self.at.now().score;
            let (terrain, home) = (self.at.terrain, self.at.terrain.mobiles[mobile as usize].home);
            let both = self.at.seats[mobile as usize].keeps_none_of(home);
            let seats = if terrain.online.len() <= ALL {
                self.sift.seats(&self.at, mobile, &terrain.online, both)
            } else {
                self.sift.seats_nearby(&self.at, mobile)
            };
            let mut better: Vec<(f64, Seat)> = Vec::new();
            for to in seats.into_iter().filter(|to| *to != home) {
                let (then, new) = self.after(&[Shift { mobile, to }]);
                if new < score - 1e-12 && self.adds_no_fault(then) {
                    better.push((new, to));
                }
            }
            better.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            any |= better.into_iter().any(|(_, to)| self.make(&[Shift { mobile, to }]));
        }
        any
    }
}
