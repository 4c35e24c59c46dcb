//! Places for instances that need two nodes.

mod walk;

use std::sync::Arc;

use super::bounds::{Bounds, backing_never_helps};
use super::floor::Floor;
use super::kinds::KindIdx;
use super::offers::{NodeWithInstance, Offers};
use super::{PlaceMetric, PlaceSearch, select};
use crate::parallel::note;
use htools_model::score::PairUpdate;
use htools_model::{FailCounts, Mib, NodeIdx, Place, Placement};

/// A node of a kind with the instance; `None` if it refuses.
type KindVerdict = Option<Arc<NodeWithInstance>>;

/// Pairs of nodes to try, by kind.
pub(super) struct Pairs<'f, 'c, 'o, 'i> {
    floor: &'f Floor<'c>,
    offers: &'o mut Offers<'i>,
    statistics: PairUpdate,
    /// The kinds; `places` has the verdict on each as a primary and as a secondary.
    kinds: Vec<KindIdx>,
    places: Vec<(KindVerdict, KindVerdict)>,
    /// Change of the spread's surplus, by primary.
    spread: Vec<i64>,
    bounds: Bounds,
    /// For each group, positions in `kinds` by ascending bound, as primaries and as secondaries.
    orders: Vec<(Vec<usize>, Vec<usize>)>,
}

/// Kinds of the nodes of a pair, by their positions.
#[derive(Debug, Clone, Copy)]
struct KindPair {
    primary: usize,
    secondary: usize,
}

#[derive(Debug, Clone, Copy)]
struct ScoredPair {
    score: f64,
    primary: NodeIdx,
    secondary: NodeIdx,
    /// Positions in `kinds`.
    kinds: KindPair,
    second: NodeWithInstance,
}

impl ScoredPair {
    /// Returns true if this pair is preferred: smaller score, then later primary, then later secondary.
    fn precedes(&self, other: &ScoredPair) -> bool {
        if self.score == other.score {
            return (self.primary, self.secondary) > (other.primary, other.secondary);
        }
        self.score < other.score
    }
}

impl<'f, 'c, 'o, 'i> Pairs<'f, 'c, 'o, 'i> {
    pub(super) fn new(floor: &'f Floor<'c>, offers: &'o mut Offers<'i>) -> Pairs<'f, 'c, 'o, 'i> {
        let statistics = PairUpdate::of(&floor.board);
        let kinds: Vec<KindIdx> = floor.usable_kinds().collect();
        let places: Vec<_> = kinds
            .iter()
            .map(|k| (offers.primary(floor, *k).ok().cloned(), offers.secondary(floor, *k).ok().cloned()))
            .collect();
        let spec = |k: &KindIdx| &floor.cluster.node(floor.kinds.get(*k).sample).spec;
        let board_spread = floor.board.spread();
        let spread: Vec<i64> =
            kinds.iter().map(|k| board_spread.change(offers.instance, None, Some(spec(k)))).collect();
        let changes: Vec<_> = places
            .iter()
            .map(|(p, s)| (p.as_ref().map(|p| &p.change), s.as_ref().map(|s| &s.change)))
            .collect();
        note(kinds.len());
        let bounds = Bounds::of(floor.board.weights(), &statistics, &changes, &spread);
        let mut orders = vec![(Vec::new(), Vec::new()); floor.cluster.groups.len()];
        for (at, kind) in kinds.iter().enumerate() {
            let (primaries, secondaries) = &mut orders[spec(kind).group.get()];
            if places[at].0.is_some() {
                primaries.push(at);
            }
            if places[at].1.is_some() {
                secondaries.push(at);
            }
        }
        for (primaries, secondaries) in &mut orders {
            primaries.sort_by(|a, b| bounds.primary(*a).total_cmp(&bounds.primary(*b)).then(a.cmp(b)));
            secondaries.sort_by(|a, b| bounds.secondary(*a).total_cmp(&bounds.secondary(*b)).then(a.cmp(b)));
        }
        Pairs { floor, offers, statistics, kinds, places, spread, bounds, orders }
    }

    /// Returns true if bounds for nodes that do not back the primary yet hold for all nodes.
    fn bounds_hold(&self) -> bool {
        backing_never_helps(self.floor.board.weights(), &self.statistics)
    }

    fn members(&self, at: usize) -> &'f [NodeIdx] {
        &self.floor.kinds.get(self.kinds[at]).members
    }

    fn sample(&self, at: usize) -> NodeIdx {
        self.floor.kinds.get(self.kinds[at]).sample
    }

    /// Number of location tags that nodes of two kinds have in common.
    fn locations(&self, primary: usize, secondary: usize) -> i64 {
        self.floor.cluster.common_locations(self.sample(primary), self.sample(secondary))
    }

    /// The statistics with the instance on a primary of a kind.
    fn with_primary(&self, at: usize) -> Option<PairUpdate> {
        self.places[at].0.as_ref().map(|arrived| self.statistics.after(&arrived.change))
    }

    fn score(&self, with_primary: &PairUpdate, kinds: KindPair, second: &NodeWithInstance) -> f64 {
        let mut statistics = with_primary.after(&second.change);
        if !self.offers.instance.forthcoming {
            statistics.add_location_sum(self.locations(kinds.primary, kinds.secondary));
        }
        statistics.score(self.floor.board.weights(), self.spread[kinds.primary])
    }

    /// Memory that a secondary node of the kind keeps at most for one other node, if it did not back the
    /// primary before.
    fn reserve(second: &NodeWithInstance) -> Mib {
        second.ledger.mem_reserved
    }

    /// Returns true if backing `peer` of the primary already makes no difference to the secondary's state.
    fn is_usual(&self, second: &NodeWithInstance, peer: Mib) -> bool {
        let need = self.offers.instance.mem_reserved();
        let joint = |peer| second.ledger.joint.raised(peer, need);
        peer + need <= Self::reserve(second) && joint(peer) == joint(Mib::ZERO)
    }

    /// The last pair of two kinds whose secondary is not affected by backing the primary already.
    fn last_pair(&self, kinds: KindPair, second: &NodeWithInstance) -> Option<(NodeIdx, NodeIdx)> {
        let secondaries = self.members(kinds.secondary);
        self.members(kinds.primary).iter().rev().find_map(|&p| {
            let backing = self.floor.backing(p);
            let unusual = |s: NodeIdx| backing.iter().any(|b| b.0 == s && !self.is_usual(second, b.1));
            secondaries.iter().rev().copied().find(|s| *s != p && !unusual(*s)).map(|s| (p, s))
        })
    }

    /// The pairs of two kinds whose secondary is affected by backing the primary already.
    fn unusual_pairs(&self, with: &PairUpdate, kinds: KindPair, usual: &NodeWithInstance) -> Vec<ScoredPair> {
        let mut pairs = Vec::new();
        for &primary in self.members(kinds.primary) {
            pairs.extend(self.unusual_partners(with, primary, kinds, usual));
        }
        pairs
    }

    fn unusual_partners<'s>(
        &'s self,
        with: &'s PairUpdate,
        primary: NodeIdx,
        kinds: KindPair,
        usual: &'s NodeWithInstance,
    ) -> impl Iterator<Item = ScoredPair> + 's {
        let of_kind = move |s: &NodeIdx| self.floor.kinds.of_node(*s) == self.kinds[kinds.secondary];
        self.floor
            .backing(primary)
            .iter()
            .filter(move |b| b.0 != primary && of_kind(&b.0) && !self.is_usual(usual, b.1))
            .filter_map(move |(secondary, peer)| {
                let second = self.offers.backing_secondary(self.floor, *secondary, *peer).ok()?;
                let score = self.score(with, kinds, &second);
                Some(ScoredPair { score, primary, secondary: *secondary, kinds, second })
            })
    }

    fn best(&self) -> Option<ScoredPair> {
        let mut best: Option<ScoredPair> = None;
        let hopeless = |bound: f64, best: &Option<ScoredPair>| {
            self.bounds_hold() && best.as_ref().is_some_and(|b| bound > b.score)
        };
        let take = |new: ScoredPair, best: &mut Option<ScoredPair>| {
            if best.as_ref().is_none_or(|b| new.precedes(b)) {
                *best = Some(new);
            }
        };
        for (primaries, secondaries) in &self.orders {
            let Some(least) = secondaries.first().map(|s| self.bounds.secondary(*s)) else { continue };
            for &p in primaries {
                let bound = self.bounds.primary(p);
                if hopeless(bound + least, &best) {
                    break;
                }
                let Some(with) = self.with_primary(p) else { continue };
                for &s in secondaries {
                    if hopeless(bound + self.bounds.secondary(s), &best) {
                        break;
                    }
                    let Some(second) = self.places[s].1.as_deref() else { continue };
                    let kinds = KindPair { primary: p, secondary: s };
                    note(1);
                    let score = self.score(&with, kinds, second);
                    if hopeless(score, &best) {
                        continue;
                    }
                    let found = self.last_pair(kinds, second);
                    if let Some((primary, secondary)) = found {
                        take(ScoredPair { score, primary, secondary, kinds, second: *second }, &mut best);
                    }
                    if found.is_none() || !self.bounds_hold() {
                        let unusual = self.unusual_pairs(&with, kinds, second);
                        unusual.into_iter().for_each(|pair| take(pair, &mut best));
                    }
                }
            }
        }
        best
    }

    fn place(&self, pair: &ScoredPair) -> Place {
        let location_score = self.locations(pair.kinds.primary, pair.kinds.secondary);
        let (p, s) = (pair.primary, pair.secondary);
        let mut primary =
            self.places[pair.kinds.primary].0.as_ref().map_or(self.floor.ledgers[p.get()], |a| a.ledger);
        if !self.offers.instance.forthcoming {
            primary.location_sum += location_score;
        }
        let placement = Placement { primary: p, secondary: Some(s) };
        Place { placement, location_score, primary, secondary: Some(pair.second.ledger) }
    }

    /// For each primary, the refusals of pairs and the number of possible pairs.
    fn count(&mut self) -> Vec<(NodeIdx, FailCounts, u64)> {
        let floor = self.floor;
        let groups = floor.cluster.groups.len();
        let (mut refused, mut accepted) = (vec![FailCounts::default(); groups], vec![0u64; groups]);
        let group = |n: NodeIdx| floor.cluster.node(n).spec.group.get();
        for kind in &self.kinds {
            let sample = floor.kinds.get(*kind);
            let (at, members) = (group(sample.sample), sample.members.len() as u64);
            match self.offers.secondary(floor, *kind) {
                Ok(_) => accepted[at] += members,
                Err(kind) => refused[at].add(kind, members),
            }
        }
        let primaries = floor.targets.primaries();
        primaries.iter().map(|p| self.count_of(*p, refused[group(*p)], accepted[group(*p)])).collect()
    }

    /// The counts for one primary, from those of all nodes of its group as secondaries.
    fn count_of(
        &mut self,
        primary: NodeIdx,
        mut refused: FailCounts,
        mut accepted: u64,
    ) -> (NodeIdx, FailCounts, u64) {
        let floor = self.floor;
        let group = floor.cluster.node(primary).spec.group;
        let kind = floor.kinds.of_node(primary);
        if let Err(reason) = self.offers.primary(floor, kind) {
            let partners = accepted + refused.total() - 1;
            let mut all = FailCounts::default();
            all.add(reason, partners);
            return (primary, all, 0);
        }
        match self.offers.secondary(floor, kind) {
            Ok(_) => accepted -= 1,
            Err(reason) => refused.remove(reason, 1),
        }
        for &(node, peer) in floor.backing(primary) {
            let partner =
                node != primary && floor.usable[node.get()] && floor.cluster.node(node).spec.group == group;
            if !partner {
                continue;
            }
            let usual = self.offers.secondary(floor, floor.kinds.of_node(node)).cloned();
            if usual.as_ref().is_ok_and(|second| self.is_usual(second, peer)) {
                continue;
            }
            match usual {
                Ok(_) => accepted -= 1,
                Err(reason) => refused.remove(reason, 1),
            }
            match self.offers.backing_secondary(floor, node, peer) {
                Ok(_) => accepted += 1,
                Err(reason) => refused.add(reason, 1),
            }
        }
        (primary, refused, accepted)
    }
}

/// The best pair with its score, ignoring redundancy.
pub(crate) fn best(floor: &Floor<'_>, offers: &mut Offers<'_>) -> Option<(f64, Place)> {
    let pairs = Pairs::new(floor, offers);
    pairs.best().map(|pair| (pair.score, pairs.place(&pair)))
}

/// Searches for the best pair.
pub(super) fn find(floor: &Floor<'_>, offers: &mut Offers<'_>) -> PlaceSearch {
    let mut pairs = Pairs::new(floor, offers);
    let mut search = PlaceSearch::default();
    for (_, refused, accepted) in pairs.count() {
        search.failures += refused;
        search.successes += accepted;
    }
    search.best = pairs.best().map(|pair| (PlaceMetric::Score(pair.score), pairs.place(&pair)));
    search
}

/// Searches for the best pair for which `holds` is true. For each primary, the secondaries are tried from best
/// to worst until one passes; those before it count as refused.
pub(super) fn find_checked(
    floor: &Floor<'_>,
    offers: &mut Offers<'_>,
    mut holds: impl FnMut(&Place) -> bool,
) -> PlaceSearch {
    let mut pairs = Pairs::new(floor, offers);
    let counts = pairs.count();
    counts.into_iter().fold(PlaceSearch::default(), |all, (primary, failures, successes)| {
        select::both(all, walk::one_primary(&pairs, primary, failures, successes, &mut holds))
    })
}
