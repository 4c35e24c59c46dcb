//! The simulated week: its document shows the actual results.

#[path = "../../examples/week/profile.rs"]
#[allow(dead_code)]
mod profile;
#[path = "../../examples/week/simulate.rs"]
mod simulate;
#[path = "../../examples/week/table.rs"]
#[allow(dead_code)]
mod table;
#[path = "../../examples/week/world.rs"]
mod world;

use std::fs;

use htools::load::text;
use profile::Profile;
use simulate::{Settings, Week, simulate};

fn week(settings: &Settings) -> Week {
    let raw = text::parse(&fs::read_to_string("data/week.data").unwrap(), "week.data").unwrap();
    let profile = Profile::parse(&fs::read_to_string("data/week.txt").unwrap()).unwrap();
    simulate(raw, &profile, settings).unwrap()
}

/// Every plan on the way is checked by `simulate`.
#[test]
fn the_table_in_its_document() {
    let weeks = std::thread::scope(|scope| {
        let runs = table::compared().map(|settings| scope.spawn(move || (settings.clone(), week(&settings))));
        runs.map(|run| run.join().unwrap())
    });
    let table = table::comparison(&weeks);
    let document = fs::read_to_string("examples/week/README.md").unwrap();
    assert!(document.contains(&table), "examples/week/README.md should have this table:\n{table}");
}

#[test]
fn profiles_that_make_no_sense() {
    let good = "# a comment\n\nday time a b\nMon 00:00 1 2\nMon 01:00 3 4\n";
    assert_eq!(Profile::parse(good).unwrap().ticks[1].wanted, [3, 4]);
    for (bad, problem) in [
        ("", "no line names the node groups"),
        ("day time\n", "the first line is not 'day time GROUP...'"),
        ("day time a\nMon 00:00 1\n", "there are less than two moments"),
        (
            "day time a\nMon 00:00 1\nMon 01:00 1\nMon 03:00 1\n",
            "Mon 03:00: the times have no equal distances",
        ),
        ("day time a\nMon 01:00 1\nMon 00:00 1\n", "Mon 00:00: the times have no equal distances"),
        ("day time a\nMon 00:00\n", "line 2: 3 columns are expected, but there are 2"),
        ("day time a\nmon 00:00 1\n", "line 2: unknown day 'mon'"),
        ("day time a\nMon 24:00 1\n", "line 2: '24:00' is no time of day"),
        ("day time a\nMon 00:00 -1\n", "line 2: '-1' is no number of instances"),
    ] {
        let error = Profile::parse(bad).unwrap_err();
        assert_eq!(format!("{error:#}"), problem, "{bad:?}");
    }
}
