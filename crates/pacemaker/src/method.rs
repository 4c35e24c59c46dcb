//! Placement methods: Pacemaker's strategies, and the best placement.

use super::working_set::Strategy;
use htools_model::words;

words!(
    /// Method of choosing hosts for resources.
    pub PlacementMethod, "placement strategy" {
        /// As Pacemaker does with the strategy of this name.
        Default = "default",
        /// As Pacemaker does with the strategy of this name.
        Utilization = "utilization",
        /// As Pacemaker does with the strategy of this name.
        Balanced = "balanced",
        /// As Pacemaker does with the strategy of this name.
        Minimal = "minimal",
        /// The best placement; no CIB can ask for it.
        Optimal = "optimal",
    }
);

impl PlacementMethod {
    /// The Pacemaker strategy of this name, if there is one.
    pub fn strategy(self) -> Option<Strategy> {
        match self {
            PlacementMethod::Default => Some(Strategy::Default),
            PlacementMethod::Utilization => Some(Strategy::Utilization),
            PlacementMethod::Balanced => Some(Strategy::Balanced),
            PlacementMethod::Minimal => Some(Strategy::Minimal),
            PlacementMethod::Optimal => None,
        }
    }
}

impl From<Strategy> for PlacementMethod {
    fn from(strategy: Strategy) -> PlacementMethod {
        match strategy {
            Strategy::Default => PlacementMethod::Default,
            Strategy::Utilization => PlacementMethod::Utilization,
            Strategy::Balanced => PlacementMethod::Balanced,
            Strategy::Minimal => PlacementMethod::Minimal,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_strategy_is_a_method_of_the_same_name() {
        for strategy in Strategy::ALL {
            let method = PlacementMethod::from(*strategy);
            assert_eq!((method.as_str(), method.strategy()), (strategy.as_str(), Some(*strategy)));
        }
        assert_eq!(PlacementMethod::ALL.len(), Strategy::ALL.len() + 1);
    }
}
