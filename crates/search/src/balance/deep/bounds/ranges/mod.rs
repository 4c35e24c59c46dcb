//! Lower bound of the score of clusters of equal nodes with mirrored instances, by ranges of the deviations.
//!
//! If a deviation is known to be in a range, the chord of the square root is below it, and the chord is a sum over the
//! nodes. So is the cost of the reserves, if their mean is in a range. What the nodes' disks, spindles and virtual CPUs
//! allow is part of the bound. Ranges are split where the chords are worst ([`boxes`]), [`cone`] finds prices for
//! each choice of ranges, and [`prices`] proves the bound by them. docs/bounds.md has the proof.

mod boxes;
mod cone;
mod figures;
mod nodes;
mod prices;
mod problem;

pub(super) use boxes::least;
pub(super) use cone::propose;
pub(super) use figures::{LIMITS, Range, average, roles};
pub(super) use nodes::{RoomyNode, roomy_nodes};
pub(super) use prices::{RangeBox, RangePrices, add_chord, costs_by_level};
pub(super) use problem::{RangeCosts, RangeProblem, items};

#[cfg(test)]
mod tests;
