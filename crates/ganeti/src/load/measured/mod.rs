//! Measured load of instances, from the time series of a monitoring system.
//!
//! Each resource has an expression whose series carry the name of an instance in a label. Series are matched with the
//! instances of a cluster by name. Instances without a series take the median of their group, or what the user chooses.

mod assignment;
mod expression;
mod presets;
mod prometheus;
mod range;
mod range_answer;

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use htools_model::shown::shown_name;
use htools_model::words;
use regex_lite::Regex;

pub use assignment::{AssignedLoad, LoadMismatch, by_instance, median};
pub use presets::ExporterPreset;
pub use prometheus::{ask, ask_range};
pub use range::{MeasuredRange, RangeQuestion, RangeTimes};

words!(
    /// Resource whose load is measured.
    pub LoadResource, "resource" {
        /// Processors.
        Cpu = "cpu",
        /// Memory.
        Memory = "memory",
        /// Disks.
        Disk = "disk",
        /// Network.
        Network = "network",
    }
);

words!(
    /// Load of instances without measurements.
    #[derive(Default)]
    pub MissingSeries, "load of instances without measurements" {
        /// The median of the instances of the same node group, or of the cluster if the group has none.
        #[default]
        Median = "median",
        /// No load.
        Zero = "zero",
        /// The load is not used at all.
        Fail = "fail",
    }
);

/// The part of a label that is the name of an instance: the first group of a regular expression, or else its whole match.
#[derive(Debug, Clone)]
pub struct NamePattern(Regex);

impl FromStr for NamePattern {
    type Err = regex_lite::Error;

    fn from_str(text: &str) -> Result<NamePattern, regex_lite::Error> {
        Regex::new(text).map(NamePattern)
    }
}

impl NamePattern {
    /// The name in a label, if it matches.
    fn name<'l>(&self, label: &'l str) -> Option<&'l str> {
        let found = self.0.captures(label)?;
        Some(found.get(1).or_else(|| found.get(0))?.as_str())
    }
}

/// Question to a monitoring system.
#[derive(Debug, Clone)]
pub struct LoadQuestion {
    /// The expression for each resource, with `{range}` in place of the length of a rate's range. Resources without one
    /// count as equal for all instances.
    pub expressions: BTreeMap<LoadResource, String>,
    /// Label with the name of the instance.
    pub label: String,
    /// Part of the label that is the name. Series that do not match are not of instances.
    pub pattern: Option<NamePattern>,
    /// Length of the time that is looked at, up to now.
    pub window: Duration,
    /// Quantile of the values in that time, from 0 to 1.
    pub quantile: f64,
}

/// The first names in the labels of some series, for messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabelNames(Vec<String>);

/// Most names in a message.
const NAMES: usize = 3;

impl LabelNames {
    /// The first names of some series.
    pub fn of(series: &BTreeMap<String, f64>) -> LabelNames {
        LabelNames(series.keys().take(NAMES).map(|name| shown_name(name)).collect())
    }
}

impl fmt::Display for LabelNames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0[..] {
            [] => f.write_str("there are no series"),
            names => write!(f, "the labels name {}", names.join(", ")),
        }
    }
}

/// Maximum length of a text of the server in messages, in characters.
const SHOWN: usize = 160;

/// Load by the name in the label.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MeasuredLoad {
    /// Values of each resource that was asked for. Only numbers from 0 on are kept.
    pub values: BTreeMap<LoadResource, BTreeMap<String, f64>>,
    /// Warnings of the monitoring system, one line each.
    pub warnings: Vec<String>,
}
