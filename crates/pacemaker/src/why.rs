//! Reasons for the place of a resource: what forbids the other hosts, and what decided between the rest. If it has no
//! place, they include the resources that took the room.

mod before;
mod reasons;

use std::cell::RefCell;

pub use reasons::{Advantage, HostFinding, HostHindrance, PlaceReasons, RoomTaken, TogetherRule};

use super::additions::AdditionLog;
use super::index::ResourceIdx;
use super::optimal::additions;
use super::place::PlacingError;
use super::placing::{AllPlaced, PlacingEvent};
use super::promotion::PromotionScore;
use super::working_set::{Strategy, WorkingSet};
use before::{ClusterBefore, EarlierPlaced};

/// Reasons for the places of a cluster's resources.
#[derive(Debug, Clone)]
pub struct PlacementExplainer<'a> {
    /// The cluster.
    pub set: &'a WorkingSet,
    strategy: Strategy,
    placed: &'a AllPlaced,
    /// Additions that make up the scores of the resources.
    pub log: AdditionLog,
    /// State before the resource asked about last was placed. The next one is usually placed soon after.
    earlier: RefCell<EarlierPlaced>,
}

impl<'a> PlacementExplainer<'a> {
    /// Collects the reasons for a placement by a strategy. For this, the resources are placed once more.
    ///
    /// # Errors
    /// Those of placing the resources.
    pub fn of(
        set: &'a WorkingSet,
        strategy: Strategy,
        placed: &'a AllPlaced,
    ) -> Result<PlacementExplainer<'a>, PlacingError> {
        let earlier = RefCell::new(EarlierPlaced::none(set));
        Ok(PlacementExplainer { set, strategy, placed, log: additions(set, strategy, placed)?, earlier })
    }

    /// The promotion score of the instance that a primitive is, or is a part of, and whether it is promoted.
    pub fn promotion(&self, resource: ResourceIdx) -> Option<(&'a PromotionScore, bool)> {
        let instance = self.set.resource(resource).group.unwrap_or(resource);
        let scores = self.placed.events.iter().filter_map(|event| match event {
            PlacingEvent::Promotion { scores, .. } => Some(scores),
            _ => None,
        });
        let score = scores.flatten().find(|score| score.instance == instance)?;
        Some((score, self.placed.promoted[resource.get()]))
    }

    /// Reasons for the place of a primitive; `None` for groups and clones.
    pub fn why(&self, resource: ResourceIdx) -> Option<PlaceReasons> {
        let PlacementExplainer { set, strategy, placed, ref log, .. } = *self;
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
