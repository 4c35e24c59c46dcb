//! Broken instances, and harep, which repairs them.

use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use serde_json::{Value, json};

use super::interruption::kill;
use crate::child::{self, Output, Running};
use crate::cluster::{Cluster, wait_for};
use crate::luxi::{self, QueuedJob};
use crate::proxy::{Proxy, Way};
use crate::tools::{self, READING};

/// Prefix of all repair tags.
const P: &str = "ganeti:watcher:autorepair:";
/// Longest time until everything is repaired.
const WHOLE: Duration = Duration::from_secs(900);

/// Runs of our harep on a cluster.
struct Harep<'a> {
    cluster: &'a Cluster,
    source: String,
    state: tempfile::TempDir,
    /// Number of the newest job before the runs.
    after: u64,
}

impl<'a> Harep<'a> {
    fn over(cluster: &'a Cluster, source: String) -> anyhow::Result<Self> {
        let after = luxi::newest(cluster.socket())?;
        Ok(Harep { cluster, source, state: tempfile::tempdir()?, after })
    }

    fn over_luxi(cluster: &'a Cluster) -> anyhow::Result<Self> {
        Harep::over(cluster, format!("-L{}", cluster.socket()))
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = tools::ours("harep");
        command.env("XDG_STATE_HOME", self.state.path()).args([&*self.source, "--job-delay=1"]).args(words);
        command
    }

    fn run(&self, words: &[&str]) -> anyhow::Result<Output> {
        child::run(&mut self.command(words), READING)
    }

    /// Runs harep repeatedly, like cron, until nothing is broken. Returns the output.
    fn until_all_is_well(&self, words: &[&str]) -> anyhow::Result<String> {
        let (start, mut printed) = (Instant::now(), String::new());
        loop {
            let output = self.run(&[&["-v", "--detailed-status"][..], words].concat())?;
            printed += &output.stdout;
            if output.status == 0 {
                return Ok(printed);
            }
            ensure!(!output.stdout.contains("to \"Failure\""), "a repair has failed:\n{printed}");
            ensure!([3, 4].contains(&output.status), "status {}{}", output.status, output.streams());
            ensure!(start.elapsed() < WHOLE, "it is still not well:\n{printed}");
            std::thread::sleep(Duration::from_secs(2));
        }
    }

    /// The repair jobs since the start, with the instance of each.
    fn repairs(&self) -> anyhow::Result<Vec<(QueuedJob, String)>> {
        let jobs = luxi::jobs(self.cluster.socket(), self.after)?;
        let repairs = jobs.into_iter().filter_map(|job| {
            let changes = |opcode: &&Value| {
                !["OP_TEST_DELAY", "OP_TAGS_SET", "OP_TAGS_DEL", "OP_INSTANCE_QUERY_DATA"]
                    .contains(&opcode["OP_ID"].as_str().unwrap_or_default())
            };
            let name = job.opcodes.iter().find(changes)?["instance_name"].as_str()?.to_owned();
            job.comment().contains("by harep").then_some((job, name))
        });
        Ok(repairs.collect())
    }

    /// Opcodes of an instance's repairs.
    fn done_about(&self, instance: &str) -> anyhow::Result<Vec<String>> {
        let repairs = self.repairs()?;
        let of = repairs.iter().filter(|(_, name)| name.starts_with(instance));
        let opcodes = of.flat_map(|(job, _)| &job.opcodes).map(|opcode| opcode["OP_ID"].as_str());
        let opcodes = opcodes.flatten().filter(|id| *id != "OP_TEST_DELAY");
        Ok(opcodes.map(|id| id.trim_start_matches("OP_INSTANCE_").to_owned()).collect())
    }
}

/// Name, status, nodes and tags of all instances.
fn instances(cluster: &Cluster) -> anyhow::Result<Vec<[Value; 5]>> {
    let fields = json!(["name", "status", "pnode", "snodes", "tags"]);
    let answer = luxi::call(cluster.socket(), "Query", json!(["instance", fields, null]))?;
    let rows = answer["data"].as_array().context("no rows")?;
    Ok(rows.iter().map(|row| [0, 1, 2, 3, 4].map(|at| row[at][1].clone())).collect())
}

/// Checks that all instances run on nodes other than `dead`, and that no tag marks a repair under way.
fn is_whole(cluster: &Cluster, dead: &[&str]) -> anyhow::Result<()> {
    for [name, status, primary, others, tags] in instances(cluster)? {
        ensure!(status == "running", "{name} is {status}");
        let nodes = format!("{primary} {others}");
        ensure!(!dead.iter().any(|node| nodes.contains(node)), "{name} is on {nodes}");
        ensure!(!tags.to_string().contains(":pending:"), "{name} has {tags}");
    }
    Ok(())
}

fn permit(cluster: &Cluster, what: &str) -> anyhow::Result<()> {
    cluster.exec(&["gnt-cluster", "add-tags", &format!("{P}{what}")])?.good()?;
    Ok(())
}

/// Suspends the repair of an instance that only a reinstallation could repair.
fn leave_alone(cluster: &Cluster, instance: &str) -> anyhow::Result<()> {
    cluster.exec(&["gnt-instance", "add-tags", instance, &format!("{P}suspend")])?.good()?;
    Ok(())
}

/// A node dies, and an administrator marks it offline.
fn kill_node(cluster: &Cluster, node: &str) -> anyhow::Result<()> {
    cluster.power(node, "off")?;
    mark_offline(cluster, node)
}

fn mark_offline(cluster: &Cluster, node: &str) -> anyhow::Result<()> {
    cluster.exec(&["gnt-node", "modify", "-f", "--offline=yes", node])?.good()?;
    Ok(())
}

/// All kinds of damage that harep knows. harep does nothing harmful to a node that merely does not answer.
pub fn all_that_breaks(cluster: &Cluster) -> anyhow::Result<()> {
    permit(cluster, "reinstall")?;
    // An instance stops without Ganeti knowing it.
    cluster.exec(&["node1", "rm", "/run/ganeti/fake-hypervisor/inst01.vc.test"])?.good()?;
    // One node loses its volumes, another one its connections.
    let down = "for minor in 0 1 2 3; do drbdsetup $minor down; done";
    let remove = "for volume in $(lvs --noheadings -o lv_name); do lvremove -f xenvg/$volume; done";
    cluster.exec(&["node5", "sh", "-c", &format!("{down}; {remove}")])?;
    cluster.exec(&["node2", "sh", "-c", down])?;
    cluster.power("node4", "off")?;
    let harep = Harep::over_luxi(cluster)?;
    let output = harep.run(&["-v"])?.good()?;
    for line in [
        "Executing ArFailover repair on inst01.vc.test: it should run, and is down\n",
        "Executing ArFixStorage repair on inst02.vc.test: its secondary node has lost disk 0\n",
        "Executing ArFixStorage repair on inst03.vc.test: the copies of its disks are not connected\n",
    ] {
        ensure!(output.stdout.contains(line), "{line} is missing{}", output.streams());
    }
    for instance in ["inst04", "inst05", "inst06"] {
        let line = format!(
            "Not repairing {instance}.vc.test because node node4.vc.test does not answer, and is not marked offline\n"
        );
        ensure!(output.stdout.contains(&line), "{line} is missing{}", output.streams());
    }
    mark_offline(cluster, "node4")?;
    let printed = harep.until_all_is_well(&[])?;
    is_whole(cluster, &["node4"])?;
    for (instance, done) in [
        ("inst01", &["STARTUP"][..]),
        ("inst02", &["ACTIVATE_DISKS", "REPLACE_DISKS"]),
        ("inst03", &["ACTIVATE_DISKS"]),
        // One repair after the other: first the instance runs again, then it has two nodes.
        ("inst04", &["FAILOVER", "REPLACE_DISKS"]),
        ("inst05", &["SHUTDOWN", "RECREATE_DISKS", "REINSTALL", "STARTUP"]),
        ("inst06", &["REPLACE_DISKS"]),
    ] {
        let found = harep.done_about(instance)?;
        ensure!(found == done, "{instance}: {found:?}, not {done:?}\n{printed}");
    }
    Ok(())
}

/// The same node dies; each opcode is a job of its own.
pub fn over_rapi(cluster: &Cluster) -> anyhow::Result<()> {
    permit(cluster, "reinstall")?;
    kill_node(cluster, "node4")?;
    let harep = Harep::over(cluster, format!("--master={}", cluster.login_url()))?;
    let simulated = harep.run(&["--simulate-failure=node5", "--json"])?.good()?;
    let document: Value = serde_json::from_str(&simulated.stdout)?;
    ensure!(document["simulated_failures"] == json!(["node5.vc.test"]), "{document}");
    ensure!(harep.repairs()?.is_empty(), "something was done");
    harep.until_all_is_well(&["--limit=2"])?;
    // Here the tag that names the jobs may be written after their end; the next run removes it.
    let is_tidy = || harep.run(&["-q"]).is_ok() && is_whole(cluster, &["node4"]).is_ok();
    let waited = wait_for("no tag of a repair under way", Duration::from_secs(60), is_tidy);
    is_whole(cluster, &["node4"]).and(waited)
}

/// harep is killed before and after each of the relevant requests; nothing is done twice.
pub fn killed(cluster: &Cluster) -> anyhow::Result<()> {
    permit(cluster, "failover")?;
    leave_alone(cluster, "inst05")?;
    kill_node(cluster, "node4")?;
    let proxy = Proxy::before(cluster.socket())?;
    let harep = Harep::over(cluster, format!("-L{}", proxy.socket().display()))?;
    for (way, text) in [
        (Way::Request, ":pending:failover:"),
        (Way::Answer, ":pending:failover:"),
        (Way::Request, "OP_INSTANCE_FAILOVER"),
        (Way::Answer, "OP_INSTANCE_FAILOVER"),
        // harep names the jobs in a tag, and removes the one that does not.
        (Way::Request, "OP_TAGS_DEL"),
    ] {
        let before = proxy.kept_back();
        proxy.keep_back(way, text);
        let running = Running::start(&mut harep.command(&[]))?;
        // The previous run may have left nothing to do for this one.
        let ended = wait_for("a request", Duration::from_secs(20), || proxy.kept_back() > before);
        if ended.is_ok() {
            kill(running)?;
        } else {
            running.wait(READING)?.good()?;
        }
        proxy.pass_on();
    }
    // An announced repair that never started is given up after two minutes.
    let printed = harep.until_all_is_well(&[])?;
    is_mended_once(&harep, &printed)?;
    let [_, _, primary, ..] =
        instances(cluster)?.into_iter().find(|row| row[0] == "inst04.vc.test").context("gone")?;
    ensure!(primary == "node3.vc.test", "it is on {primary}");
    Ok(())
}

/// Checks that each repair began once, and none while another repair of the instance was under way.
fn is_mended_once(harep: &Harep<'_>, printed: &str) -> anyhow::Result<()> {
    for instance in ["inst04", "inst06"] {
        let done = harep.done_about(instance)?;
        let failovers = done.iter().filter(|opcode| *opcode == "FAILOVER").count();
        let wanted = usize::from(instance == "inst04");
        ensure!(failovers == wanted, "{instance}: {done:?}\n{printed}");
    }
    Ok(())
}

/// The original's dry run has the same output as ours, and our harep continues repairs that the original began.
pub fn beside_the_original(cluster: &Cluster) -> anyhow::Result<()> {
    permit(cluster, "failover")?;
    kill_node(cluster, "node4")?;
    let source = format!("-L{}", cluster.socket());
    let harep = Harep::over_luxi(cluster)?;
    let theirs =
        child::run(tools::reference(cluster.system(), "harep").args([&*source, "--dry-run"]), READING)?
            .good()?;
    let ours = harep.run(&["--dry-run"])?.good()?;
    let plain = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| !line.starts_with("jobs: "));
        // IDs and times differ.
        let tag = |line: &str| line.split(':').take(5).collect::<Vec<_>>().join(":");
        lines.map(|line| if line.starts_with('"') { tag(line) } else { line.to_owned() }).collect()
    };
    ensure!(
        plain(&theirs.stdout) == plain(&ours.stdout),
        "the original says\n{}and ours\n{}",
        theirs.stdout,
        ours.stdout
    );
    child::run(tools::reference(cluster.system(), "harep").args([&*source, "--job-delay=1"]), READING)?
        .good()?;
    leave_alone(cluster, "inst05")?;
    let printed = harep.until_all_is_well(&[])?;
    // The original's repairs are followed, and not begun again.
    ensure!(printed.contains("Moving inst04.vc.test from \"Pending repair\" to \"Healthy\""), "{printed}");
    let done = harep.done_about("inst04")?;
    // The failover was done by the original.
    ensure!(done == ["FAILOVER", "REPLACE_DISKS"], "{done:?}\n{printed}");
    Ok(())
}

/// A failing repair is tried again after a pause, and finally suspended.
pub fn fails_for_good(cluster: &Cluster) -> anyhow::Result<()> {
    permit(cluster, "fix-storage")?;
    kill_node(cluster, "node4")?;
    // No copy can be made anywhere.
    let faults: String = (1..=5).map(|node| format!("node{node} lvcreate\n")).collect();
    std::fs::write(cluster.path("faults"), faults)?;
    let harep = Harep::over_luxi(cluster)?;
    harep.run(&["--backoff=1"])?.good()?;
    wait_for("the repair to fail", WHOLE, || {
        harep.repairs().is_ok_and(|jobs| jobs.iter().any(|(job, _)| job.status == "error"))
    })?;
    let output = harep.run(&["-v"])?.good()?;
    ensure!(
        output.stdout.contains(
            "Moving inst06.vc.test from \"Pending repair\" to \"Failure\"\n  the job that failed: "
        ),
        "{}",
        output.stdout
    );
    // The next attempt waits for its time.
    let output = harep.run(&["-v", "--backoff=2", "--detailed-status"])?.expect(3)?;
    ensure!(output.stdout.contains("Not repairing inst06.vc.test until "), "{}", output.stdout);
    let jobs = harep.repairs()?.len();
    harep.run(&["-q"])?.good()?;
    ensure!(harep.repairs()?.len() == jobs, "what has failed was tried again");
    Ok(())
}
