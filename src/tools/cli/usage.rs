//! The texts that describe a program: usage, version, completion list, and
//! what is wrong with a command line.

use std::fmt::Write;

use super::getopt::SyntaxError;
use super::option::{OptionDef, Spec, Words};

/// The first line of the version and of the usage text.
fn title(spec: &Spec) -> String {
    // the launcher and its commands begin with the package's name and do not repeat it
    let package = if spec.name.starts_with(env!("CARGO_PKG_NAME")) { "" } else { " (htools)" };
    format!("{}{package} version {}", spec.name, env!("CARGO_PKG_VERSION"))
}

/// The text for `--version`.
pub fn version(spec: &Spec) -> String {
    format!("{}\nrunning on {} {}\n", title(spec), std::env::consts::OS, std::env::consts::ARCH)
}

/// The text for `--help`.
pub fn usage(spec: &Spec) -> String {
    let rows: Vec<&OptionDef> = spec.options.iter().collect();
    let forms: Vec<String> = spec.forms.iter().map(|form| format!("{} {form}\n", spec.name)).collect();
    format!("{}\nUsage: {}{}", title(spec), forms.join("       "), table(&rows))
}

/// The text for `--help-completion`.
pub fn completion(spec: &Spec) -> String {
    let line = |option: &OptionDef| {
        let short = option.short.map(|letter| format!("-{letter},")).unwrap_or_default();
        format!("{short}--{} {}\n", option.long, option.kind.describe())
    };
    let words = |words: &Words| {
        let most = words.most.map_or_else(|| "none".to_owned(), |most| most.to_string());
        format!("{} {} {most}\n", words.kind.describe(), words.least)
    };
    spec.options.iter().map(line).chain(spec.words.iter().map(words)).collect()
}

/// What is wrong, one or more lines for each error.
pub fn complaints(errors: &[SyntaxError]) -> String {
    let mut text = String::from("Command line error: ");
    for error in errors {
        match error {
            SyntaxError::Ambiguous { typed, candidates } => {
                text += &format!("option `{typed}' is ambiguous; could be one of:\n{}", table(candidates));
            }
            SyntaxError::Missing { typed, argument } => {
                text += &format!("option `{typed}' requires an argument {argument}\n");
            }
            SyntaxError::Forbidden { typed } => {
                text += &format!("option `{typed}' doesn't allow an argument\n")
            }
            SyntaxError::Unknown { typed } => text += &format!("unrecognized option `{typed}'\n"),
        }
    }
    text
}

/// One line an option: short forms, long forms and descriptions in columns.
fn table(options: &[&OptionDef]) -> String {
    let rows: Vec<(String, String, &str)> =
        options.iter().map(|o| (o.short_form(), o.long_form(), o.help)).collect();
    let short_width = rows.iter().map(|row| row.0.len()).max().unwrap_or(0);
    let long_width = rows.iter().map(|row| row.1.len()).max().unwrap_or(0);
    let mut text = String::new();
    for (short, long, help) in rows {
        // writing to a string cannot fail
        let _ = writeln!(text, "  {short:short_width$}  {long:long_width$}  {help}");
    }
    text
}
