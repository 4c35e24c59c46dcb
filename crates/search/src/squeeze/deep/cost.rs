//! The cost of a placement on the nodes that stay: room that is spread, instances that are left, and moves.

use super::super::trial::GroupScope;
use super::choice::StayingNodes;
use crate::balance::deep::arrangement::Shift;
use crate::balance::deep::terrain::{NOWHERE, Seat, SlotStanding, Terrain};
use crate::limits::resource::Resource;
use htools_model::InstanceIdx;
use smallvec::SmallVec;

/// The resources that can be scarce.
pub(super) const RESOURCES: [Resource; 3] = [Resource::Memory, Resource::Cpus, Resource::Spindles];

/// An amount of each resource.
type ResourceAmounts = [i64; RESOURCES.len()];

/// Cost of an instance that moves between nodes that stay. The squared size of an average instance costs 1.
const MOVE: f64 = 1.0;

/// Cost of an instance that is left, compared with that of its size on the largest node.
const LEFT: f64 = 4.0;

/// ResourceAmounts beyond this are as good as infinite.
const MOST: i128 = 1 << 40;

/// The room on each node, and the cost of its changes.
#[derive(Clone)]
pub(super) struct PackingCost {
    /// For each resource, the amount that an average instance takes.
    units: [f64; RESOURCES.len()],
    /// Weight of each resource.
    weights: [f64; RESOURCES.len()],
    /// Amounts that each mobile takes as a primary and as a secondary.
    sizes: Vec<[ResourceAmounts; 2]>,
    /// Room on each online slot.
    rooms: Vec<ResourceAmounts>,
    left: f64,
}

/// The roles of a shift: the slot, 1 for secondaries, and whether the role leaves (1) or arrives (-1).
fn roles(from: Seat, to: Seat) -> impl Iterator<Item = (u32, usize, i64)> {
    let roles = [(from.primary, 0, 1), (from.secondary, 1, 1), (to.primary, 0, -1), (to.secondary, 1, -1)];
    roles.into_iter().filter(|role| role.0 != NOWHERE)
}

/// Returns true if a mobile in a seat has a role on an offline node.
pub(super) fn is_on_offline(terrain: &Terrain<'_>, seat: Seat) -> bool {
    let is_offline = |slot: u32| terrain.standing.get(slot as usize) == Some(&SlotStanding::Offline);
    is_offline(seat.primary) || is_offline(seat.secondary)
}

impl PackingCost {
    pub(super) fn of(scope: &GroupScope<'_>, terrain: &Terrain<'_>, choice: &StayingNodes) -> PackingCost {
        let mobiles = || 0..terrain.mobiles.len() as u32;
        let taken = |resource: Resource, mobile: u32, secondary: bool| {
            let amount = resource.taken(terrain.instance(mobile), secondary);
            i128::from(amount).clamp(-MOST, MOST) as i64
        };
        let mean = |resource: Resource| {
            let sum: f64 = mobiles().map(|mobile| taken(resource, mobile, false).max(0) as f64).sum();
            (sum / terrain.mobiles.len().max(1) as f64).max(1.0)
        };
        let units = RESOURCES.map(mean);
        let weights = choice.scarcity;
        let offer = |slot: usize, at: usize| {
            scope.offer(RESOURCES[at], terrain.nodes[slot]).clamp(-MOST, MOST) as i64
        };
        let room = |slot: usize, at: usize| {
            if weights[at] == 0.0 || terrain.standing[slot] != SlotStanding::Online {
                return 0;
            }
            let state = &terrain.cluster.node(terrain.nodes[slot]).state;
            let used = |list: &[InstanceIdx], secondary: bool| -> i128 {
                let amounts =
                    list.iter().map(|i| RESOURCES[at].taken(terrain.cluster.instance(*i), secondary));
                amounts.map(i128::from).sum()
            };
            let used = used(&state.primaries, false) + used(&state.secondaries, true);
            (i128::from(offer(slot, at)) - used).clamp(-MOST, MOST) as i64
        };
        let in_units = |slot: &u32, at: usize| offer(*slot as usize, at) as f64 / units[at];
        let limited = (0..RESOURCES.len()).filter(|at| weights[*at] > 0.0);
        let largest = limited.flat_map(|at| terrain.online.iter().map(move |slot| in_units(slot, at)));
        PackingCost {
            units,
            weights,
            sizes: mobiles()
                .map(|mobile| [false, true].map(|secondary| RESOURCES.map(|r| taken(r, mobile, secondary))))
                .collect(),
            rooms: (0..terrain.nodes.len()).map(|slot| std::array::from_fn(|at| room(slot, at))).collect(),
            left: LEFT * largest.fold(1.0, f64::max).min(1e6),
        }
    }

    /// Returns true if a node lacks some resource.
    pub(super) fn is_lacking(&self, slot: u32) -> bool {
        self.rooms[slot as usize].iter().any(|room| *room < 0)
    }

    /// Size of a mobile in units, over all resources and both roles.
    pub(super) fn size(&self, mobile: u32) -> f64 {
        self.sizes[mobile as usize].iter().map(|size| self.in_units(size)).sum()
    }

    /// Square of the room on a slot, in units.
    pub(super) fn squared_room(&self, slot: u32) -> f64 {
        (0..RESOURCES.len()).map(|at| -self.of_room(at, self.rooms[slot as usize][at])).sum()
    }

    fn in_units(&self, amounts: &ResourceAmounts) -> f64 {
        amounts.iter().zip(self.units).map(|(amount, unit)| *amount as f64 / unit).sum()
    }

    /// Change of the cost by shifts of mobiles from `seats`.
    pub(super) fn change(&self, terrain: &Terrain<'_>, seats: &[Seat], proposal: &[Shift]) -> f64 {
        let mut changed: SmallVec<[(u32, ResourceAmounts); 8]> = SmallVec::new();
        let mut change = 0.0;
        for Shift { mobile, to } in proposal {
            let (from, home) = (seats[*mobile as usize], terrain.mobiles[*mobile as usize].home);
            if !is_on_offline(terrain, home) {
                change += MOVE * (f64::from(*to != home) - f64::from(from != home));
            }
            for (slot, role, sign) in roles(from, *to) {
                let size = &self.sizes[*mobile as usize][role];
                match terrain.standing[slot as usize] {
                    SlotStanding::Online => {
                        let at = changed.iter().position(|entry| entry.0 == slot).unwrap_or_else(|| {
                            changed.push((slot, ResourceAmounts::default()));
                            changed.len() - 1
                        });
                        changed[at].1.iter_mut().zip(size).for_each(|(sum, amount)| *sum += sign * amount);
                    }
                    SlotStanding::Offline => change -= sign as f64 * self.left * (1.0 + self.in_units(size)),
                    SlotStanding::Outside => {}
                }
            }
        }
        for (slot, more) in changed {
            let room = &self.rooms[slot as usize];
            for at in (0..RESOURCES.len()).filter(|at| more[*at] != 0 && self.weights[*at] > 0.0) {
                change += self.of_room(at, room[at] + more[at]) - self.of_room(at, room[at]);
            }
        }
        change
    }

    /// Cost of the room of one resource on a node: less for more room, the more so the more there is.
    fn of_room(&self, at: usize, room: i64) -> f64 {
        let room = room as f64 / self.units[at];
        if room < 0.0 { -room * self.left } else { -self.weights[at] * room * room }
    }

    /// Enters a shift of a mobile.
    pub(super) fn enter(&mut self, terrain: &Terrain<'_>, from: Seat, Shift { mobile, to }: Shift) {
        for (slot, role, sign) in roles(from, to) {
            if terrain.standing[slot as usize] == SlotStanding::Online {
                for at in (0..RESOURCES.len()).filter(|at| self.weights[*at] > 0.0) {
                    self.rooms[slot as usize][at] += sign * self.sizes[mobile as usize][role][at];
                }
            }
        }
    }
}
