//! The lanes of the score over all online nodes, and what an arrival makes of
//! them.

use crate::model::{Cluster, Instance, NodeIdx};
use crate::score::metrics::{LANES, lane};
use crate::score::running::{U, clamp};

/// Lanes that follow the primary role.
pub(super) const PRIMARY_LANES: [usize; 7] = [
    lane::FREE_MEM,
    lane::VCPU,
    lane::CPU_LOAD,
    lane::MEM_LOAD,
    lane::NET_LOAD,
    lane::FREE_MEM_PLANNED,
    lane::VCPU_PLANNED,
];

/// Lanes that follow membership in either role.
pub(super) const MEMBER_LANES: [usize; 5] =
    [lane::FREE_DISK, lane::DISK_LOAD, lane::SPINDLES, lane::FREE_DISK_PLANNED, lane::SPINDLES_PLANNED];

/// What one instance adds to a lane of its node, before the division by the
/// node's size.
pub(in crate::search) fn amount(instance: &Instance, lane: usize) -> f64 {
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
pub(in crate::search) fn scale(cluster: &Cluster, node: NodeIdx, lane: usize) -> f64 {
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
pub(super) struct LaneData {
    pub(super) lane: usize,
    /// Weight in the score; more than the metric's own where several lanes are
    /// identical and stand for each other.
    pub(super) weight: f64,
    /// Centred values.
    pub(super) y: Vec<f64>,
    pub(super) scale: Vec<f64>,
    pub(super) squares: f64,
    pub(super) sum: f64,
    /// Taken off each variance for rounding.
    pub(super) variance_slack: f64,
}

/// A lane's sums with the nodes that an instance leaves already changed.
#[derive(Clone, Copy)]
pub(super) struct Departed {
    pub(super) squares: f64,
    pub(super) sum: f64,
}

impl LaneData {
    pub(super) fn departed(&self, row: Option<usize>, change: f64) -> Departed {
        let mut sums = Departed { squares: self.squares, sum: self.sum };
        if let Some(row) = row {
            sums.replace(self.y[row], self.y[row] + change);
        }
        sums
    }

    /// Lower bound of the weighted deviation.
    pub(super) fn bound(&self, sums: Departed, inv_n: f64) -> f64 {
        let variance = (sums.squares - sums.sum * sums.sum * inv_n) * inv_n;
        self.weight * clamp(variance * VARIANCE_FACTOR - self.variance_slack).sqrt()
    }
}

impl Departed {
    pub(super) fn replace(&mut self, old: f64, new: f64) {
        self.squares += new * new - old * old;
        self.sum += new - old;
    }
}

/// Relative error of a variance, rounded up (see [`Running::variance_error`]).
pub(super) const VARIANCE_FACTOR: f64 = 1.0 - 1024.0 * U;

/// Relative error of a score that consists of counts, rounded up.
pub(super) const COUNT_ERROR: f64 = 64.0 * U;

/// Adds to each row's bound the lane's deviation when the instance arrives there.
pub(super) fn add_arrivals(out: &mut [f64], data: &LaneData, departed: Departed, amount: f64, inv_n: f64) {
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

/// Costs that the instances of one primary node share: what a lane costs after
/// one of them left depends on its amount alone, and amounts repeat.
#[derive(Default)]
pub(super) struct Kept {
    primary: Option<NodeIdx>,
    columns: Vec<Column>,
    /// How many of the columns are those of `primary`.
    used: usize,
}

/// The costs of one amount in one lane, by row.
#[derive(Default)]
pub(super) struct Column {
    lane: usize,
    amount: f64,
    costs: Vec<f64>,
}

/// More amounts than this are not kept: they hardly repeat.
pub(super) const MOST_KEPT: usize = 32;

/// For fewer rows than this, looking a column up costs more than computing it.
const FEWEST_KEPT: usize = 8;

impl Kept {
    /// Forgets the costs if they are another node's.
    pub(super) fn turn_to(&mut self, primary: NodeIdx) {
        if self.primary.replace(primary) != Some(primary) {
            self.used = 0;
        }
    }

    /// Does what [`add_arrivals`] does, for an instance that left the node.
    pub(super) fn add_arrivals(
        &mut self,
        out: &mut [f64],
        data: &LaneData,
        departed: Departed,
        amount: f64,
        inv_n: f64,
    ) {
        if out.len() < FEWEST_KEPT {
            return add_arrivals(out, data, departed, amount, inv_n);
        }
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

pub(super) fn reset(values: &mut Vec<f64>, len: usize, value: f64) {
    values.clear();
    values.resize(len, value);
}

/// Lets one lane stand for all that have the same values on all nodes and get
/// the same amounts from all instances: without forthcoming instances, that is
/// most of the planned view, and without load data the loads.
pub(super) fn merge_equal<const N: usize>(lanes: [LaneData; N], movable: &[&Instance]) -> Vec<LaneData> {
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

#[allow(clippy::assertions_on_constants)]
const _: () = assert!(PRIMARY_LANES.len() + MEMBER_LANES.len() + 1 == LANES);
