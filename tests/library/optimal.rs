//! The best placement: what it must be on known clusters, and on small random ones that nothing tried is better. Rules and
//! values are worked out here once more, plainly, from what the cluster says.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};
use std::fs;

use super::transition::random_cib::{self, Dimensions};
use htools::generate::random::Random;
use htools::placement::optimal::{PlacingLimits, PlacingStage, ThenGoal};
use htools::placement::working_set::{Colocation, OrderStrength};
use htools::placement::{
    AllPlaced, AllocationScore, AttributeIdx, HostIdx, ResourceChanges, ResourceIdx, Strategy, WorkingSet,
    cib, optimal, place, transition,
};
use htools::search::Deadline;

/// Where every resource is, by resource.
type Places = Vec<Option<HostIdx>>;

const INFINITY: AllocationScore = AllocationScore::INFINITY;
const NEVER: AllocationScore = AllocationScore::MINUS_INFINITY;

fn limits() -> PlacingLimits {
    PlacingLimits { steps: 20_000_000, moves: None, deadline: Deadline::never() }
}

fn best(set: &WorkingSet, then: ThenGoal) -> AllPlaced {
    optimal(set, then, &limits()).unwrap()
}

fn places(set: &WorkingSet, placed: &AllPlaced) -> Places {
    set.resource_indices().map(|one| placed.host(one)).collect()
}

fn primitives(set: &WorkingSet) -> impl Iterator<Item = ResourceIdx> + '_ {
    set.resource_indices().filter(|one| !set.resource(*one).is_group())
}

/// Whether a primitive is to be placed.
fn is_placed_by_us(set: &WorkingSet, one: ResourceIdx) -> bool {
    let of = set.resource(one);
    !of.is_group() && set.is_managed(one) && !of.stopped && !set.stop_all
}

fn agree(set: &WorkingSet, attribute: Option<&str>, one: HostIdx, other: HostIdx) -> bool {
    let value = |host: HostIdx, name| set.host(host).attribute(name).map(str::to_lowercase);
    attribute.map_or(one == other, |name| value(one, name) == value(other, name))
}

/// The two primitives that a colocation is about, or more, where a member that is not managed keeps nobody back.
fn ends(set: &WorkingSet, colocation: &Colocation) -> Vec<(ResourceIdx, ResourceIdx)> {
    let is_must = colocation.score == INFINITY;
    let primary = match &set.resource(colocation.primary).members[..] {
        [] => colocation.primary,
        [.., last] if is_must => *last,
        [first, ..] => *first,
    };
    let dependent = set.resource(colocation.dependent);
    let mut dependents = vec![*dependent.members.first().unwrap_or(&colocation.dependent)];
    if is_must {
        let held = dependent.members.iter().position(|member| {
            let of = set.resource(*member);
            !of.managed || of.active.is_some_and(|host| set.host(host).state.maintenance)
        });
        dependents.extend(held.into_iter().flat_map(|at| dependent.members[at + 1..].to_vec()));
    }
    dependents.into_iter().filter(|one| *one != primary).map(|one| (one, primary)).collect()
}

/// Who needs whom, in which way: (first, then, symmetrical).
fn needs(set: &WorkingSet) -> Vec<(ResourceIdx, ResourceIdx, bool)> {
    let mut seen = HashSet::new();
    let orders = set.orders.iter().filter(|order| seen.insert((order.first, order.then)));
    let mandatory = orders.filter(|order| order.strength == OrderStrength::Mandatory);
    let mut needs: Vec<_> = mandatory.map(|order| (order.first, order.then, order.symmetrical)).collect();
    for group in set.groups() {
        needs.extend(set.resource(group).members.windows(2).map(|pair| (pair[0], pair[1], true)));
    }
    needs
}

fn members(set: &WorkingSet, one: ResourceIdx) -> Vec<ResourceIdx> {
    set.primitives(&one).to_vec()
}

/// What a placement does against the rules.
fn faults(set: &WorkingSet, at: &Places) -> Vec<String> {
    let mut faults = Vec::new();
    let id = |one: ResourceIdx| set.resource(one).id.as_str();
    for one in primitives(set) {
        let of = set.resource(one);
        match at[one.get()] {
            here if !set.is_managed(one) && here == of.active => {}
            _ if !set.is_managed(one) => faults.push(format!("{} is not managed", id(one))),
            Some(_) if !is_placed_by_us(set, one) => faults.push(format!("{} shall not run", id(one))),
            Some(host) => {
                let state = set.host(host).state;
                let is_up = state.online
                    && !state.standby
                    && !state.maintenance
                    && !state.shutting_down
                    && !state.unclean;
                if !is_up || of.scores.get(host).is_none_or(|score| score == NEVER) {
                    faults.push(format!("{} must not be there", id(one)));
                }
            }
            None => {}
        }
    }
    for host in set.host_indices() {
        for kind in (0..set.attributes.len()).map(AttributeIdx::new) {
            let here = |one: &ResourceIdx| at[one.get()] == Some(host);
            let sum = |managed: bool| -> i64 {
                let these = primitives(set).filter(here).filter(|one| set.is_managed(*one) == managed);
                these.map(|one| set.resource(one).utilization.get(kind)).sum()
            };
            let charges = set.charges.iter().filter(|charge| charge.host == host);
            let has = set.host(host).capacity.get(kind)
                - charges.map(|charge| charge.utilization.get(kind)).sum::<i64>();
            // a kind that the host does not have is not owed either
            let lacks = set.host(host).capacity.iter().all(|(other, _)| other != kind);
            let left = if lacks { has.max(0) } else { has } - if lacks { 0 } else { sum(false) };
            let lists = |one: &ResourceIdx| {
                set.is_managed(*one) && set.resource(*one).utilization.iter().any(|(other, _)| other == kind)
            };
            if primitives(set).filter(here).any(|one| lists(&one)) && sum(true) > left {
                faults.push(format!("{} holds too much", set.host(host).name));
            }
        }
    }
    for colocation in &set.colocations {
        for (dependent, primary) in ends(set, colocation) {
            let (here, there) = (at[dependent.get()], at[primary.get()]);
            let near =
                here.zip(there).map(|(here, there)| agree(set, colocation.attribute.as_deref(), here, there));
            let is_free = set.is_managed(dependent);
            let some_is_free = is_free || set.is_managed(primary);
            let breaks_must = colocation.score == INFINITY && is_free && here.is_some() && near != Some(true);
            let breaks_never = colocation.score == NEVER && some_is_free && near == Some(true);
            if breaks_must || breaks_never {
                faults.push(format!("{} and {} by {}", id(dependent), id(primary), colocation.id));
            }
        }
    }
    for (first, then, symmetrical) in needs(set) {
        let runs = members(set, first).iter().all(|one| at[one.get()].is_some());
        for one in members(set, then).into_iter().filter(|one| is_placed_by_us(set, *one)) {
            let of = set.resource(one);
            let is_exempt = of.group == Some(first) || (!symmetrical && of.active.is_some());
            let others_run =
                || members(set, first).iter().all(|other| *other == one || at[other.get()].is_some());
            if at[one.get()].is_some() && !is_exempt && !runs && !others_run() {
                faults.push(format!("{} needs {}", id(one), id(first)));
            }
        }
    }
    faults
}

/// The stages: how many of each priority, highest first; the score; stops and migrations; what decides then.
type Value = (Vec<(Reverse<AllocationScore>, usize)>, i64, Reverse<(usize, usize)>, Reverse<i128>);

fn value(set: &WorkingSet, at: &Places, then: ThenGoal) -> Value {
    let mut counts: BTreeMap<Reverse<AllocationScore>, usize> = BTreeMap::new();
    let mut score = 0;
    for one in primitives(set).filter(|one| is_placed_by_us(set, *one)) {
        let count = counts.entry(Reverse(set.resource(one).priority)).or_default();
        if let Some(host) = at[one.get()] {
            *count += 1;
            score += i64::from(set.resource(one).scores.get(host).unwrap().get());
        }
    }
    for colocation in &set.colocations {
        for (dependent, primary) in ends(set, colocation) {
            let is_wish = match colocation.score {
                INFINITY => !set.is_managed(dependent) && set.is_managed(primary),
                score => score != NEVER && (set.is_managed(dependent) || set.is_managed(primary)),
            };
            if let (true, Some(here), Some(there)) = (is_wish, at[dependent.get()], at[primary.get()])
                && agree(set, colocation.attribute.as_deref(), here, there)
            {
                score += i64::from(colocation.score.get());
            }
        }
    }
    (counts.into_iter().collect(), score, Reverse(disruption(set, at)), Reverse(rest(set, at, then)))
}

/// How many running primitives are stopped, for a while or for good, and how many move while they run.
fn disruption(set: &WorkingSet, at: &Places) -> (usize, usize) {
    let live =
        |one: ResourceIdx, from: HostIdx| set.resource(one).allow_migrate && set.host(from).state.online;
    let goes = |one: ResourceIdx| match (set.resource(one).active, at[one.get()]) {
        (Some(from), Some(to)) if set.is_managed(one) && from != to => Some(live(one, from)),
        _ => None,
    };
    let (mut down, mut lives): (HashSet<ResourceIdx>, HashSet<ResourceIdx>) = Default::default();
    for one in primitives(set).filter(|one| set.is_managed(*one)) {
        match (set.resource(one).active, at[one.get()], goes(one)) {
            (_, _, Some(true)) => drop(lives.insert(one)),
            (Some(_), None, _) | (_, _, Some(false)) => drop(down.insert(one)),
            _ => {}
        }
    }
    loop {
        let before = (down.len(), lives.len());
        for (first, then, _) in needs(set).into_iter().filter(|(.., symmetrical)| *symmetrical) {
            let group = |one: ResourceIdx| set.resource(one).is_group();
            let same =
                set.resource(first).group.is_some() && set.resource(first).group == set.resource(then).group;
            let firsts = members(set, first);
            let migrates = (group(first) || same) && firsts.iter().any(|one| lives.contains(one));
            let starts = firsts.iter().any(|one| {
                let is_new = set.is_managed(*one) && set.resource(*one).active.is_none();
                at[one.get()].is_some() && (is_new || down.contains(one))
            });
            let stops = firsts.iter().any(|one| down.contains(one));
            for one in members(set, then) {
                let stays = set.resource(one).active.is_some() && set.resource(one).active == at[one.get()];
                if lives.contains(&one) {
                    if !group(then) && (stops || (group(first) && migrates)) {
                        lives.remove(&one);
                        down.insert(one);
                    }
                } else if stays && set.is_managed(one) && (starts || migrates) {
                    down.insert(one);
                }
            }
        }
        if before == (down.len(), lives.len()) {
            break;
        }
    }
    // what shall not run, or cannot, is stopped whatever is done
    let ours = |one: &ResourceIdx| is_placed_by_us(set, *one);
    (down.into_iter().filter(|one| ours(one)).count(), lives.len())
}

fn rest(set: &WorkingSet, at: &Places, then: ThenGoal) -> i128 {
    let up = || set.host_indices().filter(|host| set.host(*host).state.available());
    let on = |host: HostIdx| primitives(set).filter(move |one| at[one.get()] == Some(host));
    if then == ThenGoal::Minimal {
        return up().filter(|host| on(*host).next().is_some()).count() as i128;
    }
    let use_of = |host: HostIdx, kind: AttributeIdx| -> i128 {
        let has = set.host(host).capacity.get(kind);
        let used = |one: ResourceIdx| set.resource(one).utilization.get(kind);
        let lacks = set.host(host).capacity.iter().all(|(other, _)| other != kind);
        let fixed = |one: &ResourceIdx| !set.is_managed(*one);
        let sum = |these: Vec<ResourceIdx>| these.into_iter().map(used).sum::<i64>();
        let (fixed, free): (Vec<_>, Vec<_>) = on(host).partition(fixed);
        let sum = if lacks { 0 } else { sum(fixed) } + sum(free);
        i128::from(sum) * 1_000_000 / i128::from(has.max(1))
    };
    let spread = |kind: AttributeIdx| {
        let uses: Vec<i128> = up().map(|host| use_of(host, kind)).collect();
        let (sum, squares): (i128, i128) = (uses.iter().sum(), uses.iter().map(|one| one * one).sum());
        uses.len() as i128 * squares - sum * sum
    };
    (0..set.attributes.len()).map(|kind| spread(AttributeIdx::new(kind))).sum()
}

/// The best of all placements, and of those that are equal the first by names.
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
        // the last one changes fastest, and none comes after the last host
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
    let document = move |number| {
        let mut random = Random::stream(25, number);
        (number, random_cib::document(Dimensions { hosts, primitives, clones: false }, &mut random))
    };
    let read =
        |(number, text): (u64, String)| cib::parse(&text, &number.to_string()).ok().map(|set| (number, set));
    (0..count).map(document).filter_map(read).filter(|(_, set)| set.outside.is_empty())
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

/// What runs in the end, and how many running ones are moved.
fn outcome(set: &WorkingSet, placed: &AllPlaced) -> (Vec<String>, usize) {
    let changes = ResourceChanges::of(set, placed);
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

/// The optimum of known clusters, found by trying all assignments: how many run, how many move, and where some are.
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

/// How many run of each priority, and how many hosts hold more than they have.
fn running(set: &WorkingSet, placed: &AllPlaced) -> (Vec<(Reverse<AllocationScore>, usize)>, usize) {
    let changes = ResourceChanges::of(set, placed);
    let mut counts: BTreeMap<Reverse<AllocationScore>, usize> = BTreeMap::new();
    for one in primitives(set).filter(|one| is_placed_by_us(set, *one)) {
        let count = counts.entry(Reverse(set.resource(one).priority)).or_default();
        *count += usize::from(placed.host(one).is_some() && changes.get(one).runs_on().is_some());
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
            // what takes the room of what is not managed, or keeps to no rule, can run more
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
        looser.extend((0..set.orders.len()).map(|at| {
            let mut looser = set.clone();
            looser.orders.remove(at);
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

/// The plan for the best placement passes the checker of plans.
#[test]
fn its_plan_can_be_carried_out() {
    for (number, set) in random_clusters(4, 8, 120) {
        let placed = best(&set, ThenGoal::Balanced);
        let plan = transition(&set, set.strategy(), &placed);
        let faults = htools::placement::transition::checker::check(&set, set.strategy(), &placed, &plan);
        assert_eq!(faults, [], "{number}");
    }
}
