//! Inputs that are large in one respect: many groups, or many constraints. The time of the tools must depend on the
//! input's size only. `cargo bench --bench corners` measures many more of them.

use std::fmt::Write;
use std::fs;
use std::time::Duration;

use assert_cmd::Command;

/// Many times longer than a run takes on a busy machine, and shorter than it took when each group examined the whole
/// cluster.
const PATIENCE: Duration = Duration::from_secs(40);

/// Standard output of a tool that reads `text` within the time limit.
fn output(words: &[&str], text: &str) -> String {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("input");
    fs::write(&file, text).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_htools"));
    let run = command.env_remove("HTOOLS").args(words).arg(&file).timeout(PATIENCE).output().unwrap();
    assert!(run.status.code().is_some(), "{words:?} took more than {PATIENCE:?}");
    String::from_utf8(run.stdout).unwrap()
}

/// Groups of one node each; the first thousand have an instance.
fn many_groups(count: usize) -> String {
    let (mut groups, mut nodes, mut instances) = (String::new(), String::new(), String::new());
    for at in 0..count {
        writeln!(groups, "g{at}|u{at}|preferred||").unwrap();
        writeln!(nodes, "n{at}|16384|0|8192|100000|50000|8|N|u{at}|1||N|1|0|1.0").unwrap();
        if at < 1000 {
            writeln!(instances, "i{at}|512|1024|1|running|Y|n{at}||plain||1|-").unwrap();
        }
    }
    format!("{groups}\n{nodes}\n{instances}\n\n")
}

#[test]
fn every_group_is_looked_at_for_itself() {
    let text = many_groups(20_000);
    let checked = output(&["hcheck", "--no-simulation", "--machine-readable", "-t"], &text);
    assert!(checked.contains("\nHCHECK_INIT_CLUSTER_GN1_FAIL=1000\n"), "{}", &checked[checked.len() - 500..]);
    let status = output(&["hgroup", "status", "-t"], &text);
    assert!(status.contains("g19999"), "{}", &status[status.len().saturating_sub(500)..]);
    let space = output(&["hspace", "--independent-groups", "--machine-readable", "-t"], &text);
    assert!(space.contains("\nHTS_OK=1\n"), "{space}");
}

#[test]
fn lint_looks_at_each_constraint_once() {
    let primitives: String = (0..100)
        .map(|at| format!(r#"<primitive id="r{at}" class="ocf" provider="heartbeat" type="Dummy"/>"#))
        .collect();
    let tags: String = (0..30_000)
        .map(|at| format!(r#"<tag id="t{at}"><obj_ref id="r{}"/><obj_ref id="t{at}"/></tag>"#, at % 100))
        .collect();
    let locations: String = (0..30_000)
        .map(|at| format!(r#"<rsc_location id="l{at}" rsc="t{at}" node="n" score="1"/>"#))
        .collect();
    let document = format!(
        r#"<cib have-quorum="1"><configuration><crm_config/><nodes><node id="1" uname="n"/></nodes><resources>{primitives}</resources><constraints>{locations}</constraints><tags>{tags}</tags></configuration><status/></cib>"#
    );
    let found = output(&["hplace", "lint", "-x"], &document);
    assert_eq!(found.matches("which is no resource: the constraint is ignored").count(), 30_000);
}
