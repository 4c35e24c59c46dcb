//! Mandatory colocations with resources that do not run in the end.

use super::super::change::ResourceChange;
use super::super::wait::WaitReason;
use super::state::InducedChanges;
use crate::index::ResourceIdx;
use crate::promotion::Role;
use crate::score::AllocationScore;
use crate::working_set::Colocation;

impl InducedChanges<'_> {
    /// Keeps resources from starting that have a mandatory colocation to a primitive that could start but does not. The
    /// same applies to a clone of primitives without a running instance and, since Pacemaker 3.0, to groups.
    pub(super) fn follow_colocations(&mut self) {
        let set = self.set;
        for (at, colocation) in set.colocations.iter().enumerate() {
            let is_mandatory = colocation.score == AllocationScore::INFINITY;
            if !is_mandatory || set.counts_for_primary_alone(colocation) || !self.is_down(colocation) {
                continue;
            }
            for member in set.primitives(&colocation.dependent).iter() {
                if colocation.dependent_role == Some(Role::Promoted) {
                    self.block_promotion(*member);
                    continue;
                }
                if !set.is_managed(*member) {
                    continue;
                }
                let change = self.without_needed(*member, true);
                self.set(*member, change, WaitReason::Colocation(at));
            }
        }
    }

    /// Returns true if the primary of a colocation could run but does not.
    fn is_down(&self, colocation: &Colocation) -> bool {
        let set = self.set;
        let primary = set.resource(colocation.primary);
        let group = primary.group.filter(|group| set.keeps_together(*group) && !set.is_tie(colocation));
        let group = if primary.is_group() { Some(colocation.primary) } else { group };
        if let Some(group) = group {
            return set.release.stops_without_groups() && self.is_group_down(group);
        }
        let is_alone = primary.group.is_none() && primary.instance_of.is_none();
        let parts = match primary.is_clone() {
            true => primary.members.as_slice(),
            false => std::slice::from_ref(&colocation.primary),
        };
        if !is_alone || !parts.iter().all(|part| set.resource(*part).is_primitive()) {
            return false;
        }
        // A primitive without a place is considered as long as others wait for it. In a circle, a resource can have a
        // place although the clone that it must be with has none.
        let is_promotion = colocation.primary_role == Some(Role::Promoted);
        let is_thought_of = |part: &ResourceIdx| {
            is_promotion && self.placed.promoted[part.get()]
                || !is_promotion && (self.placed.host(*part).is_some() || primary.is_clone())
                || (!primary.is_clone() && self.awaited[part.get()])
        };
        // One that stays because of a ticket counts as not started once others wait for it.
        let is_kept = |part: &ResourceIdx| set.resource(*part).kept_by_ticket && self.awaited[part.get()];
        let runs = |part: &ResourceIdx| {
            self.of(*part).lasts_on(set).is_some()
                && !is_kept(part)
                && (!is_promotion || self.is_to_be_promoted(*part))
        };
        parts.iter().any(is_thought_of) && !parts.iter().any(runs)
    }

    /// Returns true if no member of a group runs; of an ordered group, if the first one does not.
    fn is_group_down(&self, group: ResourceIdx) -> bool {
        let set = self.set;
        let counted = match set.in_order(group) {
            [first, ..] => std::slice::from_ref(first),
            [] => set.resource(group).members.as_slice(),
        };
        // One that should stop but cannot does not start either.
        let runs = |member: &ResourceIdx| {
            let change = self.of(*member);
            let is_held = self.held[member.get()] || matches!(change, ResourceChange::Held(_));
            change.lasts_on(set).is_some() && !is_held
        };
        // Instances of clones are compared one by one.
        set.clone_of(group).is_none() && !counted.iter().any(runs)
    }
}
