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
    (&["hbal"], "data/offline-nodes.data", &["problems", "nodes", "plan", "time", "score", "next"]),
    (
        &["hbal", "--deep"],
        "data/unbalanced-drbd.data",
        &["nodes", "plan", "time", "score", "quality", "next"],
    ),
    (&["hbal"], "data/balanced.data", &["nodes", "score"]),
    (
        &["hbal", "--all-groups"],
        "data/pools.data",
        &["problems", "groups", "nodes", "plan", "time", "score", "next"],
    ),
    (&["hgroup", "status"], "data/pools.data", &["groups", "problems", "nodes"]),
    (
        &["hgroup", "redistribute"],
        "data/pools.data",
        &["problems", "repairs", "groups", "nodes", "plan", "time", "score", "next"],
    ),
    (
        &["hgroup", "compress", "--evacuate"],
        "data/pools.data",
        &["problems", "candidates", "groups", "nodes", "plan", "time", "score", "next"],
    ),
    (
        &["hsqueeze", "--all"],
        "data/week.data",
        &["power", "groups", "nodes", "plan", "time", "score", "next"],
    ),
    (
        &["hspace", "--disk-template=drbd"],
        "data/unbalanced-drbd.data",
        &["capacity", "tiers", "failures", "nodes"],
    ),
    (&["hcheck"], "data/offline-nodes.data", &["problems", "groups", "plan", "nodes", "next"]),
    (&["hcheck", "--without-node=node1"], "data/unbalanced-drbd.data", &["fates", "nodes"]),
    (&["hroller"], "data/unbalanced-drbd.data", &["reboots", "plan", "time", "nodes", "next"]),
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

/// The texts of the cells of a table, row by row, with its headings first.
fn table(document: &Document<'_>, id: &str) -> Vec<Vec<String>> {
    let table = document.descendants().find(|node| node.attribute("id") == Some(id)).unwrap();
    let text = |cell: roxmltree::Node<'_, '_>| {
        cell.descendants().filter(|node| node.is_text()).filter_map(|node| node.text()).collect::<String>()
    };
    let cells = |row: roxmltree::Node<'_, '_>| {
        row.children().filter(|cell| cell.has_tag_name("th") || cell.has_tag_name("td")).map(text).collect()
    };
    table.descendants().filter(|node| node.has_tag_name("tr")).map(cells).collect()
}

/// The page of a run.
fn page_of(words: &[&str]) -> String {
    let directory = TempDir::new().unwrap();
    let page = directory.path().join("page.html");
    run(&[words, &["--report", page.to_str().unwrap()]].concat());
    fs::read_to_string(page).unwrap()
}

/// The steps of a check are listed one by one, and columns without content are left out.
#[test]
fn checks_list_their_steps() {
    let text = page_of(&["hcheck", "-t", "data/offline-nodes.data"]);
    let steps = table(&check(&text), "step-table");
    let headings = ["Step", "Subject", "From", "To", "What is done", "Gain", "Score after", "Disk", "Why"];
    assert_eq!(steps[0], headings);
    assert_eq!(steps.len(), 1 + 9);
    assert_eq!(steps[1][..3], ["1", "dns1", "node4:node1"]);
    assert_eq!(steps[1][7], "10.1 GiB");
    assert!(text.contains("hbal --text-data=data/offline-nodes.data --all-groups --report=plan.html"));
}

/// The steps of a rolling reboot have phases, and say what they wait for.
#[test]
fn reboots_have_phases() {
    let text = page_of(&["hroller", "-t", "data/unbalanced-drbd.data"]);
    let steps = table(&check(&text), "step-table");
    assert_eq!(steps[0], ["Step", "Phase", "Subject", "From", "To", "What is done", "Takes", "Waits for"]);
    let phases: Vec<&str> = steps[1..].iter().map(|row| row[1].as_str()).collect();
    let mut course = phases.clone();
    course.dedup();
    let first =
        ["move away", "reboot", "wait", "resync disks", "move back"].map(|phase| format!("Group 1: {phase}"));
    assert_eq!(course[..5], first);
    assert_eq!(steps[6][7], "1, 2, 3 and 2 more: nothing may run on the node");
    let next = phases.iter().position(|phase| *phase == "Group 2: move away").unwrap() + 1;
    assert!(steps[next][7].ends_with("more: the group before must be finished"), "{:?}", steps[next]);
}

/// Amounts and times have the units that people use, and the figures of nodes are explained.
#[test]
fn units_and_figures_of_people() {
    let text = page_of(&["hbal", "-t", "data/unbalanced-drbd.data"]);
    check(&text);
    for wanted in ["1.2 TiB to copy", ">30 min</text>", "Instances 5+2: 5 with their primary node here"] {
        assert!(text.contains(wanted), "{wanted}");
    }
    for odd in ["1231.9", " min 0 s", " h 0 min"] {
        assert!(!text.contains(odd), "{odd}");
    }
}

/// A page says what to run next, and names its cluster.
#[test]
fn pages_lead_on() {
    let text = page_of(&["hbal", "-t", "data/unbalanced-drbd.data"]);
    for command in [
        "hbal --text-data=data/unbalanced-drbd.data --print-commands",
        "hbal --luxi --exec",
        "htools undo JOURNAL",
    ] {
        assert!(text.contains(&format!("<pre><code>{command}</code></pre>")), "{command}");
    }
    assert!(text.contains("Cluster in <span class=\"w\">data/unbalanced-drbd.data</span>"));
    let document = check(&text);
    let copied = document.descendants().filter(|node| node.attribute("data-copy").is_some()).count();
    assert_eq!(copied, 4);
    assert!(!page_of(&["hbal", "-t", "data/balanced.data"]).contains("What to do next"));
}

/// Names stay whole where a browser would break them.
#[test]
fn names_do_not_break_at_hyphens() {
    let directory = TempDir::new().unwrap();
    let sample = fs::read_to_string("data/offline-nodes.data").unwrap();
    let cluster = directory.path().join("named.data");
    fs::write(&cluster, sample.replace("node4.", "rack-b-node4.")).unwrap();
    let text = page_of(&["hcheck", "-t", cluster.to_str().unwrap()]);
    check(&text);
    let plain = text.matches("rack-b-node4").count();
    assert!(plain > 5);
    // Where a name is not marked, it is in a cell that does not break.
    let marked = text.matches("<span class=\"w\">rack-b-node4").count();
    let lines = text.matches("class=\"once\"").count();
    assert!(marked > 5 && marked + lines >= plain, "{marked} of {plain}, {lines}");
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
    assert!(ganeti.contains(unmeasured));
    assert!(ganeti.contains("As a stream ("));
    let measured = of(&["-t", "data/unbalanced-drbd.data", "-U", loads.to_str().unwrap()]);
    assert!(!measured.contains(unmeasured));
    let pacemaker = of(&["-x", "data/pacemaker-vms.xml"]);
    assert!(!pacemaker.contains("--stream") && pacemaker.contains("hbal --live --exec"));
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
        // A word with hyphens is marked, so the name is in two pieces.
        assert!(text.contains("&lt;svg</span> onload=alert(3)&gt;"), "{tool:?}");
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
