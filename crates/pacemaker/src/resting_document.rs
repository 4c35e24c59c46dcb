//! The document of a cluster at rest.

/// The document of a cluster that has nothing more to do.
#[derive(Debug)]
pub struct RestingDocument {
    /// Its text.
    pub(super) text: String,
    /// Its source, for messages.
    pub(super) source: String,
    /// Number of resources of the document. A working set can have others behind them.
    pub(super) resources: usize,
}
