//! JSON documents with keys (`-j`).

use std::fs;

use assert_cmd::Command;
use predicates::prelude::*;
use predicates::str::{contains, starts_with};

use super::{hplace, small};

#[test]
fn what_cannot_be_placed_by_is_one_line() {
    let one_line = || {
        predicate::function(|text: &str| text.lines().filter(|line| !line.starts_with("Hint: ")).count() == 1)
    };
    let key = |key: &str| small(key, "");
    let own = |keys: &str| small("", keys);
    let cases = [
        (String::new(), "EOF while parsing"),
        ("[]".to_owned(), "invalid length"),
        ("{\"nodes\": 1}".to_owned(), "invalid type"),
        ("{\"nodes\": [], \"nods\": []}".to_owned(), "unknown field"),
        (format!("{{\"nodes\": {}", "[".repeat(100_000)), "invalid type"),
        (key(r##"{"name": "#RAM", "value": 1}"##), "special keys are computed"),
        (key(r#"{"name": "a", "value": 1}, {"name": "a", "value": 2}"#), "it is given twice"),
        (key(r#"{"name": "_a", "value": 1, "sticky": true}"#), "reserved keys cannot be sticky"),
        (key(r#"{"name": "a", "value": "NaN"}"#), "the value is not a finite number"),
        (key(r#"{"name": "a", "value": "inf"}"#), "the value is not a finite number"),
        (key(r#"{"name": "a", "value": 1e999}"#), "number out of range"),
        (
            own(r#""server": {"system": [{"name": "_a", "value": 1, "weight": 1}]}"#),
            "names that begin with '_'",
        ),
        (
            own(r##""server": {"customer": [{"name": "#a", "value": 1, "weight": 1}]}"##),
            "names that begin with '#'",
        ),
        (
            own(r##""disk": {"billing": [{"name": "#a", "value": 1, "weight": 1}]}"##),
            "names that begin with '#'",
        ),
        (
            own(
                r#""nic": {"system": [{"name": "a", "value": 1, "weight": 1}, {"name": "a", "value": 1, "weight": 1}]}"#,
            ),
            "key 'a' is given twice",
        ),
        (
            own(r##""vdc": {"system": [{"name": "#FOO", "value": 0, "weight": 1}]}"##),
            "vdc: key '#FOO' is not a special key: the special keys are #CPU, #LOAD, #RAM",
        ),
        (
            own(r##""server": {"system": [{"name": "#RAM", "value": 1, "weight": 1}]}"##),
            "server: key '#RAM' is a special key, whose value must be 0",
        ),
        (
            own(r#""vdc": {"customer": [{"name": "a", "value": 1, "weight": 1}]}"#),
            "vdc: customers cannot set keys on this level",
        ),
        (
            small("", "").replace("\"ram\": 512", "\"ram\": 512, \"node\": \"n\", \"last_node\": \"n\""),
            "last_node: allowed only if the vm runs on no node",
        ),
        (key(r#"{"name": "a", "value": 2e12}"#), "the value is not between -1e12 and 1e12"),
        (
            key(r#"{"name": "a", "value": 1, "sticky": true, "weight": -1e300}"#),
            "the weight is not between -1e12 and 1e12",
        ),
        (
            own(r#""server": {"customer": [{"name": "a", "value": 1, "weight": 1e308}]}"#),
            "the weight is not between -1e12 and 1e12",
        ),
        (own(r#""server": {}, "vdc": {}, "server": {}"#), "level 'server' is given twice"),
        (own(r#""sever": {}"#), "there is no level 'sever'"),
        (own(r#""cluster": {}"#), "a vm cannot have keys of the cluster"),
        (small("", "").replace("\"n\"", "\"\""), "the name is empty or not unique"),
        (small("", "").replace("8192", "-1"), "invalid value"),
        (small("", "").replace("8192", "1e300"), "invalid type"),
        (small("", "").replace("\"ram\": 512", "\"ram\": 512, \"node\": \"x\""), "there is no node 'x'"),
        (small("", "").replace("\"load\": 0", "\"load\": -1"), "load: at least 0"),
        (
            small("", "").replace("\"load\": 0", "\"state\": \"lost\""),
            "state: expected running, down or maintenance",
        ),
    ];
    for (document, problem) in cases {
        hplace(&[], document.clone())
            .code(1)
            .stdout("")
            .stderr(starts_with("Error: ").and(contains(problem)).and(one_line()));
    }
    hplace(&[], b"{\"nodes\": [\"\xff\"]}".to_vec()).code(1).stderr(contains("not UTF-8"));
}

#[test]
fn what_is_only_odd_is_told() {
    let odd = small(r#"{"name": "a", "value": "blue"}"#, "").replace("\"load\": 0, ", "");
    hplace(&[], odd)
        .code(0)
        .stderr(contains("key 'a' has no number and is ignored").and(contains("the load is unknown")));
    let text = small(r#"{"name": "a", "value": "2"}"#, "").replace(
        "}], \"vms\"",
        "}, {\"name\": \"m\\n\", \"ram_total\": 8192, \"cpus\": 4, \"load\": 0}], \"vms\"",
    );
    hplace(&[], text).code(0).stderr(contains("has no key 'a', which others have"));
}

#[test]
fn options_go_before_the_document() {
    let document = small("", "");
    hplace(&["--overhead", "8000"], document.clone())
        .code(2)
        .stdout(contains("vm: not started: no node can take it"));
    hplace(&["--initial-msav", "95", "--final-msav", "91"], document.clone())
        .code(2)
        .stdout(contains("vm: not started: no node is worth more than 91, the last threshold"));
    hplace(&["--msav-steps", "1"], document.clone()).code(0).stdout(contains("(round 1, threshold -10)"));
    for (words, problem) in [
        (&["--final-msav", "90"][..], "initial_msav must be at least final_msav"),
        (&["--msav-steps", "0"], "msav-steps"),
        (&["--initial-msav", "inf"], "is not a number"),
        (&["--tie", "random"], "--seed"),
        (&["--seed", "1"], "--tie random"),
        (&["--strategy", "balanced"], "--strategy does not apply to documents with keys"),
        (&["-x", "data/pacemaker-small.xml"], "no other cluster can be named"),
        (&["--dot"], "option --transition-dot does not apply"),
        (&["survive"], "option --fleet does not apply to `hplace survive'"),
    ] {
        hplace(words, document.clone()).code(1).stdout("").stderr(contains(problem));
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_htools"));
    let alone = command.env_remove("HTOOLS").args(["hplace", "--strategy", "affinity"]).assert();
    alone.code(1).stderr(contains("-j FILE"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_htools"));
    let stray =
        command.env_remove("HTOOLS").args(["hplace", "-x", "data/pacemaker-small.xml", "--verify"]).assert();
    stray.code(1).stderr(contains("--verify belongs to `hplace affinity'\n"));
}

#[test]
fn the_sample_is_placed_in_the_order_that_is_asked() {
    let sample = fs::read_to_string("data/affinity.json").unwrap();
    let first = |words: &[&str], name: &str| {
        let run = hplace(words, sample.clone()).code(0);
        let text = String::from_utf8(run.get_output().stdout.clone()).unwrap();
        assert_eq!(text.lines().nth(2).unwrap().split(':').next(), Some(name), "{text}");
    };
    first(&[], "web2");
    first(&["--order", "ram"], "gold-db");
}
