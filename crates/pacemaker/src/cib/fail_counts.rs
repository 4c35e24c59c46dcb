//! Fail counts of resources, and the hosts from which these ban them.

use super::super::index::HostIdx;
use super::super::number::leading;
use super::super::score::{AllocationScore, HostScore};
use super::Reader;
use super::feature_set::FeatureSet;
use super::on_fail::FailureRules;
use super::run_places::RunPlaces;

/// Number of failures of a resource on a host.
pub(super) struct FailCount {
    host: HostIdx,
    count: AllocationScore,
    /// Time of the last failure, in seconds since 1970; 0 if unknown.
    last: i64,
}

impl Reader<'_, '_> {
    /// Counts the failures in the attributes of hosts: `fail-count-NAME#OPERATION`, and `last-failure-NAME#OPERATION`
    /// for the time of the last one. Clusters older than [`FeatureSet::COUNTS_BY_OPERATION`] name no operation.
    pub(super) fn count_failures(&mut self, hosts: impl IntoIterator<Item = HostIdx>) {
        let by_operation = self.feature_set() >= FeatureSet::COUNTS_BY_OPERATION;
        for host in hosts {
            for (attribute, value) in &self.set.host(host).attributes {
                let counts = attribute.strip_prefix("fail-count-");
                let Some(rest) = counts.or_else(|| attribute.strip_prefix("last-failure-")) else { continue };
                let name = if by_operation {
                    rest.rsplit_once('#')
                        .filter(|(_, operation)| is_operation(operation))
                        .map(|(name, _)| name)
                } else {
                    Some(rest)
                };
                let Some(name) = name else { continue };
                let all = self.failures.entry(name.to_owned()).or_default();
                if all.last().is_none_or(|last| last.host != host) {
                    all.push(FailCount { host, count: AllocationScore::ZERO, last: 0 });
                }
                let Some(count) = all.last_mut() else { continue };
                if counts.is_some() {
                    count.count = count.count.plus(AllocationScore::parse(value).unwrap_or_default());
                } else {
                    count.last = count.last.max(leading(value).unwrap_or(0));
                }
            }
        }
    }

    /// Fail counts of a resource by host, without expired ones.
    pub(super) fn failures_of(
        &self,
        name: &str,
        rules: &FailureRules<'_>,
    ) -> impl Iterator<Item = HostScore> {
        let is_over = move |count: &&FailCount| {
            rules.timeout.is_some_and(|after| {
                count.last > 0 && count.last.saturating_add(after) < self.clock.seconds()
            })
        };
        let all = self.failures.get(name).into_iter().flatten();
        all.filter(move |count| !is_over(count))
            .map(|count| HostScore { host: count.host, score: count.count })
    }

    /// Hosts from which failures ban a primitive, with its fail counts.
    pub(super) fn banned_from(
        &self,
        name: &str,
        threshold: AllocationScore,
        rules: &FailureRules<'_>,
        place: &RunPlaces,
    ) -> Vec<HostScore> {
        let counts = self.counted_failures(name, rules, place);
        let mut banned = if place.forgiven.is_empty() { failed_on(counts, threshold) } else { Vec::new() };
        banned.extend(self.bans(place));
        banned
    }

    /// Fail counts of a primitive without those from before a change of its parameters.
    pub(super) fn counted_failures(
        &self,
        name: &str,
        rules: &FailureRules<'_>,
        place: &RunPlaces,
    ) -> impl Iterator<Item = HostScore> {
        let counts = |failed: &HostScore| !place.changed_since.contains(&failed.host);
        self.failures_of(name, rules).filter(counts)
    }

    /// Hosts from which a primitive is banned whatever its fail counts.
    pub(super) fn bans(&self, place: &RunPlaces) -> Vec<HostScore> {
        let everywhere = place.stopped.then(|| self.set.host_indices()).into_iter().flatten();
        let hosts = place.banned.iter().chain(&place.unstopped).copied().chain(everywhere);
        hosts.map(|host| HostScore { host, score: AllocationScore::INFINITY }).collect()
    }
}

/// Hosts on which a primitive has reached its migration threshold. With 0 there is none; one below 0 is reached by the
/// first failure.
pub(super) fn failed_on(
    failures: impl Iterator<Item = HostScore>,
    threshold: AllocationScore,
) -> Vec<HostScore> {
    let is_reached = |failed: &HostScore| failed.score > AllocationScore::ZERO && failed.score >= threshold;
    failures.filter(|failed| threshold != AllocationScore::ZERO && is_reached(failed)).collect()
}

/// Returns true for the name of an operation with its interval: `monitor_10000`.
fn is_operation(text: &str) -> bool {
    let parts = text.rsplit_once('_');
    parts.is_some_and(|(name, interval)| {
        !name.is_empty() && !interval.is_empty() && interval.bytes().all(|byte| byte.is_ascii_digit())
    })
}
