//! Every edge of a transition follows from a rule that is restated plainly here. Changes of order that must not
//! matter do not matter.

use std::collections::{BTreeSet, HashSet};

use htools::generate::random::Random;
use htools::pacemaker::transition::ActionTask::{
    EnoughStarted, Fence, LoadStopped, MigrateFrom, MigrateTo, Running, Shutdown, Start, Stop, Stopped,
    Unfence,
};
use htools::pacemaker::transition::{ActionTask, Transition, TransitionAction, WaitReason};
use htools::pacemaker::working_set::{OrderStrength, OrderedPair};
use htools::pacemaker::{
    AllocationScore, ResourceIdx, Strategy, WorkingSet, cib, place, transition as plan_of,
};
use htools::plan::graph::{Edge, Strength};
use htools::report::pacemaker::crm_simulate;
use htools::report::pacemaker::transition as views;

use crate::transition::{graph, planned, random_clusters, shuffled};

/// Tells if an action concerns a resource or, if that is a group, one of its members.
fn with(set: &WorkingSet, action: &TransitionAction, resource: ResourceIdx) -> bool {
    action.resource.is_some_and(|done| done == resource || set.resource(done).group == Some(resource))
}

/// Tells if an action brings a resource to a host, or marks its arrival.
fn comes(task: ActionTask) -> bool {
    matches!(task, Start | Running | MigrateTo | MigrateFrom)
}

/// Tells if an action takes a resource away from a host, or marks its departure.
fn goes(task: ActionTask) -> bool {
    matches!(task, Stop | Stopped | MigrateTo)
}

/// Tells if the rule that an edge names requires it: rules 1 to 9 of the ordering in docs/pacemaker.md.
fn is_asked_for(set: &WorkingSet, plan: &Transition, edge: &Edge<WaitReason>) -> bool {
    let (before, after) = (plan.step(edge.before), plan.step(edge.after));
    match edge.why {
        // Stop, then start; migrate, take over, stop, mark; a group's marks.
        WaitReason::Change(resource) => {
            let turns = [MigrateTo, MigrateFrom, Stop, Stopped, Start, Running];
            let turn = |action: &TransitionAction| turns.iter().position(|task| *task == action.task);
            before.resource == Some(resource)
                && after.resource == Some(resource)
                && turn(before) < turn(after)
        }
        WaitReason::Order(at) => {
            let order = &set.orders[at];
            let forwards = with(set, before, order.first) && with(set, after, order.then);
            let backwards = with(set, before, order.then) && with(set, after, order.first);
            let is_strong = edge.strength == Strength::Must;
            is_strong == (order.strength == OrderStrength::Mandatory)
                && ((forwards && comes(before.task) && comes(after.task))
                    || (backwards && order.symmetrical && goes(before.task) && goes(after.task)))
        }
        WaitReason::Choice(at) => {
            let choice = &set.choices[at];
            let is_mark = |action: &TransitionAction| action.choice.is_some_and(|mark| mark.at == at);
            let is_one = |action: &TransitionAction, of: &[ResourceIdx]| {
                action.task == Start && of.iter().any(|one| action.resource == Some(*one))
            };
            let backwards = |pair: &OrderedPair| with(set, before, pair.then) && with(set, after, pair.first);
            (is_one(before, &choice.firsts) && is_mark(after) && after.task == EnoughStarted)
                || (is_mark(before) && is_one(after, &choice.dependents))
                || (goes(before.task) && goes(after.task) && choice.stops.iter().any(backwards))
        }
        WaitReason::Group(group) | WaitReason::Clone(group) => {
            let turn = (before.task, after.task) == (Stopped, Start);
            let one_way =
                (comes(before.task) && comes(after.task)) || (goes(before.task) && goes(after.task));
            with(set, before, group) && with(set, after, group) && (turn || one_way)
        }
        WaitReason::Colocation(at) => {
            let apart = &set.colocations[at];
            let meets = before.host == after.host || before.host.is_none() || after.host.is_none();
            let of_both = |one, other| with(set, before, one) && with(set, after, other);
            let both = of_both(apart.dependent, apart.primary) || of_both(apart.primary, apart.dependent);
            apart.score == AllocationScore::MINUS_INFINITY
                && both
                && matches!((before.task, after.task), (Stop | Stopped, Start))
                && (meets || is_of_a_group(set, apart.dependent) || is_of_a_group(set, apart.primary))
        }
        WaitReason::Room(host) => {
            let needs = |action: &TransitionAction| {
                action.resource.is_some_and(|of| !set.resource(of).utilization.is_empty())
            };
            let makes = before.task == Stop && before.host == Some(host) && needs(before);
            let takes = match after.task {
                Start => after.host == Some(host),
                MigrateTo => after.peer == Some(host),
                _ => false,
            };
            let is_mark = |action: &TransitionAction| action.task == LoadStopped && action.host == Some(host);
            edge.strength == Strength::Space
                && ((makes && is_mark(after)) || (is_mark(before) && takes && needs(after)))
        }
        WaitReason::Fencing(host) => {
            let fences = before.task == Fence && before.host == Some(host);
            fences && set.host(host).state.unclean && after.task != Fence
        }
        WaitReason::Unfencing(host) => {
            let unfences = |action: &TransitionAction| action.task == Unfence && action.host == Some(host);
            unfences(before) || (unfences(after) && before.task == Stop && before.host == Some(host))
        }
        // These clusters have no guest nodes.
        WaitReason::Machine(_) | WaitReason::Connection(_) => false,
        // These actions are not taken, so nothing waits for them.
        WaitReason::Circle | WaitReason::Quorum | WaitReason::Probe(_) => false,
        WaitReason::OneByOne => (before.task, after.task) == (Fence, Fence),
        WaitReason::Shutdown(host) => {
            let leaves = after.task == Shutdown && after.host == Some(host);
            leaves && (before.task == Shutdown || (before.task == Stop && before.host == Some(host)))
        }
    }
}

fn is_of_a_group(set: &WorkingSet, resource: ResourceIdx) -> bool {
    set.resource(resource).is_group()
}

#[test]
fn every_edge_has_its_rule_and_none_is_there_twice() {
    let (mut seen, mut reasons) = (0, HashSet::new());
    for (number, text) in random_clusters(400) {
        let (set, _, plan) = planned(&text, "random");
        let mut pairs = BTreeSet::new();
        for edge in &plan.edges {
            let [before, after] = [edge.before, edge.after].map(|step| plan.step(step));
            assert!(is_asked_for(&set, &plan, edge), "{number}: {before:?}, {after:?}: {:?}", edge.why);
            assert!(pairs.insert((edge.before, edge.after)), "{number}: {edge:?}");
            seen += 1;
            reasons.insert(std::mem::discriminant(&edge.why));
        }
    }
    assert!(seen > 2000 && reasons.len() >= 7, "{seen} edges for {} kinds of reasons", reasons.len());
}

/// If capacities count and everything is managed, no host exceeds its capacity.
#[test]
fn no_host_is_overcommitted_where_all_is_managed() {
    let mut hosts = 0;
    for (number, text) in random_clusters(400) {
        let set = cib::parse(&text, "random").unwrap();
        if !set.resource_indices().all(|resource| set.is_managed(resource)) {
            continue;
        }
        for strategy in [Strategy::Utilization, Strategy::Balanced, Strategy::Minimal] {
            let placed = place(&set, strategy).unwrap();
            for host in set.host_indices() {
                for (kind, left) in placed.remaining[host.get()].iter() {
                    assert!(left >= 0, "{number}, {strategy}: {} {left}", set.attributes[kind.get()]);
                }
                hosts += 1;
            }
        }
    }
    assert!(hosts > 1000, "{hosts}");
}

/// Tells if the order of constraints can matter: scores are cut off at infinity, or constraints concern the same two
/// resources.
fn hangs_on_order(set: &WorkingSet, text: &str) -> bool {
    let mut pairs = BTreeSet::new();
    let mut is_new =
        |one: ResourceIdx, other: ResourceIdx, kind: u8| pairs.insert((one.min(other), one.max(other), kind));
    text.contains("999999")
        || !set.orders.iter().all(|order| is_new(order.first, order.then, 0))
        || !set.colocations.iter().all(|colocation| is_new(colocation.dependent, colocation.primary, 1))
}

#[test]
fn shuffled_constraints_same_places_and_same_order() {
    let mut compared = 0;
    for (number, text) in random_clusters(400) {
        let (set, placed, plan) = planned(&text, "random");
        if hangs_on_order(&set, &text) {
            continue;
        }
        let text = shuffled(&text, "constraints", &mut Random::new(number));
        let (other_set, other_placed, other) = planned(&text, "shuffled");
        let lines = |set: &WorkingSet, placed| {
            let mut lines = Vec::new();
            let keep = |line: &str| -> Result<(), std::convert::Infallible> {
                lines.push(line.to_owned());
                Ok(())
            };
            crm_simulate::each_line(set, placed, keep).unwrap();
            lines
        };
        assert_eq!(lines(&set, &placed), lines(&other_set, &other_placed), "{number}");
        let closure = |set, plan| graph::closure(&views::dot(set, plan));
        assert_eq!(closure(&set, &plan), closure(&other_set, &other), "{number}");
        compared += usize::from(set.colocations.len() + set.orders.len() > 1);
    }
    assert!(compared > 20, "{compared}");
}

/// Removing all orders changes no score and no place.
#[test]
fn placing_does_not_look_at_orders() {
    let mut without = 0;
    for (number, text) in random_clusters(200) {
        let (set, placed, _) = planned(&text, "random");
        let mut plain = set.clone();
        plain.orders.clear();
        plain.choices.clear();
        without += usize::from(!set.orders.is_empty());
        assert_eq!(placed, place(&plain, plain.strategy()).unwrap(), "{number}");
    }
    assert!(without > 20, "{without}");
}

/// For given places, optional colocations do not affect the dependencies.
#[test]
fn ordering_does_not_look_at_wishes() {
    let mut without = 0;
    for (number, text) in random_clusters(200) {
        let (set, placed, plan) = planned(&text, "random");
        let mut plain = set.clone();
        plain.colocations.retain(|colocation| colocation.score.is_infinite());
        without += usize::from(plain.colocations.len() < set.colocations.len());
        let other = plan_of(&plain, plain.strategy(), &placed);
        assert_eq!(views::dot(&set, &plan), views::dot(&plain, &other), "{number}");
    }
    assert!(without > 10, "{without}");
}
