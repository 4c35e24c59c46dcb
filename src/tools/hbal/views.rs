//! Output of plans for one group or several.

use super::{ExitStatus, HbalOptions};
use crate::model::{Cluster, Step};
use crate::plan::checker::CheckOptions;
use crate::plan::command::{BALANCE_TITLE, plan_lines};
use crate::plan::jobset::Jobset;
use crate::plan::shell;
use crate::plan::work::Work;
use crate::report::cluster::summary::{Cost, Moment, PlanTime, summary};
use crate::report::form::file::write_whole;
use crate::report::form::json::Printout;
use crate::report::timetable::Timetable;
use crate::tools::options::CommandTarget;
use crate::tools::output::Output;
use crate::tools::pacemaker::{CibOrigin, cib_script};
use crate::tools::{commands, save, summing_up};

/// Output for people: goes to standard output, and is dropped if a document is printed there.
pub(super) struct Text<'a> {
    pub output: &'a mut Output,
    pub json: bool,
    /// The CIB that the cluster was read from, for a Pacemaker cluster.
    pub cib: Option<&'a CibOrigin>,
}

impl Text<'_> {
    pub(super) fn line(&mut self, line: impl AsRef<str>) -> anyhow::Result<()> {
        if !self.json {
            self.output.line(line.as_ref())?;
        }
        Ok(())
    }
}

/// Tells if the plan's cost and benefit are printed.
pub(super) fn wants_summary(options: &HbalOptions, text: &Text<'_>) -> bool {
    summing_up::is_wanted(options.output.summary, text.json, &options.load, text.output)
}

/// Prints the plan's cost and benefit. `cluster` is the state before the plan.
pub(super) fn summarize(
    cluster: &Cluster,
    steps: &[Step],
    table: Option<&Timetable<'_>>,
    [before, after]: [&Moment; 2],
    course: &[f64],
    text: &mut Text<'_>,
) -> anyhow::Result<()> {
    let cost = Cost::of(cluster, steps);
    let lines = summary(cost, table.map(PlanTime::of), before, after, course);
    Ok(lines.iter().try_for_each(|(tone, line)| text.output.toned_line(*tone, line))?)
}

/// Writes the state after the last step, with `--save`.
pub(super) fn save_balanced(
    options: &HbalOptions,
    write: save::Write,
    content: impl FnOnce() -> String,
    output: &mut Output,
) -> anyhow::Result<()> {
    if let Some(prefix) = &options.output.save {
        let note = write(prefix, "balanced", "after balancing", &content())?;
        output.error_line(&note)?;
    }
    Ok(())
}

/// Prints or writes the plan's commands, with `--print-commands`.
pub(super) fn give_commands(
    options: &HbalOptions,
    cluster: &Cluster,
    steps: &[Step],
    jobsets: &[Jobset],
    text: &mut Text<'_>,
) -> anyhow::Result<()> {
    let Some(target) = &options.output.commands else { return Ok(()) };
    let (script, listing) = match text.cib {
        Some(cib) => {
            let lines = cib.commands(steps)?;
            (cib_script(super::SPEC.name, &lines), lines)
        }
        None => {
            let sets = wanted_sets(options, jobsets);
            let work = Work::of(cluster, steps, sets, CheckOptions::default())?;
            let lines = plan_lines(&work, None)?;
            (shell::script(BALANCE_TITLE, "job", &lines), shell::listing(&lines))
        }
    };
    if let CommandTarget::File(path) = target {
        write_whole(path, &script)?;
    }
    if text.json {
        return Ok(());
    }
    let heading = if options.first_job_group {
        "First set of jobs:"
    } else {
        "Commands to run to reach the above solution:"
    };
    commands::show(Some(target), heading, || listing, text.output)
}

/// The jobsets that are shown or executed: only the first with `--first-job-group`.
pub(super) fn wanted_sets<'a>(options: &HbalOptions, jobsets: &'a [Jobset]) -> &'a [Jobset] {
    let wanted = if options.first_job_group { 1 } else { usize::MAX };
    &jobsets[..jobsets.len().min(wanted)]
}

pub(super) fn print_document(document: Option<Printout>, output: &mut Output) -> anyhow::Result<ExitStatus> {
    if let Some(document) = document {
        document.print(output.stdout())?;
    }
    Ok(ExitStatus::Success)
}
