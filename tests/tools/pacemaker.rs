//! The tools that work with nodes and instances, on Pacemaker clusters.

use std::fs;

use assert_cmd::Command;
use assert_cmd::assert::Assert;
use predicates::prelude::*;
use predicates::str::{contains, is_empty, starts_with};
use serde_json::Value;

const SIX: &str = "data/pacemaker-six-nodes.xml";

fn run(tool: &str, words: &[&str]) -> Assert {
    let mut command = Command::new(env!("CARGO_BIN_EXE_htools"));
    command.env_remove("HTOOLS").arg(tool).args(words).assert()
}

/// A run with this document on standard input.
fn fed(tool: &str, words: &[&str], document: impl Into<Vec<u8>>) -> Assert {
    let mut command = Command::new(env!("CARGO_BIN_EXE_htools"));
    let command = command.env_remove("HTOOLS").args([tool, "-x", "-"]).args(words);
    command.write_stdin(document).assert()
}

#[test]
fn hbal_says_what_it_moves_and_what_stays() {
    let stays = "9 of 11 running resources stay where they are: 3 on a node that is not available, ";
    let moves = "    1. build1 epsilon         => zeta";
    let done = run("hbal", &["-x", SIX, "-C"]).code(0).stderr(starts_with(stays));
    done.stdout(
        contains(moves)
            .and(contains(r#"<rsc_location id="hplace-build1" rsc="build1" node="zeta" score="INFINITY"/>"#)),
    );
    run("hbal", &["-x", SIX, "-q"]).code(0).stderr(is_empty());
    let script = tempfile::tempdir().unwrap();
    let script = script.path().join("script").to_string_lossy().into_owned();
    run("hbal", &["-x", SIX, &format!("-C{script}")]).code(0).stdout(contains(&script));
}

#[test]
fn nothing_is_planned_without_quorum() {
    let document = fs::read_to_string(SIX).unwrap().replacen(r#"have-quorum="1""#, r#"have-quorum="0""#, 1);
    for tool in ["hbal", "hspace", "hsqueeze", "hcheck"] {
        fed(tool, &[], document.as_str())
            .code(1)
            .stdout("")
            .stderr(contains("Error: the cluster has no quorum"));
    }
}

#[test]
fn metrics_are_labelled_with_the_name_of_the_file() {
    let directory = tempfile::tempdir().unwrap();
    for tool in ["hbal", "hspace", "hsqueeze", "hcheck"] {
        let file = directory.path().join(tool);
        run(tool, &["-x", "data/pacemaker-vms.xml", "--metrics", file.to_str().unwrap()]);
        assert!(fs::read_to_string(file).unwrap().contains(r#"cluster="pacemaker-vms""#), "{tool}");
    }
}

#[test]
fn documents_have_commands_for_pacemaker() {
    let output = run("hbal", &["-x", SIX, "--json"]).code(0).get_output().stdout.clone();
    let document: Value = serde_json::from_slice(&output).unwrap();
    let commands = &document["steps"][0]["commands"];
    assert_eq!(commands, &serde_json::json!(["crm_resource --move -r build1 -N zeta"]));
}

#[test]
fn commands_are_for_the_program_that_is_named() {
    for (form, first) in [
        ("cib", "cibadmin -M -o constraints --allow-create --xml-pipe <<'END'\n<constraints>\n"),
        ("pcs", "pcs cluster cib hplace-before.xml\n"),
        ("crmsh", "crm configure <<'END'\nlocation hplace-"),
        ("crm_resource", "crm_resource --move -r "),
    ] {
        let heading = "Commands to run to reach the above solution:\n";
        let done = run("hbal", &["-x", SIX, "-C", "--commands", form]).code(0);
        done.stdout(contains(format!("{heading}{first}")));
        let output =
            run("hbal", &["-x", SIX, "--json", "--commands", form]).code(0).get_output().stdout.clone();
        let document: Value = serde_json::from_slice(&output).unwrap();
        let commands = document["steps"][0]["commands"].as_array().unwrap();
        // The command is complete, however many lines it has.
        assert_eq!(commands.len(), 1);
        assert!(format!("{}\n", commands[0].as_str().unwrap()).starts_with(first), "{commands:?}");
    }
    let vms = "data/pacemaker-vms.xml";
    let words = ["--no-capacity-checks", "--target-resources=0.25", "--minimal-resources=0"];
    let away = run("hsqueeze", &[&["-x", vms, "-C", "--commands=pcs"], &words[..]].concat()).code(0);
    away.stdout(contains("\npcs node standby node4\n").and(contains("\n# pcs node unstandby node4\n")));
    let needs = contains("option --commands needs -C or --json");
    run("hbal", &["-x", SIX, "--commands", "pcs"]).code(1).stdout(is_empty()).stderr(needs);
    let ganeti = run("hbal", &["-t", "data/unbalanced-drbd.data", "-C", "--commands", "pcs"]);
    ganeti
        .code(1)
        .stdout(is_empty())
        .stderr(contains("option --commands applies only to Pacemaker clusters"));
}

/// The number of further resources is exactly the same in both tools.
#[test]
fn hspace_agrees_with_hplace_fit() {
    let vms = "data/pacemaker-vms.xml";
    for (cpus, memory, count) in [(2, 4096, 25), (1, 1024, 51), (24, 49152, 1), (24, 49153, 0)] {
        let size = format!("--standard-alloc=0,{memory},{cpus}");
        let allocated = format!("\n  - {count:>3} instances allocated\n");
        run("hspace", &["-x", vms, &size, "--no-capacity-checks"]).code(0).stdout(contains(allocated));
        let fit = run("hplace", &["fit", "-x", vms, &format!("cpu={cpus},hv_memory={memory}")]);
        fit.stdout(contains(format!(": {count} more with cpu={cpus}")));
    }
}

/// Resources that need nothing fit in any number; with `-l`, the search ends there.
#[test]
fn hspace_refuses_to_count_without_end() {
    let cib = "tests/fixtures/pacemaker/promoted/drbd-pair.xml";
    let hint = "\nHint: give sizes with --tiered-alloc and --standard-alloc, or a number with -l\n";
    let said =
        contains("any number of resources fits if they need neither memory nor CPUs").and(contains(hint));
    run("hspace", &["-x", cib]).code(1).stdout(is_empty()).stderr(said);
    run("hspace", &["-x", cib, "-l", "5"]).code(0).stdout(contains("\n  -   5 instances allocated\n"));
}

/// If a loss is not survived already, nothing more fits, and one line says so.
#[test]
fn what_does_not_survive_takes_no_more() {
    let fit = run("hplace", &["fit", "-x", "data/pacemaker-small.xml", "cpu=1", "--survive", "1"]);
    fit.stdout(starts_with(
        "Strategy balanced: 0 more with cpu=1 fit: even now the loss of a node leaves something down (hplace survive tells which)\n\n",
    ));
}

#[test]
fn hsqueeze_puts_nodes_in_standby_and_takes_them_out() {
    let vms = fs::read_to_string("data/pacemaker-vms.xml").unwrap();
    let standby = r#"uname="node4"><instance_attributes id="i4"><nvpair id="i4-s" name="standby" value="on"/></instance_attributes>"#;
    let back = fed("hsqueeze", &["-C", "--minimal-resources=3"], vms.replace(r#"uname="node4">"#, standby));
    back.code(0).stdout(
        starts_with("'Nodes to online'\nnode4\n")
            .and(contains("\ncrm_attribute --name standby --node node4 --delete\n")),
    );
    let words = ["-C", "--no-capacity-checks", "--target-resources=0.25", "--minimal-resources=0"];
    let away = fed("hsqueeze", &words, vms.as_str()).code(0);
    away.stdout(starts_with("'Nodes to offline'\nnode4\n"));
    // With restarts, more nodes can be emptied. Moved resources are pinned first.
    let more = fed("hsqueeze", &[&words[..], &["--allow-restarts"]].concat(), vms.as_str()).code(0);
    let output = String::from_utf8(more.get_output().stdout.clone()).unwrap();
    let position = |text: &str| output.find(text).unwrap_or_else(|| panic!("{text}: {output}"));
    assert!(position("<rsc_location ") < position("crm_attribute --name standby --node "));
    // The document has exactly the same commands.
    let document = fed("hsqueeze", &[&words[1..], &["--allow-restarts", "--json"]].concat(), vms.as_str());
    let document: Value = serde_json::from_slice(&document.code(0).get_output().stdout).unwrap();
    let group = &document["groups"][0];
    let commands: Vec<&str> =
        group["commands"].as_array().unwrap().iter().map(|line| line.as_str().unwrap()).collect();
    let (script, _) = output.split_once("\n# To take it back:").unwrap();
    let (_, script) = script.split_once("Commands to run:\n").unwrap();
    assert_eq!(commands.join("\n"), script);
    assert_eq!(group["steps"][0]["commands"][0], "crm_resource --move -r web2 -N node3");
}

#[test]
fn options_of_ganeti_are_refused() {
    for (tool, option) in [
        ("hbal", "--ignore-soft-errors"),
        ("hbal", "--max-cpu=2"),
        ("hbal", "-Oalpha"),
        ("hbal", "--evacuate=alpha"),
        ("hbal", "--repair-only"),
        ("hbal", "-Sstate"),
        ("hbal", "--save-plan=plan"),
        ("hspace", "--disk-template=drbd"),
        ("hcheck", "--without-node=alpha"),
        ("hcheck", "--survive=1"),
        ("hsqueeze", "--ignore-soft-errors"),
        ("hsqueeze", "--standby-data=x"),
        ("hroller", "--mark=offline"),
        ("hroller", "--reboot-by=oob"),
        ("hroller", "--node-tags=a"),
        ("hroller", "-Sstate"),
    ] {
        let refused = "does not apply to Pacemaker clusters\n";
        run(tool, &["-x", SIX, option]).code(1).stdout("").stderr(contains(refused));
    }
    for tool in ["hbal", "hspace", "hsqueeze", "hcheck", "hroller"] {
        let both = run(tool, &["-x", SIX, "-tdata/small.data"]).code(1).stdout("");
        both.stderr(contains("only one cluster can be named"));
        let alone = run(tool, &["-tdata/offline-nodes.data", "--skip-unsupported"]).code(1).stdout("");
        alone.stderr(contains("option --skip-unsupported applies only to Pacemaker clusters"));
    }
    for tool in ["hbal", "hsqueeze"] {
        let exec = run(tool, &["-x", SIX, "-X"]).code(1).stdout("");
        exec.stderr(contains("option --exec needs a live cluster"));
    }
}

#[test]
fn hostile_documents_are_one_line() {
    let one_line = || {
        predicate::function(|text: &str| text.lines().filter(|line| !line.starts_with("Hint: ")).count() == 1)
    };
    for tool in ["hbal", "hspace", "hsqueeze", "hcheck"] {
        for document in ["", "<nodes/>", "<cib>\0</cib>", "<!DOCTYPE a [<!ENTITY b \"c\">]><cib>&b;</cib>"] {
            fed(tool, &[], document).code(1).stdout("").stderr(starts_with("Error: ").and(one_line()));
        }
    }
}

#[test]
fn what_is_beyond_is_refused_in_the_words_of_hplace() {
    let six = fs::read_to_string(SIX).unwrap();
    let bundle = six.replace(r#"<primitive id="mail""#, r#"<bundle id="copies"><primitive id="mail""#);
    let bundle = bundle.replacen(
        "</primitive>\n      <primitive id=\"build1\"",
        "</primitive></bundle>\n      <primitive id=\"build1\"",
        1,
    );
    let named = "Unsupported: bundle 'copies': ";
    fed("hbal", &[], bundle.as_str())
        .code(1)
        .stdout("")
        .stderr(starts_with(named).and(contains("--skip-unsupported")));
    let left = fed("hbal", &["--skip-unsupported"], bundle.as_str()).code(0);
    left.stderr(starts_with(named).and(contains("1 unsupported")));
}

#[test]
fn hroller_says_which_nodes_can_be_in_standby_together() {
    let vms = "data/pacemaker-vms.xml";
    let plan = run("hroller", &["-x", vms, "--print-moves"]).code(0).stderr(is_empty());
    plan.stdout(
        starts_with("'Node Reboot Groups'\nnode2\n  ci1 node4\n").and(contains("\nnode1\n  db1 node3\n")),
    );
    // Remote nodes and nodes without a place for their resources are named.
    run("hroller", &["-x", "data/pacemaker-small.xml"])
        .code(0)
        .stdout("'Node Reboot Groups'\nnode1\n")
        .stderr(contains("two_node").and(contains("node2 is left out: rsc-medium would stop")));
    let commands = run("hroller", &["-x", vms, "--one-step-only", "-C", "--commands=pcs"]).code(0);
    commands.stdout(contains("pcs node standby node2\n").and(contains("pcs node unstandby node2\n")));
    let needs_live = contains("option --exec needs a live cluster");
    run("hroller", &["-x", vms, "-X", "--node-command=true"]).code(1).stderr(needs_live);
    let needs_way = contains("--exec needs a way to maintain the nodes");
    run("hroller", &["--live", "-X"]).code(1).stderr(needs_way);
}

/// Nodes that are in standby are planned, and stay in standby; others are left out.
#[test]
fn hroller_on_nodes_that_are_not_in_use() {
    let text = fs::read_to_string("data/pacemaker-vms.xml").unwrap();
    let with = |name: &str| {
        let pair = format!(
            r#"<instance_attributes id="x-i"><nvpair id="x" name="{name}" value="true"/></instance_attributes></node>"#
        );
        let at = text.find(r#"uname="node2""#).unwrap();
        let end = at + text[at..].find("</node>").unwrap();
        format!("{}{pair}{}", &text[..end], &text[end + "</node>".len()..])
    };
    let standby = fed("hroller", &["-C"], with("standby")).code(0);
    standby.stdout(contains("# Group 1: node2\ncrm_resource --wait\n").and(contains("node2 --delete").not()));
    fed("hroller", &[], with("maintenance"))
        .code(0)
        .stderr(contains("Warning: node2 is left out: it is in maintenance mode"));
}
