//! `--report`: a page from every tool, for clusters of all kinds.

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use roxmltree::{Document, ParsingOptions};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_htools");

/// Tools with their options, and the parts of their pages.
const RUNS: [(&[&str], &str, &[&str]); 12] = [
    (&["hbal"], "data/offline-nodes.data", &["problems", "nodes", "plan", "time", "score"]),
    (&["hbal", "--deep"], "data/unbalanced-drbd.data", &["nodes", "plan", "time", "score", "quality"]),
    (&["hbal"], "data/balanced.data", &["nodes", "score"]),
    (&["hbal", "--all-groups"], "data/pools.data", &["problems", "groups", "nodes", "plan", "time", "score"]),
    (&["hgroup", "status"], "data/pools.data", &["groups", "problems", "nodes"]),
    (
        &["hgroup", "redistribute"],
        "data/pools.data",
        &["problems", "repairs", "groups", "nodes", "plan", "time", "score"],
    ),
    (
        &["hgroup", "compress", "--evacuate"],
        "data/pools.data",
        &["problems", "candidates", "groups", "nodes", "plan", "time", "score"],
    ),
    (&["hsqueeze", "--all"], "data/week.data", &["power", "groups", "nodes", "plan", "time", "score"]),
    (
        &["hspace", "--disk-template=drbd"],
        "data/unbalanced-drbd.data",
        &["capacity", "tiers", "failures", "nodes"],
    ),
    (&["hcheck"], "data/offline-nodes.data", &["problems", "groups", "nodes"]),
    (&["hcheck", "--without-node=node1"], "data/unbalanced-drbd.data", &["fates", "nodes"]),
    (&["hroller"], "data/unbalanced-drbd.data", &["reboots", "plan", "time", "nodes"]),
];

/// Standard output, standard error and status of a run.
fn run(words: &[&str]) -> (String, String, i32) {
    let output = Command::new(PROGRAM).env_remove("HTOOLS").args(words).output().unwrap();
    let text = |stream: Vec<u8>| String::from_utf8(stream).unwrap();
    (text(output.stdout), text(output.stderr), output.status.code().unwrap())
}

/// Parses a page as XML, too.
#[track_caller]
fn check(text: &str) -> Document<'_> {
    let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text, options).unwrap_or_else(|error| panic!("{error}"));
    let count = |name: &str| document.descendants().filter(|node| node.has_tag_name(name)).count();
    assert_eq!((count("script"), count("style"), count("img"), count("iframe")), (1, 1, 0, 0));
    let attributes = document.descendants().flat_map(|node| node.attributes());
    for attribute in attributes {
        let (name, value) = (attribute.name(), attribute.value());
        assert!(!name.starts_with("on") && name != "style" && name != "src", "{name}={value}");
        assert!(name != "href" || value.starts_with('#'), "a link leads to {value}");
    }
    document
}

/// The output and the status are the same with and without a page.
#[test]
fn every_tool_writes_its_page() {
    let directory = TempDir::new().unwrap();
    for (tool, cluster, parts) in RUNS {
        let page = directory.path().join("page.html");
        let words = [tool, &["-t", cluster]].concat();
        let plain = run(&words);
        assert_eq!(run(&[&words[..], &["--report", page.to_str().unwrap()]].concat()), plain, "{words:?}");
        let text = fs::read_to_string(&page).unwrap();
        let document = check(&text);
        let sections = document.descendants().filter(|node| node.has_tag_name("section"));
        let ids: Vec<&str> = sections.filter_map(|node| node.attribute("id")).collect();
        assert_eq!(ids, parts, "{words:?}");
        let command = document.descendants().rfind(|node| node.has_tag_name("code")).unwrap();
        let command = command.text().unwrap();
        assert!(command.starts_with(&format!("{} ", tool[0])), "{command}");
        assert!(command.contains(&format!(" --text-data={cluster} ")), "{command}");
        fs::remove_file(&page).unwrap();
    }
}

/// A page says if the load of nodes was measured, and offers streams only if there are any.
#[test]
fn pages_say_what_holds() {
    let directory = TempDir::new().unwrap();
    let [page, loads] = ["page.html", "loads"].map(|name| directory.path().join(name));
    fs::write(&loads, "cache1.example.com 2 1 1 1\n").unwrap();
    let of = |words: &[&str]| {
        run(&[&["hbal", "--report", page.to_str().unwrap()], words].concat());
        fs::read_to_string(&page).unwrap()
    };
    let unmeasured = "load not measured: every instance counts 1";
    let ganeti = of(&["-t", "data/unbalanced-drbd.data"]);
    assert!(ganeti.contains(unmeasured) && ganeti.contains("As a stream (--stream)"));
    let measured = of(&["-t", "data/unbalanced-drbd.data", "-U", loads.to_str().unwrap()]);
    assert!(!measured.contains(unmeasured));
    let pacemaker = of(&["-x", "data/pacemaker-vms.xml"]);
    assert!(!pacemaker.contains("--stream"));
}

/// A document on standard output can be combined with a page.
#[test]
fn pages_and_documents() {
    let directory = TempDir::new().unwrap();
    let page = directory.path().join("page.html");
    let words = ["hbal", "-t", "data/unbalanced-drbd.data", "--json"];
    let plain = run(&words);
    assert_eq!(run(&[&words[..], &["--report", page.to_str().unwrap()]].concat()), plain);
    check(&fs::read_to_string(&page).unwrap());
}

/// A cluster without instances has a page, and so has a run without anything to do.
#[test]
fn nothing_to_do() {
    let directory = TempDir::new().unwrap();
    let page = directory.path().join("page.html");
    for words in
        [&["hbal", "--simulate", "p,3,1t,32g,8"][..], &["hbal", "--all-groups", "--simulate", "p,3,1t,32g,8"]]
    {
        let (_, error, status) = run(&[words, &["--report", page.to_str().unwrap()]].concat());
        assert_eq!((error.as_str(), status), ("", 0));
        let text = fs::read_to_string(&page).unwrap();
        assert!(text.contains("There is nothing to move."), "{words:?}");
        check(&text);
        fs::remove_file(&page).unwrap();
    }
}

/// Names that would be markup if they were not escaped.
#[test]
fn hostile_names_are_text() {
    let directory = TempDir::new().unwrap();
    let sample = fs::read_to_string("data/offline-nodes.data").unwrap();
    let evil = sample
        .replace("web2", "</script><script>alert(1)</script>")
        .replace("db1", "\"><img src=x onerror=alert(2)>")
        .replace("node3", "'-->]]>&amp;<svg onload=alert(3)>")
        .replace("default", "<b>\u{202e}group");
    assert_ne!(evil, sample);
    let cluster = directory.path().join("evil.data");
    fs::write(&cluster, evil).unwrap();
    let page = directory.path().join("page.html");
    let tools: [&[&str]; 6] = [
        &["hbal"],
        &["hcheck"],
        &["hspace", "--disk-template=drbd", "-l", "2"],
        &["hgroup", "status"],
        &["hgroup", "redistribute"],
        &["hcheck", "--without-node=node1"],
    ];
    for tool in tools {
        let (from, to) = (cluster.to_str().unwrap(), page.to_str().unwrap());
        let (_, error, _) = run(&[tool, &["-t", from, "--report", to]].concat());
        let text = fs::read_to_string(&page).unwrap_or_else(|_| panic!("{tool:?}: {error}"));
        check(&text);
        for raw in ["<script>alert", "<img", "<svg onload", "<b>", "\u{202e}"] {
            assert!(!text.contains(raw), "{tool:?}: {raw}");
        }
        assert!(text.contains("&lt;svg onload=alert(3)&gt;"), "{tool:?}");
        fs::remove_file(&page).unwrap();
    }
}

/// On a large cluster the page stays small, and is the same on one core and on several.
#[test]
fn large_clusters() {
    let directory = TempDir::new().unwrap();
    let (cluster, page) = (directory.path().join("large.data"), directory.path().join("page.html"));
    fs::write(&cluster, run(&["generate", "1000", "10000", "drbd"]).0).unwrap();
    let words =
        ["hbal", "-q", "-l", "150", "--report", page.to_str().unwrap(), "-t", cluster.to_str().unwrap()];
    let pages = ["1", "4"].map(|threads| {
        let mut command = Command::new(PROGRAM);
        command.env_remove("HTOOLS").env("RAYON_NUM_THREADS", threads).args(words).assert().code(0);
        fs::read_to_string(&page).unwrap()
    });
    assert!(pages[0] == pages[1], "the pages differ");
    let document = check(&pages[0]);
    assert!(pages[0].len() < 5_000_000, "{}", pages[0].len());
    let rows = |id: &str| {
        let table = document.descendants().find(|node| node.attribute("id") == Some(id)).unwrap();
        table.descendants().filter(|node| node.has_tag_name("tr")).count() - 1
    };
    assert_eq!((rows("node-table"), rows("step-table")), (1000, 150));
}

/// A file that cannot be written is reported before a cluster is read, and no part of it is left.
#[test]
fn unwritable_files() {
    let directory = TempDir::new().unwrap();
    let pipe = directory.path().join("pipe");
    mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    let absent = directory.path().join("absent/page.html");
    let targets: [(&Path, &str); 3] =
        [(&pipe, "it is a pipe"), (directory.path(), "it is a directory"), (&absent, "No such file")];
    for tool in [&["hbal"][..], &["hgroup", "balance"], &["hsqueeze"], &["hspace"], &["hcheck"], &["hroller"]]
    {
        for (target, why) in targets {
            let (out, error, status) =
                run(&[tool, &["-t", "no such cluster", "--report", target.to_str().unwrap()]].concat());
            assert_eq!((out.as_str(), status, error.lines().count()), ("", 1, 1), "{error}");
            assert!(error.contains(why), "{error}");
        }
    }
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
}

/// Options without a plan exclude its page.
#[test]
fn options_that_exclude_pages() {
    let directory = TempDir::new().unwrap();
    let page = directory.path().join("page.html");
    for other in [&["--pareto"][..], &["--explain", "web1"]] {
        let words = [&["hbal", "-t", "data/unbalanced-drbd.data", "--report", page.to_str().unwrap()], other]
            .concat();
        let (out, error, status) = run(&words);
        assert_eq!((out.as_str(), status, error.lines().count()), ("", 1, 1), "{error}");
        assert!(error.contains("--report") && error.contains(other[0]), "{error}");
        assert!(!page.exists());
    }
}
