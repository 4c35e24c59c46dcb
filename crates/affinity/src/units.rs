//! Units of a Pacemaker cluster that are placed as one, their hosts, and the hosts forbidden to them.

use std::collections::HashMap;
use std::sync::Arc;

use super::fleet::Fleet;
use htools_model::TagId;
use htools_pacemaker::AllocationScore;
use htools_pacemaker::index::{HostIdx, ResourceIdx};
use htools_pacemaker::working_set::WorkingSet;

/// A primitive, a group, or an instance of a clone.
#[derive(Debug, Clone)]
pub(super) struct FleetUnit {
    pub(super) resource: ResourceIdx,
    /// The primitives that run together, or should.
    pub(super) members: Vec<ResourceIdx>,
    /// Host on which it runs and stays unless another one is preferred; `None` if it needs a place.
    pub(super) host: Option<HostIdx>,
    /// Host on which it runs, whether it may stay there or not, or last ran.
    pub(super) home: Option<HostIdx>,
    /// Further hosts on which it runs.
    pub(super) also_on: Vec<HostIdx>,
    /// True if it stays on its host in any case.
    pub(super) fixed: bool,
}

impl FleetUnit {
    /// Tells if a place is needed.
    pub(super) fn is_waiting(&self) -> bool {
        self.host.is_none()
    }
}

/// All resources that run or should run, in the order of the document.
pub(super) fn units(set: &WorkingSet) -> Vec<FleetUnit> {
    let mut all = Vec::new();
    for top in set.top_level() {
        let details = set.resource(top);
        if details.is_clone() {
            all.extend(details.members.iter().filter_map(|instance| unit(set, *instance, true)))
        } else {
            all.extend(unit(set, top, false))
        }
    }
    all
}

fn unit(set: &WorkingSet, resource: ResourceIdx, of_clone: bool) -> Option<FleetUnit> {
    let details = set.resource(resource);
    let primitives = set.primitives(&resource);
    let runs_twice = primitives.iter().any(|one| set.resource(*one).runs_twice());
    let is_managed = |one: &ResourceIdx| set.is_managed(*one) && !set.resource(*one).unsupported;
    let managed = is_managed(&resource) && primitives.iter().all(is_managed);
    // A fence device is not a machine: it is left to Pacemaker.
    let fences = details.is_primitive() && details.fences();
    let fixed = of_clone || !managed || runs_twice || fences;
    let mut members = if fixed {
        primitives.to_vec()
    } else if set.stop_all {
        Vec::new()
    } else {
        // In a group, members after a stopped one do not run either.
        let runs = |one: &ResourceIdx| !set.resource(*one).stopped && !set.resource(*one).surplus;
        primitives.iter().copied().take_while(runs).collect()
    };
    if fixed {
        members.retain(|one| set.resource(*one).active.is_some());
    }
    let first = *members.first()?;
    let home = details.active.or(set.resource(first).last_host);
    let mut unit = FleetUnit { resource, members, host: details.active, home, also_on: Vec::new(), fixed };
    if fixed {
        unit.host = details.active.or(set.resource(first).active);
        let others = primitives.iter().flat_map(|one| set.resource(*one).active_hosts());
        unit.also_on = others.filter(|host| Some(*host) != unit.host).collect();
        unit.also_on.sort_unstable();
        unit.also_on.dedup();
    } else {
        let stays = |host: &HostIdx| set.host(*host).state.available() && may_be(set, &unit, *host);
        unit.host = unit.host.filter(stays);
    }
    Some(unit)
}

/// Tells if no score forbids a host.
fn may_be(set: &WorkingSet, unit: &FleetUnit, host: HostIdx) -> bool {
    let never = AllocationScore::MINUS_INFINITY;
    let mut all = unit.members.iter().chain([&unit.resource]);
    all.all(|one| set.resource(*one).scores.or_never(host) != never)
}

/// Enters the hosts forbidden to the machines of a fleet, which are `units` in the same order, and the constraint that
/// forbids each, if it is one.
pub(super) fn reach(set: &WorkingSet, units: &[FleetUnit], fleet: &mut Fleet) {
    let mut by_resource: HashMap<ResourceIdx, Vec<(usize, &str)>> = HashMap::new();
    for location in &set.locations {
        if location.score == AllocationScore::MINUS_INFINITY && !location.id.is_empty() {
            by_resource.entry(location.resource).or_default().push((location.host.get(), &location.id));
        }
    }
    let mut known: HashMap<Vec<usize>, Arc<[usize]>> = HashMap::new();
    for (at, unit) in units.iter().enumerate().filter(|(_, unit)| !unit.fixed) {
        let reach = set.host_indices().filter(|host| may_be(set, unit, *host)).map(HostIdx::get);
        let reach: Vec<usize> = reach.collect();
        if reach.len() < set.hosts.len() {
            fleet.machines[at].reach =
                Some(Arc::clone(known.entry(reach).or_insert_with_key(|reach| reach.as_slice().into())));
        }
        let all = unit.members.iter().chain([&unit.resource]);
        let rules = all.filter_map(|one| by_resource.get(one)).flatten();
        let mut rules: Vec<(usize, TagId)> =
            rules.map(|(host, id)| (*host, fleet.tag_table.intern(id))).collect();
        // Of several rules the first one is named.
        rules.sort_by_key(|(host, _)| *host);
        rules.dedup_by_key(|(host, _)| *host);
        fleet.machines[at].forbidden = rules.into();
    }
}
