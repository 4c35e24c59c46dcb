//! `hplace --strategy affinity --plan` plans the moves of instances to where they would be started today.

use std::ops::ControlFlow::{Break, Continue};

use super::HplaceOptions;
use super::affinity::{FleetOutcome, check, of_cluster, status, tell};
use crate::affinity::{Fleet, KeyRelocations, StuckMachine, relocations};
use crate::model::number::counted;
use crate::model::{Cluster, Draft, Step};
use crate::plan::checker::CheckOptions;
use crate::plan::jobset::jobsets;
use crate::plan::work::Work;
use crate::report::pacemaker::affinity::stuck_line;
use crate::tools::execution::{
    ExecutionContext, Planned, Proposal, plan_and_execute, touched_groups, violation,
};
use crate::tools::options::pace::PlanForm;
use crate::tools::output::Output;
use crate::tools::{ExitStatus, source};

/// Plans the moves, prints them, and saves them if that is wanted.
///
/// # Errors
/// Fails if the cluster cannot be read, or if a file cannot be written.
pub(super) fn run(asked: &HplaceOptions, output: &mut Output) -> anyhow::Result<ExitStatus> {
    check(asked)?;
    let mut options = asked.clone();
    options.execution.print_plan.get_or_insert(PlanForm::Text);
    let options = &options;
    let cluster = source::load(&options.load, output)?;
    let context = ExecutionContext {
        tool: super::SPEC.name,
        deadline: None,
        typed: &options.output.typed,
        load: &options.load,
        execution: &options.execution,
        silent: options.execution.prints_document(),
        takes_back: false,
        ignore_soft_errors: false,
        detailed_status: false,
        obstacle: violation,
    };
    let plan = |cluster: Cluster, output: &mut Output| planned(options, cluster, output);
    let status = plan_and_execute(&context, cluster, plan, output)?;
    output.flush()?;
    Ok(status)
}

fn planned(options: &HplaceOptions, cluster: Cluster, output: &mut Output) -> anyhow::Result<Planned> {
    let (cluster, mut fleet) = of_cluster(options, cluster, output)?;
    fleet.options = options.affinity.over(&fleet.options).map_err(anyhow::Error::msg)?;
    let FleetOutcome { is_good, misplaced } = tell(options, &fleet, output)?;
    let misplaced = misplaced.unwrap_or_default();
    let KeyRelocations { steps, stuck } = relocations(&mut Draft::of(&cluster), &fleet, misplaced);
    let silent = options.execution.prints_document();
    if !silent {
        describe(&fleet, &steps, &stuck, output)?;
    }
    if steps.is_empty() && !options.execution.prints_document() && options.execution.save_plan.is_none() {
        return Ok(Break(status(is_good)));
    }
    let work = Work::of(&cluster, &steps, &jobsets(&cluster, &steps), CheckOptions::default())?;
    Ok(Continue(Box::new(Proposal {
        groups: touched_groups(&cluster, &steps),
        before: cluster,
        work,
        purpose: "affinity keys via hplace".to_owned(),
        group: String::new(),
        question: String::new(),
        stopped: None,
        document: None,
        complete: stuck.is_empty(),
        status: status(is_good),
    })))
}

fn describe(
    fleet: &Fleet,
    steps: &[Step],
    stuck: &[StuckMachine],
    output: &mut Output,
) -> anyhow::Result<()> {
    output.line("")?;
    for machine in stuck {
        output.line(&stuck_line(fleet, machine))?;
    }
    output.line(&format!("{} to where instances would be started today", counted(steps.len(), "move")))?;
    Ok(())
}
