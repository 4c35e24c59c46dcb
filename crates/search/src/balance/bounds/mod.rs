//! Lower bounds on the scores of all moves, kept from one step to the next.
//!
//! In short (docs/search.md has the proof):
//!
//! - A move changes the variance of a lane by two parts. The departure depends on the present nodes of the
//!   instance, the arrival on the new node.
//! - The deviation is the square root of the variance and so is concave. Over the range of possible changes, it
//!   lies above its chord. Along that line, the two parts simply add up.
//! - So the score after a move is at least the sum of three values: a constant for the size of the instance, the
//!   cost of its departure, and the smallest cost of all arrivals.
//! - A step changes three nodes. Only the departures from these nodes, the arrivals there and the constants
//!   must be computed again.

mod amounts;
mod arrival_costs;
mod candidates;
mod departure;
mod equivalents;
mod group;
mod key_costs;
mod kinds;
mod lane_loops;
pub(in crate::balance) mod lanes;
mod online_nodes;
mod place;
mod refresh;
mod size;
mod tight_bounds;

use std::collections::HashMap;

use self::arrival_costs::{ArrivalKind, ArrivalRow};
use self::departure::Departure;
use self::equivalents::AlikeInstances;
use self::group::CostGroups;
use self::key_costs::KeyCosts;
use self::kinds::Reachability;
use self::online_nodes::{OnlineNodes, Present, is_plausible, is_small};
use self::place::{ArrivalPlaces, KeptCosts};
use self::size::{SizeBox, sizes};
use super::Balancer;
use htools_model::score::interval::Running;
use htools_model::score::metrics::Lanes;
use htools_model::{Instance, InstanceIdx, Mib, Move, NodeIdx, TagId};

pub(crate) use self::candidates::{Candidate, CandidateWork};

/// Slots: kinds of moves, by their effect on the primary (P), the secondary (S) and the new node. For the
/// bounds, the failover of an externally mirrored instance is a [`REPLACE_PRIMARY`].
const SLOTS: usize = 5;
const FAILOVER: usize = 0;
const REPLACE_SECONDARY: usize = 1;
const REPLACE_AND_FAILOVER: usize = 2;
const REPLACE_PRIMARY: usize = 3;
const FAILOVER_AND_REPLACE: usize = 4;
/// The slot in which S stays the secondary, of another primary.
const STAYS_SECONDARY: usize = REPLACE_PRIMARY;

fn slot(mv: Move) -> usize {
    match mv {
        Move::Failover => FAILOVER,
        Move::ReplaceSecondary(_) => REPLACE_SECONDARY,
        Move::ReplaceAndFailover(_) => REPLACE_AND_FAILOVER,
        Move::ReplacePrimary(_) | Move::FailoverTo(_) => REPLACE_PRIMARY,
        Move::FailoverAndReplace(_) => FAILOVER_AND_REPLACE,
        Move::ReplaceBoth(..) | Move::FailoverAndReplaceBoth(..) => unreachable!("in no repertoire"),
    }
}

/// Minimum number of online nodes for bounds. With fewer, evaluating every move is fast. Besides, with Ganeti's
/// weights, more reserve on one node could lower the score (docs/search.md, "The reserve").
const FEWEST_NODES: usize = 16;

/// Approximate limit on the total number of entries in the rows of all sizes.
const MOST_PLACES: usize = 2_000_000;

const NO_ROW: u32 = u32::MAX;

/// Lower bounds on the scores of all moves of a group.
pub struct MoveBounds {
    online: OnlineNodes,
    places: ArrivalPlaces,
    kept_costs: KeptCosts,
    reachability: Reachability,
    sizes: Vec<SizeBox>,
    rows: Vec<ArrivalRow>,
    row_numbers: HashMap<ArrivalKind, u32>,
    /// The movable instances. Lists "by position" are indexed like this one.
    instances: Vec<InstanceIdx>,
    /// Position of each instance of the cluster; `None` for those that never move.
    position: Vec<Option<u32>>,
    size_of: Vec<u32>,
    departures: Vec<Departure>,
    /// Number of moves of each instance.
    moves: Vec<u32>,
    all_moves: u64,
    groups: CostGroups,
    alike: AlikeInstances,
    /// For each node, the positions of the instances on it.
    at_node: Vec<Vec<u32>>,
    /// For each exclusion tag, the positions of the instances that have it.
    by_tag: HashMap<TagId, Vec<u32>>,
    key_costs: KeyCosts,
    present: Present,
    /// Upper bound, over all instances, of the sum of a move's changes in each lane.
    largest_change: Lanes,
    upkeep: refresh::Upkeep,
}

impl MoveBounds {
    /// Computes the bounds of all moves of a balancer's instances. Returns `None` if the set of nodes is too
    /// small or its figures are unsuitable for bounds.
    pub(crate) fn of(balancer: &Balancer<'_>) -> Option<MoveBounds> {
        let (cluster, board) = (balancer.cluster(), balancer.board());
        if board.rows().len() < FEWEST_NODES {
            return None;
        }
        let movable = |i: &&Instance| i.is_movable() && i.auto_balance;
        let instances: Vec<&Instance> =
            balancer.instances().iter().map(|i| cluster.instance(*i)).filter(movable).collect();
        let plausible = board.nodes().iter().all(|n| is_plausible(cluster, *n));
        if !plausible || !instances.iter().all(|i| is_plausible_instance(i)) {
            return None;
        }
        let online = OnlineNodes::new(cluster, board);
        let reachability = Reachability::of(cluster, &instances);
        let most = (MOST_PLACES / board.rows().len() / reachability.pools.count()).clamp(16, 512);
        let (sizes, size_of) = sizes(&instances, &online, most);
        let largest_change = SizeBox::largest_change(&sizes);
        let present = Present::of(&online, board, balancer.score(), &largest_change)?;
        let places = ArrivalPlaces::of(cluster, board);
        let mut position = vec![None; cluster.instances.len()];
        let mut by_tag: HashMap<TagId, Vec<u32>> = HashMap::new();
        for (at, instance) in instances.iter().enumerate() {
            position[instance.idx.get()] = Some(at as u32);
            for tag in &instance.exclusion_tags {
                by_tag.entry(*tag).or_default().push(at as u32);
            }
        }
        let indices: Vec<InstanceIdx> = instances.iter().map(|i| i.idx).collect();
        let mut bounds = MoveBounds {
            kept_costs: KeptCosts::new(instances.len(), &places),
            places,
            reachability,
            sizes,
            rows: Vec::new(),
            row_numbers: HashMap::new(),
            position,
            size_of,
            departures: vec![Departure::none(); instances.len()],
            moves: vec![0; instances.len()],
            all_moves: 0,
            groups: CostGroups::new(instances.len()),
            alike: AlikeInstances::new(instances.len()),
            at_node: vec![Vec::new(); cluster.nodes.len()],
            by_tag,
            key_costs: KeyCosts::of(cluster, &indices, &online.nodes),
            present,
            largest_change,
            upkeep: refresh::Upkeep::default(),
            online,
            instances: indices,
        };
        bounds.begin(balancer);
        Some(bounds)
    }

    /// Number of moves covered by the bounds.
    pub(crate) fn moves(&self) -> u64 {
        self.all_moves
    }

    /// The nodes in the order of the board's rows.
    pub(super) fn online(&self) -> &[NodeIdx] {
        &self.online.nodes
    }

    /// Running statistics of the present state.
    pub fn running(&self) -> &Running {
        &self.online.running
    }
}

/// Returns true if the instance suits the bounds. They rely on it that an additional instance never frees
/// memory.
fn is_plausible_instance(i: &Instance) -> bool {
    let figures = [i.mem.0, i.disk.0, i.vcpus, i.spindle_use, i.spindles.unwrap_or(0)];
    i.mem >= Mib::ZERO && figures.iter().all(|x| is_small(*x))
}
