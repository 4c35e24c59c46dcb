//! All that is known of why the resources of a cluster are where they are, and of what becomes of them.

use super::additions::{AdditionLog, additions};
use super::index::ResourceIdx;
use super::place::PlacingError;
use super::placing::AllPlaced;
use super::transition::ResourceChanges;
use super::why::{PlaceReasons, why};
use super::working_set::{Strategy, WorkingSet};

/// Why the resources of a cluster are where they are.
#[derive(Debug, Clone)]
pub struct Grounds<'a> {
    /// The cluster.
    pub set: &'a WorkingSet,
    strategy: Strategy,
    placed: &'a AllPlaced,
    /// What becomes of the resources.
    pub changes: &'a ResourceChanges,
    /// What their scores are made of.
    pub log: AdditionLog,
}

impl<'a> Grounds<'a> {
    /// Finds them out for resources that were placed by a strategy. They are placed once more for it.
    ///
    /// # Errors
    /// Those of placing them.
    pub fn of(
        set: &'a WorkingSet,
        strategy: Strategy,
        placed: &'a AllPlaced,
        changes: &'a ResourceChanges,
    ) -> Result<Grounds<'a>, PlacingError> {
        let log = additions(set, strategy, placed)?;
        Ok(Grounds { set, strategy, placed, changes, log })
    }

    /// Why a primitive is where it is; nothing for what is made of primitives.
    pub fn why(&self, resource: ResourceIdx) -> Option<PlaceReasons> {
        why(self.set, self.strategy, self.placed, resource)
    }
}
