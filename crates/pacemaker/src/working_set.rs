//! What the placement of a Pacemaker cluster hangs on, in plain types; [`cib`](super::cib) reads it.

use super::capacity::Capacities;
use super::index::{AttributeIdx, HostIdx, ResourceIdx};
use super::score::{AllocationScore, ScoreTable};
use htools_model::words;

pub use super::resource::{Requirement, Resource, ResourceForm, Revision, RunCondition, SeveralPolicy};

words!(
    /// How much capacities count.
    pub Strategy, "placement strategy" {
        /// Not at all.
        Default = "default",
        /// A host must have room.
        Utilization = "utilization",
        /// A host must have room; the one with the most is taken.
        Balanced = "balanced",
        /// A host must have room; the first that has is taken.
        Minimal = "minimal",
    }
);

words!(
    /// What a cluster without quorum does.
    pub QuorumPolicy, "policy without quorum" {
        /// It stops what it runs.
        Stop = "stop",
        /// It goes on with what it runs, and starts nothing else.
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
    /// What its health is worth to resources.
    pub health: AllocationScore,
    /// Attributes for rules and colocations, the ones of its status last, so that they win.
    pub attributes: Vec<(String, String)>,
    /// What it has for resources.
    pub capacity: Capacities,
    /// How it is.
    pub state: HostState,
    /// Whether it has to be unfenced, where hosts are.
    pub unfencing: Unfencing,
    /// What it is made of, if it is a machine that the cluster runs.
    pub guest: Option<GuestParts>,
    /// Whether rules and colocations do not know its name: an oddity of Pacemaker's with guest nodes of which neither the list of nodes
    /// nor the status says anything that counts.
    pub nameless: bool,
}

/// What makes a host of a machine that is a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GuestParts {
    /// The machine.
    pub machine: ResourceIdx,
    /// The connection to it, by which the cluster starts and stops what runs in it. It goes where the machine does.
    pub connection: ResourceIdx,
}

/// The option by which the health of hosts counts. What it makes of that stands among constraints under this name.
pub const NODE_HEALTH: &str = "node-health-strategy";

/// Whether a host has to get access to what the cluster shares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Unfencing {
    /// It has it, or cannot get it.
    #[default]
    Done,
    /// It gets it when something is to run there that requires it.
    WhenUsed,
    /// It gets it in any case.
    Due,
}

/// What holds for a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HostState {
    /// It is a member of the cluster.
    pub online: bool,
    /// It shall run nothing.
    pub standby: bool,
    /// What runs on it is left alone.
    pub maintenance: bool,
    /// It is about to leave.
    pub shutting_down: bool,
    /// It was lost, and has to be fenced.
    pub unclean: bool,
}

impl HostState {
    /// Whether it can run resources.
    pub fn available(self) -> bool {
        self.online && !self.standby && !self.maintenance && !self.shutting_down && !self.unclean
    }
}

impl Host {
    /// What it is worth by itself: never anything, if it is away. Machines that the cluster runs may come.
    pub(super) fn worth(&self) -> AllocationScore {
        if self.guest.is_some() { self.base } else { self.worth_as_it_is() }
    }

    /// The same, where it does not count that a machine may come, or that it is to be stopped.
    pub(super) fn worth_as_it_is(&self) -> AllocationScore {
        let away = !self.state.online || (self.state.shutting_down && self.guest.is_none());
        if away { AllocationScore::MINUS_INFINITY } else { self.base }
    }

    /// The value of an attribute.
    pub fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().rev().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }
}

/// That a constraint gives a resource a score on a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocationScore {
    /// The constraint.
    pub id: String,
    /// Whose score.
    pub resource: ResourceIdx,
    /// Where.
    pub host: HostIdx,
    /// The score.
    pub score: AllocationScore,
    /// Whether it is one of those that alone name the hosts of a resource ([`Resource::exclusive`]).
    pub exclusive: bool,
}

/// That a resource wants to be where another one is, or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Colocation {
    /// The constraint, or the group whose order it stands for.
    pub id: String,
    /// Who wants.
    pub dependent: ResourceIdx,
    /// With whom.
    pub primary: ResourceIdx,
    /// How much.
    pub score: AllocationScore,
    /// The attribute in which their hosts are to agree; without one: the same host.
    pub attribute: Option<String>,
    /// Whether the wishes of the dependent count for where the primary goes although that one runs.
    pub influence: bool,
}

/// Resources that would rather not meet. It counts for none of them before the others have their places, so that there may be
/// many in one: as colocations, of each with all before it, they would be followed from one to the next. No CIB has these.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExclusionGroup {
    /// Its members, by position.
    pub members: Vec<ResourceIdx>,
    /// What it is worth that two of them are on one host, less than 0. They run together rather than not at all.
    pub score: AllocationScore,
}

/// How binding an order is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrderStrength {
    /// The later one cannot run without the earlier one.
    Mandatory,
    /// It counts only if both are started or stopped at once.
    Optional,
    /// They are not started or stopped at the same time.
    Serialize,
}

/// That a resource is started after another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartOrder {
    /// The constraint.
    pub id: String,
    /// Started first.
    pub first: ResourceIdx,
    /// Started then.
    pub then: ResourceIdx,
    /// How binding it is.
    pub strength: OrderStrength,
    /// Whether they are stopped in the opposite order.
    pub symmetrical: bool,
}

/// Two resources of which one is started, or stopped, before the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OrderedPair {
    /// Started first, and stopped last.
    pub first: ResourceIdx,
    /// Started then.
    pub then: ResourceIdx,
}

/// That resources are started after some of several others are, whichever. A group among these counts as started in any case, an
/// oddity of Pacemaker's; a clone if one of its instances is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChoiceOrder {
    /// The constraint.
    pub id: String,
    /// Pacemaker's name for the point at which enough of them are started: `one-or-more:` and the set.
    pub mark: String,
    /// Started first.
    pub firsts: Vec<ResourceIdx>,
    /// How many of these are enough, at least one.
    pub enough: usize,
    /// Started then; also stopped if not enough of the others run, however binding the order is.
    pub thens: Vec<ResourceIdx>,
    /// How binding it is for stops.
    pub strength: OrderStrength,
    /// Of which two the second is stopped before the first is.
    pub stops: Vec<OrderedPair>,
}

impl ChoiceOrder {
    /// Whether one of [`firsts`](Self::firsts) counts where these primitives run.
    pub(super) fn counts(set: &WorkingSet, first: ResourceIdx, runs: impl Fn(ResourceIdx) -> bool) -> bool {
        set.resource(first).is_group() || set.primitives(&first).iter().any(|part| runs(*part))
    }
}

/// What a resource that is outside takes where it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Charge {
    /// The resource.
    pub resource: String,
    /// Where it runs.
    pub host: HostIdx,
    /// What it takes.
    pub utilization: Capacities,
}

/// What the input says that placing cannot follow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outside {
    /// The kind of element.
    pub element: String,
    /// Its id.
    pub id: String,
    /// Why it is outside.
    pub reason: String,
}

/// What fencing does to a host.
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

/// All that the placement of a cluster's resources hangs on.
#[derive(Debug, Clone, Default)]
pub struct WorkingSet {
    /// How much capacities count; none: the cluster names no strategy that is known, which is the default.
    pub strategy: Option<Strategy>,
    /// The strategy that the cluster names, if there is none of this name.
    pub unknown_strategy: Option<String>,
    /// Whether nothing is to run.
    pub stop_all: bool,
    /// Whether lost hosts are fenced.
    pub fencing: bool,
    /// The names of the hosts of which the status says utilization that the cluster is too old to read.
    pub ignored_utilization: Vec<String>,
    /// What fencing does to them.
    pub fence_action: FenceAction,
    /// Whether nothing is started, stopped or moved, as hosts should be fenced and nothing is there to do it.
    pub frozen: bool,
    /// What is done as there is no quorum; none, if there is, or it does not matter.
    pub without_quorum: Option<QuorumPolicy>,
    /// Whether hosts are unfenced before anything is started there that requires it.
    pub unfences: bool,
    /// Whether several hosts are fenced at once.
    pub concurrent_fencing: bool,
    /// Whether every resource may run on every host that nothing forbids.
    pub symmetric: bool,
    /// The names of the kinds of capacity.
    pub attributes: Vec<String>,
    /// The hosts, by name.
    pub hosts: Vec<Host>,
    /// The hosts as the document's status has them.
    pub status_order: Vec<HostIdx>,
    /// The host that coordinates the cluster.
    pub coordinator: Option<HostIdx>,
    /// Primitives and groups in the order of the document; members follow their group.
    pub resources: Vec<Resource>,
    /// Scores by constraints, in the order in which they are added.
    pub locations: Vec<LocationScore>,
    /// Who wants to be with whom, those of groups too.
    pub colocations: Vec<Colocation>,
    /// Who would rather not meet.
    pub exclusions: Vec<ExclusionGroup>,
    /// What is started after what; the orders of groups are in the groups.
    pub orders: Vec<StartOrder>,
    /// What is started after some of several others.
    pub choices: Vec<ChoiceOrder>,
    /// What is outside.
    pub outside: Vec<Outside>,
    /// What resources that are outside take where they run.
    pub charges: Vec<Charge>,
    /// The options whose names begin as those of affinity keys do, and their values (docs/affinity.md).
    pub key_attributes: Vec<(String, String)>,
}

impl WorkingSet {
    /// The strategy in force.
    pub fn strategy(&self) -> Strategy {
        self.strategy.unwrap_or(Strategy::Default)
    }

    /// Whether the cluster may start, stop and move a resource.
    pub fn is_managed(&self, resource: ResourceIdx) -> bool {
        self.may_manage(resource) && !self.frozen
    }

    /// The same, if the whole cluster were not frozen.
    pub(super) fn may_manage(&self, resource: ResourceIdx) -> bool {
        let details = self.resource(resource);
        let in_maintenance = details.active_hosts().any(|host| self.host(host).state.maintenance);
        details.managed && (!details.is_primitive() || !in_maintenance)
    }

    /// Whether the wishes of the dependent of a colocation count for where the primary goes.
    pub(super) fn has_influence(&self, colocation: &Colocation) -> bool {
        colocation.influence || self.resource(colocation.primary).active.is_none()
    }

    /// Whether a lost host can be fenced: without quorum, only one that is still a member.
    pub(super) fn can_fence(&self, host: HostIdx) -> bool {
        self.fencing && (self.without_quorum.is_none() || self.host(host).state.online)
    }

    /// What has to be so before a primitive is started.
    pub(super) fn requirement(&self, resource: ResourceIdx) -> Requirement {
        let details = self.resource(resource);
        match details.requires {
            Some(said) if !details.fences() || said < Requirement::Unfencing => said,
            _ if details.fences() => Requirement::Quorum,
            _ if self.unfences => Requirement::Unfencing,
            _ => Requirement::Fencing,
        }
    }

    /// Whether a primitive is started only on hosts that are unfenced. All devices that fence are, too.
    pub(super) fn needs_unfenced_host(&self, resource: ResourceIdx) -> bool {
        let details = self.resource(resource);
        let needs = details.fences() || self.requirement(resource) == Requirement::Unfencing;
        self.unfences && details.is_primitive() && needs
    }

    /// Whether a resource is to run, as far as the cluster decides about it.
    pub(crate) fn should_run(&self, resource: ResourceIdx) -> bool {
        self.is_wanted(resource) && !self.frozen
    }

    /// The same, whether or not the whole cluster is frozen.
    pub(super) fn is_wanted(&self, resource: ResourceIdx) -> bool {
        let details = self.resource(resource);
        !details.stopped && !details.surplus && !self.stop_all && self.may_manage(resource)
    }

    /// Whether nobody knows what runs on a host.
    pub(crate) fn is_lost(&self, host: HostIdx) -> bool {
        let state = self.host(host).state;
        state.unclean && !state.online
    }

    /// What each host has for the resources of the cluster: its capacity without what is charged there.
    pub fn room(&self) -> Vec<Capacities> {
        let mut room: Vec<Capacities> = self.hosts.iter().map(|host| host.capacity.clone()).collect();
        self.charges.iter().for_each(|charge| room[charge.host.get()].charge(&charge.utilization));
        room
    }

    /// A host.
    pub fn host(&self, host: HostIdx) -> &Host {
        &self.hosts[host.get()]
    }

    /// What every host is worth by itself.
    pub(super) fn base_scores(&self) -> ScoreTable {
        let mut table = ScoreTable::empty(self.hosts.len());
        self.host_indices().for_each(|host| table.set(host, self.host(host).base));
        table
    }

    /// A resource.
    pub fn resource(&self, resource: ResourceIdx) -> &Resource {
        &self.resources[resource.get()]
    }

    /// All hosts, in byte-wise order of their names.
    pub fn host_indices(&self) -> impl DoubleEndedIterator<Item = HostIdx> + Clone + use<> {
        (0..self.hosts.len()).map(HostIdx::new)
    }

    /// All primitives and groups.
    pub fn resource_indices(&self) -> impl Iterator<Item = ResourceIdx> + Clone + use<> {
        (0..self.resources.len()).map(ResourceIdx::new)
    }

    /// The kinds of capacity that some host or resource has.
    pub fn attribute_indices(&self) -> impl Iterator<Item = AttributeIdx> + use<> {
        (0..self.attributes.len()).map(AttributeIdx::new)
    }
}
