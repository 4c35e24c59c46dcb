//! Result of attending to one instance.

use super::RepairTag;

/// Action taken on an instance, or the state it was found in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VisitOutcome {
    /// Nothing had to be done.
    Nothing,
    /// A repair was begun; its tag.
    Begun(RepairTag),
    /// A repair is under way.
    UnderWay(RepairTag),
    /// A repair has ended; the tag that says so.
    Ended(RepairTag),
    /// A repair was announced but never begun: its tag was removed.
    NeverBegun(RepairTag),
    /// The repair that is needed is not permitted, as the tag says.
    NotPermitted(RepairTag),
    /// The last repair was in vain and counts as a failure, as the tag says.
    InVain(RepairTag),
    /// Repairs are suspended, as the tag says.
    Suspended(String),
    /// An earlier repair has failed.
    Failed(RepairTag),
}

impl VisitOutcome {
    /// The tag that was added to the instance.
    pub fn added(&self) -> Option<String> {
        match self {
            VisitOutcome::Begun(tag)
            | VisitOutcome::Ended(tag)
            | VisitOutcome::NotPermitted(tag)
            | VisitOutcome::InVain(tag) => Some(tag.to_string()),
            VisitOutcome::Suspended(tag) => Some(tag.clone()),
            VisitOutcome::Nothing
            | VisitOutcome::UnderWay(_)
            | VisitOutcome::NeverBegun(_)
            | VisitOutcome::Failed(_) => None,
        }
    }
}

/// Result of attending to one instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Visit {
    /// Action taken, or state found.
    pub attended: VisitOutcome,
    /// Obsolete tags that were removed.
    pub removed: Vec<RepairTag>,
    /// Error message of the job that failed.
    pub message: Option<String>,
    /// Command that cleans up after a live migration that may have stopped half-way.
    pub cleanup: Option<String>,
}
