//! Pacemaker clusters with keys in attributes. Node attributes are keys of nodes. Instance attributes of resources are
//! keys if they have the names of Ganeti's key tags ([`htools_model::key_tags`]).

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use super::colocated::ties;
use super::fleet::{AffinityOptions, Fleet, FleetNode, Machine};
use super::ganeti::{levels_of, node_keys_of};
use super::keys::{KeyLevel, LevelKeys};
use super::units::{FleetUnit, reach, units};
use htools_model::Mib;
use htools_model::key_tags::{KeyRole, KeyTag, KeyTagFault, KeyTags, LARGEST};
use htools_model::known_tags::Bearer;
use htools_model::shown::shown_name;
use htools_pacemaker::capacity::Capacities;
use htools_pacemaker::cib::tag_name;
use htools_pacemaker::index::{AttributeIdx, HostIdx, ResourceIdx};
use htools_pacemaker::quantity::MeasuredCapacity;
use htools_pacemaker::working_set::{Host, WorkingSet};

/// Node attributes with a meaning to Pacemaker itself, besides those that begin with `#`.
const OWN: [&str; 5] = ["standby", "maintenance", "shutdown", "terminate", "probe_complete"];
/// Prefixes of attributes in which Pacemaker records the state of resources.
const NOTES: [&str; 3] = ["fail-count-", "last-failure-", "master-"];

/// A Pacemaker cluster as nodes and machines.
#[derive(Debug, Clone)]
pub struct PacemakerFleet {
    /// The fleet. Its nodes are the hosts of the cluster.
    pub fleet: Fleet,
    /// The utilization attribute that is memory, if there is one.
    pub memory: Option<String>,
    /// The utilization attribute that is processors, if there is one.
    pub processors: Option<String>,
    /// The attributes that should be keys but are invalid.
    pub faults: Vec<KeyAttributeFault>,
    /// For each machine, its primitives.
    members: Vec<Vec<ResourceIdx>>,
}

/// Object that has an attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AttributeBearer {
    /// The cluster: its options.
    Options,
    /// The node of this name.
    Node(String),
    /// The resource of this id.
    Resource(String),
}

/// An attribute that should be a key but is invalid. Its text form is a line without the end of the line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyAttributeFault {
    /// Object that has the attribute.
    pub bearer: AttributeBearer,
    /// Its name and value, separated by `=`.
    pub attribute: String,
    /// Fault of the key.
    pub fault: KeyTagFault,
}

impl fmt::Display for KeyAttributeFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "attribute {} of ", shown_name(&self.attribute))?;
        match &self.bearer {
            AttributeBearer::Options => f.write_str("the cluster")?,
            AttributeBearer::Node(name) => write!(f, "node {}", shown_name(name))?,
            AttributeBearer::Resource(id) => write!(f, "resource {}", shown_name(id))?,
        }
        write!(f, ": {}", self.fault)
    }
}

impl PacemakerFleet {
    /// For each resource, its host if the machines without one get these nodes. A machine that is not placed stays
    /// where it is.
    pub fn hosts(&self, set: &WorkingSet, nodes: &HashMap<usize, Option<usize>>) -> Vec<Option<HostIdx>> {
        let mut hosts: Vec<Option<HostIdx>> = set.resources.iter().map(|resource| resource.active).collect();
        for (machine, node) in nodes {
            for member in &self.members[*machine] {
                hosts[member.get()] = node.map(HostIdx::new);
            }
        }
        hosts
    }
}

/// A Pacemaker cluster as nodes and machines.
///
/// A machine is a primitive or a group that runs, or should run but does not; instances of clones count where they run.
/// A machine that must leave its node counts as having none. Machines that must not be moved are
/// [fixed](Machine::fixed).
pub fn fleet_of_set(set: &WorkingSet) -> PacemakerFleet {
    let [memory, processors] =
        [MeasuredCapacity::Memory, MeasuredCapacity::Vcpus].map(|measured| measured.attribute(set));
    let mut reader = KeyReader::of(set);
    let system = reader.cluster();
    let units = units(set);
    let size = |amounts: &[&Capacities]| {
        // Bounded, so that sums of absurd sizes do not overflow.
        let amount = |kind: Option<AttributeIdx>| {
            let sum = amounts
                .iter()
                .fold(0i64, |sum, one| sum.saturating_add(kind.map_or(0, |kind| one.get(kind).max(0))));
            sum.min(i64::from(u32::MAX))
        };
        (Mib(amount(memory)), amount(processors).unsigned_abs())
    };
    let mut fleet = Fleet { keys: system, options: AffinityOptions::default(), ..Fleet::default() };
    let mut members = Vec::new();
    for unit in &units {
        let needed: Vec<&Capacities> =
            unit.members.iter().map(|member| &set.resource(*member).utilization).collect();
        let (ram, vcpus) = size(&needed);
        fleet.machines.push(Machine {
            name: set.resource(unit.resource).id.clone(),
            ram,
            vcpus,
            node: unit.host.map(HostIdx::get),
            last_node: unit.home.filter(|_| unit.is_waiting()).map(HostIdx::get),
            keys: reader.own(unit),
            shared: reader.shared(unit),
            fixed: unit.fixed,
            ..Machine::default()
        });
        members.push(unit.members.clone());
    }
    reach(set, &units, &mut fleet);
    ties(set, &units, &mut fleet);
    // A resource that runs on several hosts counts on each of them.
    for (at, unit) in units.iter().enumerate() {
        for host in &unit.also_on {
            fleet.machines.push(Machine { node: Some(host.get()), ..fleet.machines[at].clone() });
        }
    }
    for charge in &set.charges {
        let (ram, vcpus) = size(&[&charge.utilization]);
        let (name, node) = (charge.resource.clone(), Some(charge.host.get()));
        fleet.machines.push(Machine { name, ram, vcpus, node, fixed: true, ..Machine::default() });
    }
    members.resize(fleet.machines.len(), Vec::new());
    let named = named(set, &fleet);
    let mut used = vec![Mib(0); set.hosts.len()];
    fleet
        .machines
        .iter()
        .for_each(|machine| machine.node.into_iter().for_each(|node| used[node] += machine.ram));
    for (host, used) in set.hosts.iter().zip(used) {
        let (ram_total, cpus) = size(&[&host.capacity]);
        fleet.nodes.push(FleetNode {
            name: host.name.clone(),
            running: host.state.available(),
            ram_total,
            ram_free: Mib((ram_total.0 - used.0).max(0)),
            ram_ratio: 1.0,
            cpus,
            cpu_ratio: 1.0,
            load: 0.0,
            keys: node_keys_of(reader.of_host(host, &named)),
        });
    }
    let name = |kind: Option<AttributeIdx>| kind.map(|kind| set.attributes[kind.get()].clone());
    let has_memory = fleet.nodes.iter().any(|node| node.ram_total > Mib(0));
    PacemakerFleet {
        memory: name(memory).filter(|_| has_memory),
        processors: name(processors),
        faults: reader.faults,
        members,
        fleet,
    }
}

/// The names of keys that machines have, or may have copies of.
fn named(set: &WorkingSet, fleet: &Fleet) -> HashSet<String> {
    let of_machines =
        fleet.machines.iter().flat_map(|machine| machine.keys.iter().chain(machine.shared.iter()));
    let keys = of_machines.flat_map(|machine| &machine.keys).chain(&fleet.keys);
    let sticky = |(name, value): &(String, String)| {
        let (_, key) = read(name, value, Bearer::Node)?;
        key.ok().filter(|key| key.role == KeyRole::Sticky).map(|key| key.name)
    };
    let copied = set.hosts.iter().flat_map(|host| &host.attributes).filter_map(sticky);
    keys.map(|key| key.name.clone()).chain(copied).collect()
}

/// Reads keys, and records invalid ones.
struct KeyReader<'a> {
    set: &'a WorkingSet,
    faults: Vec<KeyAttributeFault>,
    /// Texts of the recorded faults.
    noted: HashSet<String>,
    /// For each group, the keys that its machines share.
    groups: HashMap<Option<ResourceIdx>, Arc<[LevelKeys]>>,
    /// The customers' keys of the cluster.
    customer: Option<LevelKeys>,
}

impl KeyReader<'_> {
    fn of(set: &WorkingSet) -> KeyReader<'_> {
        let (faults, noted) = (Vec::new(), HashSet::new());
        KeyReader { set, faults, noted, groups: HashMap::new(), customer: None }
    }

    /// The operator's keys of the cluster.
    fn cluster(&mut self) -> Vec<super::AffinityKey> {
        let pairs = &self.set.key_attributes;
        let keys = keys_of(pairs, Bearer::Cluster);
        self.note(&AttributeBearer::Options, &keys);
        let [system, customer] = levels_of(keys, KeyLevel::Cluster);
        self.customer = Some(customer).filter(|level| !level.keys.is_empty());
        system.keys
    }

    /// The keys of a machine's primitives; those of a group's members are treated as one machine's.
    fn own(&mut self, unit: &FleetUnit) -> Vec<LevelKeys> {
        let pairs = unit.members.iter().flat_map(|member| &self.set.resource(*member).key_attributes);
        let keys = keys_of(pairs, Bearer::Instance);
        for (tag, fault) in &keys.faults {
            let has = |resource: &&ResourceIdx| {
                self.set
                    .resource(**resource)
                    .key_attributes
                    .iter()
                    .any(|(name, value)| format!("{name}={value}") == *tag)
            };
            let bearer = unit.members.iter().find(has).copied().unwrap_or(unit.resource);
            let bearer = AttributeBearer::Resource(self.set.common_name(bearer).to_owned());
            self.note_one(bearer, tag, *fault);
        }
        levels_of(keys, KeyLevel::Server).into_iter().filter(|level| !level.keys.is_empty()).collect()
    }

    /// The keys that a machine shares with others: the customers' keys of the cluster, and those of its group.
    fn shared(&mut self, unit: &FleetUnit) -> Arc<[LevelKeys]> {
        let details = self.set.resource(unit.resource);
        let group = details.is_group().then_some(unit.resource);
        if let Some(known) = self.groups.get(&group) {
            return Arc::clone(known);
        }
        let keys = keys_of(group.map(|_| &details.key_attributes).into_iter().flatten(), Bearer::Group);
        self.note(&AttributeBearer::Resource(self.set.common_name(unit.resource).to_owned()), &keys);
        let own = levels_of(keys, KeyLevel::Vdc).into_iter().filter(|level| !level.keys.is_empty());
        let shared: Arc<[LevelKeys]> = self.customer.iter().cloned().chain(own).collect();
        self.groups.insert(group, Arc::clone(&shared));
        shared
    }

    /// The keys of a host: numeric attributes with the name of some machine's key, and attributes with the names of key
    /// tags.
    fn of_host(&mut self, host: &Host, named: &HashSet<String>) -> KeyTags {
        let mut seen = HashSet::new();
        // Of two attributes with one name, the later one counts.
        let pairs = host.attributes.iter().rev().filter(|(name, _)| seen.insert(name.as_str()));
        let of_attribute = |(name, value): &(String, String)| {
            if let Some(told) = read(name, value, Bearer::Node) {
                return Some(told);
            }
            let is_own = OWN.contains(&name.as_str()) || NOTES.iter().any(|start| name.starts_with(start));
            if is_own || !named.contains(name) {
                return None;
            }
            let number: f64 = value.parse().ok()?;
            let key = if number.abs() <= LARGEST {
                // Adding 0 turns -0 into 0.
                Ok(KeyTag { role: KeyRole::Node, name: name.clone(), value: number + 0.0, weight: 0.0 })
            } else {
                Err(KeyTagFault::Number("value"))
            };
            Some((format!("{name}={value}"), key))
        };
        let mut all: Vec<_> = pairs.filter_map(of_attribute).collect();
        all.reverse();
        let keys = KeyTags::settled(all);
        self.note(&AttributeBearer::Node(host.name.clone()), &keys);
        keys
    }

    fn note(&mut self, bearer: &AttributeBearer, keys: &KeyTags) {
        keys.faults.iter().for_each(|(tag, fault)| self.note_one(bearer.clone(), tag, *fault));
    }

    /// Records a fault once, since instances of a clone share theirs.
    fn note_one(&mut self, bearer: AttributeBearer, attribute: &str, fault: KeyTagFault) {
        let fault = KeyAttributeFault { bearer, attribute: attribute.to_owned(), fault };
        if self.noted.insert(fault.to_string()) {
            self.faults.push(fault);
        }
    }
}

/// The key that an attribute sets, with its name and value; `None` if it is another attribute.
fn read(name: &str, value: &str, bearer: Bearer) -> Option<(String, Result<KeyTag, KeyTagFault>)> {
    let tag = format!("{}={value}", tag_name(name)?);
    Some((format!("{name}={value}"), KeyTag::read(&tag, bearer)?))
}

/// The keys that attributes set, read like tags.
fn keys_of<'a>(pairs: impl IntoIterator<Item = &'a (String, String)>, bearer: Bearer) -> KeyTags {
    KeyTags::settled(pairs.into_iter().filter_map(|(name, value)| read(name, value, bearer)))
}
