//! A Ganeti (`vcluster`) or Pacemaker cluster (`pcluster`) on this machine: started, reset, and always shut down.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};

use crate::child::{self, Output};
use crate::scenarios::Kind;
use crate::system::{Script, System};
use crate::tools;

/// Our program in the directory of a cluster, for nodes that do not see this machine's.
pub const PROGRAM: &str = "htools";

/// Longest time for starting a cluster, also on a busy machine.
const UP: Duration = Duration::from_secs(1200);

/// Longest time for a reset or a shutdown.
const RESET: Duration = Duration::from_secs(600);

/// Longest time for a command on a node.
const EXEC: Duration = Duration::from_secs(300);

/// Clusters to shut down if the suite is interrupted.
static OURS: Mutex<Vec<(Script, PathBuf)>> = Mutex::new(Vec::new());

/// A running cluster.
pub struct Cluster {
    /// The script that started it.
    script: Script,
    directory: PathBuf,
    environment: BTreeMap<String, String>,
    /// Shuts the cluster down after the suite's end; none for a cluster that stays.
    janitor: Option<Child>,
}

impl Cluster {
    /// Starts the cluster of its kind with this number, from 1, in a new directory.
    pub fn up(kind: Kind, number: usize, keep: bool) -> anyhow::Result<Self> {
        let script = kind.script();
        // The path must be short, because that of a socket has at most 107 bytes.
        let number = if number == 1 { String::new() } else { number.to_string() };
        let name = format!("htools-live-{}-{}{number}", std::process::id(), kind.name());
        let directory = PathBuf::from("/tmp").join(name);
        ensure!(!directory.exists(), "{} is in the way", directory.display());
        let janitor = if keep { None } else { Some(janitor(script, &directory)?) };
        if !keep {
            OURS.lock().expect("no thread panics with the list").push((script, directory.clone()));
        }
        let mut cluster = Cluster { script, directory, environment: BTreeMap::new(), janitor };
        let mut command = cluster.script(&["up"]);
        child::run(command.envs(kind.settings().iter().copied()), UP)?.good().context("no cluster")?;
        cluster.environment = cluster.read_environment()?;
        cluster.take_program()?;
        Ok(cluster)
    }

    /// Uses a running cluster and leaves it running.
    pub fn attach(kind: Kind, directory: &Path) -> anyhow::Result<Self> {
        let (script, directory) = (kind.script(), directory.to_path_buf());
        let mut cluster = Cluster { script, directory, environment: BTreeMap::new(), janitor: None };
        cluster.environment = cluster.read_environment()?;
        cluster.reset()?;
        cluster.take_program()?;
        Ok(cluster)
    }

    /// Copies our program to where the nodes of another system see it.
    fn take_program(&self) -> anyhow::Result<()> {
        if self.system() != System::Own {
            self.copy_program()?;
        }
        Ok(())
    }

    /// Copies our program to the cluster's directory, and returns the copy.
    pub fn copy_program(&self) -> anyhow::Result<PathBuf> {
        let file = self.path(PROGRAM);
        fs::copy(tools::program(), &file)?;
        Ok(file)
    }

    /// Restores the state directly after the start, including job numbers.
    pub fn reset(&self) -> anyhow::Result<()> {
        // Files of scenarios that a reset does not remove.
        let _ = fs::remove_file(self.path("faults"));
        let _ = fs::remove_file(self.path("sync-seconds"));
        let _ = fs::remove_file(self.path("sync-rate"));
        child::run(&mut self.script(&["reset"]), RESET)?.good().context("cannot reset the cluster")?;
        Ok(())
    }

    /// Adds a promotable resource and its address to a Pacemaker cluster, until the next reset.
    pub fn add_promotable(&self) -> anyhow::Result<()> {
        let mut command = self.script(&["promotable"]);
        child::run(&mut command, EXEC)?.good().context("no promotable resource")?;
        Ok(())
    }

    /// A file of the cluster's directory.
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Value of a name in `vcluster env`.
    pub fn value(&self, name: &str) -> &str {
        self.environment.get(name).map_or("", String::as_str)
    }

    /// URL of the remote API, with user and password.
    pub fn login_url(&self) -> &str {
        self.value("GANETI_RAPI_LOGIN_URL")
    }

    /// Path of the master daemon's socket.
    pub fn socket(&self) -> &str {
        self.value("GANETI_LUXI_SOCKET")
    }

    /// Runs a command on the master; with `nodeN` as its first word, on that node.
    pub fn exec(&self, words: &[&str]) -> anyhow::Result<Output> {
        child::run(&mut self.command(words), EXEC)
    }

    /// The same command, not started yet.
    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = self.script(&["exec"]);
        command.args(words);
        command
    }

    /// Powers a node on or off, as if by its switch, and waits for the effect.
    pub fn power(&self, node: &str, state: &str) -> anyhow::Result<()> {
        fs::write(self.path("power").join(node), format!("{state}\n"))?;
        let seen = self.path("nodes").join(node).join("power");
        wait_for(&format!("{node} to power {state}"), EXEC, || {
            fs::read_to_string(&seen).is_ok_and(|text| text.trim() == state)
        })
    }

    fn read_environment(&self) -> anyhow::Result<BTreeMap<String, String>> {
        let output = child::run(&mut self.script(&["env"]), EXEC)?.good()?;
        let pairs = output.stdout.lines().filter_map(|line| line.strip_prefix("export ")?.split_once('='));
        Ok(pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
    }

    /// The system on which it runs.
    pub fn system(&self) -> System {
        self.script.system
    }

    fn script(&self, words: &[&str]) -> Command {
        self.script.command(&self.directory, words)
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let Some(mut janitor) = self.janitor.take() else { return };
        // The end of its input tells the janitor to start.
        drop(janitor.stdin.take());
        let _ = janitor.wait();
        OURS.lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
            .retain(|(_, path)| *path != self.directory);
    }
}

/// Checks that clusters can run on this machine, and installs the packages that these scripts need.
pub fn check_machine(scripts: &HashSet<Script>) -> anyhow::Result<()> {
    let missing = "a real cluster needs namespaces of its own";
    if !rustix::process::geteuid().is_root() {
        bail!("{missing}: run this as root");
    }
    for script in scripts {
        let mut command = script.command(Path::new("/tmp/htools-live"), &["install"]);
        child::run(&mut command, Duration::from_secs(1200))?.good().context(missing)?;
    }
    Ok(())
}

/// Shuts all clusters down at once, for an interrupted suite.
pub fn down_all() {
    let ours = OURS.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let started: Vec<_> =
        ours.iter().filter_map(|(script, path)| script.command(path, &["down"]).spawn().ok()).collect();
    for mut child in started {
        let _ = child.wait();
    }
}

/// Waits until `done` returns true.
pub fn wait_for(what: &str, limit: Duration, mut done: impl FnMut() -> bool) -> anyhow::Result<()> {
    let start = Instant::now();
    while !done() {
        ensure!(start.elapsed() < limit, "waited {} s for {what}", limit.as_secs());
        std::thread::sleep(Duration::from_millis(100));
    }
    Ok(())
}

/// A process that shuts the cluster down when this one ends, even if this one is killed.
fn janitor(script: Script, directory: &Path) -> anyhow::Result<Child> {
    let down = script.command(directory, &["down"]);
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", r#"trap "" INT TERM HUP; cat; exec "$0" "$@""#])
        .arg(down.get_program())
        .args(down.get_args())
        .env("VCLUSTER_DIR", directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .process_group(0);
    command.spawn().context("cannot start a shell")
}
