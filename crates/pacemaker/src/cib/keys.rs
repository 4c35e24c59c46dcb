//! Attributes that describe affinity keys.

use std::borrow::Cow;

use roxmltree::Node;

use super::Reader;
use super::document::children;
use htools_model::known_tags::{KEY, KEY_CUSTOMER, KEY_STICKY, KEY_SYSTEM};

/// Prefix of key attributes as crm_resource can write them. It makes ids of names, and ids have no colons.
const DOTTED: &str = "htools.key.";

/// The tag name that an attribute stands for: `htools:key:system:NAME` for `htools.key.system.NAME`. A dot before a
/// name stands for `#`. `None` if the attribute is about something else.
pub fn tag_name(attribute: &str) -> Option<Cow<'_, str>> {
    if attribute.starts_with(KEY) {
        return Some(Cow::Borrowed(attribute));
    }
    let rest = attribute.strip_prefix(DOTTED)?;
    let of_role = |start: &&'static str| {
        let word = start.strip_prefix(KEY)?.strip_suffix(':')?;
        Some((*start, rest.strip_prefix(word)?.strip_prefix('.')?))
    };
    let starts = [KEY_STICKY, KEY_SYSTEM, KEY_CUSTOMER];
    let (start, name) = starts.iter().find_map(of_role).unwrap_or((KEY, rest));
    Some(Cow::Owned(match name.strip_prefix('.') {
        Some(special) => format!("{start}#{special}"),
        None => format!("{start}{name}"),
    }))
}

/// Names and values of attributes that begin like those of keys, as in the document.
pub(super) type KeyPairs = Vec<(String, String)>;

impl<'a, 'i> Reader<'a, 'i> {
    /// Key attributes of a resource and of those from which it inherits. Of two sets, the one that wins counts. A name
    /// occurs twice if one set gives it different values. Sets without keys do not affect placement, so nothing in them
    /// is reported as unsupported.
    pub(super) fn key_attributes(&mut self, nodes: &[Node<'a, 'i>]) -> KeyPairs {
        let mut all: KeyPairs = Vec::new();
        for node in nodes {
            let sets = children(*node, "instance_attributes").filter_map(|set| self.meant(set));
            let sets: Vec<Node<'a, 'i>> = sets.collect();
            let of_keys = |set: &Node<'a, 'i>| {
                let pairs = children(*set, "nvpair").filter_map(|pair| self.pair(pair));
                pairs.filter(|(name, _)| tag_name(name).is_some()).collect::<Vec<_>>()
            };
            let told: Vec<Vec<(&str, &str)>> = sets.iter().map(of_keys).collect();
            if told.iter().all(Vec::is_empty) {
                continue;
            }
            let holding = self.properties(*node, "instance_attributes");
            let known = all.len();
            for (name, value) in holding.iter().filter(|(name, _)| tag_name(name).is_some()) {
                if all[..known].iter().all(|(other, _)| other != name) {
                    all.push((name.to_owned(), value.to_owned()));
                    let rivals = told.iter().find_map(|pairs| rival(pairs, name, value));
                    all.extend(rivals.map(|other| (name.to_owned(), other.to_owned())));
                }
            }
        }
        all
    }

    /// Name and value of an element that has them, or refers to one that does.
    fn pair(&self, pair: Node<'a, 'i>) -> Option<(&'a str, &'a str)> {
        let meant = self.meant(pair)?;
        let name = pair.attribute("name").or_else(|| meant.attribute("name"))?;
        Some((name, meant.attribute("value").unwrap_or_default()))
    }
}

/// Another value that a set gives a name, if it also has the winning one.
fn rival<'a>(pairs: &[(&'a str, &'a str)], name: &str, value: &str) -> Option<&'a str> {
    let mut of_name = pairs.iter().filter(|(other, _)| *other == name).map(|(_, value)| *value);
    let holds = of_name.clone().any(|told| told == value);
    of_name.find(|other| holds && *other != value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_attributes_are_names_of_tags() {
        for (attribute, tag) in [
            ("htools:key:system:a", Some("htools:key:system:a")),
            ("htools.key.system.a", Some("htools:key:system:a")),
            ("htools.key.system..RAM", Some("htools:key:system:#RAM")),
            ("htools.key.customer.a.b", Some("htools:key:customer:a.b")),
            ("htools.key.sticky._x", Some("htools:key:sticky:_x")),
            ("htools.key.systema", Some("htools:key:systema")),
            ("htools.keys", None),
            ("pool", None),
        ] {
            assert_eq!(tag_name(attribute).as_deref(), tag, "{attribute}");
        }
    }
}
