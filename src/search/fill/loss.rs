//! The loss of a node on a floor where all instances are on shared storage and there
//! is one group: as [`evacuates`](crate::redundancy::global::evacuates), with the best
//! nodes found by kind.

use crate::model::{Cluster, Instance, Ledger, NodeIdx, Place};
use crate::redundancy::global::Pool;
use crate::search::Deadline;
use crate::search::allocate::best_elsewhere;
use crate::search::allocate::floor::Floor;
use crate::search::allocate::offers::Offers;

/// Whether nodes can be emptied on a floor: one group, every online node is a place,
/// and neither tags nor locations count.
pub(super) fn is_simple(cluster: &Cluster, floor: &Floor<'_>) -> bool {
    let one_group = cluster.groups_with_nodes().len() == 1;
    let usable = cluster.nodes.iter().all(|n| n.spec.offline || floor.usable[n.spec.idx.get()]);
    let untagged =
        |i: &Instance| i.exclusion_tags.is_empty() && i.desired_locations.is_empty() && i.location_score == 0;
    one_group && usable && cluster.instances.iter().all(untagged)
}

/// Whether a node can be emptied.
#[derive(Debug, Clone, Copy)]
pub(super) struct Verdict {
    pub survives: bool,
    /// It is the same for all nodes of the same kind with the same instances.
    pub of_kind: bool,
}

/// Whether all of a node's instances, given in the order in which they go, find a
/// place; the floor is afterwards as it was.
fn can_be_emptied(floor: &mut Floor<'_>, node: NodeIdx, instances: &[Instance]) -> Verdict {
    let mut done: Vec<(&Instance, NodeIdx, Ledger, Ledger)> = Vec::with_capacity(instances.len());
    let mut verdict = Verdict { survives: true, of_kind: true };
    for instance in instances {
        let spec = &floor.cluster.node(node).spec;
        let before = floor.ledgers[node.get()];
        let left = before.remove_primary(spec, instance, 0, 0);
        floor.replace(instance, node, left);
        let mut offers = Offers::forced(instance);
        let Some((place, clear)) = best_elsewhere(floor, &mut offers, node) else {
            floor.replace(instance, node, before);
            verdict.survives = false;
            break;
        };
        verdict.of_kind &= clear;
        let to = place.placement.primary;
        done.push((instance, to, before, floor.ledgers[to.get()]));
        floor.replace(instance, to, place.primary);
    }
    for (instance, to, node_before, to_before) in done.into_iter().rev() {
        floor.replace(instance, to, to_before);
        floor.replace(instance, node, node_before);
    }
    verdict
}

/// Whether every node that a pool says nothing about can be emptied; `present` are a
/// node's instances in the order in which they go.
pub(super) fn losses_are_borne(
    pool: &mut Pool,
    floor: &mut Floor<'_>,
    present: &impl Fn(NodeIdx) -> Vec<Instance>,
    deadline: &Deadline,
) -> Verdict {
    let mut all = Verdict { survives: true, of_kind: true };
    let Some(undecided) = pool.undecided() else { return Verdict { survives: false, of_kind: true } };
    for node in undecided {
        if deadline.reached().is_some() {
            // nobody will ask
            return Verdict { survives: false, of_kind: false };
        }
        let verdict = can_be_emptied(floor, node, &present(node));
        all.of_kind &= verdict.of_kind;
        if !verdict.survives {
            return Verdict { survives: false, ..all };
        }
    }
    all
}

/// A pool that is asked about the places of one instance, one after the other.
pub(super) struct Pooled<'p, 'f, 'c> {
    pool: &'p mut Pool,
    floor: &'f Floor<'c>,
    instance: &'f Instance,
    /// Whether losses can be followed on the floor.
    simple: bool,
    /// A copy of the floor to try things out on, once it was needed.
    trial: Option<Floor<'c>>,
    /// Verdicts on nodes, and whether they hold only for nodes of the same kind.
    known: Vec<(NodeIdx, bool, bool)>,
}

impl<'p, 'f, 'c> Pooled<'p, 'f, 'c> {
    pub fn new(
        pool: &'p mut Pool,
        floor: &'f Floor<'c>,
        instance: &'f Instance,
        simple: bool,
    ) -> Pooled<'p, 'f, 'c> {
        Pooled { pool, floor, instance, simple, trial: None, known: Vec::new() }
    }

    /// Whether every node could be emptied with the instance in a place; nothing if
    /// that has to be simulated. `present` are a node's instances then.
    pub fn verdict(
        &mut self,
        place: &Place,
        present: &impl Fn(NodeIdx) -> Vec<Instance>,
        deadline: &Deadline,
    ) -> Option<bool> {
        let node = place.placement.primary;
        let kind = |n: NodeIdx| self.floor.kinds.of_node(n);
        let same =
            |k: &&(NodeIdx, bool, bool)| self.pool.are_alike(k.0, node) && (!k.2 || kind(k.0) == kind(node));
        if let Some((_, verdict, _)) = self.known.iter().find(same) {
            return Some(*verdict);
        }
        let before = self.pool.arrive(node, self.instance.mem_in_use())?;
        let mut verdict = self.pool.holds();
        if let Some(verdict) = verdict {
            self.known.push((node, verdict, false));
        } else if self.simple {
            let trial = self.trial.get_or_insert_with(|| self.floor.clone());
            let ledger = trial.ledgers[node.get()];
            trial.place(self.instance, place);
            let followed = losses_are_borne(self.pool, trial, present, deadline);
            trial.take_back(self.instance, place.placement, (ledger, None));
            if followed.of_kind {
                self.known.push((node, followed.survives, true));
            }
            verdict = Some(followed.survives);
        }
        self.pool.restore(node, before);
        verdict
    }
}
