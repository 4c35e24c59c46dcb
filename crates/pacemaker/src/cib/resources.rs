//! Reads primitives, and finds their hosts.

use std::collections::HashSet;

use roxmltree::Node;

use super::super::capacity::Capacities;
use super::super::index::{HostIdx, ResourceIdx};
use super::super::score::{AllocationScore, HostScore, ScoreTable};
use super::super::working_set::{
    Charge, MultipleActivePolicy, Requirement, Resource, ResourceForm, Revision, RunCondition,
};
use super::Reader;
use super::containers::{ContainerFailures, NamedContainer};
use super::document::{children, id, required, wrong};
use super::failures::{PROMOTED, outcome};
use super::history::{NameMark, RecordedState};
use super::migrations::HistoryPlace;
use super::on_fail::FailureRules;
use super::properties::{Properties, amount};
use super::run_places::REMOVES_AFTER_STOP;
use super::spans::milliseconds;
use super::value_rules::AgentKind;
use htools_ganeti::input::error::Result;

/// Unsupported elements that hold primitives.
const BEYOND: [(&str, &str); 3] =
    [("master", PROMOTED), ("bundle", "a resource in containers"), ("promotable", PROMOTED)];

/// The agent of connections to remote and guest nodes.
pub(super) const CONNECTION: &str = "ocf:pacemaker:remote";

/// The meta attribute by which a VM names its guest node.
pub(super) const GUEST: &str = "remote-node";

/// Properties that primitives inherit.
pub(super) struct Inherited<'a, 'i> {
    pub(super) metas: Properties<'a>,
    pub(super) group: Option<ResourceIdx>,
    /// The elements of its group and its clone, whose parameters apply to it.
    pub(super) wholes: Vec<Node<'a, 'i>>,
}

/// A primitive without its hosts.
pub(super) struct PrimitiveDraft<'a, 'i> {
    pub(super) resource: Resource,
    /// Reasons why it is not supported.
    pub(super) reasons: Vec<&'static str>,
    /// Number of failures on a host that bans it from there.
    pub(super) threshold: AllocationScore,
    pub(super) metas: Properties<'a>,
    /// Reactions to failures of its operations.
    pub(super) rules: FailureRules<'a>,
    /// Elements with its parameters: its own and its template's, its group's, its clone's. Empty if it is not
    /// configured.
    pub(super) sources: Vec<Vec<Node<'a, 'i>>>,
    /// True for an instance of a promotable clone.
    pub(super) has_roles: bool,
    /// The resource in which it runs, if any.
    pub(super) container: Option<&'a str>,
}

impl<'a, 'i> PrimitiveDraft<'a, 'i> {
    /// Gives an instance of a clone the stickiness without which instances would change places for nothing.
    pub(super) fn settle_stickiness(&mut self) {
        if self.metas.get("resource-stickiness").is_none() {
            self.resource.stickiness = AllocationScore::of(1);
        }
    }

    /// A primitive with the meta attributes that apply to it.
    pub(super) fn new(
        resource: Resource,
        reasons: Vec<&'static str>,
        metas: Properties<'a>,
        mut rules: FailureRules<'a>,
    ) -> PrimitiveDraft<'a, 'i> {
        let threshold = metas
            .get("migration-threshold")
            .map_or(AllocationScore::INFINITY, |_| metas.score("migration-threshold"));
        let timeout = metas.get("failure-timeout").map_or(0, milliseconds);
        rules.timeout = i64::try_from(timeout / 1000).ok().filter(|seconds| *seconds > 0);
        PrimitiveDraft {
            resource,
            reasons,
            threshold,
            metas,
            rules,
            sources: Vec::new(),
            has_roles: false,
            container: None,
        }
    }
}

impl<'a, 'i> Reader<'a, 'i> {
    /// Reads all resources, and finds their hosts.
    pub(super) fn read_resources(&mut self) -> Result<()> {
        self.count_failures(self.set.host_indices());
        self.unscored = ScoreTable::empty(self.set.hosts.len());
        let defaults = self.defaults_of(AgentKind::default());
        let Some(section) = self.section("resources") else { return Ok(()) };
        self.check_utilization(section)?;
        self.templates = children(section, "template").map(|template| (id(template), template)).collect();
        let primitives = || section.descendants().filter(|node| node.has_tag_name("primitive"));
        let has_fencing = primitives().any(|node| node.attribute("class") == Some("stonith"));
        // Without a fencing device, nothing is started or stopped. One that is no longer configured is enough, but not a
        // resource that was one once.
        let has_fenced = || {
            let configured: HashSet<NameMark> =
                primitives().map(|node| NameMark::of(id(node).as_bytes())).collect();
            self.past_fencing.iter().any(|(_, device)| !configured.contains(&device.name))
        };
        self.set.frozen = self.set.fencing && !self.watchdog && !has_fencing && !has_fenced();
        self.settle_guests(&defaults)?;
        for node in section.children().filter(Node::is_element) {
            match node.tag_name().name() {
                "primitive" => {
                    let inherited =
                        Inherited { metas: Properties::default(), group: None, wholes: Vec::new() };
                    self.read_primitive(node, &inherited)?;
                }
                "group" => self.read_group(node, &defaults)?,
                "clone" | "master" => self.read_clone(node, &defaults)?,
                "bundle" if self.follows_bundle(node) => self.read_bundle(node, &defaults)?,
                "template" => {}
                other => {
                    let reason = BEYOND.iter().find(|(name, _)| *name == other).map(|(_, reason)| *reason);
                    self.report_unsupported(node, reason.unwrap_or("an unknown kind of resource"));
                    self.leave(node)?;
                }
            }
        }
        self.add_connections();
        self.tie_contained();
        Ok(())
    }

    /// Refuses utilization of anything but primitives and templates, as Pacemaker refuses such documents.
    fn check_utilization(&self, section: Node<'a, 'i>) -> Result<()> {
        let is_misplaced = |node: &Node<'_, '_>| {
            let kind = node.tag_name().name();
            !["primitive", "template"].contains(&kind) && children(*node, "utilization").next().is_some()
        };
        match section.descendants().find(is_misplaced) {
            Some(node) => {
                let problem = "only primitives have a utilization: Pacemaker refuses the whole document; give it to those in there";
                Err(wrong(self.source, node, problem))
            }
            None => Ok(()),
        }
    }

    pub(super) fn read_primitive(&mut self, node: Node<'a, 'i>, inherited: &Inherited<'a, 'i>) -> Result<()> {
        let draft = self.draft_primitive(node, inherited)?;
        let (resource, reasons) = self.settle(draft);
        reasons.iter().for_each(|reason| self.report_unsupported(node, reason));
        let resource = self.add(node, resource)?;
        if let Some(group) = inherited.group {
            self.set.resources[group.get()].members.push(resource);
        }
        Ok(())
    }

    /// Finds the hosts of a primitive, and the reasons why it is not supported.
    pub(super) fn settle(&mut self, draft: PrimitiveDraft<'a, 'i>) -> (Resource, Vec<&'static str>) {
        let PrimitiveDraft {
            mut resource,
            mut reasons,
            threshold,
            rules,
            metas,
            sources,
            has_roles,
            container,
        } = draft;
        let name = resource.id.clone();
        let managed_on = |untouchable: bool| resource.managed && !untouchable;
        let mut place = self.find_run_places(&name, &rules, managed_on, &mut reasons);
        if has_roles {
            self.check_promotable(&mut reasons);
        }
        if !sources.is_empty() {
            place.changed_since = self.changed_since_failure(&sources, &name);
        }
        let mut counts = self.counted_failures(&name, &rules, &place).collect::<Vec<HostScore>>();
        counts.extend(self.connection_failures.get(name.as_str()).into_iter().flatten());
        let inside = container.and_then(|container| self.note_contained(&name, container, &place, &counts));
        reasons.extend(inside);
        let bans = self.bans(&place);
        let failures = ContainerFailures { counts, threshold, is_forgiven: !place.forgiven.is_empty(), bans };
        resource.failed_on = failures.banned_from();
        self.note_container(&name, failures);
        self.settle_on(&mut resource, &place, metas.get("multiple-active"));
        if let Some(host) = resource.active.filter(|_| has_roles) {
            let promoted = &place.roles.promoted;
            // Pacemaker quirk: an orphan that is promoted on one node counts as promoted on all.
            resource.promoted = promoted.contains(&host) || resource.orphaned && !promoted.is_empty();
            resource.demoted = place.roles.demoted.contains(&host);
            let here = self.records_of(&name).iter().find(|record| record.host == host);
            resource.unpromoted = here.is_some_and(|record| record.history.unpromoted);
        }
        let there = self.records_of(&name).iter().find(|record| Some(record.host) == resource.active);
        resource.position_in_history = there.map(|record| record.position).unwrap_or_default();
        resource.last_host = self.last_host(&name);
        resource.blocked_by_failure = resource.managed && place.blocked;
        resource.managed &= !place.blocked;
        if !sources.is_empty() {
            let revision = |host: HostIdx| self.revision(&sources, &resource.agent, &name, host);
            let revisions: Vec<(HostIdx, Revision)> =
                resource.active_hosts().map(|host| (host, revision(host))).collect();
            resource.revision = revisions.iter().map(|(_, one)| *one).max().unwrap_or_default();
            let replaced = revisions.iter().filter(|(_, one)| one.has_other_agent());
            resource.replaced_on = replaced.map(|(host, _)| *host).collect();
        }
        if self.set.removes_after_stop && (resource.runs_twice() || !resource.left_on.is_empty()) {
            reasons.push(REMOVES_AFTER_STOP);
        }
        if resource.runs_twice() && self.set.without_quorum.is_some() {
            reasons.push("it runs on several nodes, and there is no quorum");
        }
        if !reasons.is_empty() {
            let active: Vec<HostIdx> = resource.active_hosts().collect();
            self.charge(&name, &active, &resource.utilization);
            resource.utilization = Capacities::default();
            resource.managed = false;
            resource.unsupported = true;
        }
        (resource, reasons)
    }

    /// Reads a primitive without its hosts.
    pub(super) fn draft_primitive(
        &mut self,
        node: Node<'a, 'i>,
        inherited: &Inherited<'a, 'i>,
    ) -> Result<PrimitiveDraft<'a, 'i>> {
        let template = self.template(node)?;
        let kind = AgentKind::of(node, template);
        let elements: Vec<Node<'a, 'i>> = std::iter::once(node).chain(template).collect();
        let mut metas = self.metas(&elements, kind);
        for whole in &inherited.wholes {
            metas = metas.or(&self.metas(&[*whole], kind));
        }
        // Values that its group or clone has because it is no agent come last.
        let metas = metas.or(&self.defaults_of(kind)).or(&inherited.metas);
        let mut resource = self.bare(id(node), &metas);
        resource.agent = kind.text();
        resource.group = inherited.group;
        resource.managed = self.is_managed(&metas);
        resource.utilization = self.utilization(&elements);
        resource.key_attributes = self.key_attributes(&elements);
        let is_guest = self.guests.iter().any(|guest| guest.machine == node);
        let mut reasons = Vec::new();
        if metas.get(GUEST).is_some() && !is_guest {
            reasons.push("it makes a guest node");
        }
        let container = self.container_of(node, &metas);
        if let NamedContainer::Unsupported(reason) = container {
            reasons.push(reason);
        }
        let mut rules = self.failure_rules(node, template);
        rules.in_container = container != NamedContainer::None;
        if resource.agent == CONNECTION {
            if self.guests.iter().any(|guest| guest.machine == node) {
                resource.allow_migrate |= metas.get("allow-migrate").is_none();
                resource.stopped |= self.given_up.contains(resource.id.as_str());
                resource.requires = Some(Requirement::Quorum);
                rules.is_connection = true;
                rules.is_unmanaged_connection = !resource.managed;
            } else {
                reasons.push("it makes a remote node");
            }
        }
        let mut draft = PrimitiveDraft::new(resource, reasons, metas, rules);
        if let NamedContainer::Primitive(name) = container {
            draft.container = Some(name);
        }
        draft.sources.push(elements);
        draft.sources.extend(inherited.wholes.iter().map(|whole| vec![*whole]));
        self.note_unfencing(node, &draft.resource, &draft.metas, &draft.sources);
        Ok(draft)
    }

    /// Returns true if a resource with these meta attributes is managed.
    pub(super) fn is_managed(&self, metas: &Properties<'_>) -> bool {
        !self.maintenance_mode && metas.is_not_denied("is-managed") && !metas.flag("maintenance", false)
    }

    fn utilization(&mut self, elements: &[Node<'a, 'i>]) -> Capacities {
        let mut utilization = Capacities::default();
        for (kind, value) in self.properties_of(elements, "utilization").iter() {
            let kind = self.kind_of_capacity(kind);
            utilization.set(kind, amount(value));
        }
        utilization
    }

    /// A resource with the properties that primitives and groups have in common.
    pub(super) fn bare(&self, id: &str, metas: &Properties<'a>) -> Resource {
        Resource {
            id: id.to_owned(),
            agent: String::new(),
            members: Vec::new(),
            form: ResourceForm::Primitive,
            group: None,
            instance_of: None,
            in_bundle: false,
            priority: metas.score("priority"),
            stickiness: metas.score("resource-stickiness"),
            stopped: metas.get("target-role").is_some_and(|role| role.eq_ignore_ascii_case("stopped")),
            managed: true,
            blocked_by_failure: false,
            maintenance: self.maintenance_mode || metas.flag("maintenance", false),
            critical: metas.is_not_denied("critical"),
            allows_unhealthy: metas.flag("allow-unhealthy-nodes", false),
            allow_migrate: metas.flag("allow-migrate", false),
            utilization: Capacities::default(),
            scores: self.unscored.clone(),
            active: None,
            last_host: None,
            also_on: Vec::new(),
            replaced_on: Vec::new(),
            others_lost: false,
            sent_to: None,
            left_on: Vec::new(),
            never_restarts: false,
            multiple_active: MultipleActivePolicy::Restart,
            kept_on: Vec::new(),
            released: false,
            known_by: None,
            position_in_history: 0,
            condition: RunCondition::Sound,
            lost_inside: false,
            failed_inside: false,
            contained: false,
            promoted: false,
            demoted: false,
            unpromoted: false,
            promotion_failed: false,
            promotion: None,
            revision: Revision::None,
            failed_on: Vec::new(),
            broken_on: Vec::new(),
            surplus: false,
            orphaned: false,
            exclusive: None,
            requires: requirement(metas),
            unsure_on: Vec::new(),
            notifies: false,
            unknown_on: Vec::new(),
            kept_by_ticket: false,
            unsupported: false,
            key_attributes: Vec::new(),
        }
    }

    pub(super) fn add(&mut self, node: Node<'a, 'i>, resource: Resource) -> Result<ResourceIdx> {
        let id = required(self.source, node, "id")?;
        let index = ResourceIdx::new(self.set.resources.len());
        if self.inner.contains(id) || self.resources.insert(id, index).is_some() {
            return Err(wrong(self.source, node, "there is another resource with this id"));
        }
        self.set.resources.push(resource);
        Ok(index)
    }

    pub(super) fn template(&self, node: Node<'a, 'i>) -> Result<Option<Node<'a, 'i>>> {
        let Some(name) = node.attribute("template") else { return Ok(None) };
        match self.templates.get(name) {
            Some(template) => Ok(Some(*template)),
            None => Err(wrong(self.source, node, &format!("there is no template '{name}'"))),
        }
    }

    pub(super) fn charge(&mut self, name: &str, hosts: &[HostIdx], utilization: &Capacities) {
        let charge = |host: &HostIdx| Charge {
            resource: name.to_owned(),
            host: *host,
            utilization: utilization.clone(),
        };
        self.set.charges.extend(hosts.iter().map(charge));
    }

    /// Leaves the primitives in an element where they run, and charges them there.
    pub(super) fn leave(&mut self, node: Node<'a, 'i>) -> Result<()> {
        for primitive in node.descendants().filter(|inner| inner.has_tag_name("primitive")) {
            let name = id(primitive);
            let template = self.template(primitive)?;
            let elements: Vec<Node<'a, 'i>> = std::iter::once(primitive).chain(template).collect();
            let utilization = self.utilization(&elements);
            let is_instance = |known: &str| {
                known == name || known.strip_prefix(name).is_some_and(|end| end.starts_with(':'))
            };
            let nowhere = HistoryPlace {
                name: "",
                can_be_fenced: self.set.fencing,
                keeps_forgotten: self.set.release.keeps_forgotten_stops(),
                other: &|_| None,
            };
            let runs = |recorded_state: &RecordedState| match recorded_state {
                RecordedState::Inactive(_) => false,
                RecordedState::Active(_) => true,
                RecordedState::Unsettled(operations) => {
                    outcome(operations, &FailureRules::default(), self.set.fencing, true, &nowhere).active
                }
            };
            let records =
                self.records.iter().filter(|(known, _)| is_instance(known)).flat_map(|(_, all)| all);
            let mut hosts: Vec<HostIdx> = records
                .filter(|record| runs(&record.history.recorded_state))
                .map(|record| record.host)
                .collect();
            hosts.sort_unstable();
            self.charge(name, &hosts, &utilization);
        }
        Ok(())
    }
}

/// The precondition of a start by these meta attributes.
fn requirement(metas: &Properties<'_>) -> Option<Requirement> {
    match metas.get("requires")?.to_ascii_lowercase().as_str() {
        "nothing" => Some(Requirement::Nothing),
        "quorum" => Some(Requirement::Quorum),
        "fencing" => Some(Requirement::Fencing),
        "unfencing" => Some(Requirement::Unfencing),
        _ => None,
    }
}
