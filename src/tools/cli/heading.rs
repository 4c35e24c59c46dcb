//! The headings of help texts and manual pages.

use htools_model::words;

words!(
    /// A part of the help text and of the manual page: what options are about.
    pub Heading, "heading" {
        /// The cluster: its source, and what is known of it.
        Cluster = "Cluster",
        /// What to do, of all that the program can do.
        Task = "What to do",
        /// Limits of the search, and rules for placements.
        Limits = "Limits and rules",
        /// Carrying the plan out.
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

/// Options of a program, or a part of them, whose rows stand under one heading unless they say otherwise.
pub(crate) trait OptionTopic {
    /// The heading.
    const HEADING: Heading = Heading::Task;
}

impl OptionTopic for () {
    const HEADING: Heading = Heading::General;
}
