//! Simulates the loss of a node on a floor with one group, where all instances are on shared storage and each
//! stays in one failover domain. The results are those of
//! [`evacuates`](htools_model::redundancy::global::evacuates); here the best nodes are found by kind.

use std::collections::HashMap;

use super::emptying::{self, Shelves};
use crate::Deadline;
use crate::place::best_elsewhere;
use crate::place::floor::Floor;
use crate::place::offers::Offers;
use htools_model::redundancy::global::NodePool;
use htools_model::{Cluster, GroupIdx, Instance, Ledger, NodeIdx, Place, TagArrival};

/// Returns true if losses can be simulated on the floor: there is one group, every online node is a place, and
/// neither tags nor locations matter.
pub(super) fn is_simple(cluster: &Cluster, floor: &Floor<'_>) -> bool {
    let one_group = cluster.groups_with_nodes().len() == 1;
    let usable = cluster.nodes.iter().all(|n| n.spec.offline || floor.usable[n.spec.idx.get()]);
    let untagged = |i: &Instance| {
        let known = i.exclusion_tags.is_empty() && i.keys.is_empty();
        known && i.desired_locations.is_empty() && i.location_score == 0
    };
    one_group && usable && cluster.instances.iter().all(untagged)
}

/// Result of emptying a node.
#[derive(Debug, Clone, Copy)]
pub(super) struct Verdict {
    pub survives: bool,
    /// True if the result is the same for all nodes of the kind with the same instances.
    pub of_kind: bool,
}

/// Tries to place all of a node's instances elsewhere, in the given order. The floor is restored afterwards.
fn can_be_emptied(floor: &mut Floor<'_>, node: NodeIdx, instances: &[Instance]) -> Verdict {
    let mut done: Vec<(&Instance, NodeIdx, Ledger, Ledger)> = Vec::with_capacity(instances.len());
    let mut verdict = Verdict { survives: true, of_kind: true };
    for instance in instances {
        let spec = &floor.cluster.node(node).spec;
        let before = floor.ledgers[node.get()];
        let left = before.remove_primary(spec, instance, 0, TagArrival::default());
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

/// A floor, and the instance that has just arrived on it, if any.
pub(super) struct FloorArrival<'a, 'c> {
    pub floor: &'a Floor<'c>,
    pub arrived: Option<(&'a Instance, &'a Place)>,
}

/// Checks whether every node that the pool leaves undecided can be emptied. `present` returns the given number
/// of a node's instances, in the order in which they leave.
pub(super) fn losses_are_borne(
    pool: &mut NodePool,
    arrival: &FloorArrival<'_, '_>,
    shelves: &mut Shelves,
    present: &impl Fn(NodeIdx, usize) -> Vec<Instance>,
    deadline: &Deadline,
) -> Verdict {
    let mut all = Verdict { survives: true, of_kind: true };
    let Some(undecided) = pool.undecided() else { return Verdict { survives: false, of_kind: true } };
    let floor = arrival.floor;
    let arrived = arrival.arrived.map(|(_, place)| (place.placement.primary, place.primary));
    // Copy of the floor for simulations, made on first use.
    let mut trial: Option<Floor<'_>> = None;
    for (node, count) in undecided {
        if deadline.reached().is_some() {
            // The result will be discarded.
            return Verdict { survives: false, of_kind: false };
        }
        let instances = present(node, count);
        let verdict = match emptying::can_be_emptied(floor, shelves, arrived, node, &instances) {
            Some(survives) => Verdict { survives, of_kind: true },
            None => {
                let trial = trial.get_or_insert_with(|| {
                    let mut trial = floor.clone();
                    if let Some((instance, place)) = arrival.arrived {
                        trial.place(instance, place);
                    }
                    trial
                });
                can_be_emptied(trial, node, &instances)
            }
        };
        all.of_kind &= verdict.of_kind;
        if !verdict.survives {
            return Verdict { survives: false, ..all };
        }
    }
    all
}

/// A pool that is asked about several places of one instance.
pub(super) struct Pooled<'p, 'f, 'c> {
    pool: &'p mut NodePool,
    floor: &'f Floor<'c>,
    instance: &'f Instance,
    /// True if losses can be simulated on the floor.
    simple: bool,
    shelves: &'p mut Shelves,
    /// Known results by group, since only nodes of one group are alike: the node, the result, and true if it
    /// holds only for nodes of the same kind.
    known: HashMap<GroupIdx, Vec<(NodeIdx, bool, bool)>>,
}

impl<'p, 'f, 'c> Pooled<'p, 'f, 'c> {
    pub(super) fn new(
        pool: &'p mut NodePool,
        shelves: &'p mut Shelves,
        floor: &'f Floor<'c>,
        instance: &'f Instance,
        simple: bool,
    ) -> Pooled<'p, 'f, 'c> {
        Pooled { pool, shelves, floor, instance, simple, known: HashMap::new() }
    }

    /// Returns true if every node could be emptied with the instance in a place; `None` if this requires a full
    /// simulation. `present` returns the given number of a node's instances.
    pub(super) fn verdict(
        &mut self,
        place: &Place,
        present: &impl Fn(NodeIdx, usize) -> Vec<Instance>,
        deadline: &Deadline,
    ) -> Option<bool> {
        let node = place.placement.primary;
        let group = self.floor.cluster.node(node).spec.group;
        let kind = |n: NodeIdx| self.floor.kinds.of_node(n);
        let same =
            |k: &&(NodeIdx, bool, bool)| self.pool.are_alike(k.0, node) && (!k.2 || kind(k.0) == kind(node));
        if let Some((_, verdict, _)) = self.known.get(&group).into_iter().flatten().find(same) {
            return Some(*verdict);
        }
        let before = self.pool.arrive(node, self.instance.mem_in_use())?;
        let mut verdict = self.pool.holds();
        if let Some(verdict) = verdict {
            self.known.entry(group).or_default().push((node, verdict, false));
        } else if self.simple {
            let arrival = FloorArrival { floor: self.floor, arrived: Some((self.instance, place)) };
            let followed = losses_are_borne(self.pool, &arrival, self.shelves, present, deadline);
            if followed.of_kind {
                self.known.entry(group).or_default().push((node, followed.survives, true));
            }
            verdict = Some(followed.survives);
        }
        self.pool.restore(node, before);
        verdict
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::place::{Targets, best_on};
    use htools_model::known_tags::POOL;
    use htools_model::redundancy::global::{Departures, Scope};
    use htools_model::{Disk, DiskTemplate, InstanceDetails, Mib};
    use htools_testkit::shared;
    use proptest::prelude::*;

    /// Number of results by bounds, and of nodes that could not be emptied.
    #[derive(Default)]
    struct Tally {
        told: Cell<u64>,
        lost: Cell<u64>,
    }

    /// While instances arrive, bounds give the same results as exact scores, if they give any. Checking only
    /// the instances in doubt gives the same results, too.
    fn bounds_agree(cluster: &Cluster, arrivals: &[(i64, i64)], tally: &Tally) -> Result<(), TestCaseError> {
        let all = cluster.all_nodes();
        let targets = Targets::Singles(all.clone());
        let disk = Disk { size: Mib(1024), spindles: Some(1) };
        let new = |size: &(i64, i64)| {
            Instance::from(InstanceDetails {
                mem: Mib(size.0 * 512),
                disk: disk.size,
                disks: [disk].into(),
                spindles: disk.spindles,
                spindle_use: 1,
                vcpus: size.1,
                ..InstanceDetails::blank("new".into(), DiskTemplate::Ext)
            })
        };
        let mut floor = Floor::new(cluster, &all, &targets, &new(&(1, 1)));
        // As hspace does.
        let scope = Scope { departures: Departures::AsListed, ..Scope::default() };
        let mut pool = NodePool::of(cluster, &all, &scope, &new(&(1, 1))).expect("all are on shared storage");
        let mut shelves = Shelves::default();
        let mut there: Vec<Vec<Instance>> = all
            .iter()
            .map(|n| cluster.node(*n).state.primaries.iter().map(|i| cluster.instance(*i).clone()).collect())
            .collect();
        for size in arrivals {
            let instance = new(size);
            let Some((_, place)) = best_on(&floor, &mut Offers::strict(&instance)) else { continue };
            let to = place.placement.primary;
            let mut settled = instance.clone();
            settled.settle_pools(&cluster.node(to).spec);
            there[to.get()].push(settled);
            pool.arrive(to, instance.mem);
            let mut trial = floor.clone();
            trial.place(&instance, &place);
            let in_doubt = pool.undecided();
            for node in &all {
                let going: Vec<Instance> = there[node.get()].iter().rev().cloned().collect();
                let exact = can_be_emptied(&mut trial, *node, &going).survives;
                let count = in_doubt.as_ref().and_then(|d| d.iter().find(|d| d.0 == *node)).map(|d| d.1);
                if let Some(count) = count {
                    let first = can_be_emptied(&mut trial, *node, &going[..count]).survives;
                    prop_assert_eq!(first, exact);
                }
                for going in [&going[..], &going[..count.unwrap_or(0)]] {
                    let arrived = Some((to, place.primary));
                    let told = emptying::can_be_emptied(&floor, &mut shelves, arrived, *node, going);
                    let Some(told) = told.filter(|_| !going.is_empty()) else { continue };
                    // Only the last instance is checked.
                    prop_assert_eq!(told, exact);
                    tally.told.set(tally.told.get() + 1);
                    tally.lost.set(tally.lost.get() + u64::from(!told));
                }
            }
            floor.place(&instance, &place);
        }
        Ok(())
    }

    /// Assigns the nodes in turn to this number of storage pools.
    fn pooled(mut cluster: Cluster, pools: usize) -> Cluster {
        for (at, node) in cluster.nodes.iter_mut().enumerate().filter(|_| pools > 1) {
            node.spec.tags.push(format!("{POOL}p{}", at % pools));
        }
        cluster.enter_pools();
        cluster
    }

    #[test]
    fn bounds_say_what_exact_scores_say() {
        let tally = Tally::default();
        let node = (prop::sample::select(vec![16i64, 16, 32]), prop::sample::select(vec![8i64, 8, 12]));
        let cluster = (
            prop::collection::vec(node, 2..12),
            prop::collection::vec((0usize..12, 1i64..20, 1i64..3), 0..60),
        );
        let arrivals = prop::collection::vec((1i64..20, 1i64..3), 1..12);
        let pools = prop::sample::select(vec![1usize, 1, 2, 3]);
        let mut runner = proptest::test_runner::TestRunner::default();
        let run = runner.run(&(cluster, arrivals, pools), |((nodes, instances), arrivals, pools)| {
            bounds_agree(&pooled(shared(&nodes, &instances), pools), &arrivals, &tally)
        });
        run.unwrap_or_else(|error| panic!("{error}"));
        assert!(
            tally.told.get() > 1000 && tally.lost.get() > 100,
            "{} {}",
            tally.told.get(),
            tally.lost.get()
        );
    }
}
