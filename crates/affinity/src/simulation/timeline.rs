//! Arrivals and departures of machines.

use crate::{CompiledKey, Fleet, Machine};
use htools_model::shown::shown_name;
use htools_model::{Mib, TagSet};

/// Maximum number of arrivals.
pub(crate) const MOST_RENTALS: usize = 1_000_000;
/// Maximum number of days.
pub(crate) const MOST_DAYS: u32 = 36_525;

/// The stay of a machine. Times are in days from the beginning.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rental {
    /// Kind of the machine: position of a machine in the fleet.
    pub machine: usize,
    /// Arrival, from 0.
    pub arrives: f64,
    /// Departure; `None` if it stays.
    pub leaves: Option<f64>,
}

/// Fault of a timeline.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum TimelineError {
    /// The arrival time is invalid.
    #[error("vm '{}': arrives must be a number of days, 0 or more", shown_name(.0))]
    Arrives(String),
    /// The departure is before the arrival.
    #[error("vm '{}': leaves must be a number of days after arrives", shown_name(.0))]
    Leaves(String),
    /// The fleet has no such machine.
    #[error("there is no machine {0} in the fleet")]
    Machine(usize),
    /// There are too many arrivals.
    #[error("more than {MOST_RENTALS} machines would arrive")]
    TooMany,
    /// The number of days is out of range.
    #[error("days must be between 1 and {MOST_DAYS}")]
    Days,
    /// The rate of arrivals is invalid.
    #[error("the arrivals per day must be a number above 0")]
    Rate,
    /// The lifetime is invalid.
    #[error("the lifetime must be a number of days above 0")]
    Lifetime,
    /// The fleet has no machines from which arrivals could be drawn.
    #[error("the fleet has no machines to draw arrivals from")]
    NoKinds,
}

/// An event of a timeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum TimelineEvent {
    /// A machine leaves. Its room is free for those that arrive at the same time.
    Leave(usize),
    /// A day ends.
    Night,
    /// A machine arrives.
    Arrive(usize),
}

/// Nodes, and the machines that come and go there.
#[derive(Debug, Clone, PartialEq)]
pub struct Timeline {
    fleet: Fleet,
    /// The machines that are there at the beginning, then those that arrive.
    rentals: Vec<Rental>,
    /// Positions of the nodes of the machines that are there at the beginning.
    homes: Vec<usize>,
    days: u32,
}

impl Timeline {
    /// Machines that arrive at the nodes of a fleet over some days. The running machines of the fleet are removed
    /// first; arrivals after the last day are left out. Constraints such as local disks or exclusions are ignored, so
    /// that every machine has a choice of nodes.
    ///
    /// # Errors
    /// If a time is invalid, or a number is too large.
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

    /// The same, but the running machines of the fleet are there at the beginning; `leaves` returns the departure of
    /// each.
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

    /// The machines that are there at the beginning, by number, with the position of their node.
    pub(super) fn residents(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.homes.iter().copied().enumerate()
    }

    /// Number of machines that are there at the beginning.
    pub fn resident_count(&self) -> usize {
        self.homes.len()
    }

    /// Number of arrivals.
    pub fn requests(&self) -> usize {
        self.rentals.len() - self.homes.len()
    }

    /// The nodes, by name, and the kinds of machines.
    pub fn fleet(&self) -> &Fleet {
        &self.fleet
    }

    /// The machines that are there at the beginning, then those that arrive.
    pub fn rentals(&self) -> &[Rental] {
        &self.rentals
    }

    /// Number of days.
    pub fn days(&self) -> u32 {
        self.days
    }

    /// Memory of all arriving machines.
    pub fn ram(&self) -> Mib {
        (self.homes.len()..self.rentals.len()).map(|rental| self.machine(rental).ram).sum()
    }

    /// The kind of a machine.
    pub(super) fn machine(&self, rental: usize) -> &Machine {
        &self.fleet.machines[self.rentals[rental].machine]
    }

    /// For each machine of the fleet, its customer's keys.
    pub(super) fn wishes(&self) -> Vec<Vec<CompiledKey>> {
        self.fleet.machines.iter().map(|machine| self.fleet.compiled(machine).customer).collect()
    }

    /// All events, in order.
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

/// The fleet without running machines, its nodes ordered by name.
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
