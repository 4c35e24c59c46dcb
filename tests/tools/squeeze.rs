//! hsqueeze on files: its own result leaves nothing to do. Also the options shared with hbal.

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use serde_json::Value;

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/squeeze");

/// Standard output and standard error.
fn hsqueeze(file: &Path, words: &[&str]) -> (String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_htools"));
    let run = command.env_remove("HTOOLS").arg("hsqueeze").arg("-t").arg(file).args(words).assert().success();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (text(&run.get_output().stdout), text(&run.get_output().stderr))
}

fn fixture(name: &str) -> std::path::PathBuf {
    Path::new(FIXTURES).join(name)
}

#[test]
fn a_run_on_its_own_result_does_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let state = directory.path().join("state");
    for name in ["order.data", "mixed.data"] {
        let words = ["--minimal-resources=1", "--target-resources=2"];
        let save = ["-S", state.to_str().unwrap()];
        let first = hsqueeze(&fixture(name), &[&words[..], &save].concat()).0;
        assert!(first.starts_with("'Nodes to offline'\n"), "{first}");
        let squeezed = directory.path().join("state.squeezed");
        let tags = fs::read_to_string(&squeezed).unwrap();
        assert_eq!(
            tags.matches("htools:standby:auto").count(),
            first.lines().skip(1).filter(|l| !l.is_empty()).count()
        );
        assert_eq!(hsqueeze(&squeezed, &words).0, "'No action'\n", "{name}");
    }
}

/// A large node that comes up makes a small one unnecessary. One run switches both, one after the other.
#[test]
fn a_node_that_another_one_makes_needless_goes_in_the_same_run() {
    let reserves = ["--minimal-resources=2", "--target-resources=2", "--no-capacity-checks"];
    let run = |more: &[&str]| hsqueeze(&fixture("swap.data"), &[&reserves[..], more].concat()).0;
    let shown = "'Nodes to online'\nn3\n'Nodes to offline'\nn2\n";
    assert_eq!(run(&[]), shown);
    // Bare names do not show the direction of the switch.
    assert_eq!(run(&["--no-headers"]), "n3\n");
    assert_eq!(
        run(&["-q"]),
        "hsqueeze: would power up 1 node (n3) with 1 move; would power down 1 node (n2) with 1 move\n"
    );
    let commands = run(&["-C"]);
    let order =
        ["on n3", "--offline=no n3", "-n n3 b", "--drained=yes n2", "-n n3 c", "--offline=yes n2", "off n2"];
    let places: Vec<usize> = order.iter().map(|part| commands.find(part).expect(part)).collect();
    assert!(places.is_sorted(), "{commands}");
    let plan: Value = serde_json::from_str(&run(&["--print-plan=json"])).unwrap();
    let first_down = plan["steps"].as_array().unwrap().iter().find(|step| step["task"] == "drain").unwrap();
    assert!(first_down["begin"].as_f64().unwrap() > 200.0, "{first_down}");
    let document: Value = serde_json::from_str(&run(&["--json"])).unwrap();
    let decisions = document["groups"].as_array().unwrap().iter().map(|group| &group["decision"]);
    assert_eq!(decisions.collect::<Vec<_>>(), ["expand", "condense"]);

    let directory = tempfile::tempdir().unwrap();
    let state = directory.path().join("state");
    run(&["-S", state.to_str().unwrap()]);
    assert_eq!(hsqueeze(&directory.path().join("state.squeezed"), &reserves).0, "'No action'\n");
}

/// A node that must come online only for the moves is powered down in the same run, because the next run would do it.
#[test]
fn a_node_that_is_needed_only_for_the_way_goes_again() {
    let words = ["--minimal-resources=2", "--target-resources=3", "--drbd"];
    let run = |more: &[&str]| hsqueeze(&fixture("for-the-way.data"), &[&words[..], more].concat()).0;
    assert_eq!(run(&[]), "'Nodes to online'\nn2\nn5\n'Nodes to offline'\nn2\nn3\n");
    // A switched node stays so for an hour.
    assert_eq!(run(&["--cooldown=3600"]), "'Nodes to online'\nn2\nn5\n");

    let directory = tempfile::tempdir().unwrap();
    let state = directory.path().join("state");
    run(&["-S", state.to_str().unwrap()]);
    assert_eq!(hsqueeze(&directory.path().join("state.squeezed"), &words).0, "'No action'\n");
}

/// `--all` stops instances whose disks exist only on a node to be freed. Each interruption is reported with its
/// length, and the commands, the plan and the document agree.
#[test]
fn with_all_disks_of_one_node_are_copied_while_their_instance_is_stopped() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("cluster.data");
    let nodes =
        ["n1|16384|0|16384|102400|102400|8|M|u|1", "n2|16384|0|15360|102400|96400|8|N|u|1"].join("\n");
    fs::write(&file, format!("g|u|preferred||\n\n{nodes}\n\np|1024|6000|1|running|Y|n2||plain||1\n\n"))
        .unwrap();
    let words = ["--minimal-resources=1", "--target-resources=2", "--no-capacity-checks"];
    let answer = |more: &[&str]| hsqueeze(&file, &[&words[..], more].concat());
    for drbd in [&[][..], &["--drbd"]] {
        assert_eq!(answer(drbd), ("'No action'\n".to_owned(), String::new()));
    }
    let (commands, warned) = answer(&["--all", "-C"]);
    assert!(commands.starts_with("'Nodes to offline'\nn2\n"), "{commands}");
    assert!(commands.contains("  gnt-instance move -f -n n1 p\n"), "{commands}");
    // 60 s to stop and start, 15 s for the copy, 6000 MiB at 60 MiB/s
    let time = "2 min 55 s";
    assert_eq!(
        warned,
        format!(
            "Warning: instance p is stopped while its disks are copied from n2 to n1, for about {time}\n"
        )
    );
    let (plan, _) = answer(&["--all", "--print-plan=text"]);
    assert!(plan.contains(&format!(" p n2 => n1, stopped while its disks are copied, {time}\n")), "{plan}");
    let (line, _) = answer(&["--all", "-q"]);
    assert_eq!(
        line,
        "hsqueeze: would power down 1 node (n2) with 1 move (1 instance is stopped for a copy of its disks)\n"
    );
    let (document, _) = answer(&["--all", "--json"]);
    let document: serde_json::Value = serde_json::from_str(&document).unwrap();
    let step = &document["groups"][0]["steps"][0];
    assert_eq!((&step["move"], &step["notation"]), (&"move-disks".into(), &"m:n1".into()));
    assert_eq!(step["commands"], serde_json::json!(["gnt-instance move -f -n n1 p"]));
    assert_eq!(answer(&["--all", "--exclude-instances=p"]).0, "'No action'\n");
}

/// Load measured by monitoring daemons counts as in hbal.
#[test]
fn measured_load_counts_as_by_hbal() {
    let score = |tool: &str, path: &str, more: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_htools"));
        let command = command.env_remove("HTOOLS").args([tool, "-t", "data/unbalanced-drbd.data", "--json"]);
        let run = command.args(more).assert().success();
        let document: serde_json::Value = serde_json::from_slice(&run.get_output().stdout).unwrap();
        document.pointer(path).and_then(serde_json::Value::as_f64).unwrap()
    };
    let hsqueeze = |more: &[&str]| score("hsqueeze", "/groups/0/initial_score", more);
    let hbal = |more: &[&str]| score("hbal", "/initial_score/total", more);
    let measured = ["--mond", "--mond-data=data/monitoring.json"];
    assert_eq!(hsqueeze(&measured), hbal(&measured));
    assert_ne!(hsqueeze(&measured), hsqueeze(&[]));
    // Nothing is measured if the load does not count.
    assert_eq!(hsqueeze(&["--ignore-dynu"]), hbal(&["--ignore-dynu"]));
}

#[test]
fn equal_reserves_are_warned_about_unless_they_differ() {
    let warns = |words: &[&str]| hsqueeze(&fixture("order.data"), words).1.contains("Warning: ");
    assert!(warns(&[]));
    assert!(warns(&["--minimal-resources=3"]));
    assert!(!warns(&["--minimal-resources=1"]));
}

#[test]
fn instances_are_excluded_kept_apart_and_weighed_as_by_hbal() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("cluster.data");
    let node = |name: &str, role: &str| format!("{name}|16384|0|15360|102400|102400|8|{role}|u|1");
    let nodes = [node("n1", "M"), node("n2", "N"), node("n3", "N")].join("\n");
    let instance = |at: usize| format!("i{at}|1024|1024|1|running|Y|n{at}||ext|svc:a|1");
    let instances: Vec<String> = (1..=3).map(instance).collect();
    fs::write(&file, format!("g|u|preferred||\n\n{nodes}\n\n{}\n\n", instances.join("\n"))).unwrap();
    let words = ["--minimal-resources=1", "--max-nodes=1", "-C"];
    let answer = |more: &[&str]| hsqueeze(&file, &[&words[..], more].concat()).0;
    assert!(answer(&[]).starts_with("'Nodes to offline'\nn3\n"));
    assert!(answer(&["--exclude-instances=i3"]).starts_with("'Nodes to offline'\nn2\n"));
    assert!(answer(&["--exclusion-tags=svc"]).starts_with("'No action'\n"));
    let load = directory.path().join("load");
    let to = |busy: &str| {
        fs::write(&load, format!("{busy} 8 1 1 1\n")).unwrap();
        answer(&["-U", load.to_str().unwrap()])
    };
    assert!(to("i1").contains(" -n n2 i3"), "{}", to("i1"));
    assert!(to("i2").contains(" -n n1 i3"), "{}", to("i2"));
}

/// A copy on the freed node n2 is rebuilt on n1 in either case. n1 also becomes a new primary only without the
/// option.
#[test]
fn with_restricted_migration_no_instance_runs_on_a_new_node() {
    let moves = |more: &[&str]| {
        let words = ["--minimal-resources=1", "--target-resources=1", "--drbd", "-C"];
        let text = hsqueeze(&fixture("mirrored.data"), &[&words[..], more].concat()).0;
        assert!(text.starts_with("'Nodes to offline'\nn2\n"), "{text}");
        assert!(text.contains("gnt-instance replace-disks -n n1 i1\n"), "{text}");
        text.contains("gnt-instance migrate -f i1\n")
    };
    assert!(moves(&[]));
    assert!(!moves(&["--restricted-migration"]));
}

/// With `--proof`, a bound follows the plan, and is in the document. Nothing else changes.
#[test]
fn bound_of_the_nodes_that_stay() {
    let words = ["--minimal-resources=1", "--target-resources=2"];
    let run = |more: &[&'static str]| hsqueeze(&fixture("order.data"), &[&words[..], more].concat()).0;
    let (plain, with) = (run(&[]), run(&["--proof"]));
    let line = with.strip_prefix(&plain).expect("the bound comes last");
    let document: Value = serde_json::from_str(&run(&["--proof", "--json"])).unwrap();
    let proof = &document["groups"][0]["proof"];
    let (fewest, online) = (proof["fewest"].as_u64().unwrap(), proof["online"].as_u64().unwrap());
    assert!(1 < fewest && fewest <= online, "{proof}");
    assert_eq!(line, format!("At least {fewest} nodes must stay on ({online} stay on)\n"));
    let document: Value = serde_json::from_str(&run(&["--json"])).unwrap();
    assert!(document["groups"][0].get("proof").is_none());
}

/// With `--deep`, the large node stays although it has the fewest instances, and three small ones are freed instead of two
/// nodes. Without it, the plan is the reference's.
#[test]
fn fewest_nodes_that_can_stay() {
    let directory = tempfile::tempdir().unwrap();
    let state = directory.path().join("state");
    let file = fixture("deep.data");
    let run = |file: &Path, more: &[&str]| {
        hsqueeze(file, &[&["--no-capacity-checks", "--proof"][..], more].concat()).0
    };
    let bound = |stay: u32| format!("At least 2 nodes must stay on ({stay} stay on)\n");
    assert_eq!(run(&file, &[]), format!("'Nodes to offline'\nn5\nn2\n{}", bound(3)));
    let deep = ["--deep", "-S", state.to_str().unwrap()];
    assert_eq!(run(&file, &deep), format!("'Nodes to offline'\nn3\nn4\nn5\n{}", bound(2)));
    let squeezed = directory.path().join("state.squeezed");
    assert_eq!(run(&squeezed, &["--deep"]), format!("'No action'\n{}", bound(2)));
    assert_eq!(run(&file, &["--deep", "-C", "--threads=1"]), run(&file, &["--deep", "-C", "--threads=4"]));
    let document: Value = serde_json::from_str(&run(&file, &["--deep", "--json"])).unwrap();
    let reasons = document["groups"][0]["kept"].as_array().unwrap().iter().map(|kept| &kept["reason"]);
    assert_eq!(reasons.collect::<Vec<_>>(), ["master", "fewest"]);
}
