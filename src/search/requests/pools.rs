//! Which groups share storage: cluster administrators say so with tags of groups.

use crate::model::storage::POOL;
use crate::model::{Cluster, DiskTemplate, GroupIdx};

/// Whether an instance can take its disks from one group to another. DRBD copies them,
/// and without disks there is nothing to take. Storage outside the nodes must be within
/// reach of both groups: that is taken to be so unless both name their pools and have
/// none in common.
pub(super) fn shared(cluster: &Cluster, from: GroupIdx, to: GroupIdx, template: DiskTemplate) -> bool {
    if !template.uses_external_storage() {
        return true;
    }
    let (here, there) = (pools(cluster, from), pools(cluster, to));
    here.is_empty() || there.is_empty() || here.iter().any(|pool| there.contains(pool))
}

fn pools(cluster: &Cluster, group: GroupIdx) -> Vec<&str> {
    cluster.group(group).tags.iter().filter_map(|tag| tag.strip_prefix(POOL)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::merge::{MergeOptions, merge};
    use crate::load::text;

    fn reachable(here: &str, there: &str, template: DiskTemplate) -> bool {
        let content = format!("a|u1|preferred|{here}|\nb|u2|preferred|{there}|\n\n\n\n\n");
        let cluster = merge(text::parse(&content, "test").unwrap(), &MergeOptions::default()).unwrap();
        shared(&cluster, GroupIdx::new(0), GroupIdx::new(1), template)
    }

    #[test]
    fn named_pools_must_meet() {
        let (a, b, both) = ("htools:pool:a", "x,htools:pool:b", "htools:pool:b,htools:pool:a");
        assert!(reachable("", "", DiskTemplate::Ext) && reachable(a, "x", DiskTemplate::Rbd));
        assert!(reachable(a, both, DiskTemplate::Ext) && reachable(both, b, DiskTemplate::Gluster));
        assert!(!reachable(a, b, DiskTemplate::Ext));
        assert!(reachable(a, b, DiskTemplate::Drbd) && reachable(a, b, DiskTemplate::Diskless));
    }
}
