//! Check sums of parameters, as operations noted them.

use super::super::feature_set::FeatureSet;
use super::past::{OperationKey, PastOperation};

/// Parameters as the operation noted them that got them: check sums, empty ones where there are none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::cib) struct NotedParameters {
    /// The name of the operation.
    pub(in crate::cib) operation: String,
    /// Interval at which it is repeated, in milliseconds; 0: it is not.
    pub(in crate::cib) interval: u64,
    /// True if what only the cluster reads of a fence device is left out, as older releases did.
    pub(in crate::cib) without_fencing: bool,
    /// Of all parameters.
    pub(in crate::cib) all: String,
    /// Of those for which the agent has to be restarted, which are named with blanks around them.
    pub(in crate::cib) restart: String,
    pub(in crate::cib) restarting: String,
    /// Of those that are no secrets; the secrets are named.
    pub(in crate::cib) open: String,
    pub(in crate::cib) secret: String,
}

impl NotedParameters {
    pub(in crate::cib) fn key(&self) -> OperationKey<'_> {
        OperationKey { name: &self.operation, interval: self.interval }
    }

    pub(super) fn of(operation: &PastOperation<'_>, fences: bool) -> NotedParameters {
        let text = |at: usize| String::from_utf8_lossy(operation.0[at]).into_owned();
        let features = text(15);
        let is_older = FeatureSet::of(&features) < FeatureSet::NOTES_FENCING_PARAMETERS;
        NotedParameters {
            operation: text(0),
            interval: operation.interval(),
            without_fencing: fences && !features.is_empty() && is_older,
            all: text(9),
            restart: text(10),
            restarting: text(11),
            open: text(12),
            secret: text(13),
        }
    }
}

/// Of operations in the order of their calls, those that started a resource, brought it here or found it, since it was started or
/// brought here last.
pub(super) fn since_it_came<'o, 'a>(
    operations: &'o [PastOperation<'a>],
) -> impl Iterator<Item = &'o PastOperation<'a>> {
    let came = |operation: &PastOperation<'_>| matches!(operation.name(), b"start" | b"migrate_from");
    let first =
        operations.iter().rposition(|operation| came(operation) || operation.name() == b"stop").unwrap_or(0);
    operations[first..].iter().filter(move |operation| {
        came(operation) || operation.name() == b"monitor" && !operation.is_recurring()
    })
}
