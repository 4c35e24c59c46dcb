//! Prices of migrations and of places, and the value of a host under them.
//!
//! A migration of a machine is a departure from one host and an arrival at another one. If departures and arrivals
//! of each shape need not agree, and the number of migrations has a price instead of a limit, hosts are independent
//! (Lagrangian relaxation). The best content of one host is then found by dynamic programming over its free CPUs.
//! Memory and deployment sets are ignored here.

use crate::space::{Content, Space, Units, cell};

#[derive(Debug, Clone)]
pub struct Prices {
    /// Price of a migration, in useful blocks; not negative.
    pub migration: f64,
    /// Paid to a host for taking a machine, and by a host for giving one away; by shape, any number.
    pub place: Vec<f64>,
}

/// Most that free units on a host are worth, if machines may only arrive.
#[derive(Clone, Copy)]
struct Filled {
    value: f64,
    /// Slot of the first machine to take, or none if nothing should arrive.
    slot: Option<usize>,
}

/// Values of hosts under given prices.
pub struct Values<'a> {
    pub space: &'a Space,
    pub prices: &'a Prices,
    filled: Vec<Filled>,
}

/// The best that one host can do.
pub struct Best {
    /// Useful blocks, what is paid for arrivals, less what departures cost.
    pub value: f64,
    /// Departures less arrivals, by shape.
    pub balance: Vec<f64>,
    pub departures: f64,
}

impl<'a> Values<'a> {
    pub fn new(space: &'a Space, prices: &'a Prices) -> Values<'a> {
        let mut filled: Vec<Filled> = Vec::with_capacity(space.side * space.side);
        for first in 0..space.side {
            for second in 0..space.side {
                let free = [first, second];
                let mut best = Filled { value: count(space.blocks(free)), slot: None };
                for (index, slot) in space.slots.iter().enumerate() {
                    let Some(rest) = less(free, slot.units) else { continue };
                    let value = filled[cell(space.side, rest)].value + prices.place[slot.shape];
                    if value > best.value {
                        best = Filled { value, slot: Some(index) };
                    }
                }
                filled.push(best);
            }
        }
        Values { space, prices, filled }
    }

    /// Price that a host pays for a departure.
    pub fn departure(&self, slot: usize) -> f64 {
        self.prices.migration + self.prices.place[self.space.slots[slot].shape]
    }

    /// Best value of a host by its free units, if the given machines (by slot) may leave it and any may arrive.
    pub fn table(&self, movable: &[u16]) -> Vec<f64> {
        let mut table = self.filled.iter().map(|filled| filled.value).collect::<Vec<_>>();
        self.depart(movable, &mut table, |_, _| ());
        table
    }

    /// The best that one host can do, with its machines' departures and arrivals.
    pub fn best(&self, content: &Content) -> Best {
        let side = self.space.side;
        let mut table = self.filled.iter().map(|filled| filled.value).collect::<Vec<_>>();
        let mut taken = Vec::new();
        let mut stages = Vec::new();
        self.depart(&content.movable, &mut table, |slot, leaves| {
            stages.push(slot);
            taken.extend_from_slice(leaves);
        });
        let mut free = content.free;
        let value = table[cell(side, free)];
        let mut balance = vec![0.0; self.space.shapes.len()];
        let mut departures = 0.0;
        for (&slot, leaves) in stages.iter().zip(taken.chunks(table.len())).rev() {
            if leaves[cell(side, free)] {
                let slot = &self.space.slots[slot];
                free = more(free, slot.units);
                balance[slot.shape] += 1.0;
                departures += 1.0;
            }
        }
        while let Some(slot) = self.filled[cell(side, free)].slot {
            let slot = &self.space.slots[slot];
            balance[slot.shape] -= 1.0;
            free = less(free, slot.units).unwrap_or_default();
        }
        Best { value, balance, departures }
    }

    /// Lets the machines leave where it pays, one after the other; `after` gets the slot of each, and in which
    /// cells it leaves.
    fn depart(&self, movable: &[u16], table: &mut [f64], mut after: impl FnMut(usize, &[bool])) {
        let side = self.space.side;
        let mut leaves = vec![false; table.len()];
        for (index, &number) in movable.iter().enumerate() {
            let cost = self.departure(index);
            let units = self.space.slots[index].units;
            for _ in 0..number {
                leaves.fill(false);
                // ascending: the cells with more free units still have the values without this machine
                for first in 0..side.saturating_sub(units[0]) {
                    for second in 0..side.saturating_sub(units[1]) {
                        let free = [first, second];
                        let here = cell(side, free);
                        let value = table[cell(side, more(free, units))] - cost;
                        if value > table[here] {
                            table[here] = value;
                            leaves[here] = true;
                        }
                    }
                }
                after(index, &leaves);
            }
        }
    }
}

fn more(free: Units, units: Units) -> Units {
    [free[0] + units[0], free[1] + units[1]]
}

/// Free units after an arrival, or `None` if there are too few.
pub fn less(free: Units, units: Units) -> Option<Units> {
    Some([free[0].checked_sub(units[0])?, free[1].checked_sub(units[1])?])
}

/// A number of blocks as a value; exact for any table that fits into memory.
pub fn count(number: usize) -> f64 {
    f64::from(u32::try_from(number).unwrap_or(u32::MAX))
}
