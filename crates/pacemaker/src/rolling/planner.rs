//! Planning of batches by forecasts.

use std::collections::BTreeSet;

use super::{HeldNode, NodeHold, RollingError, StandbyBatch, StandbyPlan, loss};
use crate::cib::change::CibChange;
use crate::foresight::{ExpectedPlace, Foresight};
use crate::working_set::WorkingSet;
use htools_model::shown::printable;

/// Rules of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StandbyRules {
    /// Number of nodes that can leave the cluster at the same time while the others keep quorum.
    pub spare: usize,
    /// Most nodes of a batch, for other reasons.
    pub most: usize,
    /// Names of the nodes that come last, one after the other in this order.
    pub last: Vec<String>,
}

/// Planner for the cluster of a document.
#[derive(Debug, Clone)]
pub struct StandbyPlanner<'a> {
    text: &'a str,
    source: &'a str,
    rules: &'a StandbyRules,
    /// The cluster without the nodes of a batch in standby.
    base: Foresight,
    /// True if the cluster is in the state of the document; otherwise it is in the final state of `base`.
    is_first: bool,
}

impl<'a> StandbyPlanner<'a> {
    /// A planner for the cluster of a document; `source` names it in errors.
    ///
    /// # Errors
    /// Fails if there is no forecast for the cluster, or if it can start nothing.
    pub fn new(
        text: &'a str,
        source: &'a str,
        rules: &'a StandbyRules,
    ) -> Result<StandbyPlanner<'a>, RollingError> {
        let base = Foresight::of(text, source)?;
        match () {
            () if base.set.without_quorum.is_some() => Err(RollingError::NoQuorum),
            () if base.set.frozen => Err(RollingError::Frozen),
            () if base.end.is_none() => Err(RollingError::Restless),
            () => Ok(StandbyPlanner { text, source, rules, base, is_first: true }),
        }
    }

    /// The cluster as its document describes it.
    pub fn set(&self) -> &WorkingSet {
        &self.base.set
    }

    /// Places of all primitives before a batch, once the cluster is at rest.
    pub fn before(&self) -> Vec<ExpectedPlace> {
        self.base.expected().unwrap_or_else(|| self.base.current())
    }

    /// The first batch among these nodes, at most `most` of them; or the reasons why none of them can be down. Nodes
    /// that come last wait for the others.
    pub fn first(&self, open: &[String], most: usize) -> Result<StandbyBatch, Vec<HeldNode>> {
        let mut held = Vec::new();
        let able: Vec<&String> = open
            .iter()
            .filter(|node| match standing(self.set(), node) {
                Ok(()) => true,
                Err(why) => {
                    held.push(HeldNode { node: (*node).clone(), why });
                    false
                }
            })
            .collect();
        let (last, others): (Vec<&String>, Vec<&String>) =
            able.into_iter().partition(|node| self.rules.last.contains(node));
        if let Some(batch) = self.batch(&others, most, &mut held) {
            return Ok(batch);
        }
        let mut last = last;
        last.sort_by_key(|node| self.rules.last.iter().position(|name| name == *node));
        for node in last {
            if let Some(batch) = self.batch(&[node], most, &mut held) {
                return Ok(batch);
            }
        }
        held.sort_by(|one, other| one.node.cmp(&other.node));
        Err(held)
    }

    /// As many of these nodes as can be down together, in their order. Those that cannot be down alone go to `held`.
    fn batch(&self, nodes: &[&String], most: usize, held: &mut Vec<HeldNode>) -> Option<StandbyBatch> {
        let mut found: Option<StandbyBatch> = None;
        for node in nodes {
            let mut together = found.as_ref().map_or_else(Vec::new, |batch| batch.nodes.clone());
            if found.is_some() && together.len() >= most.min(self.rules.most).min(self.rules.spare) {
                break;
            }
            together.push((*node).clone());
            match self.tried(&together) {
                Ok(outlook) => found = Some(StandbyBatch { nodes: together, outlook }),
                Err(why) if found.is_none() => held.push(HeldNode { node: (*node).clone(), why }),
                Err(_) => {}
            }
        }
        found
    }

    /// The forecast with these nodes in standby, or the reason why they cannot be down together.
    fn tried(&self, nodes: &[String]) -> Result<Foresight, NodeHold> {
        if nodes.len() > self.rules.most {
            return Err(NodeHold::EnoughDown);
        }
        if nodes.len() > self.rules.spare {
            return Err(NodeHold::Quorum);
        }
        let no_forecast =
            |error: &dyn std::fmt::Display| NodeHold::NoForecast(printable(&error.to_string(), 200));
        let text = CibChange::Together(nodes.iter().cloned().map(CibChange::Standby).collect())
            .made_in(self.text, self.source)
            .map_err(|error| no_forecast(&error))?;
        let outlook = match self.is_first {
            true => Foresight::of(&text, self.source),
            false => self.base.after(&text, self.source),
        };
        let outlook = outlook.map_err(|error| no_forecast(&error))?;
        let in_standby = |name: &&String| {
            let mut hosts = outlook.set.hosts.iter();
            hosts.any(|host| host.name == **name && host.state.standby)
        };
        if !nodes.iter().all(|name| in_standby(&name)) {
            return Err(NodeHold::NoStandby);
        }
        if !outlook.circles.is_empty() {
            return Err(NodeHold::Circle);
        }
        let (Some(before), Some(after)) = (self.base.expected(), outlook.expected()) else {
            return Err(NodeHold::Restless);
        };
        let down: BTreeSet<&str> = nodes.iter().map(String::as_str).collect();
        loss(&outlook.set, &before, &after, &down).map_or(Ok(outlook), Err)
    }

    /// Plan for all of these nodes. Each batch is back in use before the next one begins.
    ///
    /// Nodes that cannot be down after the batches before them are tried in the state of the document, too. No forecast
    /// knows the scores that agents set once instances run again, so roles may seem to have no other place.
    ///
    /// # Errors
    /// Fails if there is no forecast for the cluster after a batch.
    pub fn all(mut self, nodes: &[String]) -> Result<StandbyPlan, RollingError> {
        let first = self.base.clone();
        let mut plan = StandbyPlan { batches: Vec::new(), held: Vec::new() };
        let mut open = nodes.to_vec();
        while !open.is_empty() {
            match self.first(&open, usize::MAX) {
                Ok(batch) => {
                    open.retain(|node| !batch.nodes.contains(node));
                    self.base = batch.outlook.after(self.text, self.source)?;
                    self.is_first = false;
                    plan.batches.push(batch);
                    if self.base.end.is_none() {
                        return Err(RollingError::Restless);
                    }
                }
                Err(held) if self.is_first => {
                    plan.held = held;
                    break;
                }
                Err(_) => {
                    self.base = first.clone();
                    self.is_first = true;
                }
            }
        }
        Ok(plan)
    }
}

/// The reason why a node cannot be maintained as it is now, if there is one.
pub(crate) fn standing(set: &WorkingSet, name: &str) -> Result<(), NodeHold> {
    let Some(host) = set.hosts.iter().find(|host| host.name == name) else { return Err(NodeHold::Unknown) };
    let state = host.state;
    match () {
        () if host.guest.is_some_and(|parts| !parts.is_remote_node()) || host.replica => Err(NodeHold::Guest),
        () if !host.is_member() => Err(NodeHold::Remote),
        () if state.unclean => Err(NodeHold::Unclean),
        () if state.joining => Err(NodeHold::Joining),
        () if !state.online => Err(NodeHold::Offline),
        () if state.shutting_down => Err(NodeHold::ShuttingDown),
        () if state.maintenance => Err(NodeHold::Maintenance),
        () => Ok(()),
    }
}
