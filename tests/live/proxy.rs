//! A socket in front of the master daemon's. It records all messages, and can drop or change some of them.

use std::io::Write;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use anyhow::Context;
use serde_json::Value;

use crate::luxi::{Messages, send};

/// Direction of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// From the tool.
    Request,
    /// To the tool.
    Answer,
}

/// One message.
#[derive(Debug, Clone)]
pub struct Message {
    pub way: Way,
    pub text: String,
}

/// Interventions of the proxy, and its record.
#[derive(Debug, Default)]
struct State {
    record: Vec<Message>,
    /// Messages of this direction are dropped if the request contains this text, for instance a method.
    hold: Option<(Way, &'static str)>,
    /// Number of messages dropped.
    held: usize,
    /// The tools' ends of all connections.
    tools: Vec<UnixStream>,
    /// A text in answers, and its replacement.
    rewrite: Option<(String, String)>,
}

type Shared = Arc<Mutex<State>>;

/// A running proxy.
pub struct Proxy {
    directory: tempfile::TempDir,
    state: Shared,
}

impl Proxy {
    /// Listens in front of the daemon at `socket`.
    pub fn before(socket: &str) -> anyhow::Result<Self> {
        let directory = tempfile::tempdir_in("/tmp")?;
        let listener = UnixListener::bind(directory.path().join("luxi")).context("cannot listen")?;
        let state = Shared::default();
        let (shared, proxy, socket) = (Arc::clone(&state), Proxy { directory, state }, PathBuf::from(socket));
        // The thread ends with the suite.
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (Ok(stream), state, socket) = (stream, Arc::clone(&shared), socket.clone()) else {
                    continue;
                };
                thread::spawn(move || relay(&stream, &socket, &state));
            }
        });
        Ok(proxy)
    }

    /// From now on, drops the requests that contain this text, for instance a method, or the answers to them.
    pub fn keep_back(&self, way: Way, text: &'static str) {
        self.state().hold = Some((way, text));
    }

    /// Passes on all further messages. Those dropped stay lost.
    pub fn pass_on(&self) {
        self.state().hold = None;
    }

    /// Number of messages dropped.
    pub fn kept_back(&self) -> usize {
        self.state().held
    }

    /// Replaces a text in all answers.
    pub fn rewrite(&self, from: &str, to: &str) {
        self.state().rewrite = Some((from.to_owned(), to.to_owned()));
    }

    /// Closes all connections.
    pub fn hang_up(&self) {
        for tool in self.state().tools.drain(..) {
            let _ = tool.shutdown(std::net::Shutdown::Both);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Its socket.
    pub fn socket(&self) -> PathBuf {
        self.directory.path().join("luxi")
    }

    /// All messages so far.
    pub fn messages(&self) -> Vec<Message> {
        self.state().record.clone()
    }

    /// Arguments of all requests with this method, in order.
    pub fn requests(&self, method: &str) -> anyhow::Result<Vec<Value>> {
        let texts = self.messages().into_iter().filter(|message| message.way == Way::Request);
        requests(texts.map(|message| message.text), method)
    }
}

/// The arguments of the requests that call this method.
pub fn requests(texts: impl Iterator<Item = String>, method: &str) -> anyhow::Result<Vec<Value>> {
    let mut found = Vec::new();
    for text in texts {
        let mut request: Value = serde_json::from_str(&text).with_context(|| format!("no JSON: {text}"))?;
        if request["method"] == method {
            found.push(request["args"].take());
        }
    }
    Ok(found)
}

/// Relays one connection in both directions until one side closes it.
fn relay(tool: &UnixStream, socket: &Path, state: &Shared) {
    let Ok(daemon) = UnixStream::connect(socket) else { return };
    lock(state).tools.extend(tool.try_clone());
    // The tool waits for an answer before its next request.
    let asked = Mutex::new(String::new());
    let pass = |way: Way, from: &UnixStream, to: &UnixStream| {
        let (mut messages, mut from, mut into) = (Messages::default(), from, to);
        while let Ok(Some(text)) = messages.next(&mut from) {
            let request = {
                let mut asked = lock(&asked);
                if way == Way::Request {
                    asked.clone_from(&text);
                }
                asked.clone()
            };
            let Some(text) = take(state, Message { way, text }, &request) else { continue };
            if send(&mut into, &text).and_then(|()| into.flush()).is_err() {
                break;
            }
        }
        // The other direction ends, too.
        let _ = to.shutdown(std::net::Shutdown::Both);
    };
    thread::scope(|scope| {
        scope.spawn(|| pass(Way::Request, tool, &daemon));
        pass(Way::Answer, &daemon, tool);
    });
}

/// Records a message. Returns the text to be passed on, if any.
fn take(state: &Shared, message: Message, request: &str) -> Option<String> {
    let mut state = lock(state);
    let mut text = message.text.clone();
    let way = message.way;
    state.record.push(message);
    if state.hold.is_some_and(|(kept, text)| kept == way && request.contains(text)) {
        state.held += 1;
        return None;
    }
    if let Some((from, to)) = state.rewrite.as_ref().filter(|_| way == Way::Answer) {
        text = text.replace(from, to);
    }
    Some(text)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
