//! Colocations by resource, and the combined wishes of several resources.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::index::{HostIdx, ResourceIdx};
use super::merging::{MergeState, PathCache, Share, Towards};
use super::score::{AllocationScore, ScoreTable};
use super::working_set::{Host, Replica, ResourceForm, RunCondition, WorkingSet};

/// Zones of hosts that agree in a node attribute: the same number for each host of a zone.
#[derive(Debug, Clone)]
pub struct AgreeingHosts(Vec<usize>);

/// Colocations by resource, and results of combining them.
pub(super) struct Wishes<'a> {
    pub(super) set: &'a WorkingSet,
    available: Vec<bool>,
    /// Each resource's colocations as dependent, in the order in which they are considered.
    primaries: Vec<Vec<usize>>,
    /// Each resource's colocations as primary.
    dependents: Vec<Vec<usize>>,
    /// By resource; true for a clone with an instance for every available host.
    full: Vec<bool>,
    /// Zones by host identity.
    same: AgreeingHosts,
    zones: HashMap<&'a str, AgreeingHosts>,
    pub(super) merging: MergeState,
    pub(super) paths: PathCache<'a>,
}

impl<'a> Wishes<'a> {
    pub(crate) fn of(set: &'a WorkingSet) -> Wishes<'a> {
        let count = set.resources.len();
        let mut wishes = Wishes {
            set,
            available: set.hosts.iter().map(Host::can_run).collect(),
            primaries: vec![Vec::new(); count],
            dependents: vec![Vec::new(); count],
            full: vec![false; count],
            same: AgreeingHosts::themselves(set),
            zones: HashMap::new(),
            merging: MergeState::new(count),
            paths: PathCache::default(),
        };
        for (at, colocation) in set.colocations.iter().enumerate() {
            wishes.primaries[colocation.dependent.get()].push(at);
            wishes.dependents[colocation.primary.get()].push(at);
            if let Some(attribute) = &colocation.attribute {
                wishes.zones.entry(attribute).or_insert_with(|| AgreeingHosts::of(set, attribute));
            }
        }
        // Of several colocations between the same two resources, the last one comes first.
        wishes.primaries.iter_mut().for_each(|list| {
            list.sort_by_key(|at| (rank(set, set.colocations[*at].primary), Reverse(*at)));
        });
        wishes.dependents.iter_mut().for_each(|list| {
            list.sort_by_key(|at| (rank(set, set.colocations[*at].dependent), Reverse(*at)));
        });
        set.clones().for_each(|clone| wishes.settle_clone(clone));
        if set.release.members_share_colocations() {
            set.resource_indices().filter(|one| set.resource(*one).is_group()).for_each(|group| {
                wishes.share_among_members(group);
            });
        }
        wishes
    }

    /// Number of available hosts that are open to all resources.
    pub(super) fn open_hosts(&self) -> usize {
        let hosts = self.set.hosts.iter().zip(&self.available);
        hosts.filter(|(host, available)| **available && !host.replica).count()
    }

    /// Finds out whether a clone has an instance for every available host, and passes its colocations to its instances.
    pub(super) fn settle_clone(&mut self, clone: ResourceIdx) {
        let hosts = self.open_hosts();
        self.full[clone.get()] = self.set.wanted_instances(clone).count() >= hosts;
        self.hand_to_instances(clone);
    }

    /// Passes the colocations of a clone to its instances.
    fn hand_to_instances(&mut self, clone: ResourceIdx) {
        self.paths.forget();
        let set = self.set;
        let HandedDown { primaries, mut dependents } = self.handed_down(clone);
        let mut replicas = set.bundle(clone).into_iter().flat_map(|bundle| &bundle.replicas);
        let has_companions = replicas.any(|replica| replica.companions().next().is_some());
        if has_companions && set.release.repeats_first_dependent() {
            let first = dependents.first().copied();
            dependents.fill(first.unwrap_or_default());
        }
        let (primaries, dependents) = match set.release.turns_equal_colocations() {
            true => (
                turned(&primaries, |at| rank(set, set.colocations[at].primary)),
                turned(&dependents, |at| rank(set, set.colocations[at].dependent)),
            ),
            false => (primaries, dependents),
        };
        for instance in &set.resource(clone).members {
            self.primaries[instance.get()].clone_from(&primaries);
            self.dependents[instance.get()].clone_from(&dependents);
        }
        let bundle = set.bundle(clone);
        for replica in bundle.iter().flat_map(|bundle| &bundle.replicas) {
            self.add_companions(replica);
        }
    }

    /// The colocations of a clone that count for its instances. If every host gets an instance anyway, only those with
    /// negative scores count, and the mandatory ones of which the clone is the dependent, up to Pacemaker 2.1.5.
    fn handed_down(&self, clone: ResourceIdx) -> HandedDown {
        let set = self.set;
        let score = |at: &usize| set.colocations[*at].score;
        let (mut primaries, mut dependents) =
            (self.primaries[clone.get()].clone(), self.dependents[clone.get()].clone());
        if self.is_full(clone) && !set.release.full_clones_follow_all() {
            primaries
                .retain(|at| score(at) < AllocationScore::ZERO || score(at) == AllocationScore::INFINITY);
            dependents.retain(|at| score(at) < AllocationScore::ZERO);
        }
        HandedDown { primaries, dependents }
    }

    /// Adds the wishes of an address to those that count for its container, and those of a connection unless the
    /// container runs as it should.
    fn add_companions(&mut self, replica: &Replica) {
        let set = self.set;
        let place_in_order = |at: usize| rank(set, set.colocations[at].dependent);
        let container = set.resource(replica.container);
        let is_sound = container.active.is_some() && container.condition == RunCondition::Sound;
        let connection = replica.inside.map(|inside| inside.connection).filter(|_| !is_sound);
        for companion in replica.address.into_iter().chain(connection) {
            for at in self.primaries[companion.get()].clone() {
                insert(&mut self.dependents[replica.container.get()], at, place_in_order);
            }
        }
    }

    /// Makes the colocations that an instance has from its clone count twice.
    pub(super) fn double(&mut self, resource: ResourceIdx) {
        self.paths.forget();
        let set = self.set;
        let Some(clone) = set.resource(resource).instance_of else { return };
        let HandedDown { primaries, dependents } = self.handed_down(clone);
        for at in primaries {
            insert(&mut self.primaries[resource.get()], at, |at| rank(set, set.colocations[at].primary));
        }
        for at in dependents {
            insert(&mut self.dependents[resource.get()], at, |at| rank(set, set.colocations[at].dependent));
        }
    }

    /// Returns true for a clone with an instance for every available host.
    pub(super) fn is_full(&self, resource: ResourceIdx) -> bool {
        self.full[resource.get()]
    }

    /// The colocations of a resource in one direction.
    pub(super) fn list(&self, resource: ResourceIdx, towards: Towards) -> &[usize] {
        match towards {
            Towards::Primaries => &self.primaries[resource.get()],
            Towards::Dependents => &self.dependents[resource.get()],
        }
    }

    /// Passes the colocations of a group to its members: its own wishes to the first, those of others to the last. Its
    /// mandatory wishes also go to the members after an unmanaged one, which does not hold them back.
    pub(super) fn hand_down(&mut self, group: ResourceIdx) {
        self.paths.forget();
        let (first, last) = (self.set.member(group, false), self.set.member(group, true));
        if let (Some(first), Some(last)) = (first, last) {
            let set = self.set;
            for at in self.beside_own(group, first, Towards::Primaries) {
                let place_in_order = |at: usize| rank(set, set.colocations[at].primary);
                let is_must = set.colocations[at].score == AllocationScore::INFINITY;
                let members = set.resource(group).members.iter();
                let behind = members.skip_while(|member| set.may_manage(**member)).skip(1);
                insert(&mut self.primaries[first.get()], at, place_in_order);
                for member in behind.filter(|_| is_must) {
                    insert(&mut self.primaries[member.get()], at, place_in_order);
                }
            }
            for at in self.beside_own(group, last, Towards::Dependents) {
                let place_in_order = |at: usize| rank(set, set.colocations[at].dependent);
                insert(&mut self.dependents[last.get()], at, place_in_order);
            }
        }
    }

    /// The colocations of a group that count for its first or last member. Beside colocations of that member, Pacemaker
    /// 3.0 adds the first one of the group as often as the group has any.
    fn beside_own(&self, group: ResourceIdx, member: ResourceIdx, towards: Towards) -> Vec<usize> {
        let mut of_group = self.list(group, towards).to_vec();
        if self.set.release.repeats_first_of_group() && !self.list(member, towards).is_empty() {
            let first = of_group.first().copied();
            of_group.fill(first.unwrap_or_default());
        }
        of_group
    }

    /// Passes the colocations of all members of a group on, also those that constraints make inside of it: those as
    /// dependents to the first one, those as primaries to the last one. The ties between neighbors stay with them.
    fn share_among_members(&mut self, group: ResourceIdx) {
        let set = self.set;
        let members = set.resource(group).members.as_slice();
        self.hand_down(group);
        let ([first, .., last], true) = (members, set.keeps_together(group)) else { return };
        let is_tie = |at: usize| set.is_tie(&set.colocations[at]);
        for member in &members[1..] {
            for at in self.primaries[member.get()].clone() {
                if !is_tie(at) {
                    let place_in_order = |at: usize| rank(set, set.colocations[at].primary);
                    insert(&mut self.primaries[first.get()], at, place_in_order);
                }
            }
        }
        for member in &members[..members.len() - 1] {
            for at in self.dependents[member.get()].clone() {
                // The connection to a guest node counts for its VM alone.
                let dependent = set.colocations[at].dependent;
                let is_connection = set.machines().any(|(_, parts)| parts.connection == dependent);
                if !is_tie(at) && !is_connection {
                    let place_in_order = |at: usize| rank(set, set.colocations[at].dependent);
                    insert(&mut self.dependents[last.get()], at, place_in_order);
                }
            }
        }
    }

    /// Sets whether a guest node can run resources, once its connection is placed.
    pub(super) fn settle_guest(&mut self, guest: HostIdx, available: bool) {
        self.available[guest.get()] = available;
    }

    /// Returns true if a host can run resources.
    pub(super) fn available(&self, host: HostIdx) -> bool {
        self.available[host.get()]
    }

    /// Returns true if an available host of the table has a score of at least 0.
    pub(super) fn some_host_is_left(&self, table: &ScoreTable) -> bool {
        table.iter().any(|(host, score)| score >= AllocationScore::ZERO && self.available(host))
    }

    /// Returns true if two hosts agree in an attribute; without one, if they are the same host.
    pub(super) fn agree(&self, attribute: Option<&str>, one: HostIdx, other: HostIdx) -> bool {
        match attribute.and_then(|attribute| self.zones.get(attribute)) {
            Some(zones) => zones.agree(one, other),
            None => self.same.agree(one, other),
        }
    }

    /// Additions to a table, by host, for a share of another resource's wishes.
    pub(super) fn additions(&self, wishes: &ScoreTable, share: Share<'_>) -> Vec<AllocationScore> {
        let zones = share.attribute.and_then(|attribute| self.zones.get(attribute));
        let zone = |host: HostIdx| zones.unwrap_or(&self.same).0[host.get()];
        // The score is minus infinity if no available host of the zone has one.
        let mut best = vec![AllocationScore::MINUS_INFINITY; self.available.len()];
        for (host, score) in wishes.iter().filter(|(host, _)| self.available(*host)) {
            best[zone(host)] = best[zone(host)].max(score);
        }
        self.set.host_indices().map(|host| share.part(best[zone(host)])).collect()
    }
}

/// The colocations of a clone that its instances have from it.
struct HandedDown {
    primaries: Vec<usize>,
    dependents: Vec<usize>,
}

/// Sort key of colocations: priority of the other side, then bundles before promotable clones, other clones, groups and
/// primitives, then its id.
fn rank(set: &WorkingSet, resource: ResourceIdx) -> (Reverse<AllocationScore>, u8, &str) {
    let details = set.resource(resource);
    let form = match details.form {
        ResourceForm::Clone { .. } if set.bundle(resource).is_some() => 0,
        ResourceForm::Clone { .. } if details.promotion.is_some() => 1,
        ResourceForm::Clone { .. } => 2,
        ResourceForm::Group { .. } => 3,
        ResourceForm::Primitive => 4,
    };
    (Reverse(details.priority), form, details.id.as_str())
}

/// The colocations of a list, those of the same rank in the opposite order.
fn turned<K: Ord>(list: &[usize], rank: impl Fn(usize) -> K) -> Vec<usize> {
    let mut turned = Vec::with_capacity(list.len());
    list.iter().for_each(|at| insert(&mut turned, *at, &rank));
    turned
}

/// Inserts a colocation before the first one of the same or a later rank.
fn insert<K: Ord>(list: &mut Vec<usize>, at: usize, rank: impl Fn(usize) -> K) {
    let place = list.iter().position(|other| rank(*other) >= rank(at)).unwrap_or(list.len());
    list.insert(place, at);
}

impl AgreeingHosts {
    /// Zones of a node attribute, ignoring the case of its values. Hosts without it form a zone as well.
    pub fn of(set: &WorkingSet, attribute: &str) -> AgreeingHosts {
        let mut numbers: HashMap<Option<String>, usize> = HashMap::new();
        let zone = |host| {
            let value = set.host(host).attribute(attribute).map(str::to_ascii_lowercase);
            let next = numbers.len();
            *numbers.entry(value).or_insert(next)
        };
        AgreeingHosts(set.host_indices().map(zone).collect())
    }

    /// A zone for every host, except that nameless hosts share one.
    pub(super) fn themselves(set: &WorkingSet) -> AgreeingHosts {
        let nameless = set.host_indices().find(|host| set.host(*host).nameless);
        let number = |host: HostIdx| nameless.filter(|_| set.host(host).nameless).unwrap_or(host).get();
        AgreeingHosts(set.host_indices().map(number).collect())
    }

    /// By host, the number of its zone.
    pub fn zones(&self) -> &[usize] {
        &self.0
    }

    /// Returns true if two hosts are in the same zone.
    pub(super) fn agree(&self, one: HostIdx, other: HostIdx) -> bool {
        self.0[one.get()] == self.0[other.get()]
    }
}
