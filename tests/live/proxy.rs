//! A socket that stands before the master daemon's and records what is said.

use std::io::Write;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;

use anyhow::Context;
use serde_json::Value;

use crate::luxi::{Messages, send};

/// Which way a message went.
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
    /// Which connection, from 0.
    pub connection: usize,
    /// Which way.
    pub way: Way,
    /// Its text.
    pub text: String,
}

type Record = Arc<Mutex<Vec<Message>>>;

/// A proxy at work.
pub struct Proxy {
    directory: tempfile::TempDir,
    record: Record,
}

impl Proxy {
    /// Stands before the daemon at `socket`.
    pub fn before(socket: &str) -> anyhow::Result<Self> {
        let directory = tempfile::tempdir_in("/tmp")?;
        let listener = UnixListener::bind(directory.path().join("luxi")).context("cannot listen")?;
        let record = Record::default();
        let (to, kept, socket) = (Arc::clone(&record), Proxy { directory, record }, PathBuf::from(socket));
        // ends with the suite
        thread::spawn(move || {
            for (connection, stream) in listener.incoming().enumerate() {
                let (Ok(stream), record, socket) = (stream, Arc::clone(&to), socket.clone()) else {
                    continue;
                };
                thread::spawn(move || relay(&stream, &socket, connection, &record));
            }
        });
        Ok(kept)
    }

    /// Its socket.
    pub fn socket(&self) -> PathBuf {
        self.directory.path().join("luxi")
    }

    /// What was said so far.
    pub fn messages(&self) -> Vec<Message> {
        self.record.lock().expect("no thread panics with the record").clone()
    }

    /// What was asked with this method, in order.
    pub fn requests(&self, method: &str) -> anyhow::Result<Vec<Value>> {
        let texts = self.messages().into_iter().filter(|message| message.way == Way::Request);
        requests(texts.map(|message| message.text), method)
    }
}

/// The arguments of those of the requests that call this method.
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

/// Passes on what one connection says, both ways, until one side hangs up.
fn relay(tool: &UnixStream, socket: &Path, connection: usize, record: &Record) {
    let Ok(daemon) = UnixStream::connect(socket) else { return };
    let pass = |way: Way, from: &UnixStream, to: &UnixStream| {
        let (mut messages, mut from, mut into) = (Messages::default(), from, to);
        while let Ok(Some(text)) = messages.next(&mut from) {
            let sent = send(&mut into, &text).and_then(|()| into.flush());
            record.lock().expect("no thread panics with the record").push(Message { connection, way, text });
            if sent.is_err() {
                break;
            }
        }
        // the other direction ends, too
        let _ = to.shutdown(std::net::Shutdown::Both);
    };
    thread::scope(|scope| {
        scope.spawn(|| pass(Way::Request, tool, &daemon));
        pass(Way::Answer, &daemon, tool);
    });
}
