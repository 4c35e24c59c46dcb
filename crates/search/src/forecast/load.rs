//! Forecast of the load of many instances.

use super::back_test::back_tests;
use super::robust::{median, quantile};
use super::seasonal::forecast;
use super::series::Series;
use crate::parallel;

/// Number of series that are worth waking a thread.
const AT_ONCE: usize = 16;

/// Forecast of the load of one instance: a quantile of its next values.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadForecast {
    /// The load.
    pub load: f64,
    /// The values of which it is a quantile.
    pub values: Vec<f64>,
    /// Loads in back-tests.
    tests: Vec<TestedLoad>,
}

/// Load at an earlier time.
#[derive(Debug, Clone, Copy, PartialEq)]
struct TestedLoad {
    forecast: f64,
    actual: f64,
}

/// Forecasts the loads of instances: the quantile `q` (0 to 1) of the next `horizon` values of each. `None` stands for
/// those with too little history.
pub fn forecast_loads(series: &[&Series], horizon: usize, q: f64) -> Vec<Option<LoadForecast>> {
    parallel::map(series.iter(), AT_ONCE, |series| {
        let coming = forecast(series, horizon)?;
        let load = coming.quantile(q)?;
        let tests = back_tests(series, horizon);
        let tested = tests.iter().filter_map(|test| {
            Some(TestedLoad { forecast: test.forecast.quantile(q)?, actual: test.actual_quantile(q)? })
        });
        Some(LoadForecast { load, values: coming.values, tests: tested.collect() })
    })
}

/// Errors of the forecasts of one resource, by back-testing.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ForecastErrors {
    /// Median of the errors' sizes, as a share of the mean load; `None` if that is 0.
    pub median: Option<f64>,
    /// Size that nine of ten errors do not exceed, as a share of the mean load; `None` if that is 0.
    pub ninth: Option<f64>,
    /// Number of back-tests.
    pub tests: usize,
}

impl ForecastErrors {
    /// The errors of all back-tests of some instances.
    pub fn of<'f>(forecasts: impl IntoIterator<Item = &'f LoadForecast>) -> ForecastErrors {
        let tests: Vec<TestedLoad> =
            forecasts.into_iter().flat_map(|forecast| forecast.tests.clone()).collect();
        let mean = tests.iter().map(|test| test.actual).sum::<f64>() / tests.len() as f64;
        let mut sizes: Vec<f64> = tests.iter().map(|test| (test.actual - test.forecast).abs()).collect();
        let share = |size: Option<f64>| size.map(|size| size / mean).filter(|share| share.is_finite());
        ForecastErrors {
            median: share(median(&mut sizes)),
            ninth: share(quantile(&mut sizes, 0.9)),
            tests: tests.len(),
        }
    }
}
