//! Limits on the time and size of answers.

use std::time::Duration;

use crate::input::local;
use crate::remote::cutoff::Cutoff;

/// Limits on time and size, and the use of proxies.
#[derive(Debug, Clone, Copy)]
pub struct FetchLimits {
    /// Time to connect.
    pub connect: Duration,
    /// Time until an answer is complete.
    pub transfer: Duration,
    /// Time until a whole cluster is read.
    pub reading: Duration,
    /// Maximum size of an answer in bytes.
    pub size: u64,
    /// Use the proxies that the environment names.
    pub proxies: bool,
}

impl Default for FetchLimits {
    fn default() -> Self {
        FetchLimits {
            connect: Duration::from_secs(15),
            transfer: Duration::from_secs(60),
            reading: Duration::from_secs(120),
            size: local::SIZE,
            proxies: true,
        }
    }
}

/// Time limits for one answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallLimits {
    pub(crate) connect: Duration,
    pub(crate) transfer: Duration,
    /// Time by which the whole reading must be over.
    pub(crate) end: Cutoff,
    /// Time limit of the whole reading, if it leaves less time for this answer.
    pub(crate) reading: Option<Duration>,
}
