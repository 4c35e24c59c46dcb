//! Steps that repair an instance, and its new nodes.

use super::Damage;
use crate::place::evacuation::{Destination, EvacuationObstacle, evacuate};
use crate::place::{self, Conditions, InstanceToPlace, Targets};
use crate::requests::why::of_moves;
use crate::why::{Nearest, RefusedPlace, places};
use htools_model::autorepair::{DiskFault, DiskSide, RepairStep};
use htools_model::{Cluster, Draft, EvacMode, InstanceIdx, Mirroring, Move, NodeIdx, Placement, StorageMap};

/// The steps that repair an instance.
#[derive(Debug, Clone, PartialEq)]
pub struct RepairWay {
    /// The steps, in order.
    pub steps: Vec<RepairStep>,
    /// Placement of the instance after the steps.
    pub to: Placement,
    /// The choice of its new nodes, if there was one.
    pub choice: Option<NodeChoice>,
}

/// A choice of nodes.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeChoice {
    /// The nodes that the instance gets.
    pub nodes: Vec<NodeIdx>,
    /// Number of possible places.
    pub possible: u64,
    /// The refused places that came nearest.
    pub refused: Nearest,
}

/// Error: there is no place for the instance.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NoRepairPlace {
    /// The refused places that came nearest, with the obstacles.
    pub refused: Nearest,
}

/// Finds the steps that repair an instance. `draft` has all earlier repairs, and this one is made on it, too.
///
/// # Errors
/// If no node has room for it.
pub(super) fn find(
    draft: &mut Draft,
    storage: &StorageMap,
    instance: InstanceIdx,
    damage: &Damage,
) -> Result<RepairWay, NoRepairPlace> {
    let here = draft.instance(instance).placement();
    let there = |steps: Vec<RepairStep>| Ok(RepairWay { steps, to: here, choice: None });
    match damage {
        Damage::Down => there(vec![RepairStep::Start]),
        Damage::Disks(DiskFault::Apart) => there(vec![RepairStep::Activate]),
        Damage::Disks(DiskFault::SecondaryLost(disks)) => {
            // Ganeti finds the disks to replace only if they are active.
            there(vec![RepairStep::Activate, RepairStep::Renew(DiskSide::Secondary, disks.clone())])
        }
        Damage::Disks(DiskFault::PrimaryLost(disks)) => {
            there(vec![RepairStep::Renew(DiskSide::Primary, disks.clone())])
        }
        Damage::SecondaryOut => moved(draft, storage, instance, EvacMode::SecondaryOnly, RepairStep::Move),
        Damage::PrimaryOut => moved(draft, storage, instance, EvacMode::PrimaryOnly, RepairStep::Move),
        Damage::PrimaryDrained => moved(draft, storage, instance, EvacMode::PrimaryOnly, RepairStep::Migrate),
        Damage::AllOut => anew(draft, instance),
        Damage::Disks(DiskFault::BothLost) | Damage::Silent(_) | Damage::Blocked(_) | Damage::Elsewhere => {
            Err(NoRepairPlace::default())
        }
    }
}

/// The online nodes in the instance's group.
fn in_use(cluster: &Cluster, instance: InstanceIdx) -> Vec<NodeIdx> {
    let group = cluster.node(cluster.instance(instance).primary).spec.group;
    cluster.nodes_of(group).iter().copied().filter(|node| !cluster.node(*node).spec.offline).collect()
}

/// The best move of one side of an instance. Soft rules are broken if there is no other way, since staying
/// unrepaired is worse.
fn moved(
    draft: &mut Draft,
    storage: &StorageMap,
    idx: InstanceIdx,
    mode: EvacMode,
    step: fn(Move) -> RepairStep,
) -> Result<RepairWay, NoRepairPlace> {
    let group = draft.node(draft.instance(idx).primary).spec.group;
    let external = draft.instance(idx).template.mirroring() == Mirroring::External;
    let reaches = |node: &NodeIdx| !external || storage.reaches(*node, idx);
    let own: Vec<NodeIdx> = draft.instance(idx).nodes().collect();
    let targets: Vec<NodeIdx> =
        in_use(draft, idx).into_iter().filter(|node| reaches(node) && !own.contains(node)).collect();
    let mut refused = Nearest::default();
    for ignore_soft_errors in [false, true] {
        let destination = Destination { group, targets: targets.clone(), ignore_soft_errors };
        let before: &Cluster = draft;
        refused = of_moves(before, idx, mode, &destination).moves.unwrap_or_default();
        match evacuate(draft, idx, mode, &destination) {
            Ok(done) => {
                let new: Vec<NodeIdx> = done.to.nodes().filter(|node| !own.contains(node)).collect();
                let possible = targets.len().saturating_sub(refused.refused) as u64;
                let choice = (!new.is_empty()).then_some(NodeChoice { nodes: new, possible, refused });
                return Ok(RepairWay {
                    steps: done.moves.into_iter().map(step).collect(),
                    to: done.to,
                    choice,
                });
            }
            Err(EvacuationObstacle::NotMirrored(_) | EvacuationObstacle::NoSecondary(_)) => break,
            Err(_) => {}
        }
    }
    Err(NoRepairPlace { refused })
}

/// Creates empty disks on other nodes and installs the system again.
fn anew(draft: &mut Draft, idx: InstanceIdx) -> Result<RepairWay, NoRepairPlace> {
    let instance = draft.instance(idx).clone();
    let nodes = in_use(draft, idx);
    let required = if instance.template.has_secondary() { 2 } else { 1 };
    let Ok(targets) = Targets::of(draft, &nodes, required) else { return Err(NoRepairPlace::default()) };
    let mut refused = Nearest::default();
    for ignore_soft_errors in [false, true] {
        let conditions = Conditions { ignore_soft_errors, redundancy: None };
        let found = place::find(draft, &nodes, InstanceToPlace::from(&instance), &targets, &conditions);
        let refused_places = places(draft, &targets, &instance, &conditions);
        let refused_places = refused_places
            .filter_map(|(place, obstacle)| Some(RefusedPlace::of_place(draft, &instance, place, obstacle?)));
        refused = Nearest::of(refused_places);
        if let Some((_, place)) = found.best {
            draft.adopt(&instance, &place);
            let to = place.placement;
            let choice = NodeChoice { nodes: to.nodes().collect(), possible: found.successes, refused };
            let steps =
                vec![RepairStep::Stop, RepairStep::Recreate(to), RepairStep::Reinstall, RepairStep::Start];
            return Ok(RepairWay { steps, to, choice: Some(choice) });
        }
    }
    Err(NoRepairPlace { refused })
}
