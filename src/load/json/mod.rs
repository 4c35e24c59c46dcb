//! JSON documents, read leniently as to form and strictly as to types.
//!
//! [`Json`] keeps what a map would lose: the order of members, which is the
//! order of nodes and instances, and repeated keys, of which the first one
//! counts. [`Object`] gives typed access with errors that name the object and
//! the key.

mod access;
mod disk_parameters;
mod place;
mod policy;
mod value;

pub use access::{Object, each_described};
pub(in crate::load) use access::{each, named, strings};
pub use disk_parameters::read_disk_parameters;
pub use place::Place;
pub use policy::read_policy;
pub use value::Json;

use serde::de::DeserializeSeed;
use value::Wanted;
pub(in crate::load) use value::Wrong;

use super::error::{LoadError, Result, shown_source};

/// Reads a document: a list or an object. `source` names it in messages.
///
/// # Errors
/// What is not JSON, or nested deeper than 127 levels; the message has line
/// and column.
pub fn parse(text: &str, source: &str) -> Result<Json> {
    checked(serde_json::from_str(text), text, source)
}

/// Reads a list of objects, of which only the values of `keys` are wanted; others are
/// null. `source` names it in messages.
///
/// # Errors
/// See [`parse`].
pub fn parse_wanted(text: &str, source: &str, keys: &'static [&'static str]) -> Result<Json> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = Wanted(keys).deserialize(&mut reader).and_then(|value| reader.end().map(|()| value));
    checked(value, text, source)
}

fn checked(value: serde_json::Result<Json>, text: &str, source: &str) -> Result<Json> {
    let value = value.map_err(|error| {
        let place = format!("{}, line {}, column {}", shown_source(source), error.line(), error.column());
        let message = error.to_string();
        // the position stands in the place already
        let problem = message.rsplit_once(" at line ").map_or(message.as_str(), |(problem, _)| problem);
        let mark =
            if text.starts_with('\u{feff}') { " (the text starts with a byte order mark)" } else { "" };
        LoadError::one_line(&place, &format!("not valid JSON: {problem}{mark}"))
    })?;
    match value {
        Json::Array(_) | Json::Object(_) => Ok(value),
        other => {
            let found = other.found();
            Err(Place::source(source).error(&format!("expected a list or an object, found {found}")))
        }
    }
}

#[cfg(test)]
mod tests;
