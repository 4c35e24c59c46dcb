//! Rules and value of a placement on a Pacemaker cluster, computed plainly from the configuration. Tests compare them
//! with the strategy `optimal`.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};

use htools::pacemaker::optimal::ThenGoal;
use htools::pacemaker::working_set::{Colocation, OrderStrength, StartOrder};
use htools::pacemaker::{AllocationScore, AttributeIdx, HostIdx, ResourceIdx, WorkingSet};

/// Host of every resource, by resource.
pub type Places = Vec<Option<HostIdx>>;

pub const INFINITY: AllocationScore = AllocationScore::INFINITY;
pub const NEVER: AllocationScore = AllocationScore::MINUS_INFINITY;

pub fn primitives(set: &WorkingSet) -> impl Iterator<Item = ResourceIdx> + '_ {
    set.resource_indices().filter(|one| set.resource(*one).is_primitive())
}

/// Tells if the placement decides about a primitive.
pub fn is_placed_by_us(set: &WorkingSet, one: ResourceIdx) -> bool {
    let of = set.resource(one);
    !of.is_group() && set.is_managed(one) && !of.stopped && !set.stop_all
}

pub fn agree(set: &WorkingSet, attribute: Option<&str>, one: HostIdx, other: HostIdx) -> bool {
    let value = |host: HostIdx, name| set.host(host).attribute(name).map(str::to_lowercase);
    attribute.map_or(one == other, |name| value(one, name) == value(other, name))
}

/// The pairs of primitives that a colocation concerns. There is one, or more if an unmanaged member does not hold
/// back those after it.
pub fn ends(set: &WorkingSet, colocation: &Colocation) -> Vec<(ResourceIdx, ResourceIdx)> {
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

/// Dependencies between primitives: (first, then, symmetrical).
pub fn needs(set: &WorkingSet) -> Vec<(ResourceIdx, ResourceIdx, bool)> {
    let mut seen = HashSet::new();
    let orders = set.orders.iter().filter(|order| seen.insert((order.first, order.then)));
    let mandatory = orders.filter(|order| order.strength == OrderStrength::Mandatory);
    let mut needs: Vec<_> = mandatory.map(|order| (order.first, order.then, order.symmetrical)).collect();
    for group in set.groups() {
        needs.extend(set.resource(group).members.windows(2).map(|pair| (pair[0], pair[1], true)));
    }
    needs
}

pub fn members(set: &WorkingSet, one: ResourceIdx) -> Vec<ResourceIdx> {
    set.primitives(&one).to_vec()
}

/// Violations of the rules by a placement.
pub fn faults(set: &WorkingSet, at: &Places) -> Vec<String> {
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
            // If the host lacks this kind of capacity, its existing use does not make the remainder negative.
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
    for choice in &set.choices {
        let runs = |first: ResourceIdx| {
            set.resource(first).is_group() || members(set, first).iter().any(|one| at[one.get()].is_some())
        };
        for then in choice.dependents.iter().flat_map(|then| members(set, *then)) {
            let others = choice.firsts.iter().filter(|first| **first != then && runs(**first));
            if is_placed_by_us(set, then) && at[then.get()].is_some() && others.count() < choice.enough {
                faults.push(format!("{} needs some of {}", id(then), choice.mark));
            }
        }
    }
    faults
}

/// Pairs in which the later primitive gives up its live migration if the first one stops, in addition to pairs with a
/// dependency.
fn gives_up(set: &WorkingSet) -> Vec<(ResourceIdx, ResourceIdx)> {
    let is_mandatory = |strength: OrderStrength| strength == OrderStrength::Mandatory;
    let of_choices = set.choices.iter().filter(|choice| is_mandatory(choice.strength));
    let mut pairs: Vec<_> =
        of_choices.flat_map(|choice| choice.stops.iter().map(|pair| (pair.first, pair.then))).collect();
    for order in set.orders.iter().filter(|order| order.symmetrical && is_mandatory(order.strength)) {
        let same = |other: &&_| is_same_pair(order, other);
        let before: Vec<_> =
            set.orders.iter().take_while(|other| !std::ptr::eq(*other, order)).filter(same).collect();
        let binds = |other: &&StartOrder| other.symmetrical || is_mandatory(other.strength);
        if !before.is_empty() && !before.iter().any(binds) {
            pairs.push((order.first, order.then));
        }
    }
    pairs
}

fn is_same_pair(one: &StartOrder, other: &StartOrder) -> bool {
    (one.first, one.then) == (other.first, other.then)
}

/// The stages: number placed of each priority, highest first; score; stops and migrations; the last tie-breaker.
pub type Value = (Vec<(Reverse<AllocationScore>, usize)>, i64, Reverse<(usize, usize)>, Reverse<i128>);

pub fn value(set: &WorkingSet, at: &Places, then: ThenGoal) -> Value {
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

/// Number of running primitives that are stopped, temporarily or for good, and number of live migrations.
pub fn disruption(set: &WorkingSet, at: &Places) -> (usize, usize) {
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
        for (first, then) in gives_up(set) {
            let is_group = set.resource(first).is_group();
            let goes = |one: &ResourceIdx| down.contains(one) || (is_group && lives.contains(one));
            let is_single = !set.resource(then).is_group();
            if is_single && members(set, first).iter().any(goes) && lives.remove(&then) {
                down.insert(then);
            }
        }
        if before == (down.len(), lives.len()) {
            break;
        }
    }
    // A primitive that must not or cannot run is stopped in any case.
    let ours = |one: &ResourceIdx| is_placed_by_us(set, *one);
    (down.into_iter().filter(|one| ours(one)).count(), lives.len())
}

pub fn rest(set: &WorkingSet, at: &Places, then: ThenGoal) -> i128 {
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
