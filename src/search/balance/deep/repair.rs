//! The fewest moves that end what is wrong, and the emptying of nodes. Neither looks for balance: among moves that
//! mend as much, the one with the best score is made, and nothing else moves unless room must be made.

use super::arrangement::{Arrangement, Shift};
use super::as_draft;
use super::faults::Faults;
use super::polish::seats;
use super::terrain::{NOWHERE, Seat, SlotStanding, Terrain};
use crate::model::{Cluster, Draft, InstanceIdx, Move, NodeIdx, Placement};
use crate::search::balance::BalanceOptions;
use crate::search::moves::{Refusal, Trial};

/// Who has to go where.
#[derive(Debug, Clone, PartialEq)]
pub struct Mending {
    /// Who goes where, in the order of the instances; [`order`](super::order::order) makes steps of it.
    pub placements: Vec<(InstanceIdx, Placement)>,
    /// What was wrong, and what still is.
    pub before: Faults,
    /// See `before`.
    pub after: Faults,
    /// Instances that are still where they should not be, each with what refuses it; nothing does where a
    /// move would be possible and mend nothing, or none has a way.
    pub stuck: Vec<(InstanceIdx, Vec<Refusal>)>,
}

/// Ends what is wrong in the set `nodes` (ascending): instances on offline nodes, nodes that fail N+1 or their
/// policy, exclusion tags and locations that meet.
pub fn repair(cluster: &Cluster, nodes: &[NodeIdx], options: &BalanceOptions) -> Mending {
    let terrain = Terrain::of(cluster, nodes, options);
    mend(&terrain, false)
}

/// Empties some nodes of the set `nodes` (ascending), of primaries and secondaries. What may not move stays, and is
/// `stuck` unless it is out of the search's reach altogether.
pub fn evacuate(
    cluster: &Cluster,
    nodes: &[NodeIdx],
    options: &BalanceOptions,
    emptied: &[NodeIdx],
) -> Mending {
    let terrain = Terrain::evacuating(cluster, nodes, options, emptied);
    mend(&terrain, true)
}

/// Rounds in which everybody who moved looks for a better seat.
const ROUNDS: usize = 3;

/// Nodes with the most room, which are tried first.
const ROOMIEST: usize = 48;

/// Seats that are tried to make room for one instance.
const MOST_PUSHES: usize = 30_000;

fn mend(terrain: &Terrain<'_>, evacuates: bool) -> Mending {
    let mut mender = Mender { at: Arrangement::of(terrain), evacuates, both: false };
    let before = mender.at.faults();
    let mut patients: Vec<u32> = (0..terrain.mobiles.len() as u32).filter(|m| mender.is_wrong(*m)).collect();
    // the largest find the fewest places, and come first
    patients.sort_by_key(|m| {
        let of = &terrain.mobiles[*m as usize];
        (std::cmp::Reverse((of.mem.max(of.need), terrain.instance(*m).disk.0)), *m)
    });
    for mobile in &patients {
        if mender.is_left_behind(*mobile) && !mender.treat(&[*mobile]) && !mender.treat_both(*mobile) {
            mender.make_room(*mobile);
        }
    }
    if !evacuates {
        for slot in terrain.online.clone() {
            // each time what mends most of those that are there
            while mender.treat(&mender.patients_at(slot)) {}
        }
    }
    mender.discharge();
    for _ in 0..ROUNDS {
        mender.settle();
    }
    mender.mending(before, &patients)
}

struct Mender<'t> {
    at: Arrangement<'t>,
    evacuates: bool,
    /// Whether both nodes of an instance may change though one of them is as it should be.
    both: bool,
}

impl Mender<'_> {
    /// Whether a mobile is on a node that is offline or to be emptied.
    fn is_left_behind(&self, mobile: u32) -> bool {
        let seat = self.at.seats[mobile as usize];
        let offline = |slot: u32| self.at.terrain.standing.get(slot as usize) == Some(&SlotStanding::Offline);
        offline(seat.primary) || offline(seat.secondary)
    }

    /// Whether a mobile is where something is wrong.
    fn is_wrong(&self, mobile: u32) -> bool {
        self.is_left_behind(mobile) || (!self.evacuates && self.at.is_in_fault(mobile))
    }

    /// The mobiles of a slot that have a part in what is wrong, ascending.
    fn patients_at(&self, slot: u32) -> Vec<u32> {
        let residents = &self.at.residents[slot as usize];
        let all = residents.primaries.iter().chain(&residents.secondaries).copied();
        let mut patients: Vec<u32> = all.filter(|m| self.at.is_in_fault(*m)).collect();
        patients.sort_unstable();
        patients
    }

    /// What of the faults counts here.
    fn counting(&self, faults: Faults) -> Faults {
        if self.evacuates { faults.left_behind_only() } else { faults }
    }

    /// What would be wrong after a proposal, and the score then; `now` is wrong now.
    fn after(&mut self, now: &Faults, proposal: &[Shift]) -> (Faults, f64) {
        let score = self.at.appraise(proposal).score;
        (self.counting(self.at.faults_then(now, proposal)), score)
    }

    fn make(&mut self, proposal: &[Shift]) -> bool {
        self.at.appraise(proposal);
        self.at.commit(proposal)
    }

    /// Makes the best single move of one of some mobiles, if one mends anything: first to nodes with much room, then
    /// to any.
    fn treat(&mut self, patients: &[u32]) -> bool {
        let mut roomy = self.at.terrain.online.clone();
        if roomy.len() <= ROOMIEST {
            return self.treat_at(patients, &roomy);
        }
        let all = roomy.clone();
        roomy.sort_by_key(|slot| (std::cmp::Reverse(self.at.room(*slot)), *slot));
        roomy.truncate(ROOMIEST);
        // with both nodes free, every pair of all nodes would be too many
        self.treat_at(patients, &roomy) || (!self.both && self.treat_at(patients, &all))
    }

    /// The same for one, both of whose nodes may change.
    fn treat_both(&mut self, mobile: u32) -> bool {
        self.both = true;
        let treated = self.treat(&[mobile]);
        self.both = false;
        treated
    }

    fn treat_at(&mut self, patients: &[u32], targets: &[u32]) -> bool {
        let now = self.at.faults();
        let mut ways: Vec<(Faults, f64, Shift)> = Vec::new();
        for mobile in patients {
            for to in self.ways(*mobile, targets) {
                let shift = Shift { mobile: *mobile, to };
                let (faults, score) = self.after(&now, &[shift]);
                if faults < self.counting(now) {
                    ways.push((faults, score, shift));
                }
            }
        }
        ways.sort_by(|a, b| {
            let places = (a.2.mobile, a.2.to).cmp(&(b.2.mobile, b.2.to));
            a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)).then(places)
        });
        ways.into_iter().any(|(_, _, shift)| self.make(&[shift]))
    }

    /// Whether a mobile has a way from home to a seat; a secondary node that has to run it meanwhile needs room.
    fn has_way(&self, mobile: u32, to: Seat) -> bool {
        let of = &self.at.terrain.mobiles[mobile as usize];
        match self.at.terrain.way(mobile, of.home, to).map(|way| way.mv) {
            Some(Move::ReplacePrimary(_)) => self.at.room(of.home.secondary) > of.mem,
            way => way.is_some(),
        }
    }

    /// The seats on some slots to which a mobile has a way.
    fn ways(&self, mobile: u32, targets: &[u32]) -> Vec<Seat> {
        let (terrain, now) = (self.at.terrain, self.at.seats[mobile as usize]);
        let home = terrain.mobiles[mobile as usize].home;
        // both nodes change only where both are wrong: that halves what is copied, and the search
        let wrong = |slot: u32| terrain.standing.get(slot as usize) == Some(&SlotStanding::Offline);
        let mut ways =
            if !self.both && home.secondary != NOWHERE && !(wrong(home.primary) && wrong(home.secondary)) {
                let (p, s) = (home.primary, home.secondary);
                let of = |slot: &u32| [(p, *slot), (*slot, p), (*slot, s), (s, *slot)];
                let pairs = targets.iter().flat_map(of).chain([(s, p), (p, s)]);
                pairs.map(|(primary, secondary)| Seat { primary, secondary }).collect()
            } else {
                seats(terrain, mobile, targets)
            };
        ways.sort_unstable();
        ways.dedup();
        let distinct = |to: &Seat| *to != now && to.primary != to.secondary;
        ways.retain(|to| distinct(to) && (*to == home || self.has_way(mobile, *to)));
        ways
    }

    /// Pushes another instance out of the way of one that finds no place.
    fn make_room(&mut self, mobile: u32) {
        let now = self.at.faults();
        let mut tried = 0;
        let all = self.at.terrain.online.clone();
        let mut targets = self.ways(mobile, &all);
        targets.sort_by_key(|to| (std::cmp::Reverse(self.at.room(to.primary)), *to));
        for to in targets {
            let residents = &self.at.residents[to.primary as usize];
            let mut there: Vec<u32> = residents.primaries.clone();
            if let Some(residents) = self.at.residents.get(to.secondary as usize) {
                there.extend(&residents.secondaries);
            }
            for other in there.into_iter().filter(|other| *other != mobile) {
                for aside in self.ways(other, &all) {
                    tried += 1;
                    if tried > MOST_PUSHES {
                        return;
                    }
                    let pair = [Shift { mobile: other, to: aside }, Shift { mobile, to }];
                    if self.after(&now, &pair).0 < self.counting(now) && self.at.commit(&pair) {
                        return;
                    }
                }
            }
        }
    }

    /// Sends everybody home whose move mends nothing.
    fn discharge(&mut self) {
        let mut moved = self.at.moved.clone();
        moved.sort_unstable();
        for mobile in moved {
            let back = [Shift { mobile, to: self.at.terrain.mobiles[mobile as usize].home }];
            let now = self.at.faults();
            if self.after(&now, &back).0 <= self.counting(now) {
                self.at.commit(&back);
            }
        }
    }

    /// Those who moved look for a seat with a better score that mends as much.
    fn settle(&mut self) {
        let all = self.at.terrain.online.clone();
        let mut moved = self.at.moved.clone();
        moved.sort_unstable();
        for mobile in moved {
            let (now, score) = (self.at.faults(), self.at.now().score);
            let home = self.at.terrain.mobiles[mobile as usize].home;
            let mut better: Vec<(f64, Seat)> = Vec::new();
            for to in self.ways(mobile, &all).into_iter().filter(|to| *to != home) {
                let (then, new) = self.after(&now, &[Shift { mobile, to }]);
                if new < score - 1e-12 && then <= self.counting(now) {
                    better.push((new, to));
                }
            }
            better.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            let _ = better.into_iter().any(|(_, to)| self.make(&[Shift { mobile, to }]));
        }
    }

    fn mending(self, before: Faults, patients: &[u32]) -> Mending {
        let terrain = self.at.terrain;
        let mut placements: Vec<(InstanceIdx, Placement)> = (self.at.moved.iter())
            .map(|m| {
                (terrain.mobiles[*m as usize].instance, terrain.placement(*m, self.at.seats[*m as usize]))
            })
            .collect();
        placements.sort_unstable_by_key(|(instance, _)| *instance);
        let wrong: Vec<u32> = patients.iter().copied().filter(|m| self.is_wrong(*m)).collect();
        let mut stuck = Vec::new();
        let draft = as_draft(terrain, &self.at);
        for mobile in wrong {
            let refused = refusals(terrain, &draft, mobile);
            stuck.push((terrain.mobiles[mobile as usize].instance, refused));
        }
        stuck.sort_by_key(|(instance, _)| *instance);
        let after = self.at.faults();
        Mending { placements, before, after, stuck }
    }
}

/// What refuses a mobile, once for each node, role and rule.
fn refusals(terrain: &Terrain<'_>, draft: &Draft, mobile: u32) -> Vec<Refusal> {
    let home = terrain.mobiles[mobile as usize].home;
    let trial = Trial::new(draft, draft.instance(terrain.mobiles[mobile as usize].instance), &terrain.rules);
    let mut refusals: Vec<Refusal> = Vec::new();
    for to in seats(terrain, mobile, &terrain.online) {
        let Some(way) = terrain.way(mobile, home, to) else { continue };
        let Ok(mv) = way.mv.try_map(|slot| terrain.nodes.get(slot as usize).copied().ok_or(())) else {
            continue;
        };
        refusals.extend(trial.run(mv).err().filter(|refusal| !refusals.contains(refusal)));
    }
    refusals.sort_by_key(|refusal| (refusal.node, refusal.role_is_primary));
    refusals
}
