//! The score by component, before and after.

use maud::{Markup, html};

use crate::model::number::fixed;
use crate::report::cluster::summary::{Moment, Scores};
use crate::report::form::html::bars::SharePair;
use crate::report::form::html::grid::{Grid, GridCell, GridColumn, GridRow};
use crate::report::form::html::{Section, class};
use crate::report::form::table::Align;
use crate::report::form::tone::{Tone, of_change};
use crate::score::{Components, TABLE};

/// The scores of two moments, or of one.
pub(in crate::report) fn section(before: &Moment, after: Option<&Moment>) -> Option<Section> {
    let after = after.map(|moment| &moment.scores);
    let body = match (&before.scores, after) {
        (Scores::None, _) => None,
        (Scores::Whole(now), Some(Scores::Whole(then))) => Some(parts("score-table", now, Some(then))),
        (Scores::Whole(now), _) => Some(parts("score-table", now, None)),
        (Scores::Groups(now), Some(Scores::Groups(then))) => of_groups(now, Some(then)),
        (Scores::Groups(now), _) => of_groups(now, None),
    }?;
    let note =
        html! { p { "What is spread unevenly, and what is wrong, weighted and added up. Less is better." } };
    Section::of("score", "Score", Some(html! { (note) (body) }))
}

/// A score for people.
fn figure(score: f64) -> String {
    fixed(score, 4)
}

/// The change of a score, with a word or a percentage.
pub(in crate::report) fn change(before: f64, after: f64) -> String {
    let tone = of_change(before, after);
    match tone {
        Tone::Plain | Tone::Heading => "the same".to_owned(),
        _ if before == 0.0 => "worse".to_owned(),
        Tone::Good => format!("{:.0} % less", (before - after) / before * 100.0),
        Tone::Bad => format!("{:.0} % more", (after - before) / before * 100.0),
    }
}

/// A row of a figure that should be small; its bar is relative to the largest figure.
fn row(name: Markup, now: f64, then: Option<f64>, largest: f64) -> GridRow {
    let beside = |value: f64| if largest > 0.0 { value / largest } else { 0.0 };
    let pair = SharePair { before: beside(now), after: then.map(beside) };
    let mut cells = vec![GridCell::of(name), GridCell::bar(pair, None, String::new(), now)];
    cells.push(GridCell::number(figure(now), now));
    cells.extend(then.map(|then| GridCell::number(figure(then), then)));
    cells.extend(then.map(|then| {
        let class = class(of_change(now, then)).unwrap_or_default();
        GridCell::of(html! { span class={ "once " (class) } { (change(now, then)) } })
    }));
    GridRow { cells, changes: then.is_some_and(|then| then != now) }
}

fn columns(first: &'static str, has_after: bool) -> Vec<GridColumn<'static>> {
    let columns = [(first, Align::Left), ("Share", Align::Left)];
    let figures = match has_after {
        true => &[("Before", Align::Right), ("After", Align::Right), ("Change", Align::Left)][..],
        false => &[("Now", Align::Right)],
    };
    columns.into_iter().chain(figures.iter().copied()).collect()
}

/// The weighted parts that are not zero, with the whole in the first row.
fn parts(id: &'static str, now: &Components, then: Option<&Components>) -> Markup {
    let weighted = |parts: &Components, at: usize| {
        parts.values.get(at).map_or(0.0, |value| value * parts.weights.of(at))
    };
    let whole = [Some(now.score()), then.map(Components::score)].into_iter().flatten().fold(0.0, f64::max);
    let mut rows = vec![row(html! { strong { "Score" } }, now.score(), then.map(Components::score), whole)];
    let all = (0..TABLE.len()).flat_map(|at| [Some(weighted(now, at)), then.map(|then| weighted(then, at))]);
    let largest = all.flatten().fold(0.0, f64::max);
    for (at, metric) in TABLE.iter().enumerate() {
        let (before, after) = (weighted(now, at), then.map(|then| weighted(then, at)));
        if before != 0.0 || after.is_some_and(|after| after != 0.0) {
            let name = html! { code { (metric.name) } small class="line" { (metric.meaning) } };
            rows.push(row(name, before, after, largest));
        }
    }
    let grid = Grid {
        id,
        caption: "The parts of the score",
        columns: columns("Part", then.is_some()),
        rows,
        noun: None,
    };
    grid.markup()
}

fn of_groups(now: &[(String, Components)], then: Option<&Vec<(String, Components)>>) -> Option<Markup> {
    if let ([(_, now)], then) = (now, then) {
        return Some(parts("score-table", now, then.and_then(|then| then.first()).map(|(_, parts)| parts)));
    }
    let score_of = |at: usize| then.and_then(|then| then.get(at)).map(|(_, parts)| parts.score());
    let largest = now.iter().map(|(_, parts)| parts.score()).fold(0.0, f64::max);
    let rows = now.iter().enumerate();
    let rows = rows.map(|(at, (name, parts))| row(html! { (name) }, parts.score(), score_of(at), largest));
    let grid = Grid {
        id: "score-table",
        caption: "The scores of the node groups",
        columns: columns("Node group", then.is_some()),
        rows: rows.collect(),
        noun: Some("group"),
    };
    grid.some()
}
