//! Changes of the configuration since a resource was started.

use std::collections::{HashMap, HashSet};

use roxmltree::Node;

use super::super::index::{HostIdx, ResourceIdx};
use super::super::working_set::{Host, Resource, ResourceForm, Revision};
use super::document::{child, children, id};
use super::history::{NotedParameters, OperationKey};
use super::parameters::{Parameters, is_read_by_cluster_only, lists};
use super::properties::stands_for_none;
use super::spans::{milliseconds, milliseconds_with_unit};
use super::value_rules::AgentKind;
use super::{HostRecord, Reader, rules};

/// Reason why a clone is not supported.
const OTHER_AGENT: &str =
    "an instance that runs by another agent than the configured one, which concerns others";

/// Default timeout of an operation, in milliseconds.
const USUAL_TIME_LIMIT: u64 = 20_000;

impl<'a, 'i> Reader<'a, 'i> {
    /// Change of a primitive since it was started on a host; `name` is its name in the status. The elements with its
    /// parameters are in `sources`: its own and its template's, then that of its group, then that of its clone.
    pub(super) fn revision(
        &self,
        sources: &[Vec<Node<'a, 'i>>],
        agent: &str,
        name: &str,
        host: HostIdx,
    ) -> Revision {
        self.revision_by(agent, name, host, |key| self.parameters(sources, key, self.set.host(host)))
    }

    /// Change of a resource that the document does not name since it was started on a host. Its parameters are the same
    /// for all operations; repeated ones have a timeout in milliseconds.
    pub(super) fn revision_of_implied(
        &self,
        resource: &Resource,
        pairs: &[(&'static str, String)],
        time_limit: u64,
        host: HostIdx,
    ) -> Revision {
        self.revision_by(&resource.agent, &resource.id, host, |key| {
            let mut now = Parameters::default();
            pairs.iter().for_each(|(name, value)| now.add(name, value));
            if key.interval > 0 {
                now.repeated_within(time_limit);
            }
            now
        })
    }

    /// Change of a resource since it was started on a host, by its parameters for each operation now. On a host that runs
    /// nothing new, nothing is compared.
    fn revision_by<'p>(
        &self,
        agent: &str,
        name: &str,
        host: HostIdx,
        now: impl Fn(OperationKey<'_>) -> Parameters<'p>,
    ) -> Revision {
        if !self.set.host(host).state.follows_changes() {
            return Revision::None;
        }
        let here = self.records_of(name).iter().filter(|record| record.host == host);
        let revisions = here.map(|HostRecord { history, .. }| {
            let changed = |noted: &NotedParameters| judged(noted, &now(noted.key()));
            // Only monitors are repeated.
            let counts = |noted: &&NotedParameters| {
                let key = noted.key();
                key.interval == 0 || key.name == "monitor"
            };
            let of_parameters = history.noted.iter().filter(counts).map(changed).max().unwrap_or_default();
            match (history.agent == agent, of_parameters) {
                (true, of_parameters) => of_parameters,
                (false, Revision::Parameters) => Revision::AgentAndParameters,
                (false, _) => Revision::Agent,
            }
        });
        revisions.max().unwrap_or_default()
    }

    /// Reports the clones and bundles of which an instance runs by another agent, if it is not known how its restart affects
    /// others.
    pub(super) fn name_other_agents(&mut self) {
        let has_other_agent = |part: &ResourceIdx| self.set.resource(*part).revision.has_other_agent();
        let is_changed = |whole: ResourceIdx| {
            let inner = self.set.bundle(whole).and_then(|bundle| bundle.inner);
            let mut wholes = inner.into_iter().chain([whole]);
            wholes.any(|whole| self.set.primitives(&whole).iter().any(has_other_agent))
        };
        let section = self.section("resources");
        let elements = section.into_iter().flat_map(|section| section.children());
        let clones = elements.filter_map(|node| Some((node, *self.resources.get(id(node))?)));
        let mut changed: Vec<(Node<'_, '_>, ResourceIdx)> =
            clones.filter(|(_, one)| self.set.resource(*one).is_clone() && is_changed(*one)).collect();
        if changed.is_empty() {
            return;
        }
        let mut ordered_with: HashMap<ResourceIdx, HashSet<ResourceIdx>> = HashMap::new();
        for order in &self.set.orders {
            let [first, then] = [order.first, order.then].map(|end| self.set.outermost(end));
            ordered_with.entry(first).or_default().insert(then);
            ordered_with.entry(then).or_default().insert(first);
        }
        changed.retain(|(_, clone)| self.concerns_others(*clone, &ordered_with));
        changed.into_iter().for_each(|(node, _)| self.report_unsupported(node, OTHER_AGENT));
    }

    /// Returns true for a bundle, for a clone whose instances are told apart, and for one that is ordered with what
    /// migrates, or with another clone if its own instances start in order or that clone is in another order.
    /// `ordered_with` has the other ends of each resource's orders.
    fn concerns_others(
        &self,
        clone: ResourceIdx,
        ordered_with: &HashMap<ResourceIdx, HashSet<ResourceIdx>>,
    ) -> bool {
        let details = self.set.resource(clone);
        let is_ordered = matches!(details.form, ResourceForm::Clone { ordered: true, .. });
        let others = |one: ResourceIdx| ordered_with.get(&one).into_iter().flatten().copied();
        let is_in_chain = |other: ResourceIdx| {
            let goes_on = is_ordered || others(other).any(|end| end != clone);
            self.set.resource(other).is_clone() && goes_on
        };
        let migrates = |other: ResourceIdx| {
            self.set.primitives(&other).iter().any(|one| self.set.resource(*one).allow_migrate)
        };
        self.set.bundle(clone).is_some()
            || details.is_unique()
            || others(clone).any(|other| is_in_chain(other) || migrates(other))
    }

    /// Hosts on which the parameters of a primitive were changed after its last failure. A failure that recorded no
    /// parameters shows no change.
    pub(super) fn changed_since_failure(&self, sources: &[Vec<Node<'a, 'i>>], name: &str) -> Vec<HostIdx> {
        let is_known = |host: HostIdx| {
            let state = self.set.host(host).state;
            state.online || state.unclean || self.set.fencing
        };
        let changed = |record: &&HostRecord<'a>| {
            record.history.noted_at_failure.iter().any(|noted| {
                let now = self.parameters(sources, noted.key(), self.set.host(record.host));
                match (difference(noted, &now), noted.all.is_empty()) {
                    (Revision::None, _) => false,
                    (_, false) => true,
                    (revision, true) => revision == Revision::Parameters && !noted.restart.is_empty(),
                }
            })
        };
        let records = self.records_of(name).iter().filter(|record| is_known(record.host));
        records.filter(changed).map(|record| record.host).collect()
    }

    /// The parameters of an operation on a host, by its name and its interval in milliseconds.
    pub(super) fn parameters(
        &self,
        sources: &[Vec<Node<'a, 'i>>],
        key: OperationKey<'_>,
        host: &Host,
    ) -> Parameters<'a> {
        let OperationKey { name, interval } = key;
        let mut parameters = Parameters::default();
        sources.iter().for_each(|elements| self.add_parameters(&mut parameters, elements, host));
        let operations =
            sources.first().into_iter().flatten().filter_map(|source| child(*source, "operations"));
        let operations = operations.filter_map(|list| self.meant(list));
        let is_it = |node: &Node<'a, 'i>| {
            node.attribute("name") == Some(name)
                && node.attribute("interval").map_or(0, milliseconds) == interval
        };
        let operation = operations.flat_map(|list| children(list, "op")).find(is_it);
        if let Some(operation) = operation {
            self.add_parameters(&mut parameters, &[operation], host);
        }
        if interval > 0 {
            let source = sources.first().and_then(|source| source.first());
            let template = sources.first().and_then(|source| source.get(1)).copied();
            let kind = source.map(|source| AgentKind::of(*source, template)).unwrap_or_default();
            parameters.repeated_within(self.time_limit(operation, key, kind));
        }
        parameters
    }

    /// Timeout of an operation of a kind of resource, in milliseconds.
    fn time_limit(&self, operation: Option<Node<'a, 'i>>, key: OperationKey<'_>, kind: AgentKind<'_>) -> u64 {
        let metas = |node: Node<'a, 'i>| {
            let mut sets = self.sets(&[node], "meta_attributes");
            sets.retain(|set| {
                self.supported_rule(*set, Some(kind)).is_some_and(|rule| rule.holds(Some(key)))
            });
            let pairs = sets.into_iter().flat_map(|set| children(set, "nvpair"));
            pairs.filter_map(|pair| self.meant(pair)).filter(|pair| pair.attribute("name") == Some("timeout"))
        };
        let attribute = operation.and_then(|operation| operation.attribute("timeout"));
        // Of the meta attributes of an operation, the last wins.
        let own = || operation.and_then(|operation| metas(operation).last()?.attribute("value"));
        let default =
            || self.section("op_defaults").and_then(|section| metas(section).next()?.attribute("value"));
        let text = attribute.or_else(own).or_else(default);
        text.and_then(milliseconds_with_unit).unwrap_or(USUAL_TIME_LIMIT)
    }

    /// Adds the values that sets of some elements have on a host, those with higher scores first.
    fn add_parameters(&self, to: &mut Parameters<'a>, elements: &[Node<'a, 'i>], host: &Host) {
        let sets = self.sets(elements, "instance_attributes");
        let is_coordinator =
            self.set.coordinator.is_some_and(|coordinator| self.set.host(coordinator).id == host.id);
        let holds = |set: &Node<'a, 'i>| {
            let rule = children(*set, "rule").next();
            rule.is_none_or(|rule| rules::holds(rule, host, is_coordinator, &self.clock))
        };
        for pair in sets.into_iter().filter(holds).flat_map(|set| children(set, "nvpair")) {
            let Some(meant) = self.meant(pair) else { continue };
            let name = pair.attribute("name").or_else(|| meant.attribute("name"));
            let value = meant.attribute("value").filter(|value| !stands_for_none(value));
            if let (Some(name), Some(value)) = (name, value) {
                to.add(name, value);
            }
        }
    }
}

/// Change between recorded and present parameters; a change of secrets alone is none.
fn judged(noted: &NotedParameters, now: &Parameters<'_>) -> Revision {
    let is_open =
        |name: &str| !(lists(&noted.secret, name) || noted.without_fencing && is_read_by_cluster_only(name));
    if !noted.open.is_empty() && now.check_sum(is_open).is(&noted.open) {
        Revision::None
    } else {
        difference(noted, now)
    }
}

/// Change between recorded and present parameters, secrets included. A missing check sum is a difference, as in
/// Pacemaker.
fn difference(noted: &NotedParameters, now: &Parameters<'_>) -> Revision {
    let has_list = !noted.restarting.is_empty();
    let restarts = |name: &str| !has_list || lists(&noted.restarting, name);
    let can_reload = !noted.restart.is_empty();
    if can_reload && !now.check_sum(restarts).is(&noted.restart) {
        return Revision::Parameters;
    }
    match (now.check_sum(|_| true).is(&noted.all), can_reload) {
        (true, _) => Revision::None,
        (false, true) => Revision::Reload,
        (false, false) => Revision::Parameters,
    }
}
