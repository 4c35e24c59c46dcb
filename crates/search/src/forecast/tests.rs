use std::time::Duration;

use proptest::prelude::*;

use super::robust::median;
use super::*;

const HOUR: Duration = Duration::from_secs(3600);
const DAY: usize = 24;
const WEEK: usize = 7 * DAY;

fn series(values: impl IntoIterator<Item = f64>) -> Series {
    Series::new(0, HOUR, values.into_iter().collect()).unwrap()
}

fn near(found: f64, wanted: f64) -> bool {
    (found - wanted).abs() <= 1e-9 * (1.0 + wanted.abs())
}

/// Numbers from 0 to 1, the same for the same seed.
fn noise(seed: u64) -> impl Iterator<Item = f64> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    std::iter::repeat_with(move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 53) as f64
    })
}

/// A pattern of a week, and a trend.
fn pattern(week: &[f64], slope: f64, at: usize) -> f64 {
    week[at % week.len()] + slope * at as f64
}

#[test]
fn steps_divide_a_day() {
    for seconds in [60, 300, 3600, 86_400] {
        assert!(Series::new(0, Duration::from_secs(seconds), vec![1.0]).is_ok());
    }
    for step in
        [Duration::ZERO, Duration::from_secs(59), Duration::from_secs(7000), HOUR + Duration::from_nanos(1)]
    {
        assert_eq!(Series::new(0, step, vec![1.0]), Err(SeriesFault::Step(step)));
    }
    assert!(Series::new(0, Duration::MAX, Vec::new()).is_err());
}

#[test]
fn quantiles_are_interpolated() {
    let of = |q| quantile(&mut [4.0, 1.0, 3.0, 2.0], q);
    assert_eq!([of(0.0), of(0.5), of(0.9), of(1.0)], [Some(1.0), Some(2.5), Some(3.7), Some(4.0)]);
    assert_eq!([of(-0.1), of(1.1), of(f64::NAN), quantile(&mut [], 0.5)], [None; 4]);
}

#[test]
fn little_history_is_no_forecast() {
    assert_eq!(forecast(&series([1.0; 47]), 24), None);
    assert_eq!(forecast(&series([f64::NAN; 1000]), 24), None);
    assert_eq!(forecast(&series([]), 24), None);
    assert_eq!(forecast(&series([1.0; 48]), 3).unwrap().values, [1.0; 3]);
    assert!(back_tests(&series([1.0; 48]), 24).is_empty());
}

#[test]
fn other_hours_stand_in_for_missing_ones() {
    // Three days: the forecast repeats the hours of the days.
    let days = series((0..3 * DAY).map(|at| (at % DAY) as f64));
    let found = forecast(&days, DAY).unwrap().values;
    assert_eq!(found, (0..DAY).map(|at| at as f64).collect::<Vec<_>>());
    // An hour that was never measured has the median of all.
    let holes = series((0..3 * WEEK).map(|at| if at % DAY == 5 { f64::NAN } else { (at % DAY) as f64 }));
    let found = forecast(&holes, DAY).unwrap().values;
    assert_eq!((found[5], found[6]), (12.0, 6.0));
}

#[test]
fn outliers_do_not_matter() {
    let week: Vec<f64> = noise(3).take(WEEK).collect();
    let plain = series((0..4 * WEEK).map(|at| pattern(&week, 0.001, at)));
    let wild = series((0..4 * WEEK).map(|at| if at % 97 == 0 { 1e6 } else { pattern(&week, 0.001, at) }));
    let (plain, wild) = (forecast(&plain, DAY).unwrap(), forecast(&wild, DAY).unwrap());
    assert!(plain.values.iter().zip(&wild.values).all(|(a, b)| (a - b).abs() < 0.5), "{wild:?}");
    assert!((wild.slope - 0.001).abs() < 1e-6);
}

#[test]
fn bands_contain_their_share_of_the_values() {
    let (mut inside, mut all) = (0, 0);
    for seed in 1..=60 {
        let values: Vec<f64> = noise(seed)
            .take(5 * WEEK)
            .enumerate()
            .map(|(at, x)| 50.0 + (at % WEEK) as f64 + 20.0 * x)
            .collect();
        let past = series(values[..4 * WEEK].iter().copied());
        let tests = back_tests(&past, DAY);
        assert_eq!(tests.len(), 7);
        let band = ErrorBand::of(&tests, 0.8).unwrap();
        assert!(band.low < 0.0 && band.high > 0.0 && band.median > 0.0 && band.tests == 7);
        for (found, actual) in forecast(&past, DAY).unwrap().values.iter().zip(&values[4 * WEEK..]) {
            inside += usize::from((found + band.low..=found + band.high).contains(actual));
            all += 1;
        }
    }
    let share = inside as f64 / all as f64;
    assert!((0.75..0.87).contains(&share), "{share}");
}

#[test]
fn loads_have_errors_by_back_testing() {
    let series: Vec<Series> =
        (1..=50).map(|seed| series(noise(seed).take(4 * WEEK).map(|x| 10.0 + x))).collect();
    let all: Vec<&Series> = series.iter().collect();
    let found = forecast_loads(&all, DAY, 0.95);
    let errors = ForecastErrors::of(found.iter().flatten());
    assert_eq!(errors.tests, 350);
    let (median, ninth) = (errors.median.unwrap(), errors.ninth.unwrap());
    assert!(0.0 < median && median < ninth && ninth < 0.1, "{errors:?}");
    let none = ForecastErrors::of([]);
    assert_eq!(none, ForecastErrors { median: None, ninth: None, tests: 0 });
}

#[test]
fn uses_reach_their_capacities() {
    let days = |values: &[f64]| series(values.iter().flat_map(|value| [*value; DAY]));
    let rising: Vec<f64> = (0..10).map(f64::from).collect();
    let exactly =
        |days| Runway::Lasts(RunwayDays { expected: Some(days), earliest: Some(days), latest: Some(days) });
    assert_eq!(RunwayEstimate::rising(&days(&rising), 30.0).runway, exactly(21.0));
    assert_eq!(RunwayEstimate::rising(&days(&rising), 9.0).runway, Runway::UsedUp);
    assert_eq!(RunwayEstimate::rising(&days(&rising[..6]), 30.0).runway, Runway::Unknown);
    let never = Runway::Lasts(RunwayDays { expected: None, earliest: None, latest: None });
    assert_eq!(RunwayEstimate::rising(&days(&[5.0; 9]), 30.0).runway, never);
    let falling: Vec<f64> = rising.iter().rev().map(|value| value + 1.0).collect();
    assert_eq!(RunwayEstimate::rising(&days(&falling), 30.0).runway, never);
    let left = RunwayEstimate::falling(&days(&falling));
    assert_eq!((left.runway, left.level, left.days), (exactly(1.0), Some(1.0), 10));
    assert_eq!(left.growth.unwrap(), Trend { slope: -1.0, low: -1.0, high: -1.0 });
    assert_eq!(RunwayEstimate::falling(&days(&[0.0; 9])).runway, Runway::UsedUp);
    // Nothing is known of the last week.
    let old = series(rising.iter().flat_map(|value| [*value; DAY]).chain([f64::NAN; WEEK]));
    assert_eq!(RunwayEstimate::rising(&old, 30.0).runway, Runway::Unknown);
    assert_eq!(RunwayEstimate::rising(&days(&rising), f64::NAN).runway, Runway::Unknown);
}

#[test]
fn runways_contain_the_truth() {
    let mut inside = 0;
    for seed in 1..=100 {
        let values = noise(seed).take(8 * WEEK).enumerate();
        let weekly = |at: usize| if at % WEEK < 5 * DAY { 20.0 } else { 0.0 };
        let used = series(values.map(|(at, x)| 100.0 + at as f64 / 24.0 + 10.0 * x + weekly(at)));
        // The level of the last day is 100 + 55.5 + 5, of a weekend.
        let truth = (400.0 - 160.5) / 1.0;
        let Runway::Lasts(days) = RunwayEstimate::rising(&used, 400.0).runway else { panic!("{seed}") };
        assert!((days.expected.unwrap() - truth).abs() < 20.0, "{days:?}");
        inside += usize::from((days.earliest.unwrap()..=days.latest.unwrap()).contains(&truth));
    }
    assert!(inside >= 80, "{inside}");
}

/// Values of some weeks, a few of them missing.
fn any_values() -> impl Strategy<Value = Vec<f64>> {
    let value = prop_oneof![
        8 => 0.0..1e6,
        1 => Just(f64::NAN),
        1 => prop_oneof![Just(f64::INFINITY), Just(f64::MAX), Just(-f64::MAX), Just(0.0), -1e9..1e9],
    ];
    prop::collection::vec(value, 0..5 * WEEK)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn constants_stay(value in 0.0..1e12f64, length in 2 * DAY..6 * WEEK, horizon in 0..3 * WEEK) {
        let constant = series(vec![value; length]);
        prop_assert_eq!(forecast(&constant, horizon).unwrap(), Forecast { values: vec![value; horizon], slope: 0.0 });
        for test in back_tests(&constant, horizon) {
            prop_assert!(test.errors().all(|error| error == 0.0));
        }
    }

    #[test]
    fn weekly_patterns_and_trends_go_on(
        week in prop::collection::vec(0.0..100.0, WEEK), slope in 0.0..0.5, weeks in 2..8usize,
        holes in prop::collection::vec(0.0..1.0, 8 * WEEK), horizon in 1..2 * WEEK,
    ) {
        let count = weeks * WEEK;
        // A week of three is missing at most, so that each hour is known.
        let is_hole = |at: usize| weeks > 2 && holes[at] < 0.1 && at >= 2 * WEEK;
        let past = series((0..count).map(|at| if is_hole(at) { f64::NAN } else { pattern(&week, slope, at) }));
        let found = forecast(&past, horizon).unwrap();
        prop_assert!(near(found.slope, slope), "{} {slope}", found.slope);
        for (ahead, value) in found.values.iter().enumerate() {
            let wanted = pattern(&week, slope, count + ahead);
            prop_assert!((value - wanted).abs() < 1e-6, "{ahead}: {value} {wanted}");
        }
    }

    #[test]
    fn anything_has_a_finite_forecast(values in any_values(), horizon in 0..WEEK, q in 0.0..=1.0f64) {
        let past = series(values);
        for found in forecast(&past, horizon).iter().chain(back_tests(&past, horizon).iter().map(|test| &test.forecast)) {
            prop_assert_eq!(found.values.len(), horizon);
            prop_assert!(found.values.iter().all(|value| value.is_finite() && *value >= 0.0));
        }
        let loads = forecast_loads(&[&past, &past], horizon, q);
        prop_assert_eq!(&loads[0], &loads[1]);
        for found in [RunwayEstimate::rising(&past, 1e6), RunwayEstimate::falling(&past)] {
            if let Runway::Lasts(RunwayDays { expected, earliest, latest }) = found.runway {
                let order = [earliest, expected, latest].map(|days| days.unwrap_or(f64::MAX));
                prop_assert!(order.is_sorted() && order[0] >= 0.0, "{order:?}");
            }
        }
    }

    #[test]
    fn units_do_not_matter(values in prop::collection::vec(0.0..1e6, 2 * DAY..4 * WEEK), power in -20..20i32) {
        // Multiplication by a power of two is exact.
        let unit = f64::from(power).exp2();
        let (one, other) = (series(values.clone()), series(values.iter().map(|value| value * unit)));
        let (one_forecast, other_forecast) = (forecast(&one, DAY).unwrap(), forecast(&other, DAY).unwrap());
        let scaled: Vec<f64> = one_forecast.values.iter().map(|value| value * unit).collect();
        prop_assert_eq!(scaled, other_forecast.values);
        let (one, other) = (RunwayEstimate::rising(&one, 2e6), RunwayEstimate::rising(&other, 2e6 * unit));
        prop_assert_eq!(one.runway, other.runway);
    }

    #[test]
    fn order_does_not_matter(mut values in prop::collection::vec(-1e6..1e6f64, 1..200), q in 0.0..=1.0f64) {
        let one = (quantile(&mut values.clone(), q), median(&mut values.clone()));
        values.sort_by(f64::total_cmp);
        let last = values.len() - 1;
        let sorted = values.clone();
        values.reverse();
        prop_assert_eq!(one, (quantile(&mut values.clone(), q), median(&mut values)));
        prop_assert!((sorted[0]..=sorted[last]).contains(&one.0.unwrap()));
    }
}
