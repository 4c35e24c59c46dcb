//! Verdicts that follow from sums.
//!
//! *Failover*: every failover frees the secondary's disk and spindles and takes them again. So only memory adds up, and
//! the order does not matter.
//!
//! *Relocation*: see [`relocation`](super::relocation).
//!
//! *Recreation*: as relocation, with memory and disk. A target that refuses has too little of one or the other. The
//! instances cannot use up the memory *or* disk of every target if the smaller shares add up to more than 2. Besides,
//! an instance is stuck only if every target with room for the largest already has another instance. So as many such
//! targets as instances are enough.

use super::figures::{Figures, InstancesToLeave};
use super::relocation;
use super::rooms::Rooms;
use crate::{Cluster, Mib, NodeIdx, TagSet};

/// Tells if `node` with its `burden` can be emptied; `None` if that must be simulated.
pub(super) fn verdict(
    cluster: &Cluster,
    figures: &Figures,
    node: NodeIdx,
    burden: &InstancesToLeave,
) -> Option<bool> {
    if burden.odd || figures.absurd {
        return None;
    }
    if !failovers(cluster, figures, node, burden) {
        return Some(false);
    }
    if !burden.needs_escapes() {
        return Some(true);
    }
    let spec = &cluster.node(node).spec;
    let relocated = match (burden.is_restricted(spec), &burden.needs[..]) {
        (false, _) => relocations(burden, figures, &figures.rooms_for(cluster, node, burden)),
        (true, [need]) => {
            relocations(burden, figures, &rooms_reaching(cluster, figures, node, burden, need)[..])
        }
        (true, needs) => {
            // An instance that is stuck has found every node full that reaches its pools, whichever instances filled
            // it.
            let fit = |need| {
                let rooms = rooms_reaching(cluster, figures, node, burden, need);
                relocation::verdict(&burden.relocate.load(), &rooms[..]) == Some(true)
            };
            needs.iter().all(fit).then_some(true)
        }
    };
    if relocated == Some(false) || burden.recreate.count == 0 {
        return relocated;
    }
    let all: Vec<FailoverTarget> = escapes(cluster, figures, node, burden, &TagSet::default()).collect();
    let created = creations(burden, &all);
    if created == Some(false) { created } else { relocated.and(created) }
}

/// The other online nodes of a node's group that offer these pools, after the failovers.
fn escapes<'a>(
    cluster: &'a Cluster,
    figures: &'a Figures,
    node: NodeIdx,
    burden: &'a InstancesToLeave,
    need: &'a TagSet,
) -> impl Iterator<Item = FailoverTarget> + 'a {
    let others = figures.escapes(cluster.node(node).spec.group).iter().filter(move |t| **t != node);
    let offering = others.filter(|t| need.is_subset(&cluster.node(**t).spec.offers));
    offering.map(move |t| FailoverTarget::of(cluster, figures, node, burden, *t))
}

/// Memory, largest first, of the nodes that can take instances from `node` that need these pools, after the failovers.
pub(super) fn rooms_reaching(
    cluster: &Cluster,
    figures: &Figures,
    node: NodeIdx,
    burden: &InstancesToLeave,
    need: &TagSet,
) -> Vec<(Mib, i64)> {
    let reachable = escapes(cluster, figures, node, burden, need).filter(|t| t.reachable);
    let mut rooms: Vec<(Mib, i64)> = reachable.map(|t| (t.mem, 1)).collect();
    rooms.sort_unstable_by(|a, b| b.cmp(a));
    rooms
}

/// Tells if all instances on shared storage find room; `None` if that depends on the choice of targets.
fn relocations(burden: &InstancesToLeave, figures: &Figures, rooms: &(impl Rooms + ?Sized)) -> Option<bool> {
    relocation::verdict(&burden.relocate.load(), rooms)
        .or_else(|| relocation::verdict_in_order(&burden.in_order(figures.departures()), rooms.descending()))
}

/// A node that can take instances in.
struct FailoverTarget {
    /// Memory after the failovers.
    mem: Mib,
    disk: Mib,
    exclusive: bool,
    /// True if instances can migrate to it.
    reachable: bool,
}

impl FailoverTarget {
    fn of(
        cluster: &Cluster,
        figures: &Figures,
        node: NodeIdx,
        burden: &InstancesToLeave,
        target: NodeIdx,
    ) -> FailoverTarget {
        let spec = &cluster.node(target).spec;
        let free = figures.free(target);
        FailoverTarget {
            mem: free.mem - burden.backed_by(target),
            disk: free.disk,
            exclusive: spec.exclusive_storage,
            reachable: cluster.node(node).spec.can_migrate_to(spec),
        }
    }
}

/// Tells if all DRBD primaries can fail over.
pub(super) fn failovers(
    cluster: &Cluster,
    figures: &Figures,
    node: NodeIdx,
    burden: &InstancesToLeave,
) -> bool {
    let from = &cluster.node(node).spec;
    let here = figures.free(node);
    burden.failover.iter().all(|backed| {
        let to = &cluster.node(backed.mirror).spec;
        let there = figures.free(backed.mirror);
        let spindles = |exclusive: bool, free: i64| !exclusive || (backed.spindles_known && free >= 0);
        !to.offline
            && from.can_migrate_to(to)
            && there.mem > backed.mem
            && there.disk > Mib::ZERO
            && spindles(to.exclusive_storage, there.spindles)
            && (from.offline || here.disk > Mib::ZERO)
            && spindles(from.exclusive_storage, here.spindles)
    })
}

fn creations(burden: &InstancesToLeave, escapes: &[FailoverTarget]) -> Option<bool> {
    let bundle = &burden.recreate;
    let accepted = |t: &&FailoverTarget| bundle.accepted[usize::from(t.exclusive)];
    if bundle.accepted == [false; 2] || !escapes.iter().any(|t| accepted(&t)) {
        // If each node refuses for the same reason, some instance is refused by all nodes.
        let all_alike = escapes.windows(2).all(|pair| pair[0].exclusive == pair[1].exclusive);
        return if all_alike { Some(false) } else { None };
    }
    let uses_disk = bundle.disk > Mib::ZERO;
    let fits = |t: &FailoverTarget| t.mem > bundle.mem_most && (!uses_disk || t.disk > bundle.disk_most);
    let largest_in_memory = escapes.iter().any(|t| t.mem > bundle.mem_most);
    let largest_on_disk = escapes.iter().any(|t| !uses_disk || t.disk > bundle.disk_most);
    if !largest_in_memory || !largest_on_disk {
        return Some(false);
    }
    // An instance that is stuck finds another one on every node with room for the largest.
    let spare = escapes.iter().filter(|t| !t.exclusive).filter(accepted).filter(|t| fits(t)).count() as i64;
    if spare >= bundle.count + burden.relocate.count {
        return Some(true);
    }
    let mem = bundle.mem + burden.relocate.mem;
    let plain = || escapes.iter().filter(|t| !t.exclusive).filter(accepted).filter(|t| fits(t));
    if plain().any(|t| t.mem > mem && (!uses_disk || t.disk > bundle.disk)) {
        return Some(true);
    }
    let share = |room: Mib, all: Mib| room.as_f64() / all.max(Mib(1)).as_f64();
    let shares: f64 = plain()
        .map(|t| {
            let of_mem = share(t.mem - bundle.mem_most, mem);
            if !uses_disk { of_mem } else { of_mem.min(share(t.disk - bundle.disk_most, bundle.disk)) }
        })
        .sum();
    // The margin over 2 covers the rounding errors of the sum.
    (shares > 2.0 + 1e-6).then_some(true)
}
