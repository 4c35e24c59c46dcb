//! Reads bundles: their containers, what comes with each of them, and the nodes in them.

use std::collections::HashMap;

use roxmltree::Node;

use super::super::bundle::{Bundle, Replica};
use super::super::index::{HostIdx, ResourceIdx};
use super::super::number::leading;
use super::super::score::AllocationScore;
use super::super::working_set::{
    Colocation, Host, HostState, Requirement, Resource, RunCondition, Unsupported,
};
use super::Reader;
use super::bundle_parameters::{ContainerPlan, ImpliedParameters, container};
use super::document::{child, children, id};
use super::on_fail::FailureRules;
use super::properties::Properties;
use super::resources::{CONNECTION, PrimitiveDraft};
use super::value_rules::AgentKind;
use htools_ganeti::input::error::Result;

/// Base score of a node in a container.
const REPLICA_BASE: i64 = 500;
/// Greatest number of replicas that is followed.
const MOST_REPLICAS: usize = 1000;
/// Timeouts of the repeated operations of connections and of all others, in milliseconds.
pub(super) const CONNECTION_TIME_LIMIT: u64 = 30_000;
const TIME_LIMIT: u64 = 20_000;

/// Reasons why a bundle is not supported.
const FROZEN: &str = "a bundle with a lost container, in a cluster without fencing devices that should fence";
const OPT_IN: &str = "a bundle with a lost container, with colocations, beside guest or remote nodes, or in the list of nodes, in an opt-in cluster";
const LIVE: &str = "containers that migrate live";
const ADDRESSES: &str = "addresses of containers that are not followed";
const NO_NETWORK: &str = "a resource in a bundle without a control port and addresses";
const APART: &str = "a container on a guest or remote node that is not connected";
const NAMED: &str = "a node in a container that the list of nodes has with another id or type";
const STUCK: &str = "a container or its companion that is blocked after a failure";
const REDEFINED: &str = "a container with a resource inside, started by a Pacemaker after 3.0.0";
const TWICE: &str = "a container or its companion that runs on several nodes";

/// A bundle while it is read.
#[derive(Debug, Clone)]
pub(super) struct BundleDraft<'a, 'i> {
    pub(super) node: Node<'a, 'i>,
    pub(super) plan: ContainerPlan<'a, 'i>,
    /// The primitive inside.
    pub(super) inner: Option<Node<'a, 'i>>,
    /// Greatest number of promoted instances; 0 if the resource inside has no roles.
    pub(super) promoted_max: usize,
    pub(super) per_host: usize,
    pub(super) replicas: Vec<ReplicaDraft<'a, 'i>>,
}

/// A replica while it is read.
#[derive(Debug, Clone)]
pub(super) struct ReplicaDraft<'a, 'i> {
    /// The name of the connection, and of the node.
    pub(super) name: String,
    pub(super) container: Option<Resource>,
    pub(super) address: Option<Resource>,
    pub(super) connection: Option<Resource>,
    /// The element of the node in the list of nodes.
    element: Option<Node<'a, 'i>>,
    /// The element of the node in the status.
    state: Option<Node<'a, 'i>>,
    /// True if the container and the connection both run, in any condition.
    runs: bool,
}

impl<'a, 'i> Reader<'a, 'i> {
    /// Finds the supported bundles.
    pub(super) fn find_bundles(&self) -> Vec<BundleDraft<'a, 'i>> {
        let Some(section) = self.section("resources").filter(|_| self.follows_guests) else {
            return Vec::new();
        };
        let mut bundles = Vec::new();
        for node in children(section, "bundle") {
            let Some(container) = container(node) else { continue };
            let number = |name: &str| {
                let number = container.attribute(name).and_then(leading)?;
                usize::try_from(number).ok()
            };
            let inner = children(node, "primitive").next();
            let mut plan = ContainerPlan {
                bundle: id(node),
                container,
                network: child(node, "network"),
                storage: child(node, "storage"),
                replicas: 0,
                has_inner: inner.is_some(),
            };
            let promoted_max = number("promoted-max").or_else(|| number("masters")).unwrap_or(0);
            let count = number("replicas").filter(|count| *count > 0).unwrap_or(promoted_max.max(1));
            plan.replicas = count.min(MOST_REPLICAS);
            // The nodes in containers without an address of their own share a port of their host.
            let is_alone = inner.is_some() && plan.address(0).is_none();
            let per_host = number("replicas-per-host").filter(|_| !is_alone);
            let replica = |at: usize| ReplicaDraft {
                name: format!("{}-{at}", id(node)),
                container: None,
                address: None,
                connection: None,
                element: None,
                state: None,
                runs: false,
            };
            let replicas = (0..count.min(MOST_REPLICAS + 1)).map(replica).collect();
            let per_host = per_host.unwrap_or(1).max(1);
            bundles.push(BundleDraft { node, plan, inner, promoted_max, per_host, replicas });
        }
        bundles
    }

    /// Returns true if a bundle is supported, apart from details.
    pub(super) fn follows_bundle(&self, node: Node<'a, 'i>) -> bool {
        self.bundles.iter().any(|bundle| bundle.node == node)
    }

    /// Returns true if a bundle is among the resources that are read.
    pub(super) fn reads_bundle(&self, node: Node<'a, 'i>) -> bool {
        self.resources.get(id(node)).is_some_and(|whole| self.set.bundle(*whole).is_some())
    }

    /// The names of the containers of bundles, and of what comes with them.
    pub(super) fn names_in_bundles(&self) -> impl Iterator<Item = &str> {
        let parts = self.set.bundles.iter().flat_map(|bundle| &bundle.replicas).flat_map(|replica| {
            let connection = replica.inside.map(|inside| inside.connection);
            [Some(replica.container), replica.address, connection]
        });
        parts.flatten().map(|part| self.set.resource(part).id.as_str())
    }

    /// Returns true for the name of a node in a container.
    pub(super) fn is_replica(&self, name: &str) -> bool {
        self.replica_names().any(|other| other == name)
    }

    fn replica_names(&self) -> impl Iterator<Item = &str> {
        let with_inner = self.bundles.iter().filter(|bundle| bundle.inner.is_some());
        with_inner.flat_map(|bundle| bundle.replicas.iter().map(|replica| replica.name.as_str()))
    }

    /// The nodes in containers, with their elements in the status noted.
    pub(super) fn replica_hosts(&mut self, states: &HashMap<&'a str, Node<'a, 'i>>) -> Vec<Host> {
        let mut hosts = Vec::new();
        let nodes = self.section("nodes").into_iter().flat_map(|nodes| children(nodes, "node"));
        let mut listed: HashMap<&str, Node<'a, 'i>> = HashMap::new();
        for node in nodes {
            node.attribute("uname").into_iter().for_each(|name| {
                listed.entry(name).or_insert(node);
            });
        }
        for bundle in self.bundles.iter_mut().filter(|bundle| bundle.inner.is_some()) {
            for replica in &mut bundle.replicas {
                replica.element = listed.get(replica.name.as_str()).copied();
                let name = replica.name.clone();
                let id = replica.element.map_or(name.as_str(), id).to_owned();
                replica.state = states.get(id.as_str()).copied();
                let listed = replica.element.is_some();
                hosts.push(Host { id, name, replica: true, listed, ..Host::default() });
            }
        }
        hosts
    }

    /// Returns true for the node of a container that runs with its connection, in any condition.
    pub(super) fn is_running_replica(&self, host: HostIdx) -> bool {
        let mut replicas = self.bundles.iter().flat_map(|bundle| &bundle.replicas);
        replicas.any(|replica| replica.runs && self.hosts.get(&replica.name) == Some(&host))
    }

    /// Finds the hosts of containers and of what comes with them, and the state of the nodes in them.
    pub(super) fn settle_bundles(&mut self, defaults: &Properties<'a>) -> Result<()> {
        for at in 0..self.bundles.len() {
            let bundle = self.bundles[at].clone();
            let said = self.set.unsupported.len();
            let metas = self.properties(bundle.node, "meta_attributes").or(defaults);
            self.set.unsupported.truncate(said);
            let mut reasons = self.bundle_reasons(&bundle, &metas);
            for number in 0..bundle.replicas.len().min(MOST_REPLICAS) {
                let replica = self.settle_replica(&bundle, number, &metas, &mut reasons);
                self.bundles[at].replicas[number] = replica;
            }
            reasons.sort_unstable();
            reasons.dedup();
            reasons.iter().for_each(|reason| self.report_unsupported(bundle.node, reason));
        }
        Ok(())
    }

    /// Reports the bundles that are not supported for what the status tells of their containers, or for their colocations.
    pub(super) fn name_unfollowed_bundles(&mut self) {
        let (frozen, symmetric) = (self.set.frozen, self.set.symmetric);
        if !frozen && symmetric {
            return;
        }
        let is_lost = |replica: &Replica| {
            let runs = |resource: ResourceIdx| self.set.resource(resource).active.is_some();
            replica.inside.is_some_and(|inside| {
                let unclean = self.set.host(inside.host).state.unclean;
                unclean || runs(inside.instance) && !runs(replica.container)
            })
        };
        let reason = |bundle: &Bundle| {
            let has_lost = bundle.replicas.iter().any(is_lost);
            let is_concerned = |one: &Colocation| {
                let is_end = [one.dependent, one.primary].contains(&bundle.whole);
                is_end && one.id != self.set.resource(bundle.whole).id
            };
            let colocated = || self.set.colocations.iter().any(is_concerned);
            let opts_in = !symmetric && (has_lost || colocated());
            if frozen && has_lost { Some(FROZEN) } else { opts_in.then_some(OPT_IN) }
        };
        let found: Vec<(String, &str)> = self
            .set
            .bundles
            .iter()
            .filter_map(|bundle| Some((self.set.resource(bundle.whole).id.clone(), reason(bundle)?)))
            .collect();
        self.set.unsupported.extend(found.iter().map(|(id, reason)| Unsupported::new("bundle", id, reason)));
    }

    /// Reasons why a bundle is not supported, by its element alone.
    fn bundle_reasons(&self, bundle: &BundleDraft<'a, 'i>, metas: &Properties<'a>) -> Vec<&'static str> {
        let network = bundle.plan.network;
        let first = network.and_then(|network| network.attribute("ip-range-start"));
        let has_port = network.is_some_and(|network| network.has_attribute("control-port"));
        let last = first.and_then(|first| first.rsplit_once('.')?.1.parse::<usize>().ok());
        let is_other = |node: Node<'_, '_>| {
            node.attribute("type") != Some("remote") || node.attribute("id") != node.attribute("uname")
        };
        let mut elements = bundle.replicas.iter().filter_map(|replica| replica.element);
        let holds = [
            (bundle.replicas.len() > MOST_REPLICAS, super::clones::TOO_MANY),
            (metas.flag("allow-migrate", false), LIVE),
            (first.is_some() && last.is_none_or(|last| last + bundle.replicas.len() > 254), ADDRESSES),
            (bundle.inner.is_some() && !has_port && first.is_none(), NO_NETWORK),
            (!self.set.symmetric && (!self.guests.is_empty() || elements.clone().next().is_some()), OPT_IN),
            (elements.any(is_other), NAMED),
        ];
        holds.into_iter().filter(|(holds, _)| *holds).map(|(_, reason)| reason).collect()
    }

    /// Finds the hosts of a container and of what comes with it, and the state of the node in it.
    fn settle_replica(
        &mut self,
        bundle: &BundleDraft<'a, 'i>,
        number: usize,
        metas: &Properties<'a>,
        reasons: &mut Vec<&'static str>,
    ) -> ReplicaDraft<'a, 'i> {
        let mut replica = bundle.replicas[number].clone();
        let plan = &bundle.plan;
        let kind = plan.container.tag_name().name();
        let agent = format!("ocf:heartbeat:{kind}");
        let name = format!("{}-{kind}-{number}", plan.bundle);
        let rules = self.failure_defaults(AgentKind::parse(&agent));
        let mut parameters = plan.container_parameters(number);
        let container = self.implied(&name, &agent, metas, rules, reasons);
        if plan.has_inner && self.set.release.redefines_containers() {
            // The new definition is not known. Without its options, no older check sum fits.
            parameters.retain(|(name, _)| *name != "run_opts");
            if container.active.is_some_and(|host| self.is_noted_as_redefined(&name, host)) {
                reasons.push(REDEFINED);
            }
        }
        let container = self.revised(container, &parameters, TIME_LIMIT);
        let address = plan.address(number);
        let host = address.clone().or_else(|| Some(self.set.host(container.active?).name.clone()));
        if let Some(address) = address {
            let name = format!("{}-ip-{address}", plan.bundle);
            let parameters = plan.address_parameters(&address);
            let agent = "ocf:heartbeat:IPaddr2";
            let rules = self.failure_defaults(AgentKind::parse(agent));
            let resource = self.implied(&name, agent, metas, rules, reasons);
            replica.address = Some(self.revised(resource, &parameters, TIME_LIMIT));
        }
        if bundle.inner.is_some() {
            let name = replica.name.clone();
            let resource = self.implied(&name, CONNECTION, metas, FailureRules::of_connection(), reasons);
            let mut parameters = vec![("port", plan.port().to_owned())];
            parameters.extend(host.map(|host| ("addr", host)));
            let mut connection = self.revised(resource, &parameters, CONNECTION_TIME_LIMIT);
            let most = Requirement::Quorum;
            connection.requires = connection.requires.map(|said| said.min(most)).or(Some(most));
            self.settle_replica_node(&mut replica, &container, &mut connection);
            replica.connection = Some(connection);
        }
        replica.container = Some(container);
        replica
    }

    /// A resource that a bundle brings with it, with its hosts.
    fn implied(
        &mut self,
        name: &str,
        agent: &str,
        metas: &Properties<'a>,
        rules: FailureRules<'a>,
        reasons: &mut Vec<&'static str>,
    ) -> Resource {
        let metas = metas.clone().or(&self.defaults_of(AgentKind::parse(agent)));
        let resource =
            Resource { agent: agent.to_owned(), managed: self.is_managed(&metas), ..self.bare(name, &metas) };
        let draft = PrimitiveDraft::new(resource, Vec::new(), metas, rules);
        let (resource, more) = self.settle(draft);
        reasons.extend(more);
        if resource.blocked_by_failure || resource.condition == RunCondition::Blocked {
            reasons.push(STUCK);
        }
        let is_apart = |host: HostIdx| {
            let node = self.set.host(host);
            !node.state.online && self.guests.iter().any(|guest| guest.name == node.name)
        };
        if resource.active.is_some_and(is_apart) {
            reasons.push(APART);
        }
        if resource.runs_twice() || !resource.left_on.is_empty() {
            reasons.push(TWICE);
        }
        resource
    }

    /// A resource that a bundle brings with it, with the change of its parameters since it was started.
    fn revised(&self, mut resource: Resource, parameters: &ImpliedParameters, time_limit: u64) -> Resource {
        if let Some(host) = resource.active {
            resource.revision = self.revision_of_implied(&resource, parameters, time_limit, host);
        }
        resource
    }

    /// Returns true if the operations of a container on its host recorded a definition that is not known.
    fn is_noted_as_redefined(&self, name: &str, host: HostIdx) -> bool {
        let mut here = self.records_of(name).iter().filter(|record| record.host == host);
        here.any(|record| record.history.noted.iter().any(|noted| noted.redefined))
    }

    /// Finds the state of the node in a container.
    fn settle_replica_node(
        &mut self,
        replica: &mut ReplicaDraft<'a, 'i>,
        container: &Resource,
        connection: &mut Resource,
    ) {
        let host = self.hosts[&replica.name];
        let both = [container, &*connection];
        replica.runs = both.iter().all(|one| one.active.is_some());
        // A failure on a host that is fenced anyway does not count.
        let is_trouble = |one: &&Resource| {
            let has_failed = !matches!(one.condition, RunCondition::Sound | RunCondition::Starting);
            one.active.is_some_and(|host| {
                let state = self.set.host(host).state;
                !state.online || has_failed && !state.unclean
            })
        };
        let unclean = both.iter().any(is_trouble);
        // The status of a node that is down does not count, unless it may be up after all.
        let state = replica.state.filter(|_| replica.runs || self.set.fencing);
        let online = !unclean && replica.runs;
        let in_maintenance = |host: HostIdx| self.set.host(host).state.maintenance;
        let is_managed = connection.managed && !connection.active_hosts().any(in_maintenance);
        let found = HostState {
            online,
            unclean,
            maintenance: !is_managed && state.is_some(),
            shutting_down: online && connection.stopped,
            ..HostState::default()
        };
        connection.stopped |= self.settle_node(replica.element, host, state, found);
        self.set.hosts[host.get()].base = AllocationScore::of(REPLICA_BASE);
    }
}
