//! Batches of nodes that can be in standby, and down, at the same time: the plan of a rolling maintenance.
//!
//! A batch is tried with the forecast of the cluster's own actions: with its nodes in standby, every resource that ran
//! before must still run on another node, and no promoted role may be lost. A clone may have fewer instances, because
//! those on the nodes of the batch stop. The nodes leave the cluster while they are down, so the others must keep quorum.

mod effects;
mod planner;
#[cfg(test)]
mod tests;
mod votes;

use super::foresight::{Foresight, ForesightError};
use htools_ganeti::input::error::LoadError;
use htools_model::shown::shown_name;

pub use effects::{left_on, loss};
pub(crate) use planner::standing;
pub use planner::{StandbyPlanner, StandbyRules};
pub use votes::ClusterVotes;

/// Reason why a node is not maintained, or cannot be down now.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NodeHold {
    /// The cluster has no such node.
    #[error("the cluster does not have it")]
    Unknown,
    /// A remote node is no member of the cluster.
    #[error("it is a remote node, which is no member of the cluster")]
    Remote,
    /// A guest node is a VM that the cluster runs.
    #[error("it is a guest node, which is a VM of the cluster")]
    Guest,
    /// It is no member.
    #[error("it is offline")]
    Offline,
    /// It was lost, and must be fenced.
    #[error("it is lost and must be fenced (unclean)")]
    Unclean,
    /// It is about to join.
    #[error("it is about to join the cluster")]
    Joining,
    /// It is shutting down.
    #[error("it is shutting down")]
    ShuttingDown,
    /// Nothing on it is managed, so standby does not empty it.
    #[error("it is in maintenance mode, so that standby does not empty it")]
    Maintenance,
    /// An attribute in the status overrides that of the configuration.
    #[error("a transient attribute keeps it out of standby")]
    NoStandby,
    /// The cluster would not come to rest.
    #[error("with it in standby, the cluster would not come to rest")]
    Restless,
    /// Actions wait for each other.
    #[error("with it in standby, actions of the cluster wait for each other in a circle")]
    Circle,
    /// A resource would no longer run, or a clone would lose instances on other nodes.
    #[error("{} would stop", shown_name(.0))]
    Stops(String),
    /// A resource does not leave its node.
    #[error("{} would stay on it", shown_name(.0))]
    Stays(String),
    /// A resource would have fewer promoted instances.
    #[error("fewer instances of {} would be promoted", shown_name(.0))]
    Demotes(String),
    /// The other nodes would have no quorum.
    #[error("without it, the cluster has no quorum")]
    Quorum,
    /// Enough nodes are down.
    #[error("as many nodes are down as may be")]
    EnoughDown,
    /// There is no forecast.
    #[error("there is no forecast for it in standby: {0}")]
    NoForecast(String),
}

/// A node that is not maintained.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldNode {
    /// Its name.
    pub node: String,
    /// Reason.
    pub why: NodeHold,
}

/// Nodes that can be down at the same time.
#[derive(Debug, Clone)]
pub struct StandbyBatch {
    /// Their names, in the order of the plan.
    pub nodes: Vec<String>,
    /// Forecast for the cluster with these nodes in standby.
    pub outlook: Foresight,
}

/// Plan of a rolling maintenance. Only the first batch is certain: the others rest on forecasts.
#[derive(Debug, Clone)]
pub struct StandbyPlan {
    /// The batches, in order.
    pub batches: Vec<StandbyBatch>,
    /// The nodes that cannot be down.
    pub held: Vec<HeldNode>,
}

/// Reason why no batch can be planned.
#[derive(Debug, thiserror::Error)]
pub enum RollingError {
    /// The document cannot be read.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// There is no forecast.
    #[error(transparent)]
    Foresight(#[from] ForesightError),
    /// The cluster has no quorum.
    #[error("the cluster has no quorum, so Pacemaker starts no resources, whatever is planned")]
    NoQuorum,
    /// Fencing is enabled, but impossible.
    #[error("the cluster fences nodes but has no fencing device, so Pacemaker starts and moves nothing")]
    Frozen,
    /// It is not at rest, and never will be.
    #[error("the cluster never comes to rest: it moves resources back and forth")]
    Restless,
}
