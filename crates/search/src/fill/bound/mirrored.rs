//! Bound for instances with a secondary node: each node's choices, and the balance of primaries and secondaries.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::stack::{MOST, Stack};
use crate::limits::alone;
use htools_model::{Cluster, DiskCheck, Ledger, Mib, NodeIdx, NodeSpec, Strictness};

/// Parts of the price of a primary and of a secondary, which add up to this.
const PRICE: i64 = 1 << 30;

/// Numbers of new instances that fit on a node together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Corner {
    primaries: i64,
    secondaries: i64,
}

/// A node that can be the primary of secondaries elsewhere.
#[derive(Debug, Clone, Copy)]
struct Peer {
    node: NodeIdx,
    /// Largest number of new primaries.
    primaries: i64,
}

/// Upper bound of the number of new instances on the nodes of one group; `None` without a limit.
pub(super) fn most(cluster: &Cluster, nodes: &[NodeIdx], stack: &Stack) -> Option<i64> {
    let peer = |node: &NodeIdx| {
        let primaries = stack.most_primaries(cluster, *node, Strictness::Strict)?;
        Some(Peer { node: *node, primaries })
    };
    let peers = nodes.iter().map(peer).collect::<Option<Vec<Peer>>>()?;
    let corners = peers.iter().map(|own| corners(cluster, *own, &peers, stack));
    let corners = corners.collect::<Option<Vec<Vec<Corner>>>>()?;
    Some(balanced(&corners))
}

/// The most primaries of a node for each number of secondaries, without choices that others dominate.
fn corners(cluster: &Cluster, own: Peer, peers: &[Peer], stack: &Stack) -> Option<Vec<Corner>> {
    let node = cluster.node(own.node);
    let spec = &alone(&node.spec);
    let mut primaries = own.primaries;
    let mut corners = vec![Corner { primaries, secondaries: 0 }];
    for (ledger, secondaries) in backing(cluster, own, peers, stack, spec).zip(1..) {
        if secondaries >= MOST {
            return None;
        }
        while primaries > 0 && !stack.fits(spec, &ledger, primaries, Strictness::Strict) {
            primaries -= 1;
        }
        let corner = Corner { primaries, secondaries };
        match corners.last_mut() {
            Some(last) if last.primaries == primaries => *last = corner,
            _ => corners.push(corner),
        }
    }
    Some(corners)
}

/// The ledgers of a node with one, two, ... new secondaries. Each goes with the primary node for which the node keeps
/// least, so no choice of primaries has a smaller reserve.
fn backing<'a>(
    cluster: &'a Cluster,
    own: Peer,
    peers: &'a [Peer],
    stack: &'a Stack,
    spec: &'a NodeSpec,
) -> impl Iterator<Item = Ledger> + 'a {
    let state = &cluster.node(own.node).state;
    let one = stack.one();
    let partners = peers.iter().filter(move |peer| peer.node != own.node && peer.primaries > 0);
    let mut kept: BinaryHeap<Reverse<(Mib, NodeIdx, i64)>> =
        partners.map(|peer| Reverse((state.peers.get(peer.node), peer.node, peer.primaries))).collect();
    let mut ledger = state.ledger;
    std::iter::from_fn(move || {
        let Reverse((held, peer, left)) = kept.pop()?;
        ledger = ledger.add_secondary(spec, &one, held, Strictness::Strict, DiskCheck::Needed).ok()?;
        if left > 1 {
            kept.push(Reverse((held + one.mem_reserved(), peer, left - 1)));
        }
        Some(ledger)
    })
}

/// Upper bound of the number of instances if each node makes one of its choices, and as many primaries as secondaries are
/// placed.
///
/// With any prices for a primary and a secondary that add up to 1, an instance is worth 1, and each node adds at most its
/// dearest choice. The sum is convex in the price, and the smallest is found by halving.
fn balanced(nodes: &[Vec<Corner>]) -> i64 {
    let worth = |price: i64| -> i128 {
        let choice = |corner: &Corner| {
            i128::from(corner.primaries) * i128::from(price)
                + i128::from(corner.secondaries) * i128::from(PRICE - price)
        };
        nodes.iter().filter_map(|corners| corners.iter().map(choice).max()).sum()
    };
    let (mut low, mut high) = (0, PRICE);
    while low < high {
        let middle = low + (high - low) / 2;
        if worth(middle) <= worth(middle + 1) { high = middle } else { low = middle + 1 }
    }
    i64::try_from(worth(low) / i128::from(PRICE)).unwrap_or(i64::MAX)
}
