//! Passwords and their users.

use std::fmt;

use super::address::shown_user;

/// A text that is never shown.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Secret(String);

impl Secret {
    /// Keeps a text from being shown.
    pub(super) fn new(text: impl Into<String>) -> Secret {
        Secret(text.into())
    }

    /// The text, to be sent to the server only.
    pub(super) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// A user of RAPI with a password.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Credentials {
    /// The user's name.
    pub user: String,
    pub password: Secret,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials")
            .field("user", &shown_user(&self.user))
            .field("password", &self.password)
            .finish()
    }
}
