//! The simulated cluster: instances come, leave and move. A contender can read it at any time.

use anyhow::{Context, bail, ensure};
use htools::load::iallocator::{Allocation, Description, Request};
use htools::load::merge::{MergeOptions, finish, merge};
use htools::load::raw::{RawCluster, RawGroup, RawInstance, RawNode};
use htools::model::{
    AllocPolicy, Cluster, Disk, DiskParameters, DiskTemplate, GroupIdx, InstancePolicy, Mib, NodeIdx, Outage,
    RunStatus, Utilisation,
};
use htools::search::requests::{Answer, Settings, answer};

use super::week::{CORES, Demand, MEMORY, NODES};

/// Memory of a node's own system.
const SYSTEM: Mib = Mib(4096);
/// Disk of an instance.
const DISK: Mib = Mib(20 * 1024);

/// Position of an instance in the week's list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DemandIdx(pub usize);

/// The true state of the cluster.
pub struct World {
    raw: RawCluster,
    /// The instances of `raw` in the week's list.
    there: Vec<DemandIdx>,
}

impl World {
    /// A cluster without instances.
    pub fn new() -> World {
        let raw = RawCluster {
            groups: vec![group()],
            nodes: (0..NODES).map(node).collect(),
            policy: InstancePolicy::default(),
            ..RawCluster::default()
        };
        World { raw, there: Vec::new() }
    }

    /// The instances, in the order of the clusters that are read.
    pub fn there(&self) -> &[DemandIdx] {
        &self.there
    }

    /// The node of each instance.
    pub fn nodes(&self) -> impl Iterator<Item = (DemandIdx, NodeIdx)> {
        self.there.iter().copied().zip(self.raw.instances.iter().map(|instance| instance.primary))
    }

    /// The cluster as hail reads it, without load.
    pub fn cluster(&self) -> anyhow::Result<Cluster> {
        self.loaded(Vec::new())
    }

    /// The cluster with the load of each instance. Without any, each instance counts 1.
    pub fn loaded(&self, load: Vec<Utilisation>) -> anyhow::Result<Cluster> {
        let mut raw = self.raw.clone();
        for instance in &raw.instances {
            raw.nodes[instance.primary.get()].mem_free -= instance.mem;
        }
        let utilisation = raw.instances.iter().map(|instance| instance.name.clone()).zip(load).collect();
        let mut cluster = merge(raw, &MergeOptions { utilisation, ..MergeOptions::default() })?;
        finish(&mut cluster, Mib::ZERO);
        Ok(cluster)
    }

    /// Adds an instance where hail would place it. Returns false if there is no room.
    pub fn come(&mut self, idx: DemandIdx, demand: &Demand) -> anyhow::Result<bool> {
        let instance = Allocation { description: description(demand), required_nodes: 1 };
        let request = Request::Allocate { instance, group: None, restrict_to: None };
        match answer(self.cluster()?, request, &Settings::default()).answer {
            Ok(Answer::Allocated { nodes, .. }) => {
                let primary = *nodes.first().context("a place without a node")?;
                self.raw.instances.push(instance_on(demand, primary));
                self.there.push(idx);
                Ok(true)
            }
            Ok(_) => bail!("an answer to something else"),
            Err(_) => Ok(false),
        }
    }

    /// Removes an instance, if it is there.
    pub fn leave(&mut self, idx: DemandIdx) {
        if let Some(at) = self.there.iter().position(|there| *there == idx) {
            self.there.remove(at);
            self.raw.instances.remove(at);
        }
    }

    /// Takes over the nodes of all instances from a cluster that was read and then changed.
    pub fn adopt(&mut self, after: &Cluster) -> anyhow::Result<()> {
        ensure!(after.instances.len() == self.raw.instances.len(), "not a cluster of this moment");
        for (instance, there) in self.raw.instances.iter_mut().zip(&after.instances) {
            instance.primary = there.primary;
        }
        Ok(())
    }
}

fn group() -> RawGroup {
    RawGroup {
        name: "default".into(),
        uuid: "uuid-1".into(),
        alloc_policy: AllocPolicy::Preferred,
        networks: Vec::new(),
        policy: InstancePolicy::default(),
        disk_parameters: DiskParameters::default(),
        tags: Vec::new(),
    }
}

fn node(number: usize) -> RawNode {
    RawNode {
        name: format!("node-{number:02}.example.com"),
        mem_total: (MEMORY + SYSTEM).as_f64(),
        mem_node: SYSTEM,
        mem_free: MEMORY,
        disk_total: 4_194_304.0,
        disk_free: Mib(4_194_304),
        cpu_total: CORES,
        cpu_node: 1,
        cpu_speed: 1.0,
        spindle_total: 1,
        spindle_free: 1,
        exclusive_storage: false,
        offline: false,
        outage: Outage::default(),
        master: number == 0,
        group: GroupIdx::new(0),
        tags: Vec::new(),
        hypervisor: None,
    }
}

fn instance_on(demand: &Demand, primary: NodeIdx) -> RawInstance {
    RawInstance {
        name: demand.name.clone(),
        mem: demand.mem,
        disk: DISK,
        disks: vec![Disk { size: DISK, spindles: None }],
        vcpus: demand.vcpus,
        status: RunStatus::Running,
        auto_balance: true,
        primary,
        secondary: None,
        template: DiskTemplate::Ext,
        spindle_use: 1,
        tags: Vec::new(),
        networks: Vec::new(),
        forthcoming: false,
    }
}

fn description(demand: &Demand) -> Description {
    let like = instance_on(demand, NodeIdx::new(0));
    Description {
        name: like.name,
        mem: like.mem,
        disk: like.disk,
        disks: like.disks,
        vcpus: like.vcpus,
        status: like.status,
        template: like.template,
        spindle_use: like.spindle_use,
        tags: like.tags,
        networks: like.networks,
        forthcoming: false,
    }
}
