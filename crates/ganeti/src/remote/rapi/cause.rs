//! Causes of a missing answer in words, and their meaning for the request.

use std::error::Error;
use std::io;

use super::limits::CallLimits;
use super::verifier::Distrust;
use crate::remote::CallError;

/// The error if no answer has begun.
pub(super) fn of_request(error: &reqwest::Error, limits: CallLimits, trusted: Option<&str>) -> CallError {
    let text = words(error, limits, trusted);
    if error.is_builder() || error.is_connect() {
        // Names, connections and TLS: the request is sent after all of these.
        CallError::NotSent(text)
    } else if error.is_timeout() {
        CallError::Late(text)
    } else if is_nonsense(error) {
        CallError::Nonsense(text)
    } else {
        CallError::Lost(text)
    }
}

/// The error if the body of an answer ends early.
pub(super) fn of_body(error: &io::Error, limits: CallLimits) -> CallError {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<reqwest::Error>()) {
        Some(inner) if inner.is_timeout() => CallError::Late(words(inner, limits, None)),
        Some(inner) => CallError::Lost(format!("the answer is cut off: {}", innermost(inner))),
        None if error.kind() == io::ErrorKind::TimedOut => CallError::Late(too_late(limits)),
        None => CallError::Lost(format!("the answer is cut off: {error}")),
    }
}

/// Tells if the answer was not HTTP.
fn is_nonsense(error: &reqwest::Error) -> bool {
    innermost(error).contains("pars")
}

pub(super) fn too_late(limits: CallLimits) -> String {
    match limits.reading {
        Some(reading) => format!("the cluster was not read within {reading:.1?}"),
        None => format!("no complete answer within {:.1?}", limits.transfer),
    }
}

fn words(error: &reqwest::Error, limits: CallLimits, trusted: Option<&str>) -> String {
    let no_connection = || format!("no connection within {:.1?}", limits.connect);
    if error.is_builder() {
        return format!("not a usable URL: {}", innermost(error));
    }
    if error.is_timeout() {
        return if error.is_connect() { no_connection() } else { too_late(limits) };
    }
    let chain = chain(error);
    if let Some(io) = chain.iter().find_map(|e| e.downcast_ref::<io::Error>()) {
        match io.kind() {
            io::ErrorKind::ConnectionRefused => return "connection refused".to_owned(),
            io::ErrorKind::TimedOut => return no_connection(),
            _ => {}
        }
    }
    let texts: Vec<String> = chain.iter().map(|e| e.to_string()).collect();
    let last = texts.last().cloned().unwrap_or_default();
    if texts.iter().any(|text| text.contains("dns error")) {
        return format!("cannot resolve the host name: {last}");
    }
    match (chain.iter().find_map(|e| of_tls(*e)), trusted) {
        (Some(rustls::Error::InvalidCertificate(reason)), Some(file)) => {
            let reason = Distrust::of(reason);
            return format!("the server's certificate is not trusted by '{file}': {reason}");
        }
        (Some(wrong), _) => return format!("no TLS connection: {wrong}"),
        (None, _) => {}
    }
    if error.is_connect() { format!("no connection: {last}") } else { format!("no usable answer: {last}") }
}

/// The error of TLS, which is inside an error of the connection, perhaps several levels deep.
fn of_tls<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e rustls::Error> {
    let inner = error.downcast_ref::<io::Error>()?.get_ref()?;
    inner.downcast_ref().or_else(|| of_tls(inner))
}

/// An error and its causes, outermost first.
fn chain(error: &reqwest::Error) -> Vec<&(dyn Error + 'static)> {
    let mut chain: Vec<&(dyn Error + 'static)> = vec![error];
    let mut inner = error.source();
    while let Some(cause) = inner {
        chain.push(cause);
        inner = cause.source();
    }
    chain
}

/// The innermost cause. The texts of outer ones may contain the URL with its password.
pub(super) fn innermost(error: &reqwest::Error) -> String {
    match chain(error).as_slice() {
        // There is no cause besides the error itself.
        [] | [_] => "it cannot be built".to_owned(),
        [.., last] => last.to_string(),
    }
}
