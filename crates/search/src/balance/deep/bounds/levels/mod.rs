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

pub(super) use boxes::least;
pub(super) use cone::{bundled, bundles};
pub(super) use problem::{ItemKind, LevelProblem, levels};

#[cfg(test)]
mod tests;
