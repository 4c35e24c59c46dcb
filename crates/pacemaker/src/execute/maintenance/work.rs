//! The work of one batch: its nodes are emptied, maintained, checked and used again.

use std::collections::BTreeMap;
use std::time::Duration;

use super::checks::{gate_problem, loss_of};
use super::looks::NodeWatch;
use super::run::CibMaintenanceRun;
use super::{CibBatch, CibMaintenanceEvent, CibMaintenanceRecord, CibNodeStage};
use crate::cib::change::CibChange;
use crate::cib::parse;
use crate::execute::difference;
use crate::execute::surroundings::{SOURCE, compare};
use crate::pinning::{Foresight, current};
use htools_ganeti::execute::Ending;
use htools_ganeti::execute::maintenance::AfterFailure;

/// Interval at which nodes are looked at.
const LOOK: Duration = Duration::from_secs(2);

impl CibMaintenanceRun<'_> {
    /// Works through the last batch. Returns true if a node has failed.
    pub(super) fn work(&mut self) -> Result<bool, Ending> {
        let Some(batch) = self.read.batches.last().cloned() else { return Ok(false) };
        let failed = self.given_up.len();
        self.empty(&batch)?;
        self.maintain(&batch)?;
        self.gate(&batch)?;
        self.give_back(&batch)?;
        Ok(self.given_up.len() > failed)
    }

    /// The nodes of a batch in a stage that have not failed.
    pub(super) fn ready(&self, batch: &CibBatch, stage: CibNodeStage) -> Vec<String> {
        let is_ready =
            |node: &&String| self.read.stage(node) == Some(stage) && !self.given_up.contains(*node);
        batch.nodes.iter().filter(is_ready).cloned().collect()
    }

    /// Gives nodes up.
    pub(super) fn fail(&mut self, nodes: &[String], why: String) -> Result<(), Ending> {
        self.host.event(&CibMaintenanceEvent::Failed(nodes.to_vec(), why.clone()));
        self.given_up.extend(nodes.iter().cloned());
        self.record(&CibMaintenanceRecord::Failed { nodes: nodes.to_vec(), why })
    }

    /// Puts nodes in standby, and compares the cluster with the forecast. If it differs, they are used again.
    fn empty(&mut self, batch: &CibBatch) -> Result<(), Ending> {
        let nodes = self.ready(batch, CibNodeStage::Standby);
        if nodes.is_empty() {
            return Ok(());
        }
        self.host.event(&CibMaintenanceEvent::Emptying(nodes.clone()));
        let change = CibChange::Together(nodes.iter().cloned().map(CibChange::Standby).collect());
        let result = match self.make(&change)? {
            Ok(()) => match self.rest() {
                Err(Ending::Interrupted) => {
                    self.call_off(&nodes)?;
                    return Err(Ending::Interrupted);
                }
                rested => rested?,
            },
            problem => problem,
        };
        let result = match result {
            Ok(()) => compare(&batch.expected, &self.ask()?),
            problem => problem,
        };
        match result {
            Ok(()) => self.record(&CibMaintenanceRecord::Emptied {}),
            Err(why) => {
                self.fail(&nodes, why)?;
                self.call_off(&nodes)
            }
        }
    }

    /// The change that ends the standby of nodes, apart from those that were in standby before.
    fn online(&self, nodes: &[String]) -> CibChange {
        let ours = nodes.iter().filter(|node| !self.read.was_in_standby(node));
        CibChange::Together(ours.cloned().map(CibChange::Online).collect())
    }

    /// Uses nodes again that were not maintained.
    pub(super) fn call_off(&mut self, nodes: &[String]) -> Result<(), Ending> {
        let change = self.online(nodes);
        self.make(&change)?.map_err(Ending::Lost)?;
        self.record(&CibMaintenanceRecord::Recalled { nodes: nodes.to_vec() })?;
        self.host.event(&CibMaintenanceEvent::CalledOff(nodes.to_vec()));
        if !self.host.wants_to_stop()
            && let Err(why) = self.rest()?
        {
            self.host.event(&CibMaintenanceEvent::Warning(why));
        }
        Ok(())
    }

    /// Maintains the nodes of a batch at the same time, until each has passed its health check or has failed.
    fn maintain(&mut self, batch: &CibBatch) -> Result<(), Ending> {
        let mut watches: BTreeMap<String, NodeWatch> = BTreeMap::new();
        loop {
            let is_under_way = |node: &&String| {
                let stage = self.read.stage(node);
                let is_open = stage.is_some_and(|stage| stage.is_open() && stage != CibNodeStage::Healthy);
                is_open && !self.given_up.contains(*node)
            };
            let nodes: Vec<String> = batch.nodes.iter().filter(is_under_way).cloned().collect();
            if nodes.is_empty() {
                return Ok(());
            }
            if self.host.wants_to_stop() {
                let idle = self.ready(batch, CibNodeStage::Emptied);
                if !idle.is_empty() {
                    self.call_off(&idle)?;
                }
                return Err(Ending::Interrupted);
            }
            // A cluster that does not answer now may be electing a coordinator: nothing is known then.
            let document = self.client.document().ok();
            let set = document.and_then(|text| parse(&text, SOURCE).ok());
            for node in nodes {
                let now = self.host.now();
                let watch = watches.entry(node.clone()).or_insert_with(|| NodeWatch::new(now));
                self.look(batch, &node, set.as_ref(), watch)?;
            }
            self.host.pause(LOOK);
        }
    }

    /// Checks the cluster before the nodes of a batch count as back, repeatedly if need be.
    fn gate(&mut self, batch: &CibBatch) -> Result<(), Ending> {
        let nodes = self.ready(batch, CibNodeStage::Healthy);
        if nodes.is_empty() {
            return Ok(());
        }
        self.host.event(&CibMaintenanceEvent::Checking(nodes.clone()));
        let limit = Duration::from_secs(self.read.header.terms.limits.check);
        let end = self.host.now() + limit;
        loop {
            let problem = match self.rest()? {
                Err(why) => Some(why),
                Ok(()) => {
                    let document = self.ask()?;
                    match parse(&document, SOURCE) {
                        Ok(set) => gate_problem(&set, batch, &nodes),
                        Err(error) => Some(error.to_string()),
                    }
                }
            };
            let Some(why) = problem else { return Ok(()) };
            if self.host.now() >= end {
                return if self.read.header.terms.after_failure == AfterFailure::Continue {
                    self.host.event(&CibMaintenanceEvent::Warning(why));
                    Ok(())
                } else {
                    self.fail(&nodes, why)
                };
            }
            if self.host.wants_to_stop() {
                return Err(Ending::Interrupted);
            }
            self.host.pause(LOOK);
        }
    }

    /// Uses the nodes of a batch again, and compares the cluster with the forecast. Resources may be elsewhere than
    /// forecast, as agents set scores when they start; but none may be lost.
    fn give_back(&mut self, batch: &CibBatch) -> Result<(), Ending> {
        let nodes = self.ready(batch, CibNodeStage::Healthy);
        if nodes.is_empty() {
            return Ok(());
        }
        self.host.event(&CibMaintenanceEvent::Returning(nodes.clone()));
        let change = self.online(&nodes);
        let document = self.ask()?;
        let made = change.made_in(&document, SOURCE).map_err(|error| error.to_string());
        let outlook = made.and_then(|made| Foresight::of(&made, SOURCE).map_err(|error| error.to_string()));
        self.make(&change)?.map_err(Ending::Lost)?;
        let rested = self.rest()?;
        let document = self.ask()?;
        self.record(&CibMaintenanceRecord::Returned { nodes: nodes.clone() })?;
        let problem = match (rested, parse(&document, SOURCE)) {
            (Err(why), _) => Some(why),
            (_, Err(error)) => Some(error.to_string()),
            (Ok(()), Ok(set)) => {
                let now = current(&set);
                let expected = outlook.map(|outlook| outlook.expected());
                if let Ok(Some(expected)) = &expected
                    && let Some(other) = difference(expected, &now)
                {
                    self.host.event(&CibMaintenanceEvent::Warning(format!("not as forecast: {other}")));
                }
                let is_out = |node: &&String| self.read.stage(node).is_some_and(CibNodeStage::is_open);
                let down = self.given_up.iter().filter(is_out).map(String::as_str).collect();
                loss_of(&set, batch, &down)
            }
        };
        match problem {
            None => self.host.event(&CibMaintenanceEvent::Returned(nodes)),
            Some(why) if self.read.header.terms.after_failure == AfterFailure::Continue => {
                self.host.event(&CibMaintenanceEvent::Warning(why));
            }
            Some(why) => self.fail(&nodes, why)?,
        }
        Ok(())
    }
}
