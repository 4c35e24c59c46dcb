//! Feature sets: abilities of the oldest member of a cluster, or of the node that recorded an operation.

use super::super::release::Release;

/// Numbers of a feature set; missing ones are 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FeatureSet([u64; 3]);

impl FeatureSet {
    /// The first one that counts failures by operation.
    pub(super) const COUNTS_BY_OPERATION: FeatureSet = FeatureSet([3, 0, 13]);
    /// The first one whose check sums of fence devices include parameters that only the cluster reads.
    pub(super) const NOTES_FENCING_PARAMETERS: FeatureSet = FeatureSet([3, 16, 0]);
    /// The last one without utilization of nodes in the status.
    pub(super) const LAST_WITHOUT_TRANSIENT_UTILIZATION: FeatureSet = FeatureSet([3, 16, 1]);

    /// The first one after those of Pacemaker 3.0.
    const AFTER_3_0: FeatureSet = FeatureSet([3, 21, 0]);

    /// The release whose rules hold in a cluster with this feature set.
    pub(super) fn release(self) -> Release {
        let mut newest_first = Release::ALL.iter().rev().copied();
        newest_first.find(|release| self.is_of(*release)).unwrap_or_default()
    }

    /// Returns true if it is that of a release, or of a newer one.
    pub(super) fn is_of(self, release: Release) -> bool {
        self >= FeatureSet::of(release.feature_set())
    }

    /// Returns true if no known release has this feature set: it is newer than all, or between two of them.
    pub(super) fn is_unknown(self) -> bool {
        let is_between =
            self > FeatureSet::of(Release::V2_1_5.feature_set()) && self.release() == Release::V2_1_5;
        is_between || self >= FeatureSet::AFTER_3_0
    }

    /// Returns true if the status may tell of a node's membership by a time instead of a flag.
    pub(super) fn reads_times_of_membership(self) -> bool {
        self > FeatureSet::of(Release::V2_1_5.feature_set())
    }

    /// Parses a feature set: `3.16.1`.
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
