//! Why a source could not be read.

/// A source could not be turned into a cluster. The text says where (file,
/// line or object), which field, and what was found there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {problem}")]
pub struct LoadError {
    /// File and line, or the object in a document: `cluster.data, line 7, instance 'web'`.
    pub place: String,
    /// The field and the value found: `memory: cannot parse '12x' as an integer`.
    pub problem: String,
}

impl LoadError {
    /// An error at `place`.
    pub fn new(place: impl Into<String>, problem: impl Into<String>) -> Self {
        LoadError { place: place.into(), problem: problem.into() }
    }
}

/// The result of loading.
pub type Result<T> = std::result::Result<T, LoadError>;
