//! A replay of migrations by the plain rules; shares nothing with the search.

use crate::model::{Amount, Cluster, Granularity, Host, HostId, Machine, Migration, Seat, fits, fragments};

/// Rule that a migration breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    #[error("the machine or the host does not exist")]
    Unknown,
    #[error("the plan has more migrations than are allowed")]
    TooMany,
    #[error("the machine must not be migrated")]
    Pinned,
    #[error("the source or the target is not active")]
    Inactive,
    #[error("the target is the source")]
    SameHost,
    #[error("the machine needs another number of NUMA nodes")]
    Nodes,
    #[error("the target has too little free CPU or memory")]
    Full,
    #[error("a machine of the same deployment set is too near")]
    Together,
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("migration {number}: {broken}")]
pub struct CheckError {
    /// Counted from 1.
    pub number: usize,
    pub broken: Broken,
}

/// CPUs in fragments after the migrations, one after the other.
///
/// # Errors
/// The first migration that breaks a rule.
pub fn replay(cluster: &Cluster, migrations: &[Migration], most: u32) -> Result<u64, CheckError> {
    let mut seats = cluster.machines.iter().map(|machine| machine.seat).collect::<Vec<_>>();
    for (at, &migration) in migrations.iter().enumerate() {
        let too_many = u32::try_from(at).map_or(true, |at| at >= most);
        let broken = if too_many { Err(Broken::TooMany) } else { migrate(cluster, &mut seats, migration) };
        broken.map_err(|broken| CheckError { number: at + 1, broken })?;
    }
    let free = (0..cluster.hosts.len()).flat_map(|host| free(cluster, &seats, HostId(host)));
    Ok(fragments(&free.collect::<Vec<_>>()))
}

fn migrate(
    cluster: &Cluster,
    seats: &mut [Seat],
    Migration { machine: id, to }: Migration,
) -> Result<(), Broken> {
    let machine = cluster.machines.get(id.0).ok_or(Broken::Unknown)?;
    let target = cluster.hosts.get(to.host.0).ok_or(Broken::Unknown)?;
    let source = seats[id.0].host;
    if !machine.movable {
        return Err(Broken::Pinned);
    }
    if !target.active || !cluster.hosts[source.0].active {
        return Err(Broken::Inactive);
    }
    if source == to.host {
        return Err(Broken::SameHost);
    }
    let demand = machine.demand.on(to.nodes).ok_or(Broken::Nodes)?;
    if !fits(&demand, &free(cluster, seats, to.host)) {
        return Err(Broken::Full);
    }
    for set in cluster.sets.iter().filter(|set| set.members.contains(&id)) {
        let place = |host: &Host| match set.apart {
            Granularity::Host => (Some(host.name.clone()), None),
            Granularity::Rack => (None, Some(host.rack)),
        };
        let mut others = set.members.iter().filter(|&&other| other != id);
        if others.any(|other| place(&cluster.hosts[seats[other.0].host.0]) == place(target)) {
            return Err(Broken::Together);
        }
    }
    seats[id.0] = to;
    Ok(())
}

/// Free resources of a host: those at the start, more by what has left, less by what has come.
fn free(cluster: &Cluster, seats: &[Seat], host: HostId) -> [Amount; 2] {
    let mut free = cluster.hosts[host.0].free;
    let machines = || cluster.machines.iter().zip(seats).filter(|(machine, seat)| machine.seat != **seat);
    let amounts = |machine: &Machine, seat: Seat| match seat.host == host {
        true => machine.demand.on(seat.nodes).unwrap_or_default(),
        false => [Amount::default(); 2],
    };
    for (machine, _) in machines() {
        for (free, left) in free.iter_mut().zip(amounts(machine, machine.seat)) {
            free.cpus = free.cpus.saturating_add(left.cpus);
            free.memory = free.memory.saturating_add(left.memory);
        }
    }
    for (machine, &seat) in machines() {
        for (free, come) in free.iter_mut().zip(amounts(machine, seat)) {
            free.cpus = free.cpus.saturating_sub(come.cpus);
            free.memory = free.memory.saturating_sub(come.memory);
        }
    }
    free
}
