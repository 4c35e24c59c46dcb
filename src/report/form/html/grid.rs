//! Tables that can be sorted and searched. Long ones show only their first rows at first.

use maud::{Markup, PreEscaped, html};

use super::bars::{NOTHING, SharePair, bar, change_text, percent_text};
use super::words::unbroken;
use crate::report::form::table::Align;

/// Number of rows shown at first; the style sheet has the same number.
pub(in crate::report) const PART: usize = 40;
/// Maximum number of rows of a table. The important rows come first, and a page must open at once.
const MOST: usize = 5000;

/// A column: its heading, and the alignment of its cells.
pub(in crate::report) type GridColumn<'t> = (&'t str, Align);

/// Display of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CellKind {
    Plain,
    /// A prominent name.
    Name,
    /// On one line.
    Line,
    /// A bar with a text below it.
    Bar,
}

pub(in crate::report) struct GridCell {
    shown: Markup,
    /// Key for sorting, if it is not the text or the number in it.
    value: Option<f64>,
    kind: CellKind,
}

impl GridCell {
    pub(in crate::report) fn of(shown: Markup) -> GridCell {
        GridCell { shown, value: None, kind: CellKind::Plain }
    }

    pub(in crate::report) fn text(text: impl AsRef<str>) -> GridCell {
        GridCell::of(unbroken(text.as_ref()))
    }

    /// A prominent name.
    pub(in crate::report) fn name(text: impl AsRef<str>) -> GridCell {
        GridCell { kind: CellKind::Name, ..GridCell::text(text) }
    }

    /// A text without line breaks.
    pub(in crate::report) fn line(text: impl AsRef<str>) -> GridCell {
        GridCell { kind: CellKind::Line, ..GridCell::text(text) }
    }

    /// A text that is sorted by a number.
    pub(in crate::report) fn number(text: impl AsRef<str>, value: f64) -> GridCell {
        // Usually the text is that number.
        let is_number = text.as_ref().parse::<f64>().is_ok();
        GridCell { value: Some(value).filter(|_| !is_number), ..GridCell::text(text) }
    }

    pub(in crate::report) fn count(count: usize) -> GridCell {
        GridCell::text(count.to_string())
    }

    /// A bar with percentages, sorted by the share before.
    pub(in crate::report) fn share(taken: SharePair, kept: Option<SharePair>) -> GridCell {
        let after = taken.after.map(percent_text);
        let text = match change_text(&percent_text(taken.before), after.as_deref()) {
            text if text == NOTHING => text,
            text => format!("{text} %"),
        };
        GridCell::bar(taken, kept, text, taken.before)
    }

    /// A bar with a text.
    pub(in crate::report) fn bar(
        taken: SharePair,
        kept: Option<SharePair>,
        text: String,
        value: f64,
    ) -> GridCell {
        let shown = html! { (bar(taken, kept)) @if !text.is_empty() { span { (text) } } };
        GridCell { shown, value: Some(value), kind: CellKind::Bar }
    }

    /// Tells if it shows nothing.
    fn is_empty(&self) -> bool {
        let shown = self.shown.0.trim();
        shown.is_empty() || shown == NOTHING
    }

    /// The sort key in a few digits.
    fn key(&self) -> Option<String> {
        self.value
            .map(|value| if value.abs() < 1000.0 { format!("{value:.4}") } else { format!("{value:.0}") })
    }

    fn class(&self, align: Align) -> Option<&'static str> {
        match (self.kind, align) {
            (CellKind::Bar, _) => Some("m"),
            (CellKind::Name, _) => Some("k"),
            (CellKind::Line, _) => Some("once"),
            (CellKind::Plain, Align::Right) => Some("n"),
            (CellKind::Plain, Align::Left) => None,
        }
    }
}

pub(in crate::report) struct GridRow {
    pub cells: Vec<GridCell>,
    /// True if it is shown when only changes are wanted.
    pub changes: bool,
}

/// A table; its first column has the names of the rows.
pub(in crate::report) struct Grid<'t> {
    /// Identifier, unique in the page.
    pub id: &'static str,
    /// Caption for screen readers.
    pub caption: &'static str,
    pub columns: Vec<GridColumn<'t>>,
    pub rows: Vec<GridRow>,
    /// Word for the rows if they can be searched.
    pub noun: Option<&'static str>,
}

impl Grid<'_> {
    /// The table; `None` if there are no rows.
    pub(in crate::report) fn some(self) -> Option<Markup> {
        (!self.rows.is_empty()).then(|| self.markup())
    }

    pub(in crate::report) fn markup(&self) -> Markup {
        let Grid { id, caption, columns, rows, noun } = self;
        let filled = self.filled();
        let count = rows.len();
        let (is_long, mixed) =
            (count > PART, rows.iter().any(|r| r.changes) && rows.iter().any(|r| !r.changes));
        // The element must be closed, which maud does not do.
        let search = format!("<input type=\"search\" data-find=\"{id}\" autocomplete=\"off\"/>");
        html! {
            @if let Some(noun) = noun.filter(|_| count > 5) {
                div class="controls" {
                    label { "Find " (noun) " " (PreEscaped(search)) }
                    @if mixed {
                        button type="button" class="quiet" aria-pressed="false" data-changes=(id) { "Only what changes" }
                    }
                    span class="found" role="status" data-found=(id) {}
                }
            }
            div class="scroll" role="region" aria-label=(caption) tabindex="0" {
                table id=(id) class=[is_long.then_some("part")] {
                    thead { tr {
                        @for (title, align) in filled.iter().map(|at| &columns[*at]) {
                            th scope="col" aria-sort="none" class=[(*align == Align::Right).then_some("n")] {
                                button type="button" { (title) }
                            }
                        }
                    } }
                    tbody { @for row in rows.iter().take(MOST) { (self.row(row, &filled)) } }
                }
            }
            @if is_long {
                button type="button" class="quiet all" data-all=(id) aria-expanded="false" { "Show all " (count.min(MOST)) }
            }
            @if count > MOST {
                p class="note" { "These are the first " (MOST) " of " (count) "; " code { "--json" } " has all of them." }
            }
        }
    }

    /// The columns that are shown: the first, and those in which some row has content.
    fn filled(&self) -> Vec<usize> {
        let has_content =
            |at: usize| self.rows.iter().any(|row| row.cells.get(at).is_some_and(|cell| !cell.is_empty()));
        (0..self.columns.len()).filter(|at| *at == 0 || has_content(*at)).collect()
    }

    fn row(&self, row: &GridRow, filled: &[usize]) -> Markup {
        html! {
            tr data-c=[row.changes.then_some("1")] {
                @for (at, cell, align) in filled.iter().map(|at| (*at, &row.cells[*at], &self.columns[*at].1)) {
                    @if at == 0 {
                        th scope="row" data-v=[cell.key()] class=[cell.class(*align)] { (cell.shown) }
                    } @else {
                        td data-v=[cell.key()] class=[cell.class(*align)] { (cell.shown) }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_style_shows_as_many_rows_as_are_meant() {
        let rule = format!(".part tbody tr:nth-child(n+{})", PART + 1);
        assert!(super::super::STYLE.contains(&rule), "{rule}");
    }

    #[test]
    fn names_are_no_markup() {
        let name = "<b>\"&'</b>";
        let row =
            || GridRow { cells: vec![GridCell::text(name), GridCell::number(name, 1.5)], changes: false };
        let columns = vec![("a", Align::Left), ("b", Align::Right)];
        let grid = Grid { id: "x", caption: "c", columns, rows: vec![row(), row()], noun: None };
        let text = grid.markup().into_string();
        assert!(!text.contains("<b>"), "{text}");
        assert_eq!(text.matches("&lt;b&gt;&quot;&amp;'&lt;/b&gt;").count(), 4);
        assert!(text.contains("data-v=\"1.5000\""));
    }
}
