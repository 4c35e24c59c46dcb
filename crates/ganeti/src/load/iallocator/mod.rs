//! Allocator messages: a whole cluster with a request, as Ganeti's master passes them to hail. Other tools can read the
//! cluster (`-I`).

mod cluster;
mod description;
mod request;
mod transfer;

pub use description::Description;
pub use request::{Allocation, Request};

use super::raw::RawCluster;
use crate::input::encoding::decode;
use crate::input::error::Result;
use crate::input::json::{self, Budget, JsonPath, Object, WantedParts, keys};
use crate::input::kind::FileKind;
use cluster::MessagePart;

/// A complete message.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// The cluster. It has no master node, and the built-in policy, as the message gives neither.
    pub cluster: RawCluster,
    /// The request. Its indices refer to `cluster`.
    pub request: Request,
}

/// Parts that are read as a whole.
const SHORT: &[(&str, WantedParts)] = &keys(["request", "nodegroups", "cluster_tags", "enabled_hypervisors"]);
/// Parts whose members are read one by one.
const LONG: [&str; 2] = ["nodes", "instances"];

/// Reads a message from bytes in UTF-8. `source` names it in messages.
///
/// # Errors
/// If it is not UTF-8, or [`parse`] refuses it.
pub fn parse_bytes(bytes: &[u8], source: &str) -> Result<Message> {
    parse(decode(bytes, source)?, source)
}

/// Reads a message. `source` names it in messages. The request is checked even if only the cluster is needed, as in the
/// reference.
///
/// # Errors
/// If it is not JSON, a key is missing or has another type, an object is unknown, or the type of request is unknown.
pub fn parse(text: &str, source: &str) -> Result<Message> {
    read(text, source).map_err(|error| FileKind::Request.unless_other(error, text, source))
}

fn read(text: &str, source: &str) -> Result<Message> {
    let budget = Budget::new(Budget::FILE);
    let document = json::split(text, source, LONG, SHORT, &budget)?;
    let message = Object::new(&document.short, JsonPath::source(source))?;
    let request = message.object("request")?;
    let part = |key, kind| MessagePart {
        message: &message,
        whole: text,
        text: document.long(key),
        source,
        key,
        kind,
        budget: &budget,
    };
    let cluster = cluster::read_cluster(&message, part("nodes", "node"), part("instances", "instance"))?;
    let request = request::read_request(&request, &cluster)?;
    Ok(Message { cluster, request })
}

#[cfg(test)]
mod tests;
