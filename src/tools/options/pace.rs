//! Options for the pace of a plan: concurrency, time window and speeds of its steps.

use std::time::{Duration, SystemTime};

use jiff::civil::Time;
use jiff::{Span, ZonedDateTime};

use super::catalogue::ExecutionDef;
use super::some;
use crate::execute::journal::OnFailure;
use crate::tools::cli::option::ArgumentKind::{Choices, File, Float, Integer, Text};
use crate::tools::cli::{Given, ValueError};
use htools_model::words;

words!(
    /// Output form of a plan.
    pub PlanForm, "form of a plan" {
        Text = "text",
        Json = "json",
        Dot = "dot",
        Svg = "svg",
    }
);

impl PlanForm {
    /// Tells if this form takes all of standard output.
    pub(crate) fn is_document(self) -> bool {
        self != PlanForm::Text
    }
}

/// End of a run: no step may still be in progress then.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Window {
    /// Time after the start of the run.
    pub max_duration: Option<Duration>,
    /// Time of day, by the clock of this machine.
    pub until: Option<Time>,
}

impl Window {
    pub(crate) fn end_from_now(&self) -> Option<SystemTime> {
        self.end(SystemTime::now())
    }

    /// The end of a run that begins at `now`, the earlier if two are given; none without a limit.
    pub(crate) fn end(&self, now: SystemTime) -> Option<SystemTime> {
        let by_length = self.max_duration.and_then(|length| now.checked_add(length));
        let by_clock = self.until.and_then(|time| next(time, now));
        by_length.into_iter().chain(by_clock).min()
    }
}

/// The first moment after `now` at this time of day, by the clock of this machine.
fn next(time: Time, now: SystemTime) -> Option<SystemTime> {
    let now = ZonedDateTime::try_from(now).ok()?;
    let today = now.date().to_datetime(time).to_zoned_datetime(now.time_zone().clone()).ok()?;
    let found = if today > now {
        today
    } else {
        let tomorrow = now.date().checked_add(Span::new().days(1)).ok()?;
        tomorrow.to_datetime(time).to_zoned_datetime(now.time_zone().clone()).ok()?
    };
    found.timestamp().try_into().ok()
}

fn speed(given: &Given) -> Result<f64, ValueError> {
    let speed = given.float()?;
    if speed > 0.0 && speed.is_finite() { Ok(speed) } else { Err(given.out_of_range("a number above 0")) }
}

fn time_of_day(given: &Given) -> Result<Time, ValueError> {
    let text = given.text()?;
    let is_plain = text.len() == 5 && text.as_bytes()[2] == b':';
    let time = is_plain.then(|| Time::strptime("%H:%M", text).ok()).flatten();
    time.ok_or_else(|| given.out_of_range("a time of the day such as 06:00"))
}

pub(crate) const PRINT_PLAN: ExecutionDef =
    ExecutionDef::addition("print-plan", "show the plan's graph: what waits for what, and how long it takes")
        .more("json, dot and svg, a time table, are all that is printed then.")
        .takes("FORM", Choices(PlanForm::WORDS), |o, g| {
            g.choice().map(|word| o.print_plan = word.parse().ok())
        });
pub(crate) const SAVE_PLAN: ExecutionDef = ExecutionDef::addition(
    "save-plan",
    "write the plan to FILE, for htools show and htools apply",
)
.takes("FILE", File, |o, g| g.path().map(|path| o.save_plan = path));
pub(crate) const BANDWIDTH: ExecutionDef =
    ExecutionDef::addition("bandwidth", "MiB of memory that a live migration copies in a second")
        .takes("MIB", Float, |o, g| speed(g).map(|speed| o.rates.bandwidth = speed))
        .default(|o| o.rates.bandwidth.to_string());
pub(crate) const SYNC_RATE: ExecutionDef =
    ExecutionDef::addition("sync-rate", "MiB of disk that a new secondary node receives in a second")
        .takes("MIB", Float, |o, g| speed(g).map(|speed| o.rates.sync_rate = speed))
        .default(|o| o.rates.sync_rate.to_string());
pub(crate) const DURATIONS_FROM: ExecutionDef = ExecutionDef::addition(
    "durations-from",
    "take the speeds that the run of this journal had; may be repeated",
)
.takes("JOURNAL", File, |o, g| g.path().map(|path| o.durations_from.extend(path)));
pub(crate) const STREAM: ExecutionDef =
    ExecutionDef::added_flag("stream", "begin each step once all that it waits for has ended", |o| {
        o.stream = true
    })
    .more("With --exec. Otherwise jobset follows jobset.");
pub(crate) const MAX_PARALLEL: ExecutionDef = ExecutionDef::addition(
    "max-parallel",
    "run at most N steps at a time, with --stream",
)
.takes("N", Integer, |o, g| some(g).map(|most| o.limits.parallel = Some(most)));
pub(crate) const MAX_OUT_PER_NODE: ExecutionDef = ExecutionDef::addition(
    "max-out-per-node",
    "copy from the same node in at most N steps at a time, with --stream",
)
.more("Memory and disks count.")
.takes("N", Integer, |o, g| some(g).map(|most| o.limits.out_per_node = Some(most)));
pub(crate) const MAX_IN_PER_NODE: ExecutionDef = ExecutionDef::addition(
    "max-in-per-node",
    "copy to the same node in at most N steps at a time, with --stream",
)
.more("Memory and disks count.")
.takes("N", Integer, |o, g| some(g).map(|most| o.limits.in_per_node = Some(most)));
pub(crate) const MAX_SYNCS: ExecutionDef = ExecutionDef::addition(
    "max-syncs",
    "copy disks in at most N steps at a time, with --stream",
)
.takes("N", Integer, |o, g| some(g).map(|most| o.limits.syncs = Some(most)));
pub(crate) const MAX_PER_GROUP: ExecutionDef =
    ExecutionDef::addition("max-per-group", "run at most N steps in a node group at a time, with --stream")
        .takes("N", Integer, |o, g| some(g).map(|most| o.limits.per_group = Some(most)));
pub(crate) const MAX_DURATION: ExecutionDef =
    ExecutionDef::addition("max-duration", "begin no step that would end later than TIME after the begin")
        .more("With --exec. TIME is such as 90m or 2h.")
        .takes("TIME", Text, |o, g| g.time().map(|time| o.window.max_duration = Some(time)));
pub(crate) const UNTIL: ExecutionDef =
    ExecutionDef::addition("until", "begin no step that would end later than HH:MM")
        .more("With --exec. The clock is that of this machine.")
        .takes("HH:MM", Text, |o, g| time_of_day(g).map(|time| o.window.until = Some(time)));
pub(crate) const ON_FAILURE: ExecutionDef = ExecutionDef::addition(
    "on-failure",
    "choose what follows when a step fails, with --stream",
).more("stop begins no more steps; continue goes on with those that need not follow it; replan makes another plan once those under way have ended.")
.takes("WHAT", Choices(OnFailure::WORDS), |o, g| {
    g.choice().map(|word| o.on_failure = word.parse().ok())
});
pub(crate) const REPLANS: ExecutionDef =
    ExecutionDef::addition("replans", "make another plan at most N times, with --on-failure=replan")
        .takes("N", Integer, |o, g| some(g).map(|most| o.replans = Some(most)))
        .default(|o| o.replans().to_string());

/// `--stream` and its limits.
pub(crate) const STREAMING: [ExecutionDef; 6] =
    [STREAM, MAX_PARALLEL, MAX_OUT_PER_NODE, MAX_IN_PER_NODE, MAX_SYNCS, MAX_PER_GROUP];
/// Options for the [`Window`].
pub(crate) const WINDOW: [ExecutionDef; 2] = [MAX_DURATION, UNTIL];
/// Options for the speeds of steps.
pub(crate) const SPEEDS: [ExecutionDef; 3] = [BANDWIDTH, SYNC_RATE, DURATIONS_FROM];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_closes_at_the_next_such_time() {
        let zone = jiff::tz::TimeZone::system();
        let at = |text: &str| -> SystemTime {
            let time: jiff::civil::DateTime = text.parse().unwrap();
            time.to_zoned_datetime(zone.clone()).unwrap().timestamp().try_into().unwrap()
        };
        let now = at("2026-03-02T23:30:00");
        let hour = Some(Duration::from_secs(3600));
        let until = |h, m| Some(Time::constant(h, m, 0, 0));
        let end = |max_duration, until| Window { max_duration, until }.end(now);
        assert_eq!(end(None, None), None);
        assert_eq!(end(hour, None), Some(at("2026-03-03T00:30:00")));
        assert_eq!(end(None, until(6, 0)), Some(at("2026-03-03T06:00:00")));
        assert_eq!(end(None, until(23, 45)), Some(at("2026-03-02T23:45:00")));
        assert_eq!(end(hour, until(23, 45)), Some(at("2026-03-02T23:45:00")));
        assert_eq!(end(hour, until(23, 30)), Some(at("2026-03-03T00:30:00")));
    }
}
