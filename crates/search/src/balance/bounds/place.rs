//! Contribution of locations and of services' spread over them to the bounds.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use foldhash::HashMap;

use super::online_nodes::COUNT_ERROR;
use super::{FAILOVER, FAILOVER_AND_REPLACE, REPLACE_AND_FAILOVER, REPLACE_SECONDARY, SLOTS, slot};
use crate::moves::Repertoire;
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

/// For each slot, the lowest cost of any place for the new node; for a failover, its own cost.
pub(super) type Outlay = [PlaceCost; SLOTS];

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

/// Costs of a new primary node for some instances, by position, from one step to the next: the same instances have
/// promising moves in many steps.
pub(super) struct KeptCosts {
    of: Vec<OnceLock<Arc<Costs>>>,
    kept: AtomicUsize,
    /// Maximum number of instances.
    most: usize,
}

/// Approximate limit on the total number of places in all kept costs.
const MOST_COSTS: usize = 500_000;

impl KeptCosts {
    pub(super) fn new(instances: usize, places: &ArrivalPlaces) -> KeptCosts {
        KeptCosts {
            of: (0..instances).map(|_| OnceLock::new()).collect(),
            kept: AtomicUsize::new(0),
            most: (MOST_COSTS / places.locations.len().max(1)).max(1),
        }
    }

    /// The costs of an instance. Those that `compute` returns are kept, unless there are too many already.
    fn of(&self, position: u32, compute: impl FnOnce() -> Costs) -> Arc<Costs> {
        let own = &self.of[position as usize];
        own.get().cloned().unwrap_or_else(|| {
            let costs = Arc::new(compute());
            if self.kept.load(Ordering::Relaxed) < self.most && own.set(costs.clone()).is_ok() {
                self.kept.fetch_add(1, Ordering::Relaxed);
            }
            costs
        })
    }

    /// Forgets the costs of an instance, and all of them if there are too many.
    pub(super) fn forget(&mut self, position: u32) {
        if *self.kept.get_mut() >= self.most {
            *self.kept.get_mut() = 0;
            self.of.iter_mut().for_each(|costs| *costs = OnceLock::new());
        }
        if self.of[position as usize].take().is_some() {
            *self.kept.get_mut() -= 1;
        }
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
    as_primary: Option<Arc<Costs>>,
    /// The costs that are kept from step to step, and the position of the instance in them.
    kept: Option<(&'a KeptCosts, u32)>,
}

impl<'a> PlaceCosts<'a> {
    pub(super) fn new(
        places: &'a ArrivalPlaces,
        spread: &'a Spread,
        cluster: &'a Cluster,
        instance: &'a Instance,
        kept: Option<(&'a KeptCosts, u32)>,
    ) -> PlaceCosts<'a> {
        let spec = |n: NodeIdx| &cluster.node(n).spec;
        let (p, mirror) = (spec(instance.primary), instance.mirror().map(spec));
        PlaceCosts { places, spread, weights: &cluster.weights, instance, p, mirror, as_primary: None, kept }
    }

    /// The costs of the moves of a repertoire.
    pub(super) fn outlay(&mut self, repertoire: &Repertoire) -> Outlay {
        let mut outlay = Outlay::default();
        if repertoire.failover {
            outlay[FAILOVER] = self.failover();
        }
        for slot in repertoire.to_target.iter().map(|mv| slot(mv(self.instance.primary))) {
            outlay[slot] = self.least(slot);
        }
        outlay
    }

    /// Cost of a failover: the change of the surplus of services in locations.
    fn failover(&self) -> PlaceCost {
        let surplus = self.spread.change(self.instance, Some(self.p), self.mirror);
        PlaceCost { surplus, ..PlaceCost::default() }
    }

    /// The lowest cost of any place for the new node of a move of the slot.
    fn least(&mut self, slot: usize) -> PlaceCost {
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
    pub(super) fn extras(&mut self, slot: usize, outlay: &Outlay) -> impl Fn(usize) -> f64 + use<'a> {
        let (costs, weights) = (self.costs(slot), self.weights);
        let least = outlay[slot].part(weights);
        move |place| {
            let part = costs[place].part(weights);
            part.score - least.score - COUNT_ERROR * (part.size + least.size)
        }
    }

    /// By place of the new node, the change of the counts by a move of the slot, including the surplus.
    ///
    /// The counts of the instance's own nodes are in their ledgers. Only its location score is added here, if it
    /// stays on its primary or goes to S.
    fn costs(&mut self, slot: usize) -> Costs {
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
                let mut costs = Costs::clone(self.as_primary());
                match if slot == REPLACE_AND_FAILOVER { Some(p) } else { mirror } {
                    Some(other) => places.add_common(&mut costs, other),
                    // An externally mirrored instance keeps its location score.
                    None => costs.iter_mut().for_each(|cost| cost.locations += instance.location_score),
                }
                costs
            }
        }
    }

    fn as_primary(&mut self) -> &Arc<Costs> {
        let PlaceCosts { places, spread, instance, p, kept, .. } = *self;
        let compute = || {
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
        };
        self.as_primary.get_or_insert_with(|| match kept {
            Some((costs, position)) => costs.of(position, compute),
            None => Arc::new(compute()),
        })
    }
}
