//! Updates of the bounds after each step.

use super::arrival_costs::{ArrivalKind, ArrivalRole, ArrivalRow};
use super::departure::{Departure, DepartureInputs, VarianceReach};
use super::group::CostGroup;
use super::lanes::LaneRange;
use super::online_nodes::{Present, is_plausible};
use super::place::PlaceCosts;
use super::{MoveBounds, NO_ROW, REPLACE_AND_FAILOVER, REPLACE_PRIMARY, REPLACE_SECONDARY, SLOTS};
use crate::balance::Balancer;
use crate::moves::Trial;
use crate::parallel::{map, note, share};
use htools_model::{Instance, InstanceIdx, NodeIdx};

/// Compares the work that the bounds save with the work that they cost. Work is in rough nanoseconds at fixed
/// prices, so that no clock influences the search.
#[derive(Default)]
pub(super) struct Upkeep {
    /// The least work of any search since the slopes were chosen.
    least: Option<u64>,
    /// Total work of the searches above `least`.
    excess: u64,
}

const COST_OF_PLACE: u64 = 5;
const COST_OF_INSTANCE: u64 = 60;

/// Number of departures that a thread computes at a time; each takes some hundred nanoseconds.
const DEPARTURES_AT_ONCE: usize = 8;
/// Maximum number of departures that are computed before they are stored.
const MOST_AT_ONCE: usize = 65_536;

/// Number of departures whose costs a thread computes at a time.
const COSTS_AT_ONCE: usize = 128;

/// Number of places in rows that a thread assesses at a time.
const PLACES_AT_ONCE: usize = 2048;

/// Number of places, and of costs of departures, that take as long as one evaluation of a move.
const PLACES_AN_EVALUATION: usize = 64;
const COSTS_AN_EVALUATION: usize = 16;

/// Number of rows in which a thread assesses the changed nodes, and of sizes that it settles, at a time.
const ROWS_AT_ONCE: usize = 16;

impl MoveBounds {
    /// Computes everything for the first time.
    pub(super) fn begin(&mut self, balancer: &Balancer<'_>) {
        let cluster = balancer.cluster();
        let positions: Vec<u32> = (0..self.instances.len() as u32).collect();
        for position in &positions {
            let instance = cluster.instance(self.instances[*position as usize]);
            self.alike.enter(*position, instance, balancer.shapes().get(instance.idx));
            for node in instance.nodes() {
                self.at_node[node.get()].push(*position);
            }
        }
        for position in &positions {
            self.sort_in(balancer, *position);
        }
        self.inspect_departures(balancer, &positions);
        self.assess_everything();
        self.choose_slopes();
    }

    /// Updates the bounds after a step that moved an instance and changed some nodes. If it returns false, the
    /// bounds are invalid.
    pub(crate) fn follow(
        &mut self,
        balancer: &Balancer<'_>,
        changed: &[NodeIdx],
        moved: InstanceIdx,
        from: [Option<NodeIdx>; 2],
    ) -> bool {
        let (cluster, board) = (balancer.cluster(), balancer.board());
        if !changed.iter().all(|n| is_plausible(cluster, *n)) {
            return false;
        }
        let rows: Vec<usize> = changed.iter().filter_map(|n| board.row(*n)).collect();
        for row in &rows {
            self.online.follow(cluster, board, *row);
        }
        let Some(present) = Present::of(&self.online, board, balancer.score(), &self.largest_change) else {
            return false;
        };
        self.present = present;
        let mut touched = self.touched(balancer, changed, cluster.instance(moved), from);
        let sharing = self.sharing_services(cluster.instance(moved), from[0]);
        for position in self.position[moved.get()].iter().chain(&sharing) {
            self.departures[*position as usize].outlay = None;
            self.kept_costs.forget(*position);
        }
        touched.extend(sharing);
        if from[0] != Some(cluster.instance(moved).primary) {
            let MoveBounds { key_costs, instances, online, .. } = self;
            let moved = cluster.instance(moved);
            touched.extend(key_costs.follow(cluster, instances, &online.nodes, moved, from[0]));
        }
        touched.sort_unstable();
        touched.dedup();
        self.inspect_rows(balancer, &rows);
        // The group of an instance depends only on its own nodes.
        let position = self.position[moved.get()];
        let mut blocks = position.map_or_else(Vec::new, |position| self.sort_in(balancer, position));
        blocks.extend(touched.iter().filter_map(|p| self.groups.block_of(*p)));
        self.inspect_departures(balancer, &touched);
        if self.upkeep.is_due(self.price_of_slopes()) {
            self.online.measure(board);
            match Present::of(&self.online, board, balancer.score(), &self.largest_change) {
                Some(present) => self.present = present,
                None => return false,
            }
            self.choose_slopes();
        } else {
            self.assess(&rows, &touched, blocks);
        }
        true
    }

    /// Records the work of a search.
    pub(crate) fn note_work(&mut self, work: u64) {
        let least = self.upkeep.least.map_or(work, |least| least.min(work));
        self.upkeep.least = Some(least);
        self.upkeep.excess += work - least;
    }

    fn price_of_slopes(&self) -> u64 {
        let places = self.rows.len() as u64 * self.online.nodes.len() as u64;
        places * COST_OF_PLACE + self.instances.len() as u64 * COST_OF_INSTANCE
    }

    /// The instances whose departures a step changes.
    fn touched(
        &mut self,
        balancer: &Balancer<'_>,
        changed: &[NodeIdx],
        moved: &Instance,
        from: [Option<NodeIdx>; 2],
    ) -> Vec<u32> {
        let mut touched = Vec::new();
        if let Some(position) = self.position[moved.idx.get()] {
            for node in from.into_iter().flatten() {
                self.at_node[node.get()].retain(|p| *p != position);
            }
            for node in moved.nodes() {
                self.at_node[node.get()].push(position);
            }
            touched.push(position);
            touched.extend(self.alike.enter(position, moved, balancer.shapes().get(moved.idx)));
        }
        for node in changed {
            touched.extend(&self.at_node[node.get()]);
        }
        touched
    }

    /// The instances whose places change their costs as an instance has left its primary: those with one of its services.
    fn sharing_services(&self, moved: &Instance, from: Option<NodeIdx>) -> Vec<u32> {
        if !self.places.matter() || from == Some(moved.primary) {
            return Vec::new();
        }
        moved.exclusion_tags.into_iter().filter_map(|tag| self.by_tag.get(tag)).flatten().copied().collect()
    }

    /// Assigns an instance to its present group. Returns the blocks that this changes.
    fn sort_in(&mut self, balancer: &Balancer<'_>, position: u32) -> Vec<u32> {
        let cluster = balancer.cluster();
        let instance = cluster.instance(self.instances[position as usize]);
        let size = self.size_of[position as usize];
        let from_p = cluster.node(instance.primary).spec.offline;
        let from_s = instance.mirror().is_some_and(|s| cluster.node(s).spec.offline);
        let mut group = CostGroup { size, rows: [NO_ROW; SLOTS] };
        for slot in 0..SLOTS {
            let Some(role) = ArrivalRole::of_target(slot) else { continue };
            if instance.mirror().is_none() && slot != REPLACE_PRIMARY {
                continue;
            }
            // The node from which the instance migrates to the new node.
            let last = if slot == REPLACE_PRIMARY { instance.mirror() } else { None };
            let from = self.reachability.tags.restricting(last.unwrap_or(instance.primary));
            let from = from.filter(|_| role == ArrivalRole::Primary);
            // As in a trial, the checks of the new node depend on the node that it replaces.
            let forced = match slot {
                REPLACE_SECONDARY => from_s,
                REPLACE_AND_FAILOVER => false,
                _ => from_p,
            };
            let forced = forced || balancer.rules().ignore_soft_errors;
            let pools = self.reachability.pools.needed_by(instance);
            group.rows[slot] = self.row(balancer, ArrivalKind { size, role, forced, from, pools });
        }
        self.groups.assign(position, group)
    }

    /// Returns the number of a row, creating the row if necessary.
    fn row(&mut self, balancer: &Balancer<'_>, arrival: ArrivalKind) -> u32 {
        if let Some(number) = self.row_numbers.get(&arrival) {
            return *number;
        }
        let size = &mut self.sizes[arrival.size as usize];
        let mut row = ArrivalRow::new(arrival, self.online.nodes.len());
        for (at, node) in self.online.nodes.iter().enumerate() {
            if self.reachability.reaches(&arrival, *node) {
                row.inspect(balancer.cluster(), &self.online, size, at);
            }
        }
        let range = row.assess_all(&self.online, size);
        size.arrivals[arrival.role as usize].join(&range);
        let number = self.rows.len() as u32;
        self.rows.push(row);
        self.row_numbers.insert(arrival, number);
        number
    }

    /// Updates the fixed costs and the refusals of the changed nodes.
    fn inspect_rows(&mut self, balancer: &Balancer<'_>, changed: &[usize]) {
        let MoveBounds { rows, sizes, online, reachability, .. } = self;
        for row in rows {
            for at in changed {
                // A node that is out of reach refuses for ever.
                if reachability.reaches(&row.arrival, online.nodes[*at]) {
                    let size = &sizes[row.arrival.size as usize];
                    row.inspect(balancer.cluster(), online, size, *at);
                }
            }
        }
    }

    /// Computes the departures of some instances again.
    fn inspect_departures(&mut self, balancer: &Balancer<'_>, positions: &[u32]) {
        // In chunks, so that the departures of a million instances are not in memory twice.
        for positions in positions.chunks(MOST_AT_ONCE) {
            let inspect = |position: &u32| self.departure(balancer, *position);
            let inspected: Vec<(Departure, u32)> = map(positions.iter(), DEPARTURES_AT_ONCE, inspect);
            for (position, (departure, moves)) in positions.iter().zip(inspected) {
                let at = *position as usize;
                self.departures[at] = departure;
                self.all_moves += u64::from(moves);
                self.all_moves -= u64::from(std::mem::replace(&mut self.moves[at], moves));
            }
        }
    }

    /// Computes the departure of an instance and the number of its moves.
    fn departure(&self, balancer: &Balancer<'_>, position: u32) -> (Departure, u32) {
        note(1);
        let (cluster, board) = (balancer.cluster(), balancer.board());
        let instance = cluster.instance(self.instances[position as usize]);
        if !balancer.is_candidate(instance) {
            return (Departure::none(), 0);
        }
        let repertoire = balancer.repertoire(instance);
        let other = instance.secondary.filter(|s| *s != instance.primary);
        let own = std::iter::once(instance.primary).chain(other).filter(|n| board.row(*n).is_some()).count();
        let moves = repertoire.len(self.online.nodes.len() - own) as u32;
        if !self.alike.is_first(position) || repertoire.len(1) == 0 {
            return (Departure::none(), moves);
        }
        // Costs of places are kept as long as neither the instance nor one that shares a service with it moves.
        let outlay = self.departures[position as usize].outlay.unwrap_or_else(|| {
            PlaceCosts::new(&self.places, board.spread(), cluster, instance, None).outlay(&repertoire)
        });
        let inputs = DepartureInputs {
            cluster,
            board,
            outlay,
            least_key_cost: self.key_costs.least(position),
            reserve_may_help: self.online.reserve_may_help,
        };
        // Values kept from step to step must not depend on other nodes, except through affinity keys.
        let trial = Trial::new(cluster, instance, balancer.rules()).alone();
        (Departure::of(&inputs, &trial, instance, &repertoire), moves)
    }

    /// Chooses the slopes of all lines for the present state and computes all costs again.
    fn choose_slopes(&mut self) {
        let present = &self.present;
        self.sizes.iter_mut().for_each(|size| size.choose_slopes(present));
        self.assess_everything();
        self.upkeep = Upkeep::default();
    }

    /// Computes all costs again.
    fn assess_everything(&mut self) {
        let MoveBounds { rows, sizes, online, departures, size_of, groups, present, .. } = self;
        let assess_row = |row: &mut ArrivalRow| {
            note(online.nodes.len().div_ceil(PLACES_AN_EVALUATION));
            row.assess_all(online, &sizes[row.arrival.size as usize])
        };
        let rows_at_once = (PLACES_AT_ONCE / online.nodes.len()).max(1);
        let ranges: Vec<LaneRange> = map(rows.iter_mut(), rows_at_once, assess_row);
        let assess_departures = |(departures, size_of): (&mut [Departure], &[u32])| {
            note(departures.len().div_ceil(COSTS_AN_EVALUATION));
            let mut reaches = vec![VarianceReach::empty(); sizes.len()];
            for (departure, size) in departures.iter_mut().zip(size_of).filter(|(d, _)| d.is_possible()) {
                let changes = departure.changes(online);
                reaches[*size as usize].include(&changes);
                departure.set_cost(&changes, &sizes[*size as usize].slopes);
            }
            reaches
        };
        let join = |mut a: Vec<VarianceReach>, b: Vec<VarianceReach>| {
            a.iter_mut().zip(&b).for_each(|(a, b)| a.join(b));
            a
        };
        let chunk = share(departures.len(), COSTS_AT_ONCE);
        let chunks = departures.chunks_mut(chunk).zip(size_of.chunks(chunk));
        let none = vec![VarianceReach::empty(); sizes.len()];
        let reaches = map(chunks, 1, assess_departures).into_iter().fold(none, join);
        for (size, reach) in sizes.iter_mut().zip(reaches) {
            size.departures = reach;
            size.arrivals = [LaneRange::empty(); 2];
        }
        for (row, range) in rows.iter().zip(&ranges) {
            sizes[row.arrival.size as usize].arrivals[row.arrival.role as usize].join(range);
        }
        groups.blocks.iter_mut().for_each(|b| b.summarise(departures));
        map(sizes.iter_mut(), ROWS_AT_ONCE, |size| size.settle(present));
    }

    /// Computes the costs that a step changed.
    fn assess(&mut self, changed: &[usize], touched: &[u32], mut blocks: Vec<u32>) {
        let MoveBounds { rows, sizes, online, departures, size_of, groups, present, reachability, .. } = self;
        let assess_row = |row: &mut ArrivalRow| {
            let reached = changed.iter().any(|at| reachability.reaches(&row.arrival, online.nodes[*at]));
            reached.then(|| row.assess_some(online, &sizes[row.arrival.size as usize], changed))
        };
        let ranges = map(rows.iter_mut(), ROWS_AT_ONCE, assess_row);
        for (row, range) in rows.iter().zip(ranges) {
            if let Some(range) = range {
                sizes[row.arrival.size as usize].arrivals[row.arrival.role as usize].join(&range);
            }
        }
        for position in touched {
            let at = *position as usize;
            if !departures[at].is_possible() {
                continue;
            }
            let size = &mut sizes[size_of[at] as usize];
            let changes = departures[at].changes(online);
            size.departures.include(&changes);
            departures[at].set_cost(&changes, &size.slopes);
        }
        blocks.sort_unstable();
        blocks.dedup();
        for block in blocks {
            groups.blocks[block as usize].summarise(departures);
        }
        map(sizes.iter_mut(), ROWS_AT_ONCE, |size| size.settle(present));
    }
}

impl Upkeep {
    /// Returns true if choosing new slopes would have paid already.
    fn is_due(&self, price: u64) -> bool {
        self.excess > price
    }
}
