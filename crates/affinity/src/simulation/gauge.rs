//! Gauge of the unevenness of node use over time.

use super::tenants::Tenants;

/// Readings of the nodes from event to event.
#[derive(Default)]
pub(super) struct NodeReadings {
    now: f64,
    unevenness: f64,
    /// Unevenness times days: of all completed days, and of the present day.
    over_days: f64,
    over_day: f64,
    pub(super) worst: f64,
    /// Share of the whole memory that is allocated.
    pub(super) used: f64,
    pub(super) peak: f64,
}

impl NodeReadings {
    /// Advances the time without a change of the nodes.
    pub(super) fn wait_until(&mut self, time: f64) {
        self.over_day += self.unevenness * (time - self.now);
        self.now = time;
    }

    /// Reads the nodes that run.
    pub(super) fn read(&mut self, tenants: &Tenants<'_>) {
        let nodes = tenants.timeline.fleet().nodes.iter().zip(&tenants.used);
        let amounts = nodes
            .filter(|(node, _)| node.running)
            .map(|(node, used)| (used.as_f64(), node.ram_total.as_f64() * node.ram_ratio));
        let (mut all_used, mut all) = (0.0, 0.0);
        let mut shares = Vec::with_capacity(tenants.used.len());
        for (used, promised) in amounts.filter(|(_, promised)| *promised > 0.0) {
            all_used += used;
            all += promised;
            shares.push(used / promised);
        }
        self.used = if all > 0.0 { all_used / all } else { 0.0 };
        self.unevenness = deviation(&shares);
        self.worst = self.worst.max(self.unevenness);
        self.peak = self.peak.max(self.used);
    }

    /// Ends a day, and returns its mean unevenness.
    pub(super) fn end_day(&mut self) -> f64 {
        let day = std::mem::take(&mut self.over_day);
        self.over_days += day;
        day
    }

    /// Mean unevenness of all completed days.
    pub(super) fn average(&self, days: u32) -> f64 {
        self.over_days / f64::from(days)
    }
}

/// Population standard deviation, as in the scores of Ganeti clusters.
#[allow(clippy::cast_precision_loss)] // nodes are far fewer than 2^53
fn deviation(shares: &[f64]) -> f64 {
    if shares.is_empty() {
        return 0.0;
    }
    let count = shares.len() as f64;
    let mean = shares.iter().sum::<f64>() / count;
    (shares.iter().map(|share| (share - mean) * (share - mean)).sum::<f64>() / count).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deviations() {
        assert_eq!(deviation(&[]), 0.0);
        assert_eq!(deviation(&[0.5]), 0.0);
        assert_eq!(deviation(&[0.25, 0.75]), 0.25);
    }
}
