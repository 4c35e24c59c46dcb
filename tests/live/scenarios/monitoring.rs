//! Load measured by the nodes' monitoring daemons, which only the cluster can reach.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};

use crate::cluster::Cluster;
use crate::tools::{same, same_text};

/// Address of the report that hbal reads.
const REPORT: &str = ":1815/1/report/default/cpu-avg-load";

/// Text in front of the load in a report.
const LOAD: &str = "\"cpu_total\":";
/// Longest time for a daemon's first measurement.
const MEASURING: Duration = Duration::from_secs(300);

/// Our hbal on the master asks the real daemons, and then servers with constant answers. With these, its output
/// equals the reference's.
pub fn load_of_nodes(cluster: &Cluster) -> anyhow::Result<()> {
    let program = cluster.copy_program()?;
    let program = program.to_str().context("odd path")?;
    let ours = ["env", "HTOOLS=hbal", program, "-L", "--mond=yes"];
    let real = cluster.exec(&ours)?.good()?;
    ensure!(!real.stderr.contains("Warning"), "{}{}", real.command, real.streams());
    for node in 1..=4 {
        answer_always_the_same(cluster, node)?;
    }
    for more in [&[][..], &["--exit-on-missing-mond-data", "-p"]] {
        let theirs = cluster.exec(&[&["hbal", "-L", "--mond=yes"], more].concat())?;
        let ours = cluster.exec(&[&ours[..], more].concat())?;
        same(&theirs, &ours)?;
        ensure!(ours.status == 0, "{}{}", ours.command, ours.streams());
        let without = cluster.exec(&["hbal", "-L"])?.good()?;
        ensure!(same_text("", &without.stdout, &ours.stdout).is_err(), "the load makes no difference");
    }
    Ok(())
}

/// The report of a node's daemon. A daemon that has just started has no measurement yet.
fn report(cluster: &Cluster, node: &str) -> anyhow::Result<String> {
    let url = format!("http://{node}.vc.test{REPORT}");
    let begin = Instant::now();
    loop {
        let report = cluster.exec(&["curl", "-sS", "-f", &url])?.good()?.stdout;
        if report.contains(LOAD) {
            return Ok(report);
        }
        ensure!(begin.elapsed() < MEASURING, "{node} measures no load: {report}");
        thread::sleep(Duration::from_secs(1));
    }
}

/// Replaces a node's daemon by a server with its answer, but with a different, constant load on each node.
fn answer_always_the_same(cluster: &Cluster, number: usize) -> anyhow::Result<()> {
    let node = format!("node{number}");
    let real = report(cluster, &node)?;
    let (before, load) = real.split_once(LOAD).context("a report without a load")?;
    let after = load.trim_start_matches(|c: char| c.is_ascii_digit() || "+-.eE".contains(c));
    let body = format!("{before}\"cpu_total\":{}{after}", 0.25 * number as f64);
    let answer = cluster.path(&format!("mond-{node}"));
    fs::write(
        &answer,
        format!(
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        ),
    )?;
    let script = cluster.path(&format!("mond-{node}.sh"));
    let answer = answer.display();
    // The request is read up to its empty last line; otherwise the answer might be cut off.
    fs::write(
        &script,
        format!(
            "#!/bin/sh\nif [ \"$1\" = answer ]; then\n  sed -n '/^.$/q'\n  cat {answer}\n  exit\nfi\n\
             pid=$(cat /run/ganeti/ganeti-mond.pid)\nkill $pid\nwhile [ -d /proc/$pid ]; do sleep 0.1; done\n\
             setsid socat TCP-LISTEN:1815,fork,reuseaddr EXEC:\"$0 answer\" </dev/null >/dev/null 2>&1 &\n\
             until curl -sf http://localhost:1815/ >/dev/null; do sleep 0.1; done\n"
        ),
    )?;
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755))?;
    cluster.exec(&[&node, script.to_str().context("odd path")?])?.good()?;
    Ok(())
}
