//! Errors of calls to a daemon.

/// Failure of a call to a daemon. The variant tells whether the daemon may have carried out the request, as a job must
/// never be submitted twice. Texts are one line, without passwords.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// The daemon did not get the request: there was no connection, or it broke before the whole request was sent.
    #[error("{0}")]
    NotSent(String),
    /// The request was sent, and the connection ended without an answer, because the daemon went away. It may have
    /// carried out the request, but will not begin with it now.
    #[error("{0}")]
    Lost(String),
    /// The request was sent, and no complete answer came in time. The daemon may have carried it out, or may still do
    /// so.
    #[error("{0}")]
    Late(String),
    /// The daemon refused the request, for this reason.
    #[error("{0}")]
    Refused(String),
    /// The daemon refused the request because it wants a user and a password, and none were sent.
    #[error("{0}")]
    NoLogin(String),
    /// The answer is malformed: the daemon may have carried out the request.
    #[error("{0}")]
    Nonsense(String),
}

impl CallError {
    /// Tells if the connection is to blame, so that another attempt may succeed.
    pub fn is_passing(&self) -> bool {
        matches!(self, CallError::NotSent(_) | CallError::Lost(_) | CallError::Late(_))
    }

    /// The same failure with another text.
    pub(crate) fn map(self, words: impl FnOnce(String) -> String) -> CallError {
        match self {
            CallError::NotSent(text) => CallError::NotSent(words(text)),
            CallError::Lost(text) => CallError::Lost(words(text)),
            CallError::Late(text) => CallError::Late(words(text)),
            CallError::Refused(text) => CallError::Refused(words(text)),
            CallError::NoLogin(text) => CallError::NoLogin(words(text)),
            CallError::Nonsense(text) => CallError::Nonsense(words(text)),
        }
    }

    /// Tells if the daemon certainly did not carry out the request.
    pub(crate) fn is_undone(&self) -> bool {
        matches!(self, CallError::NotSent(_) | CallError::Refused(_) | CallError::NoLogin(_))
    }
}
