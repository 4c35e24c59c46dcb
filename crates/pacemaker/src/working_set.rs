//! Data types for everything that the placement of a Pacemaker cluster depends on; [`cib`](super::cib) fills them.

use std::sync::Arc;

pub use super::bundle::{Bundle, Replica, ReplicaNode};
use super::capacity::Capacities;
use super::index::{AttributeIdx, HostIdx, ResourceIdx};
use super::promotion::Role;
use super::release::Release;
pub use super::resting_document::RestingDocument;
use super::score::{AllocationScore, ScoreTable};
use super::tickets::Tickets;
use htools_model::words;

pub use super::resource::{
    MultipleActivePolicy, Requirement, Resource, ResourceForm, Revision, RunCondition,
};

words!(
    /// The `placement-strategy` option: how capacities affect placement.
    pub Strategy, "placement strategy" {
        /// Capacities are ignored.
        Default = "default",
        /// A host needs enough free capacity.
        Utilization = "utilization",
        /// A host needs enough free capacity; of equally good hosts, the one with the most is taken.
        Balanced = "balanced",
        /// A host needs enough free capacity; of equally good hosts, the first by name is taken.
        Minimal = "minimal",
    }
);

words!(
    /// The `no-quorum-policy` option: reaction of a cluster to the loss of quorum.
    pub QuorumPolicy, "policy without quorum" {
        /// The cluster stops all its resources.
        Stop = "stop",
        /// Promoted instances are demoted. Running instances of promotable clones go on; all other resources stop.
        Demote = "demote",
        /// Running resources go on; no others are started.
        Freeze = "freeze",
    }
);

/// A node of a Pacemaker cluster.
#[derive(Debug, Clone, Default)]
pub struct Host {
    /// The node's id, which need not be its name.
    pub id: String,
    /// Its name.
    pub name: String,
    /// The score that every resource has on it in a symmetric cluster.
    pub base: AllocationScore,
    /// Score that the node's health adds for resources.
    pub health: AllocationScore,
    /// Node attributes for rules and colocations. Those of the status section come last, so that they win.
    pub attributes: Vec<(String, String)>,
    /// Capacity for resources, by kind.
    pub capacity: Capacities,
    /// Membership and administrative state.
    pub state: HostState,
    /// Need for unfencing, in a cluster that unfences hosts ([`WorkingSet::unfences`]).
    pub unfencing: Unfencing,
    /// The resources behind a guest or remote node; `None` for all other hosts.
    pub guest: Option<GuestParts>,
    /// True for a guest node that rules and colocations do not know by name. Pacemaker has this quirk if neither the
    /// list of nodes nor the status has anything relevant on the node.
    pub nameless: bool,
    /// True for a remote node without a running connection. If its fencing is due, this is revoked once the connection
    /// has a place.
    pub reconnects: bool,
    /// True for a remote node that can be fenced without quorum, once its connection is placed.
    pub in_reach: bool,
    /// True for the node in a container of a bundle, where only one instance runs.
    pub replica: bool,
    /// True if that node is in the list of nodes, too. Whatever comes before its bundle in the document then knows it.
    pub listed: bool,
    /// True for a remote node of the list of nodes that no resource connects to.
    pub stray: bool,
    /// True for a guest or remote node whose connection still runs, but is no longer configured.
    pub removed: bool,
}

/// The resources behind a guest node or a remote node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GuestParts {
    /// The primitive that runs the VM. A remote node has none: this is its connection, too.
    pub machine: ResourceIdx,
    /// The remote connection through which the cluster starts and stops resources in the VM. It runs where the VM runs.
    pub connection: ResourceIdx,
}

impl GuestParts {
    /// Returns true for a remote node, which is no VM of the cluster.
    pub fn is_remote_node(self) -> bool {
        self.machine == self.connection
    }
}

/// The cluster option that makes node health count. Scores from health are shown as a constraint of this name.
pub const NODE_HEALTH: &str = "node-health-strategy";

/// Need of a host for unfencing, which gives it access to shared devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Unfencing {
    /// It has access, or cannot be unfenced.
    #[default]
    Done,
    /// It is unfenced once a resource that requires this is to run there.
    WhenUsed,
    /// It is unfenced in any case.
    Due,
}

/// Membership and administrative state of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HostState {
    /// It is a member of the cluster.
    pub online: bool,
    /// In standby: it runs no resources.
    pub standby: bool,
    /// In maintenance: resources on it are left alone.
    pub maintenance: bool,
    /// It is shutting down.
    pub shutting_down: bool,
    /// It was lost, and must be fenced.
    pub unclean: bool,
    /// It is about to join the cluster: it runs nothing, and resources are looked for on it before they are started.
    pub joining: bool,
}

impl HostState {
    /// Returns true if the host can run resources.
    pub fn available(self) -> bool {
        self.online && !self.standby && !self.maintenance && !self.shutting_down && !self.unclean
    }

    /// Returns true if the definitions of resources are compared with what runs there.
    pub(super) fn follows_changes(self) -> bool {
        HostState { standby: self.standby && !self.maintenance, maintenance: false, ..self }.available()
    }
}

impl Host {
    /// Base score, or minus infinity if the host is away. A guest node keeps its base score, as its VM may still start.
    pub(super) fn worth(&self) -> AllocationScore {
        if self.guest.is_some() { self.base } else { self.worth_as_it_is() }
    }

    /// Base score, or minus infinity if the host is offline, or shuts down and is no guest node.
    pub(super) fn worth_as_it_is(&self) -> AllocationScore {
        let away = !self.state.online || (self.state.shutting_down && self.guest.is_none());
        if away { AllocationScore::MINUS_INFINITY } else { self.base }
    }

    /// Returns true for a node that is a member of the cluster of its own, unlike guest nodes and remote nodes.
    pub fn is_member(&self) -> bool {
        self.guest.is_none() && !self.replica && !self.stray && !self.removed
    }

    /// The value of a node attribute; the last of several wins.
    pub fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().rev().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }
}

/// A score that a location constraint gives a resource on a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocationScore {
    /// The constraint.
    pub id: String,
    /// The resource that gets the score.
    pub resource: ResourceIdx,
    /// The host on which it gets the score.
    pub host: HostIdx,
    /// The score.
    pub score: AllocationScore,
    /// True if the constraint belongs to those that alone name the hosts of a resource ([`Resource::exclusive`]).
    pub exclusive: bool,
}

/// A colocation constraint: a resource wants to run with another one, or apart from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Colocation {
    /// The constraint, or the group whose order it stands for.
    pub id: String,
    /// The resource that is placed relative to the primary.
    pub dependent: ResourceIdx,
    /// The resource that the dependent refers to.
    pub primary: ResourceIdx,
    /// Strength of the wish; below 0, the resources are kept apart.
    pub score: AllocationScore,
    /// Node attribute in which their hosts must agree; `None` means the same host.
    pub attribute: Option<String>,
    /// The role of the dependent that it concerns; `None` for any.
    pub dependent_role: Option<Role>,
    /// The role of the primary that it concerns; `None` for any.
    pub primary_role: Option<Role>,
    /// True if the dependent's wishes count for the placement of the primary even while that one runs.
    pub influence: bool,
}

impl Colocation {
    /// The colocation by which something that is no constraint ties a resource to another one.
    pub(super) fn implied(id: &str, dependent: ResourceIdx, primary: ResourceIdx) -> Colocation {
        Colocation {
            id: id.to_owned(),
            dependent,
            primary,
            score: AllocationScore::INFINITY,
            attribute: None,
            dependent_role: None,
            primary_role: None,
            influence: true,
        }
    }
}

/// Resources that should run on different hosts (soft anti-affinity). Only members that already have a place count, so
/// that a group can be large: pairwise colocations would be followed from one to the next. No CIB has these.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExclusionGroup {
    /// Its members, by position.
    pub members: Vec<ResourceIdx>,
    /// Score for two members on the same host, below 0. They run together rather than not at all.
    pub score: AllocationScore,
}

/// Strength of an ordering constraint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrderStrength {
    /// The later resource cannot run without the earlier one.
    Mandatory,
    /// The order applies only if both start or stop in the same transition.
    Optional,
    /// The two never start or stop at the same time.
    Serialize,
}

words!(
    /// Action of a resource in an order.
    pub OrderedTask, "action in an order" {
        /// It is started.
        Start = "start",
        /// It is stopped.
        Stop = "stop",
        /// It is promoted.
        Promote = "promote",
        /// It is demoted.
        Demote = "demote",
    }
);

/// The actions of the two sides of an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct OrderedTasks {
    /// The action of the first that counts.
    pub first: OrderedTask,
    /// The action of the second that waits.
    pub then: OrderedTask,
}

impl OrderedTasks {
    /// The actions of an order of starts.
    pub const STARTS: OrderedTasks = OrderedTasks { first: OrderedTask::Start, then: OrderedTask::Start };
    /// The actions of an order of promotions.
    pub const PROMOTIONS: OrderedTasks =
        OrderedTasks { first: OrderedTask::Promote, then: OrderedTask::Promote };
}

/// An ordering constraint: an action of a resource, usually its start, waits for one of another resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartOrder {
    /// The constraint.
    pub id: String,
    /// Started first.
    pub first: ResourceIdx,
    /// Started second.
    pub then: ResourceIdx,
    /// Their actions.
    pub tasks: OrderedTasks,
    /// Strength of the order.
    pub strength: OrderStrength,
    /// True if they stop in the opposite order.
    pub symmetrical: bool,
}

impl StartOrder {
    /// The order by which something that is no constraint puts the start of a resource before that of another one.
    pub(super) fn implied(id: &str, first: ResourceIdx, then: ResourceIdx) -> StartOrder {
        let (tasks, strength) = (OrderedTasks::STARTS, OrderStrength::Mandatory);
        StartOrder { id: id.to_owned(), first, then, tasks, strength, symmetrical: true }
    }
}

/// Two resources of which one is started, or stopped, before the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OrderedPair {
    /// Started first, and stopped last.
    pub first: ResourceIdx,
    /// Started second, and stopped first.
    pub then: ResourceIdx,
}

/// An ordering constraint: resources start once some of several others have started. Pacemaker quirk: a group among
/// those always counts as started. A clone counts if one of its instances has started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChoiceOrder {
    /// The constraint.
    pub id: String,
    /// Pacemaker's name for the point at which enough of them are started: `one-or-more:` and the set.
    pub mark: String,
    /// The alternatives, which start or are promoted first.
    pub firsts: Vec<ResourceIdx>,
    /// Their action: a start, or a promotion.
    pub task: OrderedTask,
    /// Number of alternatives that must have started, at least 1.
    pub enough: usize,
    /// Resources that start afterwards. They also stop if too few alternatives run, whatever the strength.
    pub dependents: Vec<ResourceIdx>,
    /// Strength of the order for stops.
    pub strength: OrderStrength,
    /// Pairs of which the second resource stops before the first does, or is demoted.
    pub stops: Vec<OrderedPair>,
}

impl ChoiceOrder {
    /// Returns true if one of [`firsts`](Self::firsts) counts as started, when these primitives run (or are promoted).
    pub(super) fn counts(set: &WorkingSet, first: ResourceIdx, runs: impl Fn(ResourceIdx) -> bool) -> bool {
        set.resource(first).is_group() || set.primitives(&first).iter().any(|part| runs(*part))
    }
}

/// Capacity taken on a host by a resource that placing does not support.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Charge {
    /// The resource's id.
    pub resource: String,
    /// The host on which it runs.
    pub host: HostIdx,
    /// The capacity that it takes.
    pub utilization: Capacities,
}

/// An element of the input that placing does not support.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Unsupported {
    /// The kind of element.
    pub element: String,
    /// Its id.
    pub id: String,
    /// Reason why it is not supported.
    pub reason: String,
}

impl Unsupported {
    /// An element of a kind with an id, and the reason why it is not supported.
    pub(super) fn new(element: &str, id: &str, reason: &str) -> Unsupported {
        Unsupported { element: element.to_owned(), id: id.to_owned(), reason: reason.to_owned() }
    }
}

/// Effect of fencing on a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FenceAction {
    /// It is switched off, and on again.
    #[default]
    Reboot,
    /// It is switched off, and stays so.
    Off,
}

impl FenceAction {
    /// Pacemaker's word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            FenceAction::Reboot => "reboot",
            FenceAction::Off => "off",
        }
    }
}

/// Everything that the placement of a cluster's resources depends on.
#[derive(Debug, Clone, Default)]
pub struct WorkingSet {
    /// The release of Pacemaker whose rules hold.
    pub release: Release,
    /// The feature set of the cluster, if no release that has it is known.
    pub unknown_feature_set: Option<String>,
    /// The placement strategy; `None` means the default, as the cluster names no known one.
    pub strategy: Option<Strategy>,
    /// The strategy that the cluster names, if that is unknown.
    pub unknown_strategy: Option<String>,
    /// True if no resource is to run.
    pub stop_all: bool,
    /// True if lost hosts are fenced.
    pub fencing: bool,
    /// Names of the hosts with utilization in the status section, if the cluster is too old to read that.
    pub ignored_utilization: Vec<String>,
    /// Names of the hosts that count as offline because the status gives times of their membership, if the played release
    /// does not read these.
    pub ignored_membership: Vec<String>,
    /// Effect of fencing.
    pub fence_action: FenceAction,
    /// True if fencing is enabled but impossible, so that nothing is started, stopped or moved.
    pub frozen: bool,
    /// Reaction to missing quorum; `None` if there is quorum, or if it does not matter.
    pub without_quorum: Option<QuorumPolicy>,
    /// True if hosts are unfenced before resources that require it start there.
    pub unfences: bool,
    /// True if several hosts can be fenced at the same time.
    pub concurrent_fencing: bool,
    /// True if the cluster looks for resources on nodes that know nothing of them (`enable-startup-probes`).
    pub startup_probes: bool,
    /// True if the cluster deletes the histories of resources that stop (`remove-after-stop`).
    pub removes_after_stop: bool,
    /// True if the cluster goes on without quorum.
    pub ignores_quorum: bool,
    /// True if a resource may run on every host unless a constraint forbids it.
    pub symmetric: bool,
    /// The names of the kinds of capacity.
    pub attributes: Vec<String>,
    /// The hosts, sorted by name.
    pub hosts: Vec<Host>,
    /// The hosts in the order of the document's status section.
    pub status_order: Vec<HostIdx>,
    /// The host that coordinates the cluster (DC).
    pub coordinator: Option<HostIdx>,
    /// Primitives, groups and clones in the order of the document; members follow their group or clone.
    pub resources: Vec<Resource>,
    /// The bundles.
    pub bundles: Vec<Bundle>,
    /// Scores of location constraints, in the order in which they are added.
    pub locations: Vec<LocationScore>,
    /// Scores of locations for promoted instances, in the order in which they are added.
    pub promotion_locations: Vec<LocationScore>,
    /// Colocations, including those that groups imply.
    pub colocations: Vec<Colocation>,
    /// Sets of resources that should run on different hosts.
    pub exclusions: Vec<ExclusionGroup>,
    /// Ordering constraints; those of groups are kept in the groups.
    pub orders: Vec<StartOrder>,
    /// Orders that wait for some of several resources.
    pub choices: Vec<ChoiceOrder>,
    /// Tickets, and the constraints that need them.
    pub tickets: Tickets,
    /// Elements that placing does not support.
    pub unsupported: Vec<Unsupported>,
    /// Capacity taken by running resources that placing does not support.
    pub charges: Vec<Charge>,
    /// The document of the cluster at rest, if it has guest nodes, remote nodes or bundles: their states after a loss are
    /// read from there.
    pub resting: Option<Arc<RestingDocument>>,
    /// Options whose names begin like those of affinity keys, with their values (docs/affinity.md).
    pub key_attributes: Vec<(String, String)>,
}

impl WorkingSet {
    /// The strategy in force.
    pub fn strategy(&self) -> Strategy {
        self.strategy.unwrap_or(Strategy::Default)
    }

    /// Returns true if the wishes of a colocation's dependent count for the placement of its primary.
    pub(super) fn has_influence(&self, colocation: &Colocation) -> bool {
        colocation.influence || self.resource(colocation.primary).active.is_none()
    }

    /// Returns true if a colocation does not count for the places of its dependent. Pacemaker has this quirk for a role
    /// that the primary does not have.
    pub(super) fn counts_for_primary_alone(&self, colocation: &Colocation) -> bool {
        let Colocation { dependent, primary, score, .. } = *colocation;
        // A resource that must be with a promoted container goes to it.
        let goes_there = self.bundle(primary).is_some()
            && score == AllocationScore::INFINITY
            && !self.goes_by_instances(dependent, primary);
        let with_roles = match self.release.follows_roles_of_bundles() {
            true => self.with_roles(primary),
            false => primary,
        };
        let has_roles = self.resource(with_roles).promotion.is_some() || goes_there;
        colocation.primary_role.is_some() && !has_roles
    }

    /// Returns true if the host is lost, so that it is unknown what runs there.
    pub(crate) fn is_lost(&self, host: HostIdx) -> bool {
        let state = self.host(host).state;
        state.unclean && !state.online
    }

    /// Capacity of each host without the [`charges`](Self::charges) of unsupported resources.
    pub fn room(&self) -> Vec<Capacities> {
        let mut room: Vec<Capacities> = self.hosts.iter().map(|host| host.capacity.clone()).collect();
        self.charges.iter().for_each(|charge| self.charge(&mut room[charge.host.get()], &charge.utilization));
        room
    }

    /// Subtracts amounts from the free capacity of a host, as the release does it.
    pub(super) fn charge(&self, free: &mut Capacities, amounts: &Capacities) {
        match self.release.owes_missing_kinds() {
            true => free.subtract(amounts),
            false => free.charge(amounts),
        }
    }

    /// The host at an index.
    pub fn host(&self, host: HostIdx) -> &Host {
        &self.hosts[host.get()]
    }

    /// The base score of every host that is no part of a bundle and was not removed. Pacemaker knows removed ones only if
    /// the list of nodes has them.
    pub(super) fn base_scores(&self) -> ScoreTable {
        let mut table = ScoreTable::empty(self.hosts.len());
        let open =
            self.host_indices().filter(|host| !self.host(*host).replica && self.host(*host).is_known());
        open.for_each(|host| table.set(host, self.host(host).base));
        table
    }

    /// Returns true if a colocation ties a member of a group to the one before it. Such a tie has the name of the group.
    pub(super) fn is_tie(&self, colocation: &Colocation) -> bool {
        let group = self.resource(colocation.dependent).group;
        group.is_some_and(|group| self.resource(group).id == colocation.id)
    }

    /// The resource at an index.
    pub fn resource(&self, resource: ResourceIdx) -> &Resource {
        &self.resources[resource.get()]
    }

    /// All hosts, in byte-wise order of their names.
    pub fn host_indices(&self) -> impl DoubleEndedIterator<Item = HostIdx> + Clone + use<> {
        (0..self.hosts.len()).map(HostIdx::new)
    }

    /// All primitives, groups and clones.
    pub fn resource_indices(&self) -> impl Iterator<Item = ResourceIdx> + Clone + use<> {
        (0..self.resources.len()).map(ResourceIdx::new)
    }

    /// Name of the cluster (`cluster-name`), if it has one.
    pub fn name(&self) -> Option<&str> {
        self.hosts.iter().find_map(|host| host.attribute("#cluster-name"))
    }

    /// The kinds of capacity that some host or resource has.
    pub fn attribute_indices(&self) -> impl Iterator<Item = AttributeIdx> + use<> {
        (0..self.attributes.len()).map(AttributeIdx::new)
    }
}
