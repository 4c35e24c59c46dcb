//! Chart of the best score by number of moved instances, with the lower bound and the chosen plan.

use std::fmt::Write;

use super::components::score;
use crate::report::form::palette::Palette;
use crate::search::balance::deep::{Deep, LinePoint};

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 360.0;
/// Width of the numbers left of the axis.
const LEFT: f64 = 90.0;
const BELOW: f64 = 50.0;
const MARGIN: f64 = 20.0;

/// Scales of scores and moves in the chart.
struct Axes {
    moves: f64,
    score: f64,
}

impl Axes {
    fn x(&self, moves: usize) -> f64 {
        LEFT + (WIDTH - LEFT - MARGIN) * moves as f64 / self.moves
    }

    fn y(&self, score: f64) -> f64 {
        MARGIN + (HEIGHT - BELOW - MARGIN) * (1.0 - (score / self.score).clamp(0.0, 1.0))
    }

    /// The points of a line, in SVG's notation.
    fn points(&self, line: impl Iterator<Item = (usize, f64)>) -> String {
        let finite = line.filter(|(_, score)| score.is_finite());
        let points = finite.map(|(moves, score)| format!("{:.1},{:.1}", self.x(moves), self.y(score)));
        points.collect::<Vec<_>>().join(" ")
    }
}

/// The chart as SVG.
pub(crate) fn svg(found: &Deep, colours: &Palette) -> String {
    let highest =
        found.line.iter().map(|point| point.score).filter(|score| score.is_finite()).fold(0.0, f64::max);
    let most = found.line.last().map_or(0, |point| point.moves);
    let axes = Axes { moves: most.max(1) as f64, score: if highest > 0.0 { highest } else { 1.0 } };
    let (bottom, right) = (axes.y(0.0), WIDTH - MARGIN);
    let (Palette { ground, axis, critical, other, .. }, ink) = (colours, colours.letters());
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{HEIGHT}\" \
         viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" font-size=\"12\"{ink}>\n\
         <title>Score by moved instances</title>\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"{ground}\"/>\n\
         <path d=\"M {LEFT} {MARGIN} V {bottom:.1} H {right:.1}\" fill=\"none\" stroke=\"{axis}\"/>"
    );
    for share in [0.0, 0.25, 0.5, 0.75, 1.0] {
        let (value, moves) = (axes.score * share, (axes.moves * share).round() as usize);
        let (x, y) = (axes.x(moves), axes.y(value));
        let _ = writeln!(
            out,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>\n\
             <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{moves}</text>",
            LEFT - 8.0,
            y + 4.0,
            score(value),
            bottom + 18.0
        );
    }
    let _ = writeln!(
        out,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">moved instances</text>",
        f64::midpoint(LEFT, right),
        HEIGHT - 10.0
    );
    let line =
        |of: fn(&LinePoint) -> f64| axes.points(found.line.iter().map(|point| (point.moves, of(point))));
    let _ = writeln!(
        out,
        "<polyline points=\"{}\" fill=\"none\" stroke=\"{critical}\" stroke-dasharray=\"4 3\">\
         <title>no placement is below</title></polyline>\n\
         <polyline points=\"{}\" fill=\"none\" stroke=\"{other}\" stroke-width=\"2\">\
         <title>best placement found</title></polyline>",
        line(|point| point.bound),
        line(|point| point.score)
    );
    let chosen = found.best();
    let _ = writeln!(
        out,
        "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"5\" fill=\"{other}\"><title>chosen: {} moves, score {}</title></circle>\n</svg>",
        axes.x(chosen.moves),
        axes.y(chosen.score),
        chosen.moves,
        score(chosen.score)
    );
    out
}
