//! The result for shells: `HTS_KEY=VALUE` lines, whose keys and order scripts know.

use super::{AllocationKind, AllocationRun, CapacityShare, FillStart, Totals};
use crate::model::number::{fixed, plain};
use crate::report::balance::components::score;
use crate::report::form::shell::Assignments;
use crate::search::fill::Size;

fn assignments() -> Assignments {
    Assignments::new("HTS")
}

/// The capacity of the cluster (`CLUSTER_*`) and its use (`INI_*`).
pub(crate) fn cluster(start: &FillStart) -> Vec<String> {
    let totals = &start.totals;
    let mut lines = assignments();
    lines.push("CLUSTER_MEM", fixed(totals.memory.total, 0));
    lines.push("CLUSTER_DSK", fixed(totals.disk.total, 0));
    lines.push("CLUSTER_CPU", fixed(totals.cpus.physical, 0));
    lines.push("CLUSTER_VCPU", totals.cpus.allowed);
    lines.push("CLUSTER_SPN", totals.spindles.total);
    lines.push("CLUSTER_NODES", totals.nodes);
    statistics(&mut lines, "INI", totals);
    lines.lines()
}

/// Twenty keys about a state of the cluster, the same for each state.
fn statistics(lines: &mut Assignments, state: &str, totals: &Totals) {
    let Totals { memory, disk, cpus, spindles, .. } = totals;
    let mut push = |key: &str, value: String| lines.push(&format!("{state}_{key}"), value);
    push("SCORE", score(totals.score));
    push("INST_CNT", totals.instances.to_string());
    push("MEM_FREE", memory.free.to_string());
    push("MEM_AVAIL", memory.available.to_string());
    push("MEM_RESVD", memory.reserved().to_string());
    push("MEM_INST", memory.used.to_string());
    push("MEM_OVERHEAD", totals.memory_overhead.to_string());
    push("MEM_EFF", fixed(memory.efficiency(), 8));
    push("DSK_FREE", disk.free.to_string());
    push("DSK_AVAIL", disk.available.to_string());
    push("DSK_RESVD", disk.reserved().to_string());
    push("DSK_INST", disk.used.to_string());
    push("DSK_EFF", fixed(disk.efficiency(), 8));
    push("SPN_FREE", spindles.free.to_string());
    push("SPN_INST", spindles.used().to_string());
    push("SPN_EFF", fixed(spindles.efficiency(), 8));
    push("CPU_INST", cpus.used.to_string());
    push("CPU_EFF", fixed(cpus.efficiency(), 8));
    push("MNODE_MEM_AVAIL", memory.most_available.0.to_string());
    push("MNODE_DSK_AVAIL", disk.most_available.0.to_string());
}

/// The first size of an allocation: `TSPEC_INI_*` or `SPEC_*`.
pub(crate) fn request(start: &FillStart, run: &AllocationRun) -> Vec<String> {
    let prefix = match run.kind {
        AllocationKind::Tiered => "TSPEC_INI",
        AllocationKind::Standard => "SPEC",
    };
    let mut lines = assignments();
    let mut push = |key: &str, value: String| lines.push(&format!("{prefix}_{key}"), value);
    if let Some(Size { memory, disk, vcpus, spindles }) = run.sizes.first() {
        push("MEM", memory.0.to_string());
        push("DSK", disk.0.to_string());
        push("CPU", vcpus.to_string());
        push("SPN", spindles.to_string());
    }
    push("RQN", start.settings.required_nodes().to_string());
    push("DISK_TEMPLATE", start.template().to_string());
    lines.lines()
}

/// The result of an allocation: `TRL_*`, `TSPEC` and `KM_*`, or `FIN_*` and `ALLOC_*`, with the bound if it was asked for.
pub(crate) fn result(start: &FillStart, run: &AllocationRun) -> Vec<String> {
    let mut lines = assignments();
    match run.kind {
        AllocationKind::Tiered => tiered(&mut lines, start, run),
        AllocationKind::Standard => standard(&mut lines, start, run),
    }
    lines.lines()
}

fn tiered(lines: &mut Assignments, start: &FillStart, run: &AllocationRun) {
    statistics(lines, "TRL", &run.totals);
    let tiers: Vec<String> = run
        .tiers()
        .iter()
        .map(|tier| {
            let Size { memory, disk, vcpus, spindles } = tier.size;
            format!("{},{},{vcpus},{spindles}={}", memory.0, disk.0, tier.count)
        })
        .collect();
    lines.push("TSPEC", tiers.join(" "));
    let (before, after) = (&start.totals, &run.totals);
    share(lines, "USED", CapacityShare::used(before));
    share(lines, "POOL", CapacityShare::pool(before, after));
    share(lines, "UNAV", CapacityShare::unavailable(after));
}

fn share(lines: &mut Assignments, name: &str, share: CapacityShare) {
    let mut push = |key: &str, value: String| lines.push(&format!("KM_{name}_{key}"), value);
    push("CPU", share.vcpus.to_string());
    push("NPU", plain(share.cpus));
    push("MEM", share.memory.0.to_string());
    push("DSK", share.disk.0.to_string());
    push("SPN", share.spindles.to_string());
}

fn standard(lines: &mut Assignments, start: &FillStart, run: &AllocationRun) {
    statistics(lines, "FIN", &run.totals);
    let (before, new) = (start.totals.instances, run.allocated());
    lines.push("ALLOC_USAGE", fixed(before as f64 / (before + new) as f64, 8));
    lines.push("ALLOC_INSTANCES", new);
    lines.push("ALLOC_FAIL_REASON", run.main_reason().as_str().to_uppercase());
    for (kind, count) in run.reasons() {
        lines.push(&format!("ALLOC_{}_CNT", kind.as_str()), count);
    }
    if let Some(proof) = &run.proof {
        // Without a bound, both values are empty.
        lines.push("ALLOC_BOUND", proof.most.map(|most| most.to_string()).unwrap_or_default());
        lines.push("ALLOC_GAP", proof.gap().map(|gap| fixed(gap, 8)).unwrap_or_default());
    }
}

/// The marker that the output is complete.
pub(crate) fn end() -> Vec<String> {
    let mut lines = assignments();
    lines.push("OK", 1);
    lines.lines()
}
