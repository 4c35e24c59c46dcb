//! Reasons that hold a resource on its host, whatever the capacities.

use super::{HoldReason, MovableResources, MovableUnit};
use htools_pacemaker::index::{HostIdx, ResourceIdx};
use htools_pacemaker::score::AllocationScore;
use htools_pacemaker::working_set::{Colocation, OrderStrength, WorkingSet};

/// For each resource, the unit to which it belongs, as a member or as its group.
pub(super) fn unit_of(set: &WorkingSet, units: &[MovableUnit]) -> Vec<Option<usize>> {
    let mut unit_of = vec![None; set.resources.len()];
    for (at, unit) in units.iter().enumerate() {
        unit_of[unit.resource.get()] = Some(at);
        unit.members.iter().for_each(|member| unit_of[member.get()] = Some(at));
    }
    unit_of
}

/// Holds the units that must stay on their hosts.
pub(super) fn hold(set: &WorkingSet, movable: MovableResources, units: &mut [MovableUnit]) {
    let unit_of = unit_of(set, units);
    let mut together = vec![None; units.len()];
    let mut needed_by_others = vec![false; units.len()];
    // Connections to guest nodes go where their VMs go.
    let is_implied = |one: ResourceIdx| set.is_implied(one) && set.clone_of(one).is_none();
    for colocation in set.colocations.iter().filter(|one| !is_implied(one.dependent)) {
        tie(set, colocation, &unit_of, units, &mut together);
    }
    let mandatory = set.orders.iter().filter(|order| order.strength == OrderStrength::Mandatory);
    for order in mandatory.filter(|order| !is_implied(order.then)) {
        let (first, then) = (unit_of[order.first.get()], unit_of[order.then.get()]);
        let runs = then.is_some() || set.resource(order.then).active.is_some();
        if let Some(at) = first.filter(|_| runs && first != then) {
            needed_by_others[at] = true;
        }
    }
    for (at, unit) in units.iter_mut().enumerate() {
        let live = unit.members.len() == 1 && !needed_by_others[at] && migrates(set, unit);
        let restart = (!movable.restarts && !live).then_some(HoldReason::Restart);
        let weightless = (!movable.weightless && is_weightless(set, unit)).then_some(HoldReason::Weightless);
        unit.hold = own(set, unit).or(together[at]).or(weightless).or(restart);
    }
}

/// Tells if a unit can move without interruption. Restarting a fence device elsewhere interrupts nothing.
fn migrates(set: &WorkingSet, unit: &MovableUnit) -> bool {
    let mut members = unit.members.iter();
    let connection = |machine: ResourceIdx| {
        let guests = set.hosts.iter().filter_map(|host| host.guest);
        guests.filter(move |parts| parts.machine == machine).map(|parts| set.resource(parts.connection))
    };
    members.all(|member| {
        let details = set.resource(*member);
        (details.allow_migrate || details.fences()) && connection(*member).all(|one| one.allow_migrate)
    })
}

/// Tells if a unit needs no capacity, so that its host does not matter.
fn is_weightless(set: &WorkingSet, unit: &MovableUnit) -> bool {
    let mut members = unit.members.iter().map(|member| set.resource(*member));
    members.all(|member| member.fences() || member.utilization.iter().all(|(_, amount)| amount == 0))
}

/// Reason in the unit itself.
fn own(set: &WorkingSet, unit: &MovableUnit) -> Option<HoldReason> {
    let all = || unit.members.iter().chain([&unit.resource]);
    let is_any = |found: &dyn Fn(ResourceIdx) -> bool| all().any(|one| found(*one));
    let reasons = [
        (is_any(&|one| set.resource(one).unsupported), HoldReason::Unsupported),
        (is_any(&|one| !set.is_managed(one)), HoldReason::NotManaged),
        (is_any(&|one| set.resource(one).stopped) || set.stop_all, HoldReason::Stopping),
        (!set.host(unit.host).state.available(), HoldReason::Leaving),
        (
            is_any(&|one| set.resource(one).runs_twice() || !set.resource(one).left_on.is_empty()),
            HoldReason::Several,
        ),
        (unit.hold.is_some(), HoldReason::Partly),
        (
            is_any(&|one| set.resource(one).utilization.iter().any(|(_, amount)| amount < 0)),
            HoldReason::Negative,
        ),
        (is_any(&|one| set.resource(one).stickiness >= AllocationScore::INFINITY), HoldReason::Sticky),
    ];
    reasons.into_iter().find(|(is, _)| *is).map(|(_, reason)| reason)
}

/// Holds both sides of a colocation that a move could break, or that is only a preference but met now.
fn tie(
    set: &WorkingSet,
    colocation: &Colocation,
    unit_of: &[Option<usize>],
    units: &[MovableUnit],
    held: &mut [Option<HoldReason>],
) {
    let Colocation { dependent, primary, score, .. } = colocation;
    let sides = [unit_of[dependent.get()], unit_of[primary.get()]];
    let must = *score >= AllocationScore::INFINITY;
    let is_clone = |one: ResourceIdx| set.resource(one).is_clone();
    let reason = match score.get() {
        0 => return,
        1.. if colocation.primary_role.is_some() => HoldReason::Role,
        1.. => HoldReason::Together,
        _ => HoldReason::ByAttribute,
    };
    let hold = match sides {
        [Some(one), Some(other)] if one == other => false,
        [Some(one), Some(other)] => match reason {
            HoldReason::Together => {
                must || count_as_same(set, colocation, [units[one].host, units[other].host])
            }
            _ => !by_node(colocation),
        },
        // A resource that is pinned elsewhere would take the promoted role along.
        [Some(_), None] if reason == HoldReason::Role => true,
        // Clone instances have fixed hosts, so colocations with them are handled as allowed hosts.
        [Some(_), None] if is_clone(*primary) => !by_node(colocation),
        [None, Some(_)] if is_clone(*dependent) => reason == HoldReason::Together || !by_node(colocation),
        // A group that does not run as a whole is not a unit.
        [Some(_), None] => must || set.resource(*primary).active.is_some(),
        [None, Some(_)] => set.resource(*dependent).active.is_some(),
        [None, None] => false,
    };
    for side in sides.into_iter().flatten().filter(|_| hold) {
        held[side].get_or_insert(reason);
    }
}

/// Tells if a colocation concerns the nodes themselves, not a common attribute.
pub(super) fn by_node(colocation: &Colocation) -> bool {
    colocation.attribute.as_deref().is_none_or(|attribute| attribute == "#uname")
}

/// Tells if two hosts count as the same for a colocation.
fn count_as_same(set: &WorkingSet, colocation: &Colocation, [one, other]: [HostIdx; 2]) -> bool {
    match &colocation.attribute {
        Some(attribute) if !by_node(colocation) => {
            set.host(one).attribute(attribute) == set.host(other).attribute(attribute)
        }
        _ => one == other,
    }
}
