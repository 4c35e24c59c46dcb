//! Durations of steps, from the data that they copy and the speeds.

use std::time::Duration;

use super::graph::StepIdx;
use super::opcode::Opcode;
use super::work::{MovedData, Relocation, Task, Work, WorkStep};
use htools_model::{Leg, Mib};

/// Kind of a leg of a move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LegKind {
    /// Live migration: its memory is copied while it runs.
    Migrates,
    /// Failover: it is started elsewhere, and its memory is lost.
    FailsOver,
    /// Its disks are copied.
    Syncs,
    /// It is stopped, its disks are copied, and it is started elsewhere.
    MovesDisks,
}

impl LegKind {
    fn copies_disks(&self) -> bool {
        matches!(self, LegKind::Syncs | LegKind::MovesDisks)
    }
}

/// Speeds: bandwidths in MiB/s (above 0) and times in seconds (0 or more).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rates {
    /// Bandwidth of live migration, in MiB/s.
    pub bandwidth: f64,
    /// Bandwidth of disk copies, in MiB/s.
    pub sync_rate: f64,
    /// Fixed time of a migration.
    pub migration: f64,
    /// Time of a failover, for stopping and starting the instance.
    pub failover: f64,
    /// Fixed time to replace a secondary.
    pub replace: f64,
    /// Time to change a node's flags or tags.
    pub change: f64,
    /// Time to switch the power of a node.
    pub power: f64,
    /// Boot time of a node.
    pub boot: f64,
    /// Time to resynchronise disks after a node was away.
    pub resync: f64,
    /// Time that the operator's command takes for a node.
    pub command: f64,
}

/// A network of 1 Gbit/s with some other traffic, and Ganeti's limit for DRBD (60 MiB/s).
impl Default for Rates {
    fn default() -> Rates {
        Rates {
            bandwidth: 100.0,
            sync_rate: 60.0,
            migration: 10.0,
            failover: 60.0,
            replace: 15.0,
            change: 2.0,
            power: 10.0,
            boot: 180.0,
            resync: 30.0,
            command: 60.0,
        }
    }
}

/// A step that was executed, and its duration.
#[derive(Debug, Clone, Copy)]
pub struct Measured<'w> {
    /// The step.
    pub step: &'w WorkStep,
    /// Time from the start of its job to the end.
    pub took: Duration,
}

impl Rates {
    /// Estimated duration of a step, in seconds.
    pub fn seconds(&self, step: &WorkStep) -> f64 {
        match &step.task {
            Task::Move(_) | Task::Cross(_) => self.of_ways(step, &ways(step)),
            Task::Drain | Task::Undrain | Task::Tag | Task::Untag | Task::SetOffline | Task::SetOnline => {
                self.change
            }
            Task::PowerOff | Task::PowerOn | Task::Reboot => self.power,
            Task::RebootByHand | Task::AwaitPerson => self.power + self.boot,
            Task::Maintain(_) => self.command,
            Task::AwaitBack(_) => self.boot,
            Task::CheckHealth | Task::CheckCluster(_) => self.change,
            Task::Resync => self.resync,
            Task::Stop | Task::Start => self.failover / 2.0,
            Task::Await => self.boot,
            Task::ConfirmEmpty => 0.0,
        }
    }

    /// Estimated duration of each step of a plan, in seconds.
    pub fn of(&self, work: &Work) -> Vec<f64> {
        work.steps.iter().map(|step| self.seconds(step)).collect()
    }

    fn of_ways(&self, step: &WorkStep, ways: &[LegKind]) -> f64 {
        let freight = step.freight.as_ref();
        let memory = freight.and_then(|freight| freight.memory).map_or(0.0, |mib| Mib(mib).as_f64());
        let disk = freight.map_or(0.0, |freight| Mib(freight.disk).as_f64());
        let seconds = |way: &LegKind| match way {
            LegKind::Migrates => self.migration + memory / self.bandwidth,
            LegKind::FailsOver => self.failover,
            LegKind::Syncs => self.replace + disk / self.sync_rate,
            LegKind::MovesDisks => self.failover + self.replace + disk / self.sync_rate,
        };
        ways.iter().map(seconds).sum()
    }

    /// The same with measured bandwidths. Each is the sum of copied data over the time left for copying: first from
    /// steps that only migrate, then from those that copy disks. The times of a maintenance are means. Speeds without
    /// measurements stay.
    #[must_use]
    pub fn refined(mut self, seen: &[Measured<'_>]) -> Rates {
        let known: Vec<(&Measured<'_>, Vec<LegKind>)> =
            seen.iter().map(|seen| (seen, ways(seen.step))).collect();
        let only = |wanted: LegKind| {
            let them =
                known.iter().filter(move |(_, ways)| !ways.is_empty() && ways.iter().all(|w| *w == wanted));
            them.map(|(seen, ways)| (*seen, ways.len() as f64))
        };
        let (mut copied, mut took) = (0.0, 0.0);
        for (Measured { step, took: time }, legs) in only(LegKind::Migrates) {
            let memory = step.freight.as_ref().and_then(|freight| freight.memory).unwrap_or(0);
            copied += legs * Mib(memory).as_f64();
            took += (time.as_secs_f64() - legs * self.migration).max(0.0);
        }
        self.bandwidth = speed(copied, took, self.bandwidth);
        let failovers: Vec<f64> =
            only(LegKind::FailsOver).map(|(seen, legs)| seen.took.as_secs_f64() / legs).collect();
        if !failovers.is_empty() {
            self.failover = failovers.iter().sum::<f64>() / failovers.len() as f64;
        }
        let (mut copied, mut took) = (0.0, 0.0);
        for (Measured { step, took: time }, ways) in
            known.iter().filter(|(_, ways)| ways.contains(&LegKind::Syncs))
        {
            let syncs = ways.iter().filter(|way| **way == LegKind::Syncs).count() as f64;
            let others: Vec<LegKind> = ways.iter().copied().filter(|way| *way != LegKind::Syncs).collect();
            copied += syncs * step.freight.as_ref().map_or(0.0, |freight| Mib(freight.disk).as_f64());
            took += (time.as_secs_f64() - syncs * self.replace - self.of_ways(step, &others)).max(0.0);
        }
        self.sync_rate = speed(copied, took, self.sync_rate);
        let mean = |is_wanted: fn(&Task) -> bool| {
            let its = seen.iter().filter(|seen| is_wanted(&seen.step.task));
            let times: Vec<f64> = its.map(|seen| seen.took.as_secs_f64()).collect();
            (!times.is_empty()).then(|| times.iter().sum::<f64>() / times.len() as f64)
        };
        self.boot = mean(|task| matches!(task, Task::AwaitBack(_))).unwrap_or(self.boot);
        self.command = mean(|task| matches!(task, Task::Maintain(_))).unwrap_or(self.command);
        self.resync = mean(|task| *task == Task::Resync).unwrap_or(self.resync);
        self
    }
}

fn speed(copied: f64, took: f64, otherwise: f64) -> f64 {
    if copied > 0.0 && took > 0.0 { copied / took } else { otherwise }
}

/// Kinds of the legs of a step, by its opcodes.
pub fn ways(step: &WorkStep) -> Vec<LegKind> {
    step.opcodes.iter().filter_map(|opcode| way(step, opcode)).collect()
}

/// Way in which an opcode moves the instance of a step, if it does.
pub fn way(step: &WorkStep, opcode: &Opcode) -> Option<LegKind> {
    let runs = step.freight.as_ref().is_some_and(|freight| freight.memory.is_some());
    match opcode {
        Opcode::Migrate { .. } if runs => Some(LegKind::Migrates),
        Opcode::Migrate { .. } | Opcode::Failover { .. } => Some(LegKind::FailsOver),
        Opcode::ReplaceDisks { .. } => Some(LegKind::Syncs),
        Opcode::MoveDisks { .. } => Some(LegKind::MovesDisks),
        _ => None,
    }
}

/// Source and target of each leg of a step that copies data.
pub(super) fn copies(step: &WorkStep) -> Vec<(String, String)> {
    let copied = |relocation: &Relocation| {
        let legs = relocation.mv.clone().legs().scan(relocation.from.clone(), |at, leg| {
            let to = leg.clone().from(at.clone());
            let from = std::mem::replace(at, to).primary;
            let to = if matches!(leg, Leg::ReplaceSecondary(_)) { at.secondary.clone() } else { None };
            Some((from, to.unwrap_or_else(|| at.primary.clone())))
        });
        legs.collect::<Vec<_>>()
    };
    step.relocations().iter().flat_map(copied).collect()
}

/// Tells if a step copies disks.
pub(super) fn syncs(step: &WorkStep) -> bool {
    step.task == Task::Resync || ways(step).iter().any(LegKind::copies_disks)
}

/// Data that a step copies: memory and disks.
pub fn data_of(step: &WorkStep) -> (Mib, Mib) {
    let ways = ways(step);
    let total = |is_wanted: fn(&LegKind) -> bool, size: fn(&MovedData) -> i64| {
        let times = ways.iter().filter(|way| is_wanted(way)).count() as i64;
        Mib(times.saturating_mul(step.freight.as_ref().map_or(0, size)))
    };
    let memory = total(|way| *way == LegKind::Migrates, |freight| freight.memory.unwrap_or(0));
    (memory, total(LegKind::copies_disks, |freight| freight.disk))
}

/// Data that a plan copies: memory and disks.
pub fn data(work: &Work) -> (Mib, Mib) {
    let each = || work.steps.iter().map(data_of);
    (each().map(|(memory, _)| memory).sum(), each().map(|(_, disk)| disk).sum())
}

/// The steps of a longest chain in which each waits for the one before, and its duration in seconds.
pub fn critical_path(work: &Work, seconds: &[f64]) -> (Vec<StepIdx>, f64) {
    let mut ends: Vec<(f64, Option<StepIdx>)> = seconds.iter().map(|time| (*time, None)).collect();
    // Edges are sorted by the step that waits, so its predecessors are done.
    for edge in &work.edges {
        let (before, after) = (edge.before.get(), edge.after.get());
        let end = ends[before].0 + seconds[after];
        if end > ends[after].0 || ends[after].1.is_none() {
            ends[after] = (end, Some(edge.before));
        }
    }
    let longest = |at: &usize, other: &usize| ends[*at].0.total_cmp(&ends[*other].0).then(other.cmp(at));
    let Some(last) = (0..ends.len()).max_by(longest) else { return (Vec::new(), 0.0) };
    let path = std::iter::successors(Some(StepIdx::new(last)), |step| ends[step.get()].1);
    let mut path: Vec<StepIdx> = path.collect();
    path.reverse();
    (path, ends[last].0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use htools_model::{Concession, Move, Placement};

    #[test]
    fn times_of_a_maintenance_are_learned() {
        use crate::work::Boots;
        let step = |task| WorkStep { subject: "n".to_owned(), task, opcodes: Vec::new(), freight: None };
        let steps = [
            step(Task::AwaitBack(Boots::Anew)),
            step(Task::AwaitBack(Boots::Maybe)),
            step(Task::Maintain(Boots::Anew)),
            step(Task::Resync),
        ];
        let measured = |(step, seconds)| Measured { step, took: Duration::from_secs(seconds) };
        let seen: Vec<Measured<'_>> = steps.iter().zip([100, 200, 7, 40]).map(measured).collect();
        let learned = Rates::default().refined(&seen);
        assert_eq!((learned.boot, learned.command, learned.resync), (150.0, 7.0, 40.0));
        assert_eq!(Rates::default().refined(&[]), Rates::default());
    }

    #[test]
    fn copies_follow_the_legs() {
        let place = |primary: &str, secondary: &str| Placement {
            primary: primary.to_owned(),
            secondary: Some(secondary.to_owned()),
        };
        let relocation = Relocation {
            mv: Move::ReplacePrimary("c".to_owned()),
            from: place("a", "b"),
            to: place("c", "b"),
            concession: Concession::None,
        };
        let step = WorkStep {
            subject: "i".to_owned(),
            task: Task::Move(relocation),
            opcodes: Vec::new(),
            freight: None,
        };
        let pair = |from: &str, to: &str| (from.to_owned(), to.to_owned());
        assert_eq!(copies(&step), [pair("a", "b"), pair("b", "c"), pair("b", "c")]);
    }
}
