//! Pipeline from raw data to a cluster, shared by all sources.
//!
//! The order is Ganeti's, and it matters:
//!
//! 1. utilisation and tags;
//! 2. every instance is attached to its nodes;
//! 3. reserves are summed;
//! 4. values that need everything else: unaccounted memory, N+1.

use std::collections::{HashMap, HashSet};

use super::iallocator::Description;
use super::lookup::{find_partial, hint};
use super::names::common_domain;
use super::raw::{RawCluster, RawGroup, RawInstance, RawNode};
use super::tag_rules::TagRules;
use crate::input::error::{LoadError, Result};
use htools_model::storage::named_pools;
use htools_model::units::{floor_to_i64, trunc_to_i64};
use htools_model::{
    CarriedKeys, Cluster, Disk, Draft, Group, GroupIdx, GroupOffers, GroupReserves, Hypervisor, Immobile,
    Instance, InstanceDetails, InstanceIdx, JointReserve, KeptRoom, Ledger, Mib, Node, NodeIdx, NodeSpec,
    NodeState, Occurrences, Outage, RoomRequest, TagArrival, TagSet, TagTable, UseLimits, Utilisation,
    Weights,
};

/// Options of the command line that affect the merge.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MergeOptions {
    /// `--exclusion-tags`.
    pub exclusion_tags: Vec<String>,
    /// `--select-instances`; empty means all.
    pub select_instances: Vec<String>,
    /// `--exclude-instances`.
    pub exclude_instances: Vec<String>,
    /// Lines of the `-U` file, or measured load: full name of an instance, and its utilisation.
    pub utilisation: Vec<(String, Utilisation)>,
    /// CPUs that a processor load of 1 keeps busy; none stands for 1.
    pub load_cpus: Option<f64>,
    /// `--ignore-dynu`: ignore utilisation.
    pub ignore_dynu: bool,
    /// `--weights`.
    pub weights: Weights,
}

/// Turns raw data into a cluster in which every instance is on its nodes. [`finish`] must follow, after load data from
/// monitoring daemons has been applied.
///
/// # Errors
/// If a name in `--select-instances` or `--exclude-instances` matches no instance.
pub fn merge(raw: RawCluster, options: &MergeOptions) -> Result<Cluster> {
    let rules = TagRules::new(&raw.tags, &options.exclusion_tags);
    let names = || raw.instances.iter().map(|i| i.name.as_str());
    let selection = Selection::new(&names().collect::<Vec<_>>(), options)?;
    let suffix = common_domain(raw.nodes.iter().map(|n| n.name.as_str()).chain(names())).to_owned();
    let utilisation = utilisation_by_instance(&raw.instances, options);

    let mut table = TagTable::default();
    let mut groups: Vec<Group> = raw.groups.into_iter().enumerate().map(|(at, g)| group(at, g)).collect();
    let nodes: Vec<Node> = raw
        .nodes
        .into_iter()
        .enumerate()
        .map(|(at, n)| node(NodeIdx::new(at), n, &groups, &rules, suffix.len(), &mut table))
        .map(|mut node| {
            node.spec.cpu_load_full /= options.load_cpus.unwrap_or(1.0);
            node
        })
        .collect();
    nodes.iter().for_each(|node| groups[node.spec.group.get()].nodes.push(node.spec.idx));
    let mut instances: Vec<Instance> = Vec::with_capacity(raw.instances.len());
    for (at, (raw_instance, util)) in raw.instances.into_iter().zip(utilisation).enumerate() {
        let mut new = instance(InstanceIdx::new(at), raw_instance, util, &rules, suffix.len(), &mut table);
        new.location_score = new.secondary.map_or(0, |s| {
            nodes[new.primary.get()].spec.location_tags.common(&nodes[s.get()].spec.location_tags)
        });
        instances.push(new);
    }
    let mut cluster = Cluster {
        name: raw.name,
        groups,
        nodes,
        instances,
        tags: raw.tags,
        policy: raw.policy,
        tag_table: table,
        common_suffix: suffix,
        first_node_number: raw.first_node_number,
        weights: options.weights,
        group_reserves: GroupReserves::default(),
        kept_room: KeptRoom::default(),
        doubts: raw.doubts,
    };
    cluster.enter_pools();
    mark_immobile(&mut cluster, &selection);
    cluster.keep_out(&raw.kept_out);
    attach_instances(&mut cluster);
    Ok(cluster)
}

/// Instances selected on the command line, by full name. A name stands for all instances that have it.
struct Selection {
    selected: Option<HashSet<String>>,
    excluded: HashSet<String>,
}

impl Selection {
    fn new(names: &[&str], options: &MergeOptions) -> Result<Selection> {
        let mut unknown = Vec::new();
        let mut meant = String::new();
        let mut resolve = |keys: &[String]| {
            let mut found = HashSet::with_capacity(keys.len());
            for key in keys {
                match find_partial(key, names.iter().copied()) {
                    Some(at) => drop(found.insert(names[at].to_owned())),
                    None => {
                        if unknown.is_empty() {
                            meant = hint(key, names.iter().copied());
                        }
                        unknown.push(format!("{key:?}"));
                    }
                }
            }
            found
        };
        let selected = resolve(&options.select_instances);
        let excluded = resolve(&options.exclude_instances);
        if !unknown.is_empty() {
            let problem = format!("[{}]{meant}", unknown.join(","));
            return Err(LoadError::new("Unknown instance(s)", problem));
        }
        Ok(Selection { selected: (!options.select_instances.is_empty()).then_some(selected), excluded })
    }

    fn reason(&self, name: &str) -> Option<Immobile> {
        if self.excluded.contains(name) {
            return Some(Immobile::Excluded);
        }
        let selected = self.selected.as_ref().is_none_or(|s| s.contains(name));
        (!selected).then_some(Immobile::NotSelected)
    }
}

/// Utilisation of each instance: the last line of the file with exactly its name, unless several instances share the
/// name.
fn utilisation_by_instance(instances: &[RawInstance], options: &MergeOptions) -> Vec<Utilisation> {
    if options.ignore_dynu {
        return vec![Utilisation::ZERO; instances.len()];
    }
    let mut result = vec![Utilisation::default(); instances.len()];
    if options.utilisation.is_empty() {
        return result;
    }
    let mut by_name: HashMap<&str, Option<usize>> = HashMap::with_capacity(instances.len());
    for (at, instance) in instances.iter().enumerate() {
        by_name.entry(&instance.name).and_modify(|e| *e = None).or_insert(Some(at));
    }
    for (name, util) in &options.utilisation {
        if let Some(Some(at)) = by_name.get(name.as_str()) {
            result[*at] = *util;
        }
    }
    result
}

fn group(at: usize, raw: RawGroup) -> Group {
    Group {
        idx: GroupIdx::new(at),
        name: raw.name,
        uuid: raw.uuid,
        alloc_policy: raw.alloc_policy,
        networks: raw.networks,
        policy: raw.policy,
        disk_parameters: raw.disk_parameters,
        tags: raw.tags,
        nodes: Vec::new(),
        offers: GroupOffers::default(),
    }
}

fn node(
    idx: NodeIdx,
    raw: RawNode,
    groups: &[Group],
    rules: &TagRules,
    suffix_len: usize,
    table: &mut TagTable,
) -> Node {
    let policy = &groups[raw.group.get()].policy;
    let (migration_tags, receivable_tags) = rules.migrations(&raw.tags, table);
    let spec = NodeSpec {
        idx,
        alias_len: raw.name.len() - suffix_len,
        name: raw.name,
        mem_total: raw.mem_total,
        mem_node: raw.mem_node,
        mem_free: raw.mem_free,
        mem_unaccounted: Mib::ZERO,
        disk_total: raw.disk_total,
        disk_low: Mib::ZERO,
        joint_losses: 1,
        limits: UseLimits::default(),
        cpu_total: raw.cpu_total,
        cpu_load_full: raw.cpu_total,
        cpu_node: raw.cpu_node,
        cpu_speed: raw.cpu_speed,
        vcpu_ratio: policy.vcpu_ratio,
        spindle_total: raw.spindle_total,
        spindle_limit: policy.spindle_ratio * raw.spindle_total as f64,
        exclusive_storage: raw.exclusive_storage,
        offline: raw.offline,
        outage: raw.outage,
        closed: false,
        master: raw.master,
        group: raw.group,
        location_tags: rules.locations(&raw.tags, table),
        tags: raw.tags,
        hypervisor: raw.hypervisor,
        migration_tags,
        receivable_tags,
        offers: TagSet::default(),
        derived_pools: Vec::new(),
    };
    let ledger = Ledger {
        mem_instances: Mib::ZERO,
        mem_reserved: Mib::ZERO,
        joint: JointReserve::default(),
        n1_fail: false,
        mem_free_planned: raw.mem_free,
        disk_free: raw.disk_free,
        disk_free_planned: raw.disk_free,
        vcpus: raw.cpu_node,
        vcpus_planned: raw.cpu_node,
        spindles_used: 0.0,
        spindles_used_planned: 0.0,
        spindles_free: raw.spindle_free,
        spindles_free_planned: raw.spindle_free,
        load: Utilisation::ZERO,
        tag_conflicts: 0,
        location_sum: 0,
        key_cost: 0,
        primaries: 0,
        secondaries: 0,
    };
    let state = NodeState {
        ledger,
        primaries: Vec::new(),
        secondaries: Vec::new(),
        planned: Vec::new(),
        peers: Default::default(),
        tag_count: Occurrences::default(),
        key_count: Occurrences::default(),
    };
    Node { spec, state }
}

fn instance(
    idx: InstanceIdx,
    raw: RawInstance,
    util: Utilisation,
    rules: &TagRules,
    suffix_len: usize,
    table: &mut TagTable,
) -> Instance {
    let desired_locations: TagSet = rules.desired_locations(&raw.tags, table);
    let details = InstanceDetails {
        alias_len: raw.name.len() - suffix_len,
        name: raw.name,
        mem: raw.mem,
        disk: raw.disk,
        spindles: spindle_total(&raw.disks),
        disks: raw.disks.into(),
        vcpus: raw.vcpus,
        status: raw.status,
        auto_balance: raw.auto_balance,
        template: raw.template,
        spindle_use: raw.spindle_use,
        exclusion_tags: rules.exclusion_tags(&raw.tags, table),
        desired_locations,
        keys: CarriedKeys::default(),
        tags: raw.tags.into(),
        needs: TagSet::default(),
        open: None,
        networks: raw.networks.into_iter().flatten().collect(),
        forthcoming: raw.forthcoming,
        util,
    };
    Instance { idx, primary: raw.primary, secondary: raw.secondary, ..Instance::from(details) }
}

/// The new instance of a request, with the cluster's tag rules applied to its tags. It has no placement yet: its nodes
/// are placeholders.
pub fn new_instance(draft: &mut Draft, description: Description) -> Instance {
    let raw = description.placed_on(NodeIdx::new(0), None);
    let tags = draft.tags.clone();
    let rules = TagRules::new(&tags, &[]);
    let idx = InstanceIdx::new(draft.instances.len());
    let names_pools = draft.has_pools();
    let mut new = instance(idx, raw, Utilisation::default(), &rules, 0, draft.tag_table());
    if names_pools {
        let pools = named_pools(new.template, &new.tags, draft.tag_table());
        new.details_mut().needs = pools;
    }
    new
}

/// Total spindles of all disks; `None` if any is unknown.
fn spindle_total(disks: &[Disk]) -> Option<i64> {
    disks.iter().try_fold(0i64, |sum, disk| Some(sum.wrapping_add(disk.spindles?)))
}

fn mark_immobile(cluster: &mut Cluster, selection: &Selection) {
    let split: Vec<bool> = cluster.instances.iter().map(|i| cluster.is_split(i)).collect();
    for (at, instance) in cluster.instances.iter_mut().enumerate() {
        let own_mirror = instance.secondary.is_none_or(|s| s == instance.primary);
        let without_mirror = instance.template.has_secondary() && own_mirror;
        instance.immobile = if let Some(reason) = selection.reason(&instance.name) {
            Some(reason)
        } else if !instance.template.is_movable() {
            Some(Immobile::Template)
        } else if split[at] {
            Some(Immobile::Split)
        } else {
            without_mirror.then_some(Immobile::NoSecondary)
        };
    }
}

/// Attaches every instance to its nodes, in order, primary before secondary.
fn attach_instances(cluster: &mut Cluster) {
    let Cluster { nodes, instances, .. } = cluster;
    for instance in instances.iter() {
        let Node { spec, state } = &mut nodes[instance.primary.get()];
        let arrival = TagArrival::of(state, instance);
        state.ledger.attach_primary(spec, instance, arrival);
        state.tag_count.add_tags(&instance.exclusion_tags, 1);
        if instance.forthcoming {
            state.planned.push(instance.idx)
        } else {
            state.primaries.push(instance.idx)
        }
        if let Some(secondary) = instance.secondary {
            let Node { spec, state } = &mut nodes[secondary.get()];
            state.ledger.attach_secondary(spec, instance);
            if instance.forthcoming {
                state.planned.push(instance.idx);
            } else {
                state.secondaries.push(instance.idx);
                let held = state.peers.get(instance.primary);
                state.peers.set(instance.primary, held + instance.mem_reserved());
            }
        }
    }
    for node in nodes {
        node.state.ledger.mem_reserved = node.state.peers.max();
    }
}

/// A node whose reported figures do not add up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inconsistency {
    /// Full name of the node.
    pub node: String,
    /// Memory that is unaccounted for.
    pub mem: Mib,
    /// Disk that is unaccounted for.
    pub disk: Mib,
}

/// Unaccounted memory up to which a node is not reported.
const TOLERATED_MEM: Mib = Mib(512);
/// Unaccounted disk up to which a node is not reported.
const TOLERATED_DISK: Mib = Mib(1024);

/// Completes a merged cluster: static memory of KVM nodes, memory in use and unaccounted, and N+1 flags. Returns the
/// nodes whose figures do not add up, in the order in which they are reported (last node first).
pub fn finish(cluster: &mut Cluster, static_kvm_node_memory: Mib) -> Vec<Inconsistency> {
    let mut missing = Vec::new();
    let Cluster { nodes, instances, .. } = cluster;
    for Node { spec, state } in nodes.iter_mut() {
        if static_kvm_node_memory > Mib::ZERO && spec.hypervisor == Some(Hypervisor::Kvm) {
            spec.mem_node = static_kvm_node_memory;
        }
        let instance_at = |idx: &InstanceIdx| &instances[idx.get()];
        state.ledger.mem_instances = state.primaries.iter().map(|i| instance_at(i).mem_in_use()).sum();
        spec.mem_unaccounted =
            Mib(trunc_to_i64(spec.mem_total)) - spec.mem_node - state.ledger.mem_instances - spec.mem_free;
        state.ledger.update_n1(spec);

        let on_node = state.primaries.iter().chain(&state.secondaries);
        let disk = Mib(trunc_to_i64(spec.disk_total))
            - state.ledger.disk_free
            - on_node.map(|i| instance_at(i).disk).sum::<Mib>();
        if spec.mem_unaccounted > TOLERATED_MEM || disk > TOLERATED_DISK {
            missing.push(Inconsistency { node: spec.name.clone(), mem: spec.mem_unaccounted, disk });
        }
    }
    missing.reverse();
    missing
}

/// Settings of the command line for nodes and tags: `-O`, `--max-cpu`, `--min-disk`, `--keep-reserve`, `--keep-room`,
/// `--no-target`, `--exclude-tag`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NodeOptions {
    /// Nodes to treat as offline, by name or unique beginning.
    pub offline: Vec<String>,
    /// Maximum virtual CPUs per physical CPU, replacing the policies' ratios.
    pub max_cpu: Option<f64>,
    /// Share of each node's disk that strict placement keeps free.
    pub min_disk: f64,
    /// Number of nodes whose loss at once strict placement keeps memory for, if more than one.
    pub keep_reserve: Option<usize>,
    /// Room for further instances that placement keeps.
    pub keep_room: Option<RoomRequest>,
    /// Nodes that take nothing more, by name or unique beginning.
    pub closed: Vec<String>,
    /// Tags of instances that do not move, and of nodes that take nothing more.
    pub excluded_tags: Vec<String>,
}

/// Names of nodes that match none, last one first.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("wrong node name(s) set as {state}: {}{hint}", .names.join(","))]
pub struct UnknownNodes {
    /// What the nodes should be.
    state: &'static str,
    /// Names as typed.
    pub names: Vec<String>,
    /// Similar names for the first unknown name, in the order typed.
    hint: String,
}

/// Applies the node settings of the command line.
///
/// # Errors
/// If a name matches no node.
pub fn apply_node_options(
    cluster: &mut Cluster,
    options: &NodeOptions,
) -> std::result::Result<(), UnknownNodes> {
    let offline = nodes_named(cluster, &options.offline, "offline")?;
    apply_exclusions(cluster, options)?;
    for Node { spec, .. } in &mut cluster.nodes {
        if offline.contains(&spec.name) {
            (spec.offline, spec.outage) = (true, Outage::Marked);
        }
        if let Some(ratio) = options.max_cpu {
            spec.vcpu_ratio = ratio;
        }
        spec.disk_low = Mib(floor_to_i64(options.min_disk * spec.disk_total));
    }
    cluster.keep_reserve(options.keep_reserve);
    let wanted = options.keep_room.map(|request| request.on(cluster));
    cluster.keep_room(wanted);
    Ok(())
}

/// Applies `--no-target` and `--exclude-tag` only.
///
/// # Errors
/// If a name matches no node.
pub fn apply_exclusions(
    cluster: &mut Cluster,
    options: &NodeOptions,
) -> std::result::Result<(), UnknownNodes> {
    let closed = nodes_named(cluster, &options.closed, "no target")?;
    let is_excluded = |tags: &[String]| tags.iter().any(|tag| options.excluded_tags.contains(tag));
    for Node { spec, .. } in &mut cluster.nodes {
        spec.closed = closed.contains(&spec.name) || is_excluded(&spec.tags);
    }
    for instance in &mut cluster.instances {
        if is_excluded(&instance.tags) {
            instance.immobile = instance.immobile.or(Some(Immobile::Tagged));
        }
    }
    Ok(())
}

/// Full names of the nodes that are meant.
fn nodes_named(
    cluster: &Cluster,
    keys: &[String],
    state: &'static str,
) -> std::result::Result<HashSet<String>, UnknownNodes> {
    let find = |key: &str| find_partial(key, cluster.nodes.iter().map(|n| n.spec.name.as_str()));
    let found: Vec<Option<usize>> = keys.iter().map(|key| find(key)).collect();
    if found.contains(&None) {
        let unknown = keys.iter().zip(found).filter(|(_, f)| f.is_none());
        let names: Vec<String> = unknown.map(|(key, _)| key.clone()).rev().collect();
        let first = names.last().map_or("", String::as_str);
        let hint = hint(first, cluster.nodes.iter().map(|n| n.spec.name.as_str()));
        return Err(UnknownNodes { state, names, hint });
    }
    Ok(found.into_iter().flatten().map(|at| cluster.nodes[at].spec.name.clone()).collect())
}
