//! Guest nodes: VMs that the cluster runs as resources, and that run resources themselves. Each has a resource that the
//! document does not name: the connection to it.

use std::collections::HashSet;

use roxmltree::Node;

use super::super::index::{HostIdx, ResourceIdx};
use super::super::number::is_true;
use super::super::working_set::{
    GuestParts, HostState, Requirement, Resource, Revision, RunCondition, Unsupported,
};
use super::Reader;
use super::bundles::CONNECTION_TIME_LIMIT;
use super::document::{child, children, id};
use super::history::RecordedState;
use super::on_fail::FailureRules;
use super::properties::Properties;
use super::resources::{CONNECTION, GUEST, Inherited, PrimitiveDraft};
use super::run_places::RunPlaces;
use super::value_rules::AgentKind;
use htools_ganeti::input::error::Result;

/// Treatment of VMs with guest nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GuestReading {
    /// They are hosts. Only unclear cases are not supported.
    Followed,
    /// They are hosts if everything else is supported; otherwise, they are not supported either.
    IfAllIsKnown,
}

/// Reasons why the VM of a guest node is not supported.
const BLOCKED: &str = "the machine of a guest node that nobody touches before somebody has looked at it";
const UNMANAGED: &str = "the machine of a guest node that failed and is not managed";
const PROMOTED_INSIDE: &str = "the machine of a guest node with a promoted resource, which is not managed";
const WITHOUT_VM: &str =
    "the machine of a guest node that does not run, while the connection to it has failed";
const STUCK: &str = "the machine of a guest node to which the connection could not be stopped";

/// Meta attributes of a VM, and the parameters of the connection to its guest node that they are.
const CONNECTION_PARAMETERS: [(&str, &str); 2] = [("remote-addr", "addr"), ("remote-port", "port")];

/// A guest node while it is read.
#[derive(Debug, Clone)]
pub(super) struct GuestDraft<'a, 'i> {
    pub(super) id: &'a str,
    pub(super) name: &'a str,
    /// The primitive that runs the VM. For a remote node, the connection.
    pub(super) machine: Node<'a, 'i>,
    /// The group of that primitive.
    group: Option<Node<'a, 'i>>,
    /// True for a remote node: a node of its own, and no VM of the cluster.
    pub(super) is_remote: bool,
    /// True if the connection may migrate with its VM; `None` if the VM does not say.
    may_migrate: Option<bool>,
    /// Its element in the list of nodes.
    pub(super) element: Option<Node<'a, 'i>>,
    /// Its element in the status.
    pub(super) state: Option<Node<'a, 'i>>,
    /// The connection with its host, once that is known.
    connection: Option<Resource>,
    /// True if the VM and the connection both run, in any condition.
    runs: bool,
}

impl<'a> GuestDraft<'a, '_> {
    /// Returns true if an element of the list of nodes is this guest node.
    pub(super) fn is(&self, node: Node<'a, '_>) -> bool {
        node.attribute("type") == Some("remote") && node.attribute("uname") == Some(self.name)
    }
}

impl<'a, 'i> Reader<'a, 'i> {
    /// Finds the guest nodes that are supported: those of primitives outside of clones, with unique names.
    pub(super) fn find_guests(&mut self) -> Vec<GuestDraft<'a, 'i>> {
        let Some(section) = self.section("resources").filter(|_| self.follows_guests) else {
            return Vec::new();
        };
        let nodes = || self.section("nodes").into_iter().flat_map(|nodes| children(nodes, "node"));
        let is_remote = |node: &Node<'a, 'i>| node.attribute("type") == Some("remote");
        let remote_nodes = self.remote_nodes();
        let mut names: HashSet<&str> = nodes()
            .filter(|node| !is_remote(node))
            .flat_map(|node| [node.attribute("uname"), node.attribute("id")])
            .flatten()
            .collect();
        names.extend(section.descendants().filter_map(|node| node.attribute("id")));
        names.retain(|name| !remote_nodes.contains(name));
        let remote: Vec<Node<'a, 'i>> = nodes().filter(is_remote).collect();
        let mut machines = Vec::new();
        for top in section.children() {
            match top.tag_name().name() {
                "primitive" => machines.push((top, None)),
                "group" => machines.extend(children(top, "primitive").map(|member| (member, Some(top)))),
                _ => {}
            }
        }
        let mut guests = Vec::new();
        // Problems with meta attributes are reported when resources are read.
        let said = self.set.unsupported.len();
        for (machine, group) in machines {
            let metas = self.properties(machine, "meta_attributes");
            let is_own = remote_nodes.contains(id(machine));
            let name = if is_own { Some(id(machine)) } else { metas.get(GUEST) };
            let Some(name) = name.filter(|name| !name.is_empty() && names.insert(name)) else {
                continue;
            };
            let element = remote.iter().find(|node| node.attribute("uname") == Some(name)).copied();
            let id = element.map_or(name, id);
            guests.push(GuestDraft {
                id,
                name,
                machine,
                group,
                is_remote: is_own,
                may_migrate: metas.get("remote-allow-migrate").map(is_true),
                element,
                state: None,
                connection: None,
                runs: false,
            });
        }
        self.set.unsupported.truncate(said);
        guests
    }

    /// Finds the state of guest nodes by the hosts of their VMs and connections.
    pub(super) fn settle_guests(&mut self, defaults: &Properties<'a>) -> Result<()> {
        for at in 0..self.guests.len() {
            let guest = self.guests[at].clone();
            if guest.is_remote {
                self.guests[at].runs = self.find_remote_node(&guest, defaults)?;
                continue;
            }
            let (connection, runs) = self.find_guest(&guest, defaults)?;
            (self.guests[at].connection, self.guests[at].runs) = (Some(connection), runs);
        }
        self.settle_removed_nodes();
        // Containers can run on remote nodes.
        self.settle_bundles(defaults)?;
        let guests = self.guests.iter().map(|guest| self.hosts[guest.name]);
        let is_other = |host: &HostIdx| self.set.host(*host).replica || self.set.host(*host).removed;
        let others = self.set.host_indices().filter(is_other);
        let hosts: Vec<HostIdx> = guests.chain(others).collect();
        // Resources on guest nodes that do not run are known last.
        let mut order = std::mem::take(&mut self.set.status_order);
        order.sort_by_key(|host| hosts.contains(host) && !self.is_running_guest(*host));
        self.set.status_order = order;
        self.count_failures(hosts);
        Ok(())
    }

    /// Returns true for a guest node whose VM and connection run, in any condition.
    pub(super) fn is_running_guest(&self, host: HostIdx) -> bool {
        let is_guest =
            self.guests.iter().any(|guest| guest.runs && self.hosts.get(guest.name) == Some(&host));
        is_guest || self.is_running_replica(host) || self.set.host(host).removed
    }

    /// Finds the state of a guest node. Returns its connection, and whether it runs.
    fn find_guest(
        &mut self,
        guest: &GuestDraft<'a, 'i>,
        defaults: &Properties<'a>,
    ) -> Result<(Resource, bool)> {
        let host = self.hosts[guest.name];
        let draft = self.draft_machine(guest, defaults)?;
        let managed = draft.resource.managed;
        let (name, rules) = (&draft.resource.id, &draft.rules);
        let own = self.properties(guest.machine, "meta_attributes");
        let defaults = self.defaults_of(AgentKind::parse(CONNECTION));
        let bare = self.bare(guest.name, &defaults);
        let machine =
            self.find_run_places(name, rules, |untouchable| managed && !untouchable, &mut Vec::new());
        let connection = Resource {
            agent: CONNECTION.to_owned(),
            // Maintenance of the VM does not affect the connection, nor does what its group says.
            managed: self.is_managed(&defaults) && own.is_not_denied("is-managed"),
            allow_migrate: guest.may_migrate.unwrap_or(bare.allow_migrate),
            requires: Some(Requirement::Quorum),
            ..bare
        };
        let PrimitiveDraft { resource: mut connection, threshold, rules, .. } =
            PrimitiveDraft::new(connection, Vec::new(), defaults, FailureRules::of_connection());
        let linked = connection.managed;
        let mut reasons = Vec::new();
        let places =
            self.find_run_places(guest.name, &rules, |untouchable| linked && !untouchable, &mut reasons);
        reasons.iter().for_each(|reason| self.report_unsupported(guest.machine, reason));
        self.settle_on(&mut connection, &places, None);
        connection.failed_on = self.banned_from(guest.name, threshold, &rules, &places);
        let counts = self.counted_failures(guest.name, &rules, &places).collect();
        self.connection_failures.insert(id(guest.machine), counts);
        connection.revision = self.revision_of_connection(&connection, &draft.metas);
        self.settle_guest(guest, host, [&machine, &places], &mut connection);
        self.name_unclear(guest, managed && linked, [&machine, &places]);
        self.set.hosts[host.get()].state.shutting_down |=
            self.set.host(host).state.online && draft.resource.stopped;
        Ok((connection, [&machine, &places].iter().all(|place| !place.active.is_empty())))
    }

    /// Change of the connection to a guest node since it was started, by the meta attributes of the VM.
    fn revision_of_connection(&self, connection: &Resource, metas: &Properties<'a>) -> Revision {
        let parameters: Vec<(&'static str, String)> = CONNECTION_PARAMETERS
            .iter()
            .filter_map(|(meta, name)| Some((*name, metas.get(meta)?.to_owned())))
            .collect();
        let revision = |host| self.revision_of_implied(connection, &parameters, CONNECTION_TIME_LIMIT, host);
        connection.active_hosts().map(revision).max().unwrap_or_default()
    }

    /// Reads the VM of a guest node. Unsupported parts of it are reported later.
    pub(super) fn draft_machine(
        &mut self,
        guest: &GuestDraft<'a, 'i>,
        defaults: &Properties<'a>,
    ) -> Result<PrimitiveDraft<'a, 'i>> {
        let said = self.set.unsupported.len();
        let metas = match guest.group {
            Some(group) => self.metas(&[group], AgentKind::default()).or(defaults),
            None => Properties::default(),
        };
        let inherited = Inherited { metas, group: None, wholes: guest.group.into_iter().collect() };
        let draft = self.draft_primitive(guest.machine, &inherited)?;
        self.set.unsupported.truncate(said);
        Ok(draft)
    }

    /// Reports the VM of a guest node as unsupported if its future is unclear. This depends on the hosts of the VM and
    /// its connection, and on whether both are managed.
    fn name_unclear(&mut self, guest: &GuestDraft<'a, 'i>, managed: bool, places: [&RunPlaces; 2]) {
        let is_lost = self.set.host(self.hosts[guest.name]).state.unclean
            || places[0].active.is_empty() && !places[1].active.is_empty();
        if is_lost && (!managed || places.iter().any(|place| self.is_in_maintenance(place))) {
            // Pacemaker waits for a fencing that never comes.
            self.report_unsupported(guest.machine, UNMANAGED);
        } else if places[0].blocked {
            self.report_unsupported(guest.machine, BLOCKED);
        } else if places[0].active.is_empty()
            && places[1].active.iter().any(|(_, condition)| *condition == RunCondition::Failed)
        {
            // Pacemaker stops the VM all the same.
            self.report_unsupported(guest.machine, WITHOUT_VM);
        }
        if self.stop_failed(guest.name) {
            self.report_unsupported(guest.machine, STUCK);
        }
    }

    /// Reports the VM of a guest node as unsupported that is not managed, if something failed there so that the node is to be
    /// fenced, or is promoted there.
    fn name_held(&mut self, guest: &GuestDraft<'a, 'i>, host: HostIdx) {
        let is_promoted = |one: &Resource| one.promoted && one.active_hosts().any(|on| on == host);
        let reason = if self.set.host(host).state.unclean {
            UNMANAGED
        } else if self.set.resources.iter().any(is_promoted) {
            PROMOTED_INSIDE
        } else {
            return;
        };
        let is_said = |one: &Unsupported| one.id == id(guest.machine) && one.reason == reason;
        if !self.set.unsupported.iter().any(is_said) {
            self.report_unsupported(guest.machine, reason);
        }
    }

    fn stop_failed(&self, connection: &str) -> bool {
        let mut operations =
            self.records_of(connection).iter().flat_map(|record| match &record.history.recorded_state {
                RecordedState::Unsettled(operations) => operations.as_slice(),
                _ => &[],
            });
        operations.any(|operation| operation.name == "stop" && operation.has_failed())
    }

    /// Sets the state of a guest node by the hosts of its VM and connection, and by its own status.
    fn settle_guest(
        &mut self,
        guest: &GuestDraft<'a, 'i>,
        host: HostIdx,
        places: [&RunPlaces; 2],
        connection: &mut Resource,
    ) {
        // On a member that is to be fenced, a failure does not count.
        let has_failed = |(on, condition): &(HostIdx, RunCondition)| {
            !matches!(condition, RunCondition::Sound | RunCondition::Starting)
                && !self.unclean_by_state.contains(on)
        };
        // Members that must be fenced for failures are found later.
        let is_up = |(host, _): &(HostIdx, RunCondition)| self.set.host(*host).state.online;
        let [machine, link] = places;
        // Pacemaker quirk: a VM on a lost node counts as sound if the connection is elsewhere.
        let holds = !link.active.is_empty() && link.active.iter().all(is_up);
        let unclean = places.iter().any(|place| place.active.iter().any(has_failed))
            || !link.active.iter().all(is_up)
            || !holds && !machine.active.iter().all(is_up);
        let online = !unclean && places.iter().all(|place| !place.active.is_empty());
        // The status of a guest node that is down does not count, unless it may be up after all.
        let is_heard = places.iter().all(|place| !place.active.is_empty()) || self.set.fencing;
        let state = guest.state.filter(|_| is_heard);
        let is_managed = connection.managed && !self.is_in_maintenance(link);
        let maintenance = !is_managed && state.is_some();
        let found = HostState { online, unclean, maintenance, ..HostState::default() };
        if self.settle_node(guest.element, host, state, found) {
            connection.stopped = true;
            self.leaving_guests.insert(host);
        }
    }

    /// Completes a guest or remote node, or one in a container, by its element and its status, if that counts. Returns
    /// true if the node shuts down: it then gives up its connection.
    pub(super) fn settle_node(
        &mut self,
        element: Option<Node<'a, 'i>>,
        host: HostIdx,
        state: Option<Node<'a, 'i>>,
        found: HostState,
    ) -> bool {
        self.set.hosts[host.get()].nameless = element.is_none() && state.is_none();
        let own = element.map(|node| self.properties(node, "instance_attributes")).unwrap_or_default();
        let transient = state.and_then(|state| child(state, "transient_attributes"));
        let transient = transient
            .map(|parent| self.properties(parent, "instance_attributes").last_first())
            .unwrap_or_default();
        let is_set = |name| transient.get(name).or_else(|| own.get(name)).is_some_and(is_true);
        let state_now = HostState {
            // Pacemaker quirk: these count only if the status has the node.
            standby: found.standby || state.is_some() && is_set("standby"),
            maintenance: found.maintenance || state.is_some() && is_set("maintenance"),
            ..found
        };
        let mut node = std::mem::take(&mut self.set.hosts[host.get()]);
        node.state = state_now;
        self.set.hosts[host.get()] = self.described(node, element, &own, &transient);
        self.read_recorded_states(host, state);
        transient.get("shutdown").is_some_and(|since| since != "0")
    }

    pub(super) fn add_connections(&mut self) {
        for at in 0..self.guests.len() {
            let guest = self.guests[at].clone();
            let Some(machine) = self.resources.get(id(guest.machine)).copied() else { continue };
            if guest.is_remote {
                let host = self.hosts[guest.name];
                self.set.hosts[host.get()].guest = Some(GuestParts { machine, connection: machine });
                continue;
            }
            let Some(resource) = self.guests[at].connection.take() else { continue };
            let host = self.hosts[guest.name];
            let connection = ResourceIdx::new(self.set.resources.len());
            self.set.resources.push(resource);
            self.set.hosts[host.get()].guest = Some(GuestParts { machine, connection });
            if self.set.may_manage(connection) {
                self.tie_to_container(connection, machine);
            }
            if ![machine, connection].iter().all(|part| self.set.may_manage(*part)) {
                self.name_held(&guest, host);
            }
        }
    }
}
