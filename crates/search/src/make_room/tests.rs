//! Comparison with all sequences of moves, and with all placements of the wanted instances.

use super::*;
use crate::place::{Conditions, PlaceTester};
use htools_model::{DiskTemplate, Instance, Mib, Placement, RoomSize, WantedRoom};
use htools_testkit::cluster;
use proptest::prelude::*;

/// Memory in units, primary and secondary node, and template of an instance.
type Present = (i64, usize, usize, bool);

/// A cluster of nodes with memory (units of 500 MiB) and CPUs, and those instances that find memory.
fn built(nodes: &[(i64, i64)], present: &[Present]) -> Cluster {
    let mut memory: Vec<i64> = nodes.iter().map(|node| node.0 * 500).collect();
    let mut disk = vec![9000; nodes.len()];
    let mut rows = Vec::new();
    for (at, (units, primary, secondary, mirrored)) in present.iter().enumerate() {
        let (p, s, size) = (primary % nodes.len(), secondary % nodes.len(), units * 250);
        if memory[p] <= size || (*mirrored && p == s) {
            continue;
        }
        memory[p] -= size;
        let (second, template) = if *mirrored { (format!("n{s}"), "drbd") } else { (String::new(), "ext") };
        if *mirrored {
            disk[p] -= 900;
            disk[s] -= 900;
        }
        rows.push(format!("i{at}|{size}|900|1|running|Y|n{p}|{second}|{template}||1"));
    }
    let node = |(at, (units, cpus)): (usize, &(i64, i64))| {
        format!("n{at}|{}|0|{}|9000|{}|{cpus}|N|u|9", units * 500, memory[at], disk[at])
    };
    let nodes: Vec<String> = nodes.iter().enumerate().map(node).collect();
    let nodes: Vec<&str> = nodes.iter().map(String::as_str).collect();
    let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
    cluster(&nodes, &rows, &[])
}

fn wanted(memory: i64, vcpus: i64, mirrored: bool, count: i64) -> WantedRoom {
    let template = if mirrored { DiskTemplate::Drbd } else { DiskTemplate::Ext };
    WantedRoom {
        size: RoomSize { memory: Mib(memory), disk: Mib(1024), vcpus, spindles: 1, template },
        count,
    }
}

/// Number of instances that find places one after the other under the real rules, by trying everything.
fn most_placed(cluster: &Cluster, one: &Instance, most: i64) -> i64 {
    if most == 0 {
        return 0;
    }
    let nodes = cluster.all_nodes();
    let mut best = 0;
    for &primary in &nodes {
        let partners: Vec<Option<NodeIdx>> = if one.template.has_secondary() {
            nodes.iter().copied().filter(|n| *n != primary).map(Some).collect()
        } else {
            vec![None]
        };
        for secondary in partners {
            let at = Placement { primary, secondary };
            let Ok(place) = PlaceTester::new(cluster, one, &Conditions::default()).at(at) else { continue };
            let mut next = Draft::of(cluster);
            next.adopt(one, &place);
            best = best.max(1 + most_placed(&next, one, most - 1));
            if best == most {
                return best;
            }
        }
    }
    best
}

/// The fewest moves after which the room is complete, up to `most`; `None` if there are none.
fn fewest_by_trying(cluster: &Cluster, wanted: WantedRoom, most: usize) -> Option<usize> {
    let complete = |state: &Cluster| {
        let mut state = state.clone();
        state.keep_room(Some(wanted));
        state.room().is_none_or(|room| is_complete(room))
    };
    let mut free = cluster.clone();
    free.keep_room(None);
    let mut states = vec![Draft::from(free)];
    for made in 0..=most {
        if states.iter().any(|state| complete(state)) {
            return Some(made);
        }
        let rules = MoveRules::default();
        let further = |state: &Draft| {
            let nodes = state.all_nodes();
            let all = state.instances.iter().filter(|i| is_movable(i));
            let all = all.flat_map(|i| moves(state, i, &nodes, &rules).into_iter().map(|mv| (i.idx, mv)));
            let made = all.filter_map(|(idx, mv)| {
                let mut next = state.clone();
                perform(&mut next, idx, mv, &rules).ok().map(|()| next)
            });
            made.collect::<Vec<_>>()
        };
        states = if made < most { states.iter().flat_map(further).collect() } else { Vec::new() };
    }
    None
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn counted_room_can_be_used(
        nodes in prop::collection::vec((2i64..8, 1i64..3), 2..4),
        present in prop::collection::vec((1i64..6, 0usize..4, 0usize..4, any::<bool>()), 0..5),
        (memory, vcpus, mirrored) in (200i64..1600, 1i64..4, any::<bool>()),
        count in 1i64..4,
    ) {
        let mut cluster = built(&nodes, &present);
        let wanted = wanted(memory, vcpus, mirrored, count);
        cluster.keep_room(Some(wanted));
        let counted = cluster.room().unwrap().count();
        cluster.keep_room(None);
        let placed = most_placed(&cluster, &wanted.size.together(1), count);
        prop_assert!(counted <= placed, "{counted} counted, {placed} placed");
        let fails = cluster.nodes.iter().any(|node| node.state.ledger.n1_fail);
        // With one node for each instance, the count is exact.
        prop_assert!(mirrored || fails || counted == placed, "{counted} counted, {placed} placed");
    }

    #[test]
    fn changes_are_judged_like_a_new_count(
        nodes in prop::collection::vec((2i64..8, 1i64..3), 2..5),
        present in prop::collection::vec((1i64..6, 0usize..5, 0usize..5, any::<bool>()), 1..7),
        (memory, vcpus, mirrored) in (200i64..1600, 1i64..4, any::<bool>()),
        count in 1i64..5,
    ) {
        let mut cluster = built(&nodes, &present);
        let wanted = wanted(memory, vcpus, mirrored, count);
        let all = cluster.all_nodes();
        let rules = MoveRules::default();
        let mut free = cluster.clone();
        cluster.keep_room(Some(wanted));
        free.keep_room(None);
        let before = cluster.room().unwrap().count();
        for instance in &cluster.instances {
            for mv in moves(&cluster, instance, &all, &rules) {
                let mut then = Draft::of(&free);
                if perform(&mut then, instance.idx, mv, &rules).is_err() {
                    continue;
                }
                let mut then = then.into_cluster();
                then.keep_room(Some(wanted));
                let after = then.room().unwrap().count();
                let allowed = Trial::new(&cluster, instance, &rules).run(mv).is_ok();
                prop_assert_eq!(allowed, after >= before, "{:?} of {}: {} to {}", mv, instance.name, before, after);
            }
        }
    }

    #[test]
    fn bounds_hold_and_few_moves_are_found(
        nodes in prop::collection::vec((3i64..8, 1i64..3), 2..4),
        present in prop::collection::vec((1i64..5, 0usize..4, 0usize..4, prop::bool::weighted(0.3)), 1..5),
        (memory, vcpus, mirrored) in (400i64..2500, 1i64..4, prop::bool::weighted(0.3)),
        count in 1i64..4,
    ) {
        let mut cluster = built(&nodes, &present);
        let wanted = wanted(memory, vcpus, mirrored, count);
        cluster.keep_room(Some(wanted));
        let least = fewest_by_trying(&cluster, wanted, 2);
        let made = make_room(&cluster, &MoveRules::default(), &Deadline::never());
        let bound = &made.bound;
        if let Some(least) = least {
            prop_assert!(!bound.is_impossible(), "{bound:?}, but {least} moves are enough");
            prop_assert!(bound.fewest_moves <= least, "{bound:?}, but {least} moves are enough");
            if least <= 2 {
                prop_assert!(made.is_fewest(), "{least} moves are enough: {:?} {bound:?}", made.steps);
            }
        }
        if made.is_complete() {
            prop_assert!(made.steps.len() >= least.unwrap_or(3), "{} moves, {least:?}", made.steps.len());
            prop_assert!(made.steps.len() >= bound.fewest_moves, "{bound:?}");
        }
        prop_assert!(made.after.room().unwrap().count() >= cluster.room().unwrap().count());
    }
}

#[test]
fn the_fewest_moves_join_scattered_memory() {
    // Four nodes with 1500 MiB free each, and instances of 500 MiB.
    let nodes = [(5, 2), (5, 2), (5, 2), (5, 2)];
    let present: Vec<Present> =
        (0..8).map(|at| if at < 4 { (2, at, 0, false) } else { (2, at - 4, 0, false) }).collect();
    let mut cluster = built(&nodes, &present);
    cluster.keep_room(Some(wanted(2400, 1, false, 1)));
    let made = make_room(&cluster, &MoveRules::default(), &Deadline::never());
    assert!(made.is_fewest(), "{:?} {:?}", made.steps, made.bound);
    assert_eq!((made.steps.len(), made.bound.fewest_moves), (2, 2));
    cluster.keep_room(Some(wanted(2400, 1, false, 3)));
    let made = make_room(&cluster, &MoveRules::default(), &Deadline::never());
    assert!(made.bound.is_impossible());
    assert_eq!(
        made.bound.groups[0],
        RoomCap { group: made.bound.groups[0].group, most: 2, resource: RoomResource::Memory }
    );
}
