//! Resources that a step takes from a node when it begins, and gives back when it ends.

use std::collections::BTreeSet;

use crate::graph::StepIdx;
use htools_model::{Cluster, Instance, InstanceIdx, Leg, Move, NodeIdx, Placement, Step, TagId};

/// A limited resource of a node, as the rules count it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum LimitedResource {
    /// Memory of running instances.
    Memory,
    /// The same plus the memory reserved for mirrored instances whose primary is this node.
    MemoryAgainst(NodeIdx),
    /// Memory of all instances, including forthcoming ones.
    PlannedMemory,
    Disk,
    PlannedDisk,
    /// Spindles of nodes with exclusive storage.
    Spindles,
    PlannedSpindles,
    /// Spindle weight on other nodes.
    SpindleUse,
    PlannedSpindleUse,
    Vcpus,
    PlannedVcpus,
    /// Instances with an exclusion tag.
    Tag(TagId),
}

/// Changes of the use of resources.
#[derive(Debug, Clone, Default)]
pub(super) struct TouchAmounts {
    each: Vec<(LimitedResource, i64)>,
    /// Reserved memory, by the primary node against whose loss it is reserved.
    reserves: Vec<(NodeIdx, i64)>,
}

impl TouchAmounts {
    /// Change of one of these resources.
    pub(super) fn of(&self, limited: LimitedResource) -> i64 {
        let find = |wanted| sum(self.each.iter().filter(|(l, _)| *l == wanted).map(|(_, a)| *a));
        match limited {
            LimitedResource::MemoryAgainst(peer) => {
                let kept = self.reserves.iter().filter(|(node, _)| *node == peer).map(|(_, a)| *a);
                find(LimitedResource::Memory).saturating_add(sum(kept))
            }
            other => find(other),
        }
    }

    /// Resources that change, except for memory reserved against a node.
    pub(super) fn limited(&self) -> impl Iterator<Item = LimitedResource> {
        self.each.iter().map(|(limited, _)| *limited)
    }

    /// Tells if nothing changes.
    fn is_empty(&self) -> bool {
        self.each.is_empty() && self.reserves.is_empty()
    }

    /// The nodes against whose loss memory is reserved or given up.
    pub(super) fn peers(&self) -> impl Iterator<Item = NodeIdx> {
        self.reserves.iter().map(|(node, _)| *node)
    }

    /// Adds other changes.
    pub(super) fn absorb(&mut self, other: &TouchAmounts) {
        other.each.iter().for_each(|(limited, amount)| add_to(&mut self.each, *limited, *amount));
        other.reserves.iter().for_each(|(peer, amount)| add_to(&mut self.reserves, *peer, *amount));
    }

    /// Adds the amounts that the other changes take, but not those that they give back.
    pub(super) fn absorb_taken(&mut self, other: &TouchAmounts) {
        other.each.iter().for_each(|(limited, amount)| add_to(&mut self.each, *limited, (*amount).max(0)));
        other.reserves.iter().for_each(|(peer, amount)| add_to(&mut self.reserves, *peer, (*amount).max(0)));
    }

    fn add(&mut self, limited: LimitedResource, amount: i64) {
        if amount != 0 {
            self.each.push((limited, amount));
        }
    }

    fn reserve(&mut self, instance: &Instance, against: NodeIdx, sign: i64) {
        if !instance.forthcoming {
            self.reserves.push((against, instance.mem_reserved().0.saturating_mul(sign)));
        }
    }

    fn primary(&mut self, instance: &Instance, sign: i64) {
        self.add(LimitedResource::Memory, instance.mem_in_use().0.saturating_mul(sign));
        self.add(LimitedResource::PlannedMemory, instance.mem.0.saturating_mul(sign));
        self.add(LimitedResource::PlannedVcpus, instance.vcpus_in_use().saturating_mul(sign));
        if !instance.forthcoming {
            self.add(LimitedResource::Vcpus, instance.vcpus_in_use().saturating_mul(sign));
        }
        let tags: BTreeSet<TagId> = instance.exclusion_tags.iter().copied().collect();
        tags.into_iter().for_each(|tag| self.add(LimitedResource::Tag(tag), sign));
    }

    fn disks(&mut self, instance: &Instance, sign: i64) {
        // These count wherever the disks are.
        let spindles = instance.spindles.unwrap_or(0).saturating_mul(sign);
        self.add(LimitedResource::PlannedSpindles, spindles);
        self.add(LimitedResource::Spindles, if instance.forthcoming { 0 } else { spindles });
        if !instance.template.uses_local_storage() {
            return;
        }
        self.add(LimitedResource::PlannedDisk, instance.disk.0.saturating_mul(sign));
        self.add(LimitedResource::PlannedSpindleUse, instance.spindle_use.saturating_mul(sign));
        if !instance.forthcoming {
            self.add(LimitedResource::Disk, instance.disk.0.saturating_mul(sign));
            self.add(LimitedResource::SpindleUse, instance.spindle_use.saturating_mul(sign));
        }
    }
}

/// Sums amounts. As these come from outside, an overflow gives the maximum.
fn sum(amounts: impl Iterator<Item = i64>) -> i64 {
    amounts.fold(0, i64::saturating_add)
}

fn add_to<K: PartialEq>(sums: &mut Vec<(K, i64)>, key: K, amount: i64) {
    match sums.iter_mut().find(|(known, _)| *known == key) {
        Some((_, sum)) => *sum = sum.saturating_add(amount),
        None => sums.push((key, amount)),
    }
}

/// Role of an instance on its new node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// It will run there.
    Primary,
    /// It will have a copy there.
    Secondary,
}

/// Arrival of an instance on a node in a role that it did not have there.
#[derive(Debug, Clone, Copy)]
pub(super) struct NewRole {
    pub(super) role: Role,
    /// Apply physical limits only.
    pub(super) forced: bool,
    /// True if it arrives only when the step ends: the former primary stays as a copy.
    pub(super) at_end: bool,
    /// True if the disk is there already and is not checked.
    pub(super) has_disk: bool,
    /// Memory that may be missing for it, in MiB.
    pub(super) conceded: i64,
}

/// Effect of a step on one node.
#[derive(Debug, Clone)]
pub(super) struct NodeTouch {
    pub(super) step: StepIdx,
    pub(super) instance: InstanceIdx,
    pub(super) new_role: Option<NewRole>,
    /// Change when it begins.
    pub(super) begin: TouchAmounts,
    /// Change when it ends.
    pub(super) end: TouchAmounts,
}

impl NodeTouch {
    /// Tells if it neither takes nor gives back anything.
    pub(super) fn is_free(&self) -> bool {
        self.begin.is_empty() && self.end.is_empty()
    }
}

/// Conditions under which arrivals are forced: a move from an offline node, or an intermediate placement between
/// groups.
pub(super) struct ArrivalTerms {
    pub(super) ignore_soft_errors: bool,
}

/// Effects of a step on each of its nodes.
pub(super) fn touches(
    cluster: &Cluster,
    at: StepIdx,
    step: &Step,
    terms: &ArrivalTerms,
) -> Vec<(NodeIdx, NodeTouch)> {
    let instance = cluster.instance(step.instance);
    let mirrored = instance.template.has_secondary();
    let copy_of = |place: Placement| place.secondary.filter(|_| mirrored);
    let visited = |node: NodeIdx| {
        let runs = step.legs().filter(|(leg, ..)| !matches!(leg, Leg::ReplaceSecondary(_)));
        runs.map(|(_, _, to)| to.primary).any(|primary| primary == node)
    };
    let mut nodes: Vec<NodeIdx> = step.nodes(cluster).chain(step.mv.targets()).collect();
    nodes.sort();
    nodes.dedup();
    let touch = |node: NodeIdx| {
        let role = |place: Placement| {
            if place.primary == node {
                Some(Role::Primary)
            } else if copy_of(place) == Some(node) {
                Some(Role::Secondary)
            } else {
                None
            }
        };
        let (was, is) = (role(step.from), role(step.to));
        let (mut begin, mut end) = (TouchAmounts::default(), TouchAmounts::default());
        // It runs there from the beginning, even if only in between.
        let runs = was != Some(Role::Primary) && visited(node);
        if runs {
            begin.primary(instance, 1);
        }
        if is != Some(Role::Primary) && (runs || was == Some(Role::Primary)) {
            end.primary(instance, -1);
        }
        if was.is_none() {
            begin.disks(instance, 1);
        }
        if is.is_none() {
            end.disks(instance, -1);
        }
        let (old, new) = (step.from.primary, step.to.primary);
        match (was, is) {
            (Some(Role::Secondary), Some(Role::Secondary)) if !runs && old == new => {}
            (was, is) => {
                if was == Some(Role::Secondary) {
                    // The memory reserved for it is the memory that it now runs in.
                    let released = if runs { &mut begin } else { &mut end };
                    released.reserve(instance, old, -1);
                }
                if is == Some(Role::Secondary) {
                    let kept = if was.is_none() { &mut begin } else { &mut end };
                    kept.reserve(instance, new, 1);
                }
            }
        }
        let new_role = new_role(cluster, step, (node, was, is, runs), terms);
        (node, NodeTouch { step: at, instance: step.instance, new_role, begin, end })
    };
    nodes.into_iter().map(touch).collect()
}

fn new_role(
    cluster: &Cluster,
    step: &Step,
    (node, was, is, runs): (NodeIdx, Option<Role>, Option<Role>, bool),
    terms: &ArrivalTerms,
) -> Option<NewRole> {
    let offline = |n: NodeIdx| cluster.node(n).spec.offline;
    let soft = terms.ignore_soft_errors;
    let crosses = step.crosses(cluster);
    let leaves = crosses && cluster.node(node).spec.group == step.groups(cluster).0;
    let by_primary = soft || leaves || offline(step.from.primary);
    let mirror = step.from.secondary.filter(|_| cluster.instance(step.instance).template.has_secondary());
    let by_secondary = soft || leaves || mirror.is_some_and(offline);
    let copies_first = matches!(step.mv.legs().next(), Some(Leg::ReplaceSecondary(_)));
    let forced = match step.mv {
        // This is only an intermediate placement.
        Move::FailoverAndReplaceBoth(..) if is.is_none() => true,
        Move::ReplaceBoth(..) | Move::FailoverAndReplaceBoth(..) => soft || leaves,
        _ if copies_first && runs => soft || leaves,
        _ if copies_first => by_secondary,
        _ => by_primary,
    };
    let new_role = |role, forced, at_end| {
        let conceded = step.concession.memory().0;
        Some(NewRole { role, forced, at_end, has_disk: false, conceded })
    };
    match (was, is) {
        // It never left, so only physical limits could be violated.
        (Some(Role::Primary), Some(Role::Primary)) if !crosses => new_role(Role::Primary, true, false),
        _ if runs => new_role(Role::Primary, forced, false),
        (None, Some(Role::Secondary)) => new_role(Role::Secondary, forced, false),
        (Some(Role::Primary), Some(Role::Secondary)) => {
            let has_disk = crosses || step.mv == Move::Failover && offline(node);
            new_role(Role::Secondary, forced, true).map(|new_role| NewRole { has_disk, ..new_role })
        }
        _ => None,
    }
}
