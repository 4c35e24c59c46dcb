//! The manual pages describe what exists. Options, fields, metrics and tags are generated from their definitions,
//! between two markers. The files in examples load.
//!
//! `UPDATE_MAN=1 cargo test --test tools manual` rewrites the pages.

mod format;
mod made;
mod sources;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use htools::tools::{TOOLS, launcher};

/// Path of a page.
fn path(page: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("man").join(page)
}

/// Held while a page is read or written, because the tests run in parallel.
static PAGES: Mutex<()> = Mutex::new(());

/// The text of a page.
fn read(page: &str) -> String {
    let _held = PAGES.lock().unwrap_or_else(PoisonError::into_inner);
    let path = path(page);
    fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The displayed lines of a page from the macro `.nf` after a comment up to `.fi`.
fn block(page: &str, comment: &str) -> String {
    let (_, rest) =
        page.split_once(&format!(".\\\" {comment}\n.nf\n")).unwrap_or_else(|| panic!("{comment}"));
    rest.split_once("\n.fi").unwrap_or_else(|| panic!("{comment}: no end")).0.replace("\\-", "-") + "\n"
}

/// A page without roff markup, as words separated by single blanks.
fn plain(page: &str) -> String {
    let text = page.replace("\\-", "-").replace("\\&", "").replace(['"', '\n'], " ");
    text.split_whitespace()
        .filter(|word| !word.starts_with('.') || word.len() > 3)
        .collect::<Vec<_>>()
        .join(" ")
}

/// The part of a page under a heading.
fn section<'a>(page: &'a str, heading: &str) -> &'a str {
    let begin = [format!("\n.SH {heading}\n"), format!("\n.SH \"{heading}\"\n")];
    let rest = begin
        .iter()
        .find_map(|begin| page.split_once(begin.as_str()))
        .unwrap_or_else(|| panic!("{heading}"))
        .1;
    rest.split_once("\n.SH ").map_or(rest, |(own, _)| own)
}

/// Names of all pages.
fn pages() -> Vec<String> {
    let tools = TOOLS.iter().map(|tool| tool.spec.name()).chain([launcher::SPEC.name]);
    tools.map(|name| format!("{name}.1")).chain(["htools-format.5".to_owned()]).collect()
}

#[test]
fn every_page_refers_to_the_formats() {
    for page in pages().iter().filter(|page| *page != "htools-format.5") {
        let text = read(page);
        assert!(section(&text, "SEE ALSO").contains(".BR htools\\-format (5)"), "{page}");
    }
}

#[test]
fn there_are_no_other_pages() {
    let mut found: Vec<String> =
        fs::read_dir(path("")).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    found.sort();
    let mut known = pages();
    known.sort();
    assert_eq!(found, known);
}
