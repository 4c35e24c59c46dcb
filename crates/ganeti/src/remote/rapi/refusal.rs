//! Meaning of an answer's status.

use std::fmt;

use reqwest::StatusCode;

use super::address::without_password;
use crate::remote::CallError;
use htools_model::shown::printable;

/// Texts of the master daemon when its queue takes no jobs.
const CLOSED: [&str; 3] = ["Queue drained", "job queue is full", "marked for drain"];

/// Maximum length of a server's message, in characters.
const SHOWN: usize = 160;

/// A kind of server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Service {
    Rapi,
    Prometheus,
}

impl Service {
    /// The part of a URL before the resource.
    pub(super) fn root(self) -> &'static str {
        match self {
            Service::Rapi => "/2/",
            Service::Prometheus => "/api/v1/",
        }
    }
}

impl fmt::Display for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Service::Rapi => "RAPI",
            Service::Prometheus => "Prometheus",
        })
    }
}

/// Properties of a request.
#[derive(Clone, Copy)]
pub(super) struct RequestKind {
    pub service: Service,
    /// It had credentials.
    pub login: bool,
    /// It was to change something.
    pub writes: bool,
}

/// The error for an answer with this status; `None` if it is a success. `location` is the target of a redirect.
pub(super) fn of_status(
    status: StatusCode,
    location: Option<&str>,
    body: &[u8],
    asked: RequestKind,
) -> Option<CallError> {
    if status.is_success() {
        return None;
    }
    if status.is_redirection() {
        let target = location.map(|to| format!(" to {}", without_password(to))).unwrap_or_default();
        let text = format!("redirected{target}, which is not followed ({status})");
        // Some servers redirect after they have carried out the request.
        return Some(CallError::Nonsense(text));
    }
    let said = message(body, status);
    let closed = said.as_deref().is_some_and(|said| CLOSED.iter().any(|words| said.contains(words)));
    let text = format!("{} ({status})", said.unwrap_or_else(|| meaning(status, asked)));
    Some(match status.as_u16() {
        // The master daemon's message comes with a status that can mean anything.
        500 if closed => CallError::Refused(text),
        // RAPI has lost the master daemon, or waits for it in vain. The request may be half done.
        502 => CallError::Lost(text),
        504 => CallError::Late(text),
        // An internal error at an unknown time.
        500 | 505.. => CallError::Nonsense(text),
        401 if !asked.login => CallError::NoLogin(text),
        _ => CallError::Refused(text),
    })
}

fn meaning(status: StatusCode, asked: RequestKind) -> String {
    let meaning = match status {
        StatusCode::FORBIDDEN if asked.service == Service::Prometheus => "the server refused the request",
        StatusCode::UNAUTHORIZED if asked.login => "the user or the password is wrong",
        StatusCode::UNAUTHORIZED => "the server wants a user and a password",
        // These are the words in Ganeti's file of users.
        StatusCode::FORBIDDEN if asked.writes => "the user lacks the right 'write' in RAPI's file of users",
        StatusCode::FORBIDDEN => "the user lacks the right 'read' in RAPI's file of users",
        StatusCode::NOT_FOUND => return format!("there is no {} at this address", asked.service),
        _ if status.is_server_error() => "the server failed",
        _ => "the server refused the request",
    };
    meaning.to_owned()
}

/// Ganeti's message besides the status. For an unknown user or a missing permission, our own text is clearer.
fn message(body: &[u8], status: StatusCode) -> Option<String> {
    let document: serde_json::Value = serde_json::from_slice(body).ok()?;
    let text = |key: &str| document.get(key)?.as_str().map(unescaped).filter(|text| !text.trim().is_empty());
    let said = text("message").filter(|said| Some(said.as_str()) != status.canonical_reason());
    let known = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
    let said = said.or_else(|| text("explain").filter(|_| !known)).or_else(|| text("error"))?;
    Some(printable(said.trim(), SHOWN))
}

/// Decodes a text that was escaped for HTML.
fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        plain.push_str(&rest[..at]);
        rest = &rest[at..];
        let end = rest.find(';').filter(|end| *end <= 9);
        match end.and_then(|end| Some((entity(&rest[1..end])?, end))) {
            Some((c, end)) => {
                plain.push(c);
                rest = &rest[end + 1..];
            }
            None => {
                plain.push('&');
                rest = &rest[1..];
            }
        }
    }
    plain + rest
}

fn entity(name: &str) -> Option<char> {
    match name {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                None => number.parse().ok()?,
            };
            char::from_u32(code)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(status: u16, body: &str) -> CallError {
        of_status(
            StatusCode::from_u16(status).unwrap(),
            None,
            body.as_bytes(),
            RequestKind { service: Service::Rapi, login: true, writes: false },
        )
        .unwrap()
    }

    #[test]
    fn messages_of_ganeti() {
        let body = r#"{"code": 400, "message": "Can&#x27;t &lt;do&gt; &amp;amp; &#39;&quot;&x &#xd800;", "explain": "Bad"}"#;
        let text = "Can't <do> &amp; '\"&x &#xd800; (400 Bad Request)";
        assert_eq!(of(400, body), CallError::Refused(text.into()));
        let body = r#"{"code": 404, "message": "Not Found", "explain": "Nothing matches the given URI"}"#;
        assert_eq!(of(404, body), CallError::Refused("Nothing matches the given URI (404 Not Found)".into()));
        let body = r#"{"code": 401, "message": "Unauthorized", "explain": "No permission"}"#;
        assert_eq!(
            of(401, body),
            CallError::Refused("the user or the password is wrong (401 Unauthorized)".into())
        );
        for body in ["", "[]", "{\"message\":1}", "<html>"] {
            assert_eq!(
                of(418, body),
                CallError::Refused("the server refused the request (418 I'm a teapot)".into())
            );
        }
        let long = format!("{{\"message\":\"{}\\u001b\"}}", "x".repeat(1000));
        assert!(of(400, &long).to_string().len() < 200);
    }

    #[test]
    fn what_may_have_been_done() {
        for status in [400, 401, 403, 404, 412, 501, 503] {
            assert!(of(status, "").is_undone(), "{status}");
        }
        for status in [301, 303, 500, 502, 504, 599] {
            assert!(!of(status, "").is_undone(), "{status}");
        }
        let drained =
            r#"{"code": 500, "message": "Queue drained", "explain": "Server got itself in trouble"}"#;
        assert_eq!(of(500, drained), CallError::Refused("Queue drained (500 Internal Server Error)".into()));
        assert!(of(502, "").is_passing() && of(504, "").is_passing());
        assert_eq!(
            of_status(
                StatusCode::OK,
                None,
                b"",
                RequestKind { service: Service::Rapi, login: false, writes: false }
            ),
            None
        );
    }
}
