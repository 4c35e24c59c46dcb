//! Placement on clusters with exclusive storage: the best place is the one that costs the fewest other possible
//! instances ("lost allocations").

use super::aftermath::Reserves;
use super::fit::PlaceTester;
use super::kept_room::RoomGuard;
use super::{Conditions, PlaceMetric, PlaceSearch, Targets, select};
use htools_model::{
    Cluster, DiskTemplate, Instance, InstanceDetails, InstancePolicy, InstanceSpec, Ledger, Mib, NodeSpec,
    Obstacle, Place, Rule, Strictness, TagArrival,
};

/// Searches for the best place. Redundancy is not checked, except for the reserves of groups.
pub(crate) fn find(
    cluster: &Cluster,
    instance: &Instance,
    targets: &Targets,
    conditions: &Conditions,
) -> PlaceSearch {
    let conditions = Conditions { redundancy: None, ..conditions.clone() };
    let fit = PlaceTester::new(cluster, instance, &conditions);
    let mut reserves = Reserves::of(cluster, instance, &conditions);
    let room = RoomGuard::of(cluster, conditions.ignore_soft_errors);
    let mut rated = |place: Result<Place, Obstacle>| {
        let place = place?;
        if !reserves.hold(place.placement.primary) {
            return Err(Obstacle::Primary(Rule::GroupReserve));
        }
        if !room.holds_at(cluster, &place) {
            return Err(Obstacle::Primary(Rule::KeptRoom));
        }
        Ok((metric(cluster, &place), place))
    };
    if let Targets::Singles(targets) = targets {
        return select::best_of(targets.iter().map(|t| rated(fit.single(*t))));
    }
    targets.primaries().iter().fold(PlaceSearch::default(), |all, p| {
        let places = targets.partners(cluster, *p).map(|s| rated(fit.unrelated_pair(*p, s)));
        select::both(all, select::best_of(places))
    })
}

fn metric(cluster: &Cluster, place: &Place) -> PlaceMetric {
    let primary = cluster.node(place.placement.primary);
    let tests = tests(&cluster.group(primary.spec.group).policy);
    let mut lost = vec![0; tests.len()];
    let mut disk = Mib::ZERO;
    let ends =
        [(Some(place.placement.primary), Some(place.primary)), (place.placement.secondary, place.secondary)];
    for (node, after) in ends {
        let (Some(node), Some(after)) = (node, after) else { continue };
        let node = cluster.node(node);
        for (lost, test) in lost.iter_mut().zip(&tests) {
            *lost += room_for(&node.spec, &node.state.ledger, test) - room_for(&node.spec, &after, test);
        }
        disk += after.disk_free;
    }
    PlaceMetric::Lost(lost, disk.0)
}

/// The smallest instance of each range of a policy, by descending size of its disk.
fn tests(policy: &InstancePolicy) -> Vec<Instance> {
    let mut specs: Vec<InstanceSpec> = policy.ranges.iter().map(|r| r.min).collect();
    specs.sort_by_key(|s| std::cmp::Reverse(s.disk_size));
    specs.iter().map(|spec| several(spec, 1)).collect()
}

/// One instance with the size of `count` instances.
fn several(spec: &InstanceSpec, count: i64) -> Instance {
    let times = |size: i64| size.saturating_mul(count);
    Instance::from(InstanceDetails {
        mem: Mib(times(spec.memory.0)),
        disk: Mib(times(spec.disk_size.0)),
        vcpus: times(spec.cpus),
        auto_balance: false,
        spindle_use: times(spec.spindle_use),
        ..InstanceDetails::blank(String::new(), DiskTemplate::Plain)
    })
}

/// More instances than any node can hold.
const MOST: i64 = 1 << 40;

/// Number of instances like `test` that fit on a node as primaries, one after the other. Each takes the same
/// amount of every resource, so several count as one instance of their total size.
fn room_for(node: &NodeSpec, ledger: &Ledger, test: &Instance) -> i64 {
    let spec = InstanceSpec {
        memory: test.mem,
        cpus: test.vcpus,
        disk_size: test.disk,
        disk_count: 1,
        nic_count: 0,
        spindle_use: test.spindle_use,
    };
    let fits = |count: i64| {
        let together = several(&spec, count);
        ledger.add_primary(node, &together, 0, TagArrival::default(), Strictness::Strict).is_ok()
    };
    let mut above = 1;
    while above < MOST && fits(above) {
        above *= 2;
    }
    // `fits(below)` holds or `below` is 0, and `fits(above)` does not hold.
    let mut below = above / 2;
    while below + 1 < above {
        let middle = below + (above - below) / 2;
        if fits(middle) { below = middle } else { above = middle }
    }
    below
}
