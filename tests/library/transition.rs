//! Actions on Pacemaker clusters and their order: compared with Pacemaker's and with plain rules.

#[path = "../reference/hplace/graph.rs"]
pub(crate) mod graph;
#[path = "../reference/hplace/cib.rs"]
pub(crate) mod random_cib;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use htools::generate::random::Random;
use htools::pacemaker::cib::GuestReading;
use htools::pacemaker::transition::checker::{TransitionFault, check, excesses};
use htools::pacemaker::transition::{ResourceChange, StepFate, Transition, WaitReason};
use htools::pacemaker::working_set::OrderStrength;
use htools::pacemaker::{AllPlaced, WorkingSet, cib, place, transition};
use htools::plan::graph::{Edge, StepIdx, Strength};
use htools::report::pacemaker::transition as views;
use random_cib::Dimensions;

pub(crate) fn planned(text: &str, name: &str) -> (WorkingSet, AllPlaced, Transition) {
    let set = cib::parse(text, name).unwrap();
    let placed = place(&set, set.strategy()).unwrap();
    let transition = transition(&set, set.strategy(), &placed);
    (set, placed, transition)
}

fn case(name: &str) -> (WorkingSet, AllPlaced, Transition) {
    planned(&fs::read_to_string(format!("tests/fixtures/pacemaker/{name}.xml")).unwrap(), name)
}

/// Random clusters that are completely inside the model, by number.
pub(crate) fn random_clusters(count: u64) -> impl Iterator<Item = (u64, String)> {
    random(count, false)
}

fn random(count: u64, clones: bool) -> impl Iterator<Item = (u64, String)> {
    let document = move |number| {
        let mut random = Random::stream(24, number);
        let dimensions = Dimensions { clones, ..Dimensions::small(&mut random) };
        (number, random_cib::document(dimensions, &mut random))
    };
    let inside = |(number, text): &(u64, String)| {
        cib::parse(text, &number.to_string()).is_ok_and(|set| set.unsupported.is_empty())
    };
    (0..count).map(document).filter(inside)
}

#[test]
fn same_actions_same_order_as_crm_simulate() {
    let mut with_order = 0;
    let others = [
        crate::pacemaker::with_failures(),
        crate::pacemaker::with_clones(),
        crate::pacemaker::on_several_nodes(),
        crate::pacemaker::with_fencing(),
        crate::pacemaker::in_other_words(),
        crate::pacemaker::with_tickets(),
        crate::pacemaker::changed(),
        crate::pacemaker::promoted(),
        crate::releases::of_pacemaker_3(),
    ];
    for file in crate::pacemaker::clusters().into_iter().chain(others.into_iter().flatten()) {
        let name = file.display().to_string();
        let (set, placed, plan) = planned(&fs::read_to_string(&file).unwrap(), &name);
        let ours = graph::closure(&views::dot(&set, &plan));
        let theirs = graph::closure(&fs::read_to_string(file.with_extension("dot")).unwrap());
        assert_eq!(graph::difference(&ours, &theirs), Vec::<String>::new(), "{name}");
        assert_eq!(check(&set, set.strategy(), &placed, &plan), [], "{name}");
        with_order += usize::from(!theirs.order.is_empty());
    }
    assert!(with_order >= 90, "{with_order}");
}

/// Checks that the actions of a recorded cluster, with its guest and remote nodes, and their order are those of a graph.
fn has_their_order(file: &Path, theirs: &str) -> WorkingSet {
    let name = file.display().to_string();
    let text = fs::read_to_string(file).unwrap();
    let set = cib::read_with(text.as_bytes(), &name, GuestReading::Followed).unwrap();
    let placed = place(&set, set.strategy()).unwrap();
    let plan = transition(&set, set.strategy(), &placed);
    let ours = graph::closure(&views::dot(&set, &plan));
    assert_eq!(graph::difference(&ours, &graph::closure(theirs)), Vec::<String>::new(), "{name}");
    set
}

#[test]
fn actions_on_remote_nodes_come_in_the_same_order() {
    for file in crate::pacemaker::with_searched_remote_nodes() {
        let theirs = fs::read_to_string(file.with_extension("dot")).unwrap();
        let set = has_their_order(&file, &theirs);
        let is_unsearched = file.to_string_lossy().contains("looked-for");
        assert_eq!(set.unsearched().is_some(), is_unsearched, "{}", file.display());
    }
}

#[test]
fn same_actions_same_order_with_guest_nodes() {
    let mut compared = 0;
    let newer = crate::releases::of_pacemaker_3_with_guests();
    for file in crate::pacemaker::with_guests().into_iter().chain(newer) {
        // The graph of one of these clusters is not recorded: Pacemaker's has a circle there.
        let Ok(theirs) = fs::read_to_string(file.with_extension("dot")) else { continue };
        has_their_order(&file, &theirs);
        compared += 1;
    }
    assert_eq!(compared, 105);
}

#[test]
fn same_actions_same_order_with_bundles() {
    let mut compared = 0;
    let bundles = [
        crate::pacemaker::with_bundles(),
        crate::pacemaker::with_bundles_in_order(),
        crate::releases::of_pacemaker_3_with_bundles(),
    ];
    for file in bundles.into_iter().flatten() {
        let Ok(theirs) = fs::read_to_string(file.with_extension("dot")) else { continue };
        has_their_order(&file, &theirs);
        compared += 1;
    }
    assert!(compared >= 47, "{compared}");
}

#[test]
fn rooms_are_freed_from_the_end_of_a_chain() {
    let (set, _, plan) = case("chain-migrate");
    assert_eq!(
        views::lines(&set, &plan),
        [
            "Transition of 6 actions:",
            "    1. migrate vm2 from node2 to node3",
            "    2. take over vm2 on node3 from node2",
            "       waits for 1: the same resource, vm2",
            "    3. stop vm2 on node2",
            "       waits for 2: the same resource, vm2",
            "    4. migrate vm1 from node1 to node2",
            "       waits for 3: room on node2",
            "    5. take over vm1 on node2 from node1",
            "       waits for 4: the same resource, vm1",
            "    6. stop vm1 on node1",
            "       waits for 5: the same resource, vm1",
        ]
    );
}

#[test]
fn a_swap_overcommits_for_a_while_and_says_so() {
    let (set, placed, plan) = case("swap-migrate");
    assert_eq!(plan.dropped.len(), 1);
    let worst = excesses(&set, &plan);
    assert_eq!(worst.len(), 1);
    assert_eq!((set.host(worst[0].host).name.as_str(), worst[0].amount), ("node2", 4));
    assert_eq!(check(&set, set.strategy(), &placed, &plan), []);
    let text = views::lines(&set, &plan).join("\n");
    assert!(text.contains("Warning: vm1 does not wait for its room"), "{text}");
}

#[test]
fn what_needs_a_stopped_one_is_not_started_and_keeps_its_room() {
    let (set, _, plan) = case("order-blocked");
    assert_eq!(plan.steps.iter().filter(|step| !step.pseudo).count(), 1);
    let app = set.resource_indices().find(|resource| set.resource(*resource).id == "app").unwrap();
    assert!(matches!(plan.changes.get(app), ResourceChange::Blocked(_)));
    let text = views::lines(&set, &plan).join("\n");
    assert!(text.contains("app is not started, and has its room on node1 all the same: order "), "{text}");
    assert!(views::dot(&set, &plan).contains("\"app_start_0 node1\" [ style=dashed"));
}

/// Actions, and pairs of dependent actions, in Pacemaker's XML, by operation key.
fn synapses(xml: &str) -> (BTreeSet<String>, BTreeSet<(String, String)>) {
    let document = roxmltree::Document::parse(xml).unwrap();
    let key = |action: roxmltree::Node<'_, '_>| {
        let attribute = |name| action.attribute(name).unwrap_or_default();
        format!("{} {} {}", action.tag_name().name(), attribute("operation_key"), attribute("on_node"))
    };
    let (mut actions, mut edges) = (BTreeSet::new(), BTreeSet::new());
    for synapse in document.descendants().filter(|node| node.has_tag_name("synapse")) {
        let within = |name: &'static str| {
            let outer = synapse.children().find(move |node| node.has_tag_name(name));
            outer
                .into_iter()
                .flat_map(|node| node.descendants())
                .filter(|node| node.has_attribute("operation_key"))
        };
        let action = within("action_set").map(key).next().unwrap();
        edges.extend(within("inputs").map(|trigger| (key(trigger), action.clone())));
        actions.insert(action);
    }
    (actions, edges)
}

#[test]
fn xml_and_dot_are_the_same_graph() {
    for name in ["fence-and-recover", "group", "swap-migrate", "standby-evacuate"] {
        let (set, _, plan) = case(name);
        let (actions, edges) = synapses(&views::xml(&set, &plan));
        assert_eq!((actions.len(), edges.len()), (plan.steps.len(), plan.edges.len()), "{name}");
        assert!(edges.iter().all(|(before, after)| actions.contains(before) && actions.contains(after)));
    }
    let (set, _, plan) = case("fence-and-recover");
    let xml = views::xml(&set, &plan);
    assert!(
        xml.contains(r#"operation="stonith" operation_key="stonith-node2-reboot" on_node="node2""#),
        "{xml}"
    );
}

#[test]
fn checked_by_plain_rules() {
    let (mut steps, mut stuck) = (0, 0);
    for (number, text) in random_clusters(400) {
        let (set, placed, plan) = planned(&text, "random");
        assert_eq!(check(&set, set.strategy(), &placed, &plan), [], "{number}");
        steps += plan.steps.len();
        stuck += usize::from(plan.stuck().next().is_some());
    }
    assert!(steps > 2000 && stuck > 0, "{steps} steps, {stuck} with a circle");
}

#[test]
fn with_clones_checked_by_plain_rules() {
    let (mut marks, mut clusters) = (0, 0);
    for (number, text) in random(400, true) {
        let (set, placed, plan) = planned(&text, "random");
        if set.clones().next().is_none() {
            continue;
        }
        assert_eq!(check(&set, set.strategy(), &placed, &plan), [], "{number}");
        let is_mark =
            |step: &StepIdx| plan.before(*step).any(|edge| matches!(edge.why, WaitReason::Clone(_)));
        marks += plan.all().filter(is_mark).count();
        clusters += 1;
    }
    assert!(marks > 300 && clusters > 80, "{marks} marks of clones in {clusters} clusters");
}

/// The same transition with its steps in another order.
fn reordered(plan: &Transition, order: &[StepIdx]) -> Transition {
    let mut places = vec![StepIdx::new(0); order.len()];
    order.iter().enumerate().for_each(|(at, step)| places[step.get()] = StepIdx::new(at));
    let moved = |edges: &[Edge<WaitReason>]| {
        let place = |step: StepIdx| places[step.get()];
        let mut edges: Vec<Edge<WaitReason>> = edges
            .iter()
            .map(|edge| Edge { before: place(edge.before), after: place(edge.after), ..*edge })
            .collect();
        edges.sort_by_key(|edge| (edge.after, edge.before));
        edges
    };
    Transition {
        steps: order.iter().map(|step| *plan.step(*step)).collect(),
        edges: moved(&plan.edges),
        dropped: moved(&plan.dropped),
        ..plan.clone()
    }
}

/// All orders that the edges allow.
fn orders(plan: &Transition, begun: &mut Vec<StepIdx>, all: &mut Vec<Vec<StepIdx>>) {
    if begun.len() == plan.steps.len() {
        all.push(begun.clone());
        return;
    }
    for step in plan.all() {
        let is_free = plan.before(step).all(|edge| begun.contains(&edge.before));
        if is_free && !begun.contains(&step) {
            begun.push(step);
            orders(plan, begun, all);
            begun.pop();
        }
    }
}

#[test]
fn whatever_order_the_edges_allow() {
    let (mut plans, mut tried) = (0, 0);
    for (number, text) in random_clusters(400) {
        let (set, placed, plan) = planned(&text, "random");
        if !(2..=8).contains(&plan.steps.len()) || plan.stuck().next().is_some() {
            continue;
        }
        let mut all = Vec::new();
        orders(&plan, &mut Vec::new(), &mut all);
        for order in &all {
            let other = reordered(&plan, order);
            assert_eq!(check(&set, set.strategy(), &placed, &other), [], "{number}: {order:?}");
        }
        plans += usize::from(all.len() > 1);
        tried += all.len();
    }
    assert!(plans > 20 && tried > 500, "{plans} plans, {tried} orders");
}

#[test]
fn the_checker_misses_no_edge_that_orders_or_room_need() {
    let mut found = 0;
    for name in ["chain-migrate", "order-restart"] {
        let (set, placed, plan) = case(name);
        for at in 0..plan.edges.len() {
            let mut without = plan.clone();
            let edge = without.edges.remove(at);
            if graph::closure(&views::dot(&set, &without)) != graph::closure(&views::dot(&set, &plan)) {
                let faults = check(&set, set.strategy(), &placed, &without);
                assert_ne!(faults, [], "{name}: {edge:?}");
                found += 1;
            }
        }
    }
    assert!(found >= 8, "{found}");
}

#[test]
fn the_checker_sees_what_is_missing_or_too_much() {
    let (set, placed, plan) = case("chain-migrate");
    let faults = |plan: &Transition| check(&set, set.strategy(), &placed, plan);
    let mut reversed = plan.clone();
    reversed.steps.swap(0, plan.steps.len() - 1);
    assert!(faults(&reversed).iter().any(|fault| matches!(fault, TransitionFault::Misplaced(_))));
    let last = plan.all().rev().find(|step| !plan.step(*step).pseudo).unwrap();
    let mut short = plan.clone();
    short.possible = last.get();
    short.steps.truncate(short.possible);
    short.edges.retain(|edge| edge.after < last && edge.before < last);
    assert!(faults(&short).iter().any(|fault| matches!(fault, TransitionFault::WrongEnd(_))));
    let mut crowded = plan.clone();
    crowded.edges.retain(|edge| edge.strength != Strength::Space);
    assert!(faults(&crowded).iter().any(|fault| matches!(fault, TransitionFault::Overfull(..))));
}

/// A CIB with the lines of a section in another order.
pub(crate) fn shuffled(text: &str, section: &str, random: &mut Random) -> String {
    let opening = format!("<{section}>\n");
    let begin = text.find(&opening).unwrap() + opening.len();
    let end = text.find(&format!("</{section}>")).unwrap();
    let mut lines: Vec<&str> = text[begin..end].lines().collect();
    random.shuffle(&mut lines);
    format!("{}{}\n{}", &text[..begin], lines.join("\n"), &text[end..])
}

#[test]
fn shuffled_nodes_same_plan() {
    for (number, text) in random_clusters(60) {
        let (set, _, plan) = planned(&text, "random");
        let (other_set, _, other) = planned(&shuffled(&text, "nodes", &mut Random::new(number)), "shuffled");
        assert_eq!(views::lines(&set, &plan), views::lines(&other_set, &other), "{number}");
        assert_eq!(views::dot(&set, &plan), views::dot(&other_set, &other), "{number}");
    }
}

#[test]
fn a_failure_takes_what_must_follow_and_nothing_else() {
    let (mut dropped, mut spared) = (0, 0);
    for (number, text) in random_clusters(120) {
        let (set, _, plan) = planned(&text, "random");
        let precedence = plan.precedence();
        for failing in plan.all().take(plan.possible) {
            let fates = plan.if_fails(failing);
            let fate = |step: StepIdx| fates[step.get()];
            let later = |step: &StepIdx| step.get() < plan.possible && precedence.precedes(failing, *step);
            for step in plan.all().take(plan.possible).filter(|step| *step != failing) {
                assert!(fate(step) == StepFate::Done || later(&step), "{number}: {failing} {step}");
                spared += usize::from(later(&step) && fate(step) == StepFate::Done);
                dropped += usize::from(fate(step) == StepFate::Dropped);
            }
            must_propagates(&set, &plan, &fates);
        }
    }
    assert!(
        dropped > 100 && spared > 0,
        "{dropped} dropped, {spared} done after an order that only should hold"
    );
}

#[test]
fn what_some_are_enough_for_is_lost_with_all_of_them() {
    let (set, _, plan) = case("rules/one-of-a-set");
    let start = |name: &str| {
        let is_it = |step: &StepIdx| {
            let action = plan.step(*step);
            let of = action.resource.map(|of| set.resource(of).id.as_str());
            of == Some(name) && action.task.as_str() == "start"
        };
        plan.all().find(is_it).unwrap()
    };
    // db2 has no room. The group that is the alternative to app counts as soon as its start begins.
    let fates = plan.if_fails(start("db1"));
    assert_eq!(
        [start("app"), start("redis"), start("web")].map(|step| fates[step.get()]),
        [StepFate::Dropped; 3]
    );
    let fates = plan.if_fails(start("app"));
    assert_eq!([start("redis"), start("web")].map(|step| fates[step.get()]), [StepFate::Done; 2]);
    let text = views::lines(&set, &plan).join("\n");
    assert!(text.contains("order one-is-enough, for which 1 of 2 is enough"), "{text}");
    assert!(
        views::xml(&set, &plan).contains(r#"operation="one-or-more:apps" operation_key="one-or-more:apps""#)
    );
}

/// A resource does not start if its mandatory predecessor should start and does not.
fn must_propagates(set: &WorkingSet, plan: &Transition, fates: &[StepFate]) {
    let starts = |resource| {
        let is_start = |step: &StepIdx| {
            let action = plan.step(*step);
            action.resource == Some(resource) && action.task.as_str() == "start" && !action.pseudo
        };
        plan.all().take(plan.possible).find(is_start).map(|step| fates[step.get()])
    };
    let mut seen = BTreeSet::new();
    for order in &set.orders {
        let is_first = seen.insert((order.first.get(), order.then.get()));
        let is_plain = [order.first, order.then].iter().all(|of| !set.resource(*of).is_group());
        if is_first && is_plain && order.strength == OrderStrength::Mandatory {
            let (first, then) = (starts(order.first), starts(order.then));
            let lost = matches!(first, Some(StepFate::Failed | StepFate::Dropped));
            assert!(!lost || matches!(then, None | Some(StepFate::Dropped | StepFate::Failed)));
        }
    }
}
