//! Contribution of locations and of services' spread over them to the bounds.

use foldhash::HashMap;

use super::online_nodes::COUNT_ERROR;
use super::{FAILOVER_AND_REPLACE, REPLACE_AND_FAILOVER, REPLACE_SECONDARY};
use htools_model::score::Board;
use htools_model::score::interval::CountedPart;
use htools_model::score::metrics::Counted;
use htools_model::score::spread::Spread;
use htools_model::{Cluster, Instance, NodeIdx, NodeSpec, TagId, Weights};

/// The distinct places at which an instance can arrive. Online nodes with the same location tags form one
/// place.
pub(super) struct ArrivalPlaces {
    /// Place of each row of the board.
    of_row: Vec<u32>,
    /// For each place, the number of its locations.
    locations: Vec<i64>,
    /// For each location, the places in it.
    at_location: HashMap<TagId, Vec<u32>>,
}

/// Change of the counts that depend on the place when an instance arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct PlaceCost {
    /// Change of the location costs.
    pub locations: i64,
    /// Change of the surplus of services in locations.
    pub surplus: i64,
}

impl PlaceCost {
    fn part(self, weights: &Weights) -> CountedPart {
        let counted = Counted { location_sum: self.locations, ..Counted::default() };
        CountedPart::of(weights, &counted, self.surplus)
    }
}

/// Costs by place.
type Costs = Vec<PlaceCost>;

impl ArrivalPlaces {
    pub(super) fn of(cluster: &Cluster, board: &Board) -> ArrivalPlaces {
        let mut known = HashMap::default();
        let mut locations = Vec::new();
        let mut at_location: HashMap<TagId, Vec<u32>> = HashMap::default();
        let online = board.nodes().iter().filter(|n| board.row(**n).is_some());
        let mut place = |node: &NodeIdx| {
            let tags = &cluster.node(*node).spec.location_tags;
            let next = known.len() as u32;
            *known.entry(tags).or_insert_with(|| {
                locations.push(tags.len() as i64);
                tags.iter().for_each(|tag| at_location.entry(tag).or_default().push(next));
                next
            })
        };
        let of_row = online.map(&mut place).collect();
        ArrivalPlaces { of_row, locations, at_location }
    }

    /// Returns true if the place can make a difference at all.
    pub(super) fn matter(&self) -> bool {
        !self.at_location.is_empty()
    }

    /// The place of the node in a row.
    pub(super) fn of_row(&self, row: usize) -> usize {
        self.of_row[row] as usize
    }

    /// The same cost for all places.
    fn level(&self, cost: PlaceCost) -> Costs {
        vec![cost; self.locations.len()]
    }

    /// Changes the costs of all places in a location.
    fn change(&self, costs: &mut Costs, location: TagId, by: impl Fn(&mut PlaceCost)) {
        for place in self.at_location.get(&location).into_iter().flatten() {
            by(&mut costs[*place as usize]);
        }
    }

    /// Adds to each place the number of locations that it shares with a node.
    fn add_common(&self, costs: &mut Costs, node: &NodeSpec) {
        node.location_tags
            .iter()
            .for_each(|location| self.change(costs, location, |cost| cost.locations += 1));
    }
}

/// Costs of the places for one instance.
pub(super) struct PlaceCosts<'a> {
    places: &'a ArrivalPlaces,
    spread: &'a Spread,
    weights: &'a Weights,
    instance: &'a Instance,
    p: &'a NodeSpec,
    mirror: Option<&'a NodeSpec>,
    /// By place, the cost of a new primary node without the locations that it shares with the secondary;
    /// computed on first use.
    as_primary: Option<Costs>,
}

impl<'a> PlaceCosts<'a> {
    pub(super) fn new(
        places: &'a ArrivalPlaces,
        spread: &'a Spread,
        cluster: &'a Cluster,
        instance: &'a Instance,
    ) -> PlaceCosts<'a> {
        let spec = |n: NodeIdx| &cluster.node(n).spec;
        let (p, mirror) = (spec(instance.primary), instance.mirror().map(spec));
        PlaceCosts { places, spread, weights: &cluster.weights, instance, p, mirror, as_primary: None }
    }

    /// Cost of a failover: the change of the surplus of services in locations.
    pub(super) fn failover(&self) -> PlaceCost {
        let surplus = self.spread.change(self.instance, Some(self.p), self.mirror);
        PlaceCost { surplus, ..PlaceCost::default() }
    }

    /// The lowest cost of any place for the new node of a move of the slot.
    pub(super) fn least(&mut self, slot: usize) -> PlaceCost {
        let weights = self.weights;
        let mut costs = self.costs(slot).into_iter();
        let mut least = costs.next().unwrap_or_default();
        let mut score = least.part(weights).score;
        for cost in costs {
            // Weights are not negative, so such a place cannot be better. Most are like this.
            if cost.locations >= least.locations && cost.surplus >= least.surplus {
                continue;
            }
            let own = cost.part(weights).score;
            if own < score {
                (least, score) = (cost, own);
            }
        }
        least
    }

    /// By place, the additional cost of a move of the slot compared with the cheapest place, rounded down.
    pub(super) fn extras(&mut self, slot: usize) -> Vec<f64> {
        let parts: Vec<CountedPart> =
            self.costs(slot).into_iter().map(|cost| cost.part(self.weights)).collect();
        let least = parts.iter().map(|part| part.score).fold(f64::INFINITY, f64::min);
        let size = parts.iter().map(|part| part.size).fold(0.0, f64::max);
        parts.iter().map(|part| part.score - least - COUNT_ERROR * (part.size + size)).collect()
    }

    /// By place of the new node, the change of the counts by a move of the slot, including the surplus.
    ///
    /// The counts of the instance's own nodes are in their ledgers. Only its location score is added here, if it
    /// stays on its primary or goes to S.
    pub(super) fn costs(&mut self, slot: usize) -> Costs {
        let (places, instance, p) = (self.places, self.instance, self.p);
        if instance.forthcoming {
            return places.level(PlaceCost::default());
        }
        match (slot, self.mirror) {
            (REPLACE_SECONDARY, _) if p.offline => places.level(PlaceCost::default()),
            (REPLACE_SECONDARY, _) => {
                let locations = -instance.location_score;
                let mut costs = places.level(PlaceCost { locations, ..PlaceCost::default() });
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
                    // An externally mirrored instance keeps its location score.
                    None => costs.iter_mut().for_each(|cost| cost.locations += instance.location_score),
                }
                costs
            }
        }
    }

    fn as_primary(&mut self) -> &Costs {
        let PlaceCosts { places, spread, instance, p, .. } = *self;
        self.as_primary.get_or_insert_with(|| {
            let (leaving, arrivals) = spread.departure(instance, Some(p));
            let desired = &instance.desired_locations;
            let mut costs = places.level(PlaceCost { locations: desired.len() as i64, surplus: leaving });
            for location in desired.iter() {
                places.change(&mut costs, location, |cost| cost.locations -= 1);
            }
            if arrivals.elsewhere != 0 {
                for (cost, locations) in costs.iter_mut().zip(&places.locations) {
                    cost.surplus += arrivals.elsewhere * locations;
                }
            }
            for (location, by) in arrivals.there {
                places.change(&mut costs, location, |cost| cost.surplus += by - arrivals.elsewhere);
            }
            costs
        })
    }
}
