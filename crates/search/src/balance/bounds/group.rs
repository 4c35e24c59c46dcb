//! Groups of instances whose bounds share everything except the costs of departure, divided into blocks.

use std::collections::HashMap;

use super::SLOTS;
use super::departure::Departure;
use super::lanes::least;

/// Properties shared by the instances of a cost group: their size and, for each slot, the row of arrival costs.
/// The failover has no row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct CostGroup {
    pub size: u32,
    pub rows: [u32; SLOTS],
}

/// Maximum number of instances in a block.
const LARGEST_BLOCK: usize = 64;

/// Some of the instances of a cost group.
#[derive(Debug)]
pub(super) struct InstanceBlock {
    pub group: u32,
    /// Positions in the bounds' list of instances.
    pub members: Vec<u32>,
    /// The smallest cost of each slot.
    pub least: [f64; SLOTS],
}

#[derive(Debug, Default)]
pub(super) struct CostGroups {
    pub groups: Vec<CostGroup>,
    numbers: HashMap<CostGroup, u32>,
    pub blocks: Vec<InstanceBlock>,
    /// For each group, a block that has room.
    open: Vec<usize>,
    /// By position, the instance's block.
    block_of: Vec<Option<u32>>,
}

impl CostGroups {
    /// Makes room for this number of instances; none is in a group yet.
    pub(super) fn new(instances: usize) -> CostGroups {
        CostGroups { block_of: vec![None; instances], ..CostGroups::default() }
    }

    /// The block and the group of an instance, if it is in one.
    pub(super) fn of(&self, position: u32) -> Option<(&InstanceBlock, &CostGroup)> {
        let block = &self.blocks[self.block_of[position as usize]? as usize];
        Some((block, &self.groups[block.group as usize]))
    }

    /// The block of an instance, if it is in one.
    pub(super) fn block_of(&self, position: u32) -> Option<u32> {
        self.block_of[position as usize]
    }

    /// Moves an instance to a group. Returns the blocks that it left and joined; call
    /// [`InstanceBlock::summarise`] on them.
    pub(super) fn assign(&mut self, position: u32, group: CostGroup) -> Vec<u32> {
        let next = self.groups.len() as u32;
        let number = *self.numbers.entry(group).or_insert(next);
        if number == next {
            self.groups.push(group);
            self.open.push(usize::MAX);
        }
        let mut changed = Vec::new();
        if let Some(block) = self.block_of[position as usize] {
            if self.blocks[block as usize].group == number {
                return vec![block];
            }
            self.blocks[block as usize].members.retain(|m| *m != position);
            changed.push(block);
        }
        let open = &mut self.open[number as usize];
        if *open == usize::MAX || self.blocks[*open].members.len() >= LARGEST_BLOCK {
            *open = self.blocks.len();
            self.blocks.push(InstanceBlock {
                group: number,
                members: Vec::new(),
                least: [f64::INFINITY; SLOTS],
            });
        }
        self.blocks[*open].members.push(position);
        self.block_of[position as usize] = Some(*open as u32);
        changed.push(*open as u32);
        changed
    }
}

impl InstanceBlock {
    /// Updates the smallest costs of the members.
    pub(super) fn summarise(&mut self, departures: &[Departure]) {
        self.least = [f64::INFINITY; SLOTS];
        for member in &self.members {
            let cost = &departures[*member as usize].cost;
            self.least = std::array::from_fn(|slot| least(cost[slot], self.least[slot]));
        }
    }
}
