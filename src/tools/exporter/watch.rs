//! Watches one cluster: reads it at intervals, surveys it and keeps the latest figures.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use super::log_line;
use super::survey::survey;
use crate::load::merge::apply_node_options;
use crate::model::shown::shown_name;
use crate::report::form::metrics::Sheet;
use crate::report::readings::{self, ReadingRecord};
use crate::tools::hint::Complaint;
use crate::tools::options::LoadOptions;
use crate::tools::output::Recording;
use crate::tools::source;

/// Shortest pause between two readings.
const PAUSE: Duration = Duration::from_millis(100);

/// Time by which a reading may exceed its limit before the cluster counts as down.
const GRACE: Duration = Duration::from_secs(5);

/// Intervals and time limits.
#[derive(Debug, Clone, Copy)]
pub(super) struct WatchTerms {
    /// Time between the starts of two readings.
    pub every: Duration,
    /// Longest time for a reading.
    pub timeout: Duration,
    /// Longest time for a search.
    pub search: Duration,
    /// Time for which figures are shown after the last good reading.
    pub keep: Duration,
}

pub(super) struct WatchedCluster {
    label: String,
    load: LoadOptions,
    terms: WatchTerms,
    known: Mutex<WatchState>,
}

/// Results of the last reading of a cluster.
#[derive(Default)]
struct WatchState {
    record: ReadingRecord,
    /// Start of the current reading, if one is under way.
    reading: Option<Instant>,
    figures: Option<Arc<Sheet>>,
    /// The last message about the cluster.
    last_message: String,
}

impl WatchedCluster {
    /// A cluster that has not been read yet.
    pub(super) fn new(label: String, load: LoadOptions, terms: WatchTerms) -> WatchedCluster {
        let load = LoadOptions { reading_limit: Some(terms.timeout), ..load };
        WatchedCluster { label, load, terms, known: Mutex::default() }
    }

    /// State of the readings, and the last figures unless they are too old.
    pub(super) fn known(&self, now: SystemTime) -> (Sheet, Option<Arc<Sheet>>) {
        let known = self.lock();
        let overdue = |began: Instant| began.elapsed() > self.terms.timeout.saturating_add(GRACE);
        let record =
            ReadingRecord { up: known.record.up && !known.reading.is_some_and(overdue), ..known.record };
        let mut sheet = Sheet::of(self.label.clone());
        readings::tell(&mut sheet, &record, now);
        let fresh = record.age(now).is_some_and(|age| age <= self.terms.keep);
        (sheet, known.figures.clone().filter(|_| fresh))
    }

    /// Reads the cluster at intervals, for ever.
    pub(super) fn watch(&self) {
        loop {
            let began = Instant::now();
            self.refresh();
            thread::sleep(self.terms.every.saturating_sub(began.elapsed()).max(PAUSE));
        }
    }

    /// Reads and surveys the cluster once.
    fn refresh(&self) {
        let began = Instant::now();
        self.lock().reading = Some(began);
        // A panic must not end the watching of the cluster.
        let result = catch_unwind(AssertUnwindSafe(|| self.read()));
        let result = result.unwrap_or_else(|panic| Err(fault(&*panic)));
        let took = began.elapsed();
        let mut known = self.lock();
        let record = &mut known.record;
        record.readings += 1;
        record.took = Some(took);
        match result {
            Ok(reading) => {
                record.up = true;
                record.took = Some(reading.took);
                record.survey = Some(took.saturating_sub(reading.took));
                record.last_good = Some(reading.at);
                known.figures = Some(Arc::new(reading.figures));
                self.report(&mut known, reading.warnings);
            }
            Err(error) => {
                record.up = false;
                record.failures += 1;
                self.report(&mut known, Complaint::of(&error).lines());
            }
        }
        known.reading = None;
    }

    fn read(&self) -> anyhow::Result<GoodReading> {
        let began = Instant::now();
        let recording = Recording::default();
        let mut cluster = source::load(&self.load, &mut recording.output())?;
        apply_node_options(&mut cluster, &self.load.nodes)?;
        let (took, at) = (began.elapsed(), SystemTime::now());
        // The survey has time limits of its own.
        self.lock().reading = None;
        let mut figures = Sheet::of(self.label.clone());
        survey(&cluster, self.terms.search, &mut figures)?;
        Ok(GoodReading { at, took, figures, warnings: recording.text() })
    }

    /// Reports messages about the cluster, unless they repeat the last ones.
    fn report(&self, known: &mut WatchState, message: String) {
        if known.last_message != message {
            let name = shown_name(&self.label);
            match message.trim() {
                "" => log_line(&format!("{name}: reading succeeds again")),
                text => text.lines().for_each(|line| log_line(&format!("{name}: {line}"))),
            }
            known.last_message = message;
        }
    }

    fn lock(&self) -> MutexGuard<'_, WatchState> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Result of a successful reading.
struct GoodReading {
    /// End of the reading.
    at: SystemTime,
    /// Time that the reading took, without the survey.
    took: Duration,
    figures: Sheet,
    warnings: String,
}

fn fault(panic: &(dyn Any + Send)) -> anyhow::Error {
    let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
    anyhow::anyhow!("internal error in htools: {}", text.unwrap_or("of an unknown kind"))
}
