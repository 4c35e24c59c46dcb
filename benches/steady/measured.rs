//! The measured load of the instances: what Prometheus would have.

use htools::model::{Cluster, InstanceIdx, Utilisation};

use super::slot::Slot;
use super::week::Week;
use super::world::{DemandIdx, World};

/// Load of the instances until now.
pub struct Measured<'w> {
    week: &'w Week,
    world: &'w World,
    now: Slot,
}

impl<'w> Measured<'w> {
    /// The load before the slot `now`.
    pub fn until(now: Slot, week: &'w Week, world: &'w World) -> Measured<'w> {
        Measured { week, world, now }
    }

    /// The instance in the week's list, whose position does not change.
    pub fn id(&self, instance: InstanceIdx) -> DemandIdx {
        self.world.there()[instance.get()]
    }

    /// Number of instances.
    pub fn count(&self) -> usize {
        self.world.there().len()
    }

    /// Load of an instance in cores, by slot. The last one is that before now. A new instance has none yet.
    pub fn history(&self, instance: InstanceIdx) -> &'w [f64] {
        let demand = &self.week.demands[self.id(instance).0];
        &demand.cores[..self.now.0.saturating_sub(demand.born.0).min(demand.cores.len())]
    }

    /// At most so many of the last values.
    pub fn recent(&self, instance: InstanceIdx, slots: usize) -> &'w [f64] {
        let history = self.history(instance);
        &history[history.len().saturating_sub(slots)..]
    }

    /// A load computed from the values of the last slots of each instance, in the order of the cluster. Instances
    /// without values take the median of the others, as with `--load-missing median`.
    pub fn loads(&self, slots: usize, of: impl Fn(&[f64]) -> f64) -> Vec<f64> {
        let all = (0..self.world.there().len()).map(|at| self.recent(InstanceIdx::new(at), slots));
        let known: Vec<Option<f64>> = all.map(|values| (!values.is_empty()).then(|| of(values))).collect();
        let median = quantile(&known.iter().copied().flatten().collect::<Vec<_>>(), 0.5);
        known.into_iter().map(|load| load.unwrap_or(median)).collect()
    }

    /// The cluster with a load of each instance.
    pub fn loaded(&self, load: Vec<Utilisation>) -> anyhow::Result<Cluster> {
        self.world.loaded(load)
    }

    /// The true load of an instance, also that to come.
    pub fn truth(&self, instance: InstanceIdx, slot: Slot) -> f64 {
        self.week.demands[self.id(instance).0].at(slot)
    }
}

/// The quantile `q` (0 to 1) of some values, interpolated as by Prometheus; 0 without values.
pub fn quantile(values: &[f64], q: f64) -> f64 {
    let mut values = values.to_vec();
    let rank = q * values.len().saturating_sub(1) as f64;
    // The rank is from 0 to the number of values.
    let at = rank.floor() as usize;
    if at >= values.len() {
        return 0.0;
    }
    let (_, lower, above) = values.select_nth_unstable_by(at, f64::total_cmp);
    let upper = above.iter().copied().min_by(f64::total_cmp).unwrap_or(*lower);
    *lower + (upper - *lower) * (rank - rank.floor())
}
