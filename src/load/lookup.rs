//! Finding objects by the names that people type.

/// Finds the one object that `key` means: the one with exactly this name, else
/// the only one whose name begins with the key followed by a dot (`web` for
/// `web.example.com`). Nothing if there is none, or more than one.
pub fn find_partial<'a>(key: &str, names: impl Iterator<Item = &'a str> + Clone) -> Option<usize> {
    let unique = |matches: &dyn Fn(&str) -> bool| {
        let mut found = names.clone().enumerate().filter(|(_, name)| matches(name)).map(|(at, _)| at);
        match (found.next(), found.next()) {
            (Some(at), None) => Ok(Some(at)),
            (None, _) => Ok(None),
            (Some(_), Some(_)) => Err(()),
        }
    };
    let is_prefix = |name: &str| name.strip_prefix(key).is_some_and(|rest| rest.starts_with('.'));
    match unique(&|name| name == key) {
        Ok(Some(at)) => Some(at),
        Ok(None) => unique(&is_prefix).ok().flatten(),
        Err(()) => None,
    }
}

/// The longest text beginning with a dot in which all names end; empty if there
/// is none.
pub fn common_suffix<'a>(mut names: impl Iterator<Item = &'a str>) -> &'a str {
    let Some(first) = names.next() else { return "" };
    let mut suffix = first.find('.').map_or("", |at| &first[at..]);
    for name in names {
        while !suffix.is_empty() && !name.ends_with(suffix) {
            suffix = suffix[1..].find('.').map_or("", |at| &suffix[at + 1..]);
        }
    }
    suffix
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(key: &str, names: &[&str]) -> Option<usize> {
        find_partial(key, names.iter().copied())
    }

    #[test]
    fn partial_names_end_at_a_dot() {
        assert_eq!(find("a", &["b", "a.example.com"]), Some(1));
        assert_eq!(find("a.x", &["a.x.example.com"]), Some(0));
        assert_eq!(find("no", &["node1"]), None);
        assert_eq!(find("a", &["a.x", "a.y"]), None);
        assert_eq!(find("a", &["a.x", "a", "a.y"]), Some(1));
    }

    #[test]
    fn suffixes_begin_with_a_dot() {
        let suffix = |names: &[&'static str]| common_suffix(names.iter().copied());
        assert_eq!(suffix(&["a.b.c", "x.b.c"]), ".b.c");
        assert_eq!(suffix(&["a.b.c", "x.d.c"]), ".c");
        assert_eq!(suffix(&["a.b", "a.c"]), "");
        assert_eq!(suffix(&["one.b.c"]), ".b.c");
        assert_eq!(suffix(&["ab.c", "b.c", ".c"]), ".c");
        assert_eq!(suffix(&[]), "");
    }
}
