//! What keeps a resource where it is, whatever the nodes have.

use super::{HoldReason, MovableResources, MovableUnit};
use htools_pacemaker::index::{HostIdx, ResourceIdx};
use htools_pacemaker::score::AllocationScore;
use htools_pacemaker::working_set::{Colocation, OrderStrength, WorkingSet};

/// The unit that a resource belongs to, if it is in one; `resource` can be a member, its group, or neither.
pub(super) fn unit_of(set: &WorkingSet, units: &[MovableUnit]) -> Vec<Option<usize>> {
    let mut unit_of = vec![None; set.resources.len()];
    for (at, unit) in units.iter().enumerate() {
        unit_of[unit.resource.get()] = Some(at);
        unit.members.iter().for_each(|member| unit_of[member.get()] = Some(at));
    }
    unit_of
}

/// Finds out which units stay where they are.
pub(super) fn hold(set: &WorkingSet, movable: MovableResources, units: &mut [MovableUnit]) {
    let unit_of = unit_of(set, units);
    let mut together = vec![None; units.len()];
    let mut needed_by_others = vec![false; units.len()];
    for colocation in &set.colocations {
        tie(set, colocation, &unit_of, units, &mut together);
    }
    for order in set.orders.iter().filter(|order| order.strength == OrderStrength::Mandatory) {
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

/// Whether nobody minds when it moves. Nothing stops working while a device that fences is started elsewhere.
fn migrates(set: &WorkingSet, unit: &MovableUnit) -> bool {
    let members = || unit.members.iter().map(|member| set.resource(*member));
    members().all(|member| member.allow_migrate || member.fences())
}

/// Whether it makes no difference to the nodes where it is.
fn is_weightless(set: &WorkingSet, unit: &MovableUnit) -> bool {
    let mut members = unit.members.iter().map(|member| set.resource(*member));
    members.all(|member| member.fences() || member.utilization.iter().all(|(_, amount)| amount == 0))
}

/// What it says of itself.
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

/// Holds both sides of a colocation that a move could break, or of one that holds and is a wish only.
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
        1.. => HoldReason::Together,
        _ => HoldReason::ByAttribute,
    };
    let hold = match sides {
        [Some(one), Some(other)] if one == other => false,
        [Some(one), Some(other)] => match reason {
            HoldReason::Together => must || meet(set, colocation, [units[one].host, units[other].host]),
            _ => !by_node(colocation),
        },
        // where the instances of a clone are is known: see the hosts that are allowed
        [Some(_), None] if is_clone(*primary) => !by_node(colocation),
        [None, Some(_)] if is_clone(*dependent) => reason == HoldReason::Together || !by_node(colocation),
        // a group that does not run whole is no unit
        [Some(_), None] => must || set.resource(*primary).active.is_some(),
        [None, Some(_)] => set.resource(*dependent).active.is_some(),
        [None, None] => false,
    };
    for side in sides.into_iter().flatten().filter(|_| hold) {
        held[side].get_or_insert(reason);
    }
}

/// Whether a colocation is about the nodes themselves, not about what they have in common.
pub(super) fn by_node(colocation: &Colocation) -> bool {
    colocation.attribute.as_deref().is_none_or(|attribute| attribute == "#uname")
}

/// Whether two hosts are one for a colocation.
fn meet(set: &WorkingSet, colocation: &Colocation, [one, other]: [HostIdx; 2]) -> bool {
    match &colocation.attribute {
        Some(attribute) if !by_node(colocation) => {
            set.host(one).attribute(attribute) == set.host(other).attribute(attribute)
        }
        _ => one == other,
    }
}
