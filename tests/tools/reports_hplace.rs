//! `hplace --report`: the page of a placement.

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use roxmltree::{Document, Node, ParsingOptions};
use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_htools");
const SIX: &str = "data/pacemaker-six-nodes.xml";

/// Standard output, standard error and status of a run.
fn run(words: &[&str]) -> (String, String, i32) {
    let output = Command::new(PROGRAM).env_remove("HTOOLS").arg("hplace").args(words).output().unwrap();
    let text = |stream: Vec<u8>| String::from_utf8(stream).unwrap();
    (text(output.stdout), text(output.stderr), output.status.code().unwrap())
}

fn page_of(words: &[&str], directory: &Path) -> String {
    let page = directory.join("page.html");
    let (_, error, _) = run(&[words, &["--report", page.to_str().unwrap()]].concat());
    let text = fs::read_to_string(&page).unwrap_or_else(|_| panic!("{words:?}: {error}"));
    fs::remove_file(page).unwrap();
    text
}

fn parsed(text: &str) -> Document<'_> {
    let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
    Document::parse_with_options(text, options).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// The texts of the cells of a table, row by row, with its headings first.
fn table(document: &Document<'_>, id: &str) -> Vec<Vec<String>> {
    let table = document.descendants().find(|node| node.attribute("id") == Some(id)).unwrap();
    let text = |cell: Node<'_, '_>| {
        cell.descendants().filter(Node::is_text).filter_map(|node| node.text()).collect::<String>()
    };
    let cells = |row: Node<'_, '_>| {
        row.children().filter(|cell| cell.has_tag_name("th") || cell.has_tag_name("td")).map(text).collect()
    };
    table.descendants().filter(|node| node.has_tag_name("tr")).map(cells).collect()
}

fn sections(document: &Document<'_>) -> Vec<String> {
    let sections = document.descendants().filter(|node| node.has_tag_name("section"));
    sections.filter_map(|node| node.attribute("id")).map(str::to_owned).collect()
}

/// The page changes neither standard output nor the status, whatever else is asked for.
#[test]
fn output_and_status_stay() {
    let directory = TempDir::new().unwrap();
    let page = directory.path().join("page.html");
    for words in [
        &["-x", SIX][..],
        &["-x", SIX, "--json"],
        &["-x", SIX, "--transition"],
        &["-x", SIX, "--crm-simulate-format"],
        &["-x", SIX, "--dot"],
        &["-x", "data/pacemaker-vms.xml", "--strategy", "optimal"],
        &["-x", "data/pacemaker-small.xml", "--strategy", "minimal", "--commands", "pcs"],
        &["-t", "data/unbalanced-drbd.data"],
    ] {
        assert_eq!(run(&[words, &["--report", page.to_str().unwrap()]].concat()), run(words), "{words:?}");
        parsed(&fs::read_to_string(&page).unwrap());
        fs::remove_file(&page).unwrap();
    }
}

/// Resources with their places and reasons, nodes with capacities before and after, actions, and losses.
#[test]
fn a_placement_is_explained() {
    let directory = TempDir::new().unwrap();
    let text = page_of(&["-x", SIX], directory.path());
    assert_eq!(text, page_of(&["-x", SIX], directory.path()));
    let document = parsed(&text);
    assert_eq!(sections(&document), ["resources", "nodes", "actions", "losses"]);
    let resources = table(&document, "resource-table");
    assert_eq!(resources[0], ["Resource", "Now on", "Placed on", "What is done", "Why"]);
    assert_eq!(resources.len(), 1 + 14);
    let row = |name: &str| resources.iter().find(|row| row[0] == name).unwrap();
    assert_eq!(row("cache1")[1..4], ["gamma", "beta", "migrate"]);
    assert!(row("cache1")[4].starts_with("preferred to zeta: it has the most free capacity"));
    assert!(row("web-ip")[4].contains("order db1-before-web: it is started after db1: db1 moves"));
    assert_eq!(row("report")[1..4], ["", "", "⚠ has no place"]);
    assert!(row("report")[4].starts_with("alpha: no room: cpu lacks 8, memory lacks 16384; "));
    let nodes = table(&document, "node-table");
    assert_eq!(nodes[0], ["Node", "State", "cpu", "memory", "Resources", "If it is lost"]);
    assert_eq!(
        nodes[1],
        ["alpha", "online", "4 → 12 of 16", "8192 → 24576 of 32768", "4 → 5", "⚠ 1 resource stays down"]
    );
    assert_eq!(table(&document, "action-table")[1][1], "stop web-app on alpha");
    assert_eq!(table(&document, "loss-table").len(), 1 + 6);
}

/// What the page says about losses is what `hplace survive` says.
#[test]
fn losses_are_those_of_survive() {
    let directory = TempDir::new().unwrap();
    let text = page_of(&["-x", SIX], directory.path());
    let rows = table(&parsed(&text), "loss-table");
    let (survival, _, _) = run(&["survive", "-x", SIX, "--json"]);
    let survival: serde_json::Value = serde_json::from_str(&survival).unwrap();
    let losses = survival["losses"].as_array().unwrap();
    assert_eq!(losses.len(), rows.len() - 1);
    for (loss, row) in losses.iter().zip(&rows[1..]) {
        assert_eq!(loss["nodes"][0].as_str().unwrap(), row[0]);
        let down: Vec<&str> =
            loss["down"].as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap()).collect();
        assert_eq!(row[1].trim_start_matches("⚠ "), down.join(", "));
    }
}

/// A placement that Pacemaker does not make by itself comes with the commands that bring it about.
#[test]
fn other_placements_come_with_commands() {
    let directory = TempDir::new().unwrap();
    let small = ["-x", "data/pacemaker-small.xml", "--strategy", "minimal"];
    let text = page_of(&small, directory.path());
    for command in [
        "hplace --xml-file=data/pacemaker-small.xml --strategy=minimal --commands=pcs",
        "hplace --strategy=minimal --live --exec",
        "hplace --live --undo --exec",
    ] {
        assert!(text.contains(&format!("<code>{command}</code>")), "{command}: {text}");
    }
    assert!(!page_of(&small[..2], directory.path()).contains("What to do next"));
}

/// Names that are markup where nobody looks: of the cluster, nodes, resources, capacities and constraints.
#[test]
fn hostile_names_are_text() {
    let directory = TempDir::new().unwrap();
    let sample = fs::read_to_string(SIX).unwrap();
    let evil = sample
        .replace("\"alpha\"", "\"&lt;script>alert(1)&lt;/script>\"")
        .replace("\"cache1\"", "\"&quot;>&lt;img src=x onerror=alert(2)>\"")
        .replace("\"db1-before-web\"", "\"&lt;b>\u{202e}order\"")
        .replace("\"cpu\"", "\"&lt;svg onload=alert(3)>\"")
        .replace(
            "name=\"placement-strategy\"",
            "name=\"cluster-name\" value=\"&lt;i>'--&gt;\"/>\n<nvpair id=\"more\" name=\"placement-strategy\"",
        );
    assert_ne!(evil, sample);
    let file = directory.path().join("evil.xml");
    fs::write(&file, evil).unwrap();
    for strategy in ["balanced", "optimal"] {
        let words = ["-x", file.to_str().unwrap(), "--strategy", strategy];
        let text = page_of(&words, directory.path());
        let document = parsed(&text);
        for raw in ["<script>alert", "<img", "<svg onload", "<b>", "<i>", "\u{202e}"] {
            assert!(!text.contains(raw), "{strategy}: {raw}");
        }
        assert!(text.contains("&lt;svg onload=alert(3)&gt;"), "{strategy}");
        let title = document.descendants().find(|node| node.has_tag_name("title")).unwrap();
        assert_eq!(title.text(), Some("Placement of resources – <i>'-->"));
    }
}

/// A cluster without resources has a page, too, and so has one without quorum.
#[test]
fn clusters_with_nothing_to_place() {
    let directory = TempDir::new().unwrap();
    let small = fs::read_to_string("data/pacemaker-small.xml").unwrap();
    let (head, rest) = small.split_once("<resources>").unwrap();
    let (_, tail) = rest.split_once("</resources>").unwrap();
    let empty = format!("{head}<resources/>{tail}");
    let quorumless = small.replace("have-quorum=\"1\"", "have-quorum=\"0\"");
    let file = directory.path().join("cluster.xml");
    for (content, wanted) in
        [(empty, "The cluster has no resources."), (quorumless, "Placement of resources")]
    {
        fs::write(&file, content).unwrap();
        let text = page_of(&["-x", file.to_str().unwrap()], directory.path());
        assert!(text.contains(wanted), "{text}");
        parsed(&text);
    }
}

/// The page is for placements by Pacemaker's rules; a file that cannot be written is named at once.
#[test]
fn pages_that_are_refused() {
    let directory = TempDir::new().unwrap();
    let page = directory.path().join("page.html");
    let page = page.to_str().unwrap();
    for words in [
        &["survive", "-x", SIX][..],
        &["why", "db1", "-x", SIX],
        &["-j", "data/affinity.json"],
        &["--live", "--undo"],
    ] {
        let (out, error, status) = run(&[words, &["--report", page]].concat());
        assert!(out.is_empty() && status != 0 && error.contains("--report"), "{words:?}: {error}");
    }
    let absent = directory.path().join("absent/page.html");
    let (out, error, status) = run(&["-x", "no such file", "--report", absent.to_str().unwrap()]);
    assert_eq!((out.as_str(), status, error.lines().count()), ("", 1, 1), "{error}");
    assert!(error.contains("absent/page.html"), "{error}");
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
}
