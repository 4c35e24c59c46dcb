//! The load of instances that steady balancing goes by.

use std::fmt;
use std::time::Duration;

use htools::model::InstanceIdx;
use htools::search::forecast::{Series, forecast};
use htools::search::steady::LoadOutlook;

use crate::measured::{Measured, quantile};
use crate::slot::{HOUR, Slot, a_day};

/// Quantile of measured values, as by default with `--load-from`.
const USUAL: f64 = 0.95;
/// Hours that a forecast covers.
const COMING: usize = 24;

/// The load of the coming day that closes nodes to instances.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outlook {
    /// None: only the present load counts.
    Present,
    /// The forecast: `--forecast 24h`.
    Forecast,
    /// The true load: the best that a forecast can be.
    Known,
}

impl fmt::Display for Outlook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Outlook::Present => "",
            Outlook::Forecast => " with forecast",
            Outlook::Known => ", the coming day known",
        })
    }
}

impl Outlook {
    /// Loads of the coming hours; none if only the present load counts.
    pub fn coming(self, measured: &Measured<'_>, now: Slot) -> Option<LoadOutlook> {
        let all = (0..measured.count()).map(InstanceIdx::new);
        match self {
            Outlook::Present => None,
            Outlook::Forecast => Some(LoadOutlook::new(all.map(|i| expected(measured, i)).collect())),
            Outlook::Known => {
                let slots = |i| (0..a_day()).map(move |ahead| (i, Slot(now.0 + ahead)));
                let truth = |i| slots(i).map(|(i, slot)| measured.truth(i, slot)).collect();
                Some(LoadOutlook::new(all.map(truth).collect()))
            }
        }
    }
}

/// Forecast of the coming day. What is too new for that keeps a high quantile of its load.
fn expected(measured: &Measured<'_>, instance: InstanceIdx) -> Vec<f64> {
    let history = measured.history(instance);
    // Whole hours up to now.
    let hours = history[history.len() % HOUR..].chunks(HOUR);
    let means = hours.map(|hour| hour.iter().sum::<f64>() / HOUR as f64).collect();
    let found = Series::new(0, Duration::from_secs(3600), means).ok();
    let found = found.and_then(|series| Some(forecast(&series, COMING)?.values));
    found.unwrap_or_else(|| vec![quantile(history, USUAL); COMING])
}
