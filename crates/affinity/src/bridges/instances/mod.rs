//! A Pacemaker cluster as nodes and instances, for the tools that work on these. It is the counterpart of
//! [`ganeti`](super::ganeti).
//!
//! A running resource, or a group that runs as a whole, becomes an instance on shared storage (`ext`). Constraints that
//! the Ganeti model cannot express hold an instance on its node, or keep it off a node. Whatever moves of these
//! instances are made, in whatever order, they break no score of -INFINITY, no colocation and no capacity.

mod allowed;
mod holds;
mod nodes;

use std::collections::BTreeMap;

use self::allowed::AllowedHosts;
use self::nodes::Measures;
use htools_ganeti::load::raw::{RawCluster, RawInstance};
use htools_model::words;
use htools_model::{DiskTemplate, InstanceIdx, Mib, NodeIdx, RunStatus};
use htools_pacemaker::capacity::Capacities;
use htools_pacemaker::index::{HostIdx, ResourceIdx};
use htools_pacemaker::working_set::WorkingSet;

words!(
    /// Reason that a resource stays on its node.
    pub HoldReason, "reason" {
        /// The reader of documents does not support it.
        Unsupported = "unsupported",
        /// It is an instance of a clone.
        Clone = "in a clone",
        /// It runs on a guest node or a remote node, or belongs to a bundle.
        Inside = "on a guest or remote node, or in a bundle",
        /// The cluster must not move it, or any resource.
        NotManaged = "not managed",
        /// It is to be stopped.
        Stopping = "to be stopped",
        /// Its node cannot run resources, so the cluster moves it by itself.
        Leaving = "on a node that is not available",
        /// It belongs to a group that does not run whole on one node.
        Partly = "in a group that does not run as a whole",
        /// It runs on several nodes but should not.
        Several = "on several nodes",
        /// It has a negative need of some capacity.
        Negative = "with less than nothing of a capacity",
        /// It needs no capacity, so its node does not matter.
        Weightless = "without need of capacity",
        /// Its stickiness is INFINITY.
        Sticky = "with INFINITY stickiness",
        /// It has a mandatory colocation with another resource.
        Together = "in a colocation that must hold",
        /// It should be with an instance in one role, and would take the role along.
        Role = "with a role of a clone",
        /// It must avoid nodes that share an attribute with another resource's node.
        ByAttribute = "kept apart by an attribute of nodes",
        /// It cannot be live-migrated, or a move would restart dependent resources.
        Restart = "only to be moved by a restart (--allow-restarts)",
        /// No other node is allowed, or has the capacity.
        NoOther = "without another node",
    }
);

/// A resource that becomes an instance: a running one, or a group whose members all run on the same host.
#[derive(Debug, Clone)]
pub struct MovableUnit {
    /// The primitive or the group.
    pub resource: ResourceIdx,
    /// The running primitives.
    pub members: Vec<ResourceIdx>,
    /// The host where they run.
    pub host: HostIdx,
    /// Reason that it stays there, if it does.
    pub hold: Option<HoldReason>,
}

/// A Pacemaker cluster as nodes and instances.
#[derive(Debug, Clone)]
pub struct ResourcesAsInstances {
    /// The cluster, in the form of Ganeti's sources. Nodes are in the order of the hosts.
    pub raw: RawCluster,
    /// For each instance, its resource.
    pub units: Vec<MovableUnit>,
    /// Number of running resources.
    pub running: usize,
    /// Number of held resources by reason.
    pub held: BTreeMap<HoldReason, usize>,
    /// Kinds of capacity that nodes and instances do not have; they are respected but not balanced.
    pub unmeasured: Vec<String>,
}

/// Resources that may be moved besides those that live-migrate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MovableResources {
    /// Also resources that a move would restart, or that others are restarted with.
    pub restarts: bool,
    /// Also resources that need no capacity, and fence devices.
    pub weightless: bool,
}

/// The running resources of a cluster as instances.
pub fn resources_as_instances(set: &WorkingSet, movable: MovableResources) -> ResourcesAsInstances {
    let measures = Measures::of(set);
    let (mut units, mut held) = units(set);
    holds::hold(set, movable, &mut units);
    let allowed = AllowedHosts::of(set, &measures, &mut units);
    let running = held.values().sum::<usize>() + units.iter().map(|unit| unit.members.len()).sum::<usize>();
    for unit in &units {
        if let Some(reason) = unit.hold {
            *held.entry(reason).or_default() += unit.members.len();
        }
    }
    let mut extra: Vec<Capacities> = vec![Capacities::default(); set.hosts.len()];
    let instances = units.iter().enumerate().map(|(at, unit)| {
        let needed = needed(set, &unit.members);
        // A negative need is not charged to the instance but added to the host.
        let mut given = Capacities::default();
        needed.iter().filter(|(_, amount)| *amount < 0).for_each(|(kind, amount)| given.set(kind, amount));
        extra[unit.host.get()].add(&given);
        instance(set, unit, &measures, &needed, allowed.apart(at))
    });
    let instances: Vec<RawInstance> = instances.collect();
    charge_clones(set, &mut extra);
    charge_implied(set, &mut extra);
    for resource in &set.resources {
        resource
            .also_on
            .iter()
            .filter(|_| resource.instance_of.is_none())
            .for_each(|host| extra[host.get()].add(&resource.utilization));
    }
    let raw = RawCluster {
        kept_out: allowed.kept_out().map(|(at, host)| (InstanceIdx::new(at), node(host))).collect(),
        instances,
        ..nodes::raw(set, &measures, &units, &extra)
    };
    let unmeasured = measures.unmeasured(set).map(|kind| set.attributes[kind.get()].clone()).collect();
    ResourcesAsInstances { raw, units, running, held, unmeasured }
}

/// The node of a host.
fn node(host: HostIdx) -> NodeIdx {
    NodeIdx::new(host.get())
}

/// Needs of several primitives together.
fn needed(set: &WorkingSet, members: &[ResourceIdx]) -> Capacities {
    let mut needed = Capacities::default();
    members.iter().for_each(|member| needed.add(&set.resource(*member).utilization));
    needed
}

/// The running resources that are not clones, and the number of other running resources by the reason that holds them.
fn units(set: &WorkingSet) -> (Vec<MovableUnit>, BTreeMap<HoldReason, usize>) {
    let (mut units, mut others) = (Vec::new(), BTreeMap::new());
    if !set.charges.is_empty() {
        others.insert(HoldReason::Unsupported, set.charges.len());
    }
    for resource in set.top_level() {
        let details = set.resource(resource);
        let all = set.primitives(&resource);
        let running = |member: &&ResourceIdx| set.resource(**member).active.is_some();
        let members: Vec<ResourceIdx> = all.iter().filter(running).copied().collect();
        if members.is_empty() || details.unsupported {
            continue;
        }
        // It needs nothing, and is about to be removed.
        if details.surplus && set.is_managed(resource) {
            *others.entry(HoldReason::Stopping).or_default() += members.len();
            continue;
        }
        let is_inside = |member: &ResourceIdx| {
            set.resource(*member).active.is_some_and(|host| set.host(host).guest.is_some())
        };
        if set.is_implied(resource) || !details.is_clone() && members.iter().any(is_inside) {
            // The connection to a guest node goes with its VM.
            if details.in_bundle || !set.is_implied(resource) {
                *others.entry(HoldReason::Inside).or_default() += members.len();
            }
            continue;
        }
        if details.is_clone() {
            *others.entry(HoldReason::Clone).or_default() += members.len();
            continue;
        }
        let hosts: Vec<HostIdx> = members.iter().filter_map(|member| set.resource(*member).active).collect();
        if members.len() == all.len() && hosts.iter().all(|host| *host == hosts[0]) {
            units.push(MovableUnit { resource, members, host: hosts[0], hold: None });
            continue;
        }
        units.extend(members.into_iter().zip(hosts).map(|(member, host)| MovableUnit {
            resource: member,
            members: vec![member],
            host,
            hold: Some(HoldReason::Partly),
        }));
    }
    (units, others)
}

/// Subtracts the needs of clone instances from the hosts where they run.
fn charge_clones(set: &WorkingSet, extra: &mut [Capacities]) {
    for clone in set.clones() {
        for member in set.primitives(&clone).iter() {
            let details = set.resource(*member);
            for host in details.active_hosts() {
                extra[host.get()].add(&details.utilization);
            }
        }
    }
}

/// Subtracts the needs of connections to guest nodes, and of the parts of bundles besides containers.
fn charge_implied(set: &WorkingSet, extra: &mut [Capacities]) {
    let is_apart = |one: &ResourceIdx| set.is_implied(*one) && set.clone_of(*one).is_none();
    for details in set.resource_indices().filter(is_apart).map(|one| set.resource(one)) {
        details.active.iter().for_each(|host| extra[host.get()].add(&details.utilization));
    }
}

fn instance(
    set: &WorkingSet,
    unit: &MovableUnit,
    measures: &Measures,
    needed: &Capacities,
    tags: Vec<String>,
) -> RawInstance {
    RawInstance {
        name: set.resource(unit.resource).id.clone(),
        mem: Mib(measures.memory(needed).max(0)),
        disk: Mib(measures.disk(needed).max(0)),
        disks: Vec::new(),
        vcpus: measures.vcpus(needed).max(0),
        status: RunStatus::Running,
        auto_balance: unit.hold.is_none(),
        primary: node(unit.host),
        secondary: None,
        template: DiskTemplate::Ext,
        spindle_use: 0,
        tags,
        networks: Vec::new(),
        forthcoming: false,
    }
}
