//! The meaning that cluster tags give to the tags of nodes and instances.

use crate::model::known_tags::{ALLOW_MIGRATION, DESIRED_LOCATION, EXCLUSION, LOCATION, MIGRATION};
use crate::model::{ExclusionTags, TagId, TagSet, TagTable};

/// What the `htools:` tags of a cluster (and `--exclusion-tags`) say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TagRules {
    /// Beginnings of the instance tags that keep instances apart.
    pub exclusion: Vec<String>,
    /// Beginnings of the instance tags that name desired locations.
    pub desired_location: Vec<String>,
    /// Beginnings of the node tags that are locations.
    pub location: Vec<String>,
    /// Beginnings of the node tags that restrict migration.
    pub migration: Vec<String>,
    /// Extra permissions: from nodes tagged with the first to nodes tagged with
    /// the second.
    pub allowed_migrations: Vec<(String, String)>,
}

impl TagRules {
    /// Reads the rules from the cluster's tags and the extra exclusion tags
    /// given on the command line.
    pub fn new(cluster_tags: &[String], exclusion_options: &[String]) -> TagRules {
        let remainders = |prefix: &'static str| {
            cluster_tags.iter().filter_map(move |tag| tag.strip_prefix(prefix).map(str::to_owned))
        };
        let with_colon = |prefix: &'static str| remainders(prefix).map(|r| r + ":").collect();
        let non_empty = |r: &String| !r.is_empty();
        let options = exclusion_options.iter().map(|tag| format!("{tag}:"));
        TagRules {
            exclusion: options.chain(remainders(EXCLUSION).filter(non_empty)).collect(),
            desired_location: remainders(DESIRED_LOCATION).filter(non_empty).collect(),
            location: with_colon(LOCATION),
            migration: with_colon(MIGRATION),
            allowed_migrations: remainders(ALLOW_MIGRATION)
                .filter_map(|r| {
                    let (from, to) = r.split_once("::")?;
                    (!to.contains("::")).then(|| (from.to_owned(), to.to_owned()))
                })
                .collect(),
        }
    }

    /// The exclusion tags among an instance's tags.
    pub fn exclusion_tags(&self, tags: &[String], table: &mut TagTable) -> ExclusionTags {
        matching(tags, &self.exclusion).map(|tag| table.intern(tag)).collect()
    }

    /// The desired locations among an instance's tags.
    pub fn desired_locations(&self, tags: &[String], table: &mut TagTable) -> TagSet {
        matching(tags, &self.desired_location).map(|tag| table.intern(tag)).collect()
    }

    /// The locations among a node's tags.
    pub fn locations(&self, tags: &[String], table: &mut TagTable) -> TagSet {
        matching(tags, &self.location).map(|tag| table.intern(tag)).collect()
    }

    /// The migration tags among a node's tags, and those that it can receive:
    /// its own and the ones allowed to come to one of them.
    pub fn migrations(&self, tags: &[String], table: &mut TagTable) -> (TagSet, TagSet) {
        let own: Vec<&str> = matching(tags, &self.migration).collect();
        let allowed = self.allowed_migrations.iter().filter(|(_, to)| own.contains(&to.as_str()));
        let received: Vec<TagId> = own
            .iter()
            .copied()
            .chain(allowed.map(|(from, _)| from.as_str()))
            .map(|tag| table.intern(tag))
            .collect();
        (own.iter().map(|tag| table.intern(tag)).collect(), received.into_iter().collect())
    }
}

fn matching<'a>(tags: &'a [String], prefixes: &'a [String]) -> impl Iterator<Item = &'a str> {
    tags.iter().map(String::as_str).filter(|tag| prefixes.iter().any(|p| tag.starts_with(p.as_str())))
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
