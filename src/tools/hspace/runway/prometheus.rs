//! Histories of use from the metrics of `htools exporter` in Prometheus.

use std::collections::BTreeMap;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, anyhow};

use crate::load::measured::{MeasuredRange, RangeQuestion, RangeTimes, ask_range};
use crate::model::shown::shown_name;
use crate::remote::rapi::Session;
use crate::report::form::metrics::Family;
use crate::report::runway::{GroupCapacity, UseHistory};
use crate::search::forecast::Series;
use crate::tools::hint::WithHint;
use crate::tools::measured;
use crate::tools::options::LoadOptions;
use crate::tools::output::Output;

/// Distance of the values in seconds.
const STEP: u32 = 3600;
/// Number of values that are asked for at once. A cluster has few groups.
const AT_ONCE: usize = 5000;
/// Bytes per MiB.
const MIB: f64 = (1 << 20) as f64;

/// Metrics of a capacity.
struct CapacityMetrics {
    capacity: GroupCapacity,
    used: Family,
    limit: Option<Family>,
    /// Divisor that gives the unit of the capacity.
    unit: f64,
}

const METRICS: [CapacityMetrics; 4] = [
    CapacityMetrics {
        capacity: GroupCapacity::Memory,
        used: Family::GroupMemoryUsed,
        limit: Some(Family::GroupMemorySize),
        unit: MIB,
    },
    CapacityMetrics {
        capacity: GroupCapacity::Disk,
        used: Family::GroupDiskUsed,
        limit: Some(Family::GroupDiskSize),
        unit: MIB,
    },
    CapacityMetrics {
        capacity: GroupCapacity::Cpu,
        used: Family::GroupCpusUsed,
        limit: Some(Family::GroupCpusLimit),
        unit: 1.0,
    },
    CapacityMetrics { capacity: GroupCapacity::Tiered, used: Family::SpaceInstances, limit: None, unit: 1.0 },
];

/// A server, and what all questions have in common.
struct RunwaySource<'s> {
    session: Session,
    cluster: &'s str,
    times: RangeTimes,
    /// End of the time for all answers.
    end: Instant,
    output: &'s mut Output,
}

/// The histories of a cluster's capacities, by group and capacity.
///
/// # Errors
/// Mistakes in the options, faults of the connection, and a server without metrics of the cluster.
pub(super) fn histories(
    cluster: &str,
    length: Duration,
    options: &LoadOptions,
    output: &mut Output,
) -> anyhow::Result<Vec<UseHistory>> {
    let Some(from) = &options.measured.from else {
        return Err(anyhow!("option --runway needs the history of the cluster")
            .hint("--load-from prometheus:URL names a server that has it"));
    };
    let session = measured::session(from, options, output)?;
    let limit = options.reading_limit.map_or(measured::TIME, |most| most.min(measured::TIME));
    let times = RangeTimes::until(SystemTime::now(), length, STEP);
    let mut source = RunwaySource { session, cluster, times, end: Instant::now() + limit, output };
    let mut found: BTreeMap<(String, GroupCapacity), UseHistory> = BTreeMap::new();
    for metrics in &METRICS {
        for history in source.histories(metrics)? {
            found.insert((history.group.clone(), history.capacity), history);
        }
    }
    if found.is_empty() {
        let cluster = shown_name(cluster);
        return Err(anyhow!("the server has no history of a cluster '{cluster}'")
            .hint("--runway=CLUSTER names it as in the metrics of htools exporter"));
    }
    Ok(found.into_values().collect())
}

impl RunwaySource<'_> {
    /// The histories of one capacity.
    fn histories(&mut self, metrics: &CapacityMetrics) -> anyhow::Result<Vec<UseHistory>> {
        let used = self.range(metrics.used)?;
        let limits = match metrics.limit.filter(|_| !used.series.is_empty()) {
            Some(limit) => self.range(limit)?.series,
            None => BTreeMap::new(),
        };
        let series = |values: &[f64]| {
            let values = values.iter().map(|value| value / metrics.unit).collect();
            Series::new(self.times.start, Duration::from_secs(u64::from(STEP)), values)
        };
        let mut found = Vec::new();
        for (group, values) in used.series {
            let limit = limits.get(&group).map(|values| series(values)).transpose()?;
            let (series, limit) = (series(&values)?, limit.and_then(|limit| limit.last()));
            found.push(UseHistory { group, capacity: metrics.capacity, series, limit });
        }
        Ok(found)
    }

    /// The history of a metric, by group. Several sources of the same metric count once.
    fn range(&mut self, family: Family) -> anyhow::Result<MeasuredRange> {
        let name = family.row().name;
        let more = if family == Family::SpaceInstances { ",allocation=\"tiered\"" } else { "" };
        let question = RangeQuestion {
            query: format!("max by (group) ({name}{{cluster=\"{}\"{more}}})", escaped(self.cluster)),
            label: "group".to_owned(),
            pattern: None,
            times: self.times,
            at_once: AT_ONCE,
        };
        let left = self.end.saturating_duration_since(Instant::now());
        let found = ask_range(&self.session, &question, left)
            .with_context(|| format!("cannot read the history of {name}"))?;
        for warning in &found.warnings {
            self.output.error_line(&format!("Warning: Prometheus: {warning}"))?;
        }
        Ok(found)
    }
}

/// A text in quotes of an expression.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_within_their_quotes() {
        assert_eq!(escaped("a\"}\\\n"), "a\\\"}\\\\\\n");
    }
}
