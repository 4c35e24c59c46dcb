//! The times as an SVG picture with logarithmic axes. The same numbers give the same bytes. The viewer provides the
//! font.

use anyhow::{Context, bail};
use plotters::coord::combinators::BindKeyPoints;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::common::numbers::thousands;

/// Size of the picture without its legend, in pixels.
const SIZE: (u32, u32) = (760, 450);
/// Height of a line of the legend, in pixels.
const ROW: i32 = 22;
/// Left edge of the legend, and length of its line samples, in pixels.
const LEFT: i32 = 86;
const SAMPLE: i32 = 34;
const FONT: &str = "sans-serif";
const INK: RGBColor = RGBColor(40, 40, 40);
const OURS: RGBColor = RGBColor(0, 90, 170);
const THEIRS: RGBColor = RGBColor(190, 70, 20);
const MARGIN: u32 = 14;
/// Dash and gap of estimated curves, in pixels.
const DASHES: (i32, i32) = (8, 5);

/// Times against numbers of nodes.
pub struct Curve {
    pub name: &'static str,
    /// True if the curve is an estimate.
    pub estimate: bool,
    pub points: Vec<(usize, f64)>,
}

impl Curve {
    fn color(&self) -> RGBColor {
        if self.estimate { THEIRS } else { OURS }
    }
}

/// The picture of these curves; curves without points are left out.
pub fn svg(curves: &[Curve]) -> anyhow::Result<String> {
    let mut text = String::new();
    draw(curves, &mut text).context("cannot draw the plot")?;
    Ok(text)
}

fn draw(curves: &[Curve], text: &mut String) -> anyhow::Result<()> {
    let shown: Vec<&Curve> = curves.iter().filter(|curve| !curve.points.is_empty()).collect();
    let points = || shown.iter().flat_map(|curve| &curve.points);
    let mut nodes: Vec<usize> = points().map(|(nodes, _)| *nodes).collect();
    nodes.sort_unstable();
    nodes.dedup();
    let (Some(fewest), Some(most)) = (nodes.first(), nodes.last()) else { bail!("no points") };
    let x_range = *fewest as f64 / 1.2..*most as f64 * 1.2;
    let powers: Vec<i32> = powers_of_ten(points().map(|(_, seconds)| *seconds)).collect();
    let y_range = power(powers[0])..power(powers[powers.len() - 1]);

    let rows = ROW as u32 * shown.len() as u32;
    let root = SVGBackend::with_string(text, (SIZE.0, SIZE.1 + rows + MARGIN)).into_drawing_area();
    root.fill(&WHITE)?;
    let (upper, legend) = root.split_vertically(SIZE.1);
    let mut chart = ChartBuilder::on(&upper)
        .margin(MARGIN)
        .caption("hbal from an unbalanced cluster to the end", (FONT, 22).into_font().color(&INK))
        .x_label_area_size(48)
        .y_label_area_size(72)
        .build_cartesian_2d(
            x_range.log_scale().with_key_points(nodes.iter().map(|nodes| *nodes as f64).collect()),
            y_range.log_scale().with_key_points(powers.iter().map(|exponent| power(*exponent)).collect()),
        )?;
    let letters = (FONT, 16).into_font().color(&INK);
    chart
        .configure_mesh()
        .axis_style(INK)
        .bold_line_style(BLACK.mix(0.15))
        .light_line_style(TRANSPARENT)
        .label_style(letters.clone())
        .x_desc("nodes, with ten DRBD instances each")
        .y_desc("seconds")
        .x_label_formatter(&|nodes| thousands(*nodes as usize))
        .y_label_formatter(&|seconds| plain(*seconds))
        .draw()?;
    for (row, curve) in shown.iter().enumerate() {
        let (line, dot) = (curve.color().stroke_width(2), curve.color().filled());
        let points = || curve.points.iter().map(|(nodes, seconds)| (*nodes as f64, *seconds));
        // Below the axes, the legend hides nothing.
        let y = ROW / 2 + ROW * row as i32;
        if curve.estimate {
            let (dash, gap) = DASHES;
            chart.draw_series(DashedLineSeries::new(points(), dash, gap, line))?;
            for x in [LEFT, LEFT + dash + gap, LEFT + 2 * (dash + gap)] {
                legend.draw(&PathElement::new([(x, y), (x + dash, y)], line))?;
            }
        } else {
            chart.draw_series(LineSeries::new(points(), line))?;
            legend.draw(&PathElement::new([(LEFT, y), (LEFT + SAMPLE, y)], line))?;
        }
        chart.draw_series(points().map(|point| Circle::new(point, 4, dot)))?;
        let name = letters.clone().pos(Pos::new(HPos::Left, VPos::Center));
        legend.draw(&Text::new(curve.name, (LEFT + SAMPLE + 10, y), name))?;
    }
    root.present()?;
    Ok(())
}

/// The exponents of the powers of ten around these numbers, at least two.
fn powers_of_ten(numbers: impl Iterator<Item = f64>) -> std::ops::RangeInclusive<i32> {
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    for logarithm in numbers.map(f64::log10) {
        (low, high) = (low.min(logarithm), high.max(logarithm));
    }
    let low = low.floor() as i32;
    low..=(high.ceil() as i32).max(low + 1)
}

fn power(exponent: i32) -> f64 {
    10f64.powi(exponent)
}

/// A power of ten with all its digits.
fn plain(number: f64) -> String {
    let decimals = (-number.log10()).round().max(0.0) as usize;
    if decimals == 0 { thousands(number.round() as usize) } else { format!("{number:.decimals$}") }
}
