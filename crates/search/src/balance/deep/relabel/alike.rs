//! Nodes and instances that are alike.

use std::collections::HashMap;
use std::hash::Hash;

use super::super::arrangement::Arrangement;
use super::super::terrain::Terrain;
use htools_model::{Disk, DiskTemplate, ExclusionTags, Ledger, NodeSpec, TagSet};

/// Nodes and instances of a search by kind.
pub(super) struct AlikeGroups {
    /// The online slots with others like them, in groups. They may exchange all that they hold.
    pub nodes: Vec<Vec<u32>>,
    /// For each mobile, its kind. Mobiles of a kind may exchange their seats.
    pub kind: Vec<u32>,
    /// For each mobile, its kind as a secondary. Such mobiles may exchange their secondary nodes.
    pub mirror_kind: Vec<u32>,
}

/// The properties that tell mobiles apart in both roles.
#[derive(PartialEq, Eq, Hash)]
struct AmountsInBothRoles<'c> {
    need: i64,
    disk: i64,
    disks: &'c [Disk],
    spindles: Option<i64>,
    spindle_use: i64,
    exists: bool,
    mirrored: bool,
    template: DiskTemplate,
    needs: &'c TagSet,
}

/// The properties that tell mobiles apart as primaries only.
#[derive(PartialEq, Eq, Hash)]
struct PrimaryKey<'c> {
    lanes: u32,
    mem: i64,
    vcpus: i64,
    tags: &'c ExclusionTags,
    /// The mobile itself if it carries affinity keys: no other is like it.
    keyed: Option<u32>,
}

impl AlikeGroups {
    pub(super) fn of(home: &Arrangement<'_>) -> AlikeGroups {
        let terrain = home.terrain;
        let mobiles = 0..terrain.mobiles.len() as u32;
        let has_exclusive = terrain.online.iter().any(|slot| terrain.spec(*slot).exclusive_storage);
        let kind = numbered(mobiles.clone().map(|mobile| (size(terrain, mobile), primary(terrain, mobile))));
        let mirror_kind = numbered(mobiles.map(|mobile| {
            let slot = terrain.online.first().copied().unwrap_or(0);
            let lanes: Vec<u64> = terrain.amounts(mobile, slot, true).iter().map(|x| x.to_bits()).collect();
            // Amounts differ by the storage of the node, so only those of a kind are surely alike.
            (size(terrain, mobile), lanes, has_exclusive.then(|| kind[mobile as usize]))
        }));
        AlikeGroups { nodes: alike_nodes(home), kind, mirror_kind }
    }
}

fn size<'c>(terrain: &Terrain<'c>, mobile: u32) -> AmountsInBothRoles<'c> {
    let (details, instance) = (&terrain.mobiles[mobile as usize], terrain.instance(mobile));
    AmountsInBothRoles {
        need: details.need,
        disk: details.disk,
        disks: &instance.disks,
        spindles: instance.spindles,
        spindle_use: instance.spindle_use,
        exists: !instance.forthcoming,
        mirrored: details.mirrored,
        template: instance.template,
        needs: &instance.needs,
    }
}

fn primary<'c>(terrain: &Terrain<'c>, mobile: u32) -> PrimaryKey<'c> {
    let (details, instance) = (&terrain.mobiles[mobile as usize], terrain.instance(mobile));
    PrimaryKey {
        lanes: terrain.kinds[mobile as usize],
        mem: details.mem,
        vcpus: instance.vcpus,
        tags: &instance.exclusion_tags,
        keyed: (!instance.keys.is_empty()).then_some(mobile),
    }
}

/// Numbers equal items alike, in the order of their first appearance.
fn numbered<K: Eq + Hash>(items: impl Iterator<Item = K>) -> Vec<u32> {
    let mut known: HashMap<K, u32> = HashMap::new();
    items
        .map(|item| {
            let next = known.len() as u32;
            *known.entry(item).or_insert(next)
        })
        .collect()
}

/// The online slots whose nodes are alike and hold nothing but mobiles, in groups of two and more.
fn alike_nodes(home: &Arrangement<'_>) -> Vec<Vec<u32>> {
    let terrain = home.terrain;
    let (mut ledgers, mut tags, mut seats) = (home.ledgers.clone(), home.tags.clone(), home.seats.clone());
    let mut lodgers = vec![0; terrain.nodes.len()];
    for (mobile, details) in (0..).zip(&terrain.mobiles) {
        ledgers.lift(terrain, mobile, &mut seats, &mut tags);
        for slot in [details.home.primary, details.home.secondary] {
            if let Some(count) = lodgers.get_mut(slot as usize) {
                *count += 1;
            }
        }
    }
    let node = |slot: u32| terrain.cluster.node(terrain.nodes[slot as usize]);
    let are_alike = |one: u32, other: u32| {
        let specs = specs_are_alike(&node(one).spec, &node(other).spec);
        specs && left_over(ledgers.ledger(one)) == left_over(ledgers.ledger(other))
    };
    let mut groups: Vec<Vec<u32>> = Vec::new();
    for slot in &terrain.online {
        let state = &node(*slot).state;
        let all = state.primaries.len() + state.secondaries.len() + state.planned.len();
        if all != lodgers[*slot as usize] {
            continue;
        }
        match groups.iter_mut().find(|group| are_alike(group[0], *slot)) {
            Some(group) => group.push(*slot),
            None => groups.push(vec![*slot]),
        }
    }
    groups.retain(|group| group.len() > 1);
    groups
}

/// The figures of an empty node that are not part of its specification.
fn left_over(ledger: &Ledger) -> [i64; 7] {
    [
        ledger.mem_instances.0,
        ledger.mem_free_planned.0,
        ledger.disk_free.0,
        ledger.disk_free_planned.0,
        ledger.vcpus,
        ledger.spindles_free,
        ledger.key_cost,
    ]
}

/// Returns true if the specifications of two nodes are equal, except for names.
fn specs_are_alike(one: &NodeSpec, other: &NodeSpec) -> bool {
    let sizes = |spec: &NodeSpec| {
        let capacities = [spec.mem_total, spec.disk_total, spec.cpu_total, spec.cpu_speed];
        let limits = [spec.vcpu_ratio, spec.spindle_limit];
        let whole = (spec.mem_for_instances(), spec.disk_low, spec.joint_losses, spec.cpu_node);
        (capacities.map(f64::to_bits), limits.map(f64::to_bits), whole, spec.spindle_total)
    };
    sizes(one) == sizes(other)
        && (one.exclusive_storage, one.closed, one.group)
            == (other.exclusive_storage, other.closed, other.group)
        && one.tags == other.tags
        && one.migration_tags == other.migration_tags
        && one.receivable_tags == other.receivable_tags
        && one.offers == other.offers
        && one.derived_pools == other.derived_pools
}
