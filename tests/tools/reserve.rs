//! `--keep-reserve` in hbal, hail and saved plans.

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use serde_json::{Value, json};
use tempfile::TempDir;

const SAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/reserve.data");
const REQUEST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/data/allocate.json");

/// Status, standard output and standard error of a run in a directory.
fn run_in(place: &Path, words: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_htools"));
    let command = command.env_remove("HTOOLS").env("HTOOLS_CONFIG", "").current_dir(place);
    ended(command.args(words))
}

fn ended(command: &mut Command) -> (i32, String, String) {
    let output = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

/// Tells if the state that hbal saves survives the loss of any two nodes.
fn survives_two(options: &[&str]) -> bool {
    let place = TempDir::new().unwrap();
    let hbal = ["hbal", "-t", SAMPLE, "-S", "s"];
    let (status, _, error) = run_in(place.path(), &[&hbal, options].concat());
    assert_eq!(status, 0, "{error}");
    run_in(place.path(), &["hcheck", "-t", "s.balanced", "--survive", "2", "-q"]).0 == 0
}

#[test]
fn the_reserve_is_kept() {
    assert!(!survives_two(&[]));
    assert!(!survives_two(&["--keep-reserve=1"]));
    for options in [&[][..], &["--deep"], &["--merge"], &["--all-groups"], &["--deep", "--max-moves=4"]] {
        assert!(survives_two(&[&["--keep-reserve=2"], options].concat()), "{options:?}");
    }
    assert!(survives_two(&["--keep-reserve=9"]), "more than there are nodes");
}

#[test]
fn one_is_what_holds_anyway() {
    let place = TempDir::new().unwrap();
    for options in [&["-C", "-p"][..], &["--deep"], &["--explain", "vm18"]] {
        let plain = [&["hbal", "-t", SAMPLE], options].concat();
        let one = [&plain[..], &["--keep-reserve", "1"]].concat();
        assert_eq!(run_in(place.path(), &plain), run_in(place.path(), &one));
    }
    let hail = |options: &[&str]| run_in(place.path(), &[&["hail", REQUEST], options].concat());
    assert_eq!(hail(&[]), hail(&["--keep-reserve=1"]));
}

#[test]
fn what_cannot_be_meant_is_refused() {
    let place = TempDir::new().unwrap();
    for tool in [&["hbal", "-t", SAMPLE][..], &["hail", REQUEST]] {
        for wrong in ["0", "-1", "1001", "two", ""] {
            let option = format!("--keep-reserve={wrong}");
            let (status, out, error) = run_in(place.path(), &[tool, &[&option]].concat());
            assert_eq!((status, out.as_str(), error.lines().count()), (1, "", 2), "{error}");
            assert!(error.contains("option --keep-reserve: "), "{error}");
        }
        let both = [tool, &["--keep-reserve=2", "--ignore-soft-errors"]].concat();
        let wanted = "Error: options --keep-reserve and --ignore-soft-errors exclude each other\n";
        assert_eq!(run_in(place.path(), &both), (1, String::new(), wanted.to_owned()));
    }
}

#[test]
fn hail_tells_what_is_kept() {
    let place = TempDir::new().unwrap();
    let (_, out, _) = run_in(place.path(), &["hail", "--keep-reserve=2", "--json", REQUEST]);
    let answer: Value = serde_json::from_str(&out).unwrap();
    let nearest = &answer["details"][0]["groups"][0]["nearest"][0];
    assert_eq!((&answer["success"], &nearest["rule"]), (&json!(true), &json!("keep-reserve")), "{answer}");
    assert_eq!(
        (&nearest["shortfall"]["needed"], &nearest["shortfall"]["missing"]),
        (&json!(1024), &json!(1))
    );
}

/// Three nodes of 4000 MiB on shared storage, each with an instance of 1000 MiB: two of them may be lost.
#[test]
fn groups_keep_memory_for_shared_storage() {
    let place = TempDir::new().unwrap();
    let node = |name: &str| format!("{name}|5001|0|4001|9000|9000|9|N|u");
    let instance = |name: &str, node: &str| format!("{name}|1000|0|1|running|Y|{node}||ext|");
    let nodes = ["a", "b", "c"].map(node).join("\n");
    let instances = [instance("i", "a"), instance("j", "b"), instance("k", "c")].join("\n");
    let text = format!("g|u|preferred||\n\n{nodes}\n\n{instances}\n\n\n");
    fs::write(place.path().join("c.data"), text).unwrap();
    let hail = |memory: i64, losses: &str| -> Value {
        let mut request: Value = serde_json::from_slice(&fs::read(REQUEST).unwrap()).unwrap();
        let wanted = &mut request["request"];
        (wanted["disk_template"], wanted["required_nodes"]) = (json!("ext"), json!(1));
        wanted["memory"] = json!(memory);
        fs::write(place.path().join("r.json"), request.to_string()).unwrap();
        let words = ["hail", "-t", "c.data", "--json", "--keep-reserve", losses, "r.json"];
        let (status, out, error) = run_in(place.path(), &words);
        assert_eq!(status, 0, "{error}");
        serde_json::from_str(&out).unwrap()
    };
    // The last node has 4001 - 1000 MiB apart from the largest instance, and 2000 MiB come from the others.
    assert_eq!(hail(1000, "2")["success"], json!(true));
    // Then it would have 2001 MiB, while 2000 and 500 MiB would come.
    let refused = hail(2000, "2");
    assert_eq!(refused["success"], json!(false), "{refused}");
    let nearest = &refused["details"][0]["groups"][0]["nearest"][0];
    assert_eq!(nearest["rule"], json!("keep-reserve-group"), "{refused}");
    let of = |key: &str| nearest["shortfall"][key].as_i64().unwrap();
    assert!(of("missing") > 0 && of("missing") == of("needed") - of("available"), "{refused}");
    assert_eq!(hail(2000, "1")["success"], json!(true));
}

#[test]
fn a_file_has_hail_keep_it() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = TempDir::new().unwrap();
    let file = place.path().join("c.toml");
    fs::write(&file, "[defaults]\nkeep-reserve = 2\n").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    let hail = |options: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_htools"));
        command.env("HTOOLS", "hail").env("HTOOLS_CONFIG", &file);
        ended(command.args(options).arg(REQUEST))
    };
    let typed = |options: &[&str]| run_in(place.path(), &[&["hail"], options, &[REQUEST]].concat());
    assert_eq!(hail(&[]), typed(&["--keep-reserve=2"]));
    assert_ne!(hail(&[]), typed(&[]));
    assert_eq!(hail(&["--keep-reserve=1"]), typed(&[]));
    assert_eq!(hail(&["--no-config"]), typed(&[]));
    // An option that ignores soft limits ignores this one, too.
    assert_eq!(hail(&["--ignore-soft-errors"]), typed(&["--ignore-soft-errors"]));
}

#[test]
fn a_saved_plan_is_held_to_it() {
    let place = TempDir::new().unwrap();
    let run = |words: &[&str]| run_in(place.path(), words);
    assert_eq!(run(&["hbal", "-t", SAMPLE, "--save-plan", "free"]).0, 0);
    assert_eq!(run(&["hbal", "-t", SAMPLE, "--keep-reserve=2", "--save-plan", "kept"]).0, 0);
    let saved = |name: &str| -> Value {
        serde_json::from_slice(&fs::read(place.path().join(name)).unwrap()).unwrap()
    };
    let schema = serde_json::from_slice(&fs::read("docs/schema/htools.saved-plan-1.json").unwrap()).unwrap();
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    assert!(validator.is_valid(&saved("kept")));
    assert_eq!((saved("free").get("keep_reserve"), &saved("kept")["keep_reserve"]), (None, &json!(2)));
    assert_eq!(run(&["apply", "-t", SAMPLE, "kept"]).0, 0);
    // With less memory there is still room for the moves, but not for the loss of two nodes.
    let smaller = fs::read_to_string(SAMPLE)
        .unwrap()
        .replace("node6.example.com|49152|1024|31744|", "node6.example.com|43152|1024|25744|");
    fs::write(place.path().join("smaller.data"), smaller).unwrap();
    assert_eq!(run(&["apply", "-t", "smaller.data", "free"]).0, 0);
    let (status, _, error) = run(&["apply", "-t", "smaller.data", "kept"]);
    let wanted = "node 'node6.example.com' would break the rule on memory beyond the reserve that is kept: limit 24576, found 23696";
    assert!(status == 1 && error.contains(wanted), "{error}");
    let (status, out, error) = run(&["apply", "-t", "smaller.data", "kept", "--replan"]);
    assert!(status == 0 && out.contains("Solution length="), "{out}{error}");
}
