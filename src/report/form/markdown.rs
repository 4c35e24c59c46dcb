//! Markdown documents as text for a terminal: paragraphs, lists and tables wrapped to its width.

use std::mem;

use pulldown_cmark::{Alignment, CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::table::{Align, Table};

/// Minimum width of a column in characters. A table with a narrower one is shown as a list, row by row.
const NARROWEST: usize = 12;

/// The lines of a document. `mention` converts a link's address to text, or to `None` if a reader cannot use it. Code
/// is not wrapped, and may be wider.
pub(crate) fn lines(document: &str, width: usize, mention: &dyn Fn(&str) -> Option<String>) -> Vec<String> {
    let mut page = Page { width, mention, ..Page::default() };
    for event in Parser::new_ext(document, Options::ENABLE_TABLES) {
        page.take(event);
    }
    page.lines
}

/// Prefix of the lines of a list item or a quotation.
struct Margin {
    /// Prefix of the first line, until that is written.
    mark: Option<String>,
    rest: String,
}

/// A list: the number of its next item, if it has numbers.
type Numbering = Option<u64>;

struct Page<'m> {
    width: usize,
    mention: &'m dyn Fn(&str) -> Option<String>,
    lines: Vec<String>,
    /// Text of the current block.
    text: String,
    margins: Vec<Margin>,
    lists: Vec<Numbering>,
    /// True if the text is code, which stays as it is.
    in_code: bool,
    /// Addresses of the open links.
    links: Vec<String>,
    table: Option<MarkdownTable>,
}

/// A table that is being read.
#[derive(Default)]
struct MarkdownTable {
    align: Vec<Align>,
    rows: Vec<Vec<String>>,
}

impl Default for Page<'_> {
    fn default() -> Self {
        Page {
            width: 0,
            mention: &|_| None,
            lines: Vec::new(),
            text: String::new(),
            margins: Vec::new(),
            lists: Vec::new(),
            in_code: false,
            links: Vec::new(),
            table: None,
        }
    }
}

impl Page<'_> {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.begin(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) | Event::Code(text) => self.text += &text,
            Event::SoftBreak => self.text.push(' '),
            Event::HardBreak => self.text.push('\n'),
            Event::Rule => {
                self.gap();
                self.write(&"-".repeat(self.room()));
            }
            // HTML, formulas and footnotes do not occur in the documents.
            _ => {}
        }
    }

    fn begin(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph | Tag::Heading { .. } => self.gap(),
            Tag::CodeBlock(kind) => {
                self.flush();
                self.gap();
                self.in_code = true;
                debug_assert!(matches!(kind, CodeBlockKind::Fenced(_) | CodeBlockKind::Indented));
            }
            Tag::BlockQuote(_) => {
                self.gap();
                self.margins.push(Margin { mark: None, rest: "  ".to_owned() });
            }
            Tag::List(first) => {
                self.flush();
                if self.lists.is_empty() {
                    self.gap();
                }
                self.lists.push(first);
            }
            Tag::Item => {
                let mark = match self.lists.last_mut() {
                    Some(Some(number)) => {
                        *number += 1;
                        format!("{}. ", *number - 1)
                    }
                    _ => "* ".to_owned(),
                };
                let rest = " ".repeat(mark.len());
                self.margins.push(Margin { mark: Some(mark), rest });
            }
            Tag::Table(alignment) => {
                self.gap();
                let align = alignment
                    .iter()
                    .map(|align| if *align == Alignment::Right { Align::Right } else { Align::Left });
                self.table = Some(MarkdownTable { align: align.collect(), rows: Vec::new() });
            }
            Tag::TableHead | Tag::TableRow => {
                self.table.iter_mut().for_each(|table| table.rows.push(Vec::new()));
            }
            Tag::Link { dest_url, .. } => self.links.push(dest_url.into_string()),
            Tag::Image { .. } => self.text += "[picture: ",
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph => self.flush(),
            TagEnd::Heading(level) => {
                let line = if level <= HeadingLevel::H1 { "=" } else { "-" };
                let width = self.text.chars().count().min(self.room());
                self.flush();
                if level <= HeadingLevel::H2 {
                    self.write(&line.repeat(width));
                }
            }
            TagEnd::CodeBlock => {
                self.in_code = false;
                for line in mem::take(&mut self.text).lines() {
                    self.write(&format!("    {line}"));
                }
            }
            TagEnd::BlockQuote(_) => {
                self.margins.pop();
            }
            TagEnd::List(_) => {
                self.lists.pop();
            }
            TagEnd::Item => {
                self.flush();
                self.margins.pop();
            }
            TagEnd::TableCell => {
                let cell = mem::take(&mut self.text);
                self.table
                    .iter_mut()
                    .filter_map(|table| table.rows.last_mut())
                    .for_each(|row| row.push(cell.clone()));
            }
            TagEnd::Table => {
                let table = self.table.take().unwrap_or_default();
                table.lines(self.room()).iter().for_each(|line| self.write(line));
            }
            TagEnd::Link => {
                let address = self.links.pop().unwrap_or_default();
                if let Some(mention) = (self.mention)(&address).filter(|text| !self.text.ends_with(&**text)) {
                    self.text += &format!(" ({mention})");
                }
            }
            TagEnd::Image => self.text.push(']'),
            _ => {}
        }
    }

    /// Width left by the margins.
    fn room(&self) -> usize {
        let margin: usize = self.margins.iter().map(|margin| margin.rest.chars().count()).sum();
        self.width.saturating_sub(margin).max(NARROWEST)
    }

    /// Adds an empty line between blocks, but none before the first.
    fn gap(&mut self) {
        let begins_an_item = self.margins.last().is_some_and(|margin| margin.mark.is_some());
        if !begins_an_item && self.lines.last().is_some_and(|line| !line.is_empty()) {
            self.lines.push(String::new());
        }
    }

    /// Writes the collected text, wrapped to the width.
    fn flush(&mut self) {
        let text = mem::take(&mut self.text);
        if self.in_code || text.trim().is_empty() {
            return;
        }
        for part in text.split('\n') {
            textwrap::wrap(part, self.room()).iter().for_each(|line| self.write(line));
        }
    }

    fn write(&mut self, line: &str) {
        let margin: String = self
            .margins
            .iter_mut()
            .map(|margin| margin.mark.take().unwrap_or_else(|| margin.rest.clone()))
            .collect();
        self.lines.push(format!("{margin}{line}").trim_end().to_owned());
    }
}

impl MarkdownTable {
    fn lines(&self, room: usize) -> Vec<String> {
        match self.widths(room) {
            Some(widths) => self.side_by_side(&widths),
            None => self.one_below_the_other(room),
        }
    }

    /// Widths of the columns. A column is as wide as its widest cell if all of them fit. Otherwise columns wider than
    /// an equal share divide the rest, and none gets narrower than its longest word. `None` if they do not fit, or one
    /// would be too narrow to read.
    fn widths(&self, room: usize) -> Option<Vec<usize>> {
        let length = |text: &str| text.chars().count();
        let most = |column: usize, width: &dyn Fn(&String) -> usize| {
            self.rows.iter().filter_map(|row| row.get(column)).map(width).max().unwrap_or(0)
        };
        let columns = self.align.len();
        let natural: Vec<usize> = (0..columns).map(|column| most(column, &|cell| length(cell))).collect();
        let word = |cell: &String| cell.split(' ').map(length).max().unwrap_or(0).min(2 * NARROWEST);
        let mut by_width: Vec<usize> = (0..columns).collect();
        by_width.sort_by_key(|column| natural[*column]);
        let mut widths = natural.clone();
        // There is a blank before each column.
        let mut left = room.checked_sub(columns)?;
        for (done, column) in by_width.into_iter().enumerate() {
            let share = left / (columns - done);
            widths[column] = natural[column].min(share.max(most(column, &word)));
            left = left.checked_sub(widths[column])?;
        }
        let is_readable =
            widths.iter().zip(&natural).all(|(width, natural)| width == natural || *width >= NARROWEST);
        is_readable.then_some(widths)
    }

    fn side_by_side(&self, widths: &[usize]) -> Vec<String> {
        let empty = self.align.iter().map(|align| (String::new(), *align));
        let mut table = Table::new(empty);
        let wraps = self
            .rows
            .iter()
            .any(|row| row.iter().zip(widths).any(|(cell, width)| cell.chars().count() > *width));
        for (at, row) in self.rows.iter().enumerate() {
            let cells: Vec<Vec<String>> = row
                .iter()
                .zip(widths)
                .map(|(cell, width)| {
                    textwrap::wrap(cell, (*width).max(1)).into_iter().map(String::from).collect()
                })
                .collect();
            let height = cells.iter().map(Vec::len).max().unwrap_or(0);
            let line = |line: usize| {
                let cell = |column: usize| cells.get(column).and_then(|cell| cell.get(line)).cloned();
                (0..widths.len()).map(|column| cell(column).unwrap_or_default()).collect()
            };
            (0..height).for_each(|at| table.push(line(at)));
            if at == 0 {
                table.push(widths.iter().map(|width| "-".repeat(*width)).collect());
            } else if wraps && at + 1 < self.rows.len() {
                table.push(vec![String::new(); widths.len()]);
            }
        }
        table.trimmed_lines("").split_off(1)
    }

    fn one_below_the_other(&self, room: usize) -> Vec<String> {
        let Some((header, rows)) = self.rows.split_first() else { return Vec::new() };
        let mut lines = Vec::new();
        for (at, row) in rows.iter().enumerate() {
            if at > 0 {
                lines.push(String::new());
            }
            for (title, cell) in header.iter().zip(row).filter(|(_, cell)| !cell.is_empty()) {
                let text = if title.is_empty() { cell.clone() } else { format!("{title}: {cell}") };
                let options = textwrap::Options::new(room).subsequent_indent("  ");
                lines.extend(textwrap::wrap(&text, options).into_iter().map(String::from));
            }
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(document: &str, width: usize) -> Vec<String> {
        lines(document, width, &|address| address.strip_suffix(".md").map(|topic| format!("see {topic}")))
    }

    #[test]
    fn paragraphs_headings_and_links() {
        let text =
            "# A title\n\nOne *two* `three`\nfour [five](six.md) and [seven](http://x).\n\n## Next\ntext";
        assert_eq!(
            shown(text, 24),
            [
                "A title",
                "=======",
                "",
                "One two three four five",
                "(see six) and seven.",
                "",
                "Next",
                "----",
                "",
                "text"
            ]
        );
    }

    #[test]
    fn lists_hang() {
        let text = "* one two three\n  four\n* five\n  1. six\n  2. seven\n\nend";
        assert_eq!(
            shown(text, 14),
            ["* one two", "  three four", "* five", "  1. six", "  2. seven", "", "end"]
        );
    }

    #[test]
    fn code_stays_as_it_is() {
        let text = "so:\n\n```console\n$ htools   hbal --a-long-option-that-is-wider\n\nout\n```\nend";
        assert_eq!(
            shown(text, 12),
            ["so:", "", "    $ htools   hbal --a-long-option-that-is-wider", "", "    out", "", "end"]
        );
    }

    #[test]
    fn tables_take_the_room_there_is() {
        let text = "| a | number |\n|---|---:|\n| one two three four | 1 |\n| x | 22 |\n";
        assert_eq!(
            shown(text, 40),
            [
                " a                  number",
                " ------------------ ------",
                " one two three four      1",
                " x                      22"
            ]
        );
        assert_eq!(
            shown(text, 24),
            [
                " a                number",
                " ---------------- ------",
                " one two three         1",
                " four",
                "",
                " x                    22"
            ]
        );
        assert_eq!(shown(text, 16), ["a: one two three", "  four", "number: 1", "", "a: x", "number: 22"]);
    }
}
