//! Deep plans: what step after step never makes.

use anyhow::ensure;

use super::failure::said;
use super::hbal::Hbal;
use super::interruption::{goes_on, kill};
use crate::cluster::Cluster;

/// The search for the best placement; a small cluster needs few tries.
const DEEP: &[&str] = &["--deep", "--effort=20000"];

/// Two mirrored instances change places, both nodes of both, one of them over a detour; killed on the way, and gone
/// on with.
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
    // the first move is made, and the second under way
    kill(hbal.start(DEEP, 2)?)?;
    let before = hbal.jobs()?.len();
    ensure!(before < goal.steps, "all was submitted before the end");
    goes_on(cluster, &hbal, &goal)
}
