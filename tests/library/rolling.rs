//! Plans of rolling reboots on random clusters, compared with the plain rules.

use crate::common::clusters::{Recipe, Style, cases, recipes};
use htools::model::{Cluster, Mib, NodeIdx, Placement};
use htools::search::rolling::{Conflicts, Part, RollingOptions, is_stopped};
use proptest::prelude::*;

const STYLES: &[Style] = &[Style::Mixed, Style::Tight, Style::Symmetric, Style::Stranded];

fn options() -> impl Strategy<Value = RollingOptions> {
    any::<[bool; 5]>().prop_map(|[a, b, c, d, e]| RollingOptions {
        offline_maintenance: a,
        ignore_non_redundant: b,
        full_evacuation: c,
        migrate_shared: d,
        honour_run_state: e,
        ..RollingOptions::default()
    })
}

/// Placements of all instances while a part is down.
fn replayed(cluster: &Cluster, part: &Part) -> Vec<Placement> {
    let place = |i: &htools::model::Instance| i.placement();
    let mut places: Vec<Placement> = cluster.instances.iter().map(place).collect();
    for moved in &part.moves {
        assert_eq!(places[moved.instance.get()], moved.from);
        places[moved.instance.get()] = moved.to;
    }
    places
}

/// A node that received instances has room for all of its instances, in memory and on disk.
fn check_room(cluster: &Cluster, places: &[Placement]) {
    let mut mem = vec![Mib::ZERO; cluster.nodes.len()];
    let mut disk = vec![Mib::ZERO; cluster.nodes.len()];
    let (mut more_mem, mut more_disk) = (vec![false; mem.len()], vec![false; mem.len()]);
    for (instance, place) in cluster.instances.iter().zip(places).filter(|(i, _)| !i.forthcoming) {
        let (old, new) = (instance.primary.get(), place.primary.get());
        if old != new {
            mem[old] -= instance.mem_in_use();
            mem[new] += instance.mem_in_use();
            more_mem[new] = true;
            assert_eq!(cluster.nodes[old].spec.group, cluster.nodes[new].spec.group);
            let fails_over = instance.secondary == Some(place.primary);
            assert!(fails_over || !cluster.nodes[new].spec.offline);
        }
        let nodes = |p: Placement| {
            [Some(p.primary), p.secondary.filter(|_| instance.template.has_secondary())].into_iter().flatten()
        };
        nodes(instance.placement()).for_each(|n| disk[n.get()] += instance.local_disk());
        for n in nodes(*place) {
            disk[n.get()] -= instance.local_disk();
            more_disk[n.get()] |=
                !instance.nodes().any(|old| old == n) && instance.template.uses_local_storage();
        }
    }
    for (i, node) in cluster.nodes.iter().enumerate() {
        let left = node.state.ledger.mem_unallocated(&node.spec) - mem[i];
        assert!(!more_mem[i] || left > Mib::ZERO, "{}: memory {left:?}", node.spec.name);
        let left = node.state.ledger.disk_free + disk[i];
        assert!(!more_disk[i] || left > Mib::ZERO, "{}: disk {left:?}", node.spec.name);
    }
}

/// The nodes are free of all instances that must leave them.
fn check_cleared(cluster: &Cluster, part: &Part, places: &[Placement], options: &RollingOptions) {
    let down = |n: NodeIdx| part.nodes.contains(&n);
    for (instance, place) in cluster.instances.iter().zip(places).filter(|(i, _)| !i.forthcoming) {
        if instance.template.has_secondary() {
            let touched = down(place.primary) || place.secondary.is_some_and(down);
            // A mere change of roles is not listed.
            assert!(!options.full_evacuation || !touched, "{}: data stays", instance.name);
            continue;
        }
        let rests = options.honour_run_state && !options.full_evacuation && is_stopped(instance);
        let ignored = options.ignore_non_redundant && options.is_non_redundant(instance);
        assert!(rests || ignored || !down(place.primary), "{} stays", instance.name);
    }
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn plans_keep_the_rules(recipe in recipes(STYLES, 2..=24, 0..=60), options in options()) {
        let recipe: Recipe = recipe;
        let mut cluster = recipe.cluster();
        // Split instances are outside the scope of this check.
        prop_assume!(cluster.instances.iter().all(|i| !cluster.is_split(i)));
        if let Some(node) = cluster.nodes.iter_mut().find(|n| !n.spec.offline) {
            node.spec.master = true;
        }
        let selected: Vec<NodeIdx> =
            cluster.nodes.iter().filter(|n| !n.spec.offline).map(|n| n.spec.idx).collect();
        let Ok(conflicts) = Conflicts::among(&cluster, &selected, &options) else { return Ok(()) };
        let Ok(parts) = conflicts.plan(&cluster, &options) else { return Ok(()) };
        let mut planned: Vec<NodeIdx> = parts.iter().flat_map(|p| p.nodes.iter().copied()).collect();
        let last = planned.last().copied();
        prop_assert!(last.is_some_and(|n| cluster.node(n).spec.master));
        planned.sort_unstable();
        prop_assert_eq!(&planned, &selected);
        for part in &parts {
            for vertex in 0..conflicts.graph.len() {
                let down = part.nodes.contains(&conflicts.graph.node(vertex));
                let mut others = conflicts.graph.distinct(vertex).iter().map(|d| conflicts.graph.node(d.0));
                prop_assert!(!down || !others.any(|n| part.nodes.contains(&n)));
            }
            let places = replayed(&cluster, part);
            check_room(&cluster, &places);
            check_cleared(&cluster, part, &places, &options);
        }
    }
}
