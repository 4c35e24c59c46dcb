//! Views of a run: job numbers on standard output in the format that scripts know, a progress bar or one line per
//! event on standard error, and events for programs in a file.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::ExecutionStage;
use crate::execute::job::{JobId, JobStatus, RunInfo};
use crate::execute::lines::LineFile;
use crate::execute::nodes::{self, Handling};
use crate::execute::signals::{SignalWish, Signals};
use crate::execute::{Event, EventLine, JobClient, NodeTaskError, Report, RunHost, StepReport, StepState};
use crate::model::Mib;
use crate::model::number::counted;
use crate::plan::durations::{data, data_of};
use crate::plan::graph::StepIdx;
use crate::plan::jobset::Jobset;
use crate::plan::work::{Work, WorkStep};
use crate::report::form::file::open_stream;
use crate::tools::interrupts;
use crate::tools::output::Output;
use crate::tools::scarcity;

/// Status after SIGTERM or a second SIGINT.
const LEFT: i32 = 2;

/// The surroundings of a run started from a command line.
pub(in crate::tools) struct Console<'a> {
    output: &'a mut Output,
    work: &'a Work,
    signals: &'a Signals,
    handling: Handling,
    events: Option<Events>,
    /// True if standard output is reserved for a JSON document.
    json: bool,
    /// True if progress is reported.
    talkative: bool,
    bar: ProgressBar,
    running: usize,
    failed: usize,
    /// Data that finished steps have copied, and the total of all steps: memory and disks.
    moved: Mib,
    to_move: Mib,
    /// Positions of the steps of this run in the plan: all, or those of one batch of a maintenance.
    part: Range<usize>,
    /// Jobs already reported as running. Ganeti queues a job again between two opcodes, so its status can return to
    /// running.
    seen_running: HashSet<JobId>,
    began: Instant,
}

/// The event file of `--json-events`.
struct Events {
    path: PathBuf,
    file: LineFile,
    failed: bool,
}

impl<'a> Console<'a> {
    /// Begins to show progress.
    ///
    /// # Errors
    /// If the event file cannot be opened.
    pub(in crate::tools) fn begin(
        work: &'a Work,
        stage: &ExecutionStage<'a>,
        output: &'a mut Output,
    ) -> anyhow::Result<Console<'a>> {
        let events = stage.context.execution.json_events.as_ref().map(|path| {
            // All runs of one command share the file.
            let file = open_stream(path, stage.number > 1)?;
            anyhow::Ok(Events { path: path.clone(), file: LineFile::at_end(file)?, failed: false })
        });
        let events = events.transpose()?;
        // A signal could lose buffered output, so it is written now.
        output.flush()?;
        let talkative = stage.context.load.verbosity >= 1;
        let bar = bar(work.steps.len(), talkative && io::stderr().is_terminal());
        let began = Instant::now();
        let (memory, disk) = data(work);
        Ok(Console {
            output,
            work,
            signals: stage.signals,
            handling: stage.context.execution.handling.clone(),
            events,
            json: stage.context.silent,
            talkative,
            bar,
            running: 0,
            failed: 0,
            moved: Mib::ZERO,
            to_move: memory + disk,
            part: 0..work.steps.len(),
            seen_running: HashSet::new(),
            began,
        })
    }

    /// Limits the display to one batch of a maintenance.
    pub(in crate::tools) fn part(mut self, part: Range<usize>) -> Console<'a> {
        self.bar.set_length(u64::try_from(part.len()).unwrap_or(u64::MAX));
        let steps = self.work.steps[part.clone()].iter().map(data_of);
        self.to_move = steps.map(|(memory, disk)| memory + disk).sum();
        self.part = part;
        self
    }

    /// Writes a line about the run to standard error, if progress is reported.
    pub(in crate::tools) fn note(&mut self, text: &str) {
        if self.talkative {
            self.error_line(text);
        }
    }

    pub(in crate::tools) fn error_line(&mut self, text: &str) {
        let Console { output, bar, signals, .. } = self;
        // The run must go on even if nobody reads its output any more.
        let _ = bar.suspend(|| signals.whole(|| output.error_line(text)));
    }

    fn line(&mut self, text: &str) {
        let Console { output, bar, signals, .. } = self;
        let _ = bar.suspend(|| signals.whole(|| output.line(text).and_then(|()| output.flush())));
    }

    /// Ends the display. If some steps are not done, lists the state of each step and the advice in `way_out`.
    pub(in crate::tools) fn finish(&mut self, report: &Report, way_out: &[String]) {
        self.bar.finish_and_clear();
        let took = self.began.elapsed().as_secs();
        let steps = &report.steps[self.part.clone()];
        let done = steps.iter().filter(|step| step.state == StepState::Done).count();
        if done == steps.len() {
            self.note(&format!("All {done} steps are done, in {took} s"));
        } else {
            for line in table(self.work, report, self.part.clone()) {
                self.error_line(&line);
            }
            way_out.iter().for_each(|line| self.error_line(line));
        }
        if let Some(Events { path, failed: true, .. }) = &self.events {
            let text = format!("Warning: not all events could be written to '{}'", path.display());
            self.error_line(&text);
        }
    }

    fn name(&self, step: usize) -> String {
        let title = self.work.steps.get(step - 1).map_or_else(String::new, WorkStep::title);
        format!("Step {step}, {title}")
    }

    fn record(&mut self, event: &Event) {
        let at = self.now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        let Some(events) = &mut self.events else { return };
        let line = EventLine { at: u64::try_from(at).unwrap_or(u64::MAX), event };
        let written =
            serde_json::to_string(&line).map_err(io::Error::from).and_then(|text| events.file.append(&text));
        events.failed |= written.is_err();
    }

    /// Updates the bar, or writes a line, for an event.
    fn show(&mut self, event: &Event) {
        if !self.talkative {
            return;
        }
        let lines = !io::stderr().is_terminal();
        match event {
            Event::Submitted { steps, jobs, .. } => {
                self.running += jobs.len();
                for (step, job) in steps.iter().zip(jobs).filter(|_| lines) {
                    let text = format!("{}: job {job} submitted", self.name(*step));
                    self.error_line(&text);
                }
            }
            Event::Status { step, job, status, .. } => {
                if status.is_final() {
                    self.running = self.running.saturating_sub(1);
                } else if lines && *status == JobStatus::Running && self.seen_running.insert(*job) {
                    let text = format!("{}: job {job} running", self.name(*step));
                    self.error_line(&text);
                }
            }
            Event::StepEnded { step, state, message, .. } => {
                match state {
                    StepState::Done => {
                        self.bar.inc(1);
                        if let Some(step) = self.work.steps.get(step - 1) {
                            let (memory, disk) = data_of(step);
                            self.moved += memory + disk;
                        }
                    }
                    _ => self.failed += 1,
                }
                let why = message.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
                if lines || *state != StepState::Done {
                    let text = format!("{}: {}{why}", self.name(*step), state.as_str());
                    self.error_line(&text);
                }
            }
            Event::Again { step, problem, pause, .. } => {
                let name = self.name(*step);
                self.error_line(&format!("{name}: {problem}; submitted again in {} s", pause.as_secs()));
            }
            Event::Waiting { title, .. } => self.error_line(&format!("Going to {title}")),
            Event::Warning { title, problem, .. } => {
                self.error_line(&format!("Warning: {title}: {problem}; the run goes on"));
            }
            Event::Paused => self.error_line("Paused: no new steps are begun until the next SIGUSR1"),
            Event::Continued => self.error_line("Continued"),
            Event::Stopping { why } => self.error_line(&format!("No new steps are begun: {why}")),
            Event::ConnectionLost { problem, pause, .. } => {
                self.error_line(&format!("{problem}; next attempt in {} s", pause.as_secs()));
            }
            Event::ConnectionBack => self.error_line("Ganeti answers again"),
            Event::Unclear { problem, .. } => {
                self.error_line(&format!("{problem}; looking for the jobs in Ganeti's queue"));
            }
            Event::Ended { .. } => {}
        }
        let done = usize::try_from(self.bar.position()).unwrap_or(usize::MAX);
        let begun = done.saturating_add(self.running + self.failed);
        let waiting = self.part.len().saturating_sub(begun);
        self.bar.set_message(counts(self.running, waiting, self.failed) + &copied(self.moved, self.to_move));
    }
}

impl RunHost for Console<'_> {
    fn event(&mut self, event: &Event) {
        self.record(event);
        if let Event::Submitted { jobs, .. } = event {
            let jobs: Vec<String> = jobs.iter().map(ToString::to_string).collect();
            if !self.json {
                self.line(&format!("Got job IDs {}", jobs.join(",")));
            }
        }
        self.show(event);
    }

    fn wants_to_stop(&self) -> bool {
        self.signals.wants_to_stop()
    }

    fn is_paused(&self) -> bool {
        self.signals.is_paused()
    }

    fn perform(
        &mut self,
        client: &mut dyn JobClient,
        run: &RunInfo,
        step: &WorkStep,
    ) -> Result<(), NodeTaskError> {
        self.note(&format!("Going to {}", step.title()));
        let handling = self.handling.clone();
        nodes::perform(self, client, run, step, &handling)
    }

    fn pause(&mut self, time: Duration) {
        thread::sleep(time);
    }

    fn now(&self) -> SystemTime {
        SystemTime::now()
    }
}

/// Listens for signals. The handler writes its messages directly to the stream, because the main thread holds the
/// output.
pub(super) fn listen(json: bool) -> io::Result<Signals> {
    let stream: OwnedFd = if json {
        io::stderr().as_fd().try_clone_to_owned()?
    } else {
        io::stdout().as_fd().try_clone_to_owned()?
    };
    let stream = File::from(stream);
    let signals = Signals::listen(LEFT, move |wish| {
        let text = match wish {
            SignalWish::Stop => "Cancel request registered, will exit at the end of the current job set...\n",
            SignalWish::Leave => "Double cancel request, exiting now...\n",
        };
        // The sender of the signal may have closed the stream.
        let _ = (&stream).write_all(text.as_bytes());
    })?;
    interrupts::retire();
    Ok(signals)
}

/// Amount of data copied so far; empty if the plan copies none.
fn copied(done: Mib, all: Mib) -> String {
    let gib = |size: Mib| size.as_f64() / 1024.0;
    if all > Mib::ZERO { format!(", {:.1} of {:.1} GiB moved", gib(done), gib(all)) } else { String::new() }
}

fn counts(running: usize, waiting: usize, failed: usize) -> String {
    let (jobs, steps) = (counted(running, "job"), counted(waiting, "step"));
    format!("{jobs} running, {steps} waiting, {failed} failed")
}

fn bar(steps: usize, shown: bool) -> ProgressBar {
    let target = if shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let bar = ProgressBar::with_draw_target(u64::try_from(steps).ok(), target);
    // The template is constant and known to be valid; the default style would do as well.
    if let Ok(style) = ProgressStyle::with_template("[{bar:30}] {pos}/{len} steps done, {msg}, {eta} left") {
        bar.set_style(style.progress_chars("=> "));
    }
    bar.set_message(counts(0, steps, 0));
    if shown && scarcity::has_threads() {
        bar.enable_steady_tick(Duration::from_millis(500));
    }
    bar
}

/// State of each step, one line per step.
fn table(work: &Work, report: &Report, part: Range<usize>) -> Vec<String> {
    let begin = part.start;
    let steps = &work.steps[part.clone()];
    let width = steps.iter().map(|step| step.title().chars().count()).max().unwrap_or(0);
    let row = |(at, (step, report)): (usize, (&WorkStep, &StepReport))| {
        let state = report.message.as_ref().map_or_else(
            || report.state.as_str().to_owned(),
            |why| format!("{}: {why}", report.state.as_str()),
        );
        format!("  {:3}. {:width$} {state}", begin + at + 1, step.title())
    };
    let rows = steps.iter().zip(&report.steps[part]).enumerate().map(row);
    std::iter::once("Steps:".to_owned()).chain(rows).collect()
}

/// Lines that scripts expect from a run that ended early on request.
pub(super) fn interrupted(work: &Work, report: &Report) -> Vec<String> {
    let begun =
        |set: &&Jobset| set.iter().any(|step| report.steps[step.get()].state != StepState::NotStarted);
    let (submitted, others): (Vec<_>, Vec<_>) = work.jobsets.iter().partition(begun);
    let names = |set: &[StepIdx]| -> String {
        let names: Vec<String> = set.iter().map(|step| work.step(*step).title()).collect();
        format!("  Executing jobset for instances {}", names.join(","))
    };
    let jobs = |set: &[StepIdx]| -> String {
        let jobs = set.iter().flat_map(|step| &report.steps[step.get()].jobs);
        jobs.map(ToString::to_string).collect::<Vec<_>>().join(",")
    };
    let mut lines = vec!["Exiting early due to user request, ".to_owned()];
    lines.push(format!("{}jobset(s) submitted: ", submitted.len()));
    lines.extend(submitted.iter().map(|set| format!("{}: jobs {}", names(set), jobs(set))));
    lines.push(format!("{} jobset(s) not submitted:", others.len()));
    lines.extend(others.iter().map(|set| names(set)));
    lines
}
