//! The planner and the surroundings of a maintenance that is carried out: it reads the cluster before each batch, and
//! shows what happens.

use std::collections::BTreeSet;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use super::master::{Handover, hand_over};
use super::need::{KnownNeed, Needless};
use crate::execute::disks;
use crate::execute::job::RunInfo;
use crate::execute::journal::{Header, Read};
use crate::execute::maintenance::{
    BatchKind, BatchProposal, BegunBatch, CommandFate, CommandRun, LeftNode, MaintenanceHost,
    MaintenanceProgress, MaintenanceTerms, NodeCommands, NodeStage, PlannedBatch,
};
use crate::execute::{Event, JobClient, NodeTaskError, Report, RunHost, RunTerms};
use crate::model::Cluster;
use crate::model::number::counted;
use crate::model::shown::shown_name;
use crate::plan::durations::Rates;
use crate::plan::maintenance::Closing;
use crate::plan::stream::PlanSchedule;
use crate::plan::work::{Work, WorkStep};
use crate::report::rolling::text::unmaintained;
use crate::search::maintenance::{
    BatchPlanner, NextBatch, Unmaintained, closing_batch, held_on_newer, problem_after,
};
use crate::tools::execution::{
    Console, ExecutionContext, ExecutionStage, cleanup_lines, history, read_again,
};
use crate::tools::output::Output;

/// Attempts to read the cluster, which may be changing its master.
const READINGS: u32 = 12;
/// Longest pause between two of them.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// Longest time for the answer about the disks of instances.
const DISKS: Duration = Duration::from_secs(60);
/// Age up to which the cluster as it was read serves for another check.
const FRESH: Duration = Duration::from_secs(5);

/// The surroundings of a maintenance.
pub(super) struct Site<'a> {
    pub stage: ExecutionStage<'a>,
    pub output: &'a mut Output,
    pub commands: NodeCommands,
    pub journal: &'a std::path::Path,
    pub rates: Rates,
    /// True if the cluster is asked over LUXI, on its master node.
    pub is_local: bool,
    pub need: KnownNeed,
    /// Number of batches that this program has begun.
    pub batches: usize,
}

impl Site<'_> {
    fn context(&self) -> &ExecutionContext<'_> {
        self.stage.context
    }

    /// Writes a line to standard error, unless the run is to be quiet.
    pub(super) fn say(&mut self, text: &str) {
        if self.context().load.verbosity >= 1 {
            // The run goes on even if nobody reads its output any more.
            let _ = self.output.error_line(text);
        }
    }

    /// Repeats a question to the cluster for some minutes.
    pub(super) fn persist<T>(&mut self, mut ask: impl FnMut() -> Result<T, String>) -> Result<T, String> {
        let mut attempt = 1;
        loop {
            match ask() {
                Ok(answer) => return Ok(answer),
                Err(why) if attempt == READINGS || self.stage.signals.wants_to_stop() => return Err(why),
                Err(why) => {
                    let pause = Duration::from_secs(1 << attempt.min(5)).min(LONGEST_PAUSE);
                    self.say(&format!("{why}; next attempt in {} s", pause.as_secs()));
                    thread::sleep(pause);
                    attempt += 1;
                }
            }
        }
    }

    fn read_cluster(&mut self) -> Result<Cluster, String> {
        let load = self.stage.context.load;
        self.persist(|| read_again(load).map_err(|error| format!("{error:#}")))
    }

    /// Nodes of a batch that the operator's commands leave out.
    fn needless(&mut self, terms: &MaintenanceTerms, nodes: &[String]) -> Vec<LeftNode> {
        let limit = Duration::from_secs(terms.limits.command);
        let Needless { left, warnings } = self.need.needless(&terms.commands, limit, nodes);
        for warning in warnings {
            self.say(&format!("Warning: {warning}"));
        }
        left
    }

    /// Tells if work that begins now ends in time.
    fn is_in_time(&self, work: &Work) -> bool {
        let Some(deadline) = self.context().deadline else { return true };
        let limits = self.context().execution.limits;
        let seconds = PlanSchedule::best(work, &self.rates.of(work), limits).1.total();
        let takes = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
        SystemTime::now().checked_add(takes).is_some_and(|end| end <= deadline)
    }
}

fn named(cluster: &Cluster, left: Vec<Unmaintained>) -> Vec<LeftNode> {
    let named = |left: Unmaintained| LeftNode { why: unmaintained(cluster, left.why), node: left.node };
    left.into_iter().map(named).collect()
}

impl MaintenanceHost for Site<'_> {
    fn next(
        &mut self,
        client: &mut dyn JobClient,
        read: &Read,
        progress: &MaintenanceProgress,
        given_up: &BTreeSet<String>,
    ) -> Result<BatchProposal, String> {
        let Some(terms) = &read.header.maintenance else { return Err("no maintenance".to_owned()) };
        loop {
            let master = self.persist(|| client.master().map_err(|error| error.to_string()))?;
            let cluster = self.read_cluster()?;
            let planner = BatchPlanner {
                cluster: &cluster,
                terms,
                progress,
                given_up,
                master: &master,
                has_soaked: read.course.soaks_until.is_some(),
                rates: &self.rates,
                limits: self.context().execution.limits,
            };
            let batch = match planner.next().map_err(|error| error.to_string())? {
                NextBatch::Soak(time) => {
                    self.say(&format!("The next batch begins in {} s", time.as_secs()));
                    return Ok(BatchProposal::Soak(time));
                }
                NextBatch::End(left) => {
                    return Ok(BatchProposal::End { left: named(&cluster, left), is_late: false });
                }
                NextBatch::Master(left) => {
                    let done = progress.at(&NodeStage::Done);
                    match hand_over(self, client, read, &master, &done, given_up)? {
                        Handover::Done => continue,
                        Handover::Refused(why) => {
                            let mut left = named(&cluster, left);
                            left.push(LeftNode { node: master, why });
                            return Ok(BatchProposal::End { left, is_late: false });
                        }
                    }
                }
                NextBatch::Maintain(batch) => batch,
            };
            let skipped = self.needless(terms, &batch.nodes);
            if !skipped.is_empty() {
                for LeftNode { node, why } in &skipped {
                    self.say(&format!("{}: {why}", shown_name(node)));
                }
                return Ok(BatchProposal::Skip(skipped));
            }
            if !self.is_in_time(&batch.work) {
                return Ok(BatchProposal::End { left: Vec::new(), is_late: true });
            }
            self.need.clear();
            return Ok(BatchProposal::Maintain(batch));
        }
    }

    fn close(
        &mut self,
        _: &mut dyn JobClient,
        terms: &MaintenanceTerms,
        progress: &MaintenanceProgress,
        nodes: &[String],
        closing: Closing,
    ) -> Result<PlannedBatch, String> {
        let cluster = self.read_cluster()?;
        if closing == Closing::CallOff {
            for instance in held_on_newer(&cluster, terms, progress) {
                let name = shown_name(&cluster.instance(instance).name).to_string();
                self.say(&format!("Instance '{name}' stays where it is, as its own node is not upgraded"));
            }
        }
        closing_batch(&cluster, terms, progress, nodes, closing).map_err(|error| error.to_string())
    }

    fn run_terms(&mut self, work: &Work) -> RunTerms {
        let boot = self.context().execution.handling.boot;
        RunTerms { seconds: self.rates.of(work), deadline: None, boot }
    }

    fn batch(
        &mut self,
        header: &Header,
        batch: &BegunBatch,
        run: &mut dyn FnMut(&mut dyn RunHost) -> Report,
    ) -> Report {
        self.batches += 1;
        let names: Vec<String> = batch.nodes.iter().map(|node| shown_name(node).to_string()).collect();
        let what = match batch.kind {
            BatchKind::Maintain => "Maintaining",
            BatchKind::Finish => "Finishing",
            BatchKind::CallOff => "Putting back into use",
        };
        let steps = counted(batch.steps.len(), "step");
        self.say(&format!("{what} {}: {steps}", names.join(", ")));
        if let Some(warning) = history::batch(header, &batch.steps) {
            // The run goes on even if nobody reads its output any more.
            let _ = self.output.error_line(&warning);
        }
        let stage = ExecutionStage { number: self.batches, ..self.stage };
        let console = Console::begin(&header.work, &stage, self.output);
        let console = match console {
            Ok(console) => console.part(batch.steps.clone()),
            Err(error) => {
                let ending = crate::execute::Ending::Unrecorded(format!("{error:#}"));
                return Report { ending, steps: Vec::new() };
            }
        };
        let mut host =
            BatchHost { console, commands: &mut self.commands, stage: self.stage, header, batch, read: None };
        let report = run(&mut host);
        host.console.finish(&report, &cleanup_lines(header, &report, self.journal));
        report
    }

    fn wants_to_stop(&self) -> bool {
        self.stage.signals.wants_to_stop()
    }

    fn pause(&mut self, time: Duration) {
        thread::sleep(time);
    }

    fn now(&self) -> SystemTime {
        SystemTime::now()
    }
}

/// The surroundings of one batch.
struct BatchHost<'b> {
    console: Console<'b>,
    commands: &'b mut NodeCommands,
    stage: ExecutionStage<'b>,
    header: &'b Header,
    batch: &'b BegunBatch,
    /// The cluster as it was last read.
    read: Option<(Instant, Cluster)>,
}

impl BatchHost<'_> {
    fn cluster(&mut self) -> Result<&Cluster, String> {
        let is_fresh = self.read.as_ref().is_some_and(|(at, _)| at.elapsed() < FRESH);
        if !is_fresh {
            let cluster = read_again(self.stage.context.load).map_err(|error| format!("{error:#}"))?;
            self.read = Some((Instant::now(), cluster));
        }
        self.read.as_ref().map(|(_, cluster)| cluster).ok_or_else(|| "the cluster was not read".to_owned())
    }

    /// First instance whose disks are not in sync.
    fn disks_out_of_sync(&mut self, client: &mut dyn JobClient, instances: &[String]) -> Option<String> {
        // Jobs of the run itself are found again by their comments.
        let run =
            RunInfo { comment: "checking disks after a maintenance".to_owned(), ..self.header.run.clone() };
        let found = match disks::survey(client, self, &run, instances, DISKS) {
            Ok(found) => found,
            Err(error) => return Some(format!("the state of the disks is unknown: {error}")),
        };
        let name = |name: &String| shown_name(name).to_string();
        if let Some((instance, done)) = found.syncing.iter().min_by(|one, other| one.0.cmp(other.0)) {
            return Some(format!("the disks of instance '{}' are in sync to {done:.0} %", name(instance)));
        }
        let faulty = found.faults.keys().min();
        faulty.map(|instance| format!("the disks of instance '{}' are not in sync", name(instance)))
    }
}

impl RunHost for BatchHost<'_> {
    fn event(&mut self, event: &Event) {
        self.console.event(event);
    }

    fn wants_to_stop(&self) -> bool {
        self.console.wants_to_stop()
    }

    fn is_paused(&self) -> bool {
        self.console.is_paused()
    }

    fn perform(
        &mut self,
        client: &mut dyn JobClient,
        run: &RunInfo,
        step: &WorkStep,
    ) -> Result<(), NodeTaskError> {
        self.console.perform(client, run, step)
    }

    fn start_command(&mut self, run: &CommandRun<'_>) -> Result<(), NodeTaskError> {
        self.commands.start(run)
    }

    fn command_fate(&mut self, run: &CommandRun<'_>) -> CommandFate {
        self.commands.fate(run)
    }

    fn kill_command(&mut self, run: &CommandRun<'_>) {
        self.commands.kill(run);
    }

    fn check_cluster(&mut self, client: &mut dyn JobClient, instances: &[String]) -> Result<(), String> {
        let batch = self.batch;
        let cluster = self.cluster()?;
        if let Some(problem) = problem_after(cluster, batch, instances) {
            return Err(problem);
        }
        let is_mirrored =
            |name: &&String| cluster.instances.iter().any(|i| i.name == **name && i.template.has_secondary());
        let mirrored: Vec<String> = instances.iter().filter(is_mirrored).cloned().collect();
        self.disks_out_of_sync(client, &mirrored).map_or(Ok(()), Err)
    }

    fn pause(&mut self, time: Duration) {
        self.console.pause(time);
    }

    fn now(&self) -> SystemTime {
        self.console.now()
    }
}
