//! `hbal --worst-group` and `--all-groups`: the same plans as group by group, combined into one.

use std::fs;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use jsonschema::Validator;
use serde_json::Value;
use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_htools");

/// Both streams of a run that ends with this status.
#[track_caller]
fn ends(words: &[&str], status: i32) -> (String, String) {
    let mut command = Command::new(PROGRAM);
    let run = command.env_remove("HTOOLS").args(words).assert().code(status);
    let text = |stream: &[u8]| String::from_utf8(stream.to_vec()).unwrap();
    (text(&run.get_output().stdout), text(&run.get_output().stderr))
}

#[track_caller]
fn stdout(words: &[&str]) -> String {
    ends(words, 0).0
}

fn schema(name: &str) -> Validator {
    let text = fs::read_to_string(Path::new("docs/schema").join(name)).unwrap();
    jsonschema::draft202012::new(&serde_json::from_str(&text).unwrap()).unwrap()
}

#[track_caller]
fn document(words: &[&str], schema: &Validator) -> Value {
    let document: Value = serde_json::from_str(&stdout(&[words, &["--json"]].concat())).unwrap();
    let errors: Vec<String> =
        schema.iter_errors(&document).map(|e| format!("{}: {e}", e.instance_path)).collect();
    assert!(errors.is_empty(), "{words:?}: {errors:#?}");
    document
}

fn array<'d>(document: &'d Value, key: &str) -> &'d Vec<Value> {
    document[key].as_array().unwrap()
}

/// Two samples, and generated clusters.
fn clusters(directory: &TempDir) -> Vec<PathBuf> {
    let mut clusters = vec![PathBuf::from("data/groups.data"), PathBuf::from("data/pools.data")];
    for (number, size) in [["12", "60", "drbd"], ["16", "90", "mixed"], ["9", "40", "ext"]].iter().enumerate()
    {
        let path = directory.path().join(format!("{number}.data"));
        let text = stdout(&[&["htools", "generate", "--groups=4", "--seed=7"][1..], size].concat());
        fs::write(&path, text).unwrap();
        clusters.push(path);
    }
    clusters
}

/// The names of the groups that have nodes.
fn groups(cluster: &Path) -> Vec<String> {
    let text = fs::read_to_string(cluster).unwrap();
    let rows: Vec<Vec<&str>> =
        text.split("\n\n").take(2).flat_map(str::lines).map(|row| row.split('|').collect()).collect();
    let used = |uuid: &str| rows.iter().any(|row| row.get(8) == Some(&uuid));
    let with_nodes = rows.iter().filter(|row| row.len() < 8 && used(row[1]));
    with_nodes.map(|row| row[0].to_owned()).collect()
}

const OPTION_SETS: [&[&str]; 5] = [&[], &["-l", "2"], &["-v", "-v"], &["-E"], &["-q", "--no-disk-moves"]];

/// The part about the group in the output of a run for one group.
fn block(cluster: &str, group: &str, options: &[&str]) -> String {
    let text = stdout(&[&["hbal", "-t", cluster, "-G", group], options].concat());
    let start = text.find("Group size").unwrap();
    text[start..].to_owned()
}

#[test]
fn all_groups_are_treated_as_each_by_itself() {
    let directory = tempfile::tempdir().unwrap();
    for path in clusters(&directory) {
        let cluster = path.to_str().unwrap();
        for options in OPTION_SETS {
            let text = stdout(&[&["hbal", "-t", cluster, "--all-groups"], options].concat());
            let blocks: Vec<String> =
                groups(&path).iter().map(|group| format!("\n{}", block(cluster, group, options))).collect();
            let start = text.find("\nGroup size").unwrap();
            let rest = text[start..].strip_prefix(blocks.concat().as_str());
            let rest = rest.unwrap_or_else(|| panic!("{cluster} {options:?}: {text}"));
            let steps = blocks.concat().matches(" a=").count();
            match options.contains(&"-q") {
                true => assert_eq!(rest, ""),
                false => assert!(
                    rest.starts_with("\n") && rest.contains(&format!(" {steps} step")) == (steps > 0),
                    "{rest}"
                ),
            }
        }
    }
}

#[test]
fn the_plans_of_all_groups_are_one() {
    let directory = tempfile::tempdir().unwrap();
    let (one, all) = (schema("htools.plan-1.json"), schema("htools.group-plans-1.json"));
    for path in clusters(&directory) {
        let cluster = path.to_str().unwrap();
        let joint = document(&["hbal", "-t", cluster, "--all-groups"], &all);
        assert_eq!((&joint["choice"], &joint["stopped"]), (&"all-groups".into(), &Value::Null));
        let (mut steps, mut jobsets): (Vec<Value>, Vec<Vec<u64>>) = (Vec::new(), Vec::new());
        let mut nodes = 0;
        for (group, plan) in groups(&path).iter().zip(array(&joint, "groups")) {
            let own = document(&["hbal", "-t", cluster, "-G", group], &one);
            for key in ["group", "ending", "stopped", "initial_score", "unavoidable_score", "final_score"] {
                assert_eq!(plan[key], own[key], "{cluster} {group} {key}");
            }
            let offset = steps.len() as u64;
            for (number, set) in array(&own, "jobsets").iter().enumerate() {
                if jobsets.len() == number {
                    jobsets.push(Vec::new());
                }
                let set = set.as_array().unwrap();
                jobsets[number].extend(set.iter().map(|step| step.as_u64().unwrap() + offset));
            }
            for step in array(&own, "steps") {
                let mut step = step.clone();
                step["number"] = (step["number"].as_u64().unwrap() + offset).into();
                steps.push(step);
            }
            let numbers: Vec<u64> = (offset + 1..=steps.len() as u64).collect();
            assert_eq!(plan["steps"], serde_json::to_value(numbers).unwrap());
            for node in array(&own, "nodes_after") {
                assert!(array(&joint, "nodes_after").contains(node), "{cluster}: {node}");
                nodes += 1;
            }
        }
        assert_eq!(array(&joint, "groups").len(), groups(&path).len());
        assert_eq!(array(&joint, "nodes_after").len(), nodes);
        assert!(!steps.is_empty() && jobsets.len() < steps.len(), "{cluster}");
        assert_eq!(array(&joint, "steps"), &steps, "{cluster}");
        assert_eq!(joint["jobsets"], serde_json::to_value(&jobsets).unwrap(), "{cluster}");
        // The commands follow the jobsets.
        let text = stdout(&["hbal", "-t", cluster, "--all-groups", "-C"]);
        let printed: Vec<&str> = text.lines().map(str::trim).filter(|l| l.starts_with("gnt-")).collect();
        let commands =
            jobsets.iter().flatten().flat_map(|number| array(&steps[*number as usize - 1], "commands"));
        assert!(commands.map(|command| command.as_str().unwrap()).eq(printed), "{cluster}");
    }
}

#[test]
fn the_saved_state_is_where_the_plan_leads() {
    let directory = tempfile::tempdir().unwrap();
    let schema = schema("htools.group-plans-1.json");
    for path in clusters(&directory) {
        let cluster = path.to_str().unwrap();
        let prefix = directory.path().join("state");
        let prefix = prefix.to_str().unwrap();
        for choice in ["--all-groups", "--worst-group"] {
            let plan = document(&["hbal", "-t", cluster, choice, "-S", prefix], &schema);
            let [original, balanced] = ["original", "balanced"].map(|end| {
                let text = fs::read_to_string(format!("{prefix}.{end}")).unwrap();
                text.split("\n\n").nth(2).unwrap().lines().map(str::to_owned).collect::<Vec<_>>()
            });
            assert_eq!(original.len(), balanced.len());
            for (before, after) in original.iter().zip(&balanced) {
                let [before, after] = [before, after].map(|row| row.split('|').collect::<Vec<_>>());
                let last = array(&plan, "steps").iter().rev().find(|step| step["instance"] == before[0]);
                let (primary, secondary) = match last {
                    Some(step) => (&step["to"]["primary"], &step["to"]["secondary"]),
                    None => (&Value::from(before[6]), &Value::from(before[7])),
                };
                assert_eq!(
                    (after[6], after[7]),
                    (primary.as_str().unwrap(), secondary.as_str().unwrap_or(""))
                );
            }
        }
    }
}

#[test]
fn the_worst_group_is_the_one_with_the_highest_score() {
    let directory = tempfile::tempdir().unwrap();
    let (one, several) = (schema("htools.plan-1.json"), schema("htools.group-plans-1.json"));
    for path in clusters(&directory) {
        let cluster = path.to_str().unwrap();
        let mut alone: Vec<Value> =
            groups(&path).iter().map(|group| document(&["hbal", "-t", cluster, "-G", group], &one)).collect();
        let total = |plan: &Value| plan["initial_score"]["total"].as_f64().unwrap();
        alone.sort_by(|a, b| total(b).total_cmp(&total(a)));
        let worst = document(&["hbal", "-t", cluster, "--worst-group"], &several);
        let order = |plans: &[Value]| -> Vec<Value> {
            plans.iter().map(|plan| plan["group"]["name"].clone()).collect()
        };
        assert_eq!(order(array(&worst, "groups")), order(&alone), "{cluster}");
        let chosen = alone.iter().position(|plan| plan["ending"] == "improved").unwrap();
        assert_eq!(worst["steps"], alone[chosen]["steps"]);
        for (at, plan) in array(&worst, "groups").iter().enumerate() {
            let wanted = match at.cmp(&chosen) {
                std::cmp::Ordering::Greater => Value::Null,
                _ => alone[at]["ending"].clone(),
            };
            assert_eq!(plan["ending"], wanted, "{cluster} {at}");
        }
        let name = alone[chosen]["group"]["name"].as_str().unwrap();
        let text = stdout(&["hbal", "-t", cluster, "--worst-group"]);
        assert!(text.contains(&format!("\n\n{}\nNode group {name} is", block(cluster, name, &[]))), "{text}");
    }
}

/// Three groups: one cannot be improved, one is balanced, one can be improved.
const THREE: &str = "\
stuck|u1|preferred||
even|u2|preferred||
loose|u3|preferred||

s1|32768|1024|7168|100000|100000|8|N|u1|1
s2|32768|1024|31744|100000|100000|8|Y|u1|1
e1|32768|1024|31744|100000|100000|8|N|u2|1
l1|32768|1024|23552|100000|100000|8|N|u3|1
l2|32768|1024|31744|100000|100000|8|N|u3|1

big|24576|0|4|running|Y|s2||ext||1
one|4096|0|1|running|Y|l1||ext||1
two|4096|0|1|running|Y|l1||ext||1

";

#[test]
fn the_next_group_if_the_worst_cannot_be_improved() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("three.data");
    fs::write(&path, THREE).unwrap();
    let cluster = path.to_str().unwrap();
    let text = stdout(&["hbal", "-t", cluster, "--worst-group"]);
    assert_eq!(
        text,
        "\
Loaded 5 nodes, 3 instances
Node groups, the worst first:
   Group Nodes Inst       Score
   stuck     2    1 20.00000000
   loose     2    2  4.25000000
   even      1    0  0.00000000 balanced

Group size 2 nodes, 1 instances
Selected node group: stuck
Initial check done: 0 bad nodes, 0 bad instances.
Initial score: 20.00000000
Trying to minimize the CV...
No solution found
Solution length=0

Group size 2 nodes, 2 instances
Selected node group: loose
Initial check done: 0 bad nodes, 0 bad instances.
Initial score: 4.25000000
Trying to minimize the CV...
    1. one l1    => l2      0.00000000 a=fa:l2
Cluster score improved from 4.25000000 to 0.00000000
Solution length=1

Node group loose is improved with 1 step in 1 jobset.
"
    );
}

#[test]
fn no_group_can_be_improved() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("even.data");
    let even = THREE.replace("|l1||ext||1\ntwo", "|l2||ext||1\ntwo");
    fs::write(&path, even).unwrap();
    let cluster = path.to_str().unwrap();
    for choice in ["--worst-group", "--all-groups"] {
        let text = stdout(&["hbal", "-t", cluster, choice]);
        assert!(text.ends_with("\n\nNo node group can be improved.\n"), "{text}");
    }
}

#[test]
fn an_empty_cluster() {
    let schema = schema("htools.group-plans-1.json");
    for choice in ["--worst-group", "--all-groups"] {
        let words = ["hbal", "--simulate", "p,2,1t,32g,16", "--simulate", "p,1,1t,32g,16", choice];
        assert_eq!(stdout(&words), "Cluster is empty, exiting.\n");
        let document = document(&words, &schema);
        assert_eq!(document["choice"], choice.strip_prefix("--").unwrap());
        assert_eq!(array(&document, "groups").len(), 2);
    }
}

#[test]
fn the_same_with_any_number_of_threads() {
    let directory = tempfile::tempdir().unwrap();
    for path in clusters(&directory) {
        let run = |threads: &str| {
            let mut command = Command::new(PROGRAM);
            command.env_remove("HTOOLS").env("RAYON_NUM_THREADS", threads);
            command.args(["hbal", "-C", "-p", "--print-instances", "--all-groups", "-t"]).arg(&path);
            let run = command.assert().code(0);
            (run.get_output().stdout.clone(), run.get_output().stderr.clone())
        };
        let alone = run("1");
        assert!(!alone.1.is_empty());
        assert_eq!(run("8"), alone, "{path:?}");
    }
}

#[test]
fn time_is_up() {
    let schema = schema("htools.group-plans-1.json");
    let words = ["hbal", "-t", "data/groups.data", "--all-groups", "--time-limit", "1e-12"];
    let document = document(&words, &schema);
    assert_eq!(document["stopped"], "time-limit");
    let endings: Vec<&Value> = array(&document, "groups").iter().map(|group| &group["ending"]).collect();
    // The first one always gets its turn.
    assert_eq!(endings, [&"improved".into(), &Value::Null, &Value::Null]);
    assert_eq!(array(&document, "steps").len(), 1);
    let (_, stderr) = ends(&words, 0);
    assert!(stderr.ends_with("There was no time left for some of the node groups\n"), "{stderr}");
}

#[test]
fn contradictions() {
    for (words, said) in [
        (
            &["--all-groups", "--worst-group"][..],
            "Error: options --worst-group and --all-groups exclude each other\n",
        ),
        (&["--all-groups", "-G", "x"], "Error: options --all-groups and --group=x exclude each other\n"),
        (&["--worst-group", "-Gx"], "Error: options --worst-group and --group=x exclude each other\n"),
    ] {
        // Nothing is read.
        let words = [&["hbal", "-t", "no-such-file"], words].concat();
        assert_eq!(ends(&words, 1), (String::new(), said.to_owned()));
    }
}
