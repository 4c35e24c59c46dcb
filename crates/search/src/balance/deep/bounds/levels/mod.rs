//! Lower bound of the score of clusters with mirrored instances, by the levels of their reserves.
//!
//! A node that hosts a secondary keeps at least that much memory free. So few nodes keep much memory, or large
//! secondaries are on few nodes, which then have too much disk and too few primaries. The bound weighs one against
//! the other: the numbers of nodes by level of their reserve ([`boxes`]), and for each choice of numbers what the
//! other deviations are at least ([`cone`] finds prices, [`prices`] proves the bound by them). docs/bounds.md has the
//! proof.

mod boxes;
mod cone;
mod prices;
mod problem;

use super::LaneFloor;
use crate::Deadline;
use crate::balance::deep::terrain::Terrain;
use problem::LevelProblem;

/// Lower bound of the deviations of the lanes in `lanes` and of the reserves together, as a part of the score.
/// With `known`, the same part of the score of a placement, it is tighter, and never above that. Returns `None` if the
/// bound does not apply: without movable mirrored instances, and with nodes of too many sizes.
pub(super) fn together(
    terrain: &Terrain<'_>,
    lanes: Vec<LaneFloor>,
    known: f64,
    deadline: &Deadline,
) -> Option<f64> {
    let problem = LevelProblem::of(terrain, lanes)?;
    Some(boxes::least(&problem, known, deadline))
}

#[cfg(test)]
mod tests;
