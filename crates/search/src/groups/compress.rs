//! Finds groups that can be emptied into others.

use std::cmp::Reverse;

use super::stage::{PlaceStage, Sites};
use super::status::{Amounts, Capacity};
use super::{Blocked, Placing, RegroupOptions, Setting, StayReason};
use crate::parallel::map_with;
use crate::{Deadline, Stopped};
use htools_model::{AllocPolicy, Cluster, Draft, GroupIdx, Instance, InstanceIdx, NodeIdx, Step};

/// Reason why a group is not even tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UntriedReason {
    /// It has no instances.
    Empty,
    /// Its instances are not allowed to leave.
    Denied,
    /// No group that accepts instances has a pool in common with it.
    Isolated,
    /// It uses more than the groups connected to it have free.
    Exceeds {
        /// Name of the resource.
        resource: &'static str,
        /// Amount that the group uses.
        used: i64,
        /// Amount that the other groups have free.
        free: i64,
    },
}

/// Result of trying to empty a group.
#[derive(Debug, Clone, PartialEq)]
pub enum Compressed {
    /// The group is not tried.
    Untried(UntriedReason),
    /// This instance finds no place, after this number of others did.
    Stuck(Blocked, usize),
    /// It takes this number of moves, which exceeds the limit.
    TooLong(usize),
    /// The search ended earlier, for this reason.
    NoTime(Stopped),
    /// The group is empty after these moves.
    Emptied(Vec<Step>),
}

/// A group with the result of trying to empty it.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupCandidate {
    /// The group.
    pub group: GroupIdx,
    /// Capacity of its nodes, which becomes free if it is emptied.
    pub capacity: Capacity,
    /// Number of its instances.
    pub instances: usize,
    /// Result of the attempt.
    pub outcome: Compressed,
}

/// The groups that can be emptied, each by itself.
#[derive(Debug, Clone)]
pub struct Compression {
    /// The requested groups, in order.
    pub candidates: Vec<GroupCandidate>,
    /// Capacity of all nodes.
    pub total: Capacity,
    /// Reason for ending before all groups were tried, if there was one.
    pub stopped: Option<Stopped>,
}

impl Compression {
    /// The group to empty: the one with most free memory, then most free disk, then the first.
    pub fn choice(&self) -> Option<&GroupCandidate> {
        let emptied = self.candidates.iter().filter(|c| matches!(c.outcome, Compressed::Emptied(_)));
        emptied.max_by_key(|c| (c.capacity.memory.free, c.capacity.disk.free, Reverse(c.group)))
    }
}

impl GroupCandidate {
    /// The moves that empty it.
    pub fn steps(&self) -> &[Step] {
        if let Compressed::Emptied(steps) = &self.outcome { steps } else { &[] }
    }

    /// The cluster after the moves.
    pub fn after(&self, cluster: &Cluster, options: &RegroupOptions) -> Cluster {
        let setting = Setting::of(cluster, options);
        let placing = Placing::new(cluster, &setting);
        let mut after = Draft::of(cluster);
        // The same search finds the same places.
        let _ = empty(&placing, &mut after, &mut None, self.group, &Deadline::never());
        after.into_cluster()
    }
}

/// For each of the groups, tries to place all its instances in other groups.
pub fn compress(cluster: &Cluster, groups: &[GroupIdx], options: &RegroupOptions) -> Compression {
    compress_until(cluster, groups, options, &Deadline::never())
}

/// Like [`compress`], but stops at the deadline.
pub fn compress_until(
    cluster: &Cluster,
    groups: &[GroupIdx],
    options: &RegroupOptions,
    deadline: &Deadline,
) -> Compression {
    let setting = Setting::of(cluster, options);
    let placing = Placing::new(cluster, &setting);
    let capacities: Vec<Capacity> =
        cluster.members().iter().map(|members| Capacity::of(cluster, &members.nodes)).collect();
    let sites = Sites::of(cluster);
    let candidate = |copy: &mut Option<_>, group: &GroupIdx| {
        let instances = residents(cluster, *group);
        let outcome = match unfit(cluster, &setting, &capacities, *group, &instances) {
            Some(unfit) => Compressed::Untried(unfit),
            None => {
                let (steps, obstacle) = tried(&placing, cluster, &sites, copy, *group, deadline);
                obstacle.unwrap_or(match options.max_moves {
                    Some(most) if steps.len() > most => Compressed::TooLong(steps.len()),
                    _ => Compressed::Emptied(steps),
                })
            }
        };
        let capacity = capacities[group.get()];
        GroupCandidate { group: *group, capacity, instances: instances.len(), outcome }
    };
    let candidates: Vec<GroupCandidate> = map_with(groups, || None, candidate);
    let stopped = candidates.iter().find_map(|candidate| match candidate.outcome {
        Compressed::NoTime(stopped) => Some(stopped),
        _ => None,
    });
    Compression { candidates, total: Capacity::of(cluster, &cluster.all_nodes()), stopped }
}

/// Empties a group in a copy of the cluster, as far as possible, and restores the copy. The copy is used again
/// for the next group.
fn tried<'c>(
    placing: &Placing<'_>,
    cluster: &'c Cluster,
    sites: &'c Sites,
    copy: &mut Option<(Draft, Option<PlaceStage<'c>>)>,
    group: GroupIdx,
    deadline: &Deadline,
) -> (Vec<Step>, Option<Compressed>) {
    let fresh = || (Draft::of(cluster), Some(PlaceStage::new(cluster, sites)));
    let (copy, stage) = copy.get_or_insert_with(fresh);
    let start = copy.mark();
    let (steps, obstacle) = empty(placing, copy, stage, group, deadline);
    copy.back_to(start);
    for step in &steps {
        let instance = cluster.instance(step.instance);
        let back = |stage: &mut PlaceStage<'c>| stage.moved(copy, instance, step.to, step.from);
        stage.iter_mut().for_each(back);
    }
    (steps, obstacle)
}

/// The instances with a node in a group.
pub(super) fn residents(cluster: &Cluster, group: GroupIdx) -> Vec<InstanceIdx> {
    let of_node = |node: &NodeIdx| -> Vec<InstanceIdx> {
        let state = &cluster.node(*node).state;
        let all = state.primaries.iter().chain(&state.secondaries).chain(&state.planned);
        all.copied().filter(|i| cluster.instance(*i).nodes().any(|n| n == *node)).collect()
    };
    let mut residents: Vec<InstanceIdx> = cluster.nodes_of(group).iter().flat_map(of_node).collect();
    residents.sort_unstable();
    residents.dedup();
    residents
}

/// The reason why a group need not be tried.
fn unfit(
    cluster: &Cluster,
    setting: &Setting,
    capacities: &[Capacity],
    group: GroupIdx,
    instances: &[InstanceIdx],
) -> Option<UntriedReason> {
    if instances.is_empty() {
        return Some(UntriedReason::Empty);
    }
    if cluster.denies_leaving(group) {
        return Some(UntriedReason::Denied);
    }
    let connected = |g: &GroupIdx| {
        let there = cluster.group(*g);
        let takes = there.alloc_policy != AllocPolicy::Unallocable && !there.denies_moves_between_groups();
        *g != group && takes && setting.storage.common(group, *g).is_some()
    };
    let peers: Vec<GroupIdx> = cluster.groups.iter().map(|g| g.idx).filter(connected).collect();
    if peers.is_empty() {
        return Some(UntriedReason::Isolated);
    }
    let used = |size: &dyn Fn(&Instance) -> i64| -> i64 {
        instances.iter().map(|i| size(cluster.instance(*i))).fold(0, i64::wrapping_add)
    };
    let free = |amounts: fn(&Capacity) -> Amounts| -> i64 {
        let free = peers.iter().map(|g| amounts(&capacities[g.get()]).free.max(0));
        free.fold(0, i64::wrapping_add)
    };
    let copies = |i: &Instance| if i.template.has_secondary() { 2 } else { 1 };
    let checks = [
        ("memory", used(&|i| i.mem_in_use().0), free(|c| c.memory)),
        ("disk", used(&|i| i.local_disk().0.wrapping_mul(copies(i))), free(|c| c.disk)),
        ("vCPUs", used(&|i| i.vcpus_in_use()), free(|c| c.vcpus)),
    ];
    let of_peers = peers.iter().flat_map(|group| cluster.nodes_of(*group));
    let unlimited = of_peers.into_iter().any(|node| cluster.node(*node).spec.vcpu_ratio < 0.0);
    let limited = if unlimited { &checks[..2] } else { &checks[..] };
    let exceeding = limited.iter().copied().find(|(_, used, free)| used > free);
    exceeding.map(|(resource, used, free)| UntriedReason::Exceeds { resource, used, free })
}

/// Moves all instances of a group to other groups, largest memory first, unless one of them cannot move. The
/// stage follows the cluster. Returns the moves, and the obstacle if some instances stay.
fn empty(
    placing: &Placing<'_>,
    cluster: &mut Draft,
    stage: &mut Option<PlaceStage<'_>>,
    group: GroupIdx,
    deadline: &Deadline,
) -> (Vec<Step>, Option<Compressed>) {
    let mut instances = residents(cluster, group);
    for instance in &instances {
        if let Some(hold) = super::reach::hold(cluster, cluster.instance(*instance)) {
            let blocked = Blocked { instance: *instance, why: StayReason::Held(hold) };
            return (Vec::new(), Some(Compressed::Stuck(blocked, 0)));
        }
    }
    instances.sort_by_key(|i| (Reverse(cluster.instance(*i).mem), *i));
    let mut steps = Vec::with_capacity(instances.len());
    for instance in instances {
        if let Some(stopped) = deadline.reached() {
            return (steps, Some(Compressed::NoTime(stopped)));
        }
        match placing.place_on(cluster, stage, instance, |_| true) {
            Ok(step) => steps.push(step),
            Err(why) => {
                let stuck = Compressed::Stuck(Blocked { instance, why }, steps.len());
                return (steps, Some(stuck));
            }
        }
    }
    (steps, None)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use htools_ganeti::generate::{self, ClusterSpec, TemplateMix};
    use htools_ganeti::load::merge::{MergeOptions, finish, merge};
    use htools_model::Mib;

    fn any_cluster() -> impl Strategy<Value = Cluster> {
        use TemplateMix::{Drbd, Ext, Mixed, Plain};
        let mixes = prop::sample::select(vec![Drbd, Ext, Plain, Mixed]);
        let sizes = (6_usize..40, 5_usize..150, 2_usize..7);
        (sizes, mixes, any::<[bool; 2]>(), 0.1..0.9, any::<u32>()).prop_map(
            |((nodes, instances, groups), templates, [heterogeneous, tags], fill, seed)| {
                let groups = groups.min(nodes / 2);
                let spec = ClusterSpec::new(nodes, instances, templates, u64::from(seed));
                let spec = ClusterSpec { groups, heterogeneous, tags, fill, ..spec };
                let mut cluster = merge(generate::cluster(&spec), &MergeOptions::default()).unwrap();
                finish(&mut cluster, Mib::ZERO);
                cluster
            },
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

        /// A stage kept from one group to the next gives the same results as a fresh one.
        #[test]
        fn a_kept_stage_is_as_a_fresh_one(cluster in any_cluster(), capacity_checks in any::<bool>()) {
            let setting = Setting::of(&cluster, &RegroupOptions { capacity_checks, max_moves: None });
            let placing = Placing::new(&cluster, &setting);
            let sites = Sites::of(&cluster);
            let never = Deadline::never();
            let mut kept = None;
            // The second pass starts from the state that the first has left.
            for group in cluster.groups.iter().chain(&cluster.groups).map(|group| group.idx) {
                let found = tried(&placing, &cluster, &sites, &mut kept, group, &never);
                let fresh = empty(&placing, &mut Draft::of(&cluster), &mut None, group, &never);
                prop_assert_eq!(found, fresh);
            }
        }
    }
}
