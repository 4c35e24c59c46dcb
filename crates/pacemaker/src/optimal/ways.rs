//! Sets of resources that can leave a host to make room for others.

use super::super::index::{HostIdx, ResourceIdx};
use super::chains::Chains;

/// Greatest number of sets of each size that are tried on one host, if more than one resource may be moved elsewhere.
const WIDTH: usize = 10;

impl Chains<'_, '_> {
    /// The sets of resources that can make room for a unit on a host, the smallest first.
    pub(super) fn ways(&mut self, unit: &[ResourceIdx], host: HostIdx) -> Vec<Vec<ResourceIdx>> {
        let Some(blocking) = self.blocking(unit, host).filter(|blocking| blocking.len() <= self.left) else {
            return Vec::new();
        };
        let mut missing = self.missing(unit, host);
        for one in &blocking {
            self.relieve(&mut missing, *one, host);
        }
        if missing.iter().all(|missing| *missing <= 0) {
            return vec![blocking];
        }
        let others: Vec<(i64, ResourceIdx)> = self.candidates(unit, host, &blocking);
        let mut ways: Vec<(i64, Vec<ResourceIdx>)> = Vec::new();
        let helps = |missing: &[i64]| missing.iter().all(|missing| *missing <= 0);
        let more = self.left - blocking.len();
        for (at, (size, one)) in others.iter().enumerate().filter(|_| more > 0) {
            self.draft.steps += 1;
            let mut left = missing.clone();
            self.relieve(&mut left, *one, host);
            if helps(&left) {
                ways.push((*size, vec![*one]));
                continue;
            }
            for (second_size, second) in others[at + 1..].iter().filter(|_| more > 1) {
                let mut left = left.clone();
                self.relieve(&mut left, *second, host);
                if helps(&left) {
                    ways.push((size + second_size, vec![*one, *second]));
                }
            }
        }
        ways.sort_by_key(|(size, out)| (out.len(), *size));
        if more > 1 {
            let (one, two): (Vec<_>, Vec<_>) = ways.into_iter().partition(|(_, out)| out.len() == 1);
            ways = one.into_iter().take(WIDTH).chain(two.into_iter().take(WIDTH)).collect();
        }
        ways.into_iter().map(|(_, out)| blocking.iter().copied().chain(out).collect()).collect()
    }

    /// Resources that must not be near a unit on a host; `None` if one of them cannot go elsewhere.
    fn blocking(&self, unit: &[ResourceIdx], host: HostIdx) -> Option<Vec<ResourceIdx>> {
        let rules = self.draft.rules;
        let mut blocking: Vec<ResourceIdx> = Vec::new();
        for tie in unit.iter().flat_map(|one| &rules.apart[one.get()]) {
            let near = self.draft.host(tie.other).is_some_and(|there| rules.agree(tie.zone, host, there));
            if !near || unit.contains(&tie.other) || blocking.contains(&tie.other) {
                continue;
            }
            // A resource in the same zone but on another host would have to leave that host.
            if rules.allowed[tie.other.get()].is_empty()
                || self.held.contains(&tie.other)
                || self.draft.host(tie.other) != Some(host)
            {
                return None;
            }
            blocking.push(tie.other);
        }
        Some(blocking)
    }

    /// The sets of companions on a host that can go elsewhere: the size and one member of each, the smallest first.
    fn candidates(
        &self,
        unit: &[ResourceIdx],
        host: HostIdx,
        blocking: &[ResourceIdx],
    ) -> Vec<(i64, ResourceIdx)> {
        let rules = self.draft.rules;
        let mut found = Vec::new();
        for one in self.draft.on(host).iter().copied() {
            let companions = self.companions_on(one, host);
            let is_first = companions.iter().min() == Some(&one);
            let is_free = |one: &ResourceIdx| {
                !unit.contains(one) && !self.held.contains(one) && !blocking.contains(one)
            };
            if is_first && companions.iter().all(is_free) {
                found.push((companions.iter().map(|one| rules.size(*one, self.totals)).sum(), one));
            }
        }
        found.sort_unstable();
        found
    }

    /// Subtracts the needs of companions on a host from what is missing there.
    fn relieve(&self, missing: &mut [i64], one: ResourceIdx, host: HostIdx) {
        for member in self.companions_on(one, host) {
            missing
                .iter_mut()
                .zip(self.draft.rules.amounts(member))
                .for_each(|(left, amount)| *left -= amount);
        }
    }
}
