//! Floors that follow a cluster while instances are moved one after the other.

use crate::place::Targets;
use crate::place::floor::Floor;
use htools_model::{Cluster, Instance, NodeIdx, Placement};

/// All nodes as places, for instances with one node and with two.
#[derive(Debug, Clone)]
pub(super) struct Sites {
    nodes: Vec<NodeIdx>,
    singles: Targets,
    pairs: Targets,
}

impl Sites {
    /// All nodes of a cluster.
    pub(super) fn of(cluster: &Cluster) -> Sites {
        let nodes = cluster.all_nodes();
        Sites { singles: Targets::Singles(nodes.clone()), pairs: Targets::Pairs(nodes.clone()), nodes }
    }
}

/// Floors that a search would otherwise build again for each instance.
pub(super) struct PlaceStage<'c> {
    singles: Option<Floor<'c>>,
    pairs: Option<Floor<'c>>,
}

impl<'c> PlaceStage<'c> {
    /// The stage for the present state of a cluster. Moves are made in a copy, which the stage follows.
    pub(super) fn new(cluster: &'c Cluster, sites: &'c Sites) -> PlaceStage<'c> {
        let floor = |targets, two: bool| {
            let mut like = cluster.instances.iter().filter(|i| i.template.has_secondary() == two);
            let plain = like.find(|i| is_plain(i))?;
            Some(Floor::of_groups(cluster, &sites.nodes, targets, plain))
        };
        PlaceStage { singles: floor(&sites.singles, false), pairs: floor(&sites.pairs, true) }
    }

    /// The floor on which to search for the best target; `None` if this search needs one of its own.
    pub(super) fn floor(
        &mut self,
        cluster: &Cluster,
        instance: &Instance,
        targets: &Targets,
    ) -> Option<&Floor<'c>> {
        let floor = match targets {
            Targets::Singles(_) => self.singles.as_mut(),
            Targets::Pairs(_) => self.pairs.as_mut(),
            Targets::Partners(..) => None,
        };
        let floor = floor.filter(|_| is_plain(instance))?;
        let usable = by_groups(cluster, targets)?;
        floor.usable = usable;
        Some(floor)
    }

    /// Updates nodes that the instance has entered or left.
    pub(super) fn follow(
        &mut self,
        now: &Cluster,
        instance: &Instance,
        nodes: impl Iterator<Item = NodeIdx>,
    ) {
        for node in nodes {
            for floor in self.floors() {
                floor.replace(instance, node, now.node(node).state.ledger);
            }
        }
    }

    /// Updates the floors after an instance has moved.
    pub(super) fn moved(&mut self, now: &Cluster, instance: &Instance, from: Placement, to: Placement) {
        let (left, there) = (&now.node(from.primary).spec, &now.node(to.primary).spec);
        for floor in self.floors() {
            floor.board.commit(&[], instance, Some(left), there);
            for at in [from, to] {
                if let Some(secondary) = at.secondary {
                    let amount = now.node(secondary).state.peers.get(at.primary);
                    floor.set_backing(at.primary, secondary, amount);
                }
            }
        }
        let nodes = [from, to].into_iter().flat_map(|at| [Some(at.primary), at.secondary]);
        self.follow(now, instance, nodes.flatten());
    }

    fn floors(&mut self) -> impl Iterator<Item = &mut Floor<'c>> {
        self.singles.iter_mut().chain(&mut self.pairs)
    }
}

/// Returns true if nodes with equal ledgers are alike for the instance, since it has no tags.
fn is_plain(instance: &Instance) -> bool {
    instance.exclusion_tags.is_empty() && instance.keys.is_empty() && instance.desired_locations.is_empty()
}

/// For each node, true if it is a target. Returns `None` if only some online nodes of a group are targets,
/// since alike nodes would then have to be told apart.
fn by_groups(cluster: &Cluster, targets: &Targets) -> Option<Vec<bool>> {
    let mut usable = vec![false; cluster.nodes.len()];
    targets.primaries().iter().for_each(|node| usable[node.get()] = true);
    let mut of_group: Vec<Option<bool>> = vec![None; cluster.groups.len()];
    let mut online = cluster.nodes.iter().filter(|node| !node.spec.offline).map(|node| &node.spec);
    let alike = online.all(|node| {
        let tried = usable[node.idx.get()];
        *of_group[node.group.get()].get_or_insert(tried) == tried
    });
    alike.then_some(usable)
}
