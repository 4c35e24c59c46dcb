//! Results of `hbal`: plans, their scores, and explanations.

pub mod components;
pub(crate) mod deep;
pub(crate) mod explain;
pub(crate) mod group_plans;
pub(crate) mod metrics;
pub(crate) mod pareto;
pub(crate) mod plan;
pub(crate) mod prices;
