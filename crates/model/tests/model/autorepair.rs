//! Permissions for repairs in the tags of a cluster, its groups and its instances.

use htools_model::InstanceIdx;
use htools_model::autorepair::{RepairKind, RepairPermission, permission};
use htools_model::known_tags::AUTOREPAIR;
use htools_testkit::groups;

fn tag(text: &str) -> String {
    format!("{AUTOREPAIR}{text}")
}

#[test]
fn permissions_by_tags() {
    use RepairKind::{Failover, FixStorage};
    use RepairPermission::{NotEnabled, Suspended, UpTo};
    let said = |group: &[&str], instance: &[&str], cluster: &[&str]| {
        let joined = |tags: &[&str]| tags.iter().map(|text| tag(text)).collect::<Vec<_>>().join(",");
        let row = format!("a|1000|1000|1|running|Y|n1||ext|{}|1", joined(instance));
        let cluster: Vec<String> = cluster.iter().map(|text| tag(text)).collect();
        let cluster: Vec<&str> = cluster.iter().map(String::as_str).collect();
        let group = format!("g|{}|", joined(group));
        let node = "n1|9000|0|8000|9000|9000|9|N|g|1".to_owned();
        permission(&groups(&[&group], &[node], &[row], &cluster), InstanceIdx::new(0), 1000)
    };
    for (group, instance, cluster, permitted) in [
        (&[][..], &[][..], &[][..], NotEnabled),
        (&[], &[], &["failover"], UpTo(Failover)),
        // The tag nearest to the instance counts.
        (&["suspend"], &[], &["failover"], Suspended(None)),
        (&["suspend"], &["failover"], &[], UpTo(Failover)),
        (&["fix-storage"], &[], &["reinstall"], UpTo(FixStorage)),
        (&[], &["reinstall", "fix-storage"], &[], UpTo(FixStorage)),
        // A suspension goes before permissions, and the one that ends last before others.
        (&[], &["suspend:", "failover"], &[], Suspended(None)),
        (&[], &["suspend:1001", "suspend:2000", "failover"], &[], Suspended(Some(2000))),
        (&[], &["suspend:2000", "suspend"], &[], Suspended(None)),
        // Suspensions that are over, and malformed tags, are ignored.
        (&[], &["suspend:1000", "failover"], &[], UpTo(Failover)),
        (&[], &["suspend:abc", "suspend:+9999"], &["failover"], UpTo(Failover)),
        (&[], &["suspend:99999999999999999999"], &["failover"], Suspended(Some(i64::MAX))),
        (&[], &["everything"], &[], NotEnabled),
    ] {
        assert_eq!(said(group, instance, cluster), permitted, "{group:?} {instance:?} {cluster:?}");
    }
}
