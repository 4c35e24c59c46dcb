//! hplace --strategy affinity on documents that are hostile or odd.

use std::fs;

use assert_cmd::Command;
use assert_cmd::assert::Assert;
use predicates::prelude::*;
use predicates::str::{contains, starts_with};

fn hplace(words: &[&str], document: impl Into<Vec<u8>>) -> Assert {
    let mut command = Command::new(env!("CARGO_BIN_EXE_htools"));
    command.env_remove("HTOOLS").args(["hplace", "-j", "-"]).args(words).write_stdin(document).assert()
}

/// A document with a node, with these keys, and a machine, with these.
fn small(node_keys: &str, keys: &str) -> String {
    format!(
        r#"{{"nodes": [{{"name": "n", "ram_total": 8192, "cpus": 4, "load": 0, "keys": [{node_keys}]}}], "vms": [{{"name": "vm", "ram": 512, "vcpus": 1, "keys": {{{keys}}}}}]}}"#
    )
}

#[test]
fn what_cannot_be_placed_by_is_one_line() {
    let one_line = || predicate::function(|text: &str| text.lines().count() == 1);
    let key = |key: &str| small(key, "");
    let own = |keys: &str| small("", keys);
    let cases = [
        (String::new(), "EOF while parsing"),
        ("[]".to_owned(), "invalid length"),
        ("{\"nodes\": 1}".to_owned(), "invalid type"),
        ("{\"nodes\": [], \"nods\": []}".to_owned(), "unknown field"),
        (format!("{{\"nodes\": {}", "[".repeat(100_000)), "invalid type"),
        (key(r##"{"name": "#RAM", "value": 1}"##), "special keys are computed"),
        (key(r#"{"name": "a", "value": 1}, {"name": "a", "value": 2}"#), "it is there twice"),
        (key(r#"{"name": "_a", "value": 1, "sticky": true}"#), "reserved keys cannot be sticky"),
        (key(r#"{"name": "a", "value": "NaN"}"#), "the value is no finite number"),
        (key(r#"{"name": "a", "value": "inf"}"#), "the value is no finite number"),
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
            "key 'a' is there twice",
        ),
        (
            own(r##""vdc": {"system": [{"name": "#FOO", "value": 0, "weight": 1}]}"##),
            "vdc: key '#FOO' is no special key: these are #CPU, #LOAD, #RAM",
        ),
        (
            own(r##""server": {"system": [{"name": "#RAM", "value": 1, "weight": 1}]}"##),
            "server: key '#RAM' is a special key whose value is not 0",
        ),
        (
            own(r#""vdc": {"customer": [{"name": "a", "value": 1, "weight": 1}]}"#),
            "vdc: customers cannot set keys on this level",
        ),
        (
            small("", "").replace("\"ram\": 512", "\"ram\": 512, \"node\": \"n\", \"last_node\": \"n\""),
            "last_node: only of what runs on no node",
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
        (own(r#""server": {}, "vdc": {}, "server": {}"#), "level 'server' is there twice"),
        (own(r#""sever": {}"#), "there is no level 'sever'"),
        (own(r#""cluster": {}"#), "keys of the cluster are not a vm's"),
        (small("", "").replace("\"n\"", "\"\""), "it has none"),
        (small("", "").replace("8192", "-1"), "invalid value"),
        (small("", "").replace("8192", "1e300"), "invalid type"),
        (small("", "").replace("\"ram\": 512", "\"ram\": 512, \"node\": \"x\""), "there is no node 'x'"),
        (small("", "").replace("\"load\": 0", "\"load\": -1"), "load: at least 0"),
        (small("", "").replace("\"load\": 0", "\"state\": \"lost\""), "state: running, down or maintenance"),
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
        .stderr(contains("key 'a' has no number and does not count").and(contains("load is not known")));
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
        (&["--final-msav", "90"][..], "initial_msav: at least final_msav"),
        (&["--msav-steps", "0"], "msav-steps"),
        (&["--initial-msav", "inf"], "is not a number"),
        (&["--tie", "random"], "--seed"),
        (&["--seed", "1"], "--tie random"),
        (&["--strategy", "balanced"], "strategy 'affinity' only"),
        (&["-x", "data/pacemaker-small.xml"], "-j stands alone"),
        (&["--dot"], "option --dot means nothing"),
        (&["survive"], "not known of placement by keys"),
    ] {
        hplace(words, document.clone()).code(1).stdout("").stderr(contains(problem));
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_htools"));
    let alone = command.env_remove("HTOOLS").args(["hplace", "--strategy", "affinity"]).assert();
    alone.code(1).stderr(contains("-j FILE"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_htools"));
    let stray =
        command.env_remove("HTOOLS").args(["hplace", "-x", "data/pacemaker-small.xml", "--verify"]).assert();
    stray.code(1).stderr(contains("--verify means nothing without --strategy affinity"));
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
    let told = of_ganeti(&[], &keys()).code(0).stderr(contains("the load of nodes is not known"));
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
        contains("htools:key:_ssd:blue of node node2: has a value that is no number")
            .and(contains("htools:key:customer:web:1 of instance web1: is not of the form of a key"))
            .and(contains("node node2 has no key '_ssd', which others have")),
    );
}

/// Three nodes, of which the first is idle and the others have the same storage, to which they hold what runs there.
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
    // what is started again goes to nodes like the one where it ran
    let down = sticky("x|8192|51200|2|ERROR_down|Y|n3||rbd||1|-|N");
    of_ganeti(&["--explain"], &down).code(0).stdout(
        contains("x: n2 (round 1, threshold 80); takes ds along")
            .and(contains("system key ds = 1, weight 100: copied from n3, where it ran")),
    );
    // hbal takes it there and nowhere else, if keys count
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
        .stderr(contains("--ram-ratio is for Ganeti clusters"));
    for (words, problem) in [
        (&["--ram-ratio", "-1"][..], "between 0 and 1000"),
        (&["--stickiness", "3"], "--stickiness means nothing"),
        (&["-x", "data/pacemaker-small.xml"], "or one cluster: -x FILE"),
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
            "--plan is for Ganeti clusters",
        ),
        (&["--strategy", "affinity", "-t", "data/keys.data", "--plan", "--json"], "exclude each other"),
        (&["--strategy", "affinity", "-t", "data/keys.data", "--print-plan", "dot"], "without --plan"),
        (&["-t", "data/keys.data", "--save-plan", &file], "without --plan"),
        (&["-t", "data/keys.data", "--plan"], "without --strategy affinity"),
    ] {
        run(&[&["hplace"], words].concat()).code(1).stdout("").stderr(contains(problem));
    }
}

fn of_pacemaker(words: &[&str], cib: impl Into<Vec<u8>>) -> Assert {
    let mut command = Command::new(env!("CARGO_BIN_EXE_htools"));
    command.env_remove("HTOOLS").args(["hplace", "--strategy", "affinity", "-x", "-"]).args(words);
    command.write_stdin(cib).assert()
}

fn cib() -> String {
    fs::read_to_string("data/affinity-cib.xml").unwrap()
}

#[test]
fn hostile_cibs_are_one_line() {
    let one_line = || predicate::function(|text: &str| text.lines().count() == 1);
    let cases = [
        (String::new(), "not XML"),
        ("<cib/>".to_owned(), "configuration"),
        ("<a/>".to_owned(), "the root element is 'a'"),
        ("<a>".repeat(100_000), "nested more than"),
        (cib().replace("hv_memory", "disk"), "needs to know the memory of nodes"),
        (cib().replace("id=\"web2\" class", "id=\"web1\" class"), "there is another resource with this id"),
    ];
    for (document, problem) in cases {
        of_pacemaker(&[], document)
            .code(1)
            .stdout("")
            .stderr(starts_with("Error: ").and(contains(problem)).and(one_line()));
    }
    of_pacemaker(&[], b"<cib>\xff</cib>".to_vec()).code(1).stderr(contains("not UTF-8"));
}

#[test]
fn attributes_that_are_no_keys_are_told_and_escaped() {
    let odd = cib().replace(
        "name=\"htools.key.customer.web\" value=\"1:-40\"",
        "name=\"htools.key.customer.w&#10;eb\" value=\"1\"",
    );
    of_pacemaker(&[], odd).code(0).stderr(contains(
        "Warning: attribute htools.key.customer.w\\neb=1 of resource web1: is not of the form of a key\n",
    ));
    let long = cib().replace("value=\"1:-40\"", &format!("value=\"{}\"", "9".repeat(100_000)));
    let run = of_pacemaker(&[], long).code(0);
    let text = String::from_utf8(run.get_output().stderr.clone()).unwrap();
    assert!(text.lines().all(|line| line.len() < 320), "{text}");
}

#[test]
fn options_that_do_not_go_with_cibs_are_refused() {
    for (words, problem) in [
        (&["--ram-ratio", "2"][..], "a CIB tells neither loads"),
        (&["--plan"], "option --plan is for Ganeti clusters"),
        (&["--dot"], "option --dot means nothing"),
        (&["--transition"], "option --transition means nothing"),
        (&["--commands", "cib", "--json"], "--commands is printed alone"),
        (&["--commands", "cib", "--verify"], "--commands is printed alone"),
        (&["-t", "data/keys.data"], "needs a document with keys"),
        (&["--live"], "only one of -x and --live"),
        (&["-X"], "--commands FORM tells what has to be typed"),
        (&["--undo"], "mean nothing to placement by keys"),
        (&["--stickiness", "1"], "--stickiness"),
        (&["fit", "cpu=1"], "not known of placement by keys"),
    ] {
        of_pacemaker(words, cib()).code(1).stdout("").stderr(contains(problem));
    }
    of_pacemaker(&["--now", "2026-11-25"], cib()).code(0);
    // a device of which a node still knows would be enough
    let frozen = cib().replace("<primitive id=\"fence\" class=\"stonith\" type=\"fence_sbd\"/>", "");
    let frozen = frozen.replace("class=\"stonith\"", "class=\"ocf\"");
    of_pacemaker(&[], frozen).code(0).stderr(contains("there is no device for it: Pacemaker starts nothing"));
}

/// What is stopped has copies of the sticky keys of the node where it ran last, by the history.
#[test]
fn the_history_tells_where_a_resource_ran() {
    let explained = |cib: String| {
        let run = of_pacemaker(&["--explain"], cib).code(0);
        let text = String::from_utf8(run.get_output().stdout.clone()).unwrap();
        let copies = text.lines().filter_map(|line| line.split_once("weight 30: copied from "));
        copies.map(|(_, node)| node.split_once(',').unwrap().0.to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(explained(cib()), ["node1"]);
    let stop = |node: &str, more: &str| {
        format!(
            r#"<lrm_resource id="app2" class="ocf" provider="heartbeat" type="VirtualDomain">{more}<lrm_rsc_op id="app2_stop_{node}" operation_key="app2_stop_0" operation="stop" call-id="9" rc-code="0" op-status="0" interval="0" last-rc-change="200"/></lrm_resource></lrm_resources>"#
        )
    };
    // the last lists of the document are those of node3 and gold1, without app2
    let on_gold = |history: &str| {
        let cib = cib();
        let at = cib.rfind("</lrm_resources>").unwrap();
        format!("{}{history}{}", &cib[..at], &cib[at + "</lrm_resources>".len()..])
    };
    assert_eq!(explained(on_gold(&stop("gold1", ""))), ["gold1"]);
    // where it failed to start, it did not run
    let failed = r#"<lrm_rsc_op id="f" operation_key="app2_start_0" operation="start" call-id="8" rc-code="1" op-status="0" interval="0" last-rc-change="199"/>"#;
    assert_eq!(explained(on_gold(&stop("gold1", failed))), ["node1"]);
}

/// With the constraints that are told, Pacemaker's own strategy comes to the placement by keys.
#[test]
fn commands_bring_a_cib_to_its_placement_by_keys() {
    let placed = |words: &[&str], cib: String| {
        let run = of_pacemaker(words, cib).code(0);
        String::from_utf8(run.get_output().stdout.clone()).unwrap()
    };
    let text = placed(&["--commands", "cib"], cib());
    let (_, rest) = text.split_once("<constraints>").unwrap();
    let (pins, _) = rest.split_once("</constraints>").unwrap();
    let pinned = cib().replace("</constraints>", &format!("{pins}</constraints>"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_htools"));
    let run = command
        .env_remove("HTOOLS")
        .args(["hplace", "-x", "-", "--json"])
        .write_stdin(pinned)
        .assert()
        .code(0);
    let by_pacemaker: serde_json::Value = serde_json::from_slice(&run.get_output().stdout).unwrap();
    let by_keys: serde_json::Value = serde_json::from_str(&placed(&["--json"], cib())).unwrap();
    let node = |id: &str| {
        let all = by_pacemaker["resources"].as_array().unwrap().iter();
        all.into_iter().find(|of| of["id"] == id).unwrap()["node"].clone()
    };
    let machines = by_keys["machines"].as_array().unwrap();
    assert_eq!(machines.len(), 4);
    for machine in machines {
        let name = machine["name"].as_str().unwrap();
        assert_eq!(node(if name == "mail" { "imap" } else { name }), machine["node"], "{name}");
    }
    assert_eq!((node("web1"), node("db1"), node("app1")), ("node1".into(), "node1".into(), "node2".into()));
    // what has no node by its keys is told
    of_pacemaker(&["--commands", "pcs", "--overhead", "70000"], cib()).code(2).stderr(contains(
        "Warning: web2 gets no node by its keys, which does not keep Pacemaker from starting it",
    ));
}
