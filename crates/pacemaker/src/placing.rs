//! What placing comes to: who goes where, in which order, by which scores.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashSet};

use super::capacity::Capacities;
use super::index::{HostIdx, ResourceIdx};
use super::method::PlacementMethod;
use super::optimum::Optimum;
use super::score::{AllocationScore, ScoreTable};
use super::working_set::{Strategy, WorkingSet};

/// How the host of a resource was found, or that there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecidedBy {
    /// It is not managed, and stays where it is.
    Unmanaged,
    /// Nothing is to run in this cluster.
    StopAll,
    /// The host with the most free capacity, as none holds the resource with all that must be with it.
    MostFree,
    /// The first in the order of preference.
    First,
    /// As good as the first, and it runs there.
    Active,
    /// The best placement of all has it so.
    Optimum,
    /// No host is left.
    None,
}

/// How one primitive was placed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// The primitive.
    pub resource: ResourceIdx,
    /// Its scores, before capacities were looked at.
    pub scores: ScoreTable,
    /// Those that must be with it and had no place yet, itself first.
    pub chain: Vec<ResourceIdx>,
    /// What the hosts had to hold: all of the chain, or, where none did, the primitive itself. Nothing where
    /// capacities do not count.
    pub needed: Option<Capacities>,
    /// Where it goes.
    pub host: Option<HostIdx>,
    /// What decided.
    pub decided_by: DecidedBy,
    /// Whether Pacemaker's own answer hangs on the order in which it keeps nodes in memory.
    pub order_dependent: bool,
}

/// A line of what happened, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlacingEvent {
    /// The placing of a group began, its scores and those of its members being these.
    Group(Vec<(ResourceIdx, ScoreTable)>),
    /// The placing of a clone began, its scores and those of its instances and their members being these.
    Clone(Vec<(ResourceIdx, ScoreTable)>),
    /// A primitive was placed, or not: its position in the records.
    Primitive(usize),
    /// An instance of a clone, or a part of one, would have left its place, and was placed once more later.
    Tried(Box<Assignment>),
}

/// Where the resources of a cluster go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllPlaced {
    /// How each primitive was placed, in order.
    pub records: Vec<Assignment>,
    /// What happened, in order.
    pub events: Vec<PlacingEvent>,
    /// What the hosts have left.
    pub remaining: Vec<Capacities>,
    /// By resource, the position of its record. Groups have none.
    pub by_resource: Vec<Option<usize>>,
    /// The resources of the outermost level as they had their turn. One that others want to be with may have got its
    /// place before.
    pub sequence: Vec<ResourceIdx>,
    /// What is known of the placement if it is the best one, and none by a strategy of Pacemaker's.
    pub optimum: Option<Optimum>,
}

impl AllPlaced {
    /// How the places were chosen, if not by the best placement, then by this strategy.
    pub fn method(&self, strategy: Strategy) -> PlacementMethod {
        match self.optimum {
            Some(_) => PlacementMethod::Optimal,
            None => strategy.into(),
        }
    }

    /// Where a primitive goes.
    pub fn host(&self, resource: ResourceIdx) -> Option<HostIdx> {
        self.record(resource).and_then(|record| record.host)
    }

    /// How a primitive was placed.
    pub fn record(&self, resource: ResourceIdx) -> Option<&Assignment> {
        let at = self.by_resource[resource.get()]?;
        self.records.get(at)
    }

    /// Whether a host can run resources, as far as that is known before resources are placed; guest nodes where their machines have
    /// places.
    pub fn is_available(&self, set: &WorkingSet, host: HostIdx) -> bool {
        let node = set.host(host);
        match node.guest {
            Some(parts) => node.lets_run() && self.host(parts.machine).is_some(),
            None => node.state.available(),
        }
    }

    /// The primitives that should run and have no place.
    pub fn unplaced<'a>(&'a self, set: &'a WorkingSet) -> impl Iterator<Item = ResourceIdx> + 'a {
        let spare = self.spare(set);
        let records = self.records.iter().filter(|record| record.host.is_none());
        let unplaced = records.map(|record| record.resource);
        unplaced.filter(move |resource| set.should_run(*resource) && !spare.contains(resource))
    }

    /// The parts of instances that nobody misses: no part of them has a place, and their clone is on every available host on which
    /// constraints let it be.
    pub(super) fn spare(&self, set: &WorkingSet) -> HashSet<ResourceIdx> {
        let available: Vec<HostIdx> =
            set.host_indices().filter(|host| self.is_available(set, *host)).collect();
        let is_everywhere = |clone: ResourceIdx| {
            let details = set.resource(clone);
            // where it failed it is missed
            let may_be = |host: HostIdx| {
                details.scores.or_never(host) > AllocationScore::MINUS_INFINITY
                    || details.failed_on.iter().any(|failed| failed.host == host)
            };
            let parts = details.members.iter().flat_map(|one| set.primitives(one).to_vec());
            let occupied: BTreeSet<HostIdx> = parts.filter_map(|part| self.host(part)).collect();
            available.iter().all(|host| occupied.contains(host) || !may_be(*host))
        };
        let everywhere = set.clones().filter(|clone| is_everywhere(*clone));
        let instances = everywhere.flat_map(|clone| &set.resource(clone).members);
        let parts = instances.map(|instance| set.primitives(instance));
        let is_nowhere = |parts: &Cow<'_, [ResourceIdx]>| parts.iter().all(|part| self.host(*part).is_none());
        parts.filter(is_nowhere).flat_map(Cow::into_owned).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::cib::parse;
    use super::super::place::place;

    /// The names of what should run and does not, of a cluster with a constraint more.
    fn unplaced(constraint: &str) -> Vec<String> {
        let text = include_str!("../../../tests/fixtures/pacemaker/clones/kept-from-a-node.xml");
        let text = text.replace("<constraints>", &format!("<constraints>{constraint}"));
        let set = parse(&text, "kept").unwrap();
        let placed = place(&set, set.strategy()).unwrap();
        placed.unplaced(&set).map(|one| set.resource(one).id.clone()).collect()
    }

    #[test]
    fn what_constraints_keep_from_a_node_is_not_missed_there() {
        assert!(unplaced("").is_empty());
        let from_n2 = r#"<rsc_location id="l2" rsc="cl" node="n2" score="-INFINITY"/>"#;
        assert!(unplaced(from_n2).is_empty());
        // a wish is none of that
        assert_eq!(unplaced(&from_n2.replace("-INFINITY", "-10")), ["c:2", "c:0"]);
    }
}
