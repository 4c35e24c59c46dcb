//! The least deviation of one lane: the movable amounts fill up the fixed ones like water.

/// One lane of the online nodes, in the unit of its amounts (MiB, virtual CPUs, ...).
#[derive(Debug, Clone)]
pub(super) struct LaneColumn {
    /// 1, or -1 if all amounts are reversed: free resources fall when something arrives.
    pub sign: f64,
    /// For each node, the amount that cannot move.
    pub fixed: Vec<f64>,
    /// For each node, the factor from amounts to values.
    pub scales: Vec<f64>,
    /// The movable amounts, one by one. None is negative, and each ends on some node.
    pub items: Vec<f64>,
    /// Additional amount that may or may not end on these nodes.
    pub optional: f64,
}

/// The least population standard deviation that the values of a column can have.
pub(super) fn least_deviation(column: &LaneColumn) -> f64 {
    let total: f64 = column.items.iter().sum::<f64>() + column.optional;
    let scale = column.scales[0];
    if column.scales.iter().any(|s| *s != scale) {
        return of_different_nodes(column, total);
    }
    let unit = unit(&column.items).filter(|_| column.optional == 0.0);
    scale * of_equal_nodes(&column.fixed, total, unit)
}

/// The largest number that divides all amounts, if they are whole.
fn unit(items: &[f64]) -> Option<f64> {
    let whole = |x: f64| x.fract() == 0.0 && x < 9e15;
    if items.is_empty() || !items.iter().all(|x| whole(*x)) {
        return None;
    }
    let gcd = items.iter().fold(0, |gcd, x| gcd_of(gcd, *x as u64));
    (gcd > 0).then_some(gcd as f64)
}

fn gcd_of(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd_of(b, a % b) }
}

/// The level to which `total` fills up the fixed amounts.
fn level(fixed: &[f64], total: f64) -> f64 {
    let mut sorted = fixed.to_vec();
    sorted.sort_by(f64::total_cmp);
    let mut below = 0.0;
    for (at, height) in sorted.iter().enumerate() {
        below += height;
        let level = (total + below) / (at + 1) as f64;
        if sorted.get(at + 1).is_none_or(|next| level <= *next) {
            return level;
        }
    }
    0.0
}

fn deviation(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    (values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n).sqrt()
}

/// On nodes of one size the mean is fixed. The squares are least if every unit goes to the lowest node.
fn of_equal_nodes(fixed: &[f64], total: f64, unit: Option<f64>) -> f64 {
    let level = level(fixed, total);
    let Some(unit) = unit else {
        return deviation(&fixed.iter().map(|x| x.max(level)).collect::<Vec<_>>());
    };
    let mut left = (total / unit).round() as i64;
    let mut values: Vec<f64> = Vec::with_capacity(fixed.len());
    for height in fixed {
        // A hair below, so that rounding never gives a node too many units.
        let units = (((level - height) / unit - 1e-6).floor().max(0.0)) as i64;
        left -= units;
        values.push(height + unit * units as f64);
    }
    // At most two units per node are left.
    for _ in 0..left.max(0) {
        let lowest = (0..values.len()).min_by(|a, b| values[*a].total_cmp(&values[*b]));
        if let Some(lowest) = lowest {
            values[lowest] += unit;
        }
    }
    deviation(&values)
}

/// Number of halvings in a search: enough for the last bit of a double.
const HALVINGS: usize = 90;

/// On nodes of several sizes the mean depends on the placement. For each mean the function takes the least
/// squares around it; their sum is convex in the mean. Units may be divided.
fn of_different_nodes(column: &LaneColumn, total: f64) -> f64 {
    let values = column.fixed.iter().zip(&column.scales).map(|(x, s)| x * s);
    let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
    let most = column.scales.iter().copied().fold(0.0, f64::max);
    let (mut low, mut high) = (low, high + total * most);
    for _ in 0..2 * HALVINGS {
        let third = (high - low) / 3.0;
        let (a, b) = (low + third, high - third);
        if squares_around(column, total, a) < squares_around(column, total, b) { high = b } else { low = a }
    }
    let squares = squares_around(column, total, (low + high) / 2.0);
    // The search by thirds ends where the squares no longer differ.
    (squares / column.fixed.len() as f64 * (1.0 - 1e-9)).max(0.0).sqrt()
}

/// The least sum of squares around `mean`.
fn squares_around(column: &LaneColumn, total: f64, mean: f64) -> f64 {
    let part = |(fixed, scale): (&f64, &f64), price: f64| ((mean + price / scale) / scale - fixed).max(0.0);
    let nodes = || column.fixed.iter().zip(&column.scales);
    let poured = |price: f64| nodes().map(|node| part(node, price)).sum::<f64>();
    let (mut low, mut high) = (-1.0, 1.0);
    for _ in 0..1000 {
        if poured(low) <= total {
            break;
        }
        low *= 2.0;
    }
    for _ in 0..1000 {
        if poured(high) >= total {
            break;
        }
        high *= 2.0;
    }
    for _ in 0..HALVINGS {
        let middle = (low + high) / 2.0;
        if poured(middle) < total { low = middle } else { high = middle }
    }
    nodes().map(|node| (node.1 * (node.0 + part(node, low)) - mean).powi(2)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(fixed: &[f64], scales: &[f64], items: &[f64]) -> LaneColumn {
        LaneColumn {
            sign: 1.0,
            fixed: fixed.to_vec(),
            scales: scales.to_vec(),
            items: items.to_vec(),
            optional: 0.0,
        }
    }

    /// The least deviation over all ways to distribute the items.
    fn brute_force(column: &LaneColumn) -> f64 {
        let (nodes, items) = (column.fixed.len(), column.items.len());
        let mut best = f64::INFINITY;
        for code in 0..nodes.pow(items as u32) {
            let (mut values, mut code) = (column.fixed.clone(), code);
            for item in &column.items {
                values[code % nodes] += item;
                code /= nodes;
            }
            let scaled: Vec<f64> = values.iter().zip(&column.scales).map(|(x, s)| x * s).collect();
            best = best.min(deviation(&scaled));
        }
        best
    }

    #[test]
    fn no_way_to_deal_items_out_is_below() {
        let mut draws = crate::balance::deep::RandomNumbers::stream(3);
        for _ in 0..300 {
            let fixed: Vec<f64> = (0..3).map(|_| draws.below(30) as f64).collect();
            let items: Vec<f64> =
                (0..1 + draws.below(5)).map(|_| 2.0 * (1 + draws.below(4)) as f64).collect();
            for scales in [[0.5; 3], [1.0, 0.5, 0.25]] {
                let column = column(&fixed, &scales, &items);
                let (bound, least) = (least_deviation(&column), brute_force(&column));
                assert!(bound <= least + 1e-9, "{bound} {least} {column:?}");
            }
        }
    }

    #[test]
    fn equal_pieces_are_dealt_out_exactly() {
        let column = column(&[7.0, 0.0, 1.0], &[0.5; 3], &[2.0; 5]);
        assert!((least_deviation(&column) - brute_force(&column)).abs() < 1e-12);
    }
}
