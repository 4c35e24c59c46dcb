//! Instances that rest after a move.

use std::collections::HashMap;
use std::time::Duration;

use htools_ganeti::execute::history::PastMove;
use htools_model::{Cluster, Immobile, InstanceIdx, NodeIdx};

/// Rules for instances that have moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RestRules {
    /// Time after a move in which an instance does not move again.
    pub cooldown: Option<Duration>,
    /// Time after a move in which an instance does not return to the node that it left.
    pub no_return: Option<Duration>,
}

/// Instances that rest, and nodes that are closed to them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Resting {
    /// Instances that do not move, in order.
    pub still: Vec<InstanceIdx>,
    /// Instances with the nodes that they must not return to, in order.
    pub kept_out: Vec<(InstanceIdx, NodeIdx)>,
}

impl RestRules {
    /// Finds the instances that rest at the time `now`, in milliseconds since 1970. Those on nodes that are offline or
    /// drained do not rest, since they must leave.
    pub fn resting(self, cluster: &Cluster, moves: &[PastMove], now: u64) -> Resting {
        let is_within = |at: u64, time: Option<Duration>| {
            time.is_some_and(|time| u128::from(now.saturating_sub(at)) < time.as_millis())
        };
        let instances: HashMap<&str, InstanceIdx> =
            cluster.instances.iter().map(|instance| (instance.name.as_str(), instance.idx)).collect();
        let nodes: HashMap<&str, NodeIdx> =
            cluster.nodes.iter().map(|node| (node.spec.name.as_str(), node.spec.idx)).collect();
        let mut resting = Resting::default();
        for made in moves {
            let Some(instance) = instances.get(made.moved.instance.as_str()) else { continue };
            let here = cluster.instance(*instance);
            let must_leave = here.nodes().any(|node| cluster.node(node).spec.offline);
            if is_within(made.at, self.cooldown) && !must_leave {
                resting.still.push(*instance);
            }
            if is_within(made.at, self.no_return) && !must_leave {
                let left = nodes.get(made.moved.from.primary.as_str());
                let left = left.filter(|node| **node != here.primary);
                resting.kept_out.extend(left.map(|node| (*instance, *node)));
            }
        }
        resting.still.sort_unstable();
        resting.still.dedup();
        resting.kept_out.sort_unstable();
        resting.kept_out.dedup();
        resting
    }
}

impl Resting {
    /// Makes the instances rest in a cluster.
    pub fn enter(&self, cluster: &mut Cluster) {
        for instance in &self.still {
            let known = &mut cluster.instances[instance.get()].immobile;
            *known = known.or(Some(Immobile::Cooldown));
        }
        cluster.keep_out(&self.kept_out);
    }
}
