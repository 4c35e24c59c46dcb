//! Guest and remote nodes whose connection still runs, but is no longer configured. Pacemaker stops what runs there, then
//! the connection, and then the VM.

use std::collections::HashMap;

use roxmltree::Node;

use super::super::index::{HostIdx, ResourceIdx};
use super::super::working_set::{GuestParts, Host, HostState, RunCondition, StartOrder};
use super::Reader;
use super::document::{child, children, id};
use super::guests::GuestDraft;
use super::history::{self, RecordedState, ResourceHistory};
use super::orphans::unsupported;
use super::resources::{CONNECTION, GUEST};
use super::value_rules::AgentKind;

/// Reason why a connection is not supported.
const UNCLEAR: &str = "the connection to a node that is no longer configured, and that does not just run";

/// A node whose connection is no longer configured.
#[derive(Debug, Clone)]
pub(super) struct RemovedNode<'a, 'i> {
    /// Its name, and that of the connection.
    name: &'a str,
    /// The VM that is the node; `None` for a remote node.
    machine: Option<String>,
    /// Its element in the list of nodes.
    element: Option<Node<'a, 'i>>,
    /// Its element in the status.
    state: Option<Node<'a, 'i>>,
}

impl<'a> RemovedNode<'a, '_> {
    /// Returns true if an element of the list of nodes is this node.
    pub(super) fn is(&self, node: Node<'a, '_>) -> bool {
        node.attribute("type") == Some("remote") && node.attribute("uname") == Some(self.name)
    }

    fn id(&self) -> &'a str {
        self.element.map_or(self.name, id)
    }

    /// The names of the connection and of the VM.
    fn parts(&self) -> impl Iterator<Item = &str> {
        [Some(self.name), self.machine.as_deref()].into_iter().flatten()
    }
}

impl<'a, 'i> Reader<'a, 'i> {
    /// Finds the removed nodes by the histories of their connections. Those of bundles are read elsewhere.
    pub(super) fn find_removed_nodes(&self, guests: &[GuestDraft<'a, 'i>]) -> Vec<RemovedNode<'a, 'i>> {
        let mut removed: Vec<RemovedNode<'a, 'i>> = Vec::new();
        if !self.follows_guests {
            return removed;
        }
        let nodes = || self.section("nodes").into_iter().flat_map(|nodes| children(nodes, "node"));
        for (name, machine) in self.running_connections() {
            let is_guest = || guests.iter().any(|guest| guest.name == name);
            let is_member = || {
                nodes().any(|node| {
                    node.attribute("type") != Some("remote")
                        && [node.attribute("uname"), node.attribute("id")].contains(&Some(name))
                })
            };
            let is_known = removed.iter().any(|other| other.name == name);
            if is_known
                || is_guest()
                || is_member()
                || self.is_replica(name)
                || self.is_in_configuration(name)
            {
                continue;
            }
            let mut one = RemovedNode { name, machine, element: None, state: None };
            one.element = nodes().find(|node| one.is(*node));
            removed.push(one);
        }
        removed
    }

    /// Names of the connections that run, or may, in the order of the status, with the VMs that their nodes are.
    fn running_connections(&self) -> Vec<(&'a str, Option<String>)> {
        let status = child(self.root, "status");
        let mut found = Vec::new();
        let mut note = |name: &'a str, history: &ResourceHistory| {
            let may_run = !matches!(history.recorded_state, RecordedState::Inactive(_));
            if may_run && history.agent.eq_ignore_ascii_case(CONNECTION) {
                found.push((name, Some(history.container.clone()).filter(|name| !name.is_empty())));
            }
        };
        for state in status.into_iter().flat_map(|status| children(status, "node_state")) {
            let taken = history::list(state).and_then(|list| self.taken.get(&list.range().start));
            let taken = taken.into_iter().flat_map(|taken| &taken.histories);
            taken.for_each(|(name, history)| note(name, history));
            history::histories_of(state, "remote").iter().for_each(|(name, history)| note(name, history));
        }
        found
    }

    /// Returns true if the configuration has a primitive or a guest node with this name, or a bundle that may have it.
    fn is_in_configuration(&self, name: &str) -> bool {
        let section = self.section("resources");
        section.into_iter().flat_map(|section| section.descendants()).any(|node| {
            match node.tag_name().name() {
                "primitive" => id(node) == name.rsplit_once(':').map_or(name, |(inner, _)| inner),
                "nvpair" => node.attribute("name") == Some(GUEST) && node.attribute("value") == Some(name),
                "bundle" => name.starts_with(&format!("{}-", id(node))),
                _ => false,
            }
        })
    }

    /// Returns true for the name of a removed node.
    pub(super) fn is_removed(&self, name: &str) -> bool {
        self.removed.iter().any(|removed| removed.name == name)
    }

    /// The id of a removed node that the status has with an id or name.
    pub(super) fn id_of_removed(&self, id: &str, name: &str) -> Option<&'a str> {
        self.removed.iter().find(|removed| removed.id() == id || removed.name == name).map(RemovedNode::id)
    }

    /// The hosts for removed nodes.
    pub(super) fn removed_hosts(&mut self, states: &HashMap<&'a str, Node<'a, 'i>>) -> Vec<Host> {
        let host = |removed: &mut RemovedNode<'a, 'i>| {
            removed.state = states.get(removed.id()).copied();
            let (id, name) = (removed.id().to_owned(), removed.name.to_owned());
            Host { id, name, removed: true, listed: removed.element.is_some(), ..Host::default() }
        };
        self.removed.iter_mut().map(host).collect()
    }

    /// Finds the states of removed nodes. Connections and VMs that do not simply run on a node that is up are not
    /// supported, nor are those that stay.
    pub(super) fn settle_removed_nodes(&mut self) {
        for removed in self.removed.clone() {
            let host = self.hosts[removed.name];
            let defaults = self.defaults_of(AgentKind::parse(CONNECTION));
            let is_managed = self.is_managed(&defaults);
            let runs = removed.parts().filter(|part| !self.just_runs(part)).count() == 0;
            if !runs || !is_managed || self.keeps_orphans || self.set.without_quorum.is_some() {
                self.set.unsupported.push(unsupported(removed.name, UNCLEAR));
            }
            // A node that the status never had counts as lost. Only remote nodes are fenced for that.
            let unclean = self.set.fencing && removed.state.is_none();
            let state = HostState { online: runs, shutting_down: true, unclean, ..HostState::default() };
            self.settle_node(removed.element, host, removed.state, state);
        }
    }

    /// Returns true if a resource that is not configured runs on one node without failures, and that node is up.
    fn just_runs(&mut self, name: &str) -> bool {
        let agent = self.records_of(name).first().map(|record| record.history.agent.clone());
        let rules = self.failure_defaults(AgentKind::parse(&agent.unwrap_or_default()));
        let places = self.find_run_places(name, &rules, |untouchable| !untouchable, &mut Vec::new());
        let [(host, RunCondition::Sound)] = places.active[..] else { return false };
        let state = self.set.host(host).state;
        let is_up = state.online && !state.unclean && !state.maintenance;
        let is_settled = !places.blocked && !places.stopped && !places.are_guessed();
        is_up && is_settled && !self.is_in_configuration(name)
    }

    /// Returns true if the status names a removed node after the nodes that its connection and its VM run on.
    pub(super) fn is_known_in_turn(&self, host: HostIdx) -> bool {
        let Some(removed) = self.removed.iter().find(|one| self.hosts.get(one.name) == Some(&host)) else {
            return false;
        };
        let turn = |host: HostIdx| self.set.status_order.iter().position(|other| *other == host);
        removed.parts().flat_map(|part| self.records_of(part)).all(|record| turn(record.host) < turn(host))
    }

    /// Ties removed nodes to their connections and VMs, once these are read.
    pub(super) fn connect_removed_nodes(&mut self) {
        let named = |reader: &Self, name: &str| -> Option<ResourceIdx> {
            reader.set.resource_indices().find(|one| reader.set.resource(*one).id == name)
        };
        for removed in self.removed.clone() {
            let host: HostIdx = self.hosts[removed.name];
            let Some(connection) = named(self, removed.name) else { continue };
            let machine = removed.machine.as_deref().and_then(|name| named(self, name));
            if let Some(machine) = machine {
                let order = StartOrder::implied(removed.name, machine, connection);
                self.set.orders.push(order);
            }
            let machine = machine.unwrap_or(connection);
            self.set.hosts[host.get()].guest = Some(GuestParts { machine, connection });
        }
    }
}
