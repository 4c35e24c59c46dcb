//! Prices of steps in words: how much worse the final score is without the moves of an instance.

use super::components::score;
use crate::model::{Cluster, InstanceIdx, Mib, NodeIdx, Placement};
use crate::report::form::amount::amount;
use crate::report::form::table::{Align, Table};

/// Explanation of prices, in one line.
pub(crate) const PRICE_LEGEND: &str =
    "Price: how much worse the score is without the moves of the instance (-: the others do not fit then)";

/// Maximum number of rows of the table.
const ROWS: usize = 25;

/// A price, or `-` if there is none.
pub(crate) fn price_text(price: Option<f64>) -> String {
    price.map_or_else(|| "-".to_owned(), score)
}

/// An instance that moves, and the price of its moves.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PricedMove {
    pub instance: InstanceIdx,
    pub to: Placement,
    /// `None` if the other moves do not fit without it.
    pub price: Option<f64>,
}

/// Sorts moves by price, the cheapest first; those without a price come last.
pub(crate) fn cheapest_first(moves: &mut [PricedMove]) {
    let key = |priced: &PricedMove| (priced.price.is_none(), priced.price.unwrap_or_default());
    moves.sort_by(|a, b| {
        let (a, b) = (key(a), key(b));
        a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
    });
}

/// The table of moves; `cluster` is in its state before them.
pub(crate) fn price_table(moves: &[PricedMove], cluster: &Cluster) -> Vec<String> {
    let alias = |node: NodeIdx| cluster.node(node).spec.alias();
    let place = |at: Placement| at.nodes().map(alias).collect::<Vec<_>>().join(":");
    let columns = [
        ("Instance", Align::Left),
        ("From", Align::Left),
        ("To", Align::Left),
        ("To copy", Align::Right),
        ("Price", Align::Right),
    ];
    let mut table = Table::new(columns);
    for priced in moves.iter().take(ROWS) {
        let instance = cluster.instance(priced.instance);
        let copied = copied(cluster, priced);
        table.push(vec![
            instance.alias().to_owned(),
            place(instance.placement()),
            place(priced.to),
            if copied == Mib::ZERO { "-".to_owned() } else { amount(copied) },
            price_text(priced.price),
        ]);
    }
    let mut lines = table.trimmed_lines(" ");
    if moves.len() > ROWS {
        lines.push(format!(" and {} more (--json lists all)", moves.len() - ROWS));
    }
    lines.push(PRICE_LEGEND.to_owned());
    lines
}

/// Disk space that a move copies.
fn copied(cluster: &Cluster, priced: &PricedMove) -> Mib {
    let instance = cluster.instance(priced.instance);
    let home = instance.placement();
    let is_new = |node: &NodeIdx| home.nodes().all(|there| there != *node);
    let copies = if instance.template.has_secondary() {
        priced.to.nodes().filter(is_new).count()
    } else {
        usize::from(!instance.template.is_movable())
    };
    (0..copies).map(|_| instance.disk).sum()
}
