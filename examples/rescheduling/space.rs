//! The view of a cluster that the bound and the search share: CPUs in units, machines by shape, hosts by content.

use std::collections::BTreeSet;

use crate::model::{Amount, BLOCK_CPUS, Cluster, Demand, HostId, MachineId, Nodes};

/// Most units of CPUs on a NUMA node; tables grow with its square.
const MOST_UNITS: u32 = 64;

/// CPUs of a NUMA node in units.
pub type Units = [usize; 2];

#[derive(Debug, thiserror::Error)]
#[error("NUMA nodes have up to {units} units of {unit} CPUs each; at most {MOST_UNITS} are supported")]
pub struct TooFine {
    units: u32,
    unit: u32,
}

/// A shape of machines on certain NUMA nodes.
pub struct Slot {
    /// Index into [`Space::shapes`].
    pub shape: usize,
    pub nodes: Nodes,
    pub demand: [Amount; 2],
    /// The CPUs of `demand`.
    pub units: Units,
}

/// Resources of a host and the machines that may leave it, without their names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Content {
    pub active: bool,
    pub free: Units,
    /// Free memory by NUMA node, in MiB.
    pub memory: [u32; 2],
    /// Machines that may leave, by slot.
    pub movable: Vec<u16>,
}

pub struct Space {
    /// Demands that are alike.
    pub shapes: Vec<Demand>,
    pub slots: Vec<Slot>,
    /// Slot of each machine at the start.
    pub slot_of: Vec<usize>,
    /// Machines that may leave, by host and in their order in the cluster.
    pub movable: Vec<Vec<MachineId>>,
    /// Content of each host at the start.
    pub contents: Vec<Content>,
    /// One more than the units of the largest NUMA node: the side of a table by free units.
    pub side: usize,
    /// Units of a useful block.
    block: usize,
}

impl Space {
    /// # Errors
    /// If the greatest common divisor of all CPU counts is too small.
    pub fn new(cluster: &Cluster) -> Result<Space, TooFine> {
        let demands =
            cluster.machines.iter().map(|machine| machine.demand.on(machine.seat.nodes).unwrap_or_default());
        let mut totals = cluster.hosts.iter().map(|host| host.free.map(|node| node.cpus)).collect::<Vec<_>>();
        let mut unit = totals.iter().flatten().fold(BLOCK_CPUS, |unit, &cpus| gcd(unit, cpus));
        for (machine, demand) in cluster.machines.iter().zip(demands.clone()) {
            for (total, amount) in totals[machine.seat.host.0].iter_mut().zip(demand) {
                *total = total.saturating_add(amount.cpus);
                unit = gcd(unit, amount.cpus);
            }
        }
        let units = totals.iter().flatten().max().map_or(0, |most| most / unit);
        if units > MOST_UNITS {
            return Err(TooFine { units, unit });
        }
        let in_units = |amounts: &[Amount; 2]| amounts.map(|amount| index(amount.cpus / unit));
        let shapes = cluster.machines.iter().map(|machine| machine.demand);
        let shapes = shapes.collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>();
        let mut slots = Vec::new();
        for (shape, demand) in shapes.iter().enumerate() {
            for nodes in Nodes::ALL {
                if let Some(demand) = demand.on(nodes) {
                    slots.push(Slot { shape, nodes, demand, units: in_units(&demand) });
                }
            }
        }
        let slot_of = cluster.machines.iter().map(|machine| {
            let same = |slot: &Slot| slot.nodes == machine.seat.nodes && shapes[slot.shape] == machine.demand;
            slots.iter().position(same).unwrap_or_default()
        });
        let slot_of = slot_of.collect::<Vec<_>>();
        let mut movable = vec![Vec::new(); cluster.hosts.len()];
        let content = |host: &crate::model::Host| Content {
            active: host.active,
            free: in_units(&host.free),
            memory: host.free.map(|node| node.memory),
            movable: vec![0; slots.len()],
        };
        let mut contents = cluster.hosts.iter().map(content).collect::<Vec<_>>();
        for (at, machine) in cluster.machines.iter().enumerate() {
            let HostId(host) = machine.seat.host;
            let count = &mut contents[host].movable[slot_of[at]];
            if machine.movable && cluster.hosts[host].active && *count < u16::MAX {
                *count += 1;
                movable[host].push(MachineId(at));
            }
        }
        let (side, block) = (index(units) + 1, index(BLOCK_CPUS / unit));
        Ok(Space { shapes, slots, slot_of, movable, contents, side, block })
    }

    /// Useful blocks among free units.
    pub fn blocks(&self, free: Units) -> usize {
        free.iter().map(|units| units / self.block).sum()
    }

    pub fn units_of_block(&self) -> usize {
        self.block
    }

    /// Free units beyond useful blocks, by NUMA node.
    pub fn rest(&self, free: Units) -> Units {
        free.map(|units| units % self.block)
    }

    /// The most useful blocks that the cluster could have if its free CPUs lay together.
    pub fn most_blocks(&self) -> usize {
        let (active, closed): (Vec<_>, Vec<_>) = self.contents.iter().partition(|content| content.active);
        let free = active.iter().flat_map(|content| content.free).sum::<usize>();
        free / self.block + closed.iter().map(|content| self.blocks(content.free)).sum::<usize>()
    }
}

/// Position of a pair of free units in a table.
pub fn cell(side: usize, free: Units) -> usize {
    free[0] * side + free[1]
}

fn gcd(a: u32, b: u32) -> u32 {
    match b {
        0 => a,
        _ => gcd(b, a % b),
    }
}

/// A small count as an index; saturates where `usize` is narrower.
fn index(count: u32) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}
