//! Programs with a time limit, each in a process group of its own that is killed as a whole.

use std::collections::BTreeSet;
use std::fs::File;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};

/// The running process groups, to be killed if the suite is interrupted.
static GROUPS: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

/// Result of a run.
#[derive(Debug, Clone)]
pub struct Output {
    /// The command, for messages.
    pub command: String,
    /// Exit status; 128 plus the number for a signal.
    pub status: i32,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl Output {
    /// The output, if the program succeeded.
    pub fn good(self) -> anyhow::Result<Self> {
        self.expect(0)
    }

    /// The output, if the program ended with this status.
    pub fn expect(self, status: i32) -> anyhow::Result<Self> {
        ensure!(
            self.status == status,
            "{}: exit status {}, not {status}{}",
            self.command,
            self.status,
            self.streams()
        );
        Ok(self)
    }

    /// Both streams as part of a message.
    pub fn streams(&self) -> String {
        let part = |name: &str, text: &str| match text.trim_end() {
            "" => String::new(),
            text => format!("\n--- {name}\n{text}"),
        };
        part("stdout", &self.stdout) + &part("stderr", &self.stderr)
    }
}

/// Runs the program to its end. A program that exceeds the limit is killed, which is an error.
pub fn run(command: &mut Command, limit: Duration) -> anyhow::Result<Output> {
    Running::start(command)?.wait(limit)
}

/// A running program. It is killed when this value is dropped.
pub struct Running {
    child: Child,
    command: String,
    out: File,
    err: File,
    since: Instant,
    ended: bool,
}

impl Running {
    /// Starts the program. Its output goes through files, so that no amount of it can block.
    pub fn start(command: &mut Command) -> anyhow::Result<Self> {
        let text = words(command);
        let (out, err) = (tempfile::tempfile()?, tempfile::tempfile()?);
        // Nothing may start between the fork and the entry in the list; an interrupted suite would leave it behind.
        let mut groups = GROUPS.lock().expect("no thread panics with the list");
        let child = command
            .stdin(Stdio::null())
            .stdout(out.try_clone()?)
            .stderr(err.try_clone()?)
            .process_group(0)
            .spawn()
            .with_context(|| format!("cannot start {text}"))?;
        groups.insert(child.id() as i32);
        drop(groups);
        Ok(Running { child, command: text, out, err, since: Instant::now(), ended: false })
    }

    /// Sends a signal to the program, but not to its children.
    pub fn signal(&self, signal: Signal) -> anyhow::Result<()> {
        kill_process(Pid::from_child(&self.child), signal)
            .with_context(|| format!("signal for {}", self.command))
    }

    /// Standard output so far.
    pub fn stdout(&self) -> anyhow::Result<String> {
        content(&self.out)
    }

    /// Standard error so far.
    pub fn stderr(&self) -> anyhow::Result<String> {
        content(&self.err)
    }

    /// Waits until `seen` accepts the standard output so far; fails if the program ends before, or the time is up.
    pub fn wait_for(
        &mut self,
        what: &str,
        limit: Duration,
        mut seen: impl FnMut(&str) -> bool,
    ) -> anyhow::Result<()> {
        let start = Instant::now();
        loop {
            let ended = self.child.try_wait()?.is_some();
            if seen(&self.stdout()?) {
                return Ok(());
            }
            if ended || start.elapsed() > limit {
                let why = if ended { "it ended" } else { "the time is up" };
                bail!(
                    "{}: waited for {what}, but {why}\n--- stdout\n{}\n--- stderr\n{}",
                    self.command,
                    self.stdout()?,
                    self.stderr()?
                );
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits for the end.
    pub fn wait(mut self, limit: Duration) -> anyhow::Result<Output> {
        let status = loop {
            if let Some(status) = self.child.try_wait()? {
                break status;
            }
            if self.since.elapsed() > limit {
                let (stdout, stderr) = (self.stdout()?, self.stderr()?);
                bail!(
                    "{}: did not end within {} s\n--- stdout\n{stdout}\n--- stderr\n{stderr}",
                    self.command,
                    limit.as_secs()
                );
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        self.ended = true;
        Ok(Output {
            command: self.command.clone(),
            status: exit_code(status),
            stdout: self.stdout()?,
            stderr: self.stderr()?,
        })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let group = Pid::from_child(&self.child);
        if !self.ended {
            let _ = kill_process_group(group, Signal::KILL);
            let _ = self.child.wait();
        }
        GROUPS.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).remove(&(self.child.id() as i32));
    }
}

/// Kills all running programs. No program can be started afterwards.
pub fn end_all() {
    let groups = GROUPS.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    for group in groups.iter().filter_map(|group| Pid::from_raw(*group)) {
        let _ = kill_process_group(group, Signal::KILL);
    }
    // The list stays locked for ever.
    std::mem::forget(groups);
}

/// The whole file, independent of the position shared with the writer.
fn content(file: &File) -> anyhow::Result<String> {
    use std::os::unix::fs::FileExt;
    let mut bytes = vec![0; file.metadata()?.len() as usize];
    let mut filled = 0;
    while filled < bytes.len() {
        match file.read_at(&mut bytes[filled..], filled as u64)? {
            0 => break,
            more => filled += more,
        }
    }
    bytes.truncate(filled);
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The command as one line.
fn words(command: &Command) -> String {
    let tool = command
        .get_envs()
        .find_map(|(name, value)| if name == "HTOOLS" { value } else { None })
        .map(|tool| format!("HTOOLS={} ", tool.to_string_lossy()));
    let words: Vec<_> = std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    tool.unwrap_or_default() + &words.join(" ")
}

fn exit_code(status: ExitStatus) -> i32 {
    status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(-1)
}
