//! hail as Ganeti's master starts it: it prints one line of JSON with status 0, or only an error message with status
//! 1.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_htools");

struct Run {
    status: Option<i32>,
    stdout: String,
    stderr: String,
}

fn hail_in(directory: &Path, words: &[&str], input: &[u8]) -> Run {
    use std::io::Write;
    let mut child = Command::new(PROGRAM)
        .env("HTOOLS", "hail")
        .current_dir(directory)
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A program that stops before it has read everything closes the pipe.
    let _ = child.stdin.take().unwrap().write_all(input);
    let output = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Run { status: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

fn hail(words: &[&str], input: &[u8]) -> Run {
    hail_in(tempfile::tempdir().unwrap().path(), words, input)
}

/// The response to a message.
fn response(words: &[&str], message: &Value) -> Value {
    let run = hail(&[words, &["-"]].concat(), message.to_string().as_bytes());
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    assert!(run.stdout.ends_with('\n') && run.stdout.lines().count() == 1, "{}", run.stdout);
    serde_json::from_str(&run.stdout).unwrap()
}

/// Checks for a whole line with status 0, or nothing with status 1.
fn all_or_nothing(run: &Run) {
    assert!(!run.stderr.contains("panicked"), "{}", run.stderr);
    match run.status {
        Some(0) => {
            assert!(run.stdout.ends_with('\n') && run.stdout.lines().count() == 1, "{}", run.stdout);
            let response: Value = serde_json::from_str(&run.stdout).unwrap();
            assert!(response["success"].is_boolean() && response["info"].is_string());
        }
        Some(1) => {
            assert_eq!(run.stdout, "");
            assert!(run.stderr.contains("Error: "), "{}", run.stderr);
        }
        other => panic!("{other:?}: {}", run.stderr),
    }
}

// --- messages

fn policy() -> Value {
    let spec = |memory: i64, cpus, size: i64, disks, nics, spindles| {
        json!({"memory-size": memory, "cpu-count": cpus, "disk-size": size, "disk-count": disks,
               "nic-count": nics, "spindle-use": spindles})
    };
    let min = spec(128, 1, 1024, 1, 1, 1);
    json!({"minmax": [{"min": min, "max": spec(32768, 8, 1_048_576, 16, 8, 12)}], "std": min,
           "disk-templates": ["plain", "drbd", "ext"], "vcpu-ratio": 4.0, "spindle-ratio": 32.0})
}

fn node(group: &str, free: i64) -> Value {
    json!({"group": group, "offline": false, "drained": false, "vm_capable": true, "tags": [],
           "ndparams": {"spindle_count": 1, "exclusive_storage": false}, "total_memory": 8192,
           "reserved_memory": 0, "free_memory": free, "total_disk": 100_000, "free_disk": if free == 8192 { 100_000 } else { 90_000 },
           "total_cpus": 8, "reserved_cpus": 1, "total_spindles": 0, "free_spindles": 0})
}

fn described(template: &str, memory: i64) -> Value {
    json!({"disk_template": template, "memory": memory, "vcpus": 1, "disks": [{"size": 10_000}],
           "disk_space_total": 10_000, "spindle_use": 1, "tags": [], "nics": []})
}

fn joined(a: Value, b: Value) -> Value {
    let (Value::Object(mut a), Value::Object(b)) = (a, b) else { panic!("two objects") };
    a.extend(b);
    a.into()
}

fn instance(template: &str, memory: i64, nodes: &[&str]) -> Value {
    joined(described(template, memory), json!({"nodes": nodes}))
}

fn new(template: &str, memory: i64) -> Value {
    let nodes = if template == "drbd" { 2 } else { 1 };
    let request = json!({"type": "allocate", "name": "new", "required_nodes": nodes});
    joined(request, described(template, memory))
}

/// Three nodes with 1 GiB in use each, in one group, and two empty ones in another.
fn message(request: Value) -> Value {
    json!({
        "request": request,
        "cluster_tags": [],
        "enabled_hypervisors": ["xen-pvm"],
        "nodegroups": {
            "u1": {"name": "g1", "alloc_policy": "preferred", "networks": [], "ipolicy": policy(), "tags": []},
            "u2": {"name": "g2", "alloc_policy": "last_resort", "networks": [], "ipolicy": policy(), "tags": []},
        },
        "nodes": {"n1": node("u1", 7168), "n2": node("u1", 7168), "n3": node("u1", 7168),
                  "m1": node("u2", 8192), "m2": node("u2", 8192)},
        "instances": {"a": instance("ext", 1024, &["n1"]), "b": instance("drbd", 1024, &["n2", "n3"]),
                      "c": instance("ext", 1024, &["n3"])},
    })
}

fn evacuate(instances: &[&str], mode: &str) -> Value {
    json!({"type": "node-evacuate", "instances": instances, "evac_mode": mode})
}

// --- properties of every response

#[test]
fn strings_are_escaped_as_the_reference_does() {
    let name = "\u{1}\u{1f}\u{7f}\u{80}é\u{2028}😀/\"\\\n\t\r\u{8}\u{c}<&'";
    let request = joined(new("ext", 128), json!({"name": name, "nics": [{"network": "x"}]}));
    let run = hail(&["-"], message(request).to_string().as_bytes());
    let escaped = "\\u0001\\u001f\u{7f}\u{80}é\u{2028}😀/\\\"\\\\\\n\\t\\r\\b\\f<&'";
    let group = |g: &str| format!("group {g} is not connected to a network required by instance {escaped}");
    let info = format!("Request failed: {}, {}", group("g1"), group("g2"));
    let wanted = format!("{{\"success\":false,\"info\":\"{info}\",\"result\":[]}}\n");
    assert_eq!((run.stdout, run.status), (wanted, Some(0)));
}

#[test]
fn a_message_that_cannot_be_read_has_no_response() {
    for input in [&b""[..], b"{}", b"[1]", b"\xff\xfe", b"{\"request\": 0}", b"null", b"{\"request\": {}}"] {
        let run = hail(&["-"], input);
        assert_eq!((run.status, run.stdout.as_str()), (Some(1), ""));
        assert!(run.stderr.starts_with("Error: -"), "{}", run.stderr);
    }
    let run = hail(&["absent.json"], b"");
    assert_eq!(run.status, Some(1));
    assert!(run.stderr.starts_with("Error: cannot read file 'absent.json': "), "{}", run.stderr);
}

#[test]
fn the_words_of_the_command_line() {
    for (words, message) in [
        (&[][..], "Error: This program needs an input file.\n"),
        (&["a", "b"], "Error: Only one argument is accepted (the input file)\n"),
    ] {
        let run = hail(words, b"");
        assert_eq!((run.status, run.stdout.as_str(), run.stderr.as_str()), (Some(1), "", message));
    }
    let run = hail(&["--help-completion"], b"");
    assert!(run.stdout.starts_with("-p,--print-nodes none\n-S,--save none\n-t,--text-data file\n"));
    assert!(run.stdout.ends_with("--help-completion none\nfile 1 1\n"), "{}", run.stdout);
}

#[test]
fn nothing_is_printed_if_a_state_cannot_be_saved() {
    let run = hail(&["-S", "absent/x", "-"], message(new("ext", 128)).to_string().as_bytes());
    assert_eq!((run.status, run.stdout.as_str()), (Some(1), ""));
    assert!(run.stderr.contains("cannot write file 'absent/x.pre-ialloc'"), "{}", run.stderr);
    // The second file is as good a reason for the error as the first.
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir(directory.path().join("x.post-ialloc")).unwrap();
    let run = hail_in(directory.path(), &["-S", "x", "-"], message(new("ext", 128)).to_string().as_bytes());
    assert_eq!((run.status, run.stdout.as_str()), (Some(1), ""));
    assert!(run.stderr.contains("cannot write file 'x.post-ialloc'"), "{}", run.stderr);
}

#[test]
fn the_network_is_not_asked_for_load_in_vain() {
    let input = message(new("ext", 128)).to_string();
    for words in [&["--mond=no", "-"][..], &["--mond", "--ignore-dynu", "-"]] {
        assert_eq!(hail(words, input.as_bytes()).status, Some(0), "{words:?}");
    }
}

#[test]
fn verbosity_adds_to_standard_error_only() {
    let input = message(new("drbd", 9000)).to_string();
    let quiet = hail(&["-"], input.as_bytes());
    let loud = hail(&["-v", "-v", "-"], input.as_bytes());
    assert_eq!((quiet.stderr.as_str(), &quiet.stdout), ("", &loud.stdout));
    for line in [
        "Received request: allocate new (drbd, 9000 MiB memory, 10000 MiB disk, 1 vcpus, 2 nodes)\n",
        "Received cluster data: 2 groups, 5 nodes, 3 instances, tags: \n  instances with runSt = Running: 3\n",
        "    n1: memory: 9000 MiB needed, 7167 there, 1833 missing\n",
    ] {
        assert!(loud.stderr.contains(line), "{line}: {}", loud.stderr);
    }
}

// --- requests for another cluster

/// The cluster of the message in the text format, with nodes and instances in another order and without instance `c`.
const OTHER: &str = "\
g2|u2|last_resort||\ng1|other|preferred||\n\n\
n3|8192|0|7168|100000|90000|8|N|other|1\nn2|8192|0|7168|100000|90000|8|N|other|1\n\
n1|8192|0|7168|100000|90000|8|N|other|1\nm1|8192|0|8192|100000|100000|8|N|u2|1\nm9|8192|0|8192|100000|100000|8|N|u2|1\n\n\
b|1024|10000|1|running|Y|n2|n3|drbd||1\na|1024|10000|1|running|Y|n1||ext||1\n\n\n";

fn about_other(request: Value) -> Run {
    let directory: TempDir = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("other.data"), OTHER).unwrap();
    hail_in(directory.path(), &["-t", "other.data", "-"], message(request).to_string().as_bytes())
}

#[test]
fn objects_of_another_cluster_are_found_by_name() {
    let relocate = |name: &str, from: &str| {
        about_other(json!({"type": "relocate", "name": name, "required_nodes": 1, "relocate_from": [from]}))
    };
    assert!(relocate("b", "n3").stdout.contains(r#""result":["n1"]"#));
    let run = relocate("c", "n3");
    assert_eq!((run.status, run.stdout.as_str()), (Some(1), ""));
    assert!(run.stderr.contains("request, instance 'c': no object has this name in the cluster given"));
    let run = relocate("b", "m2");
    assert!(run.stderr.contains("request, node 'm2': no object has this name"), "{}", run.stderr);
    let run = about_other(json!({"type": "change-group", "instances": ["a"], "target_groups": ["u2"]}));
    assert!(run.stdout.contains(r#"[["a","g2",["m9"]]]"#), "{}", run.stdout);
}

// --- differences by design

#[test]
fn an_instance_named_twice_is_moved_once() {
    let moved = response(&[], &message(evacuate(&["b", "a", "b"], "primary-only")));
    assert_eq!(moved["result"][0], json!([["b", "g1", ["n3", "n2"]], ["a", "g1", ["n3"]]]));
    assert_eq!(moved["info"], "Request successful: 0 instances failed to move and 2 were moved successfully");
}

#[test]
fn failover_to_a_drained_node_is_refused() {
    let mut drained = message(evacuate(&["b"], "primary-only"));
    drained["nodes"]["n3"]["drained"] = true.into();
    let failed = response(&[], &drained);
    assert_eq!(failed["result"][1], json!([["b", "The secondary node n3 is drained or offline"]]));
}

#[test]
fn the_lack_of_target_groups_is_said_in_words() {
    for (asked, which) in [
        (json!([]), "every group"),
        (json!(["g1"]), "group g1"),
        (json!(["u2", "g1"]), "each of the groups g2, g1"),
    ] {
        let mut message =
            message(json!({"type": "change-group", "instances": ["a", "b"], "target_groups": asked}));
        message["nodes"]["m1"]["group"] = "u1".into();
        message["nodes"]["m2"]["group"] = "u1".into();
        let failed = response(&[], &message);
        let reason = format!(
            "no groups for evacuation: {which} has no nodes, or is one that the instances are to leave"
        );
        assert_eq!(failed["result"][1], json!([["a", reason], ["b", reason]]));
    }
}

#[test]
fn dedicated_placement_needs_exclusive_storage_and_sees_every_instance() {
    // The group is named by its UUID, and no storage is exclusive.
    let by_uuid = response(&[], &message(joined(new("ext", 128), json!({"group_name": "u2"}))));
    let by_name = response(&[], &message(joined(new("ext", 128), json!({"group_name": "g2"}))));
    assert_eq!(by_uuid, by_name);
    let mut unallocable = message(new("ext", 128));
    unallocable["nodegroups"]["u1"]["alloc_policy"] = "unallocable".into();
    unallocable["nodegroups"]["u2"]["alloc_policy"] = "unallocable".into();
    assert!(!response(&[], &unallocable)["info"].as_str().unwrap().contains("(["));
    // One node has room for one of the two.
    let spindle = json!({"disks": [{"size": 60_000, "spindles": 1}], "disk_space_total": 60_000});
    let one = |name: &str| joined(joined(new("plain", 128), spindle.clone()), json!({"name": name}));
    let request = json!({"type": "multi-allocate", "group_name": "g2", "instances": [one("x"), one("y")]});
    let mut exclusive = message(request);
    for node in ["m1", "m2"] {
        let ndparams = json!({"spindle_count": 1, "exclusive_storage": true});
        let parts = json!({"ndparams": ndparams, "total_spindles": 9, "free_spindles": 9});
        exclusive["nodes"][node] = joined(exclusive["nodes"][node].take(), parts);
    }
    let placed = response(&[], &exclusive);
    assert_eq!(placed["result"][0], json!([["x", ["m2"]], ["y", ["m1"]]]), "{placed}");
}

// --- additions to the reference

#[test]
fn all_solutions_are_listed_best_first() {
    let members =
        |response: &Value| -> Vec<String> { response.as_object().unwrap().keys().cloned().collect() };
    let usual = response(&[], &message(new("ext", 128)));
    assert_eq!(members(&usual), ["success", "info", "result"]);
    let mut asked = message(new("ext", 128));
    let all = response(&["--all-solutions"], &asked);
    assert_eq!(members(&all), ["success", "info", "result", "solutions"]);
    assert_eq!((&all["info"], &all["result"]), (&usual["info"], &usual["result"]));
    let groups = |all: &Value| -> Vec<Value> {
        all["solutions"].as_array().unwrap().iter().map(|s| s["group"].clone()).collect()
    };
    assert_eq!(groups(&all), ["g1", "g2"]);
    assert_eq!(all["solutions"][0]["nodes"], all["result"]);
    assert_eq!(all["solutions"][1]["policy"], "last_resort");
    assert!(all["solutions"][1]["score"].is_f64());
    asked["nodegroups"]["u1"]["alloc_policy"] = "unallocable".into();
    assert_eq!(groups(&response(&["--all-solutions"], &asked)), ["g2", "g1"]);
    let none = response(&["--all-solutions"], &message(new("ext", 99_999)));
    assert_eq!(none["solutions"], json!([]));
    let other = response(&["--all-solutions"], &message(evacuate(&["a"], "all")));
    assert_eq!(members(&other), ["success", "info", "result"]);
}

#[test]
fn details_name_places_and_amounts() {
    let failed = response(&["--json"], &message(new("ext", 7500)));
    let group = &failed["details"][0]["groups"][0];
    assert_eq!(
        (&group["group"], &group["refused"], &group["untried"]),
        (&json!("g1"), &json!(3), &Value::Null)
    );
    assert_eq!(
        group["nearest"][0],
        json!({"nodes": ["n1"], "at": "n1", "rule": "memory", "shortfall": {
            "resource": "memory", "unit": "MiB", "needed": 7500, "available": 7167, "missing": 333}})
    );
    // The group's policy is the reason.
    let failed = response(&["--json"], &message(new("ext", 64)));
    assert_eq!(
        failed["details"][0]["groups"][1]["nearest"][0]["shortfall"],
        json!({"resource": "memory", "unit": "MiB", "found": 64, "min": 128, "max": 32768})
    );
    let failed = response(&["--json"], &message(joined(new("rbd", 128), json!({"required_nodes": 3}))));
    assert_eq!(failed["details"][0]["groups"][0]["untried"], "unsupported-number-of-nodes");
    // Failed moves.
    let mut full = message(evacuate(&["b"], "secondary-only"));
    full["nodes"]["n1"]["total_memory"] = 1100.into();
    full["nodes"]["n1"]["free_memory"] = 76.into();
    let failed = response(&["--json"], &full);
    let hurdle = &failed["details"][0]["moves"]["nearest"][0];
    assert_eq!((&hurdle["move"], &hurdle["at"]), (&json!("replace-secondary"), &json!("n1")));
    assert_eq!(response(&["--json"], &message(evacuate(&["b"], "primary-only")))["details"], json!([]));
}

#[test]
fn evacuations_reach_other_groups_that_share_the_storage() {
    let mut full = message(evacuate(&["a"], "primary-only"));
    for node in ["n2", "n3"] {
        full["nodes"][node]["total_memory"] = 2100.into();
        full["nodes"][node]["free_memory"] = 1076.into();
    }
    full["instances"]["a"]["memory"] = 2000.into();
    full["nodes"]["n1"]["free_memory"] = 6192.into();
    let here = response(&[], &full);
    assert_eq!(here["result"][0], json!([]));
    let there = response(&["--other-groups"], &full);
    assert_eq!(there["result"][0], json!([["a", "g2", ["m2"]]]));
    full["nodegroups"]["u1"]["tags"] = json!(["htools:pool:one"]);
    full["nodegroups"]["u2"]["tags"] = json!(["htools:pool:one"]);
    assert_eq!(response(&["--other-groups"], &full)["result"][0], json!([["a", "g2", ["m2"]]]));
    // A group without tags does not claim to reach the pool.
    for other in [json!([]), json!(["htools:pool:two"])] {
        full["nodegroups"]["u2"]["tags"] = other;
        let apart = response(&["--other-groups"], &full);
        let reason = apart["result"][1][0][1].as_str().unwrap();
        assert!(reason.contains(", other groups: Group g2 (last_resort): No valid allocation"), "{reason}");
    }
    // A copy of the disks does not leave the group by itself.
    full["request"] = evacuate(&["b"], "secondary-only");
    full["nodes"]["n1"]["free_disk"] = 10.into();
    let reason = response(&["--other-groups"], &full)["result"][1][0][1].clone();
    assert!(!reason.as_str().unwrap().contains("other groups"), "{reason}");
}

#[test]
fn moves_make_room() {
    // Every node has 1 GiB in use; the new instance leaves less than that on any node.
    let mut full = message(joined(new("ext", 7500), json!({"group_name": "g1"})));
    let usual = response(&["--no-capacity-checks"], &full);
    let made = response(&["--no-capacity-checks", "--make-room"], &full);
    assert_eq!((&made["success"], &made["info"]), (&json!(false), &usual["info"]));
    let plan = &made["make_room"];
    assert_eq!((&plan["group"], plan["moves"].as_array().unwrap().len()), (&json!("g1"), 1));
    let moved = &plan["moves"][0];
    assert_eq!((&moved["instance"], &plan["nodes"]), (&json!("a"), &json!(["n1"])));
    assert_eq!(moved["jobs"][0]["OP_ID"], "OP_INSTANCE_MIGRATE");
    let run = hail(&["--no-capacity-checks", "--make-room", "-v", "-"], full.to_string().as_bytes());
    let node = moved["nodes"][0].as_str().unwrap();
    assert!(run.stderr.contains(&format!("\n  gnt-instance migrate -f -n {node} a\n")), "{}", run.stderr);
    // No command is made with a name that is not valid in Ganeti.
    let odd = full.to_string().replace("\"a\":", "\"$(touch x)\":");
    let run = hail(&["--no-capacity-checks", "--make-room", "-v", "-"], odd.as_bytes());
    assert!(
        run.stderr.contains("\n  instance '$(touch x)': the name is not valid in Ganeti, "),
        "{}",
        run.stderr
    );
    assert!(!run.stderr.contains("gnt-"), "{}", run.stderr);
    // If the new instance must survive the loss of its node, another one must be emptied, too.
    let both = response(&["--make-room"], &full);
    assert_eq!(both["make_room"]["moves"].as_array().unwrap().len(), 2);
    // No moves help against the policy, and none are needed if there is room.
    full["request"]["memory"] = 99_999.into();
    assert_eq!(response(&["--make-room"], &full)["make_room"], Value::Null);
    full["request"]["memory"] = 128.into();
    assert!(response(&["--make-room"], &full).get("make_room").is_none());
}

// --- hostile messages

#[test]
fn odd_figures_do_no_harm() {
    let huge = 1_000_000_000_000_000_000_i64;
    for value in [0, -1, 1, huge, -huge, i64::MAX, i64::MIN] {
        for key in ["memory", "vcpus", "disk_space_total", "spindle_use", "required_nodes"] {
            let mut odd = message(joined(new("drbd", 1024), json!({key: value})));
            all_or_nothing(&hail(&["--make-room", "--json", "-"], odd.to_string().as_bytes()));
            odd["instances"]["b"][key] = value.into();
            odd["request"] = evacuate(&["a", "b", "c"], "all");
            all_or_nothing(&hail(&["--other-groups", "-"], odd.to_string().as_bytes()));
        }
        for key in ["total_memory", "free_memory", "total_disk", "free_disk", "total_cpus", "reserved_cpus"] {
            let mut odd = message(new("ext", 7500));
            odd["nodes"]["n1"][key] = value.into();
            odd["nodes"]["n1"]["ndparams"]["spindle_count"] = value.into();
            all_or_nothing(&hail(&["--make-room", "--json", "-v", "-"], odd.to_string().as_bytes()));
        }
    }
}

#[test]
fn nodes_of_nothing_make_scores_that_are_no_numbers() {
    let mut empty = message(new("ext", 128));
    for node in ["n1", "n2"] {
        for key in ["total_memory", "free_memory", "total_cpus"] {
            empty["nodes"][node][key] = 0.into();
        }
        empty["nodes"][node]["ndparams"]["spindle_count"] = 0.into();
    }
    let answer = response(&["--all-solutions", "--no-capacity-checks"], &empty);
    assert!(answer["info"].as_str().unwrap().contains("score: NaN"), "{answer}");
    assert_eq!(answer["solutions"][0]["score"], Value::Null);
}

#[test]
fn many_disks_and_repeated_keys() {
    let disks: Vec<Value> = (0..20_000).map(|_| json!({"size": 1})).collect();
    let many = message(joined(new("ext", 128), json!({"disks": disks})));
    assert_eq!(response(&[], &many)["success"], false);
    let text = message(new("ext", 128)).to_string();
    let twice = text.replacen("\"request\":{", "\"request\":{\"name\":\"first\",\"memory\":\"x\",", 1);
    all_or_nothing(&hail(&["-"], twice.as_bytes()));
    let nodes_twice = text.replacen("\"nodes\":{", "\"nodes\":{},\"nodes\":{", 1);
    all_or_nothing(&hail(&["-"], nodes_twice.as_bytes()));
}

#[test]
fn messages_cut_off_or_with_another_byte() {
    let text = message(evacuate(&["a", "b"], "all")).to_string().into_bytes();
    for at in (0..text.len()).step_by(97) {
        all_or_nothing(&hail(&["-"], &text[..at]));
        for byte in [b'0', b'"', b'}', 0xff, 0] {
            let mut other = text.clone();
            other[at] = byte;
            all_or_nothing(&hail(&["--json", "-"], &other));
        }
    }
}

#[test]
fn when_the_time_is_up_the_answer_is_what_was_found() {
    let one = |name: &str| joined(new("plain", 128), json!({"name": name}));
    let request = json!({"type": "multi-allocate", "group_name": "g2", "instances": [one("x"), one("y")]});
    let message = message(request);
    let answer = response(&["--time-limit=1e-9"], &message);
    assert_eq!(answer["success"], true);
    assert_eq!(answer["result"][0][0][0], "x");
    let late = json!([["y", "not looked at: the time limit ended the search"]]);
    assert_eq!(answer["result"][1], late);
    assert_eq!(response(&["--time-limit=1000"], &message), response(&[], &message));
    let refused = hail(&["--time-limit=0", "-"], b"{}");
    assert_eq!((refused.status, refused.stdout.as_str()), (Some(1), ""));
}

/// The sample request for an instance with one node and these tags.
fn request_with(memory: u64, tags: &[&str]) -> Value {
    let mut message: Value =
        serde_json::from_str(&fs::read_to_string("data/allocate.json").unwrap()).unwrap();
    let request = &mut message["request"];
    request["disk_template"] = json!("rbd");
    request["required_nodes"] = json!(1);
    request["memory"] = json!(memory);
    request["tags"] = json!(tags);
    message
}

#[test]
fn keys_choose_among_the_nodes_that_have_a_place() {
    for memory in [512, 4096, 8192, 16384, 30000] {
        for options in [
            &["--affinity"][..],
            &["--affinity", "--overhead", "0"],
            &["--affinity", "--tie", "random", "--seed", "3"],
        ] {
            let answer = response(options, &request_with(memory, &[]));
            let plain = response(&[], &request_with(memory, &[]));
            let Some(node) = answer["result"][0].as_str() else {
                assert_eq!(answer["success"], false, "{answer}");
                continue;
            };
            assert_eq!(plain["success"], true);
            let only = response(&["--restrict-allocation-to", node], &request_with(memory, &[]));
            assert_eq!(only["result"], json!([node]), "{only}");
        }
    }
    // Without room for the overhead there is no place, and the reason is reported.
    let answer = response(&["--affinity", "--overhead", "4000000"], &request_with(512, &[]));
    assert_eq!(answer["success"], false);
    assert!(answer["info"].as_str().unwrap().contains("its affinity keys leave no node"), "{answer}");
}

#[test]
fn keys_of_the_request_and_of_those_before_are_compared() {
    // One round that all nodes pass.
    let by_keys = ["--affinity", "--initial-msav=-10"];
    let wish = ["htools:key:customer:web:1:-1000"];
    let mut message = request_with(512, &wish);
    let first = response(&by_keys, &message);
    let first = first["result"][0].as_str().unwrap().to_owned();
    // An instance of the same kind is there already.
    let neighbour =
        message["instances"].as_object_mut().unwrap().values_mut().find(|of| of["nodes"][0] == json!(first));
    if let Some(neighbour) = neighbour {
        neighbour["tags"] = json!(wish);
        let second = response(&by_keys, &message);
        assert_ne!(second["result"][0].as_str(), Some(first.as_str()));
    }
    // Several new instances also keep apart, and are answered one by one.
    let one = message["request"].clone();
    let several: Vec<Value> = (0..3)
        .map(|at| {
            let mut one = one.clone();
            one["name"] = json!(format!("new{at}"));
            one
        })
        .collect();
    let mut message = request_with(512, &wish);
    message["request"] = json!({"type": "multi-allocate", "instances": several});
    let answer = response(&by_keys, &message);
    let nodes: std::collections::BTreeSet<String> =
        answer["result"][0].as_array().unwrap().iter().map(|of| of[1][0].to_string()).collect();
    assert_eq!(nodes.len(), 3, "{answer}");
}

#[test]
fn pairs_get_the_best_secondary_for_their_primary() {
    let message: Value = serde_json::from_str(&fs::read_to_string("data/allocate.json").unwrap()).unwrap();
    let answer = response(&["--affinity"], &message);
    let nodes: Vec<&str> = answer["result"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(nodes.len() == 2 && nodes[0] != nodes[1], "{answer}");
    let only = response(&["--restrict-allocation-to", &nodes.join(",")], &message);
    assert_eq!(only["success"], true, "{only}");
}

#[test]
fn hostile_keys_are_no_keys() {
    let long = format!("htools:key:customer:{}:1:1", "x".repeat(10_000));
    let tags = [
        "htools:key:",
        "htools:key:customer:",
        "htools:key:customer::1:1",
        "htools:key:customer:a:NaN:1",
        "htools:key:customer:a:1:inf",
        "htools:key:customer:a:1e12:-1e12",
        "htools:key:system:@RAM:-1e12:1e12",
        "htools:key:system:_a:1:1",
        "htools:key:customer:#a:1:1",
        "htools:key:customer:a\n:1:1",
        "htools:key:customer:\u{202e}:1:1",
        "htools:key:system:=:=:=",
        &long,
    ];
    let mut message = request_with(512, &tags);
    message["cluster_tags"] = json!(tags);
    for of in ["nodes", "instances", "nodegroups"] {
        message[of].as_object_mut().unwrap().values_mut().for_each(|one| one["tags"] = json!(tags));
    }
    all_or_nothing(&hail(&["--affinity", "-v", "-v", "-"], message.to_string().as_bytes()));
}

#[test]
fn options_about_keys_need_keys() {
    let message = request_with(512, &[]).to_string();
    for (words, problem) in [
        (&["--overhead", "5", "-"][..], "--overhead needs --affinity"),
        (&["--affinity", "--make-room", "-"], "--make-room and --affinity exclude each other"),
        (&["--affinity", "--final-msav", "90", "-"], "initial_msav must be at least final_msav"),
        (&["--affinity", "--tie", "random", "-"], "--seed"),
    ] {
        let run = hail(words, message.as_bytes());
        assert_eq!((run.status, run.stdout.as_str()), (Some(1), ""));
        assert!(run.stderr.contains(problem), "{}", run.stderr);
    }
}
