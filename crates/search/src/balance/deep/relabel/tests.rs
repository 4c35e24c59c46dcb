use std::collections::HashMap;

use super::*;
use crate::balance::BalanceOptions;
use crate::balance::deep::arrangement::ShiftSet;
use crate::balance::deep::draws::RandomNumbers;
use crate::balance::deep::examples::{NO_LIMITS, generated};
use crate::balance::deep::neighbourhood::{Neighbourhood, SeatSwap, SingleMove};
use crate::balance::deep::terrain::Terrain;
use htools_ganeti::generate::{ClusterSpec, TemplateMix};
use htools_model::{Cluster, Ledger, TagTable};

fn example(nodes: usize, instances: usize, mix: TemplateMix, seed: u64) -> Cluster {
    let spec = ClusterSpec {
        tags: seed % 4 == 3,
        heterogeneous: seed % 3 == 2,
        fill: 0.3,
        ..ClusterSpec::new(nodes, instances, mix, seed)
    };
    let mut cluster = generated(&spec);
    cluster.nodes[2].spec.offline = seed % 5 == 4;
    cluster
}

/// A placement that is some random changes away.
fn shaken<'t>(terrain: &'t Terrain<'t>, changes: usize, seed: u64) -> Arrangement<'t> {
    let (mut at, mut draws) = (Arrangement::of(terrain), RandomNumbers::stream(seed));
    for round in 0..changes {
        let mut proposal = ShiftSet::new();
        let neighbourhood: &dyn Neighbourhood = if round % 2 == 0 { &SeatSwap } else { &SingleMove };
        if neighbourhood.draw(&at, &mut draws, &mut proposal) {
            at.appraise(&proposal);
            at.commit(&proposal);
        }
    }
    at.refresh();
    at
}

/// The figures of all nodes except the reserves, in no order of nodes; and the reserves.
fn figures(at: &Arrangement<'_>) -> (Vec<[i64; 6]>, Vec<i64>) {
    let figures = |ledger: &Ledger| {
        let amounts = [ledger.mem_instances.0, ledger.disk_free.0, ledger.vcpus, ledger.spindles_used as i64];
        [amounts[0], amounts[1], amounts[2], amounts[3], ledger.primaries, ledger.secondaries]
    };
    let ledgers = || (0..at.terrain.nodes.len() as u32).map(|slot| at.ledgers.ledger(slot));
    let mut all: Vec<[i64; 6]> = ledgers().map(figures).collect();
    let mut reserves: Vec<i64> = ledgers().map(|ledger| ledger.mem_reserved.0).collect();
    all.sort_unstable();
    reserves.sort_unstable();
    (all, reserves)
}

#[test]
fn fewer_moves_lead_to_the_same_figures() {
    let (mut shorter, mut same) = (0, 0);
    for (seed, mix) in
        (0..36).zip([TemplateMix::Drbd, TemplateMix::Ext, TemplateMix::Mixed].into_iter().cycle())
    {
        let cluster = example(8, 60, mix, seed);
        let terrain = Terrain::of(&cluster, &cluster.all_nodes(), &BalanceOptions::default());
        let home = Arrangement::of(&terrain);
        let Some(relabelling) = Relabelling::of(&home) else { continue };
        let at = shaken(&terrain, 300, seed);
        let Some(short) = relabelling.shorten(&at) else { continue };
        shorter += 1;
        let moved =
            (0..terrain.mobiles.len()).filter(|m| short.seats[*m] != terrain.mobiles[*m].home).count();
        assert!(moved as i64 == short.now().moved && short.now().moved < at.now().moved);
        let ((before, reserves), (after, lower)) = (figures(&at), figures(&short));
        assert_eq!(before, after, "seed {seed}");
        assert!(reserves.iter().zip(&lower).all(|(before, after)| after <= before), "seed {seed}");
        if reserves == lower {
            same += 1;
            let (one, other) = (at.now().score, short.now().score);
            assert!((one - other).abs() <= 1e-9 * one.max(1.0), "seed {seed}: {one} {other}");
        }
    }
    assert!(shorter >= 20 && same >= 12, "{shorter} {same}");
}

#[test]
fn exchanged_names_need_no_moves() {
    let mut tried = 0;
    for seed in [0, 1, 6, 10, 12, 13] {
        let cluster = example(6, 40, TemplateMix::Drbd, seed);
        let terrain = Terrain::of(&cluster, &cluster.all_nodes(), &BalanceOptions::default());
        let home = Arrangement::of(&terrain);
        let relabelling = Relabelling::of(&home).expect("free moves");
        let mut player: Vec<u32> = (0..terrain.nodes.len() as u32).collect();
        for group in &relabelling.alike.nodes {
            for (at, slot) in group.iter().enumerate() {
                player[*slot as usize] = group[(at + 1) % group.len()];
            }
        }
        let seat = |seat: Seat| Seat {
            primary: player[seat.primary as usize],
            secondary: player[seat.secondary as usize],
        };
        let shift = |mobile: u32| Shift { mobile, to: seat(home.seats[mobile as usize]) };
        let shifts: Vec<Shift> = (0..terrain.mobiles.len() as u32).map(shift).collect();
        let Some(at) = home.clone().with(&shifts) else { continue };
        assert!(at.now().moved > 20);
        let short = relabelling.shorten(&at).expect("the start itself");
        assert_eq!(short.now().moved, 0, "seed {seed}");
        tried += 1;
    }
    assert!(tried >= 3, "{tried}");
}

/// A node's seats for one kind, in one role.
type Bin = (u32, u32);

/// The largest number of mobiles that find seats with some names, by augmenting paths: each mobile takes one place in
/// two bins, its primary one and its secondary one.
fn most_staying(terrain: &Terrain<'_>, alike: &AlikeGroups, seats: &[Seat], part: &[u32]) -> usize {
    let (mut left, mut right) = (HashMap::<Bin, i64>::new(), HashMap::<Bin, i64>::new());
    for (at, seat) in seats.iter().enumerate() {
        *left.entry((seat.primary, alike.kind[at])).or_default() += 1;
        *right.entry((seat.secondary, alike.mirror_kind[at])).or_default() += 1;
    }
    let end = |at: usize, secondary: bool| {
        let home = terrain.mobiles[at].home;
        let slot = if secondary { home.secondary } else { home.primary };
        (part[slot as usize], if secondary { alike.mirror_kind[at] } else { alike.kind[at] })
    };
    let mut stays = vec![false; seats.len()];
    loop {
        // The mobile by which a bin was reached, with the one before it.
        let mut queue: Vec<(Bin, Option<usize>)> =
            left.iter().filter(|(_, room)| **room > 0).map(|(bin, _)| (*bin, None)).collect();
        queue.sort_unstable();
        let mut before: Vec<Option<usize>> = vec![None; seats.len()];
        let mut seen = vec![false; seats.len()];
        let mut last = None;
        let mut next = 0;
        while last.is_none() && next < queue.len() {
            let (bin, by) = queue[next];
            next += 1;
            for one in (0..seats.len()).filter(|one| !stays[*one] && end(*one, false) == bin) {
                if std::mem::replace(&mut seen[one], true) {
                    continue;
                }
                before[one] = by;
                if right.get(&end(one, true)).is_some_and(|room| *room > 0) {
                    last = Some(one);
                    break;
                }
                for other in
                    (0..seats.len()).filter(|other| stays[*other] && end(*other, true) == end(one, true))
                {
                    if !std::mem::replace(&mut seen[other], true) {
                        before[other] = Some(one);
                        queue.push((end(other, false), Some(other)));
                    }
                }
            }
        }
        let Some(last) = last else { break };
        *right.entry(end(last, true)).or_default() -= 1;
        let mut first = last;
        let mut path = Some(last);
        while let Some(at) = path {
            stays[at] = !stays[at];
            (first, path) = (at, before[at]);
        }
        *left.entry(end(first, false)).or_default() -= 1;
    }
    stays.iter().filter(|stays| **stays).count()
}

/// All orders of some numbers.
fn orders(numbers: &[u32]) -> Vec<Vec<u32>> {
    let Some((last, others)) = numbers.split_last() else { return vec![Vec::new()] };
    let with_last = |order: Vec<u32>| {
        (0..=order.len()).map(move |at| [&order[..at], &[*last], &order[at..]].concat()).collect::<Vec<_>>()
    };
    orders(others).into_iter().flat_map(with_last).collect()
}

#[test]
fn names_are_nearly_the_best_of_all() {
    let (mut found, mut best) = (0, 0);
    for seed in [0, 1, 3, 6, 7, 9] {
        let cluster = example(5, 40, TemplateMix::Drbd, seed);
        let terrain = Terrain::of(&cluster, &cluster.all_nodes(), &BalanceOptions::default());
        let home = Arrangement::of(&terrain);
        let alike = AlikeGroups::of(&home);
        let at = shaken(&terrain, 400, seed);
        let [group] = &alike.nodes[..] else { continue };
        let naming = NodeNaming::of(&terrain, &alike, &at.seats, 25_000);
        let of_names = |order: &Vec<u32>| {
            let mut part: Vec<u32> = (0..terrain.nodes.len() as u32).collect();
            for (slot, name) in group.iter().zip(order) {
                part[*slot as usize] = *name;
            }
            most_staying(&terrain, &alike, &at.seats, &part)
        };
        let most = orders(group).iter().map(of_names).max().expect("some order");
        let staying = naming.stays.iter().filter(|stays| **stays).count();
        let possible = most_staying(&terrain, &alike, &at.seats, &naming.part);
        assert!(staying <= possible && possible <= most, "{staying} {possible} {most}");
        (found, best) = (found + staying, best + most);
    }
    assert!(best > 20 && found * 20 >= best * 19, "{found} of {best}");
}

#[test]
fn records_are_shortened_alike_with_any_number_of_threads() {
    let cluster = example(8, 60, TemplateMix::Drbd, 1);
    let terrain = Terrain::of(&cluster, &cluster.all_nodes(), &BalanceOptions::default());
    let home = Arrangement::of(&terrain);
    let relabelling = Relabelling::of(&home).expect("free moves");
    let with = |threads: usize, limits: Limits| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        pool.install(|| {
            let mut archive = Archive::default();
            (0..6).for_each(|seed| archive.offer(&shaken(&terrain, 300, seed)));
            relabelling.shorten_records(&home, &limits, &mut archive, &Deadline::never());
            archive.front().cloned().collect::<Vec<_>>()
        })
    };
    let one = with(1, NO_LIMITS);
    assert!(one == with(4, NO_LIMITS));
    let fewest = |records: &[SeenPlacement]| records.iter().map(|record| record.appraisal.moved).min();
    let before = (0..6).map(|seed| shaken(&terrain, 300, seed).now().moved).min();
    assert!(fewest(&one) < before, "{:?} {before:?}", fewest(&one));
    let tight = with(1, Limits { moves: 0, ..NO_LIMITS });
    assert_eq!(fewest(&tight), before);
}

#[test]
fn locations_keep_seats_apart() {
    let mut cluster = example(6, 40, TemplateMix::Drbd, 0);
    cluster.nodes[0].spec.location_tags = [TagTable::default().intern("rack:a")].into_iter().collect();
    let terrain = Terrain::of(&cluster, &cluster.all_nodes(), &BalanceOptions::default());
    assert!(Relabelling::of(&Arrangement::of(&terrain)).is_none());
}
