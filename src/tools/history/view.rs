//! The history as tables, JSON and a picture.

use std::fmt::Write;

use jiff::tz::TimeZone;
use jiff::{Timestamp, ZonedDateTime};
use serde::Serialize;

use super::Selection;
use crate::execute::history::{PastMove, PastRun};
use crate::model::Placement;
use crate::model::shown::{escaped, shown_name};
use crate::report::form::json;
use crate::report::form::palette::Palette;
use crate::report::form::table::{Align, Table};

const SCHEMA: &str = "htools.history/1";

fn time(at: u64) -> Option<Timestamp> {
    i64::try_from(at).ok().and_then(|at| Timestamp::from_millisecond(at).ok())
}

/// A time by the zone of this machine.
fn local(at: u64) -> String {
    let zoned =
        |at: Timestamp| ZonedDateTime::new(at, TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S").to_string();
    time(at).map_or_else(|| at.to_string(), zoned)
}

fn nodes(place: &Placement<String>) -> String {
    place.clone().nodes().map(|node| shown_name(&node).to_string()).collect::<Vec<_>>().join(":")
}

fn score(score: Option<f64>) -> String {
    score.map_or_else(|| "?".to_owned(), |score| format!("{score:.3}"))
}

fn left(names: &[&'static str]) -> Vec<(&'static str, Align)> {
    names.iter().map(|name| (*name, Align::Left)).collect()
}

/// A table of runs; empty without runs.
pub(super) fn runs(found: &Selection) -> Vec<String> {
    if found.runs.is_empty() {
        return Vec::new();
    }
    let mut columns = left(&["Began", "Tool", "Cluster", "Score", "Moves", "Ending"]);
    columns[4].1 = Align::Right;
    let mut table = Table::new(columns);
    for run in &found.runs {
        let (before, after) = (run.begun.score, run.ended.as_ref().and_then(|ended| ended.score));
        let change = if (before, after) == (None, None) {
            String::new()
        } else {
            format!("{} -> {}", score(before), score(after))
        };
        table.push(vec![
            local(run.at),
            run.tool.clone(),
            shown_name(&run.cluster.name).to_string(),
            change,
            run.moves().count().to_string(),
            run.ended.as_ref().map_or("not ended", |ended| &ended.ending).to_owned(),
        ]);
    }
    table.lines("").into_iter().map(|line| line.trim().to_owned()).collect()
}

/// A table of moves; empty without moves.
pub(super) fn moves(found: &Selection) -> Vec<String> {
    if found.moves.is_empty() {
        return Vec::new();
    }
    let mut table = Table::new(left(&["Time", "Tool", "Instance", "From", "To", "Outcome"]));
    for PastMove { at, tool, moved, outcome, .. } in &found.moves {
        table.push(vec![
            local(*at),
            tool.clone(),
            shown_name(&moved.instance).to_string(),
            nodes(&moved.from),
            nodes(&moved.to),
            outcome.clone(),
        ]);
    }
    table.lines("").into_iter().map(|line| line.trim().to_owned()).collect()
}

#[derive(Serialize)]
struct HistoryDocument<'h> {
    schema: &'static str,
    generator: json::Generator,
    runs: Vec<PastRunView<'h>>,
    moves: Vec<PastMoveView<'h>>,
}

#[derive(Serialize)]
struct PastRunView<'h> {
    run: u64,
    began: Option<String>,
    ended: Option<String>,
    tool: &'h str,
    cluster: &'h str,
    journal: &'h str,
    reason: &'h str,
    ending: Option<&'h str>,
    score_before: Option<f64>,
    score_after: Option<f64>,
    moves: usize,
}

#[derive(Serialize)]
struct PastMoveView<'h> {
    run: u64,
    at: Option<String>,
    tool: &'h str,
    cluster: &'h str,
    instance: &'h str,
    from: Vec<String>,
    to: Vec<String>,
    outcome: &'h str,
}

fn run_view(run: &PastRun) -> PastRunView<'_> {
    let ended = run.ended.as_ref();
    PastRunView {
        run: run.begun.run,
        began: time(run.at).map(|at| at.to_string()),
        ended: ended.and_then(|_| time(run.latest)).map(|at| at.to_string()),
        tool: &run.tool,
        cluster: &run.cluster.name,
        journal: &run.begun.journal,
        reason: &run.begun.reason,
        ending: ended.map(|ended| ended.ending.as_str()),
        score_before: run.begun.score,
        score_after: ended.and_then(|ended| ended.score),
        moves: run.moves().count(),
    }
}

fn move_view(made: &PastMove) -> PastMoveView<'_> {
    PastMoveView {
        run: made.run,
        at: time(made.at).map(|at| at.to_string()),
        tool: &made.tool,
        cluster: &made.cluster.name,
        instance: &made.moved.instance,
        from: made.moved.from.clone().nodes().collect(),
        to: made.moved.to.clone().nodes().collect(),
        outcome: &made.outcome,
    }
}

/// The JSON document.
///
/// # Errors
/// None are known.
pub(super) fn document(found: &Selection) -> serde_json::Result<String> {
    json::text(&HistoryDocument {
        schema: SCHEMA,
        generator: json::Generator::this(),
        runs: found.runs.iter().map(run_view).collect(),
        moves: found.moves.iter().map(move_view).collect(),
    })
}

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 240.0;
const LEFT: f64 = 70.0;
const BELOW: f64 = 30.0;
const MARGIN: f64 = 20.0;

/// Draws the score over time: a line from the score before to the score after each run.
pub(super) fn svg(found: &Selection) -> String {
    let Palette { ground, axis, other, .. } = Palette::PICTURE;
    let mut points: Vec<(u64, f64)> = Vec::new();
    for run in &found.runs {
        points.extend(run.begun.score.map(|score| (run.at, score)));
        points.extend(run.ended.as_ref().and_then(|ended| Some((run.latest, ended.score?))));
    }
    points.retain(|(_, score)| score.is_finite());
    let first = points.iter().map(|point| point.0).min().unwrap_or(0);
    let last = points.iter().map(|point| point.0).max().unwrap_or(0);
    let most = points.iter().map(|point| point.1).fold(0.0, f64::max);
    let (span, most) = ((last - first).max(1) as f64, if most > 0.0 { most } else { 1.0 });
    let x = |at: u64| LEFT + (WIDTH - LEFT - MARGIN) * (at - first) as f64 / span;
    let y = |score: f64| MARGIN + (HEIGHT - BELOW - MARGIN) * (1.0 - (score / most).clamp(0.0, 1.0));
    let (bottom, right) = (HEIGHT - BELOW, WIDTH - MARGIN);
    let line: Vec<String> =
        points.iter().map(|(at, score)| format!("{:.1},{:.1}", x(*at), y(*score))).collect();
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{HEIGHT}\" \
         viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <title>Score over time</title>\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"{ground}\"/>\n\
         <path d=\"M {LEFT} {MARGIN} V {bottom:.1} H {right:.1}\" fill=\"none\" stroke=\"{axis}\"/>\n\
         <polyline points=\"{}\" fill=\"none\" stroke=\"{other}\" stroke-width=\"1.5\"/>",
        line.join(" ")
    );
    let label = |x: f64, y: f64, anchor: &str, text: &str| {
        format!("<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>\n", escaped(text))
    };
    out += &label(LEFT - 6.0, MARGIN + 4.0, "end", &format!("{most:.3}"));
    out += &label(LEFT - 6.0, bottom, "end", "0");
    if !points.is_empty() {
        out += &label(LEFT, HEIGHT - 10.0, "start", &local(first));
        out += &label(right, HEIGHT - 10.0, "end", &local(last));
    }
    out + "</svg>\n"
}
