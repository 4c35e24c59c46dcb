//! Load of instances that is forecast from its history (`--forecast`).

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, anyhow};

use super::{FoundLoad, question, session};
use crate::load::RawCluster;
use crate::load::measured::{
    LoadQuestion, LoadResource, MeasuredLoad, MeasuredRange, RangeTimes, ask_range, by_instance,
};
use crate::model::number::{counted, fixed};
use crate::remote::rapi::Session;
use crate::search::forecast::{ForecastErrors, Series, SeriesFault, forecast_loads};
use crate::tools::cli::value::shown_time;
use crate::tools::hint::WithHint;
use crate::tools::options::LoadOptions;
use crate::tools::output::Output;

/// Distance of the values in seconds.
const STEP: u32 = 3600;
/// Shortest history, in which each hour of a week occurs four times.
const SHORTEST: Duration = Duration::from_secs(28 * 86_400);
/// Longest history that counts: the eight weeks of a forecast, before the first back-test of 14 days and a week.
const LONGEST: Duration = Duration::from_secs(77 * 86_400);
/// Maximum time for all answers: histories take longer than quantiles.
const TIME: Duration = Duration::from_secs(300);

/// Forecasts the load of instances for the coming time. Instances with too little history have the quantile of what
/// was measured.
///
/// # Errors
/// Faults of the connection and of the answers.
pub(super) fn read(
    cluster: &RawCluster,
    session: &Session,
    question: &LoadQuestion,
    coming: Duration,
    options: &LoadOptions,
) -> anyhow::Result<FoundLoad> {
    let end = Instant::now() + options.reading_limit.map_or(TIME, |most| most.min(TIME));
    let length = question.window.clamp(SHORTEST, LONGEST);
    let times = RangeTimes::until(SystemTime::now(), length, STEP);
    let mut found = FoundLoad { load: MeasuredLoad::default(), notes: Vec::new() };
    let mut short = BTreeSet::new();
    for resource in question.expressions.keys() {
        let Some(history) = question.history(*resource, times) else { continue };
        let left = end.saturating_duration_since(Instant::now());
        let range = ask_range(session, &history, left)
            .with_context(|| format!("cannot read the history of the load of {resource}"))?;
        found.load.warnings.extend(range.warnings.iter().cloned());
        let forecast = ResourceForecast::of(range.only_of(cluster), question, coming)?;
        found.notes.push(errors_text(*resource, coming, forecast.errors));
        short.extend(forecast.short);
        found.load.values.insert(*resource, forecast.loads);
    }
    found.load.warnings.sort_unstable();
    found.load.warnings.dedup();
    if !short.is_empty() {
        let instances = counted(short.len(), "instance");
        found.notes.push(format!(
            "Warning: the history of {instances} is too short for a forecast; the load is the quantile of what was measured"
        ));
    }
    Ok(found)
}

/// Processor load of instances at each hour of the coming time, in processors; `None` for those that are not measured.
/// The errors of such forecasts are told.
///
/// # Errors
/// Mistakes in the options, faults of the connection and of the answers.
pub(in crate::tools) fn hourly(
    from: &str,
    instances: &[&str],
    coming: Duration,
    options: &LoadOptions,
    output: &mut Output,
) -> anyhow::Result<Vec<Option<Vec<f64>>>> {
    let (question, session) = (question(&options.measured)?, session(from, options, output)?);
    let limit = options.reading_limit.map_or(TIME, |most| most.min(TIME));
    let length = question.window.clamp(SHORTEST, LONGEST);
    let times = RangeTimes::until(SystemTime::now(), length, STEP);
    let Some(history) = question.history(LoadResource::Cpu, times) else {
        return Err(anyhow!("there is no expression for the load of cpu")
            .hint("--load-query cpu=EXPRESSION gives it"));
    };
    let range = ask_range(&session, &history, limit).context("cannot read the history of the load of cpu")?;
    let forecast = ResourceForecast::of(range, &question, coming)?;
    if options.verbosity >= 1 {
        output.error_line(&errors_text(LoadResource::Cpu, coming, forecast.errors))?;
    }
    Ok(by_instance(instances.iter().copied(), forecast.hours))
}

/// Forecast of one resource, by the names in labels.
#[derive(Default)]
struct ResourceForecast {
    loads: BTreeMap<String, f64>,
    /// The load at each coming hour; that of short histories does not change.
    hours: BTreeMap<String, Vec<f64>>,
    errors: ForecastErrors,
    /// The names of the histories that are too short.
    short: Vec<String>,
}

impl ResourceForecast {
    fn of(
        range: MeasuredRange,
        question: &LoadQuestion,
        coming: Duration,
    ) -> Result<ResourceForecast, SeriesFault> {
        let steps = |time: Duration| {
            let steps = time.as_secs().div_ceil(u64::from(STEP));
            usize::try_from(steps).unwrap_or(usize::MAX)
        };
        let (start, step) = (range.times.start, Duration::from_secs(u64::from(STEP)));
        let mut histories = Vec::new();
        for (name, values) in range.series {
            let series = Series::new(start, step, values)?;
            // What has not been measured lately has no load.
            if let Some(measured) = series.recent_quantile(steps(question.window), question.quantile) {
                histories.push(LoadHistory { name, series, measured });
            }
        }
        let series: Vec<&Series> = histories.iter().map(|history| &history.series).collect();
        let forecasts = forecast_loads(&series, steps(coming), question.quantile);
        let errors = ForecastErrors::of(forecasts.iter().flatten());
        let mut found = ResourceForecast { errors, ..ResourceForecast::default() };
        for (LoadHistory { name, measured, .. }, forecast) in histories.into_iter().zip(forecasts) {
            if forecast.is_none() {
                found.short.push(name.clone());
            }
            let (load, values) = match forecast {
                Some(forecast) => (forecast.load, forecast.values),
                None => (measured, vec![measured; steps(coming)]),
            };
            found.loads.insert(name.clone(), load);
            found.hours.insert(name, values);
        }
        Ok(found)
    }
}

/// History of the load of one name.
struct LoadHistory {
    name: String,
    series: Series,
    /// The quantile of the values in the window.
    measured: f64,
}

/// Errors of the forecasts of a resource, in one line.
fn errors_text(resource: LoadResource, coming: Duration, errors: ForecastErrors) -> String {
    let coming = shown_time(coming);
    let percent = |share: f64| fixed(share * 100.0, 1);
    let found = match (errors.median, errors.ninth) {
        (Some(median), Some(ninth)) => format!(
            "half of {} were off by at most {} %, nine of ten by at most {} % of the mean load",
            counted(errors.tests, "back-test"),
            percent(median),
            percent(ninth)
        ),
        _ if errors.tests > 0 => format!("there was no load in {}", counted(errors.tests, "back-test")),
        _ => "the history is too short for back-tests".to_owned(),
    };
    format!("Forecast of {resource} for {coming}: {found}")
}
