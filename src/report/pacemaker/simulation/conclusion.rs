//! Conclusion from the figures of a simulation, in two sentences.

use super::percent;
use crate::affinity::simulation::{SimulatedRun, WishShare};
use crate::model::number::{counted, fixed};

/// The best and the worst strategies by some figure, with the figures; smaller is better.
struct RunExtremes<'a> {
    best: Vec<&'a SimulatedRun>,
    worst: Vec<&'a SimulatedRun>,
}

impl<'a> RunExtremes<'a> {
    /// Returns `None` if all have the same figure, or there are no runs.
    fn of(runs: &'a [SimulatedRun], number: impl Fn(&SimulatedRun) -> i64) -> Option<RunExtremes<'a>> {
        let least = runs.iter().map(&number).min()?;
        let most = runs.iter().map(&number).max()?;
        let with = |wanted: i64| runs.iter().filter(|run| number(run) == wanted).collect();
        (least < most).then(|| RunExtremes { best: with(least), worst: with(most) })
    }
}

/// A sentence on refusals, and one on another difference between the strategies.
pub(super) fn sentences(runs: &[SimulatedRun], requests: usize, nodes: usize) -> Vec<String> {
    let second = wishes(runs).or_else(|| evenness(runs, nodes));
    refusals(runs, requests).into_iter().chain(second).collect()
}

fn refusals(runs: &[SimulatedRun], requests: usize) -> Option<String> {
    let of_all = |count: usize| format!("{count} of {}", counted(requests, "request"));
    let share = |count: usize| percent(count as f64 / requests.max(1) as f64);
    let Some(RunExtremes { best, worst }) = RunExtremes::of(runs, |run| run.refused as i64) else {
        let count = runs.first()?.refused;
        return Some(match count {
            0 => format!("No strategy refuses any of {}.", counted(requests, "request")),
            _ => format!("All strategies refuse {} ({}).", of_all(count), share(count)),
        });
    };
    let (least, most) = (best.first()?.refused, worst.first()?.refused);
    let fewest = match least {
        0 => format!("none of {}", counted(requests, "request")),
        _ => format!("the least, {} ({})", of_all(least), share(least)),
    };
    let (best, worst) = (verb(&best, "refuses", "refuse"), names(&worst));
    Some(format!("{best} {fewest}; {worst} the most, {most} ({}).", share(most)))
}

/// A share in tenths of a percent, as it is shown.
#[allow(clippy::cast_possible_truncation)] // shares are at most 1
fn tenths(share: f64) -> i64 {
    (share * 1000.0).round() as i64
}

/// Share of all customers' wishes that is met: to be together, and to be apart.
fn kept(run: &SimulatedRun) -> Option<f64> {
    let WishShare { at_stake, kept } = run.together;
    WishShare { at_stake: at_stake + run.apart.at_stake, kept: kept + run.apart.kept }.share()
}

fn wishes(runs: &[SimulatedRun]) -> Option<String> {
    // A strategy that accepted no machine met no wishes.
    let share = |run: &SimulatedRun| kept(run).map_or(-1, tenths);
    let RunExtremes { best, worst } = RunExtremes::of(runs, |run| -share(run))?;
    // Among the strategies that meet as many, the one that refuses least.
    let keeper = best.iter().min_by_key(|run| run.refused)?;
    let least = runs.iter().min_by_key(|run| run.refused)?;
    let price = match keeper.refused - least.refused {
        0 => "and refuses no more than any other".to_owned(),
        more => format!("and refuses {more} more than {}", least.contender),
    };
    let least_kept = kept(worst.first()?).map_or_else(|| "none".to_owned(), percent);
    Some(format!(
        "{} keeps most of what customers wish, {} ({}: {least_kept}), {price}.",
        keeper.contender,
        percent(kept(keeper)?),
        names(&worst)
    ))
}

fn evenness(runs: &[SimulatedRun], nodes: usize) -> Option<String> {
    let RunExtremes { best, worst } = RunExtremes::of(runs, |run| tenths(run.unevenness))?;
    let even = format!(
        "{} the nodes most evenly (standard deviation of used memory {}; {}: {})",
        verb(&best, "uses", "use"),
        percent(best.first()?.unevenness),
        names(&worst),
        percent(worst.first()?.unevenness)
    );
    let empty = RunExtremes::of(runs, |run| -tenths(run.empty_nodes)).and_then(|ends| {
        let most = ends.best.first()?.empty_nodes;
        let leaves = verb(&ends.best, "leaves", "leave");
        Some(format!("; {leaves} most of them empty at night ({} of {nodes})", fixed(most, 1)))
    });
    Some(format!("{even}{}.", empty.unwrap_or_default()))
}

fn names(runs: &[&SimulatedRun]) -> String {
    let names: Vec<&str> = runs.iter().map(|run| run.contender.as_str()).collect();
    match &names[..] {
        [all @ .., last] if !all.is_empty() => format!("{} and {last}", all.join(", ")),
        _ => names.concat(),
    }
}

fn verb(runs: &[&SimulatedRun], one: &str, many: &str) -> String {
    format!("{} {}", names(runs), if runs.len() == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::affinity::simulation::Contender;
    use crate::model::Mib;

    fn run(
        contender: Contender,
        refused: usize,
        kept: f64,
        unevenness: f64,
        empty_nodes: f64,
    ) -> SimulatedRun {
        SimulatedRun {
            contender,
            refused,
            refused_ram: Mib::ZERO,
            refused_with_room: 0,
            unevenness,
            worst_unevenness: unevenness,
            together: WishShare { at_stake: if kept < 0.0 { 0.0 } else { 10.0 }, kept: kept * 10.0 },
            apart: WishShare::default(),
            moves: 0,
            empty_nodes,
            peak: 1.0,
            days: Vec::new(),
        }
    }

    #[test]
    fn sentences_follow_the_numbers() {
        use Contender::{Affinity, Balanced, Minimal};
        let runs = [
            run(Affinity, 5, 0.97, 0.1, 0.0),
            run(Balanced, 3, 0.2, 0.1, 0.0),
            run(Minimal, 2, 0.5, 0.1, 0.0),
        ];
        assert_eq!(
            sentences(&runs, 100, 4),
            [
                "minimal refuses the least, 2 of 100 requests (2.0%); affinity the most, 5 (5.0%).",
                "affinity keeps most of what customers wish, 97.0% (balanced: 20.0%), and refuses 3 more than minimal."
            ]
        );
        let runs = [
            run(Affinity, 0, -1.0, 0.1, 0.0),
            run(Balanced, 0, -1.0, 0.05, 0.0),
            run(Minimal, 0, -1.0, 0.3, 1.5),
        ];
        assert_eq!(
            sentences(&runs, 1, 4),
            [
                "No strategy refuses any of 1 request.",
                "balanced uses the nodes most evenly (standard deviation of used memory 5.0%; minimal: 30.0%); minimal leaves most of them empty at night (1.5 of 4)."
            ]
        );
        let runs = [run(Affinity, 4, -1.0, 0.1, 0.0), run(Balanced, 4, -1.0, 0.1, 0.0)];
        assert_eq!(sentences(&runs, 8, 1), ["All strategies refuse 4 of 8 requests (50.0%)."]);
        assert_eq!(sentences(&[], 8, 1), [] as [&str; 0]);
    }
}
