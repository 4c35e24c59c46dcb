//! Storage pools, and the nodes and groups that reach them.

use htools_model::known_tags::DENY;
use htools_model::{
    Cluster, DiskTemplate, Group, GroupIdx, Instance, InstanceIdx, Mib, NodeIdx, Partition, PoolIdx,
    StorageMap, Strictness, TagArrival,
};
use htools_testkit::groups;

fn names(map: &StorageMap, pools: &[PoolIdx]) -> Vec<String> {
    pools.iter().map(|pool| map.pool(*pool).to_string()).collect()
}

fn group_names(cluster: &Cluster, groups: &[GroupIdx]) -> String {
    groups.iter().map(|g| cluster.group(*g).name.as_str()).collect::<Vec<_>>().join(",")
}

/// A node of a group, with tags.
fn node(name: &str, group: &str, tags: &str) -> String {
    format!("{name}|9000|0|9000|90000|90000|9|N|{group}|1|{tags}")
}

/// An instance on a node, with tags.
fn instance(name: &str, node: &str, template: &str, tags: &str) -> String {
    let (primary, secondary) = node.split_once(':').unwrap_or((node, ""));
    format!("{name}|1000|1000|1|running|Y|{primary}|{secondary}|{template}|{tags}|1")
}

fn reached(map: &StorageMap, group: usize) -> Vec<String> {
    names(map, map.of_group(GroupIdx::new(group)))
}

#[test]
fn templates_make_pools_where_there_are_no_tags() {
    let nodes = [node("n1", "a", ""), node("n2", "a", ""), node("n3", "b", "")];
    let instances = [
        instance("d", "n1:n2", "drbd", ""),
        instance("p", "n1", "plain", ""),
        instance("f", "n1", "file", ""),
        instance("r", "n1", "rbd", ""),
        instance("o", "n1", "diskless", ""),
    ];
    let cluster = groups(&["a||drbd,plain,rbd", "b||drbd,ext,rbd"], &nodes, &instances, &[]);
    let map = StorageMap::of(&cluster);
    let of = |at: usize| names(&map, map.of_instance(InstanceIdx::new(at)));
    let wanted =
        [vec!["internal/lvm"], vec!["internal/lvm"], vec!["internal/file"], vec!["external/rbd"], vec![]];
    assert_eq!((0..5).map(of).collect::<Vec<_>>(), wanted);
    // The policy does not list file, but an instance uses it.
    assert_eq!(reached(&map, 0), ["internal/lvm", "internal/file", "external/rbd"].sorted());
    assert_eq!(reached(&map, 1), ["internal/lvm", "external/ext", "external/rbd"].sorted());
    let common = map.common(GroupIdx::new(0), GroupIdx::new(1)).unwrap();
    assert_eq!(map.pool(common).to_string(), "internal/lvm");
}

#[test]
fn partitions_are_the_groups_of_a_pool() {
    let nodes = [node("n1", "a", ""), node("n2", "b", ""), node("n3", "c", "")];
    let tags = ["htools:pool:x", "htools:pool:x,other,htools:pool:y", "htools:pool:y"];
    let rows: Vec<String> =
        ["a", "b", "c"].iter().zip(tags).map(|(name, tags)| format!("{name}|{tags}|rbd")).collect();
    let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
    let instances = [instance("i", "n2", "rbd", ""), instance("j", "n2", "rbd", "htools:pool:y")];
    let cluster = groups(&rows, &nodes, &instances, &[]);
    let map = StorageMap::of(&cluster);
    let shown: Vec<(String, String, usize)> = map
        .partitions()
        .iter()
        .map(|p| (map.pool(p.pool).to_string(), group_names(&cluster, &p.groups), p.instances))
        .collect();
    let wanted = [("external/x", "a,b", 1), ("external/y", "b,c", 2)];
    assert_eq!(shown, wanted.map(|(pool, groups, n)| (pool.to_owned(), groups.to_owned(), n)));
    // i may use both pools, and no other group has both; j is tagged with y.
    let (i, j) = (InstanceIdx::new(0), InstanceIdx::new(1));
    let (a, c) = (GroupIdx::new(0), GroupIdx::new(2));
    assert!(map.missing(a, i).is_some() && map.missing(c, i).is_some());
    assert!(map.missing(a, j).is_some() && map.missing(c, j).is_none());
}

#[test]
fn a_group_with_tags_does_not_reach_what_others_share_without() {
    let nodes = [node("n1", "a", ""), node("n2", "b", "")];
    let instances = [instance("i", "n2", "rbd", "")];
    let cluster = groups(&["a|htools:pool:x|rbd", "b||rbd"], &nodes, &instances, &[]);
    let map = StorageMap::of(&cluster);
    assert_eq!(
        (reached(&map, 0), reached(&map, 1)),
        (vec!["external/x".into()], vec!["external/rbd".into()])
    );
    assert_eq!(map.common(GroupIdx::new(0), GroupIdx::new(1)), None);
    // A tag overrides it.
    let cluster = groups(&["a|htools:pool:x,htools:pool:rbd|rbd", "b||rbd"], &nodes, &instances, &[]);
    let map = StorageMap::of(&cluster);
    assert!(map.missing(GroupIdx::new(0), InstanceIdx::new(0)).is_none());
}

#[test]
fn what_is_concluded_must_be_concluded_again() {
    let nodes = [node("n1", "a", ""), node("n2", "b", ""), node("n3", "c", "")];
    // The instance j shows that b reaches x.
    let instances = [instance("i", "n1", "rbd", ""), instance("j", "n2", "rbd", "htools:pool:x")];
    let rows = ["a|htools:pool:x|rbd", "b||rbd", "c|htools:pool:y,htools:pool:x|rbd"];
    let cluster = groups(&rows, &nodes, &instances, &[]);
    let map = StorageMap::of(&cluster);
    let reached = |at: usize| [0, 1, 2].map(|n| map.reaches(NodeIdx::new(n), InstanceIdx::new(at)));
    // On n2 it would be taken to be in external/rbd.
    assert_eq!((reached(0), reached(1)), ([true, false, true], [true, true, true]));
}

#[test]
fn tags_of_nodes_count_for_these_nodes_only() {
    let nodes = [node("n1", "a", "htools:pool:x"), node("n2", "a", ""), node("n3", "b", "")];
    let instances = [instance("i", "n1", "ext", ""), instance("j", "n2", "ext", "")];
    let cluster = groups(&["a||ext", "b||ext"], &nodes, &instances, &[]);
    let map = StorageMap::of(&cluster);
    let reaches = |node: usize, at: usize| map.reaches(NodeIdx::new(node), InstanceIdx::new(at));
    assert_eq!([0, 1, 2].map(|n| reaches(n, 0)), [true, false, false]);
    assert_eq!([0, 1, 2].map(|n| reaches(n, 1)), [false, true, true]);
}

#[test]
fn nodes_without_disks_have_no_internal_storage() {
    let nodes = ["n1|9000|0|9000|0|0|9|N|a|1".to_owned(), node("n2", "b", "")];
    let cluster = groups(&["a||drbd,rbd", "b||drbd,rbd"], &nodes, &[], &[]);
    let map = StorageMap::of(&cluster);
    assert_eq!(reached(&map, 0), ["external/rbd"]);
    // They count as perfectly balanced.
    let node = cluster.node(NodeIdx::new(0));
    assert_eq!(node.state.ledger.free_disk_ratio(&node.spec), 1.0);
}

#[test]
fn the_disks_of_external_instances_take_nothing_from_the_node() {
    let cluster = groups(&["a||rbd"], &[node("n1", "a", "")], &[], &[]);
    let node = cluster.node(NodeIdx::new(0));
    let mut new = Instance::blank("i".into(), DiskTemplate::Rbd);
    new.details_mut().disk = Mib(1_000_000);
    let strict = Strictness::Strict;
    let arrival = TagArrival::default();
    let after = node.state.ledger.add_primary(&node.spec, &new, 0, arrival, strict);
    assert_eq!(after.map(|ledger| ledger.disk_free), Ok(node.state.ledger.disk_free));
}

#[test]
fn moves_can_be_denied() {
    let nodes = [node("n1", "a", ""), node("n2", "b", "")];
    let cluster = groups(&["a|htools:intergroup:deny|rbd", "b||rbd"], &nodes, &[], &[]);
    assert!(!cluster.denies_moves_between_groups());
    assert_eq!(
        cluster.groups.iter().map(Group::denies_moves_between_groups).collect::<Vec<_>>(),
        [true, false]
    );
    let cluster = groups(&["a||rbd"], &nodes[..1], &[], &[DENY]);
    assert!(cluster.denies_moves_between_groups());
}

/// A cluster of groups `a`, `b`, ... with a node each, and the Ceph pools that they export.
fn exporting(rows: &[&str], pools: &[&str], instances: &[String]) -> Cluster {
    let nodes: Vec<String> = rows.iter().map(|row| node(&format!("{}1", &row[..1]), &row[..1], "")).collect();
    let mut cluster = groups(rows, &nodes, instances, &[]);
    for (group, pool) in cluster.groups.iter_mut().zip(pools) {
        group.disk_parameters.rbd_pool = (*pool).to_owned();
    }
    cluster
}

/// The nodes that reach the disks of an instance.
fn reaching(cluster: &Cluster, map: &StorageMap, instance: usize) -> Vec<String> {
    let nodes = cluster.all_nodes().into_iter();
    let nodes = nodes.filter(|node| map.reaches(*node, InstanceIdx::new(instance)));
    nodes.map(|node| cluster.node(node).spec.name.clone()).collect()
}

#[test]
fn different_exported_pools_are_different_pools() {
    let rows = ["a||rbd,ext", "b||rbd,ext", "c||rbd,ext", "d||rbd,ext"];
    let instances = [
        instance("i", "a1", "rbd", ""),
        instance("j", "b1", "rbd", ""),
        instance("k", "a1", "ext", ""),
        // Its own tag names its pool.
        instance("l", "b1", "rbd", "htools:pool:rbd:ssd"),
    ];
    let cluster = exporting(&rows, &["ssd", "rbd", "ssd", "hdd"], &instances);
    let map = StorageMap::of(&cluster);
    let of = |at: usize| names(&map, map.of_instance(InstanceIdx::new(at)));
    assert_eq!(
        [0, 1, 2, 3].map(of),
        [["external/rbd:ssd"], ["external/rbd"], ["external/ext"], ["external/rbd:ssd"]]
    );
    assert_eq!(reached(&map, 0), ["external/ext", "external/rbd:ssd"]);
    // l is there.
    assert_eq!(reached(&map, 1), ["external/ext", "external/rbd", "external/rbd:ssd"]);
    assert_eq!(reached(&map, 3), ["external/ext", "external/rbd:hdd"]);
    // b reaches the pool of i, but i would be taken to be in external/rbd there.
    assert_eq!(reaching(&cluster, &map, 0), ["a1", "c1"]);
    assert_eq!(reaching(&cluster, &map, 1), ["b1"]);
    assert_eq!(reaching(&cluster, &map, 2), ["a1", "b1", "c1", "d1"]);
    assert_eq!(reaching(&cluster, &map, 3), ["a1", "b1", "c1"]);
}

#[test]
fn tags_win_over_what_is_exported() {
    let rows = ["a|htools:pool:x|rbd", "b||rbd", "c|htools:pool:rbd:ssd|rbd", "d|htools:pool:rbd|rbd"];
    let instances =
        ["a1", "b1", "c1", "d1"].map(|node| instance(&format!("i{node}"), node, "rbd", "")).to_vec();
    let cluster = exporting(&rows, &["ssd", "ssd", "hdd", "ssd"], &instances);
    let map = StorageMap::of(&cluster);
    let reached = [0, 1, 2, 3].map(|group| reached(&map, group));
    assert_eq!(reached, [["external/x"], ["external/rbd:ssd"], ["external/rbd:ssd"], ["external/rbd"]]);
    // The same pool, named in another way.
    assert_eq!(reaching(&cluster, &map, 1), ["b1", "c1"]);
    assert_eq!(reaching(&cluster, &map, 2), ["b1", "c1"]);
    // Ganeti's default pool has the name of the template.
    assert_eq!(reaching(&cluster, &map, 3), ["d1"]);
    let plain = exporting(&rows, &["ssd", "rbd", "hdd", "ssd"], &instances);
    assert_eq!(reaching(&plain, &StorageMap::of(&plain), 3), ["b1", "d1"]);
}

#[test]
fn a_template_that_no_policy_lists_has_its_exported_pool() {
    let instances = [instance("i", "a1", "gluster", ""), instance("j", "a1", "rbd", "")];
    let mut cluster = exporting(&["a||ext", "b||ext", "c||ext,rbd"], &["ssd", "ssd", "ssd"], &instances);
    cluster.groups[0].disk_parameters.gluster.volume = "vms".into();
    let map = StorageMap::of(&cluster);
    let wanted = ["external/ext", "external/gluster:127.0.0.1:24007/vms", "external/rbd:ssd"];
    assert_eq!(reached(&map, 0), wanted);
    assert_eq!((reaching(&cluster, &map, 0), reaching(&cluster, &map, 1).len()), (vec!["a1".into()], 2));
}

/// Pools that Ganeti exports but no instance uses are not shown.
#[test]
fn exported_pools_are_not_named() {
    let cluster = exporting(&["a||rbd", "b||rbd"], &["ssd", "rbd"], &[instance("i", "a1", "rbd", "")]);
    let map = StorageMap::of(&cluster);
    let shown = |p: &Partition| (map.pool(p.pool).to_string(), p.instances, p.named);
    let partitions: Vec<_> = map.partitions().iter().map(shown).collect();
    assert_eq!(partitions, [("external/rbd".into(), 0, false), ("external/rbd:ssd".into(), 1, false)]);
}

/// Pools in their order: internal ones first, by name.
trait Sorted {
    fn sorted(self) -> Vec<String>;
}

impl<const N: usize> Sorted for [&str; N] {
    fn sorted(self) -> Vec<String> {
        let mut all: Vec<String> = self.iter().map(|s| s.to_string()).collect();
        all.sort_by_key(|pool| (pool.starts_with("external"), pool.clone()));
        all
    }
}

/// Many instances share a few sets of pools, each stored once.
#[test]
fn instances_share_their_sets_of_pools() {
    let instances = ["p", "q", "r"].map(|name| instance(name, "n", "plain", ""));
    let cluster = groups(&["a||plain"], &[node("n", "a", "")], &instances, &[]);
    let map = StorageMap::of(&cluster);
    // The sets are private, but their debug output shows them.
    assert!(format!("{map:?}").contains("instances: [0, 0, 0], sets: [[PoolIdx(0)]]"), "{map:?}");
    let set = |at: usize| map.of_instance(InstanceIdx::new(at));
    assert!(std::ptr::eq(set(0), set(1)) && std::ptr::eq(set(0), set(2)));
    assert_eq!(names(&map, map.of_instance(InstanceIdx::new(2))), ["internal/lvm"]);
}

#[test]
fn a_pool_outside_may_be_called_as_one_in_the_nodes() {
    let nodes = [node("n1", "a", ""), node("n2", "b", "htools:pool:lvm")];
    let instances = [instance("i", "n2", "rbd", "htools:pool:lvm"), instance("j", "n1", "drbd", "")];
    let cluster = groups(&["a||drbd,rbd", "b||drbd,rbd"], &nodes, &instances, &[]);
    let map = StorageMap::of(&cluster);
    let of = &cluster.instances[0];
    let reached: Vec<bool> = cluster.nodes.iter().map(|node| node.spec.reaches(of)).collect();
    assert_eq!(reached, [false, true]);
    let by_map: Vec<bool> = cluster.nodes.iter().map(|node| map.reaches(node.spec.idx, of.idx)).collect();
    assert_eq!(reached, by_map);
}
