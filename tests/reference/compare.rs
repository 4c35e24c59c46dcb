//! Compares what the two sides gave: exit status, standard output, tables on
//! standard error, saved states, commands written to a file.

use std::fs;
use std::path::Path;

use super::cases::Case;
use super::options::Tool;
use super::rules::{Rule, common_suffix, split_instances};
use super::run::Output;

/// How a case came out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The same bytes.
    Agree,
    /// Different by a listed difference only.
    Listed(Rule),
    /// Different; says where.
    Differ(String),
}

/// What one side gave, in named parts.
type Parts = Vec<(&'static str, String)>;

/// Titles of the tables on standard error.
const TABLES: [&str; 6] = [
    "Initial instance map:",
    "Initial cluster status:",
    "Final instance map:",
    "Final cluster status:",
    "Instances instance map:",
    "Cluster status:",
];

/// Compares the two sides of a case, given their outputs and directories.
pub fn compare(case: &Case, theirs: (&Output, &Path), ours: (&Output, &Path)) -> Verdict {
    for (who, output) in [("the reference", theirs.0), ("our program", ours.0)] {
        if output.status.is_none() {
            return Verdict::Differ(format!("{who} ran out of time"));
        }
    }
    let (mut a, mut b) = (parts(theirs.0, theirs.1), parts(ours.0, ours.1));
    let Some(first) = difference(&a, &b) else { return Verdict::Agree };
    // exact transformations first: with them, everything else must agree
    let mut used = None;
    if Rule::FullNamesInCommands.applies(case) {
        let suffix = common_suffix(&case.cluster.raw);
        for part in [&mut a, &mut b] {
            part.iter_mut().for_each(|(_, text)| *text = shorten_commands(text, suffix));
        }
        used = Some(Rule::FullNamesInCommands);
    }
    if Rule::SplitInstanceNames.applies(case) {
        let names = split_instances(&case.cluster.raw);
        for part in [&mut a, &mut b] {
            part.iter_mut().for_each(|(_, text)| *text = insert_names(text, &names));
        }
        used = Some(Rule::SplitInstanceNames);
    }
    let rest = difference(&a, &b);
    match (used, &rest) {
        (Some(rule), None) => return Verdict::Listed(rule),
        _ => {
            if let Some(rule) = excuse(case, theirs.0, ours.0, &a, &b) {
                return Verdict::Listed(rule);
            }
        }
    }
    Verdict::Differ(rest.unwrap_or(first))
}

/// A rule by which the answers may differ beyond a transformation.
fn excuse(case: &Case, theirs: &Output, ours: &Output, a: &Parts, b: &Parts) -> Option<Rule> {
    // with -X the number of steps decides about our status
    let executes = case.facts.execute;
    let ended = ours.status == Some(0) || executes;
    let ends_early = theirs.status == Some(1) && ended;
    let broke_off = || ends_early && b[1].1.starts_with(&a[1].1);
    let may_break_off = || {
        ends_early && [Rule::SplitInstanceOutput, Rule::DrbdWithoutSecondary].iter().any(|r| r.applies(case))
    };
    Rule::ALL.into_iter().filter(|rule| rule.applies(case)).find(|rule| match rule {
        Rule::FullNamesInCommands | Rule::SplitInstanceNames => false,
        Rule::SplitInstanceOutput | Rule::DrbdWithoutSecondary => broke_off(),
        Rule::OwnSecondary | Rule::AllOffline | Rule::InitialN1 => {
            loaded(&a[1].1) == loaded(&b[1].1)
                && (theirs.status == ours.status || executes || may_break_off())
        }
    })
}

/// What is printed before the first score or flag can matter.
fn loaded(stdout: &str) -> Vec<&str> {
    let later = ["Initial", "Cluster is", "The cluster contains", "Continuing", "Node group information"];
    stdout.lines().take_while(|line| !later.iter().any(|start| line.starts_with(start))).collect()
}

fn parts(output: &Output, directory: &Path) -> Parts {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let file = |name: &str| fs::read(directory.join(name)).map_or("(none)".into(), |bytes| text(&bytes));
    // the script's frame is our own; its commands are compared
    let script: String = file("commands.sh")
        .lines()
        .filter(|line| ["  gnt-", "echo ", "  echo "].iter().any(|start| line.starts_with(start)))
        .map(|line| format!("{line}\n"))
        .collect();
    vec![
        ("exit status", format!("{:?}", output.status)),
        ("standard output", text(&output.stdout)),
        ("tables on standard error", tables(&text(&output.stderr))),
        ("state.original", file("state.original")),
        ("state.balanced", file("state.balanced")),
        ("commands.sh", script),
    ]
}

fn tables(stderr: &str) -> String {
    let mut inside = false;
    let mut kept = String::new();
    for line in stderr.lines() {
        inside = (inside && line.starts_with(' ')) || TABLES.contains(&line);
        if inside {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept
}

/// Where two sides differ first, in words, with the lines.
fn difference(a: &Parts, b: &Parts) -> Option<String> {
    let ((part, a), (_, b)) = a.iter().zip(b).find(|(a, b)| a != b)?;
    let number = a.lines().zip(b.lines()).take_while(|(a, b)| a == b).count();
    let near = |text: &str, mark: char| -> String {
        let lines: Vec<&str> = text.lines().collect();
        if lines.len() <= number {
            return format!("  {mark} (ends here)\n");
        }
        lines[number..].iter().take(3).map(|line| format!("  {mark} {line}\n")).collect()
    };
    let before: String =
        a.lines().take(number).skip(number.saturating_sub(2)).map(|line| format!("    {line}\n")).collect();
    Some(format!("{part}, line {}:\n{before}{}{}", number + 1, near(a, '-'), near(b, '+')))
}

/// Cuts the common suffix off the words of commands.
fn shorten_commands(text: &str, suffix: &str) -> String {
    let shorten = |word: &str| word.strip_suffix(suffix).unwrap_or(word).to_owned();
    text.split('\n')
        .map(|line| {
            if !line.contains("gnt-instance ") {
                return line.to_owned();
            }
            line.split(' ').map(shorten).collect::<Vec<_>>().join(" ")
        })
        .collect::<Vec<_>>()
        .join("\n")
}

/// Puts the names of split instances behind their heading, unless they are there.
fn insert_names(text: &str, names: &[&str]) -> String {
    let heading = "Found instances belonging to multiple node groups:\n";
    let list: String = names.iter().map(|name| format!("  {name}\n")).collect();
    match text.split_once(heading) {
        Some((before, after)) if !after.starts_with(&list) => format!("{before}{heading}{list}{after}"),
        _ => text.to_owned(),
    }
}

/// The texts of the moves that hbal printed: `f`, `r:T f` and so on, with the
/// target left out.
pub fn moves(case: &Case, stdout: &[u8]) -> Vec<String> {
    if case.tool != Tool::Hbal {
        return Vec::new();
    }
    String::from_utf8_lossy(stdout)
        .lines()
        .filter_map(|line| line.split_once(" => ")?.1.split_once(" a="))
        .map(|(_, text)| {
            let words: Vec<&str> = text.split(' ').map(|w| w.split(':').next().unwrap_or(w)).collect();
            words.join(" ")
        })
        .collect()
}
