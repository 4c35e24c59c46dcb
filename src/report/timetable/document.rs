//! The timetable as a document for programs.

use serde::Serialize;

use super::Timetable;
use crate::model::{Mib, Placement};
use crate::plan::graph::{Edge, EdgeReason, StepIdx};
use crate::plan::stream::StreamLimits;
use crate::report::form::json::Generator;

/// The document of `--print-plan=json`. Steps are counted from 0.
#[derive(Debug, Serialize)]
pub(crate) struct TimetableDocument<'w> {
    schema: &'static str,
    generator: Generator,
    steps: Vec<TimedStep<'w>>,
    edges: &'w [Edge<EdgeReason<String>>],
    jobsets: &'w [Vec<StepIdx>],
    critical_path: &'w [StepIdx],
    seconds: PlanSeconds,
    data: PlanData,
    limits: StreamLimits,
    model: DurationModel,
}

#[derive(Debug, Serialize)]
struct TimedStep<'w> {
    subject: &'w str,
    task: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<&'w Placement<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<&'w Placement<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lacking: Option<i64>,
    seconds: f64,
    begin: f64,
    end: f64,
    critical: bool,
}

/// Duration of the plan, in seconds.
#[derive(Debug, Serialize)]
struct PlanSeconds {
    by_jobsets: f64,
    stream: f64,
    critical_path: f64,
}

/// Copied data, in MiB.
#[derive(Debug, Serialize)]
struct PlanData {
    memory: i64,
    disk: i64,
}

/// Parameters of the duration model, in MiB/s and in seconds.
#[derive(Debug, Serialize)]
struct DurationModel {
    bandwidth: f64,
    sync_rate: f64,
    migration: f64,
    failover: f64,
    replace: f64,
    change: f64,
    power: f64,
    boot: f64,
    resync: f64,
}

/// The time table as a document.
pub(crate) fn document<'w>(table: &'w Timetable<'w>) -> TimetableDocument<'w> {
    let Timetable { work, stream, seconds, .. } = table;
    let step = |at: StepIdx| {
        let step = work.step(at);
        let (begin, end) = stream.spans[at.get()];
        TimedStep {
            subject: &step.subject,
            task: step.task.as_str(),
            from: step.relocations().first().map(|relocation| &relocation.from),
            to: step.relocations().last().map(|relocation| &relocation.to),
            lacking: Some(step.lacking().0).filter(|memory| *memory > 0),
            seconds: seconds[at.get()],
            begin,
            end,
            critical: table.is_critical(at),
        }
    };
    let (Mib(memory), Mib(disk)) = table.data;
    let rates = table.rates;
    TimetableDocument {
        schema: "htools.plan-graph/1",
        generator: Generator::this(),
        steps: work.all().map(step).collect(),
        edges: &work.edges,
        jobsets: &work.jobsets,
        critical_path: &table.critical,
        seconds: PlanSeconds {
            by_jobsets: table.by_jobsets.total(),
            stream: stream.total(),
            critical_path: table.critical_seconds,
        },
        data: PlanData { memory, disk },
        limits: table.limits,
        model: DurationModel {
            bandwidth: rates.bandwidth,
            sync_rate: rates.sync_rate,
            migration: rates.migration,
            failover: rates.failover,
            replace: rates.replace,
            change: rates.change,
            power: rates.power,
            boot: rates.boot,
            resync: rates.resync,
        },
    }
}
