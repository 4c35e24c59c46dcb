//! Texts about a program: help, version, completion list, and errors in a command line.

use textwrap::WordSplitter;

use super::getopt::SyntaxError;
use super::hint;
use super::option::OptionRow;
use super::program::{Example, OperandWords, Program, ProgramList};
use crate::report::form::tone::{Tone, TonedLine};

/// Rows of a terminal that `-h` must fit.
pub(crate) const SCREEN: usize = 24;
/// Longer lines are hard to read.
const WIDEST: usize = 100;
/// Columns for the forms of options. The purpose of an option with a longer form begins on the next line.
const FORMS: usize = 28;
/// A longer list of programs helps nobody.
const FEW: usize = 4;

/// The first line of the version and of the help.
fn title(spec: &dyn Program) -> String {
    // the launcher and its commands begin with the package's name and do not repeat it
    let package = if spec.name().starts_with(env!("CARGO_PKG_NAME")) { "" } else { " (htools)" };
    format!("{}{package} version {}", spec.name(), env!("CARGO_PKG_VERSION"))
}

/// The text for `--version`.
pub(crate) fn version(spec: &dyn Program) -> String {
    format!("{}\nrunning on {} {}\n", title(spec), std::env::consts::OS, std::env::consts::ARCH)
}

/// The text for `--help`: all options, by heading, in lines of at most `columns` where they can be broken.
pub(crate) fn full(spec: &dyn Program, columns: usize) -> Vec<TonedLine> {
    let width = columns.min(WIDEST);
    let mut lines = vec![(Tone::Heading, title(spec))];
    lines.extend(plain(wrapped(spec.summary(), width)));
    lines.push((Tone::Plain, String::new()));
    lines.extend(plain(forms(spec)));
    lines.extend(spec.lists().iter().flat_map(|list| part(list.heading, programs(list, width))));
    let forms = spec.options().iter().map(|option| option.form().len()).filter(|form| *form <= FORMS).max();
    let column = forms.unwrap_or(FORMS);
    for (heading, options) in spec.by_heading() {
        let rows = options.iter().map(|option| (option.form(), option.help()));
        lines.extend(part(heading.as_str(), table(rows, column, width)));
    }
    lines.extend(part("Examples", examples(spec.examples(), width)));
    let page = spec.name().split(' ').next().unwrap_or_default();
    lines.extend(plain(vec![String::new(), format!("The manual page says more: man {page}")]));
    lines
}

/// The text for `-h`: the options that are needed most, and examples, on one screen.
pub(crate) fn brief(spec: &dyn Program, columns: usize) -> Vec<TonedLine> {
    let width = columns.min(WIDEST);
    let mut begin = wrapped(&format!("{}: {}", spec.name(), spec.summary()), width);
    begin.extend(forms(spec));
    let in_short = |list: &ProgramList| if list.is_main { programs(list, width) } else { names(list, width) };
    let lists: Vec<Vec<String>> = spec.lists().iter().map(in_short).collect();
    let mut end = examples(spec.examples(), width);
    let others = if lists.is_empty() { "" } else { "; those of a command: -h behind it" };
    end.push(format!("All options ({}): {} --help{others}", spec.options().len(), spec.name()));
    // with an empty line before each part
    let taken: usize = lists.iter().chain([&begin, &end]).map(|part| part.len() + 1).sum();
    let options = common(spec, width, SCREEN.saturating_sub(taken));
    let parts = [begin].into_iter().chain(lists).chain([options, end]).filter(|part| !part.is_empty());
    let mut lines: Vec<String> = parts.flat_map(|part| part.into_iter().chain([String::new()])).collect();
    lines.pop();
    plain(lines)
}

/// The options that are needed most, as many as have room.
fn common(spec: &dyn Program, width: usize, room: usize) -> Vec<String> {
    let options = spec.by_heading().into_iter().flat_map(|(_, options)| options);
    let rows = options.filter(|option| option.is_common).map(|o| (o.form(), o.purpose.to_owned()));
    let rows: Vec<(String, String)> = rows.collect();
    let column = rows.iter().map(|(form, _)| form.len()).max().unwrap_or(0);
    let mut shown = Vec::new();
    for row in rows {
        let more = table([row], column, width);
        if shown.len() + more.len() > room {
            break;
        }
        shown.extend(more);
    }
    shown
}

fn plain(lines: Vec<String>) -> Vec<TonedLine> {
    crate::report::form::tone::plain(lines).collect()
}

fn wrapped(text: &str, width: usize) -> Vec<String> {
    // names of options stay whole
    let options = textwrap::Options::new(width).word_splitter(WordSplitter::NoHyphenation);
    textwrap::wrap(text, options).into_iter().map(std::borrow::Cow::into_owned).collect()
}

/// A heading and what stands under it; nothing if there is nothing.
fn part(heading: &str, lines: Vec<String>) -> Vec<TonedLine> {
    if lines.is_empty() {
        return Vec::new();
    }
    let heading = [(Tone::Plain, String::new()), (Tone::Heading, format!("{heading}:"))];
    heading.into_iter().chain(plain(lines)).collect()
}

/// The ways to call a program, a line each.
fn forms(spec: &dyn Program) -> Vec<String> {
    let starts = std::iter::once("Usage:").chain(std::iter::repeat("      "));
    let forms = spec.forms().iter().zip(starts);
    forms.map(|(form, start)| format!("{start} {} {form}", spec.name()).trim_end().to_owned()).collect()
}

/// Programs, with what they do.
fn programs(list: &ProgramList, width: usize) -> Vec<String> {
    let column = list.rows.iter().map(|(word, _)| word.len()).max().unwrap_or(0);
    table(list.rows.iter().cloned(), column, width)
}

/// The names of programs.
fn names(list: &ProgramList, width: usize) -> Vec<String> {
    let names: Vec<&str> = list.rows.iter().map(|(word, _)| word.as_str()).collect();
    wrapped(&format!("{}: {}", list.heading, names.join(", ")), width)
}

fn examples(examples: &[Example], width: usize) -> Vec<String> {
    let column = examples.iter().map(|example| example.line.len()).max().unwrap_or(0);
    let rows = examples.iter().map(|example| (example.line.to_owned(), example.does.to_owned()));
    table(rows, column.min(width / 2), width)
}

/// Two columns, the first one of `column` characters; where a text of it is longer, the other one begins below it.
fn table(rows: impl IntoIterator<Item = (String, String)>, column: usize, width: usize) -> Vec<String> {
    let indent = column + 4;
    let room = width.saturating_sub(indent).max(24);
    let mut lines = Vec::new();
    for (form, help) in rows {
        let mut texts = wrapped(&help, room).into_iter();
        if form.len() <= column {
            lines.push(format!("  {form:column$}  {}", texts.next().unwrap_or_default()));
        } else {
            lines.push(format!("  {form}"));
        }
        lines.extend(texts.map(|text| format!("{:indent$}{text}", "")));
    }
    lines
}

/// The text for `--help-completion`.
pub(crate) fn completion(spec: &dyn Program) -> String {
    let line = |option: &&dyn OptionRow| {
        let short = option.short.map(|letter| format!("-{letter},")).unwrap_or_default();
        format!("{short}--{} {}\n", option.long, option.kind.describe())
    };
    let words = |words: &OperandWords| {
        let most = words.max.map_or_else(|| "none".to_owned(), |most| most.to_string());
        format!("{} {} {most}\n", words.kind.describe(), words.min)
    };
    spec.options().iter().map(line).chain(spec.words().iter().map(words)).collect()
}

/// The errors of a command line, in one or more lines each, and a reference to `--help`.
pub(crate) fn complaints(spec: &dyn Program, errors: &[SyntaxError]) -> String {
    let mut text = String::from("Command line error: ");
    for error in errors {
        match error {
            SyntaxError::Ambiguous { typed, candidates } => {
                let rows = candidates.iter().map(|option| (option.form(), option.purpose.to_owned()));
                let candidates = table(rows, FORMS, WIDEST).join("\n");
                text += &format!("option `{typed}' is ambiguous; could be one of:\n{candidates}\n");
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

/// Names the programs that have the option if they are few; otherwise suggests a similar option.
fn meant(spec: &dyn Program, typed: &str) -> String {
    let Some(long) = typed.strip_prefix("--") else { return String::new() };
    let name = long.split('=').next().unwrap_or_default();
    let owners = crate::tools::programs().filter(|program| program.find(name).is_some());
    let owners: Vec<String> = owners.map(|program| format!("`{}'", program.name())).collect();
    if (1..=FEW).contains(&owners.len()) {
        return format!(", which belongs to {}", owners.join(", "));
    }
    let near = hint::nearest(name, spec.options().iter().map(|option| option.long));
    near.map(|long| format!(", did you mean `--{long}'?")).unwrap_or_default()
}
