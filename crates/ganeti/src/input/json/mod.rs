//! JSON documents, read leniently as to form and strictly as to types.
//!
//! `Json` preserves the order of members, which is the order of nodes and instances, and repeated keys, of which the
//! first counts. A map would lose both. `Object` gives typed access with errors that name the object and the key.

mod access;
mod budget;
mod place;
mod shape;
mod split;
mod stream;
mod value;

use std::io::{self, BufReader, Read};

use serde::de::DeserializeSeed;

pub(crate) use access::Object;
pub(crate) use access::{each, named, strings};
pub(crate) use budget::text_size;
pub(crate) use budget::{Budget, Weight};
pub(crate) use place::JsonPath;
pub(crate) use shape::{WantedParts, keys};
pub(crate) use split::SplitDocument;
pub(crate) use stream::{At, Container, ItemStream, MadeItems, Member, described};
pub(crate) use value::Json;
pub(crate) use value::{ValueFault, ValueResult};

use crate::input::encoding::Utf8;
use crate::input::error::{LoadError, Result};
use htools_model::shown::shown_source;

/// Maximum number of bytes that are read from a source at once.
const CHUNK: usize = 64 << 10;

/// Parses a document: a list or an object. `source` names it in messages.
///
/// # Errors
/// If it is not JSON, or nested deeper than 127 levels; the message has line and column. Also if it takes too much
/// memory.
pub fn parse(text: &str, source: &str) -> Result<Json> {
    parse_in(text, source, WantedParts::Whole, &Budget::new(Budget::FILE))
}

/// Parses the wanted parts of a document, within a budget.
///
/// # Errors
/// As [`parse`].
pub(crate) fn parse_in(text: &str, source: &str, shape: WantedParts, budget: &Budget) -> Result<Json> {
    checked(seeded(text, source, budget, shape::ShapeReader { shape, budget })?, source)
}

/// Parses the wanted members of an object and keeps the texts of long ones, in one pass.
///
/// # Errors
/// As [`parse`], but faults inside the strings of long members remain.
pub(crate) fn split<'t, const N: usize>(
    text: &'t str,
    source: &str,
    long: [&'static str; N],
    shape: &'static [(&'static str, WantedParts)],
    budget: &Budget,
) -> Result<SplitDocument<'t, N>> {
    let document = seeded(text, source, budget, split::SplitReader { long, shape, budget })?;
    Ok(SplitDocument { short: checked(document.short, source)?, ..document })
}

/// The same while the document arrives.
///
/// # Errors
/// As [`parse`]; also the errors of the [`Body`].
pub(crate) fn read(body: Body<'_>, shape: WantedParts, budget: &Budget) -> Result<Json> {
    let source = body.source.clone();
    checked(body.seeded(budget, shape::ShapeReader { shape, budget })?, &source)
}

/// Reads any value while it arrives. Its errors do not name the source.
pub(crate) fn any(bytes: impl Read, shape: WantedParts, budget: &Budget) -> serde_json::Result<Json> {
    seeded_any(bytes, shape::ShapeReader { shape, budget })
}

/// Reads a value with a reader of its own while it arrives. Its errors do not name the source.
pub(crate) fn seeded_any<T>(
    bytes: impl Read,
    seed: impl for<'de> DeserializeSeed<'de, Value = T>,
) -> serde_json::Result<T> {
    let mut reader = serde_json::Deserializer::from_reader(BufReader::with_capacity(CHUNK, bytes));
    let value = seed.deserialize(&mut reader)?;
    reader.end().map(|()| value)
}

/// A reader for the wanted parts of a value.
pub(crate) fn whole<'b>(
    shape: WantedParts,
    budget: &'b Budget,
) -> impl for<'de> DeserializeSeed<'de, Value = Json> + 'b {
    shape::ShapeReader { shape, budget }
}

/// A document that is still to be read: its bytes, and its source for messages.
pub(crate) struct Body<'a> {
    /// URL or file name, without passwords.
    pub(crate) source: String,
    /// The bytes. A [`LoadError`] inside a read error is shown as it is.
    pub(crate) bytes: Box<dyn Read + 'a>,
}

impl Body<'_> {
    /// Reads the whole document with a reader of its own.
    pub(crate) fn seeded<T>(
        self,
        budget: &Budget,
        seed: impl for<'de> DeserializeSeed<'de, Value = T>,
    ) -> Result<T> {
        let mut bytes = BufReader::with_capacity(CHUNK, Utf8::new(self.bytes, &self.source));
        let mut reader = serde_json::Deserializer::from_reader(&mut bytes);
        let value = seed.deserialize(&mut reader).and_then(|value| reader.end().map(|()| value));
        value.map_err(|error| fault(error, &self.source, bytes.get_ref().has_mark(), budget))
    }

    /// Reads a list of objects that each have a name; of each object the parts in `shape`. `kind` is the kind of
    /// object, for messages.
    ///
    /// # Errors
    /// If it is not a list of such objects; also the errors of `read`.
    pub(crate) fn each_described<T: Weight>(
        self,
        kind: &'static str,
        shape: WantedParts,
        budget: &Budget,
        mut read: impl FnMut(&str, Object<'_, '_>) -> Result<T>,
    ) -> Result<Vec<T>> {
        let source = self.source.clone();
        let place = JsonPath::source(&source);
        let mut made = MadeItems::new();
        let each = |at: At<'_>, item: &Json| match at {
            At::Item(at) => made.add(|| described(item, at, &place, kind, &mut read)),
            At::Name(_) => 0,
        };
        let other = self.seeded(budget, ItemStream { container: Container::List, shape, budget, each })?;
        match other {
            None => made.done(),
            Some(other) => Err(no_list(&other, &place)),
        }
    }
}

/// Reads a whole text with a reader of its own.
pub(crate) fn seeded<'t, T>(
    text: &'t str,
    source: &str,
    budget: &Budget,
    seed: impl DeserializeSeed<'t, Value = T>,
) -> Result<T> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = seed.deserialize(&mut reader).and_then(|value| reader.end().map(|()| value));
    value.map_err(|error| fault(error, source, text.starts_with('\u{feff}'), budget))
}

/// Error for a document that should be a list.
pub(crate) fn no_list(found: &Json, place: &JsonPath<'_>) -> LoadError {
    match found {
        Json::Array(_) | Json::Object(_) => place.error(format!("expected a list, found {}", found.found())),
        _ => neither(found, place),
    }
}

fn neither(found: &Json, place: &JsonPath<'_>) -> LoadError {
    place.error(format!("expected a list or an object, found {}", found.found()))
}

fn checked(value: Json, source: &str) -> Result<Json> {
    match value {
        Json::Array(_) | Json::Object(_) => Ok(value),
        other => Err(neither(&other, &JsonPath::source(source))),
    }
}

/// Error for a document that could not be read. `mark` tells if it begins with a byte order mark.
fn fault(error: serde_json::Error, source: &str, mark: bool, budget: &Budget) -> LoadError {
    if budget.is_spent() {
        return JsonPath::source(source).error(budget.excess().to_string());
    }
    if error.is_io() {
        return unreadable(io::Error::from(error), source);
    }
    let place = format!("{}, line {}, column {}", shown_source(source), error.line(), error.column());
    let message = error.to_string();
    // The place has the position already.
    let problem = message.rsplit_once(" at line ").map_or(message.as_str(), |(problem, _)| problem);
    let mark = if mark { " (the text starts with a byte order mark)" } else { "" };
    LoadError::one_line(&place, &format!("Invalid JSON: {problem}{mark}"))
}

/// Error for bytes that could not be read.
fn unreadable(error: io::Error, source: &str) -> LoadError {
    let inner = error.get_ref();
    if let Some(error) = inner.and_then(|inner| inner.downcast_ref::<LoadError>()) {
        return error.clone();
    }
    JsonPath::source(source).error(format!("cannot be read: {error}"))
}

#[cfg(test)]
mod tests;
