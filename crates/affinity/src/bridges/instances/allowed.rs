//! Hosts that each unit may use.

use std::collections::{BTreeMap, BTreeSet};

use super::holds::{by_node, unit_of};
use super::nodes::Measures;
use super::{HoldReason, MovableUnit, charge_clones, needed};
use htools_pacemaker::capacity::Capacities;
use htools_pacemaker::index::{AttributeIdx, HostIdx, ResourceIdx};
use htools_pacemaker::promotion::Role;
use htools_pacemaker::score::{AllocationScore, ScoreTable};
use htools_pacemaker::working_set::{Colocation, WorkingSet};

/// Hosts that each unit may use, and the units that it must avoid.
pub(super) struct AllowedHosts {
    /// For each unit that may move, the forbidden hosts.
    kept_out: BTreeMap<usize, Vec<HostIdx>>,
    /// For each unit, tags that it shares with each unit that it must avoid.
    apart: Vec<Vec<String>>,
}

impl AllowedHosts {
    /// Finds the allowed hosts, and holds units that have no other host.
    pub(super) fn of(set: &WorkingSet, measures: &Measures, units: &mut [MovableUnit]) -> AllowedHosts {
        let unit_of = unit_of(set, units);
        let scores = wishes(set);
        let clones = by_clones(set, &unit_of, units);
        let apart = apart(set, &unit_of, units.len());
        let wide = WideHosts::of(set, units);
        let mut kept_out = BTreeMap::new();
        for (at, unit) in units.iter_mut().enumerate().filter(|(_, unit)| unit.hold.is_none()) {
            let amounts = needed(set, &unit.members);
            let is_wanted = |host: HostIdx| {
                unit.members.iter().chain([&unit.resource]).all(|one| {
                    let table = &scores[one.get()];
                    let (there, here) = (table.or_never(host), table.or_never(unit.host));
                    there > AllocationScore::MINUS_INFINITY && there >= here
                }) && clones[at].iter().all(|bound| bound.hosts.contains(&host) == bound.wanted)
            };
            let scarce =
                |kind: AttributeIdx, host: HostIdx| amounts.get(kind) > 0 && !wide.holds_all(kind, host);
            let may = |host: HostIdx| {
                set.host(host).guest.is_none()
                    && set.host(host).state.available()
                    && is_wanted(host)
                    && !measures.unmeasured(set).any(|kind| scarce(kind, host))
            };
            let others = set.host_indices().filter(|host| *host != unit.host);
            let (allowed, mut kept): (Vec<HostIdx>, Vec<HostIdx>) = others.partition(|host| may(*host));
            // A unit that must not be on its host does not return there; the same holds if the host lacks capacity for
            // it.
            let crowds = |kind: AttributeIdx| amounts.get(kind) > 0 && wide.is_crowded(kind, unit.host);
            let stays_away = !is_wanted(unit.host) || measures.unmeasured(set).any(crowds);
            kept.extend(stays_away.then_some(unit.host));
            if allowed.is_empty() {
                unit.hold = Some(HoldReason::NoOther);
            } else {
                kept_out.insert(at, kept);
            }
        }
        AllowedHosts { kept_out, apart }
    }

    /// Every unit with each of its forbidden hosts.
    pub(super) fn kept_out(&self) -> impl Iterator<Item = (usize, HostIdx)> + '_ {
        self.kept_out.iter().flat_map(|(at, hosts)| hosts.iter().map(|host| (*at, *host)))
    }

    /// The tags that a unit shares with each unit that it must avoid.
    pub(super) fn apart(&self, unit: usize) -> Vec<String> {
        self.apart[unit].clone()
    }
}

/// Prefix of the tags that keep units apart.
pub(super) const APART: &str = "apart:";

/// For each resource, its scores on the hosts without stickiness.
fn wishes(set: &WorkingSet) -> Vec<ScoreTable> {
    let mut set = set.clone();
    set.resources.iter_mut().for_each(|resource| resource.stickiness = AllocationScore::ZERO);
    set.set_scores();
    set.resources.into_iter().map(|resource| resource.scores).collect()
}

/// Hosts on which a unit must be (`wanted`) or must not be, because of a colocation with a clone.
#[derive(Clone)]
struct CloneBound {
    hosts: BTreeSet<HostIdx>,
    wanted: bool,
}

/// For each unit, its bounds by clones.
fn by_clones(set: &WorkingSet, unit_of: &[Option<usize>], units: &[MovableUnit]) -> Vec<Vec<CloneBound>> {
    let mut bounds = vec![Vec::new(); units.len()];
    for colocation in set.colocations.iter().filter(|colocation| by_node(colocation)) {
        let Colocation { dependent, primary, dependent_role, primary_role, .. } = colocation;
        for (one, other, role) in [(dependent, primary, primary_role), (primary, dependent, dependent_role)] {
            let Some(at) = unit_of[one.get()].filter(|_| set.resource(*other).is_clone()) else { continue };
            let hosts = active(set, *other, *role);
            let here = hosts.contains(&units[at].host);
            let (must, wanted) = (colocation.score.is_infinite(), colocation.score > AllocationScore::ZERO);
            // A preference that is not met now does not bind.
            if colocation.score != AllocationScore::ZERO && (must || here == wanted) {
                bounds[at].push(CloneBound { hosts, wanted });
            }
        }
    }
    bounds
}

/// Hosts on which a part of a clone runs, in a role if one is given.
fn active(set: &WorkingSet, clone: ResourceIdx, role: Option<Role>) -> BTreeSet<HostIdx> {
    let parts = set.primitives(&clone);
    let details = parts.iter().map(|part| set.resource(*part));
    let counts = details.filter(|part| role.is_none_or(|role| role == Role::of(part.promoted)));
    counts.filter_map(|part| part.active).collect()
}

/// For each unit, a tag for each other unit that it must or should avoid.
fn apart(set: &WorkingSet, unit_of: &[Option<usize>], units: usize) -> Vec<Vec<String>> {
    let negative = set.colocations.iter().filter(|c| c.score < AllocationScore::ZERO && by_node(c));
    let pair = negative.filter_map(|c| Some((unit_of[c.dependent.get()]?, unit_of[c.primary.get()]?)));
    let pairs: BTreeSet<(usize, usize)> = pair
        .filter(|(one, other)| one != other)
        .map(|(one, other)| (one.min(other), one.max(other)))
        .collect();
    let mut tags = vec![Vec::new(); units];
    for (one, other) in pairs {
        let tag = format!("{APART}{one}-{other}");
        tags[one].push(tag.clone());
        tags[other].push(tag);
    }
    tags
}

/// Capacities of the hosts against the needs of all units together.
struct WideHosts {
    /// Capacity of each host.
    room: Vec<Capacities>,
    /// Present use by units on each host.
    taken: Vec<Capacities>,
    /// Total of the positive needs of all units.
    all: Capacities,
}

impl WideHosts {
    fn of(set: &WorkingSet, units: &[MovableUnit]) -> WideHosts {
        let (mut all, mut taken) = (Capacities::default(), vec![Capacities::default(); set.hosts.len()]);
        for unit in units {
            let needed = needed(set, &unit.members);
            taken[unit.host.get()].add(&needed);
            for (kind, amount) in needed.iter().filter(|(_, amount)| *amount > 0) {
                all.set(kind, all.get(kind).saturating_add(amount));
            }
        }
        let (mut room, mut clones) = (set.room(), vec![Capacities::default(); set.hosts.len()]);
        charge_clones(set, &mut clones);
        room.iter_mut().zip(&clones).for_each(|(room, taken)| room.charge(taken));
        WideHosts { room, taken, all }
    }

    /// Tells if a host has enough of a kind for all units together, so that it does not matter which units come.
    fn holds_all(&self, kind: AttributeIdx, host: HostIdx) -> bool {
        self.room[host.get()].get(kind) >= self.all.get(kind)
    }

    /// Tells if a host uses more of a kind now than it has.
    fn is_crowded(&self, kind: AttributeIdx, host: HostIdx) -> bool {
        self.room[host.get()].get(kind) < self.taken[host.get()].get(kind)
    }
}
