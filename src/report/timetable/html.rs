//! Timetable of a plan's steps as a chart.

use maud::{PreEscaped, html};

use super::{Timetable, bars, estimated, limits, svg};
use crate::model::number::counted;
use crate::report::form::html::Section;
use crate::report::form::palette::Palette;

/// Maximum number of bars in a chart: with more, nothing could be seen, and the page would be slow.
const DRAWN: usize = 1500;

/// The timetable, if there is anything to do.
pub(in crate::report) fn section(table: &Timetable<'_>) -> Option<Section> {
    let count = table.work.steps.len();
    if count == 0 {
        return None;
    }
    let (by_jobsets, stream) = (estimated(table.by_jobsets.total()), estimated(table.stream.total()));
    let rates = table.rates;
    let body = html! {
        dl class="figures" {
            div { dt { "Jobset by jobset" } dd { (by_jobsets) } }
            @if table.is_streamable {
                div { dt { "As a stream (" span class="w" { "--stream" } ")" (limits(&table.limits)) } dd { (stream) } }
            }
            div { dt { "Longest chain of steps that wait for each other" } dd { (estimated(table.critical_seconds)) } }
        }
        @if bars(table) <= DRAWN {
            div class="scroll drawing" role="region" aria-label="Time table" tabindex="0" {
                (PreEscaped(svg(table, &Palette::PAGE)))
            }
            p class="legend" {
                span { span class="key critical" {} "step of the longest chain (thick edge)" }
                span { span class="key step" {} "other step" }
                span { "One row per node; each step begins as early as it can, and has its number from the plan." }
            }
        } @else {
            p {
                "A drawing of " (counted(count, "step")) " would show nothing; "
                code { "--print-plan=svg" } " makes one all the same."
            }
        }
        p class="note" {
            (format!("Estimated with {:.0} MiB/s of memory and {:.0} s a migration, {:.0} MiB/s of disk and {:.0} s a copy; ", rates.bandwidth, rates.migration, rates.sync_rate, rates.replace))
            code class="once" { "--durations-from" } " takes the speeds from an earlier run."
        }
    };
    Section::of("time", "When", Some(body))
}
