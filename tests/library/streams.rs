//! Dependencies between steps: every order that the edges allow is legal, with overlapping steps, and no edge is
//! superfluous.

use std::collections::BTreeSet;

use crate::common::clusters::{Dice, Recipe, Style, cases};
use crate::placements::moves;
use htools::model::{Cluster, Concession, InstanceIdx, Mib, NodeIdx, Placement, Step};
use htools::plan::checker::{CheckOptions, PlanMoment, check, check_beginning, check_moments};
use htools::plan::graph::{Edge, EdgeReason, Precedence, StepIdx};
use htools::plan::needs::edges;
use htools::search::MoveRules;

/// A plan of moves without a purpose that are legal one after another.
fn wanderings(cluster: &Cluster, nodes: &[NodeIdx], most: usize, dice: &mut Dice, soft: bool) -> Vec<Step> {
    let options = CheckOptions { ignore_soft_errors: soft };
    let rules = MoveRules {
        disk_moves: true,
        instance_moves: true,
        restricted_migration: false,
        ignore_soft_errors: soft,
    };
    let mut now = cluster.clone();
    let mut steps: Vec<Step> = Vec::new();
    for _ in 0..most * 6 {
        if cluster.instances.is_empty() || steps.len() == most {
            break;
        }
        let instance = InstanceIdx::new(dice.below(cluster.instances.len()));
        let possible = moves(&now, nodes, instance, &rules);
        if possible.is_empty() {
            continue;
        }
        let mv = possible[dice.below(possible.len())];
        let from = now.instance(instance).placement();
        let to = mv.placement(now.instance(instance));
        steps.push(Step { instance, mv, from, to, score: 0.0, concession: Concession::None });
        let is_legal = |steps: &[Step]| check(cluster, nodes, steps, options).is_ok();
        if !is_legal(&steps) {
            // If only memory is lacking, an overcommitment can make the move legal.
            let memory = Mib(dice.of(&[300, 1500, 9000]));
            let last = steps.last_mut().unwrap();
            last.concession = if dice.chance(15) { Concession::Overcommit(memory) } else { Concession::None };
            if !is_legal(&steps) {
                steps.pop();
                continue;
            }
        }
        let moved = &mut now.instances[instance.get()];
        let Placement { primary, secondary } = to;
        (moved.primary, moved.secondary) = (primary, secondary);
    }
    steps
}

/// Callback for a moment: steps done, steps under way, and a step that may begin. Returns true to continue.
type See<'s> = dyn FnMut(&[StepIdx], &[StepIdx], StepIdx) -> bool + 's;

/// Visits all possible moments: the steps done, those under way, and one that may begin.
fn visit_moments(steps: usize, edges: &[Edge<EdgeReason<NodeIdx>>], see: &mut See<'_>) -> bool {
    let mut before: Vec<Vec<StepIdx>> = vec![Vec::new(); steps];
    edges.iter().for_each(|edge| before[edge.after.get()].push(edge.before));
    let all: Vec<StepIdx> = (0..steps).map(StepIdx::new).collect();
    for code in 0..3usize.pow(u32::try_from(steps).unwrap()) {
        let state = |step: &StepIdx| code / 3usize.pow(u32::try_from(step.get()).unwrap()) % 3;
        let is_free = |step: &StepIdx| before[step.get()].iter().all(|other| state(other) == 2);
        if !all.iter().filter(|step| state(step) > 0).all(is_free) {
            continue;
        }
        let done: Vec<StepIdx> = all.iter().copied().filter(|step| state(step) == 2).collect();
        let running: Vec<StepIdx> = all.iter().copied().filter(|step| state(step) == 1).collect();
        for next in all.iter().filter(|step| state(step) == 0 && is_free(step)) {
            if !see(&done, &running, *next) {
                return false;
            }
        }
    }
    true
}

fn case(seed: u64) -> (Cluster, bool, Dice) {
    let mut dice = Dice::new(seed ^ 0x57e4);
    let style = dice.of(&[Style::Mixed, Style::Tight, Style::Symmetric, Style::Stranded]);
    let recipe = Recipe { style, nodes: 2 + dice.below(5), instances: 1 + dice.below(14), seed };
    let soft = dice.chance(10);
    (recipe.cluster(), soft, dice)
}

#[test]
fn edges_are_enough_and_none_is_too_many() {
    let (mut plans, mut all, mut kept, mut conceded) = (0, 0, 0, 0);
    for seed in 1..=u64::from(cases(1500).cases) {
        let (cluster, soft, mut dice) = case(seed);
        let options = CheckOptions { ignore_soft_errors: soft };
        for group in &cluster.groups {
            let nodes = cluster.nodes_of(group.idx).to_vec();
            let most = if dice.chance(10) { 7 } else { 5 };
            let steps = wanderings(&cluster, &nodes, most, &mut dice, soft);
            let edges = edges(&cluster, &steps, options);
            let begins = |done: &[StepIdx], running: &[StepIdx], next: StepIdx| {
                check_beginning(&cluster, &nodes, &steps, options, (done, running), next)
            };
            let safe = visit_moments(steps.len(), &edges, &mut |done, running, next| {
                begins(done, running, next).unwrap_or_else(|why| {
                    panic!("seed {seed}: {why}; done {done:?}, under way {running:?}\n{steps:#?}\n{edges:#?}")
                });
                true
            });
            assert!(safe);
            plans += usize::from(steps.len() > 2);
            conceded += steps.iter().filter(|step| !step.concession.is_none()).count();
            for edge in &edges {
                // The rules of a node that fails N+1, and of a group without its reserve, depend on all earlier
                // steps.
                let others: Vec<_> = edges.iter().filter(|other| *other != edge).copied().collect();
                let breaks = !visit_moments(steps.len(), &others, &mut |done, running, next| {
                    begins(done, running, next).is_ok()
                });
                all += 1;
                if !breaks {
                    kept += 1;
                    assert!(
                        matches!(edge.why, EdgeReason::Mirror(_)),
                        "seed {seed}: {edge:?} is not needed\n{steps:#?}\n{edges:#?}"
                    );
                }
            }
        }
    }
    assert!(plans > 500 && all > 1000 && kept * 10 < all, "{plans} plans, {kept} of {all}");
    assert!(conceded > 50, "{conceded} steps with too little memory");
}

#[test]
fn streams_of_long_plans_are_legal() {
    for seed in 1..=u64::from(cases(200).cases) {
        let (cluster, soft, mut dice) = case(seed);
        let options = CheckOptions { ignore_soft_errors: soft };
        for group in &cluster.groups {
            let nodes = cluster.nodes_of(group.idx).to_vec();
            let steps = wanderings(&cluster, &nodes, 40, &mut dice, soft);
            let edges = edges(&cluster, &steps, options);
            let precedence = Precedence::of(steps.len(), &edges);
            for edge in &edges {
                let around = (0..steps.len()).map(StepIdx::new);
                let mut around = around.filter(|s| precedence.precedes(edge.before, *s));
                assert!(!around.any(|s| precedence.precedes(s, edge.after)), "{edge:?} is implied");
            }
            let (mut done, mut running): (BTreeSet<StepIdx>, Vec<StepIdx>) = Default::default();
            let mut left: Vec<StepIdx> = (0..steps.len()).map(StepIdx::new).collect();
            let mut moments = Vec::new();
            while done.len() < steps.len() {
                let is_free =
                    |step: &StepIdx| edges.iter().all(|e| e.after != *step || done.contains(&e.before));
                let free: Vec<usize> = (0..left.len()).filter(|at| is_free(&left[*at])).collect();
                if !free.is_empty() && (running.is_empty() || dice.chance(60)) {
                    let step = left.remove(free[dice.below(free.len())]);
                    running.push(step);
                    moments.push(PlanMoment::Begins(step));
                } else {
                    let step = running.swap_remove(dice.below(running.len()));
                    done.insert(step);
                    moments.push(PlanMoment::Ends(step));
                }
            }
            let found = check_moments(&cluster, &nodes, &steps, options, moments);
            let found = found.unwrap_or_else(|why| panic!("seed {seed}: {why}\n{edges:#?}"));
            let end = check(&cluster, &nodes, &steps, options).unwrap();
            assert_eq!(found, end, "seed {seed}");
        }
    }
}
