//! A JSON value.

use std::fmt;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::load::error::printable;

/// A JSON value in the order of the document.
#[derive(Debug, Clone, PartialEq)]
pub enum Json {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number written without fraction and exponent that fits into 64 bits.
    Int(i64),
    /// Any other number.
    Float(f64),
    /// A string.
    String(String),
    /// A list.
    Array(Vec<Json>),
    /// An object; repeated keys are kept, the first one counts.
    Object(Vec<(String, Json)>),
}

/// What is wrong with a value, to be completed with its place and key.
pub(in crate::load) type Wrong<T> = std::result::Result<T, String>;

impl Json {
    /// A whole number: any number, rounded half to even.
    ///
    /// # Errors
    /// Another type, or a number that does not fit into 64 bits.
    pub(in crate::load) fn int(&self) -> Wrong<i64> {
        // 2^63; its negative fits, but as a double it may stand for less
        const LIMIT: f64 = 9_223_372_036_854_775_808.0;
        match self {
            Json::Int(value) => Ok(*value),
            Json::Float(value) => {
                let rounded = value.round_ties_even();
                if rounded.abs() < LIMIT {
                    Ok(rounded as i64)
                } else {
                    Err(format!("{value:e} does not fit into 64 bits"))
                }
            }
            _ => self.wrong("a number"),
        }
    }

    /// A real number: any number.
    pub(in crate::load) fn float(&self) -> Wrong<f64> {
        match self {
            Json::Int(value) => Ok(*value as f64),
            Json::Float(value) => Ok(*value),
            _ => self.wrong("a number"),
        }
    }

    pub(in crate::load) fn string(&self) -> Wrong<&str> {
        match self {
            Json::String(value) => Ok(value),
            _ => self.wrong("a string"),
        }
    }

    pub(in crate::load) fn bool(&self) -> Wrong<bool> {
        match self {
            Json::Bool(value) => Ok(*value),
            _ => self.wrong("true or false"),
        }
    }

    pub(in crate::load) fn list(&self) -> Wrong<&[Json]> {
        match self {
            Json::Array(items) => Ok(items),
            _ => self.wrong("a list"),
        }
    }

    pub(in crate::load) fn members(&self) -> Wrong<&[(String, Json)]> {
        match self {
            Json::Object(members) => Ok(members),
            _ => self.wrong("an object"),
        }
    }

    fn wrong<T>(&self, expected: &str) -> Wrong<T> {
        Err(format!("expected {expected}, found {}", self.found()))
    }

    /// The value for a message: short, in one line.
    pub fn found(&self) -> String {
        match self {
            Json::Null => "null".into(),
            Json::Bool(value) => value.to_string(),
            Json::Int(value) => value.to_string(),
            Json::Float(value) => format!("{value:?}"),
            Json::String(value) => format!("\"{}\"", printable(value, 60)),
            Json::Array(_) => "a list".into(),
            Json::Object(_) => "an object".into(),
        }
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(JsonVisitor)
    }
}

/// The same for serde, where each key counts once.
impl From<Json> for serde_json::Value {
    fn from(value: Json) -> Self {
        match value {
            Json::Null => serde_json::Value::Null,
            Json::Bool(value) => value.into(),
            Json::Int(value) => value.into(),
            Json::Float(value) => value.into(),
            Json::String(value) => value.into(),
            Json::Array(items) => items.into_iter().map(serde_json::Value::from).collect(),
            Json::Object(members) => {
                let mut map = serde_json::Map::new();
                for (key, value) in members {
                    map.entry(key).or_insert_with(|| value.into());
                }
                map.into()
            }
        }
    }
}

struct JsonVisitor;

impl<'de> Visitor<'de> for JsonVisitor {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
        Ok(Json::Int(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
        // what does not fit stays a number, but only as a real one
        Ok(i64::try_from(value).map_or(Json::Float(value as f64), Json::Int))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Json, E> {
        Ok(Json::Float(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Json, E> {
        Ok(Json::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Json, E> {
        Ok(Json::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Json, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Json::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Json, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = entries.next_entry()? {
            members.push(member);
        }
        Ok(Json::Object(members))
    }
}

/// Reads a list of objects, and of each only the values of these keys: the others
/// become null. Long answers are mostly about what nobody asks for. Anything else is
/// read whole.
pub(super) struct Wanted(pub(super) &'static [&'static str]);

impl<'de> DeserializeSeed<'de> for Wanted {
    type Value = Json;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Json, D::Error> {
        deserializer.deserialize_any(WantedVisitor { keys: self.0, depth: 0 })
    }
}

/// Visits the list (depth 0), or one of its objects (depth 1).
#[derive(Clone, Copy)]
struct WantedVisitor {
    keys: &'static [&'static str],
    depth: u8,
}

impl<'de> DeserializeSeed<'de> for WantedVisitor {
    type Value = Json;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Json, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for WantedVisitor {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        JsonVisitor.expecting(f)
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<Json, E> {
        JsonVisitor.visit_unit()
    }

    fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<Json, E> {
        JsonVisitor.visit_bool(value)
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<Json, E> {
        JsonVisitor.visit_i64(value)
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Json, E> {
        JsonVisitor.visit_u64(value)
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Json, E> {
        JsonVisitor.visit_f64(value)
    }

    fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<Json, E> {
        JsonVisitor.visit_str(value)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Json, A::Error> {
        if self.depth > 0 {
            return JsonVisitor.visit_seq(items);
        }
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(WantedVisitor { depth: 1, ..self })? {
            list.push(item);
        }
        Ok(Json::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Json, A::Error> {
        if self.depth == 0 {
            return JsonVisitor.visit_map(entries);
        }
        let mut members = Vec::with_capacity(self.keys.len());
        while let Some(key) = entries.next_key::<String>()? {
            let value = if self.keys.contains(&key.as_str()) {
                entries.next_value()?
            } else {
                entries.next_value::<IgnoredAny>()?;
                Json::Null
            };
            members.push((key, value));
        }
        Ok(Json::Object(members))
    }
}
