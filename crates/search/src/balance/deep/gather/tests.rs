use super::*;
use crate::Deadline;
use crate::balance::BalanceOptions;
use crate::balance::deep::examples::{NO_LIMITS, generated};
use crate::balance::deep::headway::SearchProgress;
use crate::balance::deep::{as_draft, order, placements};
use htools_ganeti::generate::{ClusterSpec, TemplateMix};
use htools_model::Cluster;
use htools_model::score::Board;

/// Small clusters of every kind, some with an offline node.
fn clusters() -> impl Iterator<Item = Cluster> {
    let mixes = [TemplateMix::Drbd, TemplateMix::Mixed];
    (0..24).map(move |seed| {
        let spec = ClusterSpec {
            tags: seed % 2 == 0,
            heterogeneous: seed % 3 == 0,
            fill: 0.3 + 0.05 * (seed % 7) as f64,
            ..ClusterSpec::new(12, 90, mixes[seed as usize % 2], seed)
        };
        let mut cluster = generated(&spec);
        cluster.nodes[3].spec.offline = seed % 4 == 1;
        cluster
    })
}

fn start<'t>(terrain: &'t Terrain<'t>, limits: &Limits) -> Option<Arrangement<'t>> {
    let (deadline, headway) = (Deadline::never(), SearchProgress::default());
    gathered(&Arrangement::of(terrain), limits, DeepWatch { deadline: &deadline, headway: &headway })
}

#[test]
fn starts_obey_every_rule() {
    let (mut found, mut direct) = (0, 0);
    for cluster in clusters() {
        let nodes = cluster.all_nodes();
        let terrain = Terrain::of(&cluster, &nodes, &BalanceOptions::default());
        let Some(start) = start(&terrain, &NO_LIMITS) else { continue };
        found += 1;
        let (before, after) = (Arrangement::of(&terrain).faults(), start.faults());
        assert!(after.failing <= before.failing && after.breaches <= before.breaches, "{before:?} {after:?}");
        for mobile in &start.moved {
            let (home, to) = (terrain.mobiles[*mobile as usize].home, start.seats[*mobile as usize]);
            assert!(terrain.way(*mobile, home, to).is_some() && to.primary != to.secondary);
            assert!(terrain.is_online(to.primary) && terrain.is_online(to.secondary));
        }
        let exact = Board::new(&as_draft(&terrain, &start), &nodes).score();
        assert!((exact - start.now().score).abs() <= 1e-9 * exact.max(1.0), "{exact} {:?}", start.now());
        let shifts: Vec<Shift> =
            start.moved.iter().map(|m| Shift { mobile: *m, to: start.seats[*m as usize] }).collect();
        direct += usize::from(order::is_direct(&terrain, &placements(&terrain, &shifts)));
    }
    assert!(found >= 12 && direct > 0, "found {found}, direct {direct}");
}

#[test]
fn starts_are_the_same_with_any_number_of_threads_and_within_the_limits() {
    for cluster in clusters().take(6) {
        let terrain = Terrain::of(&cluster, &cluster.all_nodes(), &BalanceOptions::default());
        let with = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
            pool.install(|| start(&terrain, &NO_LIMITS).map(|start| (start.now(), start.seats)))
        };
        let all = with(1);
        assert!(all == with(4));
        let limits = Limits { moves: 10, ..NO_LIMITS };
        assert!(start(&terrain, &limits).is_none_or(|start| start.now().moved <= 10));
    }
}

#[test]
fn starts_with_fewer_moves_keep_the_limit_and_have_an_order() {
    let mut found = 0;
    for cluster in clusters() {
        let nodes = cluster.all_nodes();
        let terrain = Terrain::of(&cluster, &nodes, &BalanceOptions::default());
        let home = Arrangement::of(&terrain);
        let lifted = mirrored(&terrain);
        let limits = Limits { moves: lifted.len() as i64 * 2 / 3, ..NO_LIMITS };
        let (deadline, headway) = (Deadline::never(), SearchProgress::default());
        let with = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
            let watch = DeepWatch { deadline: &deadline, headway: &headway };
            pool.install(|| within::gathered_within(&home, &lifted, &limits, watch))
        };
        let Some(start) = with(1) else { continue };
        assert!(with(4).is_some_and(|other| other.now() == start.now() && other.seats == start.seats));
        found += 1;
        assert!(limits.hold(&start.now()), "{:?}", start.now());
        assert!(start.faults().breaches <= home.faults().breaches);
        let exact = Board::new(&as_draft(&terrain, &start), &nodes).score();
        assert!((exact - start.now().score).abs() <= 1e-9 * exact.max(1.0), "{exact} {:?}", start.now());
        let shifts: Vec<Shift> =
            start.moved.iter().map(|m| Shift { mobile: *m, to: start.seats[*m as usize] }).collect();
        assert!(order::is_direct(&terrain, &placements(&terrain, &shifts)));
    }
    assert!(found >= 6, "found {found}");
}

#[test]
fn plans_lower_the_reserves_within_the_limit() {
    let mut lowered = 0;
    for cluster in clusters() {
        let terrain = Terrain::of(&cluster, &cluster.all_nodes(), &BalanceOptions::default());
        let (home, lifted) = (Arrangement::of(&terrain), mirrored(&terrain));
        for most in [0, 5, lifted.len() / 2, lifted.len()] {
            let room = levels::PlannedRoom { crowd: 2 * lifted.len() / 12, for_primary: 0.1 };
            let plan = levels::LevelPlan::of(&terrain, &home.ledgers, &lifted, room, most);
            assert!(plan.lowered.len() + plan.relieved.len() <= most);
            assert!(plan.lowered.iter().all(|mobile| !plan.relieved.contains(mobile)));
            let stays = |mobile: &&u32| !plan.lowered.contains(mobile);
            for mobile in lifted.iter().filter(stays) {
                // The level of a node is no less than the need of each mobile that stays there.
                let details = &terrain.mobiles[*mobile as usize];
                let level = plan.level[details.home.secondary as usize];
                assert!(!terrain.is_online(details.home.secondary) || details.need <= level);
            }
            let most_kept = |slot: &u32| home.ledgers.peer(*slot, home.ledgers.fullest(*slot));
            let before: i64 = terrain.online.iter().map(most_kept).sum();
            let after: i64 = plan.level.iter().sum();
            assert!(after <= before, "{after} {before}");
            lowered += usize::from(after < before);
        }
    }
    assert!(lowered > 12, "{lowered}");
}

#[test]
fn shared_storage_has_no_such_start() {
    let spec = ClusterSpec::new(12, 90, TemplateMix::Ext, 1);
    let cluster = generated(&spec);
    let terrain = Terrain::of(&cluster, &cluster.all_nodes(), &BalanceOptions::default());
    assert!(start(&terrain, &NO_LIMITS).is_none());
}
