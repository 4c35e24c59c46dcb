//! The moves that the bounds cannot exclude from being the best.

use std::borrow::Cow;

use super::amounts::AmountsBox;
use super::arrival_costs::{ArrivalRole, ArrivalRow};
use super::departure::{Departure, VarianceChanges};
use super::lanes::least;
use super::place::{Outlay, PlaceCosts};
use super::size::SizeBox;
use super::tight_bounds::SlotArrivals;
use super::{FAILOVER, MoveBounds, REPLACE_AND_FAILOVER, REPLACE_PRIMARY, REPLACE_SECONDARY, SLOTS, slot};
use crate::balance::Balancer;
use htools_model::{Cluster, Instance, InstanceIdx, Move, NodeIdx};

/// A move that the bounds do not exclude.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Candidate {
    /// Lower bound of the score after the move.
    pub bound: f64,
    pub mv: Move,
}

/// Additional costs of one instance on each node, compared with the node that is best for it. They come from
/// its place (failure domain), if places differ, and from its affinity keys, if it has any.
struct Extras<'a> {
    bounds: &'a MoveBounds,
    cluster: &'a Cluster,
    position: u32,
    instance: &'a Instance,
    places: Option<(PlaceCosts<'a>, &'a Outlay)>,
    /// By row, the additional cost of the affinity keys; computed on first use.
    keys: Option<Vec<f64>>,
}

impl Extras<'_> {
    /// By row, the additional cost of a move of the slot, rounded down.
    fn of_slot(&mut self, slot: usize) -> impl Fn(usize) -> f64 + '_ {
        let MoveBounds { places, key_costs, online, .. } = self.bounds;
        let by_place = self.places.as_mut().map(|(costs, outlay)| costs.extras(slot, outlay));
        let brings_keys =
            ArrivalRole::of_target(slot) == Some(ArrivalRole::Primary) && !self.instance.keys.is_empty();
        let by_keys = brings_keys.then(|| {
            &*self.keys.get_or_insert_with(|| {
                key_costs.extras(self.cluster, &online.nodes, self.position, self.instance)
            })
        });
        move |at| {
            let place = by_place.as_ref().map_or(0.0, |extra| extra(places.of_row(at)));
            place + by_keys.map_or(0.0, |extras| extras[at])
        }
    }
}

/// Work spent on finding candidates.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct CandidateWork {
    /// Number of bounds computed for single moves.
    pub bounds: u64,
    /// Number of instances examined.
    pub instances: u64,
}

impl MoveBounds {
    /// The blocks of instances that have moves with a bound of at most `limit`, smallest bound first.
    pub(crate) fn blocks(&self, limit: f64) -> Vec<(f64, usize)> {
        let bounds = self.groups.blocks.iter().map(|b| self.bound(b.group as usize, &b.least));
        let mut near: Vec<(f64, usize)> =
            bounds.enumerate().filter(|(_, bound)| *bound <= limit).map(|(at, bound)| (bound, at)).collect();
        near.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        near
    }

    /// The instances of a block that have moves with a bound of at most `limit`, with their smallest bounds.
    pub(crate) fn members(&self, block: usize, limit: f64) -> Vec<(f64, u32)> {
        let block = &self.groups.blocks[block];
        let bound = |p: &u32| self.bound(block.group as usize, &self.departures[*p as usize].cost);
        block.members.iter().map(|p| (bound(p), *p)).filter(|(bound, _)| *bound <= limit).collect()
    }

    pub(crate) fn instance(&self, position: u32) -> InstanceIdx {
        self.instances[position as usize]
    }

    /// The smallest bound of the moves of a group, given the costs of departure.
    fn bound(&self, group: usize, costs: &[f64; SLOTS]) -> f64 {
        let group = &self.groups.groups[group];
        let base = &self.sizes[group.size as usize].base;
        let mut bound = base[FAILOVER] + costs[FAILOVER];
        for slot in FAILOVER + 1..SLOTS {
            if let Some(row) = self.rows.get(group.rows[slot] as usize) {
                bound = least(base[slot] + costs[slot] + row.smallest, bound);
            }
        }
        bound
    }

    /// Finds all moves of the instance whose score may be `limit` or less.
    pub(crate) fn candidates(
        &self,
        balancer: &Balancer<'_>,
        position: u32,
        instance: &Instance,
        limit: f64,
        found: &mut Vec<Candidate>,
        seen: &mut CandidateWork,
    ) {
        found.clear();
        seen.instances += 1;
        let departure = &self.departures[position as usize];
        let Some((_, group)) = self.groups.of(position) else { return };
        let size = &self.sizes[group.size as usize];
        let amounts = self.amounts_of(size, instance);
        let changes = departure.changes(&self.online);
        let reach = changes.reach();
        let mut extras = self.extras(balancer, position, instance);
        for slot in 0..SLOTS {
            if departure.fixed[slot] == f64::INFINITY {
                continue;
            }
            let base = size.base_of(&self.present, &reach, slot) + departure.cost[slot];
            let Some(row) = self.rows.get(group.rows[slot] as usize) else {
                // A slot without a row is the failover.
                if base <= limit {
                    found.push(Candidate { bound: base, mv: Move::Failover });
                }
                continue;
            };
            if base + row.smallest > limit {
                continue;
            }
            let extra = extras.of_slot(slot);
            let near = row.up_to(limit - base).filter(|at| base + row.cost[*at] + extra(*at) <= limit);
            let rows: Vec<u32> = near.map(|at| at as u32).collect();
            seen.bounds += rows.len() as u64;
            let bounds = self.arrivals(departure, &changes, size, &amounts, row, slot).bounds(&rows);
            let bounds = rows.iter().zip(bounds).map(|(at, bound)| (*at, bound + extra(*at as usize)));
            for (at, bound) in bounds.filter(|(_, bound)| *bound <= limit) {
                let target = self.online.nodes[at as usize];
                if target != instance.primary && Some(target) != instance.secondary {
                    found.push(Candidate { bound, mv: mv(slot, instance, target) });
                }
            }
        }
    }

    /// The bounds that the move must pass before it is tried: that of its block, of its instance, of the lines,
    /// and its own. An impossible move has an infinite bound. Returns `None` for instances that do not move,
    /// and for those that have an earlier equivalent.
    pub fn bounds(&self, balancer: &Balancer<'_>, instance: &Instance, mv: Move) -> Option<[f64; 4]> {
        let position = self.position[instance.idx.get()]?;
        let departure = &self.departures[position as usize];
        if !self.alike.is_first(position) {
            return None;
        }
        let (block, group) = self.groups.of(position)?;
        let size = &self.sizes[group.size as usize];
        let slot = slot(mv);
        let bounds = [&block.least, &departure.cost].map(|cost| self.bound(block.group as usize, cost));
        if departure.fixed[slot] == f64::INFINITY {
            return Some([bounds[0], bounds[1], f64::INFINITY, f64::INFINITY]);
        }
        let amounts = self.amounts_of(size, instance);
        let changes = departure.changes(&self.online);
        let base = size.base_of(&self.present, &changes.reach(), slot) + departure.cost[slot];
        let at = mv.target().map(|t| self.online.nodes.binary_search(&t));
        let Some(Ok(at)) = at else {
            return Some([bounds[0], bounds[1], base, base]);
        };
        let row = &self.rows[group.rows[slot] as usize];
        let own = self.arrivals(departure, &changes, size, &amounts, row, slot).bounds(&[at as u32]);
        let extra = self.extras(balancer, position, instance).of_slot(slot)(at);
        Some([bounds[0], bounds[1], base + row.cost[at] + extra, own[0] + extra])
    }

    /// Additional costs of the instance on each node, compared with the node that is best for it.
    fn extras<'a>(&'a self, balancer: &'a Balancer<'_>, position: u32, instance: &'a Instance) -> Extras<'a> {
        let (cluster, spread) = (balancer.cluster(), balancer.board().spread());
        let outlay = self.departures[position as usize].outlay.as_ref().filter(|_| self.places.matter());
        let costs =
            || PlaceCosts::new(&self.places, spread, cluster, instance, Some((&self.kept_costs, position)));
        Extras {
            bounds: self,
            cluster,
            position,
            instance,
            places: outlay.map(|outlay| (costs(), outlay)),
            keys: None,
        }
    }

    /// The amounts of one instance of a size.
    fn amounts_of<'a>(&self, size: &'a SizeBox, instance: &Instance) -> Cow<'a, AmountsBox> {
        if size.amounts.is_box() {
            Cow::Owned(AmountsBox::of(&[instance], &self.online))
        } else {
            Cow::Borrowed(&size.amounts)
        }
    }

    fn arrivals<'a>(
        &'a self,
        departure: &Departure,
        changes: &VarianceChanges,
        size: &SizeBox,
        amounts: &'a AmountsBox,
        row: &'a ArrivalRow,
        slot: usize,
    ) -> SlotArrivals<'a> {
        let offset = self.present.offset_after(&size.offset, &changes.of_slot(slot));
        let rest = size.rest(&self.present) + departure.fixed[slot];
        SlotArrivals::new(&self.online, &self.present, amounts, row, offset, rest)
    }
}

fn mv(slot: usize, instance: &Instance, target: NodeIdx) -> Move {
    match slot {
        REPLACE_PRIMARY if instance.mirror().is_none() => Move::FailoverTo(target),
        REPLACE_PRIMARY => Move::ReplacePrimary(target),
        REPLACE_SECONDARY => Move::ReplaceSecondary(target),
        REPLACE_AND_FAILOVER => Move::ReplaceAndFailover(target),
        _ => Move::FailoverAndReplace(target),
    }
}
