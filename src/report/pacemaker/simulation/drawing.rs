//! Chart of the days of all strategies: unevenness of node use, refusals, and the number of nodes empty at night.

use std::fmt::Write;

use super::{SimulationResult, percent};
use crate::affinity::simulation::{SimulatedDay, SimulatedRun};
use crate::model::number::{counted, fixed};
use crate::model::shown::escaped;
use crate::report::form::palette::Palette;

const LEFT: f64 = 70.0;
const WIDTH: f64 = 840.0;
const RIGHT: f64 = 24.0;
/// Top of the first panel, below the title and the names of the strategies.
const TOP: f64 = 84.0;
const PANEL: f64 = 150.0;
/// Distance from panel to panel.
const PITCH: f64 = 206.0;
/// Maximum number of points of a line; with more days, days are averaged.
const POINTS: usize = 120;
/// Colours and dashes by strategy. Most people can tell the colours apart; the dashes are for everybody else.
const LINES: [(&str, &str); 5] = [
    ("#d55e00", "none"),
    ("#0072b2", "none"),
    ("#009e73", "6 3"),
    ("#cc79a7", "2 2"),
    ("#e69f00", "8 3 2 3"),
];

/// A panel of the chart.
struct Panel {
    title: &'static str,
    number: fn(&SimulatedDay) -> f64,
    /// Format of the numbers at the axis.
    label: fn(f64) -> String,
    /// True if many days are averaged; otherwise the last one of them counts.
    averaged: bool,
}

const PANELS: [Panel; 3] = [
    Panel {
        title: "Unevenness: standard deviation of the nodes' used memory",
        number: |day| day.unevenness,
        label: percent,
        averaged: true,
    },
    Panel {
        title: "Requests refused until then",
        number: |day| day.refused as f64,
        label: amount,
        averaged: false,
    },
    Panel {
        title: "Nodes without machines at night",
        number: |day| day.empty_nodes as f64,
        label: amount,
        averaged: true,
    },
];

/// An amount of things, which may be a fraction.
fn amount(number: f64) -> String {
    fixed(number, usize::from(number.fract() != 0.0))
}

impl Panel {
    /// The points of a strategy's line: the last day of each, and the number.
    fn points(&self, run: &SimulatedRun, together: usize) -> Vec<(usize, f64)> {
        let point = |(at, days): (usize, &[SimulatedDay])| {
            let last = days.last().map_or(0.0, self.number);
            let mean = days.iter().map(self.number).sum::<f64>() / days.len() as f64;
            (at * together + days.len(), if self.averaged { mean } else { last })
        };
        run.days.chunks(together).enumerate().map(point).collect()
    }
}

impl SimulationResult<'_> {
    /// The chart as SVG.
    pub(crate) fn svg(&self, colours: &Palette) -> String {
        let (width, height) = (LEFT + WIDTH + RIGHT, TOP + PITCH * PANELS.len() as f64);
        let mut out = colours.begin((width, height), &self.title(), (LEFT, 24.0));
        for (at, (run, (colour, dashes))) in self.runs.iter().zip(LINES).enumerate() {
            let x = LEFT + 130.0 * at as f64;
            // Writing to a string cannot fail.
            let _ = writeln!(
                out,
                "<path d=\"M {x} 44 h 28\" stroke=\"{colour}\" stroke-width=\"2\" stroke-dasharray=\"{dashes}\"/>\
                 <text x=\"{}\" y=\"48\">{}</text>",
                x + 34.0,
                escaped(run.contender.as_str())
            );
        }
        for (at, panel) in PANELS.iter().enumerate() {
            self.draw(panel, TOP + PITCH * at as f64, colours, &mut out);
        }
        out.push_str("</svg>\n");
        out
    }

    fn draw(&self, panel: &Panel, top: f64, colours: &Palette, out: &mut String) {
        let together = self.days().div_ceil(POINTS).max(1);
        let lines: Vec<Vec<(usize, f64)>> = self.runs.iter().map(|run| panel.points(run, together)).collect();
        let numbers = lines.iter().flatten().map(|(_, number)| *number).filter(|number| number.is_finite());
        let highest = Some(numbers.fold(0.0, f64::max)).filter(|most| *most > 0.0).unwrap_or(1.0);
        let days = self.days().max(1) as f64;
        let x = |day: usize| LEFT + WIDTH * day as f64 / days;
        let y = |number: f64| top + PANEL * (1.0 - (number / highest).clamp(0.0, 1.0));
        let (bottom, right) = (top + PANEL, LEFT + WIDTH);
        let Palette { axis, grid, .. } = colours;
        let means = match together {
            1 => String::new(),
            _ if panel.averaged => format!(", averaged over {}", counted(together, "day")),
            _ => String::new(),
        };
        let _ =
            writeln!(out, "<text x=\"{LEFT}\" y=\"{:.1}\">{}{means}</text>", top - 8.0, escaped(panel.title));
        for part in [0.0, 0.5, 1.0] {
            let level = y(highest * part);
            let _ = writeln!(
                out,
                "<path d=\"M {LEFT} {level:.1} H {right}\" stroke=\"{grid}\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                LEFT - 8.0,
                level + 4.0,
                (panel.label)(highest * part)
            );
        }
        for quarter in 0..=4 {
            let day = self.days() * quarter / 4;
            let _ = writeln!(
                out,
                "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">day {day}</text>",
                x(day),
                bottom + 16.0
            );
        }
        let _ = writeln!(
            out,
            "<path d=\"M {LEFT} {top} V {bottom} H {right}\" fill=\"none\" stroke=\"{axis}\"/>"
        );
        for (line, (colour, dashes)) in lines.iter().zip(LINES) {
            let points: Vec<String> =
                line.iter().map(|(day, number)| format!("{:.1},{:.1}", x(*day), y(*number))).collect();
            let _ = writeln!(
                out,
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.5\" stroke-dasharray=\"{dashes}\"/>",
                points.join(" ")
            );
        }
    }
}
