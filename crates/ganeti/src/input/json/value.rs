//! A JSON value.

use std::borrow::Cow;

use htools_model::UnknownName;
use htools_model::shown::printable;
use htools_model::units::trunc_to_i64;

/// A key of an object. Keys that a reader asks for by name are not copied.
pub(super) type Key = Cow<'static, str>;

/// A JSON value in the order of the document.
#[derive(Debug, Clone, PartialEq)]
pub enum Json {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number written without fraction and exponent that fits into 64 bits.
    Int(i64),
    /// A number that fits into 64 bits only without a sign, such as the number of a job. Elsewhere it counts as the
    /// nearest real number.
    Huge(u64),
    /// Any other number.
    Float(f64),
    /// A string.
    String(String),
    /// A list.
    Array(Vec<Json>),
    /// An object. Repeated keys are kept; the first one counts.
    Object(Vec<(Key, Json)>),
}

/// Fault of a value, to be completed with its place and key.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(crate) enum ValueFault {
    #[error("{expected}, found {found}")]
    Kind { expected: &'static str, found: String },
    #[error("{0:e} does not fit into 64 bits")]
    TooLarge(f64),
    #[error("\"{}\" is not one of {}", printable(&.0.value, 60), .0.allowed.join(", "))]
    Name(UnknownName),
    #[error("item {number}: {fault}")]
    Item { number: usize, fault: Box<ValueFault> },
    #[error("field '{field}': {fault}")]
    Field { field: String, fault: Box<ValueFault> },
    #[error("expected {expected} fields, found {found}")]
    Count { expected: usize, found: usize },
    #[error("{0} is not a status")]
    Status(String),
}

/// A value, or its fault.
pub(crate) type ValueResult<T> = std::result::Result<T, ValueFault>;

impl Json {
    /// A whole number, from any number, rounded half to even.
    ///
    /// # Errors
    /// If it has another type, or does not fit into 64 bits.
    pub(crate) fn int(&self) -> ValueResult<i64> {
        // This is 2^63. Its negative would fit, but that double may stand for a smaller number.
        const LIMIT: f64 = 9_223_372_036_854_775_808.0;
        if let Json::Int(value) = self {
            return Ok(*value);
        }
        let value = self.float()?;
        let rounded = value.round_ties_even();
        if rounded.abs() < LIMIT { Ok(trunc_to_i64(rounded)) } else { Err(ValueFault::TooLarge(value)) }
    }

    pub(crate) fn int_or_null(&self) -> ValueResult<Option<i64>> {
        if *self == Json::Null { Ok(None) } else { self.int().map(Some) }
    }

    /// A real number, from any number.
    pub(crate) fn float(&self) -> ValueResult<f64> {
        match self {
            Json::Int(value) => Ok(*value as f64),
            Json::Huge(value) => Ok(*value as f64),
            Json::Float(value) => Ok(*value),
            _ => self.wrong("expected a number"),
        }
    }

    pub(crate) fn string(&self) -> ValueResult<&str> {
        match self {
            Json::String(value) => Ok(value),
            _ => self.wrong("Unable to read String: expected a string"),
        }
    }

    pub(crate) fn bool(&self) -> ValueResult<bool> {
        match self {
            Json::Bool(value) => Ok(*value),
            _ => self.wrong("expected true or false"),
        }
    }

    pub(crate) fn list(&self) -> ValueResult<&[Json]> {
        match self {
            Json::Array(items) => Ok(items),
            _ => self.wrong("expected a list"),
        }
    }

    pub(crate) fn members(&self) -> ValueResult<&[(Key, Json)]> {
        match self {
            Json::Object(members) => Ok(members),
            _ => self.wrong("Unable to read JSObject: expected an object"),
        }
    }

    pub(crate) fn wrong<T>(&self, expected: &'static str) -> ValueResult<T> {
        Err(ValueFault::Kind { expected, found: self.found() })
    }

    /// The value as shown in a message: short, on one line.
    pub(crate) fn found(&self) -> String {
        match self {
            Json::Null => "null".into(),
            Json::Bool(value) => value.to_string(),
            Json::Int(value) => value.to_string(),
            Json::Huge(value) => format!("{:?}", *value as f64),
            Json::Float(value) => format!("{value:?}"),
            Json::String(value) => format!("\"{}\"", printable(value, 60)),
            Json::Array(_) => "a list".into(),
            Json::Object(_) => "an object".into(),
        }
    }
}

/// The same value for serde, where each key counts once.
impl From<Json> for serde_json::Value {
    fn from(value: Json) -> Self {
        match value {
            Json::Null => serde_json::Value::Null,
            Json::Bool(value) => value.into(),
            Json::Int(value) => value.into(),
            Json::Huge(value) => value.into(),
            Json::Float(value) => value.into(),
            Json::String(value) => value.into(),
            Json::Array(items) => items.into_iter().map(serde_json::Value::from).collect(),
            Json::Object(members) => {
                let mut map = serde_json::Map::new();
                for (key, value) in members {
                    map.entry(key.into_owned()).or_insert_with(|| value.into());
                }
                map.into()
            }
        }
    }
}
