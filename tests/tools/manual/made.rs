//! Parts of pages that are generated from the definitions.

use std::fs;
use std::sync::PoisonError;

use htools::model::known_tags::{Bearer, KNOWN};
use htools::report::cluster::nodes::text::{DEFAULT_FIELDS, fields};
use htools::score::metrics::{Aggregate, TABLE};
use htools::tools::{Program, TOOLS, launcher};

use super::{PAGES, path, read};

/// The options of a program, under the headings of its help, which stand below `heading`; those of a page's main
/// program are not described again.
fn options_section(program: &dyn Program, heading: &str, main: Option<&dyn Program>) -> String {
    let is_known = |long: &str| main.is_some_and(|main| main.find(long).is_some());
    let command = program.command().mut_args(|arg| {
        let hidden = arg.get_long().is_some_and(is_known);
        arg.hide(hidden)
    });
    let mut text = Vec::new();
    clap_mangen::Man::new(command).render_options_section(&mut text).expect("writing to memory");
    let text = String::from_utf8(text).expect("roff is text");
    let (quotes, parts) = text.split_at(text.find(".SH ").unwrap_or(text.len()));
    // the words that are no options are in the synopsis
    let parts = match parts.strip_prefix(".SH OPTIONS\n") {
        Some(words) => &words[words.find(".SH ").unwrap_or(words.len())..],
        None => parts,
    };
    let parts = program.by_heading().iter().fold(parts.to_owned(), |text, (heading, _)| {
        let large = format!(".SH {}\n", roff_word(&heading.as_str().to_uppercase()));
        text.replacen(&large, &format!(".SS {}\n", roff_word(heading.as_str())), 1)
    });
    assert!(!parts.contains(".SH "), "{}: {parts}", program.name());
    let options = program.options();
    let known = options.iter().filter(|option| is_known(option.long));
    let known: Vec<String> = known.map(|option| format!("\\fB\\-\\-{}\\fR", roff(option.long))).collect();
    let known = if known.is_empty() { String::new() } else { format!("As above: {}.\n", known.join(", ")) };
    format!("{quotes}{heading}\n{known}{parts}")
}

/// The parts of a page about the options of a program and of its commands.
fn check_options(page: &str, part: &str, heading: &str, program: &dyn Program) {
    let main = program.alone();
    check(page, part, &options_section(&*main, heading, None));
    for command in program.commands() {
        let word = command.name().rsplit(' ').next().unwrap();
        let heading = format!(".SH \"OPTIONS OF {}\"", word.to_uppercase());
        check(page, &format!("options of {word}"), &options_section(&*command, &heading, Some(&*main)));
    }
}

/// A word of a macro: quoted if it is several.
fn roff_word(text: &str) -> String {
    if text.contains(' ') { format!("\"{text}\"") } else { text.to_owned() }
}

/// Escapes text for a page, so that it contains no macros and no escapes of its own.
fn roff(text: &str) -> String {
    text.replace('\\', "\\e").replace('-', "\\-")
}

fn fields_section() -> String {
    let one = |(key, header, meaning): (&str, &str, &str)| {
        let usual = if DEFAULT_FIELDS.contains(&key) { ", usual" } else { "" };
        format!(".TP\n\\fB{key}\\fR ({}{usual})\n{}.\n", roff(header), roff(meaning))
    };
    fields().map(one).collect()
}

fn metrics_section() -> String {
    let mut text = String::new();
    for metric in TABLE {
        let kind = match metric.kind {
            Aggregate::Deviation(_) => "deviation",
            Aggregate::OnlineCount(_) => "count, online nodes",
            Aggregate::OfflineCount(_) => "count, offline nodes",
            Aggregate::Sum(_) => "sum",
            Aggregate::Spread => "count, all nodes together",
        };
        let (name, weight) = (metric.name, metric.weight);
        text += &format!(".TP\n\\fB{name}\\fR (x{weight}, {kind})\n{}\n", roff(metric.meaning));
    }
    text
}

fn tags_section() -> String {
    let bearer = |bearer: &Bearer| match bearer {
        Bearer::Cluster => "cluster",
        Bearer::Group => "group",
        Bearer::Node => "node",
        Bearer::Instance => "instance",
    };
    let mut text = String::new();
    for tag in KNOWN {
        let bearers: Vec<&str> = tag.bearers.iter().map(bearer).collect();
        let (start, value) = (roff(tag.start), tag.value.replace('/', "/\\:"));
        let (meaning, heeded) = (roff(tag.meaning), roff(tag.heeded));
        text += &format!(".TP\n\\fB{start}\\fI{value}\\fR ({})\n{meaning}\n", bearers.join(", "));
        text += &format!(".br\n{heeded}\n");
    }
    text
}

/// Compares the generated part of a page with the expected text.
fn check(page: &str, part: &str, section: &str) {
    let begin = format!(
        ".\\\" {part}: begin (made from the definitions; UPDATE_MAN=1 cargo test --test tools manual)\n"
    );
    let end = format!(".\\\" {part}: end\n");
    let text = read(page);
    let (before, rest) = text.split_once(&begin).unwrap_or_else(|| panic!("{page}: {part}: no begin marker"));
    let (_, after) = rest.split_once(&end).unwrap_or_else(|| panic!("{page}: {part}: no end marker"));
    let wanted = format!("{before}{begin}{section}{end}{after}");
    if text == wanted {
        return;
    }
    if std::env::var_os("UPDATE_MAN").is_some() {
        let _held = PAGES.lock().unwrap_or_else(PoisonError::into_inner);
        fs::write(path(page), wanted).expect("the page is writable");
    } else {
        panic!("man/{page} is out of date; run UPDATE_MAN=1 cargo test --test tools manual");
    }
}

#[test]
fn pages_describe_what_there_is_and_have_the_usual_sections() {
    check_options("htools.1", "options", ".SH OPTIONS", &launcher::SPEC);
    let described = |word: &&str| !["completion", "config", "help", "install-links"].contains(word);
    for spec in launcher::COMMANDS.iter().map(|command| command.spec) {
        let word = spec.name().rsplit(' ').next().unwrap();
        if !described(&word) {
            continue;
        }
        let heading = format!(".SH \"OPTIONS OF {}\"", word.to_uppercase());
        check_options("htools.1", &format!("options of {word}"), &heading, spec);
    }
    check("htools.1", "fields", &fields_section());
    check("htools.1", "metrics", &metrics_section());
    check("htools.1", "tags", &tags_section());
    for tool in TOOLS {
        check_options(&format!("{}.1", tool.spec.name()), "options", ".SH OPTIONS", tool.spec);
    }
    for page in super::pages().iter().filter(|page| page.ends_with(".1")) {
        let text = read(page);
        for heading in
            ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "ENVIRONMENT", "SEE ALSO"]
        {
            let (bare, quoted) = (format!(".SH {heading}\n"), format!(".SH \"{heading}\"\n"));
            assert!(text.contains(&bare) || text.contains(&quoted), "{page}: {heading}");
        }
    }
}
