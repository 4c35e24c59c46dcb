//! Parts of pages that are made from the definitions.

use std::fs;
use std::sync::PoisonError;

use htools::model::known_tags::{Bearer, KNOWN};
use htools::report::cluster::nodes::text::{DEFAULT_FIELDS, fields};
use htools::score::metrics::{Aggregate, TABLE};
use htools::tools::{Program, TOOLS, exporter, generate, install, launcher, plans};

use super::{PAGES, path, read};

/// The options of a program, under the headings of its help, which stand below `heading`.
fn options_section(program: &dyn Program, heading: &str) -> String {
    let mut text = Vec::new();
    let pages = clap_mangen::Man::new(program.command());
    pages.render_options_section(&mut text).expect("writing to memory");
    let text = String::from_utf8(text).expect("roff is text");
    let (quotes, _) = text.split_once(".SH ").expect("there are options");
    // the words that are no options are in the synopsis
    let parts = text.strip_prefix(quotes).unwrap();
    let parts =
        parts.strip_prefix(".SH OPTIONS\n").map_or(parts, |words| &words[words.find(".SH ").unwrap_or(0)..]);
    let parts = program.by_heading().iter().fold(parts.to_owned(), |text, (heading, _)| {
        let large = format!(".SH {}\n", roff_word(&heading.as_str().to_uppercase()));
        text.replacen(&large, &format!(".SS {}\n", roff_word(heading.as_str())), 1)
    });
    assert!(!parts.contains(".SH "), "{}: {parts}", program.name());
    format!("{quotes}{heading}\n{parts}")
}

/// A word of a macro: quoted if it is several.
fn roff_word(text: &str) -> String {
    if text.contains(' ') { format!("\"{text}\"") } else { text.to_owned() }
}

/// Text for a page: nothing in it is a macro or an escape.
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

/// Compares the part of a page that is called `part` with what it should be.
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
    check("htools.1", "options", &options_section(&launcher::SPEC, ".SH OPTIONS"));
    let commands: [&dyn Program; 3] = [&generate::SPEC, &exporter::SPEC, &install::SPEC];
    for spec in commands.into_iter().chain(plans::COMMANDS) {
        let word = plans::word(spec);
        let heading = format!(".SH \"OPTIONS OF {}\"", word.to_uppercase());
        let options = options_section(spec, &heading);
        check("htools.1", &format!("options of {word}"), &options);
    }
    check("htools.1", "fields", &fields_section());
    check("htools.1", "metrics", &metrics_section());
    check("htools.1", "tags", &tags_section());
    for tool in TOOLS {
        check(&format!("{}.1", tool.spec.name()), "options", &options_section(tool.spec, ".SH OPTIONS"));
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
