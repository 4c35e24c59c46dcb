//! All external inputs of the sources are in the manual: environment variables and tags.

use std::fs;
use std::path::Path;

use htools::model::known_tags::KNOWN;

use super::{plain, read, section};

/// The sources of the library without their tests, by path.
fn sources() -> Vec<(String, String)> {
    fn walk(dir: &Path, found: &mut Vec<(String, String)>) {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, found);
            } else {
                found.push((path.to_string_lossy().into_owned(), fs::read_to_string(&path).unwrap()));
            }
        }
    }
    const TESTS: &str = "#[cfg(test)]\nmod ";
    let mut found = Vec::new();
    for dir in ["src", "bin", "crates"] {
        walk(&Path::new(env!("CARGO_MANIFEST_DIR")).join(dir), &mut found);
    }
    // Test modules in files of their own.
    let declared: Vec<String> = found
        .iter()
        .flat_map(|(_, text)| text.split(TESTS).skip(1))
        .filter_map(|rest| rest.split_once(';').map(|(name, _)| name.to_owned()))
        .filter(|name| name.chars().all(|c| c.is_alphanumeric() || c == '_'))
        .collect();
    let is_test = |path: &str| {
        declared
            .iter()
            .any(|name| path.ends_with(&format!("/{name}.rs")) || path.contains(&format!("/{name}/")))
    };
    found.retain(|(path, _)| path.ends_with(".rs") && !is_test(path));
    for (_, text) in &mut found {
        let own = text.find(&format!("{TESTS}tests {{")).unwrap_or(text.len());
        text.truncate(own);
    }
    assert!(found.len() > 100);
    found
}

/// The string literals after a text.
fn literals<'a>(source: &'a str, before: &'a str) -> impl Iterator<Item = &'a str> {
    source.match_indices(before).filter_map(move |(at, _)| source[at + before.len()..].split('"').next())
}

#[test]
fn every_variable_of_the_environment_is_in_the_manual() {
    let page = read("htools.1");
    let environment = plain(section(&page, "ENVIRONMENT"));
    let mut count = 0;
    for (name, source) in sources() {
        let reads = source.matches("env::var").count();
        // The names of the others are constants in other files.
        let named = ["env::var_os(\"", "env::var(\""].iter().flat_map(|before| literals(&source, before));
        let mut named: Vec<&str> = named.collect();
        assert!(named.len() == reads || name.ends_with("remote/rapi/access.rs"), "{name}");
        named.extend(literals(&source, "const USER: &str = \""));
        named.extend(literals(&source, "const PASSWORD: &str = \""));
        for variable in named {
            assert!(environment.split(' ').any(|word| word.trim_end_matches(',') == variable), "{variable}");
            count += 1;
        }
    }
    // HTOOLS, GANETI_ROOTDIR, two of RAPI, one of systemd, two of XDG, HOME in two commands, two of users, two of
    // pagers, two of colours, three of configuration files, one of threads.
    assert_eq!(count, 19);
}

#[test]
fn every_tag_is_in_the_table_that_the_manual_is_made_from() {
    let mut count = 0;
    for (name, source) in sources() {
        let code: String = source.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
        for rest in literals(&code, "\"htools:").filter(|rest| !rest.is_empty()) {
            let tag = format!("htools:{rest}");
            assert!(KNOWN.iter().any(|known| tag.starts_with(known.start)), "{name}: {tag}");
            count += 1;
        }
    }
    assert!(count >= KNOWN.len());
}
