//! The score by metric.

use crate::model::number::fixed;
use crate::report::form::table::{Align, Table};
use crate::score::Components;

/// A score with the number of decimals that all outputs use.
pub fn score(x: f64) -> String {
    fixed(x, 8)
}

/// A weight with two decimals, or more if it has more.
fn shown_weight(weight: f64) -> String {
    let short = fixed(weight, 2);
    if short.parse() == Ok(weight) { short } else { weight.to_string() }
}

/// The table of metrics; only the header if there are none.
pub fn components(components: &Components) -> Vec<String> {
    let columns = [("Field", Align::Left), ("Value", Align::Right), ("Weight", Align::Right)];
    let mut table = Table::new(columns);
    for (metric, value, weight) in components.parts() {
        table.push(vec![metric.name.to_owned(), score(value), format!("x{}", shown_weight(weight))]);
    }
    table.lines("  ")
}
