//! Kinds of files that the tools read, recognised by their beginning. If a file is given to the wrong option, the error
//! can name its kind.

use super::error::{LoadCause, LoadError};
use htools_model::shown::shown_source;

/// A kind of file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A cluster in the text format.
    Text,
    /// A request to Ganeti's allocator, with the cluster in it.
    Request,
    /// A Pacemaker cluster's document.
    Cib,
    /// A document with nodes, machines and affinity keys.
    Keys,
    /// A plan that `--save-plan` wrote.
    SavedPlan,
    /// A journal of a run.
    Journal,
}

/// Number of bytes at the beginning in which a JSON or XML document must show its kind.
const BEGINNING: usize = 4096;

impl FileKind {
    /// The kind of a document; `None` if its beginning is not that of a known kind.
    pub(crate) fn of(text: &str) -> Option<FileKind> {
        let text = text.trim_start_matches('\u{feff}').trim_start();
        let end =
            (0..=BEGINNING.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
        let beginning = &text[..end];
        match text.as_bytes().first()? {
            b'<' => beginning.contains("<cib").then_some(FileKind::Cib),
            b'{' => FileKind::of_json(text, beginning),
            _ => {
                let line = text.lines().next().unwrap_or_default();
                (line.matches('|').count() >= 3).then_some(FileKind::Text)
            }
        }
    }

    fn of_json(text: &str, beginning: &str) -> Option<FileKind> {
        if beginning.contains("\"htools.journal-") {
            Some(FileKind::Journal)
        } else if beginning.contains("\"htools.saved-plan-") {
            Some(FileKind::SavedPlan)
        } else if text.contains("\"nodegroups\"") && text.contains("\"request\"") {
            Some(FileKind::Request)
        } else if text.contains("\"ram_total\"") {
            Some(FileKind::Keys)
        } else {
            None
        }
    }

    /// Name of the kind, with its article.
    fn shown(self) -> &'static str {
        match self {
            FileKind::Text => "a cluster in the text format",
            FileKind::Request => "an allocator request",
            FileKind::Cib => "a Pacemaker CIB",
            FileKind::Keys => "a document with affinity keys",
            FileKind::SavedPlan => "a saved plan",
            FileKind::Journal => "a journal of a run",
        }
    }

    /// The error for a document that could not be read as this kind. If it is of another kind, its name replaces
    /// `error`.
    pub fn unless_other(self, error: LoadError, text: &str, source: &str) -> LoadError {
        match FileKind::of(text) {
            Some(kind) if kind != self => {
                LoadError::one_line(&shown_source(source), &format!("this is {}", kind.shown()))
                    .with_cause(LoadCause::OtherKind(kind))
            }
            _ => error,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_recognised() {
        for (text, kind) in [
            (include_str!("../../../../data/balanced.data"), Some(FileKind::Text)),
            (include_str!("../../../../data/allocate.json"), Some(FileKind::Request)),
            (include_str!("../../../../data/pacemaker-small.xml"), Some(FileKind::Cib)),
            (include_str!("../../../../data/affinity.json"), Some(FileKind::Keys)),
            (include_str!("../../../../data/utilisation.txt"), None),
            (include_str!("../../../../data/monitoring.json"), None),
            (r#"{"journal":"htools.journal-1"}"#, Some(FileKind::Journal)),
            (r#"{"schema": "htools.saved-plan-1"}"#, Some(FileKind::SavedPlan)),
            ("<html/>", None),
            ("", None),
            ("\n\n\n\n", None),
        ] {
            assert_eq!(FileKind::of(text), kind, "{:.40}", text);
        }
    }
}
