//! The names that commands and jobs may hold: those that Ganeti itself can have.
//!
//! A name comes from a file, or from a connection whose other end nobody has vouched for, and
//! a command may be run by root. Ganeti accepts few characters, so that a name with any other
//! is no mistake that a command could carry out: it is refused.

use std::fmt;

use htools_model::shown::shown_name;
use htools_model::{Cluster, NodeIdx};

/// Most bytes of a host name.
const HOST: usize = 255;
/// Most characters of a tag.
const TAG: usize = 128;

/// Kind of thing that a name is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameOf {
    /// An instance.
    Instance,
    /// A node.
    Node,
    /// A tag of something.
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

/// A name that nothing in a Ganeti cluster can have. The text is one line, fit for a terminal.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind} '{}': Ganeti can have no such name, so there are no commands or jobs with it", shown_name(.name))]
pub struct Impossible {
    /// Kind of thing that it is said to be of.
    pub kind: NameOf,
    /// The name as it was read.
    pub name: String,
}

/// A name or tag that Ganeti can have.
///
/// Instances and nodes: up to 255 letters, digits, `.`, `-` and `_` of ASCII, with no part
/// between two points empty; upper case is accepted, as Ganeti's programs fold it. A node's name
/// does not begin with a dash besides, as no such host can be reached by ssh.
/// Tags: up to 128 letters and digits of any script, and `_.+*/:@-`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name(String);

impl Name {
    /// Checks a name.
    ///
    /// # Errors
    /// If Ganeti cannot have it.
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
    /// If Ganeti cannot have it.
    pub fn node(cluster: &Cluster, node: NodeIdx) -> Result<Name, Impossible> {
        Name::of(NameOf::Node, &cluster.node(node).spec.name)
    }

    /// Tags.
    ///
    /// # Errors
    /// The first that Ganeti cannot have.
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
        let wanted = r"instance 'a\n\u{1b}[2J$(touch x)': Ganeti can have no such name, so there are no commands or jobs with it";
        assert_eq!(error.to_string(), wanted);
    }
}
