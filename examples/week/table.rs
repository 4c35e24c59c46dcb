//! Results of a week: tables for people, and figures for programs.

use super::profile::DAYS;
use super::simulate::{Moment, Settings, Week};

/// The sums over some moments.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Sums {
    /// Fewest and most nodes that were on.
    pub nodes: (usize, usize),
    /// Total hours of nodes that were on.
    pub hours_on: f64,
    /// Total hours of nodes that were off.
    pub hours_off: f64,
    /// Nodes powered down.
    pub down: usize,
    /// Nodes powered up.
    pub up: usize,
    /// Instances migrated.
    pub migrations: usize,
    /// Disk copies made anew.
    pub replacements: usize,
    /// Number of times that a group lacked the minimal reserve.
    pub short: usize,
    /// Number of times that an instance found no place.
    pub waiting: usize,
}

impl Sums {
    /// The sums over moments of a week.
    pub fn of<'a>(week: &Week, moments: impl IntoIterator<Item = &'a Moment>) -> Sums {
        let hours = f64::from(week.minutes) / 60.0;
        let mut sums = Sums { nodes: (usize::MAX, 0), ..Sums::default() };
        for moment in moments {
            let on: usize = moment.on.iter().sum();
            sums.nodes = (sums.nodes.0.min(on), sums.nodes.1.max(on));
            sums.hours_on += on as f64 * hours;
            sums.hours_off += (week.nodes - on) as f64 * hours;
            sums.down += moment.down;
            sums.up += moment.up;
            sums.migrations += moment.migrations;
            sums.replacements += moment.replacements;
            sums.short += moment.short;
            sums.waiting += moment.waiting;
        }
        sums
    }

    /// Percentage of node hours saved.
    pub fn saved(&self) -> f64 {
        100.0 * self.hours_off / (self.hours_on + self.hours_off)
    }

    fn cells(&self) -> [String; 10] {
        [
            format!("{}-{}", self.nodes.0, self.nodes.1),
            format!("{:.0}", self.hours_on),
            format!("{:.0}", self.hours_off),
            format!("{:.1}%", self.saved()),
            self.down.to_string(),
            self.up.to_string(),
            self.migrations.to_string(),
            self.replacements.to_string(),
            self.short.to_string(),
            self.waiting.to_string(),
        ]
    }
}

const COLUMNS: [&str; 10] = [
    "nodes on",
    "hours on",
    "hours off",
    "saved",
    "powered down",
    "up",
    "migrations",
    "disk copies",
    "reserve short",
    "no place",
];

/// A line for each day and one for the week.
pub fn days(week: &Week) -> String {
    let of_day = |day: usize| week.moments.iter().filter(move |m| (m.time / (24 * 60)) as usize == day);
    let days = DAYS.iter().enumerate().filter(|(day, _)| of_day(*day).next().is_some());
    let mut rows = vec![row("day", COLUMNS.map(str::to_owned))];
    rows.extend(days.map(|(day, name)| row(name, Sums::of(week, of_day(day)).cells())));
    rows.push(row("week", Sums::of(week, &week.moments).cells()));
    aligned(&rows)
}

fn row(first: &str, cells: [String; 10]) -> Vec<String> {
    std::iter::once(first.to_owned()).chain(cells).collect()
}

fn aligned(rows: &[Vec<String>]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
    let lines = rows.iter().map(|row| {
        let cells = row.iter().enumerate().map(|(at, cell)| match at {
            0 => format!("{cell:<0$}", width(at)),
            _ => format!("{cell:>0$}", width(at)),
        });
        cells.collect::<Vec<_>>().join("  ") + "\n"
    });
    lines.collect()
}

/// The settings that are compared.
pub fn compared() -> [Settings; 4] {
    let usual = Settings::default();
    [
        Settings { minimal: 2.0, target: 2.0, ..usual.clone() },
        usual.clone(),
        Settings { drbd: true, ..usual.clone() },
        Settings { drbd: true, at: vec![6, 22], ..usual },
    ]
}

/// The settings as a title.
pub fn name(settings: &Settings) -> String {
    let mut name = format!("{}, {}", settings.minimal, settings.target);
    if settings.drbd {
        name.push_str(", `--drbd`");
    }
    if settings.cooldown > 0 {
        name.push_str(&format!(", {} min rest", settings.cooldown));
    }
    if !settings.at.is_empty() {
        let hours: Vec<String> = settings.at.iter().map(|hour| format!("{hour}:00")).collect();
        name.push_str(&format!(", only at {}", hours.join(" and ")));
    }
    name
}

/// Weeks with different settings, in Markdown.
pub fn comparison(weeks: &[(Settings, Week)]) -> String {
    let mut text =
        format!("| minimal, target | {} |\n|---|{}\n", COLUMNS.join(" | "), "---:|".repeat(COLUMNS.len()));
    for (settings, week) in weeks {
        let cells = Sums::of(week, &week.moments).cells();
        text.push_str(&format!("| {} | {} |\n", name(settings), cells.join(" | ")));
    }
    text
}

/// One line per moment, separated by commas.
pub fn series(week: &Week, groups: &[String], times: impl Iterator<Item = String>) -> String {
    let named =
        |what: &str| groups.iter().map(|group| format!("{what} {group}")).collect::<Vec<_>>().join(",");
    let mut text = format!(
        "time,{},{},waiting,short,down,up,migrations,disk copies\n",
        named("instances"),
        named("nodes on")
    );
    let joined = |numbers: &[usize]| numbers.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
    for (moment, time) in week.moments.iter().zip(times) {
        let Moment { waiting, short, down, up, migrations, replacements, .. } = moment;
        let (running, on) = (joined(&moment.running), joined(&moment.on));
        text.push_str(&format!(
            "{time},{running},{on},{waiting},{short},{down},{up},{migrations},{replacements}\n"
        ));
    }
    text
}
