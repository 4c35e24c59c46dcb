//! Sets of features: what the oldest member of a cluster, or the node that noted an operation, can do.

/// The numbers of a set of features; those that are missing are 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FeatureSet([u64; 3]);

impl FeatureSet {
    /// The first in which failures are counted by operation.
    pub(super) const COUNTS_BY_OPERATION: FeatureSet = FeatureSet([3, 0, 13]);
    /// The first in which the check sums of fence devices cover what only the cluster reads.
    pub(super) const NOTES_FENCING_PARAMETERS: FeatureSet = FeatureSet([3, 16, 0]);
    /// The last in which the status has no utilization of nodes.
    pub(super) const LAST_WITHOUT_TRANSIENT_UTILIZATION: FeatureSet = FeatureSet([3, 16, 1]);

    /// A set of features by its text: `3.16.1`.
    pub(super) fn of(text: &str) -> FeatureSet {
        let mut numbers = text.split('.').map(|number| number.parse().unwrap_or(0));
        FeatureSet([(); 3].map(|()| numbers.next().unwrap_or(0)))
    }
}

#[cfg(test)]
mod tests {
    use super::FeatureSet;

    #[test]
    fn sets_compare_by_their_numbers() {
        assert!(FeatureSet::of("3.9.99") < FeatureSet::of("3.16"));
        assert!(FeatureSet::of("3.16") == FeatureSet::of("3.16.0"));
        assert!(FeatureSet::of("") < FeatureSet::of("2.20"));
    }
}
