//! Live migrations that a job began and did not finish: the instance may be half migrated. A command of Ganeti's cleans
//! up.

use super::job::JobStatus;
use super::state::JobPart;
use htools_plan::command::cleanup_command;
use htools_plan::durations::{LegKind, way};
use htools_plan::opcode::Opcode;
use htools_plan::shell::Command;
use htools_plan::work::WorkStep;

/// Commands that clean up after the live migrations of a step that may have stopped half-way, each once.
pub(super) fn commands(step: &WorkStep, parts: &[JobPart]) -> Vec<Command> {
    let mut commands: Vec<Command> = Vec::new();
    for opcode in broken_opcodes(step, parts) {
        // Journals of older versions do not say whether the instance ran. If it did not, it failed over.
        let may_be_live = step.freight.is_none() || way(step, opcode) == Some(LegKind::Migrates);
        // The names in the steps of a run were checked before it began.
        if let Ok(Some(command)) = cleanup_command(opcode)
            && may_be_live
            && !commands.contains(&command)
        {
            commands.push(command);
        }
    }
    commands
}

/// Opcodes that were begun and failed, or may have.
fn broken_opcodes<'w>(step: &'w WorkStep, parts: &[JobPart]) -> Vec<&'w Opcode> {
    let mut broken = Vec::new();
    for (at, part) in parts.iter().enumerate() {
        // A step is one job with all its opcodes, or a chain of jobs with one each.
        let opcodes = if parts.len() == 1 { step.opcodes.get(..) } else { step.opcodes.get(at..=at) };
        let opcodes = opcodes.unwrap_or_default();
        match part {
            JobPart::Ended { status: JobStatus::Error, failed_opcode: Some(failed), .. } => {
                broken.extend(opcodes.get(*failed));
            }
            JobPart::Gone { begun: true, .. } => broken.extend(opcodes),
            _ => {}
        }
        // Ganeti ends the jobs after a failed one with an error, and begins none of them.
        if part.has_failed() && !matches!(part, JobPart::Gone { .. }) {
            break;
        }
    }
    broken
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::execute::job::JobId;
    use htools_model::{Concession, Move, Placement};
    use htools_plan::opcode::ReplaceMode;
    use htools_plan::work::{MovedData, Relocation, Task};

    const COMMAND: &str = "gnt-instance migrate --cleanup -f i";

    fn migrate(target_node: Option<&str>) -> Opcode {
        Opcode::migrate("i", target_node.map(str::to_owned))
    }

    fn replace() -> Opcode {
        Opcode::ReplaceDisks {
            instance_name: "i".to_owned(),
            early_release: false,
            ignore_ipolicy: false,
            mode: ReplaceMode::NewSecondary,
            disks: Vec::new(),
            remote_node: Some("c".to_owned()),
        }
    }

    /// A step of an instance that runs.
    fn step(opcodes: Vec<Opcode>) -> WorkStep {
        let place = |primary: &str| Placement { primary: primary.to_owned(), secondary: None };
        let task = Task::Move(Relocation {
            mv: Move::Failover,
            from: place("a"),
            to: place("b"),
            concession: Concession::None,
        });
        let freight = Some(MovedData { memory: Some(100), disk: 0, stops: false, groups: Vec::new() });
        WorkStep { subject: "i".to_owned(), task, opcodes, freight }
    }

    fn ended(status: JobStatus, failed_opcode: Option<usize>) -> JobPart {
        JobPart::Ended { job: JobId(7), status, message: None, failed_opcode }
    }

    fn told(step: &WorkStep, parts: &[JobPart]) -> Vec<String> {
        commands(step, parts).iter().map(Command::to_string).collect()
    }

    #[test]
    fn one_job_that_failed_in_a_migration() {
        let step = step(vec![migrate(None), replace(), migrate(None)]);
        let told_of = |part: JobPart| told(&step, &[part]);
        for failed in [0, 2] {
            assert_eq!(told_of(ended(JobStatus::Error, Some(failed))), [COMMAND]);
        }
        // The failure was in a copy of disks, before anything was done, or at an opcode that does not exist.
        for failed in [Some(1), None, Some(3), Some(usize::MAX)] {
            assert_eq!(told_of(ended(JobStatus::Error, failed)), [""; 0]);
        }
        assert_eq!(told_of(ended(JobStatus::Success, None)), [""; 0]);
        assert_eq!(told_of(ended(JobStatus::Canceled, Some(0))), [""; 0]);
        assert_eq!(told_of(JobPart::Submitted(JobId(7), JobStatus::Running)), [""; 0]);
    }

    #[test]
    fn jobs_that_left_the_queue() {
        let step = step(vec![migrate(None), replace(), migrate(None)]);
        let gone = |begun| [JobPart::Gone { job: JobId(7), begun }];
        // The command is shown once, whichever of the two opcodes failed.
        assert_eq!(told(&step, &gone(true)), [COMMAND]);
        assert_eq!(told(&step, &gone(false)), [""; 0]);
    }

    #[test]
    fn chains_of_jobs() {
        let step = step(vec![replace(), migrate(None)]);
        let (done, error) = (ended(JobStatus::Success, None), ended(JobStatus::Error, Some(0)));
        assert_eq!(told(&step, &[done, error.clone()]), [COMMAND]);
        // The failed job waited for the copy.
        assert_eq!(told(&step, &[error.clone(), error.clone()]), [""; 0]);
        assert_eq!(told(&step, &[JobPart::Refused("no".to_owned()), error.clone()]), [""; 0]);
        // The copy may have succeeded.
        assert_eq!(told(&step, &[JobPart::Gone { job: JobId(6), begun: true }, error]), [COMMAND]);
    }

    #[test]
    fn the_target_is_named_where_ganeti_had_a_choice() {
        let parts = [ended(JobStatus::Error, Some(0))];
        let there = told(&step(vec![migrate(Some("b"))]), &parts);
        assert_eq!(there, ["gnt-instance migrate --cleanup -f -n b i"]);
    }

    #[test]
    fn instances_that_do_not_run_fail_over() {
        let parts = [ended(JobStatus::Error, Some(0))];
        let mut step = step(vec![migrate(None)]);
        step.freight = Some(MovedData::default());
        assert_eq!(told(&step, &parts), [""; 0]);
        // A journal of an older version does not say whether the instance ran.
        step.freight = None;
        assert_eq!(told(&step, &parts), [COMMAND]);
        step.opcodes = vec![Opcode::failover("i", None)];
        assert_eq!(told(&step, &parts), [""; 0]);
    }

    #[test]
    fn impossible_names_get_into_no_command() {
        let mut step = step(vec![migrate(None)]);
        if let Opcode::Migrate { instance_name, .. } = &mut step.opcodes[0] {
            "$(touch x)".clone_into(instance_name);
        }
        assert_eq!(told(&step, &[ended(JobStatus::Error, Some(0))]), [""; 0]);
    }
}
