//! Reads clones: the instances of a primitive or of a group, and their hosts.

use std::collections::HashSet;

use roxmltree::Node;

use super::super::index::{HostIdx, ResourceIdx};
use super::super::number::leading;
use super::super::promotion::Promotion;
use super::super::score::{AllocationScore, HostScore};
use super::super::working_set::{Host, Resource, ResourceForm, Revision, RunCondition};
use super::Reader;
use super::document::{children, id, required, wrong};
use super::fail_counts::failed_on;
use super::groups::GroupDraft;
use super::promotable::{Instances, PartTraces};
use super::properties::Properties;
use super::resources::{Inherited, PrimitiveDraft};
use super::run_places::{INSTANCE_BEHIND, REMOVES_AFTER_STOP, UNDER_WAY, add_reason};
use super::unique_clones::UniqueClone;
use super::value_rules::AgentKind;
use htools_ganeti::input::error::Result;

/// Greatest number of resources in a cluster with clones.
pub(super) const MOST: usize = 1_000_000;

/// Reason why a clone is not supported: it is not known what waits for the restarts of its instances.
const OTHER_AGENT_IN_MACHINE: &str = "its agent changed, and it runs on a guest node";

/// Reasons why a clone is not supported.
const SURPLUS: &str = "more of its instances run than should, and nobody manages them";

pub(super) const TOO_MANY: &str = "more instances than can be followed";

const APART: &str = "a clone of a group whose members need not be together";

/// An instance of a clone's primitive that runs on a host.
struct RunningPart {
    host: HostIdx,
    /// Position in the history of the host.
    position: usize,
    /// Its name in the history.
    name: String,
    condition: RunCondition,
    /// Change of the configuration since it was started.
    revision: Revision,
    /// True if it could not be stopped.
    unstopped: bool,
    promoted: bool,
    demoted: bool,
    unpromoted: bool,
    promotion_failed: bool,
    /// True on a lost host, if the clone gives its numbers to other instances.
    given_up: bool,
}

/// A host of an instance. If several run there, they are told apart by their positions in its history.
#[derive(Debug, Clone, Copy)]
struct InstancePlace {
    host: HostIdx,
    rank: usize,
    /// Number of the only primitive that runs there, for what was given up. Without it, this is an instance of all those
    /// that were not given up.
    part: Option<usize>,
}

/// A primitive of a clone, and the hosts of its instances.
struct ClonePart<'a, 'i> {
    draft: PrimitiveDraft<'a, 'i>,
    /// The instances that run, sorted by host and position.
    running: Vec<RunningPart>,
    /// Names of instances in histories.
    traces: PartTraces,
}

impl ClonePart<'_, '_> {
    /// The instances that run on a host, in order.
    fn on_host(&self, host: HostIdx) -> &[RunningPart] {
        let first = self.running.partition_point(|part| part.host < host);
        let end = self.running.partition_point(|part| part.host <= host);
        &self.running[first..end]
    }

    /// The instance that runs at a place, for the primitive of this number.
    fn at(&self, place: InstancePlace, number: usize) -> Option<&RunningPart> {
        let is_meant = |one: &&RunningPart| match place.part {
            Some(part) => part == number && one.given_up,
            None => !one.given_up,
        };
        self.on_host(place.host).get(place.rank).filter(is_meant)
    }
}

/// The parts of each instance of a clone.
pub(super) struct CloneParts<'a, 'i> {
    group: Option<GroupDraft<'a>>,
    primitives: Vec<ClonePart<'a, 'i>>,
    failed_on: Vec<HostScore>,
    /// The hosts among them on which they did not fail too often, but are of no use.
    broken_on: Vec<HostIdx>,
    /// True if a failure requires that all instances stop.
    stopped: bool,
}

impl<'a> CloneParts<'a, '_> {
    /// Returns true if an instance runs on another host than these, or beside another one.
    pub(super) fn run_beyond(&self, hosts: &[HostIdx]) -> bool {
        let is_beyond = |part: &ClonePart<'_, '_>| {
            part.running.iter().any(|running| !hosts.contains(&running.host))
                || hosts.iter().any(|host| part.on_host(*host).len() > 1)
        };
        self.primitives.iter().any(is_beyond)
    }

    /// Returns true if a failure blocks an instance.
    pub(super) fn are_blocked(&self) -> bool {
        let is_blocked = |running: &RunningPart| running.condition == RunCondition::Blocked;
        self.primitives.iter().any(|part| part.running.iter().any(is_blocked))
    }

    /// Meta attributes of the first primitive.
    pub(super) fn metas(&self) -> Option<&Properties<'a>> {
        self.primitives.first().map(|part| &part.draft.metas)
    }
}

impl<'a, 'i> Reader<'a, 'i> {
    /// Adds the instances inside of a bundle, each with its own host.
    pub(super) fn add_inner_instances(
        &mut self,
        clone: ResourceIdx,
        hosts: &[HostIdx],
        parts: &CloneParts<'a, 'i>,
    ) {
        for (number, host) in hosts.iter().copied().enumerate() {
            let runs = parts.primitives.iter().any(|part| !part.on_host(host).is_empty());
            self.add_instance(
                clone,
                number,
                false,
                runs.then_some(InstancePlace { host, rank: 0, part: None }),
                parts,
            );
        }
    }

    pub(super) fn read_clone(&mut self, node: Node<'a, 'i>, defaults: &Properties<'a>) -> Result<()> {
        let metas = self.metas(&[node], AgentKind::default()).or(defaults);
        let mut reasons = unsupported_reason(&metas);
        let is_promotable = node.has_tag_name("master") || metas.flag("promotable", false);
        // No number and a negative one mean that there are no instances.
        let wanted = |count| leading(count).map_or(0, |count| usize::try_from(count).unwrap_or(0));
        let count = metas.get("clone-max").map_or(self.known_hosts().max(1), wanted);
        // Since Pacemaker 3.0, instances are told apart if several of them may be on one node, unless it is said otherwise.
        let is_several = metas.get("clone-node-max").and_then(leading).is_some_and(|most| most > 1);
        let by_default = is_several && self.set.release.tells_several_apart();
        let (mut count, is_unique) = (count, metas.flag("globally-unique", by_default));
        let has_ocf_agents = self.has_ocf_agents(node)?;
        if is_promotable && !has_ocf_agents {
            reasons.push("a promotable clone of an agent that has no roles");
        }
        if is_unique && has_ocf_agents {
            return self
                .read_unique_clone(node, UniqueClone { metas: &metas, count, is_promotable, reasons });
        }
        if is_unique {
            // Such a clone gets no more instances than there are hosts.
            count = count.min(self.known_hosts().max(1));
        }
        let parts = self.clone_parts(node, &metas, count, &mut reasons)?;
        if is_promotable {
            self.check_promotable(&mut reasons);
        }
        let (kept, surplus) = self.instance_places(count, &parts);
        let all = count.saturating_add(surplus.len());
        if all.saturating_mul(parts.primitives.len() + 1) > MOST.saturating_sub(self.set.resources.len()) {
            reasons.push(TOO_MANY);
        }
        let hosts = kept.iter().chain(&surplus).map(|place| place.host);
        if !surplus.is_empty() && self.leaves_any_alone(hosts, &parts) {
            add_reason(&mut reasons, SURPLUS);
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
            let hosts: Vec<HostIdx> = kept.iter().map(|place| place.host).collect();
            let instances = Instances { count, hosts: &hosts };
            resource.promotion = Some(self.clone_promotion(&metas, &instances, &parts));
        }
        let clone = self.add(node, resource)?;
        self.note_enough(clone, &metas);
        let idle = std::iter::repeat_n(None, count - kept.len());
        let wanted = kept.into_iter().map(Some).chain(idle);
        for (number, place) in wanted.chain(surplus.into_iter().map(Some)).enumerate() {
            self.add_instance(clone, number, number >= count, place, &parts);
        }
        self.set.find_whole(clone);
        Ok(())
    }

    /// Number of hosts that are known as far as the document is read: nodes in containers are known with their bundles.
    pub(super) fn known_hosts(&self) -> usize {
        let is_known =
            |host: &&Host| host.is_known() && (!host.replica || host.listed || host.guest.is_some());
        self.set.hosts.iter().filter(is_known).count()
    }

    /// The places of the instances of a clone that are kept, and of the surplus ones, which get no other place. Those found
    /// first in the status are kept, but only one on each host.
    fn instance_places(
        &self,
        count: usize,
        parts: &CloneParts<'a, 'i>,
    ) -> (Vec<InstancePlace>, Vec<InstancePlace>) {
        let (mut kept, mut surplus) = (Vec::new(), Vec::new());
        for host in self.set.status_order.iter().copied() {
            let is_counted = |one: &&RunningPart| !one.given_up;
            let counted = parts.primitives.iter().map(|part| part.on_host(host).iter().filter(is_counted));
            let here = counted.map(Iterator::count).max().unwrap_or(0);
            for rank in 0..here {
                let list = if rank == 0 && kept.len() < count { &mut kept } else { &mut surplus };
                list.push(InstancePlace { host, rank, part: None });
            }
            for (number, part) in parts.primitives.iter().enumerate() {
                let running = part.on_host(host).iter().enumerate();
                let given_up = running.filter(|(_, one)| one.given_up);
                surplus.extend(given_up.map(|(rank, _)| InstancePlace { host, rank, part: Some(number) }));
            }
        }
        (kept, surplus)
    }

    /// The promotion of a clone with these parts.
    fn clone_promotion(
        &self,
        metas: &Properties<'a>,
        instances: &Instances<'_>,
        parts: &CloneParts<'a, 'i>,
    ) -> Promotion {
        let first = parts.primitives.first().map(|part| &part.draft.metas);
        let own = parts.group.as_ref().map(|group| &group.metas).or(first).unwrap_or(metas);
        let mut promotion = self.promotion(metas, own);
        parts.primitives.iter().for_each(|part| self.read_wishes(&mut promotion, instances, &part.traces));
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
        let node_max =
            metas.get("clone-node-max").and_then(leading).and_then(|most| usize::try_from(most).ok());
        let node_max = node_max.unwrap_or(1);
        resource.form = ResourceForm::Clone {
            interleave: metas.flag("interleave", false),
            ordered: metas.flag("ordered", false),
            unique: false,
            node_max,
        };
        resource.managed = self.is_managed(metas);
        resource.notifies = metas.flag("notify", false);
        resource
    }

    /// Notes the number of instances that are enough for resources that start after a clone.
    pub(super) fn note_enough(&mut self, clone: ResourceIdx, metas: &Properties<'a>) {
        let enough = metas.get("clone-min").and_then(leading).and_then(|count| usize::try_from(count).ok());
        self.enough.extend(enough.filter(|enough| *enough > 0).map(|enough| (clone, enough)));
    }

    /// Returns true if any part of a clone on these hosts is unmanaged.
    fn leaves_any_alone(&self, mut hosts: impl Iterator<Item = HostIdx>, parts: &CloneParts<'a, 'i>) -> bool {
        let is_alone = |part: &ClonePart<'a, 'i>| {
            let is_blocked = |running: &RunningPart| running.condition == RunCondition::Blocked;
            !part.draft.resource.managed || part.running.iter().any(is_blocked)
        };
        let in_maintenance = |host: HostIdx| self.set.host(host).state.maintenance;
        self.set.frozen || hosts.any(in_maintenance) || parts.primitives.iter().any(is_alone)
    }

    /// Reads the primitives in a clone with `count` instances, and their group.
    pub(super) fn clone_parts(
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
        let mut broken_on = Vec::new();
        for inner in children(group.unwrap_or(node), "primitive") {
            let mut draft = self.draft_primitive(inner, &inherited)?;
            reasons.append(&mut draft.reasons);
            let names = self.copies(id(inner));
            let gives_up =
                !node.has_tag_name("bundle") && self.gives_up_lost_instances(count, draft.resource.requires);
            let (mut running, mut changed_since, mut forgiven) = (Vec::new(), Vec::new(), 0);
            for name in &names {
                // For instances, maintenance of their host does not count here.
                let places = self.find_run_places(name, &draft.rules, |_| draft.resource.managed, reasons);
                if places.are_guessed() {
                    add_reason(reasons, UNDER_WAY);
                }
                if places.active.iter().any(|(host, _)| self.is_cut_off(*host)) {
                    add_reason(reasons, INSTANCE_BEHIND);
                }
                broken_on.extend(places.banned.iter().copied());
                for (host, condition) in &places.active {
                    let here = self.records_of(name).iter().find(|record| record.host == *host);
                    running.push(RunningPart {
                        host: *host,
                        position: here.map_or(0, |record| record.position),
                        name: name.clone(),
                        condition: *condition,
                        revision: self.revision(&draft.sources, &draft.resource.agent, name, *host),
                        unstopped: places.unstopped.contains(host),
                        promoted: places.roles.promoted.contains(host),
                        demoted: places.roles.demoted.contains(host),
                        unpromoted: here.is_some_and(|record| record.history.unpromoted),
                        promotion_failed: places.roles.failed_promotion.contains(host),
                        given_up: gives_up && self.set.host(*host).state.unclean,
                    });
                }
                forgiven += places.forgiven.len();
                changed_since.extend(self.changed_since_failure(&draft.sources, name));
                stopped |= places.stopped;
            }
            running.sort_by_key(|part| (part.host, part.position));
            if self.set.removes_after_stop && !running.is_empty() {
                add_reason(reasons, REMOVES_AFTER_STOP);
            }
            let is_replaced_inside =
                |part: &RunningPart| part.revision.has_other_agent() && self.is_guest_node(part.host);
            if running.iter().any(is_replaced_inside) {
                add_reason(reasons, OTHER_AGENT_IN_MACHINE);
            }
            // A failure counts if it matters to any instance, and it matters to all but the failed one. So a changed
            // configuration makes it obsolete only if there is a single instance.
            let is_only = count == 1 && running.len() < 2;
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
            let mut traces =
                PartTraces::of(name, names, running.iter().map(|part| (part.host, part.name.clone())));
            traces.gives_up = gives_up;
            primitives.push(ClonePart { draft, running, traces });
        }
        if primitives.is_empty() {
            return Err(wrong(self.source, node, "the clone contains no resource"));
        }
        let too_often: HashSet<HostIdx> = failed.iter().map(|one: &HostScore| one.host).collect();
        broken_on.retain(|host| !too_often.contains(host));
        broken_on.sort_unstable();
        broken_on.dedup();
        failed
            .extend(broken_on.iter().map(|host| HostScore { host: *host, score: AllocationScore::INFINITY }));
        failed.sort_unstable_by_key(|one: &HostScore| (one.host, one.score));
        failed.dedup_by_key(|one| one.host);
        Ok(CloneParts { group: draft, primitives, failed_on: failed, broken_on, stopped })
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

    /// Adds the instance with a number, and its parts that run at a place.
    fn add_instance(
        &mut self,
        clone: ResourceIdx,
        number: usize,
        surplus: bool,
        place: Option<InstancePlace>,
        parts: &CloneParts<'a, 'i>,
    ) {
        let whole = parts.group.as_ref().map(|group| {
            let id = format!("{}:{number}", group.resource.id);
            let failed_on = parts.failed_on.clone();
            self.push(Resource { id, instance_of: Some(clone), failed_on, surplus, ..group.resource.clone() })
        });
        let mut members = Vec::new();
        for (at, part) in parts.primitives.iter().enumerate() {
            let draft = &part.draft;
            let running = place.and_then(|place| part.at(place, at));
            let condition = running.map(|running| running.condition);
            let is = |fact: fn(&RunningPart) -> bool| running.is_some_and(fact);
            let mut failed_on = parts.failed_on.clone();
            let stuck = running.filter(|running| running.unstopped).map(|running| running.host);
            failed_on.extend(stuck.map(|host| HostScore { host, score: AllocationScore::INFINITY }));
            members.push(self.push(Resource {
                id: format!("{}:{number}", draft.resource.id),
                group: whole,
                instance_of: if whole.is_some() { None } else { Some(clone) },
                active: running.map(|running| running.host),
                condition: condition.unwrap_or_default(),
                promoted: is(|running| running.promoted),
                demoted: is(|running| running.demoted),
                unpromoted: is(|running| running.unpromoted),
                promotion_failed: is(|running| running.promotion_failed),
                revision: running.map(|running| running.revision).unwrap_or_default(),
                managed: draft.resource.managed && condition != Some(RunCondition::Blocked),
                failed_on,
                broken_on: parts.broken_on.clone(),
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
    if metas.get("clone-node-max").is_some_and(|count| leading(count).unwrap_or(0) < 1) {
        reasons.push("no instance is allowed on any node");
    }
    reasons
}
