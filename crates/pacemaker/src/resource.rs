//! Resources: their form, requirements and present state.

use super::capacity::Capacities;
use super::index::{HostIdx, ResourceIdx};
use super::promotion::Promotion;
use super::score::{AllocationScore, HostScore, ScoreTable};

/// Form of a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResourceForm {
    /// A single service or VM.
    Primitive,
    /// Primitives that belong together. All of them may be left out.
    Group {
        /// True if members start one after the other, and stop in the opposite order.
        ordered: bool,
        /// True if each member must run where the one before it runs.
        together: bool,
    },
    /// Instances of the same primitive or group.
    Clone {
        /// True if an instance depends only on the instance of another clone on its own host, not on all of them.
        interleave: bool,
        /// True if instances start one after the other.
        ordered: bool,
        /// True if instances are told apart (`globally-unique`).
        unique: bool,
        /// Greatest number of instances on one host, if they are told apart (`clone-node-max`).
        node_max: usize,
    },
}

/// Condition in which a primitive runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RunCondition {
    /// It runs as it should.
    #[default]
    Sound,
    /// It failed, and must be stopped before it is started anywhere.
    Failed,
    /// It failed, and is left alone until an administrator has looked at it.
    Blocked,
    /// It was starting when the document was written; it is started again.
    Starting,
    /// It was not found, but a failed live migration may have left it there.
    Supposed,
}

/// Precondition for starting a primitive. Each includes those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Requirement {
    /// No precondition.
    Nothing,
    /// The cluster has quorum, and no lost host may run it.
    Quorum,
    /// Lost hosts are fenced.
    Fencing,
    /// Its host is unfenced: it has access to shared devices.
    Unfencing,
}

/// Reaction to a primitive that runs on several hosts (`multiple-active`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MultipleActivePolicy {
    /// It is stopped on all of them, and started on one.
    Restart,
    /// It is stopped on all but the one on which it is to run.
    StopOthers,
    /// It is stopped on all of them.
    StopAll,
}

/// Change of a primitive's configuration since it was started, the most severe last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Revision {
    /// No change.
    #[default]
    None,
    /// Parameters that it can reload while it runs.
    Reload,
    /// Other parameters: it is restarted.
    Parameters,
    /// The agent: it is restarted.
    Agent,
    /// The agent and parameters: it is restarted.
    AgentAndParameters,
}

impl Revision {
    /// Returns true if the change restarts the resource.
    pub(crate) fn restarts(self) -> bool {
        self >= Revision::Parameters
    }

    /// Returns true if the agent is another one.
    pub(crate) fn has_other_agent(self) -> bool {
        self >= Revision::Agent
    }

    /// The changed thing in one word; `None` without a change.
    pub fn subject(self) -> Option<&'static str> {
        match self {
            Revision::None => None,
            Revision::Reload | Revision::Parameters => Some("parameters"),
            Revision::Agent | Revision::AgentAndParameters => Some("agent"),
        }
    }
}

/// A primitive, a group or a clone.
#[derive(Debug, Clone)]
pub struct Resource {
    /// Its id.
    pub id: String,
    /// For a primitive: class, provider and type, as `ocf:heartbeat:VirtualDomain`.
    pub agent: String,
    /// The members of a group in order, or the instances of a clone.
    pub members: Vec<ResourceIdx>,
    /// Primitive, group or clone.
    pub form: ResourceForm,
    /// The group that it belongs to.
    pub group: Option<ResourceIdx>,
    /// The clone of which it is an instance.
    pub instance_of: Option<ResourceIdx>,
    /// True for a part of a bundle that is no container. It belongs to the bundle alone.
    pub in_bundle: bool,
    /// Resources with a higher priority are placed first.
    pub priority: AllocationScore,
    /// Score for staying on its present host.
    pub stickiness: AllocationScore,
    /// True if it should be stopped.
    pub stopped: bool,
    /// True if the cluster may start, stop and move it, unless it runs on a host in maintenance.
    pub managed: bool,
    /// True if it is unmanaged only because of a failure on its host; it is managed again once that host is lost.
    pub blocked_by_failure: bool,
    /// True if it is in maintenance, alone or with the whole cluster.
    pub maintenance: bool,
    /// True if its wishes count for the placement of resources that it wants to run with.
    pub critical: bool,
    /// True if it does not avoid unhealthy hosts.
    pub allows_unhealthy: bool,
    /// True if it supports live migration.
    pub allow_migrate: bool,
    /// Utilization; empty for a group, as its members have their own.
    pub utilization: Capacities,
    /// Scores by host, before anything is placed.
    pub scores: ScoreTable,
    /// The host on which it runs. For a group or clone, the host of a member: the first one by the order of the status
    /// section.
    pub active: Option<HostIdx>,
    /// The host on which a primitive ran last, according to its operations.
    pub last_host: Option<HostIdx>,
    /// Other hosts on which a primitive runs without being meant to, in status order.
    pub also_on: Vec<HostIdx>,
    /// Those of its hosts on which it runs by another agent than the configured one.
    pub replaced_on: Vec<HostIdx>,
    /// True if at most one of these hosts is not lost and it need not wait for fencing: it then counts as running once.
    pub others_lost: bool,
    /// The one of these hosts to which a live migration sent it, if its arrival is unknown. If it is to run there, it
    /// stays.
    pub sent_to: Option<HostIdx>,
    /// Hosts on which it is stopped in any case, as a migration to another host may have left something there.
    pub left_on: Vec<HostIdx>,
    /// True for a primitive on several hosts that its `multiple-active` would not restart, even if it is not managed.
    pub never_restarts: bool,
    /// Reaction if it runs on several hosts without being meant to.
    pub multiple_active: MultipleActivePolicy,
    /// For a primitive on several hosts, those whose status was read after it had become unmanaged. It is kept on
    /// these.
    pub kept_on: Vec<HostIdx>,
    /// True if it was known to run before it was blocked with its group. It is then not kept on its host.
    pub released: bool,
    /// The host whose status first told where a primitive runs, which may be another host.
    pub known_by: Option<HostIdx>,
    /// The position of a primitive in the history of the host on which it runs.
    pub position_in_history: usize,
    /// The condition in which it runs there.
    pub condition: RunCondition,
    /// True for a container in which something runs that cannot be reached any more.
    pub lost_inside: bool,
    /// True if it restarts because of a failure of a resource that runs in it.
    pub failed_inside: bool,
    /// True if it runs in another resource. It is then never looked for where it is not known to run.
    pub contained: bool,
    /// True if it runs there in the promoted role.
    pub promoted: bool,
    /// True if a failure demotes it, whether it is promoted again or not.
    pub demoted: bool,
    /// True if it is known to be in the unpromoted role there, not just started.
    pub unpromoted: bool,
    /// True if it could not be promoted there. Pacemaker quirk: this counts only for instances that are alike.
    pub promotion_failed: bool,
    /// For a promotable clone, the properties of its promotion.
    pub promotion: Option<Promotion>,
    /// Change of its configuration since it was started there.
    pub revision: Revision,
    /// Hosts on which it failed too often, with the count.
    pub failed_on: Vec<HostScore>,
    /// For an instance of a clone: the hosts among them on which it did not fail too often, but its agent or its
    /// installation is at fault.
    pub broken_on: Vec<HostIdx>,
    /// True for a surplus instance of a clone, a part of one, or a resource that is no longer configured. It is
    /// stopped, whatever its scores.
    pub surplus: bool,
    /// True if it is no longer configured, and known only by its operations.
    pub orphaned: bool,
    /// The constraint with `resource-discovery="exclusive"` that limits it to the hosts named by such constraints,
    /// whatever the scores. It does not count for a part of another resource.
    pub exclusive: Option<String>,
    /// The configured precondition of its start, if any.
    pub requires: Option<Requirement>,
    /// Hosts that were never searched for it, so that it may run there: lost hosts, if it need not wait for fencing,
    /// and hosts that must be unfenced first.
    pub unsure_on: Vec<HostIdx>,
    /// True for a clone that tells its instances of what happens to the others.
    pub notifies: bool,
    /// Guest nodes, remote nodes and nodes about to join that know nothing of it, so that it is looked for there.
    pub unknown_on: Vec<HostIdx>,
    /// True if it runs, and stays as it is because a ticket is not granted.
    pub kept_by_ticket: bool,
    /// True if placing does not support it, so that it stays where it runs.
    pub unsupported: bool,
    /// Instance attributes, its own or its template's, whose names begin like those of affinity keys, with their values
    /// (docs/affinity.md). A name occurs twice if the document gives it two values.
    pub key_attributes: Vec<(String, String)>,
}

impl Resource {
    /// A primitive that needs nothing and may run anywhere.
    pub fn plain(id: String) -> Resource {
        Resource {
            id,
            agent: String::new(),
            members: Vec::new(),
            form: ResourceForm::Primitive,
            group: None,
            instance_of: None,
            in_bundle: false,
            priority: AllocationScore::ZERO,
            stickiness: AllocationScore::ZERO,
            stopped: false,
            managed: true,
            blocked_by_failure: false,
            critical: true,
            allows_unhealthy: false,
            allow_migrate: false,
            utilization: Capacities::default(),
            scores: ScoreTable::default(),
            active: None,
            last_host: None,
            also_on: Vec::new(),
            replaced_on: Vec::new(),
            others_lost: false,
            sent_to: None,
            left_on: Vec::new(),
            never_restarts: false,
            multiple_active: MultipleActivePolicy::Restart,
            kept_on: Vec::new(),
            released: false,
            known_by: None,
            position_in_history: 0,
            condition: RunCondition::Sound,
            lost_inside: false,
            failed_inside: false,
            contained: false,
            promoted: false,
            demoted: false,
            unpromoted: false,
            promotion_failed: false,
            promotion: None,
            revision: Revision::None,
            failed_on: Vec::new(),
            broken_on: Vec::new(),
            surplus: false,
            orphaned: false,
            exclusive: None,
            requires: None,
            unsure_on: Vec::new(),
            notifies: false,
            unknown_on: Vec::new(),
            maintenance: false,
            kept_by_ticket: false,
            unsupported: false,
            key_attributes: Vec::new(),
        }
    }

    pub(super) fn has_failed(&self) -> bool {
        matches!(self.condition, RunCondition::Failed | RunCondition::Blocked)
    }

    /// Returns true if it is left as it is: it failed, or a ticket is not granted.
    pub(super) fn is_blocked(&self) -> bool {
        self.condition == RunCondition::Blocked || self.kept_by_ticket
    }

    /// All hosts on which a primitive runs. For groups and clones, the host of one part.
    pub fn active_hosts(&self) -> impl Iterator<Item = HostIdx> + '_ {
        self.active.into_iter().chain(self.also_on.iter().copied())
    }

    /// Returns true if it runs on more than one host.
    pub fn runs_twice(&self) -> bool {
        !self.also_on.is_empty()
    }

    /// Returns true if it must be stopped because it runs on more than one host.
    pub(crate) fn runs_too_often(&self) -> bool {
        self.runs_twice() && !self.others_lost
    }

    /// Returns true if it keeps running where it should run, and is stopped only on the other hosts.
    pub(super) fn spares_expected(&self) -> bool {
        self.runs_too_often()
            && self.multiple_active == MultipleActivePolicy::StopOthers
            && self.sent_to.is_none()
    }

    /// Returns true if it is stopped on all hosts and started on none.
    pub(super) fn stops_for_good(&self) -> bool {
        self.runs_too_often() && self.multiple_active == MultipleActivePolicy::StopAll
    }

    /// Makes it run on this host only, or nowhere, in sound condition.
    pub(super) fn run_on(&mut self, host: Option<HostIdx>) {
        (self.active, self.condition, self.revision) = (host, RunCondition::Sound, Revision::None);
        (self.promoted, self.demoted, self.failed_inside) = (false, false, false);
        self.also_on.clear();
        self.left_on.clear();
        self.kept_on.clear();
        (self.sent_to, self.known_by, self.others_lost) = (None, None, false);
    }

    /// Returns true for a primitive.
    pub fn is_primitive(&self) -> bool {
        self.form == ResourceForm::Primitive
    }

    /// Returns true for a group.
    pub fn is_group(&self) -> bool {
        matches!(self.form, ResourceForm::Group { .. })
    }

    /// Returns true for a clone.
    pub fn is_clone(&self) -> bool {
        matches!(self.form, ResourceForm::Clone { .. })
    }

    /// Returns true for a clone whose instances are told apart.
    pub(super) fn is_unique(&self) -> bool {
        matches!(self.form, ResourceForm::Clone { unique: true, .. })
    }

    /// Greatest number of instances of a clone on one host.
    pub(super) fn per_host(&self) -> usize {
        match self.form {
            ResourceForm::Clone { unique: true, node_max, .. } => node_max,
            _ => 1,
        }
    }

    /// Returns true if the instances of a clone depend only on instances on their own hosts.
    pub(super) fn interleaves(&self) -> bool {
        matches!(self.form, ResourceForm::Clone { interleave: true, .. })
    }

    /// Returns true if the instances of a clone go by those of another clone on their own hosts where they are
    /// colocated. Pacemaker quirk: both must have the same `clone-node-max`, even where it has no other effect.
    pub(super) fn interleaves_with(&self, other: &Resource) -> bool {
        let ResourceForm::Clone { interleave: true, node_max: own, .. } = self.form else { return false };
        !matches!(other.form, ResourceForm::Clone { node_max, .. } if node_max != own)
    }

    /// Returns true for a fencing device.
    pub fn fences(&self) -> bool {
        self.agent.starts_with("stonith:")
    }
}
