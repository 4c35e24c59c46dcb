//! One cluster: read now and then, looked at, and what is known of it.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use super::say;
use super::survey::survey;
use crate::load::merge::apply_node_options;
use crate::model::shown::shown_name;
use crate::report::form::metrics::Sheet;
use crate::report::readings::{self, ReadingRecord};
use crate::tools::options::LoadOptions;
use crate::tools::output::Recording;
use crate::tools::source;

/// The least pause between two readings, however often they are wanted.
const PAUSE: Duration = Duration::from_millis(100);

/// How far behind its time limit a reading may be before the cluster counts as down.
const GRACE: Duration = Duration::from_secs(5);

/// How often, and for how long.
#[derive(Debug, Clone, Copy)]
pub(super) struct WatchTerms {
    /// From the beginning of a reading to that of the next.
    pub every: Duration,
    /// Most time for a reading.
    pub timeout: Duration,
    /// Most time for a search.
    pub search: Duration,
    /// How long figures are shown after the last good reading.
    pub keep: Duration,
}

/// A cluster that is watched.
pub(super) struct WatchedCluster {
    label: String,
    load: LoadOptions,
    terms: WatchTerms,
    known: Mutex<Knowledge>,
}

/// What is known of a cluster.
#[derive(Default)]
struct Knowledge {
    record: ReadingRecord,
    /// Since when a reading is under way.
    reading: Option<Instant>,
    figures: Option<Arc<Sheet>>,
    /// What was last said about it.
    said: String,
}

impl WatchedCluster {
    /// Nothing is known yet.
    pub(super) fn new(label: String, load: LoadOptions, terms: WatchTerms) -> WatchedCluster {
        let load = LoadOptions { reading_limit: Some(terms.timeout), ..load };
        WatchedCluster { label, load, terms, known: Mutex::default() }
    }

    /// How the readings go, and the last figures, if they are not too old at a moment.
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

    /// Reads the cluster for ever.
    pub(super) fn watch(&self) {
        loop {
            let began = Instant::now();
            self.refresh();
            thread::sleep(self.terms.every.saturating_sub(began.elapsed()).max(PAUSE));
        }
    }

    /// Reads the cluster once, and looks at it.
    fn refresh(&self) {
        let began = Instant::now();
        self.lock().reading = Some(began);
        // a fault of this program must not end the watching of the cluster
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
                self.tell(&mut known, reading.warnings);
            }
            Err(error) => {
                record.up = false;
                record.failures += 1;
                self.tell(&mut known, format!("{error:#}"));
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
        // what follows has limits of its own
        self.lock().reading = None;
        let mut figures = Sheet::of(self.label.clone());
        survey(&cluster, self.terms.search, &mut figures)?;
        Ok(GoodReading { at, took, figures, warnings: recording.text() })
    }

    /// Says what is new about the cluster: not the same each time it is read.
    fn tell(&self, known: &mut Knowledge, what: String) {
        if known.said != what {
            let name = shown_name(&self.label);
            match what.trim() {
                "" => say(&format!("{name}: is read again")),
                what => what.lines().for_each(|line| say(&format!("{name}: {line}"))),
            }
            known.said = what;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Knowledge> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A cluster that was read.
struct GoodReading {
    /// When.
    at: SystemTime,
    /// How long that took, without looking at it.
    took: Duration,
    figures: Sheet,
    warnings: String,
}

fn fault(panic: &(dyn Any + Send)) -> anyhow::Error {
    let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
    anyhow::anyhow!("a fault in htools: {}", text.unwrap_or("of an unknown kind"))
}
