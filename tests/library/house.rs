//! The house itself: a name stands for one thing in its crate, and rooms of a crate know only what they may.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Crates, from the one that needs no other to the program.
const CRATES: [&str; 8] = [
    "crates/model",
    "crates/plan",
    "crates/ganeti",
    "crates/search",
    "crates/pacemaker",
    "crates/affinity",
    "crates/testkit",
    ".",
];

/// A room, and the rooms of the same crate that it may import from.
type Room = (&'static str, &'static [&'static str]);

/// By crate, its rooms, and the rooms of the same crate that each may import from. The compiler holds the borders of
/// crates.
const ARROWS: [(&str, &[Room]); 2] = [
    (
        "crates/ganeti",
        &[
            ("input", &[]),
            ("remote", &["input"]),
            ("load", &["input", "remote"]),
            ("generate", &["load"]),
            ("execute", &["input", "remote"]),
        ],
    ),
    (".", &[("report", &[]), ("tools", &["report"])]),
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

/// The files of a crate and what is in them, without tests.
fn files(of_crate: &str) -> BTreeMap<PathBuf, String> {
    let mut found = Vec::new();
    sources(&Path::new(of_crate).join("src"), &mut found);
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
    let mut count = 0;
    for of_crate in CRATES {
        let mut places: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
        for (path, text) in files(of_crate) {
            for name in text.lines().filter_map(defined) {
                places.entry(name.to_owned()).or_default().push(path.clone());
            }
        }
        count += places.len();
        places.retain(|_, places| places.len() > 1);
        assert!(places.is_empty(), "names of more than one type: {places:#?}");
    }
    assert!(count > 500, "{count}");
}

#[test]
fn rooms_import_only_what_they_may() {
    for (of_crate, rooms) in ARROWS {
        let allowed: BTreeMap<&str, &[&str]> = rooms.iter().copied().collect();
        let mut used: BTreeSet<(String, String)> = BTreeSet::new();
        for (path, text) in files(of_crate) {
            let inside = path.strip_prefix(Path::new(of_crate).join("src")).unwrap();
            let room = inside.components().next().unwrap().as_os_str().to_str().unwrap().to_owned();
            let Some(may) = allowed.get(room.as_str()) else {
                assert_eq!(room, "lib.rs", "a room without a line in this table");
                continue;
            };
            let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
            for part in code.flat_map(|line| line.split("crate::").skip(1)) {
                let other: String = part.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                if other == room || !allowed.contains_key(other.as_str()) {
                    continue;
                }
                assert!(may.contains(&other.as_str()), "{} imports from {other}", path.display());
                used.insert((room.clone(), other));
            }
        }
        let arrows = rooms
            .iter()
            .flat_map(|(room, may)| may.iter().map(|other| (room.to_string(), other.to_string())));
        let unused: Vec<_> = arrows.filter(|arrow| !used.contains(arrow)).collect();
        assert!(unused.is_empty(), "arrows that nothing needs: {unused:?}");
    }
}

/// Folders in which no file needs another one that needs it, too.
const WITHOUT_RINGS: [&str; 8] = [
    "crates/ganeti/src/execute",
    "crates/plan/src",
    "crates/model/src/score",
    "crates/search/src/balance",
    "./src/tools/execution",
    "./src/tools/hbal",
    "./src/tools/hgroup",
    "./src/tools/hsqueeze",
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
    let files: BTreeMap<PathBuf, String> = CRATES.iter().flat_map(|of_crate| files(of_crate)).collect();
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
