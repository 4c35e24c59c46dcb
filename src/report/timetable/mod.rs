//! A plan as a graph with a timetable: the dependencies between steps, and their times by the duration model.

mod document;
mod drawing;
pub(super) mod html;
mod ticks;
pub(in crate::report) mod waits;

pub(crate) use self::document::document;
pub(crate) use self::drawing::{bars, dot, svg};
use self::waits::why;
use crate::model::number::counted;
use crate::model::shown::shown_name;
use crate::model::{Concession, Mib, Placement};
use crate::plan::durations::{LegKind, Rates, critical_path, data, ways};
use crate::plan::graph::{Edge, EdgeReason, StepIdx, Strength};
use crate::plan::stream::{PlanSchedule, StreamLimits};
use crate::plan::work::{Relocation, Work, WorkStep};

/// A plan with its times.
#[derive(Debug, Clone)]
pub(crate) struct Timetable<'w> {
    /// The plan.
    pub work: &'w Work,
    /// Speeds of the duration model.
    pub rates: Rates,
    /// Limits of what may be under way at the same time.
    pub limits: StreamLimits,
    /// Duration of each step, in seconds.
    pub seconds: Vec<f64>,
    /// Schedule jobset by jobset.
    pub by_jobsets: PlanSchedule,
    /// Schedule as a stream.
    pub stream: PlanSchedule,
    /// True if the tool can execute the plan as a stream, which it cannot on a Pacemaker cluster.
    pub is_streamable: bool,
    /// A longest chain of steps that wait for each other: the critical path.
    pub critical: Vec<StepIdx>,
    /// Duration of the critical path, in seconds.
    pub critical_seconds: f64,
    /// Copied memory and disks.
    pub data: (Mib, Mib),
}

impl<'w> Timetable<'w> {
    /// The timetable of a plan.
    pub(crate) fn of(work: &'w Work, rates: Rates, limits: StreamLimits) -> Timetable<'w> {
        let seconds = rates.of(work);
        let (critical, critical_seconds) = critical_path(work, &seconds);
        Timetable {
            rates,
            limits,
            by_jobsets: PlanSchedule::by_jobsets(work, &seconds),
            stream: PlanSchedule::stream(work, &seconds, limits),
            is_streamable: true,
            critical,
            critical_seconds,
            data: data(work),
            seconds,
            work,
        }
    }

    /// Tells if a step is on the critical path.
    pub(super) fn is_critical(&self, step: StepIdx) -> bool {
        self.critical.contains(&step)
    }

    /// The dependencies of a step.
    pub(super) fn before(&self, step: StepIdx) -> impl Iterator<Item = &Edge<EdgeReason<String>>> {
        let begin = self.work.edges.partition_point(|edge| edge.after < step);
        self.work.edges[begin..].iter().take_while(move |edge| edge.after == step)
    }
}

/// The timetable as text.
pub(crate) fn text(table: &Timetable<'_>) -> Vec<String> {
    let work = table.work;
    let mut lines = vec![format!("Plan of {}:", counted(work.steps.len(), "step"))];
    let width = work.steps.len().to_string().len().max(3);
    for step in work.all() {
        let it = work.step(step);
        let time = duration(table.seconds[step.get()]);
        lines.push(format!("  {:>width$}. {}, {time}", step.number(), what(it)));
        for edge in table.before(step) {
            let hard = if edge.strength == Strength::Should { ", if that is done" } else { "" };
            lines.push(format!("  {:width$}  waits for {}: {}{hard}", "", edge.before, why(work, edge)));
        }
    }
    let path: Vec<String> = table.critical.iter().map(ToString::to_string).collect();
    let (memory, disk) = table.data;
    lines.push(format!("Time by jobsets: {}", duration(table.by_jobsets.total())));
    lines.push(format!("Time as a stream: {}{}", duration(table.stream.total()), limits(&table.limits)));
    if !path.is_empty() {
        let steps = if path.len() == 1 { "step" } else { "steps" };
        let time = duration(table.critical_seconds);
        lines.push(format!("Critical path: {time} ({steps} {})", path.join(", ")));
    }
    lines.push(format!("Data moved: {} of memory, {} of disk", size(memory), size(disk)));
    let Rates { bandwidth, sync_rate, migration, failover, replace, .. } = table.rates;
    lines.push(format!(
        "Model: {bandwidth:.1} MiB/s of memory and {migration:.0} s a migration, {failover:.0} s a failover, {sync_rate:.1} MiB/s of disk and {replace:.0} s a copy"
    ));
    lines
}

/// The action of a step, in words.
pub(crate) fn what(step: &WorkStep) -> String {
    let name = shown_name(&step.subject);
    match (step.relocations().first(), step.relocations().last()) {
        (Some(Relocation { from, concession, .. }), Some(Relocation { to, .. })) => {
            let conceded = match concession {
                Concession::Overcommit(Mib(lacks)) => {
                    format!(", which lacks {lacks} MiB of memory meanwhile")
                }
                Concession::Interruption { stopped, .. } => {
                    format!(", while {} is stopped", shown_name(stopped))
                }
                Concession::None | Concession::Restart => String::new(),
            };
            let stops = ways(step).contains(&LegKind::MovesDisks);
            let stopped = if stops { ", stopped while its disks are copied" } else { "" };
            format!("{name} {} => {}{stopped}{conceded}", place(from), place(to))
        }
        _ => step.task.named(name),
    }
}

fn place(at: &Placement<String>) -> String {
    let secondary = at.secondary.as_ref().map(|node| format!(":{}", shown_name(node)));
    format!("{}{}", shown_name(&at.primary), secondary.unwrap_or_default())
}

/// The limits that are set, in brackets; empty if there are none.
pub(super) fn limits(limits: &StreamLimits) -> String {
    let StreamLimits { parallel, out_per_node, in_per_node, syncs, per_group } = limits;
    let named = [
        (parallel, "in all"),
        (out_per_node, "out of a node"),
        (in_per_node, "into a node"),
        (syncs, "copying disks"),
        (per_group, "in a group"),
    ];
    let given = named.iter().filter_map(|(most, what)| most.map(|most| format!("{most} {what}")));
    let given: Vec<String> = given.collect();
    if given.is_empty() { String::new() } else { format!(" (at most {})", given.join(", ")) }
}

/// A time in words: `2 d 3 h`, `1 h 2 min`, `3 min 4 s`, `5 s`.
pub(crate) fn duration(seconds: f64) -> String {
    let whole = seconds.round().clamp(0.0, 1e15) as u64;
    let parts = [(86_400, "d"), (3600, "h"), (60, "min"), (1, "s")];
    let first = parts.iter().position(|(size, _)| whole >= *size).unwrap_or(parts.len() - 1);
    let mut left = whole;
    let mut words = Vec::new();
    for (size, unit) in parts.iter().skip(first).take(2) {
        if left >= *size || words.is_empty() {
            words.push(format!("{} {unit}", left / size));
        }
        left %= size;
    }
    words.join(" ")
}

/// An estimated time in words, in whole minutes from ten minutes on.
pub(in crate::report) fn estimated(seconds: f64) -> String {
    let is_long = (600.0..3600.0).contains(&seconds);
    duration(if is_long { (seconds / 60.0).round() * 60.0 } else { seconds })
}

/// An amount of data in words: `512 MiB`, `41.1 GiB`.
pub(crate) fn size(size: Mib) -> String {
    match size.0 {
        mib if mib < 10 * 1024 => format!("{mib} MiB"),
        _ => format!("{:.1} GiB", size.as_f64() / 1024.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_as_people_say_them() {
        let of = |seconds| (duration(seconds), estimated(seconds));
        let both = |text: &str| (text.to_owned(), text.to_owned());
        assert_eq!(of(0.4), both("0 s"));
        assert_eq!(of(180.0), both("3 min"));
        assert_eq!(of(184.0), both("3 min 4 s"));
        assert_eq!(of(3600.0), both("1 h"));
        assert_eq!(of(3725.0), both("1 h 2 min"));
        assert_eq!(of(183_600.0), both("2 d 3 h"));
        assert_eq!(of(1792.0), ("29 min 52 s".to_owned(), "30 min".to_owned()));
        assert_eq!(of(3599.0), ("59 min 59 s".to_owned(), "1 h".to_owned()));
        assert_eq!(of(599.0), both("9 min 59 s"));
        assert_eq!(of(f64::NAN), both("0 s"));
    }
}
