//! The recipes of docs/affinity.md, on idle, busy and full nodes.

use super::*;

/// Usage of the nodes of a recipe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Use {
    Idle,
    Busy,
    Full,
}

/// Fills each node to this usage with a machine without keys.
fn used_so(mut nodes: Vec<FleetNode>, uses: &[Use], others: Vec<Machine>) -> Fleet {
    let mut machines = Vec::new();
    for (at, (host, used)) in nodes.iter_mut().zip(uses).enumerate() {
        let (gib, vcpus, load) = match used {
            Use::Idle => continue,
            Use::Busy => (56, 16, 1.0),
            Use::Full => (64, 16, 1.0),
        };
        host.load = load;
        host.ram_free = Mib((64 - gib) * GIB);
        machines.push(running(&format!("old{at}"), at, gib, vcpus, &[]));
    }
    machines.extend(others);
    fleet(nodes, machines)
}

/// All combinations of usage for two kinds of nodes.
fn ways() -> impl Iterator<Item = [Use; 2]> {
    let all = [Use::Idle, Use::Busy, Use::Full];
    all.into_iter().flat_map(move |one| all.map(|other| [one, other]))
}

fn node_of(fleet: &Fleet, name: &str) -> Option<String> {
    let choices = placed(fleet);
    let choice = choices.iter().find(|choice| fleet.machines[choice.machine].name == name).unwrap();
    choice.node.map(|node| fleet.nodes[node].name.clone())
}

/// Only the owner's machines go to dedicated nodes. The cluster's key repels all machines from them, and the owner's
/// key overrides it. The owner's machines go there as long as there is room.
#[test]
fn dedicated_hosts_are_their_owners_alone() {
    for [gold, common] in ways() {
        let nodes = vec![
            node("a-gold", 64, &[("pool", 2.0)]),
            node("node1", 64, &[("pool", 1.0)]),
            node("node2", 64, &[("pool", 1.0)]),
            node("z-gold", 64, &[("pool", 2.0)]),
        ];
        let owned =
            with(machine("owned", 1, 1), KeyOwner::System, KeyLevel::Customer, &[("pool", 2.0, 100.0)]);
        let mut fleet = used_so(nodes, &[gold, common, common, gold], vec![owned, machine("other", 1, 1)]);
        fleet.keys = vec![AffinityKey { name: "pool".to_owned(), value: 2.0, weight: -100.0 }];
        let wanted = match (gold, common) {
            (Use::Full, Use::Full) => None,
            (Use::Full, _) => Some("node1"),
            _ => Some("a-gold"),
        };
        assert_eq!(node_of(&fleet, "owned").as_deref(), wanted, "{gold:?} {common:?}");
        let wanted = (common != Use::Full).then_some("node1");
        assert_eq!(node_of(&fleet, "other").as_deref(), wanted, "{gold:?} {common:?}");
    }
}

/// A machine returns to a node with the value of its last node, unless none of them has room.
#[test]
fn machines_stay_with_their_storage() {
    for [here, elsewhere] in ways() {
        let mut nodes = vec![
            node("n1", 64, &[("storage", 1.0)]),
            node("n2", 64, &[("storage", 2.0)]),
            node("n3", 64, &[("storage", 2.0)]),
        ];
        nodes.iter_mut().for_each(|host| host.keys[0].sticky = Some(100.0));
        let vm = Machine { last_node: Some(1), ..machine("vm", 1, 1) };
        let fleet = used_so(nodes, &[elsewhere, Use::Full, here], vec![vm, machine("new", 1, 1)]);
        let wanted = match (here, elsewhere) {
            (Use::Full, Use::Full) => None,
            (Use::Full, _) => Some("n1"),
            _ => Some("n3"),
        };
        assert_eq!(node_of(&fleet, "vm").as_deref(), wanted, "{here:?} {elsewhere:?}");
        // A running machine stays on its node unless that is overfull, whatever the usage of the others.
        let runs = Machine { node: Some(2), ..machine("vm", 1, 1) };
        let nodes = fleet.nodes.clone();
        let fleet = used_so(nodes, &[elsewhere, Use::Full, here], vec![runs]);
        let found = misplaced(&fleet).into_iter().filter(|of| fleet.machines[of.machine].name == "vm");
        let is_held = here != Use::Full;
        assert_eq!(found.count(), usize::from(!is_held), "{here:?} {elsewhere:?}");
    }
}

/// Customers' keys decide between nodes of one round. They separate and join machines on equally used nodes.
#[test]
fn customers_keys_part_and_join_on_nodes_that_are_as_much_used() {
    let place = |weight: f64, uses: [Use; 2]| {
        let keys = [("web", 1.0, weight)];
        let first = Machine { node: Some(0), ..wishing(machine("web1", 1, 1), &keys) };
        let nodes = vec![node("node1", 64, &[]), node("node2", 64, &[])];
        node_of(&used_so(nodes, &uses, vec![first, wishing(machine("web2", 1, 1), &keys)]), "web2")
    };
    for [here, there] in ways() {
        let apart = match (here, there) {
            (Use::Full, Use::Full) => None,
            (Use::Full, _) => Some("node2"),
            // In the first round with a suitable node, only this one passes.
            (_, Use::Full) | (Use::Idle, Use::Busy) => Some("node1"),
            _ => Some("node2"),
        };
        assert_eq!(place(-40.0, [here, there]).as_deref(), apart, "{here:?} {there:?}");
        let together = match (here, there) {
            (Use::Full, Use::Full) => None,
            (Use::Full, _) | (Use::Busy, Use::Idle) => Some("node2"),
            _ => Some("node1"),
        };
        assert_eq!(place(40.0, [here, there]).as_deref(), together, "{here:?} {there:?}");
    }
}
