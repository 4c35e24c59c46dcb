//! Turns a placement into a change of the cluster: the constraints that it needs, a forecast of their effects, and the
//! checks before they are set.

use std::collections::HashSet;

use anyhow::{Context, anyhow, bail, ensure};

use super::cluster::{ReadCib, ensure_quorum};
use super::follow::carry_out;
use super::options::{ALONE, HplaceOptions, PlacementCommand};
use super::run::status;
use crate::model::number::counted;
use crate::model::shown::shown_name;
use crate::pacemaker::cib::change::{CibChange, PinSurvey};
use crate::pacemaker::execute::{Simulation, difference, simulate};
use crate::pacemaker::pinning::{ExpectedPlace, Foresight, PinError, Pinning, current, pin};
use crate::pacemaker::{AllPlaced, Strategy, cib, transition};
use crate::report::form::json;
use crate::report::pacemaker::commands::check_roles;
use crate::report::pacemaker::warnings::in_a_circle;
use crate::report::pacemaker::{carried, commands, json as documents, text, transition as graphs};
use crate::tools::ExitStatus;
use crate::tools::hint::WithHint;
use crate::tools::options::ExecutionOptions;
use crate::tools::output::Output;

/// A proposed change of the cluster, with a forecast of its effects.
pub(super) struct ProposedChange<'a> {
    /// The cluster before.
    pub cib: &'a ReadCib,
    pub change: CibChange,
    /// Second change, made once all resources are in place (`--no-keep`).
    pub follow_up: Option<CibChange>,
    /// Forecast of the cluster's own actions after the change.
    pub outlook: Foresight,
    /// Maximum time until the cluster is at rest, in seconds; none: 600.
    pub wait_limit: Option<u64>,
}

/// Tells if a placement is to be carried out, or the commands for it printed.
pub(super) fn is_asked(options: &HplaceOptions) -> bool {
    options.cib.commands.is_some() || options.execution.exec
}

/// Refuses options for execution that conflict.
///
/// # Errors
/// Fails at the first conflict.
pub(super) fn check(options: &HplaceOptions) -> anyhow::Result<()> {
    let execution = &options.execution;
    ensure!(
        !execution.exec || options.cib.live,
        anyhow!("option --exec needs a live cluster").hint("use --live on a node of the cluster")
    );
    ensure!(execution.exec || !options.no_keep, "option --no-keep needs --exec");
    match ALONE.into_iter().chain(["json"]).find(|form| options.output.has(form)) {
        Some(form) if execution.exec => bail!("options --{form} and --exec exclude each other"),
        _ => Ok(()),
    }
}

/// Brings the cluster to a placement found by another strategy, or prints the commands for it.
pub(super) fn bring(
    options: &HplaceOptions,
    cib: &ReadCib,
    strategy: Strategy,
    placed: &AllPlaced,
    output: &mut Output,
) -> anyhow::Result<ExitStatus> {
    ensure_quorum(&cib.set)?;
    let pinning = pin(&cib.text, &cib.source, placed).map_err(|error| {
        let is_measured = !options.measured.is_empty() && matches!(error, PinError::Unreachable(_));
        let hint = is_measured.then_some(
            "Pacemaker goes by the configured utilization, which leaves more room than the measured one",
        );
        match hint {
            Some(hint) => anyhow!(error).hint(hint),
            None => anyhow!(error),
        }
    })?;
    let change = CibChange::Pin(pinning.pins);
    let plan = transition(&cib.set, strategy, placed);
    let status = status(&cib.set, placed, &plan);
    if let Some(form) = options.cib.commands {
        check_roles(form, &change, &cib.set)?;
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
    let follow_up = options.no_keep.then(|| CibChange::Unpin(pins.clone()));
    ensure!(
        follow_up.is_none() || names.is_empty(),
        anyhow!(
            "option --no-keep: without the constraints, Pacemaker would move these resources again: {}",
            names.join(", ")
        )
        .hint("set resource-stickiness, or keep the constraints")
    );
    let (outlook, wait_limit) = (pinning.outlook, options.wait_limit);
    ProposedChange { cib, change, follow_up, outlook, wait_limit }.carry_out(
        &options.execution,
        status,
        output,
    )
}

/// Prints the constraints for a placement found by another tool, then sets them and follows the cluster.
///
/// # Errors
/// Fails if the run cannot begin or does not succeed.
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

/// Makes a change found by another tool and follows the cluster; `outlook` is the forecast of its actions.
///
/// # Errors
/// Fails if the run cannot begin or does not succeed.
pub(in crate::tools) fn carry_out_change(
    execution: &ExecutionOptions,
    cib: &ReadCib,
    change: CibChange,
    outlook: Foresight,
    output: &mut Output,
) -> anyhow::Result<ExitStatus> {
    let proposed = ProposedChange { cib, change, follow_up: None, outlook, wait_limit: None };
    proposed.carry_out(execution, ExitStatus::Success, output)
}

/// Proposes to remove all constraints that hplace has set, or to take a node out of standby.
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

/// Proposes to put a node in standby.
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
        "option --strategy does not apply here, because the cluster uses its own strategy"
    );
    ensure!(!options.no_keep, "option --no-keep does not apply here");
    options.only_one_form()?;
    check(options)?;
    options.read_cib(output)
}

/// Shows the effects of a change, and makes it with `--exec`; or prints the commands for it.
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
    ProposedChange { cib, change, follow_up: None, outlook, wait_limit }.carry_out(
        &options.execution,
        status,
        output,
    )
}

impl ProposedChange<'_> {
    /// Checks the change, also with crm_simulate if that is installed, and makes it.
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
            "nothing was changed: the cluster has elements that hplace does not support, so the effect is unknown"
        );
        if let Some(circle) = self.outlook.circles.first() {
            let circle = in_a_circle(&self.outlook.set, circle);
            return Err(anyhow!("nothing was changed: {circle}, so Pacemaker would never finish")
                .hint("remove one of these constraints"));
        }
        let wanted = self.outlook.first();
        match simulate(&self.change.made_in(text, source)?)? {
            Simulation::Absent => {
                output.error_line("crm_simulate is not installed, so it did not check the plan.")?;
            }
            Simulation::Document(document) => {
                let after = cib::parse(&document, "crm_simulate").context("crm_simulate")?;
                if let Some(difference) = difference(&wanted, &current(&after)) {
                    bail!("nothing was changed: crm_simulate predicts another result: {difference}");
                }
            }
        }
        let expected = self.outlook.expected();
        let expected = expected.context("nothing was changed: the cluster would never come to rest")?;
        carry_out(self, expected, execution, status, output)
    }

    /// Question to the user before the change is made.
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
