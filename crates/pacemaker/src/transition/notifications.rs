//! Notifications of clones, as far as actions wait for them.

use super::super::index::{HostIdx, ResourceIdx};
use super::super::working_set::WorkingSet;
use super::action::ActionTask::{Fence, Promote, Start};
use super::actions::Actions;
use super::change::{ResourceChange, ResourceChanges};
use super::wait::WaitReason;
use htools_plan::graph::Strength;

/// Makes the starts and promotions of instances wait for the fencing that ends others. Those that go on are told of it
/// first, also if the clone need not wait for fencing.
pub(super) fn add(set: &WorkingSet, changes: &ResourceChanges, actions: &mut Actions) {
    let notifies = |clone: &ResourceIdx| set.resource(*clone).notifies && set.bundle(*clone).is_none();
    for clone in set.clones().filter(notifies) {
        let parts = set.primitives(&clone);
        let goes_on = |part: &ResourceIdx| matches!(changes.get(*part), ResourceChange::Stay(_));
        if !parts.iter().any(goes_on) {
            continue;
        }
        let lost = |part: &ResourceIdx| {
            let hosts = set.resource(*part).active_hosts();
            let ends = |host: &HostIdx| actions.stop_on(*part, *host).is_some();
            hosts.filter(ends).filter_map(|host| Some((host, actions.to(Fence, host)?))).collect::<Vec<_>>()
        };
        let fencings: Vec<_> = parts.iter().flat_map(lost).collect();
        let begin = |part| {
            [Start, Promote].into_iter().filter_map(|task| actions.with(task, part)).collect::<Vec<_>>()
        };
        let begins: Vec<_> = parts.iter().flat_map(|part| begin(*part)).collect();
        for (host, fence) in fencings {
            for begin in &begins {
                actions.edge(fence, *begin, Strength::Must, WaitReason::Fencing(host));
            }
        }
    }
}
