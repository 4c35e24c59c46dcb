//! Sums over vectors of numbers.

pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Values minus their mean. Subtracting twice leaves only rounding errors of small numbers.
pub(super) fn centred(mut values: Vec<f64>) -> Vec<f64> {
    for _ in 0..2 {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        values.iter_mut().for_each(|x| *x -= mean);
    }
    values
}

/// For each node, the change of the reserves' cost if its reserve rises by one, by the weights of the sum and of the
/// deviation of `reserves`. None is below 0. Distances from the mean with a length up to `negligible` count as none.
pub(super) fn reserve_prices(
    reserves: Vec<f64>,
    (of_sum, of_deviation): (f64, f64),
    negligible: f64,
) -> Vec<f64> {
    let n = reserves.len() as f64;
    let away = centred(reserves);
    let length = dot(&away, &away).sqrt();
    let slope = if length > negligible { of_deviation / (length * n.sqrt()) } else { 0.0 };
    away.iter().map(|x| (of_sum + slope * x).max(0.0)).collect()
}
