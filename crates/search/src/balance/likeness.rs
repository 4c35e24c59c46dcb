//! Alike moves: they have the same effect on nodes with equal figures, wherever these nodes are. Rules and
//! bounds are computed for one of them only.

use std::sync::{Mutex, MutexGuard, PoisonError};

// These maps are used very often, and their order never matters.
use foldhash::{HashMap, HashMapExt};

use super::shape::Shapes;
use crate::moves::Trial;
use crate::place::kinds::{LedgerBits, NodeConstants, bits};
use htools_model::score::batch::{ChangedState, Pattern, PatternPlaces};
use htools_model::score::interval::Interval;
use htools_model::score::{Board, Touched};
use htools_model::{Cluster, Mib, Move, NodeIdx, NodeReserve, NodeSpec};

/// Classes of alike nodes: nodes with equal figures have equal numbers.
#[derive(Default)]
pub(super) struct Likeness {
    known: Option<Known>,
    /// Nodes that have changed since the last refresh.
    changed: Vec<NodeIdx>,
}

struct Known {
    fixed: Vec<u32>,
    numbers: HashMap<(u32, LedgerBits), u32>,
    number_of: Vec<u32>,
    /// True if nodes with equal figures may still differ, because of migration tags or because the reserve of
    /// the group counts.
    restricted: bool,
    /// True if nodes have locations.
    located: bool,
}

impl Known {
    fn of(cluster: &Cluster, board: &Board) -> Known {
        let mut numbers = HashMap::new();
        let fixed = cluster.nodes.iter().map(|node| {
            let next = numbers.len() as u32;
            *numbers
                .entry(NodeConstants::of(
                    &node.spec,
                    node.spec.group.get(),
                    board.contains(node.spec.idx),
                    false,
                ))
                .or_insert(next)
        });
        let fixed: Vec<u32> = fixed.collect();
        let number_of = vec![0; fixed.len()];
        let is_special =
            |spec: &NodeSpec| !spec.migration_tags.is_empty() || cluster.group_reserve(spec.group).is_some();
        let restricted =
            cluster.wanted_room().is_some() || cluster.nodes.iter().any(|node| is_special(&node.spec));
        let located = cluster.nodes.iter().any(|node| !node.spec.location_tags.is_empty());
        let mut known = Known { fixed, numbers: HashMap::new(), number_of, restricted, located };
        cluster.nodes.iter().for_each(|node| known.look_at(cluster, node.spec.idx));
        known
    }

    fn look_at(&mut self, cluster: &Cluster, node: NodeIdx) {
        let next = self.numbers.len() as u32;
        let key = (self.fixed[node.get()], bits(&cluster.node(node).state.ledger));
        self.number_of[node.get()] = *self.numbers.entry(key).or_insert(next);
    }
}

impl Likeness {
    /// Records that nodes have changed.
    pub(super) fn note(&mut self, nodes: &[NodeIdx]) {
        if self.known.is_some() {
            self.changed.extend(nodes);
        }
    }

    /// Updates the numbers of the changed nodes.
    pub(super) fn refresh(&mut self, cluster: &Cluster, board: &Board) {
        // Starts again from time to time, to drop figures that no node has any more.
        let is_full = |known: &Known| known.numbers.len() > 4 * known.number_of.len();
        match &mut self.known {
            Some(known) if !is_full(known) => {
                self.changed.iter().for_each(|node| known.look_at(cluster, *node));
            }
            known => *known = Some(Known::of(cluster, board)),
        }
        self.changed.clear();
    }
}

/// An instance's shape and the figures of its nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct MoveStart {
    shape: u32,
    location_score: i64,
    primary: u32,
    /// The secondary node, and its reserve after the instance has left.
    mirror: Option<(u32, NodeReserve)>,
}

/// Key for moves that keep the primary node. They do not depend on which node that is, and the secondary counts
/// only by the effect of losing the instance.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct SecondaryMoveStart {
    shape: u32,
    offline: bool,
    /// The secondary node without the instance.
    left: Pattern,
}

/// Numbers that identify instances whose moves are alike.
#[derive(Debug, Clone, Copy)]
pub(super) struct Starts {
    /// Number of the instance's [`MoveStart`].
    all: u32,
    /// Number of its [`SecondaryMoveStart`], for [`Move::ReplaceSecondary`].
    staying: Option<u32>,
    shape: u32,
    mirror_offline: bool,
}

/// Everything that determines the state of a new secondary node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct SecondaryEntry {
    shape: u32,
    forced: bool,
    target: u32,
    peer: Mib,
}

/// Key of a move: alike moves have equal keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct MoveKey {
    start: u32,
    kind: u8,
    target: Option<u32>,
    /// Memory that the new secondary already reserves for the new primary.
    peer: Mib,
}

/// Result shared by alike moves that are possible.
#[derive(Clone, Copy)]
pub(super) struct SharedVerdict {
    /// Interval that contains the score.
    pub interval: Interval,
    /// Number of the pattern, which is shared by all moves with the same effect on the score.
    pub pattern: u32,
    /// Position of each of the move's nodes in the pattern.
    pub places: PatternPlaces,
}

/// Verdicts on the moves in one state of a cluster.
pub(super) struct Verdicts<'a> {
    cluster: &'a Cluster,
    board: &'a Board,
    shapes: &'a Shapes,
    known: &'a Known,
    table: Mutex<VerdictTable>,
    /// Verdicts remembered by each thread.
    remembered: Vec<Mutex<Remembered>>,
}

#[derive(Default)]
struct VerdictTable {
    starts: HashMap<MoveStart, u32>,
    stays: HashMap<SecondaryMoveStart, u32>,
    /// States of new secondary nodes.
    entered: HashMap<Pattern, u32>,
    verdicts: HashMap<MoveKey, Option<SharedVerdict>>,
    patterns: Vec<Pattern>,
    numbers: HashMap<Pattern, u32>,
}

/// Verdicts remembered by one thread.
#[derive(Default)]
pub(super) struct Remembered {
    verdicts: HashMap<MoveKey, Option<SharedVerdict>>,
    entries: HashMap<SecondaryEntry, Option<u32>>,
    last: Option<(MoveKey, Option<SharedVerdict>)>,
}

impl<'a> Verdicts<'a> {
    /// Returns an empty table, or `None` if nodes with equal figures may differ.
    pub(super) fn new(
        likeness: &'a Likeness,
        cluster: &'a Cluster,
        board: &'a Board,
        shapes: &'a Shapes,
    ) -> Option<Verdicts<'a>> {
        let known = likeness.known.as_ref().filter(|known| !known.restricted)?;
        let remembered = (0..=rayon::current_num_threads()).map(|_| Mutex::default()).collect();
        Some(Verdicts { cluster, board, shapes, known, table: Mutex::default(), remembered })
    }

    /// Takes the verdicts that the present thread remembers; give them back with [`Verdicts::keep`]. Another
    /// search that runs on the thread in between starts without any.
    pub(super) fn remembered(&self) -> Remembered {
        std::mem::take(&mut *self.of_thread())
    }

    /// Keeps the verdicts that the present thread remembers.
    pub(super) fn keep(&self, remembered: Remembered) {
        *self.of_thread() = remembered;
    }

    fn of_thread(&self) -> MutexGuard<'_, Remembered> {
        let others = self.remembered.len() - 1;
        // The last entry is for threads outside the pool.
        let at = rayon::current_thread_index().map_or(others, |at| at.min(others));
        self.remembered[at].lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn table(&self) -> MutexGuard<'_, VerdictTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn patterns(&self, numbers: &[u32]) -> Vec<Pattern> {
        let table = self.table();
        numbers.iter().map(|number| table.patterns[*number as usize].clone()).collect()
    }

    /// Numbers that identify the instances whose moves are alike. Returns `None` if more than figures matters.
    pub(super) fn start(&self, trial: &Trial<'_>) -> Option<Starts> {
        let instance = trial.instance();
        if !instance.exclusion_tags.is_empty() || !instance.keys.is_empty() {
            return None;
        }
        let number = |node: NodeIdx| self.known.number_of[node.get()];
        let shape = self.shapes.get(instance.idx);
        let mirror = instance.mirror().zip(trial.mirror_left());
        let start = MoveStart {
            shape,
            location_score: instance.location_score,
            primary: number(instance.primary),
            mirror: mirror.map(|(node, left)| (number(node), left.reserve())),
        };
        let stays = !self.known.located && trial.is_back_as_before();
        let stay = mirror.filter(|_| stays).map(|(node, left)| {
            let node = self.cluster.node(node);
            let touched = [Touched { spec: &node.spec, before: &node.state.ledger, after: *left }];
            let (left, _) = self.board.pattern(&ChangedState { touched: &touched, spread_change: 0 });
            SecondaryMoveStart { shape, offline: node.spec.offline, left }
        });
        let mut table = self.table();
        let VerdictTable { starts, stays, .. } = &mut *table;
        let next = starts.len() as u32;
        let all = *starts.entry(start).or_insert(next);
        let next = stays.len() as u32;
        let mirror_offline = stay.as_ref().is_some_and(|stay| stay.offline);
        let staying = stay.map(|stay| *stays.entry(stay).or_insert(next));
        Some(Starts { all, staying, shape, mirror_offline })
    }

    /// The key of a move; `None` if it is known to be impossible.
    fn key(
        &self,
        trial: &Trial<'_>,
        starts: Starts,
        mv: Move,
        entries: &mut HashMap<SecondaryEntry, Option<u32>>,
    ) -> Option<MoveKey> {
        let instance = trial.instance();
        let p = instance.primary;
        let s = instance.mirror().unwrap_or(p);
        let peer = |at: NodeIdx, other: NodeIdx| self.cluster.node(at).state.peers.get(other);
        let number = |node: NodeIdx| self.known.number_of[node.get()];
        if let (Move::ReplaceSecondary(t), Some(start)) = (mv, starts.staying) {
            let Starts { shape, mirror_offline: forced, .. } = starts;
            let entry = SecondaryEntry { shape, forced, target: number(t), peer: peer(t, p) };
            let entered = *entries.entry(entry).or_insert_with(|| self.entered(trial, t));
            return entered.map(|entered| MoveKey { start, kind: 6, target: Some(entered), peer: Mib::ZERO });
        }
        let (kind, peer) = match mv {
            Move::Failover => (0, peer(p, s)),
            Move::FailoverTo(_) => (1, Mib::ZERO),
            Move::ReplaceSecondary(t) => (2, peer(t, p)),
            Move::ReplaceAndFailover(t) => (3, peer(p, t)),
            Move::ReplacePrimary(t) => (4, peer(s, t)),
            Move::FailoverAndReplace(t) => (5, peer(t, s)),
            Move::ReplaceBoth(..) | Move::FailoverAndReplaceBoth(..) => unreachable!("in no repertoire"),
        };
        Some(MoveKey { start: starts.all, kind, target: mv.target().map(number), peer })
    }

    /// Number of the state of a new secondary node; `None` if it refuses the instance.
    fn entered(&self, trial: &Trial<'_>, target: NodeIdx) -> Option<u32> {
        let touched = [trial.new_secondary(target)?];
        let (entered, _) = self.board.pattern(&ChangedState { touched: &touched, spread_change: 0 });
        let mut table = self.table();
        let next = table.entered.len() as u32;
        Some(*table.entered.entry(entered).or_insert(next))
    }

    /// The verdict on a move; computes it unless an alike move was seen before. Returns `None` if the rules
    /// forbid the move.
    pub(super) fn verdict(
        &self,
        trial: &Trial<'_>,
        start: Starts,
        mv: Move,
        remembered: &mut Remembered,
        work_out: impl FnOnce() -> Option<(Interval, (Pattern, PatternPlaces))>,
    ) -> Option<SharedVerdict> {
        let key = self.key(trial, start, mv, &mut remembered.entries)?;
        if let Some((last, verdict)) = remembered.last
            && last == key
        {
            return verdict;
        }
        let verdict = *remembered.verdicts.entry(key).or_insert_with(|| {
            if let Some(verdict) = self.table().verdicts.get(&key) {
                return *verdict;
            }
            // Two threads may compute the same verdict, which is harmless.
            let worked_out = work_out();
            let mut table = self.table();
            let VerdictTable { verdicts, patterns, numbers, .. } = &mut *table;
            let verdict = worked_out.map(|(interval, (pattern, places))| {
                let number = *numbers.entry(pattern).or_insert_with_key(|pattern| {
                    patterns.push(pattern.clone());
                    patterns.len() as u32 - 1
                });
                SharedVerdict { interval, pattern: number, places }
            });
            *verdicts.entry(key).or_insert(verdict)
        });
        remembered.last = Some((key, verdict));
        verdict
    }
}
