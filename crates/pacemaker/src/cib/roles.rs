//! Roles of resources: their names, and how operations tell them.

use super::failures::{DEGRADED, PROMOTED, PastOutcome};
use super::history::KeptOperation;
use super::on_fail::OnFail;

/// Returns true for the name of the promoted role.
pub(crate) fn is_promoted(text: &str) -> bool {
    matches!(text, "Promoted" | "Master")
}

/// Returns true for the name of the unpromoted role.
pub(super) fn is_unpromoted(text: &str) -> bool {
    matches!(text, "Unpromoted" | "Slave")
}

impl PastOutcome {
    /// Takes in what an operation that has ended tells about the role. Returns true if that is all.
    pub(super) fn follow_role(&mut self, operation: &KeptOperation) -> bool {
        let judged = operation.is_judged();
        let is_degraded = judged && matches!(operation.code, 190 | 191);
        let is_monitor = operation.name == "monitor";
        if is_degraded && !(is_monitor && operation.code == 190) {
            self.leave_beyond(DEGRADED);
        }
        let changes_role = matches!(operation.name.as_str(), "promote" | "demote");
        if judged && matches!(operation.code, 8 | 9) || changes_role {
            self.unsupported = Some(PROMOTED);
        }
        if changes_role && operation.is_done() {
            (self.active, self.starting) = (true, false);
            self.promoted = operation.name == "promote";
            // A demotion undoes only failures that ask for one.
            if self.promoted || self.on_fail == OnFail::Demote {
                self.forgive();
            }
            self.failed_promotion &= !self.promoted;
            return true;
        }
        let is_expected = operation.probes() || operation.expected == Some(operation.code);
        if is_monitor && (is_degraded || judged && operation.code == 8 && is_expected) {
            (self.active, self.starting) = (true, false);
            self.promoted |= matches!(operation.code, 8 | 191);
            return true;
        }
        false
    }

    /// Takes in the role after a failed operation.
    pub(super) fn fail_in_role(&mut self, operation: &KeptOperation, on_fail: OnFail) {
        let tells = operation.is_judged() && matches!(operation.code, 8 | 9);
        match operation.name.as_str() {
            "promote" => {
                self.promoted = true;
                self.failed_promotion |= on_fail != OnFail::Ignore;
            }
            "demote" => self.promoted &= on_fail == OnFail::Block,
            "stop" if on_fail == OnFail::Ignore => self.promoted = false,
            _ => self.promoted |= tells,
        }
    }
}
