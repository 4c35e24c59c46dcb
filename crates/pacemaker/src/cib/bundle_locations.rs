//! Locations and health of bundles that are not followed.

use super::super::index::{HostIdx, ResourceIdx};
use super::super::score::AllocationScore;
use super::super::working_set::Unsupported;
use super::Reader;

const IN_CONTAINER: &str = "a location that lets a bundle run in containers";
const BY_HEALTH: &str = "a health score of nodes in containers, which lets it run there";

impl Reader<'_, '_> {
    /// Reports locations and health that let containers run on nodes in containers. Pacemaker places them there, and
    /// then cannot put their actions in order.
    pub(super) fn name_locations_of_bundles(&mut self) {
        let set = &self.set;
        let is_inside = |resource: ResourceIdx, host: HostIdx, score: AllocationScore| {
            score >= AllocationScore::ZERO && set.host(host).replica && set.bundle(resource).is_some()
        };
        let by_location = set.locations.iter().filter(|one| is_inside(one.resource, one.host, one.score));
        let mut unsupported: Vec<Unsupported> =
            by_location.map(|one| Unsupported::new("rsc_location", &one.id, IN_CONTAINER)).collect();
        let by_health =
            set.health_scores().filter(|(resource, host, score)| is_inside(*resource, *host, *score));
        let mut bundles: Vec<ResourceIdx> = by_health.map(|(bundle, ..)| bundle).collect();
        bundles.dedup();
        let named =
            bundles.into_iter().map(|bundle| Unsupported::new("bundle", &set.resource(bundle).id, BY_HEALTH));
        unsupported.extend(named);
        self.set.unsupported.append(&mut unsupported);
    }
}
