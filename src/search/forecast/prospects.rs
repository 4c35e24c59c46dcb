//! The moves that could be the best, with the bounds to prove it of the others.

use super::lanes::least;
use super::row::Role;
use super::size::Size;
use super::{FAILOVER, Forecast, REPLACE_PRIMARY, SLOTS, slot};
use crate::model::{Instance, InstanceIdx, NodeIdx};
use crate::score::metrics::Lanes;
use crate::score::running::RESERVED_TOTAL_WEIGHT;
use crate::search::moves::Move;

/// A move that the bounds do not exclude.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prospect {
    /// Its score is not smaller.
    pub bound: f64,
    /// The move.
    pub mv: Move,
}

/// What looking for prospects took.
#[derive(Debug, Clone, Copy, Default)]
pub struct Seen {
    /// Bounds worked out for single moves.
    pub bounds: u64,
    /// Instances looked at.
    pub instances: u64,
}

impl Forecast {
    /// The blocks of instances that have moves with a bound of at most `limit`, the
    /// smallest bound first.
    pub fn blocks(&self, limit: f64) -> Vec<(f64, usize)> {
        let bounds = self.groups.blocks.iter().map(|b| self.bound(b.group as usize, &b.least));
        let mut near: Vec<(f64, usize)> =
            bounds.enumerate().filter(|(_, bound)| *bound <= limit).map(|(at, bound)| (bound, at)).collect();
        near.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        near
    }

    /// The instances of a block that have moves with a bound of at most `limit`,
    /// the smallest bound first.
    pub fn members(&self, block: usize, limit: f64, near: &mut Vec<(f64, u32)>) {
        let block = &self.groups.blocks[block];
        near.clear();
        for position in &block.members {
            let bound = self.bound(block.group as usize, &self.departures[*position as usize].cost);
            if bound <= limit {
                near.push((bound, *position));
            }
        }
        near.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    }

    /// The instance at a position.
    pub fn instance(&self, position: u32) -> InstanceIdx {
        self.instances[position as usize]
    }

    /// The smallest bound of a group's moves with these costs of departure.
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

    /// The moves of an instance that the bounds do not exclude: all whose score may
    /// be `limit` or less.
    pub fn prospects(
        &self,
        position: u32,
        instance: &Instance,
        limit: f64,
        found: &mut Vec<Prospect>,
        seen: &mut Seen,
    ) {
        found.clear();
        seen.instances += 1;
        let departure = &self.departures[position as usize];
        let Some((_, group)) = self.groups.of(position) else { return };
        let size = &self.sizes[group.size as usize];
        let changes = departure.changes(&self.ground);
        let reach = changes.reach();
        for slot in 0..SLOTS {
            if departure.fixed[slot] == f64::INFINITY {
                continue;
            }
            let base = size.base_of(&self.present, &reach, slot) + departure.cost[slot];
            match Role::of_target(slot) {
                None if base <= limit => found.push(Prospect { bound: base, mv: Move::Failover }),
                None => {}
                Some(role) => {
                    let row = &self.rows[group.rows[slot] as usize];
                    if base + row.smallest > limit {
                        continue;
                    }
                    let arrivals = Arrivals { role, slot, changes: changes.of_slot(slot) };
                    for at in row.up_to(limit - base) {
                        let target = self.ground.nodes[at];
                        if target == instance.primary || Some(target) == instance.secondary {
                            continue;
                        }
                        seen.bounds += 1;
                        let bound =
                            departure.fixed[slot] + row.fixed[at] + self.bound_at(size, &arrivals, at);
                        if bound <= limit {
                            let mv = arrivals.mv(instance, target);
                            found.push(Prospect { bound, mv });
                        }
                    }
                }
            }
        }
    }

    /// The bounds that have to be passed before a move is tried: its block's, its
    /// instance's, that of the lines, and its own. Nothing for instances that do not
    /// move or of which an earlier one is alike; infinite where the move is known to
    /// be impossible.
    pub fn bounds(&self, instance: &Instance, mv: Move) -> Option<[f64; 4]> {
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
        let changes = departure.changes(&self.ground);
        let base = size.base_of(&self.present, &changes.reach(), slot) + departure.cost[slot];
        let at = mv.target().map(|t| self.ground.nodes.binary_search(&t));
        let (Some(role), Some(Ok(at))) = (Role::of_target(slot), at) else {
            return Some([bounds[0], bounds[1], base, base]);
        };
        let row = &self.rows[group.rows[slot] as usize];
        let arrivals = Arrivals { role, slot, changes: changes.of_slot(slot) };
        let own = departure.fixed[slot] + row.fixed[at] + self.bound_at(size, &arrivals, at);
        Some([bounds[0], bounds[1], base + row.cost[at], own])
    }

    /// The bound of one move without what is not a deviation: by the square roots,
    /// not by their chords.
    fn bound_at(&self, size: &Size, arrivals: &Arrivals, at: usize) -> f64 {
        let (change, reserve) = size.arrival(&self.ground, at, arrivals.role);
        let change: Lanes = std::array::from_fn(|k| change[k] + arrivals.changes[k]);
        let deviations = self.present.deviations(&size.offset, &change);
        size.rest(&self.present) + RESERVED_TOTAL_WEIGHT * reserve + deviations.iter().sum::<f64>()
    }
}

/// The arrivals of one instance in one slot.
struct Arrivals {
    role: Role,
    slot: usize,
    /// Changes of variances by the departure.
    changes: Lanes,
}

impl Arrivals {
    fn mv(&self, instance: &Instance, target: NodeIdx) -> Move {
        match self.slot {
            REPLACE_PRIMARY if instance.mirror().is_none() => Move::FailoverTo(target),
            REPLACE_PRIMARY => Move::ReplacePrimary(target),
            super::REPLACE_SECONDARY => Move::ReplaceSecondary(target),
            super::REPLACE_AND_FAILOVER => Move::ReplaceAndFailover(target),
            _ => Move::FailoverAndReplace(target),
        }
    }
}
