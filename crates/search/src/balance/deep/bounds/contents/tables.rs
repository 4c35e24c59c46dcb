//! The most that items pay, by their number and the units that they take: tables of dynamic programs.
//!
//! A cell has the least of the negative sums of what the items pay, in whole units; infinite if no items take so much.

use super::grid::ContentGrid;
use super::problem::{OWN, PrimaryType, SecondaryType};

/// Table over the numbers of primaries, and over the dimensions; the shared one is contiguous.
pub(super) struct PrimaryTable<'a> {
    types: &'a [PrimaryType],
    pays: Vec<f32>,
    cells: Vec<f32>,
    pub sides: [usize; OWN],
    pub shared: usize,
    pub layers: usize,
}

/// Table over the numbers of secondaries and the shared dimension, for one level of the node.
pub(super) struct SecondaryTable<'a> {
    types: &'a [SecondaryType],
    pays: &'a [f32],
    level: usize,
    cells: Vec<f32>,
    pub side: usize,
    pub layers: usize,
}

/// Lowers the cells of a row to those of another one, moved by some cells, less what an item pays.
fn lower(row: &mut [f32], from: &[f32], moved: usize, pays: f32) {
    if moved >= row.len() {
        return;
    }
    let end = from.len() - moved;
    for (cell, old) in row[moved..].iter_mut().zip(&from[..end]) {
        let new = old - pays;
        *cell = if new < *cell { new } else { *cell };
    }
}

impl<'a> PrimaryTable<'a> {
    pub(super) fn of(grid: &ContentGrid, types: &'a [PrimaryType], pays: Vec<f32>) -> PrimaryTable<'a> {
        let (sides, shared) = (grid.own.map(|range| range.high + 1), grid.shared.high + 1);
        let layers = grid.most[0] + 1;
        let cells = vec![f32::INFINITY; sides[0] * sides[1] * shared * layers];
        let mut table = PrimaryTable { types, pays, cells, sides, shared, layers };
        table.cells[0] = 0.0;
        (1..layers).for_each(|layer| table.fill(layer));
        table
    }

    /// Fills the layer of a number of primaries from the one before.
    fn fill(&mut self, layer: usize) {
        let PrimaryTable { types, pays, cells, sides, shared, .. } = self;
        let size = sides[0] * sides[1] * *shared;
        let (before, after) = cells.split_at_mut(layer * size);
        let (before, after) = (&before[(layer - 1) * size..], &mut after[..size]);
        // So many primaries take no less and no more than this.
        let ends = |dimension: usize| {
            let least = types.iter().map(|of| of.own[dimension]).min().unwrap_or(0);
            let most = types.iter().map(|of| of.own[dimension]).max().unwrap_or(0);
            layer * least..(layer * most + 1).min(sides[dimension])
        };
        for x in ends(0) {
            for y in ends(1) {
                let row = &mut after[(x * sides[1] + y) * *shared..][..*shared];
                for (of, pays) in types.iter().zip(pays.iter()) {
                    if of.own[0] <= x && of.own[1] <= y {
                        let from = ((x - of.own[0]) * sides[1] + y - of.own[1]) * *shared;
                        lower(row, &before[from..][..*shared], of.shared, *pays);
                    }
                }
            }
        }
    }

    /// The cells of a number of primaries that take so many units of their own dimensions.
    pub(super) fn row(&self, layer: usize, own: [usize; OWN]) -> &[f32] {
        let at = ((layer * self.sides[0] + own[0]) * self.sides[1] + own[1]) * self.shared;
        &self.cells[at..][..self.shared]
    }

    /// The types of the primaries of a cell.
    pub(super) fn items(&self, layer: usize, mut own: [usize; OWN], mut shared: usize) -> Option<Vec<usize>> {
        let mut items = Vec::with_capacity(layer);
        for layer in (1..=layer).rev() {
            let cell = self.row(layer, own)[shared];
            let before = |of: &PrimaryType| {
                let left = [own[0].checked_sub(of.own[0])?, own[1].checked_sub(of.own[1])?];
                Some((left, shared.checked_sub(of.shared)?))
            };
            let (chosen, (left, part)) =
                (0..).zip(self.types).zip(&self.pays).find_map(|((at, of), pays)| {
                    let (left, part) = before(of)?;
                    (self.row(layer - 1, left)[part] - pays == cell).then_some((at, (left, part)))
                })?;
            (own, shared) = (left, part);
            items.push(chosen);
        }
        Some(items)
    }
}

impl<'a> SecondaryTable<'a> {
    pub(super) fn of(
        grid: &ContentGrid,
        (types, pays): (&'a [SecondaryType], &'a [f32]),
        level: usize,
    ) -> SecondaryTable<'a> {
        let (side, layers) = (grid.shared.high + 1, grid.most[1] + 1);
        let mut cells = vec![f32::INFINITY; side * layers];
        cells[0] = 0.0;
        for layer in 1..layers {
            let (before, after) = cells.split_at_mut(layer * side);
            let (before, after) = (&before[(layer - 1) * side..], &mut after[..side]);
            for (of, pays) in types.iter().zip(pays).filter(|(of, _)| of.level >= level) {
                lower(after, before, of.shared, *pays);
            }
        }
        SecondaryTable { types, pays, level, cells, side, layers }
    }

    /// The cells of a number of secondaries.
    pub(super) fn row(&self, layer: usize) -> &[f32] {
        &self.cells[layer * self.side..][..self.side]
    }

    /// The types of the secondaries of a cell.
    pub(super) fn items(&self, layer: usize, mut shared: usize) -> Option<Vec<usize>> {
        let mut items = Vec::with_capacity(layer);
        for layer in (1..=layer).rev() {
            let cell = self.row(layer)[shared];
            let (chosen, part) = (0..).zip(self.types).zip(self.pays).find_map(|((at, of), pays)| {
                let part = shared.checked_sub(of.shared).filter(|_| of.level >= self.level)?;
                (self.row(layer - 1)[part] - pays == cell).then_some((at, part))
            })?;
            shared = part;
            items.push(chosen);
        }
        Some(items)
    }
}
