//! `hbal --deep`, `--pareto`, `--repair-only` and `--evacuate`.

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use jsonschema::Validator;
use serde_json::Value;

const PROGRAM: &str = env!("CARGO_BIN_EXE_htools");
const UNBALANCED: &str = "data/unbalanced-drbd.data";
const TAGS: &str = "data/tags.data";
const MIXED: &str = "data/mixed-templates.data";
const OFFLINE: &str = "data/offline-nodes.data";

/// Both streams of a run with this number of threads that ends with this status.
#[track_caller]
fn ends(words: &[&str], threads: usize, status: i32) -> (String, String) {
    let mut command = Command::new(PROGRAM);
    let command = command.env_remove("HTOOLS").env("RAYON_NUM_THREADS", threads.to_string());
    let run = command.arg("hbal").args(words).assert().code(status);
    let text = |stream: &[u8]| String::from_utf8(stream.to_vec()).unwrap();
    (text(&run.get_output().stdout), text(&run.get_output().stderr))
}

#[track_caller]
fn stdout(words: &[&str]) -> String {
    ends(words, 2, 0).0
}

fn schema(name: &str) -> Validator {
    let text = fs::read_to_string(Path::new("docs/schema").join(name)).unwrap();
    jsonschema::draft202012::new(&serde_json::from_str(&text).unwrap()).unwrap()
}

/// Parses a document and checks it against its schema.
#[track_caller]
fn checked(text: &str) -> Value {
    let document: Value = serde_json::from_str(text).unwrap();
    let schema = schema("htools.plan-1.json");
    let errors: Vec<String> =
        schema.iter_errors(&document).map(|e| format!("{}: {e}", e.instance_path)).collect();
    assert!(errors.is_empty(), "{errors:#?}");
    document
}

#[track_caller]
fn document(words: &[&str]) -> Value {
    checked(&stdout(&[words, &["--json"]].concat()))
}

/// Final score of a run.
fn last_score(words: &[&str]) -> f64 {
    document(words)["final_score"]["total"].as_f64().unwrap()
}

#[test]
fn deep_plans_are_no_worse_than_step_after_step() {
    for sample in [UNBALANCED, "data/mixed-templates.data", "data/tags.data"] {
        let steps = last_score(&["-t", sample]);
        let deep = last_score(&["-t", sample, "--deep", "--min-move-gain=0", "--effort=200000"]);
        assert!(deep <= steps + 1e-12, "{sample}: {deep} {steps}");
    }
}

#[test]
fn one_thread_or_many_give_the_same_bytes() {
    for words in [&["--deep"][..], &["--pareto", "--json"], &["--pareto", "--svg"]] {
        let words = [&["-t", UNBALANCED, "--effort=100000"], words].concat();
        assert_eq!(ends(&words, 1, 0), ends(&words, 3, 0), "{words:?}");
    }
}

#[test]
fn limits_hold() {
    let free = document(&["-t", UNBALANCED, "--deep", "--min-move-gain=0"]);
    let count = |document: &Value| document["steps"].as_array().unwrap().len();
    assert!(count(&free) > 2);
    let few = document(&["-t", UNBALANCED, "--deep", "--min-move-gain=0", "--max-moves=2"]);
    assert!(count(&few) <= 2);
    // The bound is that for two moves.
    let bound = |document: &Value| document["deep"]["bound"].as_f64().unwrap();
    assert!(bound(&few) > bound(&free) + 1.0, "{} {}", bound(&few), bound(&free));
    let text = stdout(&["-t", UNBALANCED, "--deep", "--min-move-gain=0", "--max-moves=2"]);
    assert!(text.contains("; no placement after 2 moves is below "), "{text}");
    assert_eq!(count(&document(&["-t", UNBALANCED, "--deep", "--max-moves=0"])), 0);
    assert_eq!(count(&document(&["-t", UNBALANCED, "--deep", "--max-data=0m"])), 0);
    assert_eq!(count(&document(&["-t", UNBALANCED, "--deep", "--min-move-gain=1e9"])), 0);
    let small = document(&["-t", UNBALANCED, "--deep", "--min-move-gain=0", "--max-data=100g"]);
    for point in small["deep"]["line"].as_array().unwrap() {
        assert!(point["data"].as_i64().unwrap() <= 100 * 1024, "{point}");
    }
}

#[test]
fn the_line_goes_down_and_stays_above_its_bounds() {
    let found = document(&["-t", UNBALANCED, "--pareto"]);
    assert_eq!(found["steps"].as_array().unwrap().len(), 0);
    let line = found["deep"]["line"].as_array().unwrap();
    assert_eq!((&line[0]["moves"], &line[0]["share"]), (&0.into(), &0.0.into()));
    assert_eq!(line.iter().filter(|point| point["chosen"] == true).count(), 1);
    let of = |point: &Value, key: &str| point[key].as_f64().unwrap();
    for pair in line.windows(2) {
        assert!(of(&pair[0], "score") > of(&pair[1], "score"));
        assert!(of(&pair[0], "moves") < of(&pair[1], "moves"));
    }
    for point in line {
        assert!(of(point, "bound") <= of(point, "score"), "{point}");
        assert!(of(&found["deep"], "bound") <= of(point, "bound") + 1e-12, "{point}");
    }
    let text = stdout(&["-t", UNBALANCED, "--pareto"]);
    assert!(text.contains("No score below") && text.contains("chosen"), "{text}");
    let picture = stdout(&["-t", UNBALANCED, "--pareto", "--svg"]);
    assert!(picture.starts_with("<svg ") && picture.ends_with("</svg>\n"));
}

#[test]
fn what_is_said_of_a_plan() {
    let text = stdout(&["-t", UNBALANCED, "--deep"]);
    let said = text.contains("no placement is below") || text.contains("it is optimal");
    assert!(said && text.contains("Solution length="), "{text}");
}

#[test]
fn repair_moves_what_is_wrong_alone() {
    let healthy = stdout(&["-t", UNBALANCED, "--repair-only"]);
    assert!(
        healthy.contains("There is nothing to be done") && healthy.contains("Solution length=0"),
        "{healthy}"
    );
    let found = document(&["-t", OFFLINE, "--repair-only"]);
    let nodes = found["cluster"]["nodes"].as_array().unwrap();
    let offline = |name: &Value| nodes.iter().any(|node| node["name"] == *name && node["offline"] == true);
    let steps = found["steps"].as_array().unwrap();
    assert!(!steps.is_empty());
    for step in steps {
        let from = &step["from"];
        assert!(offline(&from["primary"]) || offline(&from["secondary"]), "{step}");
        assert!(!offline(&step["to"]["primary"]) && !offline(&step["to"]["secondary"]), "{step}");
    }
}

#[test]
fn what_cannot_be_mended_is_named() {
    let words = ["-t", TAGS, "--repair-only"];
    let (out, _) = ends(&words, 2, 1);
    assert!(out.contains("Trying to mend what is wrong..."), "{out}");
    assert!(out.contains("against its exclusion tags or locations: refused by exclusion-tag ("), "{out}");
    let kept = ["-t", OFFLINE, "--repair-only", "--no-disk-moves"];
    let (out, err) = ends(&kept, 2, 1);
    assert!(out.contains("which is offline: its disks may not be copied (--no-disk-moves)"), "{out}");
    assert!(err.contains("hbal: not all that is wrong can be mended"), "{err}");
    let found = checked(&ends(&[&kept[..], &["--json"]].concat(), 2, 1).0);
    let stuck = found["deep"]["stuck"].as_array().unwrap();
    assert!(found["deep"]["complete"] == false && !stuck.is_empty());
    assert!(stuck.iter().any(|of| of["complaint"] == "left-behind" && of["held"] == "no-disk-moves"));
}

#[test]
fn nodes_that_cannot_be_emptied_are_refused() {
    let (out, err) = ends(&["-t", MIXED, "--evacuate=host2"], 2, 1);
    assert!(out.contains("Trying to empty host2...") && out.contains("which is to be emptied: "), "{out}");
    assert!(err.contains("hbal: the nodes cannot be emptied"), "{err}");
}

#[test]
fn a_node_is_emptied() {
    let whole = document(&["-t", UNBALANCED]);
    let name = whole["cluster"]["nodes"][0]["name"].as_str().unwrap().to_owned();
    let found = document(&["-t", UNBALANCED, "--evacuate", &name]);
    assert_eq!(found["deep"]["stuck"].as_array().unwrap().len(), 0, "{}", found["deep"]);
    let steps = found["steps"].as_array().unwrap();
    let has = |place: &Value| place["primary"] == name.as_str() || place["secondary"] == name.as_str();
    assert!(
        !steps.is_empty() && steps.iter().all(|step| has(&step["from"]) && !has(&step["to"])),
        "{steps:?}"
    );
    let there = whole["cluster"]["instances"].as_array().unwrap();
    let there = there.iter().filter(|instance| has(instance)).count();
    assert!(there == 0 || steps.len() >= there);
}

#[test]
fn what_would_move_twice_moves_once() {
    let [plain, merged] = [&["-t", UNBALANCED][..], &["-t", UNBALANCED, "--merge"]].map(document);
    let names = |document: &Value| -> Vec<String> {
        let steps = document["steps"].as_array().unwrap();
        steps.iter().map(|step| step["instance"].to_string()).collect()
    };
    let mut once = names(&merged);
    once.sort();
    once.dedup();
    assert_eq!(once.len(), names(&merged).len());
    assert!(once.len() < names(&plain).len());
    let score = |document: &Value| document["final_score"]["total"].as_f64().unwrap();
    assert!((score(&plain) - score(&merged)).abs() < 1e-9);
    let text = stdout(&["-t", UNBALANCED, "--merge"]);
    assert!(text.contains("Merged 15 steps into 12\n") && text.contains("Solution length=12\n"), "{text}");
    assert_eq!(text.lines().filter(|line| line.contains(" a=")).count(), 12);
}

/// Two full nodes. A tag requires one instance of each to be on the other.
const FULL: &str = "\
g|u|preferred||

n1|4196|100|96|90000|90000|9|N|u|1
n2|4196|100|596|90000|90000|9|N|u|1

a|2000|1000|1|running|Y|n1||ext|svc:x|1
b|2000|1000|1|running|Y|n1||ext|svc:x|1
c|1800|1000|1|running|Y|n2||ext|svc:y|1
d|1700|1000|1|running|Y|n2||ext|svc:y|1

htools:iextags:svc
";

#[test]
fn what_has_no_order_is_conceded_where_that_is_asked_for() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("full.data");
    std::fs::write(&path, FULL).unwrap();
    let words = |more: &[&'static str]| -> Vec<String> {
        let path = format!("-t{}", path.display());
        [path].into_iter().chain(["--deep"].iter().chain(more).map(|w| (*w).to_owned())).collect()
    };
    let run = |more: &[&'static str]| {
        let words = words(more);
        stdout(&words.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let stuck = "Left where they are, as no order of moves is possible with them: a, c\n";
    assert!(run(&[]).ends_with(stuck), "{}", run(&[]));
    let stopped = run(&["--allow-interruptions", "--allow-overcommit-during-migration", "-C"]);
    for said in [
        "To make room on n2 for step 1, c is stopped\nAfter step 2, c is started on n1\n",
        "    echo job 1/1\n    gnt-instance shutdown c\n",
    ] {
        assert!(stopped.contains(said), "{stopped}");
    }
    let commands = stopped.lines().filter_map(|line| line.strip_prefix("    gnt-instance "));
    let wanted = ["shutdown c", "migrate -f -n n2 a", "failover -f -n n1 c", "startup c"];
    assert!(commands.eq(wanted), "{stopped}");
    let table = run(&["--allow-interruptions", "--print-plan=text"]);
    assert!(table.contains("    2. a n1 => n2, while c is stopped, 30 s\n"), "{table}");
    let crowded = run(&["--allow-overcommit-during-migration", "--print-plan=text"]);
    for said in [
        "Step 1 lacks 1405 MiB of memory on n2 until others have left it\n",
        "    1. a n1 => n2, which lacks 1405 MiB of memory meanwhile, 30 s\n",
    ] {
        assert!(crowded.contains(said), "{crowded}");
    }
    let found = checked(&run(&["--allow-interruptions", "--json"]));
    assert_eq!(found["steps"][0]["stopped"], "c");
    assert_eq!(found["steps"][0]["lacking"], 1405);
    // The saved plan is the same.
    let saved = directory.path().join("plan");
    let mut save = words(&["--allow-interruptions", "--print-plan=json"]);
    save.push(format!("--save-plan={}", saved.display()));
    let graph: Value =
        serde_json::from_str(&stdout(&save.iter().map(String::as_str).collect::<Vec<_>>())).unwrap();
    let shown = Command::new(PROGRAM).args(["show", "--print-plan=json"]).arg(&saved).assert().code(0);
    let shown: Value = serde_json::from_slice(&shown.get_output().stdout).unwrap();
    assert_eq!(shown, graph);
    let fits = Command::new(PROGRAM).arg("apply").arg(&saved).arg("-t").arg(&path).assert().code(0);
    fits.stdout("The plan fits the cluster: 4 steps can be carried out\n");
}

#[test]
fn what_contradicts_itself_is_refused() {
    for (words, why) in [
        (&["--max-moves=3"][..], "option --max-moves needs --deep"),
        (&["--effort=3"], "option --effort needs --deep"),
        (&["--deep", "--repair-only"], "options --deep and --repair-only exclude each other"),
        (&["--deep", "--evacuate=node1"], "options --deep and --evacuate exclude each other"),
        (&["--merge", "--deep"], "options --merge and --deep exclude each other"),
        (&["--allow-interruptions"], "option --allow-interruptions needs --deep, --merge, "),
        (&["--allow-overcommit-during-migration"], "-during-migration needs --deep, "),
        (&["--pareto", "-X"], "options --pareto and --exec exclude each other"),
        (&["--svg"], "option --svg needs --pareto"),
        (&["--evacuate=nobody"], "--evacuate: there is no node 'nobody'"),
    ] {
        let (out, err) = ends(&[&["-t", UNBALANCED], words].concat(), 1, 1);
        assert!(err.contains(why), "{words:?}: {out}{err}");
    }
    for words in
        [&["--deep", "--max-moves=-1"][..], &["--deep", "--max-data=-1g"], &["--deep", "--min-move-gain=nan"]]
    {
        let (_, err) = ends(&[&["-t", UNBALANCED], words].concat(), 1, 1);
        assert!(
            err.lines().count() <= 2 && err.contains(words[1].split('=').next().unwrap()),
            "{words:?}: {err}"
        );
    }
}
