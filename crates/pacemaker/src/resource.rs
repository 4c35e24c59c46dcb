//! Resources: what they are, what they need, and how they run.

use super::capacity::Capacities;
use super::index::{HostIdx, ResourceIdx};
use super::score::{AllocationScore, HostScore, ScoreTable};

/// What a resource is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResourceForm {
    /// Something that runs.
    Primitive,
    /// Primitives that belong together. All of them may be left out.
    Group {
        /// Whether they are started one after the other, and stopped in the opposite order.
        ordered: bool,
        /// Whether each must be where the one before it is.
        together: bool,
    },
    /// Instances of the same primitive or group, each on another host.
    Clone {
        /// Whether its instances go by the instance of another clone on their own host, not by all of them.
        interleave: bool,
        /// Whether its instances are started one after the other.
        ordered: bool,
    },
}

/// How a primitive runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RunCondition {
    /// As it should.
    #[default]
    Sound,
    /// It failed, and has to be stopped before it is started anywhere.
    Failed,
    /// It failed, and nobody touches it before somebody has looked at it.
    Blocked,
    /// It was being started when the document was written; it is started again.
    Starting,
    /// A live migration that failed may have left it there, though it was not found.
    Supposed,
}

/// What has to be so before a primitive is started, each as well as those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Requirement {
    /// Nothing.
    Nothing,
    /// The cluster has quorum, and no lost host may run it.
    Quorum,
    /// Lost hosts are fenced.
    Fencing,
    /// Its host is unfenced: it has access to what the cluster shares.
    Unfencing,
}

/// What is done with a primitive that runs on several hosts (`multiple-active`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeveralPolicy {
    /// It is stopped on all of them, and started on one.
    Restart,
    /// It is stopped on all but the one on which it is to run.
    StopOthers,
    /// It is stopped on all of them.
    StopAll,
}

/// What of a primitive was changed in the configuration since it was started, the gravest last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Revision {
    /// Nothing.
    #[default]
    None,
    /// Parameters that it takes while it runs: it is told to read them again.
    Reload,
    /// Parameters: it is stopped and started.
    Parameters,
    /// Its agent: it is stopped and started.
    Agent,
}

impl Revision {
    /// Whether the resource is stopped and started for it.
    pub(crate) fn restarts(self) -> bool {
        matches!(self, Revision::Parameters | Revision::Agent)
    }

    /// What is another thing now, in a word; nothing where nothing was changed.
    pub fn subject(self) -> Option<&'static str> {
        match self {
            Revision::None => None,
            Revision::Reload | Revision::Parameters => Some("parameters"),
            Revision::Agent => Some("agent"),
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
    /// For a group: its members, in order. For a clone: its instances.
    pub members: Vec<ResourceIdx>,
    /// What it is.
    pub form: ResourceForm,
    /// The group that it belongs to.
    pub group: Option<ResourceIdx>,
    /// The clone of which it is an instance.
    pub instance_of: Option<ResourceIdx>,
    /// Who has the higher one is placed first.
    pub priority: AllocationScore,
    /// What it is worth to stay.
    pub stickiness: AllocationScore,
    /// Whether it shall not run.
    pub stopped: bool,
    /// Whether the cluster may start, stop and move it, where it runs on no host in maintenance.
    pub managed: bool,
    /// Whether only a failure where it runs keeps it from being managed: once that host is lost, it is managed again.
    pub blocked_by_failure: bool,
    /// Whether it is in maintenance, alone or with the whole cluster.
    pub maintenance: bool,
    /// Whether its wishes count for where those go that it wants to be with.
    pub critical: bool,
    /// Whether hosts that are not healthy are no worse for it.
    pub allows_unhealthy: bool,
    /// Whether it can be moved while it runs.
    pub allow_migrate: bool,
    /// What it needs. For a group: nothing, its members do.
    pub utilization: Capacities,
    /// Where it is wanted, before anything is placed.
    pub scores: ScoreTable,
    /// Where it runs. A group: where a member runs, on the first host of the document's status where one does.
    pub active: Option<HostIdx>,
    /// Where a primitive ran last, by its operations.
    pub last_host: Option<HostIdx>,
    /// Other hosts on which a primitive runs, too, and is not meant to, in the order of the status.
    pub also_on: Vec<HostIdx>,
    /// Whether at most one of all these hosts is not lost, and it need not wait until the others are fenced: it counts as running once.
    pub others_lost: bool,
    /// Of the other hosts, the one to which it was sent, if it is not known that it arrived: if it is to run there, it goes on.
    pub sent_to: Option<HostIdx>,
    /// Hosts on which it is stopped in any case, as something may be left there of what arrived elsewhere.
    pub left_on: Vec<HostIdx>,
    /// What is done if it runs on several hosts and is not meant to.
    pub if_several: SeveralPolicy,
    /// Of several hosts on which a primitive runs, those that were looked at when nobody managed it any more: what is not managed is
    /// kept on these.
    pub kept_on: Vec<HostIdx>,
    /// Whether it was known to run before it was blocked with its group: it is not kept where it is.
    pub released: bool,
    /// The host that told first where a primitive runs, which need not be there.
    pub known_by: Option<HostIdx>,
    /// How it runs there.
    pub condition: RunCondition,
    /// What was changed since it was started there.
    pub revision: Revision,
    /// Hosts on which it failed too often, with the count.
    pub failed_on: Vec<HostScore>,
    /// Whether it is an instance that its clone should not have any more, or a part of one, or no longer configured: it is stopped,
    /// whatever its scores.
    pub surplus: bool,
    /// Whether it is known by its operations only, as it is no longer configured.
    pub orphaned: bool,
    /// A constraint by which it may be only where it, and others like it, name a host, whatever the scores
    /// (`resource-discovery="exclusive"`). Of a part of another resource, it does not count.
    pub exclusive: Option<String>,
    /// What has to be so before it is started, if that is said.
    pub requires: Option<Requirement>,
    /// Hosts of which it is not known whether it runs there, as it was never looked for: lost ones, if it need not wait until others are
    /// fenced, and those that have to be unfenced before.
    pub unsure_on: Vec<HostIdx>,
    /// Whether it is outside, and stays where it runs.
    pub outside: bool,
    /// Those of its instance attributes, and of its template's, whose names begin as those of affinity keys do, and their values
    /// (docs/affinity.md). A name is there twice if the document says two things of it.
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
            others_lost: false,
            sent_to: None,
            left_on: Vec::new(),
            if_several: SeveralPolicy::Restart,
            kept_on: Vec::new(),
            released: false,
            known_by: None,
            condition: RunCondition::Sound,
            revision: Revision::None,
            failed_on: Vec::new(),
            surplus: false,
            orphaned: false,
            exclusive: None,
            requires: None,
            unsure_on: Vec::new(),
            maintenance: false,
            outside: false,
            key_attributes: Vec::new(),
        }
    }

    /// Whether it runs as it should not.
    pub(super) fn has_failed(&self) -> bool {
        matches!(self.condition, RunCondition::Failed | RunCondition::Blocked)
    }

    /// All hosts on which a primitive runs; of others, where a part does.
    pub fn active_hosts(&self) -> impl Iterator<Item = HostIdx> + '_ {
        self.active.into_iter().chain(self.also_on.iter().copied())
    }

    /// Whether it runs on more than one host.
    pub fn runs_twice(&self) -> bool {
        !self.also_on.is_empty()
    }

    /// Whether it has to be stopped because it runs on more than one host.
    pub(crate) fn runs_too_often(&self) -> bool {
        self.runs_twice() && !self.others_lost
    }

    /// Whether it is left where it is to run, and stopped on the other hosts only.
    pub(super) fn spares_expected(&self) -> bool {
        self.runs_too_often() && self.if_several == SeveralPolicy::StopOthers && self.sent_to.is_none()
    }

    /// Whether it is stopped wherever it runs, and started nowhere.
    pub(super) fn stops_for_good(&self) -> bool {
        self.runs_too_often() && self.if_several == SeveralPolicy::StopAll
    }

    /// From now on it runs there, and nowhere else.
    pub(super) fn run_on(&mut self, host: Option<HostIdx>) {
        (self.active, self.condition, self.revision) = (host, RunCondition::Sound, Revision::None);
        self.also_on.clear();
        self.left_on.clear();
        self.kept_on.clear();
        (self.sent_to, self.known_by, self.others_lost) = (None, None, false);
    }

    /// Whether it is something that runs.
    pub fn is_primitive(&self) -> bool {
        self.form == ResourceForm::Primitive
    }

    /// Whether it is a group.
    pub fn is_group(&self) -> bool {
        matches!(self.form, ResourceForm::Group { .. })
    }

    /// Whether it is a clone.
    pub fn is_clone(&self) -> bool {
        matches!(self.form, ResourceForm::Clone { .. })
    }

    /// Whether it is a device that fences hosts.
    pub fn fences(&self) -> bool {
        self.agent.starts_with("stonith:")
    }
}
