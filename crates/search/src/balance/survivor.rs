//! Possible moves that the bounds have left, and the order of all moves.

use htools_model::score::batch::{PatternPlaces, Spot};
use htools_model::{InstanceIdx, Move};

/// The order in which moves are tried: by instance, then failover, then by
/// target and kind.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct MoveOrder {
    pub instance: InstanceIdx,
    pub rank: usize,
}

/// Rank of the `at`th kind of move to the node in `row`.
pub(super) fn rank(row: usize, at: usize) -> usize {
    1 + row * KINDS + at
}

/// Number of ranks reserved for the moves to one node.
pub(super) const KINDS: usize = 8;

/// A possible move whose exact score may be the smallest.
#[derive(Clone, Copy)]
pub(super) struct Survivor {
    pub lo: f64,
    pub instance: InstanceIdx,
    pub rank: u32,
    /// Number of the move's pattern, or [`NO_PATTERN`], and the position of its nodes in the pattern.
    pub pattern: u32,
    pub places: PatternPlaces,
}

/// Marks a survivor whose pattern is unknown.
pub(super) const NO_PATTERN: u32 = u32::MAX;

/// The rows of an instance's primary and, if it has one, secondary node.
#[derive(Clone, Copy)]
pub(super) struct OwnRows {
    pub primary: u32,
    pub mirror: Option<u32>,
}

impl Survivor {
    /// The rows of the nodes that the move changes, in the order of its pattern.
    pub(super) fn rows(&self, OwnRows { primary, mirror }: OwnRows) -> [u32; Move::MOST_NODES] {
        let target = self.rank.checked_sub(1).map_or(Spot::NO_ROW, |at| at / KINDS as u32);
        let touched = match mirror {
            Some(mirror) => [primary, mirror, target],
            None => [primary, target, Spot::NO_ROW],
        };
        self.places.map(|place| touched.get(usize::from(place)).copied().unwrap_or(Spot::NO_ROW))
    }

    pub(super) fn order(&self) -> MoveOrder {
        MoveOrder { instance: self.instance, rank: self.rank as usize }
    }
}
