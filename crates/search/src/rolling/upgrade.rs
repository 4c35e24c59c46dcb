//! Order of batches if the maintenance upgrades the nodes: instances leave a node while it is old, and come back once it
//! is new. Live migration leads to the same or a newer version then. The fewer instances go to nodes that are still old,
//! the fewer have to leave their node twice.

use std::collections::BTreeSet;

use htools_model::{Cluster, Mirroring, NodeIdx, Placement};

use super::{Part, RollingOptions};

/// Orders parts: the next one is always that with the fewest migrations to old nodes, then the first. The part with the
/// master stays last. `is_new` is true for the nodes that are new already; it may be shorter than the list of nodes.
pub(super) fn in_upgrade_order(
    cluster: &Cluster,
    parts: Vec<Part>,
    options: &RollingOptions,
    is_new: &[bool],
) -> Vec<Part> {
    let mut is_new = is_new.to_vec();
    is_new.resize(cluster.nodes.len(), false);
    let has_master: Vec<bool> =
        parts.iter().map(|part| part.nodes.iter().any(|node| cluster.node(*node).spec.master)).collect();
    let mut to_old = vec![0_usize; parts.len()];
    // The parts with migrations to each node, as often as they have any.
    let mut senders: Vec<Vec<usize>> = vec![Vec::new(); cluster.nodes.len()];
    for (at, part) in parts.iter().enumerate() {
        for target in targets(cluster, part, options).filter(|target| !is_new[target.get()]) {
            to_old[at] += 1;
            senders[target.get()].push(at);
        }
    }
    let mut open: BTreeSet<(bool, usize, usize)> =
        (0..parts.len()).map(|at| (has_master[at], to_old[at], at)).collect();
    let mut waiting: Vec<Option<Part>> = parts.into_iter().map(Some).collect();
    let mut order = Vec::with_capacity(waiting.len());
    while let Some((_, _, next)) = open.pop_first() {
        let Some(part) = waiting[next].take() else { continue };
        for node in part.nodes.iter().filter(|node| !std::mem::replace(&mut is_new[node.get()], true)) {
            for at in &senders[node.get()] {
                if open.remove(&(has_master[*at], to_old[*at], *at)) {
                    to_old[*at] -= 1;
                    open.insert((has_master[*at], to_old[*at], *at));
                }
            }
        }
        order.push(part);
    }
    order
}

/// The nodes that the running instances of a part migrate to.
fn targets<'a>(
    cluster: &'a Cluster,
    part: &'a Part,
    options: &'a RollingOptions,
) -> impl Iterator<Item = NodeIdx> + 'a {
    let residents = cluster.residents(&part.nodes).into_iter();
    residents.filter_map(|idx| {
        let instance = cluster.instance(idx);
        let Placement { primary, secondary } = instance.placement();
        let is_live = instance.status.is_running()
            && !instance.forthcoming
            && !options.offline_maintenance
            && instance.template.mirroring() != Mirroring::None;
        let listed = part.moves.binary_search_by_key(&idx, |moved| moved.instance).ok();
        let fails_over = instance.template.has_secondary() && options.must_fail_over(instance);
        let to = match listed {
            Some(at) => Some(part.moves[at].to.primary),
            None => secondary.filter(|_| fails_over),
        };
        to.filter(|to| is_live && *to != primary && part.nodes.contains(&primary))
    })
}

#[cfg(test)]
mod tests;
