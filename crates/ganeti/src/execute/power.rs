//! Power switching of nodes by a command of the administrator.

use std::ffi::OsStr;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::program::{KEPT, ProgramProblem, SHOWN, collected_output, give_up, last_line, listen, wait};
use crate::remote::rapi::VARIABLES;
use htools_model::shown::printable;

/// Failure of a command that was to switch the power.
#[derive(Debug, thiserror::Error)]
#[error("{command}{problem}")]
pub struct PowerError {
    /// The command with its arguments, as it is shown.
    pub command: String,
    /// The problem.
    pub problem: PowerProblem,
}

/// Problem of such a command, with its last line of output.
#[derive(Debug, thiserror::Error)]
pub enum PowerProblem {
    /// The node's name is unsafe, so the command was not run.
    #[error(": the node's name begins like an option")]
    Name,
    /// A problem that any program can have.
    #[error(transparent)]
    Program(#[from] ProgramProblem),
}

/// Runs `COMMAND on NODE` or `COMMAND off NODE` in a shell. It succeeds if the exit status is 0 within the time limit;
/// after that it is killed with all its children.
///
/// # Errors
/// The problem, with the last line that the command printed.
pub(super) fn switch(command: &OsStr, word: &str, node: &str, limit: Duration) -> Result<(), PowerError> {
    run(command, word, node, limit).map_err(|problem| {
        let shown = format!("'{} {word} {node}'", command.to_string_lossy());
        PowerError { command: printable(&shown, SHOWN), problem }
    })
}

fn run(command: &OsStr, word: &str, node: &str, limit: Duration) -> Result<(), PowerProblem> {
    if node.starts_with('-') {
        return Err(PowerProblem::Name);
    }
    let mut child = shell(command, word, node).spawn().map_err(ProgramProblem::Start)?;
    let words = child.stdout.take().map(|stream| listen(stream, KEPT)).transpose();
    let words = words.map_err(|error| give_up(&mut child, error))?;
    let status = wait(&mut child, limit).map_err(ProgramProblem::Wait)?;
    match status {
        Some(status) if status.success() => Ok(()),
        Some(status) => Err(ProgramProblem::Failed(status, last_line(&collected_output(words))).into()),
        None => Err(ProgramProblem::Killed(limit.as_secs(), last_line(&collected_output(words))).into()),
    }
}

fn shell(command: &OsStr, word: &str, node: &str) -> Command {
    let mut script = command.to_owned();
    script.push(r#" "$@""#);
    let mut shell = Command::new("/bin/sh");
    // In a process group of its own, the command gets no Ctrl-C and can be killed with its children. Both streams go to
    // one pipe.
    shell
        .arg("-c")
        .arg(r#"exec 2>&1; eval "$0""#)
        .arg(script)
        .args([word, node])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .process_group(0);
    // The command for power need not have the credentials for RAPI.
    for name in VARIABLES {
        shell.env_remove(name);
    }
    shell
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    const LONG: Duration = Duration::from_secs(30);

    fn run(command: &str, limit: Duration) -> Result<(), String> {
        switch(OsStr::new(command), "on", "n1", limit).map_err(|error| error.to_string())
    }

    #[test]
    fn the_word_and_the_node_are_its_arguments() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let path = file.path().to_str().unwrap();
        let script = format!(r#"f() {{ printf '%s;' "$@" > {path}; }}; f 'a b'"#);
        run(&script, LONG).unwrap();
        assert_eq!(std::fs::read_to_string(path).unwrap(), "a b;on;n1;");
        // A name is not part of the script.
        switch(OsStr::new(&script), "off", "$(x)`y`;z", LONG).unwrap();
        assert_eq!(std::fs::read_to_string(path).unwrap(), "a b;off;$(x)`y`;z;");
        let why = switch(OsStr::new("echo"), "on", "-n", LONG).unwrap_err();
        assert_eq!(why.to_string(), "'echo on -n': the node's name begins like an option");
    }

    #[test]
    fn it_does_not_get_the_password() {
        let shell = shell(OsStr::new("x"), "on", "n1");
        let changed: Vec<_> = shell.get_envs().collect();
        let removed = ["GANETI_RAPI_PASSWORD", "GANETI_RAPI_USER"].map(|name| (OsStr::new(name), None));
        assert_eq!(changed, removed);
    }

    #[test]
    fn failures_are_told_with_the_last_words() {
        let why = run("echo first; echo 'no\tpower ' >&2; echo; exit 3; :", LONG).unwrap_err();
        assert!(why.ends_with(r"failed: exit status: 3: no\tpower"), "{why}");
        let why = run("/nonexistent/power", LONG).unwrap_err();
        assert!(why.contains("'/nonexistent/power on n1' failed: exit status: 127: "), "{why}");
    }

    #[test]
    fn it_may_say_a_lot() {
        run("seq 1 100000; :", LONG).unwrap();
    }

    #[test]
    fn it_is_killed_with_its_children() {
        let began = Instant::now();
        let why = run("echo busy; sleep 60 & sleep 60; :", Duration::from_millis(300)).unwrap_err();
        assert!(why.ends_with(" did not end within 0 s and was killed: busy"), "{why}");
        assert!(began.elapsed() < Duration::from_secs(20));
    }

    #[test]
    fn children_that_stay_do_not_matter() {
        let began = Instant::now();
        run("sleep 25 & :", LONG).unwrap();
        assert!(began.elapsed() < Duration::from_secs(20));
    }
}
