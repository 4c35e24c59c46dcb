//! The rules that a node's figures must meet after an arrival.

use super::state::{NodeFigures, ReplayedCluster, reserve};
use super::{BrokenRule, Fault};
use htools_model::{Instance, InstanceIdx, Mib, NodeFigure, NodeIdx, NodeSpec, Rule};

/// A comparison that a rule requires, with its figures.
struct Check {
    broken: bool,
    rule: Rule,
    needed: f64,
    there: f64,
}

/// `there` must be more than `needed`.
fn more(rule: Rule, there: i64, needed: i64) -> Check {
    Check { broken: there <= needed, rule, needed: needed as f64, there: there as f64 }
}

/// `there` must not be less than `needed`.
fn at_least(rule: Rule, there: i64, needed: i64) -> Check {
    Check { broken: there < needed, rule, needed: needed as f64, there: there as f64 }
}

/// `there` must not be more than `limit`.
fn at_most(rule: Rule, there: f64, limit: f64) -> Check {
    Check { broken: there > limit, rule, needed: limit, there }
}

fn cpu_ratio(rule: Rule, vcpus: i64, spec: &NodeSpec) -> Check {
    let ratio = vcpus as f64 / spec.cpu_total;
    // A negative limit means no limit.
    let broken = spec.vcpu_ratio >= 0.0 && ratio > spec.vcpu_ratio;
    Check { broken, rule, needed: spec.vcpu_ratio, there: ratio }
}

fn verdict(spec: &NodeSpec, checks: Vec<Check>) -> Result<(), Fault> {
    match checks.into_iter().find(|c| c.broken) {
        None => Ok(()),
        Some(Check { rule, needed, there, .. }) => {
            Err(Fault::Rule(BrokenRule { node: spec.name.clone(), rule, needed, there }))
        }
    }
}

/// Checks that instances can migrate from one node to the other.
pub(super) fn migrates(state: &ReplayedCluster<'_>, from: NodeIdx, to: NodeIdx) -> Result<(), Fault> {
    let (from, to) = (state.spec(from), state.spec(to));
    let needed = from.migration_tags.iter().count() as f64;
    let there = from.migration_tags.iter().filter(|tag| to.receivable_tags.contains(*tag)).count() as f64;
    verdict(to, vec![Check { broken: there < needed, rule: Rule::MigrationTags, needed, there }])
}

/// Checks that the node offers everything that the instance needs.
fn reached(instance: &Instance, spec: &NodeSpec) -> Check {
    let needed = instance.needs.iter().count() as f64;
    let there = instance.needs.iter().filter(|need| spec.offers.contains(*need)).count() as f64;
    let is_open = instance.open.is_none_or(|open| spec.offers.contains(open));
    let rule = if is_open { Rule::Pool } else { Rule::KeptOut };
    Check { broken: there < needed, rule, needed, there }
}

/// Adds the instance to `node` as a primary, if the rules allow it.
pub(super) fn arrive_primary(
    state: &mut ReplayedCluster<'_>,
    idx: InstanceIdx,
    node: NodeIdx,
    forced: bool,
) -> Result<(), Fault> {
    let (instance, spec) = (state.instance(idx), state.spec(node));
    let local = instance.template.uses_local_storage();
    let before = state.figures(node);
    let tags = state.tag_counts(node);
    state.enter_primary(idx, node);
    let (f, spare) = (state.figures(node), state.conceded);

    let mut checks = vec![reached(instance, spec)];
    if !instance.forthcoming {
        checks.push(more(Rule::Memory, (f.mem_unallocated + spare).0, 0));
        if local {
            checks.push(more(Rule::Disk, f.disk_free.0, 0));
            if spec.exclusive_storage {
                checks.push(at_least(Rule::Spindles, f.spindles_free, 0));
            }
        }
        if !forced {
            if local {
                checks.push(at_least(Rule::DiskReserve, f.disk_free.0, spec.disk_low.0));
                checks.push(at_most(Rule::SpindleRatio, f.spindles_used, spec.spindle_limit));
            }
            if !before.n1_fail {
                checks.push(more(Rule::Redundancy, (f.mem_unallocated + spare).0, f.mem_reserved.0));
            }
            checks.extend(kept_reserve(&before, &f, spare));
            checks.push(cpu_ratio(Rule::CpuRatio, f.vcpus, spec));
            checks.extend(use_limits(&before, &f, spec));
            let clashing = instance.exclusion_tags.iter().filter(|tag| tags.contains_key(tag)).count();
            checks.push(at_most(Rule::ExclusionTag, clashing as f64, 0.0));
            checks.push(open(spec));
        }
    }
    if !forced {
        checks.push(more(Rule::PlannedMemory, (f.mem_free_planned + spare).0, 0));
        if local {
            checks.extend(planned_storage(spec, &f));
        }
        checks.push(cpu_ratio(Rule::PlannedCpuRatio, f.vcpus_planned, spec));
    }
    verdict(spec, checks)
}

/// A node that the user has closed takes nothing.
fn open(spec: &NodeSpec) -> Check {
    at_least(Rule::ClosedNode, i64::from(!spec.closed), 1)
}

/// Circumstances of a new secondary.
#[derive(Clone, Copy)]
pub(super) struct SecondaryTerms {
    /// The primary node of the instance.
    pub primary: NodeIdx,
    /// Apply physical limits only.
    pub forced: bool,
    /// Its disk is there already.
    pub disk_is_there: bool,
    /// The primary node before the move, which may keep a role of the instance.
    pub left: Option<NodeIdx>,
}

/// Makes `node` the secondary of the instance, if the rules allow it.
pub(super) fn arrive_secondary(
    state: &mut ReplayedCluster<'_>,
    idx: InstanceIdx,
    node: NodeIdx,
    terms: SecondaryTerms,
) -> Result<(), Fault> {
    let (instance, spec) = (state.instance(idx), state.spec(node));
    let before = state.figures(node);
    state.enter_secondary(idx, node, terms.primary);
    let (f, spare) = (state.figures(node), state.conceded);
    let need = reserve(instance).0;

    let mut checks = Vec::new();
    if !instance.forthcoming {
        if !terms.disk_is_there {
            checks.push(more(Rule::Disk, f.disk_free.0, 0));
        }
        if spec.exclusive_storage {
            checks.push(at_least(Rule::Spindles, f.spindles_free, 0));
        }
        if !terms.forced {
            checks.push(at_least(Rule::DiskReserve, f.disk_free.0, spec.disk_low.0));
            checks.push(at_most(Rule::SpindleRatio, f.spindles_used, spec.spindle_limit));
            checks.push(more(Rule::MemoryForFailover, (f.mem_unallocated + spare).0, need));
            if !before.n1_fail {
                checks.push(more(Rule::Redundancy, (f.mem_unallocated + spare).0, f.mem_reserved.0));
            }
            checks.extend(kept_reserve(&before, &f, spare));
            checks.extend(use_limits(&before, &f, spec));
            if terms.left != Some(node) {
                checks.push(open(spec));
            }
        }
    }
    if !terms.forced {
        checks.extend(planned_storage(spec, &f));
        checks.push(more(Rule::PlannedMemory, (f.mem_free_planned + spare).0, need));
    }
    verdict(spec, checks)
}

/// Percent by which a sum of loads may differ if it is added in another order.
const ROUNDING: f64 = 1e-6;

/// No figure of a node may rise above the limit that the user has set.
fn use_limits(before: &NodeFigures, after: &NodeFigures, spec: &NodeSpec) -> Vec<Check> {
    let used = |f: &NodeFigures, figure: NodeFigure| {
        let (part, whole) = match figure {
            NodeFigure::Memory => (spec.mem_total - f.mem_unallocated.0 as f64, spec.mem_total),
            NodeFigure::Cpu => (f.cpu_load, spec.cpu_load_full),
            NodeFigure::Vcpus => (f.vcpus as f64, spec.vcpu_ratio * spec.cpu_total),
            NodeFigure::Disk => (spec.disk_total - f.disk_free.0 as f64, spec.disk_total),
        };
        if whole > 0.0 { 100.0 * part / whole } else { 0.0 }
    };
    let rises = |figure| used(after, figure) > used(before, figure) + ROUNDING;
    let limits = spec.limits.each().filter(|(figure, _)| rises(*figure));
    limits.map(|(figure, limit)| at_most(Rule::UseLimit, used(after, figure), limit + ROUNDING)).collect()
}

/// Unallocated memory must exceed the reserve for the loss of several nodes, or no more must be missing than before.
fn kept_reserve(before: &NodeFigures, after: &NodeFigures, spare: Mib) -> Option<Check> {
    let (had, kept) = before.kept.zip(after.kept)?;
    let there = after.mem_unallocated + spare;
    let is_worse = kept - there > had - before.mem_unallocated;
    is_worse.then(|| more(Rule::JointReserve, there.0, kept.0))
}

fn planned_storage(spec: &NodeSpec, f: &NodeFigures) -> Vec<Check> {
    let mut checks = vec![
        more(Rule::PlannedDisk, f.disk_free_planned.0, 0),
        at_least(Rule::PlannedDiskReserve, f.disk_free_planned.0, spec.disk_low.0),
        at_most(Rule::PlannedSpindleRatio, f.spindles_used_planned, spec.spindle_limit),
    ];
    if spec.exclusive_storage {
        checks.push(at_least(Rule::PlannedSpindles, f.spindles_free_planned, 0));
    }
    checks
}
