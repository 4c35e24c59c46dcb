//! Sets of nodes that cannot be lost together, compared with the loss of every single combination.

use crate::common::clusters::{Recipe, Style, cases, recipes};
use htools::model::{Cluster, DiskTemplate, InstanceIdx, Mib, NodeIdx};
use htools::search::Deadline;
use htools::search::health::{loss, survival};
use proptest::prelude::*;

const ALL: &[Style] =
    &[Style::Mixed, Style::Tight, Style::Tight, Style::Symmetric, Style::Stranded, Style::Weird];

/// Every choice of `size` of the nodes.
fn combinations(nodes: &[NodeIdx], size: usize) -> Vec<Vec<NodeIdx>> {
    match (size, nodes) {
        (0, _) => vec![Vec::new()],
        (_, []) => Vec::new(),
        (_, [first, rest @ ..]) => {
            let with = combinations(rest, size - 1).into_iter().map(|mut others| {
                others.insert(0, *first);
                others
            });
            with.chain(combinations(rest, size)).collect()
        }
    }
}

/// Tells if nothing of an instance's disks is left after the loss of these nodes.
fn is_gone(cluster: &Cluster, instance: InstanceIdx, lost: &[NodeIdx]) -> bool {
    let instance = &cluster.instances[instance.get()];
    match instance.template {
        DiskTemplate::Drbd => instance.secondary.is_none_or(|secondary| lost.contains(&secondary)),
        DiskTemplate::Plain | DiskTemplate::File | DiskTemplate::BlockDev => true,
        _ => false,
    }
}

/// Effect of a combination by the plain rule: instances without a place, and the number that lose their disks.
fn plainly(cluster: &Cluster, lost: &[NodeIdx]) -> (Vec<InstanceIdx>, usize) {
    let found = loss(cluster, lost);
    let homeless =
        found.stranded.iter().map(|s| s.instance).filter(|i| !is_gone(cluster, *i, lost)).collect();
    let primaries = lost.iter().flat_map(|n| &cluster.nodes[n.get()].state.primaries);
    (homeless, primaries.filter(|i| is_gone(cluster, **i, lost)).count())
}

fn agrees(recipe: &Recipe, most: usize) -> Result<(), TestCaseError> {
    let cluster = recipe.cluster();
    let found = survival(&cluster, most, 100_000, &Deadline::never());
    prop_assert!(found.is_settled() && found.stopped.is_none());
    let mut groups = found.groups.iter();
    for group in &cluster.groups {
        let nodes = cluster.nodes_of(group.idx).to_vec();
        let online: Vec<NodeIdx> =
            nodes.into_iter().filter(|n| !cluster.nodes[n.get()].spec.offline).collect();
        if online.is_empty() {
            continue;
        }
        let group = groups.next().unwrap();
        let mut wanted = Vec::new();
        for size in 1..=most.min(online.len()) {
            let all = combinations(&online, size);
            let harms: Vec<_> = all.iter().map(|lost| (lost.clone(), plainly(&cluster, lost))).collect();
            let of_size = &group.sizes[size - 1];
            prop_assert_eq!((of_size.combinations, of_size.examined), (all.len() as u64, all.len() as u64));
            let failing = harms.iter().filter(|(_, (homeless, _))| !homeless.is_empty()).count();
            let losing = harms.iter().filter(|(_, (_, gone))| *gone > 0).count();
            prop_assert_eq!((of_size.failing, of_size.losing), (failing as u64, losing as u64));
            // Proofs by sums are correct.
            prop_assert!(!of_size.is_proved || of_size.failing == 0);
            wanted.extend(harms.into_iter().filter(|(_, harm)| !harm.0.is_empty() || harm.1 > 0));
        }
        prop_assert_eq!(group.worst.len(), wanted.len());
        let memory = |instances: &[InstanceIdx]| -> Mib {
            instances.iter().map(|i| cluster.instances[i.get()].mem).sum()
        };
        for worst in &group.worst {
            let (_, (homeless, gone)) = wanted.iter().find(|(lost, _)| *lost == worst.nodes).unwrap();
            let mut there = worst.homeless.clone();
            there.sort_unstable();
            prop_assert_eq!((&there, worst.lost.count), (homeless, *gone));
            prop_assert_eq!(worst.homeless_mem, memory(homeless));
        }
        let rank = |at: usize| {
            let worst = &group.worst[at];
            (worst.homeless.len(), worst.homeless_mem, worst.lost.count, worst.lost.mem)
        };
        prop_assert!((1..group.worst.len()).all(|at| rank(at - 1) >= rank(at)));
    }
    prop_assert!(groups.next().is_none());
    Ok(())
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn every_combination_means_what_its_loss_means(recipe in recipes(ALL, 1..=9, 0..=40), most in 1_usize..=3) {
        agrees(&recipe, most)?;
    }
}
