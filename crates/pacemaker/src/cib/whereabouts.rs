//! Where primitives run, by what their operations left on each host.

use super::super::index::HostIdx;
use super::super::score::AllocationScore;
use super::super::working_set::{Resource, RunCondition, SeveralPolicy};
use super::Reader;
use super::failures::{PastOutcome, outcome};
use super::history::Trace;
use super::migrations::HistoryPlace;
use super::on_fail::{FailureRules, OnFail};

/// A live migration of which the end is not known.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sending {
    from: HostIdx,
    to: HostIdx,
}

/// Where a primitive runs, and what its failures did to it.
#[derive(Debug, Default)]
pub(super) struct RunPlaces {
    /// Where it runs, and how, in the order of the status.
    pub(super) active: Vec<(HostIdx, RunCondition)>,
    /// Where it may not run any more.
    pub(super) banned: Vec<HostIdx>,
    /// Where it could not be stopped.
    pub(super) unstopped: Vec<HostIdx>,
    /// Whether it may not run any more, and, if it is an instance, all of its clone.
    pub(super) stopped: bool,
    /// Whether nobody touches it any more.
    pub(super) blocked: bool,
    /// How many hosts on which it runs were known when that was found out.
    known_before_block: usize,
    /// How it was sent, if it is not known that it arrived.
    pub(super) sent: Option<Sending>,
    /// The host that told first where it runs.
    known_by: Option<HostIdx>,
    /// Where something is left of it that is to be stopped.
    pub(super) left: Vec<HostIdx>,
    /// Where a failure is ignored, so that it does not count how often it failed.
    pub(super) forgiven: Vec<HostIdx>,
    /// Where its parameters were changed since its last failure, so that failures there do not count any more.
    pub(super) changed_since: Vec<HostIdx>,
}

impl RunPlaces {
    /// Whether what is known comes from what a live migration left somewhere else.
    pub(super) fn are_guessed(&self) -> bool {
        let is_supposed = |(_, condition): &(HostIdx, RunCondition)| *condition == RunCondition::Supposed;
        self.sent.is_some() || !self.left.is_empty() || self.active.iter().any(is_supposed)
    }

    /// Notes how it runs on a host; what it is only supposed to do is outweighed by anything.
    fn suppose(&mut self, host: HostIdx, condition: RunCondition) {
        match self.active.iter_mut().find(|(other, _)| *other == host) {
            Some(_) if condition == RunCondition::Supposed => {}
            Some((_, known)) => *known = condition,
            None => self.active.push((host, condition)),
        }
    }

    /// What was sent and need not have arrived goes on if its source is left. Without one, it is started anew where it may be.
    fn settle_sent(&mut self, is_lost: impl Fn(HostIdx) -> bool) {
        let Some(Sending { from, to }) = self.sent.take_if(|sent| !is_lost(sent.from)) else { return };
        let position = |host: HostIdx| self.active.iter().position(|(other, _)| *other == host);
        match (position(from), position(to)) {
            (Some(_), Some(_)) => self.sent = Some(Sending { from, to }),
            (None, Some(to)) => self.active[to].1 = RunCondition::Failed,
            (_, None) => {}
        }
    }
}

/// Why a clone is outside of which an instance was migrated and has not come to its end.
pub(super) const UNDER_WAY: &str = "a live migration that has not come to its end";

impl Reader<'_, '_> {
    /// What the operations of a primitive say, and which failures are forgotten: those of a host on which none is counted.
    fn remembered(&self, name: &str, rules: &FailureRules<'_>) -> Vec<(HostIdx, Trace)> {
        let records = self.records_of(name).iter();
        let mut traces: Vec<_> = records.map(|record| (record.host, record.history.trace.clone())).collect();
        let Some(after) = rules.timeout else { return traces };
        for (host, trace) in &mut traces {
            let Trace::Troubled(operations) = trace else { continue };
            let mut counts = self.failures_of(name, rules).filter(|failed| failed.host == *host);
            if !counts.any(|failed| failed.score > AllocationScore::ZERO) {
                for operation in operations.iter_mut() {
                    let end = operation.changed.map(|at| at.saturating_add(after));
                    operation.forgotten =
                        operation.has_failed() && end.is_some_and(|end| end <= self.clock.seconds());
                }
            }
        }
        traces
    }

    /// Where a primitive runs, by what the status calls it; whether it is managed, also after it was blocked on another
    /// one, is asked. On a host that is offline, only if it was lost. Hosts on which it failed so that they have to be fenced, or
    /// to be in standby, are so from now on.
    pub(super) fn whereabouts(
        &mut self,
        name: &str,
        rules: &FailureRules<'_>,
        managed_on: impl Fn(bool) -> bool,
        reasons: &mut Vec<&'static str>,
    ) -> RunPlaces {
        let mut places = RunPlaces::default();
        let mut traces = self.remembered(name, rules);
        let turn = |host: HostIdx| self.set.status_order.iter().position(|other| *other == host);
        traces.sort_by_cached_key(|(host, _)| turn(*host));
        for (host, trace) in &traces {
            let state = self.set.host(*host).state;
            let is_known = state.online || state.unclean;
            let managed = managed_on(places.blocked);
            match trace {
                Trace::Active(_) if is_known => places.suppose(*host, RunCondition::Sound),
                Trace::Active(_) if self.set.fencing => {
                    self.doubt(*host, managed);
                    places.suppose(*host, RunCondition::Sound);
                }
                Trace::Active(_) | Trace::Inactive(_) => {}
                Trace::Troubled(operations) if is_known || self.set.fencing => {
                    let here = HistoryPlace {
                        name: &self.set.host(*host).name,
                        can_be_fenced: self.set.can_fence(*host),
                        other: &|other| self.other_end(name, &traces, other),
                    };
                    let past = outcome(operations, rules, self.set.fencing, managed, &here);
                    self.note_trouble(&mut places, *host, past, managed, reasons);
                }
                Trace::Troubled(_) => {}
            }
        }
        places.settle_sent(|host| self.set.host(host).state.unclean);
        places
    }

    /// A host on which something runs, by its operations, though it was shut down, has to be fenced before that may run elsewhere;
    /// unless nobody manages it there.
    fn doubt(&mut self, host: HostIdx, managed: bool) {
        let state = &mut self.set.hosts[host.get()].state;
        state.unclean |= managed && !state.maintenance;
    }

    /// Notes what operations on a host came to, for the resource and for the host.
    fn note_trouble(
        &mut self,
        places: &mut RunPlaces,
        host: HostIdx,
        mut past: PastOutcome,
        managed: bool,
        reasons: &mut Vec<&'static str>,
    ) {
        let fencing = self.set.fencing;
        let state = self.set.host(host).state;
        let is_known = state.online || state.unclean;
        // what was on a lost host is gone with it; a guest node that has to be restarted is there until then
        let is_gone = !state.online && !self.is_running_guest(host);
        let state = &mut self.set.hosts[host.get()].state;
        if is_gone && past.on_fail == OnFail::Block && !past.untouchable {
            past.on_fail = OnFail::Restart;
        }
        state.unclean |= fencing && past.on_fail == OnFail::Fence;
        state.standby |= past.on_fail == OnFail::Standby;
        if !is_known && fencing && past.active {
            self.doubt(host, managed);
        }
        let state = self.set.host(host).state;
        if !places.blocked {
            places.known_before_block = places.active.len();
        }
        let is_lost = state.unclean;
        let is_there = is_known || fencing;
        let was_known = !places.active.is_empty();
        places.sent = places.sent.or(past.sent.map(|to| Sending { from: host, to }));
        places.left.extend((past.left && is_there).then_some(host));
        // what had begun on a lost host may have come to its end
        places.left.extend(past.begun.filter(|to| is_lost && self.set.host(*to).state.online));
        for other in &past.elsewhere {
            // what was on a lost host is known by the host alone
            if self.set.host(*other).state.online {
                places.suppose(*other, RunCondition::Supposed);
            }
        }
        if past.active && is_there {
            places.suppose(host, past.condition());
        }
        if !was_known && !places.active.is_empty() {
            places.known_by = Some(host);
        }
        places.blocked |= past.untouchable || (past.active && past.on_fail == OnFail::Block);
        places.stopped |= past.stopped;
        places.forgiven.extend(past.ignored.then_some(host));
        places.unstopped.extend(past.unstopped.then_some(host));
        if past.banned_everywhere {
            places.banned.extend(self.set.host_indices());
        } else if past.banned {
            places.banned.push(host);
        }
        past.beyond.into_iter().for_each(|reason| add_reason(reasons, reason));
    }

    /// Notes in a primitive where it runs. What runs on several hosts is stopped on all of them, unless nobody manages it or its
    /// `multiple-active` says otherwise.
    pub(super) fn settle_on(&self, resource: &mut Resource, places: &RunPlaces, several: Option<&str>) {
        let is_active = |host: &HostIdx| places.active.iter().any(|(other, _)| other == host);
        resource.left_on = places.left.iter().copied().filter(|host| !is_active(host)).collect();
        resource.known_by = places.known_by;
        let active = &places.active;
        let Some((first, condition)) = active.first().copied() else { return };
        (resource.active, resource.condition) = (Some(first), condition);
        resource.also_on = active.iter().skip(1).map(|(host, _)| *host).collect();
        if !resource.runs_twice() {
            return;
        }
        let is_all = |sent: &Sending| resource.active == Some(sent.to) && resource.also_on == [sent.from];
        resource.sent_to = places.sent.filter(is_all).map(|sent| sent.to);
        let in_maintenance = |host: HostIdx| self.set.host(host).state.maintenance;
        let unmanaged =
            if resource.managed { resource.active_hosts().position(in_maintenance) } else { Some(0) };
        let blocked = places.blocked.then_some(places.known_before_block);
        let is_managed = unmanaged.into_iter().chain(blocked).all(|position| position > 1);
        let word = several.filter(|_| is_managed).unwrap_or_default().to_ascii_lowercase();
        let blocks = word == "block";
        let from = [unmanaged, blocked, blocks.then_some(2)].into_iter().flatten().min();
        resource.kept_on = resource.active_hosts().skip(from.unwrap_or_default()).collect();
        if let Some(to) = resource.sent_to {
            // what was sent and need not have arrived runs on its source first
            resource.active = resource.also_on.pop();
            resource.also_on.push(to);
        }
        resource.managed &= !blocks;
        resource.if_several = match word.as_str() {
            "stop_unexpected" => SeveralPolicy::StopOthers,
            "stop_only" => SeveralPolicy::StopAll,
            _ => SeveralPolicy::Restart,
        };
        // a failure on a lost host is over with the host
        let is_online = |place: &&(HostIdx, RunCondition)| self.set.host(place.0).state.online;
        let counts = |place: &&(HostIdx, RunCondition)| {
            is_online(place) || !active.iter().any(|place| is_online(&place))
        };
        let is = |known: &[RunCondition]| {
            active.iter().filter(counts).all(|(_, condition)| known.contains(condition))
        };
        resource.condition = if blocks || places.blocked {
            RunCondition::Blocked
        } else if is(&[RunCondition::Supposed]) {
            RunCondition::Supposed
        } else if is(&[RunCondition::Sound, RunCondition::Supposed]) {
            RunCondition::Sound
        } else {
            RunCondition::Failed
        };
    }
}

/// Adds why something is outside, once.
pub(super) fn add_reason(reasons: &mut Vec<&'static str>, reason: &'static str) {
    if !reasons.contains(&reason) {
        reasons.push(reason);
    }
}
