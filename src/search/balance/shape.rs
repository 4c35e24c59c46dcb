//! Instances that are alike.

use std::collections::HashMap;

use crate::model::{Cluster, DiskTemplate, ExclusionTags, Instance, InstanceIdx, KeyIdx, Mib, TagSet};

/// Everything about an instance that its moves and their scores depend on,
/// except where it is.
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
            pools: i.pools.clone(),
            keys: i.keys.keys().to_vec(),
            forthcoming: i.forthcoming,
        }
    }
}

/// A number for each instance that was compared; instances with the same number are alike.
pub struct Shapes(Vec<u32>);

impl Shapes {
    /// Compares some instances of a cluster.
    pub fn of(cluster: &Cluster, instances: &[InstanceIdx]) -> Shapes {
        let mut numbers: HashMap<Shape, u32> = HashMap::new();
        let mut of = vec![0; cluster.instances.len()];
        for instance in instances {
            let next = numbers.len() as u32;
            of[instance.get()] = *numbers.entry(Shape::of(cluster.instance(*instance))).or_insert(next);
        }
        Shapes(of)
    }

    /// The number of an instance's shape.
    pub fn get(&self, instance: InstanceIdx) -> u32 {
        self.0[instance.get()]
    }
}
