//! Merges the wishes of a resource, and of all behind it, into score tables.
//!
//! Pacemaker follows every path of colocations anew; twenty resources that keep away from each other are a million
//! paths. Here, the wishes of a resource and of all behind it are computed once, as a [`TableShift`]. That holds for
//! every table on which no step is dropped for lack of hosts. If this is not certain, and in circles, paths are
//! followed as in Pacemaker.

use std::collections::HashSet;
use std::rc::Rc;

use super::index::{HostIdx, ResourceIdx};
use super::merging::{AddedWish, GivenUp, IndirectWishes, PathStart, Share, Towards};
use super::score::{AllocationScore, ScoreTable};
use super::shift::TableShift;
use super::wishes::Wishes;
use super::working_set::{Colocation, WorkingSet};

/// Greatest number of resources in a chain of colocations.
const DEEPEST: usize = 1000;
/// Greatest work on colocations that are followed repeatedly, in scores looked at, for all paths together: about two
/// seconds.
const MOST_WORK: usize = 80_000_000;
/// Greatest number of host scores in shifts that are kept for later resources of the sequence.
const KEPT: usize = 4_000_000;

/// Parameters of a merge.
#[derive(Clone, Copy)]
struct WishMerge<'t> {
    /// Each resource's own wishes.
    tables: &'t [ScoreTable],
    /// The table to add to; `None` stands for the resource's own.
    table: Option<&'t ScoreTable>,
    share: Share<'t>,
    towards: Towards,
}

impl WishMerge<'_> {
    fn start(&self, set: &WorkingSet, resource: ResourceIdx) -> PathStart {
        PathStart::of(set, resource, self.towards, self.share.factor)
    }
}

impl<'a> Wishes<'a> {
    /// The wishes of a resource, together with those of all that it wants to run with.
    pub(super) fn with_primaries(&mut self, tables: &[ScoreTable], resource: ResourceIdx) -> ScoreTable {
        let share = Share { factor: 1.0, ..Share::default() };
        let how = WishMerge { tables, table: None, share, towards: Towards::Primaries };
        let merged = self.merge(resource, how).unwrap_or_else(|| tables[resource.get()].clone());
        if self.merging.kept > KEPT {
            self.merging.forget();
        }
        merged
    }

    /// Adds the wishes of a resource, and of all behind it, to a table. After a change of anything but the tables of
    /// resources that it depends on, call [forget](MergeState::forget) first.
    pub(super) fn added(
        &mut self,
        tables: &[ScoreTable],
        resource: ResourceIdx,
        table: ScoreTable,
        share: Share<'_>,
    ) -> ScoreTable {
        self.added_towards(tables, resource, table, share, Towards::Dependents)
    }

    /// Like [`added`](Self::added), in either direction.
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

    /// Like [`added_towards`](Self::added_towards), but the resource's own wishes count even if they leave no host.
    pub(super) fn added_for_certain(
        &mut self,
        tables: &[ScoreTable],
        resource: ResourceIdx,
        table: ScoreTable,
        share: Share<'_>,
        towards: Towards,
    ) -> ScoreTable {
        let how = WishMerge { tables, table: Some(&table), share, towards };
        let merged = self.merge(resource, how);
        let mut merged = merged
            .unwrap_or_else(|| plus(&table, &self.own_additions(tables, resource, towards, share), share));
        if share.sparing {
            merged.settle();
        }
        merged
    }

    /// Adds the wishes of a primary to a table, and those of its dependents. Dependents pull no score below 0
    /// that the primary leaves at 0 or more. The primary's own wishes count even if they leave no host, unless the
    /// colocation is optional and not below 0.
    pub(super) fn added_by_primary(
        &mut self,
        tables: &[ScoreTable],
        primary: ResourceIdx,
        table: ScoreTable,
        share: Share<'_>,
    ) -> ScoreTable {
        let towards = Towards::Dependents;
        let is_certain = share.factor >= 1.0 || share.factor < 0.0;
        let mut merged_with = |share: Share<'_>| match is_certain {
            true => self.added_for_certain(tables, primary, table.clone(), share, towards),
            false => self.added_towards(tables, primary, table.clone(), share, towards),
        };
        let mut merged = merged_with(share);
        let spared = merged_with(Share { sparing: true, ..share });
        let member = self.set.member(primary, false).unwrap_or(primary);
        let own = plus(&table, &self.own_additions(tables, member, towards, share), share);
        merged.update(|host, score| {
            let is_good = own.or_never(host) >= AllocationScore::ZERO;
            if is_good { spared.or_never(host) } else { score }
        });
        merged
    }

    /// Adds the wishes of the primary of a colocation to a table, and those of its other dependents. If the colocation
    /// is mandatory, they count even if they leave no host.
    pub(super) fn added_from_primary(
        &mut self,
        tables: &[ScoreTable],
        colocation: &Colocation,
        table: ScoreTable,
        share: Share<'_>,
    ) -> ScoreTable {
        let how = WishMerge { tables, table: Some(&table), share, towards: Towards::Dependents };
        let dependent = colocation.dependent.get();
        self.merging.leaves_out = true;
        let was_marked = std::mem::replace(&mut self.merging.marked[dependent], true);
        let merged = self.merge(colocation.primary, how);
        self.merging.marked[dependent] = was_marked;
        self.merging.leaves_out = false;
        match merged {
            Some(merged) => merged,
            None if colocation.score == AllocationScore::INFINITY => {
                let member = self.set.member(colocation.primary, false).unwrap_or(colocation.primary);
                plus(&table, &self.own_additions(tables, member, Towards::Dependents, share), share)
            }
            None => table,
        }
    }

    /// The table with the wishes of a resource added; `None` if it stays unchanged.
    fn merge(&mut self, resource: ResourceIdx, how: WishMerge<'_>) -> Option<ScoreTable> {
        if self.merging.marked[resource.get()] || self.merging.given_up.is_some() {
            return None;
        }
        // Work is not limited while wishes are recorded, as their number is limited.
        if self.merging.added_wishes.is_none() {
            self.merging.count_step(self.set);
        }
        self.merging.given_up = if self.merging.depth == DEEPEST {
            Some(GivenUp::TooDeep)
        } else if self.merging.work > MOST_WORK {
            Some(GivenUp::TooMany)
        } else {
            None
        };
        if self.merging.given_up.is_some() {
            return None;
        }
        if let Some(merged) = self.merge_at_once(resource, how) {
            return Some(merged);
        }
        let added_wishes = self.merging.added_wishes.as_ref().map_or(0, Vec::len);
        self.merging.marked[resource.get()] = true;
        self.merging.depth += 1;
        let merged = self.merge_marked(resource, how);
        self.merging.depth -= 1;
        self.merging.marked[resource.get()] = false;
        if let (None, Some(all)) = (&merged, &mut self.merging.added_wishes) {
            all.truncate(added_wishes);
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
                let added = self.own_additions(tables, resource, how.towards, share);
                let merged = plus(table, &added, share);
                let (colocation, is_whole) = (share.colocation, share.factor >= 1.0);
                self.merging.record(|| AddedWish { resource, colocation, is_whole, added });
                merged
            }
        };
        if !self.some_host_is_left(&merged) {
            return table.is_none().then_some(merged);
        }
        let next = self.next(how.start(self.set, resource));
        if next.is_empty() {
            return Some(merged);
        }
        // One look at the beginning of paths is enough.
        if self.merging.depth == 1 {
            if self.is_quiet(resource, how) {
                return Some(merged);
            }
            if let Some(sum) = self.sum_of_paths(resource, how, &merged) {
                return Some(sum);
            }
        }
        // The colocations of a group are those of its members.
        if self.set.release.members_share_colocations() && self.set.resource(resource).is_group() {
            return Some(merged);
        }
        for (other, next) in next {
            let share = Share { sparing: share.sparing, ..next };
            if let Some(more) = self.merge(other, WishMerge { table: Some(&merged), share, ..how }) {
                merged = more;
            }
        }
        Some(merged)
    }

    /// The table with everything that paths from a resource add, if they need not be followed.
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
        if how.share.sparing || self.merging.leaves_out {
            return None;
        }
        let sum = self.plus_paths(how.tables, how.start(self.set, resource), table)?;
        if self.merging.added_wishes.is_some() && sum.paths <= self.merging.wishes_left as u128 {
            return None;
        }
        self.merging.added_wishes = None;
        Some(sum.table)
    }

    /// Returns true if all primitives behind a resource have the score 0 everywhere, so that they add nothing.
    fn is_quiet(&self, resource: ResourceIdx, how: WishMerge<'_>) -> bool {
        #[cfg(test)]
        if self.merging.by_paths {
            return false;
        }
        if self.merging.leaves_out {
            return false;
        }
        if self.merging.added_wishes.is_some() || !self.set.host_indices().all(|host| self.available(host)) {
            return false;
        }
        let has_zeros = |resource: ResourceIdx| {
            let scores = &how.tables[resource.get()];
            self.set.host_indices().all(|host| scores.get(host) == Some(AllocationScore::ZERO))
        };
        // The locations of a group can count for its members.
        let adds_nothing = |resource: ResourceIdx| {
            let details = self.set.resource(resource);
            let group = details.group.filter(|_| self.set.release.members_count_for_group());
            details.is_primitive() && has_zeros(resource) && group.is_none_or(has_zeros)
        };
        let (mut seen, mut left) = (HashSet::from([resource]), vec![resource]);
        while let Some(one) = left.pop() {
            if !adds_nothing(one) {
                return false;
            }
            let next =
                self.next(PathStart::of(self.set, one, how.towards, 1.0)).into_iter().map(|(other, _)| other);
            left.extend(next.filter(|other| seen.insert(*other)));
        }
        true
    }

    /// Merges without following paths, if some host certainly remains on all of them.
    fn merge_at_once(&mut self, resource: ResourceIdx, how: WishMerge<'_>) -> Option<ScoreTable> {
        #[cfg(test)]
        if self.merging.by_paths {
            return None;
        }
        if self.merging.added_wishes.is_some() || self.merging.leaves_out {
            return None;
        }
        let WishMerge { tables, share, .. } = how;
        let table = how.table?;
        let indirect = self.indirect_all(tables, how.start(self.set, resource))?;
        if indirect.is_empty() {
            return None;
        }
        let member = self.set.member(resource, false)?;
        let mut merged = plus(table, &self.own_additions(tables, member, how.towards, share), share);
        let is_kept = |(host, score): (HostIdx, AllocationScore)| {
            score >= AllocationScore::ZERO && indirect.keeps(host, score)
        };
        let kept = if share.sparing {
            // If no score falls below 0, none has to be spared.
            merged.iter().all(is_kept)
        } else {
            merged.iter().any(|(host, score)| self.available(host) && is_kept((host, score)))
        };
        kept.then(|| {
            indirect.apply(&mut merged);
            merged
        })
    }

    /// Shift by all behind a resource; for a group, also behind its first member.
    fn indirect_all(&mut self, tables: &[ScoreTable], from: PathStart) -> Option<Rc<TableShift>> {
        let group = from.resource;
        if !self.set.resource(group).is_group() {
            return self.indirect(tables, from);
        }
        let (first, last) = (self.set.member(group, false)?, self.set.member(group, true)?);
        if self.set.release.members_share_colocations() {
            return self.indirect(tables, PathStart { resource: first, ..from });
        }
        let mut all = TableShift::clone(&*self.indirect(tables, PathStart { resource: first, ..from })?);
        all.then(&*self.indirect(tables, from)?);
        // At the beginning of a path, the last member stands for a group. It must not be in a circle either.
        self.indirect(tables, PathStart { resource: last, ..from })?;
        Some(Rc::new(all))
    }

    /// Shift by the colocations of a resource and all behind them; `None` if there is a circle.
    fn indirect(&mut self, tables: &[ScoreTable], from: PathStart) -> Option<Rc<TableShift>> {
        match self.merging.indirect.get(&from) {
            Some(IndirectWishes::Known(shift)) => return Some(Rc::clone(shift)),
            Some(_) => return None,
            None => {}
        }
        self.merging.indirect.insert(from, IndirectWishes::Begun);
        self.merging.depth += 1;
        let shift = self.follow(tables, from).map(Rc::new);
        self.merging.depth -= 1;
        let known = shift.clone().map_or(IndirectWishes::Circular, IndirectWishes::Known);
        self.merging.indirect.insert(from, known);
        shift
    }

    fn follow(&mut self, tables: &[ScoreTable], from: PathStart) -> Option<TableShift> {
        let mut all = TableShift::default();
        for (other, share) in self.next(from) {
            if self.merging.depth >= DEEPEST {
                return None;
            }
            let member = self.set.member(other, false)?;
            all.then(&TableShift::of(&self.own_additions(tables, member, from.towards, share)));
            all.then(
                &*self.indirect_all(tables, PathStart::of(self.set, other, from.towards, share.factor))?,
            );
        }
        self.merging.kept += all.hosts();
        Some(all)
    }

    /// Additions to a table for the wishes of a primitive itself, through the colocation of a share. If that is a
    /// constraint about a member of a group other than the first, which has the locations of the group, these count as well,
    /// but not the scores of the hosts themselves.
    pub(super) fn own_additions(
        &self,
        tables: &[ScoreTable],
        resource: ResourceIdx,
        towards: Towards,
        share: Share<'_>,
    ) -> Vec<AllocationScore> {
        let (set, own) = (self.set, &tables[resource.get()]);
        let Some(colocation) = set.colocations.get(share.colocation) else {
            return self.additions(own, share);
        };
        let here = match towards {
            Towards::Primaries => colocation.primary,
            Towards::Dependents => colocation.dependent,
        };
        // The resources that the colocation names decide, which may be groups. In both directions, it is the dependent that
        // has one host left.
        let dependent = &tables[colocation.dependent.get()];
        let has_one_left =
            || dependent.iter().filter(|(_, score)| *score >= AllocationScore::ZERO).take(2).count() == 1;
        let is_turned = set.release.flees_from_last_host() && has_one_left();
        let turned_below = is_turned.then(|| set.resource(colocation.primary).stickiness.negated());
        let share = Share { turned_below, ..share };
        let group = set.resource(resource).group.filter(|group| {
            let is_inner = set.member(*group, false) != Some(resource);
            let counts = is_inner && here == resource && !set.is_tie(colocation);
            set.release.members_count_for_group() && counts
        });
        let Some(group) = group else { return self.additions(own, share) };
        let of_group = &tables[group.get()];
        let mut both = own.clone();
        both.update(|host, score| {
            let base = set.host(host).base;
            let located = of_group.get(host).map(|score| match score.is_infinite() || base.is_infinite() {
                true => score,
                false => score.plus(base.negated()),
            });
            score.plus(located.unwrap_or_default())
        });
        self.additions(&both, share)
    }

    /// The next resources on the paths from a resource, and their shares.
    pub(super) fn next(&self, from: PathStart) -> Vec<(ResourceIdx, Share<'a>)> {
        let (set, towards) = (self.set, from.towards);
        let resource = match towards {
            Towards::Primaries => from.resource,
            Towards::Dependents => set.member(from.resource, true).unwrap_or(from.resource),
        };
        let factor = from.factor();
        let colocations = self.list(resource, towards).iter().map(|at| (*at, &set.colocations[*at]));
        let counting = colocations.filter(|(_, one)| towards == Towards::Primaries || set.has_influence(one));
        let next = counting.map(|(at, one)| match towards {
            Towards::Primaries => (one.primary, Share::of(set, at, factor)),
            Towards::Dependents => (one.dependent, Share::of(set, at, factor)),
        });
        next.collect()
    }
}

/// A table plus a share of another resource's scores.
fn plus(table: &ScoreTable, added: &[AllocationScore], share: Share<'_>) -> ScoreTable {
    let mut merged = table.clone();
    if share.sparing {
        merged.update(|host, score| score.plus_sparing(added[host.get()]))
    } else {
        merged.update(|host, score| score.plus(added[host.get()]))
    }
    merged
}

#[cfg(test)]
mod tests;
