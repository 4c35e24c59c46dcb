//! A scripted master daemon: a server on a Unix socket with prepared answers.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// Name of the socket in its directory.
pub const SOCKET: &str = "luxi.sock";

/// End of a message.
pub const END: u8 = 0x03;

/// One part of the server's reaction to a request.
#[derive(Debug, Clone)]
pub enum Act {
    /// Sends these bytes unchanged.
    Send(Vec<u8>),
    /// Waits.
    Pause(Duration),
    /// Sends the bytes repeatedly, with pauses, until the client has gone.
    Endless(Vec<u8>, Duration),
    /// Closes the connection.
    Close,
}

/// A message in one piece.
pub fn message(text: impl AsRef<str>) -> Vec<Act> {
    let mut bytes = text.as_ref().as_bytes().to_vec();
    bytes.push(END);
    vec![Act::Send(bytes)]
}

/// A message in pieces of `size` bytes.
pub fn in_pieces(text: &str, size: usize, pause: Duration) -> Vec<Act> {
    let mut bytes = text.as_bytes().to_vec();
    bytes.push(END);
    bytes.chunks(size).flat_map(|piece| [Act::Send(piece.to_vec()), Act::Pause(pause)]).collect()
}

/// A server that stops when it is dropped.
pub struct Server {
    /// Path of the socket.
    pub socket: PathBuf,
    /// The requests so far.
    pub requests: Arc<Mutex<Vec<String>>>,
    ends: Arc<AtomicBool>,
}

impl Server {
    /// A server in a directory. The script gets each request with its number on the connection, and returns the
    /// reaction.
    pub fn new(directory: &Path, script: impl Fn(usize, &str) -> Vec<Act> + Send + Sync + 'static) -> Server {
        // The directory's path may be too long for a socket address.
        let place = File::open(directory).unwrap();
        let listener = UnixListener::bind(format!("/proc/self/fd/{}/{SOCKET}", place.as_raw_fd())).unwrap();
        let (requests, ends) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(false)));
        let (seen, over, script) = (Arc::clone(&requests), Arc::clone(&ends), Arc::new(script));
        thread::spawn(move || {
            for stream in listener.incoming() {
                if over.load(Ordering::SeqCst) {
                    break;
                }
                let (seen, script) = (Arc::clone(&seen), Arc::clone(&script));
                let stream = stream.unwrap();
                thread::spawn(move || serve(stream, &*script, &seen));
            }
        });
        Server { socket: directory.join(SOCKET), requests, ends }
    }

    /// A server that gives these answers, one after another, on each connection.
    pub fn of(directory: &Path, answers: impl IntoIterator<Item = String>) -> Server {
        let answers: Vec<String> = answers.into_iter().collect();
        Server::new(directory, move |number, _| answers.get(number).map_or_else(|| vec![Act::Close], message))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::SeqCst);
        if let Some(place) = self.socket.parent().and_then(|directory| File::open(directory).ok()) {
            // Wakes the server, so that it notices the end.
            drop(UnixStream::connect(format!("/proc/self/fd/{}/{SOCKET}", place.as_raw_fd())));
        }
    }
}

fn serve(mut stream: UnixStream, script: &dyn Fn(usize, &str) -> Vec<Act>, seen: &Mutex<Vec<String>>) {
    for number in 0.. {
        let Some(request) = read_request(&mut stream) else { return };
        seen.lock().unwrap().push(request.clone());
        for act in script(number, &request) {
            match act {
                Act::Send(bytes) => {
                    if stream.write_all(&bytes).is_err() {
                        return;
                    }
                }
                Act::Pause(time) => thread::sleep(time),
                Act::Endless(bytes, pause) => {
                    while stream.write_all(&bytes).is_ok() {
                        thread::sleep(pause);
                    }
                    return;
                }
                Act::Close => return,
            }
        }
    }
}

fn read_request(stream: &mut UnixStream) -> Option<String> {
    let mut request = Vec::new();
    let mut chunk = vec![0; 1 << 16];
    while request.last() != Some(&END) {
        match stream.read(&mut chunk) {
            Ok(count) if count > 0 => request.extend_from_slice(&chunk[..count]),
            _ => return None,
        }
    }
    request.pop();
    Some(String::from_utf8_lossy(&request).into_owned())
}
