//! Compares the cluster after the last step with the end of the plan.

use std::collections::HashMap;
use std::thread;
use std::time::Duration;

use anyhow::Context;

use super::read_again;
use crate::execute::{Ending, JobClient, Report};
use crate::model::shown::shown_name;
use crate::plan::arrival::{End, MissingEffect, NodeFlags};
use crate::plan::work::Work;
use crate::tools::options::LoadOptions;
use crate::tools::output::Output;

/// Pauses before the cluster is read again if it differs from the plan. Ganeti may report a job's effect a little
/// later than its end.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(2)];
/// Most names in the final line.
const NAMED: usize = 10;

/// Result of comparing the cluster with the plan's end after a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Confirmation {
    /// The run did not end in success, so nothing was compared.
    NotCompared,
    /// The cluster is as planned in everything that the plan concerns.
    AsPlanned,
    /// The cluster differs from the plan.
    Differs(Vec<MissingEffect>),
    /// The cluster could not be read; carries the reason.
    Unknown(String),
}

impl Confirmation {
    /// Compares the cluster with the end of the executed work.
    pub(crate) fn of(
        work: &Work,
        report: &Report,
        client: &mut dyn JobClient,
        load: &LoadOptions,
    ) -> Confirmation {
        if report.ending != Ending::Done {
            return Confirmation::NotCompared;
        }
        let end = End::of(work);
        let mut pauses = PAUSES.iter();
        loop {
            let found = match missed(&end, client, load) {
                Ok(missed) if missed.is_empty() => return Confirmation::AsPlanned,
                Ok(missed) => Confirmation::Differs(missed),
                Err(error) => Confirmation::Unknown(format!("{error:#}")),
            };
            match pauses.next() {
                Some(pause) => thread::sleep(*pause),
                None => return found,
            }
        }
    }

    pub(crate) fn missed(&self) -> &[MissingEffect] {
        match self {
            Confirmation::Differs(missed) => missed,
            _ => &[],
        }
    }

    /// Lists the differences, one per line. Returns a one-line summary of the problem, if there is one.
    ///
    /// # Errors
    /// If standard error cannot be written.
    pub(crate) fn tell(&self, output: &mut Output) -> anyhow::Result<Option<String>> {
        let missed = match self {
            Confirmation::NotCompared | Confirmation::AsPlanned => return Ok(None),
            Confirmation::Unknown(why) => {
                return Ok(Some(format!(
                    "all jobs succeeded, but the cluster could not be compared with the plan: {why}"
                )));
            }
            Confirmation::Differs(missed) => missed,
        };
        output.error_line("The cluster differs from the plan:")?;
        missed.iter().try_for_each(|missed| output.error_line(&format!("  {}", missed.text)))?;
        let names = missed.iter().take(NAMED).map(|missed| shown_name(&missed.subject));
        let mut named = names.collect::<Vec<_>>().join(", ");
        if missed.len() > NAMED {
            named.push_str(", ...");
        }
        Ok(Some(format!("all jobs succeeded, but the cluster differs from the plan: see {named} above")))
    }
}

fn missed(
    end: &End<'_>,
    client: &mut dyn JobClient,
    load: &LoadOptions,
) -> anyhow::Result<Vec<MissingEffect>> {
    let now = read_again(load)?;
    let mut flags: HashMap<String, NodeFlags> = HashMap::new();
    for node in end.nodes().filter(|name| now.nodes.iter().any(|node| node.spec.name == *name)) {
        let found = client.node_flags(node).with_context(|| format!("node '{}'", shown_name(node)))?;
        flags.insert(node.to_owned(), found);
    }
    Ok(end.missed(&now, &flags))
}
