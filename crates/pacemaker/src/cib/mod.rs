//! Pacemaker's cluster information base (CIB): the XML document that describes a cluster, read into a [`WorkingSet`].
//! Elements that are not supported (docs/pacemaker.md) are listed in [`WorkingSet::unsupported`].

mod bundle_locations;
mod bundle_parameters;
mod bundle_resources;
mod bundle_roles;
mod bundles;
pub mod change;
mod clone_parts;
mod clones;
mod colocations;
mod containers;
mod dates;
pub(super) mod document;
mod elements;
mod fail_counts;
mod failures;
mod feature_set;
mod groups;
mod guests;
mod health;
mod history;
mod hosts;
mod joining;
mod keys;
mod leftovers;
mod locations;
mod locks;
mod lost;
mod migrations;
mod old_schemas;
mod on_fail;
mod orders;
mod orphans;
mod parameters;
mod plain;
mod promotable;
mod properties;
mod remote_nodes;
mod removed_nodes;
mod resources;
mod revisions;
pub(super) mod roles;
mod rules;
mod run_places;
mod sets;
mod sizes;
mod spans;
mod tickets;
pub(super) mod underway;
mod unfencing;
mod unique_clones;
mod value_rules;

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::io::Read;

use roxmltree::Node;

use super::index::{AttributeIdx, HostIdx, ResourceIdx};
use super::number::{is_true, leading, truth};
use super::score::{AllocationScore, HostScore, ScoreTable};
use super::working_set::{Colocation, FenceAction, QuorumPolicy, Strategy, Unsupported, WorkingSet};
use bundles::BundleDraft;
use containers::{Contained, ContainerFailures, ContainerTie};
use dates::ClusterTime;
pub use dates::parse_date;
use document::{child, id};
use fail_counts::FailCount;
use feature_set::FeatureSet;
use guests::GuestDraft;
pub use guests::GuestReading;
use health::HealthScores;
use history::{IdleMarks, NameMark, PastDevice, ResourceHistory};
use htools_ganeti::input::encoding::decode;
use htools_ganeti::input::error::{LoadError, Result};
use htools_model::shown::shown_source;
pub use keys::tag_name;
use locks::ShutdownLocks;
use plain::{PlainHistories, TakenHistory};
use properties::Properties;
pub(super) use properties::amount;
use removed_nodes::RemovedNode;
pub use sizes::{SizedPrimitive, sized_primitives};
use unfencing::UnfencingDevice;

/// Names that properties have since Pacemaker 3, and the older names by which they are read.
const RENAMED: [(&str, &str); 3] = [
    ("fencing-enabled", "stonith-enabled"),
    ("fencing-action", "stonith-action"),
    ("stop-removed-resources", "stop-orphan-resources"),
];

/// The value of a cluster property, by its name before Pacemaker 3. The newer name takes precedence.
fn property<'a>(options: &Properties<'a>, name: &str) -> Option<&'a str> {
    let newer = RENAMED.iter().find(|(_, older)| *older == name).map(|(newer, _)| *newer);
    newer.and_then(|newer| options.get(newer)).or_else(|| options.get(name))
}

/// Reads a CIB, with guest nodes if everything is supported. Errors name `source`.
///
/// # Errors
/// Fails if it is no CIB, or contradicts itself.
pub fn parse(text: &str, source: &str) -> Result<WorkingSet> {
    read(text.as_bytes(), source)
}

/// Reads a CIB from a stream, as [`parse`] does. Errors name `source`.
///
/// # Errors
/// Fails if it cannot be read, is no CIB, or contradicts itself.
pub(crate) fn read(from: impl Read, source: &str) -> Result<WorkingSet> {
    read_with(from, source, GuestReading::IfAllIsKnown)
}

/// Reads a CIB from a stream, with guest nodes treated as `guests` says. Errors name `source`.
///
/// # Errors
/// Fails if it cannot be read, is no CIB, or contradicts itself.
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
    let set = read(true)?;
    match guests {
        GuestReading::IfAllIsKnown if !set.unsupported.is_empty() => read(false),
        _ => Ok(set),
    }
}

/// History of a resource on a host where it runs, or may.
struct HostRecord<'a> {
    host: HostIdx,
    /// Position of the resource in the history of the host.
    position: usize,
    history: Cow<'a, ResourceHistory>,
}

/// A document while it is read into a working set.
struct Reader<'a, 'i> {
    source: &'a str,
    root: Node<'a, 'i>,
    configuration: Node<'a, 'i>,
    set: WorkingSet,
    /// Scores for the health of hosts, if it counts.
    health: Option<HealthScores>,
    /// True if nothing is managed.
    maintenance_mode: bool,
    /// True if hosts without a known state are fenced.
    startup_fencing: bool,
    /// Defaults of resources that are among the options, in a document of an old schema.
    old_defaults: Properties<'a>,
    /// True if resources that are no longer configured are left where they run.
    keeps_orphans: bool,
    /// True if hosts fence themselves by a watchdog.
    watchdog: bool,
    cluster_name: Option<&'a str>,
    hosts: HashMap<String, HostIdx>,
    /// The hosts that must be fenced for their own state, whatever failed there.
    unclean_by_state: HashSet<HostIdx>,
    /// The templates of primitives, by id.
    templates: HashMap<&'a str, Node<'a, 'i>>,
    /// Resources that tags and templates stand for in constraints, by id.
    tags: HashMap<&'a str, Vec<&'a str>>,
    resources: HashMap<&'a str, ResourceIdx>,
    /// Ids of the primitives and groups in clones.
    inner: HashSet<&'a str>,
    /// Numbers of instances that are told apart, by the id of what is cloned.
    unique: HashMap<&'a str, usize>,
    /// Clones of which some instances are enough for resources that start after them, with the number of these.
    enough: HashMap<ResourceIdx, usize>,
    kinds: HashMap<String, AttributeIdx>,
    /// Colocations implied by the order of group members.
    together: Vec<Colocation>,
    /// Histories that were taken out of the tree, by their position in the document.
    taken: &'a HashMap<usize, TakenHistory>,
    /// By resource id, its histories on the hosts where it runs, or may.
    records: HashMap<&'a str, Vec<HostRecord<'a>>>,
    /// Resources in the history of the first host of the status, in order, if known.
    first_known: Vec<NameMark>,
    /// The fencing devices in the histories of hosts.
    past_fencing: HashSet<(HostIdx, PastDevice)>,
    /// By host, the resources that are known not to run there.
    idle: Vec<IdleMarks>,
    /// By name in the status, time and host of a resource's last run. Of several hosts at one time, the first by name
    /// counts.
    last_hosts: HashMap<NameMark, (i64, HostIdx)>,
    /// By resource id, its fail counts by host.
    failures: HashMap<String, Vec<FailCount>>,
    /// By the VM of a guest node, the fail counts of the connection.
    connection_failures: HashMap<&'a str, Vec<HostScore>>,
    /// The devices that unfence hosts.
    unfencers: Vec<UnfencingDevice<'a, 'i>>,
    /// Hosts on which resources are not looked for (`resource-discovery=never`).
    unsought: HashSet<(ResourceIdx, HostIdx)>,
    /// Reference time of the cluster.
    clock: ClusterTime,
    /// The elements to which others refer, by id.
    by_id: OnceCell<HashMap<&'a str, Node<'a, 'i>>>,
    /// Ids of everything in the resources section.
    inside: OnceCell<HashSet<&'a str>>,
    /// The table without any score.
    unscored: ScoreTable,
    /// True if VMs with guest nodes are hosts.
    follows_guests: bool,
    /// By the mark of a resource, the hosts on which it is known not to run.
    idle_hosts: OnceCell<HashMap<NameMark, Vec<HostIdx>>>,
    /// True if an operation names a host of the cluster as its own.
    operations_name_hosts: OnceCell<bool>,
    /// By the name of an instance, its wishes to be promoted by host.
    wishes_by_name: OnceCell<HashMap<String, HashMap<HostIdx, AllocationScore>>>,
    /// Rules of locks to hosts that are shut down, if there are locks.
    locks: Option<ShutdownLocks>,
    /// True if the cluster fences all its members, as it lost its quorum.
    panics: bool,
    /// The supported guest nodes and remote nodes.
    guests: Vec<GuestDraft<'a, 'i>>,
    /// Names of the remote nodes whose connections are stopped, as the nodes shut down, or wait after a failure.
    given_up: HashSet<&'a str>,
    /// Guest nodes that are asked to shut down.
    leaving_guests: HashSet<HostIdx>,
    /// The supported bundles.
    bundles: Vec<BundleDraft<'a, 'i>>,
    /// The resources that run in others.
    contained: Vec<Contained<'a>>,
    /// The resources that start after their containers.
    container_ties: Vec<ContainerTie>,
    /// Values of the meta attribute by which resources name their containers.
    container_names: OnceCell<HashSet<&'a str>>,
    /// Failures of resources that others name as their containers, by id.
    container_failures: HashMap<String, ContainerFailures>,
    /// States of guest and remote nodes that neither the list of nodes nor a resource has.
    leftover_states: Vec<Node<'a, 'i>>,
    /// The remote nodes of the list of nodes that no resource connects to.
    strays: Vec<Node<'a, 'i>>,
    /// The guest and remote nodes whose connections still run, but are no longer configured.
    removed: Vec<RemovedNode<'a, 'i>>,
}

impl<'a, 'i> Reader<'a, 'i> {
    /// A reader that has read nothing yet.
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
            old_defaults: Properties::default(),
            keeps_orphans: false,
            watchdog: false,
            cluster_name: None,
            hosts: HashMap::new(),
            unclean_by_state: HashSet::new(),
            templates: HashMap::new(),
            tags: HashMap::new(),
            resources: HashMap::new(),
            inner: HashSet::new(),
            unique: HashMap::new(),
            enough: HashMap::new(),
            kinds: HashMap::new(),
            together: Vec::new(),
            taken,
            records: HashMap::new(),
            first_known: Vec::new(),
            past_fencing: HashSet::new(),
            idle: Vec::new(),
            last_hosts: HashMap::new(),
            failures: HashMap::new(),
            connection_failures: HashMap::new(),
            unfencers: Vec::new(),
            unsought: HashSet::new(),
            clock: ClusterTime::of(root),
            by_id: OnceCell::new(),
            inside: OnceCell::new(),
            unscored: ScoreTable::default(),
            follows_guests,
            idle_hosts: OnceCell::new(),
            operations_name_hosts: OnceCell::new(),
            wishes_by_name: OnceCell::new(),
            locks: None,
            panics: false,
            guests: Vec::new(),
            given_up: HashSet::new(),
            leaving_guests: HashSet::new(),
            bundles: Vec::new(),
            contained: Vec::new(),
            container_ties: Vec::new(),
            container_names: OnceCell::new(),
            container_failures: HashMap::new(),
            leftover_states: Vec::new(),
            strays: Vec::new(),
            removed: Vec::new(),
        }
    }

    /// Reads the whole document.
    fn working_set(mut self) -> Result<WorkingSet> {
        self.read_options();
        self.read_hosts()?;
        self.name_leftovers();
        self.read_resources()?;
        self.read_orphans();
        self.connect_removed_nodes();
        self.lock_resources();
        self.read_tags();
        self.read_tickets()?;
        self.drop_wishes_on_absent_hosts();
        self.weigh_lost_hosts();
        self.read_locations()?;
        self.read_colocations()?;
        self.set.colocations.append(&mut self.together);
        self.read_orders()?;
        self.name_other_agents();
        self.name_unfollowed_bundles();
        self.name_circles_of_containers();
        self.name_constraints_of_bundles();
        self.name_locations_of_bundles();
        self.name_other_constraints();
        self.look_on_guests();
        self.find_unsure_hosts();
        self.find_unfencing();
        self.find_sought();
        self.set.set_scores();
        // Defaults are read once for each resource.
        let mut reported = HashSet::new();
        self.set.unsupported.retain(|one| reported.insert(one.clone()));
        Ok(self.set)
    }

    /// Histories of a resource on the hosts where it runs, or may, by its name in the status.
    fn records_of(&self, name: &str) -> &[HostRecord<'a>] {
        self.records.get(name).map(Vec::as_slice).unwrap_or_default()
    }

    /// The feature set of the cluster's oldest member.
    fn feature_set(&self) -> FeatureSet {
        FeatureSet::of(self.root.attribute("crm_feature_set").unwrap_or_default())
    }

    /// A section of the configuration.
    fn section(&self, name: &'static str) -> Option<Node<'a, 'i>> {
        child(self.configuration, name)
    }

    /// Reports an element as unsupported.
    fn report_unsupported(&mut self, node: Node<'_, '_>, reason: &str) {
        self.set.unsupported.push(Unsupported::new(node.tag_name().name(), id(node), reason));
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

    /// Reads the options of the whole cluster.
    fn read_options(&mut self) {
        let features = self.feature_set();
        self.set.release = features.release();
        self.set.unknown_feature_set =
            self.root.attribute("crm_feature_set").filter(|_| features.is_unknown()).map(str::to_owned);
        let first = "cib-bootstrap-options";
        let options = self.section("crm_config");
        let options = options
            .map(|config| self.properties_first(config, "cluster_property_set", first))
            .unwrap_or_default();
        let options = self.upgrade_options(options);
        if let Some(word) = options.get("placement-strategy") {
            match word.to_ascii_lowercase().parse::<Strategy>() {
                Ok(strategy) => self.set.strategy = Some(strategy),
                Err(_) => self.set.unknown_strategy = Some(word.to_owned()),
            }
        }
        self.set.symmetric = options.flag("symmetric-cluster", true);
        let is_on = |name| property(&options, name).and_then(truth).unwrap_or(true);
        self.set.fencing = is_on("stonith-enabled");
        if let Some("off" | "poweroff") = property(&options, "stonith-action") {
            self.set.fence_action = FenceAction::Off;
        }
        self.set.concurrent_fencing =
            options.flag("concurrent-fencing", self.set.release.fences_concurrently());
        self.set.ignores_quorum =
            options.get("no-quorum-policy").is_some_and(|word| word.eq_ignore_ascii_case("ignore"));
        self.set.stop_all = options.flag("stop-all-resources", false);
        self.maintenance_mode = options.flag("maintenance-mode", false);
        self.startup_fencing = options.flag("startup-fencing", true);
        self.set.removes_after_stop = options.flag("remove-after-stop", false);
        self.set.startup_probes = options.flag("enable-startup-probes", true);
        self.keeps_orphans = !is_on("stop-orphan-resources");
        self.cluster_name = options.get("cluster-name");
        self.watchdog = options.flag("have-watchdog", false);
        if !self.root.attribute("have-quorum").is_some_and(is_true) {
            match options.get("no-quorum-policy").unwrap_or_default().to_ascii_lowercase().as_str() {
                "ignore" => {}
                "freeze" => self.set.without_quorum = Some(QuorumPolicy::Freeze),
                "demote" => self.set.without_quorum = Some(QuorumPolicy::Demote),
                // A cluster fences itself only if it had quorum before.
                policy => {
                    let had_quorum =
                        self.root.attribute("no-quorum-panic").is_some_and(|had| leading(had) != Some(0));
                    self.panics = policy == "suicide" && had_quorum;
                    self.set.without_quorum = Some(QuorumPolicy::Stop);
                }
            }
        }
        self.health = HealthScores::of(&options);
        let keys = options.iter().filter(|(name, _)| tag_name(name).is_some());
        self.set.key_attributes = keys.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        self.locks = ShutdownLocks::of(&options);
    }
}
