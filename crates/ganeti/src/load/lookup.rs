//! Finds objects by names that users type.

use htools_model::shown::shown_name;

/// Minimum similarity, from 0 to 1, at which one word may be a misspelling of another. The measure is that of clap's
/// suggestions, whose limit of 0.7 would suggest `groups` for `bogus`.
const ALIKE: f64 = 0.8;

/// Maximum number of names that a message lists.
const LISTED: usize = 4;

/// A typed name that matches no object, or more than one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// No object has this name, or a name that begins with it.
    #[error("there is no {kind} '{typed}'{hint}")]
    Unknown {
        /// Kind of object, such as `node`.
        kind: &'static str,
        /// Name as typed, fit for a message.
        typed: String,
        /// Similar names, as [`hint`] shows them.
        hint: String,
    },
    /// Several names begin with it.
    #[error("'{typed}' is the beginning of several {kind}s: {candidates}")]
    Ambiguous {
        /// Kind of object, such as `node`.
        kind: &'static str,
        /// Name as typed, fit for a message.
        typed: String,
        /// The first of the names, and the number of the others.
        candidates: String,
    },
}

/// Finds the object for `key`: the first with this name, or else the only one whose name begins with the key and a dot.
///
/// # Errors
/// If the key matches no object or several; the error suggests names.
pub fn find_named<'a>(
    kind: &'static str,
    key: &str,
    names: impl Iterator<Item = &'a str> + Clone,
) -> Result<usize, NameError> {
    find_partial(key, names.clone()).ok_or_else(|| {
        let typed = shown_name(key).to_string();
        let longer: Vec<&str> = names.clone().filter(|name| is_longer(name, key)).collect();
        match longer[..] {
            [] => NameError::Unknown { kind, typed, hint: hint(key, names) },
            _ => NameError::Ambiguous { kind, typed, candidates: listed(&longer) },
        }
    })
}

/// Names that `typed` may stand for, as the end of a message; empty if there are none.
pub fn hint<'a>(typed: &str, names: impl Iterator<Item = &'a str> + Clone) -> String {
    let longer: Vec<&str> =
        names.clone().filter(|name| !typed.is_empty() && name.starts_with(typed)).collect();
    match longer[..] {
        [] => asked(nearest_by(|name| likeness(typed, name).max(likeness(typed, first_label(name))), names)),
        [name] => asked(Some(name)),
        _ => format!("; these names begin so: {}", listed(&longer)),
    }
}

/// The word most similar to `typed`, if one is similar enough; the first of several.
pub fn nearest<'a>(typed: &str, words: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    nearest_by(|word| likeness(typed, word), words)
}

/// Similarity of two words: 1 if they are equal, 0 if they share nothing.
fn likeness(typed: &str, word: &str) -> f64 {
    strsim::jaro(typed, word)
}

fn first_label(name: &str) -> &str {
    name.split_once('.').map_or(name, |(label, _)| label)
}

fn nearest_by<'a>(
    likeness: impl Fn(&str) -> f64,
    words: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let alike = words.into_iter().map(|word| (likeness(word), word));
    let alike = alike.filter(|(likeness, _)| *likeness > ALIKE);
    alike.reduce(|best, next| if next.0 > best.0 { next } else { best }).map(|(_, word)| word)
}

/// The question whether a similar word was meant, as the end of a message; empty if there is none.
pub fn did_you_mean<'a>(typed: &str, words: impl IntoIterator<Item = &'a str>) -> String {
    asked(nearest(typed, words))
}

fn asked(word: Option<&str>) -> String {
    word.map(|word| format!(", did you mean '{}'?", shown_name(word))).unwrap_or_default()
}

/// The first names of a list, and the number of the others.
fn listed(names: &[&str]) -> String {
    let (first, others) = names.split_at(names.len().min(LISTED));
    let first = first.iter().map(|name| shown_name(name).to_string()).collect::<Vec<_>>().join(", ");
    match others.len() {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

/// Tells if `name` continues `key` at a dot.
fn is_longer(name: &str, key: &str) -> bool {
    name.strip_prefix(key).is_some_and(|rest| rest.starts_with('.'))
}

/// Finds the object for `key`: one with exactly this name (the first of several), or else the only one whose name
/// begins with the key and a dot (`web` for `web.example.com`).
pub(crate) fn find_partial<'a>(key: &str, mut names: impl Iterator<Item = &'a str> + Clone) -> Option<usize> {
    if let Some(at) = names.clone().position(|name| name == key) {
        return Some(at);
    }
    let at = names.clone().position(|name| is_longer(name, key))?;
    names.by_ref().take(at + 1).for_each(drop);
    (!names.any(|name| is_longer(name, key))).then_some(at)
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

    #[test]
    fn a_name_that_means_nothing_is_answered_with_those_that_are_near() {
        let names = ["node1.x", "node2.x", "web", "web.a", "web.b", "db.a", "db.b"];
        for (key, problem) in [
            ("nodd1.x", "there is no node 'nodd1.x', did you mean 'node1.x'?"),
            ("node", "there is no node 'node'; these names begin so: node1.x, node2.x"),
            ("node1", ""),
            ("we", "there is no node 'we'; these names begin so: web, web.a, web.b"),
            ("node2.", "there is no node 'node2.', did you mean 'node2.x'?"),
            ("db", "'db' is the beginning of several nodes: db.a, db.b"),
            ("nodd2", "there is no node 'nodd2', did you mean 'node2.x'?"),
            ("zzz", "there is no node 'zzz'"),
            ("", "there is no node ''"),
        ] {
            let found = find_named("node", key, names.into_iter());
            assert_eq!(found.map_or_else(|error| error.to_string(), |_| String::new()), problem);
        }
        let many: Vec<String> = (0..9).map(|i| format!("n{i}")).collect();
        let hint = hint("n", many.iter().map(String::as_str));
        assert_eq!(hint, "; these names begin so: n0, n1, n2, n3 and 5 more");
    }
}
