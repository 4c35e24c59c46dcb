//! The fewest moves that end what is wrong, and the emptying of nodes. Neither looks for balance: among moves that
//! mend as much, the one with the best score is made, and nothing else moves unless room must be made.

use super::arrangement::{Arrangement, Shift};
use super::as_draft;
use super::faults::Faults;
use super::polish::seats;
use super::terrain::{NOWHERE, Seat, SlotStanding, Terrain};
use crate::model::{Cluster, Draft, InstanceIdx, NodeIdx, Placement};
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

/// Seats that are tried to make room for one instance.
const MOST_PUSHES: usize = 30_000;

fn mend(terrain: &Terrain<'_>, evacuates: bool) -> Mending {
    let mut doctor = Mender { at: Arrangement::of(terrain), evacuates };
    let before = doctor.at.faults();
    // the largest find the fewest places, and come first
    let mut patients: Vec<u32> = (0..terrain.mobiles.len() as u32).filter(|m| doctor.is_wrong(*m)).collect();
    patients.sort_by_key(|m| {
        let of = &terrain.mobiles[*m as usize];
        (std::cmp::Reverse((of.mem.max(of.need), terrain.instance(*m).disk.0)), *m)
    });
    for mobile in &patients {
        if doctor.is_wrong(*mobile) && !doctor.treat(*mobile) {
            doctor.make_room(*mobile);
        }
    }
    doctor.discharge();
    for _ in 0..ROUNDS {
        doctor.settle();
    }
    doctor.mending(before, &patients)
}

struct Mender<'t> {
    at: Arrangement<'t>,
    evacuates: bool,
}

impl Mender<'_> {
    /// Whether a mobile is where something is wrong.
    fn is_wrong(&self, mobile: u32) -> bool {
        let terrain = self.at.terrain;
        let seat = self.at.seats[mobile as usize];
        let offline = |slot: u32| terrain.standing.get(slot as usize) == Some(&SlotStanding::Offline);
        let left_behind = offline(seat.primary) || offline(seat.secondary);
        left_behind || (!self.evacuates && self.at.is_in_fault(mobile))
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

    /// Makes the best single move of a mobile, if it mends anything.
    fn treat(&mut self, mobile: u32) -> bool {
        let now = self.at.faults();
        let mut ways: Vec<(Faults, f64, Seat)> = Vec::new();
        for to in self.ways(mobile) {
            let (faults, score) = self.after(&now, &[Shift { mobile, to }]);
            if faults < self.counting(now) {
                ways.push((faults, score, to));
            }
        }
        ways.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)).then(a.2.cmp(&b.2)));
        ways.into_iter().any(|(_, _, to)| self.make(&[Shift { mobile, to }]))
    }

    /// The seats to which a mobile has a way.
    fn ways(&self, mobile: u32) -> Vec<Seat> {
        let (terrain, now) = (self.at.terrain, self.at.seats[mobile as usize]);
        let home = terrain.mobiles[mobile as usize].home;
        let mut ways = seats(terrain, mobile);
        ways.retain(|to| *to != now && (*to == home || terrain.way(mobile, home, *to).is_some()));
        // both nodes change only where both are wrong: that halves what is copied, and the search
        let wrong = |slot: u32| terrain.standing.get(slot as usize) == Some(&SlotStanding::Offline);
        if home.secondary != NOWHERE && !(wrong(home.primary) && wrong(home.secondary)) {
            let kept = |slot: u32| slot == home.primary || slot == home.secondary;
            ways.retain(|to| kept(to.primary) || kept(to.secondary));
        }
        ways
    }

    /// Pushes another instance out of the way of one that finds no place.
    fn make_room(&mut self, mobile: u32) {
        let now = self.at.faults();
        let mut tried = 0;
        let mut targets = self.ways(mobile);
        targets.sort_by_key(|to| (std::cmp::Reverse(self.at.room(to.primary)), *to));
        for to in targets {
            let residents = &self.at.residents[to.primary as usize];
            let mut there: Vec<u32> = residents.primaries.clone();
            if let Some(residents) = self.at.residents.get(to.secondary as usize) {
                there.extend(&residents.secondaries);
            }
            for other in there.into_iter().filter(|other| *other != mobile) {
                for aside in self.ways(other) {
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
        let mut moved = self.at.moved.clone();
        moved.sort_unstable();
        for mobile in moved {
            let (now, score) = (self.at.faults(), self.at.now().score);
            let home = self.at.terrain.mobiles[mobile as usize].home;
            let mut better: Vec<(f64, Seat)> = Vec::new();
            for to in self.ways(mobile).into_iter().filter(|to| *to != home) {
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
    for to in seats(terrain, mobile) {
        let Some(way) = terrain.way(mobile, home, to) else { continue };
        let Ok(mv) = way.mv.try_map(|slot| terrain.nodes.get(slot as usize).copied().ok_or(())) else {
            continue;
        };
        if let Err(refusal) = trial.run(mv) {
            if !refusals.contains(&refusal) {
                refusals.push(refusal);
            }
        }
    }
    refusals.sort_by_key(|refusal| (refusal.node, refusal.role_is_primary));
    refusals
}
