//! `htools history`: the runs and moves of the past.

mod view;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use super::ExitStatus;
use super::cli::heading::OptionTopic;
use super::cli::option::ArgumentKind::{File, OneNode, Text};
use super::cli::{OptionDef, Spec, Stop, example};
use super::execution::history::of_user;
use super::hint::Complaint;
use super::options::ToolOptions;
use super::options::catalogue::HELP;
use super::options::values::length_of_time;
use super::output::Output;
use crate::execute::history::{History, HistoryFile, PastMove, PastRun, now, since};
use crate::report::check::monitor::unknown;
use crate::report::past;

/// Options of `htools history`.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct HistoryOptions {
    file: Option<PathBuf>,
    cluster: Option<String>,
    instance: Option<String>,
    node: Option<String>,
    since: Option<Duration>,
    json: bool,
    svg: bool,
    monitor: bool,
}

impl OptionTopic for HistoryOptions {}

impl ToolOptions for HistoryOptions {}

/// Name, purpose and options.
pub(super) const SPEC: Spec<HistoryOptions> = Spec {
    name: "htools history",
    summary: "show the runs and moves of the past",
    forms: &["[OPTION...]"],
    examples: &[
        example("htools history --since 7d", "show the runs of the last week"),
        example("htools history --instance web1", "show the moves of an instance"),
        example("htools history --svg > score.svg", "draw the score over time"),
    ],
    options: &[
        &OptionDef::<HistoryOptions>::addition("instance", "show the moves of INSTANCE").common().takes(
            "INSTANCE",
            Text,
            |o, g| g.string().map(|name| o.instance = Some(name)),
        ),
        &OptionDef::<HistoryOptions>::addition("node", "show the moves from and to NODE").common().takes(
            "NODE",
            OneNode,
            |o, g| g.string().map(|name| o.node = Some(name)),
        ),
        &OptionDef::<HistoryOptions>::addition("since", "show the last TIME only, such as 24h or 7d")
            .common()
            .takes("TIME", Text, |o, g| length_of_time(g).map(|time| o.since = Some(time))),
        &OptionDef::<HistoryOptions>::addition("cluster", "show the cluster of this name or UUID only")
            .common()
            .takes("CLUSTER", Text, |o, g| g.string().map(|name| o.cluster = Some(name))),
        &OptionDef::<HistoryOptions>::addition("file", "read this history, such as one of another host")
            .otherwise("history.jsonl in the state directory")
            .takes("FILE", File, |o, g| g.path().map(|path| o.file = path)),
        &OptionDef::<HistoryOptions>::added_flag("json", "print a JSON document", |o| o.json = true),
        &OptionDef::<HistoryOptions>::added_flag("svg", "draw the score over time, as SVG", |o| o.svg = true),
        &OptionDef::<HistoryOptions>::added_flag("monitor", "answer Nagios or Icinga about the last runs", |o| {
            o.monitor = true
        })
        .more("The exit status is 2 if the last run of a tool failed or was cut off, 1 if moves of it failed, and 3 if the history cannot be read."),
        &HELP,
    ],
    ..Spec::PLAIN
};

/// Reads the arguments, and shows the history.
///
/// # Errors
/// Mistakes in the options, and a history that cannot be read.
pub(super) fn start(args: &[OsString]) -> anyhow::Result<ExitStatus> {
    let mut output = Output::standard();
    let (options, words) = match SPEC.read(args) {
        Ok(read) => read,
        Err(stop) => return stop.show(&mut output),
    };
    if !words.is_empty() {
        return Stop::WrongWords(Complaint::new(format!("{} takes no arguments", SPEC.name)))
            .show(&mut output);
    }
    let result = if options.monitor { monitored(&options, &mut output) } else { run(&options, &mut output) };
    output.flush()?;
    result
}

/// Prints the line for a monitoring system. All errors mean that the state is unknown.
fn monitored(options: &HistoryOptions, output: &mut Output) -> anyhow::Result<ExitStatus> {
    let forms = [("monitor", true), ("json", options.json), ("svg", options.svg)];
    let found = super::options::one_form(&forms).and_then(|()| Ok(read(options)?.1));
    match found {
        Ok(history) => {
            let (severity, line) = past::monitored(&select(options, &history).runs, now());
            output.line(&line)?;
            Ok(ExitStatus::Monitored(severity))
        }
        Err(error) => {
            let lines = unknown(&Complaint::of(&error).to_string());
            lines.iter().try_for_each(|line| output.line(line))?;
            Ok(ExitStatus::Unknown)
        }
    }
}

/// The history that was asked for, with its file.
fn read(options: &HistoryOptions) -> anyhow::Result<(Option<HistoryFile>, History)> {
    let file = match &options.file {
        Some(path) => {
            // A mistyped name must not look like a cluster on which nothing ever happened.
            anyhow::ensure!(path.exists(), "{}: there is no such file", path.display());
            Some(HistoryFile::at(path))
        }
        None => of_user()?,
    };
    let history = file.as_ref().map_or_else(|| Ok(History::default()), HistoryFile::read)?;
    Ok((file, history))
}

/// The part of the history that was asked for.
struct Selection {
    runs: Vec<PastRun>,
    moves: Vec<PastMove>,
}

fn run(options: &HistoryOptions, output: &mut Output) -> anyhow::Result<ExitStatus> {
    super::options::one_form(&[("json", options.json), ("svg", options.svg)])?;
    let (file, history) = read(options)?;
    let found = select(options, &history);
    if options.json {
        output.write(&view::document(&found)?)?;
    } else if options.svg {
        output.write(&view::svg(&found))?;
    } else {
        let wants_moves = options.instance.is_some() || options.node.is_some();
        let lines = if wants_moves { view::moves(&found) } else { view::runs(&found) };
        if lines.is_empty() {
            let place = file.map_or_else(String::new, |file| format!(" in {}", file.path().display()));
            output.line(&format!("Nothing is recorded{place}."))?;
        }
        lines.iter().try_for_each(|line| output.line(line))?;
    }
    Ok(ExitStatus::Success)
}

fn select(options: &HistoryOptions, history: &History) -> Selection {
    let since = options.since.map_or(0, since);
    let mut runs = history.runs();
    runs.retain(|run| {
        let named = options.cluster.as_ref();
        run.latest >= since && named.is_none_or(|name| [&run.cluster.name, &run.cluster.uuid].contains(&name))
    });
    let mut moves: Vec<PastMove> = runs.iter().flat_map(PastRun::moves).collect();
    moves.retain(|made| {
        let moved = &made.moved;
        let mut nodes = moved.from.clone().nodes().chain(moved.to.clone().nodes());
        options.instance.as_ref().is_none_or(|name| is_named(&moved.instance, name))
            && options.node.as_ref().is_none_or(|name| nodes.any(|node| is_named(&node, name)))
    });
    Selection { runs, moves }
}

/// Tells if an object has this full name, or this name before its domain.
fn is_named(full: &str, name: &str) -> bool {
    full.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}
