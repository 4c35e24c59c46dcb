//! hcheck where it answers otherwise than Ganeti's, and what is new in it.

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

/// The same with a cluster of the default group: nodes, instances, tags of the cluster.
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
fn the_status_is_that_after_the_simulation() {
    let sample = "tests/recorded/hcheck.in/exclusion.data";
    let (status, text) = hcheck(&["-t", sample, "--exclusion-tags", "test", "--machine-readable"]);
    assert_eq!(status, 0);
    assert_eq!(value(&text, "INIT_CLUSTER_CONFLICT_TAGS"), "2");
    assert_eq!(value(&text, "INIT_CLUSTER_NEED_REBALANCE"), "1");
    assert_eq!(value(&text, "FINAL_CLUSTER_NEED_REBALANCE"), "0");
    let (status, text) = hcheck(&["-t", sample, "--exclusion-tags", "test"]);
    assert_eq!(status, 0);
    assert!(
        text.starts_with("Cluster needs rebalancing.\n")
            && text.ends_with("    Cluster is not healthy: False\n")
    );
    assert_eq!(hcheck(&["-t", sample, "--no-instance-moves", "--no-disk-moves", "-q"]), (1, String::new()));
    assert_eq!(hcheck(&["-t", sample, "--no-simulation"]).0, 0);
}

#[test]
fn a_deep_simulation_tells_what_a_deep_plan_leaves() {
    let sample = "tests/recorded/hcheck.in/exclusion.data";
    let words = ["-t", sample, "--exclusion-tags", "test", "--machine-readable"];
    let keys = |text: &str| text.lines().map(|l| l.split('=').next().unwrap().to_owned()).collect::<Vec<_>>();
    let (_, by_steps) = hcheck(&words);
    let (status, deep) = hcheck(&[&words[..], &["--deep", "--effort=20000"]].concat());
    assert_eq!((status, value(&deep, "FINAL_CLUSTER_NEED_REBALANCE")), (0, "0"));
    assert_eq!(keys(&deep), keys(&by_steps));
    // nothing may move: everything stays as it is
    let (status, still) = hcheck(&[&words[..], &["--deep", "-l0"]].concat());
    assert_eq!((status, value(&still, "FINAL_CLUSTER_CONFLICT_TAGS")), (1, "2"));
}

#[test]
fn without_nodes_all_values_have_their_names() {
    let (status, text) = with(["", "", ""], SHELL);
    let lines = ["N1_FAIL", "CONFLICT_TAGS", "OFFLINE_PRI", "OFFLINE_SEC", "GN1_FAIL", "NEED_REBALANCE"];
    let block = |when: &str| -> String {
        lines.iter().map(|key| format!("HCHECK_{when}_CLUSTER_{key}=0\n")).collect()
    };
    let wanted = format!("HCHECK_GROUP_UUID_0=u\n{}{}HCHECK_OK=1\n", block("INIT"), block("FINAL"));
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

/// Two nodes with DRBD, and one instance on shared storage for which there is no room.
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
