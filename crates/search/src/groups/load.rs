//! Load of the groups, and its imbalance.

use smallvec::SmallVec;

use htools_model::{Cluster, GroupIdx, Instance, InstanceIdx};

/// Source of the loads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LoadSource {
    /// Resources in use: virtual CPUs, memory and disk. Used if nothing was measured.
    #[default]
    InUse,
    /// Measured load.
    Measured,
}

/// The kinds of load.
pub const KINDS: [&str; 4] = ["cpu", "memory", "disk", "network"];

/// One number for each of [`KINDS`].
pub(crate) type Shares = [f64; KINDS.len()];

/// Loads of the groups and their capacities.
#[derive(Debug, Clone, PartialEq)]
pub struct Loads {
    source: LoadSource,
    /// Capacity of each group's online nodes.
    capacity: Vec<Shares>,
    /// Load of each instance on its group.
    demands: Vec<Shares>,
    /// Group of each instance's primary node.
    homes: Vec<GroupIdx>,
    /// Load of each group.
    sums: Vec<Shares>,
    /// Mean load of all groups, relative to the capacity.
    mean: Shares,
}

/// Load of an instance on its group. Disks of a DRBD instance count twice, as on nodes.
fn demand(instance: &Instance, source: LoadSource) -> Shares {
    if instance.forthcoming {
        return Shares::default();
    }
    let copies = instance.nodes().count() as f64;
    match source {
        LoadSource::Measured => {
            let util = instance.util;
            [util.cpu, util.mem, util.disk * copies, util.net]
        }
        LoadSource::InUse => {
            let disk = instance.local_disk().as_f64() * copies;
            [instance.vcpus_in_use() as f64, instance.mem_in_use().as_f64(), disk, 0.0]
        }
    }
}

fn capacity(cluster: &Cluster, group: GroupIdx) -> Shares {
    let nodes = cluster.nodes_of(group).iter().map(|n| cluster.node(*n));
    let online = nodes.filter(|node| !node.spec.offline);
    online.fold(Shares::default(), |sum, node| {
        let spec = &node.spec;
        let more = [spec.cpu_total * spec.cpu_speed, spec.mem_total, spec.disk_total, 1.0];
        std::array::from_fn(|k| sum[k] + more[k])
    })
}

impl Loads {
    pub(crate) fn of(cluster: &Cluster, source: LoadSource) -> Loads {
        let demands: Vec<Shares> = cluster.instances.iter().map(|i| demand(i, source)).collect();
        let homes: Vec<GroupIdx> =
            cluster.instances.iter().map(|i| cluster.node(i.primary).spec.group).collect();
        let capacity: Vec<Shares> = cluster.groups.iter().map(|g| capacity(cluster, g.idx)).collect();
        let total = |shares: &[Shares], k: usize| shares.iter().map(|s| s[k]).sum::<f64>();
        let mean = std::array::from_fn(|k| total(&demands, k) / total(&capacity, k));
        let mut loads = Loads { source, capacity, demands, homes, sums: Vec::new(), mean };
        loads.sums = (0..loads.capacity.len()).map(|g| loads.sum(GroupIdx::new(g))).collect();
        loads
    }

    /// Source of the loads.
    pub fn source(&self) -> LoadSource {
        self.source
    }

    /// Sums up the instances of a group, always in the same order.
    fn sum(&self, group: GroupIdx) -> Shares {
        let there = self.homes.iter().zip(&self.demands).filter(|(home, _)| **home == group);
        there.fold(Shares::default(), |sum, (_, demand)| std::array::from_fn(|k| sum[k] + demand[k]))
    }

    /// Relative load of a group: its load per capacity, divided by that of the whole cluster, so that 1 is the
    /// average. It is `None` if the group has none of the resource or no instance uses it.
    pub fn relative(&self, group: GroupIdx) -> [Option<f64>; KINDS.len()] {
        std::array::from_fn(|k| self.relative_at(group, k, self.sums[group.get()][k]))
    }

    fn relative_at(&self, group: GroupIdx, k: usize, sum: f64) -> Option<f64> {
        let value = sum / self.capacity[group.get()][k] / self.mean[k];
        value.is_finite().then_some(value)
    }

    /// The imbalance: the sum over all kinds of the standard deviation of the groups' relative loads, in per
    /// cent.
    pub fn score(&self) -> f64 {
        self.components().iter().sum()
    }

    /// The parts of the score, by kind.
    pub(crate) fn components(&self) -> Shares {
        std::array::from_fn(|k| {
            let groups = (0..self.sums.len()).map(GroupIdx::new);
            let values: Vec<f64> =
                groups.filter_map(|g| self.relative_at(g, k, self.sums[g.get()][k])).collect();
            let n = values.len() as f64;
            if values.is_empty() {
                return 0.0;
            }
            let mean = values.iter().sum::<f64>() / n;
            let variance = values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / n;
            100.0 * variance.sqrt()
        })
    }

    /// Moves an instance and sums its groups up again.
    pub(crate) fn relocate(&mut self, instance: InstanceIdx, to: GroupIdx) {
        let from = std::mem::replace(&mut self.homes[instance.get()], to);
        for group in [from, to] {
            self.sums[group.get()] = self.sum(group);
        }
    }

    /// Load of an instance on its group.
    pub(super) fn demand(&self, instance: InstanceIdx) -> Shares {
        self.demands[instance.get()]
    }

    pub(crate) fn home(&self, instance: InstanceIdx) -> GroupIdx {
        self.homes[instance.get()]
    }

    /// Moves an instance and updates the sums by its load. Rounding errors accumulate until the next
    /// [`refresh`](Loads::refresh).
    pub(super) fn shift(&mut self, instance: InstanceIdx, to: GroupIdx) {
        let from = std::mem::replace(&mut self.homes[instance.get()], to);
        for k in 0..KINDS.len() {
            let demand = self.demands[instance.get()][k];
            self.sums[from.get()][k] -= demand;
            self.sums[to.get()][k] += demand;
        }
    }

    /// Sums all groups up again.
    pub(super) fn refresh(&mut self) {
        self.sums = (0..self.capacity.len()).map(|g| self.sum(GroupIdx::new(g))).collect();
    }

    /// Prepares to compute the effect of moves quickly.
    pub(crate) fn outlook(&self) -> LoadState {
        let moments = std::array::from_fn(|k| {
            let groups = (0..self.sums.len()).map(GroupIdx::new);
            let values = groups.filter_map(|g| self.relative_at(g, k, self.sums[g.get()][k]));
            // Centred at 1 to limit rounding errors.
            values.fold(LoadMoments::default(), |m, v| m.with(v - 1.0, 1.0))
        });
        LoadState { moments, score: self.score() }
    }
}

/// Sums over some values.
#[derive(Debug, Clone, Copy, Default)]
struct LoadMoments {
    n: f64,
    sum: f64,
    squares: f64,
}

impl LoadMoments {
    fn with(self, value: f64, n: f64) -> LoadMoments {
        LoadMoments { n: self.n + n, sum: self.sum + value, squares: self.squares + value * value }
    }

    fn replaced(self, old: f64, new: f64) -> LoadMoments {
        let squares = self.squares - old * old + new * new;
        LoadMoments { n: self.n, sum: self.sum - old + new, squares }
    }

    fn deviation(self) -> f64 {
        if self.n == 0.0 {
            return 0.0;
        }
        let mean = self.sum / self.n;
        100.0 * (self.squares / self.n - mean * mean).max(0.0).sqrt()
    }
}

/// A state of some loads, prepared for computing the effect of moves.
#[derive(Debug, Clone)]
pub(crate) struct LoadState {
    moments: [LoadMoments; KINDS.len()],
    pub score: f64,
}

impl LoadState {
    /// Decrease of the score if an instance moves to a group, except for rounding. `loads` must be those from
    /// which this state was made.
    pub(crate) fn gain(&self, loads: &Loads, instance: InstanceIdx, to: GroupIdx) -> f64 {
        self.departure(loads, instance).gain(to)
    }

    /// The state without an instance, for computing its gain in many groups.
    pub(super) fn departure<'a>(&'a self, loads: &'a Loads, instance: InstanceIdx) -> DepartedLoad<'a> {
        let (home, demand) = (loads.home(instance), loads.demand(instance));
        let left = std::array::from_fn(|k| replaced(self.moments[k], loads, home, k, -demand[k]));
        DepartedLoad { before: self, loads, instance, demand, left }
    }

    /// The score after some moves of different instances.
    pub(crate) fn after(&self, loads: &Loads, moves: &[(InstanceIdx, GroupIdx)]) -> f64 {
        let mut touched: SmallVec<[(GroupIdx, Shares); 4]> = SmallVec::new();
        for (instance, to) in moves {
            let demand = &loads.demands[instance.get()];
            for (group, sign) in [(loads.home(*instance), -1.0), (*to, 1.0)] {
                let more = demand.map(|demand| sign * demand);
                match touched.iter_mut().find(|(other, _)| *other == group) {
                    Some((_, sums)) => (0..KINDS.len()).for_each(|k| sums[k] += more[k]),
                    None => touched.push((group, more)),
                }
            }
        }
        let mut score = 0.0;
        for k in 0..KINDS.len() {
            let add =
                |moments, (group, more): &(GroupIdx, Shares)| replaced(moments, loads, *group, k, more[k]);
            score += touched.iter().fold(self.moments[k], add).deviation();
        }
        score
    }
}

/// The sums over all groups after the load of one group has grown by `more`.
fn replaced(moments: LoadMoments, loads: &Loads, group: GroupIdx, k: usize, more: f64) -> LoadMoments {
    let sum = loads.sums[group.get()][k];
    match (loads.relative_at(group, k, sum), loads.relative_at(group, k, sum + more)) {
        (Some(old), Some(new)) => moments.replaced(old - 1.0, new - 1.0),
        _ => moments,
    }
}

/// Loads without one instance.
pub(super) struct DepartedLoad<'a> {
    before: &'a LoadState,
    loads: &'a Loads,
    instance: InstanceIdx,
    demand: Shares,
    left: [LoadMoments; KINDS.len()],
}

impl DepartedLoad<'_> {
    /// Decrease of the score if the instance goes to a group, except for rounding.
    pub(super) fn gain(&self, to: GroupIdx) -> f64 {
        let DepartedLoad { before, loads, instance, demand, left } = self;
        if to == loads.home(*instance) {
            return before.score - before.after(loads, &[(*instance, to)]);
        }
        let arrived = |k: usize| replaced(left[k], loads, to, k, demand[k]).deviation();
        before.score - (0..KINDS.len()).fold(0.0, |sum, k| sum + arrived(k))
    }
}
