use super::*;
use crate::Deadline;
use crate::balance::BalanceOptions;
use crate::balance::deep::examples::{NO_LIMITS, mirrored};
use crate::balance::deep::headway::SearchProgress;
use crate::balance::deep::terrain::Terrain;

fn options(effort: u64) -> DeepOptions {
    DeepOptions { effort, max_moves: None, max_data: None, move_cost: None, streams: 8 }
}

#[test]
fn a_start_is_promising_with_enough_effort_and_moves() {
    let cluster = mirrored(1);
    let terrain = Terrain::of(&cluster, &cluster.all_nodes(), &BalanceOptions::default());
    let home = Arrangement::of(&terrain);
    let (deadline, headway) = (Deadline::never(), SearchProgress::default());
    let watch = DeepWatch { deadline: &deadline, headway: &headway };
    let is_promising = |effort: u64, limits: Limits| {
        SortedStart::of(&home, &options(effort), &limits, None, watch).is_some_and(|start| start.is_promising)
    };
    let enough = terrain.mobiles.len() as u64 * 8 * 5000;
    assert!(is_promising(enough, NO_LIMITS));
    assert!(!is_promising(enough - 8, NO_LIMITS));
    let half = Limits { moves: terrain.mobiles.len() as i64 / 2, ..NO_LIMITS };
    assert!(!is_promising(enough, half));
}

#[test]
fn runs_from_a_promising_start_improve_it_and_have_an_order() {
    let mut improved = 0;
    for seed in 1..6 {
        let cluster = mirrored(seed);
        let terrain = Terrain::of(&cluster, &cluster.all_nodes(), &BalanceOptions::default());
        let home = Arrangement::of(&terrain);
        let scale = Scale::of(&mut home.clone());
        let found = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
            pool.install(|| {
                let (deadline, headway) = (Deadline::never(), SearchProgress::default());
                let watch = DeepWatch { deadline: &deadline, headway: &headway };
                let mut archive = Archive::default();
                let mut start = SortedStart::of(&home, &options(160_000), &NO_LIMITS, None, watch)?;
                start.is_promising = has_order(&home, &start.shifts);
                let before = start.start.now().score;
                start.search(&home, &scale, &mut archive, watch);
                let last = archive.front().last().cloned()?;
                Some((before, last.appraisal, last.shifts))
            })
        };
        let Some((before, after, shifts)) = found(1) else { continue };
        assert!(found(4).is_some_and(|other| other == (before, after, shifts.clone())));
        assert!(after.score <= before && has_order(&home, &shifts), "{before} {after:?}");
        improved += usize::from(after.score < before);
    }
    assert!(improved >= 3, "{improved}");
}
