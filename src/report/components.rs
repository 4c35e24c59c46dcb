//! The score, metric by metric.

use super::number::fixed;
use super::table::{Align, Table};
use crate::score::{Components, TABLE};

/// A score as it is printed everywhere.
pub fn score(x: f64) -> String {
    fixed(x, 8)
}

/// The table of metrics: only the header where there are none.
pub fn components(components: &Components) -> Vec<String> {
    let columns = [("Field", Align::Left), ("Value", Align::Right), ("Weight", Align::Right)];
    let mut table = Table::new(columns);
    for (metric, value) in TABLE.iter().zip(&components.values) {
        let weight = format!("x{}", fixed(metric.weight, 2));
        table.push(vec![metric.name.to_owned(), score(*value), weight]);
    }
    table.lines("  ")
}
