//! Malformed input of all kinds: each run ends with a clear message and the right status, does not panic, and leaves
//! no file behind.

mod clusters;
mod estimates;
mod maintenance;
mod mistakes;
mod names;
mod options;
mod other_files;
mod output;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_htools");

/// A directory with a few files, in which the program runs.
struct Place {
    directory: TempDir,
}

/// Result of a run.
struct Run {
    status: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Place {
    fn new() -> Place {
        Place { directory: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.path(name), content).unwrap();
    }

    fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(self.directory.path()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        command.env_remove("HTOOLS").env("LC_ALL", "C.UTF-8").current_dir(self.directory.path()).args(words);
        command
    }

    /// Runs the program. No file may appear or vanish.
    fn run(&self, words: &[&str]) -> Run {
        let before = self.files();
        let run = Run::of(self.command(words), words);
        assert_eq!(self.files(), before, "{words:?} left files");
        run
    }

    /// Checks a run that fails with status 1 and one line on standard error.
    fn fails(&self, words: &[&str], message: &str) -> Run {
        let run = self.run(words);
        assert_eq!(run.stderr, format!("Error: {message}\n"), "{words:?}");
        assert_eq!(run.status, Some(1), "{words:?}");
        run
    }

    /// Checks that no tool loads this cluster.
    fn refuses(&self, content: impl AsRef<[u8]>, message: &str) {
        self.write("c.data", content);
        for tool in ["hbal", "hinfo", "hspace", "hcheck", "hsqueeze"] {
            let list = if matches!(tool, "hcheck" | "hsqueeze") { "-q" } else { "-p" };
            let run = self.fails(
                &[tool, "-t", "c.data", list, "-v", "-v"],
                &format!("failed to load data, aborting: c.data{message}"),
            );
            assert_eq!(run.stdout, "");
        }
    }

    /// Checks that an odd cluster is accepted, as in the reference.
    fn accepts(&self, content: &str) {
        self.write("c.data", content);
        let tools: [&[&str]; 8] = [
            &["hsqueeze", "-t", "c.data", "-v", "-C"],
            &["hsqueeze", "-t", "c.data", "--json", "--all", "--minimal-resources=1e300"],
            &["hbal", "-t", "c.data", "-v", "-v", "-v", "-v", "-v", "-p", "--print-instances", "-C"],
            &["hinfo", "-t", "c.data", "-v", "-v", "-v", "-p", "--print-instances"],
            &["hbal", "-t", "c.data", "--json"],
            &["hbal", "-t", "c.data", "--all-groups", "-v", "-v", "-v", "-v", "-v", "-p", "-C"],
            &["hbal", "-t", "c.data", "--worst-group", "--json"],
            &["hcheck", "-t", "c.data", "--no-simulation", "--list-problems"],
        ];
        for words in tools {
            let run = self.run(words);
            assert_eq!(run.status, Some(0), "{words:?}: {}", run.stderr);
        }
        // These may answer with no: a fault was found, or there is no plan.
        let judges: [&[&str]; 9] = [
            &["hcheck", "-t", "c.data", "--json"],
            &["hgroup", "status", "-t", "c.data", "-v", "-p"],
            &["hgroup", "status", "-t", "c.data", "--svg"],
            &["hgroup", "redistribute", "-t", "c.data", "-C", "-v"],
            &["hgroup", "compress", "-t", "c.data", "--evacuate", "-v"],
            &["hgroup", "compress", "-t", "c.data", "--no-capacity-checks", "--json"],
            &["hgroup", "balance", "-t", "c.data", "-C", "-l", "20"],
            &["hroller", "-f", "-t", "c.data", "-v", "-v", "-v", "--print-moves", "--full-evacuation", "-C"],
            &["hroller", "-f", "-t", "c.data", "--migrate-shared", "--honour-run-state", "--json"],
        ];
        for words in judges {
            let run = self.run(words);
            assert!(matches!(run.status, Some(0 | 1)), "{words:?}: {}", run.stderr);
        }
    }
}

impl Run {
    fn of(mut command: Command, words: &[&str]) -> Run {
        let output = command.stdin(Stdio::null()).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        let run =
            Run { status: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) };
        for word in ["panicked", "RUST_BACKTRACE", "src/", ".rs:"] {
            assert!(!run.stderr.contains(word), "{words:?}: {}", run.stderr);
        }
        assert!(run.stderr.lines().all(|line| line.chars().count() < 600), "{words:?}: {}", run.stderr);
        run
    }
}

/// A sample by its absolute name.
fn sample(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data").join(name).to_str().unwrap().to_owned()
}

/// The first sample with something replaced.
fn changed(from: &str, to: &str) -> String {
    let text = fs::read_to_string(sample("unbalanced-drbd.data")).unwrap();
    let new = text.replacen(from, to, 1);
    assert_ne!(new, text, "{from} is not there");
    new
}
