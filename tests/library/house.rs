//! The house itself: a name stands for one thing, and rooms know only what they may.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Rooms that a room may import from. What `src/lib.rs` says in prose.
const ARROWS: [(&str, &[&str]); 13] = [
    ("model", &[]),
    // errors show names as the model does
    ("input", &["model"]),
    ("remote", &["input", "model"]),
    ("score", &["model"]),
    ("redundancy", &["model", "score"]),
    ("load", &["input", "model", "remote"]),
    ("generate", &["load", "model"]),
    // `load` for the requests of Ganeti's master
    ("search", &["load", "model", "redundancy", "score"]),
    ("plan", &["model"]),
    // names and errors are shown as everywhere; `plan` for its graph, `search` for how long a search may go on, `load` for
    // what a source of clusters delivers
    ("pacemaker", &["input", "load", "model", "plan", "search"]),
    ("execute", &["input", "model", "pacemaker", "plan", "remote"]),
    ("report", &["load", "model", "pacemaker", "plan", "redundancy", "score", "search"]),
    (
        "tools",
        &[
            "execute",
            "generate",
            "input",
            "load",
            "model",
            "pacemaker",
            "plan",
            "redundancy",
            "remote",
            "report",
            "score",
            "search",
        ],
    ),
];

fn sources(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()) {
        let is_tests =
            entry.file_stem().is_some_and(|stem| stem == "tests" || stem == "testing" || stem == "fake");
        match () {
            () if is_tests => {}
            () if entry.is_dir() => sources(&entry, found),
            () if entry.extension().is_some_and(|end| end == "rs") => found.push(entry),
            () => {}
        }
    }
}

/// The files of the library and what is in them, without tests.
fn files() -> BTreeMap<PathBuf, String> {
    let mut found = Vec::new();
    sources(Path::new("src"), &mut found);
    let code = |path: &PathBuf| {
        let text = fs::read_to_string(path).unwrap();
        let end =
            text.find("#[cfg(test)]\nmod tests {").or_else(|| text.find("#[cfg(test)]\npub mod testing {"));
        text[..end.unwrap_or(text.len())].to_owned()
    };
    found.into_iter().map(|path| (path.clone(), code(&path))).collect()
}

/// The name of the type that a line at the outermost level defines.
fn defined(line: &str) -> Option<&str> {
    let mut words = line.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty());
    let mut word = words.next().filter(|_| !line.starts_with([' ', '/', '#', '}']))?;
    while matches!(word, "pub" | "crate" | "super" | "in" | "self") {
        word = words.next()?;
    }
    matches!(word, "struct" | "enum" | "trait" | "type" | "union").then(|| words.next()).flatten()
}

#[test]
fn a_type_name_stands_for_one_thing() {
    let mut places: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for (path, text) in files() {
        for name in text.lines().filter_map(defined) {
            places.entry(name.to_owned()).or_default().push(path.clone());
        }
    }
    assert!(places.len() > 500, "{}", places.len());
    places.retain(|_, places| places.len() > 1);
    assert!(places.is_empty(), "names of more than one type: {places:#?}");
}

#[test]
fn rooms_import_only_what_they_may() {
    let allowed: BTreeMap<&str, &[&str]> = ARROWS.into();
    let mut used: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for (path, text) in files() {
        let room = path.components().nth(1).unwrap().as_os_str().to_str().unwrap().to_owned();
        let Some((room, may)) = allowed.get_key_value(room.as_str()) else {
            assert_eq!(room, "lib.rs", "a room without a line in this table");
            continue;
        };
        let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        for part in code.flat_map(|line| line.split("crate::").skip(1)) {
            let other: String = part.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            if other == *room || !allowed.contains_key(other.as_str()) {
                continue;
            }
            assert!(may.contains(&other.as_str()), "{} imports from {other}", path.display());
            used.entry(room).or_default().insert(other);
        }
    }
    let unused = |(room, may): &(&'static str, &[&str])| -> Vec<String> {
        let there = used.get(room).cloned().unwrap_or_default();
        may.iter()
            .filter(|other| !there.contains(**other))
            .map(|other| format!("{room} -> {other}"))
            .collect()
    };
    let unused: Vec<String> = ARROWS.iter().flat_map(unused).collect();
    assert!(unused.is_empty(), "arrows that nothing needs: {unused:?}");
}

/// Folders in which no file needs another one that needs it, too.
const WITHOUT_RINGS: [&str; 8] = [
    "src/execute",
    "src/plan",
    "src/score",
    "src/search/balance",
    "src/tools/execution",
    "src/tools/hbal",
    "src/tools/hgroup",
    "src/tools/hsqueeze",
];

/// The neighbours that a file imports from, by `use super::`.
fn neighbours(code: &str) -> BTreeSet<&str> {
    let uses = code.match_indices("use super::").map(|(at, found)| &code[at + found.len()..]);
    let lists = uses.filter_map(|rest| rest.split_once(';')).map(|(list, _)| list);
    let paths = lists.flat_map(|list| match list.strip_prefix('{') {
        Some(several) => several.trim_end_matches('}').split(", ").collect(),
        None => vec![list],
    });
    paths.map(|path| path.trim().split("::").next().unwrap_or_default()).collect()
}

#[test]
fn no_rings() {
    let files = files();
    for folder in WITHOUT_RINGS {
        let here = files.iter().filter(|(path, _)| path.parent() == Some(Path::new(folder)));
        let graph: BTreeMap<&str, BTreeSet<&str>> = here
            .map(|(path, code)| (path.file_stem().unwrap().to_str().unwrap(), neighbours(code)))
            .collect();
        assert!(graph.len() > 2, "{folder}");
        for start in graph.keys() {
            let mut seen = BTreeSet::new();
            let mut left: Vec<&str> = graph[start].iter().copied().collect();
            while let Some(next) = left.pop() {
                if graph.contains_key(next) && seen.insert(next) {
                    left.extend(&graph[next]);
                }
            }
            assert!(!seen.contains(start), "{folder}/{start}.rs needs itself: {seen:?}");
        }
    }
}
