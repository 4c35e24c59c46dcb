//! Pacemaker clusters, in which keys are attributes.

use std::fs;

use assert_cmd::Command;
use assert_cmd::assert::Assert;
use predicates::prelude::*;
use predicates::str::{contains, starts_with};

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
    let one_line = || {
        predicate::function(|text: &str| text.lines().filter(|line| !line.starts_with("Hint: ")).count() == 1)
    };
    let cases = [
        (String::new(), "not XML"),
        ("<cib/>".to_owned(), "configuration"),
        ("<a/>".to_owned(), "the root element is 'a'"),
        ("<a>".repeat(100_000), "nested more than"),
        (cib().replace("hv_memory", "disk"), "the memory of nodes is unknown"),
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
        "Warning: attribute htools.key.customer.w\\neb=1 of resource web1: does not have the form of a key\n",
    ));
    let long = cib().replace("value=\"1:-40\"", &format!("value=\"{}\"", "9".repeat(100_000)));
    let run = of_pacemaker(&[], long).code(0);
    let text = String::from_utf8(run.get_output().stderr.clone()).unwrap();
    assert!(text.lines().all(|line| line.len() < 320), "{text}");
}

#[test]
fn options_that_do_not_go_with_cibs_are_refused() {
    for (words, problem) in [
        (&["--ram-ratio", "2"][..], "a CIB has no measured figures"),
        (&["--plan"], "option --plan applies only to Ganeti clusters"),
        (&["--dot"], "option --transition-dot does not apply to placement by keys"),
        (&["--transition"], "option --transition does not apply to placement by keys"),
        (&["--commands", "cib", "--json"], "option --commands cannot be given with"),
        (&["--commands", "cib", "--verify"], "option --commands cannot be given with"),
        (&["-t", "data/keys.data"], "needs a document with keys"),
        (&["--live"], "options -x and --live exclude"),
        (&["-X"], "--commands FORM prints the commands for it"),
        (&["--undo"], "do not apply to placement by keys"),
        (&["--stickiness", "1"], "--stickiness"),
        (&["fit", "cpu=1"], "does not apply"),
    ] {
        of_pacemaker(words, cib()).code(1).stdout("").stderr(contains(problem));
    }
    of_pacemaker(&["--now", "2026-11-25"], cib()).code(0);
    // A device that appears only in a node's history would be enough.
    let frozen = cib().replace("<primitive id=\"fence\" class=\"stonith\" type=\"fence_sbd\"/>", "");
    let frozen = frozen.replace("class=\"stonith\"", "class=\"ocf\"");
    of_pacemaker(&[], frozen)
        .code(0)
        .stderr(contains("there is no fencing device, so Pacemaker starts no resources"));
}

/// Stopped resources have copies of the sticky keys of the node where they last ran, according to the history.
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
            r#"<lrm_resource id="app2" class="ocf" provider="heartbeat" type="VirtualDomain">{more}<lrm_rsc_op id="app2_stop_{node}" operation_key="app2_stop_0" operation="stop" call-id="9" rc-code="0" transition-key="1:1:0:x" op-status="0" interval="0" last-rc-change="200"/></lrm_resource></lrm_resources>"#
        )
    };
    // The last lists of the document are those of node3 and gold1, without app2.
    let on_gold = |history: &str| {
        let cib = cib();
        let at = cib.rfind("</lrm_resources>").unwrap();
        format!("{}{history}{}", &cib[..at], &cib[at + "</lrm_resources>".len()..])
    };
    assert_eq!(explained(on_gold(&stop("gold1", ""))), ["gold1"]);
    // A failed start does not count as running.
    let failed = r#"<lrm_rsc_op id="f" operation_key="app2_start_0" operation="start" call-id="8" rc-code="1" transition-key="1:1:0:x" op-status="0" interval="0" last-rc-change="199"/>"#;
    assert_eq!(explained(on_gold(&stop("gold1", failed))), ["node1"]);
}

/// With the printed constraints, Pacemaker's own strategy gives the placement by keys.
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
    // Resources without a node by their keys are reported.
    of_pacemaker(&["--commands", "pcs", "--overhead", "70000"], cib())
        .code(2)
        .stderr(contains("Warning: the keys of web2 allow no node, but Pacemaker may still start it"));
}
