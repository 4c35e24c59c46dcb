//! Deep plans with moves that a step-by-step search never makes.

use anyhow::ensure;

use super::failure::said;
use super::hbal::{Hbal, WHOLE};
use super::interruption::{goes_on, kill};
use crate::child;
use crate::cluster::Cluster;

/// Options of the deep search; a small cluster needs few tries.
const DEEP: &[&str] = &["--deep", "--effort=20000"];

/// Two mirrored instances exchange both of their nodes, one of them by a detour. The run is killed on the way and
/// resumed.
pub fn pairs_change_places(cluster: &Cluster) -> anyhow::Result<()> {
    let hbal = Hbal::over_luxi(cluster)?;
    let goal = hbal.goal(DEEP)?;
    said(
        &goal.plan,
        &[
            " 1. inst04 node3:node1 => node4:node3 ",
            " 2. inst03 node2:node4 => node3:node1 ",
            " a=r:node3 f r:node1\n",
            " 3. inst04 node4:node3 => node2:node4 ",
            "To make room on the way, moved once more: inst04\n",
        ],
    )?;
    // The first move is done, and the second is under way.
    kill(hbal.start(DEEP, 2)?)?;
    let before = hbal.jobs()?.len();
    ensure!(before < goal.steps, "all was submitted before the end");
    goes_on(cluster, &hbal, &goal)
}

/// Two instances change places on full nodes. One of them is stopped meanwhile, which requires the option. The run is
/// killed during that time; after the resumption the instance runs again.
pub fn full_nodes_swap(cluster: &Cluster) -> anyhow::Result<()> {
    let hbal = Hbal::over_luxi(cluster)?;
    let two_nodes = ["--exclusion-tags=svc", "-Onode3.vc.test"];
    let usual = [DEEP, &two_nodes].concat();
    let stuck = child::run(&mut hbal.execute(&usual), WHOLE)?.good()?;
    said(&stuck.stdout, &["as no order of moves is possible with them: inst02, inst04\n"])?;
    ensure!(hbal.jobs()?.is_empty(), "something was done");
    let asked = [&usual[..], &["--allow-interruptions", "--stream"]].concat();
    let goal = hbal.goal(&asked[..asked.len() - 1])?;
    said(&goal.plan, &["To make room on node2 for step 1, inst04 is stopped\n"])?;
    kill(hbal.start(&asked, 2)?)?;
    child::run(&mut hbal.resume(), WHOLE)?.good()?;
    let jobs = hbal.finished_jobs()?;
    let done = jobs.iter().map(|job| {
        let opcode = &job.opcodes[0];
        format!("{} {} {}", job.status, opcode["OP_ID"], opcode["instance_name"]).replace('"', "")
    });
    let wanted = [
        "success OP_INSTANCE_SHUTDOWN inst04.vc.test",
        "success OP_INSTANCE_MIGRATE inst02.vc.test",
        "success OP_INSTANCE_MIGRATE inst04.vc.test",
        "success OP_INSTANCE_STARTUP inst04.vc.test",
    ];
    let done: Vec<String> = done.collect();
    ensure!(done == wanted, "{done:?}");
    goal.is_reached_with(cluster, &two_nodes)
}
