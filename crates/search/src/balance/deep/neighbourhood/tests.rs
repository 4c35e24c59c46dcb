use std::collections::BTreeSet;

use super::*;
use crate::balance::BalanceOptions;
use crate::balance::deep::arrangement::Appraisal;
use crate::balance::deep::terrain::Terrain;
use htools_ganeti::generate::{ClusterSpec, TemplateMix, cluster};
use htools_ganeti::load::merge::{MergeOptions, finish, merge};
use htools_model::score::Touched;
use htools_model::{Cluster, Ledger, Mib};

/// Small clusters of every kind, some with an offline node.
fn clusters() -> impl Iterator<Item = Cluster> {
    let mixes = [TemplateMix::Ext, TemplateMix::Drbd, TemplateMix::Mixed];
    (0..24).map(move |seed| {
        let spec = ClusterSpec {
            tags: seed % 2 == 0,
            heterogeneous: seed % 3 == 0,
            fill: 0.4 + 0.05 * (seed % 7) as f64,
            ..ClusterSpec::new(7, 60, mixes[seed as usize % 3], seed)
        };
        let mut cluster = merge(cluster(&spec), &MergeOptions::default()).expect("no selection");
        finish(&mut cluster, Mib::ZERO);
        cluster.nodes[3].spec.offline = seed % 4 == 1;
        cluster
    })
}

fn near(a: Appraisal, b: Appraisal) {
    assert!((a.score - b.score).abs() <= 1e-9 * b.score.abs().max(1.0), "{a:?} {b:?}");
    assert_eq!((a.moved, a.data), (b.moved, b.data));
}

/// Everything that a change affects, except values with rounding errors: the seats, and the ledgers to the bit.
type Picture = (Vec<Seat>, BTreeSet<u32>, String, Vec<[Vec<u32>; 2]>);

fn picture(at: &Arrangement<'_>) -> Picture {
    // Free spindles have no meaning on these nodes.
    let ledger = |slot| Ledger { spindles_free: 0, spindles_free_planned: 0, ..*at.ledgers.ledger(slot) };
    let ledgers: Vec<Ledger> = (0..at.terrain.nodes.len() as u32).map(ledger).collect();
    let sorted = |list: &Vec<u32>| {
        let mut list = list.clone();
        list.sort_unstable();
        list
    };
    let residents = at.residents.iter().map(|r| [sorted(&r.primaries), sorted(&r.secondaries)]).collect();
    (at.seats.clone(), at.moved.iter().copied().collect(), format!("{ledgers:?}"), residents)
}

/// Draws many changes and compares the running state with one that is built again.
fn holds(neighbourhood: &dyn Neighbourhood) {
    let (mut tried, mut made, mut refused) = (0, 0, 0);
    // A search may have a rule of its own.
    let picky = |changed: &[Touched<'_>]| changed.iter().all(|node| node.after.primaries % 5 > 0);
    for (number, cluster) in clusters().enumerate() {
        let nodes = cluster.all_nodes();
        let mut terrain = Terrain::of(&cluster, &nodes, &BalanceOptions::default());
        if number % 4 == 3 {
            terrain.restraint = Some(&picky);
        }
        let (mut at, mut draws, mut proposal) =
            (Arrangement::of(&terrain), RandomNumbers::stream(5), ShiftSet::new());
        let start = picture(&at);
        for round in 0..60 {
            // Some mobiles must be away from home for others to come back.
            let neighbourhood =
                if round % 3 == 0 { &SingleMove as &dyn Neighbourhood } else { neighbourhood };
            proposal.clear();
            if !neighbourhood.draw(&at, &mut draws, &mut proposal) {
                continue;
            }
            tried += 1;
            let (before, now) = (picture(&at), at.now());
            let new = at.appraise(&proposal);
            if !at.commit(&proposal) {
                refused += 1;
                assert!(picture(&at) == before, "a refused change leaves no trace");
                assert_eq!(at.now(), now);
                continue;
            }
            made += 1;
            assert_eq!(at.now(), new);
            at.refresh();
            near(new, at.now());
            let shifts: Vec<Shift> =
                at.moved.iter().map(|m| Shift { mobile: *m, to: at.seats[*m as usize] }).collect();
            if let Some(anew) = Arrangement::of(&terrain).with(&shifts) {
                near(at.now(), anew.now());
            }
        }
        // Every mobile goes home, unless another is in the way.
        for _ in 0..at.moved.len() {
            for mobile in at.moved.clone() {
                let shift = Shift { mobile, to: terrain.mobiles[mobile as usize].home };
                at.appraise(&[shift]);
                at.commit(&[shift]);
            }
        }
        if at.moved.is_empty() {
            at.refresh();
            near(at.now(), Arrangement::of(&terrain).now());
            assert!(picture(&at) == start, "back home is as if nothing had been");
        }
    }
    assert!(tried > 200 && made > 50, "tried {tried}, made {made}, refused {refused}");
}

#[test]
fn a_move_is_what_it_says() {
    holds(&SingleMove);
}

#[test]
fn a_swap_is_what_it_says() {
    holds(&SeatSwap);
}

#[test]
fn a_chain_is_what_it_says() {
    holds(&EjectionChain);
}

#[test]
fn one_for_two_is_what_it_says() {
    holds(&OneForSeveral);
}

#[test]
fn going_home_is_what_it_says() {
    holds(&BackHome);
}

#[test]
fn a_relay_is_what_it_says() {
    holds(&Relay);
}

#[test]
fn a_relief_is_what_it_says() {
    holds(&ReserveRelief);
}
