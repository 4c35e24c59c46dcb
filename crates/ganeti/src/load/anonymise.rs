//! Anonymising: the same cluster with other names.

use std::collections::{HashMap, HashSet};

use super::raw::RawCluster;
use htools_model::DiskParameters;
use htools_model::key_tags::KeyTagParts;
use htools_model::known_tags::{
    ALLOW_MIGRATION, DENY, DESIRED_LOCATION, EXCLUSION, LOCATION, MIGRATION, POOL, STANDBY, STANDBY_AUTO,
    STANDBY_SIZE, SWITCHED,
};
use htools_model::words;

/// Replaces names, UUIDs and tags. As long as it is used, equal originals get equal replacements. Tags keep their
/// meaning to the tools: see [`Anonymiser::replace`].
#[derive(Debug, Default)]
pub struct Anonymiser {
    names: HashMap<(NameKind, String), String>,
    /// Number of replacements used so far, by kind.
    used: HashMap<NameKind, usize>,
    /// Originals, which must not be used as replacements.
    originals: HashSet<String>,
    tags: Tags,
}

words!(
    /// Kind of object that a name belongs to; it begins the replacement.
    NameKind, "kind of name" {
        Group = "group",
        Node = "node",
        Instance = "instance",
        Uuid = "uuid",
        Network = "network",
    }
);

impl Anonymiser {
    /// Replaces every name in a cluster. Sizes, states and placements stay, and so does the score.
    ///
    /// A tag that the tools know keeps its prefix (`htools:iextags:`, ...), and the rest is replaced. A replaced tag
    /// begins with another one, or equals it, exactly if the original did, and colons stay colons. So rules apply where
    /// they did before.
    pub fn replace(&mut self, raw: &mut RawCluster) {
        self.note(raw);
        for group in &mut raw.groups {
            group.name = self.name(NameKind::Group, &group.name);
            group.uuid = self.name(NameKind::Uuid, &group.uuid);
            self.names_of_networks(group.networks.iter_mut());
            self.tags.replace(&mut group.tags);
            // They name pools and hosts, and text files do not have them.
            group.disk_parameters = DiskParameters::default();
        }
        for node in &mut raw.nodes {
            node.name = self.name(NameKind::Node, &node.name);
            self.tags.replace(&mut node.tags);
        }
        for instance in &mut raw.instances {
            instance.name = self.name(NameKind::Instance, &instance.name);
            self.names_of_networks(instance.networks.iter_mut().flatten());
            self.tags.replace(&mut instance.tags);
        }
        self.tags.replace(&mut raw.tags);
    }

    fn note(&mut self, raw: &RawCluster) {
        let groups = raw.groups.iter().flat_map(|g| [&g.name, &g.uuid].into_iter().chain(&g.networks));
        let nodes = raw.nodes.iter().map(|node| &node.name);
        let instances = raw.instances.iter().map(|instance| &instance.name);
        self.originals.extend(groups.chain(nodes).chain(instances).cloned());
    }

    fn names_of_networks<'n>(&mut self, networks: impl Iterator<Item = &'n mut String>) {
        for network in networks {
            *network = self.name(NameKind::Network, network);
        }
    }

    fn name(&mut self, kind: NameKind, original: &str) -> String {
        let key = (kind, original.to_owned());
        if let Some(known) = self.names.get(&key) {
            return known.clone();
        }
        let used = self.used.entry(kind).or_default();
        let fresh = loop {
            *used += 1;
            let candidate = format!("{}-{used}", kind.as_str());
            if !self.originals.contains(&candidate) {
                break candidate;
            }
        };
        self.names.insert(key, fresh.clone());
        fresh
    }
}

/// Prefixes that the tools know and that are followed by a tag or the beginning of one.
const KNOWN: [&str; 6] = [EXCLUSION, DESIRED_LOCATION, LOCATION, MIGRATION, POOL, STANDBY];
/// Prefix of tags for automatic repair.
const REPAIR: &str = "ganeti:watcher:autorepair:";

/// Replacements of tags, as a tree of characters. Equal characters after equal beginnings get equal replacements, and
/// different ones get different ones. So one replacement begins with another exactly if the originals do.
#[derive(Debug, Default)]
struct Tags {
    /// Maps a node of the tree and a character to its replacement and the next node.
    steps: HashMap<(usize, char), (char, usize)>,
    /// Number of replacements used at each node.
    used: HashMap<usize, u32>,
}

impl Tags {
    fn replace(&mut self, tags: &mut [String]) {
        for tag in tags {
            *tag = self.tag(tag);
        }
    }

    fn tag(&mut self, tag: &str) -> String {
        if tag == STANDBY_AUTO || tag == DENY || is_figure(tag) || is_repair(tag) {
            return tag.to_owned();
        }
        if let Some((from, to)) = tag.strip_prefix(ALLOW_MIGRATION).and_then(|rest| rest.split_once("::")) {
            return format!("{ALLOW_MIGRATION}{}::{}", self.text(from), self.text(to));
        }
        if let Some(parts) = KeyTagParts::of(tag).filter(|parts| parts.numbers().is_ok()) {
            return self.key(parts);
        }
        let known = KNOWN.iter().chain(&[ALLOW_MIGRATION]).find(|known| tag.starts_with(**known));
        let known = known.copied().unwrap_or_default();
        format!("{known}{}", self.text(&tag[known.len()..]))
    }

    /// Values and weights stay, like sizes. Of the names, special ones stay, and reserved ones keep their first
    /// character.
    fn key(&mut self, parts: KeyTagParts<'_>) -> String {
        let KeyTagParts { start, name, figures, .. } = parts;
        let kept = match name.chars().next() {
            Some('#' | '@') => name.len(),
            Some('_') => 1,
            _ => 0,
        };
        format!("{start}{}{}{figures}", &name[..kept], self.text(&name[kept..]))
    }

    fn text(&mut self, text: &str) -> String {
        let mut place = 0;
        text.chars()
            .map(|c| {
                let (replacement, next) = self.step(place, c);
                place = next;
                replacement
            })
            .collect()
    }

    fn step(&mut self, place: usize, c: char) -> (char, usize) {
        if let Some(known) = self.steps.get(&(place, c)) {
            return *known;
        }
        let next = self.steps.len() + 1;
        let replacement = if c == ':' { c } else { self.unused_letter(place, c) };
        self.steps.insert((place, c), (replacement, next));
        (replacement, next)
    }

    /// A letter that is not used at this node yet and differs from `c`.
    fn unused_letter(&mut self, place: usize, c: char) -> char {
        // Without h and g, no replacement can look like htools: or ganeti:.
        const LETTERS: &[u8] = b"abcdefijklmnopqrstuvwxyz0123456789";
        /// First code point of a range with many more letters.
        const MORE: u32 = 0x4e00;
        let used = self.used.entry(place).or_default();
        loop {
            let at = *used;
            *used += 1;
            let letter = match LETTERS.get(at as usize) {
                Some(letter) => char::from(*letter),
                None => char::from_u32(MORE + at).unwrap_or(char::REPLACEMENT_CHARACTER),
            };
            if letter != c {
                return letter;
            }
        }
    }
}

/// Tells if a tag holds only figures: an order, a size, a time.
fn is_figure(tag: &str) -> bool {
    let figures = |rest: &str| rest.chars().all(|c| c.is_ascii_digit() || c == '/');
    [STANDBY, STANDBY_SIZE, SWITCHED].iter().any(|start| tag.strip_prefix(start).is_some_and(figures))
}

/// Tells if it is a tag for automatic repair, which has no names.
fn is_repair(tag: &str) -> bool {
    tag.strip_prefix(REPAIR).is_some_and(|rest| {
        let until = rest.strip_prefix("suspend:").is_some_and(|time| time.parse::<i64>().is_ok());
        until || ["suspend", "fix-storage", "migrate", "failover", "reinstall"].contains(&rest)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beginnings_stay_beginnings() {
        let mut tags = Tags::default();
        let some = ["service", "service:dns", "service1:x", "service:", "s", "db:a", "a:::b", "", ":", "ab"];
        let replaced: Vec<String> = some.iter().map(|tag| tags.tag(tag)).collect();
        for (a, new_a) in some.iter().zip(&replaced) {
            for (b, new_b) in some.iter().zip(&replaced) {
                assert_eq!(a.starts_with(b), new_a.starts_with(new_b), "{a} {b}: {new_a} {new_b}");
            }
            assert_eq!(&tags.tag(a), new_a);
            assert!(a.is_empty() || *a == ":" || a != new_a);
        }
    }

    #[test]
    fn what_the_tools_know_stays() {
        let mut tags = Tags::default();
        let service = tags.tag("service");
        assert_eq!(tags.tag("htools:iextags:service"), format!("htools:iextags:{service}"));
        let (xen, kvm) = (tags.tag("hv:xen"), tags.tag("hv:kvm"));
        assert_eq!(
            tags.tag("htools:allowmigration:hv:xen::hv:kvm"),
            format!("htools:allowmigration:{xen}::{kvm}")
        );
        for tag in [
            "htools:standby:auto",
            "htools:standby:10",
            "htools:standby-size:9000/0/90000/90000/9/1/1/0",
            "htools:switched:1795302283",
            "htools:intergroup:deny",
            "ganeti:watcher:autorepair:suspend:17",
            "ganeti:watcher:autorepair:migrate",
        ] {
            assert_eq!(tags.tag(tag), tag);
        }
        assert!(!tags.tag("ganeti:watcher:autorepair:suspend:customer").contains("customer"));
        assert!(!tags.tag("htools:standby-size:customer").contains("customer"));
        let key = tags.tag("htools:key:system:customer=2:-1.5");
        assert!(key.starts_with("htools:key:system:") && key.ends_with("=2:-1.5"), "{key}");
        let name = key["htools:key:system:".len()..].split('=').next().unwrap();
        assert_eq!(tags.tag("htools:key:customer:4"), format!("htools:key:{name}:4"));
        assert_eq!(tags.tag("htools:key:_customer:4"), format!("htools:key:_{name}:4"));
        assert_eq!(tags.tag("htools:key:system:@RAM:0:1"), "htools:key:system:@RAM:0:1");
        for odd in ["htools:key:customer", "htools:key:a:customer", "htools:key:system:a:1:customer"] {
            assert!(!tags.tag(odd).contains("customer"), "{odd}");
        }
        let pool = tags.tag("htools:pool:customer");
        assert!(pool.starts_with("htools:pool:") && !pool.contains("customer"), "{pool}");
    }

    #[test]
    fn many_letters_at_one_place() {
        let mut tags = Tags::default();
        let all: HashSet<String> =
            (0x21..0x400).filter_map(char::from_u32).map(|c| tags.tag(&c.to_string())).collect();
        assert_eq!(all.len(), 0x400 - 0x21 - (0x7f..0xa0).filter(|c| char::from_u32(*c).is_none()).count());
        assert!(!all.contains("|") && !all.contains(","));
    }

    #[test]
    fn exported_pools_are_forgotten() {
        let mut raw = crate::load::simulate::parse_specs(&["p,1,1g,1g,1".to_owned()]).unwrap();
        raw.groups[0].disk_parameters.rbd_pool = "customer".into();
        Anonymiser::default().replace(&mut raw);
        assert_eq!(raw.groups[0].disk_parameters, DiskParameters::default());
    }

    #[test]
    fn names_that_look_replaced_are_replaced_as_well() {
        let mut anonymiser = Anonymiser::default();
        anonymiser.originals.insert("node-1".into());
        assert_eq!(anonymiser.name(NameKind::Node, "node-1"), "node-2");
        assert_eq!(anonymiser.name(NameKind::Node, "node-1"), "node-2");
        assert_eq!(anonymiser.name(NameKind::Node, "x"), "node-3");
        assert_eq!(anonymiser.name(NameKind::Instance, "x"), "instance-1");
    }
}
