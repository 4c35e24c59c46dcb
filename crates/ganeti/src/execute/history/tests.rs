use super::*;

fn cluster(uuid: &str) -> ClusterId {
    ClusterId { name: "c".to_owned(), uuid: uuid.to_owned() }
}

fn place(primary: &str) -> Placement<String> {
    Placement { primary: primary.to_owned(), secondary: None }
}

fn begun(run: u64, instances: &[&str]) -> HistoryEvent {
    let moves = instances.iter().map(|name| PlannedMove {
        instance: (*name).to_owned(),
        from: place("a"),
        to: place("b"),
    });
    let (journal, reason) = ("j".to_owned(), "r".to_owned());
    HistoryEvent::Begun(RunBegun { run, journal, reason, score: Some(2.5), moves: moves.collect() })
}

fn ended(run: u64, outcomes: &[&str]) -> HistoryEvent {
    let outcomes = outcomes.iter().map(|word| (*word).to_owned()).collect();
    HistoryEvent::Ended(RunEnded { run, ending: "failed".to_owned(), score: None, outcomes })
}

/// A comparison that found these nodes above a threshold.
fn look(nodes: &[&str], score: f64) -> HistoryEvent {
    let (group, condition) = ("g".to_owned(), "cpu>80 or score>2".to_owned());
    let nodes: Vec<String> = nodes.iter().map(|name| (*name).to_owned()).collect();
    HistoryEvent::Look(LookRecord {
        group,
        condition,
        is_met: !nodes.is_empty() || score > 2.0,
        score,
        nodes,
    })
}

fn history(events: Vec<HistoryEvent>) -> History {
    History(events.into_iter().map(|event| HistoryLine::now(&cluster("u"), "hbal", event)).collect())
}

#[test]
fn lines_are_read_as_they_were_written() {
    let directory = tempfile::tempdir().unwrap();
    let file = HistoryFile::in_directory(directory.path());
    assert_eq!(file.read().unwrap(), History::default());
    let all = history(vec![begun(1, &["x", "y"]), ended(1, &["done", "failed"]), look(&["n"], 1.0)]);
    for line in &all.0 {
        file.append(line).unwrap();
    }
    assert_eq!(file.read().unwrap(), all);
    // A line that was cut off is removed by the next one.
    let text = std::fs::read_to_string(file.path()).unwrap();
    std::fs::write(file.path(), format!("{text}{{\"history\":")).unwrap();
    assert_eq!(file.read().unwrap(), all);
    file.append(&all.0[0]).unwrap();
    assert_eq!(file.read().unwrap().0.len(), 4);
    for damage in ["x\n", "{}\n", "\n", "\u{0}\n"] {
        std::fs::write(file.path(), format!("{text}{damage}")).unwrap();
        let why = file.read().unwrap_err().to_string();
        assert!(why.contains("line 4: not a line of a history"), "{why}");
    }
}

#[test]
fn full_files_are_put_aside() {
    let directory = tempfile::tempdir().unwrap();
    let file = HistoryFile::in_directory(directory.path()).with_full(400);
    let line = |at| HistoryLine { at, ..HistoryLine::now(&cluster("u"), "t", look(&["n"], 1.0)) };
    for at in 0..30 {
        file.append(&line(at)).unwrap();
    }
    let times: Vec<u64> = file.read().unwrap().0.iter().map(|line| line.at).collect();
    assert!(times.len() < 30 && times.len() > 8, "{times:?}");
    assert_eq!(times, (30 - times.len() as u64..30).collect::<Vec<_>>());
}

#[test]
fn programs_take_turns() {
    let directory = tempfile::tempdir().unwrap();
    let file = HistoryFile::in_directory(directory.path()).with_full(2000);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for at in 0..10 {
                    file.append(&HistoryLine {
                        at,
                        ..HistoryLine::now(&cluster("u"), "t", look(&["n"], 1.0))
                    })
                    .unwrap();
                }
            });
        }
    });
    assert_eq!(file.read().unwrap().0.len(), 40);
}

#[test]
fn moves_that_were_not_made_do_not_count() {
    let outcomes = ["done", "failed", "unknown", "not started", "dropped", "begun, not finished"];
    let names = ["a", "b", "c", "d", "e", "f"];
    let both = history(vec![begun(1, &names), ended(1, &outcomes), begun(2, &["z"])]);
    let made: Vec<(String, String)> =
        both.moves().into_iter().map(|made| (made.moved.instance, made.outcome)).collect();
    let wanted =
        [("a", "done"), ("b", "failed"), ("c", "unknown"), ("f", "begun, not finished"), ("z", "unknown")];
    assert_eq!(made, wanted.map(|(name, outcome)| (name.to_owned(), outcome.to_owned())));
    // A resumed run ends again.
    let mut resumed = both.clone();
    resumed.0.push(HistoryLine::now(&cluster("u"), "hbal", ended(1, &["done"; 6])));
    assert_eq!(resumed.moves().len(), 7);
    assert_eq!(both.of_cluster(Some("v")), History::default());
}

#[test]
fn a_maintenance_that_is_resumed_is_one_run() {
    let first = [begun(1, &["a"]), ended(1, &["done"])];
    let again = [begun(1, &["a", "b"]), ended(1, &["done", "done"])];
    let both = history(first.into_iter().chain(again).collect());
    assert_eq!((both.runs().len(), both.moves().len()), (1, 2));
}

#[test]
fn batches_of_a_maintenance_are_added_to_its_plan() {
    let batch = |earlier, instances: &[&str]| match begun(1, instances) {
        HistoryEvent::Begun(RunBegun { run, moves, .. }) => {
            HistoryEvent::Batch(BatchMoves { run, earlier, moves })
        }
        other => other,
    };
    let names = |events: Vec<HistoryEvent>| -> Vec<String> {
        history(events).moves().into_iter().map(|made| made.moved.instance).collect()
    };
    let run = vec![begun(1, &[]), batch(0, &["a", "b"]), batch(2, &["c"])];
    assert_eq!(names(run.clone()), ["a", "b", "c"]);
    // One that is resumed has all its batches from the beginning, and may repeat the last one.
    let again = [begun(1, &["a", "b", "c"]), batch(2, &["d", "e"])];
    assert_eq!(names(run.into_iter().chain(again).collect()), ["a", "b", "d", "e"]);
    assert_eq!(names(vec![batch(0, &["a"])]), [""; 0], "a run without its beginning is not known");
}

#[test]
fn rounds_in_a_row_count_for_each_node_and_for_the_score() {
    let rounds_in = |all: &History, group: &str, condition: &str| {
        let found = all.rounds_above(group, condition, Some(2.0), Duration::from_secs(86_400));
        (["n", "m", "a"].map(|node| found.of_node(node)), found.score)
    };
    let rounds = |events| rounds_in(&history(events), "g", "cpu>80 or score>2");
    let both = || look(&["m", "n"], 1.0);
    assert_eq!(rounds(vec![]), ([0, 0, 0], 0));
    assert_eq!(rounds(vec![both(), look(&["n"], 3.0), look(&["n"], 3.0)]), ([3, 0, 0], 2));
    // Another node each time is no row.
    assert_eq!(rounds(vec![look(&["m"], 1.0), look(&["n"], 1.0)]), ([1, 0, 0], 0));
    assert_eq!(rounds(vec![both(), look(&[], 1.0), both()]), ([1, 1, 0], 0));
    // A run that moves an instance from a to b begins their rows anew, and that of the score.
    let moved = vec![look(&["a", "n"], 3.0), begun(1, &["x"]), look(&["a", "n"], 3.0)];
    assert_eq!(rounds(moved), ([2, 0, 1], 1));
    let all = history(vec![both()]);
    assert_eq!(rounds_in(&all, "h", "cpu>80 or score>2"), ([0, 0, 0], 0));
    assert_eq!(rounds_in(&all, "g", "cpu>90"), ([0, 0, 0], 0));
    let mut old = all;
    old.0[0].at -= 2 * 86_400_000;
    assert_eq!(rounds_in(&old, "g", "cpu>80 or score>2"), ([0, 0, 0], 0));
}
