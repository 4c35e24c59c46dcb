//! Lower bounds on the scores of all moves of one instance at once.
//!
//! A move changes at most three nodes, and each lane of the score on at most two
//! of them: the node that loses the instance (fixed for the instance) and the
//! new node. So the deviation of a lane after the move is a function of the new
//! node alone, evaluated for all nodes in one loop over contiguous values that
//! compilers turn into vector code. The four moves of a mirrored instance to one
//! node share most of these evaluations.
//!
//! The bounds leave out what depends on more than that (an N+1 failure caused on
//! the new node, its tag conflicts, ...), all of which only make the score worse.
//! They allow for every rounding error, so a move whose bound exceeds a score
//! that some other move is known to reach cannot win.

use crate::model::{Cluster, Instance, Ledger, Mib, NodeIdx};
use crate::score::Board;
use crate::score::metrics::{Counted, LANES, lane};
use crate::score::running::{RESERVED_TOTAL_WEIGHT, Running, counted_score};

use super::moves::{Move, Repertoire, Trial};

/// Half the distance from 1 to the next double.
const U: f64 = f64::EPSILON / 2.0;

/// Below this many online nodes the error analysis of the bounds does not hold,
/// and looking at every move is fast anyway.
const FEWEST_NODES: usize = 12;

/// Lanes that follow the primary role.
const PRIMARY_LANES: [usize; 7] = [
    lane::FREE_MEM,
    lane::VCPU,
    lane::CPU_LOAD,
    lane::MEM_LOAD,
    lane::NET_LOAD,
    lane::FREE_MEM_PLANNED,
    lane::VCPU_PLANNED,
];

/// Lanes that follow membership in either role.
const MEMBER_LANES: [usize; 5] =
    [lane::FREE_DISK, lane::DISK_LOAD, lane::SPINDLES, lane::FREE_DISK_PLANNED, lane::SPINDLES_PLANNED];

/// What one instance adds to a lane of its node, before the division by the
/// node's size.
fn amount(instance: &Instance, lane: usize) -> f64 {
    let spindle_use = if instance.template.uses_local_storage() { instance.spindle_use as f64 } else { 0.0 };
    match lane {
        lane::FREE_MEM => -instance.mem_in_use().as_f64(),
        lane::FREE_MEM_PLANNED => -instance.mem.as_f64(),
        lane::VCPU | lane::VCPU_PLANNED => instance.vcpus_in_use() as f64,
        lane::CPU_LOAD => instance.util.cpu,
        lane::MEM_LOAD => instance.util.mem,
        lane::NET_LOAD => instance.util.net,
        lane::DISK_LOAD => instance.util.disk,
        lane::FREE_DISK | lane::FREE_DISK_PLANNED => -instance.local_disk().as_f64(),
        lane::SPINDLES | lane::SPINDLES_PLANNED => spindle_use,
        _ => 0.0,
    }
}

/// What to multiply an [`amount`] with on a node without exclusive storage.
fn scale(cluster: &Cluster, node: NodeIdx, lane: usize) -> f64 {
    let spec = &cluster.node(node).spec;
    match lane {
        lane::FREE_MEM | lane::FREE_MEM_PLANNED | lane::RESERVED_MEM => 1.0 / spec.mem_total,
        lane::VCPU | lane::VCPU_PLANNED => 1.0 / spec.cpu_total / spec.cpu_speed,
        lane::FREE_DISK | lane::FREE_DISK_PLANNED if spec.disk_total == 0.0 => 0.0,
        lane::FREE_DISK | lane::FREE_DISK_PLANNED => 1.0 / spec.disk_total,
        lane::SPINDLES | lane::SPINDLES_PLANNED => 1.0 / spec.spindle_limit,
        _ => 1.0,
    }
}

/// One lane over all online nodes.
struct LaneData {
    lane: usize,
    /// Weight in the score; more than the metric's own where several lanes are
    /// identical and stand for each other.
    weight: f64,
    /// Centred values.
    y: Vec<f64>,
    scale: Vec<f64>,
    squares: f64,
    sum: f64,
    /// Taken off each variance for rounding.
    variance_slack: f64,
}

/// A lane's sums with the nodes that an instance leaves already changed.
#[derive(Clone, Copy)]
struct Departed {
    squares: f64,
    sum: f64,
}

impl LaneData {
    fn departed(&self, row: Option<usize>, change: f64) -> Departed {
        let mut sums = Departed { squares: self.squares, sum: self.sum };
        if let Some(row) = row {
            sums.replace(self.y[row], self.y[row] + change);
        }
        sums
    }

    /// Lower bound of the weighted deviation.
    fn bound(&self, sums: Departed, inv_n: f64) -> f64 {
        let variance = (sums.squares - sums.sum * sums.sum * inv_n) * inv_n;
        self.weight * clamp(variance * VARIANCE_FACTOR - self.variance_slack).sqrt()
    }
}

impl Departed {
    fn replace(&mut self, old: f64, new: f64) {
        self.squares += new * new - old * old;
        self.sum += new - old;
    }
}

/// Relative error of a variance, rounded up (see [`Running::variance_error`]).
const VARIANCE_FACTOR: f64 = 1.0 - 1024.0 * U;

/// Relative error of a score that consists of counts, rounded up.
const COUNT_ERROR: f64 = 64.0 * U;

fn clamp(x: f64) -> f64 {
    if x < 0.0 { 0.0 } else { x }
}

/// Adds to each row's bound the lane's deviation when the instance arrives there.
fn add_arrivals(out: &mut [f64], data: &LaneData, departed: Departed, amount: f64, inv_n: f64) {
    let Departed { squares, sum } = departed;
    let (weight, slack) = (data.weight, data.variance_slack);
    for ((out, y), scale) in out.iter_mut().zip(&data.y).zip(&data.scale) {
        let change = amount * scale;
        let squares = squares + change * (2.0 * y + change);
        let sum = sum + change;
        let variance = (squares - sum * sum * inv_n) * inv_n;
        *out += weight * clamp(variance * VARIANCE_FACTOR - slack).sqrt();
    }
}

/// The state of the nodes, laid out for [`Screen::instance_bounds`].
pub struct Screen<'a> {
    cluster: &'a Cluster,
    board: &'a Board,
    /// The online nodes, by row.
    rows: Vec<NodeIdx>,
    inv_n: f64,
    primary_lanes: Vec<LaneData>,
    member_lanes: Vec<LaneData>,
    reserved: LaneData,
    /// Reserved memory of each row, in MiB.
    reserved_mem: Vec<f64>,
    reserved_total: f64,
    /// For each node of the cluster, the rows that reserve memory for its
    /// failure.
    reserved_for: Vec<Vec<(usize, Mib)>>,
    /// All primary lanes (all member lanes) as they are.
    primary_now: f64,
    member_now: f64,
    /// Relative and absolute slack on sums of deviations.
    factor: f64,
    slack: f64,
}

/// Space for the bounds of one instance, reused from one to the next of the
/// same search.
#[derive(Default)]
pub struct Scratch {
    kept: Kept,
    /// Primary lanes, the primary role going from P to the row.
    primary_to: Vec<f64>,
    /// Member lanes, the row replacing S.
    member_for_mirror: Vec<f64>,
    /// Member lanes, the row replacing P.
    member_for_primary: Vec<f64>,
    /// Reserve, by move.
    reserve: [Vec<f64>; 4],
}

/// Costs that the instances of one primary node share: what a lane costs after
/// one of them left depends on its amount alone, and amounts repeat.
#[derive(Default)]
struct Kept {
    primary: Option<NodeIdx>,
    columns: Vec<Column>,
    /// How many of the columns are those of `primary`.
    used: usize,
}

/// The costs of one amount in one lane, by row.
#[derive(Default)]
struct Column {
    lane: usize,
    amount: f64,
    costs: Vec<f64>,
}

/// More amounts than this are not kept: they hardly repeat.
const MOST_KEPT: usize = 32;

impl Kept {
    /// Forgets the costs if they are another node's.
    fn turn_to(&mut self, primary: NodeIdx) {
        if self.primary.replace(primary) != Some(primary) {
            self.used = 0;
        }
    }

    /// Does what [`add_arrivals`] does, for an instance that left the node.
    fn add_arrivals(
        &mut self,
        out: &mut [f64],
        data: &LaneData,
        departed: Departed,
        amount: f64,
        inv_n: f64,
    ) {
        let columns = &self.columns[..self.used];
        let found = columns.iter().position(|c| c.lane == data.lane && c.amount == amount);
        let at = match found {
            Some(at) => at,
            None if self.used == MOST_KEPT => return add_arrivals(out, data, departed, amount, inv_n),
            None => {
                if self.used == self.columns.len() {
                    self.columns.push(Column::default());
                }
                let column = &mut self.columns[self.used];
                (column.lane, column.amount) = (data.lane, amount);
                reset(&mut column.costs, out.len(), 0.0);
                add_arrivals(&mut column.costs, data, departed, amount, inv_n);
                self.used += 1;
                self.used - 1
            }
        };
        for (out, cost) in out.iter_mut().zip(&self.columns[at].costs) {
            *out += cost;
        }
    }
}

/// Positions of the moves to a new node in [`Scratch::reserve`] and
/// [`Bounds::floor`].
const REPLACE_SECONDARY: usize = 0;
const REPLACE_AND_FAILOVER: usize = 1;
const REPLACE_PRIMARY: usize = 2;
const FAILOVER_AND_REPLACE: usize = 3;

/// Lower bounds for all moves of one instance.
pub struct Bounds<'s> {
    scratch: &'s Scratch,
    /// Primary lanes as they are, and with the roles swapped.
    primary_now: f64,
    primary_swapped: f64,
    /// Bound of the failover.
    failover: f64,
    /// The part of each kind of move that does not depend on the new node.
    floor: [f64; 4],
    /// The same for the failover of an externally mirrored instance.
    floor_to: f64,
    factor: f64,
}

impl<'a> Screen<'a> {
    /// Lays the state of a board's online nodes out, for the instances that may
    /// move. Nothing if the cluster is too small or too odd for bounds.
    pub fn new(
        cluster: &'a Cluster,
        board: &'a Board,
        running: &Running,
        movable: &[&Instance],
    ) -> Option<Screen<'a>> {
        if !amounts_are_plausible(cluster, board, movable) {
            return None;
        }
        let online: Vec<NodeIdx> =
            board.nodes().iter().copied().filter(|n| board.row(*n).is_some()).collect();
        let exclusive = |n: &NodeIdx| cluster.node(*n).spec.exclusive_storage;
        if online.len() < FEWEST_NODES || online.iter().any(exclusive) {
            return None;
        }
        let n = online.len() as f64;
        let mut slack = 0.0;
        let mut plausible = true;
        let mut data = |lane: usize| {
            let y: Vec<f64> = board.rows().iter().map(|row| row[lane] - running.centre(lane)).collect();
            let scale: Vec<f64> = online.iter().map(|n| scale(cluster, *n, lane)).collect();
            let largest_scale = scale.iter().fold(0.0, |m: f64, s| m.max(s.abs()));
            let largest_amount = movable.iter().fold(0.0, |m: f64, i| {
                m.max(if lane == lane::RESERVED_MEM { i.mem.as_f64().abs() } else { amount(i, lane).abs() })
            });
            let largest = board.rows().iter().fold(0.0, |m: f64, row| m.max(row[lane].abs()));
            let extra = largest + largest_amount * largest_scale;
            plausible &= extra < LARGEST;
            let error = running.reference_error(lane, 0.0, 3.0 * extra / n) + 64.0 * U * extra;
            slack += running.weight(lane) * error;
            LaneData {
                lane,
                weight: running.weight(lane),
                y,
                scale,
                squares: running.squares(lane),
                sum: running.sum(lane),
                variance_slack: 1024.0 * U * running.squares(lane) / n,
            }
        };
        let primary_lanes = merge_equal(PRIMARY_LANES.map(&mut data), movable);
        let member_lanes = merge_equal(MEMBER_LANES.map(&mut data), movable);
        let reserved = data(lane::RESERVED_MEM);
        slack += 4.0 * U * (n + 16.0) * running.reserved_total().abs();
        if !plausible || !slack.is_finite() {
            return None;
        }
        let mut reserved_for = vec![Vec::new(); cluster.nodes.len()];
        for (row, node) in online.iter().enumerate() {
            for (primary, amount) in cluster.node(*node).state.peers.iter() {
                reserved_for[primary.get()].push((row, amount));
            }
        }
        let inv_n = 1.0 / n;
        let as_is = |lanes: &[LaneData]| lanes.iter().map(|l| l.bound(l.departed(None, 0.0), inv_n)).sum();
        Some(Screen {
            cluster,
            board,
            inv_n,
            primary_now: as_is(&primary_lanes),
            member_now: as_is(&member_lanes),
            primary_lanes,
            member_lanes,
            reserved,
            reserved_mem: online
                .iter()
                .map(|n| cluster.node(*n).state.ledger.mem_reserved.as_f64())
                .collect(),
            rows: online,
            reserved_total: running.reserved_total(),
            reserved_for,
            factor: 1.0 - 4.0 * U * (n + 16.0),
            slack: 2.0 * slack,
        })
    }

    /// The online nodes, by row.
    pub fn rows(&self) -> &[NodeIdx] {
        &self.rows
    }

    /// Whether the bounds hold for an instance. Forthcoming ones change other
    /// values and are rare.
    pub fn covers(&self, instance: &Instance) -> bool {
        !instance.forthcoming
    }

    /// Bounds the scores of all moves of one instance from below.
    pub fn instance_bounds<'s>(
        &self,
        trial: &Trial<'_>,
        instance: &Instance,
        repertoire: &Repertoire,
        scratch: &'s mut Scratch,
    ) -> Bounds<'s> {
        let p = self.board.row(instance.primary);
        let s = instance.mirror().and_then(|s| self.board.row(s));
        let mirrored = instance.mirror().is_some();
        let wants_targets = !repertoire.to_target.is_empty();
        let rows = self.reserved_mem.len();

        scratch.kept.turn_to(instance.primary);
        if wants_targets {
            reset(&mut scratch.primary_to, rows, 0.0);
            reset(&mut scratch.member_for_primary, rows, 0.0);
            reset(&mut scratch.member_for_mirror, rows, 0.0);
        }
        let mut primary_swapped = 0.0;
        for data in &self.primary_lanes {
            let amount = amount(instance, data.lane);
            let departed = data.departed(p, p.map_or(0.0, |row| -amount * data.scale[row]));
            if wants_targets {
                scratch.kept.add_arrivals(&mut scratch.primary_to, data, departed, amount, self.inv_n);
            }
            if let Some(row) = s {
                let mut swapped = departed;
                swapped.replace(data.y[row], data.y[row] + amount * data.scale[row]);
                primary_swapped += data.bound(swapped, self.inv_n);
            }
        }
        if wants_targets {
            for data in &self.member_lanes {
                let amount = amount(instance, data.lane);
                let departed =
                    |row: Option<usize>| data.departed(row, row.map_or(0.0, |row| -amount * data.scale[row]));
                let Scratch { kept, member_for_primary, member_for_mirror, .. } = scratch;
                kept.add_arrivals(member_for_primary, data, departed(p), amount, self.inv_n);
                if mirrored {
                    add_arrivals(member_for_mirror, data, departed(s), amount, self.inv_n);
                }
            }
        }

        let floors = self.floors(trial, instance);
        let (failover_reserve, reserve_now) = self.reserves(trial, instance, scratch, wants_targets);
        // next to large counts even the last bits of the rest of the score are lost
        let constant = |counts: f64| counts - self.slack - COUNT_ERROR * counts.abs();
        Bounds {
            primary_now: self.primary_now,
            primary_swapped,
            failover: (primary_swapped + self.member_now + failover_reserve) * self.factor
                + constant(floors.swapped),
            floor: floors.to_target.map(constant),
            floor_to: constant(floors.leaving) + reserve_now * self.factor,
            factor: self.factor,
            scratch,
        }
    }

    /// The counts that each kind of move cannot go below.
    fn floors(&self, trial: &Trial<'_>, instance: &Instance) -> Floors {
        let p = self.cluster.node(instance.primary);
        let counted = self.board.counted();
        let p_left = Counted::of(&p.spec, trial.primary_left());
        let without_p = counted - self.in_set(instance.primary, Counted::of_node(p));
        let spread = self.board.spread();
        let left_spread = spread.surplus() + spread.change(instance, &p.spec, None);
        let leaving = counted_score(&(without_p + p_left), left_spread);
        let (Some(mirror), Some(s_left)) = (instance.mirror(), trial.mirror_left()) else {
            return Floors { leaving, swapped: leaving, to_target: [leaving; 4] };
        };
        let s = self.cluster.node(mirror);
        let need = instance.mem_reserved();
        let with_reserve = |ledger: &Ledger, spec| {
            let mut ledger = *ledger;
            ledger.secondaries += 1;
            ledger.mem_reserved = ledger.mem_reserved.max(need);
            ledger.update_n1(spec);
            Counted::of(spec, &ledger)
        };
        let s_as_primary = {
            let mut ledger = *s_left;
            ledger.primaries += 1;
            ledger.mem_instances += instance.mem_in_use();
            ledger.tag_conflicts += trial.mirror_tags().conflicts;
            ledger.location_sum += s.spec.location_cost(instance, 0);
            ledger.update_n1(&s.spec);
            Counted::of(&s.spec, &ledger)
        };
        let mut p_stays = Counted::of_node(p);
        p_stays.location_sum -= if p.spec.offline { 0 } else { instance.location_score };
        let p_as_secondary = with_reserve(trial.primary_left(), &p.spec);
        let s_gone = Counted::of(&s.spec, s_left);
        let s_stays = with_reserve(s_left, &s.spec);

        let without_both = without_p - self.in_set(mirror, Counted::of_node(s));
        let to_s = spread.surplus() + spread.change(instance, &p.spec, Some(&s.spec));
        let score = |p: Counted, s: Counted, spread: i64| {
            let s = self.in_set(mirror, s);
            counted_score(&(without_both + p + s), spread)
        };
        let mut to_target = [0.0; 4];
        to_target[REPLACE_SECONDARY] = score(p_stays, s_gone, spread.surplus());
        to_target[REPLACE_AND_FAILOVER] = score(p_as_secondary, s_gone, left_spread);
        to_target[REPLACE_PRIMARY] = score(p_left, s_stays, left_spread);
        to_target[FAILOVER_AND_REPLACE] = score(p_left, s_as_primary, to_s);
        Floors { leaving, swapped: score(p_as_secondary, s_as_primary, to_s), to_target }
    }

    /// What a node counts for: nothing outside the set.
    fn in_set(&self, node: NodeIdx, counted: Counted) -> Counted {
        if self.board.contains(node) { counted } else { Counted::default() }
    }

    /// Fills in the bounds of the reserve (its deviation and its sum) for each
    /// kind of move; returns those of the failover and of no change.
    fn reserves(
        &self,
        trial: &Trial<'_>,
        instance: &Instance,
        scratch: &mut Scratch,
        wants_targets: bool,
    ) -> (f64, f64) {
        let data = &self.reserved;
        let now = data.departed(None, 0.0);
        let value = |sums: Departed, change: f64| {
            data.bound(sums, self.inv_n) + RESERVED_TOTAL_WEIGHT * (self.reserved_total + change)
        };
        let reserve_now = value(now, 0.0);
        let (Some(mirror), Some(s_left)) = (instance.mirror(), trial.mirror_left()) else {
            return (reserve_now, reserve_now);
        };
        let need = instance.mem_reserved();
        let (p, s) = (self.board.row(instance.primary), self.board.row(mirror));
        let p_state = &self.cluster.node(instance.primary).state;
        let s_state = &self.cluster.node(mirror).state;
        // S reserves less; a row that comes to reserve `amount` for another node
        let mut s_gone = now;
        let mut s_change = 0.0;
        if let Some(row) = s {
            s_change = (s_left.mem_reserved.as_f64() - self.reserved_mem[row]) * data.scale[row];
            s_gone.replace(data.y[row], data.y[row] + s_change);
        }
        let with = |row: Option<usize>, base: f64, reserve: f64| {
            let mut sums = s_gone;
            let mut change = 0.0;
            if let Some(row) = row {
                change = (reserve - base).max(0.0) * data.scale[row];
                // S itself has already been changed
                let y = if Some(row) == s { data.y[row] + s_change } else { data.y[row] };
                sums.replace(y, y + change);
            }
            value(sums, s_change + change)
        };
        let p_base = p_state.ledger.mem_reserved.as_f64();
        let s_base = s_left.mem_reserved.as_f64();
        let p_keeps = |target: NodeIdx| with(p, p_base, (p_state.peers.get(target) + need).as_f64());
        let failover = p_keeps(mirror);
        if !wants_targets {
            return (failover, reserve_now);
        }
        let rows = self.reserved_mem.len();
        let on_target =
            |row: usize, held: Mib| with(Some(row), self.reserved_mem[row], (held + need).as_f64());

        let [replace_secondary, replace_and_failover, replace_primary, failover_and_replace] =
            &mut scratch.reserve;
        reset(replace_secondary, rows, 0.0);
        self.add_reserve_arrivals(replace_secondary, s_gone, s_change, need.as_f64());
        failover_and_replace.clone_from(replace_secondary);
        for &(row, held) in &self.reserved_for[instance.primary.get()] {
            replace_secondary[row] = on_target(row, held);
        }
        for &(row, held) in &self.reserved_for[mirror.get()] {
            failover_and_replace[row] = on_target(row, held);
        }
        reset(replace_and_failover, rows, with(p, p_base, need.as_f64()));
        for (target, held) in p_state.peers.iter() {
            if let Some(row) = self.board.row(target) {
                replace_and_failover[row] = with(p, p_base, (held + need).as_f64());
            }
        }
        reset(replace_primary, rows, with(s, s_base, need.as_f64()));
        for (target, held) in s_state.peers.iter() {
            if let Some(row) = self.board.row(target) {
                replace_primary[row] = with(s, s_base, (held + need).as_f64());
            }
        }
        (failover, reserve_now)
    }

    /// The reserve when each row comes to reserve `need` for a node for which it
    /// reserved nothing before.
    fn add_reserve_arrivals(&self, out: &mut [f64], sums: Departed, s_change: f64, need: f64) {
        let data = &self.reserved;
        let (weight, slack, inv_n) = (data.weight, data.variance_slack, self.inv_n);
        let total = self.reserved_total + s_change;
        for (((out, y), scale), reserved) in
            out.iter_mut().zip(&data.y).zip(&data.scale).zip(&self.reserved_mem)
        {
            let more = need - reserved;
            let change = clamp(more) * scale;
            let squares = sums.squares + change * (2.0 * y + change);
            let sum = sums.sum + change;
            let variance = (squares - sum * sum * inv_n) * inv_n;
            *out += weight * clamp(variance * VARIANCE_FACTOR - slack).sqrt()
                + RESERVED_TOTAL_WEIGHT * (total + change);
        }
    }
}

/// Values above this could overflow when squared and summed up.
const LARGEST: f64 = 1e100;

/// A few integers up to this can be added without wrapping.
const LARGEST_INTEGER: u64 = 1 << 59;

/// The bounds count on it that an instance more on a node never frees memory, and
/// that no sum of integers is so large that it wraps.
fn amounts_are_plausible(cluster: &Cluster, board: &Board, movable: &[&Instance]) -> bool {
    let small = |x: i64| x.unsigned_abs() <= LARGEST_INTEGER;
    let node_is_plausible = |n: &NodeIdx| {
        let node = cluster.node(*n);
        let l = &node.state.ledger;
        let figures = [l.mem_unallocated(&node.spec), l.mem_free_planned, l.disk_free, l.disk_free_planned];
        figures.iter().all(|x| small(x.0))
            && small(l.mem_instances.0)
            && small(l.vcpus)
            && small(l.vcpus_planned)
            && node.state.peers.iter().all(|(_, held)| held >= Mib::ZERO && small(held.0))
    };
    let instance_is_plausible =
        |i: &&Instance| i.mem >= Mib::ZERO && small(i.mem.0) && small(i.disk.0) && small(i.vcpus);
    movable.iter().all(instance_is_plausible) && board.nodes().iter().all(node_is_plausible)
}

struct Floors {
    /// The primary role leaves P for a new node; no secondary.
    leaving: f64,
    /// Failover.
    swapped: f64,
    to_target: [f64; 4],
}

fn reset(values: &mut Vec<f64>, len: usize, value: f64) {
    values.clear();
    values.resize(len, value);
}

/// Lets one lane stand for all that have the same values on all nodes and get
/// the same amounts from all instances: without forthcoming instances, that is
/// most of the planned view, and without load data the loads.
fn merge_equal<const N: usize>(lanes: [LaneData; N], movable: &[&Instance]) -> Vec<LaneData> {
    let mut kept: Vec<LaneData> = Vec::with_capacity(N);
    for data in lanes {
        let same = |other: &&mut LaneData| {
            other.y == data.y
                && other.scale == data.scale
                && movable.iter().all(|i| amount(i, other.lane) == amount(i, data.lane))
        };
        match kept.iter_mut().find(same) {
            Some(other) => other.weight += data.weight,
            None => kept.push(data),
        }
    }
    kept
}

impl Bounds<'_> {
    /// Writes the lowest bound of all moves to each row into `lowest`.
    pub fn lowest(&self, repertoire: &Repertoire, lowest: &mut Vec<f64>) {
        let rows = self.scratch.primary_to.len();
        reset(lowest, rows, f64::INFINITY);
        for mv in repertoire.to_target {
            let Terms { constant, columns, floor } = self.terms(mv(NodeIdx::new(0)));
            let keep = |sum: f64, lowest: &mut f64| {
                let bound = (constant + sum) * self.factor + floor;
                *lowest = if bound < *lowest { bound } else { *lowest };
            };
            match columns {
                [Some(a), Some(b), Some(c)] => {
                    for (((lowest, a), b), c) in lowest.iter_mut().zip(a).zip(b).zip(c) {
                        keep(a + b + c, lowest);
                    }
                }
                [Some(a), Some(b), None] | [None, Some(a), Some(b)] => {
                    for ((lowest, a), b) in lowest.iter_mut().zip(a).zip(b) {
                        keep(a + b, lowest);
                    }
                }
                _ => lowest.fill(f64::NEG_INFINITY),
            }
        }
    }

    /// The bound for a move; `row` is the row of its new node.
    pub fn of(&self, mv: Move, row: usize) -> f64 {
        if mv == Move::Failover {
            return self.failover;
        }
        let terms = self.terms(mv);
        let sum: f64 = terms.columns.iter().flatten().map(|column| column[row]).sum();
        (terms.constant + sum) * self.factor + terms.floor
    }

    /// What the bound of a kind of move consists of.
    fn terms(&self, kind: Move) -> Terms<'_> {
        let s = self.scratch;
        let mirrored = |constant, primary, member, at| self.mirrored_terms(constant, primary, member, at);
        match kind {
            Move::Failover | Move::FailoverTo(_) => Terms {
                constant: 0.0,
                columns: [Some(&s.primary_to), Some(&s.member_for_primary), None],
                floor: self.floor_to,
            },
            Move::ReplaceSecondary(_) => {
                mirrored(self.primary_now, None, &s.member_for_mirror, REPLACE_SECONDARY)
            }
            Move::ReplaceAndFailover(_) => {
                mirrored(0.0, Some(&s.primary_to), &s.member_for_mirror, REPLACE_AND_FAILOVER)
            }
            Move::ReplacePrimary(_) => {
                mirrored(0.0, Some(&s.primary_to), &s.member_for_primary, REPLACE_PRIMARY)
            }
            Move::FailoverAndReplace(_) => {
                mirrored(self.primary_swapped, None, &s.member_for_primary, FAILOVER_AND_REPLACE)
            }
        }
    }
}

impl<'s> Bounds<'s> {
    fn mirrored_terms(
        &self,
        constant: f64,
        primary: Option<&'s Vec<f64>>,
        member: &'s Vec<f64>,
        at: usize,
    ) -> Terms<'s> {
        let columns = [primary, Some(member), Some(&self.scratch.reserve[at])];
        Terms { constant, columns, floor: self.floor[at] }
    }
}

/// A bound as a sum of a constant and of one value of each column.
struct Terms<'s> {
    constant: f64,
    columns: [Option<&'s Vec<f64>>; 3],
    floor: f64,
}

#[allow(clippy::assertions_on_constants)]
const _: () = assert!(PRIMARY_LANES.len() + MEMBER_LANES.len() + 1 == LANES);
