//! Plans in files: made on one machine, reviewed, and executed on another or later.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::client::ClusterId;
use crate::input::LoadError;
use crate::input::local::{Readers, read_regular};
use htools_model::shown::shown_source;
use htools_plan::fresh::half_digest;
use htools_plan::work::Work;

/// Schema of saved plans that this version reads and writes.
pub const SCHEMA: &str = "htools.saved-plan-1";
/// Maximum size of a file in bytes: some hundred thousand steps.
const MOST: u64 = 256 << 20;

/// A plan as it is saved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SavedPlan {
    /// [`SCHEMA`].
    pub schema: String,
    /// The tool that made it.
    pub tool: String,
    /// Its version.
    pub version: String,
    /// User and machine, as far as known.
    pub made_by: String,
    /// Time at which it was made, in milliseconds since 1970.
    pub made_at: u64,
    /// The cluster, if it was asked for its identity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<ClusterId>,
    /// Fingerprint of the groups that it affects: see [`htools_plan::fresh::fingerprint`].
    pub fingerprint: String,
    /// The options that it was made with, except for those about the source of the data and the use of the plan.
    pub options: Vec<String>,
    /// Beginning of the opcodes' comments, before the version.
    pub purpose: String,
    /// UUID of the group that it is for; empty if there are several.
    pub group: String,
    /// UUIDs of the groups that it affects.
    pub groups: Vec<String>,
    /// True if it was made with `--ignore-soft-errors`.
    pub ignore_soft_errors: bool,
    /// `--keep-reserve` with which it was made, if given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep_reserve: Option<usize>,
    /// The steps to do.
    pub work: Work,
    /// Check sum over everything else.
    pub sum: String,
}

impl SavedPlan {
    /// Sets the check sum.
    #[must_use]
    pub fn sealed(self) -> SavedPlan {
        let sum = self.expected_sum();
        SavedPlan { sum, ..self }
    }

    /// Half of SHA-256 over the plan without its sum, in hexadecimal digits.
    fn expected_sum(&self) -> String {
        let bare = SavedPlan { sum: String::new(), ..self.clone() };
        // A plan has only numbers and texts, which can always be written as JSON.
        let text = serde_json::to_string(&bare).unwrap_or_default();
        half_digest(text)
    }

    /// Fault of a plan that was read, if there is one.
    fn fault(&self) -> Option<String> {
        if self.sum != self.expected_sum() {
            return Some("the check sum is wrong: the plan was changed since it was saved".to_owned());
        }
        self.work.fault()
    }

    /// Parses the content of a file.
    ///
    /// # Errors
    /// Its fault, in one line.
    pub(crate) fn parse(bytes: &[u8]) -> Result<SavedPlan, String> {
        #[derive(Deserialize)]
        struct Form {
            schema: String,
        }
        let form: Form =
            serde_json::from_slice(bytes).map_err(|error| format!("not a saved plan: {error}"))?;
        if form.schema != SCHEMA {
            return Err(format!("it has the schema '{}'; this version reads only '{SCHEMA}'", form.schema));
        }
        let plan: SavedPlan =
            serde_json::from_slice(bytes).map_err(|error| format!("not a saved plan: {error}"))?;
        plan.fault().map_or(Ok(plan), Err)
    }

    /// Reads a plan to show it.
    ///
    /// # Errors
    /// Faults of the file or its content.
    pub fn read(path: &Path) -> Result<SavedPlan, LoadError> {
        SavedPlan::read_of(path, Readers::Anyone)
    }

    /// Reads a plan to execute it.
    ///
    /// # Errors
    /// As [`read`](SavedPlan::read); also if other users own the file or can write to it.
    pub fn read_ours(path: &Path) -> Result<SavedPlan, LoadError> {
        SavedPlan::read_of(path, Readers::AnyoneNoWriters)
    }

    fn read_of(path: &Path, readers: Readers) -> Result<SavedPlan, LoadError> {
        let bytes = read_regular(path, MOST, readers)?;
        SavedPlan::parse(&bytes)
            .map_err(|problem| LoadError::one_line(&shown_source(&path.to_string_lossy()), &problem))
    }

    /// The content of its file.
    pub fn text(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use htools_plan::work::{Builder, Task};

    fn plan() -> SavedPlan {
        let mut work = Builder::default();
        work.nodes(&Task::ConfirmEmpty, ["a".to_owned(), "b".to_owned()], |_| Vec::new());
        SavedPlan {
            schema: SCHEMA.to_owned(),
            tool: "hbal".into(),
            version: "1".into(),
            made_by: "me@here".into(),
            made_at: 17,
            cluster: Some(ClusterId { name: "c".into(), uuid: "u".into() }),
            fingerprint: "f".into(),
            options: vec!["--merge".into()],
            purpose: "p".into(),
            group: "g".into(),
            groups: vec!["g".into()],
            ignore_soft_errors: false,
            keep_reserve: Some(2),
            work: work.finish().unwrap(),
            sum: String::new(),
        }
        .sealed()
    }

    #[test]
    fn what_was_saved_is_read() {
        let plan = plan();
        assert_eq!(SavedPlan::parse(plan.text().as_bytes()), Ok(plan.clone()));
        let text = plan.text();
        for (changed, problem) in [
            (text.replace(r#""b""#, r#""c""#), "check sum"),
            (text.replace("saved-plan-1", "saved-plan-2"), "it has the schema 'htools.saved-plan-2'"),
            (text.replace(r#""tool""#, r#""tooth""#), "not a saved plan"),
            (text[..text.len() / 2].to_owned(), "not a saved plan"),
            ("{}".to_owned(), "not a saved plan"),
        ] {
            let found = SavedPlan::parse(changed.as_bytes()).unwrap_err();
            assert!(found.contains(problem) && !found.contains('\n'), "{found}");
        }
    }

    proptest! {
        /// A changed byte or a cut-off end is noticed, unless the meaning is the same.
        #[test]
        fn damage_to_plans_is_noticed(at in any::<prop::sample::Index>(), byte: u8, cut: bool) {
            let whole = plan();
            let mut bytes = whole.text().into_bytes();
            let at = at.index(bytes.len());
            if cut { bytes.truncate(at) } else { bytes[at] = byte }
            if let Ok(read) = SavedPlan::parse(&bytes) {
                prop_assert_eq!(read, whole);
            }
        }
    }
}
