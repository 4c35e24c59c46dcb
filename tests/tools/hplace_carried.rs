//! hplace changes a simulated cluster, which consists of a few documents and of programs that return them.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use assert_cmd::Command;
use assert_cmd::assert::Assert;
use predicates::prelude::*;
use predicates::str::{contains, starts_with};

const SMALL: &str = "data/pacemaker-small.xml";
/// The constraint for the placement of the strategy utilization in a cluster with the strategy balanced.
const PIN: &str = r#"<constraints><rsc_location id="hplace-rsc-small" rsc="rsc-small" node="node1" score="INFINITY"/></constraints>"#;

/// A cluster made of files: its present state, its state after the change, and its final state at rest.
struct PaperCluster(tempfile::TempDir);

impl PaperCluster {
    fn new() -> PaperCluster {
        let cluster = PaperCluster(tempfile::tempdir().unwrap());
        let small = fs::read_to_string(SMALL).unwrap();
        cluster.write("now", &small);
        let pinned = small.replace("<constraints/>", PIN);
        cluster.write("changed", &pinned);
        // The starts of rsc-small on the first node and rsc-medium on the second, by their positions in the document.
        cluster.write("rested", &started(&pinned, &[1, 5]));
        cluster.program("cibadmin", r#"[ "$1" = -Q ] || { cat >"$D/input"; echo "$*" >>"$D/calls"; cp "$D/changed" "$D/now"; }; cat "$D/now""#);
        cluster.program("crm_resource", r#"echo "$*" >>"$D/calls"; cp "$D/rested" "$D/now""#);
        cluster.program("crm_attribute", r#"echo "$*" >>"$D/calls""#);
        cluster.program("crm_simulate", r#"cp "$D/rested" "${6}""#);
        cluster
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    fn program(&self, name: &str, script: &str) {
        let directory = self.0.path().display();
        self.write(name, &format!("#!/bin/sh\nD={directory}\nPATH=/usr/bin:/bin\n{script}\n"));
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn calls(&self) -> String {
        fs::read_to_string(self.path("calls")).unwrap_or_default()
    }

    fn run(&self, words: &[&str]) -> Assert {
        let mut command = Command::new(env!("CARGO_BIN_EXE_htools"));
        command.env_clear().env("PATH", self.0.path()).env("HOME", self.0.path());
        command.arg("hplace").args(words).assert()
    }

    /// Executes the placement of the strategy utilization.
    fn bring(&self, words: &[&str]) -> Assert {
        let journal = self.path("journal");
        let all = ["--live", "-X", "--strategy=utilization", "--journal", journal.to_str().unwrap()];
        self.run(&[&all, words].concat())
    }
}

/// A document in which these operations, counted from 1, were starts.
fn started(text: &str, which: &[usize]) -> String {
    let parts = text.split("<lrm_rsc_op").enumerate().map(|(at, part)| match which.contains(&at) {
        true => part
            .replace(r#"operation="monitor""#, r#"operation="start""#)
            .replace(r#"rc-code="7""#, r#"rc-code="0""#)
            .replace(":7:", ":0:"),
        false => part.to_owned(),
    });
    parts.collect::<Vec<_>>().join("<lrm_rsc_op")
}

#[test]
fn a_placement_is_brought_about() {
    let cluster = PaperCluster::new();
    cluster
        .bring(&[])
        .code(2)
        .stdout(contains("Pacemaker comes there with 1 constraint:\n  hplace-rsc-small: rsc-small on node1\n"))
        .stderr(contains("Step 1 of 3: set 1 constraint\nStep 2 of 3: wait until the cluster is at rest\nStep 3 of 3: compare where resources run with the plan\nDone: "));
    let calls = "-M -o constraints --allow-create --xml-pipe\n--wait --timeout 3\n";
    assert_eq!(cluster.calls(), calls);
    assert_eq!(fs::read_to_string(cluster.path("input")).unwrap(), PIN);
    // The placement is reached already.
    cluster.run(&["--live", "-X", "--strategy=utilization"]).code(2).stdout(contains("by itself"));
    let journal = cluster.path("journal");
    let again = cluster.run(&["--resume", journal.to_str().unwrap()]);
    again.code(2).stderr("All 3 steps were done before\n");
    assert_eq!(cluster.calls(), calls);
}

#[test]
fn nothing_is_changed_where_the_end_is_not_sure() {
    // Nothing holds the result.
    let cluster = PaperCluster::new();
    let why = "Error: option --no-keep: without the constraints, Pacemaker would move these resources again: rsc-small\nHint: ";
    cluster.bring(&["--no-keep"]).code(1).stderr(starts_with(why));
    // Pacemaker's own simulation has a different result.
    cluster.program("crm_simulate", r#"cp "$D/now" "$6""#);
    let why = "Error: nothing was changed: crm_simulate predicts another result: rsc-medium is stopped, not on node2\n";
    cluster.bring(&[]).code(1).stderr(why);
    cluster.program("crm_simulate", "echo no such thing >&2; exit 1");
    let why = "Error: crm_simulate -S failed: exit status: 1: no such thing\n";
    cluster.bring(&[]).code(1).stderr(why);
    assert!(cluster.calls().is_empty() && !cluster.path("journal").exists());
    // Without crm_simulate, a message replaces the check.
    fs::remove_file(cluster.path("crm_simulate")).unwrap();
    cluster
        .bring(&[])
        .code(2)
        .stderr(starts_with("crm_simulate is not installed, so it did not check the plan.\n"));
}

#[test]
fn an_end_that_was_not_planned_is_told_and_the_run_can_go_on() {
    let cluster = PaperCluster::new();
    let good = fs::read_to_string(cluster.path("rested")).unwrap();
    cluster.program("crm_resource", r#"cp "$D/failed" "$D/now""#);
    cluster.write("failed", &started(&fs::read_to_string(cluster.path("changed")).unwrap(), &[5]));
    cluster
        .bring(&[])
        .code(1)
        .stderr(contains("step 3 of 3, compare where resources run with the plan: rsc-small is stopped, not on node1\nHint: \"Set 1 constraint\" was done; hplace --undo undoes it; hplace --resume "));
    cluster.write("now", &good);
    let journal = cluster.path("journal");
    let resume = ["--resume", journal.to_str().unwrap()];
    cluster.run(&resume).code(2).stderr(starts_with("Step 3 of 3: ").and(contains("Done: ")));
    // A journal that does not fit.
    cluster.write("now", &good.replace("node2", "node3"));
    cluster.run(&resume).code(1).stderr(contains(
        "the journal belongs to the cluster of nodes node1,node2; this cluster has the nodes node1,node3",
    ));
    cluster.write("journal", "{} 0\n");
    cluster.run(&resume).code(1).stderr(contains("line 1: the check sum is wrong"));
}

#[test]
fn what_was_set_is_taken_away() {
    let cluster = PaperCluster::new();
    let nothing = "There are no constraints of hplace's in this cluster.\n";
    cluster.run(&["--live", "--undo"]).code(0).stdout(nothing);
    let changed = fs::read_to_string(cluster.path("changed")).unwrap();
    cluster.write("now", &changed);
    cluster
        .run(&["--live", "--undo"])
        .code(2)
        .stdout(contains("rsc-small  -   node2 start\n").and(contains("Transition of 2 actions:\n")));
    cluster
        .run(&["--live", "--undo", "--commands=crmsh"])
        .code(2)
        .stdout(starts_with("crm configure delete hplace-rsc-small\ncrm_resource --wait\n"));
    let bare = fs::read_to_string(SMALL).unwrap();
    cluster.write("changed", &bare);
    cluster.write("rested", &started(&bare, &[4, 5]));
    cluster
        .run(&["--live", "--undo", "-X"])
        .code(2)
        .stderr(contains("Step 1 of 3: take 1 constraint away\n"));
    let delete = "--delete-all --force --xpath //rsc_location[@id='hplace-rsc-small']\n";
    assert!(cluster.calls().starts_with(delete), "{}", cluster.calls());
}

/// The document of a cluster after resources were moved to the last node in its status, which runs nothing.
fn moved_to_last(text: &str, resources: &[&str]) -> String {
    let mut text = text.to_owned();
    for resource in resources {
        let from = text.find(&format!(r#"<lrm_resource id="{resource}""#)).unwrap();
        let to = from + text[from..].find("</lrm_resource>").unwrap() + "</lrm_resource>".len();
        let element = text[from..to].to_owned();
        text.replace_range(from..to, "");
        let end = text.rfind("</lrm_resources>").unwrap();
        text.insert_str(end, &element);
    }
    text
}

/// hbal has its plan executed in the same way, after showing it.
#[test]
fn a_balanced_placement_is_brought_about() {
    let cluster = PaperCluster::new();
    let vms = fs::read_to_string("data/pacemaker-vms.xml").unwrap();
    let moved = ["web1", "ci1", "git"];
    let pin = |name: &str| {
        format!(r#"<rsc_location id="hplace-{name}" rsc="{name}" node="node4" score="INFINITY"/>"#)
    };
    let pins = moved.map(pin).concat();
    let changed = vms.replace("</constraints>", &format!("{pins}</constraints>"));
    cluster.write("now", &vms);
    cluster.write("changed", &changed);
    cluster.write("rested", &moved_to_last(&changed, &moved));
    let run = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_htools"));
        command.env_clear().env("PATH", cluster.0.path()).env("HOME", cluster.0.path());
        command.arg("hbal").args(words).assert()
    };
    run(&["-x", "data/pacemaker-vms.xml", "-X"]).code(1).stdout("").stderr(contains("--live"));
    run(&["--live", "-X", "--json"])
        .code(1)
        .stdout("")
        .stderr(contains("options --json and --exec exclude each other"));
    run(&["--live", "-X", "--resume=j"]).code(1).stdout("").stderr(contains("hplace --resume JOURNAL"));
    run(&["--live"]).code(0).stdout(contains("3. ci1 "));
    assert_eq!(cluster.calls(), "");
    let journal = cluster.path("journal");
    let done = run(&["--live", "-X", "--journal", journal.to_str().unwrap()]).code(0);
    done.stdout(contains("Solution length=3\n").and(contains("Pacemaker comes there with 3 constraints:\n")))
        .stderr(contains("Step 3 of 3: compare where resources run with the plan\nDone: "));
    assert_eq!(
        fs::read_to_string(cluster.path("input")).unwrap(),
        format!("<constraints>{pins}</constraints>")
    );
    let again = cluster.run(&["--resume", journal.to_str().unwrap()]);
    again.code(0).stderr("All 3 steps were done before\n");
    // There is nothing left to do.
    run(&["--live", "-X"]).code(0).stdout(contains("Solution length=0\n"));
}

#[test]
fn a_node_in_standby() {
    let file = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_htools"));
        command.env_remove("HTOOLS").args(["hplace", "-x", SMALL]).args(words).assert()
    };
    let rows = "node2 standby 4 of 4 free 4096 of 4096 free\n";
    file(&["evacuate", "node2"]).code(2).stdout(contains(rows));
    file(&["evacuate", "node2", "--json"]).code(2).stdout(contains(r#""transition""#));
    file(&["evacuate", "node2", "--commands=pcs"]).code(2).stdout(starts_with("pcs node standby node2\n"));
    file(&["evacuate", "node9"])
        .code(1)
        .stderr("Error: data/pacemaker-small.xml: there is no node 'node9', did you mean 'node1'?\n");
    file(&["evacuate", "--undo", "node2"]).code(1).stderr("Error: node2 is not in standby\n");
    for (words, problem) in [
        (&["-X"][..], "option --exec needs a live cluster"),
        (&["--no-keep"], "option --no-keep needs --exec"),
        (
            &["evacuate", "node2", "--strategy=minimal"],
            "option --strategy does not apply to `hplace evacuate'",
        ),
        (&["--commands=cib", "--json"], "options --commands and --json exclude each other"),
        (&["--live", "-X", "--json", "--undo"], "exclude each other"),
        (&["survive", "-X"], "Hint: --exec belongs to `hplace', `hplace evacuate', `hplace optimal'"),
    ] {
        file(words).stderr(contains(problem)).failure();
    }
}

/// A change that would make Pacemaker wait for itself for ever is not made.
#[test]
fn a_circle_of_orders_is_not_walked_into() {
    let cluster = PaperCluster::new();
    let orders = r#"<constraints><rsc_order id="a" first="rsc-small" then="rsc-medium"/><rsc_order id="b" first="rsc-medium" then="rsc-small"/></constraints>"#;
    cluster.write("now", &fs::read_to_string(SMALL).unwrap().replace("<constraints/>", orders));
    let refused = contains(
        "nothing was changed: rsc-small, rsc-medium wait for each other in a circle (order a, order b), so Pacemaker would never finish",
    );
    cluster.run(&["--live", "evacuate", "node1", "-X", "--yes"]).code(1).stderr(refused);
    assert_eq!(cluster.calls(), "");
}

/// A recorded cluster with a promotable clone.
fn promoted(name: &str) -> String {
    fs::read_to_string(format!("tests/fixtures/pacemaker/promoted/{name}.xml")).unwrap()
}

/// The promoted role leaves a node with the file system and the address that need it.
#[test]
fn a_promoted_role_is_moved_and_compared() {
    let cluster = PaperCluster::new();
    cluster.write("now", &promoted("drbd-pair"));
    cluster.write("changed", &promoted("drbd-pair-evacuated"));
    cluster.write("rested", &promoted("drbd-pair-after-evacuation"));
    cluster.program("crm_attribute", r#"echo "$*" >>"$D/calls"; cp "$D/changed" "$D/now""#);
    let journal = cluster.path("journal");
    let evacuate = |journal: &str| cluster.run(&["--live", "-X", "--journal", journal, "evacuate", "alice"]);
    // Pacemaker's own simulation leaves the role where it is.
    cluster.program("crm_simulate", r#"cp "$D/now" "$6""#);
    let why = "Error: nothing was changed: crm_simulate predicts another result: drbd is on alice (promoted), bob, not on bob (promoted)\n";
    evacuate(journal.to_str().unwrap()).code(1).stderr(why);
    cluster.program("crm_simulate", r#"cp "$D/rested" "$6""#);
    evacuate(journal.to_str().unwrap())
        .code(0)
        .stdout(contains("drbd:0   alice -   demote, stop\n").and(contains("promote drbd:1 on bob")))
        .stderr(contains("Step 1 of 3: put alice in standby\n").and(contains("Done: ")));
    assert_eq!(cluster.calls(), "--name=standby --node=alice --update=on\n--wait --timeout 3\n");
    // All resources run where they should, but none is promoted.
    let demoted = promoted("drbd-pair-after-evacuation")
        .replace(r#"drbd_promote_0" operation="promote""#, r#"drbd_start_0" operation="start""#);
    cluster.write("now", &promoted("drbd-pair"));
    cluster.program("crm_resource", r#"cp "$D/demoted" "$D/now""#);
    cluster.write("demoted", &demoted);
    let second = cluster.path("second");
    let why = "compare where resources run with the plan: drbd is on bob, not on bob (promoted)\n";
    evacuate(second.to_str().unwrap()).code(1).stderr(contains(why));
}

/// A location for the role is set, and taken away.
#[test]
fn a_constraint_sends_the_promoted_role() {
    let cluster = PaperCluster::new();
    let now = promoted("no-room-for-the-database");
    let pin = r#"<rsc_location id="hplace-disk-clone-promoted" rsc="disk-clone" role="Promoted" node="db2" score="INFINITY"/>"#;
    let changed = now.replace("</constraints>", &format!("{pin}</constraints>"));
    let rested = changed
        .replace(r#"disk_start_0" operation="start""#, r#"disk_promote_0" operation="promoted""#)
        .replace(r#"disk_promote_0" operation="promote""#, r#"disk_demote_0" operation="demote""#)
        .replace(r#"operation="promoted""#, r#"operation="promote""#);
    cluster.write("now", &now);
    cluster.write("changed", &changed);
    cluster.write("rested", &started(&rested, &[4]));
    let journal = cluster.path("journal");
    cluster
        .run(&["optimal", "--live", "-X", "--journal", journal.to_str().unwrap()])
        .code(0)
        .stdout(contains("with 1 constraint:\n  hplace-disk-clone-promoted: disk-clone promoted on db2\n"))
        .stderr(contains("Done: "));
    let input = fs::read_to_string(cluster.path("input")).unwrap();
    assert_eq!(input, format!("<constraints>{pin}</constraints>"));
    let undo = cluster.run(&["--live", "--undo", "--commands=pcs"]).code(0);
    undo.stdout(starts_with("pcs constraint delete hplace-disk-clone-promoted\n"));
    // The shells write a rule.
    let rule = r##"<rsc_location id="hplace-disk-clone-promoted" rsc="disk-clone"><rule id="r" role="Promoted" score="INFINITY" boolean-op="and"><expression id="e" attribute="#uname" operation="eq" value="db2"/></rule></rsc_location>"##;
    cluster.write("now", &now.replace("</constraints>", &format!("{rule}</constraints>")));
    let undo = cluster.run(&["--live", "--undo", "--commands=crmsh"]).code(2);
    undo.stdout(starts_with("crm configure delete hplace-disk-clone-promoted\n"));
}
