//! Forecast of a cluster's own actions until it is at rest: places and roles of all primitives.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::{Deserialize, Serialize};

use super::cib::parse;
use super::index::{HostIdx, ResourceIdx};
use super::new_status::{carried_out, with_status_of};
use super::place::{PlacingError, place};
use super::placing::AllPlaced;
use super::promotion::RunState;
use super::transition::{ResourceChange, ResourceChanges, WaitCircle, transition};
use super::working_set::{Resource, Strategy, Unsupported, WorkingSet};
use htools_ganeti::input::error::LoadError;

/// Greatest number of rounds until a cluster must be at rest.
const ROUNDS: usize = 20;

/// Place and role of a resource. One that runs on several nodes has several places.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpectedPlace {
    /// The primitive.
    pub resource: String,
    /// The node; none if it does not run.
    pub node: Option<String>,
    /// True if it is promoted there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub promoted: bool,
}

/// A node on which a resource runs, and its role there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct NodeInRole<'a> {
    /// The node.
    pub node: &'a str,
    /// True if it is promoted there.
    pub promoted: bool,
}

/// The nodes of each resource, and its roles there.
pub fn by_resource(places: &[ExpectedPlace]) -> BTreeMap<&str, BTreeSet<NodeInRole<'_>>> {
    let mut nodes: BTreeMap<&str, BTreeSet<NodeInRole<'_>>> = BTreeMap::new();
    for ExpectedPlace { resource, node, promoted } in places {
        let place = node.as_deref().map(|node| NodeInRole { node, promoted: *promoted });
        nodes.entry(resource).or_default().extend(place);
    }
    nodes
}

/// Reason why there is no forecast for a cluster.
#[derive(Debug, thiserror::Error)]
pub enum ForesightError {
    /// The document cannot be read.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The resources cannot be placed.
    #[error(transparent)]
    Placing(#[from] PlacingError),
    /// The loss of hosts leads to a state that is not supported.
    #[error("without {lost}: {} '{}' is not supported: {}", what.element, what.id, what.reason)]
    Unsupported {
        /// The names of the lost hosts.
        lost: String,
        /// The element, and why it is not supported.
        what: Unsupported,
    },
}

/// Forecast of a cluster's own actions, until it has nothing more to do.
#[derive(Debug, Clone)]
pub struct Foresight {
    /// The cluster as its document describes it.
    pub set: WorkingSet,
    /// The first placement by its own strategy.
    pub placed: AllPlaced,
    /// By resource, its state once that placement is carried out.
    pub next: Vec<RunState>,
    /// By resource, its state in the end; `None` if the cluster never comes to rest. Instances of a clone may have other
    /// numbers then.
    pub end: Option<Vec<RunState>>,
    /// Circles of actions that wait for each other while the first placement is carried out.
    pub circles: Vec<WaitCircle>,
    /// The cluster in the end.
    settled: WorkingSet,
    /// Its document, if it has guest nodes, remote nodes or bundles.
    rest: Option<String>,
}

/// Places of all primitives of a cluster now, in names.
pub fn current(set: &WorkingSet) -> Vec<ExpectedPlace> {
    let mut all = places(set, &states_now(set));
    for primitive in set.resources.iter().filter(|primitive| primitive.is_primitive()) {
        let place = |host: &HostIdx| ExpectedPlace {
            resource: primitive.id.clone(),
            node: Some(set.host(*host).name.clone()),
            promoted: false,
        };
        all.extend(primitive.also_on.iter().map(place));
    }
    all
}

impl Foresight {
    /// Forecast for the cluster of a document; `source` names the document in errors.
    ///
    /// # Errors
    /// Fails if it is no document of a cluster, or if its resources cannot be placed.
    pub fn of(text: &str, source: &str) -> Result<Foresight, ForesightError> {
        let set = parse(text, source)?;
        match set.has_guests_or_bundles() {
            true => Foresight::read_anew(set, text, source),
            false => Foresight::from(set),
        }
    }

    /// Forecast for a cluster with guest nodes, remote nodes or bundles. Its document is written and read again after
    /// each placement.
    fn read_anew(set: WorkingSet, text: &str, source: &str) -> Result<Foresight, ForesightError> {
        let placed = place(&set, set.strategy())?;
        let next = states_after(&set, &placed);
        let circles = transition(&set, set.strategy(), &placed).circles;
        let Rest { settled, text, is_quiet } =
            Rest::of(set.clone(), text, source, &parse, set.strategy(), &placed)?;
        let states = settled.resources.iter().zip(states_now(&settled));
        let by_id: HashMap<&str, RunState> =
            states.map(|(details, state)| (details.id.as_str(), state)).collect();
        let nowhere = RunState { host: None, promoted: false };
        let in_the_end = |details: &Resource| {
            by_id.get(details.id.as_str()).and_then(|state| state.running()).unwrap_or(nowhere)
        };
        let end = is_quiet.then(|| set.resources.iter().map(in_the_end).collect());
        Ok(Foresight { set, placed, next, end, circles, settled, rest: Some(text) })
    }

    /// Forecast for a cluster that was already read.
    ///
    /// # Errors
    /// Fails if its resources cannot be placed.
    pub(crate) fn from(set: WorkingSet) -> Result<Foresight, ForesightError> {
        let placed = place(&set, set.strategy())?;
        let next = states_after(&set, &placed);
        let mut settled = set.settled(set.strategy(), &placed);
        let mut end = None;
        for _ in 0..ROUNDS {
            let again = place(&settled, settled.strategy())?;
            let after = states_after(&settled, &again);
            if after == states_now(&settled) {
                end = Some(after);
                break;
            }
            settled = settled.settled(settled.strategy(), &again);
        }
        let circles = transition(&set, set.strategy(), &placed).circles;
        Ok(Foresight { set, placed, next, end, circles, settled, rest: None })
    }

    /// Places of all primitives in the end, in names; `None` if the cluster never comes to rest.
    pub fn expected(&self) -> Option<Vec<ExpectedPlace>> {
        self.end.as_ref().map(|end| places(&self.set, end))
    }

    /// Places of all primitives once the first placement is carried out, in names.
    pub fn first(&self) -> Vec<ExpectedPlace> {
        places(&self.set, &self.next)
    }

    /// Places of all primitives now, in names.
    pub fn current(&self) -> Vec<ExpectedPlace> {
        current(&self.set)
    }

    /// The state in which the primitives are in the end, or after the first placement if the cluster never comes to
    /// rest.
    pub(super) fn last_states(&self) -> &[RunState] {
        self.end.as_deref().unwrap_or(&self.next)
    }

    /// Forecast for the cluster in its final state, after its document was changed to `text`.
    ///
    /// # Errors
    /// As [`Foresight::of`].
    pub(crate) fn after(&self, text: &str, source: &str) -> Result<Foresight, ForesightError> {
        if let Some(rest) = &self.rest {
            return Foresight::of(&with_status_of(text, rest, source)?, source);
        }
        let mut set = parse(text, source)?;
        for (resource, there) in set.resources.iter_mut().zip(&self.settled.resources) {
            resource.also_on.clone_from(&there.also_on);
            resource.left_on.clone_from(&there.left_on);
            (resource.sent_to, resource.revision) = (there.sent_to, there.revision);
            resource.others_lost = there.others_lost;
            resource.failed_inside = there.failed_inside;
            resource.kept_on.clone_from(&there.kept_on);
            (resource.active, resource.condition) = (there.active, there.condition);
            (resource.promoted, resource.demoted) = (there.promoted, there.demoted);
            (resource.unpromoted, resource.promotion_failed) = (there.unpromoted, there.promotion_failed);
            if let (Some(own), Some(there)) = (&mut resource.promotion, &there.promotion) {
                own.wishes.clone_from(&there.wishes);
                own.has_extra = there.has_extra;
            }
        }
        for (host, there) in set.hosts.iter_mut().zip(&self.settled.hosts) {
            host.unfencing = there.unfencing;
        }
        set.set_scores();
        Foresight::from(set)
    }

    /// The primitives that do not get to their wanted states, or do not stay in them. Instances of a clone are
    /// interchangeable.
    pub(super) fn astray(&self, wanted: &WantedPlaces) -> Vec<ResourceIdx> {
        let places = self.set.by_common_name(|one| wanted.states[one.get()].running());
        let ways = [Some(&self.next), self.end.as_ref()].into_iter().flatten();
        let found: Vec<_> =
            ways.map(|states| self.set.by_common_name(|one| states[one.get()].running())).collect();
        let is_wrong = |resource: &ResourceIdx| {
            let name = self.set.common_name(*resource);
            let lacks = |found: &BTreeSet<RunState>| match wanted.running_only {
                true => !found.is_superset(&places[name]),
                false => *found != places[name],
            };
            found.iter().any(|found| lacks(&found[name]))
        };
        primitives(&self.set).filter(is_wrong).collect()
    }
}

/// A cluster after its own actions.
pub(super) struct Rest {
    /// The cluster.
    pub(super) settled: WorkingSet,
    /// Its document.
    pub(super) text: String,
    /// True if it has nothing more to do.
    pub(super) is_quiet: bool,
}

impl Rest {
    /// Lets a cluster carry out its placements one after the other.
    pub(super) fn of(
        set: WorkingSet,
        text: &str,
        source: &str,
        read: &dyn Fn(&str, &str) -> Result<WorkingSet, LoadError>,
        strategy: Strategy,
        placed: &AllPlaced,
    ) -> Result<Rest, ForesightError> {
        let mut text = carried_out(text, source, &set, strategy, placed)?;
        let mut settled = read(&text, source)?;
        for _ in 0..ROUNDS {
            let again = place(&settled, strategy)?;
            if states_after(&settled, &again) == states_now(&settled) {
                return Ok(Rest { settled, text, is_quiet: true });
            }
            text = carried_out(&text, source, &settled, strategy, &again)?;
            settled = read(&text, source)?;
        }
        Ok(Rest { settled, text, is_quiet: false })
    }
}

/// States to which a cluster is to be brought.
pub(super) struct WantedPlaces {
    /// By resource; without a host if it should not run.
    pub(super) states: Vec<RunState>,
    /// True if resources that should not run are ignored.
    pub(super) running_only: bool,
}

/// By resource, its state now. Groups and clones have none.
fn states_now(set: &WorkingSet) -> Vec<RunState> {
    let state = |resource: ResourceIdx| {
        let details = set.resource(resource);
        let host = details.active.filter(|_| details.is_primitive());
        RunState { host, promoted: details.promoted && host.is_some() }
    };
    set.resource_indices().map(state).collect()
}

/// By resource, its state once the cluster has carried out a placement.
pub(super) fn states_after(set: &WorkingSet, placed: &AllPlaced) -> Vec<RunState> {
    if set.frozen {
        return states_now(set);
    }
    let changes = ResourceChanges::of(set, set.strategy(), placed);
    let hosts = changes.by_resource.into_iter().map(ResourceChange::runs_on);
    let state =
        |(host, promoted): (Option<HostIdx>, bool)| RunState { host, promoted: promoted && host.is_some() };
    hosts.zip(changes.roles.iter().map(|role| role.ends_promoted)).map(state).collect()
}

pub(super) fn primitives(set: &WorkingSet) -> impl Iterator<Item = ResourceIdx> + '_ {
    set.resource_indices().filter(|resource| set.resource(*resource).is_primitive())
}

fn places(set: &WorkingSet, states: &[RunState]) -> Vec<ExpectedPlace> {
    let place = |resource: ResourceIdx| ExpectedPlace {
        resource: set.common_name(resource).to_owned(),
        node: states[resource.get()].host.map(|host| set.host(host).name.clone()),
        promoted: states[resource.get()].promoted,
    };
    // A resource that is no longer configured is gone once it is stopped.
    let is_gone =
        |resource: &ResourceIdx| set.resource(*resource).orphaned && states[resource.get()].host.is_none();
    primitives(set).filter(|one| !is_gone(one)).map(place).collect()
}
