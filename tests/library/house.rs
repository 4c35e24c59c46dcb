//! Structure of the source code: a type name is unique within its crate, and modules import only from those that they
//! may.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Crates, from the one without dependencies to the program.
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

/// A module, and the modules of the same crate from which it may import.
type Room = (&'static str, &'static [&'static str]);

/// The modules of each crate, with the modules of the same crate from which each may import. The compiler enforces
/// the borders of crates.
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

/// The files of a crate with their content, without tests.
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

/// Folders in which files must not depend on each other in a ring. A subfolder counts as one file.
const WITHOUT_RINGS: [&str; 14] = [
    "crates/ganeti/src/execute",
    "crates/plan/src",
    "crates/model/src/score",
    "crates/search/src/balance",
    "crates/pacemaker/src",
    "crates/pacemaker/src/lint",
    "crates/pacemaker/src/optimal",
    "crates/pacemaker/src/transition",
    "crates/pacemaker/src/transition/induced",
    "crates/affinity/src",
    "./src/tools/execution",
    "./src/tools/hbal",
    "./src/tools/hgroup",
    "./src/tools/hsqueeze",
];

/// The module of a file or folder, as its path in the crate.
fn module(path: &Path) -> Vec<String> {
    let names = path.iter().map(|name| name.to_str().unwrap().trim_end_matches(".rs").to_owned());
    names.skip_while(|name| name != "src").skip(1).filter(|name| name != "mod" && name != "lib").collect()
}

/// Paths in the crate that a module imports from the crate or from an enclosing module.
fn imported(module: &[String], code: &str) -> Vec<Vec<String>> {
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    let code = lines.collect::<Vec<_>>().join("\n");
    let mut found = Vec::new();
    for (at, start) in code.match_indices("crate::").chain(code.match_indices("super::")) {
        if code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':') {
            continue;
        }
        let mut rest = &code[at + start.len()..];
        let mut base = if start == "crate::" { &[][..] } else { &module[..module.len() - 1] };
        while let Some(behind) = rest.strip_prefix("super::") {
            (rest, base) = (behind, &base[..base.len() - 1]);
        }
        let mut depth = 0;
        let several = rest.strip_prefix('{').map(|list| {
            list.split(move |c| {
                depth += i32::from(c == '{') - i32::from(c == '}');
                depth < 0 || (depth == 0 && c == ',')
            })
        });
        let end = |list: &&str| !list.contains(';');
        let paths: Vec<&str> = several.map_or(vec![rest], |list| list.take_while(end).collect());
        for path in paths {
            let path = path.trim().split(|c: char| !c.is_alphanumeric() && c != '_' && c != ':').next();
            let names = path.unwrap_or_default().split("::").map(str::to_owned);
            found.push(base.iter().cloned().chain(names).collect());
        }
    }
    found
}

#[test]
fn no_rings() {
    let files: BTreeMap<PathBuf, String> = CRATES.iter().flat_map(|of_crate| files(of_crate)).collect();
    for folder in WITHOUT_RINGS {
        let around = module(Path::new(folder));
        let mut graph: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (path, code) in files.iter().filter(|(path, _)| path.starts_with(folder)) {
            let module = module(path);
            let Some(room) = module.get(around.len()) else { continue };
            let paths = imported(&module, code).into_iter();
            let inside = paths.filter(|path| path.starts_with(&around));
            let others = inside.filter_map(|path| path.get(around.len()).cloned());
            graph.entry(room.clone()).or_default().extend(others.filter(|other| other != room));
        }
        assert!(graph.len() > 1, "{folder}");
        for start in graph.keys() {
            let mut seen = BTreeSet::new();
            let mut left: Vec<&String> = graph[start].iter().collect();
            while let Some(next) = left.pop() {
                if graph.contains_key(next) && seen.insert(next) {
                    left.extend(&graph[next]);
                }
            }
            assert!(!seen.contains(start), "{folder}/{start} needs itself: {seen:?}");
        }
    }
}
