//! How long to wait, and how much to read.

use std::time::Duration;

use crate::input::local;
use crate::remote::cutoff::Cutoff;

/// How long to wait, how much to read, and by which way.
#[derive(Debug, Clone, Copy)]
pub struct FetchLimits {
    /// Until there is a connection.
    pub connect: Duration,
    /// Until a whole answer is there.
    pub transfer: Duration,
    /// Until a whole cluster is read.
    pub reading: Duration,
    /// Most bytes of an answer.
    pub size: u64,
    /// Whether to use the proxies that the environment names.
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

/// How long to wait for one answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallLimits {
    pub(crate) connect: Duration,
    pub(crate) transfer: Duration,
    /// When all of a reading has to be over.
    pub(crate) end: Cutoff,
    /// The time for all of a reading, where it leaves less for this answer.
    pub(crate) reading: Option<Duration>,
}
