//! Sums over all paths of colocations in circles, without following each path.
//!
//! For every path to a resource that meets no resource twice, Pacemaker adds a share of that resource's wishes. Twelve
//! resources that keep away from each other have a hundred million such paths. The order of paths is irrelevant if some
//! host remains on all of them, and if no score becomes infinite that another path would have made finite. It is then
//! enough to know how many paths end with each colocation. Resources that could change places without a change of the
//! colocations have equally many paths, so only the number met of each such kind matters.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use super::index::{HostIdx, ResourceIdx};
use super::merging::{CountedPaths, PathEnds, PathStart, Share};
use super::score::{AllocationScore, ScoreTable};
use super::wishes::Wishes;
use super::working_set::WorkingSet;

/// Greatest number of resources in reach of the first one.
const MOST_RESOURCES: usize = 200;
/// Greatest number of steps for counting, each from one number of met resources to the next.
const MOST_STEPS: usize = 4_000_000;
/// Greatest number of path ends that are kept for other tables.
const MOST_KEPT: usize = 1_000_000;

/// Effect of a colocation on the sign of the shares that follow it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SignTurn {
    Keeps,
    Flips,
    /// The score is 0: the sign is reset.
    Resets,
}

impl SignTurn {
    fn of(score: AllocationScore) -> SignTurn {
        match score.cmp(&AllocationScore::ZERO) {
            std::cmp::Ordering::Greater => SignTurn::Keeps,
            std::cmp::Ordering::Less => SignTurn::Flips,
            std::cmp::Ordering::Equal => SignTurn::Resets,
        }
    }

    fn after(self, opposite: bool) -> bool {
        match self {
            SignTurn::Keeps => opposite,
            SignTurn::Flips => !opposite,
            SignTurn::Resets => false,
        }
    }
}

/// A colocation, from one resource in reach to another.
#[derive(Debug, Clone, Copy)]
struct PathLeg<'a> {
    from: usize,
    to: usize,
    turn: SignTurn,
    /// Its share with the sign unchanged, and turned.
    shares: [Share<'a>; 2],
}

/// Numbers of colocations between two resources, by their turns.
type Ties = [u128; 3];

/// Numbers of paths with wishes unchanged, and turned into their opposite.
type PathCounts = [u128; 2];

/// Numbers of paths, and steps it took to count them.
struct StepCounts {
    counts: Vec<PathCounts>,
    steps: usize,
}

/// The resources in reach of the first one, and the colocations between them.
struct PathGraph<'a> {
    resources: Vec<ResourceIdx>,
    legs: Vec<PathLeg<'a>>,
    /// By pair of resources.
    ties: Vec<Ties>,
}

impl<'a> PathGraph<'a> {
    /// Builds the graph; `None` if it has a group or too many resources.
    fn of(wishes: &Wishes<'a>, start: PathStart) -> Option<PathGraph<'a>> {
        let first = start.resource;
        if start.factor().abs() != 1.0 {
            return None;
        }
        let mut positions = HashMap::from([(first, 0)]);
        let mut resources = vec![first];
        let mut legs = Vec::new();
        let mut from = 0;
        while let Some(resource) = resources.get(from).copied() {
            if wishes.set.resource(resource).is_group() || resources.len() > MOST_RESOURCES {
                return None;
            }
            let plain = wishes.next(PathStart::of(wishes.set, resource, start.towards, 1.0)).into_iter();
            let turned = wishes.next(PathStart::of(wishes.set, resource, start.towards, -1.0));
            for ((other, share), (_, opposite)) in plain.zip(turned) {
                let to = *positions.entry(other).or_insert_with(|| {
                    resources.push(other);
                    resources.len() - 1
                });
                // Paths do not return to their beginning, and do not stay in place.
                if to != 0 && to != from {
                    if !counts_alike(wishes.set, share) {
                        return None;
                    }
                    let turn = SignTurn::of(wishes.set.colocations[share.colocation].score);
                    legs.push(PathLeg { from, to, turn, shares: [share, opposite] });
                }
            }
            from += 1;
        }
        let mut ties = vec![Ties::default(); resources.len() * resources.len()];
        for leg in &legs {
            ties[leg.from * resources.len() + leg.to][leg.turn as usize] += 1;
        }
        Some(PathGraph { resources, legs, ties })
    }

    fn ties(&self, from: usize, to: usize) -> Ties {
        self.ties[from * self.resources.len() + to]
    }

    /// Returns true if two resources could change places.
    fn are_alike(&self, one: usize, other: usize) -> bool {
        let others = || (0..self.resources.len()).filter(|at| ![one, other].contains(at));
        self.ties(one, other) == self.ties(other, one)
            && others().all(|at| self.ties(at, one) == self.ties(at, other))
            && others().skip(1).all(|at| self.ties(one, at) == self.ties(other, at))
    }

    /// All resources but the first, grouped by kind: those of one kind could change places. `None` if there are too
    /// many kinds for counting, as each at least doubles the states.
    fn kinds(&self) -> Option<Vec<Vec<usize>>> {
        let mut kinds: Vec<Vec<usize>> = Vec::new();
        for at in 1..self.resources.len() {
            match kinds.iter_mut().find(|kind| self.are_alike(kind[0], at)) {
                Some(kind) => kind.push(at),
                None => kinds.push(vec![at]),
            }
            if (1 << kinds.len()) > MOST_STEPS {
                return None;
            }
        }
        Some(kinds)
    }

    /// The paths, grouped by the shares with which they end; `None` if counting takes too long.
    fn counted(&self, opposite: bool) -> Option<CountedPaths<'a>> {
        let StepCounts { counts, steps } = self.counts(opposite)?;
        // Many colocations with the same resource have the same share.
        let mut ends: BTreeMap<(usize, u32, Option<&str>), PathEnds<'a>> = BTreeMap::new();
        let mut paths = 0u128;
        for (leg, counts) in self.legs.iter().zip(counts) {
            let resource = self.resources[leg.to];
            for (share, count) in leg.shares.into_iter().zip(counts).filter(|(_, count)| *count > 0) {
                let end = ends.entry((leg.to, share.factor.to_bits(), share.attribute));
                let end = end.or_insert(PathEnds { resource, share, count: 0 });
                end.count = end.count.saturating_add(count);
                paths = paths.saturating_add(count);
            }
        }
        let work = self.legs.len() + steps;
        Some(CountedPaths { ends: ends.into_values().collect(), paths, work })
    }

    /// Number of paths that end with each colocation, by the sign of wishes before it. Numbers that are too large are
    /// cut off, but stay beyond all scores.
    fn counts(&self, opposite: bool) -> Option<StepCounts> {
        let kinds = self.kinds()?;
        let mut kind_of = vec![0; self.resources.len()];
        kinds.iter().enumerate().for_each(|(kind, all)| all.iter().for_each(|at| kind_of[*at] = kind));
        let StepCounts { counts: pairs, steps } = self.pairs(&kinds, opposite)?;
        let count = |leg: &PathLeg<'_>| {
            if leg.from == 0 {
                return if opposite { [0, 1] } else { [1, 0] };
            }
            let (from, to) = (kind_of[leg.from], kind_of[leg.to]);
            let others = kinds[to].len() - usize::from(from == to);
            let alike = (kinds[from].len() * others) as u128;
            pairs[from * kinds.len() + to].map(|all| all / alike)
        };
        Some(StepCounts { counts: self.legs.iter().map(count).collect(), steps })
    }

    /// By pair of kinds, the number of paths to resources of the first kind. Each counts once for every resource of the
    /// second kind that it has not met.
    fn pairs(&self, kinds: &[Vec<usize>], opposite: bool) -> Option<StepCounts> {
        let count = kinds.len();
        let mut strides = Vec::with_capacity(count);
        let mut states = 1usize;
        for kind in kinds {
            strides.push(states);
            states = states.checked_mul(kind.len() + 1)?;
        }
        let steps = states.checked_mul(count * count).filter(|steps| *steps <= MOST_STEPS)?;
        // States are the number of resources met of each kind, and the kind of the last one.
        let mut paths = vec![PathCounts::default(); states * count];
        let mut pairs = vec![PathCounts::default(); count * count];
        let start: PathCounts = if opposite { [0, 1] } else { [1, 0] };
        let go_on = |paths: &mut [PathCounts], state: usize, to: usize, before: PathCounts, ties: Ties| {
            let there = &mut paths[(state + strides[to]) * count + to];
            for (turn, ties) in [SignTurn::Keeps, SignTurn::Flips, SignTurn::Resets].into_iter().zip(ties) {
                for (sign, number) in [false, true].into_iter().zip(before) {
                    let sum = &mut there[usize::from(turn.after(sign))];
                    *sum = sum.saturating_add(number.saturating_mul(ties));
                }
            }
        };
        for (to, kind) in kinds.iter().enumerate() {
            let begun = start.map(|number| number * kind.len() as u128);
            go_on(&mut paths, 0, to, begun, self.ties(0, kind[0]));
        }
        for state in 1..states {
            for from in 0..count {
                let here = paths[state * count + from];
                if here == PathCounts::default() {
                    continue;
                }
                for (to, kind) in kinds.iter().enumerate() {
                    let left = kind.len() - state / strides[to] % (kind.len() + 1);
                    let Some(other) = kind.iter().find(|at| **at != kinds[from][0]).filter(|_| left > 0)
                    else {
                        continue;
                    };
                    let before = here.map(|number| number.saturating_mul(left as u128));
                    let all = &mut pairs[from * count + to];
                    all.iter_mut().zip(before).for_each(|(all, more)| *all = all.saturating_add(more));
                    go_on(&mut paths, state, to, before, self.ties(kinds[from][0], *other));
                }
            }
        }
        Some(StepCounts { counts: pairs, steps })
    }
}

/// Returns true if a share counts alike on all paths, apart from its sign.
fn counts_alike(set: &WorkingSet, share: Share<'_>) -> bool {
    !set.release.multiplies_shares() || set.colocations[share.colocation].score.is_infinite()
}

/// Sums of everything that some paths add to a host, in any order.
#[derive(Debug, Clone, Copy, Default)]
struct HostSum {
    up: u128,
    down: u128,
    infinite: bool,
    never: bool,
}

impl HostSum {
    /// Adds a score several times.
    fn add(&mut self, score: AllocationScore, times: u128) {
        match score {
            AllocationScore::MINUS_INFINITY => self.never = true,
            AllocationScore::INFINITY => self.infinite = true,
            _ => {
                let sum = if score < AllocationScore::ZERO { &mut self.down } else { &mut self.up };
                let amount = u128::from(score.get().unsigned_abs());
                *sum = sum.saturating_add(amount.saturating_mul(times));
            }
        }
    }

    /// Lowest value that a score can have on the way.
    fn least(&self, score: AllocationScore) -> AllocationScore {
        if self.never {
            AllocationScore::MINUS_INFINITY
        } else if score.is_infinite() {
            score
        } else {
            minus(score, self.down)
        }
    }

    /// A score after all additions, if their order does not matter.
    fn applied(&self, score: AllocationScore) -> Option<AllocationScore> {
        if self.never || score.is_infinite() {
            return Some(self.least(score));
        }
        let is_certain = self.least(score) > AllocationScore::MINUS_INFINITY;
        if self.infinite {
            return is_certain.then_some(AllocationScore::INFINITY);
        }
        let most = minus(score.negated(), self.up).negated();
        match (self.up, self.down) {
            (0, _) => Some(self.least(score)),
            (_, 0) => Some(most),
            _ => (is_certain && !most.is_infinite()).then(|| minus(most, self.down)),
        }
    }
}

fn minus(score: AllocationScore, amount: u128) -> AllocationScore {
    let amount = i64::try_from(amount).unwrap_or(i64::MAX / 2).min(i64::MAX / 2);
    AllocationScore::of(i64::from(score.get()) - amount)
}

/// A table with everything that paths add, and the number of paths.
pub(super) struct PathSum {
    pub(super) table: ScoreTable,
    pub(super) paths: u128,
}

impl<'a> Wishes<'a> {
    /// Adds to a table the wishes of all resources on all paths from a resource, if the order of paths does not matter.
    pub(super) fn plus_paths(
        &mut self,
        tables: &[ScoreTable],
        from: PathStart,
        table: &ScoreTable,
    ) -> Option<PathSum> {
        let counted = self.counted_paths(from)?;
        let hosts = self.set.hosts.len();
        self.merging.work += counted.ends.len() * hosts;
        let mut sums = vec![HostSum::default(); hosts];
        for end in &counted.ends {
            let added = self.own_additions(tables, end.resource, from.towards, end.share);
            sums.iter_mut().zip(added).for_each(|(sum, score)| sum.add(score, end.count));
        }
        let is_kept = |(host, score): (HostIdx, AllocationScore)| {
            self.available(host) && sums[host.get()].least(score) >= AllocationScore::ZERO
        };
        if !table.iter().any(is_kept) {
            return None;
        }
        let mut sum = ScoreTable::empty(hosts);
        for (host, score) in table.iter() {
            sum.set(host, sums[host.get()].applied(score)?);
        }
        Some(PathSum { table: sum, paths: counted.paths })
    }

    fn counted_paths(&mut self, from: PathStart) -> Option<Rc<CountedPaths<'a>>> {
        if let Some(known) = self.paths.known.get(&from) {
            return known.clone();
        }
        let counted = PathGraph::of(self, from).and_then(|graph| graph.counted(from.opposite));
        let counted = counted.map(Rc::new);
        if let Some(counted) = &counted {
            self.merging.work += counted.work;
            if self.paths.ends > MOST_KEPT {
                self.paths.forget();
            }
            self.paths.ends += counted.ends.len();
        }
        self.paths.known.insert(from, counted.clone());
        counted
    }
}
