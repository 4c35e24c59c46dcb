//! `--json`: every document follows its schema and agrees with the text output.

mod placements;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use htools::search::Stopped;
use jsonschema::Validator;
use serde_json::Value;

const PROGRAM: &str = env!("CARGO_BIN_EXE_htools");

/// Standard output of a successful run.
fn stdout(words: &[&str]) -> String {
    let mut command = Command::new(PROGRAM);
    let run = command.env_remove("HTOOLS").args(words).assert().code(0);
    String::from_utf8(run.get_output().stdout.clone()).unwrap()
}

fn schema(name: &str) -> Value {
    let text = fs::read_to_string(Path::new("docs/schema").join(name)).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn validator(name: &str) -> Validator {
    jsonschema::draft202012::new(&schema(name)).unwrap()
}

/// The document: one JSON text with a line end, and nothing else.
fn document(words: &[&str], validator: &Validator) -> Value {
    let text = stdout(&[words, &["--json"]].concat());
    assert!(text.starts_with("{\n") && text.ends_with("\n}\n"), "{words:?}");
    let document: Value = serde_json::from_str(&text).unwrap();
    let errors: Vec<String> =
        validator.iter_errors(&document).map(|e| format!("{}: {e}", e.instance_path)).collect();
    assert!(errors.is_empty(), "{words:?}: {errors:#?}");
    document
}

fn samples() -> Vec<PathBuf> {
    let mut samples: Vec<PathBuf> = fs::read_dir("data").unwrap().map(|e| e.unwrap().path()).collect();
    samples.retain(|path| path.extension().is_some_and(|end| end == "data"));
    samples.sort();
    assert!(samples.len() >= 6);
    samples
}

/// The groups of a sample, because hbal works on one.
fn groups(sample: &Path) -> Vec<String> {
    let text = fs::read_to_string(sample).unwrap();
    let rows = text.lines().take_while(|line| !line.is_empty());
    rows.map(|row| row.split('|').next().unwrap().to_owned()).collect()
}

/// A number in the format of the text output: eight digits, half to even.
fn shown(number: &Value) -> String {
    htools::report::balance::components::score(number.as_f64().unwrap_or(f64::NAN))
}

fn array<'d>(document: &'d Value, key: &str) -> &'d Vec<Value> {
    document[key].as_array().unwrap()
}

/// Compares the document of a run of hbal with the text of the same run.
fn compare_plan(words: &[&str], document: &Value) {
    let text = stdout(&[words, &["-C", "-v", "-v"]].concat());
    let steps: Vec<&str> = text.lines().filter(|line| line.contains(" a=")).collect();
    assert_eq!(array(document, "steps").len(), steps.len(), "{words:?}");
    let overall = |start: &str| {
        text.lines().find_map(|line| line.strip_prefix(start)).map(|rest| rest.trim().to_owned())
    };
    assert_eq!(overall("Initial coefficients: overall"), Some(shown(&document["initial_score"]["total"])));
    for (number, (step, line)) in (1..).zip(array(document, "steps").iter().zip(steps)) {
        let (places, notation) = line.split_once(" a=").unwrap();
        assert_eq!(step["notation"], notation, "{line}");
        assert_eq!(step["number"], number);
        assert_eq!(places.rsplit(' ').next(), Some(shown(&step["score"]).as_str()), "{line}");
    }
    let commands = |step: &Value| -> Vec<String> {
        step["commands"].as_array().unwrap().iter().map(|c| c.as_str().unwrap().to_owned()).collect()
    };
    let sets: Vec<Vec<usize>> = serde_json::from_value(document["jobsets"].clone()).unwrap();
    let in_sets: Vec<String> =
        sets.iter().flatten().flat_map(|number| commands(&document["steps"][number - 1])).collect();
    let printed: Vec<&str> = text.lines().map(str::trim).filter(|l| l.starts_with("gnt-")).collect();
    assert_eq!(in_sets, printed, "{words:?}");
    let titles: Vec<String> =
        (1..).zip(&sets).map(|(at, set)| format!("  echo jobset {at}, {} jobs", set.len())).collect();
    let printed: Vec<&str> = text.lines().filter(|line| line.contains("echo jobset")).collect();
    assert_eq!(titles, printed, "{words:?}");
    match document["ending"].as_str().unwrap() {
        "balanced" => assert!(text.contains("Nothing to do, exiting"), "{words:?}"),
        "no-solution" => assert!(text.contains("No solution found"), "{words:?}"),
        "improved" => {
            assert_eq!(
                overall("Final coefficients:   overall"),
                Some(shown(&document["final_score"]["total"]))
            );
            let last = array(document, "steps").last().unwrap();
            assert_eq!(shown(&last["score"]), shown(&document["final_score"]["total"]));
        }
        other => panic!("{words:?}: {other}"),
    }
    let components = array(&document["initial_score"], "components");
    for component in components {
        let line = format!(" {} ", component["name"].as_str().unwrap());
        let printed = text.lines().find(|l| l.contains(&line)).unwrap();
        assert_eq!(printed.split_whitespace().nth(1), Some(shown(&component["value"]).as_str()));
    }
}

#[test]
fn the_schemas_are_schemas() {
    for name in [
        "htools.plan-1.json",
        "htools.group-plans-1.json",
        "htools.info-1.json",
        "htools.space-1.json",
        "htools.runway-1.json",
        "htools.room-1.json",
        "htools.check-1.json",
        "htools.roll-1.json",
        "htools.standby-groups-1.json",
        "htools.squeeze-1.json",
        "htools.group-status-1.json",
        "htools.regroup-1.json",
        "htools.plan-graph-1.json",
        "htools.saved-plan-1.json",
        "htools.repair-1.json",
        "htools.placement-1.json",
        "htools.normalized-1.json",
        "htools.survival-1.json",
        "htools.fit-1.json",
        "htools.lint-1.json",
        "htools.affinity-1.json",
        "htools.simulation-1.json",
    ] {
        let schema = schema(name);
        assert!(jsonschema::meta::is_valid(&schema), "{name}");
        strict(&schema, name);
    }
    assert!(!validator("htools.info-1.json").is_valid(&serde_json::json!({})));
}

#[test]
fn the_room_that_is_made_agrees_with_the_text() {
    let validator = validator("htools.room-1.json");
    for (sample, room) in
        [("unbalanced-drbd", "28g,2c,x2"), ("unbalanced-drbd", "1g,1c"), ("groups", "4g,x3")]
    {
        let file = format!("data/{sample}.data");
        let words = ["hspace", "-t", &file, "--make-room", room];
        let (document, text) = (document(&words, &validator), stdout(&words));
        let steps: Vec<&str> = text.lines().filter(|line| line.contains(" a=")).collect();
        assert_eq!(array(&document, "steps").len(), steps.len());
        for (step, line) in array(&document, "steps").iter().zip(steps) {
            assert!(line.contains(step["notation"].as_str().unwrap()), "{line}");
        }
        assert_eq!(document["complete"], document["fitting_after"] == document["wanted"]["count"]);
        let said = format!("Cluster score changed from {} to ", shown(&document["initial_score"]));
        assert_eq!(text.contains(&said), !array(&document, "steps").is_empty(), "{text}");
    }
}

/// Checks that every object names all of its keys, requires them unless they may be absent, and has a description.
fn strict(schema: &Value, place: &str) {
    let Value::Object(members) = schema else {
        if let Value::Array(items) = schema {
            items.iter().for_each(|item| strict(item, place));
        }
        return;
    };
    if let Some(Value::Object(properties)) = members.get("properties") {
        assert_eq!(members.get("additionalProperties"), Some(&Value::Bool(false)), "{place}");
        let required: Vec<&str> = array(schema, "required").iter().map(|k| k.as_str().unwrap()).collect();
        let always = |(_, property): &(&String, &Value)| {
            !property["description"].as_str().is_some_and(|said| said.ends_with("absent without them."))
        };
        let always = properties.iter().filter(always).map(|(key, _)| key);
        assert!(always.eq(required.iter().copied()), "{place}");
        for (key, property) in properties {
            let said = ["description", "const", "$ref"].iter().any(|word| property.get(word).is_some());
            assert!(said, "{place}: {key} has no description");
        }
    }
    members.iter().for_each(|(key, value)| strict(value, &format!("{place}/{key}")));
}

#[test]
fn plans_of_all_samples() {
    let validator = validator("htools.plan-1.json");
    let option_sets: [&[&str]; 15] = [
        &[],
        &["-E"],
        &["-l", "1"],
        &["-l", "0"],
        &["--time-limit", "1e-12"],
        &["--no-disk-moves"],
        &["--no-instance-moves"],
        &["--restricted-migration", "--ignore-soft-errors"],
        &["--max-cpu", "0.8"],
        &["--min-disk", "0.6"],
        &["-e", "1"],
        &["-g", "0.5", "--min-gain-limit", "20"],
        &["-U", "data/utilisation.txt"],
        &["--ignore-dynu"],
        &["--exclusion-tags", "customer"],
    ];
    for sample in samples() {
        for group in groups(&sample) {
            for options in option_sets {
                let words = [&["hbal", "-t", sample.to_str().unwrap(), "-G", &group], options].concat();
                let document = document(&words, &validator);
                assert_eq!(document["group"]["name"], group.as_str());
                compare_plan(&words, &document);
            }
        }
    }
}

/// Reason why a search ended early, if it did; early_end.rs has the runs.
#[test]
fn reasons_to_stop() {
    let validator = validator("htools.plan-1.json");
    let mut plan = document(&["hbal", "-t", "data/unbalanced-drbd.data"], &validator);
    assert_eq!(plan["stopped"], Value::Null);
    for (stopped, word) in [(Stopped::TimeLimit, "time-limit"), (Stopped::Interrupt, "interrupt")] {
        plan["stopped"] = serde_json::to_value(stopped).unwrap();
        assert_eq!(plan["stopped"], word);
        assert!(validator.is_valid(&plan), "{word}");
    }
    plan["stopped"] = "boredom".into();
    assert!(!validator.is_valid(&plan));
}

#[test]
fn nodes_after_a_plan() {
    let validator = validator("htools.plan-1.json");
    let plan = document(&["hbal", "-t", "data/unbalanced-drbd.data"], &validator);
    for node in array(&plan, "nodes_after") {
        let name = node["name"].as_str().unwrap();
        let mut expected: Vec<&str> = Vec::new();
        for instance in array(&plan["cluster"], "instances") {
            let moved = array(&plan, "steps").iter().rev().find(|step| step["instance"] == instance["name"]);
            let primary = moved.map_or(&instance["primary"], |step| &step["to"]["primary"]);
            if primary == name {
                expected.push(instance["name"].as_str().unwrap());
            }
        }
        let mut found: Vec<&str> = array(node, "primaries").iter().map(|i| i.as_str().unwrap()).collect();
        found.sort_unstable();
        expected.sort_unstable();
        assert_eq!(found, expected, "{name}");
    }
    let balanced = document(&["hbal", "-t", "data/balanced.data"], &validator);
    assert!(array(&balanced, "nodes_after").is_empty());
}

#[test]
fn explanations_of_all_samples() {
    let validator = validator("htools.plan-1.json");
    let mut refusals = 0;
    for sample in samples() {
        let text = fs::read_to_string(&sample).unwrap();
        let instances: Vec<&str> =
            text.split("\n\n").nth(2).unwrap().lines().map(|row| row.split('|').next().unwrap()).collect();
        let wanted: Vec<String> = instances.iter().map(|name| format!("--explain={name}")).collect();
        let wanted: Vec<&str> = wanted.iter().map(String::as_str).collect();
        for options in [&[][..], &["-E"], &["--min-disk=0.9", "--max-cpu=0.3"], &["--exclude-instances=web1"]]
        {
            if options.contains(&"--exclude-instances=web1") && !text.contains("\nweb1") {
                continue;
            }
            let words = [&["hbal", "-t", sample.to_str().unwrap()], options, &wanted].concat();
            let document = document(&words, &validator);
            assert_eq!(document["ending"], "explained");
            assert_eq!(array(&document, "explanations").len(), instances.len());
            for explained in array(&document, "explanations") {
                let held = !array(explained, "holds").is_empty();
                assert_eq!(explained["outlook"] == "held", held);
                assert_eq!(explained["outlook"] == "other-first", !explained["next_step"].is_null());
                for way in array(explained, "moves") {
                    assert!(way["score"].is_null() != way["refusal"].is_null(), "{way}");
                    refusals += usize::from(way["score"].is_null());
                }
                if let Some(best) = explained["best"].as_u64() {
                    let score = |at: usize| explained["moves"][at]["score"].as_f64();
                    let all = (0..array(explained, "moves").len()).filter_map(score);
                    assert_eq!(score(best as usize), all.reduce(f64::min));
                }
            }
        }
    }
    assert!(refusals > 100);
}

#[test]
fn information_about_all_samples() {
    let validator = validator("htools.info-1.json");
    let option_sets: [&[&str]; 4] = [&[], &["--ignore-dynu"], &["-q"], &["--static-kvm-node-memory=0"]];
    for sample in samples() {
        for options in option_sets {
            let words = [&["hinfo", "-t", sample.to_str().unwrap()], options].concat();
            compare_information(&words, &document(&words, &validator));
        }
    }
    let more: [&[&str]; 5] = [
        &["hinfo", "-I", "data/allocate.json"],
        &["hinfo", "--simulate", "p,3,1t,32g,16", "--simulate", "u,2,1t,32g,16"],
        &["hinfo", "-t", "data/unbalanced-drbd.data", "-O", "node1", "-O", "node2", "-O", "node3"],
        &["hinfo", "-t", "data/unbalanced-drbd.data", "--mond", "--mond-data", "data/monitoring.json"],
        &["hinfo", "--simulate", "p,0,1t,32g,16"],
    ];
    for words in more {
        compare_information(words, &document(words, &validator));
    }
}

fn compare_information(words: &[&str], document: &Value) {
    let text = stdout(&[words, &["-v", "-v", "-v"]].concat());
    let score = text.lines().find_map(|line| line.strip_prefix("Cluster score: ")).unwrap();
    assert_eq!(score, shown(&document["score"]["total"]), "{words:?}");
    let happy = if document["n1_happy"] == true { "Cluster is N+1 happy" } else { "Cluster is N+1 unhappy" };
    assert!(text.lines().any(|line| line == happy), "{words:?}");
    for group in array(document, "groups") {
        let start = format!("   {} ", group["name"].as_str().unwrap());
        let row = text.lines().find(|line| line.starts_with(&start)).unwrap();
        let cells: Vec<&str> = row.split_whitespace().collect();
        assert_eq!(cells[1..3], [group["nodes"].to_string(), group["instances"].to_string()]);
        assert_eq!(cells[3], array(group, "bad_nodes").len().to_string());
        assert_eq!(cells[4], group["bad_instances"].to_string());
        assert_eq!(cells[6], shown(&group["score"]));
    }
    let suffix = document["cluster"]["common_suffix"].as_str().unwrap();
    assert_eq!(text.contains("Stripping common suffix"), !suffix.is_empty());
}

/// A node without memory makes scores undefined. They become null in a valid document.
#[test]
fn numbers_that_are_not_finite_are_null() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("odd.data");
    let sample = fs::read_to_string("data/unbalanced-drbd.data").unwrap();
    for (odd, load) in [("NaN", ""), ("0", ""), ("Infinity", ""), ("49152", "NaN"), ("49152", "Infinity")] {
        let row = "node3.example.com|49152|";
        fs::write(&file, sample.replace(row, &format!("node3.example.com|{odd}|"))).unwrap();
        let name = file.to_str().unwrap();
        let loads = directory.path().join("loads");
        let line = format!("db1.example.com {load} 1 1 1\n");
        fs::write(&loads, if load.is_empty() { "" } else { &line }).unwrap();
        let loads = loads.to_str().unwrap();
        let plan = document(&["hbal", "-t", name, "-U", loads, "-q"], &validator("htools.plan-1.json"));
        if !load.is_empty() || odd == "NaN" {
            assert_eq!(plan["initial_score"]["total"], Value::Null, "{odd} {load}");
        }
        let info = document(&["hinfo", "-t", name, "-q"], &validator("htools.info-1.json"));
        let node = &info["cluster"]["nodes"][2];
        assert_eq!(node["memory"]["total"].is_null(), odd == "NaN" || odd == "Infinity");
    }
}

#[test]
fn an_empty_cluster_has_a_plan_document() {
    let validator = validator("htools.plan-1.json");
    let plan = document(&["hbal", "--simulate", "p,2,1t,32g,16"], &validator);
    assert_eq!(plan["ending"], "empty");
    assert_eq!(plan["group"], Value::Null);
}

/// Lists and saved states are not part of the document.
#[test]
fn the_document_is_alone_on_standard_output() {
    let directory = tempfile::tempdir().unwrap();
    let prefix = directory.path().join("state");
    let script = directory.path().join("commands");
    let (prefix, script) = (prefix.to_str().unwrap(), format!("-C{}", script.display()));
    let sample = ["hbal", "-t", "data/unbalanced-drbd.data"];
    let validator = validator("htools.plan-1.json");
    let more = ["-p", "--print-instances", "-v", "-v", "-v", "-v", "-v", "-S", prefix, &script];
    let words = [&sample[..], &more].concat();
    assert_eq!(document(&words, &validator), document(&sample, &validator));
}

/// Compares the document of a run of hspace with the text and the shell output of the same run.
fn compare_estimate(words: &[&str], document: &Value) {
    let text = stdout(words);
    let shell = stdout(&[words, &["--machine-readable"]].concat());
    let value = |key: &str| {
        let start = format!("HTS_{key}=");
        let found = shell.lines().find_map(|line| line.strip_prefix(&start));
        found.unwrap_or_else(|| panic!("{words:?}: {key}")).trim_matches('\'').to_owned()
    };
    let states = [("INI", &document["totals"]), ("TRL", &document["tiered"]["totals"])];
    for (state, totals) in states.into_iter().chain([("FIN", &document["standard"]["totals"])]) {
        let has =
            |key: &str, wanted: String| assert_eq!(value(&format!("{state}_{key}")), wanted, "{words:?}");
        has("SCORE", shown(&totals["score"]));
        has("INST_CNT", totals["instances"].to_string());
        has("MEM_RESVD", totals["memory"]["reserved"].to_string());
        has("MEM_OVERHEAD", totals["memory_overhead"].to_string());
        has("DSK_EFF", shown(&totals["disk"]["efficiency"]));
        has("SPN_INST", totals["spindles"]["used"].to_string());
        has("CPU_EFF", shown(&totals["cpu"]["efficiency"]));
        has("MNODE_DSK_AVAIL", totals["disk"]["most_available"].to_string());
    }
    for (name, share) in [("USED", "used"), ("POOL", "pool"), ("UNAV", "unavailable")] {
        let share = &document["capacity"][share];
        assert_eq!(value(&format!("KM_{name}_CPU")), share["virtual_cpus"].to_string());
        assert_eq!(value(&format!("KM_{name}_MEM")), share["memory"].to_string());
    }
    let size = |size: &Value| {
        let part = |key: &str| size[key].to_string();
        format!("{},{},{},{}", part("memory"), part("disk"), part("vcpus"), part("spindles"))
    };
    let tiers = array(&document["tiered"], "tiers").iter();
    let tiers: Vec<String> = tiers.map(|tier| format!("{}={}", size(&tier["size"]), tier["count"])).collect();
    assert_eq!(value("TSPEC"), tiers.join(" "), "{words:?}");
    let standard = &document["standard"];
    assert_eq!(value("ALLOC_INSTANCES"), standard["allocated"].to_string());
    for failure in array(standard, "failures") {
        let kind = failure["reason"].as_str().unwrap().to_uppercase();
        assert_eq!(value(&format!("ALLOC_{kind}_CNT")), failure["count"].to_string());
    }
    let reasons: Vec<&str> =
        text.lines().filter_map(|line| line.strip_prefix("  - most likely failure reason: ")).collect();
    assert_eq!(reasons, [&document["tiered"]["failure_reason"], &standard["failure_reason"]]);
    for run in ["tiered", "standard"] {
        let run = &document[run];
        assert_eq!(array(run, "instances").len() as u64, run["allocated"].as_u64().unwrap());
        let there = array(&document["cluster"], "nodes").iter().zip(array(run, "nodes_after"));
        let new: usize = there
            .map(|(before, after)| array(after, "primaries").len() - array(before, "primaries").len())
            .sum();
        assert_eq!(new, array(run, "instances").len(), "{words:?}");
    }
}

#[test]
fn estimates_of_all_samples() {
    let validator = validator("htools.space-1.json");
    let option_sets: [&[&str]; 5] = [
        &["-l", "7", "--disk-template", "drbd"],
        &["-l", "0"],
        &["--tiered-alloc", "100g,16g,4", "--standard-alloc", "20g,4g,2", "--disk-template", "plain"],
        &["--tiered-alloc", "100g,16g,4", "--standard-alloc", "20g,4g,2", "--no-capacity-checks"],
        &["--accept-existing-errors", "--spindle-use", "3", "--max-cpu", "1", "--tiered-alloc", "20g,9g,2"],
    ];
    for sample in samples() {
        for options in option_sets {
            let words = [&["hspace", "-t", sample.to_str().unwrap()], options].concat();
            compare_estimate(&words, &document(&words, &validator));
        }
    }
    let two =
        ["hspace", "-t", "data/groups.data", "--independent-groups", "-l", "5", "--tiered-alloc", "1g,2g,3"];
    compare_estimate(&two, &document(&two, &validator));
    let proven = ["hspace", "-t", "data/groups.data", "--disk-template", "drbd", "--proof"];
    compare_estimate(&proven, &document(&proven, &validator));
    let one = document(
        &["hspace", "--simulate", "p,2,0,64g,16,1", "--disk-template", "ext", "-l", "3"],
        &validator,
    );
    assert_eq!(one["settings"]["limit"], 3);
    assert_eq!(
        (&one["survey"]["hopeless"], &one["totals"]["disk"]["efficiency"]),
        (&false.into(), &Value::Null)
    );
}

/// Lists, maps and saved states are not part of the document.
#[test]
fn the_estimate_is_alone_on_standard_output() {
    let directory = tempfile::tempdir().unwrap();
    let prefix = directory.path().join("state");
    let sample = ["hspace", "-t", "data/unbalanced-drbd.data", "-l", "4"];
    let validator = validator("htools.space-1.json");
    let more = ["-p", "-v", "-v", "-v", "-S", prefix.to_str().unwrap()];
    assert_eq!(document(&[&sample[..], &more].concat(), &validator), document(&sample, &validator));
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 2);
}

// --- hroller

#[test]
fn rolls_say_what_the_text_says() {
    let validator = validator("htools.roll-1.json");
    for sample in samples() {
        for options in [&["--ignore-non-redundant"][..], &["--ignore-non-redundant", "--offline-maintenance"]]
        {
            let words =
                [&["hroller", "-f", "-t", sample.to_str().unwrap(), "--no-headers"], options].concat();
            let document = document(&words, &validator);
            let text = stdout(&words);
            let groups = array(&document, "groups");
            assert_eq!(document["group_count"], text.lines().count());
            for (group, line) in groups.iter().zip(text.lines()) {
                let names: Vec<&str> = array(group, "nodes").iter().filter_map(Value::as_str).collect();
                assert_eq!(names.join(","), line);
            }
        }
    }
}

#[test]
fn rolls_list_moves() {
    let cluster = "tests/recorded/hroller.in/full.data";
    let words = ["hroller", "-t", cluster, "--full-evacuation"];
    let document = document(&words, &validator("htools.roll-1.json"));
    let first = &array(&array(&document, "groups")[0], "moves")[0];
    assert_eq!(first["from"]["secondary"], "node-01");
    assert_eq!(first["to"]["secondary"], "node-20");
}

#[test]
fn rolls_of_pacemaker_clusters_say_what_the_text_says() {
    let words = ["hroller", "-x", "data/pacemaker-vms.xml", "--no-headers"];
    let document = document(&words, &validator("htools.standby-groups-1.json"));
    let text = stdout(&words);
    let groups = array(&document, "groups");
    assert_eq!((document["group_count"].as_u64(), groups.len()), (Some(4), text.lines().count()));
    for (group, line) in groups.iter().zip(text.lines()) {
        let names: Vec<&str> = array(group, "nodes").iter().filter_map(Value::as_str).collect();
        assert_eq!(names.join(","), line);
    }
    assert_eq!(groups[3]["nodes"][0], document["coordinator"]);
}

// --- hsqueeze

#[test]
fn squeezes_say_what_the_text_says() {
    let validator = validator("htools.squeeze-1.json");
    for sample in samples() {
        document(&["hsqueeze", "-t", sample.to_str().unwrap(), "--proof"], &validator);
        for options in [
            &["--minimal-resources=1"][..],
            &["--all", "--no-capacity-checks", "--deep"],
            &["--minimal-resources=90"],
        ] {
            let words = [&["hsqueeze", "-t", sample.to_str().unwrap()], options].concat();
            let document = document(&words, &validator);
            let text = stdout(&[&words[..], &["--no-headers"]].concat());
            let groups = array(&document, "groups");
            let nodes = groups.iter().flat_map(|group| array(group, "nodes")).filter_map(Value::as_str);
            assert_eq!(nodes.collect::<Vec<_>>(), text.lines().collect::<Vec<_>>(), "{words:?}");
        }
    }
}

// --- hgroup

#[test]
fn groups_and_moves_between_them() {
    let status = validator("htools.group-status-1.json");
    let plan = validator("htools.regroup-1.json");
    for sample in samples() {
        let file = sample.to_str().unwrap();
        let found = document(&["hgroup", "status", "-t", file], &status);
        assert_eq!(array(&found, "groups").len(), groups(&sample).len());
        for command in [
            &["compress"][..],
            &["compress", "--proof"],
            &["balance"],
            &["balance", "-Udata/utilisation.txt"],
        ] {
            let words = [&["hgroup"], command, &["-t", file]].concat();
            let found = document(&words, &plan);
            let text = stdout(&[&words[..], &["-C"]].concat());
            let moves: Vec<&Value> = array(&found, "moves").iter().collect();
            let rows = text.lines().filter(|line| line.contains(" => ")).count();
            assert_eq!(moves.len(), rows, "{words:?}");
            let commands: Vec<&Value> = moves.iter().flat_map(|row| array(row, "commands")).collect();
            let printed = text.lines().filter(|line| line.trim_start().starts_with("gnt-")).count();
            assert_eq!(commands.len(), printed, "{words:?}");
            assert!(text.contains(found["summary"].as_str().unwrap()), "{words:?}");
        }
    }
    let words = ["hgroup", "redistribute", "-t", "data/pools.data", "--json"];
    let run = Command::new(PROGRAM).env_remove("HTOOLS").args(words).assert().code(1);
    let found: Value = serde_json::from_slice(&run.get_output().stdout).unwrap();
    assert!(
        plan.is_valid(&found),
        "{:#?}",
        plan.iter_errors(&found).map(|e| e.to_string()).collect::<Vec<_>>()
    );
    let repairs = array(&found, "repairs");
    assert_eq!(repairs.iter().map(|r| r["repaired"] == true).collect::<Vec<_>>(), [true, false]);
    assert_eq!(repairs[1]["blocked"][0]["reason"], "denied");
}

// --- harep

/// Compares the document of a run of harep with the text of the same run.
fn compare_repairs(words: &[&str], document: &Value) {
    let text = stdout(words);
    let decided = |decision: &str| -> Vec<String> {
        let all = array(document, "instances").iter().filter(|found| found["decision"] == decision);
        all.map(|found| found["name"].as_str().unwrap().to_owned()).collect()
    };
    let begun = text.lines().filter_map(|line| line.strip_prefix("Executing ")?.split_once(" repair on "));
    let begun: Vec<&str> = begun.map(|(_, rest)| rest.split([':', ',']).next().unwrap()).collect();
    assert_eq!(decided("repair"), begun, "{words:?}");
    let tags: Vec<&str> =
        text.lines().filter(|line| line.starts_with('"')).map(|line| line.trim_matches('"')).collect();
    let instances = array(document, "instances");
    let told = instances.iter().flat_map(|found| {
        let removed = array(found, "removed_tags").iter().filter_map(Value::as_str);
        found["tag"].as_str().into_iter().chain(removed).collect::<Vec<_>>()
    });
    // The time when a tag is written differs between both runs.
    let same = |tag: &str| -> String { tag.split(':').filter(|field| field.len() != 10).collect() };
    let told: Vec<String> = told.map(same).collect();
    assert_eq!(told, tags.into_iter().map(same).collect::<Vec<_>>(), "{words:?}");
    let jobs = text.lines().filter_map(|line| line.strip_prefix("jobs: "));
    let jobs: Vec<Value> = jobs.map(|job| serde_json::from_str::<Value>(job).unwrap()[0].take()).collect();
    let opcodes = instances.iter().map(|found| found["opcodes"].clone());
    assert_eq!(opcodes.filter(|opcodes| *opcodes != Value::Array(Vec::new())).collect::<Vec<_>>(), jobs);
    for (status, count) in document["counts"].as_object().unwrap() {
        assert!(text.contains(&format!("\n{status}: {count}\n")), "{words:?}: {status}");
    }
}

#[test]
fn repairs_say_what_the_text_says() {
    let validator = validator("htools.repair-1.json");
    let mut decisions = BTreeSet::new();
    let mut compare = |words: &[&str]| {
        let document = document(words, &validator);
        compare_repairs(words, &document);
        let found = array(&document, "instances").iter().map(|found| found["decision"].clone().to_string());
        decisions.extend(found);
        document
    };
    for sample in samples() {
        let file = sample.to_str().unwrap();
        compare(&["harep", "-t", file, "--dry-run"]);
        let nodes = fs::read_to_string(&sample).unwrap();
        let node = nodes.split("\n\n").nth(1).unwrap().split('|').next().unwrap().to_owned();
        let found = compare(&["harep", "-t", file, "--simulate-failure", &node]);
        assert_eq!((&found["dry_run"], &found["simulated_failures"][0]), (&true.into(), &node.into()));
    }
    for limit in ["--limit=2", "--max-per-node=1"] {
        compare(&["harep", "-t", "data/repairs.data", "--dry-run", limit]);
    }
    compare(&["harep", "-t", "data/repairs.data", "--dry-run", "--backoff=3"]);
    for decision in
        ["repair", "later", "beyond-permission", "suspended", "not-enabled", "under-way", "failed"]
    {
        assert!(decisions.contains(&format!("\"{decision}\"")), "{decision}: {decisions:?}");
    }
}

/// An instance whose repair is not permitted or is suspended appears in the document with the repair that it needs.
#[test]
fn repairs_that_are_not_permitted_are_in_the_document() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("c.data");
    let nodes = "a|9000|0|9000|9000|9000|8|M|u\nb|9000|0|9000|9000|9000|8|Y|u";
    let enabled = "ganeti:watcher:autorepair:reinstall";
    let instances = format!(
        "i|500|1000|1|ERROR_nodeoffline|Y|b|a|drbd|{enabled},ganeti:watcher:autorepair:suspend|1|-\n\
         j|500|1000|1|ERROR_nodeoffline|Y|b||ext||1|-\n"
    );
    fs::write(&file, format!("g|u|preferred||\n\n{nodes}\n\n{instances}\n\n")).unwrap();
    let words = ["harep", "-t", file.to_str().unwrap(), "--dry-run", "--json"];
    let run = Command::new(PROGRAM).env_remove("HTOOLS").args(words).assert().code(0);
    let found: Value = serde_json::from_slice(&run.get_output().stdout).unwrap();
    assert!(validator("htools.repair-1.json").is_valid(&found));
    let told = array(&found, "instances").iter().map(|i| [&i["name"], &i["decision"], &i["repair"]]);
    let told: Vec<String> = told.map(|words| words.map(|word| word.as_str().unwrap()).join(" ")).collect();
    assert_eq!(told, ["i suspended failover", "j not-enabled failover"]);
}

/// The status is that of an error, but the document exists and contains all other instances.
#[test]
fn contradictions_are_in_the_document_of_repairs() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("odd.data");
    let begin = "ganeti:watcher:autorepair:pending:failover:";
    let tags = format!("|drbd|{begin}u1:100:1,{begin}u2:200:2|");
    let sample = fs::read_to_string("data/repairs.data").unwrap();
    fs::write(&file, sample.replacen("|drbd||", &tags, 1)).unwrap();
    let words = ["harep", "-t", file.to_str().unwrap(), "--dry-run", "--json"];
    let run = Command::new(PROGRAM).env_remove("HTOOLS").args(words).assert().code(1);
    let found: Value = serde_json::from_slice(&run.get_output().stdout).unwrap();
    assert!(validator("htools.repair-1.json").is_valid(&found));
    let instances = array(&found, "instances");
    assert_eq!((&instances[0]["decision"], &instances[0]["status"]), (&"unclear".into(), &"Failure".into()));
    assert!(instances.iter().any(|instance| instance["decision"] == "repair"));
}

/// A tag that was written late marks a finished repair as under way. It is removed, even from a healthy instance.
#[test]
fn late_tags_of_repairs_are_taken_away() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("late.data");
    let repair = |what: &str, end: &str| format!("ganeti:watcher:autorepair:{what}:fix-storage:u1:{end}:43");
    let (late, over) = (repair("pending", "100"), repair("result", "200:success"));
    let sample = fs::read_to_string("data/repairs.data").unwrap();
    let well = "ldap.example.com|1024|10368|1|running|Y|node3.example.com|node1.example.com|drbd|";
    fs::write(&file, sample.replacen(well, &format!("{well}{late},{over}"), 1)).unwrap();
    let words = ["harep", "-t", file.to_str().unwrap(), "--dry-run"];
    let run = Command::new(PROGRAM).env_remove("HTOOLS").args(words).assert().code(0);
    let said = String::from_utf8(run.get_output().stdout.clone()).unwrap();
    let removed = format!(">>> Removing the following tags from ldap.example.com:\n\"{late}\"\n");
    assert!(said.contains(&removed), "{said}");
    assert_eq!(said.matches(&over).count(), 0, "{said}");
}
