//! Guest nodes and remote nodes of which only the list of nodes, or only the status, is left.

use roxmltree::Node;

use super::super::index::HostIdx;
use super::super::number::is_true;
use super::super::working_set::Host;
use super::Reader;
use super::document::{child, children, id};
use super::history::{NameMark, RecordedState};
use super::orphans::unsupported;

const NO_MEMBER: &str = "a node that is no member of the cluster";

/// Reason why a resource is not supported.
const UNSETTLED: &str = "it failed on a remote node that no resource connects to";

/// Attributes that close a node, or ask for its fencing.
const CLOSING: [&str; 4] = ["standby", "maintenance", "shutdown", "terminate"];

impl<'a, 'i> Reader<'a, 'i> {
    /// The status of a remote node of the list of nodes that no resource connects to, if it counts: with fencing.
    pub(super) fn stray_state(&self, name: &str) -> Option<Node<'a, 'i>> {
        let status = child(self.root, "status").filter(|_| self.set.fencing);
        let mut states = status.into_iter().flat_map(|status| children(status, "node_state"));
        states.find(|state| state.attribute("uname") == Some(name))
    }

    /// The host for a remote node of the list of nodes that no resource connects to, and its status if that counts. Other
    /// nodes that are no members are not supported, nor are attributes that close such a node.
    pub(super) fn stray(
        &mut self,
        node: Node<'a, 'i>,
        name: &str,
        state: Option<Node<'a, 'i>>,
    ) -> Option<Host> {
        let own = self.properties(node, "instance_attributes");
        let transient = state.and_then(|state| child(state, "transient_attributes"));
        let transient = transient
            .map(|parent| self.properties(parent, "instance_attributes").last_first())
            .unwrap_or_default();
        let is_plain =
            CLOSING.iter().all(|name| state.is_none() || own.get(name).or(transient.get(name)).is_none());
        let status = child(self.root, "status");
        let mut states = status.into_iter().flat_map(|status| children(status, "node_state"));
        let is_other = |state: Node<'_, '_>| {
            let names = [state.attribute("id"), state.attribute("uname")];
            let is_its_own = names == [Some(name); 2] && state.attribute("remote_node").is_some_and(is_true);
            names.contains(&Some(name)) && !is_its_own
        };
        let is_remote = node.attribute("type") == Some("remote") && id(node) == name;
        if !self.follows_guests || !is_remote || !is_plain || states.any(is_other) {
            self.report_unsupported(node, NO_MEMBER);
            return None;
        }
        let host = Host { id: name.to_owned(), name: name.to_owned(), stray: true, ..Host::default() };
        self.strays.push(node);
        Some(self.described(host, Some(node), &own, &transient))
    }

    /// Returns true if anything runs on a host by its status. What failed there, or did not end, is not supported on a
    /// remote node without a connection.
    pub(super) fn is_active_by_status(&mut self, host: HostIdx) -> bool {
        let mut is_active = false;
        let mut unsettled: Vec<&str> = Vec::new();
        for (name, records) in &self.records {
            for record in records.iter().filter(|record| record.host == host) {
                is_active |= matches!(record.history.recorded_state, RecordedState::Active(_));
                let is_unsettled = matches!(record.history.recorded_state, RecordedState::Unsettled(_));
                unsettled.extend(is_unsettled.then_some(*name));
            }
        }
        unsettled.sort_unstable();
        self.set.unsupported.extend(unsettled.into_iter().map(|name| unsupported(name, UNSETTLED)));
        is_active
    }

    /// Returns true if the status has a history of a resource, whatever its outcome.
    pub(super) fn is_recorded(&self, name: &str) -> bool {
        let mark = NameMark::of(name.as_bytes());
        !self.records_of(name).is_empty() || self.idle.iter().any(|idle| idle.names().contains(&mark))
    }

    /// Reports the states of nodes that are gone, and nodes without a connection, if the status has a history of the
    /// connection, whatever its outcome: Pacemaker still knows the connection then. It forgets the other states.
    pub(super) fn name_leftovers(&mut self) {
        for state in std::mem::take(&mut self.leftover_states) {
            if !self.follows_guests || self.is_recorded(id(state)) {
                self.report_unsupported(state, "a remote or guest node");
            }
        }
        for node in std::mem::take(&mut self.strays) {
            if self.is_recorded(id(node)) {
                self.report_unsupported(node, NO_MEMBER);
            }
        }
    }
}
