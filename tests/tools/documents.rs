//! The tools answer as README and the documents show. `TRYCMD=overwrite` updates the documents with the current
//! answers.
//!
//! An exit status other than 0 is shown by `echo $?` at the end of a block. If it does not matter to readers, it is
//! in a comment above the block, which they do not see.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use trycmd::TestCases;

const DOCUMENTS: [&str; 17] = [
    "README.md",
    "docs/guide.md",
    "docs/recipes/balance-from-cron.md",
    "docs/recipes/new-node.md",
    "docs/recipes/empty-node.md",
    "docs/recipes/power-saving.md",
    "docs/recipes/survive.md",
    "docs/recipes/why-stopped.md",
    "docs/recipes/room.md",
    "docs/pacemaker.md",
    "docs/pacemaker-support.md",
    "docs/affinity.md",
    "docs/simulation.md",
    "docs/tour.md",
    "docs/execution.md",
    "docs/monitoring.md",
    "docs/groups.md",
];

const ASKED: &str = "$ echo $?";
const FENCE: &str = "```console";

/// The exit status in a comment above a block.
fn hidden(line: &str) -> Option<&str> {
    line.strip_prefix("<!-- exit status ")?.strip_suffix(" -->")
}

/// A document in trycmd's format, with exit statuses below the commands.
fn as_trycmd(document: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut rest = document.lines();
    // Place for the status of this block's last command.
    let mut below = None;
    let mut runs = false;
    while let Some(line) = rest.next() {
        if line.starts_with("```") {
            (runs, below) = (line == FENCE, None);
        }
        if line == ASKED && runs {
            let status = rest.next().expect("echo $? answers");
            lines.insert(below.expect("a command comes before echo $?"), format!("? {status}"));
            continue;
        }
        assert!(!line.starts_with("? "), "show the exit status by echo $?, or in a comment: {line}");
        lines.push(line.to_owned());
        if line.starts_with("$ ") && runs {
            below = Some(lines.len());
            let above = lines.len().checked_sub(3).filter(|_| lines[lines.len() - 2] == FENCE);
            if let Some(status) = above.and_then(|above| hidden(&lines[above])) {
                lines.push(format!("? {status}"));
            }
        }
    }
    lines.join("\n") + "\n"
}

/// The original document of a text in trycmd's format.
fn as_document(text: &str) -> String {
    let mut lines: Vec<&str> = Vec::new();
    let mut status = None;
    for line in text.lines() {
        if let Some(found) = line.strip_prefix("? ") {
            let is_hidden = lines.len().checked_sub(3).is_some_and(|above| hidden(lines[above]).is_some());
            status = Some(found).filter(|_| !is_hidden);
            continue;
        }
        if line == "```"
            && let Some(status) = status.take()
        {
            // Before the empty line at the end.
            let end = lines.len() - 1;
            lines.splice(end..end, [ASKED, status]);
        }
        lines.push(line);
    }
    lines.join("\n") + "\n"
}

fn cases() -> TestCases {
    let cases = TestCases::new();
    cases.register_bin("htools", trycmd::cargo::cargo_bin!("htools")).env("LC_ALL", "C.UTF-8");
    cases
}

#[test]
fn examples_are_answered_as_shown() {
    assert!(std::env::var_os("HTOOLS").is_none(), "HTOOLS would choose the tool: unset it");
    let directory = tempfile::tempdir().unwrap();
    let copy = |document: &str| directory.path().join(document.replace('/', "-"));
    let cases = cases();
    for document in DOCUMENTS {
        fs::write(copy(document), as_trycmd(&fs::read_to_string(document).unwrap())).unwrap();
        cases.case(copy(document));
    }
    // Dropping it runs the cases.
    drop(cases);
    if std::env::var_os("TRYCMD").is_some_and(|mode| mode == "overwrite") {
        for document in DOCUMENTS {
            fs::write(document, as_document(&fs::read_to_string(copy(document)).unwrap())).unwrap();
        }
    }
}

#[test]
fn statuses_are_below_commands_for_trycmd_and_below_answers_for_readers() {
    let document =
        "```console\n$ a\nx\n$ echo $?\n2\n\n```\n<!-- exit status 1 -->\n```console\n$ b\ny\n\n```\n";
    let text = "```console\n$ a\n? 2\nx\n\n```\n<!-- exit status 1 -->\n```console\n$ b\n? 1\ny\n\n```\n";
    assert_eq!(as_trycmd(document), text);
    assert_eq!(as_document(text), document);
    for document in DOCUMENTS {
        let text = fs::read_to_string(document).unwrap();
        assert!(as_document(&as_trycmd(&text)) == text, "{document}");
    }
}

/// The examples of docs/configuration.md, in a directory with the files that they name: the sample in the text, and
/// two with mistakes.
#[test]
fn examples_of_configuration_files() {
    let directory = tempfile::tempdir().unwrap();
    let document = fs::read_to_string("docs/configuration.md").unwrap();
    let (_, rest) = document.split_once("```toml\n").unwrap();
    let (sample, _) = rest.split_once("```").unwrap();
    // trycmd runs a document in the directory with that name.
    let place = directory.path().join("configuration.in");
    fs::create_dir_all(place.join("data")).unwrap();
    let write = |name: &str, text: &str| {
        fs::write(place.join(name), text).unwrap();
        // Files that others can write to are refused, whatever the umask is.
        fs::set_permissions(place.join(name), Permissions::from_mode(0o644)).unwrap();
    };
    write("c.toml", sample);
    write("w.toml", "# how much at once\n\n\n[limit]\nmax-parallel = 8\n");
    write("h.toml", "[weights]\nn1_cmt = 0\n");
    fs::copy("data/allocate.json", place.join("data/allocate.json")).unwrap();
    let copy = directory.path().join("configuration.md");
    fs::write(&copy, as_trycmd(&document)).unwrap();
    cases().case(copy);
}
