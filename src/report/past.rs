//! Metrics of the history: what runs have changed clusters lately.

use std::collections::BTreeMap;

use crate::execute::history::PastRun;
use crate::model::number::counted;
use crate::report::check::monitor::status_line;
use crate::report::form::metrics::{Family, Sheet, distinct_names};
use crate::report::timetable::duration;
use crate::search::health::Severity;

/// Time in which runs and moves are counted, in milliseconds.
const DAY: u64 = 86_400_000;
/// Ending of runs that are under way or were cut off.
const UNFINISHED: &str = "unfinished";
/// Endings of runs as they should be: windows and people end runs early.
const GOOD_ENDINGS: [&str; 3] = ["done", "out of time", "interrupted"];
/// Outcomes of moves that are no fault.
const GOOD_OUTCOMES: [&str; 3] = ["done", "not started", "dropped"];

/// Tells if a run ended, or at least began, in the last day.
fn is_recent(run: &PastRun, now: u64) -> bool {
    run.latest.saturating_add(DAY) >= now
}

/// Leaves out runs that no metric needs at the time `now`, in milliseconds since 1970, or later.
pub(crate) fn without_old(runs: Vec<PastRun>, now: u64) -> Vec<PastRun> {
    let mut last: BTreeMap<(String, String), usize> = BTreeMap::new();
    for (at, run) in runs.iter().enumerate().filter(|(_, run)| run.ended.is_some()) {
        last.insert((run.cluster.uuid.clone(), run.tool.clone()), at);
    }
    let is_needed = |at: usize, run: &PastRun| is_recent(run, now) || last.values().any(|last| *last == at);
    runs.into_iter().enumerate().filter(|(at, run)| is_needed(*at, run)).map(|(_, run)| run).collect()
}

/// The sheets of all clusters of a history, as of a moment in milliseconds since 1970.
pub(crate) fn sheets(runs: &[PastRun], now: u64) -> Vec<Sheet> {
    let mut clusters: BTreeMap<&str, Vec<&PastRun>> = BTreeMap::new();
    for run in runs {
        clusters.entry(&run.cluster.uuid).or_default().push(run);
    }
    let named = clusters.values().filter_map(|runs| Some(runs.last()?.cluster.name.as_str()));
    let names = distinct_names(named);
    clusters.values().zip(names).map(|(runs, name)| sheet(name, runs, now)).collect()
}

fn sheet(cluster: String, runs: &[&PastRun], now: u64) -> Sheet {
    let mut sheet = Sheet::of(cluster);
    let mut endings: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let mut outcomes: BTreeMap<(&str, String), usize> = BTreeMap::new();
    let mut last: BTreeMap<&str, &PastRun> = BTreeMap::new();
    for run in runs {
        if is_recent(run, now) {
            let ending = run.ended.as_ref().map_or(UNFINISHED, |ended| ended.ending.as_str());
            *endings.entry((&run.tool, ending)).or_default() += 1;
            for made in run.moves() {
                *outcomes.entry((&run.tool, made.outcome)).or_default() += 1;
            }
        }
        if run.ended.is_some() {
            last.insert(&run.tool, run);
        }
    }
    for ((tool, ending), count) in endings {
        sheet.count(Family::HistoryRuns, &[tool, ending], count);
    }
    for ((tool, outcome), count) in outcomes {
        sheet.count(Family::HistoryMoves, &[tool, &outcome], count);
    }
    for (tool, run) in last {
        let Some(ended) = &run.ended else { continue };
        sheet.put(Family::HistoryLastRun, &[tool], run.latest as f64 / 1000.0);
        sheet.flag(Family::HistoryLastSuccess, &[tool], problem(run, now).is_none());
        for (when, score) in [("before", run.begun.score), ("after", ended.score)] {
            score.into_iter().for_each(|score| sheet.put(Family::HistoryScore, &[tool, when], score));
        }
    }
    sheet
}

/// Time since its last line after which a run that has not ended counts as cut off, in milliseconds: no timer waits as long.
const OVERDUE: u64 = 4 * 3_600_000;

/// The last run of each tool on each cluster for a monitoring system, as of a moment in milliseconds since 1970: the
/// severity and the line, with performance data.
pub(crate) fn monitored(runs: &[PastRun], now: u64) -> (Severity, String) {
    let mut last: BTreeMap<(&str, &str), &PastRun> = BTreeMap::new();
    for run in runs {
        last.insert((&run.cluster.uuid, &run.tool), run);
    }
    let problems: Vec<(Severity, String)> = last.values().filter_map(|run| problem(run, now)).collect();
    let worst = problems.iter().map(|(severity, _)| *severity).max().unwrap_or(Severity::Ok);
    let recent: Vec<&PastRun> = runs.iter().filter(|run| is_recent(run, now)).collect();
    let moves = recent.iter().flat_map(|run| run.moves()).count();
    let text = match (problems.is_empty(), runs.last()) {
        (false, _) => problems.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join(", "),
        (true, None) => "nothing is recorded".to_owned(),
        (true, Some(run)) => {
            let runs = counted(recent.len(), "run");
            format!("{runs} with {} in 24 hours; the last was {}", counted(moves, "move"), subject(run, now))
        }
    };
    let line = status_line(worst.as_str(), &text);
    (worst, format!("{line} | runs={};;;0 moves={moves};;;0", recent.len()))
}

/// Fault of a run, with its severity; `None` if it ended well or may be under way.
fn problem(run: &PastRun, now: u64) -> Option<(Severity, String)> {
    let who = subject(run, now);
    let Some(ended) = &run.ended else {
        let is_overdue = run.latest.saturating_add(OVERDUE) < now;
        return is_overdue.then(|| (Severity::Critical, format!("{who} has not ended")));
    };
    if !GOOD_ENDINGS.contains(&ended.ending.as_str()) {
        return Some((Severity::Critical, format!("{who} ended as {}", ended.ending)));
    }
    let failed = ended.outcomes.iter().filter(|outcome| !GOOD_OUTCOMES.contains(&outcome.as_str())).count();
    (failed > 0).then(|| (Severity::Warning, format!("{who} has {} that failed", counted(failed, "move"))))
}

/// The tool, the cluster and the age of a run.
fn subject(run: &PastRun, now: u64) -> String {
    let ago = duration(now.saturating_sub(run.at) as f64 / 1000.0);
    format!("{} on {} {ago} ago", run.tool, run.cluster.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::execute::ClusterId;
    use crate::execute::history::{History, HistoryEvent, HistoryLine, PlannedMove, RunBegun, RunEnded};
    use crate::model::Placement;
    use crate::report::form::metrics::exposition;

    fn line(at: u64, cluster: &str, tool: &str, event: HistoryEvent) -> HistoryLine {
        let cluster = ClusterId { name: "prod".into(), uuid: cluster.into() };
        HistoryLine { at, ..HistoryLine::now(&cluster, tool, event) }
    }

    fn begun(run: u64) -> HistoryEvent {
        let place = |node: &str| Placement { primary: node.to_owned(), secondary: None };
        let moved = PlannedMove { instance: "i".into(), from: place("a"), to: place("b") };
        let (journal, reason) = ("j".into(), "r".into());
        HistoryEvent::Begun(RunBegun { run, journal, reason, score: Some(3.0), moves: vec![moved] })
    }

    fn ended(run: u64, outcome: &str) -> HistoryEvent {
        let outcomes = vec![outcome.to_owned()];
        HistoryEvent::Ended(RunEnded { run, ending: "done".into(), score: Some(2.0), outcomes })
    }

    #[test]
    fn a_day_is_counted_and_the_last_run_is_kept() {
        let now = 10 * DAY;
        let lines = vec![
            line(now - 3 * DAY, "u", "hsqueeze", begun(1)),
            line(now - 3 * DAY, "u", "hsqueeze", ended(1, "failed")),
            line(now - 2 * DAY, "u", "hbal", begun(2)),
            line(now - 2 * DAY, "u", "hbal", ended(2, "failed")),
            line(now - 900, "u", "hbal", begun(3)),
            line(now - 800, "u", "hbal", ended(3, "done")),
            line(now - 700, "u", "hbal", begun(4)),
            line(now - 600, "v", "hbal", begun(5)),
        ];
        let runs = without_old(History(lines).runs(), now);
        assert_eq!(runs.len(), 4, "the run before the last one is too old");
        let sheets = sheets(&runs, now);
        let text = exposition(&sheets.iter().collect::<Vec<_>>());
        for wanted in [
            "htools_history_runs{cluster=\"prod\",tool=\"hbal\",ending=\"done\"} 1\n",
            "htools_history_runs{cluster=\"prod\",tool=\"hbal\",ending=\"unfinished\"} 1\n",
            "htools_history_runs{cluster=\"prod (2)\",tool=\"hbal\",ending=\"unfinished\"} 1\n",
            "htools_history_moves{cluster=\"prod\",tool=\"hbal\",outcome=\"done\"} 1\n",
            "htools_history_moves{cluster=\"prod\",tool=\"hbal\",outcome=\"unknown\"} 1\n",
            "htools_history_last_run_timestamp_seconds{cluster=\"prod\",tool=\"hbal\"} 863999.2\n",
            "htools_history_last_run_success{cluster=\"prod\",tool=\"hbal\"} 1\n",
            "htools_history_last_run_success{cluster=\"prod\",tool=\"hsqueeze\"} 0\n",
            "htools_history_score{cluster=\"prod\",tool=\"hbal\",when=\"after\"} 2\n",
        ] {
            assert!(text.contains(wanted), "{wanted}{text}");
        }
        assert!(!text.contains("tool=\"hsqueeze\",ending"), "{text}");
    }
}
