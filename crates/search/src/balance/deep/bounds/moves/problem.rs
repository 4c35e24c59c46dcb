//! The data of the bound after some moves: what each node holds at the start, and the states that it can take.

use std::collections::BTreeMap;
use std::ops::Range;

use super::super::LaneFloor;
use super::super::levels::{ItemKind, bundles, levels};
use super::super::ranges::{LIMITS, RangeProblem, RoomyNode, average, items, roomy_nodes};
use crate::balance::deep::terrain::Terrain;

/// Maximum number of states times arrivals. Instances are bundled until they fit.
const MOST_LOOKS: usize = 1_500_000;

/// With more states times roles, nodes with equal states share them.
const MOST_OWN: usize = 200_000;

/// Nodes share their states if they have no more sets of states than this.
const MOST_SETS: usize = 64;

/// An instance in one of its roles.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Role {
    /// For each lane the value that it adds, and then for each limit what it takes.
    pub amounts: Vec<f64>,
    /// Need for memory as a secondary in MiB; 0 as a primary.
    pub need: f64,
    /// Index of the arrival that stands for it.
    pub arrival: usize,
}

/// Roles that arrive for the same price: each has amounts in a range.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Arrival {
    pub low: Vec<f64>,
    pub high: Vec<f64>,
    pub need: f64,
}

/// A role of a mobile on its node at the start.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Resident {
    pub role: usize,
    pub mobile: usize,
    pub is_secondary: bool,
}

/// A node with what it holds at the start.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct HomeNode {
    pub residents: Vec<Resident>,
    /// For each lane, the value of what cannot move, less the mean of the lane.
    pub offset: Vec<f64>,
    /// Its states.
    pub first_state: usize,
    pub states: usize,
}

/// A state of a node.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct NodeState {
    /// Level of the reserve in MiB: the node keeps as much at least.
    pub level: f64,
    /// The next level: the node keeps less.
    pub next: f64,
    /// The limit beyond which the node stays. Nothing that takes of it arrives.
    pub closed: Option<usize>,
    /// For each limit, the room for movable roles; infinite without a limit.
    pub rooms: Vec<f64>,
    /// Index of the arrivals that it allows.
    pub opening: usize,
    /// Index of a set of similar states.
    pub family: usize,
}

impl HomeNode {
    /// The indices of its states.
    pub(super) fn all_states(&self) -> Range<usize> {
        self.first_state..self.first_state + self.states
    }
}

impl NodeState {
    /// Returns true if the state keeps to a limit that there is.
    pub(super) fn has_price(&self, limit: usize) -> bool {
        self.closed != Some(limit) && self.rooms[limit].is_finite()
    }
}

/// The lower bound of the deviations and of the reserves after some moves, as a problem of its own.
#[derive(Debug, Clone)]
pub(super) struct MoveProblem {
    /// For each lane, the weight of its deviation.
    pub weights: Vec<f64>,
    pub limits: usize,
    pub roles: Vec<Role>,
    pub arrivals: Vec<Arrival>,
    pub nodes: Vec<HomeNode>,
    pub states: Vec<NodeState>,
    /// By opening and arrival, true if it is allowed.
    pub openings: Vec<Vec<bool>>,
    /// Number of families of states.
    pub families: usize,
    /// True if several nodes can have the same states. Then each state has one price for all of them.
    pub shared: bool,
    /// For each mobile, true if it has a secondary.
    pub mirrored: Vec<bool>,
    /// Weight of the sum of the reserves, for each MiB.
    pub of_sum: f64,
    /// Weight of the deviation of the reserves, for each MiB; so small that the cost rises with every reserve.
    pub of_deviation: f64,
}

impl MoveProblem {
    /// Reads the terrain; `None` if a number is odd.
    pub(super) fn of(
        terrain: &Terrain<'_>,
        lanes: &[LaneFloor],
        ranges: &RangeProblem,
    ) -> Option<MoveProblem> {
        let homes =
            terrain.mobiles.iter().flat_map(|of| [(true, of.home.primary), (of.mirrored, of.home.secondary)]);
        if homes.into_iter().any(|(counts, slot)| counts && !terrain.is_online(slot)) {
            return None;
        }
        let first = *terrain.online.first()?;
        let memory = terrain.spec(first).mem_total;
        let needs = levels(terrain);
        let scales: Vec<f64> = lanes.iter().map(|lane| terrain.scale(first)[lane.lane]).collect();
        let (items, item_of) = items(terrain, first, lanes, &scales, &needs)?;
        let nodes = terrain.online.len() as f64;
        let units: Vec<f64> = (0..LIMITS).map(|limit| average(&items, lanes.len() + limit, nodes)).collect();
        let costs = &ranges.costs;
        let mut problem = MoveProblem {
            weights: costs.weights.clone(),
            limits: units.len(),
            roles: roles(&items, &needs, lanes.len(), &units),
            arrivals: Vec::new(),
            nodes: Vec::new(),
            states: Vec::new(),
            openings: Vec::new(),
            families: 0,
            shared: false,
            mirrored: terrain.mobiles.iter().map(|details| details.mirrored).collect(),
            of_sum: costs.of_sum / memory,
            of_deviation: costs.of_deviation / memory,
        };
        problem.nodes = problem.residents(terrain, &item_of);
        let mut rooms = roomy_nodes(terrain, lanes, &scales, &item_of)?;
        for (node, RoomyNode { fixed, rooms, .. }) in problem.nodes.iter_mut().zip(&mut rooms) {
            node.offset = fixed.iter().zip(&ranges.means).map(|(value, mean)| value - mean).collect();
            let scaled = |(room, unit): (&mut f64, &f64)| {
                *room = if *room < MOST_ROOM * unit { *room / unit } else { f64::INFINITY }
            };
            rooms.iter_mut().zip(&units).for_each(scaled);
        }
        let keys = problem.all_states(&needs, &rooms);
        problem.families = keys.families();
        problem.add_arrivals(&items, &keys);
        let numbers = problem.nodes.iter().flat_map(|node| &node.offset);
        numbers.chain(&problem.weights).all(|x| x.is_finite()).then_some(problem)
    }

    /// Adds the states of all nodes. Nodes of large problems share them, if few sets of states do for all.
    fn all_states(&mut self, needs: &[f64], rooms: &[RoomyNode]) -> StateKeys {
        let mut keys = StateKeys::default();
        if self.nodes.len() * (needs.len() + 1) * self.roles.len() > MOST_OWN {
            keys.shared = Some(BTreeMap::new());
        }
        loop {
            let mut nodes = std::mem::take(&mut self.nodes);
            for (node, RoomyNode { rooms, crowd, .. }) in nodes.iter_mut().zip(rooms) {
                let beyond = crowd.as_ref().map_or(vec![false; self.limits], |crowd| crowd.beyond.clone());
                self.add_states(node, needs, rooms, &beyond, &mut keys);
            }
            self.nodes = nodes;
            self.shared = keys.shared.is_some();
            if keys.shared.as_ref().is_none_or(|sets| sets.len() <= MOST_SETS) {
                return keys;
            }
            self.states.clear();
            keys = StateKeys::default();
        }
    }

    /// Number of prices of a state: one for each lane and limit.
    pub(super) fn width(&self) -> usize {
        self.weights.len() + self.limits
    }

    /// The online nodes with their residents.
    fn residents(&self, terrain: &Terrain<'_>, item_of: &[usize]) -> Vec<HomeNode> {
        let mut nodes = vec![HomeNode::default(); terrain.nodes.len()];
        for (mobile, (details, item)) in terrain.mobiles.iter().zip(item_of).enumerate() {
            let resident = Resident { role: 2 * item, mobile, is_secondary: false };
            nodes[details.home.primary as usize].residents.push(resident);
            if details.mirrored {
                let resident = Resident { role: 2 * item + 1, mobile, is_secondary: true };
                nodes[details.home.secondary as usize].residents.push(resident);
            }
        }
        terrain.online.iter().map(|slot| std::mem::take(&mut nodes[*slot as usize])).collect()
    }

    /// Adds the states of a node: each level, within all limits and beyond each limit of which it has too much. Nodes that
    /// share states have the room of the one with the most.
    pub(super) fn add_states(
        &mut self,
        node: &mut HomeNode,
        needs: &[f64],
        rooms: &[f64],
        beyond: &[bool],
        keys: &mut StateKeys,
    ) {
        let mut taken = vec![0.0; self.limits];
        for resident in &node.residents {
            let amounts = &self.roles[resident.role].amounts[self.weights.len()..];
            taken.iter_mut().zip(amounts).for_each(|(sum, amount)| *sum += amount * ROUNDED_UP);
        }
        let levels: Vec<f64> = std::iter::once(0.0).chain(needs.iter().rev().copied()).collect();
        let mut states = Vec::new();
        for (at, level) in levels.iter().enumerate() {
            let next = levels.get(at + 1).copied().unwrap_or(f64::INFINITY);
            // The least need that nothing with this level keeps.
            let bar = needs.iter().copied().filter(|need| *need >= next).fold(f64::INFINITY, f64::min);
            let base = needs.iter().filter(|need| **need <= *level).count();
            for closed in
                std::iter::once(None).chain((0..self.limits).filter(|limit| beyond[*limit]).map(Some))
            {
                let most = |limit: usize| {
                    if closed.is_some() { rooms[limit].max(taken[limit]) } else { rooms[limit] }
                };
                let rooms: Vec<f64> = (0..self.limits).map(most).collect();
                let opening = keys.opening(bar, closed);
                let family = keys.family(base, closed);
                states.push(NodeState { level: *level, next, closed, rooms, opening, family });
            }
        }
        node.states = states.len();
        node.first_state = self.states.len();
        if let Some(sets) = &mut keys.shared {
            let set = (rooms.iter().map(|room| room.to_bits()).collect(), beyond.to_vec());
            node.first_state = *sets.entry(set).or_insert(node.first_state);
        }
        let known = self.states[node.first_state..].iter_mut();
        for (known, state) in known.zip(&states) {
            known.rooms.iter_mut().zip(&state.rooms).for_each(|(most, room)| *most = most.max(*room));
        }
        if node.first_state == self.states.len() {
            self.states.append(&mut states);
        }
    }

    /// Bundles the roles to arrivals, and notes which states allow which of them.
    fn add_arrivals(&mut self, items: &[ItemKind], keys: &StateKeys) {
        let most = MOST_LOOKS / self.states.len().max(1);
        for bundle in bundles(items, most / 2) {
            for second in 0..2 {
                let roles: Vec<usize> = bundle.iter().map(|item| 2 * item + second).collect();
                let mut all =
                    roles.iter().map(|role| &self.roles[*role]).filter(|role| !role.amounts.is_empty());
                let Some(first) = all.next() else { continue };
                let (mut low, mut high) = (first.amounts.clone(), first.amounts.clone());
                for role in all {
                    low.iter_mut().zip(&role.amounts).for_each(|(low, amount)| *low = low.min(*amount));
                    high.iter_mut().zip(&role.amounts).for_each(|(high, amount)| *high = high.max(*amount));
                }
                let need = first.need;
                roles.iter().for_each(|role| self.roles[*role].arrival = self.arrivals.len());
                self.arrivals.push(Arrival { low, high, need });
            }
        }
        self.open(keys);
    }

    /// Notes which arrivals each opening allows.
    pub(super) fn open(&mut self, keys: &StateKeys) {
        let lanes = self.weights.len();
        let allows = |(next, closed): &(f64, Option<usize>)| {
            let allowed =
                |of: &Arrival| of.need < *next && closed.is_none_or(|limit| of.low[lanes + limit] <= 0.0);
            self.arrivals.iter().map(allowed).collect()
        };
        self.openings = keys.openings.iter().map(allows).collect();
    }
}

/// Rooms beyond this number of average nodes are no limit.
const MOST_ROOM: f64 = 1e4;

/// Factor for what residents take, as it is compared with sums that are rounded.
const ROUNDED_UP: f64 = 1.0 + 1e-9;

/// The roles of each item, one after the other; without amounts where an item has no secondary.
fn roles(items: &[ItemKind], needs: &[f64], lanes: usize, units: &[f64]) -> Vec<Role> {
    let of_item = |item: &ItemKind| {
        let need = needs.get(item.level).copied().unwrap_or(0.0);
        let role = |amounts: Option<&Vec<f64>>, need: f64| {
            let mut amounts = amounts.cloned().unwrap_or_default();
            amounts.iter_mut().skip(lanes).zip(units).for_each(|(amount, unit)| *amount /= unit);
            Role { amounts, need, arrival: 0 }
        };
        [role(Some(&item.primary), 0.0), role(item.secondary.as_ref(), need)]
    };
    items.iter().flat_map(of_item).collect()
}

/// The first state of each set of states, by the rooms (as bits) and the limits beyond which its nodes are.
type SharedStates = BTreeMap<(Vec<u64>, Vec<bool>), usize>;

/// Numbers of the openings and families.
#[derive(Default)]
pub(super) struct StateKeys {
    /// Set if nodes share states.
    pub shared: Option<SharedStates>,
    openings: Vec<(f64, Option<usize>)>,
    families: Vec<(usize, Option<usize>)>,
}

impl StateKeys {
    fn opening(&mut self, next: f64, closed: Option<usize>) -> usize {
        position(&mut self.openings, (next, closed))
    }

    /// Number of families.
    pub(super) fn families(&self) -> usize {
        self.families.len()
    }

    fn family(&mut self, base: usize, closed: Option<usize>) -> usize {
        position(&mut self.families, (base, closed))
    }
}

/// The position of a key, which is added if it is new.
fn position<K: PartialEq>(keys: &mut Vec<K>, key: K) -> usize {
    keys.iter().position(|known| *known == key).unwrap_or_else(|| {
        keys.push(key);
        keys.len() - 1
    })
}
