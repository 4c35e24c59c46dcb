//! What can go wrong between a daemon and a program that asks it or gives it jobs.

/// Why a call to a daemon gave no result, and what that says about whether the
/// daemon has done what it was asked for: a job must never be submitted twice.
/// Texts are one line, and without passwords.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// The daemon has not got the request: there is no connection, or it broke before
    /// the whole request was out.
    #[error("{0}")]
    NotSent(String),
    /// The request is out, and the connection ended without an answer: the daemon went
    /// away. It may have done what it was asked for, but will not begin with it now.
    #[error("{0}")]
    Lost(String),
    /// The request is out, and no whole answer came in time: the daemon may have done it,
    /// and may still do it.
    #[error("{0}")]
    Late(String),
    /// The daemon says why it does not do it.
    #[error("{0}")]
    Refused(String),
    /// The answer makes no sense: the daemon may have done it.
    #[error("{0}")]
    Nonsense(String),
}

impl CallError {
    /// Whether the connection is to blame, so that another attempt may succeed.
    pub fn is_passing(&self) -> bool {
        matches!(self, CallError::NotSent(_) | CallError::Lost(_) | CallError::Late(_))
    }

    /// The same failure in other words.
    pub(crate) fn map(self, words: impl FnOnce(String) -> String) -> CallError {
        match self {
            CallError::NotSent(text) => CallError::NotSent(words(text)),
            CallError::Lost(text) => CallError::Lost(words(text)),
            CallError::Late(text) => CallError::Late(words(text)),
            CallError::Refused(text) => CallError::Refused(words(text)),
            CallError::Nonsense(text) => CallError::Nonsense(words(text)),
        }
    }

    /// Whether the daemon has surely not done what it was asked for.
    pub(crate) fn is_undone(&self) -> bool {
        matches!(self, CallError::NotSent(_) | CallError::Refused(_))
    }
}
