//! The operator's commands for nodes. Each writes to a log file of its own, which it keeps locked, and leaves its exit
//! status in a file. So a resumed run knows whether a command of an earlier program is still running, and how it ended.

use std::collections::HashMap;
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};

use crate::execute::host::NodeTaskError;
use crate::execute::job::JobMark;
use crate::execute::operator::{CommandFate, CommandRun};
use crate::execute::program::{ProgramProblem, last_line, wait};
use crate::remote::rapi::VARIABLES;
use htools_plan::names::{Name, NameOf};

/// Part of a log that is searched for its last line, in bytes.
const TAIL: u64 = 4 << 10;
/// The place for the node's name in a command.
const PLACE: &str = "{node}";
/// Runs the command `$0` and keeps its exit status in the file `$2`.
const WRAPPER: &str =
    r#"(eval "$0"); code=$?; printf '%s\n' "$code" >"$2.new" && mv -f "$2.new" "$2"; exit "$code""#;

/// The commands of a run, and the directory of their logs.
#[derive(Debug)]
pub struct NodeCommands {
    directory: PathBuf,
    /// The commands that this program has started and that were not seen to end, by step and node.
    children: HashMap<(JobMark, String), Child>,
}

/// Tells if a command succeeds for a node. What it prints is of no interest.
///
/// # Errors
/// If it cannot be run, or does not end in time.
pub fn succeeds(command: &str, node: &str, limit: Duration) -> Result<bool, ProgramProblem> {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", r#"eval "$0""#]).arg(script(command, node)).arg(node);
    let mut child = prepared(shell, node)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(ProgramProblem::Start)?;
    match wait(&mut child, limit).map_err(ProgramProblem::Wait)? {
        Some(status) => Ok(status.success()),
        None => Err(ProgramProblem::Killed(limit.as_secs(), String::new())),
    }
}

/// Files of a command.
struct CommandFiles {
    log: PathBuf,
    status: PathBuf,
}

impl NodeCommands {
    /// Commands of the run with this journal. Their logs are in a directory beside it.
    pub fn of_journal(journal: &Path) -> NodeCommands {
        let mut directory = journal.as_os_str().to_owned();
        directory.push(".logs");
        NodeCommands { directory: directory.into(), children: HashMap::new() }
    }

    /// The directory of the logs. It exists once a command was started.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    fn files(&self, run: &CommandRun<'_>) -> CommandFiles {
        let name = |ending: &str| self.directory.join(format!("{}-{}.{ending}", run.mark.step, run.node));
        CommandFiles { log: name("log"), status: name("status") }
    }

    /// Starts a command, unless one of the same step is running.
    ///
    /// # Errors
    /// If its log cannot be written, or the shell cannot be started.
    pub fn start(&mut self, run: &CommandRun<'_>) -> Result<(), NodeTaskError> {
        // The name goes into a script, and possibly through a second shell on the node.
        Name::of(NameOf::Node, run.node).map_err(|error| NodeTaskError::Unstarted(error.to_string()))?;
        let child = self.spawn(run).map_err(|error| NodeTaskError::Unstarted(error.to_string()))?;
        if let Some(child) = child {
            self.children.insert(key(run), child);
        }
        Ok(())
    }

    fn spawn(&self, run: &CommandRun<'_>) -> io::Result<Option<Child>> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.directory)?;
        let CommandFiles { log, status } = self.files(run);
        let file = OpenOptions::new().append(true).create(true).mode(0o600).open(log)?;
        match file.try_lock() {
            Ok(()) => {}
            // A process that the last command left behind may hold the lock after the command's end.
            Err(TryLockError::WouldBlock) if status.exists() => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        if let Err(error) = fs::remove_file(&status)
            && error.kind() != io::ErrorKind::NotFound
        {
            return Err(error);
        }
        // The lock belongs to the open file, which the command inherits.
        shell(run, &status).stdout(file.try_clone()?).stderr(file).spawn().map(Some)
    }

    /// Fate of a command, whichever program has started it.
    pub fn fate(&mut self, run: &CommandRun<'_>) -> CommandFate {
        let CommandFiles { log, status } = self.files(run);
        let is_over = match self.children.get_mut(&key(run)).map(Child::try_wait) {
            Some(Ok(None)) => return CommandFate::Running,
            Some(Ok(Some(_)) | Err(_)) => {
                self.children.remove(&key(run));
                true
            }
            None => false,
        };
        let last_words = || tail(&log).map_or_else(|_| String::new(), |text| last_line(&text));
        if let Ok(text) = fs::read_to_string(&status) {
            return CommandFate::Ended { status: text.trim().parse().ok(), last_words: last_words() };
        }
        match File::open(&log).map(|file| file.try_lock()) {
            Ok(Err(TryLockError::WouldBlock)) => CommandFate::Running,
            Ok(_) if is_over => CommandFate::Ended { status: None, last_words: last_words() },
            _ => CommandFate::Unknown,
        }
    }

    /// Ends a command that this program has started, with all its children.
    pub fn kill(&mut self, run: &CommandRun<'_>) {
        if let Some(mut child) = self.children.remove(&key(run)) {
            let _ = kill_process_group(Pid::from_child(&child), Signal::KILL);
            let _ = child.wait();
        }
    }
}

fn key(run: &CommandRun<'_>) -> (JobMark, String) {
    (run.mark, run.node.to_owned())
}

fn shell(run: &CommandRun<'_>, status: &Path) -> Command {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", WRAPPER]).arg(script(run.command, run.node)).arg(run.node).arg(status);
    prepared(shell, run.node)
}

/// The command with its node, for the shell.
fn script(command: &str, node: &str) -> String {
    if command.contains(PLACE) { command.replace(PLACE, node) } else { format!(r#"{command} "$1""#) }
}

fn prepared(mut shell: Command, node: &str) -> Command {
    // In a process group of its own, the command gets no Ctrl-C, and outlives this program.
    shell.env("HTOOLS_NODE", node).stdin(Stdio::null()).process_group(0);
    // The command need not have the credentials for RAPI.
    for name in VARIABLES {
        shell.env_remove(name);
    }
    shell
}

/// The last part of a file.
fn tail(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL)))?;
    let mut text = Vec::new();
    file.take(TAIL).read_to_end(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::{Duration, Instant};

    use super::*;
    use htools_plan::graph::StepIdx;

    fn run<'c>(command: &'c str, node: &'c str) -> CommandRun<'c> {
        let mark = JobMark { step: StepIdx::new(6), part: 0 };
        CommandRun { mark, command, node, limit: Duration::from_secs(60) }
    }

    fn end(commands: &mut NodeCommands, run: &CommandRun<'_>) -> CommandFate {
        let began = Instant::now();
        loop {
            match commands.fate(run) {
                CommandFate::Running if began.elapsed() < Duration::from_secs(60) => {
                    thread::sleep(Duration::from_millis(20));
                }
                fate => return fate,
            }
        }
    }

    fn ended(status: i32, last_words: &str) -> CommandFate {
        CommandFate::Ended { status: Some(status), last_words: last_words.to_owned() }
    }

    #[test]
    fn commands_have_the_name_of_their_node() {
        let directory = tempfile::tempdir().unwrap();
        let journal = directory.path().join("j");
        let mut commands = NodeCommands::of_journal(&journal);
        for (command, fate) in [
            ("echo in {node} and \"$HTOOLS_NODE\" #", ended(0, ": in n1.example and n1.example")),
            ("f() { echo \"<$1>\"; }; f", ended(0, ": <n1.example>")),
            ("echo one; echo two >&2; exit 7 #", ended(7, ": two")),
            ("exec sh -c 'exit 255' #", ended(255, ": two")),
        ] {
            let run = run(command, "n1.example");
            assert_eq!(commands.fate(&run), CommandFate::Unknown);
            commands.start(&run).unwrap();
            assert_eq!(end(&mut commands, &run), fate, "{command}");
            fs::remove_file(commands.files(&run).status).unwrap();
            if fate == ended(0, ": <n1.example>") {
                fs::remove_file(commands.files(&run).log).unwrap();
            }
        }
        let odd = run("true", "n1; reboot");
        let why = commands.start(&odd).unwrap_err().to_string();
        assert!(why.contains("the name is not valid in Ganeti"), "{why}");
    }

    #[test]
    fn another_program_sees_how_a_command_ends() {
        let directory = tempfile::tempdir().unwrap();
        let journal = directory.path().join("j");
        let mark = directory.path().join("go");
        let command = format!("while ! test -e {}; do sleep 0.05; done; echo over; exit 3 #", mark.display());
        let run = run(&command, "n1");
        let mut first = NodeCommands::of_journal(&journal);
        first.start(&run).unwrap();
        let mut second = NodeCommands::of_journal(&journal);
        assert_eq!(second.fate(&run), CommandFate::Running);
        // It is not started twice.
        second.start(&run).unwrap();
        assert!(second.children.is_empty());
        fs::write(&mark, "").unwrap();
        assert_eq!(end(&mut second, &run), ended(3, ": over"));
        assert_eq!(end(&mut first, &run), ended(3, ": over"));
    }

    #[test]
    fn a_killed_command_has_no_status() {
        let directory = tempfile::tempdir().unwrap();
        let mut commands = NodeCommands::of_journal(&directory.path().join("j"));
        let run = run("sleep 60 & sleep 60 #", "n1");
        commands.start(&run).unwrap();
        assert_eq!(commands.fate(&run), CommandFate::Running);
        let pid = Pid::from_child(&commands.children[&key(&run)]);
        kill_process_group(pid, Signal::KILL).unwrap();
        assert_eq!(end(&mut commands, &run), CommandFate::Ended { status: None, last_words: String::new() });
        assert_eq!(end(&mut commands, &run), CommandFate::Unknown);
        commands.start(&run).unwrap();
        commands.kill(&run);
        assert_eq!(end(&mut commands, &run), CommandFate::Unknown);
    }
}
