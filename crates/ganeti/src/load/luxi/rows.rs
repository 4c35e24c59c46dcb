//! Query results: rows of fields, each with a status.

use crate::input::error::{LoadError, Result};
use crate::input::json::{
    At, Budget, Container, ItemStream, Json, JsonPath, MadeItems, Member, Object, ValueFault, ValueResult,
    WantedParts, Weight, each,
};
use crate::load::fields::{Fields, Presence};
use crate::remote::CallError;
use crate::remote::luxi::envelope;

/// Status of a field, as the master reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FieldStatus {
    Normal,
    Unknown,
    NoData,
    Unavailable,
    Offline,
}

/// One row: the values of the fields, in the order of the query.
#[derive(Debug, Clone, Copy)]
pub(super) struct QueryRow<'j, 'p> {
    cells: &'j [Json],
    fields: &'static [&'static str],
    place: JsonPath<'p>,
}

/// The answer to a query, with its place for messages and its memory budget.
#[derive(Clone, Copy)]
pub(super) struct QueryTable<'a> {
    pub(super) text: &'a str,
    pub(super) place: JsonPath<'a>,
    /// Kind of object in the rows.
    pub(super) kind: &'static str,
    pub(super) budget: &'a Budget,
}

impl QueryTable<'_> {
    /// Reads the rows one by one. The first of the fields is the name.
    ///
    /// # Errors
    /// If there is no result, the result is not a table with these fields, or an object has no name; also the errors of
    /// `read`.
    pub(super) fn each_row<T: Weight>(
        &self,
        fields: &'static [&'static str],
        mut read: impl FnMut(&str, &dyn Fields<'_>) -> Result<T>,
    ) -> Result<Vec<T>> {
        envelope::expect(self.text).map_err(|error| self.refused(&error))?;
        let table = self.place.key(self.kind);
        let mut made = MadeItems::new();
        let mut formless = None;
        let each = |at: At<'_>, item: &Json| {
            let At::Item(at) = at else { return 0 };
            // If any row has another form, the whole table is invalid, whatever its first rows were.
            if let Err(problem) = check(item, fields) {
                formless.get_or_insert_with(|| table.item(at).error(&problem));
            }
            if formless.is_some() {
                return 0;
            }
            made.add(|| {
                let cells = item.list().map_err(|problem| table.error(&problem))?;
                let name = (&QueryRow { cells, fields, place: table.item(at) } as &dyn Fields<'_>)
                    .need("name", Json::string)?;
                read(name, &QueryRow { cells, fields, place: self.place.named(self.kind, name) })
            })
        };
        let rows =
            ItemStream { container: Container::List, shape: WantedParts::Whole, budget: self.budget, each };
        let found = envelope::inside(self.text, self.budget, Member { key: "data", inner: rows })
            .map_err(|error| self.refused(&error))?;
        match (found, formless) {
            (Some(Some(None)), None) => made.done(),
            (Some(Some(None)), Some(error)) => Err(error),
            _ => Err(self.no_table()),
        }
    }

    fn refused(&self, error: &CallError) -> LoadError {
        self.place.error(format!("query for {}s: {error}", self.kind))
    }

    /// Error for a result without rows.
    fn no_table(&self) -> LoadError {
        const SHAPE: WantedParts = WantedParts::Keys(&[("data", WantedParts::Whole)]);
        match envelope::part(self.text, SHAPE, self.budget) {
            Err(error) => self.refused(&error),
            Ok(result) => {
                let table = self.place.key(self.kind);
                let data = Object::new(&result, table).and_then(|result| result.list("data").map(drop));
                data.err().unwrap_or_else(|| table.error("no table"))
            }
        }
    }
}

/// Checks that a row has a status and a value for each field.
fn check(row: &Json, fields: &[&str]) -> ValueResult<()> {
    let cells = row.list()?;
    if cells.len() != fields.len() {
        return Err(ValueFault::Count { expected: fields.len(), found: cells.len() });
    }
    for (cell, field) in cells.iter().zip(fields) {
        if cell.list().map_or(0, <[Json]>::len) != 2 {
            let wrong = cell.wrong("expected a status and a value");
            return wrong.map_err(|e| ValueFault::Field { field: (*field).to_owned(), fault: Box::new(e) });
        }
    }
    Ok(())
}

impl<'j, 'p> QueryRow<'j, 'p> {
    /// Status and value of a field.
    fn cell(&self, field: &str) -> Result<(&'j Json, &'j Json)> {
        let at = self.fields.iter().position(|known| *known == field);
        match at.and_then(|at| self.cells.get(at)).map(|cell| cell.list()) {
            Some(Ok([status, value])) => Ok((status, value)),
            _ => Err(self.error(field, "expected a status and a value")),
        }
    }

    fn status(&self, field: &str) -> Option<FieldStatus> {
        status(self.cell(field).ok()?.0).ok()
    }
}

impl<'j> Fields<'j> for QueryRow<'j, '_> {
    fn value(&self, field: &str) -> Result<&'j Json> {
        let (found, value) = self.cell(field)?;
        let problem = match status(found) {
            Ok(FieldStatus::Normal) => return Ok(value),
            Ok(FieldStatus::Unknown) => "the master does not know this field",
            Ok(FieldStatus::NoData) => "the master has no data",
            Ok(FieldStatus::Unavailable) => "the master says that this is not available",
            Ok(FieldStatus::Offline) => "the master says that the node is offline",
            Err(problem) => return Err(self.error(field, &problem.to_string())),
        };
        Err(self.error(field, problem))
    }

    fn presence(&self, field: &str) -> Presence {
        match field {
            "spfree" | "dtotal" | "dfree" => Presence::Lenient,
            _ => Presence::Required,
        }
    }

    /// The master may not know the field.
    fn is_absent(&self, field: &str) -> bool {
        self.status(field) == Some(FieldStatus::Unknown) || self.value(field) == Ok(&Json::Null)
    }

    fn is_silent(&self, field: &str) -> bool {
        self.status(field) == Some(FieldStatus::NoData)
    }

    fn error(&self, field: &str, problem: &str) -> LoadError {
        self.place.error(format!("field '{field}': {problem}"))
    }

    fn place(&self) -> &JsonPath<'_> {
        &self.place
    }

    fn memory(&self) -> Result<i64> {
        (self as &dyn Fields<'j>).need("be/memory", Json::int)
    }

    fn secondary(&self) -> Result<Option<&'j str>> {
        let nodes = (self as &dyn Fields<'j>).need("snodes", |list| each(list, Json::string))?;
        Ok(nodes.first().copied())
    }

    fn is_forthcoming(&self) -> Result<bool> {
        (self as &dyn Fields<'j>).need("forthcoming", Json::bool)
    }
}

/// A status is a number like any other: a fraction is rounded.
fn status(value: &Json) -> ValueResult<FieldStatus> {
    match value.int()? {
        0 => Ok(FieldStatus::Normal),
        1 => Ok(FieldStatus::Unknown),
        2 => Ok(FieldStatus::NoData),
        3 => Ok(FieldStatus::Unavailable),
        4 => Ok(FieldStatus::Offline),
        _ => Err(ValueFault::Status(value.found())),
    }
}
