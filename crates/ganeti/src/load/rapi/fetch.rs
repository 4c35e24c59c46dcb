//! Fetches the answers.

use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;

use crate::input::error::{LoadCause, LoadError, Result};
use crate::input::json::Body;
use crate::input::local::Limited;
use crate::load::live::ClusterPart;
use crate::remote::CallError;
use crate::remote::cutoff::Cutoff;
use crate::remote::rapi::{Access, Address, AnswerSource, CallLimits, FetchLimits, Session, Verb};
use htools_model::shown::shown_source;

/// Source of the answers. All reading from a server has one common deadline.
pub(super) enum Fetcher {
    Directory(PathBuf, u64),
    Server(Box<Session>, FetchLimits, Cutoff),
}

impl Fetcher {
    /// Prepares the source for an address. Nothing is requested yet, but the time limit begins to run.
    ///
    /// # Errors
    /// See [`Session::new`].
    pub(super) fn of(address: &Address, access: &Access, manner: FetchLimits) -> Result<Fetcher> {
        if let AnswerSource::Directory(path) = address.place() {
            return Ok(Fetcher::Directory(path.clone(), manner.size));
        }
        let session = Box::new(Session::new(address, access, manner)?);
        Ok(Fetcher::Server(session, manner, Cutoff::after(manner.reading)))
    }

    /// The bytes of an answer, which may still be arriving.
    ///
    /// # Errors
    /// If there is no answer; the text names the URL or the file.
    pub(super) fn open(&self, part: ClusterPart) -> Result<Body<'_>> {
        match self {
            Fetcher::Directory(path, most) => {
                let path = path.join(part.as_str()).with_extension("json");
                let source = path.display().to_string();
                let file = File::open(path).map_err(|error| {
                    LoadError::one_line(&shown_source(&source), &format!("cannot be read: {error}"))
                })?;
                Ok(Body { source, bytes: Box::new(Limited::new(file, *most)) })
            }
            Fetcher::Server(session, manner, end) => {
                let query: &[_] = if part == ClusterPart::Info { &[] } else { &[("bulk", "1")] };
                let source = session.source(part.as_str(), query);
                let wrong = |error: CallError| failed(&source, &error);
                let left = end.left().unwrap_or_default();
                let limits = if left < manner.transfer {
                    CallLimits { end: *end, reading: Some(manner.reading), ..session.limits(left) }
                } else {
                    CallLimits { end: *end, ..session.limits(manner.transfer) }
                };
                let body = session.open(Verb::Get, part.as_str(), query, None, limits).map_err(wrong)?;
                Ok(Body { source: source.clone(), bytes: Box::new(SourcedAnswer { body, source }) })
            }
        }
    }
}

/// An answer that is arriving; its errors name its source.
struct SourcedAnswer<R> {
    body: R,
    source: String,
}

impl<R: Read> Read for SourcedAnswer<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.body.read(into).map_err(|error| {
            match error.get_ref().and_then(|e| e.downcast_ref::<CallError>()) {
                Some(cause) => io::Error::other(failed(&self.source, cause)),
                None => error,
            }
        })
    }
}

fn failed(source: &str, problem: &CallError) -> LoadError {
    let error = LoadError::one_line(&shown_source(source), &problem.to_string());
    match problem {
        CallError::NoLogin(_) => error.with_cause(LoadCause::NoLogin),
        _ => error,
    }
}
