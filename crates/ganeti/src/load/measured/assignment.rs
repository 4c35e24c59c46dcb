//! Matches measured load with the instances of a cluster.

use std::collections::{BTreeMap, HashMap};

use super::{LabelNames, LoadResource, MeasuredLoad, MeasuredRange, MissingSeries};
use crate::load::raw::{RawCluster, RawInstance, RawNode};
use htools_model::shown::shown_name;
use htools_model::{GroupIdx, Utilisation};

/// Load of all instances.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AssignedLoad {
    /// The load of each instance, by full name. 1 is all of an average node.
    pub utilisation: Vec<(String, Utilisation)>,
    /// CPUs that a processor load of 1 keeps busy.
    pub cpus: f64,
    /// The instances without some measurement, by full name, in the cluster's order. Those that do not run are not
    /// named: no measurement means no load there.
    pub without: Vec<String>,
}

/// Reason why measured load cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoadMismatch {
    /// No series has the name of an instance.
    #[error("no series of the load of {resource} has the name of an instance; {names}")]
    NoneMatches {
        /// The resource.
        resource: LoadResource,
        /// The first names in the labels.
        names: LabelNames,
    },
    /// Several short names mean the same instance.
    #[error("several series of the load of {resource} have a name of instance '{instance}'")]
    Twice {
        /// The resource.
        resource: LoadResource,
        /// The instance.
        instance: String,
    },
    /// Instances have no series.
    #[error("no load was measured for instance '{first}' and {more} more")]
    Missing {
        /// The first one.
        first: String,
        /// Number of the others.
        more: usize,
    },
}

impl MeasuredLoad {
    /// The load of each instance, in shares of an average node. A name in a label means the instance with this full name,
    /// or else the only one whose name begins with it and a dot. A resource without series causes no load.
    ///
    /// # Errors
    /// If no instance has a series, or one has none and that is not allowed.
    pub fn assigned(
        &self,
        cluster: &RawCluster,
        missing: MissingSeries,
    ) -> Result<AssignedLoad, LoadMismatch> {
        let names = InstanceNames::of(cluster.instances.iter().map(|instance| instance.name.as_str()));
        let average = AverageNode::of(cluster);
        let mut loads = vec![Utilisation::ZERO; cluster.instances.len()];
        let mut lacks = vec![false; cluster.instances.len()];
        for (resource, series) in &self.values {
            let mut values: Vec<Option<f64>> = vec![None; cluster.instances.len()];
            for (name, value) in series {
                let Some(at) = names.find(name, series) else { continue };
                if values[at].replace(*value).is_some() {
                    let instance = shown_name(&cluster.instances[at].name);
                    return Err(LoadMismatch::Twice { resource: *resource, instance });
                }
            }
            if values.iter().all(Option::is_none) && !cluster.instances.is_empty() {
                let names = LabelNames::of(series);
                return Err(LoadMismatch::NoneMatches { resource: *resource, names });
            }
            let medians = Medians::of(cluster, &values);
            let mut complete = Vec::with_capacity(values.len());
            for (at, instance) in cluster.instances.iter().enumerate() {
                let is_idle = !instance.status.uses_memory();
                lacks[at] |= values[at].is_none() && !is_idle;
                complete.push(values[at].unwrap_or_else(|| match missing {
                    MissingSeries::Median if !is_idle => medians.of_group(group(cluster, instance)),
                    _ => 0.0,
                }));
            }
            let full = average.full_load(*resource, ordered_sum(complete.clone()));
            for (load, value) in loads.iter_mut().zip(complete) {
                *match resource {
                    LoadResource::Cpu => &mut load.cpu,
                    LoadResource::Memory => &mut load.mem,
                    LoadResource::Disk => &mut load.disk,
                    LoadResource::Network => &mut load.net,
                } = value / full;
            }
        }
        let without = cluster.instances.iter().zip(lacks).filter(|(_, lacks)| *lacks);
        let without: Vec<String> = without.map(|(instance, _)| instance.name.clone()).collect();
        if let (MissingSeries::Fail, Some(first)) = (missing, without.first()) {
            let first = shown_name(first);
            return Err(LoadMismatch::Missing { first, more: without.len() - 1 });
        }
        let named = cluster.instances.iter().map(|instance| instance.name.clone()).zip(loads);
        Ok(AssignedLoad { utilisation: named.collect(), cpus: average.cpus, without })
    }
}

/// Share of the average node that counts as in use, for resources of which nodes do not tell how much they have.
const USED_SHARE: f64 = 0.5;
const BYTES_PER_MIB: f64 = 1_048_576.0;

/// What the nodes have on average. Offline nodes count only if all are.
struct AverageNode {
    count: f64,
    /// CPUs; 1 if unknown.
    cpus: f64,
    /// Memory in MiB; 1 if unknown.
    memory: f64,
}

impl AverageNode {
    fn of(cluster: &RawCluster) -> AverageNode {
        let mut nodes: Vec<&RawNode> = cluster.nodes.iter().filter(|node| !node.offline).collect();
        if nodes.is_empty() {
            nodes = cluster.nodes.iter().collect();
        }
        let count = nodes.len().max(1) as f64;
        let mean = |amount: fn(&RawNode) -> f64| {
            let mean = nodes.iter().copied().map(amount).sum::<f64>() / count;
            if mean > 0.0 && mean.is_finite() { mean } else { 1.0 }
        };
        AverageNode { count, cpus: mean(|node| node.cpu_total), memory: mean(|node| node.mem_total) }
    }

    /// The load that uses all of a node, where all instances together have the load `total`.
    fn full_load(&self, resource: LoadResource, total: f64) -> f64 {
        match resource {
            LoadResource::Cpu => self.cpus,
            LoadResource::Memory => self.memory * BYTES_PER_MIB,
            LoadResource::Disk | LoadResource::Network => {
                let full = total / self.count / USED_SHARE;
                if full.is_normal() { full } else { 1.0 }
            }
        }
    }
}

/// The sum, whatever the order of the values: the order of addition decides on its last digits.
fn ordered_sum(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.iter().sum()
}

impl MeasuredRange {
    /// Leaves out the series that mean no instance of a cluster, unless that is all of them.
    #[must_use]
    pub fn only_of(mut self, cluster: &RawCluster) -> MeasuredRange {
        let names = InstanceNames::of(cluster.instances.iter().map(|instance| instance.name.as_str()));
        let meant: Vec<String> =
            self.series.keys().filter(|name| names.find(name, &self.series).is_some()).cloned().collect();
        if !meant.is_empty() {
            let of_cluster = meant.into_iter().filter_map(|name| self.series.remove_entry(&name));
            self.series = of_cluster.collect();
        }
        self
    }
}

/// The values of instances, in their order, from series by the name in a label.
pub fn by_instance<'c, V>(
    instances: impl Iterator<Item = &'c str>,
    mut series: BTreeMap<String, V>,
) -> Vec<Option<V>> {
    let names = InstanceNames::of(instances);
    let meant: Vec<(String, usize)> =
        series.keys().filter_map(|name| Some((name.clone(), names.find(name, &series)?))).collect();
    let mut found: Vec<Option<V>> = names.all.iter().map(|_| None).collect();
    for (name, at) in meant {
        found[at] = series.remove(&name);
    }
    found
}

fn group(cluster: &RawCluster, instance: &RawInstance) -> GroupIdx {
    cluster.nodes[instance.primary.get()].group
}

/// The instances by their full names and the beginnings of them before dots.
struct InstanceNames<'c> {
    all: Vec<&'c str>,
    full: HashMap<&'c str, usize>,
    /// None: several instances have this beginning.
    short: HashMap<&'c str, Option<usize>>,
}

impl<'c> InstanceNames<'c> {
    fn of(all: impl Iterator<Item = &'c str>) -> InstanceNames<'c> {
        let mut names = InstanceNames { all: all.collect(), full: HashMap::new(), short: HashMap::new() };
        for (at, name) in names.all.iter().copied().enumerate() {
            names.full.entry(name).or_insert(at);
            for (dot, _) in name.match_indices('.') {
                names.short.entry(&name[..dot]).and_modify(|found| *found = None).or_insert(Some(at));
            }
        }
        names
    }

    /// The instance that a name in a label means. A short name yields to the full one.
    fn find<V>(&self, name: &str, series: &BTreeMap<String, V>) -> Option<usize> {
        if let Some(at) = self.full.get(name) {
            return Some(*at);
        }
        let at = self.short.get(name).copied().flatten()?;
        (!series.contains_key(self.all[at])).then_some(at)
    }
}

/// Medians of the known values.
struct Medians {
    groups: HashMap<GroupIdx, f64>,
    all: f64,
}

impl Medians {
    fn of(cluster: &RawCluster, values: &[Option<f64>]) -> Medians {
        let mut by_group: HashMap<GroupIdx, Vec<f64>> = HashMap::new();
        let mut all = Vec::new();
        for (instance, value) in cluster.instances.iter().zip(values) {
            if let Some(value) = value {
                by_group.entry(group(cluster, instance)).or_default().push(*value);
                all.push(*value);
            }
        }
        Medians {
            groups: by_group.into_iter().map(|(group, values)| (group, median(values))).collect(),
            all: median(all),
        }
    }

    fn of_group(&self, group: GroupIdx) -> f64 {
        self.groups.get(&group).copied().unwrap_or(self.all)
    }
}

/// The value in the middle, or the mean of the two there; 0 without values.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let at = values.len() / 2;
    match values.get(at) {
        None => 0.0,
        Some(upper) if values.len() % 2 == 1 => *upper,
        Some(upper) => (values[at - 1] + upper) / 2.0,
    }
}
