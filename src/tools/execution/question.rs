//! The confirmation before execution.

use std::io::{self, BufRead, IsTerminal, Write};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use crate::tools::options::ExecutionOptions;
use crate::tools::output::Output;

/// Answer to the question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Consent {
    /// Go ahead; also if there is nobody to ask.
    Yes,
    No,
}

/// Asks on the terminal; anything but a yes is a no. If standard input or standard error is not a terminal, returns
/// yes without asking.
///
/// # Errors
/// If the terminal cannot be read or written.
pub(crate) fn ask(question: &str, output: &mut Output) -> io::Result<Consent> {
    if !(io::stdin().is_terminal() && io::stderr().is_terminal()) {
        return Ok(Consent::Yes);
    }
    output.error_write(&format!("{question} [y/N] "))?;
    let mut line = String::new();
    let remind = || {
        // Standard error may be closed.
        let _ = io::stderr().write_all(REMINDER.as_bytes());
    };
    with_reminder(PATIENCE, remind, || io::stdin().lock().read_line(&mut line))?;
    Ok(answer(&line))
}

/// Asks, unless `--yes` is given. Says so if nothing is executed.
///
/// # Errors
/// If the terminal cannot be read, or output cannot be written.
pub(crate) fn consent(
    execution: &ExecutionOptions,
    question: &str,
    output: &mut Output,
) -> anyhow::Result<Consent> {
    output.flush()?;
    let consent = if execution.yes { Consent::Yes } else { ask(question, output)? };
    if consent == Consent::No {
        output.error_line("Nothing was executed.")?;
    }
    Ok(consent)
}

/// Time without an answer before a reminder says what the run is waiting for.
const PATIENCE: Duration = Duration::from_secs(30);
const REMINDER: &str = "\nWaiting for an answer, y or n, on the terminal; --yes asks nothing.\n";

/// Waits, and calls `remind` once if that takes longer than `patience`.
fn with_reminder<T>(patience: Duration, remind: impl FnOnce() + Send, wait: impl FnOnce() -> T) -> T {
    let (done, waiting) = mpsc::channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            if waiting.recv_timeout(patience) == Err(RecvTimeoutError::Timeout) {
                remind();
            }
        });
        let found = wait();
        drop(done);
        found
    })
}

fn answer(line: &str) -> Consent {
    match line.trim().to_lowercase().as_str() {
        "y" | "yes" => Consent::Yes,
        _ => Consent::No,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_is_told_once_why() {
        let (told, heard) = mpsc::channel();
        let remind = || told.send("told").unwrap();
        assert_eq!(with_reminder(Duration::ZERO, remind, || heard.recv()), Ok("told"));
        let (told, heard) = mpsc::channel();
        with_reminder(Duration::from_secs(3600), || told.send("told").unwrap(), || ());
        assert!(heard.try_recv().is_err());
    }

    #[test]
    fn only_a_yes_is_a_yes() {
        for line in ["y\n", "Y\n", " yes \n", "YES"] {
            assert_eq!(answer(line), Consent::Yes, "{line:?}");
        }
        for line in ["", "\n", "n\n", "no\n", "yesterday\n"] {
            assert_eq!(answer(line), Consent::No, "{line:?}");
        }
    }
}
