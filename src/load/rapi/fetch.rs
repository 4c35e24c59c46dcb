//! Getting the answers.

use std::fs::File;
use std::path::PathBuf;
use std::time::Duration;

use super::address;
use super::cause::Limits;
use super::session::{Session, Verb};
use super::{Access, Address, Resource};
use crate::load::cutoff::Cutoff;
use crate::load::error::{LoadError, Result, shown_source};
use crate::load::json::Body;
use crate::load::local::{self, Limited};
use crate::load::remote::CallError;

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

/// Where the answers are; what is read of a server has one deadline.
pub(super) enum Fetcher {
    Directory(PathBuf, u64),
    Server(Box<Session>, FetchLimits, Cutoff),
}

impl Fetcher {
    /// The place of an address. Nothing is asked yet, but time begins to run.
    ///
    /// # Errors
    /// See [`Session::new`].
    pub(super) fn of(address: &Address, access: &Access, manner: FetchLimits) -> Result<Fetcher> {
        if let address::AnswerSource::Directory(path) = address.place() {
            return Ok(Fetcher::Directory(path.clone(), manner.size));
        }
        let session = Box::new(Session::new(address, access, manner)?);
        Ok(Fetcher::Server(session, manner, Cutoff::after(manner.reading)))
    }

    /// The bytes of an answer, which may still be on their way.
    ///
    /// # Errors
    /// There is none; the text names the URL or the file.
    pub(super) fn open(&self, resource: Resource) -> Result<Body<'_>> {
        match self {
            Fetcher::Directory(path, most) => {
                let path = path.join(resource.name()).with_extension("json");
                let source = path.display().to_string();
                let file = File::open(path).map_err(|error| {
                    LoadError::one_line(&shown_source(&source), &format!("cannot be read: {error}"))
                })?;
                Ok(Body { source, bytes: Box::new(Limited::new(file, *most)) })
            }
            Fetcher::Server(session, manner, end) => {
                let query: &[_] = if resource == Resource::Info { &[] } else { &[("bulk", "1")] };
                let source = session.source(resource.name(), query);
                let wrong =
                    |error: CallError| LoadError::one_line(&shown_source(&source), &error.to_string());
                let left = end.left().unwrap_or_default();
                let limits = match left < manner.transfer {
                    true => Limits { end: *end, reading: Some(manner.reading), ..session.limits(left) },
                    false => Limits { end: *end, ..session.limits(manner.transfer) },
                };
                let body = session.open(Verb::Get, resource.name(), query, None, limits).map_err(wrong)?;
                Ok(Body { source: source.clone(), bytes: Box::new(body) })
            }
        }
    }
}
