//! The load of a week: the number of instances that every node group runs at each moment.

use anyhow::{Context, bail, ensure};

pub const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const MINUTES_A_WEEK: u32 = 7 * 24 * 60;

/// Number of required instances over time.
#[derive(Debug, Clone, PartialEq)]
pub struct Profile {
    /// Names of node groups.
    pub groups: Vec<String>,
    /// The moments, in order.
    pub ticks: Vec<Tick>,
    /// Minutes between two moments.
    pub minutes: u32,
}

/// A moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Tick {
    /// Minutes since Monday, midnight.
    pub time: u32,
    /// Instances wanted, by group.
    pub wanted: Vec<usize>,
}

impl Tick {
    /// Number of the day, from 0.
    pub fn day(&self) -> usize {
        (self.time / (24 * 60)) as usize
    }

    /// Tells if the time is this hour exactly.
    pub fn is_hour(&self, hour: u32) -> bool {
        self.time % (24 * 60) == hour * 60
    }

    /// The time in the file's format.
    pub fn text(&self) -> String {
        let minute = self.time % (24 * 60);
        format!("{} {:02}:{:02}", DAYS[self.day()], minute / 60, minute % 60)
    }
}

impl Profile {
    /// Reads a profile: a line with the names of node groups, then one for each moment.
    pub fn parse(text: &str) -> anyhow::Result<Profile> {
        let rows = (1..).zip(text.lines()).filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let mut rows = rows.map(|(number, line)| (number, line.split_whitespace().collect::<Vec<_>>()));
        let (_, head) = rows.next().context("no line names the node groups")?;
        ensure!(head.len() > 2 && head[..2] == ["day", "time"], "the first line is not 'day time GROUP...'");
        let groups: Vec<String> = head[2..].iter().map(|name| (*name).to_owned()).collect();
        let ticks = rows
            .map(|(number, row)| tick(&row, groups.len()).with_context(|| format!("line {number}")))
            .collect::<anyhow::Result<Vec<Tick>>>()?;
        let [first, second, ..] = &ticks[..] else { bail!("there are less than two moments") };
        let minutes = second.time.saturating_sub(first.time);
        for pair in ticks.windows(2) {
            let distance = i64::from(pair[1].time) - i64::from(pair[0].time);
            let there = pair[1].text();
            ensure!(
                minutes > 0 && distance == i64::from(minutes),
                "{there}: the times have no equal distances"
            );
        }
        Ok(Profile { groups, ticks, minutes })
    }
}

fn tick(row: &[&str], groups: usize) -> anyhow::Result<Tick> {
    ensure!(row.len() == 2 + groups, "{} columns are expected, but there are {}", 2 + groups, row.len());
    let day =
        DAYS.iter().position(|day| *day == row[0]).with_context(|| format!("unknown day '{}'", row[0]))?;
    let time = row[1].split_once(':').and_then(|(hour, minute)| {
        let (hour, minute): (u32, u32) = (hour.parse().ok()?, minute.parse().ok()?);
        (hour < 24 && minute < 60).then_some(hour * 60 + minute)
    });
    let time = day as u32 * 24 * 60 + time.with_context(|| format!("'{}' is no time of day", row[1]))?;
    debug_assert!(time < MINUTES_A_WEEK);
    let number = |text: &&str| {
        let number = text.parse().ok().filter(|n| *n <= 100_000);
        number.with_context(|| format!("'{text}' is no number of instances"))
    };
    Ok(Tick { time, wanted: row[2..].iter().map(number).collect::<anyhow::Result<_>>()? })
}
