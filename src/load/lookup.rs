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
}
