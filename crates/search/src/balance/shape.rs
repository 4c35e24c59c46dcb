//! Classes of instances that are alike.

use std::collections::HashMap;

use htools_model::{Cluster, DiskTemplate, ExclusionTags, Instance, InstanceIdx, KeyIdx, Mib, TagSet};

/// All properties of an instance that affect its moves and their scores, except its nodes.
#[derive(PartialEq, Eq, Hash)]
struct Shape {
    mem: Mib,
    in_use: Mib,
    reserved: Mib,
    disk: Mib,
    spindles: Option<i64>,
    spindle_use: i64,
    vcpus: i64,
    template: DiskTemplate,
    util: [u64; 4],
    exclusion_tags: ExclusionTags,
    desired_locations: TagSet,
    pools: TagSet,
    keys: Vec<KeyIdx>,
    forthcoming: bool,
}

impl Shape {
    fn of(i: &Instance) -> Shape {
        Shape {
            mem: i.mem,
            in_use: i.mem_in_use(),
            reserved: i.mem_reserved(),
            disk: i.disk,
            spindles: i.spindles,
            spindle_use: i.spindle_use,
            vcpus: i.vcpus_in_use(),
            template: i.template,
            util: [i.util.cpu, i.util.mem, i.util.disk, i.util.net].map(f64::to_bits),
            exclusion_tags: i.exclusion_tags.clone(),
            desired_locations: i.desired_locations.clone(),
            pools: i.needs.clone(),
            keys: i.keys.keys().to_vec(),
            forthcoming: i.forthcoming,
        }
    }
}

/// A number for each compared instance; instances with equal numbers are alike.
pub(crate) struct Shapes {
    first: usize,
    /// Numbers from the first compared instance to the last.
    numbers: Vec<u32>,
}

impl Shapes {
    /// Compares some instances (ascending) of a cluster.
    pub(crate) fn of(cluster: &Cluster, instances: &[InstanceIdx]) -> Shapes {
        let mut known: HashMap<Shape, u32> = HashMap::new();
        let [first, last] = [instances.first(), instances.last()].map(|i| i.map_or(0, |i| i.get()));
        let mut numbers = vec![0; last - first + 1];
        for instance in instances {
            let next = known.len() as u32;
            numbers[instance.get() - first] =
                *known.entry(Shape::of(cluster.instance(*instance))).or_insert(next);
        }
        Shapes { first, numbers }
    }

    /// Number of an instance's shape; 0 outside the range of compared instances.
    pub(crate) fn get(&self, instance: InstanceIdx) -> u32 {
        self.numbers.get(instance.get().wrapping_sub(self.first)).copied().unwrap_or(0)
    }
}
