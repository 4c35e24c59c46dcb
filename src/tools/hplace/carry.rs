//! From a placement to a change of the cluster: what has to be set for it, what else it does, and whether it may be done.

use std::collections::HashSet;

use anyhow::{Context, bail, ensure};

use super::cluster::{ReadCib, ensure_quorum};
use super::follow::carry_out;
use super::options::{ALONE, HplaceOptions, PlacementCommand};
use super::run::status;
use crate::model::number::counted;
use crate::model::shown::shown_name;
use crate::pacemaker::cib::change::{CibChange, PinSurvey};
use crate::pacemaker::execute::{Simulation, difference, simulate};
use crate::pacemaker::pinning::{ExpectedPlace, Foresight, Pinning, current, pin};
use crate::pacemaker::{AllPlaced, Strategy, cib, transition};
use crate::report::form::json;
use crate::report::pacemaker::warnings::in_a_circle;
use crate::report::pacemaker::{carried, commands, json as documents, text, transition as graphs};
use crate::tools::ExitStatus;
use crate::tools::options::ExecutionOptions;
use crate::tools::output::Output;

/// A change that is proposed, and what the cluster does with it.
pub(super) struct ProposedChange<'a> {
    /// The cluster before.
    pub cib: &'a ReadCib,
    /// The change.
    pub change: CibChange,
    /// What is changed when all is where it should be.
    pub then: Option<CibChange>,
    /// What the cluster does.
    pub outlook: Foresight,
    /// How long the cluster may take, in seconds; none: the usual time.
    pub wait_limit: Option<u64>,
}

/// Whether a placement is to be brought about, or it is to be said how.
pub(super) fn is_asked(options: &HplaceOptions) -> bool {
    options.cib.commands.is_some() || options.execution.exec
}

/// Whether options go together.
///
/// # Errors
/// They do not.
pub(super) fn check(options: &HplaceOptions) -> anyhow::Result<()> {
    let execution = &options.execution;
    ensure!(!execution.exec || options.cib.live, "--exec needs the cluster itself: --live");
    ensure!(execution.exec || !options.no_keep, "--no-keep means nothing without --exec");
    match ALONE.into_iter().chain(["json"]).find(|form| options.output.has(form)) {
        Some(form) if execution.exec => bail!("only one of --{form} and --exec can be given"),
        _ => Ok(()),
    }
}

/// Brings the cluster to a placement that another strategy has found, or says how.
pub(super) fn bring(
    options: &HplaceOptions,
    cib: &ReadCib,
    strategy: Strategy,
    placed: &AllPlaced,
    output: &mut Output,
) -> anyhow::Result<ExitStatus> {
    ensure_quorum(&cib.set)?;
    let pinning = pin(&cib.text, &cib.source, placed)?;
    let change = CibChange::Pin(pinning.pins);
    let plan = transition(&cib.set, strategy, placed);
    let status = status(&cib.set, placed, &plan);
    if let Some(form) = options.cib.commands {
        return print(&commands::lines(form, &change)?, status, output);
    }
    print(&text::lines(&cib.set, strategy, placed, &plan)?, status, output)?;
    let CibChange::Pin(pins) = &change else { return Ok(status) };
    print(&carried::pins(pins), status, output)?;
    if pins.is_empty() {
        return Ok(status);
    }
    let set = &cib.set;
    let names: Vec<String> =
        pinning.unkept.iter().map(|resource| shown_name(&set.resource(*resource).id)).collect();
    let then = options.no_keep.then(|| CibChange::Unpin(pins.clone()));
    ensure!(
        then.is_none() || names.is_empty(),
        "--no-keep: without the constraints the cluster would not stay like that ({}): stickiness does not hold it; set resource-stickiness, or leave the constraints",
        names.join(", ")
    );
    let (outlook, wait_limit) = (pinning.outlook, options.wait_limit);
    ProposedChange { cib, change, then, outlook, wait_limit }.carry_out(&options.execution, status, output)
}

/// Has the cluster do what brings it to a placement that another tool has found, after showing the constraints.
///
/// # Errors
/// Why it was not begun, or what went wrong.
pub(in crate::tools) fn carry_out_pinning(
    execution: &ExecutionOptions,
    cib: &ReadCib,
    pinning: Pinning,
    output: &mut Output,
) -> anyhow::Result<ExitStatus> {
    print(&carried::pins(&pinning.pins), ExitStatus::Success, output)?;
    if pinning.pins.is_empty() {
        return Ok(ExitStatus::Success);
    }
    carry_out_change(execution, cib, CibChange::Pin(pinning.pins), pinning.outlook, output)
}

/// Has the cluster make a change that another tool has found, of which it is known what it does then.
///
/// # Errors
/// Why it was not begun, or what went wrong.
pub(in crate::tools) fn carry_out_change(
    execution: &ExecutionOptions,
    cib: &ReadCib,
    change: CibChange,
    outlook: Foresight,
    output: &mut Output,
) -> anyhow::Result<ExitStatus> {
    let proposed = ProposedChange { cib, change, then: None, outlook, wait_limit: None };
    proposed.carry_out(execution, ExitStatus::Success, output)
}

/// Takes away all constraints that this tool has set, or a node out of standby.
pub(super) fn undo(options: &HplaceOptions, output: &mut Output) -> anyhow::Result<ExitStatus> {
    if let PlacementCommand::Evacuate(node) = &options.command {
        return switch(options, CibChange::Online(node.clone()), "is not in standby", output);
    }
    let cib = begin(options, output)?;
    let survey = PinSurvey::of(&cib.text, &cib.source)?;
    if survey.pins.is_empty() {
        let none = "There are no constraints of hplace's in this cluster.".to_owned();
        return print(&[none], ExitStatus::Success, output);
    }
    propose(options, &cib, CibChange::Unpin(survey.pins), output)
}

/// Puts a node in standby.
pub(super) fn evacuate(
    options: &HplaceOptions,
    node: &str,
    output: &mut Output,
) -> anyhow::Result<ExitStatus> {
    switch(options, CibChange::Standby(node.to_owned()), "is in standby already", output)
}

fn switch(
    options: &HplaceOptions,
    change: CibChange,
    already: &str,
    output: &mut Output,
) -> anyhow::Result<ExitStatus> {
    let cib = begin(options, output)?;
    if change.is_made_in(&cib.text, &cib.source)?
        && let CibChange::Standby(node) | CibChange::Online(node) = &change
    {
        bail!("{} {already}", shown_name(node));
    }
    propose(options, &cib, change, output)
}

fn begin(options: &HplaceOptions, output: &mut Output) -> anyhow::Result<ReadCib> {
    ensure!(
        options.method.is_none(),
        "the cluster does this by its own strategy: --strategy cannot be given"
    );
    ensure!(!options.no_keep, "--no-keep means nothing here");
    options.only_one_form()?;
    check(options)?;
    options.read_cib(output)
}

/// Shows what follows from a change, or how it is made, or makes it.
fn propose(
    options: &HplaceOptions,
    cib: &ReadCib,
    change: CibChange,
    output: &mut Output,
) -> anyhow::Result<ExitStatus> {
    let made = change.made_in(&cib.text, &cib.source)?;
    let outlook = Foresight::of(&made, &cib.source)?;
    let (set, placed, strategy) = (&outlook.set, &outlook.placed, outlook.set.strategy());
    let plan = transition(set, strategy, placed);
    let status = status(set, placed, &plan);
    if let Some(form) = options.cib.commands {
        return print(&commands::lines(form, &change)?, status, output);
    }
    if options.output.json {
        output.write(&json::text(&documents::document_with_plan(set, strategy, placed, &plan)?)?)?;
        output.flush()?;
        return Ok(status);
    }
    let mut lines = text::lines(set, strategy, placed, &plan)?;
    lines.push(String::new());
    lines.extend(graphs::lines(set, &plan));
    lines.extend(carried::later(&outlook));
    print(&lines, status, output)?;
    if !options.execution.exec {
        return Ok(status);
    }
    let wait_limit = options.wait_limit;
    ProposedChange { cib, change, then: None, outlook, wait_limit }.carry_out(
        &options.execution,
        status,
        output,
    )
}

impl ProposedChange<'_> {
    /// Checks the change by what there is to check it with, and makes it.
    fn carry_out(
        &self,
        execution: &ExecutionOptions,
        status: ExitStatus,
        output: &mut Output,
    ) -> anyhow::Result<ExitStatus> {
        let ReadCib { text, source, set } = self.cib;
        ensure_quorum(set)?;
        ensure!(
            set.unsupported.is_empty(),
            "the cluster has what this tool does not know, so that nobody can tell what it would do: nothing is changed"
        );
        if let Some(circle) = self.outlook.circles.first() {
            let circle = in_a_circle(&self.outlook.set, circle);
            bail!(
                "{circle}, so that Pacemaker never gets to the end, and nothing is changed: take one of these constraints away"
            );
        }
        let wanted = self.outlook.first();
        match simulate(&self.change.made_in(text, source)?)? {
            Simulation::Absent => {
                output.error_line("crm_simulate is not installed: the plan was checked without it.")?;
            }
            Simulation::Document(document) => {
                let after = cib::parse(&document, "crm_simulate").context("crm_simulate")?;
                if let Some(difference) = difference(&wanted, &current(&after)) {
                    bail!("crm_simulate comes to another end, so nothing is changed: {difference}");
                }
            }
        }
        let expected = self.outlook.expected();
        let expected = expected.context("the cluster would never come to rest, so nothing is changed")?;
        carry_out(self, expected, execution, status, output)
    }

    /// What is asked before it is made.
    pub(super) fn question(&self) -> String {
        let now = self.outlook.current();
        let expected: HashSet<ExpectedPlace> = self.outlook.expected().into_iter().flatten().collect();
        let moved = now.iter().filter(|place| !expected.contains(place)).count();
        let what = carried::change(&self.change);
        format!("{what}: {} will not run where they do now. Go on?", counted(moved, "resource"))
    }
}

fn print(lines: &[String], status: ExitStatus, output: &mut Output) -> anyhow::Result<ExitStatus> {
    lines.iter().try_for_each(|line| output.line(line))?;
    output.flush()?;
    Ok(status)
}
