//! Fields of one object of a source. They have the names that the master daemon uses; other sources map their own
//! spelling to these.

use crate::input::error::{LoadError, Result};
use crate::input::json::{Json, JsonPath, Object, ValueResult};

/// Treatment of a field that is missing or invalid.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Presence {
    Required,
    /// It may be missing or null.
    Optional,
    /// If it is invalid, it counts as missing.
    Lenient,
    /// It is not read.
    Ignored,
}

/// The fields of one object.
pub(super) trait Fields<'j> {
    /// The value of a field that must be present.
    fn value(&self, field: &str) -> Result<&'j Json>;
    fn presence(&self, field: &str) -> Presence;
    /// Tells if an optional field is absent.
    fn is_absent(&self, field: &str) -> bool;
    /// Tells if the master asked the node for the field and got no answer.
    fn is_silent(&self, field: &str) -> bool;
    fn error(&self, field: &str, problem: &str) -> LoadError;
    fn place(&self) -> &JsonPath<'_>;
    /// Memory of an instance.
    fn memory(&self) -> Result<i64>;
    /// Secondary node of an instance; further ones are ignored.
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

/// Spelling of the fields of objects in one kind of document.
pub(super) struct Spelling {
    /// Other names of fields, with the objects that hold them before a slash.
    pub(super) names: &'static [(&'static str, &'static str)],
    pub(super) optional: &'static [&'static str],
    /// True if null means that a node did not answer.
    pub(super) has_silence: bool,
}

/// The fields in an object.
pub(super) struct SpelledObject<'j, 'p> {
    pub(super) object: Object<'j, 'p>,
    pub(super) spelling: &'static Spelling,
}

impl<'j> SpelledObject<'j, '_> {
    /// Applies a function to the object that holds a field, and to the field's key there.
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
            // Documents have it, but the reference ignores it there.
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

    /// The memory of an instance in use, if it runs; otherwise its configured memory, under the old or else the newer
    /// name.
    fn memory(&self) -> Result<i64> {
        let parameters = self.object.object("beparams")?;
        if let Json::Int(_) | Json::Huge(_) | Json::Float(_) = self.object.required("oper_ram")? {
            return self.object.int("oper_ram");
        }
        parameters.int("memory").or_else(|first| {
            parameters.int("maxmem").map_err(|second| {
                let (first, second) = (first.problem, second.problem);
                self.object.error(format!("no memory: oper_ram is not a number, {first}; {second}"))
            })
        })
    }

    fn secondary(&self) -> Result<Option<&'j str>> {
        let first = self.object.list("snodes")?.first();
        // Further ones are ignored.
        first.map(Json::string).transpose().map_err(|problem| self.object.key_error("snodes", &problem))
    }

    fn is_forthcoming(&self) -> Result<bool> {
        // The reference treats any other value as false.
        Ok(self.object.get("forthcoming") == Some(&Json::Bool(true)))
    }
}
