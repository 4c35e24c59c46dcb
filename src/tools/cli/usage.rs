//! The texts that describe a program: usage, version, completion list, and
//! what is wrong with a command line.

use std::fmt::Write;

use super::getopt::SyntaxError;
use super::hint;
use super::option::OptionRow;
use super::program::{OperandWords, Program};

/// The first line of the version and of the usage text.
fn title(spec: &dyn Program) -> String {
    // the launcher and its commands begin with the package's name and do not repeat it
    let package = if spec.name().starts_with(env!("CARGO_PKG_NAME")) { "" } else { " (htools)" };
    format!("{}{package} version {}", spec.name(), env!("CARGO_PKG_VERSION"))
}

/// The text for `--version`.
pub(crate) fn version(spec: &dyn Program) -> String {
    format!("{}\nrunning on {} {}\n", title(spec), std::env::consts::OS, std::env::consts::ARCH)
}

/// The text for `--help`, in lines of at most `width` columns where they can be broken; one line for each
/// option without a width.
pub(crate) fn usage(spec: &dyn Program, width: Option<usize>) -> String {
    let forms: Vec<String> = spec.forms().iter().map(|form| format!("{} {form}\n", spec.name())).collect();
    format!("{}\nUsage: {}{}", title(spec), forms.join("       "), table(&spec.options(), width))
}

/// The text for `--help-completion`.
pub(crate) fn completion(spec: &dyn Program) -> String {
    let line = |option: &&dyn OptionRow| {
        let short = option.short.map(|letter| format!("-{letter},")).unwrap_or_default();
        format!("{short}--{} {}\n", option.long, option.kind.describe())
    };
    let words = |words: &OperandWords| {
        let most = words.most.map_or_else(|| "none".to_owned(), |most| most.to_string());
        format!("{} {} {most}\n", words.kind.describe(), words.least)
    };
    spec.options().iter().map(line).chain(spec.words().iter().map(words)).collect()
}

/// What is wrong, one or more lines for each error, and where to read on.
pub(crate) fn complaints(spec: &dyn Program, errors: &[SyntaxError]) -> String {
    let mut text = String::from("Command line error: ");
    for error in errors {
        match error {
            SyntaxError::Ambiguous { typed, candidates } => {
                text +=
                    &format!("option `{typed}' is ambiguous; could be one of:\n{}", table(candidates, None));
            }
            SyntaxError::Missing { typed, argument } => {
                text += &format!("option `{typed}' requires an argument {argument}\n");
            }
            SyntaxError::Forbidden { typed } => {
                text += &format!("option `{typed}' doesn't allow an argument\n")
            }
            SyntaxError::Unknown { typed } => {
                text += &format!("unrecognized option `{typed}'{}\n", meant(spec, typed));
            }
        }
    }
    text + &hint::try_help(spec)
}

/// The question whether another option was meant.
fn meant(spec: &dyn Program, typed: &str) -> String {
    let Some(long) = typed.strip_prefix("--") else { return String::new() };
    let name = long.split('=').next().unwrap_or_default();
    let near = hint::nearest(name, spec.options().iter().map(|option| option.long));
    near.map(|long| format!(", did you mean `--{long}'?")).unwrap_or_default()
}

/// One line an option: short forms, long forms and descriptions in columns; descriptions that are
/// too long for `width` go on below, as far as there is room for a few words.
fn table(options: &[&'static dyn OptionRow], width: Option<usize>) -> String {
    let rows: Vec<(String, String, String)> =
        options.iter().map(|o| (o.short_form(), o.long_form(), o.help())).collect();
    let short_width = rows.iter().map(|row| row.0.len()).max().unwrap_or(0);
    let long_width = rows.iter().map(|row| row.1.len()).max().unwrap_or(0);
    let indent = short_width + long_width + 6;
    let room = width.map_or(usize::MAX, |width| width.saturating_sub(indent).max(24));
    let mut text = String::new();
    for (short, long, help) in rows {
        let help = textwrap::wrap(&help, room).join(&format!("\n{:indent$}", ""));
        // writing to a string cannot fail
        let _ = writeln!(text, "  {short:short_width$}  {long:long_width$}  {help}");
    }
    text
}
