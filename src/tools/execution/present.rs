//! A plan as a graph, shown and saved, whether it is carried out or not.

use super::pace::rates;
use crate::plan::work::Work;
use crate::report::form::json;
use crate::report::form::palette::Palette;
use crate::report::timetable;
use crate::tools::options::ExecutionOptions;
use crate::tools::options::pace::PlanForm;
use crate::tools::output::Output;

/// Shows some work as `--print-plan` says; gives what is to be the only thing on standard output.
///
/// # Errors
/// A journal that speeds are to be taken from; standard output.
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
