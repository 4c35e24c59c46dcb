//! Getting the answers.

use std::error::Error;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::time::Duration;

use reqwest::StatusCode;
use reqwest::blocking::{Client, Response};
use reqwest::redirect::Policy;

use super::address::{Place, without_password};
use super::{Address, Answer, Answers};
use crate::load::error::{LoadError, shown_source};

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
pub fn fetch(address: &Address) -> Answers {
    fetch_in(address, Manner::default())
}

/// The same in another manner.
pub fn fetch_in(address: &Address, manner: Manner) -> Answers {
    match address.place() {
        Place::Directory(path) => {
            let answer = |name: &str| read_file(&path.join(name), manner.size);
            Answers {
                groups: answer("groups.json"),
                nodes: answer("nodes.json"),
                instances: answer("instances.json"),
                info: answer("info.json"),
            }
        }
        Place::Url(prefix) => {
            let client = client(manner);
            let answer = |resource: &str| get(client.as_ref(), &format!("{prefix}/2/{resource}"), manner);
            Answers {
                groups: answer("groups?bulk=1"),
                nodes: answer("nodes?bulk=1"),
                instances: answer("instances?bulk=1"),
                info: answer("info"),
            }
        }
    }
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

/// A client that believes any certificate, as the reference does: Ganeti's own are made
/// for no host in particular. Proxies are taken from the environment.
fn client(manner: Manner) -> std::result::Result<Client, reqwest::Error> {
    let builder = if manner.proxies { Client::builder() } else { Client::builder().no_proxy() };
    builder
        .connect_timeout(manner.connect)
        .timeout(manner.transfer)
        .redirect(Policy::none())
        .danger_accept_invalid_certs(true)
        .danger_accept_invalid_hostnames(true)
        .build()
}

fn get(client: std::result::Result<&Client, &reqwest::Error>, url: &str, manner: Manner) -> Answer {
    let source = without_password(url);
    let wrong = |problem: String| LoadError::one_line(&shown_source(&source), &problem);
    let body = client
        .map_err(|e| wrong(format!("no client for HTTP: {}", innermost(e))))
        .and_then(|client| {
            // with a limit on the request, it holds for the body as well; user and
            // password in the URL are sent as Basic authentication
            let request = client.get(url).timeout(manner.transfer);
            request.send().map_err(|e| wrong(cause(&e, manner)))
        })
        .and_then(|response| {
            let login = url.contains('@');
            refusal(&response, login).map_or(Ok(response), |problem| Err(wrong(problem)))
        })
        .and_then(|response| read_limited(response, manner.size).map_err(|e| wrong(body_cause(&e, manner))));
    Answer { source, body }
}

/// What is wrong with an answer by its status.
fn refusal(response: &Response, login: bool) -> Option<String> {
    let status = response.status();
    if status.is_redirection() {
        let target = response.headers().get("location").and_then(|value| value.to_str().ok());
        let target = target.map(|to| format!(" to {}", without_password(to))).unwrap_or_default();
        return Some(format!("redirected{target}, which is not followed ({status})"));
    }
    if status.is_success() {
        return None;
    }
    let meaning = match status {
        StatusCode::UNAUTHORIZED if login => "user or password are wrong".to_owned(),
        StatusCode::UNAUTHORIZED => {
            "a user and a password are needed, as in https://USER:PASSWORD@HOST:5080".to_owned()
        }
        StatusCode::FORBIDDEN => "the user may not read this".to_owned(),
        StatusCode::NOT_FOUND => "there is no RAPI at this address".to_owned(),
        _ if status.is_server_error() => "the server failed".to_owned(),
        _ => "the server refused the request".to_owned(),
    };
    Some(format!("{meaning} ({status})"))
}

/// Why there is no answer.
fn cause(error: &reqwest::Error, manner: Manner) -> String {
    let seconds = |time: Duration| format!("{:.1?}", time);
    if error.is_builder() {
        return format!("not a usable URL: {}", innermost(error));
    }
    if error.is_timeout() {
        return match error.is_connect() {
            true => format!("no connection within {}", seconds(manner.connect)),
            false => format!("no complete answer within {}", seconds(manner.transfer)),
        };
    }
    let chain = chain(error);
    if let Some(io) = chain.iter().find_map(|e| e.downcast_ref::<io::Error>()) {
        match io.kind() {
            io::ErrorKind::ConnectionRefused => return "connection refused".to_owned(),
            io::ErrorKind::TimedOut => return format!("no connection within {}", seconds(manner.connect)),
            _ => {}
        }
    }
    let texts: Vec<String> = chain.iter().map(|e| e.to_string()).collect();
    let last = texts.last().cloned().unwrap_or_default();
    if texts.iter().any(|text| text.contains("dns error")) {
        return format!("cannot resolve the host name: {last}");
    }
    if texts.iter().any(|text| text.contains("SSL") || text.contains("TLS")) {
        return format!("no TLS connection: {last}");
    }
    match error.is_connect() {
        true => format!("no connection: {last}"),
        false => format!("no usable answer: {last}"),
    }
}

/// Why the body of an answer cannot be read.
fn body_cause(error: &io::Error, manner: Manner) -> String {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<reqwest::Error>()) {
        Some(inner) if inner.is_timeout() => cause(inner, manner),
        Some(inner) => format!("the answer is cut off: {}", innermost(inner)),
        None => error.to_string(),
    }
}

/// An error and what caused it, outermost first.
fn chain(error: &reqwest::Error) -> Vec<&(dyn Error + 'static)> {
    let mut chain: Vec<&(dyn Error + 'static)> = vec![error];
    let mut inner = error.source();
    while let Some(cause) = inner {
        chain.push(cause);
        inner = cause.source();
    }
    chain
}

/// The innermost cause: what the outer ones say may hold the URL with its password.
fn innermost(error: &reqwest::Error) -> String {
    match chain(error).as_slice() {
        // nothing but the error itself
        [] | [_] => "it cannot be built".to_owned(),
        [.., last] => last.to_string(),
    }
}
