//! Hosts with two NUMA nodes, the machines on them, and migrations.

use std::iter::zip;

/// Size of a useful block of free CPUs; what is left beyond whole blocks on a NUMA node is a fragment.
pub const BLOCK_CPUS: u32 = 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct HostId(pub usize);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct MachineId(pub usize);

/// CPUs and memory of one NUMA node: free, or used by a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Amount {
    pub cpus: u32,
    /// In MiB.
    pub memory: u32,
}

/// Resources of a machine: on one NUMA node, which may be either, or on both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Demand {
    One(Amount),
    Both([Amount; 2]),
}

impl Demand {
    /// The same resources by NUMA node, or `None` if the demand cannot lie on these nodes.
    pub fn on(self, nodes: Nodes) -> Option<[Amount; 2]> {
        match (self, nodes) {
            (Demand::One(amount), Nodes::First) => Some([amount, Amount::default()]),
            (Demand::One(amount), Nodes::Second) => Some([Amount::default(), amount]),
            (Demand::Both(amounts), Nodes::Both) => Some(amounts),
            _ => None,
        }
    }
}

/// NUMA nodes of a host that a machine uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nodes {
    First,
    Second,
    Both,
}

impl Nodes {
    pub const ALL: [Nodes; 3] = [Nodes::First, Nodes::Second, Nodes::Both];
}

/// Place of a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seat {
    pub host: HostId,
    pub nodes: Nodes,
}

#[derive(Debug, Clone)]
pub struct Host {
    pub name: String,
    /// True if machines may leave the host and come to it.
    pub active: bool,
    pub rack: i64,
    /// Free at the start, by NUMA node.
    pub free: [Amount; 2],
}

#[derive(Debug, Clone)]
pub struct Machine {
    pub name: String,
    pub demand: Demand,
    /// Place of the machine at the start.
    pub seat: Seat,
    pub movable: bool,
    /// Deployment sets of the machine, as indices into [`Cluster::sets`].
    pub sets: Vec<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Granularity {
    Host,
    Rack,
}

/// Machines that must run on different hosts, or in different racks.
#[derive(Debug, Clone)]
pub struct DeploymentSet {
    pub apart: Granularity,
    pub members: Vec<MachineId>,
}

#[derive(Debug, Clone)]
pub struct Cluster {
    pub name: String,
    pub hosts: Vec<Host>,
    pub machines: Vec<Machine>,
    pub sets: Vec<DeploymentSet>,
}

impl Cluster {
    /// Free CPUs of all hosts.
    pub fn free_cpus(&self) -> u64 {
        self.hosts.iter().flat_map(|host| host.free).map(|amount| u64::from(amount.cpus)).sum()
    }

    /// Checks the deployment sets of a machine on a host; `host_of` gives the hosts of the others.
    pub fn keeps_apart(
        &self,
        machine: MachineId,
        host: HostId,
        host_of: impl Fn(MachineId) -> HostId,
    ) -> bool {
        self.machines[machine.0].sets.iter().map(|&set| &self.sets[set]).all(|set| {
            set.members.iter().filter(|&&other| other != machine).all(|&other| {
                let other = host_of(other);
                match set.apart {
                    Granularity::Host => other != host,
                    Granularity::Rack => self.hosts[other.0].rack != self.hosts[host.0].rack,
                }
            })
        })
    }
}

/// A live migration of a machine to another host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Migration {
    pub machine: MachineId,
    pub to: Seat,
}

/// CPUs in fragments, given the free resources of NUMA nodes.
pub fn fragments<'a>(free: impl IntoIterator<Item = &'a Amount>) -> u64 {
    free.into_iter().map(|amount| u64::from(amount.cpus % BLOCK_CPUS)).sum()
}

/// Compares a demand with free resources, by NUMA node.
pub fn fits(demand: &[Amount; 2], free: &[Amount; 2]) -> bool {
    zip(demand, free).all(|(want, have)| want.cpus <= have.cpus && want.memory <= have.memory)
}
