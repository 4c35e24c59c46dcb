//! Instances that can leave their group, and the groups and nodes that they can reach.

use super::Setting;
use super::health::Health;
use crate::moves::{MoveRules, Trial};
use crate::why::{GroupObstacle, StayCause};
use htools_model::{AllocPolicy, Cluster, GroupIdx, Instance, NodeIdx, Rule, Strictness, TagArrival};

/// The reason why an instance must stay in its group, if it lies in the instance or its present group.
pub(crate) fn hold(cluster: &Cluster, instance: &Instance) -> Option<StayCause> {
    if cluster.denies_leaving(cluster.node(instance.primary).spec.group) {
        return Some(StayCause::Denied);
    }
    if let Some(why) = instance.immobile {
        return Some(StayCause::Immobile(why));
    }
    if instance.forthcoming {
        return Some(StayCause::Forthcoming);
    }
    if !instance.auto_balance {
        return Some(StayCause::NotAutoBalanced);
    }
    if instance.secondary.is_some() && instance.mirror().is_none() {
        return Some(StayCause::NominalSecondary);
    }
    no_failover(cluster, instance)
}

/// Obstacle to the failover of a DRBD instance on an offline node, which must come first. It follows the rules
/// of balancing, where migration tags apply to failovers, too.
fn no_failover(cluster: &Cluster, instance: &Instance) -> Option<StayCause> {
    let mirror = cluster.node(instance.mirror()?);
    let primary = &cluster.node(instance.primary).spec;
    if !primary.offline {
        return None;
    }
    if mirror.spec.offline {
        return Some(StayCause::NoOnlineNode);
    }
    if !primary.can_migrate_to(&mirror.spec) {
        return Some(StayCause::NoFailover(mirror.spec.idx, Rule::MigrationTags));
    }
    let trial = Trial::new(cluster, instance, &MoveRules::default());
    let left = trial.mirror_left()?;
    let tags = TagArrival::default();
    let runs = left.add_primary(&mirror.spec, instance, instance.location_score, tags, Strictness::Forced);
    runs.err().map(|rule| StayCause::NoFailover(mirror.spec.idx, rule))
}

/// The node from which an instance migrates to another group.
pub(crate) fn departs_from(cluster: &Cluster, instance: &Instance) -> NodeIdx {
    let offline = cluster.node(instance.primary).spec.offline;
    instance.mirror().filter(|_| offline).unwrap_or(instance.primary)
}

/// The nodes of a group on which an instance of another group may be placed.
///
/// # Errors
/// The rule that forbids the whole group.
pub(crate) fn targets(
    cluster: &Cluster,
    setting: &Setting,
    instance: &Instance,
    group: GroupIdx,
    nodes: &[NodeIdx],
    health: Health,
) -> Result<Vec<NodeIdx>, GroupObstacle> {
    let there = cluster.group(group);
    if there.denies_moves_between_groups() {
        return Err(GroupObstacle::Denied);
    }
    if there.alloc_policy == AllocPolicy::Unallocable {
        return Err(GroupObstacle::Unallocable);
    }
    if let Some(pool) = setting.storage.missing(group, instance.idx) {
        return Err(GroupObstacle::Pool(pool));
    }
    GroupObstacle::networks(cluster, group, instance)?;
    if health != Health::Healthy {
        return Err(GroupObstacle::Health(health));
    }
    let needed = if instance.template.has_secondary() { 2 } else { 1 };
    let online = |n: &&NodeIdx| !cluster.node(**n).spec.offline;
    let usable = nodes.iter().filter(online).filter(|n| setting.storage.reaches(**n, instance.idx));
    let usable: Vec<NodeIdx> = usable.copied().collect();
    if usable.len() < needed {
        return Err(GroupObstacle::Unreached);
    }
    let from = departs_from(cluster, instance);
    let receives = |n: &NodeIdx| cluster.node(from).spec.can_migrate_to(&cluster.node(*n).spec);
    let usable: Vec<NodeIdx> = usable.into_iter().filter(receives).collect();
    if usable.len() < needed { Err(GroupObstacle::Migration(from)) } else { Ok(usable) }
}
