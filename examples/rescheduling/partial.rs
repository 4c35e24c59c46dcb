//! Plans that may go on, and the useful blocks that they can still come to.

use crate::bound::Bound;
use crate::classes::{Change, ClassId, Classes};
use crate::model::{Cluster, HostId, MachineId, Migration, Seat};
use crate::space::Space;

pub struct Problem<'a> {
    pub cluster: &'a Cluster,
    pub space: &'a Space,
    pub bound: &'a Bound,
    /// Most migrations.
    pub migrations: u32,
}

#[derive(Debug, Clone)]
pub struct Plan {
    pub blocks: usize,
    pub migrations: Vec<Migration>,
}

/// A plan that may go on.
#[derive(Clone)]
pub struct Partial {
    pub plan: Plan,
    pub hosts: Vec<ClassId>,
    /// Most useful blocks of a plan that begins so.
    pub limit: f64,
    pub concentration: f64,
    /// Sum over hosts, so that the order of migrations does not matter.
    pub hash: u64,
}

/// A departure from one host, or an arrival at one.
#[derive(Clone, Copy)]
pub struct Side {
    pub host: HostId,
    pub from: ClassId,
    pub change: Change,
}

/// Figures of a partial plan with one migration more.
#[derive(Clone, Copy)]
pub struct Outlook {
    pub limit: f64,
    pub concentration: f64,
    pub hash: u64,
}

impl Partial {
    /// The plan without migrations.
    pub fn empty(problem: &Problem<'_>, classes: &mut Classes<'_>) -> Partial {
        let contents = problem.space.contents.iter();
        let hosts = contents.map(|content| classes.id(content.clone())).collect::<Vec<_>>();
        let values = hosts.iter().map(|&class| classes.get(class).value).sum::<f64>();
        let blocks = hosts.iter().map(|&class| classes.get(class).blocks).sum();
        let concentration = hosts.iter().map(|&class| classes.get(class).concentration).sum();
        let limit = values + f64::from(problem.migrations) * problem.bound.prices.migration;
        let hash = hosts.iter().fold(0_u64, |sum, &class| sum.wrapping_add(spread(class)));
        let plan = Plan { blocks, migrations: Vec::new() };
        Partial { plan, hosts, limit, concentration, hash }
    }

    /// Figures of the plan with one migration more.
    pub fn outlook(&self, classes: &Classes<'_>, source: Side, target: Side) -> Outlook {
        let mut after = Outlook {
            limit: self.limit - source.change.loss - target.change.loss,
            concentration: self.concentration,
            hash: self.hash,
        };
        for side in [source, target] {
            after.hash = after.hash.wrapping_sub(spread(side.from)).wrapping_add(spread(side.change.to));
            after.concentration += classes.get(side.change.to).concentration;
            after.concentration -= classes.get(side.from).concentration;
        }
        after
    }

    /// The plan with a migration more from the source to the target, or `None` if deployment sets keep all such
    /// machines away from the target.
    pub fn longer(
        &self,
        problem: &Problem<'_>,
        classes: &Classes<'_>,
        source: Side,
        target: Side,
    ) -> Option<Partial> {
        let candidates = problem.space.movable[source.host.0].iter().copied();
        let machine = candidates
            .filter(|machine| problem.space.slot_of[machine.0] == source.change.slot)
            .find(|&machine| !self.moves(machine) && self.keeps_apart(problem, machine, target.host))?;
        let mut after = self.clone();
        after.add(problem, classes, machine, source, target);
        Some(after)
    }

    /// Adds the migration again if it is still possible.
    pub fn repeat(&mut self, problem: &Problem<'_>, classes: &mut Classes<'_>, migration: Migration) {
        let Migration { machine, to } = migration;
        let source = problem.cluster.machines[machine.0].seat.host;
        let (source_class, target_class) = (self.hosts[source.0], self.hosts[to.host.0]);
        classes.expand(source_class);
        classes.expand(target_class);
        let slots = &problem.space.slots;
        let slot = problem.space.slot_of[machine.0];
        let departure = classes.get(source_class).departures.iter().find(|change| change.slot == slot);
        let arrival = classes.get(target_class).arrivals.iter().find(|change| {
            slots[change.slot].shape == slots[slot].shape && slots[change.slot].nodes == to.nodes
        });
        let (Some(&departure), Some(&arrival)) = (departure, arrival) else { return };
        if self.keeps_apart(problem, machine, to.host) {
            let source = Side { host: source, from: source_class, change: departure };
            let target = Side { host: to.host, from: target_class, change: arrival };
            self.add(problem, classes, machine, source, target);
        }
    }

    fn add(
        &mut self,
        problem: &Problem<'_>,
        classes: &Classes<'_>,
        machine: MachineId,
        source: Side,
        target: Side,
    ) {
        let Outlook { limit, concentration, hash } = self.outlook(classes, source, target);
        (self.limit, self.concentration, self.hash) = (limit, concentration, hash);
        for side in [source, target] {
            self.hosts[side.host.0] = side.change.to;
            self.plan.blocks += classes.get(side.change.to).blocks;
        }
        for side in [source, target] {
            self.plan.blocks -= classes.get(side.from).blocks;
        }
        let to = Seat { host: target.host, nodes: problem.space.slots[target.change.slot].nodes };
        self.plan.migrations.push(Migration { machine, to });
    }

    fn moves(&self, machine: MachineId) -> bool {
        self.plan.migrations.iter().any(|migration| migration.machine == machine)
    }

    fn keeps_apart(&self, problem: &Problem<'_>, machine: MachineId, target: HostId) -> bool {
        problem.cluster.keeps_apart(machine, target, |other| {
            let migration = self.plan.migrations.iter().find(|migration| migration.machine == other);
            migration.map_or(problem.cluster.machines[other.0].seat.host, |migration| migration.to.host)
        })
    }
}

/// Spreads numbers over 64 bits (splitmix64), so that the sums of different ones differ.
pub fn spread(number: usize) -> u64 {
    let mut bits = u64::try_from(number).unwrap_or(u64::MAX).wrapping_add(1);
    bits = bits.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}
