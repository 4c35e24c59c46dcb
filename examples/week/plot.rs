//! Load and nodes over the week as an SVG picture. The same numbers give the same bytes.

use anyhow::Context;
use plotters::coord::ranged1d::{KeyPointHint, Ranged};
use plotters::prelude::*;

use super::profile::{DAYS, Profile};
use super::simulate::Week;

/// Size of the picture, in pixels.
const SIZE: (u32, u32) = (860, 520);
/// Height of the picture's upper half, in pixels.
const UPPER: u32 = 250;
const FONT: &str = "sans-serif";
const INK: RGBColor = RGBColor(40, 40, 40);
const COLORS: [RGBColor; 4] =
    [RGBColor(0, 90, 170), RGBColor(190, 70, 20), RGBColor(30, 130, 70), RGBColor(120, 60, 150)];
const HOURS_A_WEEK: f64 = 7.0 * 24.0;

/// The picture of a week.
pub fn svg(profile: &Profile, week: &Week) -> anyhow::Result<String> {
    let mut text = String::new();
    draw(profile, week, &mut text).context("cannot draw the plot")?;
    Ok(text)
}

fn draw(profile: &Profile, week: &Week, text: &mut String) -> anyhow::Result<()> {
    let root = SVGBackend::with_string(text, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    let (upper, lower) = root.split_vertically(UPPER);
    let running = |group: usize| week.moments.iter().map(|m| m.running[group]).collect();
    let on = |group: usize| week.moments.iter().map(|m| m.on[group]).collect();
    let groups = || profile.groups.iter().enumerate();
    let series = |of: &dyn Fn(usize) -> Vec<usize>| -> Vec<Series> {
        groups().map(|(at, name)| Series { name: name.clone(), values: of(at) }).collect()
    };
    panel(&upper, "Instances", week, &series(&running))?;
    panel(&lower, "Nodes that are on", week, &series(&on))?;
    root.present()?;
    Ok(())
}

/// A line of the plot.
struct Series {
    name: String,
    values: Vec<usize>,
}

fn panel(
    area: &DrawingArea<SVGBackend<'_>, plotters::coord::Shift>,
    title: &str,
    week: &Week,
    all: &[Series],
) -> anyhow::Result<()> {
    let most = all.iter().flat_map(|s| &s.values).copied().max().unwrap_or(0);
    let mut chart = ChartBuilder::on(area)
        .margin(12)
        .caption(title, (FONT, 18).into_font().color(&INK))
        .x_label_area_size(26)
        .y_label_area_size(44)
        .build_cartesian_2d(Days, 0.0..most as f64 * 1.15 + 1.0)?;
    let letters = (FONT, 14).into_font().color(&INK);
    chart
        .configure_mesh()
        .axis_style(INK)
        .bold_line_style(BLACK.mix(0.15))
        .light_line_style(TRANSPARENT)
        .label_style(letters.clone())
        .y_labels(5)
        .x_label_formatter(&|hour| DAYS[(*hour / 24.0) as usize % 7].to_owned())
        .y_label_formatter(&|number| format!("{number:.0}"))
        .draw()?;
    for (series, color) in all.iter().zip(COLORS.iter().cycle()) {
        let hour = |minutes: u32| f64::from(minutes) / 60.0;
        // Each value holds until the next moment, so the line has steps.
        let points = week.moments.iter().zip(&series.values).flat_map(|(moment, value)| {
            [moment.time, moment.time + week.minutes].map(|at| (hour(at), *value as f64))
        });
        let line = color.stroke_width(2);
        chart
            .draw_series(LineSeries::new(points, line))?
            .label(&series.name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], line));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperRight)
        .background_style(WHITE.mix(0.8))
        .label_font(letters)
        .draw()?;
    Ok(())
}

/// The hours of the week, with a line at every midnight.
#[derive(Clone)]
struct Days;

impl Ranged for Days {
    type FormatOption = plotters::coord::ranged1d::NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, hour: &f64, (low, high): (i32, i32)) -> i32 {
        low + (f64::from(high - low) * hour / HOURS_A_WEEK).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        (0..7).map(|day| f64::from(day) * 24.0).collect()
    }

    fn range(&self) -> std::ops::Range<f64> {
        0.0..HOURS_A_WEEK
    }
}

impl plotters::coord::ranged1d::ValueFormatter<f64> for Days {}
