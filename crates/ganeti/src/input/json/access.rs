//! Typed access to the members of an object.

use std::fmt::Display;
use std::str::FromStr;

use super::place::JsonPath;
use super::value::{Json, Key, ValueFault, ValueResult};
use crate::input::error::{LoadError, Result};
use htools_model::UnknownName;
use htools_model::shown::{printable, shown_name};

/// An object of a document, and its place there.
///
/// `required` and the methods named after a type fail if the key is missing. The `optional` methods treat a missing key
/// and `null` as absent, but refuse a value of another type.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Object<'j, 'p> {
    members: &'j [(Key, Json)],
    place: JsonPath<'p>,
}

impl<'j, 'p> Object<'j, 'p> {
    /// The object at `place`.
    pub(crate) fn new(value: &'j Json, place: JsonPath<'p>) -> Result<Self> {
        match value.members() {
            Ok(members) => Ok(Object { members, place }),
            Err(problem) => Err(place.error(&problem)),
        }
    }

    pub(crate) fn place(&self) -> &JsonPath<'p> {
        &self.place
    }

    /// Its members in the order of the document.
    pub(crate) fn members(&self) -> &'j [(Key, Json)] {
        self.members
    }

    pub(crate) fn error(&self, problem: impl Display) -> LoadError {
        self.place.error(problem)
    }

    pub(crate) fn key_error(&self, key: &str, problem: impl Display) -> LoadError {
        self.error(format_args!("key '{key}': {problem}"))
    }

    pub(crate) fn get(&self, key: &str) -> Option<&'j Json> {
        self.members.iter().find(|(k, _)| k == key).map(|(_, value)| value)
    }

    /// The value of a key that must be present; it may be `null`.
    pub(crate) fn required(&self, key: &str) -> Result<&'j Json> {
        self.get(key).ok_or_else(|| {
            let present: Vec<_> =
                self.members.iter().take(20).map(|(k, _)| format!("\"{}\"", shown_name(k))).collect();
            let present = printable(&present.join(","), 120);
            self.error(format!("key '{key}' not found, object contains only [{present}]"))
        })
    }

    fn read<T>(&self, key: &str, read: impl FnOnce(&'j Json) -> ValueResult<T>) -> Result<T> {
        read(self.required(key)?).map_err(|problem| self.key_error(key, problem))
    }

    fn read_optional<T>(
        &self,
        key: &str,
        read: impl FnOnce(&'j Json) -> ValueResult<T>,
    ) -> Result<Option<T>> {
        match self.get(key) {
            None | Some(Json::Null) => Ok(None),
            Some(value) => read(value).map(Some).map_err(|problem| self.key_error(key, problem)),
        }
    }

    /// A whole number; a fraction is rounded half to even.
    pub(crate) fn int(&self, key: &str) -> Result<i64> {
        self.read(key, Json::int)
    }

    pub(crate) fn optional_int(&self, key: &str) -> Result<Option<i64>> {
        self.read_optional(key, Json::int)
    }

    pub(crate) fn float(&self, key: &str) -> Result<f64> {
        self.read(key, Json::float)
    }

    pub(crate) fn string(&self, key: &str) -> Result<&'j str> {
        self.read(key, Json::string)
    }

    pub(crate) fn optional_string(&self, key: &str) -> Result<Option<&'j str>> {
        self.read_optional(key, Json::string)
    }

    pub(crate) fn bool(&self, key: &str) -> Result<bool> {
        self.read(key, Json::bool)
    }

    pub(crate) fn list(&self, key: &str) -> Result<&'j [Json]> {
        self.read(key, Json::list)
    }

    pub(crate) fn strings(&self, key: &str) -> Result<Vec<String>> {
        self.read(key, strings)
    }

    pub(crate) fn optional_strings(&self, key: &str) -> Result<Option<Vec<String>>> {
        self.read_optional(key, strings)
    }

    pub(crate) fn floats(&self, key: &str) -> Result<Vec<f64>> {
        self.read(key, |value| each(value, Json::float))
    }

    pub(crate) fn enumeration<T: FromStr<Err = UnknownName>>(&self, key: &str) -> Result<T> {
        self.read(key, named)
    }

    pub(crate) fn enumerations<T: FromStr<Err = UnknownName>>(&self, key: &str) -> Result<Vec<T>> {
        self.read(key, |value| each(value, named))
    }

    pub(crate) fn object<'q>(&'q self, key: &'q str) -> Result<Object<'j, 'q>> {
        let members = self.read(key, Json::members)?;
        Ok(Object { members, place: self.place.key(key) })
    }

    pub(crate) fn optional_object<'q>(&'q self, key: &'q str) -> Result<Option<Object<'j, 'q>>> {
        let members = self.read_optional(key, Json::members)?;
        Ok(members.map(|members| Object { members, place: self.place.key(key) }))
    }

    /// Applies a function to each object of a list.
    pub(crate) fn each_object<T>(
        &self,
        key: &str,
        read: impl Fn(Object<'j, '_>) -> Result<T>,
    ) -> Result<Vec<T>> {
        let place = self.place.key(key);
        let items = self.list(key)?.iter().enumerate();
        items.map(|(i, item)| read(Object::new(item, place.item(i))?)).collect()
    }

    /// Applies a function to each member of an object that maps names to objects, in the order of the document. `kind`
    /// is the kind of object, for messages.
    pub(crate) fn each_named<T>(
        &self,
        key: &str,
        kind: &'static str,
        mut read: impl FnMut(&'j str, Object<'j, '_>) -> Result<T>,
    ) -> Result<Vec<T>> {
        let members = self.read(key, Json::members)?.iter();
        members.map(|(name, value)| read(name, Object::new(value, self.place.named(kind, name))?)).collect()
    }

    /// Refuses keys other than the `known` ones.
    pub(crate) fn only(&self, known: &[&str]) -> Result<()> {
        match self.members.iter().find(|(key, _)| !known.contains(&&**key)) {
            None => Ok(()),
            Some((key, _)) => Err(self.error(format!(
                "unknown key '{}', only [{}] allowed",
                shown_name(key),
                known.join(",")
            ))),
        }
    }
}

/// Reads every item of a list.
pub(crate) fn each<'j, T>(value: &'j Json, read: impl Fn(&'j Json) -> ValueResult<T>) -> ValueResult<Vec<T>> {
    let items = value.list()?.iter().enumerate();
    items
        .map(|(i, item)| read(item).map_err(|e| ValueFault::Item { number: i + 1, fault: Box::new(e) }))
        .collect()
}

/// A list of strings.
pub(crate) fn strings(value: &Json) -> ValueResult<Vec<String>> {
    each(value, |item| item.string().map(str::to_owned))
}

/// One of the names of an enumeration.
pub(crate) fn named<T: FromStr<Err = UnknownName>>(value: &Json) -> ValueResult<T> {
    value.string()?.parse().map_err(ValueFault::Name)
}
