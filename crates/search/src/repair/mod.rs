//! Which instances are broken, what would mend each of them, whether that may be done, and where there is room for it: harep's
//! decisions.
//!
//! What may be done is said by tags ([`permission`]), and what is under way or has failed, too ([`RepairHistory`]). What is wrong
//! with an instance is its [`Damage`]; how that is mended, a [`RepairWay`].

mod damage;
mod way;

use std::collections::HashMap;

pub use self::damage::{Damage, disks_matter};
pub use self::way::{NoWay, NodeChoice, RepairWay};
use htools_model::autorepair::{
    Contradiction, DiskFault, RepairHistory, RepairKind, RepairNote, RepairPermission, RepairResult,
    RepairState, RepairTag, permission,
};
use htools_model::{Cluster, DiskTemplate, Draft, InstanceIdx, NodeIdx, StorageMap};

/// How long after a repair that ended well the same damage means that it was in vain, in seconds.
pub(crate) const IN_VAIN: i64 = 3600;
/// How long to wait after the first failure before another attempt, in seconds; after each more, twice as long.
pub(crate) const FIRST_BACKOFF: i64 = 300;

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepairOptions {
    /// The present time, in seconds since 1970.
    pub now: i64,
    /// How many repairs may be under way at the same time (`--limit`).
    pub limit: Option<usize>,
    /// How many of them on a node (`--max-per-node`).
    pub max_per_node: Option<usize>,
    /// After how many failures nobody tries again (`--backoff`); at least 1.
    pub most_failures: u32,
}

impl RepairOptions {
    /// As harep repairs unless it is told more: without limits, and the first failure is the last.
    pub fn at(now: i64) -> RepairOptions {
        RepairOptions { now, limit: None, max_per_node: None, most_failures: 1 }
    }
}

/// What is to be done about an instance.
#[derive(Debug, Clone, PartialEq)]
pub enum RepairDecision {
    /// Nothing: it is well.
    Well,
    /// A repair; another attempt, after one that has failed.
    Repair(RepairKind, RepairWay, Option<RepairTag>),
    /// A repair, which waits for others to end.
    Later(RepairKind, LimitReached),
    /// A repair, but of an instance that is no longer as it was read: the next run looks at it.
    Changed(RepairKind),
    /// A repair, for which there is no room.
    NoRoom(RepairKind, NoWay),
    /// The repair that it needs is more than what is permitted.
    BeyondPermission {
        /// What it needs.
        needed: RepairKind,
        /// What is permitted.
        permitted: RepairKind,
        /// Whether a tag of it says so.
        noted: bool,
    },
    /// Nothing is permitted.
    NotPermitted {
        /// The repair that it needs.
        needed: RepairKind,
        /// What forbids it.
        refused: RepairPermission,
    },
    /// Nothing that this program does would mend it; somebody has to look.
    ForPeople,
    /// A repair is under way.
    UnderWay(RepairTag),
    /// The last repair ended well, a short while ago, and the damage is there still.
    InVain(RepairTag),
    /// A repair has failed, and another attempt waits until this moment, in seconds since 1970.
    BackOff(RepairTag, i64),
    /// Repairs have failed as often as was allowed.
    GiveUp(RepairTag),
    /// A repair has failed; somebody has to look.
    Failed(RepairTag),
    /// Its tags contradict each other; somebody has to look.
    Unclear(Box<Contradiction>),
}

impl RepairDecision {
    /// What a tag is to say of it, where nothing is begun.
    pub fn note(&self) -> Option<RepairNote> {
        match self {
            RepairDecision::BeyondPermission { needed, .. } => Some(RepairNote::NoPermission(*needed)),
            RepairDecision::InVain(_) => Some(RepairNote::InVain),
            RepairDecision::GiveUp(_) => Some(RepairNote::Suspend),
            _ => None,
        }
    }
}

/// Which limit keeps a repair from beginning now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitReached {
    /// That of all repairs.
    All(usize),
    /// That of a node.
    Node(NodeIdx, usize),
}

/// An instance with what is wrong with it and what is to be done.
#[derive(Debug, Clone, PartialEq)]
pub struct RepairCase {
    /// The instance.
    pub instance: InstanceIdx,
    /// What is wrong, as far as that was looked at.
    pub damage: Option<Damage>,
    /// What is to be done.
    pub decision: RepairDecision,
}

/// What is to be done about every instance, in their order, by their tags as they are in the cluster; `disks` is what is known of
/// the state of disks. Where not everything can be done, what is urgent is.
pub fn decide_all(
    cluster: &Cluster,
    disks: &HashMap<InstanceIdx, DiskFault>,
    options: &RepairOptions,
) -> Vec<RepairCase> {
    let mut cases: Vec<RepairCase> = Vec::with_capacity(cluster.instances.len());
    let mut wanted = Vec::new();
    for instance in &cluster.instances {
        let damage = Damage::of(cluster, instance, disks.get(&instance.idx));
        let decision = match intention(cluster, instance.idx, damage.as_ref(), options) {
            Intention::Is(decision) => decision,
            Intention::Repair(kind, before) => {
                wanted.push((cases.len(), kind, before));
                RepairDecision::Well
            }
        };
        cases.push(RepairCase { instance: instance.idx, damage, decision });
    }
    wanted.sort_by_key(|(at, ..)| cases[*at].damage.as_ref().map(Damage::urgency));
    let mut budget = RepairBudget::new(cluster, &cases, options);
    let mut draft = Draft::from(for_those_who_are_there(cluster));
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

/// The same cluster where policies refuse no instance: they are about new ones, and those that are mended are there already.
fn for_those_who_are_there(cluster: &Cluster) -> Cluster {
    let mut lenient = cluster.clone();
    for group in &mut lenient.groups {
        group.policy.ranges.clear();
        group.policy.disk_templates = DiskTemplate::ALL.to_vec();
    }
    lenient
}

/// What is to be done as far as no other instance matters.
enum Intention {
    Is(RepairDecision),
    /// A repair; another attempt, after one that has failed.
    Repair(RepairKind, Option<RepairTag>),
}

fn intention(
    cluster: &Cluster,
    idx: InstanceIdx,
    damage: Option<&Damage>,
    options: &RepairOptions,
) -> Intention {
    use RepairDecision as D;
    let history = match RepairHistory::of(&cluster.instance(idx).tags) {
        Err(contradiction) => return Intention::Is(D::Unclear(contradiction)),
        Ok(history) => history.state,
    };
    let last = match history {
        RepairState::Pending(tag) => return Intention::Is(D::UnderWay(tag)),
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
            return Intention::Is(D::Failed(tag.clone()));
        }
        if damage.is_some() && tag.attempt() >= options.most_failures {
            return Intention::Is(D::GiveUp(tag.clone()));
        }
        if damage.is_some() && options.now < next {
            return Intention::Is(D::BackOff(tag.clone(), next));
        }
    }
    let Some(damage) = damage else {
        // somebody has mended it meanwhile, and the tag is for people
        let failed = last.filter(|_| has_failed);
        return Intention::Is(failed.map_or(D::Well, D::Failed));
    };
    let Some(needed) = damage.repair() else { return Intention::Is(D::ForPeople) };
    match permission {
        RepairPermission::UpTo(permitted) if needed <= permitted => {
            let again =
                |tag: &RepairTag| tag.kind == needed && options.now < tag.time.saturating_add(IN_VAIN);
            match last {
                Some(tag) if tag.result == Some(RepairResult::Success) && again(&tag) => {
                    Intention::Is(D::InVain(tag))
                }
                last => Intention::Repair(needed, last.filter(|_| has_failed)),
            }
        }
        RepairPermission::UpTo(permitted) => {
            let noted = |tag: RepairTag| tag.kind == needed && tag.result == Some(RepairResult::NoPermission);
            Intention::Is(D::BeyondPermission { needed, permitted, noted: last.is_some_and(noted) })
        }
        refused => Intention::Is(D::NotPermitted { needed, refused }),
    }
}

/// How much may still begin.
struct RepairBudget {
    limit: Option<usize>,
    max_per_node: Option<usize>,
    under_way: usize,
    by_node: Vec<usize>,
}

impl RepairBudget {
    /// What repairs that are under way leave.
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

    /// Enters a repair, if there is room for it.
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
