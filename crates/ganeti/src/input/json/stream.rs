//! Reading of long lists and objects one item at a time. The result of an item is made while it is read, and the rest
//! of it is discarded.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::access::Object;
use super::budget::{Budget, Weight};
use super::place::JsonPath;
use super::shape::{ShapeReader, WantedParts, no_room, scalars};
use super::value::Json;
use crate::input::error::{LoadError, Result};

/// Position of an item.
#[derive(Debug, Clone, Copy)]
pub(crate) enum At<'n> {
    /// The position in a list, from 0.
    Item(usize),
    /// The key in an object.
    Name(&'n str),
}

/// Containers that a stream reads item by item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Container {
    /// The items of a list.
    List,
    /// The members of an object.
    Object,
}

/// Reads a list or an object item by item. `each` receives the items and returns the number of bytes that it keeps. A
/// value of another kind is returned instead, without its content.
pub(crate) struct ItemStream<'b, F> {
    pub(crate) container: Container,
    pub(crate) shape: WantedParts,
    pub(crate) budget: &'b Budget,
    pub(crate) each: F,
}

impl<F: FnMut(At<'_>, &Json) -> usize> ItemStream<'_, F> {
    /// Reads an item with `next` and passes it on; false after the last.
    fn one<E: Error>(
        &mut self,
        at: At<'_>,
        next: impl FnOnce(ShapeReader<'_>) -> std::result::Result<Option<Json>, E>,
    ) -> std::result::Result<bool, E> {
        let reader = ShapeReader { shape: self.shape, budget: self.budget };
        let mut wrong = None;
        let more = self.budget.passing(|| {
            let item = next(reader).unwrap_or_else(|error| {
                wrong = Some(error);
                None
            });
            Ok(item.map_or((false, 0), |item| (true, (self.each)(at, &item))))
        });
        wrong.map_or_else(|| more.map_err(no_room), Err)
    }
}

impl<'de, F: FnMut(At<'_>, &Json) -> usize> DeserializeSeed<'de> for ItemStream<'_, F> {
    type Value = Option<Json>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> std::result::Result<Option<Json>, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de, F: FnMut(At<'_>, &Json) -> usize> Visitor<'de> for ItemStream<'_, F> {
    type Value = Option<Json>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    scalars!(Option<Json>, Some);

    fn visit_str<E: Error>(self, value: &str) -> std::result::Result<Option<Json>, E> {
        ShapeReader { shape: WantedParts::Whole, budget: self.budget }.visit_str(value).map(Some)
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> std::result::Result<Option<Json>, A::Error> {
        if self.container != Container::List {
            while items.next_element::<IgnoredAny>()?.is_some() {}
            return Ok(Some(Json::Array(Vec::new())));
        }
        let mut position = 0;
        while self.one(At::Item(position), |reader| items.next_element_seed(reader))? {
            position += 1;
        }
        Ok(None)
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut entries: A) -> std::result::Result<Option<Json>, A::Error> {
        if self.container != Container::Object {
            while entries.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            return Ok(Some(Json::Object(Vec::new())));
        }
        while let Some(name) = entries.next_key::<String>()? {
            self.one(At::Name(&name), |reader| entries.next_value_seed(reader).map(Some))?;
        }
        Ok(None)
    }
}

/// Passes the value of the first member with a given name to a reader of its own. The result is `None` if there is no
/// such member, or the value is not an object.
pub(crate) struct Member<S> {
    pub(crate) key: &'static str,
    pub(crate) inner: S,
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Member<S> {
    type Value = Option<S::Value>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> std::result::Result<Self::Value, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de, S: DeserializeSeed<'de>> Visitor<'de> for Member<S> {
    type Value = Option<S::Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    scalars!(Self::Value, |_| None);

    fn visit_str<E>(self, _: &str) -> std::result::Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> std::result::Result<Self::Value, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(None)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> std::result::Result<Self::Value, A::Error> {
        let (mut inner, mut found) = (Some(self.inner), None);
        while let Some(key) = entries.next_key::<String>()? {
            match inner.take_if(|_| key == self.key) {
                Some(inner) => found = Some(entries.next_value_seed(inner)?),
                None => drop(entries.next_value::<IgnoredAny>()?),
            }
        }
        Ok(found)
    }
}

/// Results made from the items of a stream, up to the first error.
pub(crate) struct MadeItems<T> {
    rows: Vec<T>,
    wrong: Option<LoadError>,
}

impl<T: Weight> MadeItems<T> {
    pub(crate) fn new() -> Self {
        MadeItems { rows: Vec::new(), wrong: None }
    }

    /// Makes and keeps one more result, and returns its size in bytes. After an error nothing more is made.
    pub(crate) fn add(&mut self, make: impl FnOnce() -> Result<T>) -> usize {
        if self.wrong.is_some() {
            return 0;
        }
        match make() {
            Ok(row) => {
                let weight = row.weight();
                let place = if self.rows.len() == self.rows.capacity() {
                    let more = self.rows.capacity().max(4);
                    self.rows.reserve_exact(more);
                    more * size_of::<T>()
                } else {
                    0
                };
                self.rows.push(row);
                weight + place
            }
            Err(error) => {
                self.wrong = Some(error);
                0
            }
        }
    }

    /// All results, or the error.
    pub(crate) fn done(self) -> Result<Vec<T>> {
        self.wrong.map_or(Ok(self.rows), Err)
    }
}

/// Reads an object of a list that has a name.
pub(crate) fn described<T>(
    item: &Json,
    at: usize,
    place: &JsonPath<'_>,
    kind: &'static str,
    read: impl FnOnce(&str, Object<'_, '_>) -> Result<T>,
) -> Result<T> {
    let name = Object::new(item, place.item(at))?.string("name")?;
    read(name, Object::new(item, place.named(kind, name))?)
}
