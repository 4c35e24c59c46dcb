//! Queries the monitoring daemons of the nodes over the network.

use std::io::Read;
use std::net::Ipv6Addr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use reqwest::blocking::Client;
use reqwest::redirect::Policy;

use super::monitoring::{Collector, CollectorReport, MonitoringData, read_answer};
use crate::remote::cutoff::Cutoff;

/// Maximum number of daemons that are asked at the same time.
const AT_ONCE: usize = 32;
/// Maximum memory of all reports together, in bytes.
const KEPT: usize = 256 << 20;
/// The port of the daemons.
const PORT: u16 = 1815;

/// Limits on time and size for one daemon, and for all together.
#[derive(Debug, Clone, Copy)]
pub struct MonitorLimits {
    /// Time limit for the connection.
    pub connect: Duration,
    /// Time limit for the whole answer.
    pub answer: Duration,
    /// Time limit for all answers; daemons not asked by then are skipped.
    pub all: Duration,
    /// Maximum size of an answer, in bytes.
    pub size: u64,
}

impl Default for MonitorLimits {
    fn default() -> Self {
        MonitorLimits {
            connect: Duration::from_secs(3),
            answer: Duration::from_secs(6),
            all: Duration::from_secs(60),
            size: 4 << 20,
        }
    }
}

/// Answers of the daemons.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MonitorAnswers {
    /// The valid reports.
    pub data: MonitoringData,
    /// Positions of the nodes that could not be asked, in order.
    pub unreachable: Vec<usize>,
}

/// Asks the daemons of all these nodes for a collector's report, many at a time. The result does not depend on the
/// order of the answers.
pub fn ask(nodes: &[&str], collector: Collector, limits: MonitorLimits) -> MonitorAnswers {
    let end = Cutoff::after(limits.all);
    let client = Client::builder()
        .connect_timeout(limits.connect)
        .redirect(Policy::none())
        .pool_max_idle_per_host(0)
        .build();
    let next = AtomicUsize::new(0);
    let answers: Mutex<Vec<Option<DaemonAnswer>>> = Mutex::new(vec![None; nodes.len()]);
    let kept = AtomicUsize::new(KEPT);
    if let Ok(client) = &client {
        thread::scope(|scope| {
            let ask_on = || {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(node) = nodes.get(at) else { break };
                    let told = get(client, node, collector, limits, end).map(|bytes| {
                        // Parse at once, since a report takes less memory than the answer.
                        keep(read_answer(collector, &bytes), &kept)
                    });
                    answers.lock().unwrap_or_else(PoisonError::into_inner)[at] = told;
                }
            };
            for _ in 0..nodes.len().min(AT_ONCE) {
                if thread::Builder::new().spawn_scoped(scope, ask_on).is_err() {
                    // This thread asks, too, besides those that could be started.
                    ask_on();
                    break;
                }
            }
        });
    }
    // Dropping the client would wait for name look-ups that are no longer needed.
    std::mem::forget(client);
    let mut answered = MonitorAnswers::default();
    let answers = answers.into_inner().unwrap_or_else(PoisonError::into_inner);
    for (at, told) in answers.into_iter().enumerate() {
        match told {
            Some(DaemonAnswer::Report(report)) => answered.data.add(nodes[at], collector, report),
            Some(DaemonAnswer::Nothing) => {}
            None => answered.unreachable.push(at),
        }
    }
    answered
}

/// Content of an answer.
#[derive(Debug, Clone)]
enum DaemonAnswer {
    Report(CollectorReport),
    /// An answer without a valid report.
    Nothing,
}

/// Keeps the report, unless all kept reports together would be too large.
fn keep(report: Option<CollectorReport>, left: &AtomicUsize) -> DaemonAnswer {
    let take = |report: &CollectorReport| {
        let size = report.size();
        left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(size)).is_ok()
    };
    report.filter(take).map_or(DaemonAnswer::Nothing, DaemonAnswer::Report)
}

/// The body of a daemon's answer, even of a redirect, as in the reference.
fn get(
    client: &Client,
    node: &str,
    collector: Collector,
    limits: MonitorLimits,
    end: Cutoff,
) -> Option<Vec<u8>> {
    let url = format!("http://{}:{PORT}/1/report/default/{}", host(node)?, collector.as_str());
    // A limit of the request covers the whole answer; the client's would cover each read.
    let response = client.get(url).timeout(end.or_after(limits.answer).left()?).send().ok()?;
    if response.status().as_u16() >= 400 {
        return None;
    }
    let mut bytes = Vec::new();
    response.take(limits.size.saturating_add(1)).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= limits.size).then_some(bytes)
}

/// A node's name as the host of a URL, if it is a valid one. A name with a slash or an `@` would send the request
/// elsewhere.
fn host(node: &str) -> Option<String> {
    if node.parse::<Ipv6Addr>().is_ok() {
        return Some(format!("[{node}]"));
    }
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_');
    (!node.is_empty() && node.chars().all(plain)).then(|| node.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_hosts() {
        assert_eq!(host("node1.example.com"), Some("node1.example.com".into()));
        assert_eq!(host("::1"), Some("[::1]".into()));
        for name in ["", "a/b", "u@h", "h:1", "h?", "h#", "a b", "h\r\nX: y", "[::1]"] {
            assert_eq!(host(name), None, "{name}");
        }
    }
}
