//! Comparison of strategies as machines come and go: for people, as `htools.simulation/1`, and as a chart.

mod conclusion;
mod drawing;

use serde::Serialize;

use super::text::trimmed;
use crate::affinity::simulation::{NightWork, SimulatedDay, SimulatedRun, Timeline, WishShare};
use crate::model::number::{counted, fixed};
use crate::report::form::json::Generator;
use crate::report::form::table::{Align, Table};

pub(crate) const SCHEMA: &str = "htools.simulation/1";

/// Results of the strategies.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SimulationResult<'a> {
    /// Arrivals and departures.
    pub timeline: &'a Timeline,
    /// Treatment of hbal's moves at night.
    pub nights: NightWork,
    /// Results by strategy.
    pub runs: &'a [SimulatedRun],
}

impl SimulationResult<'_> {
    fn requests(&self) -> usize {
        self.timeline.requests()
    }

    fn days(&self) -> usize {
        self.timeline.days() as usize
    }

    /// The machines, and the work at night.
    fn title(&self) -> String {
        let nights = match self.nights {
            NightWork::Counted => "counted only",
            NightWork::Made => "made",
        };
        let residents = match self.timeline.resident_count() {
            0 => String::new(),
            count => format!("; {} there at the beginning", counted(count, "machine")),
        };
        format!(
            "{} on {} in {}, {} GiB of memory together{residents}; hbal's moves at night are {nights}",
            counted(self.requests(), "request"),
            counted(self.timeline.fleet().nodes.len(), "node"),
            counted(self.days(), "day"),
            gib(self.timeline.ram().as_f64())
        )
    }

    /// The lines for people.
    pub(crate) fn lines(&self) -> Vec<String> {
        let mut lines = vec![self.title(), String::new()];
        let titles =
            ["Refused", "GiB", "Uneven", "Worst", "Together", "Apart", "Moves/night", "Empty", "Peak"];
        let titles = titles.into_iter().map(|title| (title, Align::Right));
        let mut table = Table::new([("Strategy", Align::Left)].into_iter().chain(titles));
        self.runs.iter().for_each(|run| table.push(self.row(run)));
        lines.extend(trimmed(&table));
        let with_room: Vec<String> = self.runs.iter().filter_map(refused_with_room).collect();
        if !with_room.is_empty() {
            lines.push(String::new());
            lines.extend(with_room);
        }
        lines.push(String::new());
        lines.extend(self.conclusion());
        lines
    }

    fn row(&self, run: &SimulatedRun) -> Vec<String> {
        let share = |of: &WishShare| of.share().map_or_else(|| "-".to_owned(), percent);
        vec![
            run.contender.to_string(),
            run.refused.to_string(),
            gib(run.refused_ram.as_f64()),
            percent(run.unevenness),
            percent(run.worst_unevenness),
            share(&run.together),
            share(&run.apart),
            fixed(run.moves as f64 / self.days() as f64, 1),
            fixed(run.empty_nodes, 1),
            percent(run.peak),
        ]
    }

    /// The conclusion, in sentences.
    pub(crate) fn conclusion(&self) -> Vec<String> {
        conclusion::sentences(self.runs, self.requests(), self.timeline.fleet().nodes.len())
    }

    pub(crate) fn document(&self) -> SimulationDocument {
        SimulationDocument {
            schema: SCHEMA,
            generator: Generator::this(),
            days: self.days(),
            nodes: self.timeline.fleet().nodes.len(),
            requests: self.requests(),
            requested_ram: self.timeline.ram().0,
            residents: Some(self.timeline.resident_count()).filter(|count| *count > 0),
            nightly_moves_made: self.nights == NightWork::Made,
            strategies: self.runs.iter().map(SimulatedRunView::of).collect(),
            conclusion: self.conclusion(),
        }
    }
}

/// Remark that requests were refused although there was room.
fn refused_with_room(run: &SimulatedRun) -> Option<String> {
    (run.refused_with_room > 0).then(|| {
        format!(
            "{} refused {} of its {} although a node had room: none was worth more than the last threshold",
            run.contender, run.refused_with_room, run.refused
        )
    })
}

fn gib(mib: f64) -> String {
    fixed(mib / 1024.0, 1)
}

fn percent(share: f64) -> String {
    format!("{}%", fixed(share * 100.0, 1))
}

/// Results of the strategies.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct SimulationDocument {
    schema: &'static str,
    generator: Generator,
    days: usize,
    nodes: usize,
    requests: usize,
    requested_ram: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    residents: Option<usize>,
    nightly_moves_made: bool,
    strategies: Vec<SimulatedRunView>,
    conclusion: Vec<String>,
}

#[derive(Debug, Clone, Serialize)]
struct SimulatedRunView {
    strategy: &'static str,
    refused: usize,
    refused_ram: i64,
    refused_with_room: usize,
    unevenness: f64,
    worst_unevenness: f64,
    kept_together: Option<f64>,
    kept_apart: Option<f64>,
    moves: usize,
    empty_nodes: f64,
    peak: f64,
    by_day: Vec<SimulatedDayView>,
}

#[derive(Debug, Clone, Serialize)]
struct SimulatedDayView {
    unevenness: f64,
    refused: usize,
    moves: usize,
    empty_nodes: usize,
    used: f64,
}

impl SimulatedRunView {
    fn of(run: &SimulatedRun) -> SimulatedRunView {
        SimulatedRunView {
            strategy: run.contender.as_str(),
            refused: run.refused,
            refused_ram: run.refused_ram.0,
            refused_with_room: run.refused_with_room,
            unevenness: rounded(run.unevenness),
            worst_unevenness: rounded(run.worst_unevenness),
            kept_together: run.together.share().map(rounded),
            kept_apart: run.apart.share().map(rounded),
            moves: run.moves,
            empty_nodes: rounded(run.empty_nodes),
            peak: rounded(run.peak),
            by_day: run.days.iter().map(SimulatedDayView::of).collect(),
        }
    }
}

impl SimulatedDayView {
    fn of(day: &SimulatedDay) -> SimulatedDayView {
        let SimulatedDay { refused, moves, empty_nodes, .. } = *day;
        SimulatedDayView {
            unevenness: rounded(day.unevenness),
            refused,
            moves,
            empty_nodes,
            used: rounded(day.used),
        }
    }
}

fn rounded(share: f64) -> f64 {
    (share * 1e6).round() / 1e6
}
