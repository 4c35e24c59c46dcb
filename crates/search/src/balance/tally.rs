//! Amount of work that a search took.

/// Moves counted during a search, over all its steps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// All moves of all instances, at every step. Each of them is either skipped or evaluated.
    pub considered: u64,
    /// Moves that were skipped because a bound excluded them.
    pub skipped: u64,
    /// Moves for which the placement rules were checked.
    pub evaluated: u64,
    /// Moves whose exact score was computed.
    pub scored: u64,
}
