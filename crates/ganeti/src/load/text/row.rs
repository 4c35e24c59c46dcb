//! One row of a section: columns by number, and errors that name the place.

use std::str::FromStr;

use crate::input::error::{LoadError, Result};
use crate::load::number::{parse_float, parse_int};
use htools_model::UnknownName;
use htools_model::shown::{printable, shown_name, shown_source};

/// Maximum number of columns of any section. Further columns are not read, so a line of a million bars costs no more
/// than any line.
const MOST_COLUMNS: usize = 15;

/// Maximum length of a value in a message, in characters.
const VALUE_SHOWN: usize = 80;

pub(super) struct TextRow<'a> {
    source: &'a str,
    line: usize,
    /// Kind of object that the row describes: "group", "node", ...
    kind: &'static str,
    columns: [&'a str; MOST_COLUMNS],
    count: usize,
}

impl<'a> TextRow<'a> {
    /// Splits a line and checks that it has at least `fewest` columns.
    pub(super) fn new(
        line: &'a str,
        number: usize,
        source: &'a str,
        kind: &'static str,
        fewest: usize,
    ) -> Result<Self> {
        let mut row = TextRow { source, line: number, kind, columns: [""; MOST_COLUMNS], count: 0 };
        for (column, text) in row.columns.iter_mut().zip(line.split('|')) {
            *column = text;
            row.count += 1;
        }
        if row.count < fewest {
            let text = printable(line, VALUE_SHOWN);
            return Err(row.error(&format!("{} columns instead of {fewest} or more: '{text}'", row.count)));
        }
        Ok(row)
    }

    /// Column 0, the name of the object. The lifetime `'a` is longer than that of the row.
    pub(super) fn name(&self) -> &'a str {
        self.columns[0]
    }

    /// A column, if the row is long enough.
    pub(super) fn get(&self, column: usize) -> Option<&'a str> {
        self.columns[..self.count].get(column).copied()
    }

    /// A column, empty if the row ends before it.
    pub(super) fn text(&self, column: usize) -> &'a str {
        self.get(column).unwrap_or_default()
    }

    /// A comma-separated list, empty if the row ends before it.
    pub(super) fn list(&self, column: usize) -> Vec<String> {
        split(self.text(column), ',').map(str::to_owned).collect()
    }

    /// A whole number, or `default` if the row ends before it.
    pub(super) fn int(&self, column: usize, field: &str, default: i64) -> Result<i64> {
        self.get(column).map_or(Ok(default), |t| parse_int(t).map_err(|e| self.field_error(field, e)))
    }

    /// A real number, or `default` if the row ends before it.
    pub(super) fn float(&self, column: usize, field: &str, default: f64) -> Result<f64> {
        self.get(column).map_or(Ok(default), |t| parse_float(t).map_err(|e| self.field_error(field, e)))
    }

    /// `Y` or `N`, or `N` if the row ends before it.
    pub(super) fn yes_no(&self, column: usize, field: &str) -> Result<bool> {
        match self.get(column) {
            Some("Y") => Ok(true),
            Some("N") | None => Ok(false),
            Some(other) => Err(self.field_error(
                field,
                format_args!("'{}' is neither 'Y' nor 'N'", printable(other, VALUE_SHOWN)),
            )),
        }
    }

    /// An enumeration's value.
    pub(super) fn named<T: FromStr<Err = UnknownName>>(&self, field: &str, text: &str) -> Result<T> {
        text.parse().map_err(|e: UnknownName| {
            let value = printable(&e.value, VALUE_SHOWN);
            self.field_error(field, format_args!("'{value}' is not one of {}", e.allowed.join(", ")))
        })
    }

    pub(super) fn field_error(&self, field: &str, problem: impl std::fmt::Display) -> LoadError {
        self.error(&format!("{field}: {problem}"))
    }

    /// An error that names this row.
    pub(super) fn error(&self, problem: &str) -> LoadError {
        let name = shown_name(self.name());
        let object = match (self.kind, name.as_str()) {
            ("policy", "") => "cluster policy".to_owned(),
            (kind, name) => format!("{kind} '{name}'"),
        };
        LoadError::one_line(&format!("{}, line {}, {object}", shown_source(self.source), self.line), problem)
    }
}

/// The items of a list. The empty text is the empty list, not a list with one empty item.
pub(super) fn split(text: &str, separator: char) -> impl Iterator<Item = &str> {
    text.split(separator).filter(move |_| !text.is_empty())
}
