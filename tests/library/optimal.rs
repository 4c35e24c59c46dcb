//! The strategy `optimal`: its results on known clusters, and proof by brute force on small random ones. Rules and
//! values are recomputed plainly from the configuration.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fs;

use super::transition::random_cib::{self, Dimensions};
use crate::common::plain_placement::{
    INFINITY, NEVER, Places, Value, agree, faults, is_placed_by_us, primitives, value,
};
use htools::generate::random::Random;
use htools::pacemaker::optimal::{PlacingLimits, PlacingStage, ThenGoal};
use htools::pacemaker::working_set::Colocation;
use htools::pacemaker::{
    AllPlaced, AllocationScore, HostIdx, ResourceChanges, ResourceIdx, Strategy, WaitReason, WorkingSet, cib,
    optimal, place, transition,
};
use htools::search::Deadline;

fn limits() -> PlacingLimits {
    PlacingLimits { steps: 20_000_000, moves: None, deadline: Deadline::never() }
}

fn best(set: &WorkingSet, then: ThenGoal) -> AllPlaced {
    optimal(set, then, &limits()).unwrap()
}

fn places(set: &WorkingSet, placed: &AllPlaced) -> Places {
    set.resource_indices().map(|one| placed.host(one)).collect()
}

/// The best of all placements; among equals, the first by names.
fn by_trying_all(set: &WorkingSet, then: ThenGoal) -> (Value, Places) {
    let free: Vec<ResourceIdx> = primitives(set).filter(|one| is_placed_by_us(set, *one)).collect();
    let mut at: Places = set.resource_indices().map(|_| None).collect();
    for one in primitives(set).filter(|one| !set.is_managed(*one)) {
        at[one.get()] = set.resource(one).active;
    }
    let choices = set.hosts.len() + 1;
    let mut best: Option<(Value, Places)> = None;
    for number in 0..choices.pow(free.len() as u32) {
        let mut rest = number;
        // The last resource changes fastest. After the last host comes "nowhere".
        for one in free.iter().rev() {
            at[one.get()] = Some(rest % choices).filter(|host| *host < set.hosts.len()).map(HostIdx::new);
            rest /= choices;
        }
        if faults(set, &at).is_empty() {
            let value = value(set, &at, then);
            if best.as_ref().is_none_or(|(best, _)| value > *best) {
                best = Some((value, at.clone()));
            }
        }
    }
    best.expect("nothing placed follows all rules")
}

fn random_clusters(hosts: usize, primitives: usize, count: u64) -> impl Iterator<Item = (u64, WorkingSet)> {
    random(
        Dimensions { hosts, primitives, clones: false, failures: false, several: false, changed: false },
        count,
    )
}

fn random(of: Dimensions, count: u64) -> impl Iterator<Item = (u64, WorkingSet)> {
    let document = move |number| {
        let mut random = Random::stream(25, number);
        (number, random_cib::document(of, &mut random))
    };
    let read =
        |(number, text): (u64, String)| cib::parse(&text, &number.to_string()).ok().map(|set| (number, set));
    (0..count).map(document).filter_map(read).filter(|(_, set)| set.unsupported.is_empty())
}

fn goal(number: u64) -> ThenGoal {
    if number.is_multiple_of(3) { ThenGoal::Minimal } else { ThenGoal::Balanced }
}

#[test]
fn nothing_tried_is_better() {
    let mut tried = 0;
    for (number, set) in random_clusters(3, 5, 260) {
        let placed = best(&set, goal(number));
        let ours = places(&set, &placed);
        assert_eq!(faults(&set, &ours), Vec::<String>::new(), "{number}");
        let (wanted, names) = by_trying_all(&set, goal(number));
        assert_eq!(value(&set, &ours, goal(number)), wanted, "{number}");
        assert_eq!(ours, names, "{number}");
        assert_eq!(placed.optimum.unwrap().proved, Some(PlacingStage::Names), "{number}");
        tried += 1;
    }
    assert!(tried > 150, "{tried}");
}

fn case(name: &str) -> WorkingSet {
    cib::parse(&fs::read_to_string(format!("tests/fixtures/pacemaker/{name}.xml")).unwrap(), name).unwrap()
}

/// The running resources in the end, and the number of running ones that are moved.
fn outcome(set: &WorkingSet, placed: &AllPlaced) -> (Vec<String>, usize) {
    let changes = ResourceChanges::of(set, set.strategy(), placed);
    let row = |one: ResourceIdx| {
        let host = changes.get(one).runs_on()?;
        Some(format!("{} {}", set.resource(one).id, set.host(host).name))
    };
    let moved = primitives(set).filter(|one| {
        let (was, now) = (set.resource(*one).active, changes.get(*one).runs_on());
        was.is_some() && now.is_some() && was != now
    });
    (primitives(set).filter_map(row).collect(), moved.count())
}

/// The optimum of known clusters, found by trying all assignments: number running, number moved, and some hosts.
#[test]
fn the_optimum_of_known_clusters() {
    let seed: &[&str] = &["rsc-small node2", "rsc-medium node1", "rsc-large node2"];
    let known: [(&str, usize, Option<usize>, &[&str]); 12] = [
        ("seed-balanced", 3, Some(0), seed),
        ("seed-utilization", 3, Some(0), seed),
        ("seed-minimal", 3, Some(0), seed),
        ("location-scores", 4, None, &["vm3 node1", "vm4 node1"]),
        ("priority-order", 3, None, &[]),
        ("active-first", 2, Some(0), &[]),
        ("no-stickiness", 4, Some(0), &[]),
        ("anti-colocation", 2, None, &[]),
        ("maintenance-unmanaged", 3, None, &[]),
        ("swap-migrate", 2, Some(2), &[]),
        ("chain-migrate", 2, Some(2), &[]),
        ("group", 4, None, &[]),
    ];
    for (name, count, moves, some) in known {
        let set = case(name);
        let placed = best(&set, ThenGoal::Balanced);
        let (runs, moved) = outcome(&set, &placed);
        println!("{name}: {runs:?}, {moved} moves");
        assert_eq!(runs.len(), count, "{name}: {runs:?}");
        assert!(moves.is_none_or(|moves| moves == moved), "{name}: {moved} moves, {runs:?}");
        for one in some {
            assert!(runs.iter().any(|row| row == one), "{name}: {one} in {runs:?}");
        }
        assert_eq!(faults(&set, &places(&set, &placed)), Vec::<String>::new(), "{name}");
        let optimum = placed.optimum.unwrap();
        assert_eq!(optimum.proved, Some(PlacingStage::Names), "{name}");
        assert_eq!(optimum.not_followed, [], "{name}");
    }
}

/// Number running of each priority, and number of overcommitted hosts.
fn running(set: &WorkingSet, placed: &AllPlaced) -> (Vec<(Reverse<AllocationScore>, usize)>, usize) {
    let changes = ResourceChanges::of(set, set.strategy(), placed);
    let mut counts: BTreeMap<Reverse<AllocationScore>, usize> = BTreeMap::new();
    for one in primitives(set).filter(|one| is_placed_by_us(set, *one)) {
        let count = counts.entry(Reverse(set.resource(one).priority)).or_default();
        // A resource in a circle of orders waits wherever it is placed.
        let waits = changes.causes[one.get()] == Some(WaitReason::Circle);
        *count += usize::from(placed.host(one).is_some() && (waits || changes.get(one).runs_on().is_some()));
    }
    let over = |host: &HostIdx| placed.remaining[host.get()].iter().any(|(_, left)| left < 0);
    (counts.into_iter().collect(), set.host_indices().filter(over).count())
}

#[test]
fn no_strategy_runs_more() {
    let (mut compared, mut better) = (0, 0);
    for (number, set) in random_clusters(4, 9, 400) {
        let ours = best(&set, ThenGoal::Balanced);
        assert_eq!(faults(&set, &places(&set, &ours)), Vec::<String>::new(), "{number}");
        let (mine, _) = running(&set, &ours);
        for strategy in [Strategy::Utilization, Strategy::Balanced, Strategy::Minimal] {
            let placed = place(&set, strategy).unwrap();
            let (theirs, over) = running(&set, &placed);
            let is_ruled = faults(&set, &places(&set, &placed)).is_empty();
            // A placement that breaks a rule, or uses the room of unmanaged resources, can run more.
            if over > 0 || !is_ruled {
                continue;
            }
            assert!(mine >= theirs, "{number}, {strategy}: {mine:?} {theirs:?}");
            compared += 1;
            better += usize::from(mine > theirs);
        }
    }
    assert!(compared > 300 && better > 20, "{compared} {better}");
}

/// Violations of the rules, in clusters with clones.
fn faults_with_clones(set: &WorkingSet, at: &Places) -> Vec<String> {
    let is_clone = |one: ResourceIdx| set.resource(one).is_clone();
    let mut plain = set.clone();
    plain.colocations.retain(|of| !is_clone(of.dependent) && !is_clone(of.primary));
    plain.orders.retain(|of| !is_clone(of.first) && !is_clone(of.then));
    let mut faults = faults(&plain, at);
    let is_with_clone = |of: &&Colocation| is_clone(of.primary) && !is_clone(of.dependent);
    for colocation in set.colocations.iter().filter(is_with_clone) {
        let dependent = set.primitives(&colocation.dependent)[0];
        let Some(here) = at[dependent.get()].filter(|_| set.is_managed(dependent)) else { continue };
        let attribute = colocation.attribute.as_deref();
        let is_near = set
            .primitives(&colocation.primary)
            .iter()
            .any(|part| at[part.get()].is_some_and(|there| agree(set, attribute, here, there)));
        if (colocation.score == INFINITY && !is_near) || (colocation.score == NEVER && is_near) {
            faults.push(format!("{} by {}", set.resource(dependent).id, colocation.id));
        }
    }
    faults
}

#[test]
fn around_clones_no_strategy_runs_more() {
    let (mut compared, mut better, mut tied) = (0, 0, 0);
    for (number, set) in random(
        Dimensions { hosts: 4, primitives: 9, clones: true, failures: false, several: false, changed: false },
        900,
    ) {
        if set.clones().next().is_none() || set.strategy() == Strategy::Default {
            continue;
        }
        let ours = best(&set, ThenGoal::Balanced);
        let placed = place(&set, set.strategy()).unwrap();
        let [ours_at, theirs_at] = [&ours, &placed].map(|placed| places(&set, placed));
        // Clones that precede unmanaged resources can take room that does not exist.
        let known = faults_with_clones(&set, &theirs_at);
        let new = faults_with_clones(&set, &ours_at).into_iter().find(|fault| !known.contains(fault));
        assert_eq!(new, None, "{number}");
        let parts = set.clones().flat_map(|clone| set.primitives(&clone).into_owned());
        for part in parts.filter(|part| set.is_managed(*part)) {
            assert_eq!(ours.host(part), placed.host(part), "{number}");
        }
        let (theirs, over) = running(&set, &placed);
        if over == 0 && known.is_empty() {
            let (mine, _) = running(&set, &ours);
            assert!(mine >= theirs, "{number}: {mine:?} {theirs:?}");
            compared += 1;
            better += usize::from(mine > theirs);
            tied += usize::from(set.colocations.iter().any(|of| set.resource(of.primary).is_clone()));
        }
    }
    assert!(compared > 60 && better > 3 && tied > 15, "{compared} {better} {tied}");
}

#[test]
fn less_room_never_runs_more_and_fewer_rules_never_run_fewer() {
    for (number, set) in random_clusters(4, 6, 120) {
        let runs = |set: &WorkingSet| {
            let placed = best(set, ThenGoal::Balanced);
            assert!(placed.optimum.as_ref().unwrap().proved.is_some(), "{number}");
            let value = value(set, &places(set, &placed), ThenGoal::Balanced);
            value.0
        };
        let all = runs(&set);
        for host in set.host_indices() {
            let mut less = set.clone();
            less.hosts[host.get()].state.standby = true;
            assert!(runs(&less) <= all, "{number} without {}", set.host(host).name);
        }
        let mut looser = Vec::new();
        looser.extend((0..set.colocations.len()).map(|at| {
            let mut looser = set.clone();
            looser.colocations.remove(at);
            looser
        }));
        // If several orders concern the same two resources, the first counts.
        looser.extend(set.orders.iter().map(|order| {
            let mut looser = set.clone();
            looser.orders.retain(|other| (other.first, other.then) != (order.first, order.then));
            looser
        }));
        looser.extend((0..set.choices.len()).map(|at| {
            let mut looser = set.clone();
            looser.choices.remove(at);
            looser
        }));
        for looser in looser {
            assert!(runs(&looser) >= all, "{number}");
        }
    }
}

#[test]
fn limits_are_kept() {
    let all_managed = |set: &WorkingSet| primitives(set).all(|one| set.is_managed(one));
    for (number, set) in random_clusters(4, 10, 150).filter(|(_, set)| all_managed(set)) {
        for (steps, moves) in [(1, None), (500, None), (20_000, Some(0)), (20_000, Some(1))] {
            let limits = PlacingLimits { steps, moves, deadline: Deadline::never() };
            let placed = optimal(&set, ThenGoal::Balanced, &limits).unwrap();
            let again = optimal(&set, ThenGoal::Balanced, &limits).unwrap();
            assert_eq!(placed, again, "{number}");
            let at = places(&set, &placed);
            assert_eq!(faults(&set, &at), Vec::<String>::new(), "{number}");
            let could_stay = |one: ResourceIdx, home: HostIdx| {
                let score = set.resource(one).scores.or_never(home);
                let has_room = set.host(home).capacity.hold(&set.resource(one).utilization);
                set.host(home).state.available() && score > NEVER && has_room
            };
            let moved = primitives(&set).filter(|one| {
                let (home, now) = (set.resource(*one).active, at[one.get()]);
                let moves = home.zip(now).is_some_and(|(home, now)| home != now && could_stay(*one, home));
                moves && is_placed_by_us(&set, *one)
            });
            let moved = moved.count();
            assert!(moves.is_none_or(|most| moved <= most), "{number}: {moved} moves");
        }
    }
}

/// The plan for the best placement passes the independent checker.
#[test]
fn its_plan_can_be_carried_out() {
    for (number, set) in random_clusters(4, 8, 120) {
        let placed = best(&set, ThenGoal::Balanced);
        let plan = transition(&set, set.strategy(), &placed);
        let faults = htools::pacemaker::transition::checker::check(&set, set.strategy(), &placed, &plan);
        assert_eq!(faults, [], "{number}");
    }
}
