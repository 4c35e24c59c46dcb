//! Weights of the metrics in a score.

use super::metrics::{AFFINITY, Aggregate, LANES, METRICS, Metric, TABLE, lane};

/// Weights of the metrics in a score: Ganeti's, except for those chosen by the user.
///
/// A metric with weight 0 does not enter the score, even if its value is not a number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weights([f64; METRICS]);

/// Reason that a weight cannot be set.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum WeightError {
    /// No metric has this name.
    #[error("there is no metric '{0}'")]
    UnknownMetric(String),
    /// Negative, not a number, or so small or large that scores could not be compared.
    #[error("a weight is 0 or a number from {:e} to {:e}", Weights::LEAST, Weights::MOST)]
    OutOfRange,
}

impl Default for Weights {
    fn default() -> Self {
        Weights(TABLE.map(|metric| metric.weight))
    }
}

impl Weights {
    /// The smallest weight other than 0.
    pub(crate) const LEAST: f64 = 1e-6;
    /// The largest weight. With much larger weights, the rounding error of a deviation would hide all other metrics.
    pub(crate) const MOST: f64 = 1e6;

    /// Sets the weight of the named metric.
    ///
    /// # Errors
    /// If there is no such metric, or the weight is out of range.
    pub fn set(&mut self, name: &str, weight: f64) -> Result<(), WeightError> {
        let at = TABLE.iter().position(|metric| metric.name == name);
        let at = at.ok_or_else(|| WeightError::UnknownMetric(name.to_owned()))?;
        if weight != 0.0 && !(Weights::LEAST..=Weights::MOST).contains(&weight) {
            return Err(WeightError::OutOfRange);
        }
        // Never store -0, so that equal weights have equal bits.
        self.0[at] = weight.abs();
        Ok(())
    }

    /// The weight of the metric at a position of the table.
    pub fn of(&self, at: usize) -> f64 {
        self.0[at]
    }

    /// Amount that a value of the metric at a position of the table adds to a score.
    #[inline(always)]
    pub fn part(&self, at: usize, value: f64) -> f64 {
        let weight = self.0[at];
        if weight == 0.0 { 0.0 } else { weight * value }
    }

    /// The weight of each lane's deviation.
    pub fn deviations(&self) -> [f64; LANES] {
        let mut weights = [0.0; LANES];
        for (metric, weight) in self.by_metric() {
            if let Aggregate::Deviation(k) = metric.kind {
                weights[k] += weight;
            }
        }
        weights
    }

    /// The weight of the metric of affinity keys.
    pub fn affinity(&self) -> f64 {
        self.by_metric().find(|(metric, _)| metric.name == AFFINITY).map_or(0.0, |(_, weight)| weight)
    }

    /// The weight of the sum of reserved memory, as shares of each node's total.
    pub fn reserved_sum(&self) -> f64 {
        let of_sum = |(metric, weight): (&Metric, f64)| match metric.kind {
            Aggregate::Sum(_) => weight,
            _ => 0.0,
        };
        self.by_metric().map(of_sum).sum()
    }

    /// Tells if reserving more memory on one of `nodes` nodes never lowers a score. A value that rises by e lowers the
    /// deviation by less than e / sqrt(nodes), and raises the sum by e.
    pub fn reserves_never_pay(&self, nodes: usize) -> bool {
        let deviation = self.deviations()[lane::RESERVED_MEM];
        deviation == 0.0 || (self.reserved_sum() / deviation).powi(2) * nodes as f64 >= 1.0
    }

    /// The metrics whose weights differ from Ganeti's.
    pub fn chosen(&self) -> impl Iterator<Item = (&'static Metric, f64)> + '_ {
        self.by_metric().filter(|(metric, weight)| metric.weight != *weight)
    }

    fn by_metric(&self) -> impl Iterator<Item = (&'static Metric, f64)> + '_ {
        TABLE.iter().zip(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unless_chosen_they_are_those_of_the_table() {
        let mut weights = Weights::default();
        assert_eq!(weights.chosen().count(), 0);
        weights.set("free_mem_cv", 2.0).unwrap();
        weights.set("n1_cnt", -0.0).unwrap();
        let chosen: Vec<_> = weights.chosen().map(|(metric, weight)| (metric.name, weight)).collect();
        assert_eq!(chosen, [("free_mem_cv", 2.0), ("n1_cnt", 0.0)]);
        weights.set("n1_cnt", 1.0).unwrap();
        weights.set("free_mem_cv", 0.5).unwrap();
        assert_eq!(weights, Weights::default());
    }

    #[test]
    fn what_cannot_be_compared_is_refused() {
        let mut weights = Weights::default();
        for wrong in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0, -1e-300, 1e-300, 1e-7, 1.1e6, 1e308] {
            assert_eq!(weights.set("n1_cnt", wrong), Err(WeightError::OutOfRange), "{wrong}");
        }
        assert_eq!(weights.set("n1", 1.0), Err(WeightError::UnknownMetric("n1".into())));
        assert_eq!(weights, Weights::default());
        assert_eq!(WeightError::OutOfRange.to_string(), "a weight is 0 or a number from 1e-6 to 1e6");
    }

    #[test]
    fn nothing_comes_of_a_metric_without_weight() {
        let mut weights = Weights::default();
        weights.set("free_mem_cv", 0.0).unwrap();
        assert_eq!((weights.part(0, f64::NAN), weights.part(0, f64::INFINITY)), (0.0, 0.0));
        assert!(weights.part(1, f64::NAN).is_nan());
    }

    #[test]
    fn few_nodes_may_gain_by_more_reserve() {
        let mut weights = Weights::default();
        assert!(!weights.reserves_never_pay(15) && weights.reserves_never_pay(16));
        weights.set("reserved_mem_cv", 5.0).unwrap();
        assert!(!weights.reserves_never_pay(399) && weights.reserves_never_pay(400));
        weights.set("reserved_mem_rtotal", 0.0).unwrap();
        assert!(!weights.reserves_never_pay(usize::MAX));
        weights.set("reserved_mem_cv", 0.0).unwrap();
        assert!(weights.reserves_never_pay(1));
    }
}
