//! Redundancy of nodes that hold only instances on shared storage, kept up to date as more instances arrive. Nodes with
//! the same free memory and the same burden are judged together.

use std::collections::{BTreeMap, BTreeSet};

use super::figures::{Free, PLAUSIBLE};
use super::relocation::{self, MemoryLoad};
use super::{Departures, Scope};
use crate::{Class, Cluster, Instance, Mib, Node, NodeIdx, TagSet};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct AlikeNodes {
    free: Mib,
    load: MemoryLoad,
    online: bool,
    /// True if the node must be expendable.
    counts: bool,
}

/// A set of nodes whose redundancy is kept up to date; see the module documentation.
#[derive(Debug, Clone)]
pub struct NodePool {
    departures: Departures,
    /// Failover domain of each node of the cluster; `None` outside the set.
    nodes: Vec<Option<(usize, AlikeNodes)>>,
    domains: Vec<BTreeMap<AlikeNodes, i64>>,
    /// For each node of the cluster, the memory of its instances in reverse order of departure.
    sizes: Vec<Vec<Mib>>,
    /// Nodes of each domain.
    members: Vec<Vec<NodeIdx>>,
    /// Verdict of the sums on each domain; `None` if it must be recomputed.
    standings: Vec<Option<DomainSums>>,
    /// Domains without a verdict, domains with a node that cannot be emptied, and domains that must be simulated. These
    /// sets avoid a scan of all domains for every instance.
    unjudged: BTreeSet<usize>,
    lost: BTreeSet<usize>,
    open: BTreeSet<usize>,
    /// For each domain, the last node found that cannot be emptied. It is checked first, as it is likely to fail with
    /// the next instance as well.
    suspects: Vec<Option<NodeIdx>>,
}

/// Verdict of sums of memory on the nodes of a domain.
#[derive(Debug, Clone)]
enum DomainSums {
    /// One of them cannot be emptied.
    Lost,
    /// All can be emptied, except perhaps these, which must be simulated.
    Open(Vec<NodeIdx>),
}

/// Saved state of a node of the pool, to restore it.
#[derive(Debug, Clone, Copy)]
pub struct NodeBefore(AlikeNodes);

impl NodePool {
    /// The pool of `nodes` (ascending), on which instances like `arriving` will arrive. `None` if there are other kinds
    /// of instances, migration is restricted, or an instance reaches nodes of several domains.
    pub fn of(cluster: &Cluster, nodes: &[NodeIdx], scope: &Scope, arriving: &Instance) -> Option<NodePool> {
        let domain_of = failover_domains(cluster, nodes, arriving)?;
        let count = domain_of.iter().flatten().max().map_or(0, |last| last + 1);
        let domains = vec![BTreeMap::new(); count];
        let mut pool = NodePool {
            departures: scope.departures,
            nodes: vec![None; cluster.nodes.len()],
            sizes: vec![Vec::new(); cluster.nodes.len()],
            members: vec![Vec::new(); count],
            standings: vec![None; count],
            unjudged: (0..count).collect(),
            lost: BTreeSet::new(),
            open: BTreeSet::new(),
            suspects: vec![None; count],
            domains,
        };
        for node in nodes.iter().map(|n| cluster.node(*n)) {
            let mut load = MemoryLoad::NONE;
            for instance in node.state.primaries.iter().map(|i| cluster.instance(*i)) {
                let plausible = (Mib::ZERO..PLAUSIBLE).contains(&instance.mem);
                if Class::of(instance.template) != Class::Relocate || !plausible {
                    return None;
                }
                load.add(instance.mem_in_use());
                pool.sizes[node.spec.idx.get()].push(instance.mem_in_use());
            }
            let free = Free::of(&node.spec, &node.state.ledger);
            if !node.spec.migration_tags.is_empty() || !free.is_plausible() {
                return None;
            }
            let alike = AlikeNodes {
                free: free.mem,
                load,
                online: !node.spec.offline,
                counts: scope.includes(cluster, node.spec.idx),
            };
            let domain = domain_of[node.spec.idx.get()]?;
            pool.nodes[node.spec.idx.get()] = Some((domain, alike));
            *pool.domains[domain].entry(alike).or_insert(0) += 1;
            pool.members[domain].push(node.spec.idx);
        }
        Some(pool)
    }

    fn change(&mut self, node: NodeIdx, to: AlikeNodes) -> Option<NodeBefore> {
        let (domain, alike) = self.nodes[node.get()]?;
        let members = &mut self.domains[domain];
        if let Some(count) = members.get_mut(&alike) {
            *count -= 1;
            if *count == 0 {
                members.remove(&alike);
            }
        }
        *members.entry(to).or_insert(0) += 1;
        self.nodes[node.get()] = Some((domain, to));
        self.standings[domain] = None;
        self.lost.remove(&domain);
        self.open.remove(&domain);
        self.unjudged.insert(domain);
        Some(NodeBefore(alike))
    }

    /// Adds an instance that uses `mem` to a node.
    pub fn arrive(&mut self, node: NodeIdx, mem: Mib) -> Option<NodeBefore> {
        let (_, mut alike) = self.nodes[node.get()]?;
        alike.load.add(mem);
        alike.free -= mem;
        self.sizes[node.get()].push(mem);
        self.change(node, alike)
    }

    /// Restores a node to its state before its last arrival.
    pub fn restore(&mut self, node: NodeIdx, before: NodeBefore) {
        self.sizes[node.get()].pop();
        self.change(node, before.0);
    }

    /// Tells if every node can be emptied; `None` if that must be simulated. False stays false after more arrivals,
    /// because they take room and give none.
    pub fn holds(&mut self) -> Option<bool> {
        while self.lost.is_empty() {
            let Some(domain) = self.unjudged.pop_first() else { break };
            let standing = self.judge(domain);
            match &standing {
                DomainSums::Lost => drop(self.lost.insert(domain)),
                DomainSums::Open(nodes) if nodes.is_empty() => {}
                DomainSums::Open(_) => drop(self.open.insert(domain)),
            }
            self.standings[domain] = Some(standing);
        }
        if !self.lost.is_empty() {
            Some(false)
        } else if !self.open.is_empty() {
            None
        } else {
            Some(true)
        }
    }

    /// The nodes that must be simulated, by domain in order, each with the number of its instances to simulate: those
    /// in order of departure up to the last one that may find no place. `None` if another node certainly cannot be
    /// emptied.
    pub fn undecided(&mut self) -> Option<Vec<(NodeIdx, usize)>> {
        if self.holds() == Some(false) {
            return None;
        }
        let mut open = Vec::new();
        for domain in &self.open {
            let Some(DomainSums::Open(nodes)) = &self.standings[*domain] else { continue };
            let rooms = rooms(&self.domains[*domain]);
            open.extend(nodes.iter().map(|node| (*node, self.in_doubt(*node, &rooms))));
        }
        Some(open)
    }

    /// Number of a node's instances that must be simulated.
    fn in_doubt(&self, node: NodeIdx, rooms: &[(Mib, i64)]) -> usize {
        let Some((_, alike)) = self.nodes[node.get()] else { return 0 };
        let sizes = self.in_order(node);
        relocation::last_in_doubt(&sizes, others(rooms, alike)).map_or(0, |last| last + 1)
    }

    /// Memory of a node's instances in order of departure.
    fn in_order(&self, node: NodeIdx) -> Vec<Mib> {
        let mut sizes: Vec<Mib> = self.sizes[node.get()].iter().rev().copied().collect();
        self.departures.sort_sizes(&mut sizes);
        sizes
    }

    /// Judges the nodes of a domain.
    fn judge(&mut self, domain: usize) -> DomainSums {
        let rooms = rooms(&self.domains[domain]);
        if self.suspects[domain].is_some_and(|suspect| self.verdict(suspect, &rooms) == Some(false)) {
            return DomainSums::Lost;
        }
        let doubtful = doubtful(&self.domains[domain], &rooms);
        let mut open = Vec::new();
        if doubtful.is_empty() {
            return DomainSums::Open(open);
        }
        for &node in &self.members[domain] {
            if self.nodes[node.get()].is_none_or(|(_, alike)| !doubtful.contains(&alike)) {
                continue;
            }
            match self.verdict(node, &rooms) {
                Some(true) => {}
                Some(false) => {
                    self.suspects[domain] = Some(node);
                    return DomainSums::Lost;
                }
                None => open.push(node),
            }
        }
        DomainSums::Open(open)
    }

    /// Tells if a node can be emptied of its instances in their order of departure; `None` if that depends on the
    /// choice of targets.
    fn verdict(&self, node: NodeIdx, rooms: &[(Mib, i64)]) -> Option<bool> {
        let (_, alike) = self.nodes[node.get()]?;
        if !alike.counts || alike.load.count == 0 {
            return Some(true);
        }
        relocation::verdict_in_order(&self.in_order(node), others(rooms, alike))
    }

    /// Tells if an arrival has the same effect on the pool whichever of the two nodes it goes to.
    pub fn are_alike(&self, a: NodeIdx, b: NodeIdx) -> bool {
        self.nodes[a.get()] == self.nodes[b.get()] && self.sizes[a.get()] == self.sizes[b.get()]
    }
}

/// Maximum number of failover domains of a group, because each instance is compared with all of them.
const MOST_DOMAINS: usize = 64;

/// Returns the failover domain of each node of the cluster: the nodes that take each other's instances, and no others.
/// A domain is a group, or those of its nodes that reach the same storage pools. Returns `None` if an instance, present
/// or arriving, can go to nodes of several domains.
fn failover_domains(cluster: &Cluster, nodes: &[NodeIdx], arriving: &Instance) -> Option<Vec<Option<usize>>> {
    let mut domain_of = vec![None; cluster.nodes.len()];
    // For each group, the pools that the nodes of its domains reach, with the number of the domain.
    let mut reached: Vec<Vec<(&TagSet, usize)>> = vec![Vec::new(); cluster.groups.len()];
    let mut count = 0;
    for node in nodes.iter().map(|node| cluster.node(*node)) {
        let group = cluster.group(node.spec.group);
        let pools = if group.offers.differ { &node.spec.offers } else { &group.offers.common };
        let known = &mut reached[node.spec.group.get()];
        let domain = match known.iter().find(|(of_domain, _)| *of_domain == pools) {
            Some((_, domain)) => *domain,
            None => {
                known.push((pools, count));
                count += 1;
                count - 1
            }
        };
        if known.len() > MOST_DOMAINS {
            return None;
        }
        domain_of[node.spec.idx.get()] = Some(domain);
    }
    let keeps_to_one = |node: &Node, needed: &TagSet| {
        let own = domain_of[node.spec.idx.get()];
        let known = &reached[node.spec.group.get()];
        known.iter().all(|(pools, domain)| needed.is_subset(pools) == (Some(*domain) == own))
    };
    let is_good = |node: &Node| {
        let mut residents = node.state.primaries.iter().map(|instance| &cluster.instance(*instance).needs);
        let takes_new = node.spec.reaches(arriving);
        residents.all(|pools| keeps_to_one(node, pools))
            && (!takes_new || keeps_to_one(node, &node.spec.needs_of(arriving)))
    };
    nodes.iter().all(|node| is_good(cluster.node(*node))).then_some(domain_of)
}

/// Memory of the other nodes than `node`, in descending order.
fn others(rooms: &[(Mib, i64)], node: AlikeNodes) -> impl Iterator<Item = (Mib, i64)> + Clone {
    let own = node.online.then_some(node.free);
    rooms.iter().map(move |(free, count)| (*free, count - i64::from(Some(*free) == own)))
}

/// Memory of the online nodes of a domain, in descending order, with the number of nodes for each amount.
fn rooms(members: &BTreeMap<AlikeNodes, i64>) -> Vec<(Mib, i64)> {
    let mut rooms: Vec<(Mib, i64)> = Vec::with_capacity(members.len());
    for (alike, count) in members.iter().rev().filter(|m| m.0.online) {
        match rooms.last_mut() {
            Some((free, nodes)) if *free == alike.free => *nodes += count,
            _ => rooms.push((alike.free, *count)),
        }
    }
    rooms
}

/// The nodes of a domain that sums cannot prove can be emptied.
fn doubtful(members: &BTreeMap<AlikeNodes, i64>, rooms: &[(Mib, i64)]) -> BTreeSet<AlikeNodes> {
    // Memory that all nodes can certainly take, by the size of the largest relocated instance.
    let mut sure: BTreeMap<Mib, Mib> = BTreeMap::new();
    let is_doubtful = |alike: &&AlikeNodes| {
        let load = &alike.load;
        let room = *sure.entry(load.most).or_insert_with(|| {
            let open = rooms.iter().take_while(|r| r.0 > load.most);
            open.map(|(free, count)| Mib(relocation::sure(*free, load).0.saturating_mul(*count))).sum()
        });
        let own = if alike.online { relocation::sure(alike.free, load) } else { Mib::ZERO };
        room - own <= relocation::demand(load) && !relocation::has_spare_targets(load, others(rooms, **alike))
    };
    members.keys().filter(|a| a.counts && a.load.count > 0).filter(is_doubtful).copied().collect()
}
