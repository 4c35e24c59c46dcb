//! What a search remembers from one step to the next.
//!
//! For each instance an upper bound on what its best move can gain. A step
//! changes at most three nodes. The gain of a move that touches none of them
//! changes only because the deviations that it improves are now measured against
//! slightly other totals, and by how much is bounded for all instances of a shape
//! at once. So after a step an instance has to be looked at in full only if one of
//! its own nodes changed, or if its remembered gain could still be the best; for
//! the others it is enough to look at their moves to the changed nodes.

use super::balance::Balancer;
use super::screen::lanes::{amount, scale};
use crate::model::{Instance, InstanceIdx, NodeIdx};
use crate::score::metrics::{LANES, Lanes, PADDED_LANES, lane};
use crate::score::running::Running;

/// Remembered gains, and the statistics for which they hold.
#[derive(Default)]
pub struct Memory {
    /// By instance; infinite where nothing is known.
    gains: Vec<f64>,
    statistics: Option<Statistics>,
    /// The nodes that changed since then.
    changed: Vec<NodeIdx>,
}

/// What the deviations depend on.
#[derive(Clone)]
struct Statistics {
    variance: Lanes,
    mean: Lanes,
    /// Largest distance of a value from the mean.
    reach: Lanes,
}

impl Statistics {
    fn of(running: &Running, rows: &[Lanes]) -> Statistics {
        let mut result = Statistics {
            variance: [0.0; PADDED_LANES],
            mean: [0.0; PADDED_LANES],
            reach: [0.0; PADDED_LANES],
        };
        let n = running.n();
        for k in 0..LANES {
            result.mean[k] = running.centre(k);
            result.variance[k] = ((running.squares(k) - running.sum(k) * running.sum(k) / n) / n).max(0.0);
            result.reach[k] = rows.iter().fold(0.0, |most, row| (row[k] - running.centre(k)).abs().max(most));
        }
        result
    }
}

impl Memory {
    /// Forgets everything.
    pub fn clear(&mut self) {
        *self = Memory::default();
    }

    /// Notes that a step changed these nodes.
    pub fn step_changed(&mut self, nodes: impl Iterator<Item = NodeIdx>) {
        self.changed.extend(nodes);
    }

    /// The nodes that changed since the gains were noted.
    pub fn changed(&self) -> &[NodeIdx] {
        &self.changed
    }

    /// An upper bound on what an instance's moves to nodes that did not change can
    /// gain; infinite if nothing is known.
    pub fn gain(&self, instance: InstanceIdx) -> f64 {
        self.gains.get(instance.get()).copied().unwrap_or(f64::INFINITY)
    }

    /// Notes what instances can gain at most, as things are now.
    pub fn note(&mut self, gains: impl IntoIterator<Item = (InstanceIdx, f64)>) {
        for (instance, gain) in gains {
            self.gains[instance.get()] = gain;
        }
        self.changed.clear();
    }

    /// Brings the remembered gains of the instances up to the present statistics.
    pub fn catch_up(&mut self, balancer: &Balancer<'_>, running: &Running, movable: &[&Instance]) {
        let now = Statistics::of(running, balancer.board().rows());
        let before = self.statistics.replace(now.clone());
        self.gains.resize(balancer.cluster().instances.len(), f64::INFINITY);
        let Some(before) = before else { return self.gains.fill(f64::INFINITY) };
        let scales = largest_scales(balancer);
        let mut drifts: Vec<Option<f64>> = vec![None; balancer.shapes().count()];
        // what a service gains by going elsewhere depends on all its instances
        let spread_counts = !balancer.board().spread().is_empty();
        for instance in movable {
            let shape = balancer.shapes().get(instance.idx) as usize;
            let drift =
                *drifts[shape].get_or_insert_with(|| drift(instance, &before, &now, &scales, running));
            let own = |n: &NodeIdx| *n == instance.primary || Some(*n) == instance.secondary;
            let gain = &mut self.gains[instance.idx.get()];
            *gain += drift;
            if self.changed.iter().any(own) || (spread_counts && !instance.exclusion_tags.is_empty()) {
                *gain = f64::INFINITY;
            }
        }
    }
}

/// The largest factor by which an amount changes a lane's value on any node.
fn largest_scales(balancer: &Balancer<'_>) -> Lanes {
    let mut largest = [0.0; PADDED_LANES];
    for node in balancer.nodes().iter().filter(|n| balancer.board().row(**n).is_some()) {
        for (k, most) in largest.iter_mut().enumerate().take(LANES) {
            *most = scale(balancer.cluster(), *node, k).abs().max(*most);
        }
    }
    largest
}

/// By how much, at most, the gain of any move of an instance can have grown
/// between two states, if none of the nodes concerned changed.
///
/// A move adds some `e` to the variance `v` of a lane; its gain there is
/// `sqrt(v) - sqrt(v + e)`. Between the states `v` changes by `dv` and, because
/// `e` depends on the mean, `e` by `de`. The derivative by `v` is at most
/// `|e| / (4 m^1.5)` and that by `e` at most `1 / (2 sqrt(m))`, where `m` is the
/// smallest variance met. For small variances `|sqrt(a) - sqrt(b)| <=
/// sqrt(|a - b|)` is better.
fn drift(
    instance: &Instance,
    before: &Statistics,
    now: &Statistics,
    scales: &Lanes,
    running: &Running,
) -> f64 {
    let n = running.n();
    let mut total = 0.0;
    for (k, scale) in scales.iter().enumerate().take(LANES) {
        let amount =
            if k == lane::RESERVED_MEM { instance.mem_reserved().as_f64() } else { amount(instance, k) };
        // the change of one node's value; a move changes three nodes at most
        let change = amount.abs() * scale;
        if change == 0.0 {
            continue;
        }
        let reach = before.reach[k].max(now.reach[k]);
        let e = (3.0 * change * (2.0 * reach + change) + 9.0 * change * change / n) / n;
        let dv = (now.variance[k] - before.variance[k]).abs();
        let de = 6.0 * change * (now.mean[k] - before.mean[k]).abs() / n;
        let smallest = now.variance[k].min(before.variance[k]) - e;
        let coarse = dv.sqrt() + (dv + de).sqrt();
        let fine = if smallest > 0.0 {
            dv * e / (4.0 * smallest * smallest.sqrt()) + de / (2.0 * smallest.sqrt())
        } else {
            coarse
        };
        total += running.weight(k) * fine.min(coarse);
    }
    // the formulas above are rounded, too
    total * (1.0 + 1e-6)
}
