//! Moves that are alike: what they make of their nodes is the same but for where these
//! stand, so that rules and bounds need to be worked out for one of them only.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use super::allocate::kinds::{Fixed, bits};
use super::moves::{Move, Trial};
use super::shape::Shapes;
use crate::model::{Cluster, Mib, NodeIdx};
use crate::score::Board;
use crate::score::running::Interval;

/// Which nodes are alike: a number for each, the same for those with equal figures.
#[derive(Default)]
pub(super) struct Likeness {
    known: Option<Known>,
    /// Nodes that changed since they were looked at.
    changed: Vec<NodeIdx>,
}

struct Known {
    fixed: Vec<u32>,
    numbers: HashMap<(u32, [u64; 20]), u32>,
    of: Vec<u32>,
}

impl Known {
    fn of(cluster: &Cluster, board: &Board) -> Known {
        let mut numbers = HashMap::new();
        let fixed = cluster.nodes.iter().map(|node| {
            let next = numbers.len() as u32;
            *numbers.entry(Fixed::of(&node.spec, board.contains(node.spec.idx), false)).or_insert(next)
        });
        let fixed: Vec<u32> = fixed.collect();
        let of = vec![0; fixed.len()];
        let mut known = Known { fixed, numbers: HashMap::new(), of };
        cluster.nodes.iter().for_each(|node| known.look_at(cluster, node.spec.idx));
        known
    }

    fn look_at(&mut self, cluster: &Cluster, node: NodeIdx) {
        let next = self.numbers.len() as u32;
        let key = (self.fixed[node.get()], bits(&cluster.node(node).state.ledger));
        self.of[node.get()] = *self.numbers.entry(key).or_insert(next);
    }
}

impl Likeness {
    /// Notes that nodes have changed.
    pub fn note(&mut self, nodes: &[NodeIdx]) {
        if self.known.is_some() {
            self.changed.extend(nodes);
        }
    }

    /// Looks anew at what has changed.
    pub fn refresh(&mut self, cluster: &Cluster, board: &Board) {
        // figures that no node has any more are not kept for ever
        let is_full = |known: &Known| known.numbers.len() > 4 * known.of.len();
        match &mut self.known {
            Some(known) if !is_full(known) => {
                self.changed.iter().for_each(|node| known.look_at(cluster, *node));
            }
            known => *known = Some(Known::of(cluster, board)),
        }
        self.changed.clear();
    }
}

/// An instance's shape and its nodes' figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Start {
    shape: u32,
    location_score: i64,
    primary: u32,
    /// The secondary node, and what it reserves when the instance has left.
    mirror: Option<(u32, Mib)>,
}

/// Everything about a move but where its nodes stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    start: u32,
    kind: u8,
    target: Option<u32>,
    /// What the new secondary node already reserves for the new primary node.
    peer: Mib,
}

/// What is known about all moves that are alike.
#[derive(Clone, Copy)]
pub(super) struct Verdict {
    /// Bounds on the score; nothing if the rules forbid it.
    pub interval: Option<Interval>,
    /// A number for each set of moves that are alike.
    pub draft: u32,
}

/// The verdicts on the moves of one state of a cluster.
pub(super) struct Verdicts<'a> {
    cluster: &'a Cluster,
    shapes: &'a Shapes,
    nodes: &'a [u32],
    table: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    starts: HashMap<Start, u32>,
    verdicts: HashMap<Key, Verdict>,
}

/// What a thread remembers of the verdicts.
#[derive(Default)]
pub(super) struct Remembered {
    verdicts: HashMap<Key, Verdict>,
    last: Option<(Key, Verdict)>,
}

impl<'a> Verdicts<'a> {
    /// No verdicts yet. Nothing where nodes that look alike need not be: where
    /// migration tags restrict.
    pub fn new(likeness: &'a Likeness, cluster: &'a Cluster, shapes: &'a Shapes) -> Option<Verdicts<'a>> {
        let known = likeness.known.as_ref()?;
        let restricted = cluster.nodes.iter().any(|node| !node.spec.migration_tags.is_empty());
        (!restricted).then(|| Verdicts { cluster, shapes, nodes: &known.of, table: Mutex::default() })
    }

    /// The number of what all moves of an instance have in common; nothing where more
    /// than figures counts.
    pub fn start(&self, trial: &Trial<'_>) -> Option<u32> {
        let instance = trial.instance();
        if !instance.exclusion_tags.is_empty() {
            return None;
        }
        let of = |node: NodeIdx| self.nodes[node.get()];
        let mirror = instance.mirror();
        let start = Start {
            shape: self.shapes.get(instance.idx),
            location_score: instance.location_score,
            primary: of(instance.primary),
            mirror: mirror.zip(trial.mirror_left()).map(|(node, left)| (of(node), left.mem_reserved)),
        };
        let mut table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        let next = table.starts.len() as u32;
        Some(*table.starts.entry(start).or_insert(next))
    }

    fn key(&self, trial: &Trial<'_>, start: u32, mv: Move) -> Key {
        let instance = trial.instance();
        let p = instance.primary;
        let s = instance.mirror().unwrap_or(p);
        let peer = |at: NodeIdx, of: NodeIdx| self.cluster.node(at).state.peers.get(of);
        let (kind, peer) = match mv {
            Move::Failover => (0, peer(p, s)),
            Move::FailoverTo(_) => (1, Mib::ZERO),
            Move::ReplaceSecondary(t) => (2, peer(t, p)),
            Move::ReplaceAndFailover(t) => (3, peer(p, t)),
            Move::ReplacePrimary(t) => (4, peer(s, t)),
            Move::FailoverAndReplace(t) => (5, peer(t, s)),
        };
        Key { start, kind, target: mv.target().map(|t| self.nodes[t.get()]), peer }
    }

    /// The verdict on a move, which is worked out if no move that is alike was seen.
    pub fn verdict(
        &self,
        trial: &Trial<'_>,
        (start, mv): (u32, Move),
        remembered: &mut Remembered,
        work_out: impl FnOnce() -> Option<Interval>,
    ) -> Verdict {
        let key = self.key(trial, start, mv);
        if let Some((last, verdict)) = remembered.last
            && last == key
        {
            return verdict;
        }
        let verdict = *remembered.verdicts.entry(key).or_insert_with(|| {
            let mut table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
            let draft = table.verdicts.len() as u32;
            *table.verdicts.entry(key).or_insert_with(|| Verdict { interval: work_out(), draft })
        });
        remembered.last = Some((key, verdict));
        verdict
    }
}
