//! Lower bound of the moves that end an overload.

use htools_model::{Cluster, NodeFigure, NodeIdx};

/// Least number of moves after which no online node of the set `nodes` (ascending) is above a limit of its use.
///
/// A node falls to its limit only if instances leave that together use as much as it has too much. As many as the
/// largest ones need must leave at least. A move takes the primary role of one node only, so these numbers add up; a move
/// can take disk off two nodes, so for disk only the largest number counts.
pub fn fewest_moves(cluster: &Cluster, nodes: &[NodeIdx]) -> usize {
    let online = || nodes.iter().filter(|node| !cluster.node(**node).spec.offline);
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
    let secondaries: &[_] = if figure == NodeFigure::Disk { &here.state.secondaries } else { &[] };
    let shares = here.state.primaries.iter().chain(secondaries).map(|instance| {
        let instance = cluster.instance(*instance);
        let mut without = here.state.ledger;
        match figure {
            NodeFigure::Memory => without.mem_instances -= instance.mem_in_use(),
            NodeFigure::Cpu => without.load.cpu -= instance.util.cpu,
            NodeFigure::Vcpus => without.vcpus = without.vcpus.wrapping_sub(instance.vcpus_in_use()),
            NodeFigure::Disk => without.disk_free += instance.local_disk(),
        }
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
