//! Remote nodes of the list of nodes that no resource connects to. They are offline for good.

use super::index::{HostIdx, ResourceIdx};
use super::score::AllocationScore;
use super::working_set::WorkingSet;

impl WorkingSet {
    /// Keeps VMs with guest nodes, and connections to them and to nodes in containers, from nodes that nothing connects
    /// to. Pacemaker does not forbid these nodes to other connections and to fence devices.
    pub(super) fn keep_from_strays(&mut self) {
        let strays: Vec<HostIdx> = self.host_indices().filter(|host| self.host(*host).stray).collect();
        if strays.is_empty() {
            return;
        }
        let kept: Vec<ResourceIdx> =
            self.machines().flat_map(|(host, parts)| self.kept_to_members(host, parts)).collect();
        for resource in kept {
            let scores = &mut self.resources[resource.get()].scores;
            strays.iter().for_each(|host| scores.add(*host, AllocationScore::MINUS_INFINITY));
        }
    }
}
