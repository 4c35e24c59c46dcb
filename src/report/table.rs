//! Tables of text.

/// Where the blanks go that make the cells of a column equally wide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Behind the text, in the last column too.
    Left,
    /// Before the text.
    Right,
}

/// A table: a header, then rows; all have as many cells as there are columns.
#[derive(Debug, Clone)]
pub struct Table {
    align: Vec<Align>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with only its header.
    pub fn new(columns: impl IntoIterator<Item = (impl Into<String>, Align)>) -> Table {
        let (header, align) = columns.into_iter().map(|(h, a)| (h.into(), a)).unzip();
        Table { align, rows: vec![header] }
    }

    /// Adds a row.
    pub fn push(&mut self, row: Vec<String>) {
        self.rows.push(row);
    }

    /// The lines, each beginning with `prefix` and a blank; cells are as wide as
    /// the widest of their column and one blank apart.
    pub fn lines(&self, prefix: &str) -> Vec<String> {
        let width = |text: &String| text.chars().count();
        let mut widths = vec![0; self.align.len()];
        for row in &self.rows {
            for (widest, cell) in widths.iter_mut().zip(row) {
                *widest = width(cell).max(*widest);
            }
        }
        let line = |row: &Vec<String>| {
            let cells: Vec<String> = row
                .iter()
                .zip(&widths)
                .zip(&self.align)
                .map(|((cell, width), align)| match align {
                    Align::Left => format!("{cell:<width$}"),
                    Align::Right => format!("{cell:>width$}"),
                })
                .collect();
            format!("{prefix} {}", cells.join(" "))
        };
        self.rows.iter().map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let mut table = Table::new([("F", Align::Left), ("Näme", Align::Left), ("n", Align::Right)]);
        table.push(vec!["".into(), "x".into(), "10".into()]);
        assert_eq!(table.lines(" "), ["  F Näme  n", "    x    10"]);
    }
}
