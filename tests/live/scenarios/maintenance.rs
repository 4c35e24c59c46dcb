//! Rolling maintenances: `hroller -X` reboots nodes, is killed at several points, and is resumed over LUXI and RAPI.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use anyhow::ensure;
use rustix::process::Signal;
use serde_json::Value;

use crate::child::{Output, Running};
use crate::cluster::Cluster;
use crate::tools;

/// Longest time of a whole maintenance.
const WHOLE: Duration = Duration::from_secs(900);
/// Times after which the program is killed, in tenths of seconds. They are of very different lengths, so that each
/// phase of a maintenance is hit.
const KILLS: [u64; 10] = [3, 17, 8, 41, 26, 70, 12, 55, 33, 90];

/// A maintenance on a cluster.
struct Maintenance<'c> {
    cluster: &'c Cluster,
    directory: tempfile::TempDir,
}

impl Maintenance<'_> {
    fn new(cluster: &Cluster) -> anyhow::Result<Maintenance<'_>> {
        let maintenance = Maintenance { cluster, directory: tempfile::tempdir()? };
        let power = cluster.path("power");
        let script = format!(
            "#!/bin/sh\nnode=${{1%%.*}}\necho \"$node\" >> {}\necho cycle > {}/$node\n",
            maintenance.path("reboots").display(),
            power.display()
        );
        fs::write(maintenance.path("reboot"), script)?;
        fs::set_permissions(maintenance.path("reboot"), fs::Permissions::from_mode(0o755))?;
        Ok(maintenance)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn command(&self, source: String) -> Command {
        let mut command = tools::ours("hroller");
        command.env("XDG_STATE_HOME", self.directory.path()).args([source, "--yes".to_owned()]);
        command
    }

    fn luxi(&self) -> String {
        format!("-L{}", self.cluster.socket())
    }

    fn rapi(&self) -> String {
        format!("-m{}", self.cluster.login_url())
    }

    fn begin(&self) -> anyhow::Result<Running> {
        let mut command = self.command(self.luxi());
        command
            .args(["-X", "--skip-master", "--max-down=2", "--boot-timeout=120s", "--check-timeout=120s"])
            .arg("--node-command")
            .arg(self.path("reboot"))
            .arg("--journal")
            .arg(self.path("journal"));
        Running::start(&mut command)
    }

    fn resume(&self, source: String) -> anyhow::Result<Running> {
        Running::start(self.command(source).arg("--resume").arg(self.path("journal")))
    }

    /// The history has one run, with a line for each batch, whose moves are done.
    fn is_recorded(&self) -> anyhow::Result<()> {
        let history = fs::read_to_string(self.path("htools/history.jsonl"))?;
        let lines: Vec<Value> = history.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
        let runs: BTreeSet<Option<u64>> = lines.iter().map(|line| line["run"].as_u64()).collect();
        let batches = lines.iter().filter(|line| line["event"] == "batch").count();
        let outcomes = lines.last().and_then(|line| line["outcomes"].as_array());
        let is_done = outcomes.is_some_and(|all| !all.is_empty() && all.iter().all(|one| one == "done"));
        ensure!(runs.len() == 1 && batches >= 2 && is_done, "the history is {history}");
        Ok(())
    }

    /// Number of reboots of each node.
    fn reboots(&self) -> BTreeMap<String, usize> {
        let text = fs::read_to_string(self.path("reboots")).unwrap_or_default();
        let mut counts = BTreeMap::new();
        text.lines().for_each(|node| *counts.entry(node.to_owned()).or_default() += 1);
        counts
    }
}

/// Boot ID of each node that is not the master, and the places of all instances.
fn look(cluster: &Cluster) -> anyhow::Result<(String, String)> {
    let list = |words: &[&str]| Ok::<_, anyhow::Error>(cluster.exec(words)?.good()?.stdout);
    let nodes = list(&["gnt-node", "list", "--no-headers", "--separator=:", "-o", "name,drained,offline"])?;
    let fields = "name,pnode,snodes,status";
    Ok((nodes, list(&["gnt-instance", "list", "--no-headers", "--separator=:", "-o", fields])?))
}

fn is_over(output: &Output, cluster: &Cluster, before: &(String, String)) -> anyhow::Result<()> {
    ensure!(output.stdout.ends_with("3 nodes maintained\n"), "not all nodes are done{}", output.streams());
    let after = look(cluster)?;
    tools::same_text("nodes", &before.0, &after.0)?;
    tools::same_text("instances", &before.1, &after.1)
}

/// The program is killed again and again, and resumed over LUXI and RAPI. Each node is rebooted once, and everything
/// is in its place in the end.
pub fn killed_and_resumed(cluster: &Cluster) -> anyhow::Result<()> {
    let maintenance = Maintenance::new(cluster)?;
    let before = look(cluster)?;
    let mut running = maintenance.begin()?;
    let mut sources = [maintenance.rapi(), maintenance.luxi()].into_iter().cycle();
    for tenths in KILLS {
        thread::sleep(Duration::from_millis(tenths * 100));
        running.signal(Signal::KILL)?;
        running.wait(WHOLE)?;
        // A program that was killed before it wrote a journal did nothing.
        let journal = maintenance.path("journal");
        running = match (Path::new(&journal).exists(), sources.next()) {
            (true, Some(source)) => maintenance.resume(source)?,
            _ => maintenance.begin()?,
        };
    }
    let output = running.wait(WHOLE)?.good()?;
    is_over(&output, cluster, &before)?;
    let expected = ["node2", "node3", "node4"].map(|node| (node.to_owned(), 1));
    ensure!(maintenance.reboots() == BTreeMap::from(expected), "reboots: {:?}", maintenance.reboots());
    maintenance.is_recorded()
}

/// A node whose command fails stays drained and is named, the others are put back into use, and nobody else is rebooted.
/// The resumed run repeats the command.
pub fn failed_and_resumed(cluster: &Cluster) -> anyhow::Result<()> {
    let maintenance = Maintenance::new(cluster)?;
    let before = look(cluster)?;
    let good = fs::read_to_string(maintenance.path("reboot"))?;
    fs::write(maintenance.path("reboot"), "#!/bin/sh\necho no kernel for you\nexit 3\n")?;
    let output = maintenance.begin()?.wait(WHOLE)?.expect(1)?;
    let named = |line: &str| {
        line.contains("(still marked)")
            && line.ends_with("the command failed with exit status 3: no kernel for you")
    };
    let marked = output.stderr.lines().filter(|line| named(line)).count();
    let drained = look(cluster)?.0.lines().filter(|line| line.contains(":Y:")).count();
    ensure!(marked > 0 && marked == drained, "{drained} nodes are drained{}", output.streams());
    fs::write(maintenance.path("reboot"), good)?;
    let output = maintenance.resume(maintenance.luxi())?.wait(WHOLE)?.good()?;
    is_over(&output, cluster, &before)?;
    ensure!(maintenance.reboots().values().all(|count| *count == 1), "{:?}", maintenance.reboots());
    Ok(())
}
