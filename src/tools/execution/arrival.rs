//! Compares the cluster after the last step with the end of the plan.

use std::collections::HashMap;
use std::thread;
use std::time::Duration;

use anyhow::Context;

use super::{history, read_again};
use crate::execute::journal::Header;
use crate::execute::{Ending, JobClient, Report};
use crate::model::Cluster;
use crate::model::shown::shown_name;
use crate::plan::arrival::{MissingEffect, NodeFlags, PlannedEnd};
use crate::tools::options::LoadOptions;
use crate::tools::output::Output;

/// Pauses before the cluster is read again if it differs from the plan. Ganeti may report a job's effect a little
/// later than its end.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(2)];
/// Most names in the final line.
const NAMED: usize = 10;

/// Result of comparing the cluster with the plan's end after a run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Confirmation {
    /// The run did not end in success, so nothing was compared.
    NotCompared,
    /// The cluster is as planned in everything that the plan concerns. Carries the score of the plan's group, or of
    /// all nodes.
    AsPlanned(f64),
    /// The cluster differs from the plan.
    Differs(Vec<MissingEffect>),
    /// The cluster could not be read; carries the reason.
    Unknown(String),
}

impl Confirmation {
    /// Compares the cluster with the end of the executed work.
    pub(crate) fn of(
        header: &Header,
        report: &Report,
        client: &mut dyn JobClient,
        load: &LoadOptions,
    ) -> Confirmation {
        if report.ending != Ending::Done {
            return Confirmation::NotCompared;
        }
        let end = PlannedEnd::of(&header.work);
        let mut pauses = PAUSES.iter();
        loop {
            let found = match missing_effects(&end, client, load) {
                Ok((now, missing)) if missing.is_empty() => {
                    return Confirmation::AsPlanned(history::score(&now, &header.group));
                }
                Ok((_, missing)) => Confirmation::Differs(missing),
                Err(error) => Confirmation::Unknown(format!("{error:#}")),
            };
            match pauses.next() {
                Some(pause) => thread::sleep(*pause),
                None => return found,
            }
        }
    }

    /// Score after the run, if the cluster is as planned.
    pub(crate) fn score(&self) -> Option<f64> {
        match self {
            Confirmation::AsPlanned(score) => Some(*score),
            _ => None,
        }
    }

    pub(crate) fn missing_effects(&self) -> &[MissingEffect] {
        match self {
            Confirmation::Differs(missing) => missing,
            _ => &[],
        }
    }

    /// Lists the differences, one per line. Returns a one-line summary of the problem, if there is one.
    ///
    /// # Errors
    /// If standard error cannot be written.
    pub(crate) fn tell(&self, output: &mut Output) -> anyhow::Result<Option<String>> {
        let missing = match self {
            Confirmation::NotCompared | Confirmation::AsPlanned(_) => return Ok(None),
            Confirmation::Unknown(why) => {
                return Ok(Some(format!(
                    "all jobs succeeded, but the cluster could not be compared with the plan: {why}"
                )));
            }
            Confirmation::Differs(missing) => missing,
        };
        output.error_line("The cluster differs from the plan:")?;
        missing.iter().try_for_each(|effect| output.error_line(&format!("  {}", effect.text)))?;
        let names = missing.iter().take(NAMED).map(|effect| shown_name(&effect.subject));
        let mut named = names.collect::<Vec<_>>().join(", ");
        if missing.len() > NAMED {
            named.push_str(", ...");
        }
        Ok(Some(format!("all jobs succeeded, but the cluster differs from the plan: see {named} above")))
    }
}

fn missing_effects(
    end: &PlannedEnd<'_>,
    client: &mut dyn JobClient,
    load: &LoadOptions,
) -> anyhow::Result<(Cluster, Vec<MissingEffect>)> {
    let now = read_again(load)?;
    let mut flags: HashMap<String, NodeFlags> = HashMap::new();
    for node in end.nodes().filter(|name| now.nodes.iter().any(|node| node.spec.name == *name)) {
        let found = client.node_flags(node).with_context(|| format!("node '{}'", shown_name(node)))?;
        flags.insert(node.to_owned(), found);
    }
    let missing = end.missing_effects(&now, &flags);
    Ok((now, missing))
}
