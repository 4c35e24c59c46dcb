//! Reads clones: the instances of a primitive or of a group, and their hosts.

use roxmltree::Node;

use super::super::index::{HostIdx, ResourceIdx};
use super::super::number::leading;
use super::super::promotion::Promotion;
use super::super::score::{AllocationScore, HostScore};
use super::super::working_set::{Requirement, Resource, ResourceForm, Revision, RunCondition};
use super::Reader;
use super::document::{children, id, required, wrong};
use super::fail_counts::failed_on;
use super::promotable::PartTraces;
use super::properties::Properties;
use super::resources::{GroupDraft, Inherited, PrimitiveDraft};
use super::run_places::{PastRoles, UNDER_WAY, add_reason};
use htools_ganeti::input::error::Result;

/// Greatest number of resources in a cluster with clones.
pub(super) const MOST: usize = 1_000_000;

/// Reasons why a clone is not supported.
const SURPLUS: &str = "more of its instances run than should, and nobody manages them";

const LOST: &str = "more of its instances run than should, one on a lost node that need not be fenced first";
pub(super) const TOO_MANY: &str = "more instances than can be followed";

const TWICE: &str = "two of its instances run on one node";

const APART: &str = "a clone of a group whose members need not be together";

/// A primitive of a clone, and the hosts of its instances.
struct ClonePart<'a, 'i> {
    draft: PrimitiveDraft<'a, 'i>,
    /// Hosts with an instance, in order, and its condition there.
    active: Vec<(HostIdx, RunCondition)>,
    /// Changes of the configuration since instances were started, by host.
    revisions: Vec<(HostIdx, Revision)>,
    /// Hosts on which an instance could not be stopped.
    unstopped: Vec<HostIdx>,
    /// Roles of instances.
    roles: PastRoles,
    /// Names of instances in histories.
    traces: PartTraces,
}

impl ClonePart<'_, '_> {
    /// Condition of the instance on a host, if there is one.
    fn condition_on(&self, host: HostIdx) -> Option<RunCondition> {
        let here = self.active.binary_search_by_key(&host, |(other, _)| *other).ok();
        here.map(|at| self.active[at].1)
    }

    /// Change of the configuration since the instance on a host was started.
    fn revision_on(&self, host: HostIdx) -> Revision {
        let here = self.revisions.iter().find(|(other, _)| *other == host);
        here.map(|(_, revision)| *revision).unwrap_or_default()
    }
}

/// The parts of each instance of a clone.
struct CloneParts<'a, 'i> {
    group: Option<GroupDraft<'a>>,
    primitives: Vec<ClonePart<'a, 'i>>,
    failed_on: Vec<HostScore>,
    /// True if a failure requires that all instances stop.
    stopped: bool,
}

impl<'a, 'i> Reader<'a, 'i> {
    pub(super) fn read_clone(&mut self, node: Node<'a, 'i>, defaults: &Properties<'a>) -> Result<()> {
        let metas = self.properties(node, "meta_attributes").or(defaults);
        let mut reasons = unsupported_reason(&metas);
        let is_promotable = node.has_tag_name("master") || metas.flag("promotable", false);
        let count = metas.get("clone-max").and_then(leading).and_then(|count| usize::try_from(count).ok());
        let count = count.unwrap_or(self.set.hosts.len().max(1));
        let (mut count, is_unique) = (count, metas.flag("globally-unique", false));
        let has_ocf_agents = self.has_ocf_agents(node)?;
        if is_unique && is_promotable {
            reasons.push("a promotable clone whose instances are told apart");
        }
        if is_promotable && !has_ocf_agents {
            reasons.push("a promotable clone of an agent that has no roles");
        }
        if is_unique && has_ocf_agents {
            return self.read_unique_clone(node, &metas, count, reasons);
        }
        if is_unique {
            // Such a clone gets no more instances than there are hosts.
            count = count.min(self.set.hosts.len().max(1));
        }
        let parts = self.clone_parts(node, &metas, count, &mut reasons)?;
        if is_promotable {
            self.check_promotable(&mut reasons);
        }
        let runs_on = |host: &HostIdx| parts.primitives.iter().any(|part| part.condition_on(*host).is_some());
        let hosts: Vec<HostIdx> = self.set.status_order.iter().copied().filter(runs_on).collect();
        let resources = count.max(hosts.len()).saturating_mul(parts.primitives.len() + 1);
        if resources > MOST.saturating_sub(self.set.resources.len()) {
            reasons.push(TOO_MANY);
        }
        if hosts.len() > count && self.leaves_any_alone(&hosts, &parts) {
            add_reason(&mut reasons, SURPLUS);
        }
        let is_lost = |host: &HostIdx| self.set.host(*host).state.unclean;
        let needs_no_fencing = |part: &ClonePart<'a, 'i>| {
            part.draft.resource.requires.is_some_and(|one| one < Requirement::Fencing)
        };
        if hosts.len() > count && hosts.iter().any(is_lost) && parts.primitives.iter().any(needs_no_fencing) {
            add_reason(&mut reasons, LOST);
        }
        if !reasons.is_empty() {
            reasons.iter().for_each(|reason| self.report_unsupported(node, reason));
            return self.leave(node);
        }
        self.take_inner_ids(node)?;
        let mut resource = self.bare_clone(node, &metas);
        // If one part failed on a host, nothing of the clone runs there.
        resource.failed_on.clone_from(&parts.failed_on);
        if parts.stopped {
            let everywhere = self.set.host_indices();
            resource
                .failed_on
                .extend(everywhere.map(|host| HostScore { host, score: AllocationScore::INFINITY }));
        }
        if is_promotable {
            resource.promotion = Some(self.clone_promotion(&metas, count.max(hosts.len()), &parts));
        }
        let clone = self.add(node, resource)?;
        self.note_enough(clone, &metas);
        // Instances found first in the status are kept; the others get no place.
        for number in 0..count.max(hosts.len()) {
            self.add_instance(clone, number, number >= count, hosts.get(number).copied(), &parts);
        }
        self.set.find_whole(clone);
        Ok(())
    }

    /// The promotion of a clone with these parts.
    fn clone_promotion(&self, metas: &Properties<'a>, count: usize, parts: &CloneParts<'a, 'i>) -> Promotion {
        let first = parts.primitives.first().map(|part| &part.draft.metas);
        let own = parts.group.as_ref().map(|group| &group.metas).or(first).unwrap_or(metas);
        let failed_on = parts.primitives.iter().flat_map(|part| part.roles.failed_promotion.clone());
        let mut promotion = self.promotion(metas, own);
        promotion.failed_on = failed_on.collect();
        parts.primitives.iter().for_each(|part| self.read_wishes(&mut promotion, count, &part.traces));
        promotion
    }

    /// Notes the ids of what is cloned.
    pub(super) fn take_inner_ids(&mut self, node: Node<'a, 'i>) -> Result<()> {
        let inner =
            node.descendants().filter(|one| one.has_tag_name("primitive") || one.has_tag_name("group"));
        for inner in inner {
            let name = required(self.source, inner, "id")?;
            if self.resources.contains_key(name) || !self.inner.insert(name) {
                return Err(wrong(self.source, inner, "there is another resource with this id"));
            }
        }
        Ok(())
    }

    /// A clone that has no instances yet.
    pub(super) fn bare_clone(&self, node: Node<'a, 'i>, metas: &Properties<'a>) -> Resource {
        let mut resource = self.bare(id(node), metas);
        resource.form = ResourceForm::Clone {
            interleave: metas.flag("interleave", false),
            ordered: metas.flag("ordered", false),
            unique: false,
            per_host: 1,
        };
        resource.managed = self.is_managed(metas);
        resource
    }

    /// Notes the number of instances that are enough for resources that start after a clone.
    pub(super) fn note_enough(&mut self, clone: ResourceIdx, metas: &Properties<'a>) {
        let enough = metas.get("clone-min").and_then(leading).and_then(|count| usize::try_from(count).ok());
        self.enough.extend(enough.filter(|enough| *enough > 0).map(|enough| (clone, enough)));
    }

    /// Returns true if any part of a clone on these hosts is unmanaged.
    fn leaves_any_alone(&self, hosts: &[HostIdx], parts: &CloneParts<'a, 'i>) -> bool {
        let is_alone = |part: &ClonePart<'a, 'i>| {
            let blocked = |host: &HostIdx| part.condition_on(*host) == Some(RunCondition::Blocked);
            !part.draft.resource.managed || hosts.iter().any(blocked)
        };
        let in_maintenance = |host: &HostIdx| self.set.host(*host).state.maintenance;
        self.set.frozen || hosts.iter().any(in_maintenance) || parts.primitives.iter().any(is_alone)
    }

    /// Reads the primitives in a clone with `count` instances, and their group.
    fn clone_parts(
        &mut self,
        node: Node<'a, 'i>,
        metas: &Properties<'a>,
        count: usize,
        reasons: &mut Vec<&'static str>,
    ) -> Result<CloneParts<'a, 'i>> {
        let group = children(node, "group").next();
        let draft = group.map(|group| self.draft_group(group, metas));
        if draft.as_ref().is_some_and(|draft| !draft.together) {
            add_reason(reasons, APART);
        }
        let metas = draft.as_ref().map_or(metas, |draft| &draft.metas).clone();
        let inherited = Inherited { metas, group: None, wholes: group.into_iter().chain([node]).collect() };
        let (mut primitives, mut failed, mut stopped) = (Vec::new(), Vec::new(), false);
        for inner in children(group.unwrap_or(node), "primitive") {
            let mut draft = self.draft_primitive(inner, &inherited)?;
            reasons.append(&mut draft.reasons);
            let names = self.copies(id(inner));
            let (mut active, mut unstopped, mut forgiven) = (Vec::new(), Vec::new(), 0);
            let (mut revisions, mut changed_since) = (Vec::new(), Vec::new());
            let (mut roles, mut active_names) = (PastRoles::default(), Vec::new());
            for name in &names {
                // For instances, maintenance of their host does not count here.
                let places = self.find_run_places(name, &draft.rules, |_| draft.resource.managed, reasons);
                if places.are_guessed() {
                    add_reason(reasons, UNDER_WAY);
                }
                failed.extend(
                    places
                        .banned
                        .iter()
                        .map(|host| HostScore { host: *host, score: AllocationScore::INFINITY }),
                );
                for (host, _) in &places.active {
                    let revision = self.revision(&draft.sources, &draft.resource.agent, name, *host);
                    revisions.push((*host, revision));
                }
                active_names.extend(places.active.iter().map(|(host, _)| (*host, name.clone())));
                active.extend(places.active);
                unstopped.extend(places.unstopped);
                roles.append(places.roles);
                forgiven += places.forgiven.len();
                changed_since.extend(self.changed_since_failure(&draft.sources, name));
                stopped |= places.stopped;
            }
            active.sort_unstable_by_key(|(host, _)| *host);
            if active.windows(2).any(|pair| pair[0].0 == pair[1].0) {
                add_reason(reasons, TWICE);
            }
            // A failure counts if it matters to any instance, and it matters to all but the failed one. So a changed
            // configuration makes it obsolete only if there is a single instance.
            let is_only = count == 1 && active.len() < 2;
            let is_over = |host: HostIdx| is_only && changed_since.contains(&host);
            // Failures count if one instance does not ignore them, whether it runs or not.
            let counts = forgiven < self.set.hosts.len();
            let failures =
                names.iter().filter(|_| counts).flat_map(|name| self.failures_of(name, &draft.rules));
            let mut failures: Vec<HostScore> = failures.filter(|failed| !is_over(failed.host)).collect();
            failures.sort_unstable_by_key(|failed| (failed.host, failed.score));
            failures.dedup_by(|later, first| {
                let is_same = later.host == first.host;
                if is_same {
                    first.score = first.score.plus(later.score);
                }
                is_same
            });
            failed.append(&mut failed_on(failures.into_iter(), draft.threshold));
            draft.settle_stickiness();
            let name = draft.resource.id.clone();
            let traces = PartTraces { name, copies: names, active: active_names };
            primitives.push(ClonePart { draft, active, revisions, unstopped, roles, traces });
        }
        if primitives.is_empty() {
            return Err(wrong(self.source, node, "the clone contains no resource"));
        }
        failed.sort_unstable_by_key(|one: &HostScore| (one.host, one.score));
        failed.dedup_by_key(|one| one.host);
        Ok(CloneParts { group: draft, primitives, failed_on: failed, stopped })
    }

    /// Names of a primitive's instances in the status, in order: its own name, without or with a number.
    fn copies(&self, name: &str) -> Vec<String> {
        let is_copy = |other: &&str| {
            let end = other.strip_prefix(name);
            end.is_some_and(|end| {
                let number = end.strip_prefix(':').unwrap_or("x");
                end.is_empty() || number.bytes().all(|byte| byte.is_ascii_digit())
            })
        };
        let traced = self.records.keys().copied().filter(is_copy);
        let failed = self.failures.keys().map(String::as_str).filter(is_copy);
        let mut names: Vec<String> = traced.chain(failed).map(str::to_owned).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Adds the instance with a number, and its parts that run on a host.
    fn add_instance(
        &mut self,
        clone: ResourceIdx,
        number: usize,
        surplus: bool,
        host: Option<HostIdx>,
        parts: &CloneParts<'a, 'i>,
    ) {
        let whole = parts.group.as_ref().map(|group| {
            let id = format!("{}:{number}", group.resource.id);
            let failed_on = parts.failed_on.clone();
            self.push(Resource { id, instance_of: Some(clone), failed_on, surplus, ..group.resource.clone() })
        });
        let mut members = Vec::new();
        for part in &parts.primitives {
            let draft = &part.draft;
            let condition = host.and_then(|host| part.condition_on(host));
            let mut failed_on = parts.failed_on.clone();
            let stuck = host.filter(|host| part.unstopped.contains(host));
            failed_on.extend(stuck.map(|host| HostScore { host, score: AllocationScore::INFINITY }));
            members.push(self.push(Resource {
                id: format!("{}:{number}", draft.resource.id),
                group: whole,
                instance_of: if whole.is_some() { None } else { Some(clone) },
                active: host.filter(|_| condition.is_some()),
                condition: condition.unwrap_or_default(),
                promoted: host.is_some_and(|host| part.roles.promoted.contains(&host)),
                demoted: host.is_some_and(|host| part.roles.demoted.contains(&host)),
                revision: host.map(|host| part.revision_on(host)).unwrap_or_default(),
                managed: draft.resource.managed && condition != Some(RunCondition::Blocked),
                failed_on,
                surplus,
                ..draft.resource.clone()
            }));
        }
        self.finish_instance(
            clone,
            whole,
            &members,
            parts.group.as_ref().is_some_and(|group| group.together),
        );
    }

    /// Makes resources an instance of a clone, within a group if there is one.
    pub(super) fn finish_instance(
        &mut self,
        clone: ResourceIdx,
        whole: Option<ResourceIdx>,
        members: &[ResourceIdx],
        together: bool,
    ) {
        if let Some(whole) = whole {
            self.set.resources[whole.get()].members.extend(members);
            if together {
                let id = self.set.resource(whole).id.clone();
                self.keep_together(members, &id);
            }
            self.set.find_whole(whole);
        }
        let instance = whole.or(members.first().copied());
        self.set.resources[clone.get()].members.extend(instance);
    }

    pub(super) fn push(&mut self, resource: Resource) -> ResourceIdx {
        let index = ResourceIdx::new(self.set.resources.len());
        self.set.resources.push(resource);
        index
    }
}

/// Reasons why a clone is not supported, by its meta attributes.
fn unsupported_reason(metas: &Properties<'_>) -> Vec<&'static str> {
    let mut reasons = Vec::new();
    if metas.get("clone-node-max").and_then(leading).is_some_and(|count| count < 1) {
        reasons.push("no instance is allowed on any node");
    }
    reasons
}
