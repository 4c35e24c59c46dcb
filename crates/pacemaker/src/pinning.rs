//! Bringing a cluster to a placement that is not its own: by constraints that its own strategy cannot but follow, as
//! few as it takes.

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

/// How often a cluster may do what it does then before it has to be at rest.
const ROUNDS: usize = 20;

/// Where a resource runs; of one that runs on several nodes there are several.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpectedPlace {
    /// The primitive.
    pub resource: String,
    /// The node; none if it does not run.
    pub node: Option<String>,
}

/// What a cluster does by itself, up to where it has nothing more to do.
#[derive(Debug, Clone)]
pub struct Foresight {
    /// The cluster as its document says.
    pub set: WorkingSet,
    /// Where its own strategy places the resources first.
    pub placed: AllPlaced,
    /// By resource, where it runs when that is done.
    pub next: Vec<Option<HostIdx>>,
    /// By resource, where it runs in the end. None: the cluster never comes to rest.
    pub end: Option<Vec<Option<HostIdx>>>,
    /// The circles in which what is done first waits for itself.
    pub circles: Vec<WaitCircle>,
    /// The cluster then.
    settled: WorkingSet,
}

/// Where every primitive of a cluster runs, in names.
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

/// Why a placement cannot be brought about.
#[derive(Debug, thiserror::Error)]
pub enum PinError {
    /// The document.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The resources cannot be placed.
    #[error(transparent)]
    Placing(#[from] PlacingError),
    /// No constraints lead there.
    #[error("no location constraints bring the cluster there: even with them, {0}")]
    Unreachable(String),
}

impl Foresight {
    /// What the cluster of a document does; `source` is where it is from, for errors.
    ///
    /// # Errors
    /// It is no document of a cluster, or its resources cannot be placed.
    pub fn of(text: &str, source: &str) -> Result<Foresight, PinError> {
        Foresight::from(parse(text, source)?)
    }

    /// The same of a cluster that was read.
    ///
    /// # Errors
    /// Its resources cannot be placed.
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

    /// Where every primitive runs in the end, in names; none if the cluster never comes to rest.
    pub fn expected(&self) -> Option<Vec<ExpectedPlace>> {
        self.end.as_ref().map(|end| places(&self.set, end))
    }

    /// Where every primitive runs when the cluster has done what it would do first, in names.
    pub fn first(&self) -> Vec<ExpectedPlace> {
        places(&self.set, &self.next)
    }

    /// Where every primitive runs now, in names.
    pub fn current(&self) -> Vec<ExpectedPlace> {
        current(&self.set)
    }

    /// What the cluster does once it has come there and a change is made in its document.
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

    /// The primitives that do not come to where they are wanted, or do not stay there. Which instance of a clone is where is
    /// all the same.
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

/// Where resources are to run.
struct WantedPlaces {
    /// By resource; none if it is not to run.
    hosts: Vec<Option<HostIdx>>,
    /// Whether nobody cares for those that are not to run.
    running_only: bool,
}

/// The constraints that bring a cluster to a placement.
#[derive(Debug, Clone)]
pub struct Pinning {
    /// The constraints; none if the cluster comes there by itself.
    pub pins: Vec<LocationPin>,
    /// What the cluster does with them.
    pub outlook: Foresight,
    /// The primitives that leave again when the constraints are taken away, or that are stopped then.
    pub unkept: Vec<ResourceIdx>,
}

/// Finds the constraints that bring the cluster of a document to where `wanted` has the resources: first for those that go
/// elsewhere without them, then for whoever is in their way. They are tried with the cluster's own strategy, now and
/// once all is done.
///
/// # Errors
/// The document, or that there are no such constraints.
pub fn pin(text: &str, source: &str, wanted: &AllPlaced) -> Result<Pinning, PinError> {
    let outlook = Foresight::of(text, source)?;
    let hosts = runs_on(&outlook.set, wanted);
    pinned(text, source, outlook, &WantedPlaces { hosts, running_only: false })
}

/// The same for a placement of what runs: `hosts` has, by resource, where it is to run. What becomes of those that do not run is
/// left to the cluster.
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

/// What a constraint can be about so that a primitive comes to where it is wanted, and where that is: for one in a group
/// whose members are together, the group where its first member is wanted. Nothing sends an instance of a clone to a node of its own.
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

/// By resource, where it runs once the cluster has done what follows from a placement.
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
    // what is no longer configured is gone when it is stopped
    let is_gone =
        |resource: &ResourceIdx| set.resource(*resource).orphaned && hosts[resource.get()].is_none();
    primitives(set).filter(|one| !is_gone(one)).map(place).collect()
}

/// Where the first of those that go astray goes.
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

    /// The placement of a document with constraints, for the one without them.
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
            why.starts_with("no location constraints bring the cluster there: even with them, rsc-"),
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
