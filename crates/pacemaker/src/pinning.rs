//! Brings a cluster to a placement that is not its own, with as few location constraints as possible. The cluster's own
//! strategy must follow them.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::cib::change::{CibChange, LocationPin, PinSurvey};
use super::cib::parse;
use super::index::{HostIdx, ResourceIdx};
use super::place::{PlacingError, place};
use super::placing::AllPlaced;
use super::transition::{ResourceChange, ResourceChanges, WaitCircle, transition};
use super::working_set::WorkingSet;
use htools_ganeti::input::error::LoadError;
use htools_model::shown::shown_name;

/// Greatest number of rounds until a cluster must be at rest.
const ROUNDS: usize = 20;

/// Place of a resource. One that runs on several nodes has several places.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpectedPlace {
    /// The primitive.
    pub resource: String,
    /// The node; none if it does not run.
    pub node: Option<String>,
}

/// Forecast of a cluster's own actions, until it has nothing more to do.
#[derive(Debug, Clone)]
pub struct Foresight {
    /// The cluster as its document describes it.
    pub set: WorkingSet,
    /// The first placement by its own strategy.
    pub placed: AllPlaced,
    /// By resource, its host once that placement is carried out.
    pub next: Vec<Option<HostIdx>>,
    /// By resource, its host in the end; `None` if the cluster never comes to rest.
    pub end: Option<Vec<Option<HostIdx>>>,
    /// Circles of actions that wait for each other while the first placement is carried out.
    pub circles: Vec<WaitCircle>,
    /// The cluster in the end.
    settled: WorkingSet,
}

/// Hosts of all primitives of a cluster now, in names.
pub fn current(set: &WorkingSet) -> Vec<ExpectedPlace> {
    let active: Vec<Option<HostIdx>> = set.resources.iter().map(|resource| resource.active).collect();
    let mut all = places(set, &active);
    for primitive in set.resources.iter().filter(|primitive| primitive.is_primitive()) {
        let place = |host: &HostIdx| ExpectedPlace {
            resource: primitive.id.clone(),
            node: Some(set.host(*host).name.clone()),
        };
        all.extend(primitive.also_on.iter().map(place));
    }
    all
}

/// Reason why a placement cannot be reached.
#[derive(Debug, thiserror::Error)]
pub enum PinError {
    /// The document cannot be read.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The resources cannot be placed.
    #[error(transparent)]
    Placing(#[from] PlacingError),
    /// No constraints lead there.
    #[error("location constraints cannot bring about this placement: even with them, {0}")]
    Unreachable(String),
}

impl Foresight {
    /// Forecast for the cluster of a document; `source` names the document in errors.
    ///
    /// # Errors
    /// Fails if it is no document of a cluster, or if its resources cannot be placed.
    pub fn of(text: &str, source: &str) -> Result<Foresight, PinError> {
        Foresight::from(parse(text, source)?)
    }

    /// Forecast for a cluster that was already read.
    ///
    /// # Errors
    /// Fails if its resources cannot be placed.
    pub(crate) fn from(set: WorkingSet) -> Result<Foresight, PinError> {
        let placed = place(&set, set.strategy())?;
        let next = runs_on(&set, &placed);
        let mut settled = set.settled(set.strategy(), &placed);
        let (mut before, mut end) = (next.clone(), None);
        for _ in 0..ROUNDS {
            let again = place(&settled, settled.strategy())?;
            let after = runs_on(&settled, &again);
            if after == before {
                end = Some(after);
                break;
            }
            settled = settled.settled(settled.strategy(), &again);
            before = after;
        }
        let circles = transition(&set, set.strategy(), &placed).circles;
        Ok(Foresight { set, placed, next, end, circles, settled })
    }

    /// Hosts of all primitives in the end, in names; `None` if the cluster never comes to rest.
    pub fn expected(&self) -> Option<Vec<ExpectedPlace>> {
        self.end.as_ref().map(|end| places(&self.set, end))
    }

    /// Hosts of all primitives once the first placement is carried out, in names.
    pub fn first(&self) -> Vec<ExpectedPlace> {
        places(&self.set, &self.next)
    }

    /// Hosts of all primitives now, in names.
    pub fn current(&self) -> Vec<ExpectedPlace> {
        current(&self.set)
    }

    /// Forecast for the cluster in its final state, after its document was changed to `text`.
    ///
    /// # Errors
    /// As [`Foresight::of`].
    pub(crate) fn after(&self, text: &str, source: &str) -> Result<Foresight, PinError> {
        let mut set = parse(text, source)?;
        for (resource, there) in set.resources.iter_mut().zip(&self.settled.resources) {
            resource.also_on.clone_from(&there.also_on);
            resource.left_on.clone_from(&there.left_on);
            (resource.sent_to, resource.revision) = (there.sent_to, there.revision);
            resource.others_lost = there.others_lost;
            resource.kept_on.clone_from(&there.kept_on);
            (resource.active, resource.condition) = (there.active, there.condition);
        }
        for (host, there) in set.hosts.iter_mut().zip(&self.settled.hosts) {
            host.unfencing = there.unfencing;
        }
        set.set_scores();
        Foresight::from(set)
    }

    /// The primitives that do not get to their wanted hosts, or do not stay there. Instances of a clone are
    /// interchangeable.
    fn astray(&self, wanted: &WantedPlaces) -> Vec<ResourceIdx> {
        let places = self.set.by_common_name(|one| wanted.hosts[one.get()]);
        let ways = [Some(&self.next), self.end.as_ref()].into_iter().flatten();
        let found: Vec<_> = ways.map(|hosts| self.set.by_common_name(|one| hosts[one.get()])).collect();
        let is_wrong = |resource: &ResourceIdx| {
            let name = self.set.common_name(*resource);
            found.iter().any(|found| {
                if wanted.running_only {
                    !found[name].is_superset(&places[name])
                } else {
                    found[name] != places[name]
                }
            })
        };
        primitives(&self.set).filter(is_wrong).collect()
    }
}

struct WantedPlaces {
    /// By resource; `None` if it should not run.
    hosts: Vec<Option<HostIdx>>,
    /// True if resources that should not run are ignored.
    running_only: bool,
}

/// The constraints that bring a cluster to a placement.
#[derive(Debug, Clone)]
pub struct Pinning {
    /// The constraints; empty if the cluster gets there by itself.
    pub pins: Vec<LocationPin>,
    /// Forecast for the cluster with the constraints.
    pub outlook: Foresight,
    /// The primitives that leave or stop once the constraints are removed.
    pub unkept: Vec<ResourceIdx>,
}

/// Finds the constraints that bring the cluster of a document to the placement `wanted`. They pin the resources that go
/// elsewhere by themselves, and if need be those that are in their way. They are tried with the cluster's own strategy,
/// now and in the final state.
///
/// # Errors
/// Fails if the document cannot be read, or if there are no such constraints.
pub fn pin(text: &str, source: &str, wanted: &AllPlaced) -> Result<Pinning, PinError> {
    let outlook = Foresight::of(text, source)?;
    let hosts = runs_on(&outlook.set, wanted);
    pinned(text, source, outlook, &WantedPlaces { hosts, running_only: false })
}

/// Like [`pin`], for running resources only: `hosts` has the wanted host of each resource. The cluster decides about
/// those that do not run.
///
/// # Errors
/// As [`pin`].
pub fn pin_running(text: &str, source: &str, hosts: Vec<Option<HostIdx>>) -> Result<Pinning, PinError> {
    pinned(text, source, Foresight::of(text, source)?, &WantedPlaces { hosts, running_only: true })
}

fn pinned(
    text: &str,
    source: &str,
    mut outlook: Foresight,
    wanted: &WantedPlaces,
) -> Result<Pinning, PinError> {
    let survey = PinSurvey::of(text, source)?;
    let (mut pins, mut pinned, mut all) = (Vec::new(), BTreeSet::new(), false);
    loop {
        let astray = outlook.astray(wanted);
        if astray.is_empty() && outlook.end.is_some() {
            break;
        }
        let before = pinned.len();
        let movable: Vec<ResourceIdx> = if all { primitives(&outlook.set).collect() } else { astray.clone() };
        pinned.extend(movable.iter().filter_map(|one| goal(&outlook.set, &wanted.hosts, *one)));
        if pinned.len() == before {
            if std::mem::replace(&mut all, true) {
                return Err(PinError::Unreachable(described(&outlook, &wanted.hosts, &astray)));
            }
            continue;
        }
        let mut survey = survey.clone();
        pins = pinned
            .iter()
            .map(|(resource, host)| {
                let resource = outlook.set.resource(*resource).id.clone();
                let id = survey.id_for(&resource);
                LocationPin { id, resource, node: outlook.set.host(*host).name.clone() }
            })
            .collect();
        outlook = Foresight::of(&CibChange::Pin(pins.clone()).made_in(text, source)?, source)?;
    }
    let unkept = if pins.is_empty() {
        Vec::new()
    } else {
        let bare = CibChange::Unpin(pins.clone()).made_in(text, source)?;
        outlook.after(&bare, source)?.astray(wanted)
    };
    Ok(Pinning { pins, outlook, unkept })
}

/// Resource and host of a constraint that brings a primitive to its wanted host. If the primitive belongs to a group
/// whose members are together, the constraint is about the group and the host of its first member. An instance of a
/// clone cannot be sent to a certain node.
fn goal(
    set: &WorkingSet,
    wanted: &[Option<HostIdx>],
    resource: ResourceIdx,
) -> Option<(ResourceIdx, HostIdx)> {
    if set.clone_of(resource).is_some() {
        return None;
    }
    let top = set.resource(resource).group.filter(|group| set.keeps_together(*group)).unwrap_or(resource);
    let first = set.primitives(&top).first().copied().filter(|first| set.is_managed(*first))?;
    wanted[first.get()].map(|host| (top, host))
}

/// By resource, its host once the cluster has carried out a placement.
fn runs_on(set: &WorkingSet, placed: &AllPlaced) -> Vec<Option<HostIdx>> {
    if set.frozen {
        return set.resources.iter().map(|resource| resource.active).collect();
    }
    let changes = ResourceChanges::of(set, set.strategy(), placed).by_resource;
    changes.into_iter().map(ResourceChange::runs_on).collect()
}

fn primitives(set: &WorkingSet) -> impl Iterator<Item = ResourceIdx> + '_ {
    set.resource_indices().filter(|resource| set.resource(*resource).is_primitive())
}

fn places(set: &WorkingSet, hosts: &[Option<HostIdx>]) -> Vec<ExpectedPlace> {
    let place = |resource: ResourceIdx| ExpectedPlace {
        resource: set.common_name(resource).to_owned(),
        node: hosts[resource.get()].map(|host| set.host(host).name.clone()),
    };
    // A resource that is no longer configured is gone once it is stopped.
    let is_gone =
        |resource: &ResourceIdx| set.resource(*resource).orphaned && hosts[resource.get()].is_none();
    primitives(set).filter(|one| !is_gone(one)).map(place).collect()
}

/// Text that says where the first of the resources that go astray goes.
fn described(outlook: &Foresight, wanted: &[Option<HostIdx>], astray: &[ResourceIdx]) -> String {
    let place = |host: Option<HostIdx>| match host {
        Some(host) => format!("on {}", shown_name(&outlook.set.host(host).name)),
        None => "stopped".to_owned(),
    };
    let Some(first) = astray.first() else { return "it does not come to rest".to_owned() };
    let at = first.get();
    let goes = match outlook.end.as_ref().map(|end| end[at]) {
        Some(end) if outlook.next[at] == wanted[at] => end,
        _ => outlook.next[at],
    };
    let name = shown_name(&outlook.set.resource(*first).id);
    let more = match astray.len() {
        1 => String::new(),
        more => format!(" (and {} more)", more - 1),
    };
    format!("{name} would be {}, not {}{more}", place(goes), place(wanted[at]))
}

#[cfg(test)]
mod tests {
    use super::super::working_set::Strategy;
    use super::*;

    const SMALL: &str = include_str!("../../../data/pacemaker-small.xml");
    const SIX: &str = include_str!("../../../data/pacemaker-six-nodes.xml");

    /// Placement of a document with additional constraints.
    fn wanted(text: &str, pins: &[(&str, &str)]) -> AllPlaced {
        let pin = |(resource, node): &(&str, &str)| LocationPin {
            id: format!("x-{resource}"),
            resource: (*resource).to_owned(),
            node: (*node).to_owned(),
        };
        let pins = CibChange::Pin(pins.iter().map(pin).collect());
        Foresight::of(&pins.made_in(text, "t").unwrap(), "t").unwrap().placed
    }

    fn ids(pins: &[LocationPin]) -> Vec<(&str, &str)> {
        pins.iter().map(|pin| (pin.resource.as_str(), pin.node.as_str())).collect()
    }

    #[test]
    fn what_pacemaker_does_by_itself_needs_nothing() {
        let pinning = pin(SMALL, "t", &wanted(SMALL, &[])).unwrap();
        assert_eq!((pinning.pins, pinning.unkept), (Vec::new(), Vec::new()));
    }

    #[test]
    fn all_three_run_with_constraints_and_stay_with_stickiness() {
        let pins = [("rsc-medium", "node1"), ("rsc-large", "node2")];
        let wanted = wanted(SMALL, &pins);
        let pinning = pin(SMALL, "t", &wanted).unwrap();
        assert_eq!(ids(&pinning.pins), pins);
        assert_eq!(pinning.outlook.end.as_ref(), Some(&pinning.outlook.next));
        // nothing holds them without stickiness
        assert!(!pinning.unkept.is_empty());
        let sticky = r#"<constraints/><rsc_defaults><meta_attributes id="d"><nvpair id="d-s" name="resource-stickiness" value="1"/></meta_attributes></rsc_defaults>"#;
        let sticky = SMALL.replace("<constraints/>", sticky);
        let pinning = pin(&sticky, "t", &wanted).unwrap();
        assert_eq!((ids(&pinning.pins), pinning.unkept), (pins.to_vec(), Vec::new()));
    }

    #[test]
    fn what_cannot_be_is_said() {
        let set = parse(SMALL, "t").unwrap();
        let default = place(&set, Strategy::Default).unwrap();
        let why = pin(SMALL, "t", &default).unwrap_err().to_string();
        assert!(
            why.starts_with("location constraints cannot bring about this placement: even with them, rsc-"),
            "{why}"
        );
    }

    /// Every placement of the other strategies that respects capacities can be reached in the cluster of six nodes, and
    /// the constraints are few.
    #[test]
    fn placements_of_other_strategies() {
        for own in Strategy::WORDS.iter().filter(|word| **word != "default") {
            let text = SIX.replace(r#"value="balanced""#, &format!(r#"value="{own}""#));
            let set = parse(&text, "t").unwrap();
            for other in [Strategy::Utilization, Strategy::Balanced, Strategy::Minimal] {
                let placed = place(&set, other).unwrap();
                let Ok(pinning) = pin(&text, "t", &placed) else { panic!("{own} to {other}") };
                let goal = runs_on(&set, &placed);
                assert_eq!(pinning.outlook.end.as_ref(), Some(&goal), "{own} to {other}");
                assert_eq!(pinning.pins.is_empty(), Foresight::of(&text, "t").unwrap().end == Some(goal));
            }
        }
    }

    #[test]
    fn clones_follow_by_themselves() {
        let text = include_str!("../../../tests/fixtures/pacemaker/clones/storage-and-vms.xml");
        let set = parse(text, "t").unwrap();
        let wanted = wanted(text, &[("vm1", "node3"), ("vm3", "node1")]);
        let pinning = pin(text, "t", &wanted).unwrap();
        assert_eq!(ids(&pinning.pins), [("vm1", "node3"), ("vm3", "node1")]);
        let expected = pinning.outlook.expected().unwrap();
        let storage: Vec<_> = expected.iter().filter(|place| place.resource == "storage").collect();
        assert_eq!(storage.len(), 3);
        assert!(set.clones().next().is_some());
    }
}
