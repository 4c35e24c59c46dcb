//! Guest nodes and remote nodes of which only the list of nodes, or only the status, is left.

use roxmltree::Node;

use super::super::working_set::Host;
use super::Reader;
use super::document::{child, children, id};
use super::history::NameMark;

const NO_MEMBER: &str = "a node that is no member of the cluster";

impl<'a, 'i> Reader<'a, 'i> {
    /// The host for a remote node of the list of nodes that no resource connects to. If the status has it, it is not
    /// supported: what ran there may count.
    pub(super) fn stray(&mut self, node: Node<'a, 'i>, name: &str) -> Option<Host> {
        let status = child(self.root, "status");
        let mut states = status.into_iter().flat_map(|status| children(status, "node_state"));
        let is_known =
            states.any(|state| [state.attribute("id"), state.attribute("uname")].contains(&Some(name)));
        if is_known || !self.follows_guests || node.attribute("type") != Some("remote") || id(node) != name {
            self.report_unsupported(node, NO_MEMBER);
            return None;
        }
        let own = self.properties(node, "instance_attributes");
        let host = Host { id: name.to_owned(), name: name.to_owned(), stray: true, ..Host::default() };
        self.strays.push(node);
        Some(self.described(host, Some(node), &own, &own))
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
