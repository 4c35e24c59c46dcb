//! `--metrics` of the tools.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::PermissionsExt;

use assert_cmd::Command;
use htools::report::form::metrics::Family;

use crate::common::exposition::{Series, parse};

/// Status, standard output, standard error.
fn run(words: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_htools"));
    let output = command.env_remove("HTOOLS").args(words).output().unwrap();
    let [out, err] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    (output.status.code().unwrap(), out, err)
}

/// A text without times in seconds since 1970, which differ between two runs.
fn timeless(text: &str) -> String {
    let parts = text.split_inclusive(|c: char| !c.is_ascii_digit());
    let is_time = |part: &str| part.len() > 10 && part[..10].bytes().all(|b| b.is_ascii_digit());
    parts.map(|part| if is_time(part) { &part[10..] } else { part }).collect()
}

/// The same with figures, which are parsed.
fn metered(words: &[&str]) -> (i32, Vec<Series>) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.prom");
    let (plain, out, _) = run(words);
    let (status, metered_out, _) = run(&[words, &["--metrics", path.to_str().unwrap()]].concat());
    assert_eq!((plain, timeless(&out)), (status, timeless(&metered_out)), "{words:?}");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "{words:?}");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o644);
    (status, parse(&fs::read_to_string(path).unwrap()).unwrap_or_else(|why| panic!("{words:?}: {why}")))
}

fn value(found: &[Series], name: &str, labels: &[(&str, &str)]) -> f64 {
    let fits = |series: &&Series| {
        series.name == format!("htools_{name}")
            && labels.iter().all(|(label, value)| series.label(label) == Some(value))
    };
    let fitting: Vec<&Series> = found.iter().filter(fits).collect();
    let [one] = fitting[..] else { panic!("{name} {labels:?}: {fitting:?} among {found:?}") };
    one.value
}

/// Command lines that together produce all figures.
const RUNS: [&[&str]; 14] = [
    &["hinfo", "-t", "data/groups.data"],
    &["hinfo", "-t", "data/offline-nodes.data", "--json"],
    &["hcheck", "-t", "data/offline-nodes.data"],
    &["hcheck", "-t", "data/groups.data", "--without-node", "a1"],
    &["hbal", "-t", "data/unbalanced-drbd.data", "--deep", "--effort", "2000"],
    &["hbal", "-t", "data/groups.data", "--all-groups"],
    &["hbal", "-t", "data/groups.data", "--worst-group", "--json"],
    &["hspace", "-t", "data/unbalanced-drbd.data", "--disk-template", "drbd"],
    &["hsqueeze", "-t", "data/balanced.data"],
    &["hgroup", "status", "-t", "data/groups.data"],
    &["hgroup", "redistribute", "-t", "data/groups.data"],
    &["hgroup", "compress", "-t", "data/groups.data"],
    &["hgroup", "balance", "-t", "data/groups.data"],
    &["harep", "-t", "data/repairs.data", "--dry-run"],
];

#[test]
fn each_tool_tells_of_its_own_families_and_of_all_of_them() {
    let mut told: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for words in RUNS {
        let (_, found) = metered(words);
        assert_eq!(value(&found, "last_run_success", &[]), 1.0, "{words:?}");
        told.entry(words[0]).or_default().extend(found.into_iter().map(|series| series.name));
    }
    for (tool, names) in &told {
        let mine = |source: &str| source == *tool || source == "every tool";
        let wanted = Family::ALL.iter().map(|family| family.row()).filter(|row| mine(row.source));
        let wanted: BTreeSet<String> = wanted.map(|row| row.name.to_owned()).collect();
        assert_eq!(*names, wanted, "{tool}");
    }
    assert_eq!(told.len(), 7);
}

/// Everything except the times of the run.
#[test]
fn the_same_question_has_the_same_figures() {
    for words in RUNS {
        let figures = || {
            let (_, mut found) = metered(words);
            found.retain(|series| !series.name.starts_with("htools_last_run_"));
            format!("{found:?}")
        };
        assert_eq!(figures(), figures(), "{words:?}");
    }
}

#[test]
fn figures_are_those_of_the_text() {
    let (_, found) = metered(&["hbal", "-t", "data/unbalanced-drbd.data"]);
    let group = [("cluster", "unbalanced-drbd"), ("group", "default")];
    assert_eq!(value(&found, "balance_moves", &group), 15.0);
    assert!((value(&found, "balance_score_before", &group) - 10.841_281_34).abs() < 1e-8);
    let (before, after) =
        (value(&found, "balance_score_before", &[]), value(&found, "balance_score_after", &[]));
    assert_eq!(value(&found, "balance_gain", &[]), before - after);

    let (_, found) = metered(&["hinfo", "-t", "data/unbalanced-drbd.data"]);
    let parts: f64 =
        found.iter().filter(|s| s.name == "htools_group_score_component").map(|series| series.value).sum();
    assert!((parts - value(&found, "group_score", &[])).abs() < 1e-9);
    let nodes = |name: &str| -> f64 {
        found.iter().filter(|series| series.name == format!("htools_node_{name}")).map(|s| s.value).sum()
    };
    for what in ["memory_size_bytes", "memory_used_bytes", "disk_used_bytes", "vcpus_used"] {
        assert_eq!(nodes(what), value(&found, &format!("group_{what}"), &[]), "{what}");
    }
    assert_eq!(value(&found, "group_nodes", &[("state", "online")]), 7.0);
    assert_eq!(nodes("instances"), 40.0);
}

#[test]
fn a_negative_answer_of_hcheck_is_an_answer() {
    let (status, found) = metered(&["hcheck", "-t", "data/offline-nodes.data", "-l", "0"]);
    assert_eq!(status, 1);
    assert_eq!(value(&found, "last_run_success", &[("tool", "hcheck")]), 1.0);
    assert_eq!(value(&found, "check_healthy", &[]), 0.0);
}

#[test]
fn runs_that_fail_are_recorded() {
    for words in [
        &["hinfo", "-t", "data/no-such-file.data"][..],
        &["hbal", "-t", "data/no-such-file.data"],
        &["hbal", "-t", "data/groups.data"],
        &["hbal", "-t", "data/groups.data", "--all-groups", "--worst-group"],
        &["hcheck", "-t", "data/no-such-file.data"],
        &["hspace", "-t", "data/unbalanced-drbd.data", "--json", "--machine-readable"],
        &["hsqueeze", "-t", "data/balanced.data", "--target-resources", "1", "--minimal-resources", "2"],
        &["hgroup", "compress", "-t", "data/groups.data", "-G", "nobody"],
        &["harep", "-t", "data/repairs.data"],
    ] {
        let (status, found) = metered(words);
        assert_eq!((status, value(&found, "last_run_success", &[])), (1, 0.0), "{words:?}");
        let families: BTreeSet<&str> = found.iter().map(|series| series.name.as_str()).collect();
        assert_eq!(families.len(), 3, "{words:?}: {families:?}");
    }
}

#[test]
fn a_file_that_cannot_be_written_is_known_before_anything_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let pipe = dir.path().join("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    for (path, why) in [
        (dir.path().join("absent/x.prom"), "No such file or directory (os error 2)"),
        (dir.path().to_owned(), "it is a directory, not a regular file"),
        (pipe, "it is a pipe, not a regular file"),
    ] {
        let path = path.to_str().unwrap();
        for tool in ["hinfo", "hcheck", "hbal", "hspace", "hsqueeze", "harep"] {
            let (status, out, err) = run(&[tool, "-t", "no-such-file", "--metrics", path]);
            let wanted = format!("Error: cannot write file '{path}': {why}\n");
            assert_eq!((status, out.as_str(), err), (1, "", wanted), "{tool}");
        }
    }
}

/// Two groups and two nodes with the same name, and invalid names.
#[test]
fn whatever_things_are_called_no_series_comes_twice() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("odd \"cluster\"\n\\.data");
    let node = |name: &str, group: &str| format!("{name}|4000|0|4000|9000|9000|9|N|{group}\n");
    let nodes = [node("a", "u1"), node("a", "u2"), node("\"\\n{},", "u1"), node("é\u{202e}\t", "u2")];
    let text = format!("g\"|u1|preferred||\ng\"|u2|preferred||\n\n{}\n\n\n", nodes.concat());
    fs::write(&file, text).unwrap();
    let file = file.to_str().unwrap();
    let (status, found) = metered(&["hinfo", "-t", file]);
    assert_eq!(status, 0);
    assert_eq!(value(&found, "group_nodes", &[("group", "g\""), ("state", "online")]), 2.0);
    assert_eq!(value(&found, "group_nodes", &[("group", "g\" (2)"), ("state", "online")]), 2.0);
    for name in ["a", "a (2)", "\"\\n{},", "é\u{202e}\t"] {
        let labels = [("cluster", "odd \"cluster\"\n\\"), ("node", name)];
        assert_eq!(value(&found, "node_online", &labels), 1.0);
    }
    for words in [&["hcheck"][..], &["hbal", "--all-groups"], &["hspace", "--disk-template", "plain"]] {
        metered(&[words, &["-t", file]].concat());
    }
}

#[test]
fn standard_output_may_be_the_file() {
    let (status, out, _) = run(&["hcheck", "-t", "data/balanced.data", "-q", "--metrics", "/dev/stdout"]);
    assert_eq!(status, 0);
    assert_eq!(value(&parse(&out).unwrap(), "check_healthy", &[]), 1.0);
}
