//! The manual pages describe the options that exist: the part of each page
//! between the two markers is made from their definitions.
//!
//! `UPDATE_MAN=1 cargo test --test manual` rewrites the pages.

use std::fs;
use std::path::Path;

use htools::tools::{TOOLS, generate, launcher};

fn options_section(command: clap::Command) -> String {
    let mut text = Vec::new();
    clap_mangen::Man::new(command).render_options_section(&mut text).expect("writing to memory");
    String::from_utf8(text).expect("roff is text")
}

/// Compares the part of a page that is called `part` with what it should be.
fn check(name: &str, part: &str, section: &str) {
    let begin =
        format!(".\\\" {part}: begin (made from the definitions; UPDATE_MAN=1 cargo test --test manual)\n");
    let end = format!(".\\\" {part}: end\n");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("man").join(format!("{name}.1"));
    let page = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let (before, rest) = page.split_once(&begin).unwrap_or_else(|| panic!("{name}: no begin marker"));
    let (_, after) = rest.split_once(&end).unwrap_or_else(|| panic!("{name}: no end marker"));
    let wanted = format!("{before}{begin}{section}{end}{after}");
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
    check(launcher::SPEC.name, "options", &options_section(launcher::SPEC.command()));
    let of_generate = options_section(generate::SPEC.command().name("generate"));
    // a heading below the page's own options
    let of_generate = of_generate.replacen(".SH OPTIONS", ".SS \"Options of generate\"", 1);
    check(launcher::SPEC.name, "options of generate", &of_generate);
    for tool in TOOLS {
        check(tool.spec.name, "options", &options_section(tool.spec.command()));
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
