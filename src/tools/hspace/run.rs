//! An estimate: from a loaded cluster to the two allocations and their views.

use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::anyhow;

use super::request::FillRequest;
use super::{ExitStatus, HspaceOptions, SPEC};
use crate::model::Cluster;
use crate::report::balance::components::{components, score};
use crate::report::form::json;
use crate::report::space::html::SpaceReport;
use crate::report::space::map::allocation_map;
use crate::report::space::{AllocationKind, AllocationRun, FillStart, Form};
use crate::report::{self, debug};
use crate::score::Board;
use crate::search::Deadline;
use crate::search::fill::{FillGround, FillWatch, Filled};
use crate::search::place::NoTargets;
use crate::tools::interrupts::Interruptible;
use crate::tools::listing;
use crate::tools::output::Output;
use crate::tools::progress::Progress;
use crate::tools::reporting;
use crate::tools::save::save_cluster;

/// State shared by all parts of an estimate.
struct Estimate<'a> {
    options: &'a HspaceOptions,
    cluster: &'a Cluster,
    /// Form of the lines on standard output; none if a document is printed.
    form: Option<Form>,
    start: FillStart,
    output: &'a mut Output,
}

/// Estimates how many more instances the cluster can hold.
pub(super) fn run(
    options: &HspaceOptions,
    cluster: &Cluster,
    output: &mut Output,
) -> anyhow::Result<ExitStatus> {
    let request = FillRequest::of(options, cluster)?;
    request.check_end(options)?;
    let template = request.settings.template.as_str();
    // Scripts must get the standard error that they know, so the note is only for people.
    let for_people = options.load.verbosity > 0 && io::stderr().is_terminal();
    if options.disk_template.is_none() && for_people {
        let note = format!("Note: disk template '{template}', the first of the cluster's policy, is used");
        output.error_line(&note)?;
    }
    let form = if options.output.machine_readable { Form::Shell } else { Form::Text };
    let form = (!options.output.json).then_some(form);
    let start = FillStart::of(cluster, request.settings);
    let mut estimate = Estimate { options, cluster, form, start, output };
    estimate.introduce()?;
    let deadline = Interruptible::begin(options.limits.time_limit)?;
    let ground = FillGround::of_until(cluster, request.settings, &deadline);
    estimate.describe(&ground)?;
    request.check_sizes()?;
    if !ground.hopeless && ground.template_is_nowhere_allowed(cluster) {
        let why = format!("the policy of no node group with usable nodes allows disk template '{template}'");
        estimate.output.error_line(&format!("Note: {why}"))?;
    }

    let [tiered, standard] = fill(&ground, cluster, &request, &deadline);
    drop(deadline);
    let tiered = AllocationRun::of(
        AllocationKind::Tiered,
        &request.tiered,
        tiered.map_err(no_targets_error)?,
        ground.hopeless,
    );
    estimate.report(&tiered)?;
    let standard = standard.map_err(no_targets_error)?;
    let standard =
        AllocationRun::of(AllocationKind::Standard, &[request.standard], standard, ground.hopeless);
    let standard = match options.proof {
        true => standard.with_bound(ground.most(cluster, request.standard)),
        false => standard,
    };
    estimate.report(&standard)?;
    let runs = [&tiered, &standard];
    estimate.output.figures(|sheet| report::space::metrics::tell(sheet, cluster, &runs));
    estimate.finish(&ground, runs)
}

/// Results of the tiered and the standard allocation.
type Outcomes = [Result<Filled, NoTargets>; 2];

/// Makes both allocations in parallel, until they are complete or the time is up.
pub(super) fn fill(
    ground: &FillGround,
    cluster: &Cluster,
    request: &FillRequest,
    deadline: &Deadline,
) -> Outcomes {
    let progress = Progress::start();
    let counts = [AtomicUsize::new(0), AtomicUsize::new(0)];
    let placed = |which: usize, count: usize| {
        counts[which].store(count, Ordering::Relaxed);
        let [tiered, standard] = [0, 1].map(|at| counts[at].load(Ordering::Relaxed));
        progress.say(format!("{tiered} instances placed in tiers, {standard} of the standard size"));
    };
    let (in_tiers, standard) = (|count| placed(0, count), |count| placed(1, count));
    let watches = [&FillWatch { deadline, placed: &in_tiers }, &FillWatch { deadline, placed: &standard }];
    request.fill(ground, cluster, watches)
}

/// Error for the absence of any node to try.
fn no_targets_error(why: NoTargets) -> anyhow::Error {
    let what = match why {
        NoTargets::NoOnlineNodes => "no node is online",
        NoTargets::NotEnoughOnlineNodes => "no group has two online nodes",
        NoTargets::UnsupportedNumber => "instances can use only one node or two",
    };
    anyhow!("new instances have no allowed nodes: {what}")
}

impl Estimate<'_> {
    fn print(&mut self, lines: impl FnOnce(Form, &FillStart) -> Vec<String>) -> anyhow::Result<()> {
        let lines = self.form.map(|form| lines(form, &self.start)).unwrap_or_default();
        Ok(lines.iter().try_for_each(|line| self.output.line(line))?)
    }

    /// Prints the initial state of the cluster.
    fn introduce(&mut self) -> anyhow::Result<()> {
        let (cluster, level) = (self.cluster, self.options.load.verbosity);
        if level > 1 && !cluster.common_suffix.is_empty() {
            let note = format!("Note: Stripping common suffix of '{}' from names", cluster.common_suffix);
            self.output.error_line(&note)?;
        }
        self.list_nodes("Initial cluster", cluster)?;
        if level > 2 {
            let metrics = Board::new(cluster, &cluster.all_nodes()).components();
            let title = format!("Initial coefficients: overall {}", score(metrics.score()));
            self.output.error_line(&title)?;
            components(&metrics).iter().try_for_each(|line| self.output.error_line(line))?;
        }
        self.print(|form, start| form.cluster(start))
    }

    fn list_nodes(&mut self, title: &str, cluster: &Cluster) -> anyhow::Result<()> {
        if let Some(fields) = &self.options.output.print_nodes {
            listing::nodes(self.output, title, cluster, &cluster.all_nodes(), fields)?;
        }
        Ok(())
    }

    /// Prints the limits of the search at high verbosity.
    fn describe(&mut self, ground: &FillGround) -> anyhow::Result<()> {
        if self.options.load.verbosity <= 3 {
            return Ok(());
        }
        let cluster = self.cluster;
        if !ground.bad_nodes.is_empty() {
            let names = ground.bad_nodes.iter().map(|n| cluster.node(*n).spec.name.as_str());
            self.output.error_line(&format!("Bad nodes: {}", debug::list(names)))?;
        }
        if !ground.bad_groups.is_empty() {
            let names = ground.bad_groups.iter().map(|g| cluster.group(*g).name.as_str());
            self.output.error_line(&format!("Bad groups: {}", debug::list(names)))?;
        }
        let pairs = self.start.settings.required_nodes() == 2;
        let targets = debug::targets(cluster, ground.targets.as_ref().ok(), pairs);
        Ok(self.output.error_line(&format!("Allocatable nodes: {targets}"))?)
    }

    /// Prints and saves an allocation in all requested forms.
    fn report(&mut self, run: &AllocationRun) -> anyhow::Result<()> {
        self.print(|form, start| form.request(start, run))?;
        if self.options.load.verbosity > 1 {
            let lines = allocation_map(&self.start, run);
            lines.iter().try_for_each(|line| self.output.error_line(line))?;
        }
        let (title, suffix, when) = match run.kind {
            AllocationKind::Tiered => ("Tiered allocation", "tiered", "after tiered allocation"),
            AllocationKind::Standard => ("Standard allocation", "standard", "after standard allocation"),
        };
        if let Some(stopped) = run.filled.stopped {
            let (subject, count) = (stopped.subject(), run.allocated());
            let what = title.to_lowercase();
            self.output.error_line(&format!("{subject} ended the {what} after {count} instances"))?;
        }
        let cluster = &run.filled.cluster;
        self.list_nodes(title, cluster)?;
        save_cluster(self.options.output.save.as_deref(), suffix, when, cluster, self.output)?;
        self.print(|form, start| form.result(start, run))
    }

    fn finish(mut self, ground: &FillGround, runs: [&AllocationRun; 2]) -> anyhow::Result<ExitStatus> {
        self.print(|form, _| form.end())?;
        if self.form.is_none() {
            let document =
                report::space::json::document(&self.start, self.cluster, ground, self.options.limit(), runs);
            json::write(&document, self.output.stdout())?;
        }
        let [tiered, standard] = runs;
        let page = SpaceReport { cluster: self.cluster, start: &self.start, ground, tiered, standard };
        reporting::write(SPEC.name, &self.options.output, || Ok(page.page()))?;
        Ok(ExitStatus::Success)
    }
}
