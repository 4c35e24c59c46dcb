//! Kinds of alike nodes: an instance placed on any of them gives the same figures. Clusters of equal machines
//! have only a few kinds, so a search looks at the kinds instead of all nodes.

use std::collections::HashMap;

use htools_model::score::metrics::{Lanes, lanes};
use htools_model::{Cluster, Group, Ledger, NodeIdx, NodeSpec, TagSet};

/// A kind of node, by its position in [`Kinds`].
pub(crate) type KindIdx = usize;

/// Nodes that are alike.
#[derive(Debug, Clone)]
pub(crate) struct NodeKind {
    /// One of the nodes; the constant data is the same for all.
    pub sample: NodeIdx,
    pub ledger: Ledger,
    /// The values of each node in the score.
    pub lanes: Lanes,
    /// The present nodes of the kind, ascending.
    pub members: Vec<NodeIdx>,
    /// Number of kinds entered before it; tells it from earlier kinds at the same position.
    pub serial: usize,
    fixed: u32,
}

/// The relevant constant data of a node.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct NodeConstants {
    numbers: [u64; 10],
    class: usize,
    flags: [bool; 4],
    locations: TagSet,
    pools: TagSet,
    /// Set if the node is unlike any other.
    alone: Option<NodeIdx>,
}

impl NodeConstants {
    /// The data of one node. Nodes of groups in different classes are not alike. With `alone`, the node is
    /// unlike any other.
    pub(crate) fn of(spec: &NodeSpec, class: usize, usable: bool, alone: bool) -> NodeConstants {
        NodeConstants {
            numbers: [
                spec.mem_total.to_bits(),
                spec.mem_for_instances().0 as u64,
                spec.disk_total.to_bits(),
                spec.disk_low.0 as u64,
                spec.joint_losses as u64,
                spec.cpu_total.to_bits(),
                spec.cpu_speed.to_bits(),
                spec.vcpu_ratio.to_bits(),
                spec.spindle_total as u64,
                spec.spindle_limit.to_bits(),
            ],
            class,
            flags: [spec.exclusive_storage, spec.offline, spec.closed, usable],
            locations: spec.location_tags.clone(),
            pools: spec.offers.clone(),
            alone: alone.then_some(spec.idx),
        }
    }
}

/// Rule for nodes of different groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AcrossGroups {
    /// They are never alike.
    Never,
    /// They are alike if the policies of their groups accept the same. A cluster of many groups then has few
    /// kinds.
    ByPolicy,
}

impl AcrossGroups {
    /// The class of each group.
    fn classes(self, cluster: &Cluster) -> Vec<usize> {
        if self == AcrossGroups::Never {
            return (0..cluster.groups.len()).collect();
        }
        let mut known = HashMap::new();
        let mut classes = Vec::with_capacity(cluster.groups.len());
        for (at, Group { policy, .. }) in cluster.groups.iter().enumerate() {
            classes.push(*known.entry((&policy.ranges[..], &policy.disk_templates[..])).or_insert(at));
        }
        classes
    }
}

/// All numbers of a ledger, bit by bit.
pub(crate) type LedgerBits = [u64; 23];

/// Returns all numbers of the ledger; see [`LedgerBits`].
pub(crate) fn bits(ledger: &Ledger) -> LedgerBits {
    let l = ledger;
    [
        l.mem_instances.0 as u64,
        l.mem_reserved.0 as u64,
        l.joint.sum.0 as u64,
        l.joint.least.0 as u64,
        u64::from(l.n1_fail),
        l.mem_free_planned.0 as u64,
        l.disk_free.0 as u64,
        l.disk_free_planned.0 as u64,
        l.vcpus as u64,
        l.vcpus_planned as u64,
        l.spindles_used.to_bits(),
        l.spindles_used_planned.to_bits(),
        l.spindles_free as u64,
        l.spindles_free_planned as u64,
        l.load.cpu.to_bits(),
        l.load.mem.to_bits(),
        l.load.disk.to_bits(),
        l.load.net.to_bits(),
        l.tag_conflicts as u64,
        l.location_sum as u64,
        l.key_cost as u64,
        l.primaries as u64,
        l.secondaries as u64,
    ]
}

/// The nodes of a set by kind.
#[derive(Debug, Clone)]
pub(crate) struct Kinds {
    kinds: Vec<NodeKind>,
    /// For each node of the cluster, the number of its constant data; `None` outside the set.
    fixed: Vec<Option<u32>>,
    /// The kind of each node of the cluster.
    kind_of: Vec<KindIdx>,
    known: HashMap<(u32, LedgerBits), KindIdx>,
    /// The kinds that have members, in no order.
    present: Vec<KindIdx>,
    /// Positions without a kind.
    free: Vec<KindIdx>,
    /// The position of every kind so far, by serial.
    entered: Vec<KindIdx>,
}

impl Kinds {
    /// The kinds of `nodes` (ascending). Nodes in `usable` are tried as places. With `alone`, every node is a
    /// kind of its own.
    pub(crate) fn of(
        cluster: &Cluster,
        nodes: &[NodeIdx],
        usable: &[bool],
        alone: bool,
        across: AcrossGroups,
    ) -> Kinds {
        let classes = across.classes(cluster);
        let mut numbers: HashMap<NodeConstants, u32> = HashMap::new();
        let mut kinds = Kinds {
            kinds: Vec::new(),
            fixed: vec![None; cluster.nodes.len()],
            kind_of: vec![KindIdx::MAX; cluster.nodes.len()],
            known: HashMap::new(),
            present: Vec::new(),
            free: Vec::new(),
            entered: Vec::new(),
        };
        for &node in nodes {
            let at = node.get();
            let spec = &cluster.node(node).spec;
            let fixed = NodeConstants::of(spec, classes[spec.group.get()], usable[at], alone);
            let next = numbers.len() as u32;
            kinds.fixed[at] = Some(*numbers.entry(fixed).or_insert(next));
            kinds.enter(cluster, node, &cluster.node(node).state.ledger);
        }
        kinds
    }

    fn enter(&mut self, cluster: &Cluster, node: NodeIdx, ledger: &Ledger) {
        let Some(fixed) = self.fixed[node.get()] else { return };
        let key = (fixed, bits(ledger));
        let idx = match self.known.get(&key) {
            Some(idx) => *idx,
            None => {
                let lanes = lanes(&cluster.node(node).spec, ledger);
                let serial = self.entered.len();
                let idx = self.add(NodeKind {
                    sample: node,
                    ledger: *ledger,
                    lanes,
                    members: Vec::new(),
                    serial,
                    fixed,
                });
                self.entered.push(idx);
                self.known.insert(key, idx);
                idx
            }
        };
        let members = &mut self.kinds[idx].members;
        let at = members.partition_point(|m| *m < node);
        members.insert(at, node);
        self.kind_of[node.get()] = idx;
    }

    fn add(&mut self, kind: NodeKind) -> KindIdx {
        let idx = match self.free.pop() {
            Some(idx) => {
                self.kinds[idx] = kind;
                idx
            }
            None => {
                self.kinds.push(kind);
                self.kinds.len() - 1
            }
        };
        self.present.push(idx);
        idx
    }

    fn drop(&mut self, idx: KindIdx) {
        let kind = &self.kinds[idx];
        self.known.remove(&(kind.fixed, bits(&kind.ledger)));
        self.present.retain(|k| *k != idx);
        self.free.push(idx);
    }

    /// Updates a node whose ledger has changed to `ledger`.
    pub(crate) fn update(&mut self, cluster: &Cluster, node: NodeIdx, ledger: &Ledger) {
        if self.fixed[node.get()].is_none() {
            return;
        }
        let old = self.kind_of[node.get()];
        let members = &mut self.kinds[old].members;
        if let Ok(at) = members.binary_search(&node) {
            members.remove(at);
        }
        if members.is_empty() {
            self.drop(old);
        }
        self.enter(cluster, node, ledger);
    }

    /// The kind of a node of the set.
    pub(crate) fn of_node(&self, node: NodeIdx) -> KindIdx {
        self.kind_of[node.get()]
    }

    /// Number of kinds so far, including those without nodes.
    pub(crate) fn count(&self) -> usize {
        self.entered.len()
    }

    /// The kinds that were added since there were `count` and still have members.
    pub(crate) fn since(&self, count: usize) -> impl Iterator<Item = KindIdx> + '_ {
        let entered = self.entered.iter().copied().enumerate().skip(count);
        entered.filter(|(serial, kind)| self.has_members(*kind, *serial)).map(|(_, kind)| kind)
    }

    /// Returns true if the kind with this serial is still at its position and has nodes.
    pub(crate) fn has_members(&self, kind: KindIdx, serial: usize) -> bool {
        let kind = self.get(kind);
        kind.serial == serial && !kind.members.is_empty()
    }

    pub(crate) fn get(&self, kind: KindIdx) -> &NodeKind {
        &self.kinds[kind]
    }

    /// The kinds that have members, in no order.
    pub(crate) fn present(&self) -> &[KindIdx] {
        &self.present
    }
}
