//! The manual pages describe the options that exist: the part of each page
//! between the two markers is made from their definitions.
//!
//! `UPDATE_MAN=1 cargo test --test manual` rewrites the pages.

use std::fs;
use std::path::Path;

use htools::tools::{TOOLS, launcher};

const BEGIN: &str =
    ".\\\" options: begin (made from the definitions; UPDATE_MAN=1 cargo test --test manual)\n";
const END: &str = ".\\\" options: end\n";

fn options_section(command: clap::Command) -> String {
    let mut text = Vec::new();
    clap_mangen::Man::new(command).render_options_section(&mut text).expect("writing to memory");
    String::from_utf8(text).expect("roff is text")
}

fn check(name: &str, command: clap::Command) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("man").join(format!("{name}.1"));
    let page = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let (before, rest) = page.split_once(BEGIN).unwrap_or_else(|| panic!("{name}: no begin marker"));
    let (_, after) = rest.split_once(END).unwrap_or_else(|| panic!("{name}: no end marker"));
    let wanted = format!("{before}{BEGIN}{}{END}{after}", options_section(command));
    if page == wanted {
        return;
    }
    if std::env::var_os("UPDATE_MAN").is_some() {
        fs::write(&path, wanted).expect("the page is writable");
    } else {
        panic!("man/{name}.1 is out of date; run UPDATE_MAN=1 cargo test --test manual");
    }
}

#[test]
fn pages_describe_the_options_and_have_the_usual_sections() {
    check(launcher::SPEC.name, launcher::SPEC.command());
    for tool in TOOLS {
        check(tool.spec.name, tool.spec.command());
    }
    every_page_has_the_usual_sections();
}

/// Not a test of its own, because pages that are being rewritten cannot be read.
fn every_page_has_the_usual_sections() {
    let names = TOOLS.iter().map(|tool| tool.spec.name).chain([launcher::SPEC.name]);
    for name in names {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("man").join(format!("{name}.1"));
        let page = fs::read_to_string(path).expect("the page exists");
        for section in
            ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "ENVIRONMENT", "SEE ALSO"]
        {
            let heading = format!(".SH {section}\n");
            let quoted = format!(".SH \"{section}\"\n");
            assert!(page.contains(&heading) || page.contains(&quoted), "{name}: {section}");
        }
    }
}
