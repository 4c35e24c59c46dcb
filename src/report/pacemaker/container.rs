//! The order in which crm_simulate shows kinds of capacity: that of the slots of GLib's hash table. It affects the
//! output only, not the placement.

use crate::pacemaker::AttributeIdx;

/// Divisors of the hashes by number of slots, which is a power of two from 8 on.
const PRIMES: [u32; 12] = [7, 13, 31, 61, 127, 251, 509, 1021, 2039, 4093, 8191, 16381];

/// Kinds of capacity by slot.
#[derive(Debug, Clone)]
pub(super) struct Container<'a> {
    slots: Vec<Option<(&'a str, AttributeIdx)>>,
    prime: usize,
    count: usize,
}

impl Default for Container<'_> {
    fn default() -> Self {
        Container { slots: vec![None; 8], prime: 0, count: 0 }
    }
}

impl<'a> Container<'a> {
    /// Adds a kind, if it is missing.
    pub(super) fn insert(&mut self, name: &'a str, kind: AttributeIdx) {
        let slot = self.slot(name);
        if self.slots[slot].is_some() {
            return;
        }
        self.slots[slot] = Some((name, kind));
        self.count += 1;
        // GLib keeps a sixteenth of the slots free.
        if self.slots.len() <= self.count + self.count / 16 && self.prime + 1 < PRIMES.len() {
            self.grow();
        }
    }

    /// The kinds by slot.
    pub(super) fn kinds(&self) -> Vec<AttributeIdx> {
        self.slots.iter().flatten().map(|(_, kind)| *kind).collect()
    }

    /// The slot of a name, or the one where it would be.
    fn slot(&self, name: &str) -> usize {
        let mut slot = (hash(name).wrapping_mul(11) % PRIMES[self.prime]) as usize;
        let mut step = 0;
        while self.slots[slot].is_some_and(|(other, _)| other != name) {
            step += 1;
            slot = (slot + step) % self.slots.len();
        }
        slot
    }

    fn grow(&mut self) {
        let more = vec![None; self.slots.len() * 2];
        let old = std::mem::replace(&mut self.slots, more);
        self.prime += 1;
        for (name, kind) in old.into_iter().flatten() {
            let slot = self.slot(name);
            self.slots[slot] = Some((name, kind));
        }
    }
}

/// The sum of a text's bytes, in which each byte weighs 31 times as much as the next one.
fn hash(name: &str) -> u32 {
    name.bytes().fold(0, |sum: u32, byte| sum.wrapping_mul(31).wrapping_add(u32::from(byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_that_crm_simulate_shows() {
        let names = ["zeta", "cpu", "memory", "alpha", "aaa", "zzz"];
        let mut container = Container::default();
        names.iter().enumerate().for_each(|(at, name)| container.insert(name, AttributeIdx::new(at)));
        let shown: Vec<&str> = container.kinds().iter().map(|kind| names[kind.get()]).collect();
        assert_eq!(shown, ["zeta", "cpu", "zzz", "aaa", "alpha", "memory"]);
    }

    #[test]
    fn many_kinds_find_room() {
        let names: Vec<String> = (0..20_000).map(|at| format!("kind{at}")).collect();
        let mut container = Container::default();
        for (at, name) in names.iter().enumerate().take(12_000) {
            container.insert(name, AttributeIdx::new(at));
        }
        assert_eq!(container.kinds().len(), 12_000);
    }
}
