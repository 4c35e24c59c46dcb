//! Requests to RAPI: one call is one request.

use std::fmt;
use std::io::{self, Read};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::blocking::{Client, RequestBuilder, Response};
use reqwest::{Method, Url, header};
use serde::de::DeserializeSeed;
use serde_json::Value;

use super::access::Access;
use super::address::{Address, AnswerSource, without_password};
use super::cause;
use super::certificates::Trusted;
use super::client::client;
use super::limits::{CallLimits, FetchLimits};
use super::refusal;
use super::refusal::{RequestKind, Service};
use super::secret::Credentials;
use crate::input::error::{LoadCause, LoadError, Result};
use crate::input::json::{self, Budget, WantedParts};
use crate::remote::CallError;
use crate::remote::cutoff::Cutoff;
use htools_model::shown::{printable, shown_source};

/// Characters that are not encoded in a part of a path or in a query.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// Maximum number of bytes that are read of a refusal.
const REFUSAL: u64 = 1 << 16;

/// Action on a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    /// Read it.
    Get,
    /// Change it.
    Put,
    /// Add to it, or start something.
    Post,
    /// Remove it.
    Delete,
}

impl Verb {
    fn method(self) -> Method {
        match self {
            Verb::Get => Method::GET,
            Verb::Put => Method::PUT,
            Verb::Post => Method::POST,
            Verb::Delete => Method::DELETE,
        }
    }
}

/// An answer whose header has arrived.
pub(crate) struct Incoming {
    response: Response,
    limits: CallLimits,
    most: u64,
    seen: u64,
}

impl Read for Incoming {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.response.read(into);
        let count = count.map_err(|error| io::Error::other(cause::of_body(&error, self.limits)))?;
        self.seen += count as u64;
        if self.seen > self.most {
            Err(io::Error::other(CallError::Nonsense(format!("more than {} bytes", self.most))))
        } else {
            Ok(count)
        }
    }
}

/// Error for the body of an answer that could not be read.
fn misread(error: serde_json::Error, budget: &Budget) -> CallError {
    if budget.is_spent() {
        return CallError::Nonsense(budget.excess().to_string());
    }
    if !error.is_io() {
        return CallError::Nonsense(format!("the answer is not JSON: {error}"));
    }
    let error = io::Error::from(error);
    let known = error.get_ref().and_then(|inner| inner.downcast_ref::<CallError>());
    known.cloned().unwrap_or_else(|| CallError::Lost(error.to_string()))
}

/// A connection to a cluster's RAPI, or to a Prometheus server, with credentials and limits. Nothing stays open between
/// calls, and nothing is sent twice.
pub struct Session {
    /// Prefix of all URLs. It may contain a password, so it is never shown.
    prefix: String,
    credentials: Option<Credentials>,
    trusted: Option<Trusted>,
    manner: FetchLimits,
    service: Service,
    client: Mutex<Option<Client>>,
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("prefix", &without_password(&self.prefix))
            .field("credentials", &self.credentials)
            .finish_non_exhaustive()
    }
}

impl Session {
    /// A session with the RAPI at an address. Nothing is sent yet.
    ///
    /// # Errors
    /// If the address is a directory, names a user without a password, or has a password with a slash or the like,
    /// which hides the host.
    pub fn new(address: &Address, access: &Access, manner: FetchLimits) -> Result<Session> {
        Session::with(Service::Rapi, address, access, manner)
    }

    /// A session with the Prometheus server at an address. Nothing is sent yet.
    ///
    /// # Errors
    /// As for [`Session::new`].
    pub fn prometheus(address: &Address, access: &Access, manner: FetchLimits) -> Result<Session> {
        Session::with(Service::Prometheus, address, access, manner)
    }

    fn with(service: Service, address: &Address, access: &Access, manner: FetchLimits) -> Result<Session> {
        let AnswerSource::Url(prefix) = address.place() else {
            return Err(LoadError::one_line(
                &shown_source(&address.shown()),
                "a directory cannot answer requests",
            ));
        };
        if address.has_password_for_host() {
            let what = "the password ends the URL before its host: write '/' as %2F, '?' as %3F, '#' as %23";
            return Err(LoadError::one_line(&shown_source(&address.shown()), what));
        }
        let credentials = access.credentials(address)?;
        if credentials.is_some() && address.is_overheard() && !access.allows_insecure_http() {
            let what = "the password would be sent as plain text, which others in the network can read";
            return Err(LoadError::one_line(&shown_source(&address.shown()), what)
                .with_cause(LoadCause::PlainTextPassword));
        }
        Ok(Session {
            prefix: prefix.clone(),
            credentials,
            trusted: access.trusted().cloned(),
            manner,
            service,
            client: Mutex::new(None),
        })
    }

    /// Requests a resource: the part of its path after `/2/`.
    ///
    /// # Errors
    /// See [`Session::send`].
    pub fn get(&self, resource: &str) -> std::result::Result<Value, CallError> {
        self.look(resource, &[], WantedParts::Whole, self.manner.transfer)
    }

    /// Requests a resource and reads the parts in `shape`.
    pub(crate) fn look(
        &self,
        resource: &str,
        query: &[(&str, &str)],
        shape: WantedParts,
        limit: Duration,
    ) -> std::result::Result<Value, CallError> {
        self.read(resource, self.open(Verb::Get, resource, query, None, self.limits(limit)), shape)
    }

    /// Sends a request, once. `resource` is the part of the path after `/2/`, as plain text. `limit` is the time until
    /// the whole answer has arrived. The answer must fit into the memory budget for answers.
    ///
    /// # Errors
    /// The variant tells if the request may have been carried out. The text names the URL and the cause, never the
    /// password.
    pub fn send(
        &self,
        verb: Verb,
        resource: &str,
        query: &[(&str, &str)],
        body: Option<&Value>,
        limit: Duration,
    ) -> std::result::Result<Value, CallError> {
        self.read(resource, self.open(verb, resource, query, body, self.limits(limit)), WantedParts::Whole)
    }

    /// The limits of a call by itself.
    pub(crate) fn limits(&self, transfer: Duration) -> CallLimits {
        CallLimits { connect: self.manner.connect, transfer, end: Cutoff::NEVER, reading: None }
    }

    /// Reads an answer while it arrives, if there is one.
    fn read(
        &self,
        resource: &str,
        answer: std::result::Result<Incoming, CallError>,
        shape: WantedParts,
    ) -> std::result::Result<Value, CallError> {
        let budget = Budget::new(Budget::ANSWER);
        let value = answer.and_then(|answer| {
            json::any(answer, shape, &budget).map(Value::from).map_err(|error| misread(error, &budget))
        });
        // The query is left out, as it contains free text.
        let source = shown_source(&self.source(resource, &[]));
        value.map_err(|error| error.map(|text| LoadError::one_line(&source, &text).to_string()))
    }

    /// Requests a resource and reads it with a reader of its own while it arrives, within a budget.
    pub(crate) fn stream<T>(
        &self,
        resource: &str,
        query: &[(&str, &str)],
        limit: Duration,
        budget: &Budget,
        seed: impl for<'de> DeserializeSeed<'de, Value = T>,
    ) -> std::result::Result<T, CallError> {
        let answer = self.open(Verb::Get, resource, query, None, self.limits(limit));
        let read =
            answer.and_then(|answer| json::seeded_any(answer, seed).map_err(|error| misread(error, budget)));
        let source = shown_source(&self.source(resource, &[]));
        read.map_err(|error| error.map(|text| LoadError::one_line(&source, &text).to_string()))
    }

    /// The URL of a resource for messages.
    pub(crate) fn source(&self, resource: &str, query: &[(&str, &str)]) -> String {
        without_password(&self.text(resource, query))
    }

    /// Sends a request, once, and returns when the answer begins. The whole answer must arrive within the limits.
    /// Errors do not contain the URL.
    pub(crate) fn open(
        &self,
        verb: Verb,
        resource: &str,
        query: &[(&str, &str)],
        body: Option<&Value>,
        limits: CallLimits,
    ) -> std::result::Result<Incoming, CallError> {
        let failed = |e: &reqwest::Error| cause::of_request(e, limits, self.trusted_source());
        let url = self.url(resource, query)?;
        let client = self.client(limits)?;
        // Making the client may have used up time of a reading; the time of a single call begins now.
        let left = limits.end.or_after(limits.transfer).left();
        let left = left.ok_or_else(|| CallError::NotSent(cause::too_late(limits)))?;
        // A limit of the request covers its whole answer.
        let request = client.request(verb.method(), url).timeout(left);
        let request = with_body(self.with_login(request), body);
        let response = request.send().map_err(|e| failed(&e))?;
        self.accept(response, limits, !matches!(verb, Verb::Get))
    }

    /// The answer, if its status is a success.
    fn accept(
        &self,
        response: Response,
        limits: CallLimits,
        writes: bool,
    ) -> std::result::Result<Incoming, CallError> {
        let status = response.status();
        if status.is_success() {
            return Ok(Incoming { response, limits, most: self.manner.size, seen: 0 });
        }
        let location = response.headers().get(header::LOCATION).and_then(|value| value.to_str().ok());
        let location = location.map(str::to_owned);
        let mut bytes = Vec::new();
        // For a refusal the status is enough.
        let _ = response.take(REFUSAL).read_to_end(&mut bytes);
        let asked = RequestKind { service: self.service, login: self.credentials.is_some(), writes };
        Err(refusal::of_status(status, location.as_deref(), &bytes, asked)
            .unwrap_or_else(|| CallError::Nonsense(status.to_string())))
    }

    /// The client, made on first use.
    fn client(&self, limits: CallLimits) -> std::result::Result<Client, CallError> {
        let mut kept = self.client.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(made) = &*kept {
            return Ok(made.clone());
        }
        let made = client(self.trusted.as_ref(), self.manner)
            .map_err(|e| cause::of_request(&e, limits, self.trusted_source()))?;
        Ok(kept.insert(made).clone())
    }

    fn trusted_source(&self) -> Option<&str> {
        self.trusted.as_ref().map(|trusted| trusted.source.as_str())
    }

    fn with_login(&self, request: RequestBuilder) -> RequestBuilder {
        match &self.credentials {
            Some(known) => request.basic_auth(&known.user, Some(known.password.reveal())),
            None => request,
        }
    }

    /// The URL as text, including any password in the prefix.
    fn text(&self, resource: &str, query: &[(&str, &str)]) -> String {
        let parts: Vec<String> = resource.split('/').map(encoded).collect();
        let query: Vec<String> =
            query.iter().map(|(key, value)| format!("{}={}", encoded(key), encoded(value))).collect();
        let mark = if query.is_empty() { "" } else { "?" };
        format!("{}{}{}{mark}{}", self.prefix, self.service.root(), parts.join("/"), query.join("&"))
    }

    fn url(&self, resource: &str, query: &[(&str, &str)]) -> std::result::Result<Url, CallError> {
        // A path component of dots would lead to another resource.
        if resource.split('/').any(|part| matches!(part, "" | "." | "..")) {
            let path = printable(resource, 100);
            return Err(CallError::NotSent(format!("'{path}' is not a path of {}", self.service)));
        }
        let unusable = |why: &dyn fmt::Display| CallError::NotSent(format!("not a usable URL: {why}"));
        let mut url = Url::parse(&self.text(resource, query)).map_err(|e| unusable(&e))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(unusable(&"neither HTTP nor HTTPS"));
        }
        if self.credentials.is_some() {
            // They are sent in a header instead; this cannot fail for an HTTP URL.
            let _ = (url.set_username(""), url.set_password(None));
        }
        Ok(url)
    }
}

fn encoded(part: &str) -> String {
    utf8_percent_encode(part, PLAIN).to_string()
}

/// Adds a body. Ganeti requires a content type for it.
fn with_body(request: RequestBuilder, body: Option<&Value>) -> RequestBuilder {
    match body {
        Some(body) => request.header(header::CONTENT_TYPE, "application/json").body(body.to_string()),
        None => request,
    }
}
