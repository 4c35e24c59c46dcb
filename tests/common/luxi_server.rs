//! A master daemon by script: a server on a Unix socket that answers as it is told.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// The socket's name in its directory.
pub const SOCKET: &str = "luxi.sock";

/// What ends a message.
pub const END: u8 = 0x03;

/// A part of what the server does about a request.
#[derive(Debug, Clone)]
pub enum Act {
    /// Sends bytes as they are.
    Send(Vec<u8>),
    /// Waits.
    Pause(Duration),
    /// Sends the bytes over and over again, with pauses, until the client has gone.
    Endless(Vec<u8>, Duration),
    /// Closes the connection.
    Close,
}

/// A message, whole and at once.
pub fn message(text: impl AsRef<str>) -> Vec<Act> {
    let mut bytes = text.as_ref().as_bytes().to_vec();
    bytes.push(END);
    vec![Act::Send(bytes)]
}

/// A message in pieces of so many bytes.
pub fn in_pieces(text: &str, size: usize, pause: Duration) -> Vec<Act> {
    let mut bytes = text.as_bytes().to_vec();
    bytes.push(END);
    bytes.chunks(size).flat_map(|piece| [Act::Send(piece.to_vec()), Act::Pause(pause)]).collect()
}

/// A server that ends with the test.
pub struct Server {
    /// Where it listens.
    pub socket: PathBuf,
    /// The requests so far.
    pub requests: Arc<Mutex<Vec<String>>>,
    ends: Arc<AtomicBool>,
}

impl Server {
    /// A server in a directory that does what the script says about a request, given its
    /// number on its connection.
    pub fn new(directory: &Path, script: impl Fn(usize, &str) -> Vec<Act> + Send + Sync + 'static) -> Server {
        // the directory's name may be too long for a socket's
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

    /// A server that gives these answers, one after the other, on each connection.
    pub fn of(directory: &Path, answers: impl IntoIterator<Item = String>) -> Server {
        let answers: Vec<String> = answers.into_iter().collect();
        Server::new(directory, move |number, _| answers.get(number).map_or_else(|| vec![Act::Close], message))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::SeqCst);
        if let Some(place) = self.socket.parent().and_then(|directory| File::open(directory).ok()) {
            // so that it looks
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
