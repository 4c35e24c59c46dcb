//! What becomes of each resource.

use crate::model::kinds::words;
use crate::placement::{AllPlaced, HostIdx, ResourceIdx, WorkingSet};

words!(
    /// What is done to a resource that is placed, as far as its place says it; what orders add is the graph's.
    pub ResourceAction, "action" {
        /// It stays as it is.
        None = "none",
        /// It is started.
        Start = "start",
        /// It is stopped.
        Stop = "stop",
        /// It is stopped and started elsewhere.
        Move = "move",
        /// It is moved while it runs.
        Migrate = "migrate",
    }
);

impl ResourceAction {
    /// What is done to a primitive.
    pub(crate) fn of(set: &WorkingSet, placed: &AllPlaced, resource: ResourceIdx) -> ResourceAction {
        let of = set.resource(resource);
        let clean = |host: HostIdx| !set.host(host).state.unclean;
        match (of.active, placed.host(resource)) {
            (None, None) => ResourceAction::None,
            (None, Some(_)) => ResourceAction::Start,
            (Some(_), None) => ResourceAction::Stop,
            (Some(was), Some(now)) if was == now => ResourceAction::None,
            (Some(was), Some(_)) if of.allow_migrate && clean(was) => ResourceAction::Migrate,
            (Some(_), Some(_)) => ResourceAction::Move,
        }
    }
}

/// The primitives in the order of the document.
pub(super) fn primitives(set: &WorkingSet) -> impl Iterator<Item = ResourceIdx> + '_ {
    set.resource_indices().filter(|resource| !set.resource(*resource).is_group)
}
