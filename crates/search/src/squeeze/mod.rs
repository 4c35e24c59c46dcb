//! Finds the nodes that a cluster can do without, and those that it needs again.
//!
//! Every node group is examined by itself:
//!
//! - If one of its online nodes has less room than the *minimal* reserve, standby nodes are brought online
//!   until balancing restores the reserve. The same happens if using the reserve would make it impossible to
//!   empty some node (global N+1).
//! - Otherwise nodes are freed as long as balancing can empty them. Every node that stays online must keep the
//!   *target* reserve and its N+1 reserve, and no tag conflict, location or policy may become worse.
//!
//! A plan has the nodes to switch and the moves of balancing the group with these nodes switched. If a node
//! that comes online makes a smaller one unnecessary, a second plan frees that one, so that the next run has
//! nothing to do.

mod candidates;
mod condense;
pub mod cooldown;
mod deep;
mod expand;
mod fewest;
mod harm;
mod reserve;
mod resources;
mod spindles;
pub mod standby;
#[cfg(test)]
mod tests;
mod trial;

pub use fewest::{NodeProof, fewest_online};
pub use harm::Deterioration;
pub use reserve::Reserve;

use std::sync::Arc;

use self::standby::{SizeSource, Sizes};
use super::why::RefusedPlace;
use super::{BalanceOptions, Deadline, Stopped};
use crate::moves::MoveRules;
use htools_model::standby::NodeSize;
use htools_model::{Cluster, Draft, GroupIdx, Immobile, Instance, InstanceIdx, Mirroring, NodeIdx, Step};

/// The instances that may be moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Reach {
    /// Instances whose storage can be reached from every node.
    #[default]
    External,
    /// DRBD instances, too: their primaries and secondaries (`--drbd`).
    Drbd,
    /// Also instances with disks on their node only, which are stopped while the disks are copied (`--all`).
    All,
}

/// Options of a search.
#[derive(Debug, Clone, PartialEq)]
pub struct SqueezeOptions {
    /// Number of standard instances for which every online node must have room.
    pub minimal: f64,
    /// Number of standard instances for which every online node must have room after nodes were freed.
    pub target: f64,
    /// The instances that may be moved, and so can leave a freed node.
    pub reach: Reach,
    /// Every node must remain expendable (global N+1).
    pub capacity_checks: bool,
    /// Tags, locations and policies may become worse.
    pub ignore_soft_errors: bool,
    /// A DRBD instance whose primary node stays can only fail over or get another secondary.
    pub restricted_migration: bool,
    /// Maximum number of nodes to switch, over all groups.
    pub max_nodes: Option<usize>,
    /// Nodes that must be neither freed nor brought online.
    pub left_alone: Vec<NodeIdx>,
    /// Earlier sizes of nodes, by name.
    pub known_sizes: Sizes,
    /// The nodes that may be freed after others were brought online.
    pub swaps: Swaps,
    /// Bound the number of nodes that stay online.
    pub proof: bool,
    /// Look for plans that leave fewer nodes online.
    pub deep: bool,
}

/// The nodes that the second plan of a group may free, after a first one that brings nodes online.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Swaps {
    /// No nodes: there is no second plan.
    None,
    /// Nodes that were online before.
    PreviouslyOnline,
    /// Also nodes that came online only for the moves, if the next run would free them.
    All,
}

impl Default for SqueezeOptions {
    fn default() -> Self {
        SqueezeOptions {
            minimal: 2.0,
            target: 2.0,
            reach: Reach::External,
            capacity_checks: true,
            ignore_soft_errors: false,
            restricted_migration: false,
            max_nodes: None,
            left_alone: Vec::new(),
            known_sizes: Sizes::default(),
            swaps: Swaps::All,
            proof: false,
            deep: false,
        }
    }
}

/// The decision about a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// Bring nodes online, or only move instances, because a node lacks the minimal reserve.
    Expand,
    /// Change nothing.
    Nothing,
    /// Free nodes.
    Condense,
}

/// The reason why a node is not freed. Mostly it is not about the place of one instance, but about the node
/// itself or all others together. If one node lacks room, it is a [`RefusedPlace`].
#[derive(Debug, Clone, PartialEq)]
pub enum Hindrance {
    /// It is the master node.
    Master,
    /// It was switched a short while ago, or must be left alone.
    LeftAlone,
    /// This instance on it is of a kind that may not be moved.
    NotInReach(InstanceIdx),
    /// It is the secondary node of this instance, which may not be moved.
    SecondaryOf(InstanceIdx),
    /// Balancing never moves this instance.
    Fixed(InstanceIdx),
    /// Balancing leaves this instance on it.
    Stays(InstanceIdx),
    /// The other nodes together lack this much memory for the reserve, in MiB.
    Memory(i64),
    /// A node would lack the target reserve.
    Reserve(Box<RefusedPlace>),
    /// Too few further instances would fit (`--keep-room`).
    Room {
        /// Number of instances that must fit.
        needed: i64,
        /// Number of instances that would.
        fitting: i64,
    },
    /// A node would fail N+1.
    Redundancy(NodeIdx),
    /// Something would be worse than before.
    Worse(Deterioration),
    /// This node could not be emptied any more (global N+1).
    Expendable(NodeIdx),
    /// A node could not be emptied if the target reserve were used anywhere; this node has most room.
    Exposed(NodeIdx),
    /// It is the last node of its group.
    LastNode,
    /// The limit on the number of nodes in this run is reached.
    MaxNodes,
    /// In a very large group: too many candidates before it could not be freed, so it was not tried.
    Unlikely,
    /// The search ended before it was tried.
    NotTried,
    /// Fewer nodes than stay are not enough.
    Fewest,
    /// No plan for fewer nodes than stay was found.
    NoFewer,
}

/// A node that is not freed.
#[derive(Debug, Clone, PartialEq)]
pub struct UnfreedNode {
    /// The node.
    pub node: NodeIdx,
    /// The reason.
    pub why: Hindrance,
}

/// A node that can be brought online.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Standby {
    /// The node.
    pub node: NodeIdx,
    /// The size that it is assumed to have.
    pub size: Option<NodeSize>,
    /// Source of the size.
    pub source: SizeSource,
}

/// Plan for one group.
#[derive(Debug, Clone)]
pub struct GroupPlan {
    /// The group.
    pub group: GroupIdx,
    /// The decision.
    pub decision: Decision,
    /// The nodes to switch, in the order of the candidates.
    pub nodes: Vec<NodeIdx>,
    /// The moves, in order, starting from the state with the nodes switched.
    pub steps: Vec<Step>,
    /// Candidates for being freed, in the order of the listing; they are tried from the last one on.
    pub offline_candidates: Vec<NodeIdx>,
    /// Nodes that can be brought online, in this order.
    pub online_candidates: Vec<Standby>,
    /// The reserve that is missing at the start.
    pub missing: Option<RefusedPlace>,
    /// The node with most room, if using the minimal reserve anywhere would make it impossible to empty some
    /// node (global N+1). It is checked only if no node lacks the reserve.
    pub exposed: Option<NodeIdx>,
    /// True if the minimal reserve holds at the end.
    pub enough: bool,
    /// Online nodes that are not freed, by index; empty if this was not examined.
    pub kept: Vec<UnfreedNode>,
    /// Score of the group before the plan.
    pub initial_score: f64,
    /// Score of the group after the plan, if it is computed.
    pub final_score: f64,
    /// The cluster at the start of this plan, if an earlier plan brings nodes of its group online.
    pub start: Option<Arc<Cluster>>,
}

impl GroupPlan {
    /// The cluster at the start of this plan; `cluster` is that at the start of the search.
    pub fn start<'c>(&'c self, cluster: &'c Cluster) -> &'c Cluster {
        self.start.as_deref().unwrap_or(cluster)
    }

    /// Switches the nodes in a cluster: marks them offline, or online with their assumed size. In the result,
    /// the steps are possible one after the other.
    pub fn switch(&self, cluster: &mut Draft) {
        match self.decision {
            Decision::Expand => {
                let on = self.online_candidates.iter().filter(|s| self.nodes.contains(&s.node));
                on.for_each(|standby| standby::bring_online(cluster, standby));
            }
            Decision::Condense => cluster.set_offline(&self.nodes, true),
            Decision::Nothing => {}
        }
    }

    /// Returns true if there is nothing to do.
    pub fn is_idle(&self) -> bool {
        self.nodes.is_empty() && self.steps.is_empty()
    }
}

/// The plans for all groups, and their result.
#[derive(Debug, Clone)]
pub struct Squeeze {
    /// The plans, in the order of groups. A group has a second plan if nodes that the first one brings online
    /// make others unnecessary.
    pub plans: Vec<GroupPlan>,
    /// The cluster after all plans.
    pub after: Cluster,
    /// Reason for an early end of the search, if there was one. The plans are complete in any case.
    pub stopped: Option<Stopped>,
    /// Lower bounds of the numbers of online nodes, if they were asked for: of each group in which no node comes online.
    pub proofs: Vec<NodeProof>,
}

impl Squeeze {
    /// Iterates over the plans of each group.
    pub fn by_group(&self) -> impl Iterator<Item = &[GroupPlan]> {
        self.plans.chunk_by(|one, next| one.group == next.group)
    }

    /// Iterates over the plans of each group in which something changes.
    pub fn changed_groups(&self) -> impl Iterator<Item = &[GroupPlan]> {
        self.by_group().filter(|plans| !plans.iter().all(GroupPlan::is_idle))
    }

    /// Returns true if more than one group was examined.
    pub fn has_several_groups(&self) -> bool {
        self.by_group().nth(1).is_some()
    }
}

/// Progress of the search in a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SqueezeProgress {
    /// Number of candidates examined.
    pub looked_at: usize,
    /// Total number of candidates.
    pub candidates: usize,
    /// Number of nodes that can be freed so far.
    pub freed: usize,
}

/// Deadline and observer of a search.
#[derive(Clone, Copy)]
pub struct SqueezeWatch<'a> {
    /// Latest end of the search; the results until then become a complete plan.
    pub deadline: &'a Deadline,
    /// Called with the progress.
    pub progress: &'a (dyn Fn(SqueezeProgress) + Sync),
}

/// Options for the balancing that makes room: it continues to the last gain, however small.
pub(crate) fn balance_options(options: &SqueezeOptions) -> BalanceOptions {
    let restricted_migration = options.restricted_migration;
    BalanceOptions {
        rules: MoveRules { restricted_migration, ..MoveRules::default() },
        min_gain: 0.0,
        min_gain_limit: 0.0,
        min_score: f64::NEG_INFINITY,
        max_length: -1,
        ..BalanceOptions::default()
    }
}

/// Instances that must stay where they are.
fn out_of_reach(cluster: &Cluster, reach: Reach) -> Vec<InstanceIdx> {
    let is_drbd = |i: &&Instance| i.is_movable() && i.template.mirroring() == Mirroring::Internal;
    match reach {
        Reach::External => cluster.instances.iter().filter(is_drbd).map(|i| i.idx).collect(),
        Reach::Drbd | Reach::All => Vec::new(),
    }
}

/// Instances that can change nodes only by copying their disks, if `reach` allows that. Their node is online,
/// and only their template ties them to it. [`MoveRules`] let them move once their node is switched off.
fn loosened(cluster: &Cluster, reach: Reach) -> Vec<InstanceIdx> {
    let is_meant = |i: &&Instance| {
        let is_there = !cluster.node(i.primary).spec.offline && !i.forthcoming;
        i.immobile == Some(Immobile::Template) && is_there
    };
    match reach {
        Reach::All => cluster.instances.iter().filter(is_meant).map(|i| i.idx).collect(),
        Reach::External | Reach::Drbd => Vec::new(),
    }
}

/// The cluster in which instances are free to move that `reach` allows to copy; `None` if there are none.
fn loosened_cluster(cluster: &Cluster, reach: Reach) -> Option<Cluster> {
    let loosened = loosened(cluster, reach);
    (!loosened.is_empty()).then(|| {
        let mut free = Draft::of(cluster);
        free.set_immobile(&loosened, None);
        free.into_cluster()
    })
}

/// Plans each of some groups. If the number of nodes is limited, groups that need more nodes come first.
pub fn squeeze(cluster: &Cluster, groups: &[GroupIdx], options: &SqueezeOptions) -> Squeeze {
    squeeze_watched(
        cluster,
        groups,
        options,
        SqueezeWatch { deadline: &Deadline::never(), progress: &|_| {} },
    )
}

/// Like [`squeeze`], but stops at the deadline.
pub fn squeeze_watched(
    cluster: &Cluster,
    groups: &[GroupIdx],
    options: &SqueezeOptions,
    watch: SqueezeWatch<'_>,
) -> Squeeze {
    let out_of_reach = out_of_reach(cluster, options.reach);
    let loosened = loosened(cluster, options.reach);
    let free = loosened_cluster(cluster, options.reach);
    let cluster = free.as_ref().unwrap_or(cluster);
    let mut after = Draft::of(cluster);
    harm::hold(&mut after, &out_of_reach);
    let mut left = options.max_nodes.unwrap_or(usize::MAX);
    let scopes: Vec<trial::GroupScope<'_>> =
        groups.iter().map(|group| trial::GroupScope::of(cluster, *group, options, watch)).collect();
    let (poor, rich): (Vec<_>, Vec<_>) = scopes.iter().partition(|scope| scope.needs_more());
    let as_given = |mut state: Draft| {
        harm::release(&mut state, &out_of_reach);
        state.set_immobile(&loosened, Some(Immobile::Template));
        state.into_cluster()
    };
    let mut plans = Vec::with_capacity(groups.len());
    for scope in poor.into_iter().chain(rich) {
        let (plan, state) = if scope.needs_more() {
            expand::expand_or_condense(scope, left, &after)
        } else {
            condense::condense_held(scope, left, &mut after)
        };
        left -= plan.nodes.len();
        after = state.unwrap_or(after);
        let swap = condense::after_expansion(scope, left, &plan, &after);
        plans.push(plan);
        if let Some((mut plan, state)) = swap {
            left -= plan.nodes.len();
            plan.start = Some(Arc::new(as_given(after)));
            after = state;
            plans.push(plan);
        }
    }
    plans.sort_by_key(|plan| plan.group);
    let mut after = as_given(after);
    for plan in &plans {
        standby::retag(&mut after, plan);
    }
    let proofs = if options.proof { fewest::proofs(&scopes, &plans, &after) } else { Vec::new() };
    Squeeze { plans, after, stopped: scopes.iter().find_map(trial::GroupScope::stopped), proofs }
}
