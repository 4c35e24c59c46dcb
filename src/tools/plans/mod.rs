//! `htools show`, `htools apply` and `htools undo`: plans in files, and runs that are taken back.

mod apply;
mod show;
mod undo;

use std::ffi::OsString;
use std::path::PathBuf;

use super::cli::option::ArgumentKind;
use super::cli::{OperandWords, OptionDef, Spec, Stop};
use super::execution::{WorkCheck, crossing_violation, violation};
use super::options::Options;
use super::options::catalogue::*;
use super::options::pace::*;
use super::output::Output;
use super::{ExitStatus, find, hbal, hgroup, hplace};
use crate::execute::saved::SavedPlan;
use anyhow::{Context, bail};

/// The commands, by their words.
pub const COMMANDS: [&Spec; 3] = [&show::SPEC, &apply::SPEC, &undo::SPEC];

const FILE: OperandWords = OperandWords { name: "FILE", kind: ArgumentKind::File, least: 1, most: Some(1) };
const JOURNAL_FILE: OperandWords = OperandWords { name: "JOURNAL", ..FILE };

/// Does what such a command does with its file.
type FileCommand = fn(&Options, PathBuf, &mut Output) -> anyhow::Result<ExitStatus>;

/// Reads the words behind one of these commands, and does what they say; nothing if it is another one.
pub fn start(command: &str, args: &[OsString]) -> Option<anyhow::Result<ExitStatus>> {
    let (spec, run): (&Spec, FileCommand) = match command {
        "show" => (&show::SPEC, show::run),
        "apply" => (&apply::SPEC, apply::run),
        "undo" => (&undo::SPEC, undo::run),
        _ => return None,
    };
    Some(with_file(spec, args, run))
}

fn with_file(spec: &'static Spec, args: &[OsString], run: FileCommand) -> anyhow::Result<ExitStatus> {
    let mut output = Output::standard();
    let (options, words) = match spec.read(args) {
        Ok(read) => read,
        Err(stop) => return stop.show(&mut output),
    };
    let [file] = &words[..] else {
        let wanted = spec.words[0].name;
        return Stop::WrongWords(format!("{} needs one {wanted}", spec.name)).show(&mut output);
    };
    let result = run(&options, PathBuf::from(file), &mut output);
    // what was said before an error stays said
    output.flush()?;
    result
}

/// The name by which a command is typed behind `htools`.
pub fn word(spec: &Spec) -> &'static str {
    spec.name.rsplit(' ').next().unwrap_or(spec.name)
}

/// A tool that made a plan or a run.
struct PlanMaker {
    spec: &'static Spec,
    /// Reads the words behind its name.
    parse: fn(&[OsString]) -> Result<Options, Stop>,
    /// Does what they say.
    run: fn(Options) -> anyhow::Result<ExitStatus>,
    /// Checks its steps.
    check: WorkCheck,
}

impl PlanMaker {
    fn named(name: &str) -> anyhow::Result<PlanMaker> {
        let spec = find(name).with_context(|| format!("it was made by '{name}', which is no tool"))?.spec;
        Ok(match spec.name {
            "hbal" => {
                PlanMaker { spec, parse: |words| hbal::SPEC.parse(words), run: hbal::run, check: violation }
            }
            "hplace" => PlanMaker { spec, parse: hplace::parse, run: hplace::run, check: violation },
            "hgroup" => PlanMaker { spec, parse: hgroup::parse, run: hgroup::run, check: crossing_violation },
            other => bail!("plans of {other} are not carried out like that"),
        })
    }
}
