//! Hosts of primitives, by the results of their operations on each host.

use super::super::index::HostIdx;
use super::super::score::AllocationScore;
use super::super::working_set::{MultipleActivePolicy, Resource, RunCondition};
use super::failures::{PastOutcome, outcome};
use super::history::RecordedState;
use super::migrations::HistoryPlace;
use super::on_fail::{FailureRules, OnFail};
use super::{HostRecord, Reader};

/// A live migration whose end is not known.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sending {
    from: HostIdx,
    to: HostIdx,
}

/// Roles of a primitive by its operations.
#[derive(Debug, Default)]
pub(super) struct PastRoles {
    /// Hosts on which it runs in the promoted role.
    pub(super) promoted: Vec<HostIdx>,
    /// Hosts on which a failure demotes it.
    pub(super) demoted: Vec<HostIdx>,
    /// Hosts on which it could not be promoted.
    pub(super) failed_promotion: Vec<HostIdx>,
}

/// Hosts of a primitive, and effects of its failures.
#[derive(Debug, Default)]
pub(super) struct RunPlaces {
    /// Hosts on which it runs, with its condition there, in status order.
    pub(super) active: Vec<(HostIdx, RunCondition)>,
    /// Hosts from which it is banned.
    pub(super) banned: Vec<HostIdx>,
    /// Hosts on which it could not be stopped.
    pub(super) unstopped: Vec<HostIdx>,
    /// Its roles.
    pub(super) roles: PastRoles,
    /// True if it must stay down, and with it the whole clone, if it is an instance.
    pub(super) stopped: bool,
    /// True if it must be left alone.
    pub(super) blocked: bool,
    /// Number of hosts known to run it when it was blocked.
    known_before_block: usize,
    /// Its live migration, if the arrival is not known.
    pub(super) sent: Option<Sending>,
    /// The host that first told where it runs.
    known_by: Option<HostIdx>,
    /// Hosts with remains of it that must be stopped.
    pub(super) left: Vec<HostIdx>,
    /// Hosts on which a failure is ignored, so that its fail counts are, too.
    pub(super) forgiven: Vec<HostIdx>,
    /// Hosts on which failures no longer count, as its parameters were changed after the last one.
    pub(super) changed_since: Vec<HostIdx>,
    /// Hosts on which it failed so that its container must restart.
    pub(super) failed_inside: Vec<HostIdx>,
}

impl RunPlaces {
    /// Returns true if the hosts are uncertain after a live migration.
    pub(super) fn are_guessed(&self) -> bool {
        let is_supposed = |(_, condition): &(HostIdx, RunCondition)| *condition == RunCondition::Supposed;
        self.sent.is_some() || !self.left.is_empty() || self.active.iter().any(is_supposed)
    }

    /// Notes its condition on a host; any other condition outweighs `Supposed`.
    fn suppose(&mut self, host: HostIdx, condition: RunCondition) {
        match self.active.iter_mut().find(|(other, _)| *other == host) {
            Some(_) if condition == RunCondition::Supposed => {}
            Some((_, known)) => *known = condition,
            None => self.active.push((host, condition)),
        }
    }

    /// Settles a migration whose arrival is not known. It goes on if the source still runs the resource. Otherwise, the
    /// resource is restarted where it may have arrived.
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

/// Reason why a clone is not supported while an instance migrates.
pub(super) const UNDER_WAY: &str = "a live migration that has not come to its end";

/// Reason why a clone or a resource on several nodes is not supported: with this option, Pacemaker also restarts
/// resources that did not change.
pub(super) const REMOVES_AFTER_STOP: &str = "with remove-after-stop, it is not known what else restarts";

/// Reason why a resource is not supported.
const ON_NO_NODE: &str = "an operation on a node that is not there";

/// Reason why a resource is not supported: Pacemaker no longer uses the remote node.
const FAILED_BEHIND: &str = "it failed on a remote node whose connection failed, without fencing";

/// Reason why a clone is not supported: Pacemaker counts its instances in another way.
pub(super) const INSTANCE_BEHIND: &str =
    "an instance on a remote node whose connection failed, without fencing";

impl Reader<'_, '_> {
    /// Operations of a primitive by host. Expired failures are marked as forgotten, if none is counted on the host.
    fn remembered(&self, name: &str, rules: &FailureRules<'_>) -> Vec<(HostIdx, RecordedState)> {
        let records = self.records_of(name).iter();
        let mut recorded_states: Vec<_> =
            records.map(|record| (record.host, record.history.recorded_state.clone())).collect();
        let Some(after) = rules.timeout else { return recorded_states };
        for (host, recorded_state) in &mut recorded_states {
            let RecordedState::Unsettled(operations) = recorded_state else { continue };
            let mut counts = self.failures_of(name, rules).filter(|failed| failed.host == *host);
            if !counts.any(|failed| failed.score > AllocationScore::ZERO) {
                for operation in operations.iter_mut() {
                    let end = operation.changed.map(|at| at.saturating_add(after));
                    operation.forgotten =
                        operation.has_failed() && end.is_some_and(|end| end <= self.clock.seconds());
                }
            }
        }
        recorded_states
    }

    /// Finds the hosts of a primitive, by its name in the status. `managed_on` tells if it is managed, given that a host
    /// before makes it untouchable or not: it is blocked there, or that host is in maintenance. An offline host counts
    /// only if it was lost. Hosts that must be fenced or go to standby because of its failures are marked so.
    pub(super) fn find_run_places(
        &mut self,
        name: &str,
        rules: &FailureRules<'_>,
        managed_on: impl Fn(bool) -> bool,
        reasons: &mut Vec<&'static str>,
    ) -> RunPlaces {
        let mut places = RunPlaces::default();
        let is_unknown = |record: &HostRecord<'_>| {
            record.history.on_nodes.iter().any(|name| !self.hosts.contains_key(name))
        };
        if self.records_of(name).iter().any(is_unknown) && self.operations_name_hosts() {
            add_reason(reasons, ON_NO_NODE);
        }
        let mut recorded_states = self.remembered(name, rules);
        let turn = |host: HostIdx| self.set.status_order.iter().position(|other| *other == host);
        recorded_states.sort_by_cached_key(|(host, _)| turn(*host));
        for (host, recorded_state) in &recorded_states {
            let state = self.set.host(*host).state;
            let is_known = state.online || state.unclean || self.is_reached(*host);
            let managed = managed_on(places.blocked || self.is_in_maintenance(&places));
            match recorded_state {
                RecordedState::Active(_) if is_known => places.suppose(*host, RunCondition::Sound),
                RecordedState::Active(_) if self.set.fencing => {
                    self.mark_for_fencing(*host, managed);
                    places.suppose(*host, RunCondition::Sound);
                }
                RecordedState::Active(_) | RecordedState::Inactive(_) => {}
                RecordedState::Unsettled(operations) if is_known || self.set.fencing => {
                    let here = HistoryPlace {
                        name: &self.set.host(*host).name,
                        can_be_fenced: self.set.can_fence(*host),
                        keeps_forgotten: self.set.release.keeps_forgotten_stops(),
                        other: &|other| self.other_end(name, &recorded_states, other),
                    };
                    let past = outcome(operations, rules, self.set.fencing, managed, &here);
                    self.note_trouble(&mut places, *host, past, managed, reasons);
                }
                RecordedState::Unsettled(_) => {}
            }
        }
        places.settle_sent(|host| self.set.host(host).state.unclean);
        places
    }

    /// Returns true if any operation names a host of the cluster as its own. In a document whose hosts have got other names,
    /// none does.
    fn operations_name_hosts(&self) -> bool {
        *self.operations_name_hosts.get_or_init(|| {
            let mut names =
                self.records.values().flatten().flat_map(|record: &HostRecord<'_>| &record.history.on_nodes);
            names.any(|name| self.hosts.contains_key(name))
        })
    }

    /// Marks a host for fencing if something runs there by its operations, although it was shut down. The resource may
    /// run elsewhere only after that. Unmanaged resources have no such effect.
    fn mark_for_fencing(&mut self, host: HostIdx, managed: bool) {
        let state = &mut self.set.hosts[host.get()].state;
        state.unclean |= managed && !state.maintenance;
    }

    /// Notes the outcome of operations on a host, for the resource and for the host.
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
        let is_known = state.online || state.unclean || self.is_reached(host);
        // Resources on a lost host are gone with it. A guest node that must be restarted exists until then.
        let is_kept = self.is_running_guest(host) || self.is_guest_node(host);
        let is_gone = self.unclean_by_state.contains(&host) || !state.online && !is_kept;
        if self.is_cut_off(host) && past.active && past.condition() == RunCondition::Failed {
            add_reason(reasons, FAILED_BEHIND);
        }
        let state = &mut self.set.hosts[host.get()].state;
        if is_gone && past.on_fail == OnFail::Block && !past.untouchable {
            past.on_fail = OnFail::Restart;
        }
        state.unclean |= fencing && past.on_fail == OnFail::Fence;
        state.standby |= past.on_fail == OnFail::Standby;
        if !is_known && fencing && past.active {
            self.mark_for_fencing(host, managed);
        }
        // A failed resource can be stopped only by fencing if nobody touches the connection to its node.
        let fails_behind = past.active && past.condition() == RunCondition::Failed && managed;
        if fencing && fails_behind && self.is_remote_node(host) {
            let state = &mut self.set.hosts[host.get()].state;
            state.unclean |= !state.online && state.maintenance;
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
        // A migration that had begun on a lost host may have come to its end.
        places.left.extend(past.begun.filter(|to| is_lost && self.set.host(*to).state.online));
        for other in &past.elsewhere {
            // Only a lost host knows what ran on it.
            if self.set.host(*other).state.online {
                places.suppose(*other, RunCondition::Supposed);
            }
        }
        if past.active && is_there {
            places.suppose(host, past.condition());
            places.roles.promoted.extend(past.promoted.then_some(host));
            places.roles.demoted.extend((past.on_fail == OnFail::Demote).then_some(host));
        }
        places.roles.failed_promotion.extend(past.failed_promotion.then_some(host));
        if !was_known && !places.active.is_empty() {
            places.known_by = Some(host);
        }
        places.blocked |= past.untouchable || (past.active && past.on_fail == OnFail::Block);
        places.stopped |= past.stopped;
        places.failed_inside.extend((past.on_fail == OnFail::RestartContainer).then_some(host));
        places.forgiven.extend(past.ignored.then_some(host));
        places.unstopped.extend(past.unstopped.then_some(host));
        if past.banned_everywhere {
            places.banned.extend(self.set.host_indices());
        } else if past.banned {
            places.banned.push(host);
        }
        past.unsupported.into_iter().for_each(|reason| add_reason(reasons, reason));
    }

    /// Returns true if a resource runs on a host in maintenance.
    pub(super) fn is_in_maintenance(&self, places: &RunPlaces) -> bool {
        places.active.iter().any(|(host, _)| self.set.host(*host).state.maintenance)
    }

    /// Sets the hosts of a primitive. If it runs on several, it is stopped on all of them, unless it is unmanaged or
    /// its `multiple-active` says otherwise.
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
        let said = several.unwrap_or_default().to_ascii_lowercase();
        resource.never_restarts = matches!(said.as_str(), "block" | "stop_only");
        let word = if is_managed { said } else { String::new() };
        let blocks = word == "block";
        let from = [unmanaged, blocked, blocks.then_some(2)].into_iter().flatten().min();
        resource.kept_on = resource.active_hosts().skip(from.unwrap_or_default()).collect();
        if let Some(to) = resource.sent_to {
            // If it is not known to have arrived, its source comes first.
            resource.active = resource.also_on.pop();
            resource.also_on.push(to);
        }
        resource.managed &= !blocks;
        resource.multiple_active = match word.as_str() {
            "stop_unexpected" => MultipleActivePolicy::StopOthers,
            "stop_only" => MultipleActivePolicy::StopAll,
            _ => MultipleActivePolicy::Restart,
        };
        // A failure on a lost host is over with the host.
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

/// Adds a reason, unless it is already there.
pub(super) fn add_reason(reasons: &mut Vec<&'static str>, reason: &'static str) {
    if !reasons.contains(&reason) {
        reasons.push(reason);
    }
}
