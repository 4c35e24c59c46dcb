//! Views of a transition: for people, for programs, and in Pacemaker's own two forms.

mod document;
mod dot;
mod text;
mod xml;

pub use document::{TransitionDocument, document};
pub use dot::dot;
pub use text::lines;
pub(in crate::report) use text::rows;
pub use xml::xml;

use crate::model::shown::shown_name;
use crate::pacemaker::transition::{ActionTask, TransitionAction, WaitReason};
use crate::pacemaker::{HostIdx, WorkingSet};

/// The name of an action in Pacemaker: `vm1_start_0`, `load_stopped_node1`.
fn key(set: &WorkingSet, action: &TransitionAction) -> String {
    let host = action.host.map_or("", |host| set.host(host).name.as_str());
    match (action.task, action.resource) {
        (ActionTask::Fence, _) => format!("stonith '{}'", action.fencing(set).word()),
        (ActionTask::Unfence, _) => "stonith 'on'".to_owned(),
        (ActionTask::LoadStopped, _) => format!("load_stopped_{host}"),
        (task, Some(resource)) => format!("{}_{task}_0", set.resource(resource).id),
        (task, None) => {
            action.choice.map_or_else(|| task.to_string(), |choice| set.choices[choice.at].mark.clone())
        }
    }
}

fn shown_host(set: &WorkingSet, host: HostIdx) -> String {
    shown_name(&set.host(host).name)
}

/// The reason for a wait or a change, in words.
pub(super) fn reason(set: &WorkingSet, why: WaitReason) -> String {
    let resource = |resource| shown_name(&set.resource(resource).id);
    match why {
        WaitReason::Change(of) => format!("the same resource, {}", resource(of)),
        WaitReason::Order(at) => format!("order {}", shown_name(&set.orders[at].id)),
        WaitReason::Choice(at) => {
            let choice = &set.choices[at];
            let (id, enough, all) = (shown_name(&choice.id), choice.enough, choice.firsts.len());
            format!("order {id}, for which {enough} of {all} is enough")
        }
        WaitReason::Group(group) => format!("group {}", resource(group)),
        WaitReason::Clone(clone) => format!("clone {}", resource(clone)),
        WaitReason::Colocation(at) => format!("colocation {}", shown_name(&set.colocations[at].id)),
        WaitReason::Room(host) => format!("room on {}", shown_host(set, host)),
        WaitReason::Fencing(host) => format!("until then anything may run on {}", shown_host(set, host)),
        WaitReason::Unfencing(host) => format!("{} is unfenced", shown_host(set, host)),
        WaitReason::Machine(machine) => format!("it runs in {}", resource(machine)),
        WaitReason::Connection(connection) => format!("connection {}", resource(connection)),
        WaitReason::Quorum => "there is no quorum".to_owned(),
        WaitReason::Probe(host) => {
            format!("{} is about to join and must be checked first", shown_host(set, host))
        }
        WaitReason::Circle => "it waits in a circle".to_owned(),
        WaitReason::OneByOne => "one node is fenced after the other".to_owned(),
        WaitReason::Shutdown(host) => format!("nothing may run on {} then", shown_host(set, host)),
    }
}
