//! `--keep-room` in hbal, hail, hgroup and hsqueeze, and `hspace --make-room`.

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use htools::load::merge::{MergeOptions, finish, merge};
use htools::load::text;
use htools::model::{DiskTemplate, Mib, RoomSize, WantedRoom};
use serde_json::{Value, json};
use tempfile::TempDir;

const SAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/data/unbalanced-drbd.data");
const GROUPS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/data/groups.data");
const REQUEST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/data/allocate.json");
const SMALL_CIB: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/data/pacemaker-vms.xml");

/// Status, standard output and standard error of a run in a directory.
fn run_in(place: &Path, words: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_htools"));
    let command = command.env_remove("HTOOLS").env("HTOOLS_CONFIG", "").current_dir(place);
    let output = command.args(words).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

/// Number of instances with this much memory (GiB), on one node each, that fit in a saved cluster.
fn fitting(file: &Path, gib: i64, count: i64) -> i64 {
    let raw = text::parse(&fs::read_to_string(file).unwrap(), "saved").unwrap();
    let mut cluster = merge(raw, &MergeOptions::default()).unwrap();
    finish(&mut cluster, Mib::ZERO);
    let memory = Mib(gib * 1024);
    let size = RoomSize { memory, disk: Mib(1024), vcpus: 2, spindles: 1, template: DiskTemplate::Diskless };
    cluster.keep_room(Some(WantedRoom { size, count }));
    cluster.room().unwrap().count()
}

#[test]
fn hbal_leaves_the_room_and_says_what_it_costs() {
    let place = TempDir::new().unwrap();
    let saved = place.path().join("s.balanced");
    let balanced = |options: &[&str]| {
        let (status, out, error) =
            run_in(place.path(), &[&["hbal", "-t", SAMPLE, "-S", "s"], options].concat());
        assert_eq!(status, 0, "{error}");
        (fitting(&saved, 31, 2), out)
    };
    let (fit, out) = balanced(&[]);
    assert!(fit < 2 && !out.contains("Keeping the room"), "{fit}: {out}");
    for options in
        [&[][..], &["--deep", "--effort=20000"], &["--merge"], &["--all-groups"], &["--worst-group"]]
    {
        let (fit, out) = balanced(&[&["--keep-room=31g,2c,diskless,x2"], options].concat());
        assert_eq!(fit, 2, "{options:?}");
        assert!(out.contains("Keeping the room costs 0."), "{options:?}: {out}");
    }
    let (_, out) = balanced(&["--keep-room=1g,1c,diskless"]);
    assert!(out.contains("Keeping the room costs nothing in score"), "{out}");
}

#[test]
fn a_lack_at_the_start_is_named() {
    let place = TempDir::new().unwrap();
    let words = ["hbal", "-t", SAMPLE, "--keep-room=31g,2c,diskless,x4"];
    let (status, _, error) = run_in(place.path(), &words);
    let wanted = "Warning: There is room for only 2 of 4 instances with 31 GiB memory, 2 vCPUs and 1 GiB disk (diskless); \
                  no less will be kept, and hspace --make-room can make it\n";
    assert_eq!((status, &*error), (0, wanted));
}

#[test]
fn hail_refuses_what_would_take_the_room() {
    let place = TempDir::new().unwrap();
    let hail = |room: &str| -> Value {
        let room = format!("--keep-room={room}");
        let (status, out, error) = run_in(place.path(), &["hail", "-t", SAMPLE, "--json", &room, REQUEST]);
        assert_eq!(status, 0, "{error}");
        serde_json::from_str(&out).unwrap()
    };
    // The request is for 4 GiB, which has a place elsewhere, unless all nodes are needed.
    let elsewhere = hail("31g,2c,diskless,x2");
    assert_eq!(elsewhere["success"], json!(true));
    let to = elsewhere["instances"][0]["to"].to_string();
    assert!(!to.contains("node6") && !to.contains("node7"), "{to}");
    let refused =
        (1..40).map(|count| hail(&format!("4g,1c,diskless,x{count}"))).find(|a| a["success"] == json!(false));
    let refused = refused.expect("at some number the instance takes the last place");
    let nearest = &refused["details"][0]["groups"][0]["nearest"];
    let of_room = nearest.as_array().unwrap().iter().find(|near| near["rule"] == json!("keep-room"));
    let of_room = of_room.unwrap_or_else(|| panic!("{refused}"));
    assert_eq!(of_room["shortfall"]["resource"], json!("room for further instances"));
    assert!(of_room["shortfall"]["missing"].as_i64().unwrap() > 0, "{of_room}");
}

#[test]
fn hsqueeze_leaves_nodes_on_that_the_room_needs() {
    let place = TempDir::new().unwrap();
    let squeezed = |room: &str| {
        let words = ["hsqueeze", "-t", SAMPLE, "--drbd", "--json", room];
        let (status, out, error) = run_in(place.path(), &words);
        assert_eq!(status, 0, "{error}");
        serde_json::from_str::<Value>(&out).unwrap().to_string()
    };
    let kept = "\"keep-room\"";
    assert!(!squeezed("--keep-room=1g,1c,diskless").contains(kept));
    assert!(squeezed("--keep-room=31g,1c,diskless,x2").contains(kept));
}

#[test]
fn hgroup_takes_it_in_plans_only() {
    let place = TempDir::new().unwrap();
    for command in ["balance", "compress", "redistribute"] {
        let words = ["hgroup", command, "-t", GROUPS, "--keep-room=4g,x3"];
        let (status, _, error) = run_in(place.path(), &words);
        assert_eq!(status, 0, "{error}");
    }
    let words = ["hgroup", "status", "-t", GROUPS, "--keep-room=4g"];
    assert_ne!(run_in(place.path(), &words).0, 0);
}

#[test]
fn pacemaker_clusters_keep_room_of_their_capacities() {
    let place = TempDir::new().unwrap();
    let (status, out, error) = run_in(place.path(), &["hbal", "-x", SMALL_CIB, "--keep-room=1g,1c"]);
    assert_eq!(status, 0, "{out}{error}");
    let (status, out, error) = run_in(place.path(), &["hspace", "-x", SMALL_CIB, "--make-room=1g,1c"]);
    assert_eq!(status, 0, "{error}");
    assert!(out.starts_with("There is room for 1 instance with 1 GiB memory"), "{out}");
}

#[test]
fn moves_that_make_room_are_shown_with_their_proof() {
    let place = TempDir::new().unwrap();
    let make =
        |options: &[&str]| run_in(place.path(), &[&["hspace", "-t", SAMPLE, "-S", "s"], options].concat());
    let (status, out, error) = make(&["--make-room=31g,2c,diskless,x4", "-C"]);
    assert_eq!(status, 0, "{error}");
    assert!(out.starts_with("There is room for only 2 of 4 instances with 31 GiB memory"), "{out}");
    assert!(out.contains("\nAfter 3 moves there is room for 4 instances"), "{out}");
    assert!(out.contains("; no fewer moves are enough\nCluster score changed from 10.84128134 to "), "{out}");
    assert!(out.contains("gnt-instance replace-disks") && out.contains("gnt-instance migrate"), "{out}");
    assert_eq!(fitting(&place.path().join("s.roomy"), 31, 4), 4);
    let (status, out, _) = make(&["--make-room=31g,2c,diskless,x2"]);
    assert_eq!((status, out.lines().count()), (0, 1), "{out}");
    let (status, out, _) = make(&["--make-room=8g,2c,drbd,x40"]);
    assert_eq!(status, 1);
    assert!(
        out.contains(
            "\nNo moves make this room: at most 13 of 40 fit\nGroup default: at most 13, by the free memory"
        ),
        "{out}"
    );
}

#[test]
fn what_cannot_be_meant_is_refused() {
    let place = TempDir::new().unwrap();
    let tools: [&[&str]; 3] =
        [&["hbal", "-t", SAMPLE], &["hail", "-t", SAMPLE, REQUEST], &["hsqueeze", "-t", SAMPLE]];
    for tool in tools {
        for wrong in ["", "x2", "64q", "64g,x0", "64g,x10001", "64g,2g", "64g,-1c", "64g,0d", "0g", "64g,zfs"]
        {
            let option = format!("--keep-room={wrong}");
            let (status, out, error) = run_in(place.path(), &[tool, &[&option]].concat());
            assert_eq!((status, out.as_str()), (1, ""), "{option}: {error}");
            assert!(error.contains("option --keep-room: "), "{error}");
        }
        let (status, _, error) = run_in(place.path(), &[tool, &["--keep-room=100g,diskless"]].concat());
        assert_eq!(status, 1);
        assert!(
            error.starts_with("Error: no node group's policy accepts 1 instance with 100 GiB"),
            "{error}"
        );
    }
    for tool in &tools[..2] {
        let both = [tool, &["--keep-room=1g", "--ignore-soft-errors"][..]].concat();
        let wanted = "Error: options --keep-room and --ignore-soft-errors exclude each other\n";
        assert_eq!(run_in(place.path(), &both), (1, String::new(), wanted.to_owned()));
    }
    let refused = |words: &[&str]| run_in(place.path(), &[&["hspace", "-t", SAMPLE], words].concat());
    assert_eq!(refused(&["-C"]).2, "Error: option --print-commands needs --make-room\n");
    let wanted = "Error: option --proof has no effect with --make-room\n";
    assert_eq!(refused(&["--make-room=1g", "--proof"]).2, wanted);
}
