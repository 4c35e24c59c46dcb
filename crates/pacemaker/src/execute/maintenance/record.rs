//! The journal of a maintenance: its batches, and how far each node is.

use serde::{Deserialize, Serialize};

use crate::pinning::ExpectedPlace;
use htools_ganeti::execute::journal::{JournalForm, LineError};
use htools_ganeti::execute::maintenance::{AfterFailure, MaintenanceLimits, OperatorCommands};
use htools_model::shown::shown_name;
use htools_model::words;

/// Format of the journals that this version reads and writes.
pub const MAINTENANCE_SCHEMA: &str = "htools.cib-maintenance-1";

words!(
    /// Way in which nodes are maintained.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub CibNodeWork, "way to maintain nodes" {
        /// The operator's command.
        Command = "command",
        /// A person.
        Person = "person",
    }
);

/// A node to be maintained.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MaintainedNode {
    /// Its name.
    pub name: String,
    /// True if it was in standby before the maintenance, and stays so.
    pub standby: bool,
}

/// Terms of a maintenance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CibMaintenanceTerms {
    /// The nodes, in the order of the plan.
    pub nodes: Vec<MaintainedNode>,
    /// Commands of the operator.
    pub commands: OperatorCommands,
    /// Way in which nodes are maintained.
    pub work: CibNodeWork,
    /// True if nodes are rebooted: a node must leave the cluster and come back.
    pub reboots: bool,
    /// Most nodes in standby or away at the same time.
    pub max_down: Option<usize>,
    /// Nodes of the first batches, after which the run waits.
    pub canary: usize,
    /// Length of this wait, in seconds.
    pub soak: u64,
    /// Treatment of the other nodes when one fails.
    pub after_failure: AfterFailure,
    /// Time limits of commands, of the return of a node and of checks.
    pub limits: MaintenanceLimits,
    /// Longest time until the cluster is at rest, in seconds.
    pub rest: u64,
    /// True if elements with unknown effects are ignored.
    pub skip_unsupported: bool,
}

/// Content of the first line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CibMaintenanceHeader {
    /// [`MAINTENANCE_SCHEMA`].
    pub journal: String,
    /// The cluster, by the names of its nodes.
    pub cluster: String,
    /// Time when the run began, in nanoseconds since 1970. It is the value of the marks of nodes.
    pub began: u64,
    /// The terms.
    pub terms: CibMaintenanceTerms,
}

/// Number of failures of a resource on a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FailureCount {
    /// The node.
    pub node: String,
    /// Attribute of the node that counts the failures.
    pub attribute: String,
    /// The number; 1,000,000 for INFINITY.
    pub count: i64,
}

/// A batch that is about to begin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CibBatch {
    /// Its nodes.
    pub nodes: Vec<String>,
    /// Places of the resources before the batch.
    pub before: Vec<ExpectedPlace>,
    /// Places of the resources with the nodes in standby.
    pub expected: Vec<ExpectedPlace>,
    /// The tickets that the cluster has.
    pub tickets: Vec<String>,
    /// The failures that are known.
    pub failures: Vec<FailureCount>,
}

/// Content of the other lines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "lowercase", deny_unknown_fields)]
pub enum CibMaintenanceRecord {
    /// Nodes are about to go to standby. Nodes of an earlier batch that are further stay where they are.
    Batch {
        /// The batch.
        batch: CibBatch,
    },
    /// The nodes of the last batch that went to standby run nothing that they should not.
    Emptied {},
    /// The command of a node is about to begin, or a person is waited for.
    Beginning {
        /// The node.
        node: String,
    },
    /// The command has ended with a failure, so it does not run any more.
    Refused {
        /// The node.
        node: String,
        /// The failure.
        why: String,
    },
    /// The command has ended well, or the node was rebooted.
    Maintained {
        /// The node.
        node: String,
    },
    /// The node is a member of the cluster again.
    Back {
        /// The node.
        node: String,
    },
    /// The health check was passed.
    Healthy {
        /// The node.
        node: String,
    },
    /// Nodes are in use again, or in the standby in which they were before.
    Returned {
        /// The nodes.
        nodes: Vec<String>,
    },
    /// Nodes that were not maintained are in use again.
    Recalled {
        /// The nodes.
        nodes: Vec<String>,
    },
    /// Nodes failed. They stay as they are.
    Failed {
        /// The nodes.
        nodes: Vec<String>,
        /// Reason.
        why: String,
    },
    /// A node needs no maintenance.
    Skipped {
        /// The node.
        node: String,
        /// Reason.
        why: String,
    },
    /// The run waits before the next batch.
    Soaking {
        /// Until then, in milliseconds since 1970.
        until: u64,
    },
    /// The run was taken up again.
    Resumed {
        /// Milliseconds since 1970.
        at: u64,
    },
    /// The program ended in order.
    Closed {
        /// Milliseconds since 1970.
        at: u64,
        /// Outcome, in one word.
        ending: String,
    },
}

/// Progress of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CibNodeStage {
    /// Nothing was done.
    Left,
    /// It may be in standby by this run.
    Standby,
    /// It is in standby and empty. No command is under way.
    Emptied,
    /// Its command may have begun.
    Begun,
    /// Its command has ended well, or it was rebooted.
    Maintained,
    /// It is a member again.
    Back,
    /// It has passed the health check. It may be out of standby already.
    Healthy,
    /// It is in use again.
    Done,
    /// It needs no maintenance.
    Skipped,
}

impl CibNodeStage {
    /// Returns true for a node that this run has taken out of service, or may have.
    pub fn is_open(self) -> bool {
        (CibNodeStage::Standby..=CibNodeStage::Healthy).contains(&self)
    }
}

/// A node and its progress.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CibNodeProgress {
    /// Its name.
    pub name: String,
    /// The stage.
    pub stage: CibNodeStage,
    /// The last failure, until the node gets further.
    pub problem: Option<String>,
    /// Number of the batch in which its command has begun last, from 0.
    pub begun_in: usize,
}

/// Content of a journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CibMaintenanceRead {
    /// The first line.
    pub header: CibMaintenanceHeader,
    /// The nodes, in the order of the terms.
    pub nodes: Vec<CibNodeProgress>,
    /// The batches so far.
    pub batches: Vec<CibBatch>,
    /// End of the last wait between batches, in milliseconds since 1970.
    pub soaks_until: Option<u64>,
    /// Number of lines.
    pub lines: usize,
}

impl CibMaintenanceRead {
    /// Stage of a node; `None` if it is not to be maintained.
    pub fn stage(&self, node: &str) -> Option<CibNodeStage> {
        self.nodes.iter().find(|progress| progress.name == node).map(|progress| progress.stage)
    }

    /// The nodes in a stage.
    pub fn at(&self, stage: CibNodeStage) -> Vec<String> {
        let there = self.nodes.iter().filter(|progress| progress.stage == stage);
        there.map(|progress| progress.name.clone()).collect()
    }

    /// Returns true if a node was in standby before.
    pub fn was_in_standby(&self, node: &str) -> bool {
        self.header.terms.nodes.iter().any(|of| of.name == node && of.standby)
    }

    /// Applies a record.
    ///
    /// # Errors
    /// Fails if the record cannot follow on what is already known.
    pub(super) fn apply(&mut self, record: &CibMaintenanceRecord) -> Result<(), String> {
        use CibNodeStage::{Back, Begun, Done, Emptied, Healthy, Left, Maintained, Skipped, Standby};
        match record {
            CibMaintenanceRecord::Batch { batch } => {
                for node in &batch.nodes {
                    let progress = self.node(node)?;
                    match progress.stage {
                        Left | Standby | Emptied => progress.stage = Standby,
                        Begun | Maintained | Back | Healthy => {}
                        Done | Skipped => return Err(out_of_turn(node)),
                    }
                    progress.problem = None;
                }
                self.batches.push(batch.clone());
            }
            CibMaintenanceRecord::Emptied {} => {
                let batch = self.batches.last().ok_or("there is no batch")?;
                for node in batch.nodes.clone() {
                    let progress = self.node(&node)?;
                    if progress.stage == Standby {
                        progress.stage = Emptied;
                    }
                }
            }
            CibMaintenanceRecord::Beginning { node } => {
                let batch = self.batches.len().saturating_sub(1);
                self.step(node, &[Emptied, Begun], Begun)?.begun_in = batch;
            }
            CibMaintenanceRecord::Refused { node, why } => {
                self.step(node, &[Begun], Emptied)?.problem = Some(why.clone());
            }
            CibMaintenanceRecord::Maintained { node } => drop(self.step(node, &[Begun], Maintained)?),
            CibMaintenanceRecord::Back { node } => drop(self.step(node, &[Maintained], Back)?),
            CibMaintenanceRecord::Healthy { node } => drop(self.step(node, &[Back], Healthy)?),
            CibMaintenanceRecord::Returned { nodes } => {
                for node in nodes {
                    self.step(node, &[Healthy], Done)?;
                }
            }
            CibMaintenanceRecord::Recalled { nodes } => {
                for node in nodes {
                    let problem = self.node(node)?.problem.take();
                    self.step(node, &[Standby, Emptied], Left)?.problem = problem;
                }
            }
            CibMaintenanceRecord::Failed { nodes, why } => {
                for node in nodes {
                    self.node(node)?.problem = Some(why.clone());
                }
            }
            CibMaintenanceRecord::Skipped { node, .. } => drop(self.step(node, &[Left], Skipped)?),
            CibMaintenanceRecord::Soaking { until } => self.soaks_until = Some(*until),
            CibMaintenanceRecord::Resumed { .. } => {
                // A person mends the problems that came after the maintenance of a node; the earlier run named them.
                let done = self.nodes.iter_mut().filter(|progress| progress.stage == Done);
                done.for_each(|progress| progress.problem = None);
            }
            CibMaintenanceRecord::Closed { .. } => {}
        }
        self.lines += 1;
        Ok(())
    }

    fn node(&mut self, name: &str) -> Result<&mut CibNodeProgress, String> {
        let found = self.nodes.iter_mut().find(|progress| progress.name == name);
        found.ok_or_else(|| format!("{} is not to be maintained", shown_name(name)))
    }

    /// Brings a node from one of some stages to another.
    fn step(
        &mut self,
        name: &str,
        from: &[CibNodeStage],
        to: CibNodeStage,
    ) -> Result<&mut CibNodeProgress, String> {
        let progress = self.node(name)?;
        if !from.contains(&progress.stage) {
            return Err(out_of_turn(name));
        }
        (progress.stage, progress.problem) = (to, None);
        Ok(progress)
    }
}

fn out_of_turn(node: &str) -> String {
    format!("the record of {} contradicts earlier records", shown_name(node))
}

impl JournalForm for CibMaintenanceRead {
    type Header = CibMaintenanceHeader;
    type Record = CibMaintenanceRecord;

    fn begin(header: CibMaintenanceHeader) -> Result<CibMaintenanceRead, LineError> {
        if header.journal != MAINTENANCE_SCHEMA {
            let found = &header.journal;
            return Err(LineError::Plan(format!("it is a '{found}', not a '{MAINTENANCE_SCHEMA}'")));
        }
        let node = |of: &MaintainedNode| CibNodeProgress {
            name: of.name.clone(),
            stage: CibNodeStage::Left,
            problem: None,
            begun_in: 0,
        };
        let nodes = header.terms.nodes.iter().map(node).collect();
        Ok(CibMaintenanceRead { header, nodes, batches: Vec::new(), soaks_until: None, lines: 1 })
    }

    fn take(&mut self, _: usize, record: CibMaintenanceRecord) -> Result<(), LineError> {
        self.apply(&record).map_err(LineError::OutOfTurn)
    }
}
