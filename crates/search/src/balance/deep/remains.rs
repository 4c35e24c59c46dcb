//! Faults that could not be repaired, and the reasons.

use rayon::prelude::*;

use super::arrangement::Arrangement;
use super::mender::MendScope;
use super::terrain::{NOWHERE, Seat, SlotStanding};
use crate::balance::{BalanceOptions, is_on_offline};
use crate::moves::{Refusal, Trial};
use crate::why::StayCause;
use htools_model::words;
use htools_model::{Cluster, Draft, Instance, InstanceIdx, Mirroring, NodeIdx};

words!(
    /// A kind of fault.
    pub Complaint, "complaint" {
        /// An instance is on a node that is offline or must be emptied.
        LeftBehind = "left-behind",
        /// A node fails N+1.
        Redundancy = "n+1",
        /// A node has more virtual CPUs or spindle weight than its policy allows.
        Policy = "policy",
        /// A node is above a limit of its use.
        Overload = "overload",
        /// A primary shares an exclusion tag with another on its node or at its location, or it is at an
        /// undesired location.
        Tags = "tags",
    }
);

/// An instance that is still in a wrong place.
#[derive(Debug, Clone, PartialEq)]
pub struct Unmended {
    /// The instance.
    pub instance: InstanceIdx,
    /// Its node.
    pub node: NodeIdx,
    /// The fault there.
    pub complaint: Complaint,
    /// Reason why it cannot move at all, if there is one.
    pub hold: Option<StayCause>,
    /// Refusals, once for each node, role and rule. The list is empty if it can move but no move repairs
    /// anything.
    pub refusals: Vec<Refusal>,
}

/// A node that still has a fault.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AilingNode {
    /// The node.
    pub node: NodeIdx,
    /// Its fault.
    pub complaint: Complaint,
    /// Number of instances that have it as one of their nodes.
    pub instances: usize,
    /// Number of those instances that may move.
    pub mobile: usize,
}

/// The instances that are still in a wrong place, in order; `wrong` are the mobiles among them.
pub(super) fn unmended(
    at: &Arrangement<'_>,
    draft: &Draft,
    options: &BalanceOptions,
    emptied: Option<&[NodeIdx]>,
    wrong: &[u32],
) -> Vec<Unmended> {
    let terrain = at.terrain;
    let of_mobile = |mobile: &u32| {
        let seat = at.seats[*mobile as usize];
        let left = [seat.primary, seat.secondary].into_iter().find(|slot| at.is_to_be_left(*slot));
        let tags = at.tags.meets(terrain, *mobile, seat).then_some(seat.primary);
        let slot = left.or(tags)?;
        let complaint = if left.is_some() { Complaint::LeftBehind } else { Complaint::Tags };
        let refusals = refusals(at, draft, *mobile, left.is_some());
        let instance = terrain.instance(*mobile);
        let hold = hold_by_options(instance, options).filter(|_| refusals.is_empty());
        Some(Unmended {
            instance: instance.idx,
            node: terrain.nodes[slot as usize],
            complaint,
            hold,
            refusals,
        })
    };
    let mut unmended: Vec<Unmended> = wrong.par_iter().filter_map(of_mobile).collect();
    let mobile: std::collections::HashSet<InstanceIdx> = terrain.mobiles.iter().map(|m| m.instance).collect();
    for instance in draft.instances.iter().filter(|i| !i.forthcoming && !mobile.contains(&i.idx)) {
        let is_left = |node: &NodeIdx| match emptied {
            Some(emptied) => emptied.contains(node),
            None => {
                let slot = terrain.nodes.iter().position(|other| other == node);
                slot.is_some_and(|slot| terrain.standing[slot] == SlotStanding::Offline)
            }
        };
        if let Some(node) = instance.nodes().find(is_left) {
            unmended.push(Unmended {
                instance: instance.idx,
                node,
                complaint: Complaint::LeftBehind,
                hold: Some(hold(draft, instance, options)),
                refusals: Vec::new(),
            });
        }
    }
    unmended.sort_by_key(|left| left.instance);
    unmended
}

/// The nodes that still have a fault, in order.
pub(super) fn ailing(at: &Arrangement<'_>, scope: MendScope) -> Vec<AilingNode> {
    let all = scope == MendScope::All;
    let of_slot = |slot: &u32| {
        let complaint = match (at.fails(*slot) && all, at.exceeds(*slot) && all, at.is_above_threshold(*slot))
        {
            (true, _, _) => Complaint::Redundancy,
            (false, true, _) => Complaint::Policy,
            (false, false, true) => Complaint::Overload,
            (false, false, false) => return None,
        };
        let residents = &at.residents[*slot as usize];
        Some(AilingNode {
            node: at.terrain.nodes[*slot as usize],
            complaint,
            instances: usize::try_from(at.members[*slot as usize]).unwrap_or(0),
            mobile: residents.primaries.len() + residents.secondaries.len(),
        })
    };
    at.terrain.online.iter().filter_map(of_slot).collect()
}

/// The command-line option that keeps the instance from moving.
fn hold_by_options(instance: &Instance, options: &BalanceOptions) -> Option<StayCause> {
    match instance.template.mirroring() {
        Mirroring::External if !options.rules.instance_moves => Some(StayCause::NoInstanceMoves),
        Mirroring::Internal if !options.rules.disk_moves => Some(StayCause::NoDiskMoves),
        Mirroring::Internal if !options.rules.instance_moves => Some(StayCause::NoInstanceMoves),
        _ => None,
    }
}

/// The reason why the instance does not move at all.
fn hold(cluster: &Cluster, instance: &Instance, options: &BalanceOptions) -> StayCause {
    let immobile = instance.immobile.map(StayCause::Immobile);
    let unwanted = (!instance.auto_balance).then_some(StayCause::NotAutoBalanced);
    let not_asked =
        (options.evacuate && !is_on_offline(cluster, instance)).then_some(StayCause::NothingToEvacuate);
    immobile
        .or(unwanted)
        .or(not_asked)
        .or(hold_by_options(instance, options))
        // The remaining case: the primary node is not in the set.
        .unwrap_or(StayCause::Immobile(htools_model::Immobile::Split))
}

/// The refusals of a mobile, once for each node, role and rule.
fn refusals(at: &Arrangement<'_>, draft: &Draft, mobile: u32, leaves: bool) -> Vec<Refusal> {
    let (terrain, now) = (at.terrain, at.seats[mobile as usize]);
    let trial = Trial::new(draft, draft.instance(terrain.mobiles[mobile as usize].instance), &terrain.rules);
    let mut seats = terrain.seats_with_way(mobile, &terrain.online, false);
    if leaves && now.secondary != NOWHERE {
        // Each node is tried with one other only, since all pairs would give the same refusals.
        for slot in &terrain.online {
            let Some(other) = terrain.online.iter().find(|other| *other != slot) else { continue };
            seats.extend([(*slot, *other), (*other, *slot)].map(|(p, s)| Seat { primary: p, secondary: s }));
        }
    }
    let mut refusals: Vec<Refusal> = Vec::new();
    for to in seats {
        if let Some(mv) = terrain.move_between(mobile, now, to) {
            refusals.extend(trial.run(mv).err());
        }
    }
    refusals.sort_by_key(|refusal| (refusal.node, refusal.role_is_primary, refusal.rule));
    refusals.dedup();
    refusals
}
