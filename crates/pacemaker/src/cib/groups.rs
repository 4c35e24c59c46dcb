//! Reads groups.

use roxmltree::Node;

use super::super::index::ResourceIdx;
use super::super::working_set::{Colocation, Resource, ResourceForm, RunCondition};
use super::Reader;
use super::document::{children, id, wrong};
use super::properties::Properties;
use super::resources::Inherited;
use super::value_rules::AgentKind;
use htools_ganeti::input::error::Result;

/// A group without its members.
pub(super) struct GroupDraft<'a> {
    pub(super) resource: Resource,
    /// Meta attributes that its members inherit.
    pub(super) metas: Properties<'a>,
    /// True if each member must run where the one before it runs.
    pub(super) together: bool,
}

impl<'a, 'i> Reader<'a, 'i> {
    pub(super) fn read_group(&mut self, node: Node<'a, 'i>, defaults: &Properties<'a>) -> Result<()> {
        let draft = self.draft_group(node, defaults);
        let group = self.add(node, draft.resource)?;
        for member in children(node, "primitive") {
            let inherited = Inherited { metas: draft.metas.clone(), group: Some(group), wholes: vec![node] };
            self.read_primitive(member, &inherited)?;
        }
        let members = self.set.resource(group).members.clone();
        if members.is_empty() {
            return Err(wrong(self.source, node, "a group without members"));
        }
        if draft.together {
            self.keep_together(&members, id(node));
        }
        if draft.metas.get("multiple-active").is_some_and(|word| word.eq_ignore_ascii_case("block")) {
            self.block_group(&members);
        }
        self.set.find_whole(group);
        self.leave_group_of_unsupported(group);
        Ok(())
    }

    /// Blocks all members of a group with `multiple-active=block` once one of them runs on several hosts. A member that
    /// is unmanaged, or on a host in maintenance, does not block them. Members that were known to run before need not
    /// stay on their hosts.
    fn block_group(&mut self, members: &[ResourceIdx]) {
        let known = |member: &ResourceIdx, at: usize| {
            let details = self.set.resource(*member);
            let host = details.active_hosts().nth(at)?;
            let turn = self.set.status_order.iter().position(|other| *other == host);
            let record = self.records_of(&details.id).iter().find(|record| record.host == host)?;
            Some((turn, record.position))
        };
        let blocks = |member: &&ResourceIdx| {
            let details = self.set.resource(**member);
            details.condition == RunCondition::Blocked && !details.blocked_by_failure
        };
        let Some(blocked) = members.iter().filter(blocks).filter_map(|member| known(member, 1)).min() else {
            return;
        };
        let was_known = |member: &ResourceIdx| known(member, 0).is_some_and(|known| known < blocked);
        let were_known: Vec<bool> = members.iter().map(was_known).collect();
        for (member, was_known) in members.iter().zip(were_known) {
            let details = &mut self.set.resources[member.get()];
            details.released = was_known && details.managed && !details.runs_twice();
            (details.managed, details.condition) = (false, RunCondition::Blocked);
        }
    }

    /// A group that has no members yet.
    pub(super) fn draft_group(&mut self, node: Node<'a, 'i>, defaults: &Properties<'a>) -> GroupDraft<'a> {
        let metas = self.metas(&[node], AgentKind::default()).or(defaults);
        let mut resource = self.bare(id(node), &metas);
        let together = metas.flag("collocated", true);
        resource.form = ResourceForm::Group { ordered: metas.flag("ordered", true), together };
        resource.managed = self.is_managed(&metas);
        resource.key_attributes = self.key_attributes(&[node]);
        GroupDraft { resource, metas, together }
    }

    /// Colocates each member of a group with the one before it.
    pub(super) fn keep_together(&mut self, members: &[ResourceIdx], group: &str) {
        for pair in members.windows(2) {
            let influence = self.set.resource(pair[1]).critical;
            self.together.push(Colocation { influence, ..Colocation::implied(group, pair[1], pair[0]) });
        }
    }

    /// Leaves a whole group where it runs, if one of its members is not supported.
    fn leave_group_of_unsupported(&mut self, group: ResourceIdx) {
        let members = self.set.resource(group).members.clone();
        if !members.iter().any(|member| self.set.resource(*member).unsupported) {
            return;
        }
        self.set.resources[group.get()].unsupported = true;
        for member in members {
            let details = &mut self.set.resources[member.get()];
            let (name, active) = (details.id.clone(), details.active);
            let utilization = std::mem::take(&mut details.utilization);
            (details.managed, details.unsupported) = (false, true);
            self.charge(&name, active.as_slice(), &utilization);
        }
    }
}
