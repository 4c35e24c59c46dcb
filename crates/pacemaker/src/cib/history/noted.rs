//! Check sums of parameters, as recorded by operations.

use super::super::feature_set::FeatureSet;
use super::past::{OperationKey, PastOperation};

/// Check sums of the parameters that an operation got; missing ones are empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::cib) struct NotedParameters {
    pub(in crate::cib) operation: String,
    /// Interval at which it is repeated, in milliseconds; 0 if it is not.
    pub(in crate::cib) interval: u64,
    /// True for a fence device if parameters that only the cluster reads are left out, as in older releases.
    pub(in crate::cib) without_fencing: bool,
    /// True if the recording release defines containers in the newest way.
    pub(in crate::cib) redefined: bool,
    /// Check sum of all parameters.
    pub(in crate::cib) all: String,
    /// Check sum of those that require a restart; `restarting` names them, with blanks around each.
    pub(in crate::cib) restart: String,
    pub(in crate::cib) restarting: String,
    /// Check sum of those that are no secrets; `secret` names the secrets.
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
            redefined: FeatureSet::of(&features).release().redefines_containers(),
            all: text(9),
            restart: text(10),
            restarting: text(11),
            open: text(12),
            secret: text(13),
        }
    }
}

/// The starts, arrivals, promotions and probes of a resource since it came: since its last start or arrival, or else its
/// last change of roles, or else its last stop. Operations are in the order of their calls.
pub(super) fn since_it_came<'o, 'a>(
    operations: &'o [PastOperation<'a>],
) -> impl Iterator<Item = &'o PastOperation<'a>> {
    let came = |operation: &PastOperation<'_>| matches!(operation.name(), b"start" | b"migrate_from");
    let has_role = |operation: &PastOperation<'_>| matches!(operation.name(), b"promote" | b"demote");
    let stopped = operations.iter().rposition(|operation| operation.name() == b"stop").unwrap_or(0);
    let since = &operations[stopped..];
    let first = since.iter().rposition(came).or_else(|| since.iter().rposition(has_role)).unwrap_or(0);
    since[first..].iter().filter(move |operation| {
        let is_probe = operation.name() == b"monitor" && !operation.is_recurring();
        came(operation) || operation.name() == b"promote" || is_probe
    })
}
