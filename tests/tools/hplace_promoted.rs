//! What-ifs of hplace about clusters with promotable clones. The expected roles are those of crm_simulate on the same
//! cluster without the node.

use std::fs;

use assert_cmd::Command;
use assert_cmd::assert::Assert;
use predicates::prelude::*;
use predicates::str::contains;
use serde_json::{Value, json};

/// A cluster of three nodes whose promoted instance moves from n1 to n2, and then stays there.
fn cluster() -> String {
    fs::read_to_string("tests/fixtures/pacemaker/promoted/promotion-moves.xml").unwrap()
}

fn hplace(words: &[&str], document: &str) -> Assert {
    let mut command = Command::new(env!("CARGO_BIN_EXE_htools"));
    command.env_remove("HTOOLS").args(["hplace", "-x", "-"]).args(words).write_stdin(document).assert()
}

/// The cluster in which only the agent on n2 asks to be promoted.
fn with_one_candidate() -> String {
    let document = cluster();
    let others = [10, 30].map(|score| format!(r#"name="master-p" value="{score}""#));
    others.iter().fold(document, |text, other| text.replace(other, r#"name="other" value="1""#))
}

fn is_valid(document: &Value) -> bool {
    let schema = fs::read_to_string("docs/schema/htools.survival-1.json").unwrap();
    let schema: Value = serde_json::from_str(&schema).unwrap();
    jsonschema::draft202012::is_valid(&schema, document)
}

#[test]
fn a_lost_promoted_role_goes_to_another_node() {
    let survive = hplace(&["survive"], &cluster()).code(0);
    survive.stdout(
        contains("something stays down after 0 of them").and(
            contains("Lost Down Restarted Moved Promoted Stays down\nn2      0         1     0        1 -\n")
                .and(contains("\nWithout n2, Pacemaker promotes c on n3\n")),
        ),
    );
    let document = hplace(&["survive", "--json"], &cluster()).code(0).get_output().stdout.clone();
    let document: Value = serde_json::from_slice(&document).unwrap();
    assert!(is_valid(&document), "{document}");
    assert_eq!(
        (&document["losses"][0]["nodes"], &document["losses"][0]["promoted"]),
        (&json!(["n2"]), &json!(["p:1"]))
    );
    assert_eq!(document["losses"][0]["targets"]["p:1"], json!("n3"));
}

#[test]
fn a_role_without_another_candidate_is_lost() {
    let text =
        "\n  c, priority 0: nothing is promoted: no instance that runs has a promotion score of at least 0\n";
    let row = "n2      1         0     0        0 b, c (promoted role)\n";
    hplace(&["survive"], &with_one_candidate()).code(2).stdout(contains(text).and(contains(row)));
    hplace(&["survive", "--priority", "1"], &with_one_candidate()).code(0).stdout(contains(row));
    let document = hplace(&["survive", "--json"], &with_one_candidate()).code(2).get_output().stdout.clone();
    let document: Value = serde_json::from_slice(&document).unwrap();
    assert!(is_valid(&document), "{document}");
    assert_eq!(document["losses"][0]["without_promoted"], json!([{"id": "c", "priority": 0}]));
}

/// A recorded cluster.
fn recorded(name: &str) -> String {
    fs::read_to_string(format!("tests/fixtures/pacemaker/promoted/{name}.xml")).unwrap()
}

#[test]
fn a_promoted_role_leaves_with_its_file_system_and_address() {
    let plan = "drbd:0   alice -   demote, stop\ndrbd:1   bob   bob promote\nfs       alice bob move\nip       alice bob move\n";
    let evacuation = hplace(&["evacuate", "alice"], &recorded("drbd-pair")).code(0);
    evacuation.stdout(contains(plan).and(contains(". promote drbd:1 on bob\n")));
    // Nothing is left to do afterwards.
    let again = hplace(&["evacuate", "alice", "--undo"], &recorded("drbd-pair-after-evacuation")).code(0);
    again.stdout(contains("drbd:0   bob bob   -\n").and(contains("promote").not()));
    // An unpromoted instance stops, and the role stays.
    let evacuation = hplace(&["evacuate", "bob"], &recorded("drbd-pair")).code(0);
    evacuation.stdout(contains("drbd:1   bob   -     stop\n").and(contains("promote").not()));
}

/// The location that brings the role to db2, in the words of each program.
#[test]
fn the_promoted_role_is_sent_to_another_node() {
    let cluster = recorded("no-room-for-the-database");
    let commands = |form: &str| {
        let output = hplace(&["optimal", "--commands", form], &cluster).code(0).get_output().stdout.clone();
        String::from_utf8(output).unwrap()
    };
    for (form, words) in [
        (
            "cib",
            r#"<rsc_location id="hplace-disk-clone-promoted" rsc="disk-clone" role="Promoted" node="db2" score="INFINITY"/>"#,
        ),
        (
            "pcs",
            "constraint location disk-clone rule constraint-id=hplace-disk-clone-promoted role=Promoted score=INFINITY '#uname' eq db2\n",
        ),
        ("crmsh", "location hplace-disk-clone-promoted disk-clone rule $role=Promoted inf: #uname eq db2\n"),
        ("crm_resource", "crm_resource --move -r disk-clone -N db2 --promoted\n"),
    ] {
        let commands = commands(form);
        assert!(commands.contains(words), "{form}: {commands}");
        assert!(!commands.contains("-db "), "{form}: {commands}");
    }
}

/// The reasons of a best placement name its choice of the promoted instance.
#[test]
fn a_chosen_promotion_is_explained() {
    let cluster = recorded("no-room-for-the-database");
    let explained = hplace(&["optimal", "--explain"], &cluster).code(0);
    explained.stdout(
        contains("It is promoted; promotion score INFINITY on db2: ")
            .and(contains("INFINITY the best placement")),
    );
    hplace(&["optimal", "--json"], &cluster).code(0);
}

#[test]
fn normalized_input_has_roles() {
    let document = hplace(&["--show-normalized"], &recorded("redis")).code(0).get_output().stdout.clone();
    let document: Value = serde_json::from_slice(&document).unwrap();
    let schema = fs::read_to_string("docs/schema/htools.normalized-1.json").unwrap();
    let schema: Value = serde_json::from_str(&schema).unwrap();
    assert!(jsonschema::draft202012::is_valid(&schema, &document), "{document}");
    assert_eq!(document["promotable"][0]["promoted_max"], json!(1));
    assert_eq!(document["resources"][1]["promotion_wishes"], json!({"cache2": 100}));
    assert_eq!(document["locations"][0]["role"], json!("Promoted"));
    assert_eq!(document["colocations"][0]["with_role"], json!("Promoted"));
    assert_eq!(document["orders"][0]["first_action"], json!("promote"));
}

/// The tools for nodes and instances leave alone what would take the promoted role along.
#[test]
fn other_tools_know_roles() {
    let run = |tool: &str, words: &[&str], document: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_htools"));
        command.env_remove("HTOOLS").args([tool, "-x", "-"]).args(words).write_stdin(document).assert()
    };
    let stay = "4 of 4 running resources stay where they are: 2 in a clone, 1 in a colocation that must hold, 1 with a role of a clone\n";
    run("hbal", &["-C", "-v"], &recorded("drbd-pair")).code(0).stderr(contains(stay));
    run("hcheck", &[], &recorded("drbd-pair")).code(0);
    let few = ["-C", "--target-resources=0.1", "--minimal-resources=0", "--no-capacity-checks"];
    let squeezed = run("hsqueeze", &few, &recorded("redis")).code(0);
    squeezed.stdout(contains("'Nodes to offline'\ncache1\ncache3\n").and(contains("demoted").not()));
    // Without the address, nothing holds the promoted instance where it is.
    let bare = recorded("redis").replace(r#"redis-ip_start_0" operation="start""#, r#"x" operation="stop""#);
    let squeezed = run("hsqueeze", &few, &bare).code(0);
    squeezed.stdout(contains("Commands to run:\n# redis is demoted on cache2 and promoted on cache1\n"));
}
