//! `hbal --prices` and `--without-step`.

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use serde_json::Value;
use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_htools");
const UNBALANCED: &str = "data/unbalanced-drbd.data";

/// Both streams of a run that ends with this status.
#[track_caller]
fn ends(words: &[&str], status: i32) -> (String, String) {
    let mut command = Command::new(PROGRAM);
    let run = command.env_remove("HTOOLS").args(["hbal", "-t", UNBALANCED]).args(words).assert().code(status);
    let text = |stream: &[u8]| String::from_utf8(stream.to_vec()).unwrap();
    (text(&run.get_output().stdout), text(&run.get_output().stderr))
}

/// Parses a document and checks it against its schema.
#[track_caller]
fn document(words: &[&str], schema: &str) -> Value {
    let document: Value = serde_json::from_str(&ends(&[words, &["--json"]].concat(), 0).0).unwrap();
    let text = fs::read_to_string(Path::new("docs/schema").join(schema)).unwrap();
    let schema = jsonschema::draft202012::new(&serde_json::from_str(&text).unwrap()).unwrap();
    let errors: Vec<String> =
        schema.iter_errors(&document).map(|e| format!("{}: {e}", e.instance_path)).collect();
    assert!(errors.is_empty(), "{errors:#?}");
    document
}

#[track_caller]
fn plan(words: &[&str]) -> Value {
    document(words, "htools.plan-1.json")
}

fn instances(plan: &Value) -> Vec<&str> {
    plan["steps"].as_array().unwrap().iter().map(|step| step["instance"].as_str().unwrap()).collect()
}

/// The numbers after `price=` in the lines of the steps.
fn shown_prices(text: &str) -> Vec<&str> {
    let prices = text.lines().filter_map(|line| line.split_once(" price="));
    prices.filter_map(|(_, rest)| rest.split_whitespace().next()).collect()
}

#[test]
fn each_step_has_its_price() {
    for words in [&[][..], &["--merge"], &["--deep"], &["--all-groups"]] {
        let all = words.contains(&"--all-groups");
        let found = document(words, if all { "htools.group-plans-1.json" } else { "htools.plan-1.json" });
        let steps = found["steps"].as_array().unwrap();
        let (with, _) = ends(&[words, &["--prices"]].concat(), 0);
        let expected: Vec<String> = steps
            .iter()
            .map(|step| step["price"].as_f64().map_or("-".to_owned(), |price| format!("{price:.8}")))
            .collect();
        assert!(expected.len() > 3 && expected.iter().any(|price| price != "-"), "{words:?}");
        assert_eq!(shown_prices(&with), expected, "{words:?}: {with}");
        // The steps themselves are as without the option.
        let (without, _) = ends(words, 0);
        assert!(!without.contains("rice"), "{without}");
        let scores = |text: &str| -> Vec<String> {
            let steps = text.lines().filter(|line| line.contains(" => "));
            steps.map(|line| line.split_whitespace().take(6).collect::<Vec<_>>().join(" ")).collect()
        };
        assert_eq!(scores(&with), scores(&without));
    }
}

/// The instance of the last step moves twice: the price of both steps is that of leaving both out.
#[test]
fn a_price_is_what_the_score_loses() {
    let found = plan(&[]);
    let steps = found["steps"].as_array().unwrap();
    let of = |name: &str| -> Vec<f64> {
        let own = steps.iter().filter(|step| step["instance"] == name);
        own.map(|step| step["price"].as_f64().unwrap()).collect()
    };
    let twice = of("monitor.example.com");
    assert_eq!(twice.len(), 2);
    assert_eq!(twice[0].to_bits(), twice[1].to_bits());
    assert!(twice[0] > 0.0 && twice[0] < 0.1, "{twice:?}");
}

#[test]
fn the_page_shows_prices() {
    let directory = TempDir::new().unwrap();
    let page = directory.path().join("page.html");
    ends(&["--deep", "--report", page.to_str().unwrap()], 0);
    let text = fs::read_to_string(page).unwrap();
    assert!(text.contains("Price: how much worse the score is without the moves of the instance"));
    let price = plan(&["--deep"])["steps"][0]["price"].as_f64().unwrap();
    assert!(text.contains(&format!("{price:.4}")), "{price}");
}

#[test]
fn a_line_of_plans_names_the_cheapest_moves_of_the_chosen_one() {
    let found = plan(&["--pareto"]);
    let moves = found["deep"]["moves"].as_array().unwrap();
    let line = found["deep"]["line"].as_array().unwrap();
    let chosen = line.iter().find(|point| point["chosen"] == true).unwrap();
    assert_eq!(moves.len() as u64, chosen["moves"].as_u64().unwrap());
    let prices: Vec<f64> = moves.iter().filter_map(|priced| priced["price"].as_f64()).collect();
    assert!(prices.len() > 3 && prices.is_sorted(), "{prices:?}");
    let (text, _) = ends(&["--pareto", "--prices"], 0);
    let cheapest = format!("{:.8}", prices[0]);
    let row = text.lines().find(|line| line.ends_with(&cheapest)).unwrap();
    let name = moves[0]["instance"].as_str().unwrap().strip_suffix(".example.com").unwrap();
    assert!(row.trim().starts_with(&format!("{name} ")), "{text}");
    assert!(!ends(&["--pareto"], 0).0.contains("Price"));
}

#[test]
fn plans_go_around_the_steps_left_out() {
    for words in [&[][..], &["--deep", "--max-moves=3", "--effort=20000"], &["--merge"], &["--max-length=4"]]
    {
        let first = plan(words);
        let names = instances(&first);
        for left in [&[1][..], &[2, 3], &[3, 2, 3]] {
            let options: Vec<String> = left.iter().map(|number| format!("--without-step={number}")).collect();
            let options: Vec<&str> = options.iter().map(String::as_str).collect();
            let around = plan(&[words, &options].concat());
            for number in left {
                let name = names[number - 1];
                assert!(!instances(&around).contains(&name), "{words:?} {left:?}");
                let (_, told) = ends(&[words, &options].concat(), 0);
                assert!(
                    told.contains(&format!("Without step {number}: {name} stays where it is\n")),
                    "{told}"
                );
            }
            // The same plan comes from naming the instances.
            let excluded: Vec<&str> = left.iter().map(|number| names[number - 1]).collect();
            let excluded = format!("--exclude-instances={}", excluded.join(","));
            assert_eq!(around["steps"], plan(&[words, &[excluded.as_str()]].concat())["steps"]);
        }
    }
    // The numbers are those of the plan for the chosen placement.
    let first = plan(&["--deep", "--effort=20000"]);
    let line = plan(&["--pareto", "--effort=20000", "--without-step=2"]);
    let name = &first["steps"][1]["instance"];
    assert!(line["deep"]["moves"].as_array().unwrap().iter().all(|priced| priced["instance"] != *name));
}

#[test]
fn what_is_left_out_twice_comes_on_top_of_excluded_instances() {
    let around = plan(&["--without-step=1", "--exclude-instances=git"]);
    let first = plan(&["--exclude-instances=git"]);
    let names = instances(&around);
    assert!(!names.contains(&"git.example.com") && !names.contains(&instances(&first)[0]), "{names:?}");
}

#[test]
fn saved_plans_name_the_instances() {
    let directory = TempDir::new().unwrap();
    let file = directory.path().join("plan.json");
    ends(&["--without-step=1", "--exclude-instances=git", "--save-plan", file.to_str().unwrap()], 0);
    let saved: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    let options: Vec<&str> = saved["options"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    let first = plan(&["--exclude-instances=git"]);
    let expected = format!("--exclude-instances=git,{}", instances(&first)[0]);
    assert_eq!(options.last(), Some(&expected.as_str()), "{options:?}");
    assert!(options.iter().all(|option| !option.contains("without-step")), "{options:?}");
}

#[test]
fn what_cannot_be_left_out_is_refused() {
    let count = instances(&plan(&[])).len();
    let beyond = format!("--without-step={}", count + 1);
    let problem =
        format!("option --without-step: there is no step {}, the plan has {count} steps", count + 1);
    for (words, why) in [
        (&[beyond.as_str()][..], problem.as_str()),
        (
            &["--without-step=1", "--max-length=0"],
            "option --without-step: there is no plan to leave a step out of",
        ),
        (&["--without-step=1", "--min-score=100"], "there is no plan to leave a step out of"),
        (&["--without-step=1", "--repair-only"], "there is no plan to leave a step out of"),
        (&["--without-step=0"], "'0' is not a whole number, 1 or more"),
        (&["--without-step=1", "--all-groups"], "option --without-step works on one node group; "),
        (&["--without-step=1", "--worst-group"], "option --without-step works on one node group; "),
        (&["--without-step=1", "--explain=git"], "options --without-step and --explain exclude each other"),
        (&["--prices", "--explain=git"], "options --prices and --explain exclude each other"),
        (&["--without-step=1", "--resume=x"], "options --without-step and --resume exclude each other"),
    ] {
        let (out, error) = ends(words, 1);
        assert!(out.is_empty() && error.contains(why), "{words:?}: {out}{error}");
        let hinted = error.contains("Hint: run hbal without --without-step to see the numbers of the steps");
        assert_eq!(hinted, why.contains("there is no"), "{error}");
    }
}
