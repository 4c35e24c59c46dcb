//! Reading of only the wanted parts of a document, within a memory budget.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::budget::{Budget, BudgetExceeded};
use super::value::{Json, Key};

/// Maximum number of unwanted keys of an object that are remembered, so that messages can name some.
const NAMED: usize = 20;

/// Wanted parts of a value. A value of another form is read as a whole.
#[derive(Debug, Clone, Copy)]
pub(crate) enum WantedParts {
    Whole,
    /// Nothing: the value becomes null, but must be valid.
    Nothing,
    /// The values of these keys of an object. The others become null and may be anything.
    Keys(&'static [(&'static str, WantedParts)]),
    /// The same, but the others must be valid.
    Checked(&'static [(&'static str, WantedParts)]),
    /// Every item of a list, in this shape.
    Each(&'static WantedParts),
    /// The first items of a list, each in a shape of its own.
    Items(&'static [WantedParts]),
}

/// Keys whose values are wanted whole.
pub(crate) const fn keys<const N: usize>(names: [&'static str; N]) -> [(&'static str, WantedParts); N] {
    let mut keys = [("", WantedParts::Whole); N];
    let mut at = 0;
    while at < N {
        keys[at].0 = names[at];
        at += 1;
    }
    keys
}

/// Visitor methods for scalar values.
macro_rules! scalars {
    ($value:ty, $make:expr) => {
        scalars!(@ $value, $make, visit_bool: bool, Json::Bool; visit_i64: i64, Json::Int;
            visit_u64: u64, |value| i64::try_from(value).map_or(Json::Huge(value), Json::Int);
            visit_f64: f64, Json::Float);

        fn visit_unit<E>(self) -> std::result::Result<$value, E> {
            let make: fn(Json) -> $value = $make;
            Ok(make(Json::Null))
        }
    };
    (@ $value:ty, $make:expr, $($visit:ident: $given:ty, $json:expr);+) => {$(
        fn $visit<E>(self, value: $given) -> std::result::Result<$value, E> {
            let (make, json): (fn(Json) -> $value, fn($given) -> Json) = ($make, $json);
            Ok(make(json(value)))
        }
    )+};
}
pub(super) use scalars;

/// Reads a value in a shape.
#[derive(Clone, Copy)]
pub(super) struct ShapeReader<'b> {
    pub(super) shape: WantedParts,
    pub(super) budget: &'b Budget,
}

/// Reads a key. Wanted keys are not copied.
struct KeyReader(&'static [(&'static str, WantedParts)]);

/// Reads an unwanted value as strictly as others.
struct Skipped;

pub(super) fn no_room<E: Error>(spent: BudgetExceeded) -> E {
    E::custom(spent)
}

impl<'b> ShapeReader<'b> {
    fn of(self, shape: WantedParts) -> ShapeReader<'b> {
        ShapeReader { shape, ..self }
    }

    fn wanted_keys(self) -> &'static [(&'static str, WantedParts)] {
        match self.shape {
            WantedParts::Keys(keys) | WantedParts::Checked(keys) => keys,
            _ => &[],
        }
    }

    fn text(self, text: String) -> Result<Json, BudgetExceeded> {
        self.budget.take_text(&text)?;
        Ok(Json::String(text))
    }

    fn member<'de, A: MapAccess<'de>>(self, key: &str, entries: &mut A) -> Result<Json, A::Error> {
        let (keys, checked) = match self.shape {
            WantedParts::Keys(keys) => (keys, false),
            WantedParts::Checked(keys) => (keys, true),
            _ => return entries.next_value_seed(self.of(WantedParts::Whole)),
        };
        match keys.iter().find(|(wanted, _)| *wanted == key) {
            Some((_, shape)) => entries.next_value_seed(self.of(*shape)),
            None if checked => entries.next_value_seed(Skipped).map(|()| Json::Null),
            None => entries.next_value::<IgnoredAny>().map(|_| Json::Null),
        }
    }

    /// Reads the members of an object. If `aside` reads a value itself and returns true, that becomes null.
    pub(super) fn members<'de, A: MapAccess<'de>>(
        self,
        entries: &mut A,
        mut aside: impl FnMut(&str, &mut A) -> Result<bool, A::Error>,
    ) -> Result<Json, A::Error> {
        let mut members = Vec::new();
        while let Some(key) = entries.next_key_seed(KeyReader(self.wanted_keys()))? {
            let is_read = aside(&key, entries)?;
            let kept = is_read || self.keeps(&key, members.len());
            if kept {
                self.budget.take_text(&key).map_err(no_room)?;
                self.budget.grow(&mut members).map_err(no_room)?;
            }
            let value = if is_read { Json::Null } else { self.member(&key, entries)? };
            if kept {
                members.push((key, value));
            }
        }
        Ok(Json::Object(members))
    }

    /// Tells if a member must be kept.
    fn keeps(self, key: &str, so_far: usize) -> bool {
        match self.shape {
            WantedParts::Keys(keys) | WantedParts::Checked(keys) => {
                so_far < NAMED || keys.iter().any(|(wanted, _)| *wanted == key)
            }
            _ => true,
        }
    }
}

impl<'de> DeserializeSeed<'de> for ShapeReader<'_> {
    type Value = Json;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Json, D::Error> {
        match self.shape {
            WantedParts::Nothing => Skipped.deserialize(deserializer).map(|()| Json::Null),
            _ => deserializer.deserialize_any(self),
        }
    }
}

impl<'de> Visitor<'de> for ShapeReader<'_> {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    scalars!(Json, |scalar| scalar);

    fn visit_str<E: Error>(self, value: &str) -> Result<Json, E> {
        self.budget.take_text(value).map_err(no_room)?;
        Ok(Json::String(value.to_owned()))
    }

    fn visit_string<E: Error>(self, value: String) -> Result<Json, E> {
        self.text(value).map_err(no_room)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Json, A::Error> {
        let mut list = Vec::new();
        loop {
            let shape = match self.shape {
                WantedParts::Each(shape) => *shape,
                WantedParts::Items(shapes) => match shapes.get(list.len()) {
                    Some(shape) => *shape,
                    None => {
                        while items.next_element_seed(Skipped)?.is_some() {}
                        return Ok(Json::Array(list));
                    }
                },
                _ => WantedParts::Whole,
            };
            let Some(item) = items.next_element_seed(self.of(shape))? else { return Ok(Json::Array(list)) };
            self.budget.grow(&mut list).map_err(no_room)?;
            list.push(item);
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Json, A::Error> {
        self.members(&mut entries, |_, _| Ok(false))
    }
}

impl<'de> DeserializeSeed<'de> for KeyReader {
    type Value = Key;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Key, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for KeyReader {
    type Value = Key;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E>(self, key: &str) -> Result<Key, E> {
        let wanted = self.0.iter().find(|(wanted, _)| *wanted == key);
        Ok(wanted.map_or_else(|| Cow::Owned(key.to_owned()), |(wanted, _)| Cow::Borrowed(*wanted)))
    }
}

impl<'de> DeserializeSeed<'de> for Skipped {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Skipped {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    scalars!((), drop);

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while items.next_element_seed(Skipped)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        while entries.next_key_seed(Skipped)?.is_some() {
            entries.next_value_seed(Skipped)?;
        }
        Ok(())
    }
}
