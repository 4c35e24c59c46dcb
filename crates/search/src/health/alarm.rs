//! How grave what is wrong with a cluster is, for whoever watches it.

use super::ProblemCounts;
use htools_model::words;

words!(
    /// How grave a problem is, the gravest last.
    pub Severity, "severity" {
        /// None at all.
        Ok = "ok",
        /// To be mended at leisure: everything runs, but not all of it survives what comes next.
        Warning = "warning",
        /// To be mended now.
        Critical = "critical",
    }
);

words!(
    /// What can be wrong.
    pub ProblemKind, "kind of problem" {
        /// Instances whose primary node is offline.
        OfflinePrimary = "offline_primary",
        /// Instances whose secondary node is offline.
        OfflineSecondary = "offline_secondary",
        /// Nodes that fail N+1.
        N1Failing = "n1_failing",
        /// Nodes that could not be emptied.
        NotExpendable = "not_expendable",
        /// Nodes with conflicts of exclusion tags.
        Conflicting = "conflicting",
    }
);

/// How grave each kind of problem is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Severities([Severity; ProblemKind::ALL.len()]);

/// What does not run is critical, what would not run after the next failure a warning.
impl Default for Severities {
    fn default() -> Severities {
        let mut severities = Severities([Severity::Warning; ProblemKind::ALL.len()]);
        severities.set(ProblemKind::OfflinePrimary, Severity::Critical);
        severities
    }
}

impl Severities {
    /// How grave such a problem is.
    pub fn of(&self, kind: ProblemKind) -> Severity {
        self.0[kind as usize]
    }

    /// Says how grave such a problem is.
    pub fn set(&mut self, kind: ProblemKind, severity: Severity) {
        self.0[kind as usize] = severity;
    }

    /// How grave everything is that is wrong.
    pub fn worst(&self, counts: &ProblemCounts) -> Severity {
        let there = ProblemKind::ALL.iter().filter(|kind| counts.of(**kind).is_some_and(|count| count > 0));
        there.map(|kind| self.of(*kind)).max().unwrap_or(Severity::Ok)
    }
}

impl ProblemCounts {
    /// How many there are of one kind; nothing if that was not looked at.
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
