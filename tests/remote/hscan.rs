//! hscan, from addresses to files.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use htools::generate::{ClusterSpec, TemplateMix, cluster};
use htools::load::raw::RawCluster;
use proptest::prelude::*;

use crate::common::rapi;

use crate::common::clusters::{Recipe, Style, cases, recipes};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/rapi").join(name)
}

fn address(directory: &Path) -> String {
    format!("file://{}", directory.display())
}

/// Exit status, standard output, standard error.
fn run(tool: &str, args: &[&str], directory: &Path) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_htools"));
    let output = command.env("HTOOLS", tool).args(args).current_dir(directory).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

fn names_in(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(directory).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// A directory with links to two fixtures, `a` and `b`.
fn with_fixtures() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, of) in [("a", "states"), ("b", "two-groups")] {
        std::os::unix::fs::symlink(fixture(of), dir.path().join(name)).unwrap();
    }
    dir
}

#[test]
fn a_line_and_a_file_for_each() {
    let dir = with_fixtures();
    let (status, stdout, stderr) = run("hscan", &["file://a", "file://b"], dir.path());
    assert_eq!((status, stderr.as_str()), (0, ""));
    assert_eq!(
        stdout,
        "Name     Nodes  Inst BNode BInst  t_mem  f_mem t_disk f_disk      Score\n\
         file://a     6    16     0     0  81920  61952   2500   2326 11.93483738\n\
         file://b     6    16     1    12  98304  75264   3000   2826 33.10429997\n"
    );
    assert_eq!(names_in(dir.path()), ["a", "b", "file:__a.data", "file:__b.data"]);
    for (name, of) in [("a", "states"), ("b", "two-groups")] {
        let written = fs::read_to_string(dir.path().join(format!("file:__{name}.data"))).unwrap();
        assert_eq!(written, fs::read_to_string(fixture(&format!("{of}.data"))).unwrap(), "{of}");
    }
}

#[test]
fn options_of_the_output() {
    let dir = with_fixtures();
    fs::create_dir(dir.path().join("out")).unwrap();
    let (status, stdout, _) =
        run("hscan", &["file://a", "--no-headers", "-pname,fmem", "-d", "out"], dir.path());
    assert_eq!(status, 0);
    assert!(
        stdout.starts_with("file://a     6 ") && stdout.contains("\n Name  f_mem\n node1 12288\n"),
        "{stdout}"
    );
    assert_eq!(names_in(&dir.path().join("out")), ["file:__a.data"]);
}

#[test]
fn what_fails_does_not_stop_the_others() {
    let dir = with_fixtures();
    let down = address(&fixture("nodedown"));
    let (status, stdout, stderr) =
        run("hscan", &["--no-headers", &down, "file://nosuch", "file://b"], dir.path());
    assert_eq!(status, 2);
    // A node that does not answer is offline.
    let warning =
        format!("Warning: {down}: node 'node3.vc.test' does not answer and is treated as offline\n");
    assert_eq!(stderr, warning);
    assert!(stdout.starts_with(&format!("{down}     ")), "{stdout}");
    let missing = "\nError for file://nosuch: failed to load data. Details:\n\
        nosuch/groups.json: cannot be read: No such file or directory (os error 2)\nfile://b";
    assert!(stdout.contains(missing), "{stdout}");
    assert_eq!(names_in(dir.path()).len(), 4);
    let file = fs::read_to_string(dir.path().join(format!("{}.data", down.replace('/', "_")))).unwrap();
    assert!(file.contains("\nnode3.vc.test|0|0|0|0|0|0|Y|"), "{file}");
}

#[test]
fn files_stay_in_their_directory() {
    let dir = with_fixtures();
    let inner = dir.path().join("x/y");
    fs::create_dir_all(&inner).unwrap();
    // As a directory, this is the one above.
    let (status, ..) = run("hscan", &["file://../../a", "file://../../b/", "-d", "."], &inner);
    assert_eq!(status, 0);
    assert_eq!(names_in(&inner), ["file:__.._.._a.data", "file:__.._.._b_.data"]);
    let (status, ..) = run("hscan", &["..", "/", "../../z"], &inner);
    assert_eq!(status, 2);
    assert_eq!(names_in(dir.path()), ["a", "b", "x"]);
}

/// It is refused before anything is requested or written.
#[test]
fn two_clusters_with_one_file_are_refused() {
    let dir = with_fixtures();
    fs::create_dir(dir.path().join("x")).unwrap();
    let (status, stdout, stderr) = run("hscan", &["file://a", "file://x/b", "file://x_b"], dir.path());
    assert_eq!((status, stdout.as_str()), (1, ""));
    assert_eq!(
        stderr,
        "Error: 'file://x/b' and 'file://x_b' would both be written to 'file:__x_b.data'\n\
         Hint: write the address of one of them in another way\n"
    );
    assert_eq!(names_in(dir.path()), ["a", "b", "x"]);
    // The same cluster twice, and files with different names.
    for words in [&["file://a", "file://a"][..], &["file://a", "file:///a", "--anonymise"]] {
        let (status, _, stderr) = run("hscan", words, dir.path());
        assert!(status != 1 && !stderr.contains("both"), "{stderr}");
    }
}

#[test]
fn a_file_that_cannot_be_written_is_an_error() {
    let dir = with_fixtures();
    let (status, stdout, stderr) = run("hscan", &["file://a", "file://b", "-d", "missing"], dir.path());
    assert_eq!(status, 1);
    assert!(stdout.ends_with(" 11.93483738\n"), "{stdout}");
    assert_eq!(
        stderr,
        "Error: cannot write file 'missing/file:__a.data': No such file or directory (os error 2)\n"
    );
    assert_eq!(names_in(dir.path()), ["a", "b"]);
}

#[test]
fn without_a_socket_there_is_no_local_cluster() {
    let dir = tempfile::tempdir().unwrap();
    for (args, socket) in [(&[][..], "/nosuch/var/run/ganeti/socket/ganeti-query"), (&["-Lsocket"], "socket")]
    {
        let mut command = Command::new(env!("CARGO_BIN_EXE_htools"));
        command.env("HTOOLS", "hscan").env("GANETI_ROOTDIR", "/nosuch").args(args).current_dir(dir.path());
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        let stdout = String::from_utf8(output.stdout).unwrap();
        assert!(stdout.starts_with("Name  Nodes  Inst ") && stdout.lines().count() == 1, "{stdout}");
        let problem = "there is no such socket; this machine is probably not the master of a cluster";
        assert_eq!(String::from_utf8(output.stderr).unwrap(), format!("Error: {socket}: {problem}\n"));
    }
}

#[test]
fn clusters_are_shown_in_order() {
    let dir = with_fixtures();
    let words: Vec<String> =
        (0..40).map(|i| format!("file://{}{}", "./".repeat(i), ["a", "b"][i % 2])).collect();
    let args: Vec<&str> = words.iter().map(String::as_str).collect();
    let (status, stdout, _) = run("hscan", &[&args[..], &["--no-headers"]].concat(), dir.path());
    assert_eq!(status, 0);
    let names: Vec<&str> = stdout.lines().map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!(names, args);
}

#[test]
fn names_that_would_break_the_file_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let mut raw = cluster(&ClusterSpec::new(3, 6, TemplateMix::Drbd, 1));
    rapi::limit_to_rapi(&mut raw);
    raw.instances[2].name = "web|\n\nx".into();
    rapi::write(&rapi::answers(&raw, "fake"), &dir.path().join("c"));
    let (status, stdout, stderr) = run("hscan", &["file://c"], dir.path());
    assert_eq!((status, stderr.as_str()), (2, ""));
    assert!(stdout.contains("\nError for file://c: failed to process data. Details:\n"), "{stdout}");
    assert_eq!(stdout.lines().count(), 5, "{stdout}");
    assert_eq!(names_in(dir.path()), ["c"]);
}

// --- anonymous files

/// All names in a cluster.
fn names_of(raw: &RawCluster) -> BTreeSet<&str> {
    let groups = raw.groups.iter().flat_map(|g| [g.name.as_str(), g.uuid.as_str()]);
    let nodes = raw.nodes.iter().map(|node| node.name.as_str());
    let instances = raw.instances.iter().map(|instance| instance.name.as_str());
    groups.chain(nodes).chain(instances).collect()
}

/// Parts of a file that may be names.
fn words_of(text: &str) -> BTreeSet<&str> {
    text.split(['|', ',', '\n', ';']).collect()
}

#[test]
fn anonymous_files_hold_no_names() {
    let dir = with_fixtures();
    let words = ["file://a", "--anonymise", "file://b", "-pname,fqdn,ptags"];
    let (status, stdout, _) = run("hscan", &words, dir.path());
    assert_eq!(status, 0);
    assert_eq!(names_in(dir.path()), ["a", "b", "cluster-1.data", "cluster-2.data"]);
    let texts =
        ["cluster-1.data", "cluster-2.data"].map(|name| fs::read_to_string(dir.path().join(name)).unwrap());
    for text in texts.iter().chain([&stdout]) {
        for original in ["vc.test", "inst0", "node1.", "svc", "web", "default|", "9d74f0d3", "file:"] {
            assert!(!text.contains(original), "{original} in {text}");
        }
    }
    // The same names in both clusters have the same replacements.
    assert!(texts.iter().all(|text| text.contains("\ninstance-16|512|0|1|running|")), "{}", texts[1]);
    assert!(texts[0].contains("htools:standby:auto") && texts[0].contains("\nhtools:iextags:"));
    assert!(
        stdout.contains("cluster-1     6    16     0     0  81920  61952   2500   2326 11.93483738\n"),
        "{stdout}"
    );
}

fn recipe() -> impl Strategy<Value = Recipe> {
    recipes(&[Style::Mixed, Style::Tight, Style::Symmetric, Style::Weird], 1..=8, 0..=40)
}

proptest! {
    #![proptest_config(cases(40))]

    /// The file of hscan contains the same cluster that the other tools read over RAPI.
    #[test]
    fn the_file_is_the_cluster(recipe in recipe(), kvm in any::<bool>()) {
        let dir = tempfile::tempdir().unwrap();
        let mut raw = recipe.raw();
        rapi::limit_to_rapi(&mut raw);
        let answers = rapi::answers(&raw, if kvm { "kvm" } else { "xen-pvm" });
        rapi::write(&answers, &dir.path().join("c"));
        let (status, stdout, _) = run("hscan", &["file://c", "--no-headers"], dir.path());
        if stdout.contains("failed to process") {
            // Only instances that the text format refuses.
            let own = raw.instances.iter().any(|i| i.secondary == Some(i.primary));
            prop_assert!(own, "{}", stdout);
            return Ok(());
        }
        prop_assert_eq!(status, 0, "{}", stdout);
        let options = ["-v", "-v", "--print-instances", "-p+amem,ptags,peermap,plist,slist,spindle_count"];
        let direct = run("hinfo", &[&["-m", "file://c"], &options[..]].concat(), dir.path());
        let mut saved = run("hinfo", &[&["-t", "file:__c.data"], &options[..]].concat(), dir.path());
        // Only text files are checked for implausible values.
        let is_doubt = |line: &str| line.starts_with("Warning: file:__c.data, line ");
        saved.2 = saved.2.split_inclusive('\n').filter(|line| !is_doubt(line)).collect();
        prop_assert_eq!(&direct, &saved);
        let score = direct.1.rsplit(' ').next().unwrap_or_default();
        prop_assert!(stdout.ends_with(score), "{}", stdout);
    }

    /// The names differ, but the score and the length of the plan are the same.
    #[test]
    fn anonymous_files_mean_the_same(recipe in recipe()) {
        let dir = tempfile::tempdir().unwrap();
        let mut raw = recipe.raw();
        rapi::limit_to_rapi(&mut raw);
        rapi::write(&rapi::answers(&raw, "fake"), &dir.path().join("c"));
        let (_, named, _) = run("hscan", &["file://c", "--no-headers"], dir.path());
        let (status, anonymous, _) = run("hscan", &["file://c", "--no-headers", "--anonymise"], dir.path());
        if status != 0 {
            return Ok(());
        }
        let figures = |line: &str| line.split_whitespace().skip(1).map(str::to_owned).collect::<Vec<_>>();
        prop_assert_eq!(figures(&named), figures(&anonymous));
        let text = fs::read_to_string(dir.path().join("cluster-1.data")).unwrap();
        let words = words_of(&text);
        for name in names_of(&raw).into_iter().filter(|name| !name.is_empty()) {
            prop_assert!(!words.contains(name), "{} in {}", name, text);
        }
        let plan = |file: &str| {
            let group = raw.groups.len() > 1;
            let group: &[&str] = match (group, file) {
                (false, _) => &[],
                (_, "cluster-1.data") => &["-G", "group-1"],
                _ => &["-G", &raw.groups[0].name],
            };
            let (_, stdout, _) = run("hbal", &[&["-t", file], group].concat(), dir.path());
            let steps = stdout.lines().filter(|line| line.contains(" a=")).count();
            (steps, stdout.lines().last().map(|line| line.contains("score")))
        };
        prop_assert_eq!(plan("file:__c.data").0, plan("cluster-1.data").0);
    }
}
