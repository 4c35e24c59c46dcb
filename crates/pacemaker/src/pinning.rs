//! Brings a cluster to a placement that is not its own, with as few location constraints as possible. The cluster's own
//! strategy must follow them.

use std::collections::BTreeSet;

use super::cib::change::{CibChange, LocationPin, PinSurvey};
pub use super::foresight::{ExpectedPlace, Foresight, ForesightError, NodeInRole, by_resource, current};
use super::foresight::{WantedPlaces, primitives, states_after};
use super::index::{HostIdx, ResourceIdx};
use super::placing::AllPlaced;
use super::promotion::RunState;
use super::working_set::WorkingSet;
use htools_ganeti::input::error::LoadError;
use htools_model::shown::shown_name;

/// Reason why a placement cannot be reached.
#[derive(Debug, thiserror::Error)]
pub enum PinError {
    /// The document cannot be read.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// There is no forecast.
    #[error(transparent)]
    Foresight(#[from] ForesightError),
    /// No constraints lead there.
    #[error("location constraints cannot bring about this placement: even with them, {0}")]
    Unreachable(String),
}

/// The constraints that bring a cluster to a placement.
#[derive(Debug, Clone)]
pub struct Pinning {
    /// The constraints; empty if the cluster gets there by itself.
    pub pins: Vec<LocationPin>,
    /// Forecast for the cluster with the constraints.
    pub outlook: Foresight,
    /// The primitives that leave, stop or change their roles once the constraints are removed.
    pub unkept: Vec<ResourceIdx>,
}

/// Finds the constraints that bring the cluster of a document to the placement `wanted`. They pin the resources that go
/// elsewhere by themselves, and if need be those that are in their way. They are tried with the cluster's own strategy,
/// now and in the final state. Where promotable clones have the wrong roles, the promoted role is pinned first, as other
/// resources may follow it.
///
/// # Errors
/// Fails if the document cannot be read, or if there are no such constraints.
pub fn pin(text: &str, source: &str, wanted: &AllPlaced) -> Result<Pinning, PinError> {
    let outlook = Foresight::of(text, source)?;
    let states = states_after(&outlook.set, wanted);
    pinned(text, source, outlook, &WantedPlaces { states, running_only: false })
}

/// Like [`pin`], for running resources only: `hosts` has the wanted host of each resource. The cluster decides about
/// those that do not run, and about roles: what it would promote by itself is promoted.
///
/// # Errors
/// As [`pin`].
pub fn pin_running(text: &str, source: &str, hosts: Vec<Option<HostIdx>>) -> Result<Pinning, PinError> {
    let outlook = Foresight::of(text, source)?;
    let set = &outlook.set;
    let own = set.by_common_name(|one| outlook.last_states()[one.get()].running());
    let state = |(resource, host): (ResourceIdx, Option<HostIdx>)| {
        let promoted = RunState { host, promoted: true };
        let own = own.get(set.common_name(resource)).filter(|_| host.is_some());
        RunState { host, promoted: own.is_some_and(|own| own.contains(&promoted)) }
    };
    let states = set.resource_indices().zip(hosts).map(state).collect();
    pinned(text, source, outlook, &WantedPlaces { states, running_only: true })
}

/// A constraint that may be needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct PinGoal {
    /// The primitive or group; for the promoted role, the clone.
    resource: ResourceIdx,
    host: HostIdx,
    /// True if it is only about the promoted role.
    promoted: bool,
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
        pinned.extend(movable.iter().filter_map(|one| promotion_goal(&outlook.set, wanted, *one)));
        if pinned.len() == before || all {
            pinned.extend(movable.iter().filter_map(|one| goal(&outlook.set, wanted, *one)));
        }
        if pinned.len() == before {
            if std::mem::replace(&mut all, true) {
                return Err(PinError::Unreachable(described(&outlook, wanted, &astray)));
            }
            continue;
        }
        let mut survey = survey.clone();
        let pin = |goal: &PinGoal| {
            let resource = outlook.set.resource(goal.resource).id.clone();
            let id = survey.id_for(&resource, goal.promoted);
            let node = outlook.set.host(goal.host).name.clone();
            LocationPin { id, resource, node, promoted: goal.promoted }
        };
        pins = pinned.iter().map(pin).collect();
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

/// The constraint that brings a primitive to its wanted host. If the primitive belongs to a group whose members are
/// together, the constraint is about the group and the host of its first member. An instance of a clone cannot be sent
/// to a certain node, and neither can a resource that the document does not name.
fn goal(set: &WorkingSet, wanted: &WantedPlaces, resource: ResourceIdx) -> Option<PinGoal> {
    if set.clone_of(resource).is_some() || set.is_implied(resource) {
        return None;
    }
    let top = set.resource(resource).group.filter(|group| set.keeps_together(*group)).unwrap_or(resource);
    let first = set.primitives(&top).first().copied().filter(|first| set.is_managed(*first))?;
    let host = wanted.states[first.get()].host?;
    Some(PinGoal { resource: top, host, promoted: false })
}

/// The constraint that has a clone promoted on the host where an instance of it should be promoted.
fn promotion_goal(set: &WorkingSet, wanted: &WantedPlaces, part: ResourceIdx) -> Option<PinGoal> {
    let clone = set.clone_of(part).filter(|_| set.is_managed(part))?;
    let RunState { host, promoted } = wanted.states[part.get()];
    host.filter(|_| promoted).map(|host| PinGoal { resource: clone, host, promoted })
}

/// Text that says where the first of the resources that go astray goes.
fn described(outlook: &Foresight, wanted: &WantedPlaces, astray: &[ResourceIdx]) -> String {
    let set = &outlook.set;
    let shown = |state: Option<&RunState>| match state {
        Some(RunState { host: Some(host), promoted }) => {
            let role = if *promoted { "promoted " } else { "" };
            format!("{role}on {}", shown_name(&set.host(*host).name))
        }
        _ => "stopped".to_owned(),
    };
    let Some(first) = astray.first() else { return "it does not come to rest".to_owned() };
    let name = set.common_name(*first);
    let of = |states: &[RunState]| set.by_common_name(|one| states[one.get()].running()).remove(name);
    let (next, end) = (of(&outlook.next).unwrap_or_default(), outlook.end.as_deref().and_then(of));
    let goal = of(&wanted.states).unwrap_or_default();
    let goes = end.filter(|_| next == goal).unwrap_or(next);
    let more = match astray.len() {
        1 => String::new(),
        more => format!(" (and {} more)", more - 1),
    };
    let (goes, goal) = (shown(goes.difference(&goal).next()), shown(goal.difference(&goes).next()));
    format!("{} would be {goes}, not {goal}{more}", shown_name(name))
}

#[cfg(test)]
mod tests {
    use super::super::cib::parse;
    use super::super::place::place;
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
            promoted: false,
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
                let goal = states_after(&set, &placed);
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

    /// The promoted role is sent to the other node, and stays there without the constraint.
    #[test]
    fn a_role_is_pinned_for_what_depends_on_it() {
        let text = include_str!("../../../tests/fixtures/pacemaker/promoted/no-room-for-the-database.xml");
        let role = LocationPin {
            id: "x".to_owned(),
            resource: "disk-clone".to_owned(),
            node: "db2".to_owned(),
            promoted: true,
        };
        let with = CibChange::Pin(vec![role.clone()]).made_in(text, "t").unwrap();
        let wanted = Foresight::of(&with, "t").unwrap().placed;
        let pinning = pin(text, "t", &wanted).unwrap();
        let id = "hplace-disk-clone-promoted".to_owned();
        assert_eq!((pinning.pins, pinning.unkept), (vec![LocationPin { id, ..role }], Vec::new()));
    }
}
