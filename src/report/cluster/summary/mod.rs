//! Costs and gains of a plan, in a few lines.

mod moment;

use std::collections::HashSet;

use self::moment::MEASURES;
pub(crate) use self::moment::{Moment, Scores};
use crate::model::{Cluster, Mib, Step};
use crate::plan::durations::{LegKind, ways};
use crate::plan::work::WorkStep;
use crate::report::balance::components::score;
use crate::report::check::of_counts;
use crate::report::form::amount::amount;
use crate::report::form::table::{Align, Table};
use crate::report::form::tone::{Tone, TonedLine, of_change, plain};
use crate::report::timetable::{Timetable, estimated};

/// Share of the gain for which the summary gives the number of steps.
const MOST_OF_IT: f64 = 0.8;

/// Cost of moving instances.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Cost {
    /// Instances that move.
    pub instances: usize,
    /// Moves of instances that had moved before.
    pub again: usize,
    /// Changes of the primary node of running instances.
    pub migrations: usize,
    /// Changes of the primary node of instances that do not run.
    pub failovers: usize,
    /// Copies that are made of an instance's disks.
    pub copies: usize,
    /// Disk space that is copied.
    pub copied: Mib,
}

impl Cost {
    /// Cost of a plan.
    pub(crate) fn of<'s>(cluster: &Cluster, steps: impl IntoIterator<Item = &'s Step>) -> Cost {
        let mut cost = Cost::default();
        let mut moved = HashSet::new();
        for step in steps {
            cost.again += usize::from(!moved.insert(step.instance));
            cost.add(cluster, step);
        }
        Cost { instances: moved.len(), ..cost }
    }

    fn add(&mut self, cluster: &Cluster, step: &Step) {
        for way in ways(&WorkStep::moving(cluster, step)) {
            match way {
                LegKind::Syncs => self.copies += 1,
                LegKind::Migrates => self.migrations += 1,
                LegKind::FailsOver | LegKind::MovesDisks => self.failovers += 1,
            }
        }
        self.copied += step.copied(cluster);
    }

    fn lines(&self) -> [String; 2] {
        let Cost { instances, again, migrations, failovers, copies, copied } = *self;
        [
            format!(
                "{instances} {} with {migrations} {} and {failovers} {}; {again} {} of instances that had moved before",
                word(instances, "instance moves", "instances move"),
                word(migrations, "migration", "migrations"),
                word(failovers, "failover", "failovers"),
                word(again, "move", "moves"),
            ),
            format!("disks copied {} times, {}", copies, amount(copied)),
        ]
    }
}

fn word(count: usize, one: &'static str, more: &'static str) -> &'static str {
    if count == 1 { one } else { more }
}

/// Duration of a plan by the model of durations, in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct PlanTime {
    by_jobsets: f64,
    /// `None` if the plan cannot run as a stream.
    as_stream: Option<f64>,
}

impl PlanTime {
    /// Durations from a timetable.
    pub(crate) fn of(table: &Timetable<'_>) -> PlanTime {
        PlanTime {
            by_jobsets: table.by_jobsets.total(),
            as_stream: table.is_streamable.then(|| table.stream.total()),
        }
    }

    pub(crate) fn text(self) -> String {
        let by_jobsets = estimated(self.by_jobsets);
        match self.as_stream.map(estimated).filter(|as_stream| *as_stream != by_jobsets) {
            Some(as_stream) => format!("takes about {by_jobsets}, or {as_stream} with --stream"),
            None => format!("takes about {by_jobsets}"),
        }
    }
}

/// A plan in a few lines: its cost, its speed of gain, and the state before and after. `course` has the scores from
/// before the first step to after the last one, if all scores are of the same nodes.
pub(crate) fn summary(
    cost: Cost,
    time: Option<PlanTime>,
    before: &Moment,
    after: &Moment,
    course: &[f64],
) -> Vec<TonedLine> {
    let costs = cost.lines().into_iter().chain(time.map(PlanTime::text));
    let most = steps_for_most(course).map(|steps| {
        format!("{:.0} % of the gain after {steps} of {} steps", MOST_OF_IT * 100.0, course.len() - 1)
    });
    let said = costs.chain(most).map(|line| format!("  {line}")).collect();
    let mut lines = vec![(Tone::Plain, String::new()), (Tone::Heading, "Summary:".to_owned())];
    lines.extend(plain(said));
    lines.extend(score_table(before, after));
    lines.extend(plain(node_table(before, after)));
    lines.extend(plain(extremes_table(before, after)));
    lines.extend(problem_table(before, after));
    lines
}

fn extremes_table(before: &Moment, after: &Moment) -> Vec<String> {
    let (Some(before), Some(after)) = (&before.extremes, &after.extremes) else { return Vec::new() };
    let columns = [("memory in use", Align::Left), ("before", Align::Left), ("after", Align::Left)];
    let mut table = Table::new(columns);
    for (at, name) in ["fullest node", "emptiest node"].into_iter().enumerate() {
        table.push(vec![name.to_owned(), before[at].text(), after[at].text()]);
    }
    table.trimmed_lines(" ")
}

/// Problems before, and problems that the plan leaves.
fn problem_table(before: &Moment, after: &Moment) -> Vec<TonedLine> {
    let (before, after) = (before.problems(), after.problems());
    if !before.any() && !after.any() {
        return vec![(Tone::Good, "  nothing is wrong, before or after".to_owned())];
    }
    let columns = [("what is wrong", Align::Left), ("before", Align::Right), ("after", Align::Right)];
    let (mut table, mut tones) = (Table::new(columns), vec![Tone::Plain]);
    let (before, after) = (of_counts(before), of_counts(after));
    let counts = before.iter().zip(&after);
    for (before, after) in counts.filter(|(before, after)| before.text() != "0" || after.text() != "0") {
        table.push(vec![before.label.to_owned(), before.text(), after.text()]);
        tones.push(if after.text() == "0" { Tone::Good } else { Tone::Bad });
    }
    tones.into_iter().zip(table.lines(" ")).collect()
}

/// Number of steps that bring most of the whole gain; `None` if there is no gain.
pub(in crate::report) fn steps_for_most(course: &[f64]) -> Option<usize> {
    let (first, last) = (course.first()?, course.last()?);
    let wanted = (first - last) * MOST_OF_IT;
    if !(wanted > 0.0 && wanted.is_finite()) {
        return None;
    }
    course.iter().position(|score| first - score >= wanted)
}

/// The available scores, before and after.
fn score_table(before: &Moment, after: &Moment) -> Vec<TonedLine> {
    let (before, after) = (before.named_scores(), after.named_scores());
    if before.is_empty() {
        return Vec::new();
    }
    let pairs = before.iter().zip(&after).filter(|(b, a)| b.1 != 0.0 || a.1 != 0.0);
    let columns = [("score, weighted", Align::Left), ("before", Align::Right), ("after", Align::Right)];
    let (mut table, mut tones) = (Table::new(columns), vec![Tone::Plain]);
    for ((name, before), (_, after)) in pairs {
        table.push(vec![name.clone(), score(*before), score(*after)]);
        tones.push(of_change(*before, *after));
    }
    tones.into_iter().zip(table.lines(" ")).collect()
}

fn node_table(before: &Moment, after: &Moment) -> Vec<String> {
    let title = format!("online nodes: {} before, {} after", before.nodes, after.nodes);
    let figures =
        ["least", "mean", "most", "then least", "mean", "most"].map(|h| (h.to_owned(), Align::Right));
    let mut table = Table::new([(title, Align::Left)].into_iter().chain(figures));
    for (at, (name, _, shown)) in MEASURES.iter().enumerate() {
        let cells = [before.spreads[at].cells(shown), after.spreads[at].cells(shown)];
        table.push([(*name).to_owned()].into_iter().chain(cells.into_iter().flatten()).collect());
    }
    table.lines(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Concession, InstanceIdx, Move, NodeIdx, Placement};
    use crate::search::health::GroupHealth;
    use htools_testkit::cluster;

    fn sample() -> Cluster {
        cluster(
            &[
                "n1|9000|0|6000|90000|70000|9|N|u",
                "n2|9000|0|9000|90000|70000|9|N|u",
                "n3|9000|0|9000|90000|90000|9|Y|u",
            ],
            &["a|1024|10240|1|running|Y|n1|n2|drbd|", "b|2048|10240|3|ADMIN_down|Y|n1|n2|drbd|"],
            &[],
        )
    }

    fn step(instance: usize, mv: Move) -> Step {
        let here = Placement { primary: NodeIdx::new(0), secondary: Some(NodeIdx::new(1)) };
        Step {
            instance: InstanceIdx::new(instance),
            mv,
            from: here,
            to: here,
            score: 0.0,
            concession: Concession::None,
        }
    }

    #[test]
    fn costs_add_up() {
        let node = NodeIdx::new(2);
        let steps = [
            step(0, Move::ReplacePrimary(node)),
            step(1, Move::FailoverAndReplace(node)),
            step(0, Move::FailoverAndReplaceBoth(node, node)),
        ];
        let cost = Cost::of(&sample(), &steps);
        let wanted =
            Cost { instances: 2, again: 1, migrations: 4, failovers: 1, copies: 4, copied: Mib(4 * 10_240) };
        assert_eq!(cost, wanted);
        let lines = cost.lines();
        assert_eq!(
            lines[0],
            "2 instances move with 4 migrations and 1 failover; 1 move of instances that had moved before"
        );
        assert_eq!(lines[1], "disks copied 4 times, 40 GiB");
    }

    #[test]
    fn most_of_the_gain() {
        assert_eq!(steps_for_most(&[10.0, 3.0, 2.0, 0.0]), Some(2));
        assert_eq!(steps_for_most(&[10.0, 0.0]), Some(1));
        for none in [&[][..], &[1.0], &[1.0, 2.0], &[f64::NAN, 0.0], &[f64::INFINITY, 0.0]] {
            assert_eq!(steps_for_most(none), None, "{none:?}");
        }
    }

    #[test]
    fn nodes_that_are_offline_hold_nothing() {
        let cluster = sample();
        let moment = Moment::of(&cluster, &cluster.all_nodes());
        let lines = node_table(&moment, &Moment::of(&cluster, &[]));
        assert_eq!(
            lines[0].trim_end(),
            "  online nodes: 2 before, 0 after least mean most then least mean most"
        );
        assert_eq!(
            lines[1].trim_end(),
            "  memory of instances (GiB)         0.0  0.5  1.0        0.0  0.0  0.0"
        );
        assert_eq!(
            lines[4].trim_end(),
            "  primary instances                 0.0  1.0  2.0        0.0  0.0  0.0"
        );
    }

    #[test]
    fn what_is_wrong_and_which_nodes_stand_out() {
        let cluster = sample();
        let moment = Moment::of(&cluster, &cluster.all_nodes());
        let [fullest, emptiest] = moment.extremes.clone().unwrap();
        assert_eq!((fullest.text().as_str(), emptiest.text().as_str()), ("n1: 33 %", "n2: 0 %"));
        assert_eq!(problem_table(&moment, &moment)[0].0, Tone::Good);
        let failing =
            GroupHealth { n1_failing: cluster.all_nodes()[..2].to_vec(), ..moment.health[0].clone() };
        let broken = Moment { health: vec![failing], ..moment.clone() };
        let lines = problem_table(&broken, &moment);
        assert_eq!(lines[1], (Tone::Good, "  Nodes not N+1 happy      2     0".to_owned()));
        assert_eq!(problem_table(&moment, &broken)[1].0, Tone::Bad);
        assert_eq!(extremes_table(&Moment::of(&cluster, &[]), &moment), [""; 0]);
    }

    #[test]
    fn how_long_it_takes() {
        let time = |by_jobsets, as_stream| PlanTime { by_jobsets, as_stream }.text();
        assert_eq!(time(3725.0, Some(65.0)), "takes about 1 h 2 min, or 1 min 5 s with --stream");
        assert_eq!(time(5.0, Some(5.2)), "takes about 5 s");
        assert_eq!(time(3725.0, None), "takes about 1 h 2 min");
    }
}
