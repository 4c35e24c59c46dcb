//! Order of batches if the maintenance upgrades the nodes: an instance migrates live from an old node to an old or new
//! one, or between new ones, but never from a new node to an old one.

use htools_model::{Cluster, InstanceIdx, Mirroring, MovedMeanwhile, NodeIdx, Placement};

use super::{Part, RollingOptions};

/// Nodes to which instances may migrate during an upgrade.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MigrateTo {
    /// Nodes of the same or a newer version. Batches are ordered so that as few instances as possible migrate to nodes
    /// that are still old.
    Newer,
    /// Any node: versions do not matter.
    #[default]
    Any,
}

/// Time from which a node has the new version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum UpgradeTime {
    /// Before the run.
    Done,
    /// Once its batch is done. A node in no batch stays old.
    InBatch,
    /// After the last batch.
    AtEnd,
    /// Not in this run.
    Never,
}

/// Time at which an instance can return to its node by live migration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReturnTime {
    /// When its batch is done.
    AtOnce,
    /// After the last batch, when all nodes are upgraded.
    AtEnd,
    /// Not in this run.
    Never,
}

/// A running instance that migrates away from a node of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UpgradeMove {
    /// The instance.
    pub instance: InstanceIdx,
    /// Its primary node.
    pub from: NodeIdx,
    /// The node where it runs meanwhile.
    pub to: NodeIdx,
    /// Time of its return.
    pub returns: ReturnTime,
}

/// A batch of an upgrade.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpgradePart {
    /// Position of the batch in the list given.
    pub part: usize,
    /// Its live migrations. Instances that do not return at once use memory where they are. So the later batches should
    /// be planned again on the cluster as it is then.
    pub moves: Vec<UpgradeMove>,
}

/// Reason why no order of the batches is legal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "instance {0} would migrate from node {1}, which is upgraded already, to node {2}, which is not",
    .instance.get(), .from.get(), .to.get()
)]
pub struct NoUpgradeOrder {
    /// The instance.
    pub instance: InstanceIdx,
    /// Its primary node, which is upgraded.
    pub from: NodeIdx,
    /// The node where it would run, which is still old.
    pub to: NodeIdx,
}

/// Orders batches so that all live migrations are legal. `upgrades` is the time for each node of the cluster; missing
/// ones are never upgraded. The batch with the master stays last.
///
/// With [`MigrateTo::Newer`], the next batch is the one with the fewest migrations to old nodes, then the first. A
/// batch waits for others only if one of its nodes was upgraded before the run, and its instances go to nodes that are
/// not. With [`MigrateTo::Any`], the order stays, and all instances return at once.
///
/// # Errors
/// A migration that is illegal in any order. If batches wait for each other, the first migration of the first such
/// batch.
pub fn upgrade_order(
    cluster: &Cluster,
    parts: &[Part],
    options: &RollingOptions,
    migrate_to: MigrateTo,
    upgrades: &[UpgradeTime],
) -> Result<Vec<UpgradePart>, NoUpgradeOrder> {
    let moves: Vec<Vec<UpgradeMove>> = parts.iter().map(|part| migrations(cluster, part, options)).collect();
    if migrate_to == MigrateTo::Any {
        return Ok((0..).zip(moves).map(|(part, moves)| UpgradePart { part, moves }).collect());
    }
    let has_master = |part: &Part| part.nodes.iter().any(|node| cluster.node(*node).spec.master);
    let mut versions = Versions::of(cluster, parts, upgrades);
    let (mut last, mut open): (Vec<usize>, Vec<usize>) =
        (0..parts.len()).partition(|part| has_master(&parts[*part]));
    let mut order = Vec::with_capacity(parts.len());
    while !(open.is_empty() && last.is_empty()) {
        let left = if open.is_empty() { &mut last } else { &mut open };
        let legal = |part: &&usize| versions.illegal(&moves[**part]).is_none();
        let next =
            left.iter().filter(legal).min_by_key(|part| (versions.to_old(&moves[**part]), **part)).copied();
        let Some(part) = next else {
            let stuck = left.iter().find_map(|part| versions.illegal(&moves[*part]));
            let Some(UpgradeMove { instance, from, to, .. }) = stuck else { break };
            return Err(NoUpgradeOrder { instance, from, to });
        };
        left.retain(|other| *other != part);
        versions.finish(&parts[part]);
        let returning = |mv: &UpgradeMove| UpgradeMove { returns: versions.returns(mv), ..*mv };
        order.push(UpgradePart { part, moves: moves[part].iter().map(returning).collect() });
    }
    Ok(order)
}

/// The live migrations away from the nodes of a part, in the order of the instances.
fn migrations(cluster: &Cluster, part: &Part, options: &RollingOptions) -> Vec<UpgradeMove> {
    let mut is_down = vec![false; cluster.nodes.len()];
    part.nodes.iter().for_each(|node| is_down[node.get()] = true);
    let listed = |instance: InstanceIdx| -> Option<&MovedMeanwhile> {
        let at = part.moves.binary_search_by_key(&instance, |moved| moved.instance).ok()?;
        part.moves.get(at)
    };
    let residents = cluster.residents(&part.nodes).into_iter();
    let migration = residents.filter_map(|idx| {
        let instance = cluster.instance(idx);
        let Placement { primary, secondary } = instance.placement();
        let live = instance.status.is_running()
            && !instance.forthcoming
            && !options.offline_maintenance
            && instance.template.mirroring() != Mirroring::None;
        let fails_over = || {
            let moves = instance.template.has_secondary() && options.must_fail_over(instance);
            secondary.filter(|_| moves)
        };
        let to = listed(idx).map(|moved| moved.to.primary).or_else(fails_over)?;
        let leaves = live && is_down[primary.get()] && to != primary;
        leaves.then_some(UpgradeMove { instance: idx, from: primary, to, returns: ReturnTime::AtOnce })
    });
    migration.collect()
}

/// Versions of the nodes during a run.
struct Versions {
    is_new: Vec<bool>,
    is_new_at_end: Vec<bool>,
    upgrades: Vec<UpgradeTime>,
}

impl Versions {
    fn of(cluster: &Cluster, parts: &[Part], upgrades: &[UpgradeTime]) -> Versions {
        let mut is_planned = vec![false; cluster.nodes.len()];
        parts.iter().flat_map(|part| &part.nodes).for_each(|node| is_planned[node.get()] = true);
        let upgrade = |(node, is_planned): (usize, bool)| match upgrades.get(node) {
            Some(UpgradeTime::InBatch) if !is_planned => UpgradeTime::Never,
            time => time.copied().unwrap_or(UpgradeTime::Never),
        };
        let upgrades: Vec<UpgradeTime> = is_planned.into_iter().enumerate().map(upgrade).collect();
        Versions {
            is_new: upgrades.iter().map(|time| *time == UpgradeTime::Done).collect(),
            is_new_at_end: upgrades.iter().map(|time| *time != UpgradeTime::Never).collect(),
            upgrades,
        }
    }

    /// The first migration that is illegal now.
    fn illegal(&self, moves: &[UpgradeMove]) -> Option<UpgradeMove> {
        moves.iter().copied().find(|mv| self.is_new[mv.from.get()] && !self.is_new[mv.to.get()])
    }

    /// Number of migrations to old nodes.
    fn to_old(&self, moves: &[UpgradeMove]) -> usize {
        moves.iter().filter(|mv| !self.is_new[mv.to.get()]).count()
    }

    /// Records that a batch is done.
    fn finish(&mut self, part: &Part) {
        for node in &part.nodes {
            self.is_new[node.get()] |= self.upgrades[node.get()] == UpgradeTime::InBatch;
        }
    }

    /// Time at which an instance can return after its batch.
    fn returns(&self, mv: &UpgradeMove) -> ReturnTime {
        let goes_back = |is_new: &[bool]| is_new[mv.to.get()] && !is_new[mv.from.get()];
        if !goes_back(&self.is_new) {
            ReturnTime::AtOnce
        } else if !goes_back(&self.is_new_at_end) {
            ReturnTime::AtEnd
        } else {
            ReturnTime::Never
        }
    }
}

#[cfg(test)]
mod tests;
