//! hcheck where its answers differ from Ganeti's, and its additions.

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use jsonschema::Validator;
use serde_json::{Value, json};

/// Status and standard output.
fn hcheck(words: &[&str]) -> (i32, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_htools"));
    let output = command.env_remove("HTOOLS").arg("hcheck").args(words).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{words:?}");
    (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap())
}

/// The same for a cluster of the default group: nodes, instances, tags of the cluster.
fn with(parts: [&str; 3], words: &[&str]) -> (i32, String) {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("c.data");
    let [nodes, instances, tags] = parts.map(|part| part.replace(' ', "\n"));
    fs::write(&file, format!("g|u|preferred||\n\n{nodes}\n\n{instances}\n\n{tags}\n")).unwrap();
    hcheck(&[&["-t", file.to_str().unwrap()], words].concat())
}

fn value<'t>(text: &'t str, key: &str) -> &'t str {
    let found = text.lines().find_map(|line| line.strip_prefix(&format!("HCHECK_{key}=")));
    found.unwrap_or_else(|| panic!("{key} is missing in\n{text}"))
}

const SHELL: &[&str] = &["--machine-readable"];

#[test]
fn an_empty_offline_node_is_no_problem() {
    let cluster = ["a|4000|0|4000|9000|9000|9|M|u b|4000|0|4000|9000|9000|9|Y|u", "", ""];
    let (status, text) = with(cluster, SHELL);
    assert_eq!((status, value(&text, "INIT_CLUSTER_OFFLINE_SEC")), (0, "0"));
    assert_eq!(value(&text, "INIT_CLUSTER_NEED_REBALANCE"), "0");
    let (_, text) = with(cluster, &[]);
    assert!(text.starts_with("No need to rebalance cluster, no problems found.\n"), "{text}");
    assert!(!text.contains("after rebalancing"), "{text}");
}

#[test]
fn offline_nodes_rescue_nobody() {
    let cluster =
        ["a|4000|0|3000|9000|9000|9|M|u b|4000|0|4000|9000|9000|9|Y|u", "i|1000|0|1|running|Y|a||ext|", ""];
    let (status, text) = with(cluster, SHELL);
    assert_eq!((status, value(&text, "INIT_CLUSTER_GN1_FAIL")), (1, "1"));
}

#[test]
fn the_status_is_about_what_is_wrong_now() {
    let sample = "tests/recorded/hcheck.in/exclusion.data";
    let (status, text) = hcheck(&["-t", sample, "--exclusion-tags", "test", "--machine-readable"]);
    assert_eq!(status, 1);
    assert_eq!(value(&text, "INIT_CLUSTER_CONFLICT_TAGS"), "2");
    assert_eq!(value(&text, "INIT_CLUSTER_NEED_REBALANCE"), "1");
    assert_eq!(value(&text, "FINAL_CLUSTER_NEED_REBALANCE"), "1");
    // The state after balancing has a key of its own.
    assert_eq!(value(&text, "FINAL_CLUSTER_PROBLEMS_LEFT"), "0");
    let stays = ["-t", sample, "--no-instance-moves", "--no-disk-moves"];
    let (status, text) = hcheck(&[&stays, SHELL].concat());
    assert_eq!((status, value(&text, "FINAL_CLUSTER_PROBLEMS_LEFT")), (1, "1"));
    let (status, text) = hcheck(&["-t", sample, "--exclusion-tags", "test"]);
    assert_eq!(status, 1);
    assert!(
        text.starts_with("Cluster needs rebalancing.\n")
            && text.ends_with("    Cluster is not healthy: True\n")
    );
    assert_eq!(hcheck(&["-t", sample, "--exclusion-tags", "test", "-q"]), (1, String::new()));
    assert_eq!(hcheck(&["-t", sample, "--no-simulation"]).0, 0);
    let (status, text) = hcheck(&["-t", sample, "--no-simulation", "--machine-readable"]);
    assert_eq!((status, value(&text, "FINAL_CLUSTER_PROBLEMS_LEFT")), (0, "1"));
}

/// A node that fails N+1 now is an alarm, even if one move would fix it.
#[test]
fn n1_that_balancing_mends_is_an_alarm() {
    let mendable = [
        "a|4000|0|1000|9000|7000|9|M|u b|4000|0|1000|9000|7000|9|N|u c|4000|0|4000|9000|9000|9|N|u",
        "i|1500|1000|1|running|Y|a|b|drbd| j|1500|1000|1|running|Y|a|b|drbd| \
         k|1500|1000|1|running|Y|b|a|drbd| l|1500|1000|1|running|Y|b|a|drbd|",
        "",
    ];
    let (status, text) = with(mendable, SHELL);
    let values = ["INIT_CLUSTER_N1_FAIL", "FINAL_CLUSTER_N1_FAIL", "FINAL_CLUSTER_PROBLEMS_LEFT"];
    assert_eq!((status, values.map(|key| value(&text, key))), (1, ["2", "0", "0"]));
    assert_eq!(value(&text, "FINAL_CLUSTER_NEED_REBALANCE"), "1");
    let (status, text) = with(mendable, &["--json"]);
    let document: Value = serde_json::from_str(&text).unwrap();
    let healthy = [&document["healthy"], &document["check"]["rebalanced"]["healthy"]];
    assert_eq!((status, healthy), (1, [&json!(false), &json!(true)]));
    let directory = tempfile::tempdir().unwrap();
    let page = directory.path().join("page.html");
    assert_eq!(with(mendable, &["-q", "--report", page.to_str().unwrap()]).0, 1);
    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains("<span>balancing fixes it</span>") && !page.contains("mended"), "{page}");
}

#[test]
fn a_deep_simulation_tells_what_a_deep_plan_leaves() {
    let sample = "tests/recorded/hcheck.in/exclusion.data";
    let words = ["-t", sample, "--exclusion-tags", "test", "--machine-readable"];
    let keys = |text: &str| text.lines().map(|l| l.split('=').next().unwrap().to_owned()).collect::<Vec<_>>();
    let (_, by_steps) = hcheck(&words);
    let (status, deep) = hcheck(&[&words[..], &["--deep", "--effort=20000"]].concat());
    assert_eq!((status, value(&deep, "FINAL_CLUSTER_PROBLEMS_LEFT")), (1, "0"));
    assert_eq!(keys(&deep), keys(&by_steps));
    // Nothing may move, so everything stays as it is.
    let (status, still) = hcheck(&[&words[..], &["--deep", "-l0"]].concat());
    assert_eq!((status, value(&still, "FINAL_CLUSTER_CONFLICT_TAGS")), (1, "2"));
}

#[test]
fn without_nodes_all_values_have_their_names() {
    let (status, text) = with(["", "", ""], SHELL);
    let lines = ["N1_FAIL", "CONFLICT_TAGS", "OFFLINE_PRI", "OFFLINE_SEC", "GN1_FAIL", "NEED_REBALANCE"];
    let block = |when: &str, keys: &[&str]| -> String {
        keys.iter().map(|key| format!("HCHECK_{when}_CLUSTER_{key}=0\n")).collect()
    };
    let last = [&lines[..], &["PROBLEMS_LEFT"]].concat();
    let wanted =
        format!("HCHECK_GROUP_UUID_0=u\n{}{}HCHECK_OK=1\n", block("INIT", &lines), block("FINAL", &last));
    assert_eq!((status, text), (0, wanted));
    let (_, text) = with(["", "", ""], &["--no-capacity-checks"]);
    assert!(
        text.contains("    Nodes not N+1 happy: 0\n")
            && text.ends_with("    Cluster is not healthy: False\n")
    );
    assert!(!text.contains("evacuateable"));
}

#[test]
fn split_instances_do_no_harm() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("c.data");
    let text = "g|u|preferred||\nh|v|preferred||\n\na|4000|0|3000|9000|8000|9|M|u\nb|4000|0|4000|9000|8000|9|N|v\n\n\
                i|1000|1000|1|running|Y|a|b|drbd|\n\n\n";
    fs::write(&file, text).unwrap();
    let file = file.to_str().unwrap();
    let (status, text) = hcheck(&["-t", file, "--machine-readable"]);
    assert_eq!((status, value(&text, "INIT_CLUSTER_GN1_FAIL")), (0, "0"));
    let (status, text) =
        hcheck(&["-t", file, "--without-node", "a", "--without-node=b", "--machine-readable"]);
    assert_eq!((status, value(&text, "WITHOUT_FAILED_INSTANCES")), (1, "i"));
}

/// Two nodes with DRBD, and an instance on shared storage without room elsewhere.
const PAIR: [&str; 3] = [
    "a|4000|0|1000|9000|6000|9|M|u b|4000|0|2500|9000|7000|9|N|u",
    "d|1000|1000|1|running|Y|a|b|drbd| e|2000|0|1|running|Y|a||ext| o|1500|1000|1|running|Y|b|a|drbd|",
    "htools:iextag:typo htools:nlocation:rack",
];

#[test]
fn losses() {
    let (status, text) = with(PAIR, &["--without-node", "a"]);
    let wanted = "The cluster does not survive the loss of a.\n\n\
                  Instances that would run on other nodes: 1\n\
                  Instances that would have no secondary node: 1\n\
                  Instances without a place: 1\n    \
                      e (ext, 2000 MiB memory): 1 node refuses it\n        \
                          b: memory: 2000 MiB needed, 1499 there, 501 missing\n";
    assert_eq!((status, text.as_str()), (1, wanted));
    assert_eq!(with(PAIR, &["--without-node", "a", "-q"]), (1, String::new()));
    let (status, text) = with(PAIR, &["--without-node", "a", "-O", "b"]);
    assert!(status == 1 && text.contains("        b: it is offline\n"), "{text}");
    let (status, text) = with(PAIR, &["--without-node", "b", "--machine-readable"]);
    assert_eq!((status, value(&text, "WITHOUT_NODES"), value(&text, "WITHOUT_FAILED")), (1, "b", "1"));
    let roomy = [
        "a|9000|0|8000|9000|8000|9|M|u b|9000|0|9000|9000|8000|9|N|u",
        "d|1000|1000|1|running|Y|a|b|drbd|",
        "",
    ];
    let (status, text) = with(roomy, &["--without-node", "a"]);
    assert!(status == 0 && text.starts_with("The cluster survives the loss of a.\n"), "{text}");
}

#[test]
fn problems_by_name() {
    let (_, plain) = with(PAIR, &[]);
    let (_, text) = with(PAIR, &["--list-problems"]);
    let (before, problems) = text.split_at(plain.len());
    assert_eq!(before, plain);
    for line in [
        "    a: not all its instances would find a place without it\n",
        "Tags without effect\n    htools:iextag:typo of the cluster: means nothing there\n    \
             htools:nlocation:rack of the cluster: matches nothing\n",
    ] {
        assert!(problems.contains(line), "{problems}");
    }
    let sample = "tests/recorded/hcheck.in/exclusion.data";
    let (_, text) = hcheck(&["-t", sample, "--list-problems"]);
    assert!(
        text.contains("    node-01: exclusion tag service-group:dns more than once: dns1, dns2\n"),
        "{text}"
    );
    let healthy = ["a|4000|0|4000|9000|9000|9|M|u", "", ""];
    assert!(with(healthy, &["--list-problems"]).1.ends_with("\n\nNo problems found\n"));
}

fn validated(text: &str, validator: &Validator) -> Value {
    let document: Value = serde_json::from_str(text).unwrap();
    let errors: Vec<String> =
        validator.iter_errors(&document).map(|e| format!("{}: {e}", e.instance_path)).collect();
    assert!(errors.is_empty(), "{errors:#?}\n{text}");
    document
}

#[test]
fn the_document_says_what_the_lines_say() {
    let schema: Value =
        serde_json::from_str(&fs::read_to_string("docs/schema/htools.check-1.json").unwrap()).unwrap();
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    let mut samples: Vec<_> = fs::read_dir("data").unwrap().map(|entry| entry.unwrap().path()).collect();
    samples.extend(
        ["shared", "exclusion"]
            .map(|name| Path::new("tests/recorded/hcheck.in").join(format!("{name}.data"))),
    );
    samples.retain(|path| path.extension().is_some_and(|end| end == "data"));
    for sample in &samples {
        let sample = sample.to_str().unwrap();
        for options in [&[][..], &["--no-simulation"], &["--no-capacity-checks", "-l", "1"]] {
            let words = [&["-t", sample], options].concat();
            let (status, shell) = hcheck(&[&words, SHELL].concat());
            let (same, text) = hcheck(&[&words[..], &["--json"]].concat());
            assert_eq!(status, same);
            let document = validated(&text, &validator);
            let check = &document["check"];
            assert_eq!(check["needs_rebalance"] == true, value(&shell, "INIT_CLUSTER_NEED_REBALANCE") == "1");
            assert_eq!(document["healthy"] == true, value(&shell, "FINAL_CLUSTER_NEED_REBALANCE") == "0");
            let last = if check["rebalanced"].is_null() { &check["initial"] } else { &check["rebalanced"] };
            assert_eq!(last["healthy"] == true, value(&shell, "FINAL_CLUSTER_PROBLEMS_LEFT") == "0");
            for (when, state) in [("INIT", &check["initial"]), ("FINAL", last)] {
                for (key, name) in [
                    ("N1_FAIL", "n1_failing"),
                    ("CONFLICT_TAGS", "conflicting"),
                    ("OFFLINE_SEC", "offline_secondary"),
                ] {
                    let all: usize = state["groups"]
                        .as_array()
                        .unwrap()
                        .iter()
                        .map(|g| g[name].as_array().unwrap().len())
                        .sum();
                    assert_eq!(value(&shell, &format!("{when}_CLUSTER_{key}")), all.to_string());
                    assert_eq!(state["counts"][name], json!(all));
                }
            }
        }
    }
    let (status, text) = with(PAIR, &["--without-node", "a", "--json"]);
    let document = validated(&text, &validator);
    assert_eq!((status, &document["healthy"], &document["check"]), (1, &json!(false), &Value::Null));
    assert_eq!(document["loss"]["stranded"][0]["nearest"][0]["shortfall"]["missing"], 501);
    let (_, text) = with(PAIR, &["--json"]);
    assert_eq!(validated(&text, &validator)["check"]["tags_without_effect"][0]["reason"], "unknown");
}

/// Monitoring output: status, first line up to the bar, performance data, further lines.
fn monitored(words: &[&str]) -> (i32, String, String, Vec<String>) {
    let (status, text) = hcheck(&[&["--monitor"], words].concat());
    let mut lines = text.lines().map(str::to_owned);
    let first = lines.next().unwrap();
    let (said, data) = first.split_once(" | ").unwrap_or((&first, ""));
    (status, said.to_owned(), data.to_owned(), lines.collect())
}

#[test]
fn monitoring_systems_read_one_line_and_the_status() {
    let (status, said, data, more) = monitored(&["-t", "data/balanced.data"]);
    assert_eq!((status, said.split(" - ").next().unwrap(), more.len()), (0, "HTOOLS OK", 0), "{said}");
    assert!(data.starts_with("offline_primary=0;;0;0 offline_secondary=0;0;;0 n1_failing=0;0;;0 "), "{data}");

    let offline = ["-t", "data/offline-nodes.data"];
    let (status, said, data, more) = monitored(&offline);
    assert_eq!((status, said.split(" - ").next().unwrap()), (2, "HTOOLS CRITICAL"), "{said}");
    assert!(said.contains("down on offline nodes, "), "{said}");
    assert!(data.contains(" nodes_offline=2;;;0 "), "{data}");
    assert!(
        more[0].starts_with("CRITICAL: ") && more[1].starts_with("  run: hbal -L -X --repair-only"),
        "{more:?}"
    );
    // Neither the order of options nor -q changes the answer.
    assert_eq!(monitored(&["-q", "-q", offline[0], offline[1]]), (status, said, data, more));

    let milder = ["--severity", "offline_primary=warning", "--severity=offline_secondary=ok"];
    let (status, said, data, _) = monitored(&[&offline[..], &milder].concat());
    assert!(status == 1 && said.starts_with("HTOOLS WARNING - "), "{said}");
    assert!(data.starts_with("offline_primary=5;0;;0 offline_secondary=4;;;0 "), "{data}");
}

#[test]
fn what_cannot_be_known_is_unknown() {
    for (words, why) in [
        (&["-t", "nosuch"][..], "failed to load data, aborting: cannot read file 'nosuch': "),
        (&["-Lnosuch"], "failed to load data, aborting: nosuch: there is no such socket; "),
        (&["-m", "http://u:secret@127.0.0.1:1"], "failed to load data, aborting: "),
        (&[], "failed to load data, aborting: No backend selected! "),
        (&["--nosuch"], "Command line error: "),
        (&["word"], "This program doesn't take any arguments."),
        (&["-t", "data/balanced.data", "--json"], "options --monitor and --json exclude each other"),
        (&["-t", "data/balanced.data", "--severity=x=ok"], "Error while parsing command line arguments:"),
        (
            &["-t", "data/balanced.data", "--severity=n1_failing"],
            "Error while parsing command line arguments:",
        ),
        (
            &["-t", "data/balanced.data", "--without-node", "node1"],
            "option --without-node cannot be given with --monitor",
        ),
    ] {
        let (status, said, data, more) = monitored(words);
        assert_eq!((status, data.as_str()), (3, ""), "{words:?}");
        let rest = said.strip_prefix("HTOOLS UNKNOWN - ").unwrap_or_else(|| panic!("{words:?}: {said}"));
        assert!(rest.starts_with(why), "{words:?}: {said}");
        assert!(!said.contains("secret") && !more.concat().contains("secret"), "{said}");
    }
    let (status, text) = hcheck(&["--monitor", "--version"]);
    assert!(status == 0 && !text.contains("UNKNOWN"), "{text}");
}

/// Three nodes with DRBD instances. Each survives the loss of another one, but `c` not that of both others.
const TRIO: [&str; 3] = [
    "a|4000|0|3000|9000|8000|9|M|u b|4000|0|3000|9000|8000|9|N|u c|4000|0|1500|9000|6000|9|N|u",
    "p|1000|1000|1|running|Y|a|c|drbd| q|1000|1000|1|running|Y|b|c|drbd| own|2500|0|1|running|Y|c||plain|",
    "",
];

#[test]
fn combinations_of_nodes() {
    let (status, text) = with(TRIO, &["--survive", "1"]);
    let wanted = "The cluster survives the loss of any node: every instance that has its disks finds a place.\n\n\
                  Group g: 3 online nodes\n    \
                      Nodes lost Combinations Examined Without a place Data lost\n    \
                      \u{20}        1            3        3               0         1\n\n\
                  The worst of group g\n    \
                      Without a place MiB Data lost Nodes\n    \
                      \u{20}             0   0         1 c\n\n\
                  Data lost: instances whose disks are on no other node; more room would not help them.\n";
    assert_eq!((status, text.as_str()), (0, wanted));
    let (status, text) = with(TRIO, &["--survive", "2", "--top=1"]);
    assert!(
        status == 1
            && text.starts_with(
                "The cluster does not survive the loss of any 2 nodes of a group: \
                 1 combination leaves instances without a place.\n"
            )
            && text.contains("    \u{20}             1 1000         0 a, b\n"),
        "{text}"
    );
    assert!(!text.contains("a, c"), "{text}");
    // The loss of exactly these two gives the same result.
    assert_eq!(with(TRIO, &["--without-node=a", "--without-node=b"]).0, 1);
    let (_, text) = with(TRIO, &["--survive=2", "--machine-readable"]);
    let values =
        ["FAILED", "LOSING_DATA", "COMPLETE", "WORST_0"].map(|key| value(&text, &format!("SURVIVE_{key}")));
    assert_eq!(values, ["1", "3", "1", "'a,b'"]);
    assert_eq!(with(TRIO, &["--survive=2", "-q"]), (1, String::new()));
    let schema = fs::read_to_string("docs/schema/htools.check-1.json").unwrap();
    let validator = jsonschema::draft202012::new(&serde_json::from_str(&schema).unwrap()).unwrap();
    let (status, text) = with(TRIO, &["--survive=9", "--json"]);
    let document = validated(&text, &validator);
    assert_eq!((status, &document["healthy"], &document["loss"]), (1, &json!(false), &Value::Null));
    let survival = &document["survival"];
    assert_eq!((&survival["failing"], &survival["settled"]), (&json!(1), &json!(true)));
    // No more sizes than nodes.
    assert_eq!(survival["groups"][0]["sizes"].as_array().unwrap().len(), 3);
    let worst = &survival["groups"][0]["worst"][0];
    assert_eq!((&worst["nodes"], &worst["memory"]), (&json!(["a", "b"]), &json!(1000)));
    // Without --survive, the document is unchanged.
    assert_eq!(validated(&with(TRIO, &["--json"]).1, &validator).get("survival"), None);
}
