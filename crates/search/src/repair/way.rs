//! How an instance is mended: step by step, with the nodes that it goes to.

use super::Damage;
use crate::place::evacuation::{Destination, Stuck, evacuate};
use crate::place::{self, Conditions, Newcomer, Targets};
use crate::requests::why::of_moves;
use crate::why::{Hurdle, Nearest, places};
use htools_model::autorepair::{DiskFault, DiskSide, RepairStep};
use htools_model::{Cluster, Draft, EvacMode, InstanceIdx, Mirroring, Move, NodeIdx, Placement, StorageMap};

/// How an instance is mended.
#[derive(Debug, Clone, PartialEq)]
pub struct RepairWay {
    /// What is done, in this order.
    pub steps: Vec<RepairStep>,
    /// Where the instance is then.
    pub to: Placement,
    /// How its new nodes were chosen, where there was a choice.
    pub choice: Option<NodeChoice>,
}

/// A choice of nodes.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeChoice {
    /// Those that the instance gets.
    pub nodes: Vec<NodeIdx>,
    /// How many places are possible.
    pub possible: u64,
    /// Those that are not.
    pub refused: Nearest,
}

/// That there is no place for an instance: those that were looked at.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NoWay {
    /// The places, and what is in the way.
    pub refused: Nearest,
}

/// Finds a way to mend an instance, on a cluster on which the repairs before it have been made; this one is made on it, too.
///
/// # Errors
/// If there is no room for it anywhere.
pub(super) fn find(
    draft: &mut Draft,
    storage: &StorageMap,
    instance: InstanceIdx,
    damage: &Damage,
) -> Result<RepairWay, NoWay> {
    let here = draft.instance(instance).placement();
    let there = |steps: Vec<RepairStep>| Ok(RepairWay { steps, to: here, choice: None });
    match damage {
        Damage::Down => there(vec![RepairStep::Start]),
        Damage::Disks(DiskFault::Apart) => there(vec![RepairStep::Activate]),
        Damage::Disks(DiskFault::SecondaryLost(disks)) => {
            // they are replaced where Ganeti finds them, and it does not where they are not in use
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
            Err(NoWay::default())
        }
    }
}

/// The nodes of the group of an instance that are in use.
fn in_use(cluster: &Cluster, instance: InstanceIdx) -> Vec<NodeIdx> {
    let group = cluster.node(cluster.instance(instance).primary).spec.group;
    cluster.nodes_of(group).iter().copied().filter(|node| !cluster.node(*node).spec.offline).collect()
}

/// The best move of one side of an instance. What is only advised against is done where nothing else is left: without
/// a repair it is worse.
fn moved(
    draft: &mut Draft,
    storage: &StorageMap,
    idx: InstanceIdx,
    mode: EvacMode,
    step: fn(Move) -> RepairStep,
) -> Result<RepairWay, NoWay> {
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
            Err(Stuck::NotMirrored(_) | Stuck::NoSecondary(_)) => break,
            Err(_) => {}
        }
    }
    Err(NoWay { refused })
}

/// Empty disks on other nodes, and a new system.
fn anew(draft: &mut Draft, idx: InstanceIdx) -> Result<RepairWay, NoWay> {
    let instance = draft.instance(idx).clone();
    let nodes = in_use(draft, idx);
    let required = if instance.template.has_secondary() { 2 } else { 1 };
    let Ok(targets) = Targets::of(draft, &nodes, required) else { return Err(NoWay::default()) };
    let mut refused = Nearest::default();
    for ignore_soft_errors in [false, true] {
        let conditions = Conditions { ignore_soft_errors, redundancy: None };
        let found = place::find(draft, &nodes, Newcomer::from(&instance), &targets, &conditions);
        let hurdles = places(draft, &targets, &instance, &conditions);
        let hurdles =
            hurdles.filter_map(|(place, bar)| Some(Hurdle::of_place(draft, &instance, place, bar?)));
        refused = Nearest::of(hurdles);
        if let Some((_, place)) = found.best {
            draft.adopt(&instance, &place);
            let to = place.placement;
            let choice = NodeChoice { nodes: to.nodes().collect(), possible: found.successes, refused };
            let steps =
                vec![RepairStep::Stop, RepairStep::Recreate(to), RepairStep::Reinstall, RepairStep::Start];
            return Ok(RepairWay { steps, to, choice: Some(choice) });
        }
    }
    Err(NoWay { refused })
}
