//! The result for people.

use super::{ClusterRunway, GroupCapacity, RunwayRow};
use crate::model::number::{counted, fixed};
use crate::model::shown::shown_name;
use crate::report::form::amount::amount_of;
use crate::report::form::table::{Align, Table};
use crate::search::forecast::Runway;

/// The table, with a title and an explanation.
pub(crate) fn lines(runway: &ClusterRunway) -> Vec<String> {
    let days = counted(usize::try_from(runway.days).unwrap_or(usize::MAX), "day");
    let mut lines =
        vec![format!("Runway of cluster {}, by its growth in the last {days}:", shown_name(&runway.cluster))];
    let columns = [
        ("Group", Align::Left),
        ("Capacity", Align::Left),
        ("Now", Align::Right),
        ("Limit", Align::Right),
        ("Per_day", Align::Right),
        ("Days", Align::Right),
        ("Earliest", Align::Right),
        ("Latest", Align::Right),
        ("Known", Align::Right),
    ];
    let mut table = Table::new(columns);
    runway.rows.iter().for_each(|row| table.push(cells(row)));
    lines.extend(table.trimmed_lines(""));
    lines.push(
        "Days: until the limit at the median growth between two days. Earliest, Latest: at the growth that"
            .to_owned(),
    );
    lines.push("one pair of days in ten exceeds, or falls short of. never: not within ten years.".to_owned());
    lines
}

fn cells(row: &RunwayRow) -> Vec<String> {
    let estimate = &row.estimate;
    let shown =
        |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| quantity(row.capacity, value));
    let growth = estimate.growth.map(|growth| growth.slope);
    let sign = if growth.is_some_and(|growth| growth > 0.0) { "+" } else { "" };
    let [days, earliest, latest] = match estimate.runway {
        Runway::Unknown => ["unknown", "-", "-"].map(str::to_owned),
        Runway::UsedUp => ["used up", "-", "-"].map(str::to_owned),
        Runway::Lasts(days) => [days.expected, days.earliest, days.latest].map(until),
    };
    vec![
        shown_name(&row.group).to_string(),
        row.capacity.to_string(),
        shown(estimate.level),
        shown(row.limit),
        format!("{sign}{}", shown(growth)),
        days,
        earliest,
        latest,
        format!("{} d", estimate.days),
    ]
}

fn until(days: Option<f64>) -> String {
    days.map_or_else(|| "never".to_owned(), |days| fixed(days, 0))
}

fn quantity(capacity: GroupCapacity, value: f64) -> String {
    match capacity {
        GroupCapacity::Memory | GroupCapacity::Disk => amount_of(value),
        GroupCapacity::Cpu | GroupCapacity::Tiered => {
            let text = fixed(value, 1);
            text.strip_suffix(".0").unwrap_or(&text).to_owned()
        }
    }
}
