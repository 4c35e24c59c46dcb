//! `hplace why`: it agrees with the table, names every part of a score, and knows the parts of clones.

use std::fs;
use std::path::PathBuf;

use assert_cmd::Command;
use predicates::prelude::*;
use predicates::str::contains;

/// Standard output of a run of hplace.
fn hplace(words: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_htools"));
    let run = command.env_remove("HTOOLS").arg("hplace").args(words).assert();
    String::from_utf8(run.get_output().stdout.clone()).unwrap()
}

/// Possible starts of the first line about a resource, by its action in the table.
fn beginnings(action: &str) -> &'static [&'static str] {
    match action {
        "not started" => &["is not started"],
        "cannot be stopped" => &["runs on"],
        "restart" | "demote, restart" | "demote, restart, promote" => &["is restarted on", "runs on"],
        "stop" | "demote, stop" => &["runs on"],
        "start" => &["is started on"],
        "move" | "migrate" => &["goes from"],
        "promote" | "reload" | "-" => &["stays on"],
        "unmanaged" => &["stays on", "stays stopped"],
        "stopped on purpose" | "stays stopped" => &["stays stopped"],
        _ => &[],
    }
}

/// Name, action and remarks in a line of the table of resources.
fn columns(line: &str) -> Option<(&str, &str, &str)> {
    let mut words = line.split_whitespace();
    let name = words.next()?;
    // After the name and two nodes.
    let start =
        line.split_whitespace().take(3).fold(0, |at, word| at + line[at..].find(word).unwrap() + word.len());
    let rest = line[start..].trim();
    let (action, remarks) = rest.split_at(rest.find(" (").unwrap_or(rest.len()));
    Some((name, action, remarks.trim()))
}

#[test]
fn why_says_what_the_table_says() {
    let directories = ["", "rules", "clones", "failures", "several", "changed"];
    let documents = directories.into_iter().flat_map(|directory| {
        let entries = fs::read_dir(format!("tests/fixtures/pacemaker/{directory}")).unwrap();
        entries
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|end| end == "xml"))
    });
    let documents: Vec<PathBuf> = documents.collect();
    let mut with_remarks = 0;
    for document in &documents {
        let path = document.to_str().unwrap();
        let told = hplace(&["-x", path, "--explain"]);
        let mut lines = told.lines().skip_while(|line| !line.starts_with("Resource"));
        let table: Vec<&str> = lines.by_ref().skip(1).take_while(|line| !line.is_empty()).collect();
        assert!(!table.is_empty(), "{path}");
        for (name, action, remarks) in table.into_iter().filter_map(columns) {
            let about = told.lines().find_map(|line| {
                let rest = line.strip_prefix(&format!("{name} "))?;
                (rest.ends_with('.') && !rest.starts_with(' ')).then_some(rest)
            });
            let about = about.unwrap_or_else(|| panic!("{path}: nothing about {name}:\n{told}"));
            let begins = beginnings(action).iter().any(|beginning| about.starts_with(beginning));
            assert!(begins && about.contains(remarks), "{path}: {name}: '{action} {remarks}' is '{about}'");
            with_remarks += usize::from(!remarks.is_empty());
        }
    }
    assert!(with_remarks > 40, "{with_remarks}");
}

#[test]
fn scores_are_taken_apart() {
    let db1 = hplace(&["-x", "data/pacemaker-six-nodes.xml", "why", "db1"]);
    let wanted = "  beta: possible, score 11 = 10 stickiness
      + 1 colocation web-near-db1 of web-ip
  delta: unwanted, score -10 = -10 colocation dbs-in-two-racks of db2\n";
    assert!(db1.contains(wanted), "{db1}");
    assert!(db1.lines().all(|line| line.len() < 80), "{db1}");
    let document = hplace(&["-x", "data/pacemaker-six-nodes.xml", "--json"]);
    let document: serde_json::Value = serde_json::from_str(&document).unwrap();
    for resource in document["resources"].as_array().unwrap() {
        for (node, score) in resource["scores"].as_object().unwrap() {
            let parts = resource["parts"].as_array().unwrap();
            let amounts: Vec<&serde_json::Value> =
                parts.iter().filter_map(|part| part["scores"].get(node)).collect();
            match amounts.iter().any(|amount| *amount == "-INFINITY") {
                true => assert_eq!(score, "-INFINITY"),
                false => assert_eq!(
                    amounts.iter().filter_map(|one| one.as_i64()).sum::<i64>(),
                    score.as_i64().unwrap()
                ),
            }
        }
    }
}

#[test]
fn clones_are_what_they_are_made_of() {
    let cloned = fs::read_dir("tests/fixtures/pacemaker/clones").unwrap().map(|entry| entry.unwrap().path());
    let mut asked = 0;
    for path in cloned.filter(|path| path.extension().is_some_and(|end| end == "xml")) {
        let (text, path) = (fs::read_to_string(&path).unwrap(), path.to_str().unwrap().to_owned());
        let clone = text.split(r#"<clone id=""#).nth(1).unwrap();
        let id = clone.split('"').next().unwrap();
        let inner = clone.split(r#"<primitive id=""#).nth(1).unwrap().split('"').next().unwrap();
        let (whole, part) = (hplace(&["-x", &path, "why", id]), hplace(&["-x", &path, "why", inner]));
        assert!(whole.contains(&format!("{inner}:0 ")), "{path}: {whole}");
        assert!(part.starts_with(&format!("{inner}:")), "{path}: {part}");
        asked += 1;
    }
    assert!(asked > 20, "{asked}");
    let missing = ["hplace", "-x", "data/pacemaker-small.xml", "why", "nosuch"];
    let mut command = Command::new(env!("CARGO_BIN_EXE_htools"));
    let run = command.env_remove("HTOOLS").args(missing).assert().code(1);
    run.stdout("").stderr(contains("there is no resource 'nosuch'").and(contains("Error: ")));
}
