//! The master node comes last: before its maintenance, another node becomes the master.

use std::collections::BTreeSet;
use std::thread;
use std::time::{Duration, Instant};

use super::site::Site;
use crate::execute::JobClient;
use crate::execute::job::JobMark;
use crate::execute::journal::Read;
use crate::execute::maintenance::{CommandFate, CommandRun};
use crate::model::shown::shown_name;
use crate::plan::graph::StepIdx;

/// Interval at which the command and the new master are looked for.
const LOOK: Duration = Duration::from_secs(1);

/// Result of a change of the master.
pub(super) enum Handover {
    /// Another node is the master now.
    Done,
    /// The master stays, for this reason.
    Refused(String),
}

/// Makes a master candidate the master, by the operator's command. Nodes that are done come first.
///
/// # Errors
/// If the cluster does not answer.
pub(super) fn hand_over(
    site: &mut Site<'_>,
    client: &mut dyn JobClient,
    read: &Read,
    master: &str,
    done: &[&str],
    given_up: &BTreeSet<String>,
) -> Result<Handover, String> {
    if site.is_local {
        return Ok(Handover::Refused(format!(
            "it is the master node, which cannot be maintained from itself: make another node the master, copy {} there, and resume the run",
            site.journal.display()
        )));
    }
    let Some(terms) = &read.header.maintenance else { return Err("no maintenance".to_owned()) };
    let Some(command) = &terms.commands.master else {
        let why = "it is the master node, and --master-command is not given";
        return Ok(Handover::Refused(why.to_owned()));
    };
    let mut candidates = site.persist(|| client.master_candidates().map_err(|error| error.to_string()))?;
    candidates.retain(|node| !given_up.contains(node));
    candidates.sort_by_key(|node| (!done.contains(&node.as_str()), node.clone()));
    let Some(node) = candidates.first() else {
        return Ok(Handover::Refused("it is the master node, and there is no other candidate".to_owned()));
    };
    site.say(&format!("Going to make {} the master", shown_name(node)));
    let limit = Duration::from_secs(terms.limits.command);
    // The number of a step that does not exist yet.
    let mark = JobMark { step: StepIdx::new(read.header.work.steps.len()), part: 0 };
    let run = CommandRun { mark, command, node, limit };
    if let Err(why) = site.commands.start(&run) {
        return Ok(Handover::Refused(why.to_string()));
    }
    let began = Instant::now();
    let fate = loop {
        match site.commands.fate(&run) {
            CommandFate::Running if began.elapsed() < limit => thread::sleep(LOOK),
            fate => break fate,
        }
    };
    match fate {
        CommandFate::Ended { status: Some(0), .. } => {}
        CommandFate::Ended { last_words, .. } => {
            return Ok(Handover::Refused(format!("--master-command failed{last_words}")));
        }
        CommandFate::Running | CommandFate::Unknown => {
            site.commands.kill(&run);
            return Ok(Handover::Refused(format!(
                "--master-command did not end within {} s",
                limit.as_secs()
            )));
        }
    }
    let boot = Duration::from_secs(terms.limits.boot);
    let began = Instant::now();
    loop {
        match client.master() {
            Ok(now) if now != master => return Ok(Handover::Done),
            _ if began.elapsed() >= boot => {
                return Ok(Handover::Refused(format!("{} did not become the master", shown_name(node))));
            }
            _ => thread::sleep(LOOK),
        }
    }
}
