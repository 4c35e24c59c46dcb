//! Share of customers' wishes that is met while machines come and go.
//!
//! A customer's key with a positive weight is a wish to have the nearest value of its name on the same node. A negative
//! weight is a wish to have it on another node. The amount at stake is the weight times the proximity of the nearest
//! value on any node: a value that exists nowhere can be neither joined nor avoided. A machine's own key does not count
//! for it.

use std::collections::BTreeMap;

use crate::{CompiledKey, Fleet};
use htools_model::proximity;

/// Weight times days: the amount of wishes at stake, and the part that was met.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct WishShare {
    /// Amount at stake.
    pub at_stake: f64,
    /// Amount met.
    pub kept: f64,
}

impl WishShare {
    /// The share that was met, from 0 to 1; `None` if nothing was at stake.
    pub fn share(&self) -> Option<f64> {
        (self.at_stake > 0.0).then(|| (self.kept / self.at_stake).clamp(0.0, 1.0))
    }

    fn add(&mut self, other: WishShare, times: f64) {
        self.at_stake += other.at_stake * times;
        self.kept += other.kept * times;
    }
}

/// Wishes met so far, by name of the keys.
pub(super) struct KeptWishes(BTreeMap<String, NamedKeys>);

/// All keys of one name.
#[derive(Default)]
struct NamedKeys {
    /// Sorted by value, then by node.
    groups: Vec<KeyGroup>,
    /// Time since which the state has been the same.
    since: f64,
    /// Wishes met at present: to be together, and to be apart.
    now: [WishShare; 2],
    /// Wishes met before that time.
    before: [WishShare; 2],
}

/// Proximity of the nearest value of a key, from 0 (far) to 1 (equal): on the same node, and on any node.
struct Nearness {
    here: f64,
    anywhere: f64,
}

/// The keys of one name and value on one node.
struct KeyGroup {
    value: f64,
    node: usize,
    /// True if the node itself has the key.
    of_node: bool,
    /// The weights that machines give to it, with the number of machines.
    weights: Vec<(f64, u32)>,
}

impl KeptWishes {
    /// The keys of the nodes themselves that wishes are compared with.
    pub(super) fn of(fleet: &Fleet) -> KeptWishes {
        let mut kept = KeptWishes(BTreeMap::new());
        for (at, node) in fleet.nodes.iter().enumerate().filter(|(_, node)| node.running) {
            for key in node.keys.iter().filter(|key| key.name.starts_with('_')) {
                kept.0.entry(key.name.clone()).or_default().group(key.value, at).of_node = true;
            }
        }
        kept
    }

    /// Records the start of a machine with these keys.
    pub(super) fn start(&mut self, node: usize, keys: &[CompiledKey], now: f64) {
        for key in keys {
            let named = self.0.entry(key.name.clone()).or_default();
            named.settle(now);
            let group = named.group(key.value, node);
            match group.weights.iter_mut().find(|(weight, _)| weight.total_cmp(&key.weight).is_eq()) {
                Some((_, count)) => *count += 1,
                None => group.weights.push((key.weight, 1)),
            }
            named.recompute();
        }
    }

    /// Records the stop of a machine with these keys.
    pub(super) fn stop(&mut self, node: usize, keys: &[CompiledKey], now: f64) {
        for key in keys {
            let Some(named) = self.0.get_mut(&key.name) else { continue };
            named.settle(now);
            let group = named.group(key.value, node);
            if let Some((_, count)) =
                group.weights.iter_mut().find(|(weight, _)| weight.total_cmp(&key.weight).is_eq())
            {
                *count -= 1;
            }
            group.weights.retain(|(_, count)| *count > 0);
            named.groups.retain(|group| !group.weights.is_empty() || group.of_node);
            named.recompute();
        }
    }

    /// Wishes met until now: to be together, and to be apart.
    pub(super) fn until(&mut self, now: f64) -> [WishShare; 2] {
        let mut all = [WishShare::default(); 2];
        for named in self.0.values_mut() {
            named.settle(now);
            all.iter_mut().zip(named.before).for_each(|(all, share)| all.add(share, 1.0));
        }
        all
    }
}

impl NamedKeys {
    /// The group of a value on a node, added if it is missing.
    fn group(&mut self, value: f64, node: usize) -> &mut KeyGroup {
        let place =
            self.groups.binary_search_by(|group| group.value.total_cmp(&value).then(group.node.cmp(&node)));
        let at = place.unwrap_or_else(|at| {
            let new = KeyGroup { value, node, of_node: false, weights: Vec::new() };
            self.groups.insert(at, new);
            at
        });
        &mut self.groups[at]
    }

    /// Accounts for the time since the last change.
    fn settle(&mut self, now: f64) {
        let times = now - self.since;
        self.before.iter_mut().zip(self.now).for_each(|(before, now)| before.add(now, times));
        self.since = now;
    }

    /// Recomputes the wishes that are met at present.
    fn recompute(&mut self) {
        let mut now = [WishShare::default(); 2];
        for at in 0..self.groups.len() {
            let Nearness { here, anywhere } = self.nearness(at);
            for (weight, count) in &self.groups[at].weights {
                let weight = weight * f64::from(*count);
                let (sum, kept) =
                    if weight > 0.0 { (&mut now[0], here) } else { (&mut now[1], anywhere - here) };
                sum.add(WishShare { at_stake: anywhere, kept }, weight.abs());
            }
        }
        self.now = now;
    }

    /// Returns the proximity of the value nearest to that of a machine in a group.
    fn nearness(&self, at: usize) -> Nearness {
        let group = &self.groups[at];
        if group.of_node || group.weights.iter().map(|(_, count)| count).sum::<u32>() > 1 {
            return Nearness { here: 1.0, anywhere: 1.0 };
        }
        let (below, above) = (&self.groups[..at], &self.groups[at + 1..]);
        let near = |other: &KeyGroup| proximity(other.value, group.value);
        // Values only get farther away in either direction.
        let nearest = |other: Option<&KeyGroup>| other.map_or(0.0, near);
        let anywhere = nearest(below.last()).max(nearest(above.first()));
        let on_node = |other: &&KeyGroup| other.node == group.node || near(other) == 0.0;
        let on_this =
            |other: Option<&KeyGroup>| other.filter(|other| other.node == group.node).map_or(0.0, near);
        let here = on_this(below.iter().rev().find(on_node)).max(on_this(above.iter().find(on_node)));
        Nearness { here, anywhere }
    }
}
