//! Facts about promotable clones in a working set, and the effect of their agents' wishes on scores.

use std::collections::BTreeMap;

use super::additions::{AdditionLog, ScoreSource};
use super::index::{HostIdx, ResourceIdx};
use super::promotion::{HostWishes, Promotion};
use super::score::{AllocationScore, HostScore};
use super::transition::ResourceChanges;
use super::working_set::{Resource, WorkingSet};

impl WorkingSet {
    /// The promotion of the clone that a primitive is part of, if that clone is promotable.
    pub fn promotion(&self, resource: ResourceIdx) -> Option<&Promotion> {
        let clone = self.clone_of(resource).unwrap_or(resource);
        self.resource(clone).promotion.as_ref()
    }

    /// Scores by which the agent of a promotable clone's part wants to be promoted, by host.
    pub fn promotion_wishes(&self, part: ResourceIdx) -> impl Iterator<Item = HostScore> + '_ {
        let instance = self.resource(part).group.unwrap_or(part);
        let clone = self.clone_of(part).map(|clone| self.resource(clone));
        let number = clone.and_then(|clone| clone.members.iter().position(|one| *one == instance));
        let at = self.primitives(&instance).iter().position(|one| *one == part);
        let promotion = clone.and_then(|clone| clone.promotion.as_ref());
        let wish = move |host| {
            let score = promotion?.part_wish(at?, number?, host)?;
            Some(HostScore { host, score })
        };
        self.host_indices().filter_map(wish)
    }

    /// Returns true if some clone is promotable.
    pub fn has_promotable(&self) -> bool {
        self.resources.iter().any(|resource| resource.promotion.is_some())
    }

    /// Returns true if a part of a resource runs.
    pub(super) fn runs(&self, resource: ResourceIdx) -> bool {
        self.primitives(&resource).iter().any(|part| self.resource(*part).active.is_some())
    }

    /// Returns true if a part of a resource runs in the promoted role.
    pub(super) fn is_promoted(&self, resource: ResourceIdx) -> bool {
        self.primitives(&resource).iter().any(|part| self.resource(*part).promoted)
    }

    /// Returns true for an unpromoted member of a group in a clone of which another member is promoted.
    pub(super) fn lags_behind_promoted_member(&self, member: ResourceIdx) -> bool {
        let details = self.resource(member);
        let is_cloned = |group: &ResourceIdx| self.resource(*group).instance_of.is_some();
        !details.promoted && details.group.filter(is_cloned).is_some_and(|group| self.is_promoted(group))
    }

    /// Forgets failed promotions on hosts where an instance of the clone stops, as a stop clears them.
    pub(super) fn forget_failed_promotions(&mut self, changes: &ResourceChanges) {
        for clone in self.clones().collect::<Vec<_>>() {
            let parts = self.primitives(&clone).into_owned();
            let stops_on = |host| parts.iter().any(|part| changes.get(*part).stops_on() == Some(host));
            for part in &parts {
                let here = self.resource(*part).active;
                self.resources[part.get()].promotion_failed &= !here.is_some_and(stops_on);
            }
        }
    }

    /// Numbers the instances of promotable clones as Pacemaker numbers them: those that run come first, in the order in
    /// which the status lists their hosts. Instances on hosts that are about to be `lost` come last. Promotion wishes and
    /// scores stay as they are, and so do instances that are told apart.
    pub(super) fn renumber_instances(&mut self, lost: &[HostIdx]) {
        for clone in self.anonymous_promotables() {
            let instances: Vec<Vec<ResourceIdx>> =
                self.resource(clone).members.iter().map(|one| self.parts_with(*one)).collect();
            let rank = |parts: &Vec<ResourceIdx>| {
                let active = parts.iter().find_map(|part| self.resource(*part).active);
                let active = active.filter(|host| !lost.contains(host));
                active
                    .and_then(|host| self.status_order.iter().position(|other| *other == host))
                    .unwrap_or(usize::MAX)
            };
            let mut sorted = instances.clone();
            sorted.sort_by_key(rank);
            let states: Vec<Vec<Resource>> = sorted
                .iter()
                .map(|parts| parts.iter().map(|part| self.resource(*part).clone()).collect())
                .collect();
            for (part, state) in instances.iter().flatten().zip(states.into_iter().flatten()) {
                let own = &mut self.resources[part.get()];
                let (id, members) = (std::mem::take(&mut own.id), std::mem::take(&mut own.members));
                *own = Resource { id, members, group: own.group, instance_of: own.instance_of, ..state };
            }
        }
    }

    /// The promotable clones whose instances are alike.
    fn anonymous_promotables(&self) -> Vec<ResourceIdx> {
        let alike = self.clones().filter(|clone| !self.resource(*clone).is_unique());
        alike.filter(|clone| self.promotion(*clone).is_some()).collect()
    }

    /// Gives the wishes of each host to the instances that run there, or to all if none does. The instances run on
    /// these hosts.
    fn renew_wishes_of_part(&self, rows: &mut [HostWishes], active: &[Option<HostIdx>]) {
        let count = active.len().min(rows.len());
        let rows = &mut rows[..count];
        let mut running: BTreeMap<HostIdx, Vec<usize>> = BTreeMap::new();
        for (number, host) in active.iter().enumerate() {
            host.iter().for_each(|host| running.entry(*host).or_default().push(number));
        }
        let (mut of_any, mut own) = (HostWishes::new(), HostWishes::new());
        for (row, runs_on) in rows.iter().zip(active) {
            for (host, wish) in row {
                of_any.entry(*host).or_insert(*wish);
                if *runs_on == Some(*host) {
                    own.entry(*host).or_insert(*wish);
                }
            }
        }
        of_any.append(&mut own);
        of_any.retain(|host, _| self.host(*host).can_run());
        rows.iter_mut().for_each(HostWishes::clear);
        for (host, wish) in of_any {
            let receivers = running.get(&host).cloned().unwrap_or_else(|| (0..rows.len()).collect());
            for number in receivers {
                if let Some(row) = rows.get_mut(number) {
                    row.insert(host, wish);
                }
            }
        }
    }

    /// Gives the wishes of a host to the instance that runs there now, or to all if none does. Node attributes belong to
    /// hosts, and instances may have changed places. Instances that are told apart have their own.
    pub(super) fn renew_promotion_wishes(&mut self) {
        for clone in self.anonymous_promotables() {
            let details = self.resource(clone);
            let Some(mut promotion) = details.promotion.clone() else { continue };
            let instances: Vec<Vec<ResourceIdx>> =
                details.members.iter().map(|instance| self.primitives(instance).into_owned()).collect();
            for (at, rows) in promotion.wishes.iter_mut().enumerate() {
                let active = |parts: &Vec<ResourceIdx>| self.resource(*parts.get(at)?).active;
                let active: Vec<Option<HostIdx>> = instances.iter().map(active).collect();
                self.renew_wishes_of_part(rows, &active);
            }
            self.resources[clone.get()].promotion = Some(promotion);
        }
    }

    /// The wish of the agents of an instance on a host. A wish does not outweigh that a part is unwanted there.
    pub(super) fn promotion_wish(
        &self,
        promotion: &Promotion,
        number: usize,
        parts: &[ResourceIdx],
        host: HostIdx,
    ) -> AllocationScore {
        let counts =
            |part: &ResourceIdx| self.resource(*part).scores.get(host) >= Some(AllocationScore::ZERO);
        let counting = parts.iter().enumerate().filter(|(_, part)| counts(part));
        let wishes = counting.filter_map(|(at, _)| promotion.part_wish(at, number, host));
        wishes.fold(AllocationScore::ZERO, AllocationScore::plus)
    }

    /// Adds the wishes of agents to be promoted to the scores of instances. Those below 0 keep no instance away.
    pub(super) fn add_promotion_wishes(&mut self, log: &mut AdditionLog) {
        for clone in self.clones().collect::<Vec<_>>() {
            let details = self.resource(clone);
            let Some(promotion) = details.promotion.clone() else { continue };
            // An instance in a bundle has one node only.
            if details.in_bundle {
                continue;
            }
            let mut greatest = Vec::new();
            for (number, instance) in details.members.clone().into_iter().enumerate() {
                let mut most = self.resource(instance).priority;
                let parts = self.primitives(&instance).into_owned();
                for host in promotion.wished_hosts(number) {
                    let wish = self.promotion_wish(&promotion, number, &parts, host);
                    let scores = &mut self.resources[instance.get()].scores;
                    if wish > AllocationScore::ZERO && scores.get(host).is_some() {
                        scores.add(host, wish);
                        most = most.max(wish);
                        log.note_one(instance, ScoreSource::Promotion, host, wish);
                    }
                }
                greatest.push(most);
            }
            if let Some(promotion) = &mut self.resources[clone.get()].promotion {
                promotion.greatest = greatest;
            }
        }
    }
}
