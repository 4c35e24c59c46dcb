//! Names that commands and jobs may contain: those that are valid in Ganeti.
//!
//! A name may come from a file, or from an unauthenticated connection, and a command may be run by root. Ganeti accepts
//! few characters, so a name with any other character cannot exist, and is refused.

use std::fmt;

use htools_model::shown::shown_name;
use htools_model::{Cluster, NodeIdx};

/// Maximum length of a host name, in bytes.
const HOST: usize = 255;
/// Maximum length of a tag, in characters.
const TAG: usize = 128;

/// Kind of object that a name is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameOf {
    /// An instance.
    Instance,
    /// A node.
    Node,
    /// A tag of any object.
    Tag,
}

impl fmt::Display for NameOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NameOf::Instance => "instance",
            NameOf::Node => "node",
            NameOf::Tag => "tag",
        })
    }
}

/// A name that is not valid in Ganeti. The text is one line, fit for a terminal.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind} '{}': the name is not valid in Ganeti, so it is not used in commands or jobs", shown_name(.name))]
pub struct Impossible {
    /// Kind of object.
    pub kind: NameOf,
    /// The name as it was read.
    pub name: String,
}

/// A name or tag that is valid in Ganeti.
///
/// Names of instances and nodes have up to 255 ASCII letters, digits, `.`, `-` and `_`, with no empty part between two
/// points. Upper case is accepted, as Ganeti's programs convert it. A node's name must not begin with a dash, as ssh
/// cannot reach such a host. Tags have up to 128 letters and digits of any script, and `_.+*/:@-`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name(String);

impl Name {
    /// Checks a name.
    ///
    /// # Errors
    /// If it is not valid in Ganeti.
    pub fn of(kind: NameOf, name: &str) -> Result<Name, Impossible> {
        let possible = match kind {
            NameOf::Instance => is_host(name),
            NameOf::Node => is_host(name) && !name.starts_with('-'),
            NameOf::Tag => is_tag(name),
        };
        if possible { Ok(Name(name.to_owned())) } else { Err(Impossible { kind, name: name.to_owned() }) }
    }

    /// The name of a node.
    ///
    /// # Errors
    /// If it is not valid in Ganeti.
    pub fn node(cluster: &Cluster, node: NodeIdx) -> Result<Name, Impossible> {
        Name::of(NameOf::Node, &cluster.node(node).spec.name)
    }

    /// Checks tags.
    ///
    /// # Errors
    /// The first that is not valid in Ganeti.
    pub(crate) fn tags(tags: &[String]) -> Result<Vec<Name>, Impossible> {
        tags.iter().map(|tag| Name::of(NameOf::Tag, tag)).collect()
    }

    /// The name.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// Tells if it can be the name of a host.
pub fn is_host(name: &str) -> bool {
    let known = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
    (1..=HOST).contains(&name.len())
        && name.bytes().all(known)
        && !name.starts_with('.')
        && !name.contains("..")
}

fn is_tag(tag: &str) -> bool {
    let known = |c: char| c.is_alphanumeric() || "_.+*/:@-".contains(c);
    (1..=TAG).contains(&tag.chars().count()) && tag.chars().all(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn possible(kind: NameOf, name: &str) -> bool {
        Name::of(kind, name).is_ok()
    }

    #[test]
    fn hosts() {
        let longest = "x".repeat(HOST);
        for name in ["a.b", "A.B", "a_b", "a.", "_", "1", "web-1.example.com", &longest] {
            assert!(possible(NameOf::Instance, name) && possible(NameOf::Node, name), "{name:?}");
        }
        let long = "x".repeat(HOST + 1);
        for name in
            ["", ".", ".a", "a..b", "é", "a b", "a\n", "a/b", "a:b", "a+b", "$(x)", "a;b", "a'", &long]
        {
            assert!(!possible(NameOf::Instance, name) && !possible(NameOf::Node, name), "{name:?}");
        }
        assert!(possible(NameOf::Instance, "-f"));
        assert!(!possible(NameOf::Node, "-f"));
    }

    #[test]
    fn tags() {
        let longest = "é".repeat(TAG);
        for tag in ["-x", "é", "日本", "a+*/:@.-_b", "htools:standby:auto", &longest] {
            assert!(possible(NameOf::Tag, tag), "{tag:?}");
        }
        let long = "x".repeat(TAG + 1);
        for tag in ["", "a b", "a\n", "a,b", "a;b", "a'b", "a$b", "a%b", "a=b", "a|b", "a~b", &long] {
            assert!(!possible(NameOf::Tag, tag), "{tag:?}");
        }
    }

    #[test]
    fn the_refusal_is_one_harmless_line() {
        let error = Name::of(NameOf::Instance, "a\n\u{1b}[2J$(touch x)").unwrap_err();
        let wanted = r"instance 'a\n\u{1b}[2J$(touch x)': the name is not valid in Ganeti, so it is not used in commands or jobs";
        assert_eq!(error.to_string(), wanted);
    }
}
