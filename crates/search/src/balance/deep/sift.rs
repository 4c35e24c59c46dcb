//! Selects the nodes worth trying for an instance, best first. On a large cluster most nodes are not: they
//! refuse the instance, gain a fault by it, or are worse than others.

use super::arrangement::{Arrangement, Counts, Shift};
use super::ledgers::PeerChange;
use super::terrain::{NOWHERE, Seat};
use htools_model::{DiskCheck, Mib, Move, Strictness, TagArrival};

/// Up to this number of online nodes, all are tried.
pub(super) const ALL: usize = 48;

/// With more nodes, this number is tried for each way in which an instance can change one of its nodes...
const FEW: usize = 16;

/// ... out of this number that are checked for a way to them ...
const FEW_WITH_WAY: usize = 64;

/// ... and this number for each role if the instance changes both.
const FEW_PAIRED: usize = 8;

/// Number of nodes that are tried first for every instance; half of them are chosen for each role.
const POOL: usize = 128;

/// Rating of a node for an instance; smaller is better.
#[derive(Debug, Clone, Copy, PartialEq)]
struct NodeRating {
    /// True if the node refuses it without force, or would fail N+1.
    harmed: bool,
    /// Additional conflicts of tags on the node, location costs, and conflicts of tags at locations.
    met: (i64, i64, i64),
    /// Approximate increase of the score.
    cost: f64,
    slot: u32,
}

impl NodeRating {
    fn cmp(&self, other: &NodeRating) -> std::cmp::Ordering {
        let faults = (self.harmed, self.met).cmp(&(other.harmed, other.met));
        faults.then(self.cost.total_cmp(&other.cost)).then(self.slot.cmp(&other.slot))
    }
}

/// A selection of nodes: see the module documentation.
pub(super) struct NodeSelection {
    /// For each lane, the mean, and the derivative of the score by the sum of squares.
    pull: Vec<(f64, f64)>,
    /// Nodes that are tried first.
    pool: Vec<u32>,
}

impl NodeSelection {
    /// Rates the nodes in their present state. `typical` are mobiles that represent those looking for a place.
    pub(super) fn of(at: &Arrangement<'_>, typical: &[u32]) -> NodeSelection {
        let terrain = at.terrain;
        let n = terrain.online.len().max(1) as f64;
        let pull = terrain.lanes.weight.iter().enumerate().map(|(lane, weight)| {
            let mean = at.mean(lane);
            let square = |slot: &u32| (at.value(*slot, lane) - mean).powi(2);
            let deviation = (terrain.online.iter().map(square).sum::<f64>() / n).sqrt();
            (mean, weight / (2.0 * n * deviation.max(1e-6)))
        });
        let mut sift = NodeSelection { pull: pull.collect(), pool: terrain.online.clone() };
        if terrain.online.len() > POOL && !typical.is_empty() {
            let mut pool = Vec::new();
            for mobile in typical {
                pool.extend(sift.primaries(at, *mobile, NOWHERE, &terrain.online, POOL / 2));
                if terrain.mobiles[*mobile as usize].mirrored {
                    pool.extend(sift.secondaries(at, *mobile, NOWHERE, &terrain.online, POOL / 2));
                }
            }
            pool.sort_unstable();
            pool.dedup();
            sift.pool = pool;
        }
        sift
    }

    pub(super) fn pool(&self) -> &[u32] {
        &self.pool
    }

    /// The seats on some slots that are worth trying for a mobile and that it can reach. With `both`, seats
    /// that change both of its nodes are included.
    pub(super) fn seats(&self, at: &Arrangement<'_>, mobile: u32, slots: &[u32], both: bool) -> Vec<Seat> {
        let (terrain, now) = (at.terrain, at.seats[mobile as usize]);
        let home = terrain.mobiles[mobile as usize].home;
        let (p, s) = (home.primary, home.secondary);
        let all = terrain.online.len() <= ALL;
        let most = |few: usize| if all { usize::MAX } else { few };
        let goes = |to: &Seat| at.has_way(mobile, *to);
        let mut seats: Vec<Seat> = Vec::new();
        if !terrain.mobiles[mobile as usize].mirrored {
            let primaries = self.primaries(at, mobile, NOWHERE, slots, most(FEW_WITH_WAY));
            let to = |primary: u32| Seat { primary, secondary: NOWHERE };
            seats.extend(primaries.into_iter().map(to).filter(goes).take(most(FEW)));
        } else {
            seats.extend([Seat { primary: s, secondary: p }].into_iter().filter(goes));
            let for_primary = self.primaries(at, mobile, s, slots, most(FEW_WITH_WAY));
            for secondary in [p, s] {
                let to = for_primary.iter().map(|primary| Seat { primary: *primary, secondary });
                seats.extend(to.filter(goes).take(most(FEW)));
            }
            let mut for_secondary = Vec::new();
            for primary in [s, p] {
                for_secondary = self.secondaries(at, mobile, primary, slots, most(FEW_WITH_WAY));
                let to = for_secondary.iter().map(|secondary| Seat { primary, secondary: *secondary });
                seats.extend(to.filter(goes).take(most(FEW)));
            }
            if both {
                let few = most(FEW_PAIRED);
                for primary in for_primary.into_iter().take(few) {
                    let to = for_secondary.iter().map(|secondary| Seat { primary, secondary: *secondary });
                    seats.extend(to.filter(goes).take(few));
                }
            }
        }
        if now != home {
            seats.push(home);
        }
        seats.sort_unstable();
        seats.dedup();
        seats.retain(|to| *to != now);
        seats
    }

    /// The seats on the pool that differ from the mobile's seat by one node, or by the roles.
    pub(super) fn seats_nearby(&self, at: &Arrangement<'_>, mobile: u32) -> Vec<Seat> {
        let now @ Seat { primary, secondary } = at.seats[mobile as usize];
        let goes = |to: &Seat| *to != now && at.has_way(mobile, *to);
        let primaries = self.primaries(at, mobile, secondary, &self.pool, FEW_WITH_WAY).into_iter();
        let mut seats: Vec<Seat> =
            primaries.map(|primary| Seat { primary, secondary }).filter(goes).take(FEW).collect();
        if secondary != NOWHERE {
            let secondaries = self.secondaries(at, mobile, primary, &self.pool, FEW_WITH_WAY).into_iter();
            seats.extend(secondaries.map(|secondary| Seat { primary, secondary }).filter(goes).take(FEW));
            seats.extend([Seat { primary: secondary, secondary: primary }].into_iter().filter(goes));
        }
        seats
    }

    /// The best slots for the primary of a mobile with the given secondary, at most `most`.
    fn primaries(
        &self,
        at: &Arrangement<'_>,
        mobile: u32,
        secondary: u32,
        slots: &[u32],
        most: usize,
    ) -> Vec<u32> {
        let (terrain, instance) = (at.terrain, at.terrain.instance(mobile));
        let tagged = terrain.mobiles[mobile as usize].tagged;
        let fits = slots.iter().filter_map(|slot| {
            let (spec, ledger) = (terrain.spec(*slot), at.ledgers.ledger(*slot));
            let tags = TagArrival::default();
            let enter = |strict| ledger.add_primary(spec, instance, 0, tags, strict);
            let harmed = match enter(Strictness::Strict) {
                Ok(after) => after.n1_fail,
                Err(_) => enter(Strictness::Forced).is_ok().then_some(true)?,
            };
            let met = if tagged || terrain.located {
                met(at, mobile, Seat { primary: *slot, secondary })
            } else {
                (0, 0, 0)
            };
            Some(NodeRating { harmed, met, cost: self.cost(at, mobile, *slot, None), slot: *slot })
        });
        best(fits.collect(), most)
    }

    /// The best slots for the secondary of a mobile with the given primary, at most `most`.
    fn secondaries(
        &self,
        at: &Arrangement<'_>,
        mobile: u32,
        primary: u32,
        slots: &[u32],
        most: usize,
    ) -> Vec<u32> {
        let (terrain, instance) = (at.terrain, at.terrain.instance(mobile));
        let need = terrain.mobiles[mobile as usize].need;
        let fits = slots.iter().filter_map(|slot| {
            let (spec, ledger) = (terrain.spec(*slot), at.ledgers.ledger(*slot));
            let reserved =
                at.ledgers.reserve_with(*slot, &[PeerChange { slot: *slot, other: primary, by: need }]);
            let peer = Mib(at.ledgers.peer(*slot, primary));
            let enter = |strict| ledger.add_secondary(spec, instance, peer, strict, DiskCheck::Needed);
            let harmed = match enter(Strictness::Strict) {
                Ok(after) => after.n1_fail,
                Err(_) => enter(Strictness::Forced).is_ok().then_some(true)?,
            };
            let met = if terrain.located && primary != NOWHERE {
                met(at, mobile, Seat { primary, secondary: *slot })
            } else {
                (0, 0, 0)
            };
            let grows = reserved - at.reserved[*slot as usize];
            Some(NodeRating { harmed, met, cost: self.cost(at, mobile, *slot, Some(grows)), slot: *slot })
        });
        best(fits.collect(), most)
    }

    /// Approximate growth of the score by a mobile on a slot, assuming that deviations change slowly. `reserve`
    /// is the growth of the slot's reserve by a secondary.
    fn cost(&self, at: &Arrangement<'_>, mobile: u32, slot: u32, reserve: Option<i64>) -> f64 {
        let terrain = at.terrain;
        let (scale, amounts) = (terrain.scale(slot), terrain.amounts(mobile, slot, reserve.is_some()));
        let mut cost = 0.0;
        for lane in 0..terrain.width() {
            let grows = match reserve {
                Some(grows) if terrain.lanes.reserve == Some(lane) => {
                    let grows = grows as f64 * scale[lane];
                    cost += terrain.weights.reserved * grows;
                    grows
                }
                _ => amounts[lane] * scale[lane],
            };
            let (mean, pull) = self.pull[lane];
            cost += pull * grows * (2.0 * (at.value(slot, lane) - mean) + grows);
        }
        cost
    }
}

impl Arrangement<'_> {
    /// Returns true if the mobile can move from home to the seat. If its secondary node has to run it on the
    /// way, that node needs room.
    fn has_way(&self, mobile: u32, to: Seat) -> bool {
        let details = &self.terrain.mobiles[mobile as usize];
        match self.terrain.way(mobile, details.home, to).map(|way| way.mv) {
            Some(Move::ReplacePrimary(_)) => self.room(details.home.secondary) > details.mem,
            way => way.is_some(),
        }
    }
}

/// Additional faults of a mobile in a seat: tags on its node, location costs, tags at locations.
fn met(at: &Arrangement<'_>, mobile: u32, to: Seat) -> (i64, i64, i64) {
    let mut counts = Counts::default();
    at.tags.count(at.terrain, &at.seats, &[Shift { mobile, to }], &mut counts);
    (counts.conflicts, counts.locations, counts.spread)
}

fn best(mut prospects: Vec<NodeRating>, most: usize) -> Vec<u32> {
    if prospects.len() > most {
        prospects.select_nth_unstable_by(most, NodeRating::cmp);
        prospects.truncate(most);
    }
    prospects.sort_unstable_by(NodeRating::cmp);
    prospects.into_iter().map(|prospect| prospect.slot).collect()
}
