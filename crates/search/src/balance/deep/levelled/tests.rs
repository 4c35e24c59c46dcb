use super::*;
use crate::Deadline;
use crate::balance::BalanceOptions;
use crate::balance::deep::arrangement::Shift;
use crate::balance::deep::examples::{NO_LIMITS, mirrored};
use crate::balance::deep::headway::SearchProgress;
use crate::balance::deep::terrain::Seat;

#[test]
fn a_secondary_goes_to_no_node_below_its_need() {
    let cluster = mirrored(1);
    let terrain = Terrain::of(&cluster, &cluster.all_nodes(), &BalanceOptions::default());
    let home = Arrangement::of(&terrain);
    let levels = NodeLevels::of(&home);
    let (mut allowed, mut refused) = (0, 0);
    for (mobile, details) in (0..).zip(&terrain.mobiles) {
        for slot in terrain.online.iter().filter(|slot| **slot != details.home.primary) {
            let mut proposal = ShiftSet::new();
            proposal.push(Shift { mobile, to: Seat { secondary: *slot, ..details.home } });
            let fits = *slot == details.home.secondary || levels.most[*slot as usize] >= details.need;
            assert_eq!(levels.allow(&home, &proposal), fits);
            allowed += usize::from(fits);
            refused += usize::from(!fits);
        }
    }
    assert!(allowed > 0 && refused > 0, "{allowed} {refused}");
}

#[test]
fn a_run_keeps_the_levels_and_generations_lower_the_score() {
    let (deadline, headway) = (Deadline::never(), SearchProgress::default());
    let watch = DeepWatch { deadline: &deadline, headway: &headway };
    let mut better = 0;
    for seed in 1..5 {
        let cluster = mirrored(seed);
        let terrain = Terrain::of(&cluster, &cluster.all_nodes(), &BalanceOptions::default());
        let home = Arrangement::of(&terrain);
        let scale = Scale::of(&mut home.clone());
        let levels = NodeLevels::of(&home);
        let schedule = schedules::with_levels(1, 20_000, &scale, scale.unit * 0.01);
        let (mut at, mut archive) = (home.clone(), Archive::default());
        anneal(&mut at, &schedule, &NO_LIMITS, Some(&levels), &mut archive, watch);
        assert!(!at.moved.is_empty());
        let after = NodeLevels::of(&at);
        assert!(after.most.iter().zip(&levels.most).all(|(after, before)| after <= before));
        let (end, tried) =
            improve(home.clone(), (8, 160_000), (&scale, scale.unit * 0.01), &NO_LIMITS, watch);
        assert!(tried == 160_000 && end.now().score <= home.now().score);
        better += usize::from(end.now().score < at.now().score);
    }
    assert!(better > 0);
}
