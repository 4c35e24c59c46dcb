//! Remote nodes: nodes outside the cluster's membership, to which the cluster connects by a resource with their name.

use std::collections::HashSet;

use roxmltree::Node;

use super::super::index::HostIdx;
use super::super::working_set::{HostState, RunCondition};
use super::Reader;
use super::document::{children, id};
use super::guests::GuestDraft;
use super::history::{KeptOperation, RecordedState};
use super::on_fail::{FailureRules, OnFail, is_first_contact};
use super::properties::Properties;
use super::resources::CONNECTION;
use super::run_places::RunPlaces;
use super::spans::milliseconds;
use super::value_rules::AgentKind;
use htools_ganeti::input::error::Result;

/// The parameter of a connection that delays its next start after a failure.
const RECONNECT: &str = "reconnect_interval";

/// Reason why a connection is not supported: Pacemaker blocks what is to start on the node.
const BLOCKED: &str = "a failed connection that nobody touches, to a node without a status";

/// Effects of a connection's failures.
#[derive(Debug, Clone, Copy, Default)]
struct ConnectionFailures {
    /// It failed on a member of the cluster.
    failed: bool,
    /// The state of the remote node is unknown.
    lost: bool,
    /// Its next start waits, if that is configured.
    waits: bool,
    /// It is restarted or stopped.
    restarts: bool,
    /// It counts as stopped if it is not managed.
    gives_up: bool,
}

impl<'a, 'i> Reader<'a, 'i> {
    /// The ids of connections to remote nodes outside of clones.
    pub(super) fn remote_nodes(&self) -> HashSet<&'a str> {
        let top = self.section("resources").into_iter().flat_map(|section| section.children());
        let primitives = top.flat_map(|top| match top.tag_name().name() {
            "primitive" => vec![top],
            "group" => children(top, "primitive").collect(),
            _ => Vec::new(),
        });
        primitives
            .filter(|node| AgentKind::of(*node, None).text() == CONNECTION)
            .map(|node| id(node))
            .collect()
    }

    /// Finds the state of a remote node by its connection and by its own status. Returns true if the connection runs, in
    /// any condition.
    pub(super) fn find_remote_node(
        &mut self,
        guest: &GuestDraft<'a, 'i>,
        defaults: &Properties<'a>,
    ) -> Result<bool> {
        let host = self.hosts[guest.name];
        let draft = self.draft_machine(guest, defaults)?;
        let managed = draft.resource.managed;
        let rules = &draft.rules;
        let places =
            self.find_run_places(guest.name, rules, |untouchable| managed && !untouchable, &mut Vec::new());
        // The maintenance of the member with the connection does not keep the node from being fenced.
        let is_fenced = managed && !places.blocked;
        let managed = is_fenced && !self.is_in_maintenance(&places);
        let failures = self.connection_failures(guest.name, rules, &places);
        let runs = !places.active.is_empty();
        let state = guest.state.filter(|_| runs || self.set.fencing);
        let is_given_up = (failures.gives_up || places.stopped) && !draft.resource.managed;
        let is_unseen = self.set.fencing && guest.state.is_none() && !is_given_up;
        let found = HostState {
            online: runs && !failures.failed,
            standby: false,
            maintenance: !managed && state.is_some(),
            shutting_down: runs && draft.resource.stopped,
            unclean: is_fenced && self.set.fencing && failures.lost || is_unseen,
            joining: false,
        };
        self.set.hosts[host.get()].reconnects = !runs || is_unseen && !failures.restarts;
        if runs && places.blocked && guest.state.is_none() && !draft.resource.stopped {
            self.report_unsupported(guest.machine, BLOCKED);
        }
        let shuts_down = self.settle_node(guest.element, host, state, found);
        self.set.hosts[host.get()].state.shutting_down |= runs && (shuts_down || is_given_up);
        let waits = failures.waits && self.waits_to_reconnect(guest.machine);
        if shuts_down || waits || is_given_up {
            self.given_up.insert(guest.name);
        }
        Ok(runs)
    }

    pub(super) fn is_remote_node(&self, host: HostIdx) -> bool {
        let name = &self.set.host(host).name;
        self.guests.iter().any(|guest| guest.is_remote && guest.name == name)
    }

    /// Returns true if a host can run resources, as far as is known before placing. A guest or remote node can if its
    /// connection may get a place.
    pub(super) fn may_run(&self, host: HostIdx) -> bool {
        let node = self.set.host(host);
        match self.is_remote_node(host) {
            true => node.lets_run() && (!node.state.unclean || node.reconnects),
            false if self.is_guest_node(host) => node.lets_run(),
            false => node.can_run(),
        }
    }

    pub(super) fn is_guest_node(&self, host: HostIdx) -> bool {
        self.guests.iter().any(|guest| !guest.is_remote && self.hosts.get(guest.name) == Some(&host))
    }

    /// Returns true if the histories of resources on a host count. Those on a remote node without a running connection
    /// do with fencing.
    pub(super) fn is_heard(&self, host: HostIdx) -> bool {
        let node = self.set.host(host);
        node.state.online
            || node.state.unclean
            || self.set.fencing && !node.replica
            || self.is_remote_node(host) && self.is_running_guest(host)
    }

    /// Returns true for a remote node whose resources are known although its connection failed, as nothing is fenced.
    pub(super) fn is_reached(&self, host: HostIdx) -> bool {
        !self.set.fencing && self.is_running_guest(host)
    }

    /// Returns true for a remote node whose connection failed and that is not fenced.
    pub(super) fn is_cut_off(&self, host: HostIdx) -> bool {
        self.is_remote_node(host) && self.is_reached(host) && !self.set.host(host).state.online
    }

    /// Failures of a connection on members of the cluster. A failure on a lost member is over with that member.
    fn connection_failures(
        &self,
        name: &str,
        rules: &FailureRules<'_>,
        places: &RunPlaces,
    ) -> ConnectionFailures {
        let mut failures = ConnectionFailures::default();
        for (host, condition) in &places.active {
            if matches!(condition, RunCondition::Sound | RunCondition::Starting | RunCondition::Supposed) {
                continue;
            }
            let is_up = self.set.host(*host).state.online && !self.unclean_by_state.contains(host);
            let is_lost = self.failed_so(name, *host, |operation| rules.loses_remote_node(operation.key()));
            failures.gives_up |= self.failed_so(name, *host, |operation| !is_first_contact(operation.key()));
            let restarts = self.failed_so(name, *host, |operation| {
                let reaction = rules.of(operation, self.set.fencing);
                reaction <= OnFail::Restart || reaction == OnFail::Stop
            });
            failures.restarts |= restarts && is_up;
            failures.waits |= is_lost;
            failures.failed |= is_up;
            failures.lost |= is_lost && is_up;
        }
        failures
    }

    /// Returns true if a connection has a failed operation of some kind on a host.
    fn failed_so(&self, name: &str, host: HostIdx, is_of_kind: impl Fn(&KeptOperation) -> bool) -> bool {
        let records = self.records_of(name).iter().filter(|record| record.host == host);
        let mut operations = records.flat_map(|record| match &record.history.recorded_state {
            RecordedState::Unsettled(operations) => operations.as_slice(),
            _ => &[],
        });
        operations.any(|operation| operation.has_failed() && is_of_kind(operation))
    }

    /// Returns true if a failed connection is not started again before some time has passed.
    fn waits_to_reconnect(&mut self, connection: Node<'a, 'i>) -> bool {
        let parameters = self.properties(connection, "instance_attributes");
        parameters.get(RECONNECT).is_some_and(|span| milliseconds(span) > 0)
    }
}
