//! Medians and quantiles.

/// The quantile `q` (0 to 1) of the values, interpolated between neighbours; `None` without values or if `q` is outside
/// the range. Reorders the values.
///
/// The definition is that of Prometheus's `quantile_over_time`.
pub fn quantile(values: &mut [f64], q: f64) -> Option<f64> {
    if values.is_empty() || !(0.0..=1.0).contains(&q) {
        return None;
    }
    let rank = q * (values.len() - 1) as f64;
    // The rank is from 0 to the number of values.
    let at = (rank.floor() as usize).min(values.len() - 1);
    let share = rank - rank.floor();
    let (_, lower, above) = values.select_nth_unstable_by(at, f64::total_cmp);
    let lower = *lower;
    let upper = above.iter().copied().min_by(f64::total_cmp).filter(|_| share > 0.0);
    Some(upper.map_or(lower, |upper| between(lower, upper, share)))
}

/// The value in the middle, or the mean of the two there; `None` without values. Reorders the values.
pub(super) fn median(values: &mut [f64]) -> Option<f64> {
    quantile(values, 0.5)
}

/// A value between two. Equal ones are returned without rounding.
fn between(lower: f64, upper: f64, share: f64) -> f64 {
    if lower == upper { lower } else { lower * (1.0 - share) + upper * share }
}
