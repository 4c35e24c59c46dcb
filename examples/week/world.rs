//! A simulated cluster: instances come and go, and nodes are switched. A tool can read it at any time.

use anyhow::{Context, bail, ensure};
use htools::generate::random::Random;
use htools::load::iallocator::{Allocation, Description, Request};
use htools::load::merge::{MergeOptions, finish, merge};
use htools::load::raw::{RawCluster, RawInstance, RawNode};
use htools::model::standby::{tags_added, tags_outdated, tags_removed};
use htools::model::{Cluster, DiskTemplate, Mib, NodeIdx};
use htools::search::requests::{Answer, Settings, answer};
use htools::search::squeeze::{Decision, GroupPlan};

/// The true state of the cluster.
pub struct World {
    raw: RawCluster,
    /// The nodes in their state when they are on, without instances.
    full: Vec<RawNode>,
    /// Patterns of new instances, by group.
    patterns: Vec<Vec<RawInstance>>,
    random: Random,
    born: usize,
}

impl World {
    /// The cluster at the start. New instances of a group will be like one of those that it has then.
    pub fn new(raw: RawCluster, seed: u64) -> anyhow::Result<World> {
        ensure!(raw.nodes.iter().all(|n| !n.offline), "all nodes must be online at the beginning");
        ensure!(raw.nodes.iter().all(|n| !n.exclusive_storage), "exclusive storage is not simulated");
        let mut full = raw.nodes.clone();
        for (at, node) in full.iter_mut().enumerate() {
            node.mem_free += in_memory(&raw, NodeIdx::new(at));
            node.disk_free += on_disk(&raw, NodeIdx::new(at));
        }
        let mut patterns = vec![Vec::new(); raw.groups.len()];
        for instance in &raw.instances {
            patterns[raw.nodes[instance.primary.get()].group.get()].push(instance.clone());
        }
        Ok(World { raw, full, patterns, random: Random::new(seed), born: 0 })
    }

    /// The cluster as a tool reads it: nodes that are off report nothing.
    pub fn cluster(&self) -> anyhow::Result<Cluster> {
        let mut raw = self.raw.clone();
        for (at, node) in raw.nodes.iter_mut().enumerate() {
            let (idx, full) = (NodeIdx::new(at), &self.full[at]);
            let zero = RawNode {
                mem_total: 0.0,
                mem_node: Mib(0),
                mem_free: Mib(0),
                disk_total: 0.0,
                disk_free: Mib(0),
                cpu_total: 0.0,
                cpu_node: 0,
                ..node.clone()
            };
            *node = match node.offline {
                true => zero,
                false => RawNode {
                    mem_free: full.mem_free - in_memory(&self.raw, idx),
                    disk_free: full.disk_free - on_disk(&self.raw, idx),
                    tags: node.tags.clone(),
                    ..full.clone()
                },
            };
        }
        let mut cluster = merge(raw, &MergeOptions::default())?;
        finish(&mut cluster, Mib(0));
        Ok(cluster)
    }

    /// Position of a group.
    pub fn group(&self, name: &str) -> anyhow::Result<usize> {
        let found = self.raw.groups.iter().position(|group| group.name == name);
        found.with_context(|| format!("the cluster has no node group '{name}'"))
    }

    /// Nodes that are on.
    pub fn nodes_on(&self, group: usize) -> usize {
        self.raw.nodes.iter().filter(|n| n.group.get() == group && !n.offline).count()
    }

    /// All nodes.
    pub fn nodes(&self) -> usize {
        self.raw.nodes.len()
    }

    /// Instances that run in a group.
    pub fn running(&self, group: usize) -> usize {
        self.members(group).len()
    }

    fn members(&self, group: usize) -> Vec<usize> {
        let is_there = |i: &RawInstance| self.raw.nodes[i.primary.get()].group.get() == group;
        (0..self.raw.instances.len()).filter(|at| is_there(&self.raw.instances[*at])).collect()
    }

    /// Removes random instances of a group.
    pub fn leave(&mut self, group: usize, count: usize) {
        for _ in 0..count {
            let members = self.members(group);
            if members.is_empty() {
                return;
            }
            self.raw.instances.remove(*self.random.pick(&members));
        }
    }

    /// Adds instances to a group, where hail would place them. Returns the number of instances without a place.
    pub fn come(&mut self, group: usize, count: usize) -> anyhow::Result<usize> {
        let mut cluster = self.cluster()?;
        for placed in 0..count {
            ensure!(!self.patterns[group].is_empty(), "no instance to take as a pattern for new ones");
            let mut new = self.random.pick(&self.patterns[group]).clone();
            self.born += 1;
            new.name = format!("new{}.example.com", self.born);
            let two = new.template == DiskTemplate::Drbd;
            let instance =
                Allocation { description: description(&new), required_nodes: if two { 2 } else { 1 } };
            let group = Some(self.raw.groups[group].name.clone());
            let request = Request::Allocate { instance, group, restrict_to: None };

            let reply = answer(cluster, request, &Settings::default());
            match reply.answer {
                Ok(Answer::Allocated { nodes, .. }) => {
                    new.primary = nodes[0];
                    new.secondary = nodes.get(1).copied();
                }
                Ok(_) => bail!("an answer to something else"),
                Err(_) => return Ok(count - placed),
            }
            cluster = reply.cluster;
            self.raw.instances.push(new);
        }
        Ok(0)
    }

    /// Executes the plan for a group. `before` is the cluster that was read for the plan; `after` is its result.
    pub fn carry_out(&mut self, plan: &GroupPlan, before: &Cluster, after: &Cluster) {
        for idx in &plan.nodes {
            let node = &mut self.raw.nodes[idx.get()];
            node.offline = plan.decision == Decision::Condense;
            let (gone, new) = match node.offline {
                true => (tags_outdated(before, *idx), tags_added(before, *idx)),
                false => (tags_removed(before, *idx), Vec::new()),
            };
            node.tags.retain(|tag| !gone.contains(tag));
            node.tags.extend(new);
        }
        for step in &plan.steps {
            let there = after.instance(step.instance);
            let instance = &mut self.raw.instances[step.instance.get()];
            (instance.primary, instance.secondary) = (there.primary, there.secondary);
        }
    }
}

fn in_memory(raw: &RawCluster, node: NodeIdx) -> Mib {
    raw.instances.iter().filter(|i| i.primary == node).map(|i| i.mem).sum()
}

fn on_disk(raw: &RawCluster, node: NodeIdx) -> Mib {
    let local =
        raw.instances.iter().filter(|i| matches!(i.template, DiskTemplate::Drbd | DiskTemplate::Plain));
    local.filter(|i| i.primary == node || i.secondary == Some(node)).map(|i| i.disk).sum()
}

fn description(new: &RawInstance) -> Description {
    Description {
        name: new.name.clone(),
        mem: new.mem,
        disk: new.disk,
        disks: new.disks.clone(),
        vcpus: new.vcpus,
        status: new.status,
        template: new.template,
        spindle_use: new.spindle_use,
        tags: new.tags.clone(),
        networks: new.networks.clone(),
        forthcoming: false,
    }
}
