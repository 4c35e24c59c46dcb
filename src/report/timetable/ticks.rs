//! Round times on the axis of a chart.

/// Distances between ticks, in seconds. Longer ones are whole days.
const STEPS: [f64; 18] = [
    1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1800.0, 3600.0, 7200.0, 10_800.0,
    21_600.0, 43_200.0, 86_400.0,
];
/// Maximum number of ticks after the first.
const MOST: f64 = 6.0;

/// Times from 0 to at most `total` seconds, at the smallest round distance with few ticks.
pub(super) fn ticks(total: f64) -> Vec<f64> {
    if !(total.is_finite() && total > 0.0) {
        return vec![0.0];
    }
    let step = STEPS.into_iter().find(|step| total / step <= MOST);
    let step = step.unwrap_or_else(|| (total / MOST / 86_400.0).ceil() * 86_400.0);
    (0..=(total / step) as u32).map(|number| f64::from(number) * step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_round() {
        assert_eq!(ticks(7037.0), [0.0, 1800.0, 3600.0, 5400.0]);
        assert_eq!(ticks(2347.0), [0.0, 600.0, 1200.0, 1800.0]);
        assert_eq!(ticks(6.0), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        assert_eq!(ticks(1e6), [0.0, 172_800.0, 345_600.0, 518_400.0, 691_200.0, 864_000.0]);
        for none in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(ticks(none), [0.0]);
        }
        for total in [0.1, 59.0, 3601.0, 1e5, 1e7, 1e12] {
            assert!(ticks(total).len() <= 7, "{total}");
        }
    }
}
