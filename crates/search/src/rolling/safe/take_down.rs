//! Moves the instances of one more node out of its way, by the rules of a safe plan.

use htools_model::{
    Cluster, GroupIdx, Instance, InstanceIdx, Ledger, Mib, NodeIdx, Placement, Rule, Strictness,
};

use super::StaysUp;
use crate::rolling::RollingOptions;
use crate::rolling::layout::Layout;

/// Input shared by all nodes.
#[derive(Debug, Clone)]
pub(super) struct TakeDown<'a> {
    cluster: &'a Cluster,
    options: RollingOptions,
    /// The nodes of each group that take instances, in order.
    online: Vec<Vec<NodeIdx>>,
    /// True for the nodes that instances without a secondary should go to; shorter if none of the later ones is.
    preferred: &'a [bool],
}

/// A node that goes down beside others.
#[derive(Clone, Copy)]
struct NodeLeaving<'d> {
    node: NodeIdx,
    down: &'d [bool],
}

impl<'a> TakeDown<'a> {
    pub(super) fn of(cluster: &'a Cluster, options: RollingOptions) -> TakeDown<'a> {
        let online = |group: GroupIdx| {
            cluster.nodes_of(group).iter().copied().filter(|n| !cluster.node(*n).spec.offline).collect()
        };
        TakeDown {
            cluster,
            options,
            online: cluster.groups.iter().map(|g| online(g.idx)).collect(),
            preferred: &[],
        }
    }

    /// The same with nodes that instances without a secondary should go to.
    pub(super) fn preferring(self, preferred: &'a [bool]) -> TakeDown<'a> {
        TakeDown { preferred, ..self }
    }

    /// Moves the instances of a node away, while the nodes marked in `down` are down. On failure, some stay moved.
    ///
    /// # Errors
    /// The first reason that the node cannot be down with the others.
    pub(super) fn take_down(
        &self,
        layout: &mut Layout<'_>,
        node: NodeIdx,
        down: &[bool],
    ) -> Result<(), StaysUp> {
        let leaving = NodeLeaving { node, down };
        let mut taking = Vec::new();
        for instance in layout.primaries(node) {
            let moved = self.cluster.instance(instance);
            if self.options.must_leave(moved) {
                taking.push(self.relocate(layout, instance, leaving)?);
            } else if moved.template.has_secondary() && self.options.must_fail_over(moved) {
                taking.extend(self.fail_over(layout, instance, leaving)?);
            }
        }
        if self.options.full_evacuation {
            for instance in layout.secondaries(node) {
                taking.push(self.replace_secondary(layout, instance, leaving)?);
            }
        }
        match taking
            .into_iter()
            .find(|target| self.loses_redundancy(*target, &layout.node(*target).state.ledger))
        {
            Some(node) => Err(StaysUp::Redundancy { node }),
            None => Ok(()),
        }
    }

    /// Tells if a node that was N+1-safe before the maintenance no longer is.
    fn loses_redundancy(&self, node: NodeIdx, now: &Ledger) -> bool {
        self.options.keeps_redundancy && now.n1_fail && !self.cluster.node(node).state.ledger.n1_fail
    }

    /// The nodes that can take instances of a node, in order.
    fn targets<'s>(&'s self, leaving: NodeLeaving<'s>) -> impl Iterator<Item = NodeIdx> + 's {
        let group = self.cluster.node(leaving.node).spec.group;
        let open = move |t: &NodeIdx| *t != leaving.node && !leaving.down[t.get()];
        self.online[group.get()].iter().copied().filter(open)
    }

    /// Moves an instance without a secondary to the node with most memory left, among the preferred ones if possible. Without redundancy to keep, an instance
    /// that does not migrate goes to the first node that can hold it. Returns the node.
    fn relocate(
        &self,
        layout: &mut Layout<'_>,
        instance: InstanceIdx,
        leaving: NodeLeaving<'_>,
    ) -> Result<NodeIdx, StaysUp> {
        let moved = self.cluster.instance(instance);
        let migrates = self.options.migrates_shared(moved);
        let how = if migrates { Strictness::Strict } else { Strictness::Forced };
        let asks_for_tags = migrates || (self.options.keeps_redundancy && moved.template.is_movable());
        let spec = |n: NodeIdx| &self.cluster.node(n).spec;
        let offers = || {
            let reachable = |t: &NodeIdx| !asks_for_tags || spec(leaving.node).can_migrate_to(spec(*t));
            self.targets(leaving).filter(reachable).filter_map(|target| {
                let (ledger, left) = layout.offer(instance, target, how)?;
                let keeps_all = !self.options.keeps_redundancy || !clashes(layout, moved, target);
                (keeps_all && !self.loses_redundancy(target, &ledger)).then_some((target, ledger, left))
            })
        };
        let spreads = migrates || self.options.keeps_redundancy;
        let found = if spreads {
            let rank = |offer: &(NodeIdx, Ledger, Mib)| {
                (self.preferred.get(offer.0.get()).is_some_and(|is| *is), offer.2)
            };
            offers().reduce(|best, next| if rank(&next) > rank(&best) { next } else { best })
        } else {
            offers().next()
        };
        let (target, ledger, _) = found.ok_or(StaysUp::NoTarget { instance })?;
        layout.move_primary(instance, target, ledger);
        Ok(target)
    }

    /// Fails an instance over to its secondary. Returns that node; `None` if the instance has none and may be down.
    fn fail_over(
        &self,
        layout: &mut Layout<'_>,
        instance: InstanceIdx,
        leaving: NodeLeaving<'_>,
    ) -> Result<Option<NodeIdx>, StaysUp> {
        let moved = self.cluster.instance(instance);
        let Placement { primary, secondary } = layout.place(instance);
        let keeps_redundancy = self.options.keeps_redundancy;
        let Some(node) = secondary.filter(|node| *node != primary) else {
            return if keeps_redundancy { Err(StaysUp::NoSecondary { instance }) } else { Ok(None) };
        };
        let spec = |n: NodeIdx| &self.cluster.node(n).spec;
        if spec(node).offline || leaving.down[node.get()] {
            return Err(StaysUp::SecondaryOut { instance, node });
        }
        let refused = |rule| StaysUp::Refused { instance, node, rule };
        if !keeps_redundancy {
            layout.try_fail_over(instance, [Strictness::Unbound; 2]).map_err(refused)?;
            return Ok(None);
        }
        if moved.status.is_running() && !spec(primary).can_migrate_to(spec(node)) {
            return Err(refused(Rule::MigrationTags));
        }
        if clashes(layout, moved, node) {
            return Err(refused(Rule::ExclusionTag));
        }
        // The disks stay on the node that goes down, so nothing is asked of it.
        layout.try_fail_over(instance, [Strictness::Forced, Strictness::Unbound]).map_err(refused)?;
        Ok(Some(node))
    }

    /// Moves the secondary of an instance to the first node that can hold it. Returns the node.
    fn replace_secondary(
        &self,
        layout: &mut Layout<'_>,
        instance: InstanceIdx,
        leaving: NodeLeaving<'_>,
    ) -> Result<NodeIdx, StaysUp> {
        let primary = layout.place(instance).primary;
        let holds = |target: &NodeIdx| {
            let offer = layout.secondary_offer(instance, *target);
            *target != primary && offer.is_some_and(|ledger| !self.loses_redundancy(*target, &ledger))
        };
        let target = self.targets(leaving).find(holds).ok_or(StaysUp::NoSecondaryTarget { instance })?;
        layout.move_secondary(instance, target);
        Ok(target)
    }
}

/// Tells if a node has a primary with an exclusion tag of the instance.
fn clashes(layout: &Layout<'_>, instance: &Instance, node: NodeIdx) -> bool {
    let count = &layout.node(node).state.tag_count;
    instance.exclusion_tags.iter().any(|tag| count.get(*tag) > 0)
}
