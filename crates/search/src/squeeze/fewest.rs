//! Lower bound of the number of nodes that stay online when a group is condensed. docs/bounds.md has the proof.
//!
//! Each resource by itself asks for a number of nodes: those that cannot be freed, and the largest others. The result is
//! the largest of these numbers.

use super::trial::GroupScope;
use super::{Decision, GroupPlan, SqueezeOptions, SqueezeWatch, loosened_cluster};
use crate::Deadline;
use crate::limits::resource::{Resource, common_divisor};
use crate::squeeze::candidates::refusal;
use htools_model::{Cluster, GroupIdx, Instance, Mib, NodeIdx};

/// Lower bound of the number of nodes of a group that stay online if nodes are freed under the rules of [`squeeze`]. It is at
/// most the number of nodes that are online now. The limit on the number of nodes to switch is ignored.
///
/// [`squeeze`]: super::squeeze
pub fn fewest_online(cluster: &Cluster, group: GroupIdx, options: &SqueezeOptions) -> usize {
    let loosened = loosened_cluster(cluster, options.reach);
    let watch = SqueezeWatch { deadline: &Deadline::never(), progress: &|_| {} };
    GroupScope::of(loosened.as_ref().unwrap_or(cluster), group, options, watch).fewest()
}

/// Lower bound of the number of nodes that stay online in a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeProof {
    /// The group.
    pub group: GroupIdx,
    /// The bound.
    pub fewest: usize,
    /// Number of nodes that are online after the plan.
    pub online: usize,
}

/// The proofs for the groups whose plans bring no node online.
pub(super) fn proofs(scopes: &[GroupScope<'_>], plans: &[GroupPlan], after: &Cluster) -> Vec<NodeProof> {
    let expands = |group: GroupIdx| {
        let more = |plan: &GroupPlan| plan.decision == Decision::Expand && !plan.nodes.is_empty();
        plans.iter().any(|plan| plan.group == group && more(plan))
    };
    let proof = |scope: &GroupScope<'_>| {
        let online = scope.nodes.iter().filter(|n| !after.node(**n).spec.offline).count();
        NodeProof { group: scope.group, fewest: scope.fewest(), online }
    };
    let mut proofs: Vec<NodeProof> = scopes.iter().filter(|s| !expands(s.group)).map(proof).collect();
    proofs.sort_by_key(|proof| proof.group);
    proofs
}

/// Amount of a resource that a node offers, and whether the node must stay.
#[derive(Clone, Copy)]
struct Offer {
    amount: i128,
    stays: bool,
}

impl GroupScope<'_> {
    /// For each of some online nodes, whether it can never be freed.
    pub(super) fn must_stay(&self, online: &[NodeIdx]) -> Vec<bool> {
        let fixed = self.fixed();
        let stays =
            |n: &NodeIdx| fixed[n.get()].is_some() || refusal(self.cluster, *n, self.options).is_some();
        online.iter().map(stays).collect()
    }

    /// Lower bound of the number of nodes that stay online if nodes are freed.
    pub(super) fn fewest(&self) -> usize {
        let online: Vec<NodeIdx> = self.online().collect();
        let stays = self.must_stay(&online);
        let asked = [
            self.fewest_for_memory(&online, &stays),
            self.fewest_after_loss(&online, &stays),
            stays.iter().filter(|stays| **stays).count().max(1),
        ];
        let limited = self.limited_resources(&online);
        let of_resources = limited.into_iter().map(|resource| self.fewest_for(resource, &online, &stays));
        asked.into_iter().chain(of_resources).max().unwrap_or(0).min(online.len())
    }

    /// Bound from the memory of the instances, the target reserve of each node, and the reserves for DRBD instances.
    fn fewest_for_memory(&self, online: &[NodeIdx], stays: &[bool]) -> usize {
        let offer = |n: &NodeIdx| self.offer(Resource::Memory, *n);
        let (used, backed) = (self.needed(Resource::Memory, online), self.memory_backed(online));
        let unit = self.memory_unit(online);
        let whole = |n: &NodeIdx| offer(n).div_euclid(unit) * unit;
        let for_instances = fewest(&offers(online, stays, whole), |sum, _, _| sum >= used);
        let with_reserves = fewest(&offers(online, stays, offer), |sum, _, count| match count {
            1 => sum >= used && backed == 0,
            // A node that keeps R for each of the others backs at most count - 1 times R.
            _ => (sum - used) * (count as i128 - 1) >= backed,
        });
        for_instances.max(with_reserves)
    }

    /// Bound from a resource with the same limit for each placement.
    fn fewest_for(&self, resource: Resource, online: &[NodeIdx], stays: &[bool]) -> usize {
        let needed = self.needed(resource, online);
        fewest(&offers(online, stays, |n| self.offer(resource, *n)), |sum, _, _| sum >= needed)
    }

    /// Bound from global N+1: if a node is lost, the others hold all instances, and one that uses the target reserve.
    fn fewest_after_loss(&self, online: &[NodeIdx], stays: &[bool]) -> usize {
        // Nodes that could not be emptied at the start need not be expendable afterwards.
        if !self.options.capacity_checks || online.iter().any(|n| self.is_at_risk(*n)) {
            return 0;
        }
        let offer = |n: &NodeIdx| i128::from(self.cluster.node(*n).spec.mem_for_instances().0 - 1).max(0);
        let (used, unit) = (self.needed(Resource::Memory, online), self.memory_unit(online));
        let whole = |n: &NodeIdx| offer(n).div_euclid(unit) * unit;
        let for_instances = fewest(&offers(online, stays, whole), |sum, largest, _| sum - largest >= used);
        let needed = used + i128::from(self.target.memory().0.max(0));
        let with_reserve = fewest(&offers(online, stays, offer), |sum, largest, _| sum - largest >= needed);
        for_instances.max(with_reserve)
    }

    /// The largest amount of which the memory of each of these instances is a multiple; at least 1 MiB.
    fn memory_unit(&self, online: &[NodeIdx]) -> i128 {
        let primaries = online.iter().flat_map(|n| &self.cluster.node(*n).state.primaries);
        let sizes = primaries.map(|i| i128::from(self.cluster.instance(*i).mem_in_use().0).abs());
        sizes.fold(0, common_divisor).max(1)
    }

    /// Memory of the DRBD instances between these nodes that secondaries reserve; 0 if a node lacks its reserve already, as
    /// it may go on lacking it.
    fn memory_backed(&self, online: &[NodeIdx]) -> i128 {
        if online.iter().any(|n| self.cluster.node(*n).state.ledger.n1_fail) {
            return 0;
        }
        let is_online = self.cluster.mask(online);
        let between = |i: &Instance| i.mirror().is_some_and(|m| is_online[m.get()]);
        let backed = |i: &Instance| if between(i) { i.mem_reserved().max(Mib::ZERO).0 } else { 0 };
        self.sum_in_group(online, backed)
    }
}

fn offers(online: &[NodeIdx], stays: &[bool], amount: impl Fn(&NodeIdx) -> i128) -> Vec<Offer> {
    let offers = online.iter().zip(stays);
    offers.map(|(node, stays)| Offer { amount: amount(node), stays: *stays }).collect()
}

/// The smallest number of nodes that is enough. `enough` gets the sum of their amounts, the largest amount, and their number.
/// Nodes that must stay come first, then those with most.
fn fewest(offers: &[Offer], enough: impl Fn(i128, i128, usize) -> bool) -> usize {
    let mut order = offers.to_vec();
    order.sort_by_key(|offer| (!offer.stays, -offer.amount));
    let must = order.iter().filter(|offer| offer.stays).count();
    let (mut sum, mut largest) = (0, i128::MIN);
    for (offer, count) in order.iter().zip(1..) {
        sum += offer.amount;
        largest = largest.max(offer.amount);
        if count >= must.max(1) && enough(sum, largest, count) {
            return count;
        }
    }
    order.len()
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use proptest::prelude::*;

    use super::super::tests::group;
    use super::super::*;
    use super::*;
    use htools_testkit::cluster;

    /// Memory and CPUs of each node.
    type Sizes = Vec<(i64, i64)>;

    /// Memory, virtual CPUs, and the primary and the secondary node of an instance.
    type Placed = (i64, i64, usize, Option<usize>);

    /// A cluster whose first node is the master. The nodes of `off` are offline. `None` if an instance does not fit.
    fn built(nodes: &Sizes, instances: &[Placed], off: &[usize]) -> Option<Cluster> {
        let mut free: Vec<i64> = nodes.iter().map(|node| node.0).collect();
        instances.iter().for_each(|(memory, _, p, _)| free[*p] -= memory);
        if free.iter().any(|free| *free < 0) {
            return None;
        }
        let row = |(at, ((memory, cpus), free)): (usize, (&(i64, i64), &i64))| {
            let role = if off.contains(&at) {
                "Y"
            } else if at == 0 {
                "M"
            } else {
                "N"
            };
            format!("n{at}|{memory}|0|{free}|900000|800000|{cpus}|{role}|u|9")
        };
        let rows: Vec<String> = nodes.iter().zip(&free).enumerate().map(row).collect();
        let row = |(at, (memory, cpus, p, s)): (usize, &Placed)| {
            let (s, template) = match s {
                Some(s) => (format!("n{s}"), "drbd"),
                None => (String::new(), "ext"),
            };
            format!("i{at}|{memory}|10|{cpus}|running|Y|n{p}|{s}|{template}||1")
        };
        let instances: Vec<String> = instances.iter().enumerate().map(row).collect();
        let words = |rows: &[String]| rows.join("\n");
        Some(cluster(&[&words(&rows)], &[&words(&instances)], &[]))
    }

    /// Calls `visit` for each placement of the instances on the nodes of `on`.
    fn placements(instances: &[Placed], on: &[usize], visit: &mut dyn FnMut(&[Placed]) -> bool) -> bool {
        fn rest(
            at: usize,
            placed: &mut Vec<Placed>,
            on: &[usize],
            visit: &mut dyn FnMut(&[Placed]) -> bool,
        ) -> bool {
            let Some((.., secondary)) = placed.get(at).copied() else { return visit(placed) };
            on.iter().any(|p| {
                placed[at].2 = *p;
                if secondary.is_none() {
                    return rest(at + 1, placed, on, visit);
                }
                on.iter().filter(|s| *s != p).any(|s| {
                    placed[at].3 = Some(*s);
                    rest(at + 1, placed, on, visit)
                })
            })
        }
        rest(0, &mut instances.to_vec(), on, visit)
    }

    /// The smallest number of nodes on which some placement has no objection.
    fn fewest_of_all(
        nodes: &Sizes,
        instances: &[Placed],
        before: &Cluster,
        options: &SqueezeOptions,
    ) -> usize {
        let deadline = Deadline::never();
        let watch = SqueezeWatch { deadline: &deadline, progress: &|_| {} };
        let scope = GroupScope::of(before, group(), options, watch);
        let mut best = nodes.len();
        for set in 0u32..1 << nodes.len() {
            let (on, off): (Vec<usize>, Vec<usize>) = (0..nodes.len()).partition(|n| set & (1 << n) != 0);
            // The master node stays.
            if set & 1 == 0 || on.len() >= best {
                continue;
            }
            let freed: Vec<NodeIdx> = off.iter().map(|n| NodeIdx::new(*n)).collect();
            let found = placements(instances, &on, &mut |placed| {
                let after = built(nodes, placed, &off);
                after.is_some_and(|after| scope.objection(&after, &freed, false).is_none())
            });
            if found {
                best = on.len();
            }
        }
        best
    }

    #[test]
    fn no_placement_is_below_the_bound() {
        let (compared, met, freed) = (Cell::new(0), Cell::new(0), Cell::new(0));
        let (as_many, as_many_deep) = (Cell::new(0), Cell::new(0));
        let node = (prop::sample::select(vec![1500i64, 2000, 2500]), 1i64..4);
        let instance = (1i64..6, 1i64..3, any::<u8>(), any::<u8>(), any::<bool>());
        let input = (
            prop::collection::vec(node, 2..5),
            prop::collection::vec(instance, 0..5),
            any::<bool>(),
            prop::sample::select(vec![0.0, 1.0, 2.0, 4.0]),
        );
        let config = ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() };
        let mut runner = proptest::test_runner::TestRunner::new(config);
        let run = runner.run(&input, |(nodes, instances, capacity_checks, target)| {
            let count = nodes.len();
            let placed = |(memory, cpus, p, s, drbd): &(i64, i64, u8, u8, bool)| {
                let p = usize::from(*p) % count;
                let s = (p + 1 + usize::from(*s) % (count - 1)) % count;
                (memory * 130, *cpus, p, drbd.then_some(s))
            };
            let instances: Vec<Placed> = instances.iter().map(placed).collect();
            let Some(before) = built(&nodes, &instances, &[]) else { return Ok(()) };
            let options = SqueezeOptions {
                reach: Reach::Drbd,
                capacity_checks,
                target,
                minimal: 0.0,
                ..SqueezeOptions::default()
            };
            let bound = fewest_online(&before, group(), &options);
            let best = fewest_of_all(&nodes, &instances, &before, &options);
            prop_assert!(bound <= best, "bound {bound}, but {best} are enough");
            let stay = |deep: bool| {
                let found = squeeze(&before, &[group()], &SqueezeOptions { deep, ..options.clone() });
                found.after.nodes.iter().filter(|node| !node.spec.offline).count()
            };
            let (online, fewer) = (stay(false), stay(true));
            prop_assert!(best <= fewer && fewer <= online, "of {best}, {fewer} and {online} nodes");
            as_many.set(as_many.get() + usize::from(online == best));
            as_many_deep.set(as_many_deep.get() + usize::from(fewer == best));
            compared.set(compared.get() + 1);
            met.set(met.get() + usize::from(bound == best));
            freed.set(freed.get() + usize::from(best < count));
            Ok(())
        });
        run.unwrap_or_else(|error| panic!("{error}"));
        let counts = [compared.get(), met.get(), freed.get()];
        assert!(counts[0] > 200 && counts[1] * 10 > counts[0] * 8 && counts[2] > 100, "{counts:?}");
        let deep = as_many_deep.get();
        assert!(deep * 100 > counts[0] * 97 && deep > as_many.get(), "{counts:?}, {as_many:?}, {deep}");
    }

    #[test]
    fn each_resource_counts() {
        let bound = |nodes: &[(i64, i64)], instances: &[Placed], options: &SqueezeOptions| {
            fewest_online(&built(&nodes.to_vec(), instances, &[]).unwrap(), group(), options)
        };
        let nodes = [(2000, 9); 5];
        let plain = SqueezeOptions { capacity_checks: false, target: 0.0, ..SqueezeOptions::default() };
        let spread = |memory, cpus| (0..5).map(|n| (memory, cpus, n, None)).collect::<Vec<Placed>>();
        // 4,950 MiB are more than two nodes have.
        assert_eq!(bound(&nodes, &spread(990, 1), &plain), 3);
        // If one of three were lost, the others would not hold them.
        let checked = SqueezeOptions { capacity_checks: true, ..plain.clone() };
        assert_eq!(bound(&nodes, &spread(990, 1), &checked), 4);
        // A node has room for 35 virtual CPUs beside its own, and all need 90.
        assert_eq!(bound(&nodes, &spread(100, 18), &plain), 3);
        // The reserve of 512 MiB leaves 1,487 on each node: room for one of 990, or for two of 700.
        let reserved = SqueezeOptions { target: 4.0, ..plain.clone() };
        assert_eq!(bound(&nodes, &spread(990, 1), &reserved), 5);
        assert_eq!(bound(&nodes, &spread(700, 1), &reserved), 3);
        // DRBD instances stay without --drbd.
        let drbd = [(100, 1, 1, Some(2)), (100, 1, 3, None)];
        assert_eq!(bound(&nodes, &drbd, &plain), 3);
        // With it, two nodes back each other: each needs room for the other's instances.
        let moved = SqueezeOptions { reach: Reach::Drbd, ..plain };
        assert_eq!(bound(&nodes, &drbd, &moved), 2);
    }
}
