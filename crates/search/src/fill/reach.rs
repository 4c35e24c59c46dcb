//! Decides whether shrinking a size for one reason can ever make it fit.
//!
//! A smaller instance meets the rules of a node at least as well as a larger one; only policies set lower
//! limits. So the smallest size that each range of a policy admits has the best chance. If no node takes any of
//! these sizes, no size in between fits.

use super::{FillSettings, Size};
use crate::place::Targets;
use crate::place::floor::Floor;
use crate::place::kinds::NodeKind;
use htools_model::{
    DiskCheck, FailKind, Instance, InstancePolicy, InstanceSpec, Mib, Strictness, TagArrival,
};

/// Returns true if an instance might fit after shrinking the resource that `kind` names. False is certain.
pub(super) fn could_fit(floor: &Floor<'_>, settings: &FillSettings, size: Size, kind: FailKind) -> bool {
    let groups = floor.cluster.groups.len();
    let (mut primaries, mut secondaries) = (vec![false; groups], vec![false; groups]);
    if matches!(floor.targets, Targets::Singles(_)) {
        secondaries.fill(true);
    }
    let Some(least) = size.least_shrunk(kind, 0) else { return false };
    let least = least.instance(settings, 0);
    for idx in floor.usable_kinds() {
        let nodes = floor.kinds.get(idx);
        let group = floor.cluster.node(nodes.sample).spec.group.get();
        if !primaries[group] {
            primaries[group] = takes_primary(floor, settings, size, kind, nodes);
        }
        if !secondaries[group] {
            secondaries[group] = takes_secondary(floor, &least, nodes);
        }
        if primaries[group] && secondaries[group] {
            return true;
        }
    }
    false
}

fn takes_primary(
    floor: &Floor<'_>,
    settings: &FillSettings,
    size: Size,
    kind: FailKind,
    nodes: &NodeKind,
) -> bool {
    let spec = &floor.cluster.node(nodes.sample).spec;
    if spec.cpu_total < 0.0 {
        // With a negative number of CPUs, a smaller instance is no easier to place.
        return true;
    }
    let policy = &floor.cluster.group(spec.group).policy;
    candidates(policy, size, kind).any(|size| {
        let instance = size.instance(settings, 0);
        let tags = TagArrival::default();
        policy.accepts(&instance, spec.exclusive_storage).is_ok()
            && nodes.ledger.add_primary(spec, &instance, 0, tags, Strictness::Strict).is_ok()
    })
}

fn takes_secondary(floor: &Floor<'_>, instance: &Instance, nodes: &NodeKind) -> bool {
    let spec = &floor.cluster.node(nodes.sample).spec;
    nodes.ledger.add_secondary(spec, instance, Mib::ZERO, Strictness::Strict, DiskCheck::Needed).is_ok()
}

/// The sizes with the best chance: the smallest that each range of a policy admits, and the smallest of all.
fn candidates(policy: &InstancePolicy, size: Size, kind: FailKind) -> impl Iterator<Item = Size> {
    let amount = move |spec: &InstanceSpec| match kind {
        FailKind::Mem => spec.memory.0,
        FailKind::Disk => spec.disk_size.0,
        FailKind::Cpu => spec.cpus,
        _ => spec.spindle_use,
    };
    let least = policy.ranges.iter().map(move |range| amount(&range.min));
    // Some ranges do not limit it: spindles count only on nodes with exclusive storage.
    least.chain([0]).filter_map(move |least| size.least_shrunk(kind, least))
}
