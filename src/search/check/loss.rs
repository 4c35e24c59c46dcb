//! What would become of the instances if nodes were lost together.

use crate::model::{Cluster, InstanceIdx, NodeIdx, Rule};
use crate::redundancy::global::{self, Casualty, Cause, Obstacle};
use crate::search::shortfall::{Role, Shortfall, at_node, foreign_tags};

/// How many nodes are kept for an instance without a place: those nearest to taking it.
pub const MOST: usize = 20;

/// The loss of some nodes.
#[derive(Debug, Clone, PartialEq)]
pub struct Loss {
    /// The nodes, ascending.
    pub nodes: Vec<NodeIdx>,
    /// The instances that run elsewhere afterwards.
    pub placed: Vec<InstanceIdx>,
    /// The instances that run nowhere, by index.
    pub stranded: Vec<Stranded>,
    /// The instances on other nodes that lose their secondary.
    pub unmirrored: Vec<InstanceIdx>,
}

/// An instance that would run nowhere.
#[derive(Debug, Clone, PartialEq)]
pub struct Stranded {
    /// The instance.
    pub instance: InstanceIdx,
    /// The nodes that came into question, the nearest to taking it first.
    pub hurdles: Vec<LossHurdle>,
    /// How many nodes came into question.
    pub refused: usize,
}

/// Why a node does not take an instance over.
#[derive(Debug, Clone, PartialEq)]
pub struct LossHurdle {
    /// The node.
    pub node: NodeIdx,
    /// What is in the way.
    pub cause: Cause,
    /// What is missing, if something is.
    pub shortfall: Option<Shortfall>,
}

impl LossHurdle {
    fn distance(&self) -> f64 {
        self.shortfall.as_ref().map_or(f64::INFINITY, Shortfall::relative)
    }
}

/// Works out what the loss of `nodes` would mean. Every group gets along by itself, as
/// in the check whether each single node could be emptied.
pub fn loss(cluster: &Cluster, nodes: &[NodeIdx]) -> Loss {
    let mut nodes = nodes.to_vec();
    nodes.sort_unstable();
    nodes.dedup();
    let mut stranded = Vec::new();
    for group in cluster.groups_with_nodes() {
        let casualties = global::casualties(cluster, &cluster.nodes_of(group), &nodes);
        stranded.extend(casualties.into_iter().map(|casualty| explained(cluster, casualty)));
    }
    stranded.sort_by_key(|s: &Stranded| s.instance);
    let on_lost = nodes.iter().flat_map(|n| cluster.node(*n).state.primaries.iter().copied());
    let is_stranded = |i: &InstanceIdx| stranded.binary_search_by_key(i, |s| s.instance).is_ok();
    let mut placed: Vec<InstanceIdx> = on_lost.filter(|i| !is_stranded(i)).collect();
    placed.sort_unstable();
    let is_lost = |n: NodeIdx| nodes.binary_search(&n).is_ok();
    let unmirrored = cluster
        .instances
        .iter()
        .filter(|i| !i.forthcoming && !is_lost(i.primary) && i.mirror().is_some_and(is_lost))
        .map(|i| i.idx)
        .collect();
    Loss { nodes, placed, stranded, unmirrored }
}

fn explained(cluster: &Cluster, casualty: Casualty) -> Stranded {
    let instance = casualty.instance;
    let refused = casualty.obstacles.len();
    let mut hurdles: Vec<LossHurdle> =
        casualty.obstacles.into_iter().map(|obstacle| hurdle(cluster, instance, obstacle)).collect();
    hurdles.sort_by(|a, b| a.distance().total_cmp(&b.distance()));
    hurdles.truncate(MOST);
    Stranded { instance, hurdles, refused }
}

fn hurdle(cluster: &Cluster, instance: InstanceIdx, obstacle: Obstacle) -> LossHurdle {
    let Obstacle { node, ledger, cause } = obstacle;
    let instance = cluster.instance(instance);
    let there = (node, &ledger);
    let shortfall = match cause {
        Cause::Rule(Rule::MigrationTags) => {
            Some(Shortfall::Migration(foreign_tags(cluster, instance.primary, node)))
        }
        Cause::Rule(rule) => Some(at_node(cluster, instance, there, Role::Primary, rule)),
        Cause::Swap(rule) => {
            let role = Role::SecondaryOf(instance.mirror().unwrap_or(node));
            Some(at_node(cluster, instance, there, role, rule))
        }
        Cause::Policy(breach) => Some(Shortfall::from(breach)),
        Cause::Offline | Cause::Lost => None,
    };
    LossHurdle { node, cause, shortfall }
}
