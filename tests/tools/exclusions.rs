//! `--no-target` and `--exclude-tag`: nodes that take nothing more, and instances that stay.

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use tempfile::TempDir;

const SAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/data/unbalanced-drbd.data");

/// Status, standard output and standard error of a run in a directory.
fn run_in(place: &Path, words: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_htools"));
    let command = command.env_remove("HTOOLS").env("HTOOLS_CONFIG", "").current_dir(place);
    let output = command.args(words).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

/// The lines of the plan in an output of hbal.
fn steps(out: &str) -> Vec<&str> {
    out.lines().filter(|line| line.contains(" => ")).collect()
}

/// The sample with a tag for node6 and for db1.
fn tagged(place: &Path) {
    let text = fs::read_to_string(SAMPLE).unwrap();
    let tagged = text.replace(
        "|16|N|a7f3c1d2-0b4e-4c5a-9d61-3e8f27b90c14|8||N|0|1|1.0\nnode7",
        "|16|N|a7f3c1d2-0b4e-4c5a-9d61-3e8f27b90c14|8|quiet|N|0|1|1.0\nnode7",
    );
    let tagged = tagged.replace(
        "db1.example.com|16384|204928|4|running|Y|node1.example.com|node3.example.com|drbd||",
        "db1.example.com|16384|204928|4|running|Y|node1.example.com|node3.example.com|drbd|quiet|",
    );
    assert_ne!(text, tagged);
    fs::write(place.join("tagged"), tagged).unwrap();
}

#[test]
fn nothing_moves_to_a_closed_node_and_what_is_there_may_leave() {
    let place = TempDir::new().unwrap();
    for options in [&[][..], &["--deep", "--effort=20000"], &["--all-groups"], &["--merge"]] {
        let plan = |closed: &[&str]| {
            let words = [&["hbal", "-t", SAMPLE][..], options, closed].concat();
            let (status, out, error) = run_in(place.path(), &words[..]);
            assert_eq!(status, 0, "{error}");
            out
        };
        let open = plan(&[]);
        assert!(steps(&open).iter().any(|line| line.contains("node6")), "{open}");
        let closed = plan(&["--no-target=node6"]);
        let to = |line: &&str| line.split(" => ").nth(1).unwrap().contains("node6");
        assert!(!steps(&closed).iter().any(to) && !steps(&closed).is_empty(), "{closed}");
    }
    // Instances still fail over from node1, which then keeps their disks.
    let (_, out, _) = run_in(place.path(), &["hbal", "-t", SAMPLE, "--no-target=node1", "--no-disk-moves"]);
    assert!(out.contains("node1:node3 => node3:node1"), "{out}");
    assert!(!steps(&out).iter().any(|line| line.split(" => ").nth(1).unwrap().starts_with("node1")), "{out}");
}

#[test]
fn a_tag_excludes_nodes_and_instances() {
    let place = TempDir::new().unwrap();
    tagged(place.path());
    let run = |words: &[&str]| run_in(place.path(), words);
    let (status, out, error) = run(&["hbal", "-t", "tagged", "--exclude-tag=quiet"]);
    assert_eq!(status, 0, "{error}");
    assert!(!steps(&out).iter().any(|line| line.contains("node6") || line.contains(" db1 ")), "{out}");
    let (_, without, _) = run(&["hbal", "-t", "tagged"]);
    assert!(steps(&without).iter().any(|line| line.contains("node6")), "{without}");
    let (_, out, _) = run(&["hbal", "-t", "tagged", "--exclude-tag=quiet", "--explain=db1"]);
    assert!(out.contains("it has an excluded tag (--exclude-tag)"), "{out}");
    let (_, out, _) = run(&["hbal", "-t", "tagged", "--exclude-tag=quiet", "--explain=web1"]);
    assert!(out.contains("the node takes nothing more (--no-target or --exclude-tag)"), "{out}");
}

#[test]
fn unknown_nodes_are_named() {
    let place = TempDir::new().unwrap();
    for words in [&["hbal", "-t", SAMPLE][..], &["hspace", "-t", SAMPLE], &["hcheck", "-t", SAMPLE]] {
        let (status, out, error) = run_in(place.path(), &[words, &["--no-target=nodx"]].concat());
        assert_eq!((status, out.as_str()), (1, ""), "{error}");
        assert!(error.starts_with("Error: wrong node name(s) set as no target: nodx"), "{error}");
    }
}
