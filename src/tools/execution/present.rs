//! Display of a plan as a graph (`--print-plan`), independent of its execution.

use super::pace::rates;
use crate::plan::work::Work;
use crate::report::form::json;
use crate::report::form::palette::Palette;
use crate::report::timetable;
use crate::tools::options::ExecutionOptions;
use crate::tools::options::pace::PlanForm;
use crate::tools::output::Output;

/// Shows a plan as `--print-plan` says. Returns the document if it must be the only output on standard output.
///
/// # Errors
/// If a journal of `--durations-from` cannot be read, or standard output cannot be written.
pub(crate) fn shown(
    execution: &ExecutionOptions,
    work: &Work,
    silent: bool,
    output: &mut Output,
) -> anyhow::Result<Option<String>> {
    let Some(form) = execution.print_plan else { return Ok(None) };
    let table = timetable::Timetable::of(work, rates(execution)?, execution.limits);
    Ok(Some(match form {
        PlanForm::Text => {
            for line in timetable::text(&table) {
                if silent { output.error_line(&line)? } else { output.line(&line)? }
            }
            return Ok(None);
        }
        PlanForm::Json => json::text(&timetable::document(&table))?,
        PlanForm::Dot => timetable::dot(&table),
        PlanForm::Svg => timetable::svg(&table, &Palette::PICTURE),
    }))
}
