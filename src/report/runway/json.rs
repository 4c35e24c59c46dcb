//! The document of `hspace --runway --json`: schema `htools.runway/1`.

use serde::Serialize;

use super::{ClusterRunway, RunwayRow};
use crate::report::form::json::Generator;
use crate::search::forecast::{Runway, Trend};

const SCHEMA: &str = "htools.runway/1";

/// Days until the capacities of a cluster are used up.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct RunwayDocument {
    schema: &'static str,
    generator: Generator,
    cluster: String,
    days: u64,
    capacities: Vec<RunwayView>,
}

#[derive(Debug, Clone, Serialize)]
struct RunwayView {
    group: String,
    capacity: &'static str,
    now: Option<f64>,
    limit: Option<f64>,
    growth: Option<GrowthView>,
    state: &'static str,
    days: Option<RunwayDaysView>,
    known_days: usize,
}

/// Growth per day.
#[derive(Debug, Clone, Serialize)]
struct GrowthView {
    median: f64,
    low: f64,
    high: f64,
}

/// Days from now; null: not within ten years.
#[derive(Debug, Clone, Serialize)]
struct RunwayDaysView {
    expected: Option<f64>,
    earliest: Option<f64>,
    latest: Option<f64>,
}

pub(crate) fn document(runway: &ClusterRunway) -> RunwayDocument {
    RunwayDocument {
        schema: SCHEMA,
        generator: Generator::this(),
        cluster: runway.cluster.clone(),
        days: runway.days,
        capacities: runway.rows.iter().map(view).collect(),
    }
}

fn view(row: &RunwayRow) -> RunwayView {
    let growth = |trend: Trend| GrowthView { median: trend.slope, low: trend.low, high: trend.high };
    let (state, days) = match row.estimate.runway {
        Runway::Unknown => ("unknown", None),
        Runway::UsedUp => ("used-up", None),
        Runway::Lasts(days) => (
            "lasts",
            Some(RunwayDaysView { expected: days.expected, earliest: days.earliest, latest: days.latest }),
        ),
    };
    RunwayView {
        group: row.group.clone(),
        capacity: row.capacity.as_str(),
        now: row.estimate.level,
        limit: row.limit,
        growth: row.estimate.growth.map(growth),
        state,
        days,
        known_days: row.estimate.days,
    }
}
