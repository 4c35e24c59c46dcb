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

mod bounds;
pub(super) mod lanes;
mod reserve;

pub use bounds::Bounds;

use self::bounds::{FAILOVER_AND_REPLACE, REPLACE_AND_FAILOVER, REPLACE_PRIMARY, REPLACE_SECONDARY};
use self::lanes::{
    COUNT_ERROR, Kept, LaneData, MEMBER_LANES, PRIMARY_LANES, add_arrivals, amount, merge_equal, reset, scale,
};
use super::moves::{Repertoire, Trial};
use crate::model::{Cluster, Instance, Ledger, Mib, NodeIdx};
use crate::score::Board;
use crate::score::metrics::{Counted, Lanes, PADDED_LANES, lane};
use crate::score::running::{Running, U, counted_score};

/// Below this many online nodes the error analysis of the bounds does not hold,
/// and looking at every move is fast anyway.
const FEWEST_NODES: usize = 12;

/// Marks nodes without a row.
const NO_ROW: u32 = u32::MAX;

/// Stands for the values of a node without a row; never looked at.
static NO_LANES: Lanes = [0.0; PADDED_LANES];

/// The state of the nodes, laid out for [`Screen::instance_bounds`].
pub struct Screen<'a> {
    cluster: &'a Cluster,
    board: &'a Board,
    /// The online nodes, by row.
    rows: Vec<NodeIdx>,
    /// For each node of the cluster, its row; [`NO_ROW`] without.
    row_of: Vec<u32>,
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

impl<'a> Screen<'a> {
    /// Lays the state of a board's online nodes out, for the instances that may
    /// move; the nodes in `first` get the first rows. Nothing if the cluster is too
    /// small or too odd for bounds.
    pub fn new(
        cluster: &'a Cluster,
        board: &'a Board,
        running: &Running,
        movable: &[&Instance],
        first: &[NodeIdx],
    ) -> Option<Screen<'a>> {
        if !amounts_are_plausible(cluster, board, movable) {
            return None;
        }
        let is_online = |n: &NodeIdx| board.row(*n).is_some();
        let (mut online, rest): (Vec<NodeIdx>, Vec<NodeIdx>) =
            board.nodes().iter().copied().filter(is_online).partition(|n| first.contains(n));
        online.extend(rest);
        let values = |n: &NodeIdx| board.row(*n).map_or(&NO_LANES, |row| &board.rows()[row]);
        let exclusive = |n: &NodeIdx| cluster.node(*n).spec.exclusive_storage;
        if online.len() < FEWEST_NODES || online.iter().any(exclusive) {
            return None;
        }
        let n = online.len() as f64;
        let mut slack = 0.0;
        let mut plausible = true;
        let mut data = |lane: usize| {
            let y: Vec<f64> = online.iter().map(|n| values(n)[lane] - running.centre(lane)).collect();
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
        let mut row_of = vec![NO_ROW; cluster.nodes.len()];
        for (row, node) in online.iter().enumerate() {
            row_of[node.get()] = row as u32;
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
            row_of,
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

    /// The row of a node, if it is online and in the set.
    pub fn row(&self, node: NodeIdx) -> Option<usize> {
        let row = self.row_of[node.get()];
        (row != NO_ROW).then_some(row as usize)
    }

    /// Whether the bounds hold for an instance. Forthcoming ones change other
    /// values and are rare.
    pub fn covers(&self, instance: &Instance) -> bool {
        !instance.forthcoming
    }

    /// Bounds the scores of the moves of one instance from below: the moves to the
    /// first `rows` rows. The scratch must always be used with the same `rows`.
    pub fn instance_bounds<'s>(
        &self,
        trial: &Trial<'_>,
        instance: &Instance,
        repertoire: &Repertoire,
        rows: usize,
        scratch: &'s mut Scratch,
    ) -> Bounds<'s> {
        let p = self.row(instance.primary);
        let s = instance.mirror().and_then(|s| self.row(s));
        let mirrored = instance.mirror().is_some();
        let wants_targets = !repertoire.to_target.is_empty();

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
        let (failover_reserve, reserve_now) =
            self.reserves(trial, instance, scratch, wants_targets.then_some(rows));
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

    /// By how much a score can be off that was worked out from bounds of different
    /// times.
    pub fn slack(&self) -> f64 {
        8.0 * self.slack
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
