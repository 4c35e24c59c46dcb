//! Reads the nodes and their states.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use roxmltree::Node;

use super::super::index::HostIdx;
use super::super::number::{is_true, leading};
use super::super::score::AllocationScore;
use super::super::working_set::{Host, HostState};
use super::document::{child, children, required, wrong};
use super::feature_set::FeatureSet;
use super::guests::GuestDraft;
use super::history::{self, IdleMarks, NameMark, RecordedState};
use super::properties::{Properties, amount};
use super::{HostRecord, Reader};
use htools_ganeti::input::error::Result;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Membership {
    /// It is a member.
    Joined,
    /// It is about to join.
    Joining,
    /// It is no member, and is not expected to be one.
    Gone,
    /// It should be a member, and must be fenced.
    Lost,
}

impl<'a, 'i> Reader<'a, 'i> {
    /// Reads the hosts in byte-wise order of their names, with their elements in the status.
    pub(super) fn read_hosts(&mut self) -> Result<()> {
        self.bundles = self.find_bundles();
        let mut guests = self.find_guests();
        self.removed = self.find_removed_nodes(&guests);
        let states = self.states(&guests)?;
        let mut hosts: Vec<(Host, Option<Node<'a, 'i>>)> = Vec::new();
        let (mut ids, mut names) = (HashSet::new(), HashSet::new());
        for node in self.section("nodes").into_iter().flat_map(|nodes| children(nodes, "node")) {
            let id = required(self.source, node, "id")?;
            let name = node.attribute("uname").unwrap_or(id);
            if !ids.insert(id) || !names.insert(name) {
                return Err(wrong(self.source, node, "there is another node with this id or name"));
            }
            let state = states.get(id).copied();
            if matches!(node.attribute("type"), Some("remote" | "ping")) {
                let is_removed = self.removed.iter().any(|removed| removed.is(node));
                if !guests.iter().any(|guest| guest.is(node)) && !self.is_replica(name) && !is_removed {
                    let state = self.stray_state(name);
                    hosts.extend(self.stray(node, name, state).map(|host| (host, state)));
                }
                continue;
            }
            hosts.push((self.host(node, id, name, state), state));
        }
        for guest in &mut guests {
            guest.state = states.get(guest.id).copied();
            let host = Host { id: guest.id.to_owned(), name: guest.name.to_owned(), ..Host::default() };
            hosts.push((host, None));
        }
        hosts.extend(self.replica_hosts(&states).into_iter().map(|host| (host, None)));
        hosts.extend(self.removed_hosts(&states).into_iter().map(|host| (host, None)));
        hosts.sort_by(|(one, _), (other, _)| one.name.cmp(&other.name));
        self.idle = vec![IdleMarks::default(); hosts.len()];
        self.guests = guests;
        for (mut host, state) in hosts {
            let here = HostIdx::new(self.set.hosts.len());
            self.hosts.insert(host.name.clone(), here);
            if self.root.attribute("dc-uuid") == Some(host.id.as_str()) {
                self.set.coordinator = Some(here);
            }
            self.read_recorded_states(here, state);
            if host.stray {
                host.state.unclean = self.is_active_by_status(here);
            }
            if host.state.unclean {
                self.unclean_by_state.insert(here);
            }
            self.set.hosts.push(host);
        }
        self.read_status_order();
        Ok(())
    }

    /// Reads the histories of resources on a host.
    pub(super) fn read_recorded_states(&mut self, host: HostIdx, state: Option<Node<'a, 'i>>) {
        let taken = state.and_then(history::list).and_then(|list| self.taken.get(&list.range().start));
        let mut idle = taken.map(|history| history.idle.clone()).unwrap_or_default();
        let (others, other_fencing) = state.map(history::histories).unwrap_or_default();
        self.first_known.extend(taken.iter().flat_map(|history| &history.order));
        let fencing = taken.iter().flat_map(|history| &history.fencing).copied();
        self.past_fencing.extend(fencing.chain(other_fencing).map(|device| (host, device)));
        let taken = taken.into_iter().flat_map(|history| &history.histories);
        let mut ran = Vec::new();
        let taken = taken.map(|(name, history)| (name.as_str(), Cow::Borrowed(history)));
        let others = others.into_iter().map(|(name, history)| (name, Cow::Owned(history)));
        for (position, (name, history)) in taken.chain(others).enumerate() {
            ran.extend(history.ran.map(|when| (NameMark::of(name.as_bytes()), when)));
            match history.recorded_state {
                RecordedState::Inactive(when) => idle.add(name.as_bytes(), when, history.ran),
                _ => self.records.entry(name).or_default().push(HostRecord { host, position, history }),
            }
        }
        for (name, when) in ran.into_iter().chain(idle.ran()) {
            let last = self.last_hosts.entry(name).or_insert((when, host));
            if when > last.0 {
                *last = (when, host);
            }
        }
        self.idle[host.get()] = idle;
    }

    /// The host on which a resource ran last, by its name in the status.
    pub(super) fn last_host(&self, name: &str) -> Option<HostIdx> {
        self.last_hosts.get(&NameMark::of(name.as_bytes())).map(|(_, host)| *host)
    }

    /// Reads the order of hosts in the status. Guest nodes come last, as resources on them are known only after their
    /// VMs.
    fn read_status_order(&mut self) {
        let status = child(self.root, "status");
        let ids = status
            .into_iter()
            .flat_map(|status| children(status, "node_state"))
            .filter_map(|state| state.attribute("id"));
        let by_id: HashMap<&str, usize> =
            self.set.hosts.iter().enumerate().map(|(at, host)| (host.id.as_str(), at)).collect();
        self.set.status_order = ids.filter_map(|id| by_id.get(id)).map(|at| HostIdx::new(*at)).collect();
        let guests: Vec<HostIdx> = self.guests.iter().map(|guest| self.hosts[guest.name]).collect();
        let is_guest = |host: &HostIdx| {
            let node = self.set.host(*host);
            guests.contains(host) || node.replica || node.stray
        };
        let mut order = self.set.status_order.clone();
        let first_guest = order.iter().position(is_guest).unwrap_or(order.len());
        let early: Vec<HostIdx> =
            order[..first_guest].iter().copied().filter(|host| self.is_known_in_turn(*host)).collect();
        let is_late =
            |host: &HostIdx| is_guest(host) || self.set.host(*host).removed && !early.contains(host);
        order.sort_by_key(is_late);
        self.set.status_order = order;
    }

    /// Elements of the status by node id. Those of guest nodes may have another id, but the name of the node.
    fn states(&mut self, guests: &[GuestDraft<'a, 'i>]) -> Result<HashMap<&'a str, Node<'a, 'i>>> {
        let mut states = HashMap::new();
        let status = child(self.root, "status");
        // Pacemaker finds states by node name, so those without one do not count.
        let states_of = |status: Node<'a, 'i>| {
            children(status, "node_state").filter(|state| state.has_attribute("uname"))
        };
        for state in status.into_iter().flat_map(states_of) {
            let (own, name) =
                (required(self.source, state, "id")?, state.attribute("uname").unwrap_or_default());
            let guest = guests.iter().find(|guest| guest.id == own || guest.name == name);
            let id = match guest.map(|guest| guest.id).or_else(|| self.id_of_removed(own, name)) {
                Some(id) => id,
                None if state.attribute("remote_node").is_some_and(is_true) && !self.is_replica(own) => {
                    self.leftover_states.push(state);
                    continue;
                }
                None => own,
            };
            if states.insert(id, state).is_some() {
                return Err(wrong(self.source, state, "there is another state of this node"));
            }
        }
        Ok(states)
    }

    fn host(&mut self, node: Node<'a, 'i>, id: &str, name: &str, state: Option<Node<'a, 'i>>) -> Host {
        let own = self.properties(node, "instance_attributes");
        let attributes = state.and_then(|state| child(state, "transient_attributes"));
        let transient = attributes.map(|parent| self.properties(parent, "instance_attributes").last_first());
        let transient = transient.unwrap_or_default();
        let state = self.host_state(state, &own, &transient);
        let host = Host { id: id.to_owned(), name: name.to_owned(), state, ..Host::default() };
        let mut host = self.described(host, Some(node), &own, &transient);
        if let Some(attributes) = attributes {
            self.add_transient_utilization(&mut host, attributes);
        }
        host
    }

    /// Adds a host's utilization from the status, which wins, if the cluster is new enough to read it.
    fn add_transient_utilization(&mut self, host: &mut Host, attributes: Node<'a, 'i>) {
        if children(attributes, "utilization").next().is_none() {
            return;
        }
        if self.feature_set() <= FeatureSet::LAST_WITHOUT_TRANSIENT_UTILIZATION {
            return self.set.ignored_utilization.push(host.name.clone());
        }
        for (kind, value) in self.properties(attributes, "utilization").iter() {
            let kind = self.kind_of_capacity(kind);
            host.capacity.set(kind, amount(value));
        }
    }

    /// Completes a host by its element, whose attributes are `own`, and by the attributes in its status.
    pub(super) fn described(
        &mut self,
        mut host: Host,
        node: Option<Node<'a, 'i>>,
        own: &Properties<'a>,
        transient: &Properties<'a>,
    ) -> Host {
        let base = node.and_then(|node| node.attribute("score")).and_then(AllocationScore::parse);
        host.base = base.unwrap_or_default();
        // Attributes of the status win.
        let pairs = own.iter().chain(transient.iter());
        host.attributes = pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        self.add_names(&mut host);
        host.health = self.health.map(|health| health.worth(&host)).unwrap_or_default();
        let utilization = node.map(|node| self.properties(node, "utilization")).unwrap_or_default();
        for (kind, value) in utilization.iter() {
            let kind = self.kind_of_capacity(kind);
            host.capacity.set(kind, amount(value));
        }
        host
    }

    /// Adds the names of the cluster and the site to the attributes of a host that has a name. Without a site name, the
    /// cluster's stands in.
    fn add_names(&self, host: &mut Host) {
        if host.nameless {
            return;
        }
        let site = host.attribute("site-name").or(self.cluster_name).map(str::to_owned);
        let cluster = self.cluster_name.map(str::to_owned);
        let named = [("#cluster-name", cluster), ("#site-name", site)];
        host.attributes.extend(named.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
    }

    fn host_state(
        &mut self,
        state: Option<Node<'a, 'i>>,
        own: &Properties<'_>,
        transient: &Properties<'_>,
    ) -> HostState {
        let word = |name| state.and_then(|state| state.attribute(name)).unwrap_or_default();
        let reads_times = self.feature_set().reads_times_of_membership();
        let is_time = |text: &str| leading(text).is_some_and(|since| since > 1);
        if !reads_times && is_time(word("in_ccm")) {
            self.set.ignored_membership.push(word("uname").to_owned());
        }
        let holds = |text: &str| is_true(text) || reads_times && is_time(text);
        let in_ccm = holds(word("in_ccm"));
        let crmd = word("crmd") == "online" || reads_times && is_time(word("crmd"));
        let shutdown = transient.get("shutdown").is_some_and(|since| since != "0");
        // A host without a state is not fenced if startup fencing is off; this does not apply to others.
        let never_seen = match state {
            Some(state) => !state.has_attribute("in_ccm"),
            None => self.startup_fencing,
        };
        let is_joined = in_ccm && crmd && word("join") == "member";
        // Any word but this one stands for a member.
        let expected = state.and_then(|state| state.attribute("expected"));
        let is_expected = expected.is_some_and(|word| word != "down");
        let is_joining = in_ccm && crmd && matches!(word("join"), "pending" | "down");
        let membership = match (self.set.fencing, shutdown && state.is_some()) {
            (false, _) if is_joined => Membership::Joined,
            (false, _) => Membership::Gone,
            // A host that shuts down is let go, not fenced.
            (true, true) if crmd => Membership::Joined,
            (true, true) => Membership::Gone,
            _ if never_seen || word("join") == "banned" => Membership::Lost,
            _ if is_joined && is_expected => Membership::Joined,
            _ if is_expected && !is_joining => Membership::Lost,
            _ if in_ccm || crmd => Membership::Joining,
            _ => Membership::Gone,
        };
        let is_set = |name| transient.get(name).or_else(|| own.get(name)).is_some_and(is_true);
        let is_here = matches!(membership, Membership::Joined | Membership::Joining);
        let is_given_up = self.panics || !shutdown && asks_for_fencing(own, transient);
        let is_fenced = self.set.fencing && is_here && is_given_up;
        HostState {
            online: membership == Membership::Joined || is_fenced || membership == Membership::Lost && in_ccm,
            standby: is_set("standby"),
            maintenance: is_set("maintenance"),
            shutting_down: shutdown,
            unclean: membership == Membership::Lost || is_fenced,
            joining: membership == Membership::Joining && !is_fenced && in_ccm,
        }
    }
}

/// Returns true if an attribute of a node asks for its fencing.
fn asks_for_fencing(own: &Properties<'_>, transient: &Properties<'_>) -> bool {
    let asked = transient.get("terminate").or_else(|| own.get("terminate"));
    asked.is_some_and(|asked| is_true(asked) || leading(asked).is_some_and(|since| since > 0))
}
