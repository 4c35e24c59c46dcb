//! Reads promotable clones: how many instances are promoted, and the node attributes by which agents ask for it.

use std::collections::HashSet;

use super::super::index::HostIdx;
use super::super::number::leading;
use super::super::promotion::Promotion;
use super::super::score::AllocationScore;
use super::Reader;
use super::failures::{DEGRADED, PROMOTED};
use super::guests::GuestReading;
use super::history::{IdleMarks, NameMark};
use super::properties::Properties;
use super::roles::is_unpromoted;

/// Treatment of promotable clones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RoleReading {
    /// They are not supported, and neither are constraints about roles.
    Unsupported,
    /// Their instances are placed and promoted.
    Followed,
}

/// Treatment of features that not all callers support.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CibReading {
    /// Treatment of VMs with guest nodes.
    pub guests: GuestReading,
    /// Treatment of promotable clones.
    pub roles: RoleReading,
}

impl From<GuestReading> for CibReading {
    /// Follows roles if guest nodes are followed.
    fn from(guests: GuestReading) -> CibReading {
        let roles = if guests == GuestReading::Unsupported {
            RoleReading::Unsupported
        } else {
            RoleReading::Followed
        };
        CibReading { guests, roles }
    }
}

/// Histories of a clone's primitive, from which its instances take their names in node attributes.
pub(super) struct PartTraces {
    /// The primitive.
    pub(super) name: String,
    /// Hosts with an instance, and its name in their histories.
    pub(super) active: Vec<(HostIdx, String)>,
}

/// A history of a clone's primitive on a host.
struct PartHistory {
    host: HostIdx,
    /// Its name, with or without the number of an instance.
    name: String,
    /// True if an instance runs there by this history.
    runs: bool,
}

/// The histories of an instance of a clone's primitive.
#[derive(Debug, Clone, Default)]
struct InstanceTrace {
    /// Its name in them, if it has any.
    name: Option<String>,
    /// The host on which it runs.
    active: Option<HostIdx>,
}

/// Returns true if a host where no instance runs comes after as many as there should be.
fn needs_extra(count: usize, known: &[PartHistory]) -> bool {
    let after_all = known.iter().filter(|history| history.runs).count() >= count;
    let last_runs = known.iter().rposition(|history| history.runs).map_or(0, |at| at + 1);
    after_all && last_runs < known.len()
}

/// Histories by instance. A host where none runs adds to those of the next instance that does not run yet.
fn instance_traces(count: usize, known: &[PartHistory]) -> Vec<InstanceTrace> {
    let mut traces = vec![InstanceTrace::default(); count];
    let mut next = 0;
    for history in known {
        let Some(trace) = traces.get_mut(next) else { continue };
        if history.runs {
            *trace = InstanceTrace { name: Some(history.name.clone()), active: Some(history.host) };
            next += 1;
        } else {
            trace.name.get_or_insert_with(|| history.name.clone());
        }
    }
    traces
}

impl Reader<'_, '_> {
    /// The promotion of a clone with these meta attributes, without node attributes.
    pub(super) fn promotion(&self, metas: &Properties<'_>, own: &Properties<'_>) -> Promotion {
        let number = |newer: &str, older: &str| {
            let text = metas.get(newer).or_else(|| metas.get(older));
            text.map_or(1, |text| leading(text).map_or(0, |count| usize::try_from(count).unwrap_or(0)))
        };
        let on_host = number("promoted-node-max", "master-node-max");
        Promotion {
            most: if on_host == 0 { 0 } else { number("promoted-max", "master-max") },
            unwanted: own.get("target-role").is_some_and(is_unpromoted),
            wishes: Vec::new(),
            by_part: Vec::new(),
            greatest: Vec::new(),
            has_extra: false,
            failed_on: Vec::new(),
        }
    }

    /// By instance and host, the node attribute `master-NAME` of a part. An instance with a history counts only where
    /// its primitive was looked for, and no other instance runs. One without counts everywhere.
    pub(super) fn promotion_wishes(
        &self,
        count: usize,
        part: &PartTraces,
    ) -> Vec<Vec<Option<AllocationScore>>> {
        let known = self.part_histories(part);
        let traces = instance_traces(count, &known);
        let wish = |number: usize, trace: &InstanceTrace, host: HostIdx| {
            let is_known = known.iter().any(|history| history.host == host);
            let is_free = !part.active.iter().any(|(other, _)| *other == host);
            let counts = trace.name.is_none() || is_known && (trace.active == Some(host) || is_free);
            let name = trace.name.clone().unwrap_or_else(|| format!("{}:{number}", part.name));
            self.promotion_wish(&name, host).filter(|_| counts && self.set.host(host).can_run())
        };
        let row = |(number, trace): (usize, &InstanceTrace)| {
            self.set.host_indices().map(|host| wish(number, trace, host)).collect()
        };
        traces.iter().enumerate().map(row).collect()
    }

    /// Returns true if a host where no part of a clone runs has a history of one, and all instances run elsewhere.
    pub(super) fn has_extra_instance(&self, count: usize, parts: &[PartTraces]) -> bool {
        parts.iter().any(|part| needs_extra(count, &self.part_histories(part)))
    }

    /// Histories of a primitive by host, in the order of the status.
    fn part_histories(&self, part: &PartTraces) -> Vec<PartHistory> {
        let traced = self.copies(&part.name);
        let mut all = Vec::new();
        let counts = |host: &&HostIdx| {
            let state = self.set.host(**host).state;
            state.online || state.unclean
        };
        for host in self.set.status_order.iter().filter(counts) {
            let has_record = |copy: &&String| self.records_of(copy).iter().any(|record| record.host == *host);
            let idle = self.probed().get(host.get());
            let is_idle =
                |copy: &String| idle.is_some_and(|idle| idle.contains(&NameMark::of(copy.as_bytes())));
            let numbered = (0..=self.set.hosts.len()).map(|number| format!("{}:{number}", part.name));
            let mut here: Vec<String> = traced.iter().filter(has_record).cloned().collect();
            let is_new: Vec<String> =
                std::iter::once(part.name.clone()).chain(numbered).filter(is_idle).collect();
            here.extend(is_new);
            let runs = |name: &String| part.active.iter().any(|one| one.0 == *host && one.1 == *name);
            let histories = here.into_iter().map(|name| PartHistory { host: *host, runs: runs(&name), name });
            all.extend(histories);
        }
        all
    }

    /// By host, the marks of resources that are known not to run there.
    fn probed(&self) -> &[HashSet<NameMark>] {
        self.probed.get_or_init(|| self.idle.iter().map(IdleMarks::names).collect())
    }

    /// The score of a node attribute by which an instance wants to be promoted.
    fn promotion_wish(&self, name: &str, host: HostIdx) -> Option<AllocationScore> {
        let node = self.set.host(host);
        let own = node.attribute(&format!("master-{name}"));
        let without = || {
            let (bare, _) = name.rsplit_once(':')?;
            node.attribute(&format!("master-{bare}"))
        };
        let text = own.or_else(without)?;
        Some(AllocationScore::parse(text).unwrap_or(AllocationScore::ZERO))
    }
}

/// Leaves out reasons that are none for a promotable clone.
pub(super) fn without_roles(reasons: &mut Vec<&'static str>) {
    reasons.retain(|reason| ![PROMOTED, DEGRADED].contains(reason));
}
