//! Locations of bundles that are not followed.

use super::super::score::AllocationScore;
use super::super::working_set::{LocationScore, Unsupported};
use super::Reader;

const IN_CONTAINER: &str = "a location that lets a bundle run in containers";

impl Reader<'_, '_> {
    /// Reports locations that let containers run on nodes in containers. Pacemaker places them there, and then cannot put
    /// their actions in order.
    pub(super) fn name_locations_of_bundles(&mut self) {
        let set = &self.set;
        let is_inside = |location: &&LocationScore| {
            location.score >= AllocationScore::ZERO
                && set.host(location.host).replica
                && set.bundle(location.resource).is_some()
        };
        let inside = set.locations.iter().filter(is_inside);
        let mut unsupported: Vec<Unsupported> =
            inside.map(|location| Unsupported::new("rsc_location", &location.id, IN_CONTAINER)).collect();
        self.set.unsupported.append(&mut unsupported);
    }
}
