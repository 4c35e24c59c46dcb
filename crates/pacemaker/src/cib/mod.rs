//! Pacemaker's cluster information base (CIB): the XML document that describes a cluster, read into a
//! [`WorkingSet`]. What it says beyond docs/pacemaker.md is listed in [`WorkingSet::outside`].

pub mod change;
mod clones;
mod colocations;
mod dates;
pub(super) mod document;
mod elements;
mod fail_counts;
mod failures;
mod feature_set;
mod guests;
mod health;
mod history;
mod hosts;
mod keys;
mod locations;
mod lost;
mod migrations;
mod on_fail;
mod orders;
mod orphans;
mod parameters;
mod plain;
mod properties;
mod resources;
mod revisions;
mod rules;
mod sets;
mod spans;
pub(super) mod underway;
mod unfencing;
mod whereabouts;

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::io::Read;

use roxmltree::Node;

use super::index::{AttributeIdx, HostIdx, ResourceIdx};
use super::number::is_true;
use super::score::ScoreTable;
use super::working_set::{Colocation, FenceAction, Outside, QuorumPolicy, Strategy, WorkingSet};
use dates::ClusterTime;
pub use dates::parse_date;
use document::{child, id};
use fail_counts::FailCount;
use feature_set::FeatureSet;
use guests::GuestDraft;
pub use guests::GuestReading;
use health::HealthScores;
use history::{IdleMarks, NameMark, ResourceHistory};
use htools_ganeti::input::encoding::decode;
use htools_ganeti::input::error::{LoadError, Result};
use htools_model::shown::shown_source;
pub use keys::tag_name;
use plain::{PlainHistories, TakenHistory};
use properties::Properties;
pub(super) use properties::amount;
use unfencing::UnfencingDevice;

/// Names that properties have since Pacemaker 3, and those of before, by which they are read.
const RENAMED: [(&str, &str); 3] = [
    ("fencing-enabled", "stonith-enabled"),
    ("fencing-action", "stonith-action"),
    ("stop-removed-resources", "stop-orphan-resources"),
];

/// The value of a property of the cluster, by the name of before Pacemaker 3; the newer name comes first.
fn property<'a>(options: &Properties<'a>, name: &str) -> Option<&'a str> {
    let newer = RENAMED.iter().find(|(_, older)| *older == name).map(|(newer, _)| *newer);
    newer.and_then(|newer| options.get(newer)).or_else(|| options.get(name))
}

/// Reads a CIB. Errors name `source`.
///
/// # Errors
/// It is no CIB, or contradicts itself.
pub fn parse(text: &str, source: &str) -> Result<WorkingSet> {
    read(text.as_bytes(), source)
}

/// Reads a CIB as it comes, guest nodes being outside. Errors name `source`.
///
/// # Errors
/// It cannot be read, is no CIB, or contradicts itself.
pub(crate) fn read(from: impl Read, source: &str) -> Result<WorkingSet> {
    read_with(from, source, GuestReading::Outside)
}

/// The same, with guest nodes as `guests` says.
///
/// # Errors
/// The same.
pub fn read_with(from: impl Read, source: &str, guests: GuestReading) -> Result<WorkingSet> {
    let unreadable = |e| LoadError::one_line(&shown_source(source), &format!("cannot be read: {e}"));
    let histories = PlainHistories::of(from).map_err(unreadable)?;
    let document = document::parse(decode(&histories.rest, source)?, source)?;
    let root = document.root_element();
    let Some(configuration) = child(root, "configuration") else {
        let problem = "there is no element 'configuration'";
        return Err(LoadError::one_line(&shown_source(source), problem));
    };
    let read = |follows_guests| {
        Reader::new(source, root, configuration, &histories.taken, follows_guests).working_set()
    };
    let set = read(guests != GuestReading::Outside)?;
    match guests {
        GuestReading::IfAllIsKnown if !set.outside.is_empty() => read(false),
        _ => Ok(set),
    }
}

/// What a host knows about a resource that runs there, or may.
struct HostRecord<'a> {
    host: HostIdx,
    /// Its place among those on the host.
    position: usize,
    history: Cow<'a, ResourceHistory>,
}

/// A document on its way to a working set.
struct Reader<'a, 'i> {
    source: &'a str,
    root: Node<'a, 'i>,
    configuration: Node<'a, 'i>,
    set: WorkingSet,
    /// How the health of hosts counts, if it does.
    health: Option<HealthScores>,
    /// Whether nothing is managed.
    maintenance_mode: bool,
    /// Whether hosts of which nothing is known are fenced.
    startup_fencing: bool,
    /// Whether what is no longer configured is left where it runs.
    keeps_orphans: bool,
    /// Whether hosts fence themselves, by their watchdogs.
    watchdog: bool,
    /// The name of the cluster.
    cluster_name: Option<&'a str>,
    hosts: HashMap<String, HostIdx>,
    /// The templates of primitives, by id.
    templates: HashMap<&'a str, Node<'a, 'i>>,
    /// What tags and templates stand for in constraints, by id.
    tags: HashMap<&'a str, Vec<&'a str>>,
    /// The metas of resources that do not say them.
    defaults: Properties<'a>,
    resources: HashMap<&'a str, ResourceIdx>,
    /// The ids of what clones are made of.
    inner: HashSet<&'a str>,
    /// Of clones of which some instances are enough for those that are started after them, how many.
    enough: HashMap<ResourceIdx, usize>,
    kinds: HashMap<String, AttributeIdx>,
    /// What the order of groups means for where their members run.
    together: Vec<Colocation>,
    /// What histories say that is not in the tree, by where they are in the document.
    taken: &'a HashMap<usize, TakenHistory>,
    /// By the id of a resource, what is known on the hosts on which it runs, or may run.
    records: HashMap<&'a str, Vec<HostRecord<'a>>>,
    /// What the first host of the status knows, in order, if it is known.
    first_known: Vec<NameMark>,
    /// Whether a host knows, or knew, a device that fences hosts.
    has_fenced: bool,
    /// By host, what is known not to run there.
    idle: Vec<IdleMarks>,
    /// By what the status calls a resource, when and where it ran last; of several hosts at one time, the first by name.
    last_hosts: HashMap<NameMark, (i64, HostIdx)>,
    /// By the id of a resource, how often it failed, host by host.
    failures: HashMap<String, Vec<FailCount>>,
    /// The devices that unfence hosts.
    unfencers: Vec<UnfencingDevice<'a, 'i>>,
    /// On which hosts a resource is not looked for (`resource-discovery=never`).
    unsought: HashSet<(ResourceIdx, HostIdx)>,
    /// When the cluster is looked at.
    clock: ClusterTime,
    /// The elements to which others refer, by id.
    by_id: OnceCell<HashMap<&'a str, Node<'a, 'i>>>,
    /// The ids of all that is among the resources.
    inside: OnceCell<HashSet<&'a str>>,
    /// The table without any score.
    unscored: ScoreTable,
    /// Whether machines with guest nodes are hosts.
    follows_guests: bool,
    /// The guest nodes that are followed.
    guests: Vec<GuestDraft<'a, 'i>>,
}

impl<'a, 'i> Reader<'a, 'i> {
    /// A document of which nothing was read yet.
    fn new(
        source: &'a str,
        root: Node<'a, 'i>,
        configuration: Node<'a, 'i>,
        taken: &'a HashMap<usize, TakenHistory>,
        follows_guests: bool,
    ) -> Reader<'a, 'i> {
        Reader {
            source,
            root,
            configuration,
            set: WorkingSet::default(),
            health: None,
            maintenance_mode: false,
            startup_fencing: true,
            keeps_orphans: false,
            watchdog: false,
            cluster_name: None,
            hosts: HashMap::new(),
            templates: HashMap::new(),
            tags: HashMap::new(),
            defaults: Properties::default(),
            resources: HashMap::new(),
            inner: HashSet::new(),
            enough: HashMap::new(),
            kinds: HashMap::new(),
            together: Vec::new(),
            taken,
            records: HashMap::new(),
            first_known: Vec::new(),
            has_fenced: false,
            idle: Vec::new(),
            last_hosts: HashMap::new(),
            failures: HashMap::new(),
            unfencers: Vec::new(),
            unsought: HashSet::new(),
            clock: ClusterTime::of(root),
            by_id: OnceCell::new(),
            inside: OnceCell::new(),
            unscored: ScoreTable::default(),
            follows_guests,
            guests: Vec::new(),
        }
    }

    /// All that the document says.
    fn working_set(mut self) -> Result<WorkingSet> {
        self.read_options();
        self.read_hosts()?;
        self.read_resources()?;
        self.read_orphans();
        self.weigh_lost_hosts();
        self.read_tags();
        self.read_locations()?;
        self.read_colocations()?;
        self.set.colocations.append(&mut self.together);
        self.read_orders()?;
        self.name_other_constraints();
        self.find_unfencing();
        self.set.set_scores();
        Ok(self.set)
    }

    /// What is known about a resource, by what the status calls it, on the hosts on which it runs, or may.
    fn records_of(&self, name: &str) -> &[HostRecord<'a>] {
        self.records.get(name).map(Vec::as_slice).unwrap_or_default()
    }

    /// The features that the cluster has, by its oldest member.
    fn feature_set(&self) -> FeatureSet {
        FeatureSet::of(self.root.attribute("crm_feature_set").unwrap_or_default())
    }

    /// A part of the configuration.
    fn section(&self, name: &'static str) -> Option<Node<'a, 'i>> {
        child(self.configuration, name)
    }

    /// Notes that an element is outside.
    fn outside(&mut self, node: Node<'_, '_>, reason: &str) {
        let element = node.tag_name().name().to_owned();
        self.set.outside.push(Outside { element, id: id(node).to_owned(), reason: reason.to_owned() });
    }

    /// The index of a kind of capacity.
    fn kind_of_capacity(&mut self, name: &str) -> AttributeIdx {
        let next = AttributeIdx::new(self.set.attributes.len());
        let kind = *self.kinds.entry(name.to_owned()).or_insert(next);
        if kind == next {
            self.set.attributes.push(name.to_owned());
        }
        kind
    }

    /// What holds for the whole cluster.
    fn read_options(&mut self) {
        let first = "cib-bootstrap-options";
        let options = self.section("crm_config");
        let options = options
            .map(|config| self.properties_first(config, "cluster_property_set", first))
            .unwrap_or_default();
        if let Some(word) = options.get("placement-strategy") {
            match word.to_ascii_lowercase().parse::<Strategy>() {
                Ok(strategy) => self.set.strategy = Some(strategy),
                Err(_) => self.set.unknown_strategy = Some(word.to_owned()),
            }
        }
        self.set.symmetric = options.flag("symmetric-cluster", true);
        self.set.fencing = property(&options, "stonith-enabled").is_none_or(is_true);
        if let Some("off" | "poweroff") = property(&options, "stonith-action") {
            self.set.fence_action = FenceAction::Off;
        }
        self.set.concurrent_fencing = options.flag("concurrent-fencing", false);
        self.set.stop_all = options.flag("stop-all-resources", false);
        self.maintenance_mode = options.flag("maintenance-mode", false);
        self.startup_fencing = options.flag("startup-fencing", true);
        self.keeps_orphans = !property(&options, "stop-orphan-resources").is_none_or(is_true);
        self.cluster_name = options.get("cluster-name");
        self.watchdog = options.flag("have-watchdog", false);
        if !self.root.attribute("have-quorum").is_some_and(is_true) {
            match options.get("no-quorum-policy").unwrap_or_default() {
                "ignore" => {}
                "freeze" => self.set.without_quorum = Some(QuorumPolicy::Freeze),
                "suicide" => self.outside(
                    self.root,
                    "a cluster without quorum that fences itself (no-quorum-policy=suicide)",
                ),
                // what is demoted is stopped, if it has no roles
                _ => self.set.without_quorum = Some(QuorumPolicy::Stop),
            }
        }
        self.health = HealthScores::of(&options);
        let keys = options.iter().filter(|(name, _)| tag_name(name).is_some());
        self.set.key_attributes = keys.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        if options.flag("shutdown-lock", false) {
            self.outside(self.root, "resources locked to nodes that were shut down (shutdown-lock)");
        }
    }
}
