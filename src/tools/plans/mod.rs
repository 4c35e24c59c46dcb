//! `htools show`, `htools apply` and `htools undo`: plans in files, and runs that are taken back.

mod apply;
mod show;
mod undo;

use std::ffi::OsString;
use std::path::PathBuf;

use super::cli::option::{ArgumentKind, HasPart};
use super::cli::{OperandWords, OptionDef, Program, Spec, Stop, example};
use super::execution::{WorkCheck, crossing_violation, violation};
use super::hint::Complaint;
use super::options::catalogue::*;
use super::options::pace::*;
use super::options::*;
use super::output::Output;
use super::{ExitStatus, Tool, find, hbal, hgroup, hplace};
use crate::execute::saved::SavedPlan;
use anyhow::{Context, bail};

pub(super) const APPLY: Tool =
    Tool { spec: &apply::SPEC, start: |args| with_file(&apply::SPEC, args, apply::run) };
pub(super) const SHOW: Tool =
    Tool { spec: &show::SPEC, start: |args| with_file(&show::SPEC, args, show::run) };
pub(super) const UNDO: Tool =
    Tool { spec: &undo::SPEC, start: |args| with_file(&undo::SPEC, args, undo::run) };

const FILE: OperandWords = OperandWords { name: "FILE", kind: ArgumentKind::File, min: 1, max: Some(1) };
const JOURNAL_FILE: OperandWords = OperandWords { name: "JOURNAL", ..FILE };

/// Does what such a command does with its file.
type FileCommand<O> = fn(&O, PathBuf, &mut Output) -> anyhow::Result<ExitStatus>;

/// Reads the arguments after one of these commands, and runs it.
fn with_file<O: ToolOptions>(
    spec: &Spec<O>,
    args: &[OsString],
    run: FileCommand<O>,
) -> anyhow::Result<ExitStatus> {
    let mut output = Output::standard();
    let (options, words) = match spec.read(args) {
        Ok(read) => read,
        Err(stop) => return stop.show(&mut output),
    };
    let [file] = &words[..] else {
        let wanted = spec.words[0].name;
        return Stop::WrongWords(Complaint::new(format!("{} needs one {wanted}", spec.name)))
            .show(&mut output);
    };
    let result = run(&options, PathBuf::from(file), &mut output);
    // output before an error must not be lost
    output.flush()?;
    result
}

/// A tool that made a plan or a run.
struct PlanMaker {
    program: &'static dyn Program,
    /// Reads the words that a plan was made with, and does what they say.
    again: fn(&[OsString], &mut Output) -> anyhow::Result<ExitStatus>,
    /// Checks its steps.
    check: WorkCheck,
}

impl PlanMaker {
    fn named(name: &str) -> anyhow::Result<PlanMaker> {
        let program = find(name)
            .with_context(|| format!("it was made by '{name}', which is not a tool of htools"))?
            .spec;
        Ok(match program.name() {
            "hbal" => PlanMaker {
                program,
                again: |words, output| again(hbal::SPEC.parse(words), hbal::run, output),
                check: violation,
            },
            "hplace" => PlanMaker {
                program,
                again: |words, output| again(hplace::parse(words), hplace::run, output),
                check: violation,
            },
            "hgroup" => PlanMaker {
                program,
                again: |words, output| again(hgroup::parse(words), hgroup::run, output),
                check: crossing_violation,
            },
            other => bail!("htools apply and htools undo do not support plans of {other}"),
        })
    }
}

/// Runs a tool with the options that a plan recorded.
fn again<O: HasPart<LoadOptions>>(
    read: Result<O, Stop>,
    run: fn(O) -> anyhow::Result<ExitStatus>,
    output: &mut Output,
) -> anyhow::Result<ExitStatus> {
    match read {
        Ok(mut options) => {
            options.part().files_of_plan = true;
            output.flush()?;
            run(options)
        }
        Err(stop) => stop.show(output),
    }
}
