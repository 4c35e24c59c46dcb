//! Instances of one service in one location.

use std::collections::HashMap;

use htools_model::score::Board;
use htools_model::{Cluster, Draft, NodeIdx, Placement, TagId};
use htools_testkit::cluster;

#[test]
fn one_of_a_service_in_each_location_is_enough() {
    let node = |name: &str, rack: &str| format!("{name}|9000|0|8000|9000|9000|9|N|u|1|rack:{rack}");
    let nodes = [node("n1", "1"), node("n2", "1"), node("n3", "2")];
    let nodes: Vec<&str> = nodes.iter().map(String::as_str).collect();
    let mut cluster = cluster(
        &nodes,
        &["a|500|0|1|running|Y|n1||ext|web:x", "b|500|0|1|running|Y|n2||ext|web:x"],
        &["htools:iextags:web", "htools:nlocation:rack"],
    );
    let all = cluster.all_nodes();
    let board = Board::new(&cluster, &all);
    let spread = board.spread();
    assert_eq!(spread.surplus(), 1);
    let [n1, n2, n3] = [0, 1, 2].map(|n| &cluster.nodes[n].spec);
    let b = &cluster.instances[1];
    assert_eq!(spread.change(b, Some(n2), Some(n3)), -1);
    assert_eq!(spread.change(b, Some(n2), Some(n1)), 0);
    assert_eq!(spread.change(b, Some(n2), None), -1);
    let mut moved = spread.clone();
    moved.relocate(b, Some(n2), n3);
    assert_eq!(moved.surplus(), 0);
    cluster.nodes[1].spec.offline = true;
    assert_eq!(Board::new(&cluster, &all).spread().surplus(), 0, "offline nodes do not count");
}

/// The surplus, computed pair by pair.
fn plain_surplus(cluster: &Cluster) -> i64 {
    let mut pairs: HashMap<(TagId, TagId), i64> = HashMap::new();
    for node in cluster.nodes.iter().filter(|n| !n.spec.offline) {
        for instance in node.state.primaries.iter().map(|i| cluster.instance(*i)) {
            for location in node.spec.location_tags.iter() {
                instance.exclusion_tags.iter().for_each(|tag| {
                    *pairs.entry((location, *tag)).or_default() += 1;
                });
            }
        }
    }
    pairs.values().map(|count| count - 1).sum()
}

#[test]
fn every_way_to_count_gives_the_same() {
    // Covers repeated tags, shared and different locations, no location, and an offline node.
    let tags = ["l:1,l:2", "l:2,l:3", "l:1,l:2,l:3,l:4", "", "l:3", "l:1,l:4"];
    let role = |at: usize| if at == 4 { 'Y' } else { 'N' };
    let node = |at: usize| format!("n{at}|9000|0|9000|9000|9000|9|{}|u|1|{}", role(at), tags[at]);
    let nodes: Vec<String> = (0..tags.len()).map(node).collect();
    let of = ["s:a", "s:a,s:a", "s:a,s:b,s:c", "s:b,s:b,s:b,s:a", "", "s:d"];
    let instance = |at: usize| {
        let planned = if at % 7 == 3 { 'Y' } else { 'N' };
        format!("i{at}|1|0|1|running|Y|n{}||ext|{}|1|-|{planned}", at * 5 % 6, of[at % of.len()])
    };
    let instances: Vec<String> = (0..17).map(instance).collect();
    let [nodes, instances] =
        [&nodes, &instances].map(|rows| rows.iter().map(String::as_str).collect::<Vec<_>>());
    let cluster = cluster(&nodes, &instances, &["htools:iextags:s", "htools:nlocation:l"]);
    let mut cluster = Draft::from(cluster);
    for moved in cluster.all_instances() {
        let mut spread = Board::new(&cluster, &cluster.all_nodes()).spread().clone();
        assert_eq!(spread.surplus(), plain_surplus(&cluster));
        let instance = cluster.instance(moved).clone();
        let from = Some(&cluster.node(instance.primary).spec);
        let (leaving, arrivals) = spread.departure(&instance, from);
        for to in cluster.nodes.iter().filter(|n| !n.spec.offline).map(|n| &n.spec) {
            let known = |tag| arrivals.there.iter().find(|(there, _)| *there == tag);
            let cost = |tag| known(tag).map_or(arrivals.elsewhere, |(_, by)| *by);
            let sum = leaving + to.location_tags.iter().map(cost).sum::<i64>();
            assert_eq!(sum, spread.change(&instance, from, Some(to)), "{} to {}", instance.name, to.name);
        }
        let to = (instance.primary.get() * 3 + moved.get()) % cluster.nodes.len();
        let change = spread.change(&instance, from, Some(&cluster.nodes[to].spec));
        let before = spread.surplus();
        spread.relocate(&instance, from, &cluster.nodes[to].spec);
        let to = Placement { primary: NodeIdx::new(to), secondary: None };
        cluster.relocate(moved, to, 0, &[]);
        assert_eq!((spread.surplus(), before + change), (plain_surplus(&cluster), plain_surplus(&cluster)));
    }
}
