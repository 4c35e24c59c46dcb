//! Which nodes a cluster can do without, and which it needs again.
//!
//! Every node group is looked at by itself. If one of its online nodes has less room
//! than the *minimal* reserve, or could not use it without some node becoming impossible
//! to empty (global N+1), standby nodes are brought online, until balancing makes
//! the reserve hold. Otherwise nodes are freed as long as balancing can empty them, and
//! every node that stays online keeps the *target* reserve and what N+1 asks for, and no tag
//! conflict, location or policy becomes worse.
//!
//! A plan says which nodes are switched, and the moves of balancing the group with
//! these nodes switched. Where a node that is brought online makes a smaller one needless, a second plan
//! frees that, so that the next run has nothing to do.

mod candidates;
mod condense;
pub mod cooldown;
mod expand;
mod harm;
mod reserve;
mod spindles;
pub mod standby;
#[cfg(test)]
mod tests;
mod trial;

pub use harm::Harm;
pub use reserve::Reserve;

use std::sync::Arc;

use self::standby::{SizeSource, Sizes};
use super::why::Hurdle;
use super::{BalanceOptions, Deadline, Stopped};
use crate::moves::MoveRules;
use htools_model::standby::NodeSize;
use htools_model::{Cluster, Draft, GroupIdx, Immobile, Instance, InstanceIdx, Mirroring, NodeIdx, Step};

/// Which instances may be moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Reach {
    /// Those whose storage can be reached from every node.
    #[default]
    External,
    /// DRBD instances, too: primaries and secondaries (`--drbd`).
    Drbd,
    /// Those besides whose disks only their node has: they are stopped while their disks are copied (`--all`).
    All,
}

/// What is asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct SqueezeOptions {
    /// Standard instances for which every online node must have room.
    pub minimal: f64,
    /// The same, once nodes have been freed.
    pub target: f64,
    /// What may be moved, and so leave a freed node.
    pub reach: Reach,
    /// Whether every node must remain expendable (global N+1).
    pub capacity_checks: bool,
    /// Whether tags, locations and policies may be worse afterwards.
    pub ignore_soft_errors: bool,
    /// Whether DRBD instances whose primary node stays only fail over, or get another secondary.
    pub restricted_migration: bool,
    /// Most nodes that are switched, in all groups together.
    pub max_nodes: Option<usize>,
    /// Nodes that are neither freed nor brought online.
    pub left_alone: Vec<NodeIdx>,
    /// Sizes of nodes as they once were, by name.
    pub known_sizes: Sizes,
    /// Which nodes are freed once others have been brought online.
    pub swaps: Swaps,
}

/// Which nodes the second plan of a group may free, after a first one that brings nodes online.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Swaps {
    /// None: there is no second plan.
    None,
    /// Those that were online before.
    Others,
    /// Also those that had to come online only for the moves, where the next run would free them.
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
        }
    }
}

/// What is to be done in a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// Bring nodes online, or only move instances, because a node lacks the minimal
    /// reserve.
    Expand,
    /// Nothing.
    Nothing,
    /// Free nodes.
    Condense,
}

/// Why a node is not freed. What is in the way is mostly no place of an instance, but the node
/// itself or all the others together; where it is the lack of room on one node, that is a
/// [`Hurdle`] as everywhere.
#[derive(Debug, Clone, PartialEq)]
pub enum Hindrance {
    /// It is the master node.
    Master,
    /// It was switched a short while ago.
    LeftAlone,
    /// An instance there is of a kind that may not be moved away.
    NotInReach(InstanceIdx),
    /// It is secondary node of an instance that may not be moved away.
    SecondaryOf(InstanceIdx),
    /// Balancing never moves this instance.
    Fixed(InstanceIdx),
    /// Balancing leaves this instance there.
    Stays(InstanceIdx),
    /// The other nodes together have too little memory for the reserve: this much is
    /// missing, in MiB.
    Memory(i64),
    /// A node would lack the target reserve.
    Reserve(Box<Hurdle>),
    /// A node would fail N+1.
    Redundancy(NodeIdx),
    /// Something would be worse than before.
    Worse(Harm),
    /// A node could not be emptied any more (global N+1).
    Expendable(NodeIdx),
    /// The same would be so wherever the target reserve were used; this node has most room.
    Exposed(NodeIdx),
    /// It is the last node of its group.
    LastNode,
    /// No more nodes are wanted in this run.
    MaxNodes,
    /// In a very large group: so many before it could not be freed that it was not tried.
    Unlikely,
    /// The search ended before it was tried.
    NotTried,
}

/// A node that is not freed.
#[derive(Debug, Clone, PartialEq)]
pub struct Kept {
    /// The node.
    pub node: NodeIdx,
    /// Why.
    pub why: Hindrance,
}

/// A node that can be brought online.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Standby {
    /// The node.
    pub node: NodeIdx,
    /// What it is taken to be.
    pub size: Option<NodeSize>,
    /// From where that is known.
    pub source: SizeSource,
}

/// What is to be done in one group.
#[derive(Debug, Clone)]
pub struct GroupPlan {
    /// The group.
    pub group: GroupIdx,
    /// What is to be done.
    pub decision: Decision,
    /// The nodes that are switched, in the order of the candidates.
    pub nodes: Vec<NodeIdx>,
    /// The moves, in order. They begin with the nodes switched.
    pub steps: Vec<Step>,
    /// Nodes that come into question for being freed, in the order in which they are
    /// listed; they are tried from the last one on.
    pub offline_candidates: Vec<NodeIdx>,
    /// Nodes that can be brought online, in the order in which they are.
    pub online_candidates: Vec<Standby>,
    /// The reserve that was missing at the beginning.
    pub missing: Option<Hurdle>,
    /// The node with most room, if using the minimal reserve would have left a node that could
    /// not be emptied (global N+1) wherever that is; looked at only if no node lacks it.
    pub exposed: Option<NodeIdx>,
    /// Whether the minimal reserve holds at the end.
    pub enough: bool,
    /// Online nodes that are not freed, by index; none unless it was looked at.
    pub kept: Vec<Kept>,
    /// The score of the group as it is.
    pub initial_score: f64,
    /// Its score at the end, where it is looked at.
    pub final_score: f64,
    /// The cluster on which the plan begins, if a plan before it brings nodes of its group online.
    pub start: Option<Arc<Cluster>>,
}

impl GroupPlan {
    /// Returns the cluster on which the plan begins, given the one that the search began with.
    pub fn start<'c>(&'c self, cluster: &'c Cluster) -> &'c Cluster {
        self.start.as_deref().unwrap_or(cluster)
    }

    /// Switches the nodes in a cluster: marks them as offline, or as online, with the
    /// size they are taken to be of. On the result the steps are possible one after the
    /// other.
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

    /// Whether there is anything to do.
    pub fn is_idle(&self) -> bool {
        self.nodes.is_empty() && self.steps.is_empty()
    }
}

/// What is to be done, and where it leads.
#[derive(Debug, Clone)]
pub struct Squeeze {
    /// Plans by group, in the order of groups. A group has a second plan if nodes that the first one brings online
    /// make others needless.
    pub plans: Vec<GroupPlan>,
    /// The cluster with the nodes switched and the moves made.
    pub after: Cluster,
    /// What ended the search, if it could have gone on. The plans are whole all the same.
    pub stopped: Option<Stopped>,
}

impl Squeeze {
    /// Iterates over the plans of each group.
    pub fn by_group(&self) -> impl Iterator<Item = &[GroupPlan]> {
        self.plans.chunk_by(|one, next| one.group == next.group)
    }

    /// Iterates over the plans of each group in which something is to be done.
    pub fn changed_groups(&self) -> impl Iterator<Item = &[GroupPlan]> {
        self.by_group().filter(|plans| !plans.iter().all(GroupPlan::is_idle))
    }

    /// Tells if more than one group was looked at.
    pub fn has_several_groups(&self) -> bool {
        self.by_group().nth(1).is_some()
    }
}

/// How far the search in a group is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SqueezeProgress {
    /// Candidates that were looked at.
    pub looked_at: usize,
    /// Candidates in all.
    pub candidates: usize,
    /// Nodes that can be freed so far.
    pub freed: usize,
}

/// What a search heeds while it runs.
#[derive(Clone, Copy)]
pub struct SqueezeWatch<'a> {
    /// When it has to end. What it has found by then is made a whole plan.
    pub deadline: &'a Deadline,
    /// Is told how far it is.
    pub progress: &'a (dyn Fn(SqueezeProgress) + Sync),
}

/// The balancing that makes room: to the last gain, however small.
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

/// Instances that stay where they are, wherever that is.
fn out_of_reach(cluster: &Cluster, reach: Reach) -> Vec<InstanceIdx> {
    let is_drbd = |i: &&Instance| i.is_movable() && i.template.mirroring() == Mirroring::Internal;
    match reach {
        Reach::External => cluster.instances.iter().filter(is_drbd).map(|i| i.idx).collect(),
        Reach::Drbd | Reach::All => Vec::new(),
    }
}

/// Instances that only a copy of their disks brings to another node, where that may be: their node is online, and
/// nothing but their template ties them to it. [`MoveRules`] let them move once their node is switched off.
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

/// Decides for each of some groups what is to be done. Groups that need more nodes are
/// served first if the number of nodes is limited.
pub fn squeeze(cluster: &Cluster, groups: &[GroupIdx], options: &SqueezeOptions) -> Squeeze {
    squeeze_watched(
        cluster,
        groups,
        options,
        SqueezeWatch { deadline: &Deadline::never(), progress: &|_| {} },
    )
}

/// The same, as long as there is time.
pub fn squeeze_watched(
    cluster: &Cluster,
    groups: &[GroupIdx],
    options: &SqueezeOptions,
    watch: SqueezeWatch<'_>,
) -> Squeeze {
    let out_of_reach = out_of_reach(cluster, options.reach);
    let loosened = loosened(cluster, options.reach);
    let free = (!loosened.is_empty()).then(|| {
        let mut free = Draft::of(cluster);
        free.set_immobile(&loosened, None);
        free.into_cluster()
    });
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
    Squeeze { plans, after, stopped: scopes.iter().find_map(trial::GroupScope::stopped) }
}
