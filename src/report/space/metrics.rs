//! Metrics of `hspace`: the capacity for further instances.

use super::{AllocationKind, AllocationRun};
use crate::model::{Cluster, GroupIdx, Instance, Mib};
use crate::report::form::metrics::{Family, GroupLabels, Sheet};

/// The label of an allocation.
fn word(kind: AllocationKind) -> &'static str {
    match kind {
        AllocationKind::Tiered => "tiered",
        AllocationKind::Standard => "standard",
    }
}

/// Adds the results of filling a cluster in several ways.
pub(crate) fn tell(sheet: &mut Sheet, cluster: &Cluster, runs: &[&AllocationRun]) {
    let groups = GroupLabels::of(cluster);
    sheet.flag(Family::SpaceBlocked, &[], runs.iter().any(|run| run.hopeless));
    for run in runs {
        let allocation = word(run.kind);
        for group in cluster.groups_with_nodes() {
            tell_group(sheet, run, group, &[groups.get(group), allocation]);
        }
        sheet.flag(Family::SpaceComplete, &[allocation], run.filled.stopped.is_none());
    }
}

/// Adds the instances that would go to one group.
fn tell_group(sheet: &mut Sheet, run: &AllocationRun, group: GroupIdx, labels: &[&str; 2]) {
    let filled = &run.filled.cluster;
    let here = |instance: &&Instance| filled.node(instance.primary).spec.group == group;
    let placed: Vec<&Instance> = run.placed().filter(here).collect();
    sheet.count(Family::SpaceInstances, labels, placed.len());
    sheet.bytes(Family::SpaceMemory, labels, placed.iter().map(|i| i.mem).sum::<Mib>().as_f64());
    sheet.bytes(Family::SpaceDisk, labels, placed.iter().map(|i| i.disk).sum::<Mib>().as_f64());
    let vcpus = placed.iter().fold(0, |sum: i64, instance| sum.wrapping_add(instance.vcpus));
    sheet.put(Family::SpaceCpus, labels, vcpus as f64);
}
