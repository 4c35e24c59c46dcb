//! Instances.

use std::ops::Deref;
use std::sync::Arc;

use super::carried_keys::CarriedKeys;
use super::index::{InstanceIdx, NodeIdx};
use super::kinds::{DiskTemplate, RunStatus};
use super::step::Placement;
use super::tags::{ExclusionTags, TagId, TagSet};
use super::units::Mib;
use super::utilisation::Utilisation;

/// Reason that balancing does not move an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Immobile {
    /// Its disk template ties it to its node.
    Template,
    /// Named by `--exclude-instances`.
    Excluded,
    /// It has a tag of `--exclude-tag`.
    Tagged,
    /// Moved a short time ago (`--cooldown`).
    Cooldown,
    /// Not named by `--select-instances`.
    NotSelected,
    /// Its two nodes are in different groups.
    Split,
    /// A DRBD instance for which the source names no secondary, or names the primary twice.
    NoSecondary,
}

/// One disk of an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Disk {
    /// Size.
    pub size: Mib,
    /// Physical spindles that it takes, if known.
    pub spindles: Option<i64>,
}

/// The part of an instance that does not depend on its placement. Copies of an instance share it, so that several
/// drafts of a cluster with a million instances fit into memory.
#[derive(Debug, Clone)]
pub struct InstanceDetails {
    /// Full name.
    pub name: String,
    /// Length of the alias: the name without the common domain suffix.
    pub alias_len: usize,
    /// Memory.
    pub mem: Mib,
    /// Total disk on each of its nodes.
    pub disk: Mib,
    /// Its disks. The text format has a single disk that stands for all.
    pub disks: Box<[Disk]>,
    /// Physical spindles of all its disks together; `None` if any is unknown.
    pub spindles: Option<i64>,
    /// Virtual CPUs.
    pub vcpus: i64,
    /// State.
    pub status: RunStatus,
    /// True if balancing may move it and its secondary reserves memory for it.
    pub auto_balance: bool,
    /// Storage of its disks.
    pub template: DiskTemplate,
    /// Weight on the spindles of nodes without exclusive storage.
    pub spindle_use: i64,
    /// All its tags.
    pub tags: Box<[String]>,
    /// The tags that keep instances of one service apart.
    pub exclusion_tags: ExclusionTags,
    /// The locations that it prefers.
    pub desired_locations: TagSet,
    /// The customer's affinity keys, if they count in the score and the instance runs.
    pub keys: CarriedKeys,
    /// Tags that its nodes must offer: its storage pools, if tags name any, and [`open`](Self::open).
    pub needs: TagSet,
    /// Tag offered by the nodes where it may run; set if it is kept out of some nodes.
    pub open: Option<TagId>,
    /// UUIDs of the networks of its interfaces, if known.
    pub networks: Box<[String]>,
    /// Planned but not yet created: counts in the planned view of nodes only.
    pub forthcoming: bool,
    /// Its use of dynamic resources.
    pub util: Utilisation,
}

/// An instance and its placement. It dereferences to the [`InstanceDetails`].
#[derive(Debug, Clone)]
pub struct Instance {
    /// Its own index.
    pub idx: InstanceIdx,
    /// The part that does not depend on its placement.
    pub details: Arc<InstanceDetails>,
    /// Reason that balancing may not move it, if there is one.
    pub immobile: Option<Immobile>,
    /// Primary node.
    pub primary: NodeIdx,
    /// Secondary node, if the source names one (any template).
    pub secondary: Option<NodeIdx>,
    /// Number of location tags that primary and secondary have in common.
    pub location_score: i64,
}

impl Deref for Instance {
    type Target = InstanceDetails;

    fn deref(&self) -> &InstanceDetails {
        &self.details
    }
}

/// Makes an instance without a placement: its index and its nodes are placeholders.
impl From<InstanceDetails> for Instance {
    fn from(details: InstanceDetails) -> Instance {
        Instance {
            idx: InstanceIdx::new(0),
            details: Arc::new(details),
            immobile: None,
            primary: NodeIdx::new(0),
            secondary: None,
            location_score: 0,
        }
    }
}

impl InstanceDetails {
    /// A running instance with no size and no tags, to be filled in.
    pub fn blank(name: String, template: DiskTemplate) -> InstanceDetails {
        InstanceDetails {
            alias_len: name.len(),
            name,
            mem: Mib::ZERO,
            disk: Mib::ZERO,
            disks: Box::default(),
            spindles: Some(0),
            vcpus: 0,
            status: RunStatus::Running,
            auto_balance: true,
            template,
            spindle_use: 0,
            tags: Box::default(),
            exclusion_tags: ExclusionTags::default(),
            desired_locations: TagSet::default(),
            keys: CarriedKeys::default(),
            needs: TagSet::default(),
            open: None,
            networks: Box::default(),
            forthcoming: false,
            util: Utilisation::default(),
        }
    }
}

impl Instance {
    /// [`InstanceDetails::blank`] as an instance without a placement.
    pub fn blank(name: String, template: DiskTemplate) -> Instance {
        InstanceDetails::blank(name, template).into()
    }

    /// Mutable access to the details, which are then no longer shared with other copies.
    pub fn details_mut(&mut self) -> &mut InstanceDetails {
        Arc::make_mut(&mut self.details)
    }

    /// The name without the domain suffix common to all nodes and instances.
    pub fn alias(&self) -> &str {
        &self.name[..self.alias_len]
    }

    /// Memory that it takes on its primary node; 0 if it is stopped or forthcoming.
    pub fn mem_in_use(&self) -> Mib {
        if self.status.uses_memory() && !self.forthcoming { self.mem } else { Mib::ZERO }
    }

    /// Memory that its secondary node reserves for it.
    pub fn mem_reserved(&self) -> Mib {
        if self.auto_balance && !self.status.is_offline() { self.mem } else { Mib::ZERO }
    }

    /// Virtual CPUs that count on its primary node.
    pub fn vcpus_in_use(&self) -> i64 {
        if self.status.is_offline() { 0 } else { self.vcpus }
    }

    /// Disk that it takes from its nodes' own storage.
    pub fn local_disk(&self) -> Mib {
        if self.template.uses_local_storage() { self.disk } else { Mib::ZERO }
    }

    /// The secondary node, for templates that mirror their disks to one.
    pub fn mirror(&self) -> Option<NodeIdx> {
        self.secondary.filter(|_| self.template.has_secondary())
    }

    /// Present placement.
    pub fn placement(&self) -> Placement {
        Placement { primary: self.primary, secondary: self.secondary }
    }

    /// Primary and, for mirrored templates, secondary node.
    pub fn nodes(&self) -> impl Iterator<Item = NodeIdx> + use<> {
        [Some(self.primary), self.mirror()].into_iter().flatten()
    }

    /// Tells if balancing may move it at all.
    pub fn is_movable(&self) -> bool {
        self.immobile.is_none()
    }
}
