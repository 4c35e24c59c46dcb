//! Decides which broken instances can be repaired, how, and whether that is permitted and there is room: the
//! decisions of harep.
//!
//! Tags record the permissions ([`permission`]) and the repairs that are under way or have failed
//! ([`RepairHistory`]). The problem of an instance is its [`Damage`], and the steps against it are a
//! [`RepairWay`].

mod damage;
mod way;

use std::collections::HashMap;

pub use self::damage::{Damage, disks_matter};
pub use self::way::{NoRepairPlace, NodeChoice, RepairWay};
use htools_model::autorepair::{
    Contradiction, DiskFault, RepairHistory, RepairKind, RepairNote, RepairPermission, RepairResult,
    RepairState, RepairTag, permission,
};
use htools_model::{Cluster, DiskTemplate, Draft, InstanceIdx, NodeIdx, StorageMap};

/// Time after a successful repair, in seconds, during which the same damage means that the repair did not help.
pub(crate) const IN_VAIN: i64 = 3600;
/// Delay of the next attempt after the first failure, in seconds. It doubles with each further failure.
pub(crate) const FIRST_BACKOFF: i64 = 300;

/// Options of a repair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepairOptions {
    /// The present time, in seconds since 1970.
    pub now: i64,
    /// Maximum number of repairs under way at the same time (`--limit`).
    pub limit: Option<usize>,
    /// Maximum number of repairs under way on a node (`--max-per-node`).
    pub max_per_node: Option<usize>,
    /// Number of failures after which no further attempt is made (`--backoff`); at least 1.
    pub most_failures: u32,
}

impl RepairOptions {
    /// The defaults of harep: no limits, and no second attempt after a failure.
    pub fn at(now: i64) -> RepairOptions {
        RepairOptions { now, limit: None, max_per_node: None, most_failures: 1 }
    }
}

/// The decision about an instance.
#[derive(Debug, Clone, PartialEq)]
pub enum RepairDecision {
    /// The instance is well.
    Well,
    /// Repair it. The tag is that of the failed repair, if this is another attempt.
    Repair(RepairKind, RepairWay, Option<RepairTag>),
    /// Repair it later, after others have ended.
    Later(RepairKind, LimitReached),
    /// It needs a repair but has changed since it was read; the next run will examine it.
    Changed(RepairKind),
    /// It needs a repair, but there is no room for it.
    NoRoom(RepairKind, NoRepairPlace),
    /// It needs a greater repair than is permitted.
    BeyondPermission {
        /// The repair that it needs.
        needed: RepairKind,
        /// The greatest permitted repair.
        permitted: RepairKind,
        /// True if one of its tags records this.
        noted: bool,
    },
    /// It needs a repair, but none is permitted.
    NotPermitted {
        /// The repair that it needs.
        needed: RepairKind,
        /// The rule that forbids it.
        refused: RepairPermission,
    },
    /// No automatic repair would help; a person must look at it.
    ForPeople,
    /// A repair is under way.
    UnderWay(RepairTag),
    /// The last repair succeeded a short while ago, but the damage is still there.
    InVain(RepairTag),
    /// A repair has failed. The next attempt is made at this time, in seconds since 1970.
    BackOff(RepairTag, i64),
    /// Repairs have failed as often as is allowed.
    GiveUp(RepairTag),
    /// A repair has failed; a person must look at it.
    Failed(RepairTag),
    /// Its tags contradict each other; a person must look at it.
    Unclear(Box<Contradiction>),
}

impl RepairDecision {
    /// The note for a tag, if no repair begins.
    pub fn note(&self) -> Option<RepairNote> {
        match self {
            RepairDecision::BeyondPermission { needed, .. } => Some(RepairNote::NoPermission(*needed)),
            RepairDecision::InVain(_) => Some(RepairNote::InVain),
            RepairDecision::GiveUp(_) => Some(RepairNote::Suspend),
            _ => None,
        }
    }
}

/// The limit that delays a repair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitReached {
    /// The limit on all repairs.
    All(usize),
    /// The limit on the repairs of a node.
    Node(NodeIdx, usize),
}

/// An instance with its damage and the decision.
#[derive(Debug, Clone, PartialEq)]
pub struct RepairCase {
    /// The instance.
    pub instance: InstanceIdx,
    /// Its damage, if that was checked.
    pub damage: Option<Damage>,
    /// The decision about it.
    pub decision: RepairDecision,
}

/// Decides about every instance, in order, by its tags in the cluster. `disks` is the known state of disks. If
/// not everything can be repaired, the most urgent repairs come first.
pub fn decide_all(
    cluster: &Cluster,
    disks: &HashMap<InstanceIdx, DiskFault>,
    options: &RepairOptions,
) -> Vec<RepairCase> {
    let mut cases: Vec<RepairCase> = Vec::with_capacity(cluster.instances.len());
    let mut wanted = Vec::new();
    for instance in &cluster.instances {
        let damage = Damage::of(cluster, instance, disks.get(&instance.idx));
        let decision = match solo_decision(cluster, instance.idx, damage.as_ref(), options) {
            SoloDecision::Is(decision) => decision,
            SoloDecision::Repair(kind, before) => {
                wanted.push((cases.len(), kind, before));
                RepairDecision::Well
            }
        };
        cases.push(RepairCase { instance: instance.idx, damage, decision });
    }
    wanted.sort_by_key(|(at, ..)| cases[*at].damage.as_ref().map(Damage::urgency));
    let mut budget = RepairBudget::new(cluster, &cases, options);
    let mut draft = Draft::from(without_policies(cluster));
    let storage = if wanted.is_empty() { None } else { Some(StorageMap::of(cluster)) };
    for (at, kind, before) in wanted {
        let RepairCase { instance, damage: Some(damage), .. } = &cases[at] else { continue };
        let Some(storage) = &storage else { continue };
        let start = draft.mark();
        cases[at].decision = match way::find(&mut draft, storage, *instance, damage) {
            Err(no_way) => RepairDecision::NoRoom(kind, no_way),
            Ok(way) => match budget.take(cluster, *instance, &way) {
                Ok(()) => RepairDecision::Repair(kind, way, before),
                Err(limit) => {
                    draft.back_to(start);
                    RepairDecision::Later(kind, limit)
                }
            },
        };
    }
    cases
}

/// A copy of the cluster whose policies refuse no instance. Policies apply to new instances, but damaged ones
/// exist already.
fn without_policies(cluster: &Cluster) -> Cluster {
    let mut lenient = cluster.clone();
    for group in &mut lenient.groups {
        group.policy.ranges.clear();
        group.policy.disk_templates = DiskTemplate::ALL.to_vec();
    }
    lenient
}

/// The decision about an instance, ignoring all others.
enum SoloDecision {
    Is(RepairDecision),
    /// A repair. The tag is that of the failed repair, if this is another attempt.
    Repair(RepairKind, Option<RepairTag>),
}

fn solo_decision(
    cluster: &Cluster,
    idx: InstanceIdx,
    damage: Option<&Damage>,
    options: &RepairOptions,
) -> SoloDecision {
    use RepairDecision as D;
    let history = match RepairHistory::of(&cluster.instance(idx).tags) {
        Err(contradiction) => return SoloDecision::Is(D::Unclear(contradiction)),
        Ok(history) => history.state,
    };
    let last = match history {
        RepairState::Pending(tag) => return SoloDecision::Is(D::UnderWay(tag)),
        RepairState::Failure(tag) => Some(tag),
        RepairState::Healthy(last) => last,
    };
    let has_failed = last.as_ref().is_some_and(|tag| tag.result == Some(RepairResult::Failure));
    let permission = permission(cluster, idx, options.now);
    if let (Some(tag), true) = (&last, has_failed) {
        let may_try = matches!(permission, RepairPermission::UpTo(_)) && options.most_failures > 1;
        let pause = FIRST_BACKOFF.saturating_mul(1 << (tag.attempt() - 1).min(20));
        let next = tag.time.saturating_add(pause);
        if !may_try {
            return SoloDecision::Is(D::Failed(tag.clone()));
        }
        if damage.is_some() && tag.attempt() >= options.most_failures {
            return SoloDecision::Is(D::GiveUp(tag.clone()));
        }
        if damage.is_some() && options.now < next {
            return SoloDecision::Is(D::BackOff(tag.clone(), next));
        }
    }
    let Some(damage) = damage else {
        // A person has repaired it in the meantime; the tag is information for people.
        let failed = last.filter(|_| has_failed);
        return SoloDecision::Is(failed.map_or(D::Well, D::Failed));
    };
    let Some(needed) = damage.repair() else { return SoloDecision::Is(D::ForPeople) };
    match permission {
        RepairPermission::UpTo(permitted) if needed <= permitted => {
            let again =
                |tag: &RepairTag| tag.kind == needed && options.now < tag.time.saturating_add(IN_VAIN);
            match last {
                Some(tag) if tag.result == Some(RepairResult::Success) && again(&tag) => {
                    SoloDecision::Is(D::InVain(tag))
                }
                last => SoloDecision::Repair(needed, last.filter(|_| has_failed)),
            }
        }
        RepairPermission::UpTo(permitted) => {
            let noted = |tag: RepairTag| tag.kind == needed && tag.result == Some(RepairResult::NoPermission);
            SoloDecision::Is(D::BeyondPermission { needed, permitted, noted: last.is_some_and(noted) })
        }
        refused => SoloDecision::Is(D::NotPermitted { needed, refused }),
    }
}

/// Repairs that may still begin.
struct RepairBudget {
    limit: Option<usize>,
    max_per_node: Option<usize>,
    under_way: usize,
    by_node: Vec<usize>,
}

impl RepairBudget {
    /// The budget that the repairs under way leave.
    fn new(cluster: &Cluster, cases: &[RepairCase], options: &RepairOptions) -> RepairBudget {
        let RepairOptions { limit, max_per_node, .. } = *options;
        let mut budget =
            RepairBudget { limit, max_per_node, under_way: 0, by_node: vec![0; cluster.nodes.len()] };
        for case in cases.iter().filter(|case| matches!(case.decision, RepairDecision::UnderWay(_))) {
            budget.add(cluster, cluster.instance(case.instance).nodes());
        }
        budget
    }

    fn add(&mut self, cluster: &Cluster, nodes: impl Iterator<Item = NodeIdx>) {
        self.under_way += 1;
        for node in nodes.filter(|node| !cluster.node(*node).spec.offline) {
            self.by_node[node.get()] += 1;
        }
    }

    /// Enters a repair, if the limits allow it.
    fn take(
        &mut self,
        cluster: &Cluster,
        instance: InstanceIdx,
        way: &RepairWay,
    ) -> Result<(), LimitReached> {
        if let Some(limit) = self.limit.filter(|limit| self.under_way >= *limit) {
            return Err(LimitReached::All(limit));
        }
        let mut nodes: Vec<NodeIdx> = cluster.instance(instance).nodes().chain(way.to.nodes()).collect();
        nodes.sort_unstable();
        nodes.dedup();
        if let Some(most) = self.max_per_node {
            let is_full =
                |node: &&NodeIdx| !cluster.node(**node).spec.offline && self.by_node[node.get()] >= most;
            if let Some(node) = nodes.iter().find(is_full) {
                return Err(LimitReached::Node(*node, most));
            }
        }
        self.add(cluster, nodes.into_iter());
        Ok(())
    }
}

#[cfg(test)]
mod tests;
