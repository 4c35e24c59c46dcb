//! Contents of hosts that the search has met, with the contents one arrival or departure away.

use std::collections::HashMap;

use crate::prices::{Values, count, less};
use crate::space::{Content, Units, cell};

/// Index of a content among those met so far.
pub type ClassId = usize;

/// Another content, one arrival or departure away.
#[derive(Debug, Clone, Copy)]
pub struct Change {
    pub slot: usize,
    pub to: ClassId,
    /// Loss of the host's value by this change, in blocks; not negative.
    pub loss: f64,
}

pub struct Class {
    content: Content,
    /// Upper bound of what the host is worth under the prices.
    pub value: f64,
    pub blocks: usize,
    /// Grows as free CPUs of NUMA nodes concentrate.
    pub concentration: f64,
    /// Machines that may leave, by slot; known once the class is expanded.
    pub departures: Vec<Change>,
    /// Machines that may come, by slot; known once the class is expanded.
    pub arrivals: Vec<Change>,
    expanded: bool,
}

/// All contents met so far.
pub struct Classes<'a> {
    pub values: Values<'a>,
    tables: HashMap<Vec<u16>, Vec<f64>>,
    ids: HashMap<Content, ClassId>,
    met: Vec<Class>,
}

impl<'a> Classes<'a> {
    pub fn new(values: Values<'a>) -> Classes<'a> {
        Classes { values, tables: HashMap::new(), ids: HashMap::new(), met: Vec::new() }
    }

    pub fn get(&self, id: ClassId) -> &Class {
        &self.met[id]
    }

    /// The class of a content.
    pub fn id(&mut self, content: Content) -> ClassId {
        if let Some(&id) = self.ids.get(&content) {
            return id;
        }
        let space = self.values.space;
        let blocks = space.blocks(content.free);
        let value = match content.active {
            true => {
                let table = self.tables.entry(content.movable.clone());
                let table = table.or_insert_with(|| self.values.table(&content.movable));
                table[cell(space.side, content.free)]
            }
            false => count(blocks),
        };
        let class = Class {
            value,
            blocks,
            concentration: self.concentration(content.free),
            content: content.clone(),
            departures: Vec::new(),
            arrivals: Vec::new(),
            expanded: false,
        };
        self.met.push(class);
        self.ids.insert(content, self.met.len() - 1);
        self.met.len() - 1
    }

    /// Finds the contents one arrival or departure away from a class, unless they are known.
    pub fn expand(&mut self, id: ClassId) {
        if self.met[id].expanded {
            return;
        }
        let content = self.met[id].content.clone();
        let slots = if content.active { 0..self.values.space.slots.len() } else { 0..0 };
        let mut departures = Vec::new();
        let mut arrivals = Vec::new();
        for slot in slots {
            if let Some(after) = self.departed(&content, slot) {
                let to = self.id(after);
                let loss = self.met[id].value - (self.met[to].value - self.values.departure(slot));
                departures.push(Change { slot, to, loss });
            }
            if let Some(after) = self.arrived(&content, slot) {
                let to = self.id(after);
                let paid = self.values.prices.place[self.values.space.slots[slot].shape];
                arrivals.push(Change { slot, to, loss: self.met[id].value - (self.met[to].value + paid) });
            }
        }
        let class = &mut self.met[id];
        class.departures = departures;
        class.arrivals = arrivals;
        class.expanded = true;
    }

    fn departed(&self, content: &Content, slot: usize) -> Option<Content> {
        let mut after = content.clone();
        after.movable[slot] = after.movable[slot].checked_sub(1)?;
        let slot = &self.values.space.slots[slot];
        for node in 0..2 {
            after.free[node] += slot.units[node];
            after.memory[node] = after.memory[node].saturating_add(slot.demand[node].memory);
        }
        Some(after)
    }

    /// The content with one machine more, which stays: no machine moves twice.
    fn arrived(&self, content: &Content, slot: usize) -> Option<Content> {
        let slot = &self.values.space.slots[slot];
        let mut after = content.clone();
        after.free = less(content.free, slot.units)?;
        for node in 0..2 {
            after.memory[node] = content.memory[node].checked_sub(slot.demand[node].memory)?;
        }
        Some(after)
    }

    /// Squares of the CPUs in fragments; whole blocks count as the largest square.
    fn concentration(&self, free: Units) -> f64 {
        let block = count(self.values.space.units_of_block());
        let rest = self.values.space.rest(free).map(|rest| (count(rest) / block).powi(2));
        count(self.values.space.blocks(free)) + rest.iter().sum::<f64>()
    }
}
