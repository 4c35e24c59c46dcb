//! Severity of the problems of a cluster, for monitoring.

use super::ProblemCounts;
use htools_model::words;

words!(
    /// Severity of a problem, the worst last.
    pub Severity, "severity" {
        /// There is no problem.
        Ok = "ok",
        /// To be repaired at leisure: everything runs, but not everything survives the next failure.
        Warning = "warning",
        /// To be repaired now.
        Critical = "critical",
    }
);

words!(
    /// Kinds of problems.
    pub ProblemKind, "kind of problem" {
        /// Instances whose primary node is offline.
        OfflinePrimary = "offline_primary",
        /// Instances whose secondary node is offline.
        OfflineSecondary = "offline_secondary",
        /// Nodes that fail N+1.
        N1Failing = "n1_failing",
        /// Nodes that cannot be emptied.
        NotExpendable = "not_expendable",
        /// Nodes with conflicts of exclusion tags.
        Conflicting = "conflicting",
    }
);

/// Severity of each kind of problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Severities([Severity; ProblemKind::ALL.len()]);

/// Instances that do not run are critical; those that would not run after the next failure are a warning.
impl Default for Severities {
    fn default() -> Severities {
        let mut severities = Severities([Severity::Warning; ProblemKind::ALL.len()]);
        severities.set(ProblemKind::OfflinePrimary, Severity::Critical);
        severities
    }
}

impl Severities {
    /// Severity of a kind of problem.
    pub fn of(&self, kind: ProblemKind) -> Severity {
        self.0[kind as usize]
    }

    /// Sets the severity of a kind of problem.
    pub fn set(&mut self, kind: ProblemKind, severity: Severity) {
        self.0[kind as usize] = severity;
    }

    /// The worst severity of the existing problems.
    pub fn worst(&self, counts: &ProblemCounts) -> Severity {
        let there = ProblemKind::ALL.iter().filter(|kind| counts.of(**kind).is_some_and(|count| count > 0));
        there.map(|kind| self.of(*kind)).max().unwrap_or(Severity::Ok)
    }
}

impl ProblemCounts {
    /// Number of problems of a kind; `None` if they were not checked.
    pub fn of(&self, kind: ProblemKind) -> Option<usize> {
        match kind {
            ProblemKind::OfflinePrimary => Some(self.offline_primary),
            ProblemKind::OfflineSecondary => Some(self.offline_secondary),
            ProblemKind::N1Failing => Some(self.n1_failing),
            ProblemKind::NotExpendable => self.at_risk,
            ProblemKind::Conflicting => Some(self.conflicting),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gravest_counts() {
        let mut severities = Severities::default();
        let mut counts = ProblemCounts::none(true);
        assert_eq!(severities.worst(&counts), Severity::Ok);
        counts.at_risk = Some(1);
        assert_eq!(severities.worst(&counts), Severity::Warning);
        severities.set(ProblemKind::NotExpendable, Severity::Ok);
        assert_eq!(severities.worst(&counts), Severity::Ok);
        counts.offline_primary = 1;
        assert_eq!(severities.worst(&counts), Severity::Critical);
    }
}
