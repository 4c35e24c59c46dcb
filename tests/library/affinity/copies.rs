//! Copies of sticky keys, special keys that the cluster switches off, and nodes that tie.

use super::*;

#[test]
fn sticky_keys_go_along_and_attract() {
    let mut nodes =
        vec![node("n1", 64, &[("ds", 1.0)]), node("n2", 64, &[("ds", 2.0)]), node("n3", 64, &[("ds", 2.0)])];
    for host in &mut nodes {
        // With full load, the special keys add up to 60.
        host.load = 1.0;
        host.keys[0].sticky = Some(40.0);
    }
    let vm = with(machine("vm", 1, 1), KeyOwner::System, KeyLevel::Server, &[("ds", 2.0, 40.0)]);
    let mut fleet = with_special(30.0, nodes, vec![vm]);
    let choice = &placed(&fleet)[0];
    assert_eq!((scores(choice), choice.round), (vec![60.0, 100.0, 100.0], Some(1)));
    let taken = AffinityKey { name: "ds".to_owned(), value: 2.0, weight: 40.0 };
    assert_eq!((choice.node, &choice.sticky), (Some(1), &vec![taken]));
    // A machine without keys of its own has the copy of its last node's key.
    fleet.machines = vec![Machine { last_node: Some(2), ..machine("vm", 1, 1) }];
    let choice = &placed(&fleet)[0];
    assert_eq!((scores(choice), choice.node), (vec![60.0, 100.0, 100.0], Some(1)));
    let key = choice.keys.system.iter().find(|key| key.name == "ds").unwrap();
    assert_eq!((key.level, key.owner), (KeyLevel::Server, KeyOwner::System));
    assert_eq!(fleet.copied_from(&fleet.machines[0], key).unwrap().name, "n3");
    // Its own key on the server level replaces the copy; a key on a lower level precedes both.
    for (level, weight, wanted) in [
        (KeyLevel::Server, 50.0, vec![110.0, 60.0, 60.0]),
        (KeyLevel::Server, 0.0, vec![60.0, 100.0, 100.0]),
        (KeyLevel::Disk, 50.0, vec![110.0, 60.0, 60.0]),
        (KeyLevel::ServerOffer, 50.0, vec![60.0, 100.0, 100.0]),
    ] {
        let vm = Machine { last_node: Some(2), ..machine("vm", 1, 1) };
        fleet.machines = vec![with(vm, KeyOwner::System, level, &[("ds", 1.0, weight)])];
        assert_eq!(scores(&placed(&fleet)[0]), wanted, "{level} {weight}");
    }
}

/// A running machine stays on its sticky node, although the other node is less busy.
#[test]
fn sticky_keys_hold_what_runs() {
    let mut nodes = vec![node("a", 64, &[("ds", 2.0)]), node("b", 64, &[("ds", 1.0)])];
    nodes[1].load = 0.5;
    let vm = Machine { node: Some(1), ..machine("x", 1, 1) };
    let mut fleet = fleet(nodes, vec![vm]);
    let found = misplaced(&fleet);
    assert_eq!((found.len(), found[0].node), (1, Some(0)));
    fleet.nodes.iter_mut().for_each(|host| host.keys[0].sticky = Some(60.0));
    assert_eq!(misplaced(&fleet), []);
}

#[test]
fn the_cluster_switches_special_keys_off() {
    let nodes = || {
        let mut busy = node("a", 64, &[]);
        busy.load = 1.0;
        vec![busy, node("b", 64, &[])]
    };
    let off = |name: &str, weight| AffinityKey { name: name.to_owned(), value: 0.0, weight };
    let mut fleet = fleet(nodes(), vec![machine("vm", 1, 1)]);
    assert_eq!(scores(&placed(&fleet)[0]), [50.0, 75.0]);
    fleet.keys = vec![off("#LOAD", 0.0)];
    assert_eq!(scores(&placed(&fleet)[0]), [50.0, 50.0]);
    // A lower level can still set the key. There, weight 0 has no effect.
    fleet.machines[0] = with(machine("vm", 1, 1), KeyOwner::System, KeyLevel::Vdc, &[("#LOAD", 0.0, 8.0)]);
    assert_eq!(scores(&placed(&fleet)[0]), [50.0, 58.0]);
    fleet.keys = vec![];
    fleet.machines[0] = with(machine("vm", 1, 1), KeyOwner::System, KeyLevel::Vdc, &[("#LOAD", 0.0, 0.0)]);
    assert_eq!(scores(&placed(&fleet)[0]), [50.0, 75.0]);
}

#[test]
fn what_ties_is_as_good() {
    let nodes = || vec![node("b", 64, &[]), node("a", 64, &[])];
    // Names must not cause a move.
    let runs = Machine { node: Some(0), ..machine("x", 1, 1) };
    assert_eq!(misplaced(&fleet(nodes(), vec![runs])), []);
    // The sum of 0.1 and 0.2 differs from 0.3 in the last bit.
    let others = vec![
        running("a1", 0, 1, 1, &[("g", 0.0)]),
        running("a2", 0, 1, 1, &[("h", 0.0)]),
        running("b1", 1, 1, 1, &[("k", 0.0)]),
    ];
    let vm = wishing(machine("x", 1, 1), &[("g", 0.0, 0.1), ("h", 0.0, 0.2), ("k", 0.0, 0.3)]);
    let mut fleet = without_special(nodes(), [others, vec![vm]].concat());
    let choice = &placed(&fleet)[0];
    assert!(wishes(choice)[0] > wishes(choice)[1]);
    assert_eq!(choice.node, Some(1));
    fleet.machines[3].node = Some(0);
    assert_eq!(misplaced(&fleet), []);
    // A real advantage still causes a move.
    fleet.machines[3].keys[0].keys[2].weight = 0.3 + 2e-9;
    assert_eq!(misplaced(&fleet).len(), 1);
}
