//! The state of a cluster while it is filled.

use std::cell::{Cell, OnceCell};
use std::sync::Arc;

use super::emptying::Shelves;
use super::loss::{FloorArrival, Pooled, is_simple, losses_are_borne};
use super::size::Thresholds;
use super::{FillSettings, FillWatch, Filled, Size, reach};
use crate::place::floor::Floor;
use crate::place::offers::Offers;
use crate::place::shelf::Shelf;
use crate::place::{Conditions, PlaceSearch, Targets, plain};
use crate::{Stopped, place};
use htools_model::redundancy::global::{
    NodeBefore, NodePool, RedundancyCheck, Scope, is_redundant, is_surely_lost,
};
use htools_model::score::PairUpdate;
use htools_model::{
    Class, Cluster, Draft, FailCounts, FailKind, Instance, InstanceIdx, Ledger, Mib, NodeIdx, Place,
};

/// An instance that was placed, and the former state of its nodes.
struct Placed {
    size: Size,
    place: Place,
    before: (Ledger, Option<Ledger>),
    pool: Option<NodeBefore>,
}

pub(super) struct Filling<'a> {
    base: &'a Cluster,
    nodes: Vec<NodeIdx>,
    settings: FillSettings,
    targets: &'a Targets,
    /// The part of the cluster that must stay redundant, if any.
    scope: Option<Arc<Scope>>,
    floor: Floor<'a>,
    placed: Vec<Placed>,
    /// For each node of the cluster, the numbers of the placed instances that have it as primary.
    placed_on: Vec<Vec<usize>>,
    /// Tracks redundancy, if all instances are on shared storage.
    pool: Option<NodePool>,
    /// True if the present state is redundant; `None` until that is computed.
    redundant: Option<bool>,
    /// Scores are not numbers, so that ties depend on the order of all places.
    unordered: bool,
    /// The loss of nodes can be simulated on the floor.
    simple: bool,
    shelves: Shelves,
    watch: &'a FillWatch<'a>,
    /// Reason for the end of the search.
    stopped: Cell<Option<Stopped>>,
}

impl<'a> Filling<'a> {
    pub(super) fn new(
        base: &'a Cluster,
        settings: FillSettings,
        scope: Option<Scope>,
        targets: &'a Targets,
        size: Size,
        watch: &'a FillWatch<'a>,
    ) -> Filling<'a> {
        let nodes = base.all_nodes();
        let first = size.instance(&settings, 0);
        let floor = Floor::new(base, &nodes, targets, &first);
        let shared = Class::of(settings.template) == Class::Relocate;
        let pool =
            scope.as_ref().filter(|_| shared).and_then(|scope| NodePool::of(base, &nodes, scope, &first));
        let unordered = settings.template.has_secondary()
            && PairUpdate::of(&floor.board).score(floor.board.weights(), 0).is_nan();
        let simple = pool.is_some() && is_simple(base, &floor);
        Filling {
            base,
            nodes,
            settings,
            simple,
            shelves: Shelves::default(),
            targets,
            scope: scope.map(Arc::new),
            floor,
            placed: Vec::new(),
            placed_on: vec![Vec::new(); base.nodes.len()],
            pool,
            redundant: None,
            unordered,
            watch,
            stopped: Cell::new(None),
        }
    }

    /// Reason for the end of the search, checking the deadline now. If it has ended, results since the last
    /// check are invalid.
    pub(super) fn stopped(&self) -> Option<Stopped> {
        if self.stopped.get().is_none() {
            self.stopped.set(self.watch.deadline.reached());
        }
        self.stopped.get()
    }

    /// Amounts beyond which every size is too large.
    pub(super) fn thresholds(&self) -> Thresholds {
        Thresholds::of(self.base)
    }

    /// Number of instances placed so far.
    pub(super) fn added(&self) -> usize {
        self.placed.len()
    }

    /// Returns true if placing instances could end redundancy and redundancy is required.
    pub(super) fn is_checked(&self) -> bool {
        self.scope.is_some() && !self.settings.template.has_secondary()
    }

    pub(super) fn node_count(&self) -> usize {
        self.nodes.len()
    }

    /// Memory that all nodes together have available.
    pub(super) fn memory_available(&self) -> Mib {
        let ledgers = self.base.nodes.iter().zip(&self.floor.ledgers);
        ledgers.map(|(node, ledger)| ledger.mem_available(&node.spec)).sum()
    }

    pub(super) fn finish(self, failures: FailCounts) -> Filled {
        let first = self.base.instances.len();
        let added = (first..first + self.placed.len()).map(InstanceIdx::new).collect();
        let cluster = cluster(self.base, &self.settings, &self.placed);
        Filled { cluster, added, failures, stopped: self.stopped.get() }
    }

    /// Searches for a place for one more instance under all conditions.
    pub(super) fn attempt(&mut self, size: Size) -> PlaceSearch {
        let instance = size.instance(&self.settings, 0);
        let scope = self.scope.clone();
        self.find(&mut offers(&instance), scope.as_deref())
    }

    /// Places instances one by one until no more fit or `limit` are placed. Returns the refusals of the last
    /// attempt.
    ///
    /// With `checked`, each instance must leave the cluster redundant. Without it, the function may stop early
    /// once the cluster is certainly not redundant any more.
    pub(super) fn steps(&mut self, size: Size, mut limit: Option<i64>, checked: bool) -> FailCounts {
        let instance = size.instance(&self.settings, 0);
        let mut offers = offers(&instance);
        let mut shelf = Shelf::new(&instance, false);
        let scope = self.scope.clone().filter(|_| checked);
        let first = self.placed.len();
        loop {
            let mut found = None;
            if limit != Some(0) && self.stopped().is_none() {
                found = self.best(&mut offers, &mut shelf, scope.as_deref());
            }
            // A place found while the search ended has not been checked.
            let found = found.filter(|_| self.stopped().is_none());
            let Some(place) = found else { return self.find(&mut offers, scope.as_deref()).failures };
            self.place(size, &instance, place);
            limit = limit.map(|n| n - 1);
            let count = self.placed.len() - first;
            let asked = count.is_power_of_two() && (self.pool.is_some() || count >= WORTH_A_LOOK);
            let takes = size.memory >= Mib::ZERO && !checked;
            if asked && takes && self.is_checked() && self.is_surely_lost() {
                return FailCounts::default();
            }
        }
    }

    fn best(&mut self, offers: &mut Offers<'_>, shelf: &mut Shelf, scope: Option<&Scope>) -> Option<Place> {
        if scope.is_some() || self.unordered {
            return self.find(offers, scope).best.map(|b| b.1);
        }
        if matches!(self.targets, Targets::Singles(_)) {
            return place::best_from(&self.floor, offers, shelf);
        }
        place::best_on(&self.floor, offers).map(|(_, place)| place)
    }

    /// The best place, and the number of refusals of each kind.
    fn find(&mut self, offers: &mut Offers<'_>, scope: Option<&Scope>) -> PlaceSearch {
        let Filling {
            base,
            nodes,
            settings,
            targets,
            floor,
            placed,
            placed_on,
            pool,
            unordered,
            simple,
            watch,
            shelves,
            ..
        } = self;
        let state: OnceCell<Cluster> = OnceCell::new();
        let state = || state.get_or_init(|| cluster(base, settings, placed));
        let instance = offers.instance;
        if *unordered {
            let conditions = Conditions { ignore_soft_errors: false, redundancy: scope.cloned() };
            return plain::find(state(), nodes, instance.into(), targets, &conditions);
        }
        let Some(scope) = scope else { return place::find_on(floor, offers, None) };
        // More instances do not restore redundancy.
        if instance.mem >= Mib::ZERO && pool.as_mut().is_some_and(|pool| pool.holds() == Some(false)) {
            return all_refused(place::count_on(floor, offers));
        }
        let deadline = watch.deadline;
        let mut guard: Option<RedundancyCheck<'_>> = None;
        let mut pooled = pool.as_mut().map(|pool| Pooled::new(pool, shelves, floor, instance, *simple));
        let mut holds = |place: &Place| {
            if deadline.reached().is_some() {
                // The deadline has passed, so the result will be discarded and any place will do.
                return true;
            }
            let there = Residents { base, settings, placed, placed_on };
            let instances = |node, most| there.of(node, most, Some((place.placement.primary, instance)));
            let verdict = pooled.as_mut().and_then(|pooled| pooled.verdict(place, &instances, deadline));
            if let Some(verdict) = verdict {
                return verdict;
            }
            let guard = guard.get_or_insert_with(|| RedundancyCheck::new(state(), nodes, scope));
            guard.holds_with(instance, place)
        };
        place::find_on(floor, offers, Some(&mut holds))
    }

    fn place(&mut self, size: Size, instance: &Instance, place: Place) {
        let (p, s) = (place.placement.primary, place.placement.secondary);
        let before = (self.floor.ledgers[p.get()], s.map(|s| self.floor.ledgers[s.get()]));
        self.floor.place(instance, &place);
        let pool = self.pool.as_mut().and_then(|pool| pool.arrive(p, instance.mem_in_use()));
        self.placed_on[p.get()].push(self.placed.len());
        self.placed.push(Placed { size, place, before, pool });
        self.redundant = None;
        (self.watch.placed)(self.placed.len());
    }

    /// Removes placed instances until `count` are left.
    pub(super) fn back_to(&mut self, count: usize) {
        while self.placed.len() > count {
            let Some(Placed { size, place, before: (primary, secondary), pool }) = self.placed.pop() else {
                return;
            };
            self.placed_on[place.placement.primary.get()].pop();
            let instance = size.instance(&self.settings, 0);
            self.floor.take_back(&instance, place.placement, primary, secondary);
            if let (Some(all), Some(before)) = (&mut self.pool, pool) {
                all.restore(place.placement.primary, before);
            }
            self.redundant = None;
        }
    }

    /// Returns true if some node certainly cannot be emptied, now and after more arrivals.
    fn is_surely_lost(&mut self) -> bool {
        let Filling { base, settings, placed, nodes, scope, pool, .. } = self;
        match (pool, scope) {
            (Some(pool), _) => pool.holds() == Some(false),
            (None, Some(scope)) => is_surely_lost(&cluster(base, settings, placed), nodes, scope),
            (None, None) => false,
        }
    }

    /// Returns true if an instance of some smaller size might fit, shrinking for one reason only and ignoring
    /// redundancy. False is certain.
    pub(super) fn could_fit(&self, size: Size, kind: FailKind) -> bool {
        reach::could_fit(&self.floor, &self.settings, size, kind)
    }

    /// Returns true if every node could be emptied now.
    pub(super) fn is_redundant(&mut self) -> bool {
        let Some(scope) = &self.scope else { return true };
        if let Some(known) = self.redundant {
            return known;
        }
        let Filling { base, settings, placed, placed_on, floor, simple, pool, watch, shelves, .. } = self;
        let verdict = pool.as_mut().and_then(|pool| match pool.holds() {
            None if *simple => {
                let there = Residents { base, settings, placed, placed_on };
                let instances = |node, most| there.of(node, most, None);
                let arrival = FloorArrival { floor, arrived: None };
                Some(losses_are_borne(pool, &arrival, shelves, &instances, watch.deadline).survives)
            }
            verdict => verdict,
        });
        let verdict =
            verdict.unwrap_or_else(|| is_redundant(&cluster(base, settings, placed), &self.nodes, scope));
        self.redundant = Some(verdict);
        verdict
    }
}

/// Minimum batch for an intermediate check of redundancy, which is expensive without a pool.
const WORTH_A_LOOK: usize = 16;

/// The search with every possible place refused for lack of redundancy.
fn all_refused(search: PlaceSearch) -> PlaceSearch {
    let PlaceSearch { successes, mut failures, .. } = search;
    failures.add(FailKind::N1, successes);
    PlaceSearch { best: None, successes: 0, failures }
}

/// Offers for one instance; soft limits apply.
fn offers(instance: &Instance) -> Offers<'_> {
    Offers::new(instance, &Conditions::default())
}

/// The cluster with the placed instances.
fn cluster(base: &Cluster, settings: &FillSettings, placed: &[Placed]) -> Cluster {
    let mut cluster = Draft::of(base);
    for (number, placed) in placed.iter().enumerate() {
        cluster.adopt(&placed.size.instance(settings, number), &placed.place);
    }
    cluster.into_cluster()
}

/// The instances that are on the nodes now.
struct Residents<'a> {
    base: &'a Cluster,
    settings: &'a FillSettings,
    placed: &'a [Placed],
    placed_on: &'a [Vec<usize>],
}

impl Residents<'_> {
    /// At most `most` of the primaries of a node, in the order in which they leave it: the newest first. The
    /// `arriving` instance counts as a primary of its node.
    fn of(&self, node: NodeIdx, most: usize, arriving: Option<(NodeIdx, &Instance)>) -> Vec<Instance> {
        let spec = &self.base.node(node).spec;
        let settled = |mut instance: Instance| {
            instance.settle_pools(spec);
            instance
        };
        let last = arriving.filter(|(to, _)| *to == node).map(|(_, instance)| instance.clone());
        let added = self.placed_on[node.get()].iter().rev();
        let added = added.map(|number| self.placed[*number].size.instance(self.settings, 0));
        let primaries = self.base.node(node).state.primaries.iter().rev();
        let old = primaries.map(|instance| self.base.instance(*instance).clone());
        last.into_iter().chain(added).map(settled).chain(old).take(most).collect()
    }
}
