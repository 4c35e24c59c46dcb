//! Clears nodes: divides a list of nodes into parts that can be freed of instances together.

use htools_model::{Cluster, GroupIdx, InstanceIdx, NodeIdx, Strictness};

use super::layout::Layout;
use super::{NoPlan, Part, RollingOptions};

/// The instances of which nodes are freed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClearingScope {
    /// Primaries without a secondary.
    Primaries,
    /// Secondaries of instances on other nodes.
    Secondaries,
}

/// Input shared by all steps.
pub(crate) struct ClearGround<'a> {
    cluster: &'a Cluster,
    options: RollingOptions,
    /// The online nodes of each group, in order.
    online: Vec<Vec<NodeIdx>>,
}

/// Receives the nodes that can be cleared together, with the layout after clearing them.
type ClearedNodes<'f> = dyn FnMut(&[NodeIdx], &mut Layout<'_>) -> Result<(), NoPlan> + 'f;

impl<'a> ClearGround<'a> {
    pub(crate) fn of(cluster: &'a Cluster, options: RollingOptions) -> ClearGround<'a> {
        let online = |group: GroupIdx| {
            cluster.nodes_of(group).iter().copied().filter(|n| !cluster.node(*n).spec.offline).collect()
        };
        let online = cluster.groups.iter().map(|g| online(g.idx)).collect();
        ClearGround { cluster, options, online }
    }

    /// Divides nodes in their order: the first part is as many as can be cleared together, and so on. Every
    /// part starts from the same layout, which is also the final one.
    ///
    /// # Errors
    /// If a node cannot be cleared even with all others in use.
    pub(crate) fn partition(
        &self,
        layout: &mut Layout<'_>,
        nodes: &[NodeIdx],
        what: ClearingScope,
        found: &mut ClearedNodes<'_>,
    ) -> Result<(), NoPlan> {
        let start = layout.mark();
        let mut rest = nodes.to_vec();
        while let Some(first) = rest.first().copied() {
            let mut cleared = vec![false; self.cluster.nodes.len()];
            rest.retain(|node| {
                let mark = layout.mark();
                let done = self.clear(layout, *node, what, &cleared);
                if done {
                    cleared[node.get()] = true
                } else {
                    layout.back_to(mark)
                }
                !done
            });
            let part: Vec<NodeIdx> = nodes.iter().copied().filter(|n| cleared[n.get()]).collect();
            if part.is_empty() {
                return Err(match what {
                    ClearingScope::Primaries => NoPlan::NonRedundant { node: first },
                    ClearingScope::Secondaries => NoPlan::Secondaries { node: first },
                });
            }
            found(&part, layout)?;
            layout.back_to(start);
        }
        Ok(())
    }

    /// Frees nodes of all data, in as many parts as necessary.
    ///
    /// # Errors
    /// If instances cannot run on their secondaries, or if there is no room for secondaries elsewhere.
    pub(crate) fn evacuate(
        &self,
        layout: &mut Layout<'_>,
        nodes: &[NodeIdx],
        parts: &mut Vec<Part>,
    ) -> Result<(), NoPlan> {
        let mirrored = |i: &InstanceIdx| self.cluster.instance(*i).template.has_secondary();
        let primaries: Vec<InstanceIdx> =
            nodes.iter().flat_map(|n| layout.primaries(*n)).filter(mirrored).collect();
        for instance in primaries {
            if !layout.fail_over(instance) {
                return Err(NoPlan::Migration { instance });
            }
        }
        self.partition(layout, nodes, ClearingScope::Secondaries, &mut |nodes, layout| {
            parts.push(Part { nodes: nodes.to_vec(), moves: layout.moved() });
            Ok(())
        })
    }

    /// Tries to clear a node. On failure, the instances moved so far stay moved.
    fn clear(&self, layout: &mut Layout<'_>, node: NodeIdx, what: ClearingScope, cleared: &[bool]) -> bool {
        let group = self.cluster.node(node).spec.group;
        let targets = || {
            let open = move |t: &NodeIdx| *t != node && !cleared[t.get()];
            self.online[group.get()].iter().copied().filter(open)
        };
        match what {
            ClearingScope::Primaries => {
                let instances = layout.primaries(node);
                let leaving = instances.into_iter().filter(|i| self.leaves(*i));
                leaving.into_iter().all(|i| self.relocate(layout, i, node, targets()))
            }
            ClearingScope::Secondaries => layout.secondaries(node).into_iter().all(|instance| {
                let primary = layout.place(instance).primary;
                targets().any(|t| t != primary && layout.move_secondary(instance, t))
            }),
        }
    }

    /// Returns true if a primary must leave before its node goes down.
    fn leaves(&self, instance: InstanceIdx) -> bool {
        self.options.must_leave(self.cluster.instance(instance))
    }

    /// Moves a primary. An instance that migrates goes to the node with most room left under all rules, any
    /// other to the first node that can hold it.
    fn relocate(
        &self,
        layout: &mut Layout<'_>,
        instance: InstanceIdx,
        from: NodeIdx,
        targets: impl Iterator<Item = NodeIdx>,
    ) -> bool {
        let offers = |how| {
            let layout = &*layout;
            targets.filter_map(move |t| layout.offer(instance, t, how).map(|offer| (t, offer)))
        };
        let found = if self.options.migrates_shared(self.cluster.instance(instance)) {
            let spec = |n: NodeIdx| &self.cluster.node(n).spec;
            let reachable = |t: &NodeIdx| spec(from).can_migrate_to(spec(*t));
            let fit = offers(Strictness::Strict).filter(|(t, _)| reachable(t));
            fit.reduce(|best, next| if next.1.1 > best.1.1 { next } else { best })
        } else {
            let mut fit = offers(Strictness::Forced);
            fit.next()
        };
        match found {
            Some((target, (new, _))) => {
                layout.move_primary(instance, target, new);
                true
            }
            None => false,
        }
    }
}
