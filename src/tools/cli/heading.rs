//! The headings of help texts and manual pages.

use htools_model::words;

words!(
    /// Section of the help text and of the manual page, by the subject of its options.
    pub Heading, "heading" {
        /// The cluster: its source and its properties.
        Cluster = "Cluster",
        /// Choice among the operations of the program.
        Task = "What to do",
        /// Limits of the search, and rules for placements.
        Limits = "Limits and rules",
        /// Execution of the plan.
        Execution = "Execution",
        /// The forms of the result.
        Output = "Output",
        /// Pacemaker clusters.
        Pacemaker = "Pacemaker",
        /// Affinity keys.
        Affinity = "Affinity",
        /// Help, version, configuration files.
        General = "General",
    }
);

/// A set of options that have the same default heading.
pub(crate) trait OptionTopic {
    /// Default heading.
    const HEADING: Heading = Heading::Task;
}

impl OptionTopic for () {
    const HEADING: Heading = Heading::General;
}
