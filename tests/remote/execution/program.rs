//! Runs of the program.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use super::luxi;
use super::queue::World;
use super::server::Server;

/// Result of a run.
#[derive(Debug, Clone)]
pub struct Ran {
    pub status: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Ran {
    /// Both streams, provided that it ended with this status.
    #[track_caller]
    pub fn ends(self, status: i32) -> (String, String) {
        assert_eq!(self.status, Some(status), "{}\n{}", self.stdout, self.stderr);
        assert!(!self.stderr.contains("panicked"), "{}", self.stderr);
        (self.stdout, self.stderr)
    }
}

/// A directory with a master daemon.
pub struct Place {
    pub world: Arc<World>,
    pub directory: TempDir,
    _server: Server,
}

impl Place {
    pub fn new() -> Place {
        let directory = tempfile::tempdir().unwrap();
        let world = World::new();
        let server = luxi::serve(&world, directory.path());
        Place { world, directory, _server: server }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// hbal with these options, on this cluster.
    pub fn command(&self, options: &[&str]) -> Command {
        let mut command = hbal(self.directory.path());
        command.arg("--luxi=luxi.sock").args(options);
        command
    }

    /// `-X` with a journal `J` and these options.
    pub fn execute(&self, options: &[&str]) -> Ran {
        self.start(&[&["-X", "--journal", "J"], options].concat()).wait()
    }

    pub fn resume(&self) -> Ran {
        self.start(&["--resume", "J"]).wait()
    }

    pub fn start(&self, options: &[&str]) -> Running {
        Running::start(self.command(options))
    }

    /// The records of the journal.
    pub fn journal(&self) -> Vec<serde_json::Value> {
        let line = |line: &str| serde_json::from_str(line.rsplit_once(' ').unwrap().0).unwrap();
        self.read("J").lines().map(line).collect()
    }
}

/// hbal in a directory.
pub fn hbal(directory: &Path) -> Command {
    tool("hbal", directory)
}

/// A tool in a directory.
pub fn tool(name: &str, directory: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_htools"));
    command.current_dir(directory).env("HTOOLS", name);
    command.env("XDG_STATE_HOME", directory.join("state")).env("HOME", directory);
    command.stdin(Stdio::null());
    command
}

/// Runs `htools` with a command and its words, on the cluster of a place.
pub fn htools(place: &Place, words: &[&str]) -> Ran {
    let mut command = tool("htools", place.directory.path());
    command.env_remove("HTOOLS").arg(words[0]).arg("--luxi=luxi.sock").args(&words[1..]);
    Running::start(command).wait()
}

/// A running program.
pub struct Running {
    child: Child,
    stdout: Stream,
    stderr: Stream,
}

struct Stream {
    text: Arc<Mutex<Vec<u8>>>,
    reader: JoinHandle<()>,
}

impl Stream {
    fn of(mut source: impl Read + Send + 'static) -> Stream {
        let text = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&text);
        let reader = thread::spawn(move || {
            let mut chunk = [0; 4096];
            while let Ok(count) = source.read(&mut chunk) {
                if count == 0 {
                    break;
                }
                sink.lock().unwrap().extend_from_slice(&chunk[..count]);
            }
        });
        Stream { text, reader }
    }

    fn text(&self) -> String {
        String::from_utf8(self.text.lock().unwrap().clone()).unwrap()
    }

    fn whole(self) -> String {
        self.reader.join().unwrap();
        String::from_utf8(self.text.lock().unwrap().clone()).unwrap()
    }
}

impl Running {
    pub fn start(mut command: Command) -> Running {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let stdout = Stream::of(child.stdout.take().unwrap());
        let stderr = Stream::of(child.stderr.take().unwrap());
        Running { child, stdout, stderr }
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Waits until standard output contains this text.
    #[track_caller]
    pub fn until(&self, text: &str) {
        let end = Instant::now() + Duration::from_secs(60);
        while !self.stdout.text().contains(text) {
            assert!(Instant::now() < end, "{text}: {}{}", self.stdout.text(), self.stderr.text());
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// Waits for the end.
    pub fn wait(mut self) -> Ran {
        let end = Instant::now() + Duration::from_secs(120);
        let status = loop {
            match self.child.try_wait().unwrap() {
                Some(status) => break status,
                None if Instant::now() > end => {
                    self.child.kill().unwrap();
                    let _ = self.child.wait();
                    panic!("it does not end: {}{}", self.stdout.text(), self.stderr.text());
                }
                None => thread::sleep(Duration::from_millis(2)),
            }
        };
        Ran { status: status.code(), stdout: self.stdout.whole(), stderr: self.stderr.whole() }
    }

    /// Kills the program.
    pub fn kill(mut self) -> Ran {
        self.child.kill().unwrap();
        let status = self.child.wait().unwrap();
        Ran { status: status.code(), stdout: self.stdout.whole(), stderr: self.stderr.whole() }
    }
}
