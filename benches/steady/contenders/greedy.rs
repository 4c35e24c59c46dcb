//! A plain greedy rule: the best single migration by the mean of processor and memory use, again and again.
//!
//! The cluster resource scheduler of Proxmox VE decides like this. The imbalance is the deviation of the nodes' use,
//! divided by the mean. The migration that lowers it most is made if it lowers it by a margin (by default 10 %). The
//! manager looks every ten seconds. Its threshold (by default an imbalance of 30 %) is left out: it is never reached here.

use htools::model::{Cluster, Draft, Instance, Mib, Move, NodeIdx};
use htools::search::MoveRules;
use htools::search::moves::perform;

use super::{Contender, Relocation};
use crate::measured::Measured;
use crate::slot::Slot;
use crate::week::{CORES, MEMORY};

/// Decisions in a quarter of an hour.
const ROUNDS: usize = 90;
/// Least improvement that is not rounding.
const ROUNDING: f64 = 1e-9;

/// The greedy rule.
pub struct Greedy {
    /// Least share by which a migration must lower the imbalance.
    pub margin: f64,
}

impl Contender for Greedy {
    fn name(&self) -> String {
        format!("greedy, margin {:.0} %", self.margin * 100.0)
    }

    fn decide(
        &mut self,
        cluster: &Cluster,
        measured: &Measured<'_>,
        _: Slot,
    ) -> anyhow::Result<Vec<Relocation>> {
        let cores = measured.loads(1, |values| values.iter().sum());
        let use_of = |(cores, instance): (f64, &Instance)| {
            (cores / CORES + instance.mem.as_f64() / MEMORY.as_f64()) / 2.0
        };
        let of_instance: Vec<f64> = cores.into_iter().zip(&cluster.instances).map(use_of).collect();
        let mut draft = Draft::of(cluster);
        let mut of_node = vec![0.0; cluster.nodes.len()];
        for (instance, use_) in cluster.instances.iter().zip(&of_instance) {
            of_node[instance.primary.get()] += use_;
        }
        let mut uses = Uses::new(of_node);
        let mut moves = Vec::new();
        while moves.len() < ROUNDS {
            let limit = uses.imbalance(uses.squares) * (1.0 - self.margin) - ROUNDING;
            let Some(next) = best(&draft, &of_instance, &uses, limit) else { break };
            let from = draft.instance(next.instance).primary;
            let step = Move::FailoverTo(next.to);
            if perform(&mut draft, next.instance, step, &MoveRules::default()).is_err() {
                break;
            }
            uses.shift(of_instance[next.instance.get()], from, next.to);
            moves.push(next);
        }
        Ok(moves)
    }
}

/// Use of the nodes: the mean of the shares of processors and memory.
struct Uses {
    of_node: Vec<f64>,
    sum: f64,
    squares: f64,
}

impl Uses {
    fn new(of_node: Vec<f64>) -> Uses {
        let (sum, squares) = (of_node.iter().sum(), of_node.iter().map(|use_| use_ * use_).sum());
        Uses { of_node, sum, squares }
    }

    /// Deviation over mean, from a sum of squares.
    fn imbalance(&self, squares: f64) -> f64 {
        let count = self.of_node.len() as f64;
        let mean = self.sum / count;
        if mean > 0.0 { (squares / count - mean * mean).max(0.0).sqrt() / mean } else { 0.0 }
    }

    /// Imbalance after a use has moved from one node to another.
    fn after(&self, by: f64, from: NodeIdx, to: NodeIdx) -> f64 {
        let (from, to) = (self.of_node[from.get()], self.of_node[to.get()]);
        self.imbalance(self.squares + 2.0 * by * (by + to - from))
    }

    fn shift(&mut self, by: f64, from: NodeIdx, to: NodeIdx) {
        self.of_node[from.get()] -= by;
        self.of_node[to.get()] += by;
        // The sums are computed anew, so that rounding does not pile up.
        *self = Uses::new(std::mem::take(&mut self.of_node));
    }
}

/// The migration with the smallest imbalance below `limit`; among equals, the first one. The memory of the node must
/// suffice, which is the only rule that matters on this cluster.
fn best(draft: &Draft, of_instance: &[f64], uses: &Uses, limit: f64) -> Option<Relocation> {
    let free: Vec<Mib> =
        draft.nodes.iter().map(|node| node.state.ledger.mem_unallocated(&node.spec)).collect();
    let nodes = draft.all_nodes();
    let (mut least, mut found) = (limit, None);
    for instance in &draft.instances {
        let has_room = |to: &NodeIdx| *to != instance.primary && free[to.get()] > instance.mem;
        for to in nodes.iter().copied().filter(has_room) {
            let imbalance = uses.after(of_instance[instance.idx.get()], instance.primary, to);
            if imbalance < least {
                (least, found) = (imbalance, Some(Relocation { instance: instance.idx, to }));
            }
        }
    }
    found
}
