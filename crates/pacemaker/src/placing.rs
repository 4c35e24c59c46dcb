//! Results of placing: hosts, order of placing, and the scores behind them.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashSet};

use super::capacity::Capacities;
use super::index::{HostIdx, ResourceIdx};
use super::method::PlacementMethod;
use super::optimum::Optimum;
use super::promotion::{ExtraInstance, PromotionScore};
use super::score::{AllocationScore, ScoreTable};
use super::working_set::{Strategy, WorkingSet};

/// Reason for the host of a resource, or for having none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecidedBy {
    /// It is not managed, and stays where it is.
    Unmanaged,
    /// Nothing is to run in this cluster.
    StopAll,
    /// No host has room for the resource and all that must be with it, so the one with the most free capacity is taken.
    MostFree,
    /// The first in the order of preference.
    First,
    /// As good as the first, and it runs there.
    Active,
    /// The best placement puts it there.
    Optimum,
    /// No host is left.
    None,
}

/// Placement of one primitive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// The primitive.
    pub resource: ResourceIdx,
    /// Its scores, before capacities were considered.
    pub scores: ScoreTable,
    /// The resources that must be with it and had no place yet, itself first.
    pub chain: Vec<ResourceIdx>,
    /// Capacity that a host needed: that of the whole chain, or of the primitive alone if no host had room for the
    /// chain. `None` if capacities do not count.
    pub needed: Option<Capacities>,
    /// Its host, if it has one.
    pub host: Option<HostIdx>,
    /// Reason for the host.
    pub decided_by: DecidedBy,
    /// True if Pacemaker's own answer depends on the order in which it keeps nodes in memory.
    pub order_dependent: bool,
}

/// An event of placing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlacingEvent {
    /// Placing of a group began, with its scores and those of its members.
    Group(Vec<(ResourceIdx, ScoreTable)>),
    /// Placing of a clone began, with the scores of the clone, its instances and their members.
    Clone(Vec<(ResourceIdx, ScoreTable)>),
    /// Placing of a bundle began, with the scores of the bundle, its replicas and what is inside.
    Bundle(Vec<(ResourceIdx, ScoreTable)>),
    /// A primitive was placed, or found no host: the position of its record.
    Primitive(usize),
    /// Instances of a promotable clone were placed: their scores, the best one in front.
    Promotion {
        /// The clone.
        clone: ResourceIdx,
        /// Scores of its instances, in order.
        scores: Vec<PromotionScore>,
        /// An instance that Pacemaker makes up, with the score 0 and no host.
        extra: Option<ExtraInstance>,
    },
    /// An instance of a clone, or a part of one, would have left its host. This was undone, and it was placed again
    /// later.
    Tried(Box<Assignment>),
}

/// Placement of all resources of a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllPlaced {
    /// Placements of the primitives, in order.
    pub records: Vec<Assignment>,
    /// Events, in order.
    pub events: Vec<PlacingEvent>,
    /// Capacity that the hosts have left.
    pub remaining: Vec<Capacities>,
    /// By resource, the position of its record. Groups have none.
    pub by_resource: Vec<Option<usize>>,
    /// The top-level resources in the order of their turns. A resource that others want to run with may have been
    /// placed before its turn.
    pub sequence: Vec<ResourceIdx>,
    /// By resource; true for a primitive that is promoted on its host.
    pub promoted: Vec<bool>,
    /// Facts about the best placement; `None` if a Pacemaker strategy chose the hosts.
    pub optimum: Option<Optimum>,
}

impl AllPlaced {
    /// The method that chose the hosts: `strategy`, unless this is the best placement.
    pub fn method(&self, strategy: Strategy) -> PlacementMethod {
        match self.optimum {
            Some(_) => PlacementMethod::Optimal,
            None => strategy.into(),
        }
    }

    /// The host of a primitive.
    pub fn host(&self, resource: ResourceIdx) -> Option<HostIdx> {
        self.record(resource).and_then(|record| record.host)
    }

    /// The record of a primitive.
    pub fn record(&self, resource: ResourceIdx) -> Option<&Assignment> {
        let at = self.by_resource[resource.get()]?;
        self.records.get(at)
    }

    /// Returns true if a host can run resources, as far as is known before placing. A guest node can if its VM has a
    /// place.
    pub fn is_available(&self, set: &WorkingSet, host: HostIdx) -> bool {
        let node = set.host(host);
        match node.guest {
            Some(parts) => node.lets_run() && !node.is_given_up() && self.host(parts.machine).is_some(),
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

    /// Parts of instances that nobody misses: no part of the instance has a place, and its clone runs on every
    /// available host that constraints allow. An instance that is told apart is always missed.
    pub(super) fn spare(&self, set: &WorkingSet) -> HashSet<ResourceIdx> {
        let available: Vec<HostIdx> =
            set.host_indices().filter(|host| self.is_available(set, *host)).collect();
        let is_everywhere = |clone: ResourceIdx| {
            let details = set.resource(clone);
            // A host on which the clone failed counts as allowed: it is missed there.
            let may_be = |host: HostIdx| {
                details.scores.or_never(host) > AllocationScore::MINUS_INFINITY
                    || details.failed_on.iter().any(|failed| failed.host == host)
            };
            let parts = details.members.iter().flat_map(|one| set.primitives(one).to_vec());
            let occupied: BTreeSet<HostIdx> = parts.filter_map(|part| self.host(part)).collect();
            available.iter().all(|host| occupied.contains(host) || !may_be(*host))
        };
        let alike = set.clones().filter(|clone| !set.resource(*clone).is_unique());
        let everywhere = alike.filter(|clone| is_everywhere(*clone));
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

    /// Names of the resources that should run and do not, in a cluster with one more constraint.
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
        // A negative wish does not forbid the host.
        assert_eq!(unplaced(&from_n2.replace("-INFINITY", "-10")), ["c:2", "c:0"]);
    }
}
