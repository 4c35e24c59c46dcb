//! Which of two hosts is better for a resource, and which is best of all.

use std::cmp::Ordering;

use super::capacity::Capacities;
use super::index::HostIdx;
use super::score::{AllocationScore, ScoreTable};
use super::working_set::{Host, Strategy, WorkingSet};

/// What the order of hosts hangs on while resources are placed.
pub struct Preference {
    strategy: Strategy,
    /// By host, whether it can run resources.
    available: Vec<bool>,
    /// What each host has left.
    pub free: Vec<Capacities>,
    /// How many resources were placed on it.
    pub placed: Vec<usize>,
}

/// The best host, and whether it is only so because of the order in which hosts were looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BestHost {
    /// The host.
    pub host: HostIdx,
    /// True if another host would be chosen in another order of hosts.
    pub order_dependent: bool,
}

/// The host with the most left.
pub(super) struct MostFree {
    pub(super) host: HostIdx,
    /// All that it could be if hosts were looked at in another order.
    pub(super) possible: Vec<HostIdx>,
}

impl Preference {
    /// All hosts as they are before anything is placed.
    pub fn new(set: &WorkingSet, strategy: Strategy) -> Preference {
        let available = set.hosts.iter().map(Host::can_run);
        let (available, placed) = (available.collect(), vec![0; set.hosts.len()]);
        Preference { strategy, available, free: set.room(), placed }
    }

    /// A guest node can run resources, as its machine has a place, or not.
    pub(super) fn settle_guest(&mut self, guest: HostIdx, available: bool) {
        self.available[guest.get()] = available;
    }

    /// The score that counts when hosts are compared: no host that cannot run anything has a better one than never.
    fn score(&self, table: &ScoreTable, host: HostIdx) -> AllocationScore {
        if self.available[host.get()] { table.or_never(host) } else { AllocationScore::MINUS_INFINITY }
    }

    /// `Less` if the first host is to be preferred. Two hosts are never equal.
    fn compare(&self, table: &ScoreTable, active: Option<HostIdx>, one: HostIdx, other: HostIdx) -> Ordering {
        let by_score = self.score(table, other).cmp(&self.score(table, one));
        by_score.then_with(|| self.compare_equal(active, one, other))
    }

    /// The same for two hosts of the same score.
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

    /// Which of two hosts has more left.
    fn compare_room(&self, one: HostIdx, other: HostIdx) -> Ordering {
        self.free[one.get()].compare(&self.free[other.get()])
    }

    /// The same hosts, the best first. Where free capacity goes in circles, that hangs on the order in which they are.
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
        // free capacity can go in circles, in which nobody is better than all others
        let beaten = |host: &HostIdx| *host == first || better(first, *host);
        if self.strategy != Strategy::Balanced || equal.iter().all(beaten) {
            return Some(BestHost { host: first, order_dependent: false });
        }
        let host = *self.sorted(hosts().collect(), table, active).first()?;
        Some(BestHost { host, order_dependent: true })
    }

    /// The host with the most left of some.
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

/// Sorts by merging halves, the first of which is the shorter one: with a comparison that goes in circles the
/// result depends on how one sorts.
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
