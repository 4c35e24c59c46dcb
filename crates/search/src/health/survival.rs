//! Finds the sets of nodes of a group that cannot be lost together: examines every combination up to a given
//! size, worst first.
//!
//! Instances lose their disks if both nodes of a DRBD instance are lost, or the node of one on local storage.
//! They are counted apart from instances that keep their disks but find no place. Only the latter make a
//! combination count as not survived, since no other placement saves the former.

use std::cmp::{Ordering, Reverse};

use rayon::prelude::*;

use crate::{Deadline, Stopped};
use htools_model::redundancy::global::{ComboSums, DataLoss, JointLoss};
use htools_model::{Cluster, GroupIdx, InstanceIdx, Mib, NodeIdx};

/// Maximum number of combinations examined in a group.
const MOST: u64 = 2_000_000;

/// Consequences of losing nodes of one group.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupSurvival {
    /// The group.
    pub group: GroupIdx,
    /// Its online nodes.
    pub online: usize,
    /// Results by number of lost nodes, from one on.
    pub sizes: Vec<SizeSurvival>,
    /// The worst combinations, the worst first.
    pub worst: Vec<JointFailure>,
}

/// Consequences of losing a given number of nodes at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SizeSurvival {
    /// Number of lost nodes.
    pub size: usize,
    /// Number of combinations of this size; `u64::MAX` stands for anything larger.
    pub combinations: u64,
    /// Number of combinations examined.
    pub examined: u64,
    /// True if sums prove that all combinations are survived, even those not examined.
    pub is_proved: bool,
    /// Number of combinations that leave instances without a place.
    pub failing: u64,
    /// Number of combinations that lose data.
    pub losing: u64,
}

impl SizeSurvival {
    /// Returns true if it is known for every combination whether all instances find a place.
    pub fn is_settled(&self) -> bool {
        self.is_proved || self.examined == self.combinations
    }
}

/// A combination of nodes whose loss does harm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JointFailure {
    /// The nodes, ascending.
    pub nodes: Vec<NodeIdx>,
    /// Instances that keep their disks but find no place.
    pub homeless: Vec<InstanceIdx>,
    /// Memory of these instances.
    pub homeless_mem: Mib,
    /// Instances that lose their disks.
    pub lost: DataLoss,
}

impl JointFailure {
    /// Orders the worse one first: by the number of instances without a place, their memory, and the instances
    /// that lose data. Then fewer nodes come first, and the order of nodes decides.
    fn order(&self, other: &JointFailure) -> Ordering {
        let key = |f: &JointFailure| Reverse((f.homeless.len(), f.homeless_mem, f.lost.count, f.lost.mem));
        key(self)
            .cmp(&key(other))
            .then_with(|| self.nodes.len().cmp(&other.nodes.len()))
            .then_with(|| self.nodes.cmp(&other.nodes))
    }
}

/// Consequences of losing up to a given number of nodes of any group.
#[derive(Debug, Clone, PartialEq)]
pub struct Survival {
    /// Maximum number of lost nodes.
    pub most: usize,
    /// The groups with online nodes.
    pub groups: Vec<GroupSurvival>,
    /// Reason for an early end, if there was one.
    pub stopped: Option<Stopped>,
}

impl Survival {
    fn sizes(&self) -> impl Iterator<Item = &SizeSurvival> {
        self.groups.iter().flat_map(|group| &group.sizes)
    }

    /// Number of combinations that leave instances without a place.
    pub fn failing(&self) -> u64 {
        self.sizes().map(|size| size.failing).sum()
    }

    /// Number of combinations that lose data.
    pub fn losing(&self) -> u64 {
        self.sizes().map(|size| size.losing).sum()
    }

    /// Returns true if no combination is left open.
    pub fn is_settled(&self) -> bool {
        self.sizes().all(SizeSurvival::is_settled)
    }

    /// Returns true if every instance that keeps its disks is shown to find a place, whichever nodes are lost.
    pub fn is_shown(&self) -> bool {
        self.is_settled() && self.failing() == 0
    }
}

/// Computes the consequences of losing up to `most` online nodes of any group, and lists the `shown` worst
/// combinations of each group.
///
/// Combinations are examined by increasing size. At most 2,000,000 are examined in a group; if there are more,
/// those of the nodes with most memory in use come first. Offline nodes count as lost already.
pub fn survival(cluster: &Cluster, most: usize, shown: usize, deadline: &Deadline) -> Survival {
    let mut stopped = None;
    let groups = cluster
        .groups_with_nodes()
        .into_iter()
        .map(|group| of_group(cluster, group, most, shown, deadline, &mut stopped))
        .filter(|group| group.online > 0)
        .collect();
    Survival { most, groups, stopped }
}

fn of_group(
    cluster: &Cluster,
    group: GroupIdx,
    most: usize,
    shown: usize,
    deadline: &Deadline,
    stopped: &mut Option<Stopped>,
) -> GroupSurvival {
    let nodes = cluster.nodes_of(group);
    let joint = JointLoss::of(cluster, nodes);
    let mut online: Vec<NodeIdx> = nodes.iter().copied().filter(|n| !cluster.node(*n).spec.offline).collect();
    online.sort_by_key(|n| (Reverse(cluster.node(*n).state.ledger.mem_instances), *n));
    let mut survival = GroupSurvival { group, online: online.len(), sizes: Vec::new(), worst: Vec::new() };
    let mut left = MOST;
    for size in 1..=most.min(online.len()) {
        let combinations = binomial(online.len(), size);
        let among = (size..=online.len()).rev().find(|n| binomial(*n, size) <= left).unwrap_or(0);
        let is_proved = joint.all_surely_fit(&online, size);
        let search = ComboSearch { cluster, joint: &joint, online: &online[..among], size, shown, is_proved };
        let found = search.run(deadline, stopped);
        left -= found.examined;
        survival.sizes.push(SizeSurvival {
            size,
            combinations,
            examined: found.examined,
            is_proved,
            failing: found.failing,
            losing: found.losing,
        });
        survival.worst.extend(found.worst);
        trim(&mut survival.worst, shown);
    }
    survival
}

/// Number of ways to choose `size` of `all`, or `u64::MAX` if it exceeds 64 bits.
fn binomial(all: usize, size: usize) -> u64 {
    let mut ways: u128 = 1;
    for at in 0..size.min(all - size.min(all)) {
        ways = ways * (all - at) as u128 / (at + 1) as u128;
        if ways > u128::from(u64::MAX) {
            return u64::MAX;
        }
    }
    if size > all { 0 } else { u64::try_from(ways).unwrap_or(u64::MAX) }
}

/// Keeps the `most` worst failures, in order.
fn trim(failures: &mut Vec<JointFailure>, most: usize) {
    failures.sort_by(JointFailure::order);
    failures.truncate(most);
}

/// Search over all combinations of one size.
struct ComboSearch<'a> {
    cluster: &'a Cluster,
    joint: &'a JointLoss<'a>,
    /// The nodes that are combined.
    online: &'a [NodeIdx],
    size: usize,
    /// Number of the worst combinations to keep.
    shown: usize,
    /// No combination needs a simulation.
    is_proved: bool,
}

/// Result for some combinations.
#[derive(Debug, Default)]
struct ComboTally {
    examined: u64,
    failing: u64,
    losing: u64,
    worst: Vec<JointFailure>,
    stopped: Option<Stopped>,
}

impl ComboSearch<'_> {
    fn run(&self, deadline: &Deadline, stopped: &mut Option<Stopped>) -> ComboTally {
        // Ordered by the last node of a combination, so that all combinations of the first few nodes come
        // before any others.
        let parts: Vec<ComboTally> = (self.size.saturating_sub(1)..self.online.len())
            .into_par_iter()
            .map(|last| self.ending_with(last, deadline))
            .collect();
        let mut all = ComboTally::default();
        for part in parts {
            all.examined += part.examined;
            all.failing += part.failing;
            all.losing += part.losing;
            all.worst.extend(part.worst);
            *stopped = stopped.or(part.stopped);
        }
        trim(&mut all.worst, self.shown);
        all
    }

    fn ending_with(&self, last: usize, deadline: &Deadline) -> ComboTally {
        let mut found = ComboTally::default();
        let mut sums = ComboSums::default();
        // Positions in ascending order.
        let mut chosen: Vec<usize> = (0..self.size - 1).chain([last]).collect();
        loop {
            if found.examined.is_multiple_of(64) {
                found.stopped = deadline.reached();
                if found.stopped.is_some() {
                    break;
                }
            }
            let mut lost: Vec<NodeIdx> = chosen.iter().map(|at| self.online[*at]).collect();
            lost.sort_unstable();
            self.examine(lost, &mut sums, &mut found);
            if !advance(&mut chosen) {
                break;
            }
        }
        trim(&mut found.worst, self.shown);
        found
    }

    fn examine(&self, nodes: Vec<NodeIdx>, sums: &mut ComboSums, found: &mut ComboTally) {
        let lost = self.joint.data_loss(&nodes);
        let fits = self.is_proved || self.joint.surely_fits(&nodes, sums);
        let homeless = if fits { Vec::new() } else { self.joint.unplaced(&nodes) };
        found.examined += 1;
        found.failing += u64::from(!homeless.is_empty());
        found.losing += u64::from(lost.count > 0);
        if homeless.is_empty() && lost.count == 0 {
            return;
        }
        let homeless_mem = homeless.iter().map(|i| self.cluster.instance(*i).mem).sum();
        found.worst.push(JointFailure { nodes, homeless, homeless_mem, lost });
        if found.worst.len() > 2 * self.shown + 64 {
            trim(&mut found.worst, self.shown);
        }
    }
}

/// Advances to the next combination with the same last position, if there is one.
fn advance(chosen: &mut [usize]) -> bool {
    let Some(fixed) = chosen.len().checked_sub(1) else { return false };
    for at in 0..fixed {
        if chosen[at] + 1 < chosen[at + 1] {
            chosen[at] += 1;
            for (before, position) in chosen[..at].iter_mut().enumerate() {
                *position = before;
            }
            return true;
        }
    }
    false
}
