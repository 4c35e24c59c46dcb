//! Greatest load of hosts while a transition is under way.

use std::collections::HashMap;

use crate::capacity::Capacities;
use crate::index::{AttributeIdx, HostIdx, ResourceIdx};
use crate::transition::{ActionTask, Transition};
use crate::working_set::WorkingSet;
use htools_plan::graph::{Precedence, StepIdx};

/// Excess of a host: it can hold more than it has when something arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Excess {
    /// The start or migration that brings it.
    pub step: StepIdx,
    /// The host.
    pub host: HostIdx,
    /// The kind of capacity.
    pub kind: AttributeIdx,
    /// Amount above what the host has, or holds in the end if that is more.
    pub amount: i64,
}

/// A stay on a host that begins, ends, or both.
#[derive(Debug, Clone, Copy)]
struct HostVisit {
    resource: ResourceIdx,
    /// The step by which it arrives; `None` if it is there at the beginning.
    arrives: Option<StepIdx>,
    /// The step by which it leaves; `None` if it is there in the end.
    leaves: Option<StepIdx>,
}

/// Excesses of hosts in the worst order that the edges allow. Resources that need not have left are still there, and
/// those that need not wait have come. Kinds with a utilization below 0 are left out.
pub fn excesses(set: &WorkingSet, transition: &Transition) -> Vec<Excess> {
    let precedence = transition.precedence();
    let visits = visits(set, transition);
    let mut excesses = Vec::new();
    for host in set.host_indices() {
        let here = visits.get(&host).map(Vec::as_slice).unwrap_or_default();
        let load = |counts: &dyn Fn(&HostVisit) -> bool| {
            let mut load = Capacities::default();
            set.charges
                .iter()
                .filter(|charge| charge.host == host)
                .for_each(|charge| load.add(&charge.utilization));
            let counted = here.iter().filter(|visit| counts(visit));
            counted.for_each(|visit| load.add(&set.resource(visit.resource).utilization));
            load
        };
        let end = load(&|visit| visit.leaves.is_none());
        for visit in here {
            let Some(step) = visit.arrives else { continue };
            let worst = load(&|other| can_meet(&precedence, other, visit, step));
            for (kind, amount) in set.resource(visit.resource).utilization.iter() {
                let allowed = set.host(host).capacity.get(kind).max(end.get(kind));
                let amount_over = worst.get(kind) - allowed;
                if amount > 0 && amount_over > 0 && !is_negative(set, kind) {
                    excesses.push(Excess { step, host, kind, amount: amount_over });
                }
            }
        }
    }
    excesses.sort_by_key(|excess| (excess.step, excess.kind));
    excesses
}

/// Returns true if a visit can overlap with one that begins by a step.
fn can_meet(precedence: &Precedence, other: &HostVisit, visit: &HostVisit, step: StepIdx) -> bool {
    let same = other.resource == visit.resource;
    match (other.arrives, other.leaves) {
        (arrives, _) if same => arrives == Some(step),
        (_, Some(leaves)) if precedence.precedes(leaves, step) => false,
        (Some(arrives), _) => !precedence.precedes(step, arrives),
        (None, _) => true,
    }
}

/// Visits of primitives by host. Steps that can never be carried out do not happen.
fn visits(set: &WorkingSet, transition: &Transition) -> HashMap<HostIdx, Vec<HostVisit>> {
    let mut visits: HashMap<HostIdx, Vec<HostVisit>> = HashMap::new();
    for resource in set.resource_indices().filter(|resource| set.resource(*resource).is_primitive()) {
        for host in set.resource(resource).active_hosts() {
            visits.entry(host).or_default().push(HostVisit { resource, arrives: None, leaves: None });
        }
    }
    for step in transition.all().take(transition.possible) {
        let action = transition.step(step);
        let (Some(resource), Some(host)) = (action.resource, action.host) else { continue };
        let arrives_on = match (action.task, action.peer) {
            (ActionTask::Start, _) if !action.pseudo => host,
            (ActionTask::MigrateTo, Some(target)) => target,
            (ActionTask::Stop, _) => {
                let here = visits.entry(host).or_default();
                let stay = here.iter_mut().find(|visit| visit.resource == resource && visit.leaves.is_none());
                stay.into_iter().for_each(|visit| visit.leaves = Some(step));
                continue;
            }
            _ => continue,
        };
        visits.entry(arrives_on).or_default().push(HostVisit { resource, arrives: Some(step), leaves: None });
    }
    visits
}

fn is_negative(set: &WorkingSet, kind: AttributeIdx) -> bool {
    set.resources.iter().any(|resource| resource.utilization.get(kind) < 0)
}
