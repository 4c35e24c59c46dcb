//! The transition graph as a document for programs.

use serde::Serialize;

use super::key;
use crate::pacemaker::transition::checker::excesses;
use crate::pacemaker::transition::{ResourceChange, Transition, WaitReason};
use crate::pacemaker::{HostIdx, WorkingSet};
use crate::plan::graph::{Edge, StepIdx, Strength};
use crate::report::pacemaker::changes::ResourceAction;

/// A transition. Steps are counted from 0.
#[derive(Debug, Clone, Serialize)]
pub struct TransitionDocument<'a> {
    /// Changes of resources; unchanged ones are left out.
    changes: Vec<ChangeDocument<'a>>,
    steps: Vec<ActionDocument<'a>>,
    edges: Vec<WaitDocument<'a>>,
    /// Waits that are dropped, as the migration would wait for itself.
    dropped: Vec<WaitDocument<'a>>,
    /// Hosts whose capacity may be exceeded in the meantime.
    overfull: Vec<ExcessDocument<'a>>,
    /// Steps that are never executed, as they wait for each other.
    stuck: Vec<StepIdx>,
}

#[derive(Debug, Clone, Serialize)]
struct ChangeDocument<'a> {
    resource: &'a str,
    change: &'static str,
    from: Option<&'a str>,
    to: Option<&'a str>,
    cause: Option<ReasonDocument<'a>>,
}

#[derive(Debug, Clone, Serialize)]
struct ActionDocument<'a> {
    action: &'static str,
    key: String,
    resource: Option<&'a str>,
    node: Option<&'a str>,
    /// The other node of a migration.
    peer: Option<&'a str>,
    pseudo: bool,
}

#[derive(Debug, Clone, Serialize)]
struct WaitDocument<'a> {
    before: StepIdx,
    after: StepIdx,
    strength: Strength,
    #[serde(flatten)]
    why: ReasonDocument<'a>,
}

/// The kind of a reason, and the object that it is about.
#[derive(Debug, Clone, Serialize)]
struct ReasonDocument<'a> {
    why: &'static str,
    id: Option<&'a str>,
}

#[derive(Debug, Clone, Serialize)]
struct ExcessDocument<'a> {
    step: StepIdx,
    node: &'a str,
    capacity: &'a str,
    amount: i64,
}

/// The transition as a document.
pub fn document<'a>(set: &'a WorkingSet, transition: &'a Transition) -> TransitionDocument<'a> {
    let host = |host: HostIdx| set.host(host).name.as_str();
    let changes = set.resource_indices().filter_map(|resource| {
        let change = transition.changes.get(resource);
        let (from, to) = match change {
            ResourceChange::Reload(host) => (Some(host), Some(host)),
            change => (change.leaves(), change.comes_to()),
        };
        let change = ResourceAction::from(change);
        if change == ResourceAction::None {
            return None;
        }
        let change = change.as_str();
        let cause = transition.changes.causes[resource.get()].map(|why| reason(set, why));
        let resource = set.resource(resource).id.as_str();
        Some(ChangeDocument { resource, change, from: from.map(host), to: to.map(host), cause })
    });
    let steps = transition.steps.iter().map(|action| ActionDocument {
        action: action.task.as_str(),
        key: key(set, action),
        resource: action.resource.map(|resource| set.resource(resource).id.as_str()),
        node: action.host.map(host),
        peer: action.peer.map(host),
        pseudo: action.pseudo,
    });
    let edges = |edges: &[Edge<WaitReason>]| {
        let edge = |edge: &Edge<WaitReason>| {
            let Edge { before, after, strength, why } = *edge;
            WaitDocument { before, after, strength, why: reason(set, why) }
        };
        edges.iter().map(edge).collect()
    };
    let overfull = excesses(set, transition).into_iter().map(|excess| ExcessDocument {
        step: excess.step,
        node: host(excess.host),
        capacity: &set.attributes[excess.kind.get()],
        amount: excess.amount,
    });
    TransitionDocument {
        changes: changes.collect(),
        steps: steps.collect(),
        edges: edges(&transition.edges),
        dropped: edges(&transition.dropped),
        overfull: if transition.dropped.is_empty() { Vec::new() } else { overfull.collect() },
        stuck: transition.stuck().collect(),
    }
}

fn reason(set: &WorkingSet, why: WaitReason) -> ReasonDocument<'_> {
    let (why, id) = match why {
        WaitReason::Change(resource) => ("resource", Some(set.resource(resource).id.as_str())),
        WaitReason::Order(at) => ("order", Some(set.orders[at].id.as_str())),
        WaitReason::Choice(at) => ("order", Some(set.choices[at].id.as_str())),
        WaitReason::Group(group) => ("group", Some(set.resource(group).id.as_str())),
        WaitReason::Clone(clone) => ("clone", Some(set.resource(clone).id.as_str())),
        WaitReason::Colocation(at) => ("colocation", Some(set.colocations[at].id.as_str())),
        WaitReason::Room(host) => ("room", Some(set.host(host).name.as_str())),
        WaitReason::Fencing(host) => ("fencing", Some(set.host(host).name.as_str())),
        WaitReason::Unfencing(host) => ("unfencing", Some(set.host(host).name.as_str())),
        WaitReason::Machine(machine) => ("machine", Some(set.resource(machine).id.as_str())),
        WaitReason::Connection(connection) => ("connection", Some(set.resource(connection).id.as_str())),
        WaitReason::Circle => ("circle", None),
        WaitReason::OneByOne => ("one_by_one", None),
        WaitReason::Quorum => ("quorum", None),
        WaitReason::Probe(host) => ("probe", Some(set.host(host).name.as_str())),
        WaitReason::Shutdown(host) => ("shutdown", Some(set.host(host).name.as_str())),
    };
    ReasonDocument { why, id }
}
