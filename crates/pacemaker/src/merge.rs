//! Tables with the wishes of a resource added, and of all that hang on it in turn.
//!
//! Pacemaker follows every path of colocations anew, so that twenty resources that keep away from each other are a
//! million paths. Here, what a resource adds with all behind it is worked out once as a [`TableShift`], which holds for every
//! table on which no step is given up for want of hosts; where that is not certain, and in circles, paths are followed as
//! Pacemaker does.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use super::index::{HostIdx, ResourceIdx};
use super::score::{AllocationScore, ScoreTable};
use super::shift::TableShift;
use super::wishes::{Share, Towards, Wishes};
use super::working_set::WorkingSet;

/// Most resources of a chain in which each hangs on the next.
const DEEPEST: usize = 1000;
/// Most work on colocations that are followed again and again, of all paths together, in scores that are looked at: about
/// two seconds.
const MOST_WORK: usize = 80_000_000;
/// The work of a step beside its scores.
const STEP_WORK: usize = 16;
/// Most hosts of all shifts that are kept for other resources of the sequence.
const KEPT: usize = 4_000_000;
/// Most hosts of all wishes of others that are taken apart for one resource.
const MOST_HEARD: usize = 2_000_000;

/// What is added to a table, and how.
#[derive(Clone, Copy)]
struct WishMerge<'t> {
    /// By resource, what it wishes by itself.
    tables: &'t [ScoreTable],
    /// What comes first; without it, the resource's own table.
    table: Option<&'t ScoreTable>,
    share: Share<'t>,
    towards: Towards,
}

/// What is known of all behind a resource.
#[derive(Debug, Clone)]
enum WishesBehind {
    /// It is being worked out: who comes here again went in a circle.
    Begun,
    /// Some of them are in a circle, or the chain is too long.
    Circular,
    /// What they add.
    Known(Rc<TableShift>),
}

/// A resource and the way in which colocations are followed; and whether keeping away turned wishes into their opposite.
pub(super) type Behind = (ResourceIdx, Towards, bool);

/// Why paths are not followed to their end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GivenUp {
    /// A chain is too long.
    TooDeep,
    /// There are too many of them.
    TooMany,
}

/// What a resource added to a table that was merged.
#[derive(Debug, Clone)]
pub(super) struct HeardWish {
    pub(super) resource: ResourceIdx,
    /// The colocation by which it was heard, by its position.
    pub(super) colocation: usize,
    /// Whether all that the resource is worth counts, and not a share of it.
    pub(super) is_whole: bool,
    /// By host.
    pub(super) added: Vec<AllocationScore>,
}

/// Which resources are being merged, and what is known of them.
#[derive(Default)]
pub(super) struct MergeState {
    marked: Vec<bool>,
    depth: usize,
    /// The steps since the first resource whose paths are followed.
    steps: usize,
    /// The work of all steps so far, but for as many from each first resource as there are colocations.
    pub(super) work: usize,
    /// Why paths were not followed to their end.
    pub(super) given_up: Option<GivenUp>,
    behind: HashMap<Behind, WishesBehind>,
    /// The hosts in all that is known.
    kept: usize,
    /// What was added on the way, while somebody listens: then every path is followed, as Pacemaker does.
    heard: Option<Vec<HeardWish>>,
    /// How many more wishes are listened to.
    patience: usize,
    /// Whether every path is followed all the same.
    #[cfg(test)]
    by_paths: bool,
}

impl MergeState {
    pub(super) fn new(resources: usize) -> MergeState {
        MergeState { marked: vec![false; resources], ..MergeState::default() }
    }

    /// Counts a step. With more of them than there are colocations, some are followed again.
    fn count_step(&mut self, set: &WorkingSet) {
        self.steps = if self.depth == 0 { 0 } else { self.steps + 1 };
        if self.steps > set.colocations.len() {
            self.work += set.hosts.len() + STEP_WORK;
        }
    }

    /// Forgets what hangs on tables and lists that have changed.
    pub(super) fn forget(&mut self) {
        self.behind.clear();
        self.kept = 0;
    }

    /// Notes what is added to tables of so many hosts from now on.
    pub(super) fn listen(&mut self, hosts: usize) {
        self.heard = Some(Vec::new());
        self.patience = MOST_HEARD / hosts.max(1);
    }

    /// What was added since then; nothing, if nobody listened, or there was too much to listen to.
    pub(super) fn stop_listening(&mut self) -> Option<Vec<HeardWish>> {
        self.heard.take()
    }

    fn hear(&mut self, wish: impl FnOnce() -> HeardWish) {
        let Some(heard) = &mut self.heard else { return };
        match self.patience.checked_sub(1) {
            Some(left) => {
                self.patience = left;
                heard.push(wish());
            }
            None => self.heard = None,
        }
    }
}

impl<'a> Wishes<'a> {
    /// What a resource wishes together with all that it wants to be with.
    pub(super) fn with_primaries(&mut self, tables: &[ScoreTable], resource: ResourceIdx) -> ScoreTable {
        let share = Share { colocation: 0, attribute: None, factor: 1.0, sparing: false };
        let how = WishMerge { tables, table: None, share, towards: Towards::Primaries };
        let merged = self.merge(resource, how).unwrap_or_else(|| tables[resource.get()].clone());
        if self.merging.kept > KEPT {
            self.merging.forget();
        }
        merged
    }

    /// A table with the wishes of a resource, and of all behind it, added. Whatever changed since the last call, other than
    /// the tables of those on whom the resource hangs, has to be [forgotten](MergeState::forget).
    pub(super) fn added(
        &mut self,
        tables: &[ScoreTable],
        resource: ResourceIdx,
        table: ScoreTable,
        share: Share<'_>,
    ) -> ScoreTable {
        self.added_towards(tables, resource, table, share, Towards::Dependents)
    }

    /// The same for all before it or behind it.
    pub(super) fn added_towards(
        &mut self,
        tables: &[ScoreTable],
        resource: ResourceIdx,
        table: ScoreTable,
        share: Share<'_>,
        towards: Towards,
    ) -> ScoreTable {
        let how = WishMerge { tables, table: Some(&table), share, towards };
        let mut merged = self.merge(resource, how).unwrap_or(table);
        if share.sparing {
            merged.settle();
        }
        merged
    }

    /// The same for one that it must be with, which is heard also where that leaves no host.
    pub(super) fn added_for_certain(
        &mut self,
        tables: &[ScoreTable],
        resource: ResourceIdx,
        table: ScoreTable,
        share: Share<'_>,
    ) -> ScoreTable {
        let how = WishMerge { tables, table: Some(&table), share, towards: Towards::Primaries };
        let merged = self.merge(resource, how);
        merged.unwrap_or_else(|| plus(&table, &self.additions(&tables[resource.get()], share), share))
    }

    /// The table with the wishes of a resource added, or nothing if it stays as it is.
    fn merge(&mut self, resource: ResourceIdx, how: WishMerge<'_>) -> Option<ScoreTable> {
        if self.merging.marked[resource.get()] || self.merging.given_up.is_some() {
            return None;
        }
        // a listener's patience ends first
        if self.merging.heard.is_none() {
            self.merging.count_step(self.set);
        }
        self.merging.given_up = match () {
            () if self.merging.depth == DEEPEST => Some(GivenUp::TooDeep),
            () if self.merging.work > MOST_WORK => Some(GivenUp::TooMany),
            () => None,
        };
        if self.merging.given_up.is_some() {
            return None;
        }
        if let Some(merged) = self.merge_at_once(resource, how) {
            return Some(merged);
        }
        let heard = self.merging.heard.as_ref().map_or(0, Vec::len);
        self.merging.marked[resource.get()] = true;
        self.merging.depth += 1;
        let merged = self.merge_marked(resource, how);
        self.merging.depth -= 1;
        self.merging.marked[resource.get()] = false;
        if let (None, Some(all)) = (&merged, &mut self.merging.heard) {
            all.truncate(heard);
        }
        merged
    }

    fn merge_marked(&mut self, resource: ResourceIdx, how: WishMerge<'_>) -> Option<ScoreTable> {
        let WishMerge { tables, table, share, .. } = how;
        let mut merged = match (self.set.resource(resource).is_group(), table) {
            (true, _) => {
                let member = self.set.member(resource, table.is_none())?;
                let merged = self.merge(member, how);
                merged.or_else(|| table.cloned()).unwrap_or_else(|| tables[member.get()].clone())
            }
            (false, None) => tables[resource.get()].clone(),
            (false, Some(table)) => {
                let added = self.additions(&tables[resource.get()], share);
                let merged = plus(table, &added, share);
                let (colocation, is_whole) = (share.colocation, share.factor >= 1.0);
                self.merging.hear(|| HeardWish { resource, colocation, is_whole, added });
                merged
            }
        };
        if !self.some_host_is_left(&merged) {
            return table.is_none().then_some(merged);
        }
        // looked at once, where paths begin
        if self.merging.depth == 1 {
            if self.is_quiet(resource, how) {
                return Some(merged);
            }
            if let Some(sum) = self.sum_of_paths(resource, how, &merged) {
                return Some(sum);
            }
        }
        for (other, next) in self.next(resource, how.towards, share.factor < 0.0) {
            let share = Share { sparing: share.sparing, ..next };
            if let Some(more) = self.merge(other, WishMerge { table: Some(&merged), share, ..how }) {
                merged = more;
            }
        }
        Some(merged)
    }

    /// A table with all that paths from a resource add to it, if they need not be followed.
    fn sum_of_paths(
        &mut self,
        resource: ResourceIdx,
        how: WishMerge<'_>,
        table: &ScoreTable,
    ) -> Option<ScoreTable> {
        #[cfg(test)]
        if self.merging.by_paths {
            return None;
        }
        if how.share.sparing {
            return None;
        }
        let sum = self.plus_paths(how.tables, (resource, how.towards, how.share.factor < 0.0), table)?;
        if self.merging.heard.is_some() && sum.paths <= self.merging.patience as u128 {
            return None;
        }
        self.merging.heard = None;
        Some(sum.table)
    }

    /// Whether none of the primitives behind a resource has a score other than 0 anywhere, so that none of them adds anything.
    fn is_quiet(&self, resource: ResourceIdx, how: WishMerge<'_>) -> bool {
        #[cfg(test)]
        if self.merging.by_paths {
            return false;
        }
        if self.merging.heard.is_some() || !self.set.host_indices().all(|host| self.available(host)) {
            return false;
        }
        let adds_nothing = |of: ResourceIdx| {
            let scores = &how.tables[of.get()];
            let is_zero = |host| scores.get(host) == Some(AllocationScore::ZERO);
            self.set.resource(of).is_primitive() && self.set.host_indices().all(is_zero)
        };
        let (mut seen, mut left) = (HashSet::from([resource]), vec![resource]);
        while let Some(of) = left.pop() {
            if !adds_nothing(of) {
                return false;
            }
            let next = self.next(of, how.towards, false).into_iter().map(|(other, _)| other);
            left.extend(next.filter(|other| seen.insert(*other)));
        }
        true
    }

    /// The same without following paths, if some host is left on all of them for certain.
    fn merge_at_once(&mut self, resource: ResourceIdx, how: WishMerge<'_>) -> Option<ScoreTable> {
        #[cfg(test)]
        if self.merging.by_paths {
            return None;
        }
        if self.merging.heard.is_some() {
            return None;
        }
        let WishMerge { tables, share, towards, .. } = how;
        let table = how.table?;
        let behind = self.behind_all(tables, resource, towards, share.factor < 0.0)?;
        if behind.is_empty() {
            return None;
        }
        let member = self.set.member(resource, false)?;
        let mut merged = plus(table, &self.additions(&tables[member.get()], share), share);
        let is_kept = |(host, score): (HostIdx, AllocationScore)| {
            score >= AllocationScore::ZERO && behind.keeps(host, score)
        };
        let kept = match share.sparing {
            false => merged.iter().any(|(host, score)| self.available(host) && is_kept((host, score))),
            // where none falls below 0, none is spared
            true => merged.iter().all(is_kept),
        };
        kept.then(|| {
            behind.apply(&mut merged);
            merged
        })
    }

    /// What is behind a resource, for a group behind its first member, too.
    fn behind_all(
        &mut self,
        tables: &[ScoreTable],
        resource: ResourceIdx,
        towards: Towards,
        opposite: bool,
    ) -> Option<Rc<TableShift>> {
        if !self.set.resource(resource).is_group() {
            return self.behind(tables, (resource, towards, opposite));
        }
        let (first, last) = (self.set.member(resource, false)?, self.set.member(resource, true)?);
        let mut all = TableShift::clone(&*self.behind(tables, (first, towards, opposite))?);
        all.then(&*self.behind(tables, (resource, towards, opposite))?);
        // where a group comes first, its last member stands for it, and must not be in a circle either
        self.behind(tables, (last, towards, opposite))?;
        Some(Rc::new(all))
    }

    /// What the colocations of a resource add, with all behind them; nothing, if there is a circle.
    fn behind(&mut self, tables: &[ScoreTable], of: Behind) -> Option<Rc<TableShift>> {
        match self.merging.behind.get(&of) {
            Some(WishesBehind::Known(shift)) => return Some(Rc::clone(shift)),
            Some(_) => return None,
            None => {}
        }
        self.merging.behind.insert(of, WishesBehind::Begun);
        self.merging.depth += 1;
        let shift = self.follow(tables, of).map(Rc::new);
        self.merging.depth -= 1;
        let known = shift.clone().map_or(WishesBehind::Circular, WishesBehind::Known);
        self.merging.behind.insert(of, known);
        shift
    }

    fn follow(&mut self, tables: &[ScoreTable], of: Behind) -> Option<TableShift> {
        let (resource, towards, opposite) = of;
        let mut all = TableShift::default();
        for (other, share) in self.next(resource, towards, opposite) {
            if self.merging.depth >= DEEPEST {
                return None;
            }
            let member = self.set.member(other, false)?;
            all.then(&TableShift::of(&self.additions(&tables[member.get()], share)));
            all.then(&*self.behind_all(tables, other, towards, share.factor < 0.0)?);
        }
        self.merging.kept += all.hosts();
        Some(all)
    }

    /// Who is next on the paths from a resource, and for which share.
    pub(super) fn next(
        &self,
        of: ResourceIdx,
        towards: Towards,
        opposite: bool,
    ) -> Vec<(ResourceIdx, Share<'a>)> {
        let set = self.set;
        let of = match towards {
            Towards::Primaries => of,
            Towards::Dependents => self.set.member(of, true).unwrap_or(of),
        };
        let sign = if opposite { -1.0 } else { 1.0 };
        let colocations = self.list(of, towards).iter().map(|at| (*at, &set.colocations[*at]));
        let counting = colocations.filter(|(_, one)| towards == Towards::Primaries || set.has_influence(one));
        let next = counting.map(|(at, one)| match towards {
            Towards::Primaries => (one.primary, Share::of(set, at, sign)),
            Towards::Dependents => (one.dependent, Share::of(set, at, sign)),
        });
        next.collect()
    }
}

/// A table with a share of what another resource is worth added to it.
fn plus(table: &ScoreTable, added: &[AllocationScore], share: Share<'_>) -> ScoreTable {
    let mut merged = table.clone();
    match share.sparing {
        false => merged.update(|host, score| score.plus(added[host.get()])),
        true => merged.update(|host, score| score.plus_sparing(added[host.get()])),
    }
    merged
}

#[cfg(test)]
mod tests;
