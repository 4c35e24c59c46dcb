//! The resources of bundles whose replicas are settled, and what ties them together.

use roxmltree::Node;

use super::super::index::{HostIdx, ResourceIdx};
use super::super::promotion::HostWishes;
use super::super::score::AllocationScore;
use super::super::working_set::{
    Bundle, Colocation, GuestParts, OrderStrength, OrderedTask, Replica, ReplicaNode, Resource, ResourceForm,
    RunCondition, StartOrder, Unsupported,
};
use super::Reader;
use super::bundles::{BundleDraft, ReplicaDraft};
use super::document::id;
use super::properties::Properties;
use htools_ganeti::input::error::Result;

/// Score with which a connection wants to be with its container.
const WITH_CONTAINER: i64 = 10_000;

/// Reasons why a bundle is not supported.
const ORDER: &str = "an order of other actions than starts and promotions with a bundle";
const TICKET: &str = "a ticket of a bundle";
const HELD_ORDER: &str = "an order after a bundle that is not managed, without quorum";
const STUCK_INSIDE: &str = "the resource in a bundle is blocked after a failure";
const ELSEWHERE: &str = "the resource in a bundle runs outside of its own container";

impl<'a, 'i> Reader<'a, 'i> {
    /// Reads a bundle whose replicas are settled.
    pub(super) fn read_bundle(&mut self, node: Node<'a, 'i>, defaults: &Properties<'a>) -> Result<()> {
        let Some(bundle) = self.bundles.iter().find(|bundle| bundle.node == node).cloned() else {
            return Ok(());
        };
        let is_unsupported = self.set.unsupported.iter().any(|one| one.id == id(node));
        if is_unsupported {
            return self.leave(node);
        }
        let metas = self.properties(node, "meta_attributes").or(defaults);
        let mut whole = self.bare(id(node), &metas);
        whole.form = ResourceForm::Clone {
            interleave: metas.flag("interleave", false),
            ordered: false,
            unique: true,
            node_max: bundle.per_host,
        };
        whole.managed = self.is_managed(&metas);
        whole.notifies = metas.flag("notify", false);
        let whole = self.add(node, whole)?;
        let mut replicas = Vec::new();
        for draft in &bundle.replicas {
            let Some(container) = draft.container.clone() else { continue };
            let container = self.push(Resource { instance_of: Some(whole), ..container });
            self.set.resources[whole.get()].members.push(container);
            let address = draft.address.clone().map(|one| self.push(Resource { in_bundle: true, ..one }));
            let connection =
                draft.connection.clone().map(|one| self.push(Resource { in_bundle: true, ..one }));
            self.bind(id(node), container, address, connection);
            replicas.push((container, address, connection));
        }
        let inner = self.read_inner(&bundle, &metas)?;
        let instances = inner.map(|inner| self.set.resource(inner).members.clone()).unwrap_or_default();
        let mut instances = instances.into_iter();
        let mut all = Vec::new();
        for (draft, (container, address, connection)) in bundle.replicas.iter().zip(replicas) {
            let inside = connection.zip(instances.next());
            let inside = inside.map(|(connection, instance)| {
                let host = self.hosts[&draft.name];
                self.set.hosts[host.get()].guest = Some(GuestParts { machine: container, connection });
                ReplicaNode { host, connection, instance }
            });
            all.push(Replica { container, address, inside });
        }
        self.fail_used_containers(&all);
        self.set.find_whole(whole);
        self.set.bundles.push(Bundle { whole, inner, replicas: all });
        Ok(())
    }

    /// Reports constraints of bundles that are not supported.
    pub(super) fn name_constraints_of_bundles(&mut self) {
        let set = &self.set;
        let is_bundle = |one: ResourceIdx| set.bundles.iter().any(|bundle| bundle.whole == one);
        let are_bundles = |resources: &[ResourceIdx]| resources.iter().any(|one| is_bundle(*one));
        let orders = set.orders.iter().filter(|one| is_bundle(one.first) || is_bundle(one.then));
        let begins = |task| matches!(task, OrderedTask::Start | OrderedTask::Promote);
        // A clone that interleaves is not known to go by the promotions in containers.
        let is_beside = |one: &StartOrder| {
            one.tasks.first == OrderedTask::Promote
                && set.resource(one.then).interleaves()
                && !is_bundle(one.then)
        };
        let orders =
            orders.filter(|one| !begins(one.tasks.first) || !begins(one.tasks.then) || is_beside(one));
        let is_held = |one: &&StartOrder| {
            let mut containers = set.resource(one.first).members.iter();
            let counts = one.strength != OrderStrength::Optional && set.without_quorum.is_some();
            is_bundle(one.first) && counts && containers.any(|container| !set.may_manage(*container))
        };
        let held = set.orders.iter().filter(is_held);
        let choices = set.choices.iter();
        let choices = choices.filter(|one| are_bundles(&one.firsts) || are_bundles(&one.dependents));
        let tickets = set.tickets.rules.iter().filter(|rule| is_bundle(rule.resource));
        let mut unsupported: Vec<Unsupported> =
            orders.map(|one| Unsupported::new("rsc_order", &one.id, ORDER)).collect();
        unsupported.extend(held.map(|one| Unsupported::new("rsc_order", &one.id, HELD_ORDER)));
        unsupported.extend(choices.map(|one| Unsupported::new("rsc_order", &one.id, ORDER)));
        unsupported.extend(tickets.map(|one| Unsupported::new("rsc_ticket", &one.id, TICKET)));
        unsupported.dedup();
        self.set.unsupported.append(&mut unsupported);
    }

    /// Makes containers fail whose instances ran although there is no sound connection to them.
    fn fail_used_containers(&mut self, replicas: &[Replica]) {
        for (replica, inside) in replicas.iter().filter_map(|replica| Some((replica, replica.inside?))) {
            let connection = self.set.resource(inside.connection);
            let is_reached = connection.active.is_some_and(|host| self.set.host(host).state.online);
            let is_lost = connection.condition == RunCondition::Failed || !is_reached;
            let is_used = self.set.resource(inside.instance).active == Some(inside.host)
                && self.set.may_manage(inside.instance);
            let container = &mut self.set.resources[replica.container.get()];
            container.lost_inside = is_lost && is_used;
            if container.lost_inside && container.condition == RunCondition::Sound {
                container.condition = RunCondition::Failed;
            }
        }
    }

    /// Ties an address and a connection to their container.
    fn bind(
        &mut self,
        bundle: &str,
        container: ResourceIdx,
        address: Option<ResourceIdx>,
        connection: Option<ResourceIdx>,
    ) {
        if let Some(address) = address {
            self.together.push(Colocation::implied(bundle, address, container));
            let order = StartOrder::implied(bundle, address, container);
            self.set.orders.push(StartOrder { strength: OrderStrength::Optional, ..order });
        }
        // A connection that is not managed stays alone.
        if let Some(connection) = connection.filter(|connection| self.set.may_manage(*connection)) {
            let score = AllocationScore::of(WITH_CONTAINER);
            self.together.push(Colocation { score, ..Colocation::implied(bundle, connection, container) });
            self.set.orders.push(StartOrder::implied(bundle, container, connection));
        }
    }

    /// By instance of a bundle's primitive, its wish to be promoted on its own node. The attribute for it is one of that
    /// node, or else of the host on which the container runs now.
    fn replica_wishes(
        &self,
        primitive: &str,
        bundle: &BundleDraft<'a, 'i>,
        on_host: bool,
    ) -> Vec<HostWishes> {
        let of_replica = |replica: &ReplicaDraft<'_, '_>| {
            let own = self.hosts[&replica.name];
            let beneath = replica.container.as_ref().and_then(|container| container.active);
            let asked = if on_host { beneath } else { Some(own) };
            let wish = asked.and_then(|host| self.wish_on(primitive, host));
            wish.map(|wish| (own, wish)).into_iter().collect()
        };
        bundle.replicas.iter().map(of_replica).collect()
    }

    /// The wishes of a primitive to be promoted, by host on which its container may be.
    fn wishes_beneath(&self, primitive: &str) -> HostWishes {
        let hosts = self.set.host_indices().filter(|host| !self.set.host(*host).replica);
        hosts.filter_map(|host| self.wish_on(primitive, host).map(|wish| (host, wish))).collect()
    }

    /// Reads the clone inside of a bundle: one instance for each replica.
    fn read_inner(
        &mut self,
        bundle: &BundleDraft<'a, 'i>,
        metas: &Properties<'a>,
    ) -> Result<Option<ResourceIdx>> {
        let Some(primitive) = bundle.inner else { return Ok(None) };
        let hosts: Vec<HostIdx> = bundle.replicas.iter().map(|replica| self.hosts[&replica.name]).collect();
        let mut reasons = Vec::new();
        // The meta attribute of the bundle counts, too, and then leaves the name of the clone.
        let is_promotable = bundle.promoted_max > 0 || metas.flag("promotable", false);
        if is_promotable && !self.has_ocf_agents(bundle.node)? {
            reasons.push("a promotable clone of an agent that has no roles");
        }
        let parts = self.clone_parts(bundle.node, metas, hosts.len(), &mut reasons)?;
        if is_promotable {
            self.check_promotable(&mut reasons);
        }
        if parts.are_blocked() {
            reasons.push(STUCK_INSIDE);
        }
        if parts.run_beyond(&hosts) || bundle.per_host > 1 {
            reasons.push(ELSEWHERE);
        }
        if !reasons.is_empty() {
            reasons.iter().for_each(|reason| self.report_unsupported(bundle.node, reason));
        }
        self.take_inner_ids(bundle.node)?;
        let kind = if bundle.promoted_max > 0 { "master" } else { "clone" };
        let mut inner = self.bare_clone(bundle.node, metas);
        inner.id = format!("{}-{kind}", bundle.plan.bundle);
        inner.in_bundle = true;
        inner.form = ResourceForm::Clone { interleave: false, ordered: true, unique: false, node_max: 1 };
        if is_promotable {
            let own = parts.metas().unwrap_or(metas);
            let mut promotion = self.promotion(metas, own);
            if bundle.promoted_max > 0 {
                promotion.most = bundle.promoted_max;
            }
            promotion.per_host = 1;
            let on_host = own.get("container-attribute-target") == Some("host");
            promotion.of_container_hosts = on_host && !self.set.release.promotes_by_present_hosts();
            let wishes = match promotion.of_container_hosts {
                true => vec![self.wishes_beneath(id(primitive)); hosts.len()],
                false => self.replica_wishes(id(primitive), bundle, on_host),
            };
            promotion.wishes = vec![wishes];
            inner.promotion = Some(promotion);
        }
        let clone = self.push(inner);
        self.add_inner_instances(clone, &hosts, &parts);
        self.set.find_whole(clone);
        Ok(Some(clone))
    }
}
