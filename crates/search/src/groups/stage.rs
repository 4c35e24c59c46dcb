//! Floors that follow a cluster while instances are moved one after the other.

use std::collections::HashMap;

use super::place::has_no_order;
use crate::balance::shape::Shapes;
use crate::place::floor::Floor;
use crate::place::offers::{KnownVerdicts, Offers};
use crate::place::{self, Targets};
use htools_model::{Cluster, Disk, Instance, InstanceIdx, NodeIdx, Place, Placement};

/// Most verdicts that a stage keeps: some 50 MB.
const VERDICTS: usize = 1 << 15;

/// Most sizes of instances on which it keeps verdicts.
const SIZES: usize = 64;

/// All nodes as places, for instances with one node and with two.
#[derive(Debug, Clone)]
pub(super) struct Sites {
    nodes: Vec<NodeIdx>,
    singles: Targets,
    pairs: Targets,
    /// For each instance, a number shared by those on which all nodes have the same verdict.
    sizes: Vec<usize>,
}

impl Sites {
    /// All nodes of a cluster.
    pub(super) fn of(cluster: &Cluster) -> Sites {
        let nodes = cluster.all_nodes();
        let (singles, pairs) = (Targets::Singles(nodes.clone()), Targets::Pairs(nodes.clone()));
        Sites { singles, pairs, nodes, sizes: sizes(cluster) }
    }
}

/// The numbers of the instances' sizes. Policies look at each disk and at vCPUs that are not in use, too.
fn sizes(cluster: &Cluster) -> Vec<usize> {
    let all: Vec<InstanceIdx> = cluster.instances.iter().map(|instance| instance.idx).collect();
    let shapes = Shapes::of(cluster, &all);
    let mut known: HashMap<(u32, i64, &[Disk]), usize> = HashMap::new();
    let keys = cluster.instances.iter().map(|i| (shapes.get(i.idx), i.vcpus, &*i.disks));
    keys.map(|key| {
        let next = known.len();
        *known.entry(key).or_insert(next)
    })
    .collect()
}

/// Verdicts on the sizes of instances that were placed last.
struct LastVerdicts {
    /// By size, the last one used at the end.
    by_size: Vec<(usize, KnownVerdicts)>,
    most: usize,
}

impl LastVerdicts {
    fn new(nodes: usize) -> LastVerdicts {
        LastVerdicts { by_size: Vec::new(), most: (VERDICTS / nodes.max(1)).clamp(1, SIZES) }
    }

    fn take(&mut self, size: usize) -> KnownVerdicts {
        let at = self.by_size.iter().position(|(known, _)| *known == size);
        at.map(|at| self.by_size.remove(at).1).unwrap_or_default()
    }

    fn keep(&mut self, size: usize, verdicts: KnownVerdicts) {
        if self.by_size.len() >= self.most {
            self.by_size.remove(0);
        }
        self.by_size.push((size, verdicts));
    }
}

/// Floors that a search would otherwise build again for each instance.
pub(super) struct PlaceStage<'c> {
    sites: &'c Sites,
    singles: Option<Floor<'c>>,
    pairs: Option<Floor<'c>>,
    known: LastVerdicts,
}

impl<'c> PlaceStage<'c> {
    /// The stage for the present state of a cluster. Moves are made in a copy, which the stage follows.
    pub(super) fn new(cluster: &'c Cluster, sites: &'c Sites) -> PlaceStage<'c> {
        let floor = |targets, two: bool| {
            let mut like = cluster.instances.iter().filter(|i| i.template.has_secondary() == two);
            let plain = like.find(|i| is_plain(i))?;
            Some(Floor::of_groups(cluster, &sites.nodes, targets, plain))
        };
        let (singles, pairs) = (floor(&sites.singles, false), floor(&sites.pairs, true));
        PlaceStage { sites, singles, pairs, known: LastVerdicts::new(sites.nodes.len()) }
    }

    /// The best place by the score of the whole cluster, whatever becomes of redundancy. `None` if this search needs a
    /// floor of its own.
    pub(super) fn best(
        &mut self,
        cluster: &Cluster,
        instance: &Instance,
        targets: &Targets,
    ) -> Option<Option<(f64, Place)>> {
        let floor = match targets {
            Targets::Singles(_) => self.singles.as_mut(),
            Targets::Pairs(_) => self.pairs.as_mut(),
            Targets::Partners(..) => None,
        };
        let floor = floor.filter(|_| is_plain(instance))?;
        floor.usable = by_groups(cluster, targets)?;
        if has_no_order(floor) {
            return None;
        }
        let size = self.sites.sizes[instance.idx.get()];
        let mut offers = Offers::knowing(instance, self.known.take(size));
        let best = place::best_on(floor, &mut offers);
        self.known.keep(size, offers.into_known());
        Some(best)
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
