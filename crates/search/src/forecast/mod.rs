//! Forecasts from the history of a quantity: the values of the next hours or days, and the time until a capacity is used up.
//!
//! A [`Series`] has values at regular times, with holes. A [`Forecast`] repeats the same hour of earlier weeks and adds a
//! trend; [`back_tests`] repeat it from earlier times, for an [`ErrorBand`]. [`forecast_loads`] forecasts the load of
//! many instances at once. [`RunwayEstimate`] extends the growth of a use to its capacity.
//!
//! Medians are used throughout, so single outliers have no effect. Weeks and days have a fixed length: a change to or
//! from summer time shifts the pattern by an hour until the history has the new one.

mod back_test;
mod load;
mod robust;
mod runway;
mod seasonal;
mod series;

pub use back_test::{BackTest, ErrorBand, back_tests};
pub use load::{ForecastErrors, LoadForecast, forecast_loads};
pub use robust::quantile;
pub use runway::{Runway, RunwayDays, RunwayEstimate};
pub use seasonal::{Forecast, Trend, forecast};
pub use series::{Series, SeriesFault};

#[cfg(test)]
mod tests;
