//! An independent check of plans.
//!
//! A plan is replayed from the cluster at its start. The checker stores only the places of instances. After every
//! arrival it sums up the figures of the nodes concerned from scratch and compares them with Ganeti's rules. It shares
//! nothing with the search that made the plan, so an error there cannot hide here.

mod crossing;
mod group;
mod moments;
mod room;
mod rules;
mod score;
mod state;

use std::collections::BTreeSet;

pub use self::crossing::check_crossings;
use self::group::GroupMemory;
pub use self::moments::{PlanMoment, check_beginning, check_moments};
use self::room::CountedRoom;
use self::rules::{SecondaryTerms, arrive_primary, arrive_secondary, migrates};
pub use self::score::{WrongScore, check_scores};
pub(super) use self::state::{NodeFigures, ReplayedCluster};
use super::jobset::Jobset;
use htools_model::{
    Cluster, Immobile, InstanceIdx, Leg, Mib, Mirroring, Move, NodeIdx, Placement, PolicyBreach, Rule, Step,
};

/// Options of the plan that the checker must know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CheckOptions {
    /// `--ignore-soft-errors`: apply physical limits only.
    pub ignore_soft_errors: bool,
}

/// State after a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replay {
    placements: Vec<Placement>,
}

impl Replay {
    /// Placement of an instance at the end.
    pub fn placement(&self, instance: InstanceIdx) -> Placement {
        self.placements[instance.get()]
    }

    /// Tells if every instance of `cluster` is where the plan leads.
    pub fn leads_to(&self, cluster: &Cluster) -> bool {
        let there = cluster.instances.iter().map(|i| i.placement());
        self.placements.iter().copied().eq(there)
    }
}

/// A step that must not be executed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("step {step}, instance '{instance}': {fault}")]
pub struct Violation {
    /// Number of the step, from 1.
    pub step: usize,
    /// Name of the instance (its number, if there is no such instance).
    pub instance: String,
    /// The problem.
    pub fault: Fault,
}

/// Fault of a step. Nodes are given by name.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Fault {
    /// There is no instance of this number.
    #[error("there is no such instance")]
    NoInstance,
    /// There is no node of this number.
    #[error("there is no node number {0}")]
    NoNode(usize),
    /// Its template or settings pin the instance to its nodes.
    #[error("it may not be moved")]
    Immovable,
    /// The instance is moving already.
    #[error("another step moves it at the same time")]
    Moving,
    /// The plan has another placement for the instance.
    #[error("the plan has it on {claimed}, but it is on {found}")]
    Elsewhere {
        /// Its placement in the plan.
        claimed: String,
        /// Its placement on the cluster.
        found: String,
    },
    /// The template does not allow this kind of move.
    #[error("its disk template does not allow this kind of move")]
    WrongKind,
    /// The move leads to another placement than the plan says.
    #[error("the plan says that it goes to {claimed}, but the move leads to {found}")]
    OtherDestination {
        /// Its new placement in the plan.
        claimed: String,
        /// The placement that the move leads to.
        found: String,
    },
    /// The new node has the instance already.
    #[error("it is already on node '{0}'")]
    NotNew(String),
    /// The new node is offline.
    #[error("node '{0}' is offline")]
    Offline(String),
    /// The new node is not among those that the plan is for.
    #[error("node '{0}' is not among the nodes of the plan")]
    Outside(String),
    /// A rule is broken.
    #[error(transparent)]
    Rule(#[from] BrokenRule),
    /// Tags forbid moves between groups.
    #[error("moves from or to group '{0}' are denied")]
    Denied(String),
    /// The allocation policy forbids placements in the group.
    #[error("group '{0}' is unallocable")]
    Unallocable(String),
    /// The instance stays in its group, or ends up in two groups.
    #[error("it must move from one group to exactly one other")]
    Groups,
    /// A node that a leg needs is offline.
    #[error("leg {0} needs a node that is offline")]
    LegOffline(usize),
    /// The new node does not reach the instance's storage.
    #[error("node '{0}' does not reach its storage")]
    Storage(String),
    /// The group lacks networks of the instance.
    #[error("group '{0}' is not connected to its networks")]
    Networks(String),
    /// The policy of the group does not accept the instance.
    #[error("the policy of group '{0}' does not accept it: {1:?}")]
    Policy(String, PolicyBreach),
    /// The group was not healthy before, or would not be afterwards.
    #[error("group '{0}' is not healthy")]
    Health(String),
}

/// A rule that a node would break.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("node '{node}' would break the rule on {}: limit {needed}, found {there}", subject(*.rule))]
pub struct BrokenRule {
    /// Name of the node.
    pub node: String,
    /// The rule.
    pub rule: Rule,
    /// The limit of the rule.
    pub needed: f64,
    /// The amount that there would be.
    pub there: f64,
}

fn subject(rule: Rule) -> &'static str {
    match rule {
        Rule::Memory => "unallocated memory",
        Rule::Disk => "free disk",
        Rule::DiskReserve => "disk kept free",
        Rule::Spindles => "free spindles",
        Rule::SpindleRatio => "spindles per policy",
        Rule::Redundancy => "memory beyond the N+1 reserve",
        Rule::JointReserve => "memory beyond the reserve that is kept",
        Rule::GroupReserve => "memory of the group for the loss of several nodes",
        Rule::KeptRoom => "room for further instances",
        Rule::CpuRatio => "vCPUs per CPU",
        Rule::UseLimit => "percent above the limit of the node's use",
        Rule::ExclusionTag => "exclusion tags",
        Rule::MemoryForFailover => "memory for a failover",
        Rule::PlannedMemory => "free memory with forthcoming instances",
        Rule::PlannedDisk => "free disk with forthcoming instances",
        Rule::PlannedDiskReserve => "disk kept free with forthcoming instances",
        Rule::PlannedSpindles => "free spindles with forthcoming instances",
        Rule::PlannedSpindleRatio => "spindles per policy with forthcoming instances",
        Rule::PlannedCpuRatio => "vCPUs per CPU with forthcoming instances",
        Rule::NotMirrored => "mirrored templates",
        Rule::MigrationTags => "migration tags",
        Rule::Pool => "storage pools that the node reaches",
        Rule::KeptOut => "being open to the instance",
        Rule::ClosedNode => "being a target of moves",
    }
}

/// Replays a plan for the set `nodes` that starts from `cluster`.
///
/// # Errors
/// The first step that must not be executed, and the reason.
pub fn check(
    cluster: &Cluster,
    nodes: &[NodeIdx],
    steps: &[Step],
    options: CheckOptions,
) -> Result<Replay, Violation> {
    let mut replay = Checker {
        state: ReplayedCluster::new(cluster),
        nodes: nodes.iter().copied().collect(),
        soft: options.ignore_soft_errors,
    };
    for (at, step) in steps.iter().enumerate() {
        replay.step(step).map_err(|fault| violation(cluster, at, step, fault))?;
    }
    Ok(replay.state.replay())
}

fn violation(cluster: &Cluster, at: usize, step: &Step, fault: Fault) -> Violation {
    let name = cluster.instances.get(step.instance.get()).map(|i| i.name.clone());
    let instance = name.unwrap_or_else(|| format!("number {}", step.instance));
    Violation { step: at + 1, instance, fault }
}

struct Checker<'a> {
    state: ReplayedCluster<'a>,
    nodes: BTreeSet<NodeIdx>,
    soft: bool,
}

impl Checker<'_> {
    fn step(&mut self, step: &Step) -> Result<(), Fault> {
        let cluster = self.state.cluster;
        let instance = cluster.instances.get(step.instance.get()).ok_or(Fault::NoInstance)?;
        let named = [Some(step.from.primary), step.from.secondary, Some(step.to.primary), step.to.secondary];
        for node in named.into_iter().flatten().chain(step.mv.targets()) {
            if node.get() >= cluster.nodes.len() {
                return Err(Fault::NoNode(node.get()));
            }
        }
        // Balancing does not move instances whose template ties them to their nodes. While stopped, they can move with
        // their disks.
        let is_tied = instance.immobile == Some(Immobile::Template) && !instance.forthcoming;
        if !(instance.is_movable() || is_tied) || !instance.auto_balance {
            return Err(Fault::Immovable);
        }
        let from = self.state.placement(step.instance);
        if step.from != from {
            return Err(Fault::Elsewhere {
                claimed: self.state.show(step.from),
                found: self.state.show(from),
            });
        }
        let (p, s) = (from.primary, from.secondary);
        if !self.nodes.contains(&p) {
            return Err(Fault::Outside(self.name(p)));
        }
        let mut there = vec![Some(p), s];
        for target in step.mv.targets() {
            self.usable(target)?;
            if there.contains(&Some(target)) {
                return Err(Fault::NotNew(self.name(target)));
            }
            there.push(Some(target));
        }
        self.state.conceded = step.concession.memory();
        let forced = self.soft || self.offline(p) || step.to.primary == p;
        let group = cluster.node(step.to.primary).spec.group;
        let before = GroupMemory::of(&self.state, group).filter(|_| !forced);
        let keeps_room = !self.soft && !room::leaves_lost(cluster, from);
        let room = CountedRoom::of(&self.state).filter(|_| keeps_room);
        let to = match (instance.template.mirroring(), step.mv, s) {
            (Mirroring::External | Mirroring::None, Move::FailoverTo(t), _) => {
                self.single(step.instance, p, t, s)?
            }
            (Mirroring::Internal, mv, Some(s)) if s != p => self.mirrored(step.instance, p, s, mv)?,
            _ => return Err(Fault::WrongKind),
        };
        self.state.conceded = Mib::ZERO;
        if step.to != to {
            return Err(Fault::OtherDestination {
                claimed: self.state.show(step.to),
                found: self.state.show(to),
            });
        }
        let after = before.and_then(|_| GroupMemory::of(&self.state, group));
        if let Some((before, after)) = before.zip(after) {
            after.follows(Some(before), &self.name(to.primary))?;
        }
        let after = room.and_then(|_| CountedRoom::of(&self.state));
        match room.zip(after) {
            Some((before, after)) => after.follows(before, &self.name(to.primary)),
            None => Ok(()),
        }
    }

    /// A failover or migration of an instance on external storage, or a copy of a stopped one.
    fn single(
        &mut self,
        i: InstanceIdx,
        p: NodeIdx,
        t: NodeIdx,
        s: Option<NodeIdx>,
    ) -> Result<Placement, Fault> {
        if self.state.cluster.instance(i).template.is_movable() {
            migrates(&self.state, p, t)?;
        }
        let forced = self.soft || self.offline(p);
        self.state.leave_all(i);
        arrive_primary(&mut self.state, i, t, forced)?;
        Ok(Placement { primary: t, secondary: s })
    }

    /// A move of a mirrored instance, leg by leg.
    fn mirrored(&mut self, i: InstanceIdx, p: NodeIdx, s: NodeIdx, mv: Move) -> Result<Placement, Fault> {
        let forced_by_p = self.soft || self.offline(p);
        let forced_by_s = self.soft || self.offline(s);
        let p_offline = self.offline(p);
        let soft = self.soft;
        let terms = |primary, forced| SecondaryTerms { primary, forced, disk_is_there: false, left: Some(p) };
        if mv.legs().next() == Some(Leg::Failover) {
            self.usable(s)?;
        }
        let state = &mut self.state;
        let (primary, secondary) = match mv {
            Move::FailoverTo(_) => return Err(Fault::WrongKind),
            Move::Failover => {
                migrates(state, p, s)?;
                state.leave_all(i);
                arrive_primary(state, i, s, forced_by_p)?;
                let terms = SecondaryTerms { disk_is_there: p_offline, ..terms(s, forced_by_p) };
                arrive_secondary(state, i, p, terms)?;
                (s, p)
            }
            Move::ReplaceSecondary(t) => {
                state.leave_all(i);
                arrive_secondary(state, i, t, terms(p, forced_by_s))?;
                // It never left, so only physical limits could be violated.
                arrive_primary(state, i, p, true)?;
                (p, t)
            }
            Move::ReplaceAndFailover(t) => {
                migrates(state, p, t)?;
                state.leave_all(i);
                arrive_primary(state, i, t, soft)?;
                arrive_secondary(state, i, p, terms(t, forced_by_s))?;
                (t, p)
            }
            Move::ReplacePrimary(t) => {
                migrates(state, p, s)?;
                migrates(state, s, t)?;
                state.leave_all(i);
                // S must run it while the disks are copied.
                arrive_primary(state, i, s, forced_by_p)?;
                state.leave_primary(i);
                arrive_primary(state, i, t, forced_by_p)?;
                arrive_secondary(state, i, s, terms(t, forced_by_p))?;
                (t, s)
            }
            Move::FailoverAndReplace(t) => {
                migrates(state, p, s)?;
                state.leave_all(i);
                arrive_primary(state, i, s, forced_by_p)?;
                arrive_secondary(state, i, t, terms(s, forced_by_p))?;
                (s, t)
            }
            Move::ReplaceBoth(t, u) | Move::FailoverAndReplaceBoth(t, u) => {
                state.leave_all(i);
                let mut from = p;
                if mv != Move::ReplaceBoth(t, u) {
                    migrates(state, p, s)?;
                    // This is only an intermediate placement.
                    arrive_primary(state, i, s, true)?;
                    state.leave_primary(i);
                    from = s;
                }
                migrates(state, from, t)?;
                arrive_primary(state, i, t, soft)?;
                arrive_secondary(state, i, u, terms(t, soft))?;
                (t, u)
            }
        };
        Ok(Placement { primary, secondary: Some(secondary) })
    }

    fn offline(&self, node: NodeIdx) -> bool {
        self.state.spec(node).offline
    }

    /// Checks that a node that will run the instance, or get its disks, is online and belongs to the plan.
    fn usable(&self, node: NodeIdx) -> Result<(), Fault> {
        if !self.nodes.contains(&node) {
            return Err(Fault::Outside(self.name(node)));
        }
        if self.offline(node) { Err(Fault::Offline(self.name(node))) } else { Ok(()) }
    }

    fn name(&self, node: NodeIdx) -> String {
        self.state.spec(node).name.clone()
    }
}

/// Fault of jobsets, which must not be submitted. Steps and jobsets are numbered from 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JobsetFault {
    /// A jobset names a step that the plan does not have.
    #[error("jobset {jobset} names step {step}, which does not exist")]
    NoStep {
        /// The jobset.
        jobset: usize,
        /// The step.
        step: usize,
    },
    /// A step comes out of order, or twice.
    #[error("jobset {jobset} has step {step} where step {expected} should come")]
    OutOfOrder {
        /// The jobset.
        jobset: usize,
        /// The step found.
        step: usize,
        /// The step that is due.
        expected: usize,
    },
    /// Some steps are in no jobset; the number of the first.
    #[error("step {0} is in no jobset")]
    Missing(usize),
    /// Two steps of one jobset use the same node.
    #[error("jobset {jobset}: step {step} uses node number {node}, which an earlier step of the jobset uses")]
    SharedNode {
        /// The jobset.
        jobset: usize,
        /// The later step.
        step: usize,
        /// The node's position in the cluster.
        node: NodeIdx,
    },
}

/// Checks that the jobsets contain every step exactly once and in order. Within a jobset no two steps may use the same
/// node, be it an old or a new one.
///
/// # Errors
/// The first deviation.
pub fn check_jobsets(steps: &[Step], jobsets: &[Jobset]) -> Result<(), JobsetFault> {
    let mut due = 0;
    for (at, jobset) in jobsets.iter().enumerate() {
        let jobset_number = at + 1;
        let mut used = BTreeSet::new();
        for index in jobset.iter().map(|step| step.get()) {
            let Some(step) = steps.get(index) else {
                return Err(JobsetFault::NoStep { jobset: jobset_number, step: index.saturating_add(1) });
            };
            if index != due {
                let (step, expected) = (index + 1, due + 1);
                return Err(JobsetFault::OutOfOrder { jobset: jobset_number, step, expected });
            }
            due += 1;
            let ends = [step.from.primary, step.to.primary].into_iter();
            let own: BTreeSet<NodeIdx> = ends.chain(step.from.secondary).chain(step.to.secondary).collect();
            if let Some(node) = own.iter().find(|n| used.contains(*n)) {
                return Err(JobsetFault::SharedNode { jobset: jobset_number, step: due, node: *node });
            }
            used.extend(own);
        }
    }
    if due < steps.len() { Err(JobsetFault::Missing(due + 1)) } else { Ok(()) }
}
