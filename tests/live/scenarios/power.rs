//! A node that is down without Ganeti knowing it.

use std::time::Duration;

use anyhow::ensure;

use crate::child::{self, Output};
use crate::cluster::{Cluster, wait_for};
use crate::tools::{self, READING};

/// Longest time, because Ganeti waits in vain for the node before it answers.
const SLOW: Duration = Duration::from_secs(120);

/// Our tools continue with the known data; the reference stops.
pub fn silent_node(cluster: &Cluster) -> anyhow::Result<()> {
    cluster.power("node3", "off")?;
    let result = without_node3(cluster);
    cluster.power("node3", "on")?;
    result?;
    wait_for("node3 to answer again", Duration::from_secs(60), || {
        let nodes = cluster.exec(&["gnt-node", "list", "--no-headers", "-o", "name,mfree"]);
        nodes.is_ok_and(|output| output.status == 0 && !output.stdout.contains('?'))
    })?;
    let source = format!("--luxi={}", cluster.socket());
    let theirs =
        child::run(tools::reference(cluster.system(), "hinfo").args(["-p", &source]), READING)?.good()?;
    tools::same(&theirs, &child::run(tools::ours("hinfo").args(["-p", &source]), READING)?)
}

fn without_node3(cluster: &Cluster) -> anyhow::Result<()> {
    let mut answers = Vec::new();
    for source in [format!("--master={}", cluster.login_url()), format!("--luxi={}", cluster.socket())] {
        for tool in ["hinfo", "hbal"] {
            let output = child::run(tools::ours(tool).args(["-p", &source]), SLOW)?.good()?;
            warned(&output)?;
            answers.push((tool, output.stdout));
        }
    }
    ensure!(answers[..2] == answers[2..], "RAPI and LUXI tell different things:\n{answers:#?}");
    Ok(())
}

fn warned(output: &Output) -> anyhow::Result<()> {
    let warning = |line: &str| line.starts_with("Warning:") && line.contains("node3.vc.test");
    ensure!(output.stderr.lines().any(warning), "{} does not warn{}", output.command, output.streams());
    Ok(())
}
