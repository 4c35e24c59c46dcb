//! Text tables.

/// Side of the padding that makes the cells of a column equally wide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    /// After the text, even in the last column.
    Left,
    /// Before the text.
    Right,
}

impl Align {
    /// The text padded to `width` characters, or as it is if it is longer. A format's width panics beyond 16 bits; this
    /// works for names of any length.
    pub(crate) fn pad(self, text: &str, width: usize) -> String {
        let blanks = " ".repeat(width.saturating_sub(text.chars().count()));
        match self {
            Align::Left => format!("{text}{blanks}"),
            Align::Right => format!("{blanks}{text}"),
        }
    }
}

/// A table: a header and rows, which all have as many cells as there are columns.
#[derive(Debug, Clone)]
pub(crate) struct Table {
    align: Vec<Align>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with only its header.
    pub(crate) fn new(columns: impl IntoIterator<Item = (impl Into<String>, Align)>) -> Table {
        let (header, align) = columns.into_iter().map(|(h, a)| (h.into(), a)).unzip();
        Table { align, rows: vec![header] }
    }

    /// Adds a row.
    pub(crate) fn push(&mut self, row: Vec<String>) {
        self.rows.push(row);
    }

    /// The lines, each beginning with `prefix` and a blank. Cells are as wide as the widest of their column, and one
    /// blank apart.
    pub(crate) fn lines(&self, prefix: &str) -> Vec<String> {
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
                .map(|((cell, width), align)| align.pad(cell, *width))
                .collect();
            format!("{prefix} {}", cells.join(" "))
        };
        self.rows.iter().map(line).collect()
    }
}

impl Table {
    /// The same without blanks at the ends of lines.
    pub(crate) fn trimmed_lines(&self, prefix: &str) -> Vec<String> {
        self.lines(prefix).iter().map(|line| line.trim_end().to_owned()).collect()
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

    #[test]
    fn columns_may_be_of_any_width() {
        assert_eq!(Align::Left.pad("x", 70_000).len(), 70_000);
        assert_eq!(Align::Right.pad("äx", 1), "äx");
    }
}
