//! Errors of sources that cannot be read.

use super::kind::FileKind;
use htools_model::shown::printable;

/// Error of a source that could not be turned into a cluster. Its text names the place (file, line or object), the
/// field, and the value found.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {problem}")]
pub struct LoadError {
    /// File and line, or the object in a document: `cluster.data, line 7, instance 'web'`.
    pub place: String,
    /// The field and the value found: `memory: cannot parse '12x' as an integer`.
    pub problem: String,
    /// Cause that the user can remedy.
    pub cause: Option<LoadCause>,
}

/// Cause of an error that the user of a program can remedy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoadCause {
    /// The file is of another kind.
    OtherKind(FileKind),
    /// Other users can read or change a secret file.
    NotPrivate,
    /// Other users can write to a file that must be trusted.
    WritableByOthers,
    /// The server wants a user and a password, and none are known.
    NoLogin,
    /// The password would be sent as plain text.
    PlainTextPassword,
}

impl LoadError {
    /// An error at `place`.
    pub(crate) fn new(place: impl Into<String>, problem: impl Into<String>) -> Self {
        LoadError { place: place.into(), problem: problem.into(), cause: None }
    }
}

/// The result of loading.
pub type Result<T> = std::result::Result<T, LoadError>;

/// Maximum length of each half of a message, in characters.
const HALF_SHOWN: usize = 230;

impl LoadError {
    /// An error whose texts may contain anything that was read: it is cut to one line of limited length, without
    /// control characters.
    pub fn one_line(place: &str, problem: &str) -> Self {
        LoadError::new(printable(place, HALF_SHOWN), printable(problem, HALF_SHOWN))
    }

    /// The error with its cause.
    pub fn with_cause(self, cause: LoadCause) -> Self {
        LoadError { cause: Some(cause), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_short() {
        let error = LoadError::one_line(&"p".repeat(1000), &"\0".repeat(1000));
        assert!(error.to_string().chars().count() < 500);
    }
}
