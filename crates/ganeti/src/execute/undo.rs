//! Undoing a run that failed half-way, as far as that is safe.

use super::report::{Report, StepState};
use htools_plan::names::Impossible;
use htools_plan::opcode::Opcode;
use htools_plan::work::{Builder, Task, Work, WorkStep};

/// Steps that undo a run that was to power nodes down, for the nodes that still have their power. They are put back
/// into use, and lose the tags that they got. Instances stay where they are now; one that may have been left stopped by
/// a copy of its disks is started.
///
/// A node that may be powering off stays out of use.
///
/// # Errors
/// If a name is not valid in Ganeti, which cannot happen if the work was checked.
pub fn undo(work: &Work, report: &Report) -> Result<Work, Impossible> {
    let mut undoing = Builder::default();
    let kept: Vec<&str> = nodes(work).filter(|node| keeps_power(work, report, node)).collect();
    let with = |task: &Task| -> Vec<&str> {
        kept.iter().copied().filter(|node| may_be_done(work, report, node, task)).collect()
    };
    let offline = with(&Task::SetOffline);
    let drained: Vec<&str> = with(&Task::Drain).into_iter().filter(|node| !offline.contains(node)).collect();
    let owned = |nodes: &[&str]| nodes.iter().map(|node| (*node).to_owned()).collect::<Vec<_>>();
    undoing.nodes(&Task::SetOnline, owned(&offline), |node| vec![Opcode::set_offline(node, false)]);
    undoing.nodes(&Task::Undrain, owned(&drained), |node| vec![Opcode::set_drained(node, false)]);
    let tagged = owned(&with(&Task::Tag));
    undoing.nodes(&Task::Untag, tagged, |node| vec![Opcode::untag_node(node, tags(work, node))]);
    undoing.starts(stopped(work, report));
    undoing.finish()
}

/// The instances that a failed copy of their disks may have left stopped.
fn stopped<'w>(work: &'w Work, report: &Report) -> impl Iterator<Item = &'w str> {
    let steps = work.steps.iter().zip(&report.steps);
    let broken = steps.filter(|(step, report)| {
        let stops = step.freight.as_ref().is_some_and(|freight| freight.stops);
        stops && report.began && !matches!(report.state, StepState::Done | StepState::NotStarted)
    });
    broken.map(|(step, _)| step.subject.as_str())
}

/// The nodes that the work is to power down.
fn nodes(work: &Work) -> impl Iterator<Item = &str> {
    work.steps.iter().filter(|step| step.task == Task::Drain).map(|step| step.subject.as_str())
}

fn find<'w>(work: &'w Work, node: &str, task: &Task) -> impl Iterator<Item = (usize, &'w WorkStep)> {
    let is_it = move |(_, step): &(usize, &WorkStep)| step.subject == node && step.task == *task;
    work.steps.iter().enumerate().filter(is_it)
}

/// Tells if the power of a node was not touched.
fn keeps_power(work: &Work, report: &Report, node: &str) -> bool {
    find(work, node, &Task::PowerOff).all(|(at, _)| !report.steps[at].began)
}

/// Tells if a step for a node was done, or may have been.
fn may_be_done(work: &Work, report: &Report, node: &str, task: &Task) -> bool {
    let may_be_done = |state| !matches!(state, StepState::NotStarted | StepState::Failed);
    find(work, node, task).any(|(at, _)| may_be_done(report.steps[at].state))
}

/// The tags that the work set on a node.
fn tags(work: &Work, node: &str) -> Vec<String> {
    let opcodes = find(work, node, &Task::Tag).flat_map(|(_, step)| &step.opcodes);
    let tags = opcodes.filter_map(|opcode| match opcode {
        Opcode::TagsSet { tags, .. } => Some(tags.clone()),
        _ => None,
    });
    tags.flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::super::report::Ending;
    use super::super::report::StepReport;
    use super::*;
    use htools_plan::work::MovedData;

    /// Work that powers two nodes down.
    fn work() -> Work {
        let mut work = Builder::default();
        let both = || ["a".to_owned(), "b".to_owned()];
        work.nodes(&Task::Drain, both(), |node| vec![Opcode::set_drained(node, true)]);
        work.nodes(&Task::ConfirmEmpty, both(), |_| Vec::new());
        work.nodes(&Task::Tag, both(), |node| vec![Opcode::tag_node(node, vec!["t".to_owned()])]);
        work.nodes(&Task::SetOffline, both(), |node| vec![Opcode::set_offline(node, true)]);
        for node in both() {
            work.nodes(&Task::PowerOff, [node], |_| Vec::new());
        }
        work.finish().unwrap()
    }

    /// Titles of the steps that undo the work after its first `done` steps succeeded and the next one ended in this
    /// state.
    fn undone(done: usize, next: StepState, began: bool) -> Vec<String> {
        let work = work();
        let step = |at: usize| {
            let state = match at.cmp(&done) {
                std::cmp::Ordering::Less => StepState::Done,
                std::cmp::Ordering::Equal => next,
                std::cmp::Ordering::Greater => StepState::NotStarted,
            };
            StepReport {
                state,
                began: began && at == done || at < done,
                jobs: Vec::new(),
                message: None,
                cleanup: Vec::new(),
            }
        };
        let report = Report { ending: Ending::Failed, steps: (0..work.steps.len()).map(step).collect() };
        let undoing = undo(&work, &report).unwrap();
        assert_eq!(undoing.fault(), None);
        undoing.steps.iter().map(WorkStep::title).collect()
    }

    #[test]
    fn who_was_stopped_for_a_copy_that_failed_is_started() {
        let mut work = work();
        let freight = Some(MovedData { stops: true, ..MovedData::default() });
        let moved = |name: &str, freight| WorkStep {
            subject: name.to_owned(),
            task: Task::Stop,
            opcodes: Vec::new(),
            freight,
        };
        work.steps = vec![
            moved("i", freight.clone()),
            moved("j", freight.clone()),
            moved("k", freight),
            moved("l", None),
        ];
        let step =
            |state, began| StepReport { state, began, jobs: Vec::new(), message: None, cleanup: Vec::new() };
        let steps = vec![
            step(StepState::Done, true),
            step(StepState::Failed, true),
            step(StepState::Failed, false),
            step(StepState::Failed, true),
        ];
        let undoing = undo(&work, &Report { ending: Ending::Failed, steps }).unwrap();
        assert_eq!(undoing.fault(), None);
        assert_eq!(undoing.steps.iter().map(WorkStep::title).collect::<Vec<_>>(), ["start j"]);
        assert_eq!(undoing.steps[0].opcodes, [Opcode::startup("j")]);
    }

    #[test]
    fn by_how_far_it_came() {
        use StepState::{Failed, Unknown};
        // Draining the first node was refused; draining the second failed, or may have.
        assert_eq!(undone(0, Failed, true), [""; 0]);
        assert_eq!(undone(1, Failed, true), ["undrain a"]);
        assert_eq!(undone(1, Unknown, true), ["undrain a", "undrain b"]);
        // A node was not empty.
        assert_eq!(undone(3, Failed, true), ["undrain a", "undrain b"]);
        // Setting tags failed.
        assert_eq!(undone(5, Failed, true), ["undrain a", "undrain b", "untag a"]);
        // Setting a node offline failed.
        let both = ["set online a", "undrain b", "untag a", "untag b"];
        assert_eq!(undone(7, Failed, true), both);
        // Node a still held instances when it was to be powered off, or it may be powering off.
        let both = ["set online a", "set online b", "untag a", "untag b"];
        assert_eq!(undone(8, Failed, false), both);
        assert_eq!(undone(8, Failed, true), ["set online b", "untag b"]);
        assert_eq!(undone(8, Unknown, true), ["set online b", "untag b"]);
        assert_eq!(undone(9, Failed, true), [""; 0]);
    }
}
