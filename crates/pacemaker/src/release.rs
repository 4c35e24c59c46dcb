//! Releases of Pacemaker whose rules for places and actions are known, and the rules in which they differ.

use htools_model::words;

words!(
    /// The release of Pacemaker that is played.
    #[derive(Default)]
    pub Release, "Pacemaker version" {
        /// 2.1.5, and every older one.
        #[default]
        V2_1_5 = "2.1.5",
        /// 3.0.0.
        V3_0_0 = "3.0.0",
        /// 3.0.2, and newer ones.
        V3_0_2 = "3.0.2",
    }
);

impl Release {
    /// The words that choose a release: those of all releases, and `3.0` for the newest.
    pub const CHOICES: &'static [&'static str] = &["2.1.5", "3.0.0", "3.0.2", Release::NEWEST];
    const NEWEST: &'static str = "3.0";

    /// The release that a word chooses.
    pub fn chosen(word: &str) -> Option<Release> {
        if word == Release::NEWEST { Release::ALL.last().copied() } else { word.parse().ok() }
    }

    /// The lowest feature set of clusters of this release (`crm_feature_set`).
    pub(crate) fn feature_set(self) -> &'static str {
        match self {
            Release::V2_1_5 => "3.16.1",
            Release::V3_0_0 => "3.20.0",
            Release::V3_0_2 => "3.20.1",
        }
    }

    /// Returns true if the instances of a clone follow all its colocations, even if every host gets one anyway.
    pub(crate) fn full_clones_follow_all(self) -> bool {
        self >= Release::V3_0_0
    }

    /// Returns true if the first resource on a host counts in full for a kind of capacity that the host does not have.
    pub(crate) fn owes_missing_kinds(self) -> bool {
        self >= Release::V3_0_0
    }

    /// Returns true if the factors of all colocations on a path count, and not only that of the last one.
    pub(crate) fn multiplies_shares(self) -> bool {
        self >= Release::V3_0_0
    }

    /// Returns true if the first member of a group follows the colocations of all its members, and if the last one is
    /// wanted by the dependents of all of them.
    pub(crate) fn members_share_colocations(self) -> bool {
        self >= Release::V3_0_0
    }

    /// Returns true if the locations of a group count for colocations with any of its members.
    pub(crate) fn members_count_for_group(self) -> bool {
        self >= Release::V3_0_0
    }

    /// Returns true if a resource leaves the last host that is left to another one which keeps away from it: the hosts
    /// that the other one avoids become wanted.
    pub(crate) fn flees_from_last_host(self) -> bool {
        self >= Release::V3_0_0
    }

    /// Returns true if mandatory colocations count before all others for the place of their dependent, and mandatory
    /// dependents before optional primaries.
    pub(crate) fn follows_mandatory_first(self) -> bool {
        self >= Release::V3_0_0
    }

    /// Returns true if instances that are groups are tried on their hosts even if a member failed.
    pub(crate) fn tries_failed_groups(self) -> bool {
        self >= Release::V3_0_0
    }

    /// Returns true if a mandatory colocation with a clone forbids, in an opt-in cluster, hosts with an instance of it on
    /// which nothing opts in.
    pub(crate) fn refuses_beside_clones(self) -> bool {
        self < Release::V3_0_0
    }

    /// Returns true if an instance without a host has the promotion score minus infinity, and not 0.
    pub(crate) fn never_promotes_the_placeless(self) -> bool {
        self >= Release::V3_0_0
    }

    /// Returns true if a colocation of promoted instances counts once for a promotion, for groups, too. Before, it counts
    /// another time among the wishes of others, and not at all for groups.
    pub(crate) fn promotes_by_colocations_once(self) -> bool {
        self >= Release::V3_0_0
    }

    /// Returns true if several hosts are fenced at the same time unless the cluster says otherwise.
    pub(crate) fn fences_concurrently(self) -> bool {
        self >= Release::V3_0_0
    }

    /// Returns true if location rules of which one expression is enough add the host's own score to theirs.
    pub(crate) fn adds_hosts_to_alternatives(self) -> bool {
        self < Release::V3_0_0
    }

    /// Returns true if a location rule that takes its score from a node attribute forbids hosts without it.
    pub(crate) fn forbids_without_score_attribute(self) -> bool {
        self < Release::V3_0_0
    }

    /// Returns true if a member of a group gives up its live migration when the member before it starts.
    pub(crate) fn restarts_after_members(self) -> bool {
        self >= Release::V3_0_0
    }

    /// Returns true if a member of a group is not started if the next one runs and cannot be stopped.
    pub(crate) fn starts_only_before_the_stoppable(self) -> bool {
        self >= Release::V3_0_0
    }

    /// Returns true if a stop that failed for good blocks its resource even if the failure is forgotten.
    pub(crate) fn keeps_forgotten_stops(self) -> bool {
        self < Release::V3_0_0
    }

    /// Returns true if the importance of the later one of two resources in a set decides whether their colocation has
    /// influence, even if the earlier one is the dependent.
    pub(crate) fn asks_later_of_set(self) -> bool {
        self >= Release::V3_0_0
    }

    /// Returns true if the instances of a clone with a `clone-node-max` above 1 are told apart by default.
    pub(crate) fn tells_several_apart(self) -> bool {
        self >= Release::V3_0_0
    }

    /// Returns true if orders of the kind `Serialize` count beside others of the same two resources. Before, only the first
    /// of these counts.
    pub(crate) fn serializes_beside_others(self) -> bool {
        self >= Release::V3_0_0
    }

    /// Returns true if resources with a mandatory colocation to a group, or to a member of a group that is kept together,
    /// do not start if the group does not.
    pub(crate) fn stops_without_groups(self) -> bool {
        self >= Release::V3_0_0
    }

    /// Returns true if, of several colocations between the same two resources, instances follow the first one first.
    pub(crate) fn turns_equal_colocations(self) -> bool {
        self < Release::V3_0_0
    }

    /// Returns true if the promotion scores of a container's host are those of the host that it has now, and not those of
    /// the one where it is placed.
    pub(crate) fn promotes_by_present_hosts(self) -> bool {
        self < Release::V3_0_0
    }

    /// Returns true if the roles of bundles in colocations count for promotions and for those that are kept apart, as
    /// those of clones do.
    pub(crate) fn follows_roles_of_bundles(self) -> bool {
        self >= Release::V3_0_0
    }

    /// Returns true if a bundle has its turn by the place of its addresses and connections, too, and not only by those of
    /// its containers.
    pub(crate) fn ranks_bundles_by_all_parts(self) -> bool {
        self < Release::V3_0_0
    }

    /// Returns true if a bundle that has its place shows its scores again each time that a resource goes by it, and not
    /// only when it has its turn.
    pub(crate) fn repeats_bundles(self) -> bool {
        self < Release::V3_0_0
    }

    /// Returns true if all instances that start or stop do so one after the other, for any reason. Before, those that follow
    /// other resources count only beside each other, and one that should start, but cannot, separates the others.
    pub(crate) fn passes_over_instances(self) -> bool {
        self >= Release::V3_0_0
    }

    /// Returns true if, of several colocations with a bundle that has addresses or a resource inside, the first one counts
    /// for its containers as often as there are any, and no other.
    pub(crate) fn repeats_first_dependent(self) -> bool {
        self >= Release::V3_0_0
    }

    /// Returns true if, of several colocations of a group, the first one counts for its first member as often as there are
    /// any, and no other, if this member has colocations itself as a dependent. Those with the group count for its last
    /// member in the same way.
    pub(crate) fn repeats_first_of_group(self) -> bool {
        self >= Release::V3_0_0
    }

    /// Returns true if containers have their turns by the colocations that count for each of them, and not by those of the
    /// bundle. A container with an address that runs then comes before one without.
    pub(crate) fn ranks_containers_by_their_own(self) -> bool {
        self >= Release::V3_0_0
    }

    /// Returns true if an instance that would leave its host is tried again at once without the host that it chose.
    pub(crate) fn retries_at_once(self) -> bool {
        self >= Release::V3_0_0
    }

    /// Returns true if the containers of bundles with a resource inside are defined in another way than before. Check sums
    /// that older releases recorded then fit no longer.
    pub(crate) fn redefines_containers(self) -> bool {
        self >= Release::V3_0_2
    }

    /// Returns true if the capacities of nodes in containers are shown.
    pub fn shows_capacities_in_containers(self) -> bool {
        self < Release::V3_0_2
    }
}

#[cfg(test)]
mod tests {
    use super::Release;

    #[test]
    fn each_release_has_its_word_and_the_newest_another_one() {
        let (newest, words) = Release::CHOICES.split_last().unwrap();
        assert_eq!(words, Release::WORDS);
        assert!(words.iter().all(|word| Release::chosen(word).is_some_and(|one| one.as_str() == *word)));
        assert_eq!(Release::chosen(newest), Some(Release::V3_0_2));
        assert_eq!(Release::chosen("3"), None);
    }
}
