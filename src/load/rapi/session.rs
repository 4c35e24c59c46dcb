//! Talking to RAPI: one call is one request.

use std::fmt;
use std::io::Read;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::blocking::{Client, RequestBuilder, Response};
use reqwest::{Method, Url, header};
use serde_json::Value;

use super::access::Access;
use super::address::{Address, Place, without_password};
use super::cause::{self, Limits};
use super::certificates::Trusted;
use super::client::client;
use super::secret::Credentials;
use super::{Manner, refusal};
use crate::load::error::{LoadError, Result, printable, shown_source};
use crate::load::remote::CallError;

/// What is left as it is in a part of a path, and in a query.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// Most bytes that are read of an answer that is a refusal.
const REFUSAL: u64 = 1 << 16;

/// What is done to a resource.
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

/// A cluster's RAPI, with all that it takes to ask it. Nothing is kept open between
/// calls, and nothing is ever sent twice.
pub struct Session {
    /// What all URLs begin with. May hold a password, hence is not shown.
    prefix: String,
    credentials: Option<Credentials>,
    trusted: Option<Trusted>,
    manner: Manner,
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
    /// The address is a directory, or names a user without a password.
    pub fn new(address: &Address, access: &Access, manner: Manner) -> Result<Session> {
        let Place::Url(prefix) = address.place() else {
            return Err(LoadError::one_line(&shown_source(&address.shown()), "a directory cannot be asked"));
        };
        Ok(Session {
            prefix: prefix.clone(),
            credentials: access.credentials(address)?,
            trusted: access.trusted().cloned(),
            manner,
            client: Mutex::new(None),
        })
    }

    /// Asks for a resource: what follows `/2/` in its path.
    ///
    /// # Errors
    /// See [`Session::send`].
    pub fn get(&self, resource: &str) -> std::result::Result<Value, CallError> {
        self.send(Verb::Get, resource, &[], None, self.manner.transfer)
    }

    /// Sends a request, once. `resource` is what follows `/2/` in the path, as plain text;
    /// `limit` is the time until the whole answer is there.
    ///
    /// # Errors
    /// The variant says whether the request may have been carried out; the text names
    /// the URL and the cause, never the password.
    pub fn send(
        &self,
        verb: Verb,
        resource: &str,
        query: &[(&str, &str)],
        body: Option<&Value>,
        limit: Duration,
    ) -> std::result::Result<Value, CallError> {
        let answer = self.call(verb, resource, query, body, limit).and_then(|bytes| {
            serde_json::from_slice(&bytes)
                .map_err(|e| CallError::Nonsense(format!("the answer is no JSON: {e}")))
        });
        // the query holds free text
        let source = shown_source(&self.source(resource, &[]));
        answer.map_err(|error| error.map(|text| LoadError::one_line(&source, &text).to_string()))
    }

    /// The URL of a resource for messages.
    pub(super) fn source(&self, resource: &str, query: &[(&str, &str)]) -> String {
        without_password(&self.text(resource, query))
    }

    /// The bytes of an answer. Errors are without the URL.
    pub(super) fn call(
        &self,
        verb: Verb,
        resource: &str,
        query: &[(&str, &str)],
        body: Option<&Value>,
        limit: Duration,
    ) -> std::result::Result<Vec<u8>, CallError> {
        let limits = Limits { connect: self.manner.connect, transfer: limit };
        let failed = |e: &reqwest::Error| cause::of_request(e, limits, self.trusted_source());
        let url = self.url(resource, query)?;
        let request = self.client(limits)?.request(verb.method(), url).timeout(limit);
        let request = with_body(self.with_login(request), body);
        let response = request.send().map_err(|e| failed(&e))?;
        self.read(response, limits)
    }

    fn read(&self, response: Response, limits: Limits) -> std::result::Result<Vec<u8>, CallError> {
        let status = response.status();
        let location = response.headers().get(header::LOCATION).and_then(|value| value.to_str().ok());
        let location = location.map(str::to_owned);
        let most = if status.is_success() { self.manner.size } else { REFUSAL };
        let mut bytes = Vec::new();
        let read = response.take(most.saturating_add(1)).read_to_end(&mut bytes);
        // of a refusal the status is enough
        if let Some(error) =
            refusal::of_status(status, location.as_deref(), &bytes, self.credentials.is_some())
        {
            return Err(error);
        }
        read.map_err(|e| cause::of_body(&e, limits))?;
        if bytes.len() as u64 > most {
            return Err(CallError::Nonsense(format!("more than {most} bytes")));
        }
        Ok(bytes)
    }

    /// The client, made when it is first needed.
    fn client(&self, limits: Limits) -> std::result::Result<Client, CallError> {
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

    /// The text of a URL, with all that may be in the prefix.
    fn text(&self, resource: &str, query: &[(&str, &str)]) -> String {
        let parts: Vec<String> = resource.split('/').map(encoded).collect();
        let query: Vec<String> =
            query.iter().map(|(key, value)| format!("{}={}", encoded(key), encoded(value))).collect();
        let mark = if query.is_empty() { "" } else { "?" };
        format!("{}/2/{}{mark}{}", self.prefix, parts.join("/"), query.join("&"))
    }

    fn url(&self, resource: &str, query: &[(&str, &str)]) -> std::result::Result<Url, CallError> {
        // a name of dots would climb to another resource
        if resource.split('/').any(|part| matches!(part, "" | "." | "..")) {
            return Err(CallError::NotSent(format!("'{}' is no resource", printable(resource, 100))));
        }
        let unusable = |why: &dyn fmt::Display| CallError::NotSent(format!("not a usable URL: {why}"));
        let mut url = Url::parse(&self.text(resource, query)).map_err(|e| unusable(&e))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(unusable(&"neither HTTP nor HTTPS"));
        }
        if self.credentials.is_some() {
            // sent as a header instead; an HTTP URL can do without
            let _ = (url.set_username(""), url.set_password(None));
        }
        Ok(url)
    }
}

fn encoded(part: &str) -> String {
    utf8_percent_encode(part, PLAIN).to_string()
}

/// Ganeti insists on the type of whatever has a body.
fn with_body(request: RequestBuilder, body: Option<&Value>) -> RequestBuilder {
    match body {
        Some(body) => request.header(header::CONTENT_TYPE, "application/json").body(body.to_string()),
        None => request,
    }
}
