use std::time::Duration;

use super::*;

fn history(capacity: GroupCapacity, values: impl Fn(f64) -> f64, limit: Option<f64>) -> UseHistory {
    let values = (0..10).map(|day| values(f64::from(day))).collect();
    let series = Series::new(0, Duration::from_secs(86_400), values).unwrap();
    UseHistory { group: "g".to_owned(), capacity, series, limit }
}

#[test]
fn rows_are_in_the_units_of_people() {
    let gib = |count: f64| count * 1024.0;
    let histories = [
        history(GroupCapacity::Memory, |day| gib(100.0 + day), Some(gib(139.0))),
        history(GroupCapacity::Disk, |_| gib(5000.0), Some(gib(5000.0))),
        history(GroupCapacity::Cpu, |_| 12.5, Some(40.0)),
        history(GroupCapacity::Cpu, |day| day, None),
        history(GroupCapacity::Tiered, |day| 29.0 - 2.0 * day, None),
    ];
    let rows = histories.iter().map(RunwayRow::of).collect();
    let runway = ClusterRunway { cluster: "c".to_owned(), days: 90, rows };
    let lines = text::lines(&runway);
    assert_eq!(lines[0], "Runway of cluster c, by its growth in the last 90 days:");
    let cells: Vec<String> =
        lines[2..7].iter().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(
        cells,
        [
            "g memory 109 GiB 139 GiB +1 GiB 30 30 30 10 d",
            "g disk 4.88 TiB 4.88 TiB 0 used up - - 10 d",
            "g cpu 12.5 40 0 never never never 10 d",
            "g cpu 9 - - unknown - - 10 d",
            "g tiered 11 0 -2 6 6 6 10 d",
        ]
    );
    let document = serde_json::to_value(json::document(&runway)).unwrap();
    assert_eq!(document["capacities"][4]["growth"]["median"], -2.0);
    assert_eq!(document["capacities"][4]["days"]["expected"], 5.5);
    assert_eq!(document["capacities"][3]["state"], "unknown");
}
