//! The bounds of one instance's moves, put together from their parts.

use super::Scratch;
use super::lanes::reset;
use crate::model::NodeIdx;
use crate::search::moves::{Move, Repertoire};

/// Positions of the moves to a new node in [`Scratch::reserve`](super::Scratch::reserve) and
/// [`Bounds::floor`].
pub(super) const REPLACE_SECONDARY: usize = 0;
pub(super) const REPLACE_AND_FAILOVER: usize = 1;
pub(super) const REPLACE_PRIMARY: usize = 2;
pub(super) const FAILOVER_AND_REPLACE: usize = 3;

/// Lower bounds for all moves of one instance.
pub struct Bounds<'s> {
    pub(super) scratch: &'s Scratch,
    /// Primary lanes as they are, and with the roles swapped.
    pub(super) primary_now: f64,
    pub(super) primary_swapped: f64,
    /// Bound of the failover.
    pub(super) failover: f64,
    /// The part of each kind of move that does not depend on the new node.
    pub(super) floor: [f64; 4],
    /// The same for the failover of an externally mirrored instance.
    pub(super) floor_to: f64,
    pub(super) factor: f64,
}

impl Bounds<'_> {
    /// Writes the lowest bound of all moves to each row into `lowest`.
    pub fn lowest(&self, repertoire: &Repertoire, lowest: &mut Vec<f64>) {
        let rows = self.scratch.primary_to.len();
        reset(lowest, rows, f64::INFINITY);
        for mv in repertoire.to_target {
            let Terms { constant, columns, floor } = self.terms(mv(NodeIdx::new(0)));
            let keep = |sum: f64, lowest: &mut f64| {
                let bound = (constant + sum) * self.factor + floor;
                *lowest = if bound < *lowest { bound } else { *lowest };
            };
            match columns {
                [Some(a), Some(b), Some(c)] => {
                    for (((lowest, a), b), c) in lowest.iter_mut().zip(a).zip(b).zip(c) {
                        keep(a + b + c, lowest);
                    }
                }
                [Some(a), Some(b), None] | [None, Some(a), Some(b)] => {
                    for ((lowest, a), b) in lowest.iter_mut().zip(a).zip(b) {
                        keep(a + b, lowest);
                    }
                }
                _ => lowest.fill(f64::NEG_INFINITY),
            }
        }
    }

    /// The bound for a move; `row` is the row of its new node.
    pub fn of(&self, mv: Move, row: usize) -> f64 {
        if mv == Move::Failover {
            return self.failover;
        }
        let terms = self.terms(mv);
        let sum: f64 = terms.columns.iter().flatten().map(|column| column[row]).sum();
        (terms.constant + sum) * self.factor + terms.floor
    }

    /// What the bound of a kind of move consists of.
    fn terms(&self, kind: Move) -> Terms<'_> {
        let s = self.scratch;
        let mirrored = |constant, primary, member, at| self.mirrored_terms(constant, primary, member, at);
        match kind {
            Move::Failover | Move::FailoverTo(_) => Terms {
                constant: 0.0,
                columns: [Some(&s.primary_to), Some(&s.member_for_primary), None],
                floor: self.floor_to,
            },
            Move::ReplaceSecondary(_) => {
                mirrored(self.primary_now, None, &s.member_for_mirror, REPLACE_SECONDARY)
            }
            Move::ReplaceAndFailover(_) => {
                mirrored(0.0, Some(&s.primary_to), &s.member_for_mirror, REPLACE_AND_FAILOVER)
            }
            Move::ReplacePrimary(_) => {
                mirrored(0.0, Some(&s.primary_to), &s.member_for_primary, REPLACE_PRIMARY)
            }
            Move::FailoverAndReplace(_) => {
                mirrored(self.primary_swapped, None, &s.member_for_primary, FAILOVER_AND_REPLACE)
            }
        }
    }
}

impl<'s> Bounds<'s> {
    fn mirrored_terms(
        &self,
        constant: f64,
        primary: Option<&'s Vec<f64>>,
        member: &'s Vec<f64>,
        at: usize,
    ) -> Terms<'s> {
        let columns = [primary, Some(member), Some(&self.scratch.reserve[at])];
        Terms { constant, columns, floor: self.floor[at] }
    }
}

/// A bound as a sum of a constant and of one value of each column.
struct Terms<'s> {
    constant: f64,
    columns: [Option<&'s Vec<f64>>; 3],
    floor: f64,
}
