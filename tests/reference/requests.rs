//! Clusters that a request to an allocator can describe.

use htools::generate::random::Random;
use htools::model::{InstancePolicy, Mib, RunStatus};

use super::clusters::OddCluster;
use super::memory;
use super::oddities::Purpose;
pub use super::request::{Idle, description, idle, message, policy};

/// Removes everything that an allocator request cannot express.
pub fn limit_to_request(odd: &mut OddCluster, random: &mut Random) {
    odd.unknown.clear();
    odd.features.remove("unknown nodes");
    odd.features.insert("allocator request");
    odd.raw.policy = InstancePolicy::default();
    for (i, node) in odd.raw.nodes.iter_mut().enumerate() {
        (node.mem_total, node.disk_total) = (node.mem_total.trunc(), node.disk_total.trunc());
        node.cpu_speed = 1.0;
        node.master = false;
        if idle(i, node).is_some_and(|idle| idle != Idle::Drained) {
            (node.mem_total, node.disk_total, node.cpu_total) = (0.0, 0.0, 0.0);
            (node.mem_node, node.mem_free, node.disk_free) = (Mib(0), Mib(0), Mib(0));
            (node.cpu_node, node.spindle_free) = (0, 0);
        }
    }
    for instance in &mut odd.raw.instances {
        instance.auto_balance = true;
        if !matches!(instance.status, RunStatus::AdminDown | RunStatus::AdminOffline) {
            instance.status = RunStatus::Running;
        }
        // Each disk must be as large as policies require, unless only the sum counts. A cluster
        // that the reference gets as text has one disk per instance.
        let part = if odd.purpose == Purpose::Allocate { 1024 } else { 7 };
        let whole = odd.purpose == Purpose::Fill;
        if instance.disk.0 > 2 * part && random.chance(0.3) && instance.disks[0].spindles.is_none() && !whole
        {
            let mut parts = [instance.disks[0]; 2];
            parts[0].size.0 = part;
            parts[1].size.0 -= part;
            instance.disks = parts.to_vec();
        }
    }
    // More memory is reserved now, and used.
    if odd.purpose == Purpose::Allocate {
        memory::settle_flags(odd, random);
    }
}
