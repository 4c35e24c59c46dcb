//! Repairs faults, or empties nodes, with the fewest moves. Neither balances the cluster. Among moves that
//! repair as much, the one with the best score is made. Other instances move only to make room.

use super::arrangement::Arrangement;
use super::as_draft;
use super::faults::Faults;
use super::mender::{MendScope, Mender};
use super::plan::DeepGoal;
use super::remains::{AilingNode, Unmended, ailing, unmended};
use super::terrain::Terrain;
use crate::balance::BalanceOptions;
use htools_model::{Cluster, InstanceIdx, NodeIdx, Placement};

/// Moves that repair faults or empty nodes.
#[derive(Debug, Clone, PartialEq)]
pub struct RepairMoves {
    /// New placements, in the order of the instances; [`order`](super::order::order) turns them into steps.
    pub placements: Vec<(InstanceIdx, Placement)>,
    /// Faults before the moves.
    pub before: Faults,
    /// Faults after the moves.
    pub after: Faults,
    /// Instances that are still in a wrong place, with the reasons.
    pub stuck: Vec<Unmended>,
    /// Nodes that still have a fault.
    pub ailing: Vec<AilingNode>,
}

impl RepairMoves {
    /// Returns true if no fault remains that should be repaired.
    pub(crate) fn is_complete(&self) -> bool {
        self.stuck.is_empty() && self.ailing.is_empty()
    }
}

/// Repairs the faults in the set `nodes` (ascending): instances on offline nodes, nodes that fail N+1 or exceed
/// their policy, conflicts of exclusion tags, and wrong locations.
pub(crate) fn repair(cluster: &Cluster, nodes: &[NodeIdx], options: &BalanceOptions) -> RepairMoves {
    mend(&Terrain::of(cluster, nodes, options), options, MendScope::All, None)
}

/// Moves all primaries and secondaries away from the nodes `emptied` of the set `nodes` (ascending).
pub(crate) fn evacuate(
    cluster: &Cluster,
    nodes: &[NodeIdx],
    options: &BalanceOptions,
    emptied: &[NodeIdx],
) -> RepairMoves {
    let terrain = Terrain::evacuating(cluster, nodes, options, emptied);
    mend(&terrain, options, MendScope::LeftBehind, Some(emptied))
}

/// Ends the overload of nodes in the set `nodes` (ascending): no figure of their use stays above its limit.
pub(crate) fn relieve(cluster: &Cluster, nodes: &[NodeIdx], options: &BalanceOptions) -> RepairMoves {
    mend(&Terrain::of(cluster, nodes, options), options, MendScope::Overloads, None)
}

/// The nodes that are above limits of their use.
pub(super) fn overloaded(cluster: &Cluster, nodes: &[NodeIdx], options: &BalanceOptions) -> Vec<AilingNode> {
    ailing(&Arrangement::of(&Terrain::of(cluster, nodes, options)), MendScope::Overloads)
}

/// The remaining faults of a cluster that should be repaired.
pub(super) fn left(
    cluster: &Cluster,
    nodes: &[NodeIdx],
    options: &BalanceOptions,
    goal: &DeepGoal,
) -> Faults {
    let (terrain, scope) = match goal {
        DeepGoal::Evacuate(emptied) => {
            (Terrain::evacuating(cluster, nodes, options, emptied), MendScope::LeftBehind)
        }
        DeepGoal::Relieve => (Terrain::of(cluster, nodes, options), MendScope::Overloads),
        DeepGoal::Repair | DeepGoal::Best(_) => (Terrain::of(cluster, nodes, options), MendScope::All),
    };
    scope.of(Arrangement::of(&terrain).faults().without_shortage())
}

/// Number of rounds in which every moved instance looks for a better seat.
const ROUNDS: usize = 2;

fn mend(
    terrain: &Terrain<'_>,
    options: &BalanceOptions,
    scope: MendScope,
    emptied: Option<&[NodeIdx]>,
) -> RepairMoves {
    let mut mender = Mender::of(terrain, scope);
    let before = mender.now;
    let mut left_behind: Vec<u32> = mender.faulty_mobiles();
    left_behind.retain(|mobile| scope != MendScope::Overloads && mender.at.is_left_behind(*mobile));
    // The largest instances come first, since they find the fewest places.
    left_behind.sort_by_key(|m| {
        let mobile = &terrain.mobiles[*m as usize];
        (std::cmp::Reverse((mobile.mem.max(mobile.need), terrain.instance(*m).disk.0)), *m)
    });
    for mobile in left_behind {
        mender.evacuate(mobile);
    }
    if emptied.is_none() {
        mender.repair_all();
    }
    mender.drop_useless_moves();
    for _ in 0..ROUNDS {
        if scope == MendScope::Overloads || !mender.settle() {
            break;
        }
        mender.drop_useless_moves();
    }
    let at = &mender.at;
    let mut placements: Vec<(InstanceIdx, Placement)> = (at.moved.iter())
        .map(|m| (terrain.mobiles[*m as usize].instance, terrain.placement(*m, at.seats[*m as usize])))
        .collect();
    placements.sort_unstable_by_key(|(instance, _)| *instance);
    let draft = as_draft(terrain, at);
    let stuck = match scope {
        MendScope::Overloads => Vec::new(),
        _ => unmended(at, &draft, options, emptied, &mender.faulty_mobiles()),
    };
    let ailing = if emptied.is_none() { ailing(at, scope) } else { Vec::new() };
    RepairMoves { placements, before, after: mender.now, stuck, ailing }
}
