//! Execution of other programs under a time limit. Each has a process group, which ends as a whole.

use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use htools_model::shown::printable;

/// Interval at which the program is polled for its end.
const LOOK: Duration = Duration::from_millis(20);
/// Maximum wait for the last output of a program that has ended, as its children may keep the streams open.
const WORDS: Duration = Duration::from_secs(1);
/// Maximum length of quoted output in an error, in characters.
pub(super) const SHOWN: usize = 300;
/// Maximum part of its standard error that is kept, in bytes.
pub(super) const KEPT: u64 = 64 << 10;

/// Failure of a program.
#[derive(Debug, thiserror::Error)]
#[error("{program}{problem}")]
pub struct ProgramError {
    /// Its name and purpose.
    pub program: String,
    /// The problem.
    pub problem: ProgramProblem,
}

/// Problem of a program, with its last line of output.
#[derive(Debug, thiserror::Error)]
pub enum ProgramProblem {
    /// It could not be started.
    #[error(" cannot be run: {0}")]
    Start(io::Error),
    /// Its end could not be waited for.
    #[error(": {0}")]
    Wait(io::Error),
    /// It failed with this exit status.
    #[error(" failed: {0}{1}")]
    Failed(ExitStatus, String),
    /// It took longer than this many seconds.
    #[error(" did not end within {0} s and was killed{1}")]
    Killed(u64, String),
    /// Its output was too long, or not text.
    #[error(": {0}")]
    Nonsense(String),
}

/// Result of a program that ended in time.
#[derive(Debug)]
pub struct ProgramAnswer {
    /// Its exit status.
    pub status: ExitStatus,
    /// Its standard output.
    pub text: String,
    /// The last line of its standard error, after a colon; empty if there is none.
    pub last_words: String,
}

/// A program with its arguments, input and limits.
#[derive(Debug)]
pub struct ProgramCall<'a> {
    /// The program and its arguments, passed without a shell.
    pub words: &'a [&'a str],
    /// Standard input.
    pub input: &'a str,
    /// The longest time.
    pub limit: Duration,
    /// Maximum size of its standard output, in bytes.
    pub most: u64,
}

impl ProgramCall<'_> {
    /// Runs the program to its end, whatever its exit status.
    ///
    /// # Errors
    /// If it could not be run, did not end in time, or printed too much.
    pub fn run(&self) -> Result<ProgramAnswer, ProgramError> {
        self.answer().map_err(|problem| self.error(problem))
    }

    /// Runs the program to its end and returns its standard output.
    ///
    /// # Errors
    /// As [`run`](Self::run); also if its exit status is not 0.
    pub fn good(&self) -> Result<String, ProgramError> {
        let ProgramAnswer { status, text, last_words } = self.run()?;
        if status.success() { Ok(text) } else { Err(self.error(ProgramProblem::Failed(status, last_words))) }
    }

    fn error(&self, problem: ProgramProblem) -> ProgramError {
        let shown: Vec<&str> = self.words.iter().copied().take(2).collect();
        ProgramError { program: printable(&shown.join(" "), SHOWN), problem }
    }

    fn answer(&self) -> Result<ProgramAnswer, ProgramProblem> {
        let mut command = Command::new(self.words.first().copied().unwrap_or_default());
        command.args(&self.words[1..]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // In a process group of its own, the program gets no Ctrl-C and can be killed with its children.
        let mut child = command.process_group(0).spawn().map_err(ProgramProblem::Start)?;
        let (text, words) = self.converse(&mut child).map_err(|error| give_up(&mut child, error))?;
        let status = wait(&mut child, self.limit).map_err(ProgramProblem::Wait)?;
        let last_words = last_line(&collected_output(words));
        let Some(status) = status else {
            return Err(ProgramProblem::Killed(self.limit.as_secs(), last_words));
        };
        let text = collected_output(text);
        if text.len() as u64 > self.most {
            return Err(ProgramProblem::Nonsense(format!("its output has more than {} bytes", self.most)));
        }
        let text = String::from_utf8(text)
            .map_err(|_| ProgramProblem::Nonsense("its output is not text".to_owned()))?;
        Ok(ProgramAnswer { status, text, last_words })
    }
}

/// Output of a program on a stream, delivered in one piece at the end.
pub(super) type OutputReceiver = Receiver<Vec<u8>>;

impl ProgramCall<'_> {
    /// Writes the input of a program, and starts reading both output streams.
    ///
    /// # Errors
    /// If a thread cannot be started.
    fn converse(&self, child: &mut Child) -> io::Result<(Option<OutputReceiver>, Option<OutputReceiver>)> {
        if let Some(mut stream) = child.stdin.take() {
            let input = self.input.to_owned();
            // A program that does not read all its input reports the reason itself.
            thread::Builder::new().spawn(move || stream.write_all(input.as_bytes()))?;
        }
        let text = child.stdout.take().map(|stream| listen(stream, self.most + 1)).transpose()?;
        let words = child.stderr.take().map(|stream| listen(stream, KEPT)).transpose()?;
        Ok((text, words))
    }
}

/// Kills a program that cannot be read from.
pub(super) fn give_up(child: &mut Child, error: io::Error) -> ProgramProblem {
    let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
    let _ = child.wait();
    ProgramProblem::Start(error)
}

/// Reads a stream on a thread, as the program may write more than a pipe holds.
///
/// # Errors
/// If the thread cannot be started.
pub(super) fn listen(mut stream: impl Read + Send + 'static, most: u64) -> io::Result<OutputReceiver> {
    let (sender, receiver) = channel();
    thread::Builder::new().spawn(move || {
        let mut text = Vec::new();
        let _ = (&mut stream).take(most).read_to_end(&mut text);
        let _ = sender.send(text);
        let _ = io::copy(&mut stream, &mut io::sink());
    })?;
    Ok(receiver)
}

/// Output of a program that has ended, on one stream.
pub(super) fn collected_output(stream: Option<OutputReceiver>) -> Vec<u8> {
    stream.and_then(|stream| stream.recv_timeout(WORDS).ok()).unwrap_or_default()
}

/// Waits for the end of a program. If it does not end in time, kills it and returns `None`.
pub(super) fn wait(child: &mut Child, limit: Duration) -> io::Result<Option<ExitStatus>> {
    let end = Instant::now() + limit;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= end {
            // The program may have ended this moment.
            let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
            child.wait()?;
            return Ok(None);
        }
        thread::sleep(LOOK);
    }
}

/// The last non-empty line of a text, after a colon.
pub(super) fn last_line(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let line = text.lines().rev().map(str::trim).find(|line| !line.is_empty());
    line.map_or_else(String::new, |line| format!(": {}", printable(line, SHOWN)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(words: &[&str], input: &str, seconds: u64) -> Result<String, String> {
        let call = ProgramCall { words, input, limit: Duration::from_secs(seconds), most: 100 };
        call.good().map_err(|error| error.to_string())
    }

    #[test]
    fn what_programs_say() {
        assert_eq!(call(&["cat"], "a\nb", 30), Ok("a\nb".to_owned()));
        assert_eq!(call(&["sh", "-c", "exit 0"], &"x".repeat(1 << 20), 30), Ok(String::new()));
        let failed = call(&["sh", "-c", "echo one >&2; echo two >&2; exit 3"], "", 30);
        assert_eq!(failed, Err("sh -c failed: exit status: 3: two".to_owned()));
        assert_eq!(
            call(&["cat"], &"x".repeat(101), 30),
            Err("cat: its output has more than 100 bytes".to_owned())
        );
        assert_eq!(
            call(&["printf", r"\377"], "", 30),
            Err(r"printf \377: its output is not text".to_owned())
        );
        assert!(call(&["/nonexistent"], "", 30).unwrap_err().starts_with("/nonexistent cannot be run: "));
        let killed = call(&["sh", "-c", "echo busy >&2; sleep 60 & sleep 60"], "", 0);
        assert!(killed.unwrap_err().starts_with("sh -c did not end within 0 s and was killed"));
    }
}
