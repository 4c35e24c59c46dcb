//! Place of a value in a document, for messages.

use std::fmt;

use crate::input::error::LoadError;
use htools_model::shown::{shown_name, shown_source};

/// The path from the source to an object. The chain of steps is put into words only if an error is reported.
#[derive(Debug, Clone, Copy)]
pub(crate) struct JsonPath<'p> {
    outer: Option<&'p JsonPath<'p>>,
    step: PathStep<'p>,
}

#[derive(Debug, Clone, Copy)]
enum PathStep<'p> {
    Source(&'p str),
    Named(&'static str, &'p str),
    Key(&'p str),
    Item(usize),
}

impl<'p> JsonPath<'p> {
    pub(crate) fn source(source: &'p str) -> Self {
        JsonPath { outer: None, step: PathStep::Source(source) }
    }

    /// The object that describes a named thing: `node 'n1'`.
    pub(crate) fn named(&'p self, kind: &'static str, name: &'p str) -> Self {
        JsonPath { outer: Some(self), step: PathStep::Named(kind, name) }
    }

    pub(crate) fn key(&'p self, key: &'p str) -> Self {
        JsonPath { outer: Some(self), step: PathStep::Key(key) }
    }

    /// An item of a list, counted from 0 (and shown counted from 1).
    pub(crate) fn item(&'p self, position: usize) -> Self {
        JsonPath { outer: Some(self), step: PathStep::Item(position) }
    }

    pub(crate) fn error(&self, problem: impl fmt::Display) -> LoadError {
        LoadError::one_line(&self.to_string(), &problem.to_string())
    }
}

impl fmt::Display for JsonPath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(outer) = self.outer {
            write!(f, "{outer}, ")?;
        }
        match self.step {
            PathStep::Source(source) => f.write_str(&shown_source(source)),
            PathStep::Named(kind, name) => write!(f, "{kind} '{}'", shown_name(name)),
            PathStep::Key(key) => f.write_str(&shown_name(key)),
            PathStep::Item(position) => write!(f, "item {}", position + 1),
        }
    }
}
