//! Quality of a deep plan.

use maud::{PreEscaped, html};

use super::text as deep;
use crate::model::Cluster;
use crate::report::balance::pareto;
use crate::report::form::html::Section;
use crate::report::form::html::words::unbroken;
use crate::report::form::palette::Palette;
use crate::search::balance::deep::plan::{DeepFound, DeepPlan};

/// Proven bounds of a plan, and the gains of plans with other numbers of moves.
pub(crate) fn section(plan: &DeepPlan, cluster: &Cluster) -> Option<Section> {
    let lines = deep::conclusion(plan, cluster);
    let body = html! {
        @for line in &lines { p { (unbroken(line)) } }
        @if let DeepFound::Best(found) = &plan.found {
            @if found.line.len() > 1 {
                div class="scroll drawing" role="region" aria-label="Score by number of moves" tabindex="0" {
                    (PreEscaped(pareto::svg(found, &Palette::PAGE)))
                }
                p class="legend" {
                    span { span class="key step" {} "the best placement found with so many moves; the dot is the plan" }
                    span { span class="key critical" {} "no placement is below (dashed)" }
                }
            }
        }
    };
    Section::of("quality", "How good the plan is", Some(body).filter(|_| !lines.is_empty()))
}
