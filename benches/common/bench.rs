//! The two programs, and the tools for measuring them.

use std::ffi::OsStr;
use std::io;
use std::path::PathBuf;
use std::process::Command;
use std::rc::Rc;
use std::time::Duration;

use super::clusters::{Clusters, Input, Kind};
use super::numbers::seconds;
use super::settings::Settings;
use super::workshop::{Run, Taken, Workshop};

#[path = "../../tests/common/original.rs"]
mod original;

const PROGRAM: &str = env!("CARGO_BIN_EXE_htools");
/// Time limit far above any run of this project's program.
const PATIENCE: Duration = Duration::from_secs(4 * 3600);

/// Runs our program, and the reference on request.
pub struct Bench {
    pub settings: Settings,
    /// Directory of the reference's tools, or the reason why they are not measured.
    pub reference: Result<PathBuf, &'static str>,
    clusters: Clusters,
    workshop: Workshop,
}

impl Bench {
    /// Looks for the reference if the settings request it.
    pub fn new(settings: Settings) -> io::Result<Bench> {
        let reference = reference(&settings);
        let clusters = Clusters::new(settings.clusters.clone());
        Ok(Bench { settings, reference, clusters, workshop: Workshop::new()? })
    }

    /// Description of the measurement: programs, machine and number of runs.
    pub fn describe(&self) -> String {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let runs = self.settings.runs();
        let source = self.clusters.source();
        format!(
            "{cores} cores; the best of {runs} runs (two of more than 2 s, one of more than 20 s); \
             clusters of {source}, seed 1 unless it says otherwise"
        )
    }

    /// The cluster of this kind.
    pub fn input(&self, kind: Kind) -> anyhow::Result<Rc<Input>> {
        self.clusters.input(kind, &self.workshop)
    }

    /// Our tool, named by the first word.
    pub fn ours(&self, words: &[&str], input: &Input) -> io::Result<Run> {
        let mut command = command(PROGRAM, words, input);
        match self.workshop.best(&mut command, self.settings.runs(), PATIENCE)? {
            Taken::Run(run) => Ok(run),
            Taken::MoreThan(_) => Err(io::Error::other(format!("{words:?} took too long"))),
        }
    }

    /// The same with a single run, for answers that matter more than their time.
    #[allow(dead_code)] // Some benches do not use it.
    pub fn ours_once(&self, words: &[&str], input: &Input) -> io::Result<Run> {
        match self.workshop.best(&mut command(PROGRAM, words, input), 1, PATIENCE)? {
            Taken::Run(run) => Ok(run),
            Taken::MoreThan(_) => Err(io::Error::other(format!("{words:?} took too long"))),
        }
    }

    /// The reference's tool with this name.
    pub fn theirs(&self, words: &[&str], input: &Input) -> io::Result<Theirs> {
        let place = match &self.reference {
            Ok(place) => place,
            Err(reason) => return Ok(Theirs::Missing(reason)),
        };
        let mut command = command(place.join(words[0]), &words[1..], input);
        Ok(match self.workshop.best(&mut command, self.settings.runs(), self.settings.limit)? {
            Taken::Run(run) => Theirs::Seconds(run.seconds),
            Taken::MoreThan(limit) => Theirs::MoreThan(limit.as_secs_f64()),
        })
    }

    /// Our tool, named by the first word, with these words only.
    #[allow(dead_code)] // Some benches do not use it.
    pub fn ours_alone(&self, words: &[&str]) -> io::Result<Run> {
        let mut command = alone(PROGRAM, words);
        match self.workshop.best(&mut command, self.settings.runs(), PATIENCE)? {
            Taken::Run(run) => Ok(run),
            Taken::MoreThan(_) => Err(io::Error::other(format!("{words:?} took too long"))),
        }
    }

    /// The reference's tool with this name, with these words only.
    #[allow(dead_code)] // Some benches do not use it.
    pub fn theirs_alone(&self, words: &[&str]) -> io::Result<Theirs> {
        let place = match &self.reference {
            Ok(place) => place,
            Err(reason) => return Ok(Theirs::Missing(reason)),
        };
        // Ganeti looks for hail in its directory of allocators.
        let allocators = [original::ALLOCATORS, "/usr/lib/ganeti/iallocators"].map(PathBuf::from);
        let places = [place.clone()].into_iter().chain(allocators).map(|place| place.join(words[0]));
        let Some(program) = places.into_iter().find(|p| p.is_file()) else {
            return Ok(Theirs::Missing("not installed"));
        };
        let mut command = alone(program, &words[1..]);
        Ok(match self.workshop.best(&mut command, self.settings.runs(), self.settings.limit)? {
            Taken::Run(run) => Theirs::Seconds(run.seconds),
            Taken::MoreThan(limit) => Theirs::MoreThan(limit.as_secs_f64()),
        })
    }

    /// Writes a file for the programs to read.
    #[allow(dead_code)] // Some benches do not use it.
    pub fn file(&self, name: &str, content: &str) -> io::Result<PathBuf> {
        self.workshop.file(name, content)
    }

    /// The same, but not run if it took too long on a smaller cluster.
    pub fn theirs_after(&self, smaller: Option<Theirs>, words: &[&str], input: &Input) -> io::Result<Theirs> {
        match smaller {
            Some(too_long @ Theirs::MoreThan(_)) => Ok(too_long),
            _ => self.theirs(words, input),
        }
    }

    /// Output of the last command.
    pub fn printed(&self) -> io::Result<String> {
        self.workshop.printed()
    }

    /// The number of steps in the plan printed last.
    pub fn steps(&self) -> anyhow::Result<usize> {
        let printed = self.printed()?;
        let number = printed.lines().find_map(|line| line.strip_prefix("Solution length="));
        Ok(number.unwrap_or("0").parse()?)
    }
}

#[allow(dead_code)] // Some benches do not use it.
fn alone(program: impl AsRef<OsStr>, words: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(words).env_remove("HTOOLS");
    command
}

fn command(program: impl AsRef<OsStr>, words: &[&str], input: &Input) -> Command {
    let mut command = Command::new(program);
    command.args(words).arg("-t").arg(&input.file).env_remove("HTOOLS");
    command
}

/// Directory of the reference's tools, or the words that replace their figures in tables.
fn reference(settings: &Settings) -> Result<PathBuf, &'static str> {
    if !settings.reference {
        return Err("not asked for");
    }
    let (first, path) = match std::env::var_os("HTOOLS_REFERENCE_DIR") {
        Some(directory) => (None, directory),
        None => (Some(PathBuf::from(original::TOOLS)), std::env::var_os("PATH").unwrap_or_default()),
    };
    first
        .into_iter()
        .chain(std::env::split_paths(&path))
        .find(|place| ["hbal", "hinfo"].iter().all(|tool| place.join(tool).is_file()))
        .ok_or("not installed")
}

/// Time of the reference.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Theirs {
    Missing(&'static str),
    Seconds(f64),
    Estimate(f64),
    MoreThan(f64),
}

impl Theirs {
    /// Estimated time of this many steps, if each takes as long as this one. It avoids waiting for them.
    pub fn steps(self, steps: usize) -> Theirs {
        match self {
            Theirs::Seconds(step) => Theirs::Estimate(step * steps as f64),
            Theirs::MoreThan(step) => Theirs::MoreThan(step * steps as f64),
            other => other,
        }
    }

    /// Text for a table.
    pub fn text(self) -> String {
        match self {
            Theirs::Missing(reason) => reason.to_owned(),
            Theirs::Seconds(time) => seconds(time),
            Theirs::Estimate(time) => format!("about {} (estimate)", seconds(time)),
            Theirs::MoreThan(time) => format!("over {}", seconds(time)),
        }
    }
}
