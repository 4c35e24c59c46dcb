//! Finds objects by the names in a request.

use std::ops::Range;

/// Reason that a name does not identify an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum LookupError {
    /// No object has this name.
    #[error("no object has this name")]
    Unknown,
    /// Several objects have it.
    #[error("{0} objects have this name")]
    Ambiguous(usize),
}

/// Names of one kind of object, sorted for finding.
#[derive(Debug, Clone)]
pub(crate) struct Names<'a> {
    sorted: Vec<(&'a str, usize)>,
}

impl<'a> Names<'a> {
    /// The names in the order of the objects' positions.
    pub(crate) fn new(names: impl IntoIterator<Item = &'a str>) -> Self {
        let mut sorted: Vec<_> = names.into_iter().enumerate().map(|(i, name)| (name, i)).collect();
        sorted.sort_unstable();
        Names { sorted }
    }

    /// The position of the only object with the name `name`, or `name` followed by the cluster's [`common_domain`].
    pub(crate) fn find(&self, name: &str, domain: &str) -> Result<usize, LookupError> {
        let completed = format!("{name}{domain}");
        only(&self.sorted[self.equal(name)], &self.sorted[self.equal(&completed)])
    }

    /// The position of the only object whose name, here or in `others`, is `name`. Both lists describe the same
    /// objects.
    pub(crate) fn find_in_either(&self, others: &Names, name: &str) -> Result<usize, LookupError> {
        only(&self.sorted[self.equal(name)], &others.sorted[others.equal(name)])
    }

    fn equal(&self, name: &str) -> Range<usize> {
        let start = self.sorted.partition_point(|(n, _)| *n < name);
        let length = self.sorted[start..].partition_point(|(n, _)| *n == name);
        start..start + length
    }
}

/// The only position in both lists together.
fn only(a: &[(&str, usize)], b: &[(&str, usize)]) -> Result<usize, LookupError> {
    let mut positions: Vec<usize> = a.iter().chain(b).map(|(_, position)| *position).collect();
    positions.sort_unstable();
    positions.dedup();
    match *positions {
        [] => Err(LookupError::Unknown),
        [position] => Ok(position),
        _ => Err(LookupError::Ambiguous(positions.len())),
    }
}

/// The longest ending that begins with a dot and is shared by all names; empty if there is none. Names may be given
/// without it.
pub(crate) fn common_domain<'a>(names: impl IntoIterator<Item = &'a str>) -> &'a str {
    let shared = names.into_iter().reduce(|shared, name| {
        let pairs = shared.bytes().rev().zip(name.bytes().rev());
        let length = pairs.take_while(|(a, b)| a == b).count();
        from_dot(shared, shared.len() - length)
    });
    shared.map_or("", |s| from_dot(s, 0))
}

/// The rest of `name` from the first dot at or after byte `start`.
fn from_dot(name: &str, start: usize) -> &str {
    let dot = name.as_bytes()[start..].iter().position(|b| *b == b'.');
    // A dot is never inside a character, so this cannot fail.
    dot.and_then(|n| name.get(start + n..)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_common_domain_starts_with_a_dot() {
        for (names, domain) in [
            (vec!["a.ex.com", "b.ex.com"], ".ex.com"),
            (vec!["a.ex.com", "b.x.com"], ".com"),
            (vec!["n.ex.com", "ex.com"], ".com"),
            (vec!["a.ex.com", "b"], ""),
            (vec!["a.ex.com"], ".ex.com"),
            (vec!["a.é.x", "a.è.x"], ".x"),
            (vec![], ""),
        ] {
            assert_eq!(common_domain(names.iter().copied()), domain, "{names:?}");
        }
    }

    #[test]
    fn names_are_found_without_the_domain() {
        let names = Names::new(["web.ex.com", "n.a.ex.com", "db.ex.com", "db.ex.com"]);
        assert_eq!(names.find("web", ".ex.com"), Ok(0));
        assert_eq!(names.find("web.ex.com", ".ex.com"), Ok(0));
        assert_eq!(names.find("n.a", ".ex.com"), Ok(1));
        for unknown in ["n", "web.ex", "we", "", ".ex.com", "WEB"] {
            assert_eq!(names.find(unknown, ".ex.com"), Err(LookupError::Unknown), "{unknown:?}");
        }
        assert_eq!(names.find("db", ".ex.com"), Err(LookupError::Ambiguous(2)));
        assert_eq!(names.find("web.ex.com", ""), Ok(0));
    }

    #[test]
    fn either_name_will_do_if_it_is_one_object() {
        let (names, uuids) = (Names::new(["a", "same", "b"]), Names::new(["u1", "same", "a"]));
        assert_eq!(names.find_in_either(&uuids, "u1"), Ok(0));
        assert_eq!(names.find_in_either(&uuids, "same"), Ok(1));
        assert_eq!(names.find_in_either(&uuids, "a"), Err(LookupError::Ambiguous(2)));
        assert_eq!(names.find_in_either(&uuids, "x"), Err(LookupError::Unknown));
    }
}
