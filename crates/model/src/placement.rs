//! Effects of instances that come to a node or leave it, and the rules that can forbid a placement.
//!
//! The operations work on [`Ledger`] values, so a search can try thousands of placements without touching lists.
//! [`NodeState`] keeps the lists consistent once a placement is final. The rules and their order are those of Ganeti's
//! resource model.

use super::failure::FailKind;
use super::instance::Instance;
use super::node::{Ledger, NodeSpec, NodeState};
use super::node_reserve::NodeReserve;
use super::units::Mib;

/// The rule that forbids a placement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rule {
    /// Some memory must stay unallocated.
    Memory,
    /// Some disk must stay free.
    Disk,
    /// `--min-disk` must stay free.
    DiskReserve,
    /// Free spindles of a node with exclusive storage.
    Spindles,
    /// The policy's spindle ratio.
    SpindleRatio,
    /// Unallocated memory must exceed the reserve, unless it already did not.
    Redundancy,
    /// Unallocated memory must exceed the reserve for the loss of several nodes at once (`--keep-reserve`), or the
    /// placement must not increase what is missing.
    JointReserve,
    /// The group must have room for its instances on shared storage when several nodes are lost at once
    /// (`--keep-reserve`), or at least as much as before.
    GroupReserve,
    /// The cluster must have the room for further instances that is kept (`--keep-room`), or at least as much as before.
    KeptRoom,
    /// The policy's vCPU ratio.
    CpuRatio,
    /// A limit of the node's use that the user has set (`--only-if`).
    UseLimit,
    /// Another primary with the same exclusion tag.
    ExclusionTag,
    /// Unallocated memory must exceed what the instance reserves.
    MemoryForFailover,
    /// Memory, with all planned instances.
    PlannedMemory,
    /// Disk, with all planned instances.
    PlannedDisk,
    /// `--min-disk`, with all planned instances.
    PlannedDiskReserve,
    /// Spindles, with all planned instances.
    PlannedSpindles,
    /// The spindle ratio, with all planned instances.
    PlannedSpindleRatio,
    /// The vCPU ratio, with all planned instances.
    PlannedCpuRatio,
    /// Only DRBD instances have a secondary.
    NotMirrored,
    /// Migration tags.
    MigrationTags,
    /// The node must reach the storage pools that hold the instance's disks.
    Pool,
    /// The source keeps the instance off the node, as a constraint of Pacemaker forbids it there.
    KeptOut,
    /// The user wants the node to take nothing more (`--no-target`).
    ClosedNode,
}

impl Rule {
    /// The kind under which the refusal is counted.
    pub fn kind(self) -> FailKind {
        match self {
            Rule::Memory
            | Rule::Redundancy
            | Rule::JointReserve
            | Rule::MemoryForFailover
            | Rule::PlannedMemory => FailKind::Mem,
            Rule::Disk
            | Rule::DiskReserve
            | Rule::SpindleRatio
            | Rule::PlannedDisk
            | Rule::PlannedDiskReserve
            | Rule::PlannedSpindleRatio
            | Rule::NotMirrored
            | Rule::Pool => FailKind::Disk,
            Rule::Spindles | Rule::PlannedSpindles => FailKind::Spindles,
            Rule::CpuRatio | Rule::PlannedCpuRatio | Rule::UseLimit => FailKind::Cpu,
            Rule::ExclusionTag => FailKind::Tags,
            Rule::GroupReserve | Rule::KeptRoom => FailKind::N1,
            Rule::MigrationTags => FailKind::Mig,
            Rule::KeptOut | Rule::ClosedNode => FailKind::Tags,
        }
    }
}

/// The set of rules that apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strictness {
    /// All rules.
    Strict,
    /// Rules on physical limits only: for nodes that must be emptied, and with `--ignore-soft-errors`.
    Forced,
    /// All rules except those on memory: for nodes that others are about to leave.
    Crowded,
    /// No rules: for instances that are left where they were.
    Unbound,
}

impl Strictness {
    /// Tells if rules beyond physical limits apply.
    fn is_strict(self) -> bool {
        matches!(self, Strictness::Strict | Strictness::Crowded)
    }

    /// Tells if memory rules apply.
    fn asks_for_memory(self) -> bool {
        matches!(self, Strictness::Strict | Strictness::Forced)
    }

    /// Tells if any rule applies.
    fn binds(self) -> bool {
        self != Strictness::Unbound
    }
}

/// Effect of the exclusion tags and affinity keys of a primary that comes to a node or leaves it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TagArrival {
    /// Number of tag conflicts that it adds or removes.
    pub conflicts: i64,
    /// Cost of its keys beside those on the node, in [`WORTH_PARTS`](super::WORTH_PARTS).
    pub key_cost: i64,
    /// True if another primary on the node has one of its tags.
    pub clash: bool,
}

impl TagArrival {
    /// Effect of adding `instance` to a node where it is not a primary.
    pub fn of(state: &NodeState, instance: &Instance) -> TagArrival {
        let mut arrival = TagArrival::default();
        // Most instances have none, and this is called very often.
        if instance.exclusion_tags.is_empty() && instance.keys.is_empty() {
            return arrival;
        }
        for (own, there) in met(state, instance) {
            arrival.clash |= there > 0;
            // The first primary with a tag conflicts with nobody.
            arrival.conflicts += if there > 0 { own } else { own - 1 };
        }
        arrival.key_cost = instance.keys.cost(&state.key_count);
        arrival
    }

    /// Effect of the primary `instance` that is on the node: the conflicts and key cost that leave and return with it.
    pub fn of_primary(state: &NodeState, instance: &Instance) -> TagArrival {
        let conflicts = met(state, instance).map(|(own, there)| own.min(there - 1).max(0)).sum();
        TagArrival { conflicts, key_cost: instance.keys.cost_among(&state.key_count), clash: false }
    }
}

/// For each exclusion tag of an instance, the number of times the instance has it, and the number of times the
/// primaries of the node have it.
fn met<'a>(state: &'a NodeState, instance: &'a Instance) -> impl Iterator<Item = (i64, i64)> + 'a {
    let own = instance.exclusion_tags.counts().iter();
    state.tag_count.look_up(own, |(tag, _)| *tag).map(|((_, own), there)| (own, there))
}

/// Tells if a new secondary needs free disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiskCheck {
    /// The disk must fit.
    Needed,
    /// The disk is there already (failover away from an offline primary).
    Ignored,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Add,
    Remove,
}

fn spindles_used(spec: &NodeSpec, used: f64, instance: &Instance, change: Direction) -> f64 {
    if spec.exclusive_storage {
        return 0.0;
    }
    if !instance.template.uses_local_storage() {
        return used;
    }
    match change {
        Direction::Add => used + instance.spindle_use as f64,
        Direction::Remove => used - instance.spindle_use as f64,
    }
}

/// Free spindles after a change. They are meaningful with exclusive storage only; on other nodes any operation resets
/// them. An unknown number of spindles can never be added.
fn spindles_free(spec: &NodeSpec, free: i64, instance: &Instance, change: Direction) -> i64 {
    if !spec.exclusive_storage {
        return 0;
    }
    match (change, instance.spindles) {
        (Direction::Add, Some(n)) => free.wrapping_sub(n),
        (Direction::Add, None) => -1,
        (Direction::Remove, Some(n)) => free.wrapping_add(n),
        (Direction::Remove, None) => free,
    }
}

impl NodeSpec {
    /// Tells if this number of virtual CPUs exceeds the policy's ratio.
    pub fn exceeds_cpu_ratio(&self, vcpus: i64) -> bool {
        self.vcpu_ratio >= 0.0 && self.vcpu_ratio < vcpus as f64 / self.cpu_total
    }
}

fn first_broken<const N: usize>(checks: [(bool, Rule); N]) -> Result<(), Rule> {
    checks.into_iter().find(|check| check.0).map_or(Ok(()), |check| Err(check.1))
}

impl Ledger {
    /// Returns the node without its primary `instance`. It must be given the location score and the [`TagArrival`] that
    /// the instance has there.
    pub fn remove_primary(
        mut self,
        spec: &NodeSpec,
        instance: &Instance,
        location_score: i64,
        tags: TagArrival,
    ) -> Ledger {
        self.tag_conflicts -= tags.conflicts;
        self.key_cost -= tags.key_cost;
        self.change_planned_primary(spec, instance, Direction::Remove);
        if !instance.forthcoming {
            self.mem_instances -= instance.mem_in_use();
            self.vcpus = self.vcpus.wrapping_sub(instance.vcpus_in_use());
            self.disk_free += instance.local_disk();
            self.spindles_used = spindles_used(spec, self.spindles_used, instance, Direction::Remove);
            self.spindles_free = spindles_free(spec, self.spindles_free, instance, Direction::Remove);
            self.load = self.load - instance.util;
            self.location_sum -= spec.location_cost(instance, location_score);
            self.primaries -= 1;
            self.update_n1(spec);
        }
        self
    }

    /// Returns the node with `instance` as one more primary.
    ///
    /// # Errors
    /// The first rule that forbids it, in this order: missing offers, then physical limits, then (unless forced) the
    /// ratios, redundancy, tags and the planned view.
    pub fn add_primary(
        self,
        spec: &NodeSpec,
        instance: &Instance,
        location_score: i64,
        tags: TagArrival,
        strictness: Strictness,
    ) -> Result<Ledger, Rule> {
        let binds = strictness.binds();
        if let Some(rule) = spec.barrier(instance).filter(|_| binds) {
            return Err(rule);
        }
        let (strict, memory) = (strictness.is_strict(), strictness.asks_for_memory());
        let mut new = self;
        new.tag_conflicts += tags.conflicts;
        new.key_cost += tags.key_cost;
        new.change_planned_primary(spec, instance, Direction::Add);
        if instance.forthcoming {
            if strict {
                new.check_planned_primary(spec, instance, memory)?;
            }
            return Ok(new);
        }
        new.mem_instances += instance.mem_in_use();
        new.vcpus = new.vcpus.wrapping_add(instance.vcpus_in_use());
        new.disk_free -= instance.local_disk();
        new.spindles_used = spindles_used(spec, new.spindles_used, instance, Direction::Add);
        new.spindles_free = spindles_free(spec, new.spindles_free, instance, Direction::Add);
        new.load = new.load + instance.util;
        new.location_sum += spec.location_cost(instance, location_score);
        new.primaries += 1;
        new.update_n1(spec);

        let local = instance.template.uses_local_storage();
        first_broken([
            (memory && new.mem_unallocated(spec) <= Mib::ZERO, Rule::Memory),
            (binds && local && new.disk_free <= Mib::ZERO, Rule::Disk),
            (strict && local && new.disk_free < spec.disk_low, Rule::DiskReserve),
            (binds && local && spec.exclusive_storage && new.spindles_free < 0, Rule::Spindles),
            (strict && local && new.spindles_used > spec.spindle_limit, Rule::SpindleRatio),
            (strict && memory && new.n1_fail && !self.n1_fail, Rule::Redundancy),
            (strict && memory && new.lacks_more_than(&self, spec), Rule::JointReserve),
            (strict && spec.exceeds_cpu_ratio(new.vcpus), Rule::CpuRatio),
            (strict && spec.breaks_limit(&self, &new), Rule::UseLimit),
            (strict && tags.clash, Rule::ExclusionTag),
            (strict && spec.closed, Rule::ClosedNode),
        ])?;
        if strict {
            new.check_planned_primary(spec, instance, memory)?;
        }
        Ok(new)
    }

    /// Returns the node without its secondary `instance`; `left` is its reserve afterwards.
    pub fn remove_secondary(mut self, spec: &NodeSpec, instance: &Instance, left: NodeReserve) -> Ledger {
        self.change_planned_secondary(spec, instance, Direction::Remove);
        if !instance.forthcoming {
            self.disk_free += instance.local_disk();
            self.spindles_used = spindles_used(spec, self.spindles_used, instance, Direction::Remove);
            self.spindles_free = spindles_free(spec, self.spindles_free, instance, Direction::Remove);
            self.load.disk -= instance.util.disk;
            self.secondaries -= 1;
            (self.mem_reserved, self.joint) = (left.largest, left.joint);
            self.update_n1(spec);
        }
        self
    }

    /// Returns the node with `instance` as one more secondary. `peer` is the node's present reserve for the failure of
    /// the instance's primary node.
    ///
    /// # Errors
    /// As [`add_primary`](Self::add_primary); in addition, only DRBD instances have a secondary.
    pub fn add_secondary(
        self,
        spec: &NodeSpec,
        instance: &Instance,
        peer: Mib,
        strictness: Strictness,
        disk: DiskCheck,
    ) -> Result<Ledger, Rule> {
        let (strict, memory) = (strictness.is_strict(), strictness.asks_for_memory());
        let mut new = self;
        new.change_planned_secondary(spec, instance, Direction::Add);
        let need = instance.mem_reserved();
        if instance.forthcoming {
            first_broken([(strict && !instance.template.has_secondary(), Rule::NotMirrored)])?;
            if strict {
                new.check_planned_secondary(spec, need, memory)?;
            }
            return Ok(new);
        }
        new.disk_free -= instance.disk;
        new.spindles_used = spindles_used(spec, new.spindles_used, instance, Direction::Add);
        new.spindles_free = spindles_free(spec, new.spindles_free, instance, Direction::Add);
        new.load.disk += instance.util.disk;
        new.secondaries += 1;
        new.mem_reserved = new.mem_reserved.max(peer + need);
        if spec.joint_losses > 1 {
            new.joint = new.joint.raised(peer, need);
        }
        new.update_n1(spec);

        let binds = strictness.binds();
        let missing_disk = binds && disk == DiskCheck::Needed && new.disk_free <= Mib::ZERO;
        first_broken([
            (!instance.template.has_secondary(), Rule::NotMirrored),
            (missing_disk, Rule::Disk),
            (strict && new.disk_free < spec.disk_low, Rule::DiskReserve),
            (binds && spec.exclusive_storage && new.spindles_free < 0, Rule::Spindles),
            (strict && new.spindles_used > spec.spindle_limit, Rule::SpindleRatio),
            (strict && memory && need >= new.mem_unallocated(spec), Rule::MemoryForFailover),
            (strict && memory && new.n1_fail && !self.n1_fail, Rule::Redundancy),
            (strict && memory && new.lacks_more_than(&self, spec), Rule::JointReserve),
            (strict && spec.breaks_limit(&self, &new), Rule::UseLimit),
            (strict && spec.closed && !spec.is_left_by(instance), Rule::ClosedNode),
        ])?;
        if strict {
            new.check_planned_secondary(spec, need, memory)?;
        }
        Ok(new)
    }

    fn change_planned_primary(&mut self, spec: &NodeSpec, instance: &Instance, change: Direction) {
        match change {
            Direction::Add => {
                self.mem_free_planned -= instance.mem;
                self.vcpus_planned = self.vcpus_planned.wrapping_add(instance.vcpus_in_use());
            }
            Direction::Remove => {
                self.mem_free_planned += instance.mem;
                self.vcpus_planned = self.vcpus_planned.wrapping_sub(instance.vcpus_in_use());
            }
        }
        self.change_planned_storage(spec, instance, change);
    }

    fn change_planned_secondary(&mut self, spec: &NodeSpec, instance: &Instance, change: Direction) {
        self.change_planned_storage(spec, instance, change);
    }

    fn change_planned_storage(&mut self, spec: &NodeSpec, instance: &Instance, change: Direction) {
        match change {
            Direction::Add => self.disk_free_planned -= instance.local_disk(),
            Direction::Remove => self.disk_free_planned += instance.local_disk(),
        }
        self.spindles_used_planned = spindles_used(spec, self.spindles_used_planned, instance, change);
        self.spindles_free_planned = spindles_free(spec, self.spindles_free_planned, instance, change);
    }

    fn check_planned_primary(&self, spec: &NodeSpec, instance: &Instance, memory: bool) -> Result<(), Rule> {
        first_broken([(memory && self.mem_free_planned <= Mib::ZERO, Rule::PlannedMemory)])?;
        if instance.template.uses_local_storage() {
            self.check_planned_storage(spec)?;
        }
        first_broken([(spec.exceeds_cpu_ratio(self.vcpus_planned), Rule::PlannedCpuRatio)])
    }

    fn check_planned_secondary(&self, spec: &NodeSpec, need: Mib, memory: bool) -> Result<(), Rule> {
        self.check_planned_storage(spec)?;
        first_broken([(memory && need >= self.mem_free_planned, Rule::PlannedMemory)])
    }

    fn check_planned_storage(&self, spec: &NodeSpec) -> Result<(), Rule> {
        first_broken([
            (self.disk_free_planned <= Mib::ZERO, Rule::PlannedDisk),
            (self.disk_free_planned < spec.disk_low, Rule::PlannedDiskReserve),
            (spec.exclusive_storage && self.spindles_free_planned < 0, Rule::PlannedSpindles),
            (self.spindles_used_planned > spec.spindle_limit, Rule::PlannedSpindleRatio),
        ])
    }

    /// Adds a primary that the source already accounts for: reported free disk and spindles include it, and memory in
    /// use is summed later.
    pub fn attach_primary(&mut self, spec: &NodeSpec, instance: &Instance, tags: TagArrival) {
        self.tag_conflicts += tags.conflicts;
        self.key_cost += tags.key_cost;
        self.vcpus_planned = self.vcpus_planned.wrapping_add(instance.vcpus_in_use());
        self.spindles_used_planned =
            spindles_used(spec, self.spindles_used_planned, instance, Direction::Add);
        if instance.mem_in_use() != instance.mem {
            self.mem_free_planned -= instance.mem;
        }
        if instance.forthcoming {
            self.attach_planned_storage(spec, instance);
            return;
        }
        self.vcpus = self.vcpus.wrapping_add(instance.vcpus_in_use());
        self.spindles_used = spindles_used(spec, self.spindles_used, instance, Direction::Add);
        self.load = self.load + instance.util;
        self.location_sum += spec.location_cost(instance, instance.location_score);
        self.primaries += 1;
    }

    /// Adds a secondary that the source already accounts for.
    pub fn attach_secondary(&mut self, spec: &NodeSpec, instance: &Instance) {
        self.spindles_used_planned =
            spindles_used(spec, self.spindles_used_planned, instance, Direction::Add);
        if instance.forthcoming {
            self.attach_planned_storage(spec, instance);
            return;
        }
        self.spindles_used = spindles_used(spec, self.spindles_used, instance, Direction::Add);
        self.load.disk += instance.util.disk;
        self.secondaries += 1;
    }

    fn attach_planned_storage(&mut self, spec: &NodeSpec, instance: &Instance) {
        self.disk_free_planned -= instance.local_disk();
        self.spindles_free_planned =
            spindles_free(spec, self.spindles_free_planned, instance, Direction::Add);
    }
}
