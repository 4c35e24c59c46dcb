//! What locations and services add to the score.

use std::collections::HashMap;

use super::online_nodes::COUNT_ERROR;
use super::{FAILOVER_AND_REPLACE, REPLACE_AND_FAILOVER, REPLACE_SECONDARY};
use crate::model::{Cluster, Instance, NodeIdx, NodeSpec, TagId};
use crate::score::Board;
use crate::score::spread::Spread;

/// The different places at which an instance can arrive: online nodes with the same
/// location tags are one.
pub(super) struct ArrivalPlaces {
    /// By row of the board.
    of_row: Vec<u32>,
    count: usize,
    /// By location, the places in it.
    at_location: HashMap<TagId, Vec<u32>>,
}

/// Costs by place. They are whole numbers.
type Costs = Vec<i64>;

impl ArrivalPlaces {
    pub fn of(cluster: &Cluster, board: &Board) -> ArrivalPlaces {
        let mut known = HashMap::new();
        let mut at_location: HashMap<TagId, Vec<u32>> = HashMap::new();
        let online = board.nodes().iter().filter(|n| board.row(**n).is_some());
        let mut place = |node: &NodeIdx| {
            let tags = &cluster.node(*node).spec.location_tags;
            let next = known.len() as u32;
            *known.entry(tags).or_insert_with(|| {
                tags.iter().for_each(|tag| at_location.entry(tag).or_default().push(next));
                next
            })
        };
        let of_row = online.map(&mut place).collect();
        ArrivalPlaces { of_row, count: known.len(), at_location }
    }

    /// Whether a place can make a difference at all.
    pub fn matter(&self) -> bool {
        !self.at_location.is_empty()
    }

    /// The place of the node in a row.
    pub fn of_row(&self, row: usize) -> usize {
        self.of_row[row] as usize
    }

    /// The same cost at all places.
    fn level(&self, cost: i64) -> Costs {
        vec![cost; self.count]
    }

    /// Adds to the costs of all places in a location.
    fn add(&self, costs: &mut Costs, location: TagId, by: i64) {
        for place in self.at_location.get(&location).into_iter().flatten() {
            costs[*place as usize] += by;
        }
    }

    /// Adds the number of locations that each place has in common with a node.
    fn add_common(&self, costs: &mut Costs, node: &NodeSpec) {
        node.location_tags.iter().for_each(|location| self.add(costs, location, 1));
    }
}

/// One instance's costs of places.
pub(super) struct Outlay<'a> {
    places: &'a ArrivalPlaces,
    spread: &'a Spread,
    instance: &'a Instance,
    p: &'a NodeSpec,
    mirror: Option<&'a NodeSpec>,
    /// Of a new primary node, but for the locations that it has in common with the
    /// secondary.
    as_primary: Option<Costs>,
}

impl<'a> Outlay<'a> {
    pub fn new(
        places: &'a ArrivalPlaces,
        spread: &'a Spread,
        cluster: &'a Cluster,
        instance: &'a Instance,
    ) -> Outlay<'a> {
        let spec = |n: NodeIdx| &cluster.node(n).spec;
        let (p, mirror) = (spec(instance.primary), instance.mirror().map(spec));
        Outlay { places, spread, instance, p, mirror, as_primary: None }
    }

    /// The change of the surplus of services in locations by a failover.
    pub fn failover(&self) -> i64 {
        self.spread.change(self.instance, Some(self.p), self.mirror)
    }

    /// The least that a move of this slot adds to the counts by the place of the
    /// new node.
    pub fn least(&mut self, slot: usize) -> i64 {
        self.costs(slot).into_iter().min().unwrap_or(0)
    }

    /// By place, what a move of this slot costs more than at the cheapest place, rounded
    /// down.
    pub fn extras(&mut self, slot: usize) -> Vec<f64> {
        let costs = self.costs(slot);
        let least = costs.iter().copied().min().unwrap_or(0);
        costs.into_iter().map(|cost| (cost - least) as f64 * (1.0 - COUNT_ERROR)).collect()
    }

    /// What a move of this slot adds to the counts by the place of the new node,
    /// including the change of the surplus. What the instance's own nodes count is
    /// in their ledgers, but for the location score that the move gives to an
    /// instance that stays where it is or goes to S.
    pub fn costs(&mut self, slot: usize) -> Costs {
        let (places, instance, p) = (self.places, self.instance, self.p);
        if instance.forthcoming {
            return places.level(0);
        }
        match (slot, self.mirror) {
            (REPLACE_SECONDARY, _) if p.offline => places.level(0),
            (REPLACE_SECONDARY, _) => {
                let mut costs = places.level(-instance.location_score);
                places.add_common(&mut costs, p);
                costs
            }
            (FAILOVER_AND_REPLACE, Some(s)) => {
                let mut costs = places.level(self.failover());
                if !s.offline {
                    places.add_common(&mut costs, s);
                }
                costs
            }
            (_, mirror) => {
                let mut costs = self.as_primary().clone();
                match if slot == REPLACE_AND_FAILOVER { Some(p) } else { mirror } {
                    Some(other) => places.add_common(&mut costs, other),
                    // an externally mirrored instance keeps its location score
                    None => costs.iter_mut().for_each(|cost| *cost += instance.location_score),
                }
                costs
            }
        }
    }

    fn as_primary(&mut self) -> &Costs {
        let Outlay { places, spread, instance, p, .. } = *self;
        self.as_primary.get_or_insert_with(|| {
            let (leaving, arrivals) = spread.departure(instance, Some(p));
            let desired = &instance.desired_locations;
            let mut costs = places.level(leaving + desired.len() as i64);
            desired.iter().for_each(|location| places.add(&mut costs, location, -1));
            if arrivals.elsewhere != 0 {
                let all = places.at_location.keys();
                all.for_each(|location| places.add(&mut costs, *location, arrivals.elsewhere));
            }
            for (location, by) in arrivals.there {
                places.add(&mut costs, location, by - arrivals.elsewhere);
            }
            costs
        })
    }
}
