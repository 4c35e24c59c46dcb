//! Effects of the loss of each host.

use maud::html;

use super::{PlacementPage, answer, toned};
use crate::model::number::counted;
use crate::pacemaker::loss::HostLoss;
use crate::pacemaker::pinning::ForesightError;
use crate::report::form::html::grid::{Grid, GridCell, GridRow};
use crate::report::form::html::words::unbroken;
use crate::report::form::html::{PageAnswer, Section};
use crate::report::form::table::Align;
use crate::report::form::tone::Tone;
use crate::report::pacemaker::survive::SurvivalResult;

impl PlacementPage<'_> {
    /// Losses of a node, the worst first.
    pub(super) fn losses(&self) -> Result<Option<Section>, ForesightError> {
        let Some(survival) = self.survival else { return Ok(None) };
        let row = |loss: &HostLoss| GridRow {
            cells: vec![
                GridCell::name(survival.hosts(loss)),
                GridCell::of(toned(Tone::Bad, &survival.stays_down(loss))),
                GridCell::text(survival.names(&loss.restarted)),
                GridCell::text(survival.names(&loss.moved)),
                GridCell::text(if loss.quorum { "kept" } else { "lost" }),
            ],
            changes: loss.is_harmful(),
        };
        let grid = Grid {
            id: "loss-table",
            caption: "Losses of one node",
            columns: vec![
                ("Lost node", Align::Left),
                ("Stays down", Align::Left),
                ("Restarted elsewhere", Align::Left),
                ("Moved to make room", Align::Left),
                ("Quorum", Align::Left),
            ],
            rows: survival.losses.iter().map(row).collect(),
            noun: Some("node"),
        };
        let worst = survival.losses.first().filter(|worst| worst.is_harmful());
        let reasons = worst.map(|worst| survival.reasons(worst)).transpose()?.unwrap_or_default();
        let table = grid.some().map(|table| {
            html! {
                p { "After the actions above, each node is lost in turn. A node that is lost restarts elsewhere what ran on it." }
                (table)
                @if let Some((head, reasons)) = reasons.split_first() {
                    h3 { (unbroken(head)) }
                    ul { @for reason in reasons { li { (unbroken(reason.trim())) } } }
                }
            }
        });
        Ok(Section::of("losses", "If a node is lost", table))
    }
}

/// The losses as an answer.
pub(super) fn survival_answer(found: &SurvivalResult<'_>) -> PageAnswer {
    let bad = found.harmful();
    let question = "Do all survive the loss of any node?";
    let all = counted(found.losses.len(), "node");
    let down = format!("something stays down after the loss of {bad} of {all}");
    match (bad, found.survives()) {
        (0, _) => answer(question, Tone::Good, "yes".to_owned(), vec![format!("{all} tried, one at a time")]),
        (_, true) => answer(question, Tone::Plain, "all with a priority do".to_owned(), vec![down]),
        (_, false) => answer(question, Tone::Bad, "no".to_owned(), vec![down]),
    }
}
