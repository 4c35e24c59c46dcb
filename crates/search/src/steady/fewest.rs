//! Lower bound of the moves that end an overload.

use htools_model::{Cluster, NodeFigure, NodeIdx};

/// Least number of moves after which no online node of the set `nodes` (ascending) is above a limit of its use, except
/// where that is tolerated.
///
/// A node falls to its limit only if instances leave that together use as much as it has too much. As many as the
/// largest ones need must leave at least. A move takes the primary role of one node only, so these numbers add up; a move
/// can take disk off two nodes, so for disk only the largest number counts.
pub fn fewest_moves(cluster: &Cluster, nodes: &[NodeIdx]) -> usize {
    let is_asked = |node: &NodeIdx| {
        let spec = &cluster.node(*node).spec;
        !spec.offline && spec.limits.must_be_met()
    };
    let online = || nodes.iter().filter(|node| is_asked(node));
    let of_node = |node: &NodeIdx, is_disk: bool| {
        let spec = &cluster.node(*node).spec;
        let figures = spec.limits.each().filter(|(figure, _)| (*figure == NodeFigure::Disk) == is_disk);
        figures.map(|(figure, limit)| fewest_to_leave(cluster, *node, figure, limit)).max().unwrap_or(0)
    };
    let primaries = online().map(|node| of_node(node, false)).sum::<usize>();
    primaries.max(online().map(|node| of_node(node, true)).max().unwrap_or(0))
}

/// Least number of instances that must leave a node so that a figure falls to its limit, in percent.
fn fewest_to_leave(cluster: &Cluster, node: NodeIdx, figure: NodeFigure, limit: f64) -> usize {
    let here = cluster.node(node);
    let used = here.spec.usage(&here.state.ledger, figure);
    if used <= limit {
        return 0;
    }
    let roles = [(&here.state.primaries, true), (&here.state.secondaries, false)];
    let instances =
        roles.into_iter().flat_map(|(list, is_primary)| list.iter().map(move |i| (*i, is_primary)));
    let shares = instances.map(|(instance, is_primary)| {
        let mut without = here.state.ledger;
        without.change_use(cluster.instance(instance), is_primary, -1);
        used - here.spec.usage(&without, figure)
    });
    let mut shares: Vec<f64> = shares.collect();
    shares.sort_by(|a, b| b.total_cmp(a));
    let mut left = used - limit;
    let mut count = 0;
    // Sums of rounded numbers may differ a little from what the search sees.
    for share in shares.into_iter().take_while(|share| *share > 0.0) {
        if left <= 1e-9 {
            break;
        }
        left -= share;
        count += 1;
    }
    count
}
