//! Tags that set affinity keys (docs/affinity.md).
//!
//! * On nodes: `htools:key:NAME:VALUE` and `htools:key:sticky:NAME:VALUE:WEIGHT`.
//! * On the cluster, groups and instances: `htools:key:system:NAME:VALUE:WEIGHT` and
//!   `htools:key:customer:NAME:VALUE:WEIGHT`.
//!
//! Ganeti does not allow `#` and `=` in tags, but text files can have them: a name may begin with `#`, and `=` may
//! stand between name and value. `@` at the beginning of a name stands for `#`. Names contain neither `:` nor `=`.

use std::collections::BTreeMap;
use std::fmt;

use super::known_tags::{Bearer, KEY, KEY_CUSTOMER, KEY_STICKY, KEY_SYSTEM};

/// Largest magnitude of a value, weight or threshold: sums of larger numbers could overflow.
pub const LARGEST: f64 = 1e12;

/// The special keys, whose value is the used share of a node. Every machine has them unless the cluster sets them
/// itself.
pub const SPECIAL: [&str; 3] = ["#CPU", "#LOAD", "#RAM"];

/// Reason that a key whose name begins with `#` is not a valid special key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SpecialKeyFault {
    /// No special key has this name.
    #[error("is not a special key: the special keys are {}", SPECIAL.join(", "))]
    Unknown,
    /// A special key can only ask for an unused node.
    #[error("is a special key, whose value must be 0; its weight is the worth of an unused node")]
    Value,
}

/// Checks the name and value of an operator's key, if the name is that of a special key.
///
/// # Errors
/// If the name begins with `#` and is not a special key, or if the value is not one that special keys allow.
pub fn check_special(name: &str, value: f64) -> Result<(), SpecialKeyFault> {
    if !name.starts_with('#') {
        Ok(())
    } else if !SPECIAL.contains(&name) {
        Err(SpecialKeyFault::Unknown)
    } else if value != 0.0 {
        Err(SpecialKeyFault::Value)
    } else {
        Ok(())
    }
}

/// Role of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeyRole {
    /// A property of a node.
    Node,
    /// A property of a node that instances started there take along.
    Sticky,
    /// Set by the operator for instances.
    System,
    /// Set by a customer for instances.
    Customer,
}

/// The roles that have a word of their own in tags.
const NAMED: [(KeyRole, &str); 3] =
    [(KeyRole::Sticky, KEY_STICKY), (KeyRole::System, KEY_SYSTEM), (KeyRole::Customer, KEY_CUSTOMER)];

/// A key set by a tag. Its text form is such a tag, in the form that Ganeti allows if the name permits it.
#[derive(Debug, Clone, PartialEq)]
pub struct KeyTag {
    /// Role.
    pub role: KeyRole,
    /// Name.
    pub name: String,
    /// Value.
    pub value: f64,
    /// Weight; 0 if the role has none.
    pub weight: f64,
}

impl fmt::Display for KeyTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let start = NAMED.iter().find(|(role, _)| *role == self.role).map_or(KEY, |(_, start)| start);
        let (mark, name) = self.name.strip_prefix('#').map_or(("", self.name.as_str()), |rest| ("@", rest));
        write!(f, "{start}{mark}{name}:{}", self.value)?;
        if self.role == KeyRole::Node { Ok(()) } else { write!(f, ":{}", self.weight) }
    }
}

/// Reason that a tag with the prefix of keys is not a valid key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyTagFault {
    /// The parts are not those of a key.
    #[error("does not have the form of a key")]
    Form,
    /// A key of a node is set elsewhere, or another key is set on a node.
    #[error("is not a key that is allowed there")]
    Misplaced,
    /// A key of this role cannot have this name.
    #[error("has a name that cannot begin with '{0}'")]
    Name(char),
    /// The name begins with `#`, but this is not a valid special key.
    #[error(transparent)]
    Special(#[from] SpecialKeyFault),
    /// The value or the weight is not a number, or too large for sums.
    #[error("has a {0} that is not a number between -1e12 and 1e12")]
    Number(&'static str),
    /// Another tag of the same bearer sets the same key differently; neither counts.
    #[error("contradicts another key of this name")]
    Contradiction,
}

/// The parts of a tag that has the form of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyTagParts<'a> {
    /// Role.
    pub role: KeyRole,
    /// Prefix of the name.
    pub start: &'a str,
    /// Name, as it is written.
    pub name: &'a str,
    /// Rest of the tag: value and weight, each after its separator.
    pub figures: &'a str,
}

impl<'a> KeyTagParts<'a> {
    /// Splits a tag into its parts; `None` if it has not the form of a key.
    pub fn of(tag: &'a str) -> Option<KeyTagParts<'a>> {
        let separators = [':', '='];
        let (role, start) = match tag.strip_prefix(KEY)?.split(separators).count() {
            2 => (KeyRole::Node, KEY),
            4 => *NAMED.iter().find(|(_, start)| tag.starts_with(start))?,
            _ => return None,
        };
        let (start, rest) = tag.split_at(start.len());
        let (name, figures) = rest.split_at(rest.find(separators)?);
        (!name.is_empty()).then_some(KeyTagParts { role, start, name, figures })
    }

    /// The value and the weight, which is 0 if there is none.
    ///
    /// # Errors
    /// If one of them is not a number in the range of ±[`LARGEST`].
    pub fn numbers(&self) -> Result<(f64, f64), KeyTagFault> {
        let text = &self.figures[1..];
        let (value, weight) =
            text.split_once(':').map_or((text, None), |(value, weight)| (value, Some(weight)));
        let number = |text: &str, what| {
            let number = text.parse().ok().filter(|number: &f64| number.abs() <= LARGEST);
            // Adding 0 turns -0 into 0.
            number.map(|number| number + 0.0).ok_or(KeyTagFault::Number(what))
        };
        Ok((number(value, "value")?, weight.map_or(Ok(0.0), |weight| number(weight, "weight"))?))
    }
}

impl KeyTag {
    /// Reads a tag of the given bearer; `None` if it has not the prefix of keys.
    pub fn read(tag: &str, bearer: Bearer) -> Option<Result<KeyTag, KeyTagFault>> {
        tag.starts_with(KEY).then(|| {
            let parts = KeyTagParts::of(tag).ok_or(KeyTagFault::Form)?;
            let role = parts.role;
            if matches!(role, KeyRole::Node | KeyRole::Sticky) != (bearer == Bearer::Node) {
                return Err(KeyTagFault::Misplaced);
            }
            let name = match parts.name.strip_prefix('@') {
                Some(rest) => format!("#{rest}"),
                None => parts.name.to_owned(),
            };
            let forbidden: &[char] = match role {
                KeyRole::Sticky => &['#', '_'],
                KeyRole::Node | KeyRole::Customer => &['#'],
                KeyRole::System => &['_'],
            };
            if let Some(letter) = forbidden.iter().find(|letter| name.starts_with(**letter)) {
                return Err(KeyTagFault::Name(*letter));
            }
            let (value, weight) = parts.numbers()?;
            if role == KeyRole::System {
                check_special(&name, value)?;
            }
            Ok(KeyTag { role, name, value, weight })
        })
    }

    /// Role under which tags conflict: a sticky key and a node's key of the same name are one key.
    fn side(&self) -> KeyRole {
        if self.role == KeyRole::Sticky { KeyRole::Node } else { self.role }
    }
}

/// The keys that the tags of one bearer set.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct KeyTags {
    /// The keys, by side and name.
    pub keys: Vec<KeyTag>,
    /// Tags with the prefix of keys that set none, in their order.
    pub faults: Vec<(String, KeyTagFault)>,
}

impl KeyTags {
    /// Reads the tags of one bearer. Their order does not matter; if two contradict each other, neither counts.
    pub fn of(tags: &[String], bearer: Bearer) -> KeyTags {
        KeyTags::settled(tags.iter().filter_map(|tag| Some((tag.clone(), KeyTag::read(tag, bearer)?))))
    }

    /// Collects keys that were read, each with its source text. If two contradict each other, neither counts.
    pub fn settled(read: impl IntoIterator<Item = (String, Result<KeyTag, KeyTagFault>)>) -> KeyTags {
        let read: Vec<(String, Result<KeyTag, KeyTagFault>)> = read.into_iter().collect();
        let mut by_name: BTreeMap<(KeyRole, &str), Option<&KeyTag>> = BTreeMap::new();
        for key in read.iter().filter_map(|(_, key)| key.as_ref().ok()) {
            let said = by_name.entry((key.side(), &key.name)).or_insert(Some(key));
            *said = said.filter(|other| *other == key);
        }
        let fault = |(tag, key): &(String, Result<KeyTag, KeyTagFault>)| {
            let fault = match key {
                Err(fault) => Some(*fault),
                Ok(key) => {
                    let is_gone = by_name.get(&(key.side(), key.name.as_str())).is_some_and(Option::is_none);
                    is_gone.then_some(KeyTagFault::Contradiction)
                }
            };
            fault.map(|fault| (tag.clone(), fault))
        };
        KeyTags {
            faults: read.iter().filter_map(fault).collect(),
            keys: by_name.into_values().flatten().cloned().collect(),
        }
    }

    /// The fault of a tag, if it has one.
    pub fn fault(&self, tag: &str) -> Option<KeyTagFault> {
        self.faults.iter().find(|(other, _)| other == tag).map(|(_, fault)| *fault)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(tag: &str, bearer: Bearer) -> Result<(KeyRole, String, f64, f64), KeyTagFault> {
        let key = KeyTag::read(tag, bearer).unwrap()?;
        Ok((key.role, key.name, key.value, key.weight))
    }

    #[test]
    fn tags_are_keys_of_what_has_them() {
        use KeyRole::{Customer, Node, Sticky, System};
        for (tag, bearer, role, name, value, weight) in [
            ("htools:key:ds=2", Bearer::Node, Node, "ds", 2.0, 0.0),
            ("htools:key:_ssd:1", Bearer::Node, Node, "_ssd", 1.0, 0.0),
            ("htools:key:sticky:pool:2:100", Bearer::Node, Sticky, "pool", 2.0, 100.0),
            // With two parts only, a role's word is the name of the key.
            ("htools:key:sticky:5", Bearer::Node, Node, "sticky", 5.0, 0.0),
            ("htools:key:system:#RAM=0:50", Bearer::Cluster, System, "#RAM", 0.0, 50.0),
            ("htools:key:system:@CPU:-0:-1e3", Bearer::Group, System, "#CPU", 0.0, -1000.0),
            ("htools:key:customer:system:-1.5:+2", Bearer::Instance, Customer, "system", -1.5, 2.0),
        ] {
            assert_eq!(read(tag, bearer), Ok((role, name.to_owned(), value, weight)), "{tag}");
        }
        assert_eq!(KeyTag::read("htools:keys:a:1", Bearer::Node), None);
    }

    #[test]
    fn what_is_no_key_is_told() {
        use KeyTagFault::{Form, Misplaced, Name, Number, Special};
        for (tag, bearer, fault) in [
            ("htools:key:", Bearer::Node, Form),
            ("htools:key:a", Bearer::Node, Form),
            ("htools:key::1", Bearer::Node, Form),
            ("htools:key:a:b=1", Bearer::Node, Form),
            ("htools:key:a:b:c:d", Bearer::Node, Form),
            ("htools:key:system=a:1:5", Bearer::Instance, Form),
            ("htools:key:system:a=1=5", Bearer::Instance, Number("value")),
            ("htools:key:customer:a:1", Bearer::Instance, Form),
            ("htools:key:a:1", Bearer::Instance, Misplaced),
            ("htools:key:system:a:1:1", Bearer::Node, Misplaced),
            ("htools:key:sticky:a:1:1", Bearer::Cluster, Misplaced),
            ("htools:key:#RAM:1", Bearer::Node, Name('#')),
            ("htools:key:sticky:_a:1:1", Bearer::Node, Name('_')),
            ("htools:key:system:_a:1:1", Bearer::Group, Name('_')),
            ("htools:key:customer:@RAM:1:1", Bearer::Instance, Name('#')),
            ("htools:key:system:@FOO:0:1", Bearer::Cluster, Special(SpecialKeyFault::Unknown)),
            ("htools:key:system:@RAM:1:1", Bearer::Instance, Special(SpecialKeyFault::Value)),
            ("htools:key:a:blue", Bearer::Node, Number("value")),
            ("htools:key:a:NaN", Bearer::Node, Number("value")),
            ("htools:key:a:2e12", Bearer::Node, Number("value")),
            ("htools:key:sticky:a:1:-inf", Bearer::Node, Number("weight")),
        ] {
            assert_eq!(read(tag, bearer), Err(fault), "{tag}");
        }
    }

    #[test]
    fn contradictions_are_no_keys_in_any_order() {
        let tags = ["htools:key:a:1", "htools:key:b:1", "htools:key:b=1", "htools:key:sticky:a:1:5", "x"];
        let mut tags = tags.map(str::to_owned).to_vec();
        for _ in 0..tags.len() {
            tags.rotate_left(1);
            let found = KeyTags::of(&tags, Bearer::Node);
            assert_eq!(found.keys.iter().map(ToString::to_string).collect::<Vec<_>>(), ["htools:key:b:1"]);
            assert_eq!(found.faults.len(), 2);
            assert_eq!(found.fault("htools:key:a:1"), Some(KeyTagFault::Contradiction));
        }
        // Operator's and customer's keys of the same name do not conflict.
        let sides = ["htools:key:system:a:1:5", "htools:key:customer:a:2:5"].map(str::to_owned);
        assert_eq!(KeyTags::of(&sides, Bearer::Group).keys.len(), 2);
    }

    proptest! {
        #[test]
        fn keys_read_back(
            name in "[^:=@]{1,20}",
            value in -1e12..1e12,
            weight in -1e12..1e12,
            role in prop::sample::select(&[KeyRole::Node, KeyRole::Sticky, KeyRole::System, KeyRole::Customer][..]),
        ) {
            let weight = if role == KeyRole::Node { 0.0 } else { weight };
            let key = KeyTag { role, name, value, weight };
            let is_of_node = matches!(role, KeyRole::Node | KeyRole::Sticky);
            let bearer = if is_of_node { Bearer::Node } else { Bearer::Instance };
            match KeyTag::read(&key.to_string(), bearer).unwrap() {
                Ok(read) => prop_assert_eq!(read, key),
                Err(fault) => {
                    let first = key.name.chars().next().unwrap();
                    let is_special = matches!(fault, KeyTagFault::Special(_)) && first == '#';
                    let is_forbidden = "#_".contains(first) && fault == KeyTagFault::Name(first);
                    prop_assert!(is_special || is_forbidden, "{}: {}", key, fault);
                }
            }
        }

        #[test]
        fn hostile_tags_are_read_or_refused(rest in ".{0,40}", parts in "(sticky|system|customer)?[:=a_#@0-9.e+-]{0,20}") {
            for tag in [rest, parts].map(|rest| format!("{KEY}{rest}")) {
                for bearer in [Bearer::Cluster, Bearer::Group, Bearer::Node, Bearer::Instance] {
                    if let Some(Ok(key)) = KeyTag::read(&tag, bearer) {
                        prop_assert!(!key.name.is_empty() && key.value.is_finite() && key.weight.is_finite());
                        prop_assert!(!key.name.contains([':', '=']));
                        prop_assert_eq!(KeyTag::read(&key.to_string(), bearer), Some(Ok(key)));
                    }
                }
            }
        }
    }
}
