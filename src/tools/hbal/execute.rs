//! `hbal -X`: the plan is checked against the cluster as it is now, then carried out.

use std::path::Path;

use anyhow::bail;

use super::Options;
use super::run::{GroupPart, Plan, print_document, run, wanted_sets};
use crate::execute::JobClient;
use crate::model::shown::shown_name;
use crate::model::{Cluster, GroupIdx, Placement};
use crate::plan::fresh::{differences, repeated_name};
use crate::plan::names::Impossible;
use crate::plan::work::{Relocation, Task, Work};
use crate::search::Stopped;
use crate::tools::ExitStatus;
use crate::tools::execution::{
    self, ATTEMPTS, Consent, ExecutionOrder, Resumption, announce, ask, read_again, violation,
};
use crate::tools::output::Output;

/// Makes a plan and, if that is wanted, carries it out.
pub fn plan_and_execute(
    options: &Options,
    mut cluster: Cluster,
    output: &mut Output,
) -> anyhow::Result<ExitStatus> {
    for attempt in 1..=ATTEMPTS {
        let ran = run(options, cluster, output)?;
        let Some(mut plan) = ran.plan else { return Ok(ran.status) };
        output.flush()?;
        let document = plan.document.take();
        let mut client = execution::client(&options.load.source)?;
        if plan.stopped == Some(Stopped::Interrupt) {
            print_document(document, output)?;
            output.error_line("The search was interrupted, so nothing is executed.")?;
            return Ok(ExitStatus::Failure);
        }
        let groups: Vec<GroupIdx> = plan.parts.iter().map(|part| part.group).collect();
        if let Some(name) = groups.iter().find_map(|group| repeated_name(&plan.before, *group)) {
            print_document(document, output)?;
            bail!("hbal: two instances are called '{}', so nothing is executed", shown_name(name));
        }
        let work = work(options, &plan)?;
        if !options.execution.yes && ask(&question(&work, options.json), output)? == Consent::No {
            print_document(document, output)?;
            output.error_line("Nothing was executed.")?;
            return Ok(ExitStatus::Failure);
        }
        let now = read_again(&options.load)?;
        let changes = changes(options, &plan, &groups, &work, &now);
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

/// What there is to do, all groups side by side.
fn work(options: &Options, plan: &Plan) -> Result<Work, Impossible> {
    let part = |part: &GroupPart| Work::of(&plan.before, &part.steps, wanted_sets(options, &part.jobsets));
    Ok(Work::side_by_side(plan.parts.iter().map(part).collect::<Result<Vec<_>, _>>()?))
}

/// What is asked; where the plan is not to be seen yet, with its steps.
fn question(work: &Work, unseen: bool) -> String {
    let place = |place: &Placement<String>| match &place.secondary {
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

/// What keeps a plan from being carried out on the cluster as it is now.
fn changes(options: &Options, plan: &Plan, groups: &[GroupIdx], work: &Work, now: &Cluster) -> Vec<String> {
    let found: Vec<String> = groups.iter().flat_map(|group| differences(&plan.before, *group, now)).collect();
    if !found.is_empty() {
        return found;
    }
    let all: Vec<usize> = (0..work.steps.len()).collect();
    violation(work, &all, &group_of(plan), options.balance.rules.ignore_soft_errors, now)
        .into_iter()
        .collect()
}

/// The UUID of the only group of a plan; empty if there are several.
fn group_of(plan: &Plan) -> String {
    match &plan.parts[..] {
        [part] => plan.before.group(part.group).uuid.clone(),
        _ => String::new(),
    }
}

fn carry_out(
    options: &Options,
    plan: &Plan,
    work: Work,
    client: &mut dyn JobClient,
    output: &mut Output,
) -> anyhow::Result<ExitStatus> {
    let order = ExecutionOrder {
        tool: super::SPEC.name,
        purpose: "rebalancing via hbal".to_owned(),
        group: group_of(plan),
        ignore_soft_errors: options.balance.rules.ignore_soft_errors,
        work,
    };
    let (execution, load) = (&options.execution, &options.load);
    let (_, status) = execution::carry_out_alone(order, client, execution, load, options.json, output)?;
    Ok(status)
}

/// Goes on with the run of a journal.
pub fn resume(options: &Options, path: &Path, output: &mut Output) -> anyhow::Result<ExitStatus> {
    let resumption = Resumption {
        tool: super::SPEC.name,
        load: &options.load,
        execution: &options.execution,
        silent: options.json,
        takes_back: false,
        obstacle: execution::obstacle_in_group,
    };
    let mut client = resumption.client()?;
    execution::resume(&resumption, &mut *client, path, output)
}
