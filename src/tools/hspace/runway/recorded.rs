//! Histories of use from the history of the state directory: each run without Prometheus adds the present use.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::anyhow;

use super::super::HspaceOptions;
use super::super::request::FillRequest;
use super::super::run::fill;
use crate::execute::history::{AmountUsed, GroupUse, History, HistoryEvent, UseRecord, now};
use crate::load::merge::apply_node_options;
use crate::model::{Cluster, GroupIdx, InstanceIdx};
use crate::report::runway::{GroupCapacity, UseHistory};
use crate::search::fill::FillGround;
use crate::search::forecast::Series;
use crate::search::groups::status::{Amounts, Capacity};
use crate::tools::execution::history::{of_user, record};
use crate::tools::execution::{client, takes_jobs};
use crate::tools::hint::WithHint;
use crate::tools::hspace::SPEC;
use crate::tools::interrupts::Interruptible;
use crate::tools::output::Output;
use crate::tools::pacemaker::{self, ClusterUse};

/// Distance of the values.
const STEP: Duration = Duration::from_secs(3600);

/// Records the present use of a live cluster. Returns all that is recorded, by group and capacity.
///
/// # Errors
/// If the source is no live cluster, cannot be read, or if there is no history.
pub(super) fn histories(
    options: &HspaceOptions,
    length: Duration,
    output: &mut Output,
) -> anyhow::Result<Vec<UseHistory>> {
    let source = &options.load.source;
    if !takes_jobs(source) {
        return Err(anyhow!("option --runway needs the history of the cluster").hint(
            "--load-from prometheus:URL names a server that has it; of a live cluster (--luxi or --master), \
             hspace notes the use at each run",
        ));
    }
    let id = client(source)?.cluster()?;
    let mut cluster = pacemaker::load(&options.load, &options.cib, ClusterUse::Looking, output)?.cluster;
    apply_node_options(&mut cluster, &options.load.nodes)?;
    let groups = present(options, &cluster)?;
    let warning = record(&id, SPEC.name, HistoryEvent::Use(UseRecord { groups }));
    output.error_lines(warning)?;
    let history = of_user()?.map_or_else(|| Ok(History::default()), |file| file.read())?;
    recorded(&history.of_cluster(Some(&id.uuid)), length)
}

/// The present use of each group.
fn present(options: &HspaceOptions, cluster: &Cluster) -> anyhow::Result<Vec<GroupUse>> {
    let request = FillRequest::of(options, cluster)?;
    let deadline = Interruptible::begin(options.limits.time_limit)?;
    let ground = FillGround::of_until(cluster, request.settings, &deadline);
    let [tiered, _] = fill(&ground, cluster, &request, &deadline);
    let tiered = tiered.ok().filter(|filled| filled.stopped.is_none());
    let fitting = |group: GroupIdx| {
        let filled = tiered.as_ref()?;
        let primary = |new: &InstanceIdx| filled.cluster.instance(*new).primary;
        let new = filled.added.iter().filter(|new| filled.cluster.node(primary(new)).spec.group == group);
        u64::try_from(new.count()).ok()
    };
    let used = |amounts: Amounts| AmountUsed { used: amounts.used, limit: amounts.total };
    let of_group = |group: GroupIdx| {
        let Capacity { memory, disk, vcpus, .. } = Capacity::of(cluster, cluster.nodes_of(group));
        let (memory, disk, vcpus) = (used(memory), used(disk), used(vcpus));
        GroupUse { group: cluster.group(group).name.clone(), memory, disk, vcpus, tiered: fitting(group) }
    };
    Ok(cluster.groups_with_nodes().into_iter().map(of_group).collect())
}

/// Values of an hour, and the last limit.
#[derive(Debug, Default)]
struct RecordedUse {
    by_hour: BTreeMap<u64, f64>,
    limit: Option<f64>,
}

/// Uses that a history has recorded within a time before now.
fn recorded(history: &History, length: Duration) -> anyhow::Result<Vec<UseHistory>> {
    let last = now() / 1000 / STEP.as_secs();
    let first = last.saturating_sub(length.as_secs() / STEP.as_secs());
    let mut found: BTreeMap<(&str, GroupCapacity), RecordedUse> = BTreeMap::new();
    for line in &history.0 {
        let HistoryEvent::Use(record) = &line.event else { continue };
        let hour = line.at / 1000 / STEP.as_secs();
        if !(first..=last).contains(&hour) {
            continue;
        }
        for group in &record.groups {
            for (capacity, used, limit) in figures(group) {
                let recorded = found.entry((&group.group, capacity)).or_default();
                recorded.by_hour.insert(hour, used);
                recorded.limit = limit;
            }
        }
    }
    let history = |((group, capacity), recorded): ((&str, GroupCapacity), RecordedUse)| {
        let values = (first..=last).map(|hour| recorded.by_hour.get(&hour).copied().unwrap_or(f64::NAN));
        let start = i64::try_from(first * STEP.as_secs())?;
        let series = Series::new(start, STEP, values.collect())?;
        Ok(UseHistory { group: group.to_owned(), capacity, series, limit: recorded.limit })
    };
    found.into_iter().map(history).collect()
}

/// The recorded capacities of a group: use and limit, or what remains.
fn figures(group: &GroupUse) -> impl Iterator<Item = (GroupCapacity, f64, Option<f64>)> {
    let GroupUse { memory, disk, vcpus, tiered, .. } = group;
    let used = |capacity, amount: &AmountUsed| (capacity, amount.used as f64, Some(amount.limit as f64));
    let amounts = [
        used(GroupCapacity::Memory, memory),
        used(GroupCapacity::Disk, disk),
        used(GroupCapacity::Cpu, vcpus),
    ];
    amounts.into_iter().chain(tiered.map(|fitting| (GroupCapacity::Tiered, fitting as f64, None)))
}
