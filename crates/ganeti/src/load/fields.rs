//! What a source says of one thing, field by field. Fields are called as the master daemon calls
//! them; other sources say how they spell them.

use crate::input::error::{LoadError, Result};
use crate::input::json::{Json, JsonPath, Object, ValueResult};

/// What it means that a field is missing or wrong.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Presence {
    Required,
    /// It may be missing or null.
    Optional,
    /// Whatever is wrong with it, it counts as missing.
    Lenient,
    /// It is not looked at.
    Ignored,
}

/// The fields of one thing.
pub(super) trait Fields<'j> {
    /// The value of a field that has to be there.
    fn value(&self, field: &str) -> Result<&'j Json>;
    fn presence(&self, field: &str) -> Presence;
    /// Whether an optional field is not there.
    fn is_absent(&self, field: &str) -> bool;
    /// Whether the master has asked for the field and got nothing.
    fn is_silent(&self, field: &str) -> bool;
    fn error(&self, field: &str, problem: &str) -> LoadError;
    fn place(&self) -> &JsonPath<'_>;
    /// The memory of an instance.
    fn memory(&self) -> Result<i64>;
    /// The secondary node of an instance: more than one has no meaning.
    fn secondary(&self) -> Result<Option<&'j str>>;
    fn is_forthcoming(&self) -> Result<bool>;
}

impl<'j> dyn Fields<'j> + '_ {
    pub(super) fn need<T>(&self, field: &str, read: impl FnOnce(&'j Json) -> ValueResult<T>) -> Result<T> {
        read(self.value(field)?).map_err(|problem| self.error(field, &problem.to_string()))
    }

    pub(super) fn get<T>(
        &self,
        field: &str,
        read: impl FnOnce(&'j Json) -> ValueResult<T>,
    ) -> Result<Option<T>> {
        match self.presence(field) {
            Presence::Ignored => Ok(None),
            Presence::Optional if self.is_absent(field) => Ok(None),
            Presence::Lenient => Ok(self.need(field, read).ok()),
            Presence::Required | Presence::Optional => self.need(field, read).map(Some),
        }
    }

    pub(super) fn object<'q>(&'q self, field: &'q str) -> Result<Object<'j, 'q>> {
        let value = self.value(field)?;
        value.members().map_err(|problem| self.place().error(format!("key '{field}': {problem}")))?;
        Object::new(value, self.place().key(field))
    }
}

/// How a document spells the fields of its objects.
pub(super) struct Spelling {
    /// Other names of fields and, before a slash, of the objects that hold them.
    pub(super) names: &'static [(&'static str, &'static str)],
    pub(super) optional: &'static [&'static str],
    /// Whether null is what a node said that did not answer.
    pub(super) has_silence: bool,
}

/// The fields in an object.
pub(super) struct SpelledObject<'j, 'p> {
    pub(super) object: Object<'j, 'p>,
    pub(super) spelling: &'static Spelling,
}

impl<'j> SpelledObject<'j, '_> {
    /// Does something with the object that holds a field, and the field's key there.
    fn at<T>(&self, field: &str, then: impl FnOnce(&Object<'j, '_>, &str) -> T) -> Result<T> {
        let spelled =
            |word| self.spelling.names.iter().find(|(usual, _)| *usual == word).map_or(word, |it| it.1);
        match field.split_once('/') {
            None => Ok(then(&self.object, spelled(field))),
            Some((outer, key)) => Ok(then(&self.object.object(spelled(outer))?, key)),
        }
    }
}

impl<'j> Fields<'j> for SpelledObject<'j, '_> {
    fn value(&self, field: &str) -> Result<&'j Json> {
        self.at(field, |object, key| object.required(key))?
    }

    fn presence(&self, field: &str) -> Presence {
        match field {
            // documents have it, the reference ignores it there
            "ndp/cpu_speed" => Presence::Ignored,
            _ if self.spelling.optional.contains(&field) => Presence::Optional,
            _ => Presence::Required,
        }
    }

    fn is_absent(&self, field: &str) -> bool {
        self.at(field, |object, key| matches!(object.get(key), None | Some(Json::Null))).unwrap_or(false)
    }

    fn is_silent(&self, field: &str) -> bool {
        self.spelling.has_silence && self.object.get(field) == Some(&Json::Null)
    }

    fn error(&self, field: &str, problem: &str) -> LoadError {
        self.at(field, |object, key| object.key_error(key, problem)).unwrap_or_else(|error| error)
    }

    fn place(&self) -> &JsonPath<'_> {
        self.object.place()
    }

    /// That of an instance that runs; else what it is to have, under its old name or, failing
    /// that, its newer one.
    fn memory(&self) -> Result<i64> {
        let parameters = self.object.object("beparams")?;
        if let Json::Int(_) | Json::Huge(_) | Json::Float(_) = self.object.required("oper_ram")? {
            return self.object.int("oper_ram");
        }
        parameters.int("memory").or_else(|first| {
            parameters.int("maxmem").map_err(|second| {
                let (first, second) = (first.problem, second.problem);
                self.object.error(format!("no memory: oper_ram is no number, {first}; {second}"))
            })
        })
    }

    fn secondary(&self) -> Result<Option<&'j str>> {
        let first = self.object.list("snodes")?.first();
        // others are not looked at
        first.map(Json::string).transpose().map_err(|problem| self.object.key_error("snodes", &problem))
    }

    fn is_forthcoming(&self) -> Result<bool> {
        // the reference takes any other value for false
        Ok(self.object.get("forthcoming") == Some(&Json::Bool(true)))
    }
}
