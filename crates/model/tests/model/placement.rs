//! Conflicts of exclusion tags.

use htools_model::TagArrival;
use htools_testkit::cluster;

#[test]
fn conflicts_are_counted_by_tag() {
    let nodes = ["a|9000|0|9000|9000|9000|9|N|u|1", "b|9000|0|9000|9000|9000|9|N|u|1"];
    let instances = [
        "i|1|0|1|running|Y|a||ext|s:1,s:2,s:1,s:1",
        "j|1|0|1|running|Y|a||ext|s:1,s:3,s:3",
        "k|1|0|1|running|Y|b||ext|s:2,s:1,s:2,s:4,s:4",
    ];
    let cluster = cluster(&nodes, &instances, &["htools:iextags:s"]);
    let [a, b] = [0, 1].map(|n| &cluster.nodes[n].state);
    let [i, j, k] = [0, 1, 2].map(|i| &cluster.instances[i]);
    assert_eq!((a.ledger.tag_conflicts, b.ledger.tag_conflicts), (4, 2));
    // Effect on nodes where the instance is not: s:1 and s:2 are there already, and the second s:4 conflicts with the
    // first.
    assert_eq!(TagArrival::of(a, k), TagArrival { conflicts: 4, clash: true, key_cost: 0 });
    assert_eq!(TagArrival::of(b, j), TagArrival { conflicts: 2, clash: true, key_cost: 0 });
    // Conflicts that leave together with one instance, and with each of the others.
    assert_eq!([i, j].map(|one| TagArrival::of_primary(a, one).conflicts), [3, 2]);
    assert_eq!(TagArrival::of_primary(b, k).conflicts, 2);
}
