//! The redundancy of nodes that hold instances on shared storage only, while more
//! of these arrive: nodes with the same memory free and the same burden are looked
//! at once.

use std::collections::BTreeMap;

use super::Scope;
use super::class::Class;
use super::figures::{Free, PLAUSIBLE};
use super::relocation::{self, Load};
use crate::model::{Cluster, GroupIdx, Mib, NodeIdx};

/// Nodes that are alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Alike {
    /// Unallocated memory.
    free: Mib,
    load: Load,
    online: bool,
    /// Whether it has to be expendable.
    counts: bool,
}

/// A set of nodes; see the module.
#[derive(Debug, Clone)]
pub struct Pool {
    /// By node of the cluster; nothing outside the set.
    nodes: Vec<Option<(GroupIdx, Alike)>>,
    groups: Vec<BTreeMap<Alike, i64>>,
    /// The verdict on each group, as far as it is known.
    verdicts: Vec<Option<bool>>,
}

/// What a node of the pool holds, to be put back.
#[derive(Debug, Clone, Copy)]
pub struct Before(Alike);

impl Pool {
    /// The pool of `nodes` (ascending), unless it is none: other instances are there,
    /// or migration is restricted.
    pub fn of(cluster: &Cluster, nodes: &[NodeIdx], scope: &Scope) -> Option<Pool> {
        let groups = vec![BTreeMap::new(); cluster.groups.len()];
        let mut pool =
            Pool { nodes: vec![None; cluster.nodes.len()], verdicts: vec![None; groups.len()], groups };
        for node in nodes.iter().map(|n| cluster.node(*n)) {
            let mut load = Load::NONE;
            for instance in node.state.primaries.iter().map(|i| cluster.instance(*i)) {
                let plausible = (Mib::ZERO..PLAUSIBLE).contains(&instance.mem);
                if Class::of(instance.template) != Class::Relocate || !plausible {
                    return None;
                }
                load.add(instance.mem_in_use());
            }
            let free = Free::of(&node.spec, &node.state.ledger);
            if !node.spec.migration_tags.is_empty() || !free.is_plausible() {
                return None;
            }
            let alike = Alike {
                free: free.mem,
                load,
                online: !node.spec.offline,
                counts: scope.includes(cluster, node.spec.idx),
            };
            pool.nodes[node.spec.idx.get()] = Some((node.spec.group, alike));
            *pool.groups[node.spec.group.get()].entry(alike).or_insert(0) += 1;
        }
        Some(pool)
    }

    fn change(&mut self, node: NodeIdx, to: Alike) -> Option<Before> {
        let (group, alike) = self.nodes[node.get()]?;
        let group = group.get();
        let members = &mut self.groups[group];
        if let Some(count) = members.get_mut(&alike) {
            *count -= 1;
            if *count == 0 {
                members.remove(&alike);
            }
        }
        *members.entry(to).or_insert(0) += 1;
        self.nodes[node.get()] = Some((GroupIdx::new(group), to));
        self.verdicts[group] = None;
        Some(Before(alike))
    }

    /// An instance that uses `mem` arrives on a node.
    pub fn arrive(&mut self, node: NodeIdx, mem: Mib) -> Option<Before> {
        let (_, mut alike) = self.nodes[node.get()]?;
        alike.load.add(mem);
        alike.free -= mem;
        self.change(node, alike)
    }

    /// A node is again as it was.
    pub fn restore(&mut self, node: NodeIdx, before: Before) {
        self.change(node, before.0);
    }

    /// Whether every node could be emptied; nothing if that has to be simulated.
    pub fn holds(&mut self) -> Option<bool> {
        let mut all = Some(true);
        for at in 0..self.groups.len() {
            let verdict = match self.verdicts[at] {
                Some(known) => Some(known),
                None => verdict(&self.groups[at]),
            };
            self.verdicts[at] = verdict;
            match verdict {
                Some(false) => return Some(false),
                Some(true) => {}
                None => all = None,
            }
        }
        all
    }

    /// The nodes whose verdict has to be simulated, in order; nothing if there is no
    /// need, because another one cannot be emptied.
    pub fn undecided(&self) -> Option<Vec<NodeIdx>> {
        let mut open: Vec<(usize, Alike)> = Vec::new();
        for (group, members) in self.groups.iter().enumerate() {
            open.extend(undecided(members)?.into_iter().map(|alike| (group, alike)));
        }
        let is_open = |(group, alike): &(GroupIdx, Alike)| open.contains(&(group.get(), *alike));
        let nodes = self.nodes.iter().enumerate();
        Some(nodes.filter(|n| n.1.as_ref().is_some_and(is_open)).map(|n| NodeIdx::new(n.0)).collect())
    }

    /// Whether a node can certainly be emptied of instances of these sizes, which leave it
    /// one after the other.
    pub fn is_expendable(&self, node: NodeIdx, sizes: impl Iterator<Item = Mib>) -> bool {
        let Some((group, alike)) = self.nodes[node.get()] else { return false };
        let members = self.groups[group.get()].iter().filter(|m| m.0.online);
        let rooms: Vec<(Mib, i64)> =
            members.map(|(m, count)| (m.free, count - i64::from(*m == alike))).collect();
        relocation::is_certain(sizes, &rooms[..])
    }

    /// Whether nodes are alike in what an arrival does to the pool.
    pub fn are_alike(&self, a: NodeIdx, b: NodeIdx) -> bool {
        self.nodes[a.get()] == self.nodes[b.get()]
    }
}

/// The verdict on the nodes of a group.
fn verdict(members: &BTreeMap<Alike, i64>) -> Option<bool> {
    match undecided(members) {
        None => Some(false),
        Some(open) if open.is_empty() => Some(true),
        Some(_) => None,
    }
}

/// The nodes of a group about which sums say nothing; nothing if they say that one of
/// the nodes cannot be emptied.
fn undecided(members: &BTreeMap<Alike, i64>) -> Option<Vec<Alike>> {
    let mut open = Vec::new();
    // what all nodes certainly take, by the largest instance that seeks a place
    let mut sure: BTreeMap<Mib, Mib> = BTreeMap::new();
    for alike in members.keys().filter(|a| a.counts && a.load.count > 0) {
        let load = &alike.load;
        let room = *sure.entry(load.most).or_insert_with(|| {
            let online = members.iter().filter(|m| m.0.online);
            online.map(|(m, count)| Mib(relocation::sure(m.free, load).0.saturating_mul(*count))).sum()
        });
        let own = if alike.online { relocation::sure(alike.free, load) } else { Mib::ZERO };
        if room - own > relocation::demand(load) {
            continue;
        }
        let online = members.iter().filter(|m| m.0.online);
        let rooms: Vec<(Mib, i64)> =
            online.map(|(m, count)| (m.free, count - i64::from(m == alike))).collect();
        match relocation::verdict(load, &rooms[..]) {
            Some(true) => {}
            Some(false) => return None,
            None => open.push(*alike),
        }
    }
    Some(open)
}
