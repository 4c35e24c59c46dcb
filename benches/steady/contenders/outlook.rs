//! The load that an instance is expected to have.

use htools::model::InstanceIdx;

use crate::measured::{Measured, quantile};
use crate::slot::{Slot, a_day};

/// Weeks that a forecast looks back.
const WEEKS: usize = 4;
/// Quantile of the past load of an instance that has no day of history.
const OF_NEW: f64 = 0.9;

/// Source of the expected load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outlook {
    /// Only the present load counts.
    Present,
    /// The coming day is the median of the same hours of the last weeks.
    Forecast,
    /// The coming day is known: the best that a forecast can be.
    Known,
}

impl Outlook {
    /// Number of loads of an instance: the present one, and those of the coming slots.
    pub fn width(self) -> usize {
        match self {
            Outlook::Present => 1,
            Outlook::Forecast | Outlook::Known => 1 + a_day(),
        }
    }

    /// Expected load in cores of the coming slots. A new instance keeps the load `present`.
    pub fn coming(self, measured: &Measured<'_>, instance: InstanceIdx, present: f64, now: Slot) -> Vec<f64> {
        let history = measured.history(instance);
        let slots = 0..self.width() - 1;
        match self {
            Outlook::Known => slots.map(|ahead| measured.truth(instance, Slot(now.0 + ahead))).collect(),
            _ if history.is_empty() => slots.map(|_| present).collect(),
            _ if history.len() < a_day() => {
                let usual = quantile(history, OF_NEW);
                slots.map(|_| usual).collect()
            }
            _ => slots.map(|ahead| seasonal(history, history.len() + ahead)).collect(),
        }
    }
}

/// The median of the load at the same hour of the last weeks; without any, of the last days.
fn seasonal(history: &[f64], at: usize) -> f64 {
    let earlier = |step: usize, count: usize| -> Vec<f64> {
        (1..=count)
            .filter_map(|n| at.checked_sub(n * step))
            .filter_map(|at| history.get(at).copied())
            .collect()
    };
    let weekly = earlier(7 * a_day(), WEEKS);
    quantile(&if weekly.is_empty() { earlier(a_day(), 7) } else { weekly }, 0.5)
}
