//! The graph for Graphviz, and the timetable as a chart with a row for each node and a bar for each step.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::ticks::ticks;
use super::waits::why;
use super::{Timetable, duration, estimated, what};
use crate::model::shown::{escaped, shown_name};
use crate::plan::graph::{StepIdx, Strength};
use crate::plan::work::WorkStep;
use crate::report::form::palette::Palette;

/// The graph. Steps on a critical path are bold, and dependencies that may be violated are dashed.
pub(crate) fn dot(table: &Timetable<'_>) -> String {
    let quoted = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"");
    let mut out = String::from(
        "digraph plan {\n  rankdir=LR;\n  node [shape=box, fontname=\"sans-serif\", fontsize=11];\n",
    );
    for at in table.work.all() {
        let style = if table.is_critical(at) { ", style=bold" } else { "" };
        let label = quoted(&what(table.work.step(at)));
        let time = duration(table.seconds[at.get()]);
        // Writing to a string cannot fail.
        let _ = writeln!(out, "  s{at} [label=\"{at}. {label}\\n{time}\"{style}];");
    }
    for edge in &table.work.edges {
        let critical = table.critical.windows(2).any(|pair| pair == [edge.before, edge.after]);
        let style = match (edge.strength, critical) {
            (Strength::Should, _) => "dashed",
            (_, true) => "bold",
            _ => "solid",
        };
        let label = quoted(&why(table.work, edge));
        let _ = writeln!(
            out,
            "  s{} -> s{} [style={style}, label=\"{label}\", fontsize=9];",
            edge.before, edge.after
        );
    }
    out.push_str("}\n");
    out
}

const LEFT: f64 = 150.0;
const WIDTH: f64 = 900.0;
const ROW: f64 = 18.0;
const TOP: f64 = 46.0;
const MARGIN: f64 = 16.0;
/// Maximum length of a node's name, in characters.
const NAME: usize = 22;
/// Minimum width of a bar with room for a step's number.
const LABELLED: f64 = 16.0;

/// The nodes that a step touches.
fn nodes(step: &WorkStep) -> Vec<&str> {
    let places = step.relocations().iter().flat_map(|relocation| [&relocation.from, &relocation.to]);
    let mut nodes: Vec<&str> = places
        .flat_map(|at| [Some(&at.primary), at.secondary.as_ref()])
        .flatten()
        .map(String::as_str)
        .collect();
    if nodes.is_empty() {
        nodes.push(&step.subject);
    }
    nodes.sort_unstable();
    nodes.dedup();
    nodes
}

/// A node's name, cut where it is too long for the chart.
fn shortened(name: &str) -> String {
    match name.chars().count() {
        0..=NAME => name.to_owned(),
        _ => name.chars().take(NAME - 1).chain(['…']).collect(),
    }
}

/// Number of bars in the chart.
pub(crate) fn bars(table: &Timetable<'_>) -> usize {
    table.work.steps.iter().map(|step| nodes(step).len()).sum()
}

/// The timetable of the stream as SVG.
pub(crate) fn svg(table: &Timetable<'_>, colours: &Palette) -> String {
    // Each node has as many lines as it has steps at the same time.
    let mut lanes: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    let mut bars: Vec<(StepIdx, &str, usize)> = Vec::new();
    let mut order: Vec<StepIdx> = table.work.all().collect();
    order.sort_by(|a, b| {
        table.stream.spans[a.get()].0.total_cmp(&table.stream.spans[b.get()].0).then(a.cmp(b))
    });
    for step in order {
        let (begin, end) = table.stream.spans[step.get()];
        for node in nodes(table.work.step(step)) {
            let ends = lanes.entry(node).or_default();
            let lane = ends.iter().position(|last| *last <= begin).unwrap_or(ends.len());
            if lane == ends.len() {
                ends.push(end);
            }
            ends[lane] = end;
            bars.push((step, node, lane));
        }
    }
    let mut tops: BTreeMap<&str, f64> = BTreeMap::new();
    let mut y = TOP;
    for (node, ends) in &lanes {
        tops.insert(node, y);
        y += ROW * ends.len() as f64 + 4.0;
    }
    let total = table.stream.total();
    let x = |seconds: f64| LEFT + if total > 0.0 { WIDTH * seconds / total } else { 0.0 };
    let (width, height) = (LEFT + WIDTH + MARGIN, y + 30.0);
    let title = format!(
        "{} steps: {} as a stream, {} by jobsets, critical path {}",
        table.work.steps.len(),
        estimated(total),
        estimated(table.by_jobsets.total()),
        estimated(table.critical_seconds)
    );
    let mut out = colours.begin((width, height), &title, (MARGIN, 20.0));
    let grid = colours.grid;
    for at in ticks(total) {
        // Writing to a string cannot fail.
        let _ = writeln!(
            out,
            "<path d=\"M {0:.1} {TOP} V {y:.1}\" stroke=\"{grid}\"/><text x=\"{0:.1}\" y=\"{1:.1}\" text-anchor=\"middle\">{2}</text>",
            x(at),
            y + 16.0,
            if at > 0.0 { duration(at) } else { "0".to_owned() }
        );
    }
    for (node, top) in &tops {
        let name = shortened(&shown_name(node));
        let _ = writeln!(
            out,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            LEFT - 8.0,
            top + 13.0,
            escaped(&name)
        );
    }
    for (step, node, lane) in bars {
        let (begin, end) = table.stream.spans[step.get()];
        let (left, bar) = (x(begin), (x(end) - x(begin)).max(1.0));
        let top = tops[node] + ROW * lane as f64;
        let (line, ground, edge) = match table.is_critical(step) {
            true => (colours.critical, colours.critical_soft, colours.critical_edge),
            false => (colours.other, colours.other_soft, ""),
        };
        let label = if bar >= LABELLED { step.to_string() } else { String::new() };
        let _ = writeln!(
            out,
            "<g><title>{step}. {}: {} from {}</title><rect x=\"{left:.1}\" y=\"{:.1}\" width=\"{bar:.1}\" height=\"{:.1}\" \
             fill=\"{ground}\" stroke=\"{line}\"{edge}/><text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\" font-size=\"10\">{label}</text></g>",
            escaped(&what(table.work.step(step))),
            estimated(end - begin),
            estimated(begin),
            top + 1.0,
            ROW - 3.0,
            left + bar / 2.0,
            top + 12.0
        );
    }
    out.push_str("</svg>\n");
    out
}
