//! The next batch of a maintenance.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::time::Duration;

use super::{ByName, not_redundant};
use crate::rolling::safe::{NoSafePlan, SafePlanner, StaysUp};
use crate::rolling::{Part, RollingOptions};
use htools_ganeti::execute::maintenance::{
    BatchKind, BatchRules, MaintenanceProgress, MaintenanceTerms, NodeStage, PlannedBatch,
};
use htools_model::{Cluster, NodeIdx, Outage};
use htools_plan::durations::Rates;
use htools_plan::maintenance::{Batch, NodeMark};
use htools_plan::names::Impossible;
use htools_plan::stream::StreamLimits;

/// State of a maintenance between two batches.
#[derive(Debug, Clone, Copy)]
pub struct BatchPlanner<'a> {
    /// The cluster now.
    pub cluster: &'a Cluster,
    /// Terms of the maintenance.
    pub terms: &'a MaintenanceTerms,
    /// Progress so far.
    pub progress: &'a MaintenanceProgress,
    /// Full names of the nodes that failed in this run. They count as down.
    pub given_up: &'a BTreeSet<String>,
    /// Full name of the master node.
    pub master: &'a str,
    /// True if the run has waited after the first batches.
    pub has_soaked: bool,
    /// Speeds of steps.
    pub rates: &'a Rates,
    /// Limits of what may be under way at the same time.
    pub limits: StreamLimits,
}

/// The next part of a maintenance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NextBatch {
    /// This batch can begin.
    Maintain(PlannedBatch),
    /// The run should wait first.
    Soak(Duration),
    /// Only the master node is left, besides these.
    Master(Vec<Unmaintained>),
    /// No other node can be maintained; these are left.
    End(Vec<Unmaintained>),
}

/// A node that cannot be maintained as the cluster is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unmaintained {
    /// Its full name.
    pub node: String,
    /// The reason.
    pub why: UnmaintainedReason,
}

/// Reason why a node cannot be maintained now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnmaintainedReason {
    /// The cluster no longer has it.
    Gone,
    /// Somebody has taken it out of use in this way.
    Out(Outage),
    /// It cannot be down, even alone.
    StaysUp(StaysUp),
    /// No other node may be down.
    Enough(NoSafePlan),
    /// It is the master node, and other nodes are left.
    MasterLast,
}

impl From<&BatchRules> for RollingOptions {
    /// The options of a plan under these rules. The nodes that stay up keep their redundancy.
    fn from(rules: &BatchRules) -> RollingOptions {
        RollingOptions {
            offline_maintenance: rules.offline_maintenance,
            ignore_non_redundant: rules.ignore_non_redundant,
            full_evacuation: rules.full_evacuation,
            migrate_shared: rules.migrate_shared,
            honour_run_state: rules.honour_run_state,
            max_down: rules.max_down.and_then(NonZeroUsize::new),
            keeps_redundancy: true,
            upgrade: None,
        }
    }
}

impl BatchPlanner<'_> {
    /// The next batch. The master node comes last.
    ///
    /// # Errors
    /// If a name is not valid in Ganeti.
    pub fn next(&self) -> Result<NextBatch, Impossible> {
        let mut left = Vec::new();
        let mut ready = self.cluster.clone();
        let open = self.open_nodes(&mut ready, &mut left);
        let is_master = |node: &NodeIdx| ready.node(*node).spec.name == self.master;
        let (masters, others): (Vec<NodeIdx>, Vec<NodeIdx>) = open.into_iter().partition(is_master);
        if others.is_empty() {
            return Ok(if masters.is_empty() { NextBatch::End(left) } else { NextBatch::Master(left) });
        }
        let done = self.progress.at(&NodeStage::Done).len();
        let BatchRules { canary, soak, .. } = self.terms.rules;
        if canary > 0 && done >= canary && soak > 0 && !self.has_soaked {
            return Ok(NextBatch::Soak(Duration::from_secs(soak)));
        }
        let most = if done < canary { canary - done } else { usize::MAX };
        // Nodes that an earlier attempt has left out of service come first.
        let is_out = |node: &NodeIdx| self.cluster.node(*node).spec.offline;
        let (out, others): (Vec<NodeIdx>, Vec<NodeIdx>) = others.into_iter().partition(is_out);
        let mut first = None;
        for nodes in [out, others] {
            if first.is_none() && !nodes.is_empty() {
                first = self.first_part(&ready, &nodes, most, &mut left)?;
            }
        }
        match first {
            Some(part) => Ok(NextBatch::Maintain(self.batch(&ready, &part)?)),
            None => {
                left.extend(masters.iter().map(|node| self.left(*node, UnmaintainedReason::MasterLast)));
                Ok(NextBatch::End(left))
            }
        }
    }

    /// The nodes that are to be maintained. Those that this run has drained for an attempt that failed are in use again
    /// in `ready`.
    fn open_nodes(&self, ready: &mut Cluster, left: &mut Vec<Unmaintained>) -> Vec<NodeIdx> {
        let by_name = ByName::of(self.cluster);
        let mut open = Vec::new();
        for (name, stage) in &self.progress.nodes {
            let is_again = *stage == NodeStage::Begun && !self.given_up.contains(name);
            if *stage != NodeStage::Left && !is_again {
                continue;
            }
            let Some(node) = by_name.node(name) else {
                left.push(Unmaintained { node: name.clone(), why: UnmaintainedReason::Gone });
                continue;
            };
            let spec = &mut ready.nodes[node.get()].spec;
            if is_again {
                spec.offline = false;
            }
            if spec.offline {
                left.push(Unmaintained { node: name.clone(), why: UnmaintainedReason::Out(spec.outage) });
            } else {
                open.push(node);
            }
        }
        open.sort_unstable();
        open
    }

    fn left(&self, node: NodeIdx, why: UnmaintainedReason) -> Unmaintained {
        Unmaintained { node: self.cluster.node(node).spec.name.clone(), why }
    }

    /// The first nodes of a plan for all of these, at most `most`.
    fn first_part(
        &self,
        ready: &Cluster,
        nodes: &[NodeIdx],
        most: usize,
        left: &mut Vec<Unmaintained>,
    ) -> Result<Option<Part>, Impossible> {
        let upgrade = self.terms.treatment.upgrade;
        let options = RollingOptions { upgrade, ..RollingOptions::from(&self.terms.rules) };
        let out = self.progress.nodes.iter().filter(|(_, stage)| stage.is_open());
        let down =
            out.filter(|(name, _)| nodes.iter().all(|node| ready.node(*node).spec.name != *name)).count();
        let planner = match SafePlanner::new(ready, nodes, &options, down) {
            Ok(planner) => planner,
            Err(NoSafePlan::NoNodes) => return Ok(None),
            Err(why @ NoSafePlan::EnoughDown { .. }) => {
                left.extend(nodes.iter().map(|node| self.left(*node, UnmaintainedReason::Enough(why))));
                return Ok(None);
            }
        };
        let by_name = ByName::of(ready);
        let upgraded = || self.progress.renewed().filter_map(|name| by_name.node(name));
        let plan = planner.with_upgraded(upgraded()).timed(self.rates, self.limits)?.plan();
        let Some(first) = plan.parts.into_iter().next() else {
            let reason = UnmaintainedReason::StaysUp;
            left.extend(plan.left_out.iter().map(|out| self.left(out.node, reason(out.why))));
            return Ok(None);
        };
        if first.nodes.len() <= most {
            return Ok(Some(first));
        }
        // Fewer nodes have other moves.
        let fewer = &first.nodes[..most];
        let planner = SafePlanner::new(ready, fewer, &options, down).ok();
        Ok(planner.and_then(|planner| planner.with_upgraded(upgraded()).plan(&[]).parts.into_iter().next()))
    }

    fn batch(&self, ready: &Cluster, part: &Part) -> Result<PlannedBatch, Impossible> {
        let strays = ByName::of(ready).strays(ready, self.progress, &part.nodes);
        let left_offline = |node: &&NodeIdx| {
            self.terms.treatment.mark == NodeMark::Offline && self.cluster.node(**node).spec.offline
        };
        let offline: Vec<NodeIdx> = part.nodes.iter().filter(left_offline).copied().collect();
        let batch = Batch {
            cluster: ready,
            nodes: &part.nodes,
            moved: &part.moves,
            stops_all: self.terms.rules.offline_maintenance,
            strays: &strays,
            offline: &offline,
        };
        Ok(PlannedBatch {
            nodes: part.nodes.iter().map(|node| ready.node(*node).spec.name.clone()).collect(),
            kind: BatchKind::Maintain,
            not_redundant: not_redundant(self.cluster),
            work: batch.work(&self.terms.treatment)?,
        })
    }
}
