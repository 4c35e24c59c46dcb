//! Who wants to be with whom, and what comes of the wishes of several resources together.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::index::{HostIdx, ResourceIdx};
use super::merging::{MergeState, PathCache, Share, Towards};
use super::score::{AllocationScore, ScoreTable};
use super::working_set::{Host, ResourceForm, WorkingSet};

/// Hosts that agree in an attribute, by host: the same number for those that do.
#[derive(Debug, Clone)]
pub struct AgreeingHosts(Vec<usize>);

/// The colocations by resource, and what is known of their wishes together.
pub(super) struct Wishes<'a> {
    pub(super) set: &'a WorkingSet,
    available: Vec<bool>,
    /// By resource, its colocations as dependent, in the order in which they are met.
    primaries: Vec<Vec<usize>>,
    /// By resource, its colocations as primary.
    dependents: Vec<Vec<usize>>,
    /// By resource, whether it is a clone with an instance for every host that is available.
    full: Vec<bool>,
    /// Which hosts are the same one.
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
        // of several between the same two, the last one first
        wishes.primaries.iter_mut().for_each(|list| {
            list.sort_by_key(|at| (rank(set, set.colocations[*at].primary), Reverse(*at)));
        });
        wishes.dependents.iter_mut().for_each(|list| {
            list.sort_by_key(|at| (rank(set, set.colocations[*at].dependent), Reverse(*at)));
        });
        set.clones().for_each(|clone| wishes.settle_clone(clone));
        wishes
    }

    /// Finds out whether a clone has an instance for every host that is available now, and what its instances want then.
    pub(super) fn settle_clone(&mut self, clone: ResourceIdx) {
        let hosts = self.available.iter().filter(|available| **available).count();
        let members = self.set.resource(clone).members.iter();
        self.full[clone.get()] = members.filter(|one| !self.set.resource(**one).surplus).count() >= hosts;
        self.hand_to_instances(clone);
    }

    /// Hands the colocations of a clone to its instances. Where every host gets one anyway, only what forbids hosts
    /// counts.
    fn hand_to_instances(&mut self, clone: ResourceIdx) {
        self.paths.forget();
        let set = self.set;
        let score = |at: &usize| set.colocations[*at].score;
        let (mut primaries, mut dependents) =
            (self.primaries[clone.get()].clone(), self.dependents[clone.get()].clone());
        if self.is_full(clone) {
            primaries
                .retain(|at| score(at) < AllocationScore::ZERO || score(at) == AllocationScore::INFINITY);
            dependents.retain(|at| score(at) < AllocationScore::ZERO);
        }
        for instance in &set.resource(clone).members {
            self.primaries[instance.get()].clone_from(&primaries);
            self.dependents[instance.get()].clone_from(&dependents);
        }
    }

    /// Lets all colocations of a resource count twice.
    pub(super) fn double(&mut self, resource: ResourceIdx) {
        self.paths.forget();
        for list in [&mut self.primaries[resource.get()], &mut self.dependents[resource.get()]] {
            *list = list.iter().flat_map(|at| [*at, *at]).collect();
        }
    }

    /// Whether a resource is a clone with an instance for every host that is available.
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

    /// Hands the colocations of a group to its members: its own wishes to the first, those of others to the last; what
    /// the group must be with, also to those behind one that is not managed itself: that is not kept back by it.
    pub(super) fn hand_down(&mut self, group: ResourceIdx) {
        self.paths.forget();
        let (first, last) = (self.set.member(group, false), self.set.member(group, true));
        if let (Some(first), Some(last)) = (first, last) {
            let set = self.set;
            for at in self.primaries[group.get()].clone() {
                let place_in_order = |at: usize| rank(set, set.colocations[at].primary);
                let is_must = set.colocations[at].score == AllocationScore::INFINITY;
                let members = set.resource(group).members.iter();
                let behind = members.skip_while(|member| set.may_manage(**member)).skip(1);
                insert(&mut self.primaries[first.get()], at, place_in_order);
                for member in behind.filter(|_| is_must) {
                    insert(&mut self.primaries[member.get()], at, place_in_order);
                }
            }
            for at in self.dependents[group.get()].clone() {
                let place_in_order = |at: usize| rank(set, set.colocations[at].dependent);
                insert(&mut self.dependents[last.get()], at, place_in_order);
            }
        }
    }

    /// The connection to a guest node has its place, or none.
    pub(super) fn settle_guest(&mut self, guest: HostIdx, available: bool) {
        self.available[guest.get()] = available;
    }

    /// Whether a host can run resources.
    pub(super) fn available(&self, host: HostIdx) -> bool {
        self.available[host.get()]
    }

    /// Whether an available host of the table is not unwanted.
    pub(super) fn some_host_is_left(&self, table: &ScoreTable) -> bool {
        table.iter().any(|(host, score)| score >= AllocationScore::ZERO && self.available(host))
    }

    /// Whether two hosts agree in an attribute, the host itself if there is none.
    pub(super) fn agree(&self, attribute: Option<&str>, one: HostIdx, other: HostIdx) -> bool {
        match attribute.and_then(|attribute| self.zones.get(attribute)) {
            Some(zones) => zones.agree(one, other),
            None => self.same.agree(one, other),
        }
    }

    /// By host, what comes on top of a table for a share of what another resource wishes.
    pub(super) fn additions(&self, wishes: &ScoreTable, share: Share<'_>) -> Vec<AllocationScore> {
        let zones = share.attribute.and_then(|attribute| self.zones.get(attribute));
        let zone = |host: HostIdx| zones.unwrap_or(&self.same).0[host.get()];
        // never, where no available host of the zone has a score
        let mut best = vec![AllocationScore::MINUS_INFINITY; self.available.len()];
        for (host, score) in wishes.iter().filter(|(host, _)| self.available(*host)) {
            best[zone(host)] = best[zone(host)].max(score);
        }
        self.set.host_indices().map(|host| share.part(best[zone(host)])).collect()
    }
}

/// By what colocations are ordered: the priority of the other side, clones and groups first, and its id.
fn rank(set: &WorkingSet, resource: ResourceIdx) -> (Reverse<AllocationScore>, u8, &str) {
    let details = set.resource(resource);
    let form = match details.form {
        ResourceForm::Clone { .. } => 0,
        ResourceForm::Group { .. } => 1,
        ResourceForm::Primitive => 2,
    };
    (Reverse(details.priority), form, details.id.as_str())
}

/// Puts a colocation before the first that has the same rank, or a later one.
fn insert<K: Ord>(list: &mut Vec<usize>, at: usize, rank: impl Fn(usize) -> K) {
    let place = list.iter().position(|other| rank(*other) >= rank(at)).unwrap_or(list.len());
    list.insert(place, at);
}

impl AgreeingHosts {
    /// The zones of an attribute, in any case of its letters. Hosts without it are a zone, too.
    pub fn of(set: &WorkingSet, attribute: &str) -> AgreeingHosts {
        let mut numbers: HashMap<Option<String>, usize> = HashMap::new();
        let zone = |host| {
            let value = set.host(host).attribute(attribute).map(str::to_ascii_lowercase);
            let next = numbers.len();
            *numbers.entry(value).or_insert(next)
        };
        AgreeingHosts(set.host_indices().map(zone).collect())
    }

    /// Every host for itself, but for those that count as one.
    pub(super) fn themselves(set: &WorkingSet) -> AgreeingHosts {
        let nameless = set.host_indices().find(|host| set.host(*host).nameless);
        let number = |host: HostIdx| nameless.filter(|_| set.host(host).nameless).unwrap_or(host).get();
        AgreeingHosts(set.host_indices().map(number).collect())
    }

    /// By host, the number of its zone.
    pub fn zones(&self) -> &[usize] {
        &self.0
    }

    /// Whether two hosts agree.
    pub(super) fn agree(&self, one: HostIdx, other: HostIdx) -> bool {
        self.0[one.get()] == self.0[other.get()]
    }
}
