//! Objects of which some members remain texts, to be read later.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::budget::Budget;
use super::shape::{ShapeReader, WantedParts, scalars};
use super::value::Json;

/// Keys of long members, with the texts of their values once they are found.
pub(super) type LongMembers<'t, const N: usize> = [(&'static str, Option<&'t str>); N];

/// Reads an object in one pass. The values of the long members are skipped: they become null and their texts are kept.
/// They must be valid in form, but what is inside strings is not checked. The other members are read in the shape.
pub(super) struct SplitReader<'b, const N: usize> {
    pub(super) long: [&'static str; N],
    pub(super) shape: &'static [(&'static str, WantedParts)],
    pub(super) budget: &'b Budget,
}

/// The object without its long members, and their texts.
pub(crate) struct SplitDocument<'t, const N: usize> {
    pub(crate) short: Json,
    pub(super) long: LongMembers<'t, N>,
}

impl<'t, const N: usize> SplitDocument<'t, N> {
    /// The text of a long member.
    pub(crate) fn long(&self, key: &str) -> Option<&'t str> {
        self.long.iter().find(|(long, _)| *long == key).and_then(|(_, text)| *text)
    }
}

impl<'t, const N: usize> From<Json> for SplitDocument<'t, N> {
    fn from(short: Json) -> SplitDocument<'t, N> {
        SplitDocument { short, long: [("", None); N] }
    }
}

impl<'de, const N: usize> DeserializeSeed<'de> for SplitReader<'_, N> {
    type Value = SplitDocument<'de, N>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de, const N: usize> Visitor<'de> for SplitReader<'_, N> {
    type Value = SplitDocument<'de, N>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    scalars!(Self::Value, SplitDocument::from);

    fn visit_str<E: Error>(self, value: &str) -> Result<Self::Value, E> {
        self.shaped().visit_str(value).map(SplitDocument::from)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Json::Array(Vec::new()).into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        let mut long: LongMembers<'de, N> = self.long.map(|key| (key, None));
        let short = self.shaped().members(&mut entries, |key, entries| {
            let unread = long.iter_mut().find(|(long, text)| *long == key && text.is_none());
            let Some((_, text)) = unread else { return Ok(false) };
            *text = Some(entries.next_value::<&RawValue>()?.get());
            Ok(true)
        })?;
        Ok(SplitDocument { short, long })
    }
}

impl<const N: usize> SplitReader<'_, N> {
    fn shaped(&self) -> ShapeReader<'_> {
        ShapeReader { shape: WantedParts::Checked(self.shape), budget: self.budget }
    }
}
