//! The reserve: room for a number of standard instances on every node.
//!
//! Disks count only if the standard instance has its disks on nodes. Moving instances to free memory seldom
//! frees disk space. So not every node needs room for the disk, only as many nodes as keep a copy.

use std::cmp::Reverse;

use crate::why::RefusedPlace;
use htools_model::redundancy::global::{RedundancyCheck, Scope};
use htools_model::units::floor_to_i64;
use htools_model::{
    Cluster, Disk, DiskTemplate, Instance, InstanceDetails, InstancePolicy, Ledger, Mib, NodeIdx, NodeSpec,
    Obstacle, Place, Placement, Rule, Strictness, TagArrival,
};

/// Number of nodes on which using the reserve is tried.
const TRIED: usize = 2;

/// Larger amounts are as good as infinite; amounts up to this can still be added.
const MOST: i64 = i64::MAX >> 4;

/// Room for one instance that is a multiple of the standard instance.
#[derive(Debug, Clone)]
pub struct Reserve {
    probe: Instance,
    /// The same instance with its disk, if that takes room on nodes.
    with_disk: Option<Instance>,
}

impl Reserve {
    /// The reserve of `factor` times the standard instance of a policy, whose first disk template determines
    /// the place of its disk.
    pub fn of(policy: &InstancePolicy, factor: f64) -> Reserve {
        let times = |amount: i64| match amount as f64 * factor {
            product if product >= MOST as f64 => MOST,
            product if product <= -(MOST as f64) => -MOST,
            product => floor_to_i64(product),
        };
        let probe = InstanceDetails {
            mem: Mib(times(policy.std.memory.0)),
            vcpus: times(policy.std.cpus),
            spindle_use: times(policy.std.spindle_use),
            ..InstanceDetails::blank("reserve".to_owned(), DiskTemplate::Ext)
        };
        let disk = Mib(times(policy.std.disk_size.0));
        let template = policy.disk_templates.first().copied();
        let stored = template.filter(|template| template.uses_local_storage() && disk > Mib::ZERO);
        let with_disk = stored.map(|template| {
            let disks = [Disk { size: disk, spindles: Some(probe.spindle_use) }].into();
            InstanceDetails { template, disk, disks, spindles: Some(probe.spindle_use), ..probe.clone() }
                .into()
        });
        Reserve { probe: probe.into(), with_disk }
    }

    /// Memory of the reserve.
    pub fn memory(&self) -> Mib {
        self.probe.mem
    }

    /// Virtual CPUs of the reserve.
    pub fn vcpus(&self) -> i64 {
        self.probe.vcpus
    }

    /// The lack of a node without the reserve; `None` if it has the reserve.
    pub fn lack(&self, cluster: &Cluster, node: NodeIdx) -> Option<RefusedPlace> {
        let rule = self.used(cluster, node).err()?;
        let place = Placement { primary: node, secondary: None };
        Some(RefusedPlace::of_place(cluster, &self.probe, place, Obstacle::Primary(rule)))
    }

    /// The ledger of a node after the reserve is used.
    fn used(&self, cluster: &Cluster, node: NodeIdx) -> Result<Ledger, Rule> {
        let htools_model::Node { spec, state } = cluster.node(node);
        self.taken_from(spec, &state.ledger)
    }

    fn taken_from(&self, spec: &NodeSpec, ledger: &Ledger) -> Result<Ledger, Rule> {
        ledger.add_primary(spec, &self.probe, 0, TagArrival::default(), Strictness::Strict)
    }

    /// Returns true if a node in this state has the reserve, its disk apart.
    pub(super) fn fits(&self, spec: &NodeSpec, ledger: &Ledger) -> bool {
        self.taken_from(spec, ledger).is_ok()
    }

    /// The lack of the first online node without the reserve. If too few nodes have room for the disk, it is
    /// the lack of the one with most free disk.
    pub fn first_lack(&self, cluster: &Cluster, nodes: &[NodeIdx]) -> Option<RefusedPlace> {
        let online = || nodes.iter().copied().filter(|n| !cluster.node(*n).spec.offline);
        online().find_map(|node| self.lack(cluster, node)).or_else(|| self.lacks_disk(cluster, online()))
    }

    /// The lack of disk, if too few nodes have room for all copies: that of the node with most free disk among
    /// the others.
    fn lacks_disk(&self, cluster: &Cluster, online: impl Iterator<Item = NodeIdx>) -> Option<RefusedPlace> {
        let probe = self.with_disk.as_ref()?;
        let mut missing = if probe.template.has_secondary() { 2 } else { 1 };
        let mut nearest: Option<(Mib, NodeIdx, Rule)> = None;
        for node in online {
            let htools_model::Node { spec, state } = cluster.node(node);
            let free = state.ledger.disk_free;
            match state.ledger.add_primary(spec, probe, 0, TagArrival::default(), Strictness::Strict) {
                Ok(_) => missing -= 1,
                Err(rule) if nearest.is_none_or(|(most, ..)| free > most) => {
                    nearest = Some((free, node, rule))
                }
                Err(_) => {}
            }
        }
        let (_, node, rule) = nearest.filter(|_| missing > 0)?;
        let place = Placement { primary: node, secondary: None };
        Some(RefusedPlace::of_place(cluster, probe, place, Obstacle::Primary(rule)))
    }

    /// Checks whether the reserve can be used without making it impossible to empty some of `nodes`, all of
    /// which can be emptied now (global N+1). Returns the online node with most room if it cannot be used
    /// anywhere. In such a group, an allocator that keeps global N+1 places nothing, whatever room there is.
    ///
    /// Only the nodes with most room are tried, as others hardly help if these do not. Emptying `stuck` is
    /// tried first; afterwards it is the last node that could not be emptied.
    pub(crate) fn unusable(
        &self,
        cluster: &Cluster,
        nodes: &[NodeIdx],
        stuck: &mut Option<NodeIdx>,
    ) -> Option<NodeIdx> {
        let mut online: Vec<NodeIdx> =
            nodes.iter().copied().filter(|n| !cluster.node(*n).spec.offline).collect();
        if self.probe.mem <= Mib::ZERO || online.is_empty() {
            return None;
        }
        let room = |n: &NodeIdx| {
            let node = cluster.node(*n);
            Reverse(node.state.ledger.mem_unallocated(&node.spec))
        };
        online.sort_by_key(room);
        let mut guard =
            RedundancyCheck::new(cluster, nodes, &Scope { online_only: true, ..Scope::default() });
        guard.begin_with(*stuck);
        let mut tried = online.iter().take(TRIED);
        let usable = tried.any(|node| {
            let placement = Placement { primary: *node, secondary: None };
            let place = |primary| Place { placement, location_score: 0, primary, secondary: None };
            self.used(cluster, *node).is_ok_and(|ledger| guard.holds_with(&self.probe, &place(ledger)))
        });
        *stuck = guard.last_stuck();
        (!usable).then_some(online[0])
    }
}
