//! The crm_simulate with which hplace is compared: the installed one, or that of another system.

use std::fs;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU64, Ordering};

use htools::pacemaker::Release;

/// Names of functions in the answers of Pacemaker 3.0, and those that 2.1.5 has for them.
const FORMER: [(&str, &str); 2] = [
    ("pcmk__clone_assign: ", "pcmk__clone_allocate: "),
    ("pcmk__assign_resource: ", "pcmk__finalize_assignment: "),
];

/// It says this if some actions of its graph cannot be carried out.
const STUCK: &str = "An invalid transition was produced";
/// Seconds after which a crm_simulate that does not end is stopped. It needs less than one for most documents.
const MOST_SECONDS: &str = "60";
/// The exit status of `timeout` in that case.
const TIMED_OUT: i32 = 124;

/// A crm_simulate.
#[derive(Debug, Clone)]
pub struct Simulator {
    /// The root directory of its system; none for this one.
    root: Option<PathBuf>,
    /// Its release.
    release: Release,
}

/// The loss of a node.
#[derive(Debug, Clone, Copy)]
pub struct Loss<'a> {
    /// The node.
    pub node: &'a str,
    /// File for the document of the cluster that has just lost it.
    pub input: &'a Path,
}

/// An answer of crm_simulate, in the words of Pacemaker 2.1.5.
pub struct Answer {
    /// The lines of its standard output, without bullets.
    pub text: String,
    /// Its graph.
    pub dot: String,
    /// True if some actions of the graph cannot be carried out.
    pub gets_stuck: bool,
}

/// A file that a simulator reads or writes. It is removed in the end.
struct ExchangedFile {
    /// Its path in the system of the simulator.
    inside: String,
    /// Its path here.
    outside: PathBuf,
}

impl Drop for ExchangedFile {
    fn drop(&mut self) {
        // It need not exist.
        let _ = fs::remove_file(&self.outside);
    }
}

impl Simulator {
    /// Finds the crm_simulate of the system in a directory, or the installed one.
    ///
    /// # Errors
    /// Fails if it cannot be run.
    pub fn find(root: Option<&Path>) -> io::Result<Simulator> {
        let mut simulator = Simulator { root: root.map(Path::to_owned), release: Release::default() };
        let version = simulator.output(&["--version"])?;
        let version = String::from_utf8_lossy(&version.stdout);
        if version.starts_with("Pacemaker 3.") {
            let is_first = version.starts_with("Pacemaker 3.0.0");
            simulator.release = if is_first { Release::V3_0_0 } else { Release::V3_0_2 };
        }
        Ok(simulator)
    }

    /// The release that hplace must play to give the same answers.
    pub fn release(&self) -> Release {
        self.release
    }

    /// Its answer about a document; `None` if an assertion of it fails, or if it does not end.
    ///
    /// # Errors
    /// Fails if it cannot be run, if it refuses the document (`InvalidData`), or if files cannot be read or written.
    pub fn answer(&self, file: &Path) -> io::Result<Option<Answer>> {
        let (input, dot) = (self.exchanged("xml"), self.exchanged("dot"));
        fs::copy(file, &input.outside)?;
        let output = self.output(&["-x", &input.inside, "-S", "-s", "-U", "-D", &dot.inside])?;
        // crm_simulate does not write a graph if it fails.
        let graph = fs::read_to_string(&dot.outside);
        if output.status.signal().is_some() || output.status.code() == Some(TIMED_OUT) {
            return Ok(None);
        }
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let gets_stuck = said.contains(STUCK);
        if !output.status.success() && !gets_stuck {
            return Err(io::Error::new(io::ErrorKind::InvalidData, said));
        }
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        Ok(Some(Answer { text: in_former_words(&text), dot: graph?, gets_stuck }))
    }

    /// Carries out the actions of a cluster, after a loss if there is one, and writes its new document. Returns what it
    /// tells; `None` if the actions do not come to an end.
    ///
    /// # Errors
    /// Fails if it cannot be run.
    pub fn carry_out(&self, from: &Path, to: &Path, lost: Option<Loss<'_>>) -> io::Result<Option<String>> {
        let (source, target) = (self.exchanged("xml"), self.exchanged("xml"));
        let input = lost.map(|loss| (self.exchanged("xml"), loss));
        fs::copy(from, &source.outside)?;
        let mut arguments = vec!["-S", "-x", &source.inside, "-O", &target.inside];
        if let Some((input, loss)) = &input {
            arguments.extend(["--node-fail", loss.node, "-I", &input.inside]);
        }
        let output = self.output(&arguments)?;
        if !output.status.success() {
            return Ok(None);
        }
        fs::copy(&target.outside, to)?;
        if let Some((input, loss)) = &input {
            fs::copy(&input.outside, loss.input)?;
        }
        Ok(Some(String::from_utf8_lossy(&output.stdout).into_owned()))
    }

    /// A new name for a file that both systems see.
    fn exchanged(&self, extension: &str) -> ExchangedFile {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("htools-{}-{number}.{extension}", std::process::id());
        match &self.root {
            None => {
                let path = std::env::temp_dir().join(name);
                ExchangedFile { inside: path.to_string_lossy().into_owned(), outside: path }
            }
            Some(root) => {
                ExchangedFile { outside: root.join("tmp").join(&name), inside: format!("/tmp/{name}") }
            }
        }
    }

    fn output(&self, arguments: &[&str]) -> io::Result<Output> {
        let mut command = match &self.root {
            None => {
                let mut command = Command::new("timeout");
                command.args([MOST_SECONDS, "crm_simulate"]);
                command
            }
            Some(root) => {
                let mut command = Command::new("chroot");
                command.arg(root).args(["timeout", MOST_SECONDS, "crm_simulate"]);
                command
            }
        };
        command.args(arguments).output().map_err(|e| {
            let hint = "crm_simulate cannot be run (Debian: pacemaker-cli-utils)";
            io::Error::new(e.kind(), format!("{hint}: {e}"))
        })
    }
}

/// An answer in the words of Pacemaker 2.1.5, without bullets.
pub fn in_former_words(answer: &str) -> String {
    let former = |line: &str| {
        let line = line.trim_start().trim_start_matches("* ");
        let known = FORMER.iter().find_map(|(new, former)| Some((former, line.strip_prefix(new)?)));
        known.map_or_else(|| line.to_owned(), |(former, rest)| format!("{former}{rest}"))
    };
    answer.lines().map(|line| former(line) + "\n").collect()
}
