//! Result of attending to one instance.

use super::RepairTag;

/// Action taken on an instance, or the state it was found in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Attended {
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

impl Attended {
    /// The tag that was added to the instance.
    pub fn added(&self) -> Option<String> {
        match self {
            Attended::Begun(tag)
            | Attended::Ended(tag)
            | Attended::NotPermitted(tag)
            | Attended::InVain(tag) => Some(tag.to_string()),
            Attended::Suspended(tag) => Some(tag.clone()),
            Attended::Nothing | Attended::UnderWay(_) | Attended::NeverBegun(_) | Attended::Failed(_) => None,
        }
    }
}

/// Result of attending to one instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Visit {
    /// Action taken, or state found.
    pub attended: Attended,
    /// Obsolete tags that were removed.
    pub removed: Vec<RepairTag>,
    /// Error message of the job that failed.
    pub message: Option<String>,
    /// Command that cleans up after a live migration that may have stopped half-way.
    pub cleanup: Option<String>,
}
