//! Hints: advice that is shown on a line of its own after an error message.

use std::error::Error;
use std::fmt;

use anyhow::anyhow;

use crate::execute::journal::JournalError;
use crate::input::kind::FileKind;
use crate::input::local::UntrustedFile;
use crate::input::{LoadCause, LoadError};
use crate::pacemaker::lint::LintError;
use crate::remote::CallError;

/// An error message for a person, and the hint that belongs to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Complaint {
    problem: String,
    hint: Option<String>,
}

impl Complaint {
    pub(crate) fn new(problem: impl Into<String>) -> Complaint {
        Complaint { problem: problem.into(), hint: None }
    }

    /// An error with its causes, and the hint of the outermost of them that has one. Errors of the library that a user
    /// can remedy have hints of their own.
    pub(crate) fn of(error: &anyhow::Error) -> Complaint {
        let hint = error.downcast_ref::<HintedError>().map(|hinted| hinted.hint.clone());
        let hint = hint.or_else(|| error.chain().find_map(remedy).map(str::to_owned));
        Complaint::new(format!("{error:#}")).with_hint(hint)
    }

    /// Replaces the hint.
    pub(crate) fn with_hint(self, hint: Option<String>) -> Complaint {
        Complaint { hint, ..self }
    }

    /// The message without the hint, for documents.
    pub(crate) fn problem(&self) -> &str {
        &self.problem
    }

    /// The message and the hint, on a line each, without the word `Error`.
    pub(crate) fn lines(&self) -> String {
        let hint = self.hint.as_ref().map(|hint| format!("Hint: {hint}\n")).unwrap_or_default();
        format!("{}\n{hint}", self.problem)
    }

    /// Puts the name of a program or file before the message.
    pub(crate) fn under(self, name: &str) -> Complaint {
        Complaint { problem: format!("{name}: {}", self.problem), ..self }
    }

    /// Several complaints as one; each hint is shown once.
    pub(crate) fn joined(complaints: Vec<Complaint>) -> Complaint {
        let problems: Vec<&str> = complaints.iter().map(Complaint::problem).collect();
        let mut hints: Vec<&str> = Vec::new();
        for hint in complaints.iter().filter_map(|one| one.hint.as_deref()) {
            if !hints.contains(&hint) {
                hints.push(hint);
            }
        }
        let hint = Some(hints.join("; ")).filter(|hint| !hint.is_empty());
        Complaint { problem: problems.join("; "), hint }
    }
}

/// The lines for standard error, each with its line break.
impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Error: {}", self.lines())
    }
}

impl From<Complaint> for anyhow::Error {
    fn from(complaint: Complaint) -> Self {
        let error = anyhow!(complaint.problem);
        match complaint.hint {
            Some(hint) => error.hint(hint),
            None => error,
        }
    }
}

/// An error that carries a hint. It reads like the error itself.
#[derive(Debug)]
struct HintedError {
    error: anyhow::Error,
    hint: String,
}

impl fmt::Display for HintedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl Error for HintedError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.error.source()
    }
}

/// Returns the hint for an error of the library.
fn remedy(error: &(dyn Error + 'static)) -> Option<&'static str> {
    if let Some(error) = error.downcast_ref::<LoadError>() {
        return error.cause.map(remedy_of);
    }
    // These errors show a LoadError as their own, so it is not among their causes.
    if let Some(JournalError::Refused(error)) = error.downcast_ref() {
        return error.cause.map(remedy_of);
    }
    if let Some(LintError::Document(error)) = error.downcast_ref() {
        return error.cause.map(remedy_of);
    }
    if let Some(CallError::NoLogin(_)) = error.downcast_ref() {
        return Some(remedy_of(LoadCause::NoLogin));
    }
    match error.downcast_ref() {
        Some(UntrustedFile::Writable(_)) => Some(remedy_of(LoadCause::WritableByOthers)),
        _ => None,
    }
}

/// Returns the hint for a cause that a user can remedy.
pub(crate) fn remedy_of(cause: LoadCause) -> &'static str {
    match cause {
        LoadCause::OtherKind(FileKind::Text) => "use -t",
        LoadCause::OtherKind(FileKind::Request) => "give it to hail, or use -I for the cluster in it",
        LoadCause::OtherKind(FileKind::Cib) => "use -x (hplace, hbal, hspace, hsqueeze, hcheck)",
        LoadCause::OtherKind(FileKind::Keys) => "use hplace -j",
        LoadCause::OtherKind(FileKind::SavedPlan) => "use htools show or htools apply",
        LoadCause::OtherKind(FileKind::Journal) => "use --resume",
        LoadCause::NotPrivate => "chmod 600 makes the file private",
        LoadCause::WritableByOthers => "chmod go-w takes the right from other users",
        LoadCause::NoLogin => "use --rapi-credentials FILE",
        LoadCause::PlainTextPassword => "use https://, or allow plain text with --insecure-http",
    }
}

/// Adds a hint to errors.
pub(crate) trait WithHint {
    /// The same with a hint.
    type Hinted;

    /// Adds a hint, which is one sentence without a full stop.
    fn hint(self, text: impl Into<String>) -> Self::Hinted;
}

impl WithHint for anyhow::Error {
    type Hinted = anyhow::Error;

    fn hint(self, text: impl Into<String>) -> anyhow::Error {
        HintedError { error: self, hint: text.into() }.into()
    }
}

impl<T, E: Into<anyhow::Error>> WithHint for Result<T, E> {
    type Hinted = anyhow::Result<T>;

    fn hint(self, text: impl Into<String>) -> anyhow::Result<T> {
        self.map_err(|error| error.into().hint(text))
    }
}

impl WithHint for Complaint {
    type Hinted = Complaint;

    fn hint(self, text: impl Into<String>) -> Complaint {
        Complaint { hint: Some(text.into()), ..self }
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use anyhow::{Context, ensure};

    use super::*;

    fn lines(error: &anyhow::Error) -> String {
        Complaint::of(error).to_string()
    }

    #[test]
    fn a_hint_has_a_line_of_its_own() {
        let error = anyhow!("option --seed needs --poisson").hint("give --poisson N");
        assert_eq!(lines(&error), "Error: option --seed needs --poisson\nHint: give --poisson N\n");
        assert_eq!(lines(&anyhow!("no room")), "Error: no room\n");
        let refused = (|| {
            ensure!(1 > 2, anyhow!("1 is less than {}", 2).hint("count again"));
            anyhow::Ok(())
        })();
        assert_eq!(lines(&refused.unwrap_err()), "Error: 1 is less than 2\nHint: count again\n");
    }

    #[test]
    fn a_hint_is_found_below_and_above_context() {
        let cause = || io::Error::other("no such file");
        let below = Err::<(), _>(cause()).hint("use -x").context("x.xml").context("hbal");
        assert_eq!(lines(&below.unwrap_err()), "Error: hbal: x.xml: no such file\nHint: use -x\n");
        let above = Err::<(), _>(cause()).context("x.xml").hint("use -x");
        assert_eq!(lines(&above.unwrap_err()), "Error: x.xml: no such file\nHint: use -x\n");
        let twice = Err::<(), _>(cause()).hint("inner").context("x.xml").hint("outer");
        assert_eq!(lines(&twice.unwrap_err()), "Error: x.xml: no such file\nHint: outer\n");
    }

    #[test]
    fn complaints_are_joined_with_their_hints() {
        let complaints = ["one", "two"].map(|text| Complaint::new(text).hint("try again"));
        let other = Complaint::new("other").hint("look");
        let mixed = Complaint::joined(vec![complaints[0].clone(), other, complaints[1].clone()]);
        assert_eq!(mixed.lines(), "one; other; two\nHint: try again; look\n");
        let joined = Complaint::joined(complaints.to_vec()).under("hsqueeze");
        assert_eq!(joined.to_string(), "Error: hsqueeze: one; two\nHint: try again\n");
        let error = anyhow::Error::from(joined.clone()).context("group a");
        assert_eq!(lines(&error), "Error: group a: hsqueeze: one; two\nHint: try again\n");
        assert_eq!(Complaint::joined(Vec::new()), Complaint::new(""));
    }
}
