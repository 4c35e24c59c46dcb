//! Finding objects by the names that people type.

/// Finds the object that `key` means: one with exactly this name (the first, if
/// several share it), else the only one whose name begins with the key followed
/// by a dot (`web` for `web.example.com`).
pub fn find_partial<'a>(key: &str, mut names: impl Iterator<Item = &'a str> + Clone) -> Option<usize> {
    if let Some(at) = names.clone().position(|name| name == key) {
        return Some(at);
    }
    let is_longer = |name: &str| name.strip_prefix(key).is_some_and(|rest| rest.starts_with('.'));
    let at = names.clone().position(is_longer)?;
    names.by_ref().take(at + 1).for_each(drop);
    (!names.any(is_longer)).then_some(at)
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
        assert_eq!(find("a", &["b", "a", "a"]), Some(1));
    }
}
