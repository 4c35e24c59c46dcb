//! The document of `hspace --make-room --json`: schema `htools.room/1`.

use serde::Serialize;

use crate::model::{Cluster, ClusterRoom};
use crate::plan::jobset::Jobset;
use crate::plan::names::Impossible;
use crate::report::balance::plan::json::{self, PlanStep, ganeti_commands};
use crate::report::form::json::Generator;
use crate::search::Stopped;
use crate::search::make_room::{MadeRoom, RoomCap, RoomResource};

const SCHEMA: &str = "htools.room/1";

/// Room for further instances, and the moves that make it.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct RoomDocument {
    schema: &'static str,
    generator: Generator,
    wanted: WantedView,
    /// Number of wanted instances that fit before the moves.
    fitting: i64,
    /// Number of them after the moves.
    fitting_after: i64,
    complete: bool,
    /// Lower bound of the number of moves.
    fewest_moves: usize,
    /// Number of wanted instances that fit at most after any moves.
    most: i64,
    groups: Vec<CapView>,
    stopped: Option<Stopped>,
    initial_score: f64,
    final_score: f64,
    steps: Vec<PlanStep>,
    jobsets: Vec<Vec<usize>>,
}

#[derive(Debug, Clone, Serialize)]
struct WantedView {
    count: i64,
    memory: i64,
    disk: i64,
    vcpus: i64,
    disk_template: &'static str,
}

/// Bound of a group.
#[derive(Debug, Clone, Serialize)]
struct CapView {
    group: String,
    most: i64,
    limit: &'static str,
}

/// The document; the clusters have the scores `[before, after]`.
///
/// # Errors
/// If a name is not valid in Ganeti.
pub(crate) fn document(
    made: &MadeRoom,
    before: &ClusterRoom,
    cluster: &Cluster,
    [initial_score, final_score]: [f64; 2],
    jobsets: &[Jobset],
) -> Result<RoomDocument, Impossible> {
    let (wanted, size) = (before.wanted(), before.wanted().size);
    let cap = |cap: &RoomCap| CapView {
        group: cluster.group(cap.group).name.clone(),
        most: cap.most,
        limit: match cap.resource {
            RoomResource::Memory => "memory",
            RoomResource::Vcpus => "vcpus",
            RoomResource::Disk => "disk",
            RoomResource::Nodes => "nodes",
        },
    };
    Ok(RoomDocument {
        schema: SCHEMA,
        generator: Generator::of(cluster),
        wanted: WantedView {
            count: wanted.count,
            memory: size.memory.0,
            disk: size.disk.0,
            vcpus: size.vcpus,
            disk_template: size.template.as_str(),
        },
        fitting: before.count(),
        fitting_after: made.after.room().map_or(0, |room| room.count()),
        complete: made.is_complete(),
        fewest_moves: made.bound.fewest_moves,
        most: made.bound.most(),
        groups: made.bound.groups.iter().map(cap).collect(),
        stopped: made.stopped,
        initial_score,
        final_score,
        steps: json::steps(cluster, &made.steps, &[], |step| ganeti_commands(cluster, step))?,
        jobsets: json::jobsets(jobsets),
    })
}
