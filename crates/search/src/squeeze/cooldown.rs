//! Nodes that were switched a short while ago; a tag has the time.

use std::time::Duration;

use htools_model::known_tags::SWITCHED;
use htools_model::standby::switched_tags;
use htools_model::{Cluster, NodeIdx};

/// The nodes that were switched within `cooldown` of `now`. Clocks of machines may differ, so times in the
/// future count, too.
pub fn switched_lately(cluster: &Cluster, now: u64, cooldown: Duration) -> Vec<NodeIdx> {
    let lately = |node: &NodeIdx| {
        switched_tags(cluster, *node)
            .filter_map(|tag| tag[SWITCHED.len()..].parse::<u64>().ok())
            .any(|time| time.abs_diff(now) < cooldown.as_secs())
    };
    cluster.all_nodes().into_iter().filter(lately).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use htools_testkit::cluster;

    #[test]
    fn tags_tell_when() {
        let nodes = [
            "n0|9000|0|8000|90000|90000|9|N|u|1",
            "n1|9000|0|8000|90000|90000|9|N|u|1|htools:switched:1000",
            "n2|9000|0|8000|90000|90000|9|Y|u|1|htools:switched:10,htools:switched:1500",
            "n3|9000|0|8000|90000|90000|9|N|u|1|htools:switched:99999999",
            "n4|9000|0|8000|90000|90000|9|N|u|1|htools:switched:-1,htools:switched:,htools:switched:x",
        ];
        let cluster = cluster(&nodes, &[], &[]);
        let lately = |now, cooldown| -> Vec<usize> {
            let nodes = switched_lately(&cluster, now, Duration::from_secs(cooldown));
            nodes.into_iter().map(NodeIdx::get).collect()
        };
        assert_eq!(lately(1600, 0), [0; 0]);
        assert_eq!(lately(1600, 100), [0; 0]);
        assert_eq!(lately(1600, 101), [2]);
        assert_eq!(lately(1600, 601), [1, 2]);
        assert_eq!(lately(950, 100), [1]);
    }
}
