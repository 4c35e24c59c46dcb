//! What came of looking after an instance.

use super::RepairTag;

/// What was done about an instance, or found out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Attended {
    /// Nothing was to be done.
    Nothing,
    /// A repair was begun; its tag.
    Begun(RepairTag),
    /// A repair is under way.
    UnderWay(RepairTag),
    /// A repair has ended; the tag that says so.
    Ended(RepairTag),
    /// A repair was announced, and nothing was done about it: its tag is gone.
    NeverBegun(RepairTag),
    /// The tag says that the repair that is needed is not permitted.
    NotPermitted(RepairTag),
    /// The tag says that the last repair was in vain: it counts as a failure.
    InVain(RepairTag),
    /// Nothing is tried any more, as the tag says.
    Suspended(String),
    /// A repair has failed before.
    Failed(RepairTag),
}

impl Attended {
    /// The tag that the instance has got.
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

/// What came of looking after an instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Visit {
    /// What was done.
    pub attended: Attended,
    /// Tags that are gone, as they told nothing any more.
    pub removed: Vec<RepairTag>,
    /// Words of the job that failed.
    pub message: Option<String>,
    /// Command that tidies up after a live migration that may be half done.
    pub cleanup: Option<String>,
}
