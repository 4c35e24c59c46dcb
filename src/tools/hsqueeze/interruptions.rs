//! Warnings and questions about instances that are stopped while their disks are copied.

use anyhow::anyhow;

use super::HsqueezeOptions;
use super::approved::whole;
use super::planning::Planning;
use crate::model::Cluster;
use crate::model::number::counted;
use crate::model::shown::{printable, shown_name};
use crate::plan::durations::{LegKind, ways};
use crate::plan::work::{Relocation, Work};
use crate::report::timetable::duration;
use crate::search::squeeze::Squeeze;
use crate::tools::execution::{Consent, ask};
use crate::tools::hint::WithHint;
use crate::tools::output::Output;
use crate::tools::summing_up::times_of;

/// Most characters in a warning or a question.
const LINE: usize = 400;

/// An instance that is stopped for a copy of its disks.
struct StoppedInstance {
    instance: String,
    from: String,
    to: String,
    /// Estimated downtime in seconds, by the duration model.
    seconds: f64,
}

/// All interruptions of some plans.
pub(super) struct Interruptions(Vec<StoppedInstance>);

impl Interruptions {
    /// Finds the interruptions in the plans of all groups.
    ///
    /// # Errors
    /// If a name is not valid in Ganeti, or a journal of `--durations-from` cannot be read.
    pub(super) fn of(
        planning: &Planning<'_>,
        cluster: &Cluster,
        found: &Squeeze,
    ) -> anyhow::Result<Interruptions> {
        let mut steps = found.plans.iter().flat_map(|plan| &plan.steps);
        if !steps.any(|step| step.copies_while_stopped(cluster)) {
            return Ok(Interruptions(Vec::new()));
        }
        Interruptions::of_work(&whole(planning, cluster, found)?, planning.options)
    }

    fn of_work(work: &Work, options: &HsqueezeOptions) -> anyhow::Result<Interruptions> {
        let Some(table) = times_of(Some(work), &options.execution, !options.cib.is_named())? else {
            return Ok(Interruptions(Vec::new()));
        };
        let steps = work.steps.iter().zip(&table.seconds);
        let stopping = steps.filter(|(step, _)| ways(step).contains(&LegKind::MovesDisks));
        let of_relocation = |relocation: &Relocation, instance: &str, seconds: f64| StoppedInstance {
            instance: shown_name(instance).to_string(),
            from: shown_name(&relocation.from.primary).to_string(),
            to: shown_name(&relocation.to.primary).to_string(),
            seconds,
        };
        let found = stopping.flat_map(|(step, seconds)| {
            step.relocations().iter().map(|relocation| of_relocation(relocation, &step.subject, *seconds))
        });
        Ok(Interruptions(found.collect()))
    }

    /// Warns of each interruption on standard error.
    ///
    /// # Errors
    /// If standard error cannot be written.
    pub(super) fn warn(&self, output: &mut Output) -> anyhow::Result<()> {
        for StoppedInstance { instance, from, to, seconds } in &self.0 {
            let time = duration(*seconds);
            let line = format!(
                "Warning: instance {instance} is stopped while its disks are copied from {from} to {to}, for about {time}"
            );
            output.error_line(&printable(&line, LINE))?;
        }
        Ok(())
    }

    /// Checks that the connection can stop instances to copy their disks.
    ///
    /// # Errors
    /// If the connection is the remote API, which cannot do that.
    pub(super) fn check_source(&self, options: &HsqueezeOptions) -> anyhow::Result<()> {
        let Some(first) = self.0.first().filter(|_| options.load.source.rapi.is_some()) else {
            return Ok(());
        };
        Err(anyhow!(
            "hsqueeze: the remote API cannot move instances with disks on one node only, such as {}",
            first.instance
        )
        .hint("use --luxi on the master, or omit --all"))
    }

    /// Asks if the instances may be stopped. A plan without interruptions needs no answer.
    ///
    /// # Errors
    /// If the terminal cannot be read or written.
    pub(super) fn consented(&self, output: &mut Output) -> anyhow::Result<Consent> {
        if self.0.is_empty() {
            return Ok(Consent::Yes);
        }
        let total = duration(self.0.iter().map(|interruption| interruption.seconds).sum());
        let names: Vec<&str> = self.0.iter().map(|interruption| interruption.instance.as_str()).collect();
        let (count, those) = match names.len() {
            1 => ("1 instance is".to_owned(), "it"),
            many => (format!("{} are", counted(many, "instance")), "them"),
        };
        let question = format!(
            "{count} stopped while disks are copied, for about {total} in all: {}. Stop {those}?",
            names.join(", ")
        );
        Ok(ask(&printable(&question, LINE), output)?)
    }
}
