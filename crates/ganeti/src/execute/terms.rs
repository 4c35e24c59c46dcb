//! Terms and batches of a rolling maintenance, as its journal keeps them.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use serde::{Deserialize, Serialize};

use htools_model::words;
use htools_plan::maintenance::{Closing, NodeTreatment};
use htools_plan::work::Work;

words!(
    /// Treatment of the other nodes when one fails.
    #[derive(Serialize, Deserialize, Default)]
    #[serde(rename_all = "lowercase")]
    pub AfterFailure, "way to go on after a failure" {
        /// No other node is taken out of service.
        #[default]
        Stop = "stop",
        /// The failed node stays marked; the others go on without it.
        Skip = "skip",
        /// A check that fails is only a warning; other failures are treated as by `skip`.
        Continue = "continue",
    }
);

/// Commands of the operator. Each is run by the shell, with the node's name as its last argument or in place of
/// `{node}`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OperatorCommands {
    /// Maintains a node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// Checks the health of a node that is back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health: Option<String>,
    /// Succeeds if a node needs no maintenance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skip_when: Option<String>,
    /// Succeeds if a node needs maintenance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only_when: Option<String>,
    /// Makes a node the master.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub master: Option<String>,
}

/// Rules by which the batches are planned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BatchRules {
    /// All instances on the nodes are stopped meanwhile.
    pub offline_maintenance: bool,
    /// Instances with a single node go down with it.
    pub ignore_non_redundant: bool,
    /// No data stays on the nodes.
    pub full_evacuation: bool,
    /// Instances on shared storage migrate.
    pub migrate_shared: bool,
    /// Stopped instances are not moved.
    pub honour_run_state: bool,
    /// Most nodes that are down at the same time.
    pub max_down: Option<usize>,
    /// Nodes of the first batches, after which the run waits.
    pub canary: usize,
    /// Length of this wait, in seconds.
    pub soak: u64,
}

/// Time limits of a maintenance, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MaintenanceLimits {
    /// A command of the operator.
    pub command: u64,
    /// The return of a node after its maintenance.
    pub boot: u64,
    /// A check: it is repeated until it succeeds.
    pub check: u64,
}

/// Terms of a maintenance, which its journal keeps for a resumed run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MaintenanceTerms {
    /// Full names of the nodes to be maintained, in the cluster's order.
    pub nodes: Vec<String>,
    /// Treatment of each node.
    pub treatment: NodeTreatment,
    /// Commands of the operator.
    pub commands: OperatorCommands,
    /// Rules by which the batches are planned.
    pub rules: BatchRules,
    /// Treatment of the other nodes when one fails.
    pub after_failure: AfterFailure,
    /// Time limits.
    pub limits: MaintenanceLimits,
}

/// Purpose of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BatchKind {
    /// Its nodes are maintained.
    Maintain,
    /// An earlier batch of these nodes is brought to an end.
    Finish,
    /// An earlier batch of these nodes is called off.
    CallOff,
}

impl From<Closing> for BatchKind {
    fn from(closing: Closing) -> BatchKind {
        match closing {
            Closing::Finish => BatchKind::Finish,
            Closing::CallOff => BatchKind::CallOff,
        }
    }
}

/// A batch that is about to begin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedBatch {
    /// Full names of its nodes.
    pub nodes: Vec<String>,
    /// Its purpose.
    pub kind: BatchKind,
    /// Full names of the nodes that are not N+1 redundant before it.
    pub not_redundant: BTreeSet<String>,
    /// Its steps.
    pub work: Work,
}

/// A batch that has begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BegunBatch {
    /// Full names of its nodes.
    pub nodes: Vec<String>,
    /// Its purpose.
    pub kind: BatchKind,
    /// Full names of the nodes that were not N+1 redundant before it.
    pub not_redundant: BTreeSet<String>,
    /// Positions of its steps in the plan.
    pub steps: Range<usize>,
}

/// Course of a maintenance, from its journal.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MaintenanceCourse {
    /// The batches so far.
    pub batches: Vec<BegunBatch>,
    /// Nodes that need no maintenance, with the reason.
    pub skipped: BTreeMap<String, String>,
    /// Nodes whose maintenance did not reboot them, each with the number of batches until then.
    pub not_rebooted: BTreeMap<String, usize>,
    /// End of the last wait between batches, in milliseconds since 1970.
    pub soaks_until: Option<u64>,
}
