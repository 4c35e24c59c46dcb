//! Getting the answers.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::time::Duration;

use super::address::Place;
use super::session::{Session, Verb};
use super::{Access, Address, Answer, Answers};
use crate::load::error::{LoadError, Result, shown_source};

/// How long to wait, how much to read, and by which way.
#[derive(Debug, Clone, Copy)]
pub struct Manner {
    /// Until there is a connection.
    pub connect: Duration,
    /// Until a whole answer is there.
    pub transfer: Duration,
    /// Most bytes of an answer.
    pub size: u64,
    /// Whether to use the proxies that the environment names.
    pub proxies: bool,
}

impl Default for Manner {
    fn default() -> Self {
        Manner {
            connect: Duration::from_secs(15),
            transfer: Duration::from_secs(60),
            size: 512 << 20,
            proxies: true,
        }
    }
}

/// Gets the four answers, one after the other and each on its own: all are asked for
/// even if one fails.
///
/// # Errors
/// See [`Session::new`].
pub fn fetch(address: &Address, access: &Access) -> Result<Answers> {
    fetch_in(address, access, Manner::default())
}

/// The same in another manner.
///
/// # Errors
/// See [`fetch`].
pub fn fetch_in(address: &Address, access: &Access, manner: Manner) -> Result<Answers> {
    if let Place::Directory(path) = address.place() {
        let answer = |name: &str| read_file(&path.join(name), manner.size);
        return Ok(Answers {
            groups: answer("groups.json"),
            nodes: answer("nodes.json"),
            instances: answer("instances.json"),
            info: answer("info.json"),
        });
    }
    let session = Session::new(address, access, manner)?;
    let bulk = [("bulk", "1")];
    let answer = |resource: &str, query: &[(&str, &str)]| get(&session, resource, query, manner.transfer);
    Ok(Answers {
        groups: answer("groups", &bulk),
        nodes: answer("nodes", &bulk),
        instances: answer("instances", &bulk),
        info: answer("info", &[]),
    })
}

fn get(session: &Session, resource: &str, query: &[(&str, &str)], limit: Duration) -> Answer {
    let source = session.source(resource, query);
    let body = session.call(Verb::Get, resource, query, None, limit);
    let body = body.map_err(|e| LoadError::one_line(&shown_source(&source), &e.to_string()));
    Answer { source, body }
}

fn read_file(path: &Path, most: u64) -> Answer {
    let source = path.display().to_string();
    let body = File::open(path).and_then(|file| read_limited(file, most));
    let body = body.map_err(|e| LoadError::one_line(&shown_source(&source), &format!("cannot be read: {e}")));
    Answer { source, body }
}

/// Reads all there is, or fails if that is too much.
fn read_limited(from: impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(io::Error::other(format!("more than {most} bytes")));
    }
    Ok(bytes)
}
