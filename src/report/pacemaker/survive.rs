//! Effects of the loss of nodes, for people and as `htools.survival/1`.

use std::collections::BTreeMap;

use serde::Serialize;

use super::json::ScoreView;
use super::text::trimmed;
use super::transition::reason as cause;
use super::{first_few, why as words};
use crate::model::shown::shown_name;
use crate::pacemaker::loss::{Aftermath, HostLoss, aftermath};
use crate::pacemaker::pinning::ForesightError;
use crate::pacemaker::why::PlacementExplainer;
use crate::pacemaker::{AllocationScore, HostIdx, ResourceChanges, ResourceIdx, Strategy, WorkingSet};
use crate::report::form::json::Generator;
use crate::report::form::table::{Align, Table};

pub(crate) const SCHEMA: &str = "htools.survival/1";

/// The losses that were tried in a settled cluster, the worst first.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SurvivalResult<'a> {
    /// The settled cluster.
    pub settled: &'a WorkingSet,
    /// Strategy of its placement.
    pub strategy: Strategy,
    /// Number of hosts that are lost at once.
    pub at_once: usize,
    /// Effects of each loss.
    pub losses: &'a [HostLoss],
    /// Lowest priority at which a stopped resource counts as a failure.
    pub least: AllocationScore,
}

/// Lowest priority that counts unless another is asked for: 1, or 0 if no resource has a priority above 0.
pub(crate) fn least_priority(settled: &WorkingSet) -> AllocationScore {
    let any = settled.resources.iter().any(|resource| resource.priority > AllocationScore::ZERO);
    AllocationScore::of(i64::from(any))
}

impl SurvivalResult<'_> {
    /// Tells if no loss stops a resource that counts, or takes away its promoted role.
    pub(crate) fn survives(&self) -> bool {
        let counts = |resource: &ResourceIdx| self.settled.resource(*resource).priority >= self.least;
        !self.losses.iter().any(|loss| loss.down.iter().chain(&loss.without_promoted).any(counts))
    }

    /// Number of losses after which something stays down.
    pub(super) fn harmful(&self) -> usize {
        self.losses.iter().filter(|loss| loss.is_harmful()).count()
    }

    /// The lines about the worst losses, at most `top` of them.
    ///
    /// # Errors
    /// Those of placing, and those of reading the cluster anew.
    pub(crate) fn lines(&self, top: usize) -> Result<Vec<String>, ForesightError> {
        let what = if self.at_once == 2 { "any two nodes" } else { "any node" };
        let bad = self.harmful();
        let mut lines = vec![format!(
            "Strategy {}: the loss of {what}: {} tried, something stays down after {bad} of them",
            self.strategy,
            self.losses.len()
        )];
        let has_roles = self.settled.has_promotable();
        let counts = ["Down", "Restarted", "Moved"].into_iter().chain(has_roles.then_some("Promoted"));
        let counts = counts.map(|title| (title, Align::Right));
        let mut table = Table::new(
            [("Lost", Align::Left)].into_iter().chain(counts).chain([("Stays down", Align::Left)]),
        );
        for loss in self.losses.iter().take(top) {
            let counts = [&loss.down, &loss.restarted, &loss.moved].into_iter();
            let counts = counts.chain(has_roles.then_some(&loss.promoted)).map(|list| list.len().to_string());
            let row = std::iter::once(self.hosts(loss)).chain(counts);
            let down = if loss.is_harmful() { self.stays_down(loss) } else { "-".to_owned() };
            table.push(row.chain([down]).collect());
        }
        lines.push(String::new());
        lines.extend(trimmed(&table));
        let more = self.losses.len().saturating_sub(top);
        if more > 0 {
            lines.push(format!("... and {more} that are no worse"));
        }
        let promotions: Vec<String> =
            self.losses.iter().take(top).filter_map(|loss| self.promotions(loss)).collect();
        if !promotions.is_empty() {
            lines.push(String::new());
            lines.extend(promotions);
        }
        if let Some(worst) = self.losses.first().filter(|worst| worst.is_harmful()) {
            lines.push(String::new());
            lines.extend(self.reasons(worst)?);
        }
        if self.losses.iter().any(|loss| !loss.quorum) {
            lines.push(String::new());
            lines.push(
                "Warning: after some of these losses, at most half of the nodes are left; \
                 the results hold only if the cluster keeps its quorum"
                    .to_owned(),
            );
        }
        Ok(lines)
    }

    /// The clones of which an instance is promoted after a loss, with the nodes. Numbers of instances change with a
    /// loss, so they would mislead.
    fn promotions(&self, loss: &HostLoss) -> Option<String> {
        let place = |one: &ResourceIdx| {
            let host = self.settled.host(*loss.targets.get(one)?);
            let clone = self.settled.clone_of(*one).unwrap_or(*one);
            Some(format!("{} on {}", shown_name(&self.settled.resource(clone).id), shown_name(&host.name)))
        };
        let mut places: Vec<String> = loss.promoted.iter().filter_map(place).collect();
        places.dedup();
        let promoted = (!places.is_empty()).then(|| first_few(places.into_iter()))?;
        Some(format!("Without {}, Pacemaker promotes {promoted}", self.hosts(loss)))
    }

    /// The reasons that resources stay down after a loss.
    pub(super) fn reasons(&self, loss: &HostLoss) -> Result<Vec<String>, ForesightError> {
        let Aftermath { left, placed, counterparts } = aftermath(self.settled, self.strategy, &loss.hosts)?;
        let in_left = |resource: &ResourceIdx| counterparts.get(resource.get()).copied().flatten();
        let explainer = PlacementExplainer::of(&left, self.strategy, &placed)?;
        let changes = ResourceChanges::of(&left, self.strategy, &placed);
        let reason = |resource: &ResourceIdx| {
            let Some(resource) = in_left(resource) else { return String::new() };
            match placed.host(resource) {
                Some(_) => changes.causes[resource.get()].map_or_else(String::new, |why| cause(&left, why)),
                None => {
                    explainer.why(resource).map_or_else(String::new, |reasons| words::short(&left, &reasons))
                }
            }
        };
        let line = |resource: &ResourceIdx| {
            let of = self.settled.resource(*resource);
            format!("  {}, priority {}: {}", shown_name(&of.id), of.priority, reason(resource))
        };
        let role_line = |clone: &ResourceIdx| {
            let details = self.settled.resource(*clone);
            let parts: Vec<ResourceIdx> = self.settled.primitives(clone).iter().filter_map(in_left).collect();
            let reason = match parts.iter().find(|part| changes.roles[part.get()].is_blocked) {
                Some(_) => "the promotion of its instance waits for another resource that does not run",
                None if parts.iter().all(|part| changes.get(*part).runs_on().is_none()) => {
                    "none of its instances runs"
                }
                None => "no instance that runs has a promotion score of at least 0",
            };
            format!(
                "  {}, priority {}: nothing is promoted: {reason}",
                shown_name(&details.id),
                details.priority
            )
        };
        let head = format!("Without {}:", self.hosts(loss));
        let roles = loss.without_promoted.iter().map(role_line);
        Ok(std::iter::once(head).chain(loss.down.iter().map(line)).chain(roles).collect())
    }

    pub(super) fn hosts(&self, loss: &HostLoss) -> String {
        let names = loss.hosts.iter().map(|host| shown_name(&self.settled.host(*host).name));
        names.collect::<Vec<_>>().join(", ")
    }

    /// The first few names of resources that stay down, and of clones without a promoted instance.
    pub(super) fn stays_down(&self, loss: &HostLoss) -> String {
        let name = |one: &ResourceIdx| shown_name(&self.settled.resource(*one).id).to_string();
        let roles = loss.without_promoted.iter().map(|one| format!("{} (promoted role)", name(one)));
        first_few(loss.down.iter().map(name).chain(roles))
    }

    /// The first few names.
    pub(super) fn names(&self, resources: &[ResourceIdx]) -> String {
        first_few(resources.iter().map(|one| shown_name(&self.settled.resource(*one).id)))
    }

    pub(crate) fn document(&self) -> SurvivalDocument {
        let name = |resource: &ResourceIdx| self.settled.resource(*resource).id.clone();
        let down = |resource: &ResourceIdx| DownResource {
            id: name(resource),
            priority: self.settled.resource(*resource).priority.into(),
        };
        let target = |(resource, host): (&ResourceIdx, &HostIdx)| {
            (name(resource), self.settled.host(*host).name.clone())
        };
        let loss = |loss: &HostLoss| LossView {
            nodes: loss.hosts.iter().map(|host| self.settled.host(*host).name.clone()).collect(),
            down: loss.down.iter().map(down).collect(),
            restarted: loss.restarted.iter().map(name).collect(),
            moved: loss.moved.iter().map(name).collect(),
            promoted: loss.promoted.iter().map(name).collect(),
            without_promoted: loss.without_promoted.iter().map(down).collect(),
            targets: loss.targets.iter().map(target).collect(),
            quorum: loss.quorum,
        };
        SurvivalDocument {
            schema: SCHEMA,
            generator: Generator::this(),
            strategy: self.strategy.as_str(),
            at_once: self.at_once,
            survives: self.survives(),
            losses: self.losses.iter().map(loss).collect(),
        }
    }
}

/// All losses that were tried.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct SurvivalDocument {
    schema: &'static str,
    generator: Generator,
    strategy: &'static str,
    at_once: usize,
    survives: bool,
    losses: Vec<LossView>,
}

#[derive(Debug, Clone, Serialize)]
struct LossView {
    nodes: Vec<String>,
    down: Vec<DownResource>,
    restarted: Vec<String>,
    moved: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    promoted: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    without_promoted: Vec<DownResource>,
    targets: BTreeMap<String, String>,
    quorum: bool,
}

#[derive(Debug, Clone, Serialize)]
struct DownResource {
    id: String,
    priority: ScoreView,
}
