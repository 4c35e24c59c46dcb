//! Which machines come, when, and when they go.

use crate::{CompiledKey, Fleet, Machine};
use htools_model::shown::shown_name;
use htools_model::{Mib, TagSet};

/// The most machines that come.
pub(crate) const MOST_RENTALS: usize = 1_000_000;
/// The most days that are looked at.
pub(crate) const MOST_DAYS: u32 = 36_525;

/// A machine that comes, and may go. Times are in days from the beginning.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rental {
    /// What it is like: a machine of the fleet, by position.
    pub machine: usize,
    /// When it comes, from 0.
    pub arrives: f64,
    /// When it goes; none: it stays.
    pub leaves: Option<f64>,
}

/// What is wrong with a timeline.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum TimelineError {
    /// It comes at no time.
    #[error("vm '{}': arrives: not a number of days, at least 0", shown_name(.0))]
    Arrives(String),
    /// It goes before it has come.
    #[error("vm '{}': leaves: not a number of days after it arrives", shown_name(.0))]
    Leaves(String),
    /// It is like no machine of the fleet.
    #[error("there is no machine {0} in the fleet")]
    Machine(usize),
    /// There are too many.
    #[error("more than {MOST_RENTALS} machines would arrive")]
    TooMany,
    /// The time is too short or too long.
    #[error("days: between 1 and {MOST_DAYS}")]
    Days,
    /// Nobody comes at such a rate.
    #[error("arrivals a day: not a number above 0")]
    Rate,
    /// Nobody stays so long.
    #[error("lifetime: not a number of days above 0")]
    Lifetime,
    /// Nothing is there of which arrivals could be drawn.
    #[error("the fleet has no machines, of which arrivals are drawn")]
    NoKinds,
}

/// What happens at some time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum TimelineEvent {
    /// One goes: its room is there for those that come at the same time.
    Leave(usize),
    /// A day ends.
    Night,
    /// One comes.
    Arrive(usize),
}

/// Nodes, and the machines that come and go there.
#[derive(Debug, Clone, PartialEq)]
pub struct Timeline {
    fleet: Fleet,
    /// First those that are there at the beginning, then those that come.
    rentals: Vec<Rental>,
    /// The nodes, by position, of those that are there at the beginning.
    homes: Vec<usize>,
    days: u32,
}

impl Timeline {
    /// Machines that come to the nodes of a fleet, for so many days. What runs in the fleet makes place first; those that would come
    /// later than the last day are left out. What keeps machines on some nodes, such as local disks, is not known, nor who may not be with whom: there is a choice for
    /// all.
    ///
    /// # Errors
    /// A time that is none, or too much.
    pub(crate) fn new(fleet: Fleet, mut rentals: Vec<Rental>, days: u32) -> Result<Timeline, TimelineError> {
        if !(1..=MOST_DAYS).contains(&days) {
            return Err(TimelineError::Days);
        }
        if rentals.len() > MOST_RENTALS {
            return Err(TimelineError::TooMany);
        }
        for rental in &rentals {
            let name = || fleet.machines.get(rental.machine).map(|machine| machine.name.clone());
            let name = || name().ok_or(TimelineError::Machine(rental.machine));
            if !(rental.arrives.is_finite() && rental.arrives >= 0.0) {
                return Err(TimelineError::Arrives(name()?));
            }
            if rental.leaves.is_some_and(|leaves| !(leaves.is_finite() && leaves > rental.arrives)) {
                return Err(TimelineError::Leaves(name()?));
            }
            name()?;
        }
        rentals.retain(|rental| rental.arrives < f64::from(days));
        Ok(Timeline { fleet: emptied(fleet), rentals, homes: Vec::new(), days })
    }

    /// The same where what runs in the fleet is there at the beginning; `leaves` tells when each of them goes.
    ///
    /// # Errors
    /// As [`Timeline::new`].
    pub(crate) fn inhabited(
        fleet: Fleet,
        rentals: Vec<Rental>,
        days: u32,
        mut leaves: impl FnMut() -> Option<f64>,
    ) -> Result<Timeline, TimelineError> {
        let mut places = vec![0; fleet.nodes.len()];
        by_name(&fleet).into_iter().enumerate().for_each(|(place, node)| places[node] = place);
        let homes = fleet.machines.iter().enumerate().filter_map(|(at, machine)| Some((at, machine.node?)));
        let (machines, homes): (Vec<usize>, Vec<usize>) = homes.map(|(at, node)| (at, places[node])).unzip();
        let there = machines.into_iter().map(|machine| Rental { machine, arrives: 0.0, leaves: leaves() });
        let rentals = there.chain(rentals).collect();
        Ok(Timeline { homes, ..Timeline::new(fleet, rentals, days)? })
    }

    /// Those that are there at the beginning, by number, with the position of their node.
    pub(super) fn residents(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.homes.iter().copied().enumerate()
    }

    /// How many are there at the beginning.
    pub fn resident_count(&self) -> usize {
        self.homes.len()
    }

    /// How many come.
    pub fn requests(&self) -> usize {
        self.rentals.len() - self.homes.len()
    }

    /// The nodes, by name, and what machines are like.
    pub fn fleet(&self) -> &Fleet {
        &self.fleet
    }

    /// Who is there at the beginning, and then who comes.
    pub fn rentals(&self) -> &[Rental] {
        &self.rentals
    }

    /// How many days are looked at.
    pub fn days(&self) -> u32 {
        self.days
    }

    /// The memory of all that come.
    pub fn ram(&self) -> Mib {
        (self.homes.len()..self.rentals.len()).map(|rental| self.machine(rental).ram).sum()
    }

    /// What a machine is like.
    pub(super) fn machine(&self, rental: usize) -> &Machine {
        &self.fleet.machines[self.rentals[rental].machine]
    }

    /// By machine of the fleet, what its customer wishes.
    pub(super) fn wishes(&self) -> Vec<Vec<CompiledKey>> {
        self.fleet.machines.iter().map(|machine| self.fleet.compiled(machine).customer).collect()
    }

    /// What happens, in order.
    pub(super) fn events(&self) -> Vec<(f64, TimelineEvent)> {
        let end = f64::from(self.days);
        let mut events: Vec<(f64, TimelineEvent)> =
            (1..=self.days).map(|day| (f64::from(day), TimelineEvent::Night)).collect();
        for (at, rental) in self.rentals.iter().enumerate() {
            if at >= self.homes.len() {
                events.push((rental.arrives, TimelineEvent::Arrive(at)));
            }
            let leaves = rental.leaves.filter(|leaves| *leaves <= end);
            events.extend(leaves.map(|leaves| (leaves, TimelineEvent::Leave(at))));
        }
        events.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
        events
    }
}

/// A fleet in which nothing runs, its nodes by name.
fn emptied(mut fleet: Fleet) -> Fleet {
    for machine in &mut fleet.machines {
        if let Some(node) = machine.node.take().and_then(|node| fleet.nodes.get_mut(node)) {
            node.ram_free += machine.ram;
        }
        machine.last_node = None;
        machine.disk_node = None;
        machine.reach = None;
        machine.exclusion = TagSet::default();
        machine.started_with = None;
    }
    let order = by_name(&fleet);
    fleet.nodes = order.into_iter().map(|node| fleet.nodes[node].clone()).collect();
    fleet
}

/// The positions of the nodes, by name.
fn by_name(fleet: &Fleet) -> Vec<usize> {
    let mut order: Vec<usize> = (0..fleet.nodes.len()).collect();
    order.sort_by(|one, other| fleet.nodes[*one].name.cmp(&fleet.nodes[*other].name));
    order
}
