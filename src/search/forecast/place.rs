//! What locations and services add to the score.

use super::{FAILOVER_AND_REPLACE, REPLACE_AND_FAILOVER, REPLACE_SECONDARY};
use crate::model::{Cluster, Instance, NodeIdx, NodeSpec};
use crate::score::Board;
use crate::score::spread::Spread;

/// The different places at which an instance can arrive: of the online nodes with
/// the same location tags, one.
pub(super) struct Places {
    nodes: Vec<NodeIdx>,
}

impl Places {
    pub fn of(cluster: &Cluster, board: &Board) -> Places {
        let mut seen = std::collections::HashSet::new();
        let online = board.nodes().iter().copied().filter(|n| board.row(*n).is_some());
        Places { nodes: online.filter(|n| seen.insert(&cluster.node(*n).spec.location_tags)).collect() }
    }

    /// Whether a place can make a difference at all.
    pub fn matter(&self, cluster: &Cluster) -> bool {
        self.nodes.len() > 1 || self.nodes.iter().any(|n| !cluster.node(*n).spec.location_tags.is_empty())
    }

    /// The change of the surplus of services in locations by a failover.
    pub fn failover(&self, spread: &Spread, cluster: &Cluster, instance: &Instance) -> i64 {
        let spec = |n: NodeIdx| &cluster.node(n).spec;
        spread.change(instance, Some(spec(instance.primary)), instance.mirror().map(spec))
    }

    /// The least that a move of this slot adds to the counts by the place of the
    /// new node, including the change of the surplus. What the instance's own
    /// nodes count is in their ledgers, but for the location score that the move
    /// gives to an instance that stays where it is or goes to S.
    pub fn least(&self, spread: &Spread, cluster: &Cluster, instance: &Instance, slot: usize) -> i64 {
        let spec = |n: NodeIdx| &cluster.node(n).spec;
        let p = spec(instance.primary);
        if instance.forthcoming {
            return 0;
        }
        let old = if p.offline { 0 } else { instance.location_score };
        let mirror = instance.mirror().map(spec);
        let common = |a: &NodeSpec, b: &NodeSpec| a.location_tags.common(&b.location_tags);
        match (slot, mirror) {
            (REPLACE_SECONDARY, _) if p.offline => 0,
            (REPLACE_SECONDARY, _) => self.cheapest(cluster, 0, |t| common(p, t)) - old,
            (FAILOVER_AND_REPLACE, Some(s)) => {
                let change = spread.change(instance, Some(p), Some(s));
                change + if s.offline { 0 } else { self.cheapest(cluster, 0, |t| common(s, t)) }
            }
            (_, other) => {
                let leaving = spread.change(instance, Some(p), None);
                let other = if slot == REPLACE_AND_FAILOVER { Some(p) } else { other };
                self.cheapest(cluster, leaving, |t| {
                    // an externally mirrored instance keeps its location score
                    let score = other.map_or(instance.location_score, |o| common(o, t));
                    spread.change(instance, Some(p), Some(t)) + t.location_cost(instance, score)
                })
            }
        }
    }

    /// The smallest cost at any place, none of which can be below `floor`.
    fn cheapest(&self, cluster: &Cluster, floor: i64, cost: impl Fn(&NodeSpec) -> i64) -> i64 {
        let mut least = i64::MAX;
        for node in &self.nodes {
            least = least.min(cost(&cluster.node(*node).spec));
            if least <= floor {
                break;
            }
        }
        least.max(floor)
    }
}
