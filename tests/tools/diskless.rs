//! Diskless instances: nothing ties them to a node, so every tool can move them to any node.

use std::fs;
use std::path::Path;

use assert_cmd::Command;

fn stdout(words: &[&str], status: i32) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_htools"));
    let run = command.env_remove("HTOOLS").args(words).assert().code(status);
    String::from_utf8(run.get_output().stdout.clone()).unwrap()
}

/// Three nodes; the first runs four instances of a template.
fn cluster(directory: &Path, template: &str) -> String {
    let file = directory.join(format!("{template}.data"));
    let nodes =
        "a|16384|0|8192|9000|9000|8|M|u\nb|16384|0|16384|9000|9000|8|N|u\nc|16384|0|16384|9000|9000|8|N|u";
    let instances: String =
        (1..=4).map(|i| format!("d{i}|2048|0|1|running|Y|a||{template}||1|-\n")).collect();
    fs::write(&file, format!("g|u|preferred||\n\n{nodes}\n\n{instances}\n\n")).unwrap();
    file.to_str().unwrap().to_owned()
}

#[test]
fn they_move_like_those_on_shared_storage() {
    let directory = tempfile::tempdir().unwrap();
    let [diskless, shared] = ["diskless", "sharedfile"].map(|template| cluster(directory.path(), template));
    for (words, status) in [
        (&["hbal", "-C"][..], 0),
        (&["hbal", "--deep", "-C"], 0),
        (&["hbal", "-O", "a", "-C"], 0),
        (&["hcheck", "-O", "a"], 1),
        (&["hroller", "--force", "--full-evacuation", "--print-moves"], 0),
        (&["hsqueeze", "--minimal-resources=0.1", "--target-resources=0.2", "-C"], 0),
    ] {
        let answer = |file: &str| stdout(&[words, &["-t", file]].concat(), status);
        assert_eq!(answer(&diskless), answer(&shared), "{words:?}");
    }
    let plan = stdout(&["hbal", "-C", "-t", &diskless], 0);
    assert!(plan.contains("    gnt-instance migrate -f -n b d1\n"), "{plan}");
    let why = stdout(&["hbal", "--explain=d1", "-t", &diskless], 0);
    assert!(why.contains("Its move fa:b is the next step.") && !why.contains("template"), "{why}");
    let off = stdout(&["hcheck", "--machine-readable", "-O", "a", "-t", &diskless], 1);
    assert!(off.contains("HCHECK_FINAL_CLUSTER_OFFLINE_PRI=0\n"), "{off}");
}
