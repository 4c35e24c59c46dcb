//! `hbal -X`: the plan is checked against the cluster as it is now, then carried out.

use std::io;
use std::path::Path;

use anyhow::{Context, bail};

use super::HbalOptions;
use super::run::{Plan, print_document, run};
use crate::execute::journal::{self, Header};
use crate::execute::{JobClient, Runner};
use crate::load::error::shown_name;
use crate::model::Cluster;
use crate::plan::checker::{CheckOptions, check};
use crate::plan::fresh::{differences, repeated_name};
use crate::plan::work::{Place, Relocation, Task, Work};
use crate::report::json::plan::Stopped;
use crate::tools::execution::{self, Answer, Console, Order, ask};
use crate::tools::output::Output;
use crate::tools::{ExitStatus, source};

/// How often a plan is made anew because the cluster has changed meanwhile.
const ATTEMPTS: usize = 5;
/// Most changes that are listed.
const SHOWN: usize = 5;

/// Makes a plan and, if that is wanted, carries it out.
pub fn plan_and_execute(
    options: &HbalOptions,
    mut cluster: Cluster,
    output: &mut Output,
) -> anyhow::Result<ExitStatus> {
    for attempt in 1..=ATTEMPTS {
        let ran = run(options, &mut cluster, output)?;
        let Some(mut plan) = ran.plan else { return Ok(ran.status) };
        output.flush()?;
        let document = plan.document.take();
        let Some(mut client) = execution::client(&options.load.source)? else {
            print_document(document, output)?;
            bail!("hbal: plans can be executed over LUXI (-L) and RAPI (-m) only");
        };
        if plan.stopped == Some(Stopped::Interrupt) {
            print_document(document, output)?;
            output.error_line("The search was interrupted, so nothing is executed.")?;
            return Ok(ExitStatus::Failure);
        }
        if let Some(name) = repeated_name(&plan.before, plan.group) {
            print_document(document, output)?;
            bail!("hbal: two instances are called '{}', so nothing is executed", shown_name(name));
        }
        let work = Work::of(&plan.before, &plan.steps, wanted_sets(options, &plan));
        if !options.execution.yes && ask(&question(&work, options.json), output)? == Answer::No {
            print_document(document, output)?;
            output.error_line("Nothing was executed.")?;
            return Ok(ExitStatus::Failure);
        }
        let now = read_again(options)?;
        let changes = changes(options, &plan, &work, &now);
        if changes.is_empty() || attempt == ATTEMPTS {
            // no other plan will be made
            print_document(document, output)?;
        }
        if changes.is_empty() {
            return carry_out(options, &plan, work, &mut *client, output);
        }
        announce(&changes, attempt < ATTEMPTS, output)?;
        cluster = now;
    }
    bail!("hbal: the cluster changes faster than plans can be made; nothing was executed")
}

fn wanted_sets<'a>(options: &HbalOptions, plan: &'a Plan) -> &'a [Vec<usize>] {
    let wanted = if options.first_job_group { 1 } else { usize::MAX };
    &plan.jobsets[..plan.jobsets.len().min(wanted)]
}

/// What is asked; where the plan is not to be seen yet, with its steps.
fn question(work: &Work, unseen: bool) -> String {
    let place = |place: &Place| match &place.secondary {
        Some(secondary) => format!("{}:{secondary}", place.primary),
        None => place.primary.clone(),
    };
    let mut text = String::new();
    for (at, step) in work.steps.iter().enumerate().filter(|_| unseen) {
        if let Task::Move(Relocation { from, to, .. }) = &step.task {
            text += &format!("{:3}. {} {} => {}\n", at + 1, step.subject, place(from), place(to));
        }
    }
    text + &match work.steps.len() {
        1 => "Execute this step?".to_owned(),
        count => format!("Execute these {count} steps?"),
    }
}

/// The cluster as it is now, with the options applied; what was said at the first
/// reading is not said again.
fn read_again(options: &HbalOptions) -> anyhow::Result<Cluster> {
    let mut silence = Output::to(Box::new(io::sink()), Box::new(io::sink()));
    let mut cluster = source::load(&options.load, &mut silence)?;
    // the search does not find what was named and is gone, and says so itself
    let _ = source::apply_node_settings(&mut cluster, &options.load);
    Ok(cluster)
}

/// What keeps a plan from being carried out on the cluster as it is now.
fn changes(options: &HbalOptions, plan: &Plan, work: &Work, now: &Cluster) -> Vec<String> {
    let found = differences(&plan.before, plan.group, now);
    if !found.is_empty() {
        return found;
    }
    let all: Vec<usize> = (0..work.steps.len()).collect();
    let uuid = &plan.before.group(plan.group).uuid;
    violation(work, &all, uuid, options.ignore_soft_errors, now).into_iter().collect()
}

/// The first of these steps that must not be carried out on a cluster.
fn violation(
    work: &Work,
    steps: &[usize],
    group: &str,
    ignore_soft_errors: bool,
    now: &Cluster,
) -> Option<String> {
    let Some(group) = now.groups.iter().find(|known| known.uuid == group) else {
        return Some(format!("there is no node group '{group}'"));
    };
    let steps = match work.steps_on(now, steps) {
        Ok(steps) => steps,
        Err(unknown) => return Some(unknown.to_string()),
    };
    let nodes = now.nodes_of(group.idx);
    check(now, &nodes, &steps, CheckOptions { ignore_soft_errors }).err().map(|found| found.to_string())
}

fn announce(changes: &[String], again: bool, output: &mut Output) -> io::Result<()> {
    let then = if again { ", so the plan is made anew" } else { "" };
    output.error_line(&format!("The cluster has changed since it was read{then}:"))?;
    for change in changes.iter().take(SHOWN) {
        output.error_line(&format!("  {change}"))?;
    }
    match changes.len().saturating_sub(SHOWN) {
        0 => Ok(()),
        more => output.error_line(&format!("  and {more} more")),
    }
}

fn carry_out(
    options: &HbalOptions,
    plan: &Plan,
    work: Work,
    client: &mut dyn JobClient,
    output: &mut Output,
) -> anyhow::Result<ExitStatus> {
    let order = Order {
        tool: super::SPEC.name,
        purpose: "rebalancing via hbal",
        group: &plan.before.group(plan.group).uuid,
        ignore_soft_errors: options.ignore_soft_errors,
        work,
    };
    execution::carry_out(order, client, &options.execution, &options.load, options.json, output)
}

/// Goes on with the run of a journal.
pub fn resume(options: &HbalOptions, path: &Path, output: &mut Output) -> anyhow::Result<ExitStatus> {
    let Some(mut client) = execution::client(&options.load.source)? else {
        bail!("hbal: --resume needs the cluster: --luxi or --master");
    };
    let (journal::Read { header, state, .. }, journal) = journal::open(path)?;
    let cluster = client.cluster().context(super::SPEC.name)?;
    execution::check_resumed(&header, super::SPEC.name, &cluster, client.joins_opcodes(), path)?;
    if state.steps().all(|step| state.is_done(step)) {
        output.error_line(&format!("All {} steps are done already", header.work.steps.len()))?;
        return Ok(ExitStatus::Success);
    }
    if let Some(step) = state.steps().find(|step| state.has_failed(*step)) {
        let what = header.work.steps[step].described();
        bail!(
            "{}: step {}, {what}, has failed in this run; let hbal make a new plan",
            path.display(),
            step + 1
        );
    }
    if !options.execution.yes && ask(&remaining(&header, &state), output)? == Answer::No {
        output.error_line("Nothing was executed.")?;
        return Ok(ExitStatus::Failure);
    }
    let verbosity = options.load.verbosity;
    let mut console = Console::begin(&header.work, &options.execution, verbosity, options.json, output)?;
    let mut runner = Runner::new(&mut *client, &mut console, &header, journal, state);
    let mut found = None;
    let report = match runner.settle() {
        Some(report) => report,
        None => {
            found = stale(options, &header, &runner.not_started());
            if found.is_some() { runner.abandon() } else { runner.walk() }
        }
    };
    console.finish(&report);
    if let Some(found) = found {
        bail!(
            "hbal: the steps that are left do not fit the cluster any more, let hbal make a new plan: {found}"
        );
    }
    execution::conclude(&header, &report, path, options.json, output)
}

fn remaining(header: &Header, state: &crate::execute::State) -> String {
    let left = state.steps().filter(|step| !state.is_done(*step)).count();
    format!("Execute the {left} of {} steps that are left?", header.work.steps.len())
}

/// Why the steps that are left cannot be carried out any more.
fn stale(options: &HbalOptions, header: &Header, steps: &[usize]) -> Option<String> {
    match read_again(options) {
        Ok(now) => violation(&header.work, steps, &header.group, header.ignore_soft_errors, &now),
        Err(error) => Some(format!("{error:#}")),
    }
}
