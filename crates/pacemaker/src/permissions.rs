//! The limits that management, quorum and fencing set to the cluster's actions on a resource.

use super::index::{HostIdx, ResourceIdx};
use super::resource::Requirement;
use super::working_set::{QuorumPolicy, WorkingSet};

impl WorkingSet {
    /// Returns true if the cluster may start, stop and move a resource.
    pub fn is_managed(&self, resource: ResourceIdx) -> bool {
        self.may_manage(resource) && !self.frozen
    }

    /// Like [`is_managed`](Self::is_managed), but ignores whether the whole cluster is frozen.
    pub(super) fn may_manage(&self, resource: ResourceIdx) -> bool {
        self.may_manage_by_itself(resource) && !self.resource(resource).kept_by_ticket
    }

    /// Like [`may_manage`](Self::may_manage), but ignores tickets.
    pub(super) fn may_manage_by_itself(&self, resource: ResourceIdx) -> bool {
        let details = self.resource(resource);
        let in_maintenance = details.active_hosts().any(|host| self.host(host).state.maintenance);
        details.managed && (!details.is_primitive() || !in_maintenance)
    }

    /// Returns true if a lost host can be fenced. Without quorum, a member must still belong to the cluster, and a remote
    /// node must be connected or have a connection with a place. A guest node, or one in a container, is fenced by a
    /// restart of what it runs in, which takes the fencing of a lost host beneath.
    pub(super) fn can_fence(&self, host: HostIdx) -> bool {
        let node = self.host(host);
        match node.guest {
            Some(parts) if !parts.is_remote_node() => self
                .resource(parts.machine)
                .active_hosts()
                .all(|beneath| !self.host(beneath).state.unclean || self.can_fence(beneath)),
            _ => self.fencing && (self.without_quorum.is_none() || node.state.online || node.in_reach),
        }
    }

    /// The precondition for starting a primitive, as configured or by default.
    pub(super) fn requirement(&self, resource: ResourceIdx) -> Requirement {
        let details = self.resource(resource);
        let requires = match details.requires {
            Some(said) if !details.fences() || said < Requirement::Unfencing => said,
            _ if details.fences() => Requirement::Quorum,
            _ if self.unfences => Requirement::Unfencing,
            _ => Requirement::Fencing,
        };
        if self.fencing {
            return requires;
        }
        // Without fencing, only guest nodes are fenced, by a restart of their VMs.
        let is_said = details.requires.is_some() || details.fences();
        if is_said || !self.ignores_quorum { requires.min(Requirement::Quorum) } else { Requirement::Nothing }
    }

    /// Returns true if a resource that is not blocked is in maintenance, or the first host where it runs is.
    pub(super) fn is_in_maintenance(&self, resource: ResourceIdx) -> bool {
        let details = self.resource(resource);
        let is_there = || details.active.is_some_and(|host| self.host(host).state.maintenance);
        !details.is_blocked() && (details.maintenance || is_there())
    }

    /// Returns true if a primitive starts only on unfenced hosts. In a cluster that unfences, all fencing devices do.
    pub(super) fn needs_unfenced_host(&self, resource: ResourceIdx) -> bool {
        let details = self.resource(resource);
        let needs = details.fences() || self.requirement(resource) == Requirement::Unfencing;
        self.unfences && details.is_primitive() && needs
    }

    /// Returns true if a resource should run and the cluster manages it.
    pub(crate) fn should_run(&self, resource: ResourceIdx) -> bool {
        self.is_wanted(resource) && !self.frozen
    }

    /// Like [`should_run`](Self::should_run), but ignores whether the whole cluster is frozen.
    pub(super) fn is_wanted(&self, resource: ResourceIdx) -> bool {
        let details = self.resource(resource);
        !details.stopped && !details.surplus && !self.stop_all && self.may_manage(resource)
    }

    /// Returns true if the cluster demotes a primitive because it lacks quorum.
    pub(super) fn demotes_for_lack_of_quorum(&self, part: ResourceIdx) -> bool {
        self.without_quorum == Some(QuorumPolicy::Demote) && self.requirement(part) > Requirement::Nothing
    }
}
