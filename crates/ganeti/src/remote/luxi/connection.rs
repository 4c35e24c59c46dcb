//! Connections to the master daemon. Requests and answers alternate, each ended by a certain byte.

use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use super::address::{self, SocketError};
use super::envelope;
use crate::input::json::{Budget, WantedParts};
use crate::remote::CallError;
use crate::remote::cutoff::Cutoff;

/// End of a message, in both directions.
const END: u8 = 0x03;

/// Maximum number of bytes that are read at once.
const CHUNK: usize = 64 << 10;

/// Limits on time and size. The longest call takes `send` plus `answer`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// Time to connect.
    pub connect: Duration,
    /// Time to send a whole request.
    pub send: Duration,
    /// Time until some of the answer, or more of it, arrives.
    pub silence: Duration,
    /// Time until the answer is complete, however busy the daemon seems. It covers all answers that belong to one
    /// reading.
    pub answer: Duration,
    /// Maximum size in bytes of an answer, or of all that belong to one reading.
    pub size: usize,
}

impl Default for Timeouts {
    fn default() -> Self {
        Timeouts {
            connect: Duration::from_secs(30),
            send: Duration::from_secs(180),
            silence: Duration::from_secs(180),
            answer: Duration::from_secs(900),
            size: 512 << 20,
        }
    }
}

/// A connection to the master daemon.
#[derive(Debug)]
pub struct Connection {
    /// `None` after an error, because the next bytes would not be the start of a message.
    stream: Option<UnixStream>,
    manner: Timeouts,
    /// Bytes that were read after the end of the last answer.
    ahead: Vec<u8>,
}

impl Connection {
    /// Connects to the daemon at a socket.
    ///
    /// # Errors
    /// [`CallError::NotSent`]; the text names the socket.
    pub fn open(socket: &Path, manner: Timeouts) -> Result<Connection, CallError> {
        Connection::open_or_why(socket, manner)
            .map_err(|problem| CallError::NotSent(format!("{}: {problem}", address::shown(socket))))
    }

    /// The same, but the text of an error does not name the socket.
    pub(crate) fn open_or_why(socket: &Path, manner: Timeouts) -> Result<Connection, SocketError> {
        address::check(socket)?;
        let stream = connect(socket, manner).map_err(|error| address::refusal(socket, &error, manner))?;
        Ok(Connection { stream: Some(stream), manner, ahead: Vec::new() })
    }

    /// Tells if further calls are possible.
    pub fn is_open(&self) -> bool {
        self.stream.is_some()
    }

    /// Sends a request and reads the text of its answer, which may be a refusal.
    ///
    /// # Errors
    /// Every kind but [`CallError::Refused`]. All errors close the connection, except for an answer that is not UTF-8.
    pub fn exchange(&mut self, method: &str, args: &Value) -> Result<String, CallError> {
        self.exchange_in(method, args, self.manner, SharedBudget::ALONE)
    }

    /// The same, as one call of several that belong to one reading.
    pub(crate) fn exchange_of(
        &mut self,
        method: &str,
        args: &Value,
        share: SharedBudget,
    ) -> Result<String, CallError> {
        self.exchange_in(method, args, self.manner, share)
    }

    /// Sends a request and returns the result in its answer, which should be short.
    ///
    /// # Errors
    /// Every kind.
    pub fn call(&mut self, method: &str, args: &Value) -> Result<Value, CallError> {
        self.look(method, args, WantedParts::Whole)
    }

    /// The same, but only the parts of the result in `shape` are read.
    pub(crate) fn look(
        &mut self,
        method: &str,
        args: &Value,
        shape: WantedParts,
    ) -> Result<Value, CallError> {
        self.call_in(method, args, self.manner, shape)
    }

    /// The same for a request that the daemon answers when something happens. The whole answer must arrive within
    /// `time`; the limit on silence does not apply.
    pub fn call_within(&mut self, method: &str, args: &Value, time: Duration) -> Result<Value, CallError> {
        self.call_in(
            method,
            args,
            Timeouts { silence: time, answer: time, ..self.manner },
            WantedParts::Whole,
        )
    }

    fn call_in(
        &mut self,
        method: &str,
        args: &Value,
        manner: Timeouts,
        shape: WantedParts,
    ) -> Result<Value, CallError> {
        let answer = self.exchange_in(method, args, manner, SharedBudget::ALONE);
        let result = answer
            .and_then(|answer| envelope::part(&answer, shape, &Budget::new(Budget::ANSWER)).map(Value::from));
        if let Err(CallError::Nonsense(_)) = result {
            self.close();
        }
        result
    }

    fn exchange_in(
        &mut self,
        method: &str,
        args: &Value,
        manner: Timeouts,
        share: SharedBudget,
    ) -> Result<String, CallError> {
        let Some(stream) = &mut self.stream else {
            return Err(CallError::NotSent("the connection was closed after an earlier failure".to_owned()));
        };
        let bytes = send(stream, &request(method, args), manner, share.end).and_then(|()| {
            let share = SharedBudget { end: share.end.or_after(manner.answer), ..share };
            read(stream, &mut self.ahead, manner, share)
        });
        match bytes {
            Ok(bytes) => text(bytes),
            Err(error) => {
                self.close();
                Err(error)
            }
        }
    }

    fn close(&mut self) {
        self.stream = None;
        self.ahead = Vec::new();
    }
}

/// The bytes of a request.
fn request(method: &str, args: &Value) -> Vec<u8> {
    let mut bytes = format!(r#"{{"method":{},"args":{args}}}"#, Value::from(method)).into_bytes();
    // JSON does not contain this byte.
    bytes.push(END);
    bytes
}

/// The limit on writing also applies to connecting, as the daemon may have a full queue.
fn connect(path: &Path, manner: Timeouts) -> io::Result<UnixStream> {
    let socket = socket2::Socket::new(socket2::Domain::UNIX, socket2::Type::STREAM, None)?;
    socket.set_write_timeout(Some(manner.connect))?;
    let address = socket2::SockAddr::unix(path)?;
    let end = Cutoff::after(manner.connect);
    loop {
        match socket.connect(&address) {
            Err(error) if error.kind() == ErrorKind::Interrupted && !end.is_over() => {}
            other => break other?,
        }
    }
    Ok(UnixStream::from(OwnedFd::from(socket)))
}

fn send(stream: &mut UnixStream, request: &[u8], manner: Timeouts, end: Cutoff) -> Result<(), CallError> {
    let end = end.or_after(manner.send);
    let mut sent = 0;
    let late = || {
        CallError::NotSent(format!(
            "the master daemon did not accept the request within {}",
            seconds(manner.send)
        ))
    };
    while sent < request.len() {
        let left = end.left().ok_or_else(late)?;
        let written = stream.set_write_timeout(Some(left)).and_then(|()| stream.write(&request[sent..]));
        match written {
            Ok(count) => sent += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            // Continue until the time is up.
            Err(error) if is_timeout(&error) => {}
            Err(error) => return Err(CallError::NotSent(broken(&error, "before it took the request"))),
        }
    }
    Ok(())
}

/// Limits that the calls of one reading share.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SharedBudget {
    /// Time by which the last of them must be over.
    pub(crate) end: Cutoff,
    /// Size of the answers so far, in bytes.
    pub(crate) taken: usize,
}

impl SharedBudget {
    /// A call by itself.
    const ALONE: SharedBudget = SharedBudget { end: Cutoff::NEVER, taken: 0 };
}

/// Reads up to the end of a message. Each byte is searched once.
fn read(
    stream: &mut UnixStream,
    ahead: &mut Vec<u8>,
    manner: Timeouts,
    share: SharedBudget,
) -> Result<Vec<u8>, CallError> {
    let mut message = std::mem::take(ahead);
    let mut chunk = vec![0; CHUNK];
    let mut searched = 0;
    loop {
        if let Some(at) = message[searched..].iter().position(|byte| *byte == END) {
            *ahead = message.split_off(searched + at + 1);
            message.pop();
            return within(message, manner, share);
        }
        searched = message.len();
        message = within(message, manner, share)?;
        let count = receive(stream, &mut chunk, manner, share.end)?;
        if count == 0 {
            return Err(CallError::Lost(match searched {
                0 => "the master daemon closed the connection without an answer".to_owned(),
                _ => format!("the master daemon closed the connection in its answer, after {searched} bytes"),
            }));
        }
        // Do not double the capacity.
        if message.capacity() - message.len() < count {
            message.reserve_exact(count.max(message.len() / 4));
        }
        message.extend_from_slice(&chunk[..count]);
    }
}

fn within(message: Vec<u8>, manner: Timeouts, share: SharedBudget) -> Result<Vec<u8>, CallError> {
    let SharedBudget { taken, .. } = share;
    if message.len().saturating_add(taken) <= manner.size {
        Ok(message)
    } else if taken == 0 {
        Err(CallError::Nonsense(format!("the answer has more than {} bytes", manner.size)))
    } else {
        Err(CallError::Nonsense(format!("the answers have more than {} bytes together", manner.size)))
    }
}

/// Reads the available bytes; returns 0 at the end of the stream.
fn receive(
    stream: &mut UnixStream,
    chunk: &mut [u8],
    manner: Timeouts,
    end: Cutoff,
) -> Result<usize, CallError> {
    let silence = Cutoff::after(manner.silence);
    loop {
        let whole = end.left().ok_or_else(|| {
            CallError::Late(format!("the answer was not complete within {}", seconds(manner.answer)))
        })?;
        let more = silence.left().ok_or_else(|| {
            CallError::Late(format!("the master daemon was silent for {}", seconds(manner.silence)))
        })?;
        match stream.set_read_timeout(Some(whole.min(more))).and_then(|()| stream.read(chunk)) {
            Ok(count) => return Ok(count),
            Err(error) if error.kind() == ErrorKind::Interrupted || is_timeout(&error) => {}
            Err(error) => return Err(CallError::Lost(broken(&error, "without an answer"))),
        }
    }
}

fn text(bytes: Vec<u8>) -> Result<String, CallError> {
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let byte = error.as_bytes().get(at).copied().unwrap_or_default();
        CallError::Nonsense(format!("the answer is not UTF-8 text (byte 0x{byte:02x} at position {at})"))
    })
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

fn broken(error: &io::Error, when: &str) -> String {
    match error.kind() {
        ErrorKind::BrokenPipe | ErrorKind::ConnectionReset => {
            format!("the master daemon closed the connection {when}")
        }
        _ => format!("the connection to the master daemon broke {when}: {error}"),
    }
}

/// A duration for a message.
pub(super) fn seconds(time: Duration) -> String {
    match time.subsec_nanos() {
        0 => format!("{} s", time.as_secs()),
        _ => format!("{:.1} s", time.as_secs_f64()),
    }
}
