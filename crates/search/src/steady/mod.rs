//! Balancing that runs again and again: when to act, which instances rest, and how few moves suffice.

mod condition;
mod fewest;
mod outlook;
mod rest;
mod worth;

pub use condition::{
    ActCondition, ConditionError, DueNow, Observation, Threshold, ThresholdFigure, is_relieved,
    tolerate_others,
};
pub use fewest::fewest_moves;
pub use outlook::LoadOutlook;
pub use rest::{RestRules, Resting};
pub use worth::{MoveWorth, move_worths};
