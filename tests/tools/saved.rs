//! A state saved with `-S` loads back to the scores and tables that were printed.

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use tempfile::TempDir;

/// Standard output and standard error of a successful run.
fn run(place: &Path, words: &[&str]) -> (String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_htools"));
    let run = command.env_remove("HTOOLS").current_dir(place).args(words).assert().code(0);
    let output = run.get_output();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (text(&output.stdout), text(&output.stderr))
}

/// The rows of the table with a title, with one blank between columns. Nodes are shown without a common suffix of all
/// names; new instances do not have the suffix.
fn table(text: &str, title: &str) -> Vec<String> {
    let (_, rest) = text.split_once(&format!("{title}\n")).unwrap_or_else(|| panic!("no {title} in {text}"));
    let words =
        |line: &str| line.replace(".example.com", "").split_whitespace().collect::<Vec<_>>().join(" ");
    rest.lines().take_while(|line| line.starts_with(' ')).map(words).collect()
}

/// The text after a label.
fn behind<'t>(text: &'t str, label: &str) -> &'t str {
    let line = text.lines().find_map(|line| line.split_once(label));
    line.unwrap_or_else(|| panic!("no {label} in {text}")).1.trim()
}

/// Checks a saved state: it has the same table and score, and nothing is missing.
fn loads_back(place: &Path, file: &str, shown: &[String], score: &str) {
    let (out, err) = run(place, &["hbal", "-t", file, "-l", "0", "-p"]);
    assert!(!err.contains("inconsistent data"), "{file}: {err}");
    assert_eq!(table(&err, "Initial cluster status:"), shown, "{file}");
    // The message for a balanced cluster has another form.
    let found = out.lines().find_map(|line| line.split_once("score ").or(line.split_once("score: ")));
    let found = found.unwrap_or_else(|| panic!("no score in {out}")).1;
    assert!(found.starts_with(score), "{file}: {score} became {found}");
}

/// Directories with generated clusters of one group, as `cluster.data`.
fn clusters() -> impl Iterator<Item = (TempDir, &'static str)> {
    ["drbd", "ext", "plain"].into_iter().flat_map(|template| {
        (1..4).map(move |seed| {
            let place = TempDir::new().unwrap();
            let seed = format!("--seed={seed}");
            let words = ["generate", "9", "40", template, &seed, "--tags", "--hetero"];
            let (text, _) = run(place.path(), &words);
            fs::write(place.path().join("cluster.data"), text).unwrap();
            (place, template)
        })
    })
}

#[test]
fn states_of_hbal() {
    for (place, _) in clusters() {
        let words = ["hbal", "-t", "cluster.data", "-S", "s", "-p"];
        let (out, err) = run(place.path(), &words);
        if let Some((_, score)) = out.lines().find_map(|line| line.split_once("Cluster score improved from "))
        {
            let (_, score) = score.split_once(" to ").unwrap();
            loads_back(place.path(), "s.balanced", &table(&err, "Final cluster status:"), score);
        }
    }
}

#[test]
fn states_of_hspace() {
    for (place, template) in clusters() {
        let words = ["hspace", "-t", "cluster.data", "-S", "s", "-p", "--disk-template", template];
        let (out, err) = run(place.path(), &words);
        let (tiered, standard) = out.split_once("Standard (fixed-size)").unwrap();
        for (part, title, file) in [(tiered, "Tiered", "s.tiered"), (standard, "Standard", "s.standard")] {
            let shown = table(&err, &format!("{title} allocation status:"));
            loads_back(place.path(), file, &shown, behind(part, "final cluster score:"));
        }
    }
}

#[test]
fn states_of_hail() {
    let place = TempDir::new().unwrap();
    let request = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/allocate.json");
    let (_, err) = run(place.path(), &["hail", request.to_str().unwrap(), "-S", "s", "-p"]);
    let shown = table(&err, "Final cluster status:");
    let (_, err) = run(place.path(), &["hbal", "-t", "s.post-ialloc", "-l", "0", "-p"]);
    assert_eq!(table(&err, "Initial cluster status:"), shown);
    assert!(!err.contains("inconsistent data"), "{err}");
}

#[test]
fn states_of_hsqueeze() {
    for (place, _) in clusters() {
        let words = ["hsqueeze", "-t", "cluster.data", "--all", "-S", "s"];
        run(place.path(), &words);
        let (_, err) = run(place.path(), &["hinfo", "-t", "s.squeezed"]);
        assert!(!err.contains("inconsistent data"), "{err}");
    }
}
