//! Work on nodes besides Ganeti's jobs: checks that a node is empty or answers, and power switching if Ganeti has no
//! call for it.

use std::ffi::OsString;
use std::time::Duration;

use super::client::JobClient;
use super::host::{NodeTaskError, RunHost, TrialError};
use super::job::RunInfo;
use super::one_job::await_job;
use super::power;
use crate::remote::CallError;
use htools_model::shown::printable;
use htools_plan::opcode::Opcode;
use htools_plan::work::{Task, WorkStep};

/// Maximum attempts to ask for the instances on a node.
pub(super) const QUESTIONS: u32 = 5;
/// Pause between two of these attempts.
const PAUSE: Duration = Duration::from_secs(2);
/// Pause between two attempts to reach a node that boots.
pub(super) const RETRY: Duration = Duration::from_secs(10);
/// Maximum changes of the job of one such attempt.
const MOST_CHANGES: usize = 20;
/// Maximum duration of one such attempt.
const TRIAL: Duration = Duration::from_secs(180);
/// Maximum duration of the command that switches the power, the same as Ganeti allows its helper programs.
const SWITCHING: Duration = Duration::from_secs(60);
/// Maximum number of instances that an error names.
const SHOWN: usize = 3;

/// Default maximum boot time of a node.
pub(crate) const BOOT: Duration = Duration::from_secs(600);

/// Settings for power switching and booting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Handling {
    /// Command that switches the power in place of Ganeti.
    pub power_command: Option<OsString>,
    /// Maximum time for a node to answer after it was powered on.
    pub boot: Duration,
}

impl Default for Handling {
    fn default() -> Self {
        Handling { power_command: None, boot: BOOT }
    }
}

/// Carries out a step for which Ganeti has no job.
///
/// # Errors
/// The reason that it could not be done.
pub fn perform(
    host: &mut dyn RunHost,
    client: &mut dyn JobClient,
    run: &RunInfo,
    step: &WorkStep,
    handling: &Handling,
) -> Result<(), NodeTaskError> {
    let node = step.subject.as_str();
    match (&step.task, &handling.power_command) {
        (Task::ConfirmEmpty, _) => confirm_empty(host, client, node),
        (Task::Await, _) => wait_for(host, client, run, node, handling.boot),
        (Task::PowerOn, Some(command)) => Ok(power::switch(command, "on", node, SWITCHING)?),
        (Task::PowerOff, Some(command)) => Ok(power::switch(command, "off", node, SWITCHING)?),
        _ => Err(NodeTaskError::NotOurs(step.title())),
    }
}

/// Checks that a node holds no instances, by asking the cluster.
///
/// # Errors
/// If the node holds instances, or the cluster does not answer.
pub(crate) fn confirm_empty(
    host: &mut dyn RunHost,
    client: &mut dyn JobClient,
    node: &str,
) -> Result<(), NodeTaskError> {
    let mut attempt = 1;
    loop {
        match client.instances_on(node) {
            Ok(held) if held.is_empty() => return Ok(()),
            Ok(held) => return Err(NodeTaskError::Holds(listed(&held))),
            Err(error @ (CallError::Refused(_) | CallError::NoLogin(_))) => {
                return Err(NodeTaskError::Unknown(error));
            }
            Err(error) if attempt == QUESTIONS => return Err(NodeTaskError::Unknown(error)),
            Err(_) => {}
        }
        attempt += 1;
        host.pause(PAUSE);
    }
}

pub(super) fn listed(names: &[String]) -> String {
    let shown: Vec<String> = names.iter().take(SHOWN).map(|name| printable(name, 100)).collect();
    match names.len().saturating_sub(SHOWN) {
        0 if shown.len() == 1 => format!("instance {}", shown[0]),
        0 => format!("instances {}", shown.join(", ")),
        more => format!("instances {} and {more} more", shown.join(", ")),
    }
}

/// Waits until a node answers the master. A dry run of setting it online tests this.
fn wait_for(
    host: &mut dyn RunHost,
    client: &mut dyn JobClient,
    run: &RunInfo,
    node: &str,
    limit: Duration,
) -> Result<(), NodeTaskError> {
    let opcode = Opcode::set_offline(node, false);
    let began = host.now();
    // Attempts are counted, since the clock may be set in the meantime.
    let attempts = limit.as_secs() / RETRY.as_secs() + 1;
    let mut attempt = 1;
    loop {
        let Err(last) = try_out(client, run, &opcode) else { return Ok(()) };
        let waited = host.now().duration_since(began).unwrap_or_default();
        if attempt == attempts || waited + RETRY > limit {
            return Err(NodeTaskError::NoAnswer { seconds: limit.as_secs(), last });
        }
        attempt += 1;
        host.pause(RETRY);
    }
}

/// Makes a dry run of a job.
fn try_out(client: &mut dyn JobClient, run: &RunInfo, opcode: &Opcode) -> Result<(), TrialError> {
    let id = client.try_out(run, opcode)?;
    await_job(client, id, TRIAL, MOST_CHANGES)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::rc::Rc;

    use super::super::fake::{CallFault, FakeCluster, FakeHost};
    use super::*;

    fn run() -> RunInfo {
        RunInfo { tool: "t".into(), began: 1, comment: "c".into(), reason: "r".into(), priority: 0 }
    }

    fn step(task: Task) -> WorkStep {
        WorkStep { subject: "n1".into(), task, opcodes: Vec::new(), freight: None }
    }

    struct Stage {
        cluster: FakeCluster,
        host: FakeHost,
    }

    impl Stage {
        fn new() -> Stage {
            let clock = Rc::new(Cell::new(0));
            let cluster = FakeCluster::new(true, &clock);
            Stage { cluster, host: FakeHost { clock, ..FakeHost::default() } }
        }

        fn perform(&mut self, task: Task, handling: &Handling) -> Result<(), String> {
            perform(&mut self.host, &mut self.cluster, &run(), &step(task), handling)
                .map_err(|error| error.to_string())
        }
    }

    #[test]
    fn empty_by_the_clusters_word_only() {
        let handling = Handling::default();
        let mut stage = Stage::new();
        assert_eq!(stage.perform(Task::ConfirmEmpty, &handling), Ok(()));
        stage.cluster.held = vec!["a".into()];
        assert_eq!(stage.perform(Task::ConfirmEmpty, &handling).unwrap_err(), "the node holds instance a");
        stage.cluster.held = ["a", "b", "c", "d", "e"].map(str::to_owned).to_vec();
        let why = stage.perform(Task::ConfirmEmpty, &handling).unwrap_err();
        assert_eq!(why, "the node holds instances a, b, c and 2 more");
        // One connection recovers, and another does not.
        stage.cluster.held.clear();
        stage.cluster.faults.extend([CallFault::LostBefore, CallFault::NotSent]);
        assert_eq!(stage.perform(Task::ConfirmEmpty, &handling), Ok(()));
        stage.cluster.faults.extend([CallFault::LostBefore; QUESTIONS as usize]);
        let why = stage.perform(Task::ConfirmEmpty, &handling).unwrap_err();
        assert!(why.starts_with("it is unknown whether the node holds instances: "), "{why}");
    }

    #[test]
    fn nodes_that_start_are_waited_for_but_not_for_ever() {
        let handling = Handling { boot: Duration::from_secs(100), ..Handling::default() };
        let mut stage = Stage::new();
        stage.cluster.answers_from = 45;
        assert_eq!(stage.perform(Task::Await, &handling), Ok(()));
        let took = stage.host.clock.get();
        assert!((45..60).contains(&took), "{took}");
        stage.cluster.answers_from = u64::MAX;
        let why = stage.perform(Task::Await, &handling).unwrap_err();
        assert_eq!(why, "the node did not answer within 100 s: it broke");
        let took = stage.host.clock.get() - took;
        assert!((90..=100).contains(&took), "{took}");
        // None of the trials counts as a step of the run.
        assert!(stage.cluster.jobs.is_empty());
    }

    #[test]
    fn power_needs_a_command() {
        let mut stage = Stage::new();
        let why = stage.perform(Task::PowerOff, &Handling::default()).unwrap_err();
        assert_eq!(why, "this program cannot power off n1");
        let handling = Handling { power_command: Some("test off n1 =".into()), ..Handling::default() };
        assert!(stage.perform(Task::PowerOn, &handling).is_err());
        let handling = Handling { power_command: Some("echo".into()), ..Handling::default() };
        assert_eq!(stage.perform(Task::PowerOn, &handling), Ok(()));
    }
}
