//! Comparison of hosts for a resource, and choice of the best one.

use std::cmp::Ordering;

use super::capacity::Capacities;
use super::index::HostIdx;
use super::score::{AllocationScore, ScoreTable};
use super::working_set::{Host, Strategy, WorkingSet};

/// State that the order of hosts depends on while resources are placed.
pub struct Preference {
    strategy: Strategy,
    /// By host; true if it can run resources.
    available: Vec<bool>,
    /// Capacity that each host has left.
    pub free: Vec<Capacities>,
    /// Number of resources placed on each host.
    pub placed: Vec<usize>,
}

/// The best host, and whether it depends on the order in which hosts were examined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BestHost {
    /// The host.
    pub host: HostIdx,
    /// True if another host would be chosen in another order of hosts.
    pub order_dependent: bool,
}

/// The host with the most free capacity.
pub(super) struct MostFree {
    pub(super) host: HostIdx,
    /// All hosts that could be found if hosts were examined in another order.
    pub(super) possible: Vec<HostIdx>,
}

impl Preference {
    /// The state before anything is placed.
    pub fn new(set: &WorkingSet, strategy: Strategy) -> Preference {
        let available = set.hosts.iter().map(Host::can_run);
        let (available, placed) = (available.collect(), vec![0; set.hosts.len()]);
        Preference { strategy, available, free: set.room(), placed }
    }

    /// Sets whether a guest node can run resources.
    pub(super) fn settle_guest(&mut self, guest: HostIdx, available: bool) {
        self.available[guest.get()] = available;
    }

    /// Score for comparisons: minus infinity if the host cannot run anything.
    fn score(&self, table: &ScoreTable, host: HostIdx) -> AllocationScore {
        if self.available[host.get()] { table.or_never(host) } else { AllocationScore::MINUS_INFINITY }
    }

    /// `Less` if the first host is to be preferred. Two hosts are never equal.
    fn compare(&self, table: &ScoreTable, active: Option<HostIdx>, one: HostIdx, other: HostIdx) -> Ordering {
        let by_score = self.score(table, other).cmp(&self.score(table, one));
        by_score.then_with(|| self.compare_equal(active, one, other))
    }

    /// Compares two hosts with the same score.
    fn compare_equal(&self, active: Option<HostIdx>, one: HostIdx, other: HostIdx) -> Ordering {
        let by_name = || one.cmp(&other);
        if self.strategy == Strategy::Minimal {
            return by_name();
        }
        let by_room = || match self.strategy {
            Strategy::Balanced => self.compare_room(other, one),
            _ => Ordering::Equal,
        };
        let by_count = || self.placed[one.get()].cmp(&self.placed[other.get()]);
        let by_presence = || (active == Some(other)).cmp(&(active == Some(one)));
        by_room().then_with(by_count).then_with(by_presence).then_with(by_name)
    }

    /// Compares the free capacity of two hosts.
    fn compare_room(&self, one: HostIdx, other: HostIdx) -> Ordering {
        self.free[one.get()].compare(&self.free[other.get()])
    }

    /// Sorts hosts, the best first. Free capacity is not a transitive order, so the result may depend on the order
    /// given.
    pub(super) fn sorted(
        &self,
        hosts: Vec<HostIdx>,
        table: &ScoreTable,
        active: Option<HostIdx>,
    ) -> Vec<HostIdx> {
        merge_sorted(hosts, &|one, other| self.compare(table, active, one, other))
    }

    /// The best host of a table.
    pub fn best(&self, table: &ScoreTable, active: Option<HostIdx>) -> Option<BestHost> {
        let hosts = || table.iter().map(|(host, _)| host);
        let top = hosts().map(|host| self.score(table, host)).max()?;
        let equal: Vec<HostIdx> = hosts().filter(|host| self.score(table, *host) == top).collect();
        let better = |one, other| self.compare_equal(active, one, other).is_lt();
        let first =
            equal.iter().copied().reduce(|best, host| if better(host, best) { host } else { best })?;
        // Free capacity is not a transitive order, so no host may be better than all others.
        let beaten = |host: &HostIdx| *host == first || better(first, *host);
        if self.strategy != Strategy::Balanced || equal.iter().all(beaten) {
            return Some(BestHost { host: first, order_dependent: false });
        }
        let host = *self.sorted(hosts().collect(), table, active).first()?;
        Some(BestHost { host, order_dependent: true })
    }

    /// The host with the most free capacity among `hosts`.
    pub(super) fn most_free(&self, hosts: &[HostIdx]) -> Option<MostFree> {
        let more = |one: HostIdx, other: HostIdx| self.compare_room(one, other).is_gt();
        let most = hosts.iter().copied().reduce(|most, host| if more(host, most) { host } else { most })?;
        let beats_some = |host: HostIdx| hosts.iter().any(|other| more(host, *other));
        let is_beaten = |host: HostIdx| hosts.iter().any(|other| more(*other, host));
        let beats_all = hosts.iter().all(|other| *other == most || more(most, *other));
        let possible =
            |host: &HostIdx| *host == most || (!beats_all && (beats_some(*host) || !is_beaten(*host)));
        Some(MostFree { host: most, possible: hosts.iter().copied().filter(possible).collect() })
    }
}

/// Merge sort whose first half is the shorter one. The algorithm matters, as the result of a comparison that is not
/// transitive depends on it.
fn merge_sorted<T: Copy>(list: Vec<T>, compare: &impl Fn(T, T) -> Ordering) -> Vec<T> {
    if list.len() < 2 {
        return list;
    }
    let (first, second) = list.split_at(list.len() / 2);
    let first = merge_sorted(first.to_vec(), compare);
    let second = merge_sorted(second.to_vec(), compare);
    let mut merged = Vec::with_capacity(list.len());
    let (mut i, mut j) = (0, 0);
    while i < first.len() && j < second.len() {
        if compare(first[i], second[j]).is_le() {
            merged.push(first[i]);
            i += 1;
        } else {
            merged.push(second[j]);
            j += 1;
        }
    }
    merged.extend(&first[i..]);
    merged.extend(&second[j..]);
    merged
}
