//! Errors of forecasts from earlier times, of which the outcome is known.

use super::robust::{median, quantile};
use super::seasonal::{Forecast, of_past};
use super::series::{Series, is_known, known};

/// Maximum number of back-tests of a series: one for each day of a week.
const TESTS: usize = 7;

/// A forecast from an earlier time, with the values that came.
#[derive(Debug, Clone, PartialEq)]
pub struct BackTest {
    /// The forecast.
    pub forecast: Forecast,
    /// The values at its times; NaN if missing.
    pub actual: Vec<f64>,
}

impl BackTest {
    /// Errors of the single values: the known ones less the forecast.
    pub fn errors(&self) -> impl Iterator<Item = f64> {
        let both = self.actual.iter().zip(&self.forecast.values);
        both.map(|(actual, forecast)| actual - forecast).filter(|error| is_known(*error))
    }

    /// The quantile `q` of the known values; `None` if more than half are missing.
    pub fn actual_quantile(&self, q: f64) -> Option<f64> {
        let mut known = known(&self.actual);
        if 2 * known.len() < self.actual.len() { None } else { quantile(&mut known, q) }
    }
}

/// Forecasts `horizon` values from up to seven earlier times, each a day before the next. The last one ends with the
/// series.
pub fn back_tests(series: &Series, horizon: usize) -> Vec<BackTest> {
    let whole = series.whole();
    let origins = (0..TESTS).map_while(|days| {
        let later = horizon.checked_add(days * series.per_day())?;
        whole.values.len().checked_sub(later)
    });
    let test = |origin: usize| {
        let forecast = of_past(whole.until(origin), horizon)?;
        let actual = whole.values[origin..origin + horizon].to_vec();
        actual.iter().any(|value| is_known(*value)).then_some(BackTest { forecast, actual })
    };
    origins.filter_map(test).collect()
}

/// Range around a forecast in which a share of the back-tests' values was.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ErrorBand {
    /// Error at the lower end; usually below 0.
    pub low: f64,
    /// Error at the upper end; usually above 0.
    pub high: f64,
    /// Median of the errors' sizes.
    pub median: f64,
    /// Number of back-tests.
    pub tests: usize,
}

impl ErrorBand {
    /// The band with the share `share` (0 to 1) of the errors of all values. Returns `None` without errors.
    pub fn of(tests: &[BackTest], share: f64) -> Option<ErrorBand> {
        let mut errors: Vec<f64> = tests.iter().flat_map(BackTest::errors).collect();
        let tail = (1.0 - share) / 2.0;
        let (low, high) = (quantile(&mut errors, tail)?, quantile(&mut errors, 1.0 - tail)?);
        let mut sizes: Vec<f64> = errors.iter().map(|error| error.abs()).collect();
        Some(ErrorBand { low, high, median: median(&mut sizes)?, tests: tests.len() })
    }
}
