//! Ganeti clusters, in which keys are tags.

use std::fs;

use assert_cmd::Command;
use assert_cmd::assert::Assert;
use predicates::prelude::*;
use predicates::str::{contains, starts_with};

use super::{hplace, small};

fn of_ganeti(words: &[&str], file: &str) -> Assert {
    let mut command = Command::new(env!("CARGO_BIN_EXE_htools"));
    command.env_remove("HTOOLS").args(["hplace", "--strategy", "affinity", "-t", "-"]).args(words);
    command.write_stdin(file).assert()
}

fn keys() -> String {
    fs::read_to_string("data/keys.data").unwrap()
}

#[test]
fn instances_that_should_run_are_placed_by_the_keys_in_tags() {
    let told = of_ganeti(&[], &keys()).code(0).stderr(contains("the load of nodes is unknown"));
    let text = String::from_utf8(told.get_output().stdout.clone()).unwrap();
    let heads: Vec<&str> = text.lines().filter(|line| line.contains(" (")).collect();
    let first =
        |name: &str| heads.iter().find(|line| line.starts_with(&format!("{name}: "))).unwrap().to_string();
    assert!(text.starts_with("Strategy affinity: 4 nodes, 8 machines, of which 4 run\n"), "{text}");
    assert!(!first("web2").starts_with("web2: node1"), "{text}");
    assert!(first("app2").starts_with("app2: node2"), "{text}");
    assert!(
        first("gold-db").starts_with("gold-db: gold1 (its first disk is there); takes storage along"),
        "{text}"
    );
    assert!(text.contains("a machine runs there that is kept apart from it, by service:mail"), "{text}");
    assert!(!text.contains("\nold: "), "what was stopped on purpose is left out: {text}");
    of_ganeti(&["--json", "--verify"], &keys()).stdout(contains("\"htools.affinity/1\""));
    of_ganeti(&["--ram-ratio", "0.1"], &keys()).code(2).stdout(contains("can be promised"));
}

#[test]
fn tags_that_are_no_keys_are_named_and_do_nothing() {
    let odd = keys().replace("htools:key:_ssd:1", "htools:key:_ssd:blue").replace(":web:1:-40", ":web:1");
    of_ganeti(&[], &odd).code(0).stderr(
        contains("htools:key:_ssd:blue of node node2: has a value that is not a number")
            .and(contains("htools:key:customer:web:1 of instance web1: does not have the form of a key"))
            .and(contains("node node2 has no key '_ssd', which others have")),
    );
}

/// Three nodes: the first is idle, and the others share a kind of storage with sticky keys that hold the instances
/// there.
fn sticky(x: &str) -> String {
    let node = |name: &str, free: u32, keys: &str| {
        format!("{name}|65536|2048|{free}|1048576|1048576|16|N|u|8|{keys}|N|0|1|1.0\n")
    };
    let nodes = [("n1", 63488, 2), ("n2", 38912, 1), ("n3", 63488, 1)];
    let nodes =
        nodes.map(|(name, free, value)| node(name, free, &format!("htools:key:sticky:ds:{value}:100")));
    let policy = "128,1,1024,1,1,1|128,1,1024,1,1,1;32768,8,1048576,16,8,12|rbd|4.0|32.0";
    format!(
        "g|u|preferred||\n\n{}\n{x}\ny|16384|51200|8|running|Y|n2||rbd||1|-|N\n\n\n\n|{policy}\ng|{policy}\n",
        nodes.concat()
    )
}

#[test]
fn instances_stay_with_the_sticky_keys_of_their_nodes() {
    let runs = sticky("x|8192|51200|2|running|Y|n2||rbd||1|-|N");
    of_ganeti(&["--plan"], &runs).code(0).stdout(contains("All of the 2 machines").and(contains("0 moves")));
    let loose = runs.replace(":sticky:ds:2:100", ":ds:2").replace(":sticky:ds:1:100", ":ds:1");
    of_ganeti(&["--plan"], &loose).code(2).stdout(contains("1. x n2 => n1"));
    // A restarted instance goes to nodes like its last one.
    let down = sticky("x|8192|51200|2|ERROR_down|Y|n3||rbd||1|-|N");
    of_ganeti(&["--explain"], &down).code(0).stdout(
        contains("x: n2 (round 1, threshold 80); takes ds along")
            .and(contains("system key ds = 1, weight 100: copied from n3, where it ran")),
    );
    // hbal moves it there and nowhere else, if keys count.
    let three = runs.replace("\ny|", "\nz|16384|51200|8|running|Y|n3||rbd||1|-|N\ny|");
    for (words, step) in [(&[][..], "1. x n2    => n1 "), (&["--affinity-weight", "1"], "1. x n2    => n3 ")]
    {
        let mut command = Command::new(env!("CARGO_BIN_EXE_htools"));
        command.env_remove("HTOOLS").args(["hbal", "-t", "-"]).args(words).write_stdin(three.clone());
        command.assert().code(0).stdout(contains(step).and(contains("Solution length=1")));
    }
}

#[test]
fn options_of_one_kind_of_cluster_are_refused_for_the_other() {
    hplace(&["--ram-ratio", "2"], small("", ""))
        .code(1)
        .stderr(contains("--ram-ratio applies only to Ganeti clusters"));
    for (words, problem) in [
        (&["--ram-ratio", "-1"][..], "between 0 and 1000"),
        (&["--stickiness", "3"], "--stickiness does not apply to placement by keys"),
        (&["-x", "data/pacemaker-small.xml"], "or one cluster\nHint: name a document with -j FILE"),
    ] {
        of_ganeti(words, &keys()).code(1).stdout("").stderr(contains(problem));
    }
}

#[test]
fn keys_that_are_not_met_are_a_problem_that_has_to_be_asked_for() {
    let file = keys().replace("web2|8192|51200|4|ERROR_down", "web2|8192|51200|4|running");
    let hcheck = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_htools"));
        command.env_remove("HTOOLS").args(["hcheck", "--no-simulation", "-t", "-"]).args(words);
        command.write_stdin(file.clone()).assert().code(0)
    };
    hcheck(&["--list-problems"]).stdout(
        contains("Affinity keys that are not met")
            .and(contains("web2 on node1: web=1, weight -40: something there meets it"))
            .and(contains("app1 on node2: shop=7, weight 30: nothing there meets it")),
    );
    hcheck(&["--json"]).stdout(contains("\"unmet_keys\""));
    let folder = tempfile::tempdir().unwrap();
    let written = |option: &str| {
        let path = folder.path().join("written").display().to_string();
        hcheck(&["-q", option, &path]);
        fs::read_to_string(path).unwrap()
    };
    let page = written("--report");
    assert!(
        page.contains("Affinity keys that are not met") && page.contains("something there meets it"),
        "{page}"
    );
    let metrics = written("--metrics");
    for (wish, count) in [("together", 1), ("apart", 2)] {
        let line = format!("wish=\"{wish}\"}} {count}\n");
        let of =
            metrics.lines().filter(|line| line.starts_with("htools_check_unmet_keys{")).collect::<Vec<_>>();
        assert!(of.iter().any(|found| format!("{found}\n").ends_with(&line)), "{of:?}");
    }
    hcheck(&[]).stdout(contains("not met").not());
}

#[test]
fn plans_are_shown_saved_and_read_again() {
    let run =
        |words: &[&str]| Command::new(env!("CARGO_BIN_EXE_htools")).env_remove("HTOOLS").args(words).assert();
    let planned = ["hplace", "--strategy", "affinity", "-t", "data/wishes.data", "--plan"];
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("plan").display().to_string();
    run(&[&planned[..], &["--save-plan", &file]].concat()).code(2).stdout(contains("Plan of "));
    run(&["show", &file]).code(0).stdout(contains("Made by hplace").and(contains("Plan of ")));
    for (form, start) in [("json", "{"), ("dot", "digraph"), ("svg", "<svg")] {
        run(&[&planned[..], &["--print-plan", form]].concat()).code(2).stdout(starts_with(start));
    }
    for (words, problem) in [
        (
            &["--strategy", "affinity", "-j", "data/affinity.json", "--plan"][..],
            "--plan applies only to Ganeti clusters",
        ),
        (&["--strategy", "affinity", "-t", "data/keys.data", "--plan", "--json"], "exclude each other"),
        (
            &["--strategy", "affinity", "-t", "data/keys.data", "--print-plan", "dot"],
            "--print-plan needs --plan",
        ),
        (&["-t", "data/keys.data", "--save-plan", &file], "--save-plan belongs to `hplace affinity'"),
        (&["-t", "data/keys.data", "--plan"], "--plan belongs to `hplace affinity'"),
    ] {
        run(&[&["hplace"], words].concat()).code(1).stdout("").stderr(contains(problem));
    }
}
