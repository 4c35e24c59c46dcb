//! Allocator messages: a whole cluster and a question about it, as Ganeti's
//! master hands them to hail. Other tools read the cluster (`-I`).

mod cluster;
mod description;
mod request;
mod transfer;

pub use description::Description;
pub use request::{Allocation, Request};

use super::raw::RawCluster;
use crate::input::encoding::decode;
use crate::input::error::Result;
use crate::input::json::{self, Budget, JsonPath, Object, WantedParts};
use crate::input::kind::FileKind;

/// A message, read completely.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// The cluster. No node is the master, and the policy is the built-in one:
    /// the message says neither.
    pub cluster: RawCluster,
    /// The question. Its indices refer to `cluster`.
    pub request: Request,
}

/// What is read of it at once; nodes and instances are read one by one.
const SHAPE: WantedParts = WantedParts::Checked(&[
    ("request", WantedParts::Whole),
    ("nodegroups", WantedParts::Whole),
    ("nodes", WantedParts::Nothing),
    ("instances", WantedParts::Nothing),
    ("cluster_tags", WantedParts::Whole),
    ("enabled_hypervisors", WantedParts::Whole),
]);

/// Reads a message from bytes in UTF-8. `source` names them in messages.
///
/// # Errors
/// What is not UTF-8, and everything that [`parse`] refuses.
pub fn parse_bytes(bytes: &[u8], source: &str) -> Result<Message> {
    parse(decode(bytes, source)?, source)
}

/// Reads a message. `source` names it in messages. The request is checked
/// even if only the cluster is wanted, as in the reference.
///
/// # Errors
/// What is not JSON; a key that is missing or of another type; a reference to
/// an unknown object; an unknown type of request.
pub fn parse(text: &str, source: &str) -> Result<Message> {
    read(text, source).map_err(|error| FileKind::Request.unless_other(error, text, source))
}

fn read(text: &str, source: &str) -> Result<Message> {
    let budget = Budget::new(Budget::FILE);
    let document = json::parse_in(text, source, SHAPE, &budget)?;
    let message = Object::new(&document, JsonPath::source(source))?;
    let request = message.object("request")?;
    let cluster = cluster::read_cluster(&message, text, source, &budget)?;
    let request = request::read_request(&request, &cluster)?;
    Ok(Message { cluster, request })
}

#[cfg(test)]
mod tests;
