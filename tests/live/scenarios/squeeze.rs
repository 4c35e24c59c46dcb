//! Nights and mornings: our hsqueeze powers nodes down and up again, and handles failures on the way.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, ensure};
use serde_json::{Value, json};

use super::failure::said;
use super::hbal::{GOT, WHOLE};
use super::placement::placements;
use crate::child::{self, Output, Running};
use crate::cluster::{Cluster, wait_for};
use crate::luxi;
use crate::tools::{self, READING};

/// Reserves for which the shared cluster needs two of its nodes.
const NIGHT: &[&str] = &["--minimal-resources=1", "--target-resources=2"];
/// Reserves for which it needs all of its nodes; they exceed its capacity.
const MORNING: &[&str] = &["--minimal-resources=40", "--target-resources=41"];
/// A tag of the administrator.
const OWN: &str = "pink:bunny";
/// The tag of nodes that were powered down and had no other such tag.
const AUTO: &str = "htools:standby:auto";

/// Ganeti's data of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Node {
    name: String,
    role: String,
    tags: Vec<String>,
    instances: usize,
}

/// Our hsqueeze on a cluster.
struct Squeeze<'a> {
    cluster: &'a Cluster,
    access: Vec<String>,
    directory: tempfile::TempDir,
}

impl<'a> Squeeze<'a> {
    fn over_luxi(cluster: &'a Cluster) -> anyhow::Result<Self> {
        let access = vec![format!("--luxi={}", cluster.socket())];
        Ok(Squeeze { cluster, access, directory: tempfile::tempdir()? })
    }

    /// Over the remote API. A command that keeps a record switches the power.
    fn over_rapi(cluster: &'a Cluster) -> anyhow::Result<Self> {
        let directory = tempfile::tempdir()?;
        let command = directory.path().join("switch");
        let (record, refusal) = (directory.path().join("record"), directory.path().join("refuses"));
        let script = format!(
            "#!/bin/sh\necho \"$*\" >> {}\nif [ -e {} ]; then echo the rack is dead >&2; exit 1; fi\necho \"$1\" > {}/\"${{2%%.*}}\"\n",
            record.display(),
            refusal.display(),
            cluster.path("power").display(),
        );
        fs::write(&command, script)?;
        fs::set_permissions(&command, fs::Permissions::from_mode(0o755))?;
        let access = vec![
            format!("--master={}", cluster.login_url()),
            format!("--power-command={}", command.display()),
        ];
        Ok(Squeeze { cluster, access, directory })
    }

    fn command(&self, options: &[&str]) -> Command {
        let mut command = tools::ours("hsqueeze");
        command.args(&self.access).args(options).env("XDG_STATE_HOME", self.directory.path());
        command
    }

    fn run(&self, options: &[&str]) -> anyhow::Result<Output> {
        child::run(&mut self.command(options), WHOLE)
    }

    /// Executes a plan for these reserves.
    fn execute(&self, reserves: &[&str], more: &[&str]) -> anyhow::Result<Output> {
        self.run(&[&["-X", "--yes"], reserves, more].concat())
    }

    fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn nodes(&self) -> anyhow::Result<Vec<Node>> {
        let fields = json!(["node", ["name", "role", "tags", "pinst_cnt", "sinst_cnt"], null]);
        let answer = luxi::call(self.cluster.socket(), "Query", fields)?;
        let row = |row: &Value| {
            let text = |at: usize| row[at][1].as_str().map(str::to_owned);
            let tags = row[2][1].as_array()?.iter().filter_map(Value::as_str).map(str::to_owned).collect();
            let instances = row[3][1].as_u64()? + row[4][1].as_u64()?;
            let name = text(0)?.split('.').next()?.to_owned();
            Some(Node { name, role: text(1)?, tags, instances: usize::try_from(instances).ok()? })
        };
        let rows = answer["data"].as_array().context("no nodes")?;
        rows.iter().map(row).collect::<Option<_>>().context("odd nodes")
    }

    /// Short names of the offline nodes; checks that no node is drained.
    fn offline(&self) -> anyhow::Result<Vec<String>> {
        let nodes = self.nodes()?;
        let drained: Vec<&Node> = nodes.iter().filter(|node| node.role == "D").collect();
        ensure!(drained.is_empty(), "drained nodes were left: {drained:?}");
        let off = nodes.into_iter().filter(|node| node.role == "O");
        Ok(off.map(|node| node.name).collect())
    }

    /// Tells if the node's power is on.
    fn has_power(&self, node: &str) -> anyhow::Result<bool> {
        Ok(fs::read_to_string(self.cluster.path("power").join(node))?.trim() == "on")
    }

    /// Checks that exactly these nodes are offline and without power, that nothing is on them, and that all instances
    /// run.
    fn only_off(&self, wanted: &[&str]) -> anyhow::Result<()> {
        let offline = self.offline()?;
        ensure!(offline == wanted, "offline are {offline:?}, not {wanted:?}");
        for node in self.nodes()? {
            let (on, off) = (self.has_power(&node.name)?, wanted.contains(&&*node.name));
            ensure!(on != off, "power of {}: {on}", node.name);
            ensure!(!off || node.instances == 0, "an instance on {node:?}");
            let auto = node.tags.iter().any(|tag| tag == AUTO);
            ensure!(off || !auto, "{node:?} is still called a standby node");
        }
        let down: Vec<_> =
            placements(self.cluster)?.into_iter().filter(|(_, p)| p.status != "running").collect();
        ensure!(down.is_empty(), "instances that do not run: {down:?}");
        Ok(())
    }

    fn tags(&self, node: &str) -> anyhow::Result<Vec<String>> {
        let nodes = self.nodes()?;
        Ok(nodes.into_iter().find(|there| there.name == node).context("no such node")?.tags)
    }

    /// Ganeti's helper program for switching power, on the master.
    fn helper(&self) -> PathBuf {
        self.cluster.path("nodes").join("node1/etc/ganeti/oob/oob")
    }

    /// Replaces Ganeti's helper; the new one can call the old one as `OLD`.
    fn replace_helper(&self, script: &str) -> anyhow::Result<()> {
        let (helper, old) = (self.helper(), self.helper().with_extension("old"));
        fs::copy(&helper, &old)?;
        fs::write(&helper, format!("#!/bin/bash\nOLD=/etc/ganeti/oob/oob.old\n{script}\n"))?;
        Ok(())
    }

    fn restore_helper(&self) -> anyhow::Result<()> {
        fs::rename(self.helper().with_extension("old"), self.helper()).context("cannot restore the helper")
    }
}

/// A whole night and the morning after it, over the master daemon.
pub fn over_luxi(cluster: &Cluster) -> anyhow::Result<()> {
    night_and_morning(&Squeeze::over_luxi(cluster)?)
}

/// The same over the remote API.
pub fn over_rapi(cluster: &Cluster) -> anyhow::Result<()> {
    let squeeze = Squeeze::over_rapi(cluster)?;
    // Without a way to switch the power, nothing is changed or even read.
    let before = luxi::newest(cluster.socket())?;
    let mut command = tools::ours("hsqueeze");
    command.arg(&squeeze.access[0]).args(["-X", "--yes"]).args(NIGHT);
    let output = child::run(command.env("XDG_STATE_HOME", squeeze.directory.path()), READING)?.expect(1)?;
    said(&output.stderr, &["--power-command"])?;
    ensure!(output.stdout.is_empty(), "a plan without power{}", output.streams());
    ensure!(luxi::newest(cluster.socket())? == before, "jobs without power");
    night_and_morning(&squeeze)?;
    let record = fs::read_to_string(squeeze.file("record"))?;
    let wanted = ["off node3.vc.test", "off node4.vc.test", "on node3.vc.test", "on node4.vc.test"];
    // The run with a cooldown follows; it may free another node.
    let switched: Vec<&str> = record.lines().take(4).collect();
    ensure!(switched == wanted, "switched were {switched:?}");
    Ok(())
}

fn night_and_morning(squeeze: &Squeeze<'_>) -> anyhow::Result<()> {
    let cluster = squeeze.cluster;
    cluster.exec(&["gnt-node", "add-tags", "node3.vc.test", "htools:standby:10", OWN])?.good()?;
    squeeze.only_off(&[])?;
    let before = placements(cluster)?;
    // This run only shows the plan.
    let output = squeeze.run(&[NIGHT, &["--detailed-status"]].concat())?.expect(3)?;
    let plan = "'Nodes to offline'\nnode3.vc.test\nnode4.vc.test\n";
    ensure!(output.stdout == plan, "an odd plan{}", output.streams());
    ensure!(placements(cluster)? == before, "looking has changed something");
    let output = squeeze.execute(NIGHT, &["--detailed-status"])?.expect(4)?;
    let rest = output.stdout.strip_prefix(plan).context("no plan")?;
    ensure!(
        !rest.is_empty() && rest.lines().all(|line| line.starts_with(GOT)),
        "odd lines{}",
        output.streams()
    );
    squeeze.only_off(&["node3", "node4"])?;
    let (third, fourth) = (squeeze.tags("node3")?, squeeze.tags("node4")?);
    ensure!(!third.iter().any(|tag| tag == AUTO) && third.iter().any(|tag| tag == OWN), "{third:?}");
    ensure!(fourth.iter().any(|tag| tag == AUTO), "{fourth:?}");
    let size = "htools:standby-size:16384/";
    ensure!([&third, &fourth].iter().all(|tags| tags.iter().any(|tag| tag.starts_with(size))), "{third:?}");
    // The second time, there is nothing to do and nothing is printed.
    let output = squeeze.execute(NIGHT, &["-q", "--detailed-status"])?.good()?;
    ensure!(output.stdout.is_empty(), "said although there was nothing to do{}", output.streams());
    squeeze.only_off(&["node3", "node4"])?;

    // The morning, with output for a mail; node3 comes first because it has a number.
    let output = squeeze.execute(MORNING, &["-q", "--max-nodes=1", "--detailed-status"])?.expect(4)?;
    said(&output.stdout, &["hsqueeze: powered up 1 node (node3.vc.test) with "])?;
    ensure!(output.stdout.lines().count() == 1, "not one line{}", output.streams());
    squeeze.only_off(&["node4"])?;
    squeeze.execute(MORNING, &[])?.good()?;
    squeeze.only_off(&[])?;
    let third = squeeze.tags("node3")?;
    ensure!(["htools:standby:10", OWN].iter().all(|tag| third.iter().any(|t| t == tag)), "{third:?}");
    let empty: Vec<Node> = squeeze.nodes()?.into_iter().filter(|node| node.instances == 0).collect();
    ensure!(empty.is_empty(), "nodes that came up and got nothing: {empty:?}");
    // Nodes that were switched recently are left alone.
    let output = squeeze.execute(NIGHT, &["--cooldown=1h"])?.good()?;
    ensure!(!output.stdout.contains("node3") && !output.stdout.contains("node4"), "{}", output.streams());
    // The reference's tools see the same.
    tools::compare(cluster.system(), "hinfo", &["-p", &format!("--luxi={}", cluster.socket())])?;
    Ok(())
}

/// The power does not go off: the node stays out of use, and the others come back.
pub fn power_off_fails(cluster: &Cluster) -> anyhow::Result<()> {
    let squeeze = Squeeze::over_luxi(cluster)?;
    squeeze.replace_helper(
        "[[ $1 == power-off && $2 == node3* ]] && { echo no current >&2; exit 1; }\nexec $OLD \"$@\"",
    )?;
    let output = squeeze.execute(NIGHT, &[])?.expect(1)?;
    said(
        &output.stderr,
        &[
            "power off node 'node3.vc.test': job ",
            "no current",
            "node3.vc.test stays offline and may still have power",
            "taken back: set online node4.vc.test",
        ],
    )?;
    let offline = squeeze.offline()?;
    ensure!(
        offline == ["node3"] && squeeze.has_power("node3")? && squeeze.has_power("node4")?,
        "{offline:?}"
    );
    ensure!(!squeeze.tags("node4")?.iter().any(|tag| tag.starts_with("htools:")), "tags were left");
    squeeze.restore_helper()?;
    // The next night continues.
    squeeze.execute(NIGHT, &[])?.good()?;
    let offline = squeeze.offline()?;
    ensure!(offline == ["node3", "node4"] && !squeeze.has_power("node4")?, "{offline:?}");
    Ok(())
}

/// The same with a power command.
pub fn power_command_fails(cluster: &Cluster) -> anyhow::Result<()> {
    let squeeze = Squeeze::over_rapi(cluster)?;
    fs::write(squeeze.file("refuses"), "")?;
    let output = squeeze.execute(NIGHT, &["-q"])?.expect(1)?;
    said(
        &output.stderr,
        &["power off node 'node3.vc.test': ", "the rack is dead", "taken back: set online node4.vc.test"],
    )?;
    ensure!(output.stdout.contains("hsqueeze: powered down no node, with "), "{}", output.streams());
    ensure!(squeeze.offline()? == ["node3"], "{:?}", squeeze.nodes()?);
    fs::remove_file(squeeze.file("refuses"))?;
    squeeze.execute(MORNING, &[])?.good()?;
    squeeze.only_off(&[])
}

/// One node does not come up, and another one gets power but does not answer. Other nodes are tried instead.
pub fn power_on_fails(cluster: &Cluster) -> anyhow::Result<()> {
    let squeeze = Squeeze::over_luxi(cluster)?;
    squeeze.execute(NIGHT, &[])?.good()?;
    squeeze.replace_helper(
        "[[ $1 == power-on && $2 == node3* ]] && { echo no current >&2; exit 1; }\nexec $OLD \"$@\"",
    )?;
    let output = squeeze.execute(MORNING, &[])?.expect(1)?;
    said(
        &output.stderr,
        &["power on node 'node3.vc.test': job ", "no current", "powered up 1 node (node4.vc.test)"],
    )?;
    squeeze.only_off(&["node3"])?;
    squeeze.restore_helper()?;
    // For all that anyone can see, it gets power.
    squeeze.replace_helper("[[ $1 == power-on ]] && exit 0\nexec $OLD \"$@\"")?;
    let output = squeeze.execute(MORNING, &["--boot-timeout=15"])?.expect(1)?;
    said(&output.stderr, &["wait for node 'node3.vc.test': the node did not answer within 15 s: "])?;
    squeeze.restore_helper()?;
    ensure!(squeeze.offline()? == ["node3"], "{:?}", squeeze.nodes()?);
    squeeze.execute(MORNING, &[])?.good()?;
    squeeze.only_off(&[])
}

/// A disk cannot be copied: the drained nodes take instances again.
pub fn move_fails(cluster: &Cluster) -> anyhow::Result<()> {
    let squeeze = Squeeze::over_luxi(cluster)?;
    for node in 1..=4 {
        let line = format!("node{node} lvcreate\n");
        let faults = fs::read_to_string(cluster.path("faults")).unwrap_or_default();
        fs::write(cluster.path("faults"), faults + &line)?;
    }
    let options = ["--drbd", "--no-capacity-checks"];
    let output = squeeze.execute(NIGHT, &options)?.expect(1)?;
    said(&output.stderr, &["lvcreate", "taken back: undrain "])?;
    squeeze.only_off(&[])?;
    let tagged: Vec<Node> =
        squeeze.nodes()?.into_iter().filter(|n| n.tags.iter().any(|t| t.starts_with("htools:"))).collect();
    ensure!(tagged.is_empty(), "tags were left: {tagged:?}");
    fs::remove_file(cluster.path("faults"))?;
    // Disks can be copied again, so a node with mirrored instances is emptied.
    let output = squeeze.execute(NIGHT, &options)?.good()?;
    let off = squeeze.offline()?;
    ensure!(!off.is_empty(), "nothing was powered down{}", output.streams());
    squeeze.only_off(&off.iter().map(String::as_str).collect::<Vec<_>>())
}

/// A queue that accepts no jobs: nothing has changed.
pub fn drain_refused(cluster: &Cluster) -> anyhow::Result<()> {
    cluster.exec(&["gnt-cluster", "queue", "drain"])?.good()?;
    for squeeze in [Squeeze::over_luxi(cluster)?, Squeeze::over_rapi(cluster)?] {
        let output = squeeze.execute(NIGHT, &[])?.expect(1)?;
        said(&output.stderr, &["drain node 'node3.vc.test': not submitted: ", "nothing was done"])?;
        squeeze.only_off(&[])?;
    }
    cluster.exec(&["gnt-cluster", "queue", "undrain"])?.good()?;
    Ok(())
}

/// hsqueeze is killed during a night and resumed later. Meanwhile no other run can begin.
pub fn killed(cluster: &Cluster) -> anyhow::Result<()> {
    let squeeze = Squeeze::over_luxi(cluster)?;
    let journal = squeeze.file("journal").display().to_string();
    let options = [&["-X", "--yes", "--journal", &journal], NIGHT].concat();
    let mut running = Running::start(&mut squeeze.command(&options))?;
    running.wait_for("jobs", READING, |stdout| stdout.lines().filter(|l| l.starts_with(GOT)).count() >= 2)?;
    let output = squeeze.execute(NIGHT, &[])?.expect(1)?;
    said(&output.stderr, &["another hsqueeze is running on cluster cluster.vc.test (process "])?;
    ensure!(output.stdout.is_empty(), "a plan beside another run{}", output.streams());
    running.signal(rustix::process::Signal::KILL)?;
    running.wait(READING)?.expect(128 + 9)?;
    wait_for("the jobs to end", WHOLE, || {
        luxi::jobs(cluster.socket(), 0).is_ok_and(|jobs| !jobs.iter().any(luxi::QueuedJob::is_pending))
    })?;
    squeeze.run(&["--yes", "--resume", &journal])?.good()?;
    squeeze.only_off(&["node3", "node4"])
}

/// With `--all`, an instance is stopped while the disks that exist only on its node are copied. If that fails, it is
/// started at its old place.
pub fn with_disks_of_one_node(cluster: &Cluster) -> anyhow::Result<()> {
    const ALL: &[&str] = &["--all", "--cooldown=1d"];
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
    for node in ["node2", "node3", "node5"] {
        cluster.exec(&["gnt-node", "add-tags", node, &format!("htools:switched:{now}")])?.good()?;
    }
    let squeeze = Squeeze::over_luxi(cluster)?;
    let at = || -> anyhow::Result<(String, String)> {
        let placements = placements(cluster)?;
        let inst05 = placements.get("inst05.vc.test").context("inst05 is gone")?;
        Ok((inst05.primary.clone(), inst05.status.clone()))
    };
    fs::write(cluster.path("faults"), "node4 dd\n")?;
    let output = squeeze.execute(NIGHT, ALL)?.expect(1)?;
    said(
        &output.stderr,
        &["Warning: instance inst05.vc.test is stopped while its disks are copied from node4.vc.test to "],
    )?;
    said(&output.stderr, &["taken back: undrain node4.vc.test, start inst05.vc.test"])?;
    fs::remove_file(cluster.path("faults"))?;
    ensure!(at()? == ("node4.vc.test".to_owned(), "running".to_owned()), "inst05: {:?}", at()?);
    let output = squeeze.execute(NIGHT, ALL)?.good()?;
    said(&output.stderr, &["(1 instance was stopped for a copy of its disks)"])?;
    ensure!(at()?.0 != "node4.vc.test", "inst05: {:?}", at()?);
    squeeze.only_off(&["node4"])
}
