//! What is still done when a step fails.

use super::Transition;
use htools_plan::graph::{StepIdx, Strength};

/// What becomes of a step when another one fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepFate {
    /// It is carried out.
    Done,
    /// It is the one that fails.
    Failed,
    /// It needs what failed, or never can be carried out.
    Dropped,
}

impl Transition {
    /// By step, what becomes of it if one fails and nothing is planned anew: what must follow it, or lacks room
    /// without it, is dropped; what only should follow is done.
    pub fn if_fails(&self, failing: StepIdx) -> Vec<StepFate> {
        let mut fates = Vec::with_capacity(self.steps.len());
        for step in self.all() {
            let needs = |before: &StepIdx| fates.get(before.get()) != Some(&StepFate::Done);
            let edges = self.before(step).filter(|edge| edge.strength != Strength::Should);
            let befores: Vec<StepIdx> = edges.map(|edge| edge.before).collect();
            let lost = befores.iter().filter(|before| needs(before)).count();
            let spare =
                self.step(step).choice.map_or(0, |choice| befores.len().saturating_sub(choice.enough));
            let is_lost = step.get() >= self.possible || lost > spare;
            fates.push(match is_lost {
                true => StepFate::Dropped,
                false if step == failing => StepFate::Failed,
                false => StepFate::Done,
            });
        }
        fates
    }
}
