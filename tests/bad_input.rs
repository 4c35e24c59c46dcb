//! Malformed everything: each run ends with a clear message and the right
//! status, without a trace of a panic, and leaves no file behind.

use std::fs::{self, OpenOptions};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use assert_cmd::assert::OutputAssertExt;
use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_htools");

/// A directory with a few files, in which the program runs.
struct Place {
    directory: TempDir,
}

/// How a run ended.
struct Run {
    status: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Place {
    fn new() -> Place {
        Place { directory: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.path(name), content).unwrap();
    }

    fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(self.directory.path()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        command.env_remove("HTOOLS").env("LC_ALL", "C.UTF-8").current_dir(self.directory.path()).args(words);
        command
    }

    /// Runs the program; no file may appear or vanish.
    fn run(&self, words: &[&str]) -> Run {
        let before = self.files();
        let run = Run::of(self.command(words), words);
        assert_eq!(self.files(), before, "{words:?} left files");
        run
    }

    /// A run that fails with status 1 and one line on standard error.
    fn fails(&self, words: &[&str], message: &str) -> Run {
        let run = self.run(words);
        assert_eq!(run.stderr, format!("Error: {message}\n"), "{words:?}");
        assert_eq!(run.status, Some(1), "{words:?}");
        run
    }

    /// A cluster that cannot be loaded, by any tool.
    fn refuses(&self, content: impl AsRef<[u8]>, message: &str) {
        self.write("c.data", content);
        for tool in ["hbal", "hinfo", "hspace"] {
            let run = self.fails(
                &[tool, "-t", "c.data", "-p", "-v", "-v"],
                &format!("failed to load data, aborting: c.data{message}"),
            );
            assert_eq!(run.stdout, "");
        }
    }

    /// A cluster that is odd but accepted, as the reference accepts it.
    fn accepts(&self, content: &str) {
        self.write("c.data", content);
        let tools: [&[&str]; 3] = [
            &["hbal", "-t", "c.data", "-v", "-v", "-v", "-v", "-v", "-p", "--print-instances", "-C"],
            &["hinfo", "-t", "c.data", "-v", "-v", "-v", "-p", "--print-instances"],
            &["hbal", "-t", "c.data", "--json"],
        ];
        for words in tools {
            let run = self.run(words);
            assert_eq!(run.status, Some(0), "{words:?}: {}", run.stderr);
        }
    }
}

impl Run {
    fn of(mut command: Command, words: &[&str]) -> Run {
        let output = command.stdin(Stdio::null()).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        let run =
            Run { status: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) };
        for word in ["panicked", "RUST_BACKTRACE", "src/", ".rs:"] {
            assert!(!run.stderr.contains(word), "{words:?}: {}", run.stderr);
        }
        assert!(run.stderr.lines().all(|line| line.chars().count() < 600), "{words:?}: {}", run.stderr);
        run
    }
}

/// A sample by its absolute name.
fn sample(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data").join(name).to_str().unwrap().to_owned()
}

/// The first sample with something replaced.
fn changed(from: &str, to: &str) -> String {
    let text = fs::read_to_string(sample("unbalanced-drbd.data")).unwrap();
    let new = text.replacen(from, to, 1);
    assert_ne!(new, text, "{from} is not there");
    new
}

// --- files that are no clusters

#[test]
fn files_that_are_no_text() {
    let place = Place::new();
    place.refuses("", ": 0 sections instead of 4 or more");
    place.refuses(b"\x7fELF\x02\x01\x01\0\0\0\xc3\x28\n\n\n\n", ", line 1: not UTF-8 text (byte 0xc3)");
    place.refuses(b"\xff\xfe\n", ", line 1: not UTF-8 text (byte 0xff)");
    place.refuses(b"g|u|preferred||\n\nn\xe9\n", ", line 3: not UTF-8 text (byte 0xe9)");
    place.refuses("\0\0\0\0", ": 1 sections instead of 4 or more");
    place.refuses(vec![b'x'; 10_000_000], ": 1 sections instead of 4 or more");
    let long = [vec![b'x'; 10_000_000], b"\n\n\n\n\n".to_vec()].concat();
    place.write("c.data", long);
    let run = place.run(&["hbal", "-t", "c.data"]);
    assert_eq!((run.status, run.stderr.lines().count()), (Some(1), 1));
    assert!(run.stderr.starts_with("Error: failed to load data, aborting: c.data, line 1"), "{}", run.stderr);
}

#[test]
fn files_that_lack_parts() {
    let place = Place::new();
    place.refuses("\n", ": 2 sections instead of 4 or more");
    place.refuses("default|u|preferred||\n\nn1|1|1|1|1|1|1|N|u\n", ": 2 sections instead of 4 or more");
    let text = fs::read_to_string(sample("unbalanced-drbd.data")).unwrap();
    let cut = &text[..text.find("\n\nweb1").unwrap()];
    place.refuses(cut, ": 2 sections instead of 4 or more");
    place.refuses(
        text.replace('\n', "\r\n"),
        ": 1 sections instead of 4 or more; the lines end in CR LF instead of LF",
    );
}

#[test]
fn files_that_cannot_be_read() {
    let place = Place::new();
    fs::create_dir(place.path("directory")).unwrap();
    place.write("file", "");
    let cases = [
        ("directory", "Is a directory (os error 21)"),
        ("absent", "No such file or directory (os error 2)"),
        ("file/x", "Not a directory (os error 20)"),
        ("", "No such file or directory (os error 2)"),
    ];
    let good = sample("unbalanced-drbd.data");
    for (name, reason) in cases {
        let reading = format!("cannot read file '{name}': {reason}");
        let loading = format!("failed to load data, aborting: {reading}");
        for tool in ["hbal", "hinfo"] {
            place.fails(&[tool, "-t", name], &loading);
            place.fails(&[tool, "-I", name], &loading);
            place.fails(&["hspace", "-t", name], &loading);
            place.fails(&[tool, "-t", &good, "--mond", "--mond-data", name], &reading);
        }
        place.fails(&["hbal", "-t", &good, "-U", name], &reading);
    }
}

// --- clusters with mistakes

#[test]
fn malformed_values() {
    let place = Place::new();
    let node = ", line 5, node 'node3.example.com': ";
    let instance = ", line 11, instance 'web1.example.com': ";
    let states = "running, ADMIN_down, ADMIN_offline, ERROR_down, ERROR_up, ERROR_nodedown, ERROR_nodeoffline, \
                  ERROR_wrongnode, USER_down";
    let templates = "diskless, file, sharedfile, plain, blockdev, drbd, rbd, ext, gluster";
    let cases = [
        ("node3.example.com|49152", "node3.example.com|", format!("{node}total memory: cannot parse string ''")),
        ("node3.example.com|49152", "node3.example.com|x", format!("{node}total memory: cannot parse string 'x'")),
        ("node3.example.com|49152|1024", "node3.example.com|1|1e3", format!("{node}node memory: cannot parse string '1e3'")),
        ("node3.example.com|49152|1024", "node3.example.com|1|NaN", format!("{node}node memory: cannot parse string 'NaN'")),
        (
            "node3.example.com|49152|1024",
            "node3.example.com|1|99999999999999999999",
            format!("{node}node memory: '99999999999999999999' does not fit into 64 bits"),
        ),
        (
            "web1.example.com|4096",
            "web1.example.com|4096x",
            format!("{instance}memory: leftover characters when parsing '4096x': 'x'"),
        ),
        ("web1.example.com|4096|41088", "web1.example.com|4096|1.5", format!("{instance}disk: cannot parse string '1.5'")),
        ("|2|running|", "|two|running|", format!("{instance}virtual CPUs: cannot parse string 'two'")),
        ("|running|", "|walking|", format!("{instance}status: 'walking' is not one of {states}")),
        ("|running|Y|", "|running|y|", format!("{instance}auto_balance: 'y' is neither 'Y' nor 'N'")),
        ("|drbd|", "|drbd8|", format!("{instance}disk template: 'drbd8' is not one of {templates}")),
        ("|drbd||1|-|N", "|drbd||x|-|N", format!("{instance}spindle use: cannot parse string 'x'")),
        ("|drbd||1|-|N", "|drbd||1|-|?", format!("{instance}forthcoming: '?' is neither 'Y' nor 'N'")),
        (
            "|N|0|1|1.0\n",
            "|n|0|1|1.0\n",
            ", line 3, node 'node1.example.com': exclusive storage: 'n' is neither 'Y' nor 'N'".into(),
        ),
        (
            "|preferred|",
            "|favourite|",
            ", line 1, group 'default': allocation policy: 'favourite' is not one of preferred, last_resort, \
             unallocable"
                .into(),
        ),
    ];
    for (from, to, message) in cases {
        place.refuses(changed(from, to), &message);
    }
    // a row that is too short
    place.write("c.data", changed("|drbd||1|-|N", ""));
    let run = place.run(&["hbal", "-t", "c.data"]);
    assert_eq!(run.status, Some(1));
    assert!(run.stderr.contains("c.data, line 11, instance 'web1.example.com'"), "{}", run.stderr);
}

#[test]
fn names_that_mean_nothing() {
    let place = Place::new();
    let instance = ", line 11, instance 'web1.example.com': ";
    let uuid = "a7f3c1d2-0b4e-4c5a-9d61-3e8f27b90c14";
    let cases = [
        (
            "|running|Y|node1.example.com",
            "|running|Y|node9.example.com",
            format!("{instance}primary node: no node has the name 'node9.example.com'"),
        ),
        (
            "|node2.example.com|drbd",
            "|node2|drbd",
            format!("{instance}secondary node: no node has the name 'node2'"),
        ),
        (
            "|node2.example.com|drbd",
            "|node1.example.com|drbd",
            format!("{instance}secondary node: 'node1.example.com' is the primary node, too"),
        ),
        (
            &format!("default|{uuid}"),
            "default|other",
            format!(", line 3, node 'node1.example.com': group: no group has the UUID '{uuid}'"),
        ),
        (
            "\ndefault|128",
            "\nnobody|128",
            ", line 34, policy 'nobody': owner: no group has the name or UUID 'nobody'".into(),
        ),
        (
            "\ndefault|128,1",
            "\ndefault|128",
            ", line 34, policy 'default': standard spec: spindle use: missing in '128,1024,1,1,1'".into(),
        ),
        (
            &format!("default|{uuid}|preferred||\n"),
            "",
            format!(", line 2, node 'node1.example.com': group: no group has the UUID '{uuid}'"),
        ),
    ];
    for (from, to, message) in cases {
        place.refuses(changed(from, to), &message);
    }
    let text = changed("", " ");
    let without_nodes: String =
        text[1..].split_inclusive('\n').filter(|line| !line.starts_with("node")).collect();
    place.refuses(
        without_nodes,
        ", line 4, instance 'web1.example.com': primary node: no node has the name 'node1.example.com'",
    );
}

#[test]
fn odd_clusters_that_are_clusters() {
    let place = Place::new();
    let rows = ["node3.example.com|49152|1024|31744|2097152|1041408|16"];
    for value in ["NaN", "Infinity", "1e400", "-5", "0", "0x10", "9e99"] {
        for (at, _) in rows[0].match_indices('|') {
            let rest = &rows[0][at + 1..];
            let end = rest.find('|').unwrap_or(rest.len());
            let row = format!("{}{value}{}", &rows[0][..=at], &rest[end..]);
            let content = changed(rows[0], &row);
            place.write("c.data", &content);
            let run = place.run(&["hinfo", "-t", "c.data", "-q"]);
            if run.status == Some(0) {
                place.accepts(&content);
            } else {
                // a whole number is wanted
                assert!(run.stderr.contains("c.data, line 5, node 'node3.example.com': "), "{}", run.stderr);
            }
        }
    }
    for (from, to) in [
        ("web1.example.com|4096|41088|2|", "web1.example.com|-4096|-41088|-2|"),
        (
            "web1.example.com|4096|41088|2|",
            "web1.example.com|9223372036854775807|9223372036854775807|9223372036854775807|",
        ),
        ("web1.example.com|4096|41088|2|", "web1.example.com|-9223372036854775808|0|0|"),
        ("web1.example.com|", "web2.example.com|"),
        ("web1.example.com|", "|"),
        ("|4.0|32.0", "|0|0"),
        ("\ndefault|128", "\n|128"),
        ("|4.0|32.0\ndefault", "|NaN|-1\ndefault"),
    ] {
        place.accepts(&changed(from, to));
    }
    // the later of two nodes of a name is meant; here it is an empty one
    place.accepts(&changed("node7.example.com", "node6.example.com"));
    // no nodes, no groups, nothing
    for content in ["g|u|preferred||\n\n\n\n", "\n\n\n\n\n", "\n\n\n\n", "g|u|preferred||\n\n\n\ntag\n\n"] {
        place.accepts(content);
        place.write("c.data", content);
        let run = place.run(&["hbal", "-t", "c.data"]);
        assert_eq!((run.stdout.as_str(), run.status), ("Cluster is empty, exiting.\n", Some(0)));
    }
}

#[test]
fn names_of_any_length() {
    let place = Place::new();
    let text = fs::read_to_string(sample("unbalanced-drbd.data")).unwrap();
    place.write("c.data", text.replace("node1.example.com", &"n".repeat(70_000)));
    for words in [&["hbal", "-t", "c.data", "-l1", "-C"][..], &["hbal", "-t", "c.data", "--explain=db1"]] {
        assert_eq!(place.run(words).status, Some(0), "{words:?}");
    }
}

// --- other files

#[test]
fn malformed_utilisation() {
    let place = Place::new();
    let good = sample("unbalanced-drbd.data");
    let cases: [(&[u8], &str); 6] = [
        (
            b"web1.example.com 1 2 3\n",
            ", line 1: not 'NAME CPU MEM DISK NET' with single blanks: 'web1.example.com 1 2 3'",
        ),
        (b"a 1 2 3 4\n\n", ", line 2: not 'NAME CPU MEM DISK NET' with single blanks: ''"),
        (
            b"a 1 2 3 4\r\n",
            ", line 1, instance 'a': network load: leftover characters when parsing '4\\r': '\\r'",
        ),
        (b"a 1 x 3 4\n", ", line 1, instance 'a': memory load: cannot parse string 'x'"),
        (b"a 1 2 .5 4\n", ", line 1, instance 'a': disk load: cannot parse string '.5'"),
        (b"a 1 2 3 4\n\xff\n", ", line 2: not UTF-8 text (byte 0xff)"),
    ];
    for (content, message) in cases {
        place.write("load", content);
        let message = format!("can't parse utilisation data: load{message}");
        place.fails(&["hbal", "-t", &good, "-U", "load"], &message);
    }
    place.write("load", "db1.example.com NaN Infinity -1 1e400\nnobody 1 1 1 1\n");
    assert_eq!(place.run(&["hbal", "-t", &good, "-U", "load", "-v", "-v", "-C"]).status, Some(0));
}

#[test]
fn malformed_monitoring_data() {
    let place = Place::new();
    let good = sample("unbalanced-drbd.data");
    let cases: [(&[u8], &str); 7] = [
        (b"", ", line 1, column 0: not valid JSON: EOF while parsing a value"),
        (b"{\"a\"", ", line 1, column 4: not valid JSON: EOF while parsing an object"),
        (b"{}", ": expected a list, found an object"),
        (b"[1]", ", item 1: expected an object, found 1"),
        (b"[{}]", ", item 1: key 'node' not found, object contains only []"),
        (b"[{\"node\":\"n\"}]", ", node 'n': key 'reports' not found, object contains only [\"node\"]"),
        (b"\xff", ", line 1: not UTF-8 text (byte 0xff)"),
    ];
    for (content, message) in cases {
        place.write("load", content);
        for tool in ["hbal", "hinfo"] {
            place.fails(
                &[tool, "-t", &good, "--mond", "--mond-data", "load"],
                &format!("can't parse MonD data: load{message}"),
            );
        }
    }
    // not a mistake, unless it is said to be one: then there are two lines
    place.write("load", "[]");
    let words = ["hbal", "-t", &good, "--mond", "--mond-data", "load"];
    let run = place.run(&words);
    let missing = "Didn't receive an answer by all MonDs, cpu-avg-load's data will be ignored.\n";
    assert_eq!((run.status, run.stderr.as_str()), (Some(0), missing));
    let run = place.run(&[&words[..], &["--exit-on-missing-mond-data"]].concat());
    assert_eq!(
        (run.status, run.stderr),
        (Some(1), format!("{missing}Error: Not all required data available\n"))
    );
    assert_eq!(run.stdout, "");
}

#[test]
fn malformed_allocator_messages() {
    let place = Place::new();
    let text = fs::read_to_string(sample("allocate.json")).unwrap();
    let node = "c.json, node 'node1.example.com': ";
    let cases = [
        ("", "", "c.json, line 1, column 0: not valid JSON: EOF while parsing a value".to_owned()),
        ("\"request\"", "\"x\"", String::new()),
        ("\"allocate\"", "\"guess\"", String::new()),
        ("\"total_memory\": 49152", "\"total_memory\": \"much\"", format!("{node}key 'total_memory': ")),
        ("\"offline\": false", "\"offline\": 0", format!("{node}key 'offline': ")),
        ("[\"node1.example.com\", \"node2.example.com\"]", "[]", String::new()),
        ("[\"node1.example.com\", \"node2.example.com\"]", "[\"nowhere\"]", String::new()),
        ("\"xen-pvm\"", "\"abacus\"", String::new()),
    ];
    for (from, to, message) in cases {
        let content = if from.is_empty() { String::new() } else { text.replacen(from, to, 1) };
        assert_ne!(content, text);
        place.write("c.json", content);
        for tool in ["hbal", "hinfo"] {
            let run = place.run(&[tool, "-I", "c.json"]);
            let start =
                format!("Error: failed to load data, aborting: c.json{}", &message.replacen("c.json", "", 1));
            assert!(run.stderr.starts_with(&start), "{from}: {}", run.stderr);
            let lines = run.stderr.lines().count();
            assert_eq!((run.status, run.stdout.as_str(), lines), (Some(1), "", 1), "{from}: {}", run.stderr);
        }
    }
}

#[test]
fn malformed_simulations() {
    let place = Place::new();
    let start = "failed to load data, aborting: --simulate ";
    for (spec, message) in [
        (
            "p,1",
            "expected 5 to 7 comma-separated items (allocation policy, node count, disk size, memory size, number \
             of CPUs, spindles, exclusive storage) but got 2",
        ),
        (
            "q,1,1,1,1",
            "allocation policy: 'q' is not one of preferred, last_resort, unallocable (or p, a, u)",
        ),
        ("p,x,1,1,1", "node count: cannot parse string 'x'"),
        ("p,9999999,1,1,1", "node count: more than 1000000 nodes in all"),
        ("p,1,1q,1,1", "disk size: Unknown unit 'q'"),
        ("p,1,1,1.5,1", "memory size: Can't parse string '1.5'"),
    ] {
        for tool in ["hbal", "hinfo", "hspace"] {
            place.fails(&[tool, "--simulate", spec], &format!("{start}'{spec}': {message}"));
        }
    }
}

// --- options

#[test]
fn names_in_options() {
    let place = Place::new();
    let good = sample("unbalanced-drbd.data");
    let hbal = |options: &[&str], message: &str| {
        place.fails(&[&["hbal", "-t", &good], options].concat(), message);
    };
    for tool in ["hbal", "hinfo", "hspace"] {
        place.fails(
            &[tool, "-t", &good, "-O", "node1", "-O", "nope", "-O", "nix"],
            "wrong node name(s) set as offline: nix,nope",
        );
    }
    let unknown = "failed to load data, aborting: Unknown instance(s): ";
    hbal(&["--select-instances", "web1,nope,nix"], &format!("{unknown}[\"nope\",\"nix\"]"));
    hbal(&["--exclude-instances", "web"], &format!("{unknown}[\"web\"]"));
    hbal(
        &["--explain", "nope"],
        "--explain: 'nope' is not the name, or the unique beginning, of an instance",
    );
    // the groups are listed, so that the next try can be right
    let run = place.run(&["hbal", "-t", &good, "-G", "nope"]);
    let list = "Node group nope not found. Node group list is:\n  default\nError: Aborting.\n";
    assert_eq!((run.status, run.stderr.as_str()), (Some(1), list));
    let run = place.run(&["hbal", "-t", &sample("groups.data"), "--json"]);
    let list = "Found multiple node groups:\n  rack-a\n  rack-b\n  archive\nError: Aborting.\n";
    assert_eq!((run.status, run.stderr.as_str(), run.stdout.as_str()), (Some(1), list, ""));
}

#[test]
fn what_this_version_cannot_do() {
    let place = Place::new();
    let good = sample("unbalanced-drbd.data");
    let later = |what: &str| {
        format!(
            "failed to load data, aborting: this version cannot read clusters over {what} yet; use -t, -I or --simulate"
        )
    };
    for tool in ["hbal", "hinfo"] {
        place.fails(
            &[tool, "-t", &good, "--mond"],
            "this version cannot ask monitoring daemons over the network yet; use --mond-data FILE with --mond",
        );
    }
    for tool in ["hbal", "hinfo", "hspace"] {
        place.fails(&[tool, "-m", "cluster.example.com"], &later("RAPI (-m)"));
        place.fails(&[tool, "-L"], &later("LUXI (-L)"));
        place.fails(&[tool, "-L/run/socket"], &later("LUXI (-L)"));
        place.fails(&[tool], "failed to load data, aborting: No backend selected! Exiting.");
        place.fails(
            &[tool, "-t", &good, "-m", "x"],
            "Only one of the rapi, luxi, and data files options should be given.",
        );
        place.fails(&[tool, "-t", &good, "word"], "This program doesn't take any arguments.");
    }
    let run = place.fails(&["hbal", "-t", &good, "-X"], "hbal: Execution of commands possible only on LUXI");
    assert!(run.stdout.ends_with("Solution length=15\n"));
    // nothing to do is no mistake
    assert_eq!(place.run(&["hbal", "-t", &sample("balanced.data"), "-X"]).status, Some(0));
}

#[test]
fn malformed_command_lines() {
    let place = Place::new();
    // two lines: what was wrong with which option
    for (option, value, problem) in [
        ("max-length", "x", "cannot parse string 'x'"),
        ("max-length", "1.5", "cannot parse string '1.5'"),
        ("min-disk", "", "cannot parse string ''"),
        ("max-cpu", "-1", "'-1' is not a ratio above 0"),
        ("mond", "maybe", "invalid choice 'maybe', pass one of 'yes' or 'no'"),
        ("priority", "urgent", "invalid choice 'urgent', pass one of 'low', 'normal' or 'high'"),
    ] {
        let run = place.run(&["hbal", &format!("--{option}={value}")]);
        let start = format!("Error while parsing command line arguments:\noption --{option}: ");
        assert!(run.stderr.starts_with(&start), "{}", run.stderr);
        assert_eq!((run.status, run.stderr.lines().count(), run.stdout.as_str()), (Some(1), 2, ""));
        if option != "priority" {
            assert_eq!(run.stderr, format!("{start}{problem}\n"));
        }
    }
    // and the usage
    for (words, complaint) in [
        (&["hbal", "--bogus"][..], "unrecognized option `--bogus'"),
        (&["hinfo", "-X"], "unrecognized option `-X'"),
        (&["hbal", "-t"], "option `-t' requires an argument FILE"),
        (&["hbal", "--quiet=yes"], "option `--quiet' doesn't allow an argument"),
    ] {
        let run = place.run(words);
        assert!(run.stderr.starts_with(&format!("Command line error: {complaint}\n\n")), "{}", run.stderr);
        assert!(run.stderr.contains(&format!("\nUsage: {} [OPTION...]\n", words[0])));
        assert_eq!((run.status, run.stdout.as_str()), (Some(2), ""));
    }
}

// --- hspace

/// Runs that are odd but accepted, as the reference accepts them.
#[test]
fn odd_estimates() {
    let place = Place::new();
    let huge = "1000000000000000000";
    let sizes = [format!("{huge},{huge},{huge},{huge}"), "0,0,0,0".into(), "-5,-5,-5,-5".into()];
    let least = i64::MIN.to_string();
    let mut runs: Vec<Vec<&str>> = Vec::new();
    for number in ["NaN", "Infinity", "1e300", "1e-300"] {
        runs.push(vec!["--max-cpu", number, "--min-disk", number]);
        runs.push(vec!["--max-cpu", number, "--min-disk=-1e300"]);
    }
    for size in &sizes {
        runs.push(vec!["--standard-alloc", size]);
        runs.push(vec!["--standard-alloc", size, "--no-capacity-checks", "--spindle-use", huge]);
    }
    // sizes that would have to shrink 10^16 times and more
    let most = i64::MAX.to_string();
    let all = |size: &str| [size; 4].join(",");
    let sizes_of_tiers = [
        "0,0,0,0".to_owned(),
        "-5,-5,-5,-5".to_owned(),
        "-1000000000000000000,1g,1".to_owned(),
        all(huge),
        all(&most),
        all(&least),
        "1g,1000g,1".to_owned(),
        "4t,1g,1".to_owned(),
    ];
    for size in &sizes_of_tiers {
        runs.push(vec!["--tiered-alloc", size]);
    }
    let clusters =
        ["p,2,1t,16g,4".to_owned(), format!("p,3,{huge},{huge},{huge},{huge}"), "p,2,0,0,0,0,True".into()];
    for cluster in &clusters {
        for (run, template) in runs.iter().zip(["plain", "drbd", "ext"].into_iter().cycle()) {
            let sized = run.contains(&"--tiered-alloc");
            let tiered = if sized { &[][..] } else { &["--tiered-alloc", "4g,2g,2"] };
            let views: [&[&str]; 3] = [&["-v", "-v", "-v", "-p"], &["--machine-readable"], &["--json"]];
            for view in views {
                let words = ["hspace", "--simulate", cluster, "--disk-template", template, "-l", "3"];
                let words = [&words[..], run, tiered, view].concat();
                let run = place.run(&words);
                assert_eq!(run.status, Some(0), "{words:?}: {}", run.stderr);
            }
        }
    }
    for limit in ["0", "-2", &least, "9223372036854775807"] {
        let words = ["hspace", "--simulate", "p,2,1t,2g,4", "--standard-alloc=1g,1g,1", "-l", limit];
        let run = place.run(&words);
        assert_eq!(run.status, Some(0), "{words:?}: {}", run.stderr);
        assert!(run.stdout.contains("\nNormal (fixed-size) allocation results:\n"), "{words:?}");
    }
}

#[test]
fn clusters_that_cannot_be_filled() {
    let place = Place::new();
    let policy = |templates: &str, ranges: &str| {
        place.write(
            "c.data",
            format!(
                "g|u|preferred||\n\nn1|1|0|1|1|1|1|N|u|1\n\n\n\n|1,1,1,1,1,1|{ranges}|{templates}|4.0|32.0\n"
            ),
        );
    };
    policy("", "1,1,1,1,1,1;2,2,2,2,2,2");
    for more in [&[][..], &["--disk-template=plain"], &["--json"], &["--machine-readable"]] {
        let words = [&["hspace", "-t", "c.data"], more].concat();
        assert_eq!(place.fails(&words, "the cluster's policy lists no disk templates").stdout, "");
    }
    policy("drbd", "");
    let words = ["hspace", "-t", "c.data"];
    let message = "the cluster's policy has no instance sizes to begin with; give one with --tiered-alloc";
    let summary = "The cluster has 1 nodes and the following resources:\n  MEM 1, DSK 1, CPU 1, VCPU 4.\n\
                   There are no initial instances on the cluster.\n";
    assert_eq!(place.fails(&words, message).stdout, summary);
    // what was said before stays said
    let words = [&words[..], &["--tiered-alloc=1,1,1"]].concat();
    let message =
        "nowhere to place new instances: there are no two online nodes of one group where they may go";
    assert_eq!(place.fails(&words, message).stdout, summary);
    assert_eq!(place.fails(&[&words[..], &["--json"]].concat(), message).stdout, "");
    let words = [&words[..], &["--disk-template=ext", "-O", "n1"]].concat();
    place.fails(&words, "nowhere to place new instances: there is no online node where they may go");
}

// --- where output goes

#[test]
fn files_that_cannot_be_written() {
    let place = Place::new();
    let good = sample("unbalanced-drbd.data");
    fs::create_dir(place.path("directory")).unwrap();
    fs::create_dir(place.path("state.original")).unwrap();
    let absent = "No such file or directory (os error 2)";
    let run = place.fails(
        &["hbal", "-t", &good, "-S", "absent/state"],
        &format!("cannot write file 'absent/state.original': {absent}"),
    );
    assert_eq!(run.stdout, "Loaded 7 nodes, 20 instances\n");
    place.fails(
        &["hbal", "-t", &good, "-S", "state"],
        "cannot write file 'state.original': Is a directory (os error 21)",
    );
    for (target, message) in [
        ("absent/commands", format!("cannot write file 'absent/commands': {absent}")),
        ("directory", "cannot write file 'directory': Is a directory (os error 21)".to_owned()),
        ("/dev/full", "cannot write file '/dev/full': No space left on device (os error 28)".to_owned()),
    ] {
        place.fails(&["hbal", "-t", &good, &format!("-C{target}")], &message);
    }
    place.fails(&["hbal", "-t", &good, "--print-commands="], &format!("cannot write file '': {absent}"));
}

#[test]
fn states_that_cannot_be_written() {
    let place = Place::new();
    let words = ["hspace", "--simulate", "p,2,1t,32g,16", "-l", "1", "-S", "absent/state"];
    let absent = "cannot write file 'absent/state.tiered': No such file or directory (os error 2)";
    let run = place.fails(&words, absent);
    assert!(run.stdout.ends_with("CPU 8, using disk template 'diskless'.\n"), "{}", run.stdout);
    assert_eq!(place.fails(&[&words[..], &["--json"]].concat(), absent).stdout, "");
}

/// A full disk, as a limit on the size of files shows it.
#[test]
fn a_full_disk_leaves_the_old_file_alone() {
    let place = Place::new();
    let good = sample("unbalanced-drbd.data");
    place.write("state.original", "old\n");
    let before = place.files();
    let mut command = Command::new("sh");
    // no signal: writing fails
    command
        .args([
            "-c",
            "trap '' XFSZ && ulimit -f 1 && exec \"$@\"",
            "sh",
            PROGRAM,
            "hbal",
            "-t",
            &good,
            "-S",
            "state",
        ])
        .env_remove("HTOOLS")
        .current_dir(place.directory.path());
    let run = Run::of(command, &["-S"]);
    assert_eq!(run.stderr, "Error: cannot write file 'state.original': File too large (os error 27)\n");
    assert_eq!(run.status, Some(1));
    assert_eq!(fs::read_to_string(place.path("state.original")).unwrap(), "old\n");
    assert_eq!(place.files(), before);
}

#[test]
fn a_reader_who_has_seen_enough() {
    let place = Place::new();
    let good = sample("unbalanced-drbd.data");
    let runs: [&[&str]; 5] = [
        &["hbal", "-t", &good, "-C"],
        &["hbal", "-t", &good, "--json"],
        &["hbal", "-t", &good, "--explain", "web1"],
        &["hinfo", "-t", &good, "-v"],
        &["hspace", "-t", &good, "-l", "2"],
    ];
    for words in runs {
        let (reader, writer) = UnixStream::pair().unwrap();
        drop(reader);
        let mut command = place.command(words);
        command.stdout(OwnedFd::from(writer));
        command.assert().code(0).stderr("");
    }
}

#[test]
fn standard_output_on_a_full_disk() {
    let Ok(full) = OpenOptions::new().write(true).open("/dev/full") else { return };
    let place = Place::new();
    let good = sample("unbalanced-drbd.data");
    let runs: [&[&str]; 4] = [
        &["hbal", "-t", &good],
        &["hbal", "-t", &good, "--json"],
        &["hinfo", "-t", &good],
        &["hspace", "-t", &good, "-l2"],
    ];
    for words in runs {
        let mut command = place.command(words);
        command.stdout(full.try_clone().unwrap());
        let message = "Error: cannot write to standard output: No space left on device (os error 28)\n";
        command.assert().code(1).stderr(message);
    }
}
