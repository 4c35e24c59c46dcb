//! A Pacemaker cluster as nodes and instances, for the tools that know these: the mirror of [`ganeti`](super::ganeti).
//!
//! A resource that runs, or a group that runs whole, is an instance on shared storage (`ext`); what the nodes and
//! instances of Ganeti cannot say keeps an instance where it is, or away from a node. Whatever moves those instances
//! are given, in whatever order, no score of -INFINITY, no colocation and no capacity is broken.

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
    /// Why a resource stays where it runs.
    pub HoldReason, "reason" {
        /// It is beyond the reader of documents.
        Unsupported = "unsupported",
        /// It is an instance of a clone.
        Clone = "in a clone",
        /// The cluster may not move it, or nothing at all.
        NotManaged = "not managed",
        /// It is to be stopped.
        Stopping = "to be stopped",
        /// Its node cannot run resources: the cluster moves it by itself.
        Leaving = "on a node that is not available",
        /// It belongs to a group that does not run whole on one node.
        Partly = "in a group that does not run as a whole",
        /// It runs on several nodes, and should not.
        Several = "on several nodes",
        /// It needs less than nothing of a capacity.
        Negative = "with less than nothing of a capacity",
        /// It needs nothing, so that it makes no difference where it is.
        Weightless = "without need of capacity",
        /// It wants to stay more than anything.
        Sticky = "with INFINITY stickiness",
        /// It must be with another one, or another one with it.
        Together = "in a colocation that must hold",
        /// It must not be on nodes of which an attribute is the same as for another one.
        ByAttribute = "kept apart by an attribute of nodes",
        /// It cannot move while it runs, or something that needs it would be restarted.
        Restart = "only to be moved by a restart (--allow-restarts)",
        /// Nowhere else may it be, or has what it needs.
        NoOther = "without another node",
    }
);

/// A resource that is an instance: one that runs, or a group of which all members run on one host.
#[derive(Debug, Clone)]
pub struct MovableUnit {
    /// The primitive or the group.
    pub resource: ResourceIdx,
    /// The primitives that run.
    pub members: Vec<ResourceIdx>,
    /// Where they do.
    pub host: HostIdx,
    /// Why it stays there, if it does.
    pub hold: Option<HoldReason>,
}

/// A Pacemaker cluster as nodes and instances.
#[derive(Debug, Clone)]
pub struct ResourcesAsInstances {
    /// The cluster, as from a source of Ganeti's. Nodes are in the order of the hosts.
    pub raw: RawCluster,
    /// By instance, the resource that it is.
    pub units: Vec<MovableUnit>,
    /// How many resources run.
    pub running: usize,
    /// How many of them stay where they are, by the reason.
    pub held: BTreeMap<HoldReason, usize>,
    /// The kinds of capacity that nodes and instances do not have; they are respected, but not balanced.
    pub unmeasured: Vec<String>,
}

/// Which resources may be moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MovableResources {
    /// Those that cannot migrate, or that others are restarted with, too.
    pub restarts: bool,
    /// Those that need no capacity, and what fences nodes, too.
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
        // what is less than nothing is not taken, but given
        let mut given = Capacities::default();
        needed.iter().filter(|(_, amount)| *amount < 0).for_each(|(kind, amount)| given.set(kind, amount));
        extra[unit.host.get()].add(&given);
        instance(set, unit, &measures, &needed, allowed.apart(at))
    });
    let instances: Vec<RawInstance> = instances.collect();
    charge_clones(set, &mut extra);
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

/// The node that a host is.
fn node(host: HostIdx) -> NodeIdx {
    NodeIdx::new(host.get())
}

/// What some primitives need together.
fn needed(set: &WorkingSet, members: &[ResourceIdx]) -> Capacities {
    let mut needed = Capacities::default();
    members.iter().for_each(|member| needed.add(&set.resource(*member).utilization));
    needed
}

/// The resources that run and are no clones, and how many others there are that stay where they are.
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
        // it needs nothing, and is about to be gone
        if details.surplus && set.is_managed(resource) {
            *others.entry(HoldReason::Stopping).or_default() += members.len();
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

/// Takes what clones need where their instances run.
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
