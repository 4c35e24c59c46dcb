//! The document of `hspace --json`: schema `htools.space/1`.

use serde::Serialize;

use super::{AllocationRun, CapacityShare, FillStart, Tier, TotalAmounts, Totals, size_of};
use crate::model::{Cluster, FailKind, Instance, NodeIdx};
use crate::report::cluster::json::{ClusterView, NodesView};
use crate::report::form::json::{Generator, Nodes};
use crate::search::Stopped;
use crate::search::fill::{FillGround, Size};
use crate::search::place::Targets;

pub(crate) const SCHEMA: &str = "htools.space/1";

/// Estimate of the instances that a cluster can still hold.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct SpaceDocument {
    schema: &'static str,
    generator: Generator,
    settings: SettingsView,
    cluster: ClusterView,
    survey: Survey,
    totals: StatisticsView,
    tiered: AllocationView,
    standard: AllocationView,
    capacity: CapacityView,
}

#[derive(Debug, Clone, Serialize)]
struct SettingsView {
    disk_template: &'static str,
    required_nodes: i64,
    spindle_use: i64,
    limit: Option<i64>,
    capacity_checks: bool,
    accept_existing_errors: bool,
    independent_groups: bool,
}

/// State from which the search starts.
#[derive(Debug, Clone, Serialize)]
struct Survey {
    bad_nodes: Vec<String>,
    bad_groups: Vec<String>,
    usable_nodes: Vec<String>,
    hopeless: bool,
}

#[derive(Debug, Clone, Serialize)]
struct StatisticsView {
    score: f64,
    nodes: usize,
    instances: usize,
    memory: ResourceView,
    memory_overhead: i128,
    disk: ResourceView,
    cpu: CpuTotalsView,
    spindles: SpindlesTotalView,
}

#[derive(Debug, Clone, Serialize)]
struct ResourceView {
    total: f64,
    used: i128,
    free: i128,
    available: i128,
    reserved: i128,
    most_available: i64,
    efficiency: f64,
}

#[derive(Debug, Clone, Serialize)]
struct CpuTotalsView {
    physical: f64,
    virtual_allowed: i128,
    virtual_used: i128,
    physical_used: f64,
    efficiency: f64,
}

#[derive(Debug, Clone, Serialize)]
struct SpindlesTotalView {
    total: i128,
    used: i128,
    free: i128,
    efficiency: f64,
}

#[derive(Debug, Clone, Serialize)]
struct InstanceSize {
    memory: i64,
    disk: i64,
    vcpus: i64,
    spindles: i64,
}

#[derive(Debug, Clone, Serialize)]
struct AllocationView {
    sizes: Vec<InstanceSize>,
    allocated: usize,
    /// Reason that it ended early, if it did.
    stopped: Option<Stopped>,
    tiers: Vec<SizeCount>,
    /// Only if it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    proof: Option<CapacityProofView>,
    failure_reason: &'static str,
    failures: Vec<FailureView>,
    totals: StatisticsView,
    instances: Vec<PlacedView>,
    nodes_after: NodesView,
}

/// Upper bound of the number of instances; null without a limit.
#[derive(Debug, Clone, Serialize)]
struct CapacityProofView {
    bound: Option<usize>,
    gap: Option<f64>,
}

#[derive(Debug, Clone, Serialize)]
struct SizeCount {
    size: InstanceSize,
    count: usize,
}

#[derive(Debug, Clone, Serialize)]
struct FailureView {
    reason: &'static str,
    count: u64,
}

#[derive(Debug, Clone, Serialize)]
struct PlacedView {
    name: String,
    nodes: Nodes,
    size: InstanceSize,
}

#[derive(Debug, Clone, Serialize)]
struct CapacityView {
    used: Portion,
    pool: Portion,
    unavailable: Portion,
}

#[derive(Debug, Clone, Serialize)]
struct Portion {
    virtual_cpus: i64,
    physical_cpus: f64,
    memory: i64,
    disk: i64,
    spindles: i64,
}

/// The document for the result: the limit of `-l`, and the tiered and the standard allocation.
pub(crate) fn document(
    start: &FillStart,
    cluster: &Cluster,
    ground: &FillGround,
    limit: Option<i64>,
    runs: [&AllocationRun; 2],
) -> SpaceDocument {
    let [tiered, standard] = runs;
    SpaceDocument {
        schema: SCHEMA,
        generator: Generator::of(cluster),
        settings: settings(start, limit),
        cluster: ClusterView::whole(cluster),
        survey: survey(cluster, ground),
        totals: statistics(&start.totals),
        tiered: allocation(tiered),
        standard: allocation(standard),
        capacity: CapacityView {
            used: portion(CapacityShare::used(&start.totals)),
            pool: portion(CapacityShare::pool(&start.totals, &tiered.totals)),
            unavailable: portion(CapacityShare::unavailable(&tiered.totals)),
        },
    }
}

fn settings(start: &FillStart, limit: Option<i64>) -> SettingsView {
    let used = &start.settings;
    SettingsView {
        disk_template: used.template.as_str(),
        required_nodes: used.required_nodes(),
        spindle_use: used.spindle_use,
        limit,
        capacity_checks: used.capacity_checks,
        accept_existing_errors: used.accept_existing_errors,
        independent_groups: used.independent_groups,
    }
}

fn survey(cluster: &Cluster, ground: &FillGround) -> Survey {
    let names = |nodes: &[NodeIdx]| nodes.iter().map(|n| cluster.node(*n).spec.name.clone()).collect();
    let usable = ground.targets.as_ref().map_or(&[][..], Targets::primaries);
    Survey {
        bad_nodes: names(&ground.bad_nodes),
        bad_groups: ground.bad_groups.iter().map(|g| cluster.group(*g).name.clone()).collect(),
        usable_nodes: names(usable),
        hopeless: ground.hopeless,
    }
}

fn statistics(totals: &Totals) -> StatisticsView {
    let Totals { score, nodes, instances, memory, memory_overhead, disk, cpus, spindles } = totals;
    StatisticsView {
        score: *score,
        nodes: *nodes,
        instances: *instances,
        memory: resource(memory),
        memory_overhead: *memory_overhead,
        disk: resource(disk),
        cpu: CpuTotalsView {
            physical: cpus.physical,
            virtual_allowed: cpus.allowed,
            virtual_used: cpus.used,
            physical_used: cpus.used_physical,
            efficiency: cpus.efficiency(),
        },
        spindles: SpindlesTotalView {
            total: spindles.total,
            used: spindles.used(),
            free: spindles.free,
            efficiency: spindles.efficiency(),
        },
    }
}

fn resource(amounts: &TotalAmounts) -> ResourceView {
    ResourceView {
        total: amounts.total,
        used: amounts.used,
        free: amounts.free,
        available: amounts.available,
        reserved: amounts.reserved(),
        most_available: amounts.most_available.0,
        efficiency: amounts.efficiency(),
    }
}

fn instance_size(size: Size) -> InstanceSize {
    let Size { memory, disk, vcpus, spindles } = size;
    InstanceSize { memory: memory.0, disk: disk.0, vcpus, spindles }
}

fn allocation(run: &AllocationRun) -> AllocationView {
    let cluster = &run.filled.cluster;
    let placed = |instance: &Instance| PlacedView {
        name: instance.name.clone(),
        nodes: Nodes::of(cluster, instance.placement()),
        size: instance_size(size_of(instance)),
    };
    let tier = |tier: Tier| SizeCount { size: instance_size(tier.size), count: tier.count };
    let failure = |(kind, count): (FailKind, u64)| FailureView { reason: kind.as_str(), count };
    AllocationView {
        sizes: run.sizes.iter().map(|size| instance_size(*size)).collect(),
        allocated: run.allocated(),
        stopped: run.filled.stopped,
        tiers: run.tiers().into_iter().map(tier).collect(),
        proof: run.proof.map(|proof| CapacityProofView { bound: proof.most, gap: proof.gap() }),
        failure_reason: run.main_reason().as_str(),
        failures: run.reasons().into_iter().map(failure).collect(),
        totals: statistics(&run.totals),
        instances: run.placed().map(placed).collect(),
        nodes_after: NodesView::of(cluster, &cluster.all_nodes()),
    }
}

fn portion(share: CapacityShare) -> Portion {
    let CapacityShare { vcpus, cpus, memory, disk, spindles } = share;
    Portion { virtual_cpus: vcpus, physical_cpus: cpus, memory: memory.0, disk: disk.0, spindles }
}
