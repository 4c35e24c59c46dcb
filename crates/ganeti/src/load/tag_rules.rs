//! Rules in cluster tags that give a meaning to the tags of nodes and instances.

use std::collections::{BTreeSet, HashMap};

use htools_model::known_tags::{ALLOW_MIGRATION, DESIRED_LOCATION, EXCLUSION, LOCATION, MIGRATION};
use htools_model::{ExclusionTags, TagId, TagSet, TagTable};

/// Rules from the `htools:` tags of a cluster and from `--exclusion-tags`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TagRules {
    /// Prefixes of the instance tags that keep instances apart.
    pub exclusion: TagPrefixes,
    /// Prefixes of the instance tags that name desired locations.
    pub desired_location: TagPrefixes,
    /// Prefixes of the node tags that are locations.
    pub location: TagPrefixes,
    /// Prefixes of the node tags that restrict migration.
    pub migration: TagPrefixes,
    /// Additional permissions to migrate from nodes with the first tag to nodes with the second.
    allowed_migrations: Vec<(String, String)>,
    /// For each second tag, its positions in `allowed_migrations`.
    allowed_by_target: HashMap<String, Vec<usize>>,
}

/// Prefixes of tags. A look-up takes logarithmic time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TagPrefixes {
    /// Ascending; no prefix begins with another one.
    prefixes: Vec<String>,
}

impl FromIterator<String> for TagPrefixes {
    fn from_iter<I: IntoIterator<Item = String>>(all: I) -> TagPrefixes {
        let mut prefixes: Vec<String> = all.into_iter().collect();
        prefixes.sort_unstable();
        // Prefixes that begin with another one directly follow it, or follow others that do.
        prefixes.dedup_by(|next, kept| next.starts_with(kept.as_str()));
        TagPrefixes { prefixes }
    }
}

impl TagPrefixes {
    /// Tells if a tag begins with one of the prefixes.
    pub(crate) fn begin(&self, tag: &str) -> bool {
        // If a prefix matches, no other one lies between it and the tag.
        let behind = self.prefixes.partition_point(|prefix| prefix.as_str() <= tag);
        behind > 0 && tag.starts_with(self.prefixes[behind - 1].as_str())
    }
}

impl TagRules {
    /// Reads the rules from the cluster's tags and the extra exclusion tags
    /// given on the command line.
    pub(crate) fn new(cluster_tags: &[String], exclusion_options: &[String]) -> TagRules {
        let remainders = |prefix: &'static str| {
            cluster_tags.iter().filter_map(move |tag| tag.strip_prefix(prefix).map(str::to_owned))
        };
        let with_colon = |prefix: &'static str| remainders(prefix).map(|r| r + ":").collect();
        let non_empty = |r: &String| !r.is_empty();
        let options = exclusion_options.iter().map(|tag| format!("{tag}:"));
        let permission = |r: String| {
            let (from, to) = r.split_once("::")?;
            (!to.contains("::")).then(|| (from.to_owned(), to.to_owned()))
        };
        let allowed_migrations: Vec<(String, String)> =
            remainders(ALLOW_MIGRATION).filter_map(permission).collect();
        let mut allowed_by_target: HashMap<String, Vec<usize>> = HashMap::new();
        for (at, (_, to)) in allowed_migrations.iter().enumerate() {
            allowed_by_target.entry(to.clone()).or_default().push(at);
        }
        TagRules {
            exclusion: options.chain(remainders(EXCLUSION).filter(non_empty)).collect(),
            desired_location: remainders(DESIRED_LOCATION).filter(non_empty).collect(),
            location: with_colon(LOCATION),
            migration: with_colon(MIGRATION),
            allowed_migrations,
            allowed_by_target,
        }
    }

    /// The only permission of rules that have one.
    pub(crate) fn permission(&self) -> Option<&(String, String)> {
        self.allowed_migrations.first()
    }

    /// The exclusion tags among an instance's tags.
    pub(crate) fn exclusion_tags(&self, tags: &[String], table: &mut TagTable) -> ExclusionTags {
        matching(tags, &self.exclusion).map(|tag| table.intern(tag)).collect()
    }

    /// The desired locations among an instance's tags.
    pub(crate) fn desired_locations(&self, tags: &[String], table: &mut TagTable) -> TagSet {
        matching(tags, &self.desired_location).map(|tag| table.intern(tag)).collect()
    }

    /// The locations among a node's tags.
    pub(crate) fn locations(&self, tags: &[String], table: &mut TagTable) -> TagSet {
        matching(tags, &self.location).map(|tag| table.intern(tag)).collect()
    }

    /// The migration tags among a node's tags, and the tags of nodes that it can receive instances from: its own, and
    /// those allowed by an additional permission.
    pub(crate) fn migrations(&self, tags: &[String], table: &mut TagTable) -> (TagSet, TagSet) {
        let own: Vec<&str> = matching(tags, &self.migration).collect();
        // Keep the order of the permissions.
        let allowed: BTreeSet<usize> =
            own.iter().filter_map(|tag| self.allowed_by_target.get(*tag)).flatten().copied().collect();
        let received: Vec<TagId> = own
            .iter()
            .copied()
            .chain(allowed.into_iter().map(|at| self.allowed_migrations[at].0.as_str()))
            .map(|tag| table.intern(tag))
            .collect();
        (own.iter().map(|tag| table.intern(tag)).collect(), received.into_iter().collect())
    }
}

fn matching<'a>(tags: &'a [String], prefixes: &'a TagPrefixes) -> impl Iterator<Item = &'a str> {
    tags.iter().map(String::as_str).filter(|tag| prefixes.begin(tag))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(tags: &[&str]) -> Vec<String> {
        tags.iter().map(|t| t.to_string()).collect()
    }

    #[test]
    fn cluster_tags_match_prefixes_and_options_match_up_to_a_colon() {
        let mut table = TagTable::default();
        let tags = strings(&["service2:x", "other", "service:y", "service2:x"]);
        let by_tag = TagRules::new(&strings(&["htools:iextags:service", "htools:iextags:"]), &[]);
        assert_eq!(by_tag.exclusion_tags(&tags, &mut table).len(), 3);
        let by_option = TagRules::new(&[], &strings(&["service"]));
        assert_eq!(by_option.exclusion_tags(&tags, &mut table).len(), 1);
    }

    #[test]
    fn a_tag_begins_with_any_of_many_prefixes() {
        let prefixes = strings(&["a", "ab", "abc:", "b:", "ba", "b:x", "z"]);
        let sorted: TagPrefixes = prefixes.iter().cloned().collect();
        for tag in ["", "a", "aa", "ab", "abd", "b", "b:", "b:y", "b;", "ba", "bb", "c", "z", "zz", "{"] {
            let expected = prefixes.iter().any(|prefix| tag.starts_with(prefix.as_str()));
            assert_eq!(sorted.begin(tag), expected, "{tag}");
        }
        assert!(!TagPrefixes::default().begin("a"));
        assert!([String::new()].into_iter().collect::<TagPrefixes>().begin("a"));
    }

    #[test]
    fn migration_permissions_are_not_transitive() {
        let mut table = TagTable::default();
        let rules = TagRules::new(
            &strings(&[
                "htools:migration:v",
                "htools:allowmigration:v:1::v:2",
                "htools:allowmigration:v:2::v:3",
                "htools:allowmigration:v:9::v:3::x",
            ]),
            &[],
        );
        let (own, received) = rules.migrations(&strings(&["v:3", "w:1"]), &mut table);
        let names = |set: &TagSet| set.iter().map(|t| table.name(t).to_owned()).collect::<Vec<_>>();
        assert_eq!(names(&own), ["v:3"]);
        let mut received = names(&received);
        received.sort();
        assert_eq!(received, ["v:2", "v:3"]);
    }
}
