//! Orders in which some of several resources are enough.

use super::index::ResourceIdx;
use super::working_set::{OrderStrength, WorkingSet};

/// That resources are started after some of several others are, whichever. A group among these counts as started in any case, an
/// oddity of Pacemaker's; a clone if one of its instances is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChoiceOrder {
    /// The constraint.
    pub id: String,
    /// Pacemaker's name for the point at which enough of them are started: `one-or-more:` and the set.
    pub mark: String,
    /// Started first.
    pub firsts: Vec<ResourceIdx>,
    /// How many of these are enough, at least one.
    pub enough: usize,
    /// Started then; also stopped if not enough of the others run, however binding the order is.
    pub thens: Vec<ResourceIdx>,
    /// How binding it is for stops.
    pub strength: OrderStrength,
    /// Of which two the second is stopped before the first is.
    pub stops: Vec<(ResourceIdx, ResourceIdx)>,
}

impl ChoiceOrder {
    /// Whether one of [`firsts`](Self::firsts) counts where these primitives run.
    pub(super) fn counts(set: &WorkingSet, first: ResourceIdx, runs: impl Fn(ResourceIdx) -> bool) -> bool {
        set.resource(first).is_group() || set.primitives(&first).iter().any(|part| runs(*part))
    }
}
