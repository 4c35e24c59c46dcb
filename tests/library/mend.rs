//! Repair and evacuation on small clusters, compared with all placements that moves can reach.

use std::collections::HashMap;

use crate::common::clusters::cases;
use crate::placements::{case, visit_all};
use htools::model::{Cluster, Draft, Instance, InstanceIdx, NodeIdx, PolicyHealth, TagId};
use htools::plan::checker::{CheckOptions, check, check_scores};
use htools::search::balance::deep::headway::{DeepWatch, SearchProgress};
use htools::search::balance::deep::order::OrderedSteps;
use htools::search::balance::deep::plan::{DeepFound, DeepGoal, DeepPlan, plan};
use htools::search::balance::deep::remains::Complaint;
use htools::search::balance::deep::repair::RepairMoves;
use htools::search::moves::perform;
use htools::search::steady::{ActCondition, fewest_moves};
use htools::search::{BalanceOptions, Deadline};

/// Faults of some nodes by plain definitions, worst first: roles on offline nodes, nodes that fail N+1 or their
/// policy, conflicting exclusion tags on a node, location costs, and conflicting tags at a location.
type Wrong = [i64; 6];

const HEALTHY: Wrong = [0; 6];

fn wrong(cluster: &Cluster, nodes: &[NodeIdx]) -> Wrong {
    let mut wrong = HEALTHY;
    for node in nodes.iter().map(|n| cluster.node(*n)) {
        let (spec, ledger) = (&node.spec, &node.state.ledger);
        let members = ledger.primaries + ledger.secondaries;
        if spec.offline {
            wrong[0] += members;
            continue;
        }
        wrong[1] += i64::from(ledger.n1_fail && members > 0);
        wrong[2] += i64::from(breaks_policy(cluster, node.spec.idx));
        wrong[3] += ledger.tag_conflicts;
        wrong[4] += ledger.location_sum;
    }
    wrong[5] = crowded(cluster, nodes);
    wrong
}

fn breaks_policy(cluster: &Cluster, node: NodeIdx) -> bool {
    let node = cluster.node(node);
    let spindles = node.spec.exclusive_storage && node.policy_health() == PolicyHealth::TooManySpindles;
    // Spindles as units limit the room; they are not a matter of policy.
    node.policy_health() != PolicyHealth::Fine && !spindles
}

/// Primaries in excess of one for each pair of location and exclusion tag.
fn crowded(cluster: &Cluster, nodes: &[NodeIdx]) -> i64 {
    let mut counts: HashMap<(TagId, TagId), i64> = HashMap::new();
    for instance in cluster.instances.iter().filter(|i| !i.forthcoming && nodes.contains(&i.primary)) {
        let spec = &cluster.node(instance.primary).spec;
        for location in spec.location_tags.iter().filter(|_| !spec.offline) {
            for (tag, own) in instance.exclusion_tags.counts().iter() {
                *counts.entry((location, tag)).or_default() += own;
            }
        }
    }
    counts.values().map(|count| (count - 1).max(0)).sum()
}

/// The cluster after the chosen steps (a bit mask); none if one is impossible without the others.
fn after(cluster: &Cluster, ordered: &OrderedSteps, options: &BalanceOptions, chosen: u32) -> Option<Draft> {
    let mut draft = Draft::of(cluster);
    for (bit, step) in ordered.steps.iter().enumerate() {
        if chosen & (1 << bit) != 0 {
            let has = |node: NodeIdx| draft.instance(step.instance).nodes().any(|other| other == node);
            if step.mv.targets().any(has) {
                return None;
            }
            perform(&mut draft, step.instance, step.mv, &options.rules).ok()?;
        }
    }
    Some(draft)
}

/// Makes a plan for a goal. Checks that every part is legal and moves only the necessary instances.
fn planned(
    cluster: &Cluster,
    nodes: &[NodeIdx],
    options: &BalanceOptions,
    goal: &DeepGoal,
) -> (RepairMoves, OrderedSteps) {
    let watch = DeepWatch { deadline: &Deadline::never(), headway: &SearchProgress::default() };
    let DeepPlan { found, ordered, .. } = plan(&mut Draft::of(cluster), nodes, options, goal, watch);
    let DeepFound::Mended(mending) = found else { panic!("not a goal of this kind") };
    let soft = CheckOptions { ignore_soft_errors: options.rules.ignore_soft_errors };
    check(cluster, nodes, &ordered.steps, soft).unwrap_or_else(|why| panic!("{why}"));
    assert!(check_scores(cluster, nodes, &ordered.steps).is_ok());
    let wanted = |i: &InstanceIdx| mending.placements.iter().any(|(instance, _)| instance == i);
    assert!(ordered.steps.iter().all(|step| wanted(&step.instance)));
    (mending, ordered)
}

/// Comparison of plans with the optimum.
#[derive(Debug, Default)]
struct Tally {
    clusters: usize,
    broken: usize,
    /// Plans that repair as much as possible.
    mended: usize,
    /// Repairing plans with the least number of moves.
    shortest: usize,
    /// Plans of which a proper part repairs as much.
    superfluous: usize,
}

impl Tally {
    /// A few percent of the plans may miss faults that only several simultaneous moves repair.
    fn hold(&self) {
        assert_eq!(self.superfluous, 0, "{self:?}");
        assert!(self.mended * 100 >= self.broken * 98 && self.shortest * 100 >= self.broken * 97, "{self:?}");
    }
}

/// Compares a plan with all others. `wrong` computes the faults to be repaired.
fn hold_to_all(
    cluster: &Cluster,
    nodes: &[NodeIdx],
    options: &BalanceOptions,
    (mending, plan): (&RepairMoves, &OrderedSteps),
    wrong: &dyn Fn(&Cluster) -> Wrong,
    tally: &mut Tally,
) {
    let before = wrong(cluster);
    let mut best: HashMap<Wrong, usize> = HashMap::new();
    let seen = visit_all(cluster, nodes, options, &mut |draft, moved| {
        let fewest = best.entry(wrong(draft)).or_insert(moved);
        *fewest = moved.min(*fewest);
    });
    if !seen {
        return;
    }
    tally.clusters += 1;
    if before == HEALTHY {
        assert!(mending.placements.is_empty(), "nothing is wrong: {:?}", mending.placements);
        return;
    }
    tally.broken += 1;
    let all = (1_u32 << plan.steps.len()) - 1;
    let then = wrong(&after(cluster, plan, options, all).expect("a plan is possible"));
    assert!(then <= before, "{before:?} {then:?}");
    let (least, fewest) = best.iter().min().map(|(wrong, moved)| (*wrong, *moved)).expect("that of now");
    if then == least {
        tally.mended += 1;
        tally.shortest += usize::from(mending.placements.len() <= fewest);
    }
    let part = |chosen: u32| after(cluster, plan, options, chosen).is_some_and(|c| wrong(&c) <= then);
    tally.superfluous += usize::from((0..all).any(part));
}

/// Clusters with faults in the usual run; `PROPTEST_CASES` tries more.
const CLUSTERS: u32 = 2000;

#[test]
fn repair_mends_what_can_be_mended_in_few_moves_and_no_more() {
    let mut tally = Tally::default();
    for seed in 1.. {
        if tally.broken >= cases(CLUSTERS).cases as usize {
            break;
        }
        let (cluster, options) = case(seed);
        for group in &cluster.groups {
            let nodes = cluster.nodes_of(group.idx).to_vec();
            let (mending, plan) = planned(&cluster, &nodes, &options, &DeepGoal::Repair);
            let of = |cluster: &Cluster| wrong(cluster, &nodes);
            hold_to_all(&cluster, &nodes, &options, (&mending, &plan), &of, &mut tally);
        }
    }
    assert!(tally.clusters > tally.broken, "some are healthy: {tally:?}");
    tally.hold();
}

#[test]
fn evacuated_nodes_are_empty_or_it_is_said_what_stays() {
    let mut tally = Tally::default();
    for seed in 1.. {
        if tally.broken >= cases(CLUSTERS).cases as usize {
            break;
        }
        let (cluster, options) = case(seed);
        let options = BalanceOptions { evacuate: false, ..options };
        let nodes = cluster.nodes_of(cluster.groups[0].idx).to_vec();
        let emptied: Vec<NodeIdx> = nodes.iter().copied().take(1 + usize::from(seed % 5 == 0)).collect();
        let goal = DeepGoal::Evacuate(emptied.clone());
        let (mending, plan) = planned(&cluster, &nodes, &options, &goal);
        let there = |cluster: &Cluster| -> Vec<InstanceIdx> {
            let is_there = |i: &&Instance| !i.forthcoming && i.nodes().any(|n| emptied.contains(&n));
            cluster.instances.iter().filter(is_there).map(|i| i.idx).collect()
        };
        let roles = |cluster: &Cluster| {
            let here = |i: &Instance| i.nodes().filter(|n| emptied.contains(n)).count() as i64;
            let sum = cluster.instances.iter().filter(|i| !i.forthcoming).map(here).sum();
            [sum, 0, 0, 0, 0, 0]
        };
        hold_to_all(&cluster, &nodes, &options, (&mending, &plan), &roles, &mut tally);
        if plan.given_up.is_empty() {
            let end = after(&cluster, &plan, &options, u32::MAX).expect("a plan is possible");
            let stuck: Vec<InstanceIdx> = mending.stuck.iter().map(|of| of.instance).collect();
            assert_eq!(there(&end), stuck, "seed {seed}");
            assert!(mending.stuck.iter().all(|of| of.complaint == Complaint::LeftBehind));
        }
    }
    tally.hold();
}

#[test]
fn overloads_end_with_few_moves_and_the_bound_holds() {
    const CONDITIONS: [&str; 6] =
        ["memory>70", "memory>50", "vcpus>60", "cpu>40", "disk>50", "memory>60 or cpu>50 or disk>70"];
    let (mut tally, mut ended, mut proved) = (Tally::default(), 0_u32, 0_u32);
    for seed in 1.. {
        if tally.broken >= cases(CLUSTERS).cases as usize {
            break;
        }
        let (mut cluster, options) = case(seed);
        let options = BalanceOptions { evacuate: false, ..options };
        for (at, instance) in cluster.instances.iter_mut().enumerate() {
            instance.details_mut().util.cpu = ((at as u64 * 7 + seed) % 11) as f64 / 4.0;
        }
        let load = |cluster: &Cluster, node: NodeIdx| {
            let primaries = cluster.node(node).state.primaries.iter();
            primaries
                .map(|i| cluster.instance(*i))
                .filter(|i| !i.forthcoming)
                .map(|i| i.util.cpu)
                .sum::<f64>()
        };
        for node in cluster.all_nodes() {
            let load = load(&cluster, node);
            cluster.nodes[node.get()].state.ledger.load.cpu = load;
        }
        let condition: ActCondition = CONDITIONS[seed as usize % CONDITIONS.len()].parse().unwrap();
        condition.limit(&mut cluster, 0.0);
        for group in &cluster.groups {
            let nodes = cluster.nodes_of(group.idx).to_vec();
            let (mending, plan) = planned(&cluster, &nodes, &options, &DeepGoal::Relieve);
            let over = |cluster: &Cluster| -> Wrong {
                let mut over: Vec<NodeIdx> =
                    condition.observe(cluster, &nodes).nodes.iter().map(|(node, ..)| *node).collect();
                over.dedup();
                [over.len() as i64, 0, 0, 0, 0, 0]
            };
            hold_to_all(&cluster, &nodes, &options, (&mending, &plan), &over, &mut tally);
            let least = fewest_moves(&cluster, &nodes);
            let end = after(&cluster, &plan, &options, u32::MAX);
            let Some(end) = end.filter(|_| plan.steps.len() < 32 && plan.given_up.is_empty()) else {
                continue;
            };
            assert_eq!(over(&end)[0], mending.ailing.len() as i64, "seed {seed}");
            if over(&end) == HEALTHY && over(&cluster) != HEALTHY {
                ended += 1;
                proved += u32::from(plan.steps.len() == least);
                assert!(least >= 1 && least <= plan.steps.len(), "seed {seed}: {least}");
            }
            let rises = |node: &&NodeIdx| {
                let (before, after) = (cluster.node(**node), end.node(**node));
                after.spec.over_limits(&after.state.ledger)
                    > before.spec.over_limits(&before.state.ledger) + 1e-9
            };
            let is_soft = options.rules.ignore_soft_errors;
            assert!(is_soft || !nodes.iter().any(|node| rises(&node)), "seed {seed}");
        }
    }
    assert!(
        ended * 5 > tally.broken as u32 && proved * 10 > ended * 8,
        "{ended} ended, {proved} proved, {tally:?}"
    );
    tally.hold();
}
