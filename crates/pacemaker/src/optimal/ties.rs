//! Ties between resources: which must be together or apart, and which must run for others to run.

use std::collections::HashMap;

use super::super::additions::ScoreSource;
use super::super::index::{HostIdx, ResourceIdx};
use super::super::promotion::Role;
use super::super::score::AllocationScore;
use super::super::transition::needs::{Need, needs};
use super::super::transition::wait::WaitReason;
use super::super::wishes::AgreeingHosts;
use super::super::working_set::{ChoiceOrder, Colocation, OrderedTask, OrderedTasks, WorkingSet};
use super::rules::{NeededSome, PlacingRules, ZoneTie};

impl PlacingRules<'_> {
    /// Adds the ties of colocations and exclusion groups.
    pub(super) fn tie(&mut self) {
        let set = self.set;
        let mut zones: HashMap<&str, usize> = HashMap::new();
        for (at, colocation) in set.colocations.iter().enumerate() {
            let zone = match colocation.attribute.as_deref() {
                None => 0,
                Some(attribute) => *zones.entry(attribute).or_insert_with(|| {
                    self.zones.push(AgreeingHosts::of(set, attribute));
                    self.zones.len() - 1
                }),
            };
            if set.resource(colocation.primary).is_clone() {
                for dependent in dependents(set, colocation) {
                    self.tie_to_clone(dependent, at, zone);
                }
                continue;
            }
            for primary in set.stand_ins(colocation) {
                for dependent in dependents(set, colocation) {
                    let own = ZoneTie { other: *primary, zone, score: 0, source: ScoreSource::With(at) };
                    self.tie_two(dependent, own, ScoreSource::Of(at), colocation.score);
                }
            }
        }
        for group in &set.exclusions {
            for (at, dependent) in group.members.iter().enumerate() {
                for primary in &group.members[..at] {
                    let source = ScoreSource::Exclusion;
                    let own = ZoneTie { other: *primary, zone: 0, score: 0, source };
                    self.tie_two(*dependent, own, source, group.score);
                }
            }
        }
    }

    /// Ties two resources to each other; `source` is the source of the tie back.
    fn tie_two(&mut self, dependent: ResourceIdx, own: ZoneTie, source: ScoreSource, score: AllocationScore) {
        let primary = own.other;
        if dependent == primary {
            return;
        }
        let back = ZoneTie { other: dependent, source, ..own };
        let is_free = |resource: ResourceIdx| !self.allowed[resource.get()].is_empty();
        match score {
            // A resource that stays where it is cannot be told to be with another one, so this is a wish.
            AllocationScore::INFINITY if is_free(dependent) => {
                self.primaries[dependent.get()].push(own);
                self.followers[primary.get()].push(back);
            }
            AllocationScore::MINUS_INFINITY => {
                self.apart[dependent.get()].push(own);
                self.apart[primary.get()].push(back);
            }
            _ => {
                let score = i64::from(score.get());
                self.wishes[dependent.get()].push(ZoneTie { score, ..own });
                self.wishes[primary.get()].push(ZoneTie { score, ..back });
            }
        }
    }

    /// Adds the needs of resources for others that start before them.
    pub(super) fn order(&mut self) {
        let set = self.set;
        // Orders of stops and demotions keep no resource from running.
        let begins = |task: OrderedTask| matches!(task, OrderedTask::Start | OrderedTask::Promote);
        for need in needs(set).into_iter().filter(|need| begins(need.tasks.first) && begins(need.tasks.then))
        {
            // Resources that clones need are placed with them, and one instance is enough for others.
            let is_clone = |one| set.resource(one).is_clone();
            if is_clone(need.first) && !is_clone(need.then) {
                self.need_clone(&need);
            }
            if is_clone(need.first) || is_clone(need.then) {
                continue;
            }
            if need.symmetrical {
                self.interrupting.push(need);
            }
            for then in set.primitives(&need.then).iter() {
                let details = set.resource(*then);
                // A member that needs its own group starts with it. A running resource goes on without the one it was
                // started after, unless the order is symmetrical.
                if details.group == Some(need.first) || !(need.symmetrical || details.active.is_none()) {
                    continue;
                }
                for first in set.primitives(&need.first).iter().filter(|first| *first != then) {
                    self.firsts[then.get()].push(*first);
                    self.dependents[first.get()].push(*then);
                }
            }
        }
    }

    /// Lets what runs on guest nodes restart with their VMs.
    pub(super) fn follow_machines(&mut self) {
        let set = self.set;
        for (host, parts) in set.virtual_machines() {
            let inside = |one: &ResourceIdx| set.resource(*one).active == Some(host);
            let primitives = set.resource_indices().filter(|one| set.resource(*one).is_primitive());
            let needs = primitives.filter(inside).map(|then| Need {
                first: parts.machine,
                then,
                tasks: OrderedTasks::STARTS,
                symmetrical: true,
                why: WaitReason::Machine(parts.machine),
            });
            self.interrupting.extend(needs);
        }
    }

    /// Adds the needs of resources for some of several others.
    pub(super) fn choose(&mut self) {
        let set = self.set;
        for choice in &set.choices {
            let (single, whole): (Vec<ResourceIdx>, Vec<ResourceIdx>) =
                choice.firsts.iter().partition(|first| set.resource(**first).is_primitive());
            // A group always counts, and clones already have their places.
            let is_placed = |part: ResourceIdx| self.fixed[part.get()].is_some();
            let counts = |one: &&ResourceIdx| ChoiceOrder::counts(set, **one, is_placed);
            let enough = choice.enough.saturating_sub(whole.iter().filter(counts).count());
            let is_ours = |then: &&ResourceIdx| enough > 0 && !set.resource(**then).is_clone();
            let dependents: Vec<ResourceIdx> = choice.dependents.iter().filter(is_ours).copied().collect();
            for then in dependents.iter().flat_map(|then| set.primitives(then).into_owned()) {
                let firsts: Vec<ResourceIdx> =
                    single.iter().copied().filter(|first| *first != then).collect();
                firsts.iter().for_each(|first| self.dependents[first.get()].push(then));
                self.choices[then.get()].push(NeededSome { firsts, enough });
            }
        }
    }

    /// Applies a colocation with a clone to a resource that is placed later. INFINITY leaves it only hosts near an
    /// instance, and minus infinity only the others. Every other score is a wish.
    fn tie_to_clone(&mut self, dependent: ResourceIdx, at: usize, zone: usize) {
        let set = self.set;
        let (clone, score) = (set.colocations[at].primary, set.colocations[at].score);
        let role = set.colocations[at].primary_role;
        let has_role = |first: &ResourceIdx| {
            role.is_none_or(|role| role == Role::of(self.before.promoted()[first.get()]))
        };
        let firsts = set.resource(clone).members.iter().filter_map(|instance| set.member(*instance, false));
        let firsts = firsts.filter(has_role);
        let there: Vec<(ResourceIdx, HostIdx)> =
            firsts.filter_map(|first| self.fixed[first.get()].map(|host| (first, host))).collect();
        let mut allowed = std::mem::take(&mut self.allowed[dependent.get()]);
        let is_near = |host: &HostIdx| there.iter().any(|(_, other)| self.agree(zone, *host, *other));
        match score {
            AllocationScore::INFINITY => allowed.retain(is_near),
            AllocationScore::MINUS_INFINITY => allowed.retain(|host| !is_near(host)),
            _ => {
                let (score, source) = (i64::from(score.get()), ScoreSource::With(at));
                let tie = |(other, _): &(_, _)| ZoneTie { other: *other, zone, score, source };
                self.wishes[dependent.get()].extend(there.iter().map(tie));
            }
        }
        self.allowed[dependent.get()] = allowed;
    }

    /// Leaves out resources that must start after a clone of which no instance runs, or is promoted.
    fn need_clone(&mut self, need: &Need) {
        let set = self.set;
        let is_enough = |part: &ResourceIdx| {
            let is_promoted = self.before.promoted()[part.get()];
            self.fixed[part.get()].is_some() && (need.tasks.first == OrderedTask::Start || is_promoted)
        };
        let runs = set.primitives(&need.first).iter().any(is_enough);
        let waits = |then: &&ResourceIdx| need.symmetrical || set.resource(**then).active.is_none();
        if !runs {
            set.primitives(&need.then).iter().filter(waits).for_each(|then| self.allowed[then.get()].clear());
        }
    }
}

/// The primitives to which the colocation of a group applies: the first member, as the others follow it. If it is
/// mandatory, it also applies to those after an unmanaged member, which does not hold them back.
fn dependents(set: &WorkingSet, colocation: &Colocation) -> Vec<ResourceIdx> {
    let group = colocation.dependent;
    let mut dependents: Vec<ResourceIdx> = set.member(group, false).into_iter().collect();
    if set.resource(group).is_group() && colocation.score == AllocationScore::INFINITY {
        let members = set.resource(group).members.iter();
        dependents.extend(members.skip_while(|member| set.may_manage(**member)).skip(1));
    }
    dependents
}
