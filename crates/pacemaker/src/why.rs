//! Why a resource is where it is: what forbids each of the other hosts, what decided between those that were
//! left, and for one without a place, who took the room.

mod before;
mod reasons;

use std::cell::RefCell;

pub use reasons::{Advantage, HostFinding, HostHindrance, PlaceReasons, RoomTaken, TogetherRule};

use super::additions::AdditionLog;
use super::index::ResourceIdx;
use super::optimal::additions;
use super::place::PlacingError;
use super::placing::AllPlaced;
use super::working_set::{Strategy, WorkingSet};
use before::{ClusterBefore, EarlierPlaced};

/// Why the resources of a cluster are where they are.
#[derive(Debug, Clone)]
pub struct Grounds<'a> {
    /// The cluster.
    pub set: &'a WorkingSet,
    strategy: Strategy,
    placed: &'a AllPlaced,
    /// Additions that the scores of the resources are made of.
    pub log: AdditionLog,
    /// The state in which the resource asked about last was placed: the next one was placed little later.
    earlier: RefCell<EarlierPlaced>,
}

impl<'a> Grounds<'a> {
    /// Finds them out for resources that were placed by a strategy. They are placed once more for it.
    ///
    /// # Errors
    /// Those of placing them.
    pub fn of(
        set: &'a WorkingSet,
        strategy: Strategy,
        placed: &'a AllPlaced,
    ) -> Result<Grounds<'a>, PlacingError> {
        let earlier = RefCell::new(EarlierPlaced::none(set));
        Ok(Grounds { set, strategy, placed, log: additions(set, strategy, placed)?, earlier })
    }

    /// Why a primitive is where it is; nothing for what is made of primitives.
    pub fn why(&self, resource: ResourceIdx) -> Option<PlaceReasons> {
        let Grounds { set, strategy, placed, ref log, .. } = *self;
        let at = placed.by_resource[resource.get()]?;
        let mut earlier = self.earlier.borrow_mut();
        earlier.become_before(set, placed, at);
        let before = ClusterBefore { set, placed, log, earlier: &earlier };
        let record = &placed.records[at];
        let finding = |host| HostFinding {
            host,
            score: record.scores.get(host),
            hindrance: before.hindrance(record, host),
        };
        let hosts: Vec<HostFinding> = set.host_indices().map(finding).collect();
        let taken = match record.host {
            Some(_) => Vec::new(),
            None => before.taken(record, &hosts),
        };
        Some(PlaceReasons {
            resource,
            host: record.host,
            advantage: record.host.map(|host| before.advantage(record, strategy, host, &hosts)),
            hosts,
            taken,
            needed: record.needed.clone().unwrap_or_default(),
            chain: record.chain.clone(),
        })
    }
}
