//! A cluster on this machine, of Ganeti (`vcluster`) or of Pacemaker (`pcluster`): up, reset, down whatever happens.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};

use crate::child::{self, Output};
use crate::scenarios::Kind;

/// What brings clusters up.
const SCRIPTS: [&str; 2] = [GANETI, PACEMAKER];
/// The same for those of Ganeti.
pub const GANETI: &str = "vcluster";
/// The same for those of Pacemaker.
pub const PACEMAKER: &str = "pcluster";

/// Longest time for one that is brought up, on a busy machine, too.
const UP: Duration = Duration::from_secs(1200);

/// Longest time for one that is reset, or taken down.
const RESET: Duration = Duration::from_secs(600);

/// Longest time for a command on a node.
const EXEC: Duration = Duration::from_secs(300);

/// Clusters to take down when the suite is interrupted.
static OURS: Mutex<Vec<(&str, PathBuf)>> = Mutex::new(Vec::new());

/// A cluster that runs.
pub struct Cluster {
    /// What brings it up.
    script: &'static str,
    directory: PathBuf,
    environment: BTreeMap<String, String>,
    /// Takes the cluster down when the suite is no more; none for a cluster that stays.
    janitor: Option<Child>,
}

impl Cluster {
    /// Brings a cluster up in a new directory.
    pub fn up(kind: Kind, keep: bool) -> anyhow::Result<Self> {
        let script = kind.script();
        // short: the path of a socket has 107 bytes at most
        let directory = PathBuf::from(format!("/tmp/htools-live-{}-{}", std::process::id(), kind.name()));
        ensure!(!directory.exists(), "{} is in the way", directory.display());
        let janitor = if keep { None } else { Some(janitor(script, &directory)?) };
        if !keep {
            OURS.lock().expect("no thread panics with the list").push((script, directory.clone()));
        }
        let mut cluster = Cluster { script, directory, environment: BTreeMap::new(), janitor };
        let mut command = cluster.script(&["up"]);
        child::run(command.envs(kind.settings().iter().copied()), UP)?.good().context("no cluster")?;
        cluster.environment = cluster.read_environment()?;
        Ok(cluster)
    }

    /// Uses a cluster that runs, and leaves it running.
    pub fn attach(kind: Kind, directory: &Path) -> anyhow::Result<Self> {
        let (script, directory) = (kind.script(), directory.to_path_buf());
        let mut cluster = Cluster { script, directory, environment: BTreeMap::new(), janitor: None };
        cluster.environment = cluster.read_environment()?;
        cluster.reset()?;
        Ok(cluster)
    }

    /// Puts everything back to how it was when the cluster was up, job numbers included.
    pub fn reset(&self) -> anyhow::Result<()> {
        // what scenarios leave in files that a reset does not know
        let _ = fs::remove_file(self.path("faults"));
        let _ = fs::remove_file(self.path("sync-seconds"));
        let _ = fs::remove_file(self.path("sync-rate"));
        child::run(&mut self.script(&["reset"]), RESET)?.good().context("cannot reset the cluster")?;
        Ok(())
    }

    /// A file of the cluster's directory.
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// What `vcluster env` says of the name.
    pub fn value(&self, name: &str) -> &str {
        self.environment.get(name).map_or("", String::as_str)
    }

    /// The remote API, with user and password.
    pub fn login_url(&self) -> &str {
        self.value("GANETI_RAPI_LOGIN_URL")
    }

    /// The master daemon's socket.
    pub fn socket(&self) -> &str {
        self.value("GANETI_LUXI_SOCKET")
    }

    /// Runs a command on the master; with `nodeN` as its first word, on that node.
    pub fn exec(&self, words: &[&str]) -> anyhow::Result<Output> {
        child::run(&mut self.command(words), EXEC)
    }

    /// The same command, to be run.
    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = self.script(&["exec"]);
        command.args(words);
        command
    }

    /// Powers a node on or off, as its owner would with the switch, and waits until it is.
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

    fn script(&self, words: &[&str]) -> Command {
        script(self.script, &self.directory, words)
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let Some(mut janitor) = self.janitor.take() else { return };
        // the end of its input is the janitor's sign
        drop(janitor.stdin.take());
        let _ = janitor.wait();
        OURS.lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
            .retain(|(_, path)| *path != self.directory);
    }
}

/// Installs what clusters need, and says why there can be none.
pub fn check_machine() -> anyhow::Result<()> {
    let missing = "a real cluster needs namespaces of its own";
    if !rustix::process::geteuid().is_root() {
        bail!("{missing}: run this as root");
    }
    for name in SCRIPTS {
        let mut command = script(name, Path::new("/tmp/htools-live"), &["install"]);
        child::run(&mut command, Duration::from_secs(1200))?.good().context(missing)?;
    }
    Ok(())
}

/// Takes all clusters down at once, for a suite that was interrupted.
pub fn down_all() {
    let ours = OURS.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let started: Vec<_> =
        ours.iter().filter_map(|(name, path)| script(name, path, &["down"]).spawn().ok()).collect();
    for mut child in started {
        let _ = child.wait();
    }
}

/// Waits until `done`.
pub fn wait_for(what: &str, limit: Duration, mut done: impl FnMut() -> bool) -> anyhow::Result<()> {
    let start = Instant::now();
    while !done() {
        ensure!(start.elapsed() < limit, "waited {} s for {what}", limit.as_secs());
        std::thread::sleep(Duration::from_millis(100));
    }
    Ok(())
}

/// A process that takes the cluster down when this one ends, even if it is killed.
fn janitor(name: &str, directory: &Path) -> anyhow::Result<Child> {
    let script = script(name, directory, &["down"]);
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", r#"trap "" INT TERM HUP; cat; exec "$0" down"#])
        .arg(script.get_program())
        .env("VCLUSTER_DIR", directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .process_group(0);
    command.spawn().context("cannot start a shell")
}

fn script(name: &str, directory: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/live").join(name));
    command.args(words).env("VCLUSTER_DIR", directory);
    command
}
