//! Where primitives run, by what their operations left on each host.

use super::super::index::HostIdx;
use super::super::score::AllocationScore;
use super::super::working_set::{HostState, RunCondition};
use super::Reader;
use super::failures::outcome;
use super::history::{KeptOperation, Trace};
use super::on_fail::{FailureRules, OnFail};

/// Where a primitive runs, and what its failures did to it.
#[derive(Debug, Default)]
pub(super) struct RunPlaces {
    /// Where it runs, and how.
    pub(super) active: Vec<(HostIdx, RunCondition)>,
    /// Where it may not run any more.
    pub(super) banned: Vec<HostIdx>,
    /// Where it could not be stopped.
    pub(super) unstopped: Vec<HostIdx>,
    /// Whether it may not run any more, and, if it is an instance, all of its clone.
    pub(super) stopped: bool,
    /// Whether nobody touches it any more.
    pub(super) blocked: bool,
    /// Where a failure is ignored, so that it does not count how often it failed.
    pub(super) forgiven: Vec<HostIdx>,
}

/// Why a resource is outside whose live migration has not come to its end.
const UNDER_WAY: &str = "a live migration that has not come to its end";

impl Reader<'_, '_> {
    /// Whether a live migration of a resource, of which its source knows, came to its end on its target: what does not know of it
    /// there may run in part.
    fn has_arrived(&self, name: &str, operations: &[KeptOperation], rules: &FailureRules<'_>) -> bool {
        let mut targets = operations.iter().filter(|of| of.name == "migrate_to").map(|of| of.target.as_str());
        let traces = self.traces.get(name);
        targets.all(|target| {
            traces.into_iter().flatten().any(|(host, trace)| {
                let is_there = |kept: &[KeptOperation]| outcome(kept, rules, self.set.fencing, true).arrived;
                self.set.host(*host).name == target
                    && matches!(trace, Trace::Troubled(kept) if is_there(kept))
            })
        })
    }

    /// What the operations of a primitive say, and which failures are forgotten: those of a host on which none is counted.
    fn remembered(&self, name: &str, rules: &FailureRules<'_>) -> Vec<(HostIdx, Trace)> {
        let mut traces = self.traces.get(name).cloned().unwrap_or_default();
        let Some(after) = rules.timeout else { return traces };
        for (host, trace) in &mut traces {
            let Trace::Troubled(operations) = trace else { continue };
            let mut counts = self.failures_of(name, rules).filter(|(other, _)| other == host);
            if !counts.any(|(_, count)| count > AllocationScore::ZERO) {
                for of in operations.iter_mut() {
                    let end = of.changed.map(|at| at.saturating_add(after));
                    of.forgotten = of.has_failed() && end.is_some_and(|end| end <= self.clock.seconds());
                }
            }
        }
        traces
    }

    /// Where a primitive runs, by what the status calls it. On a host that is offline, only if it was lost. Hosts on which it
    /// failed so that they have to be fenced, or to be in standby, are so from now on.
    pub(super) fn whereabouts(
        &mut self,
        name: &str,
        rules: &FailureRules<'_>,
        managed_on: impl Fn(HostState) -> bool,
        reasons: &mut Vec<&'static str>,
    ) -> RunPlaces {
        let mut places = RunPlaces::default();
        let fencing = self.set.fencing;
        let traces = self.remembered(name, rules);
        for (host, trace) in &traces {
            if let Trace::Troubled(operations) = trace
                && (!self.has_arrived(name, operations, rules)
                    || outcome(operations, rules, fencing, true).under_way)
            {
                add_reason(reasons, UNDER_WAY);
            }
            let state = &mut self.set.hosts[host.get()].state;
            let is_known = state.online || state.unclean;
            match trace {
                Trace::Inactive => {}
                Trace::Active if is_known => places.active.push((*host, RunCondition::Sound)),
                Trace::Active => {}
                Trace::Troubled(operations) if is_known || fencing => {
                    let mut past = outcome(operations, rules, fencing, managed_on(*state));
                    // what was on a lost host is gone with it
                    if !state.online && past.on_fail == OnFail::Block && !past.untouchable {
                        past.on_fail = OnFail::Restart;
                    }
                    state.unclean |= fencing && (past.on_fail == OnFail::Fence || !is_known && past.failed());
                    state.standby |= past.on_fail == OnFail::Standby;
                    if past.active && (is_known || state.unclean) {
                        places.active.push((*host, past.condition()));
                    }
                    places.blocked |= past.untouchable || (past.active && past.on_fail == OnFail::Block);
                    if past.ignored {
                        places.forgiven.push(*host);
                    }
                    if past.banned_everywhere {
                        places.banned.extend((0..self.set.hosts.len()).map(HostIdx::new));
                    } else if past.banned {
                        places.banned.push(*host);
                    }
                    places.stopped |= past.stopped;
                    if past.unstopped {
                        places.unstopped.push(*host);
                    }
                    past.beyond.into_iter().for_each(|reason| add_reason(reasons, reason));
                }
                Trace::Troubled(_) => {}
            }
        }
        places.active.dedup_by_key(|(host, _)| *host);
        places
    }
}

/// Adds why something is outside, once.
pub(super) fn add_reason(reasons: &mut Vec<&'static str>, reason: &'static str) {
    if !reasons.contains(&reason) {
        reasons.push(reason);
    }
}
