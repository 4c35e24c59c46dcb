//! The document of `hgroup redistribute`, `compress` and `balance` with `--json`: schema
//! `htools.regroup/1`.

use serde::Serialize;

use super::group_status::SizesView;
use super::plan::jobsets;
use super::why::BlockedRow;
use super::{Generator, Nodes, kind, texts};
use crate::model::{Cluster, GroupIdx, InstanceIdx, Mib, NodeIdx, Placement, StorageMap};
use crate::plan::jobset::Jobset;
use crate::plan::names::Impossible;
use crate::plan::regroup::commands;
use crate::report::groups::plan::{balance_summary, compression_summary, redistribution_summary};
use crate::report::why::{no_time, unfit_text};
use crate::search::Stopped;
use crate::search::regroup::Passage;
use crate::search::regroup::balance::Balance;
use crate::search::regroup::compress::{self, Compression, GroupCandidate};
use crate::search::regroup::load::{LoadSource, Loads};
use crate::search::regroup::redistribute::{self, Redistribution};

/// The name of the schema.
pub const SCHEMA: &str = "htools.regroup/1";

/// A plan of moves between groups.
#[derive(Debug, Clone, Serialize)]
pub struct RegroupDocument {
    schema: &'static str,
    generator: Generator,
    command: &'static str,
    stopped: Option<Stopped>,
    summary: String,
    moves: Vec<MoveRow>,
    jobsets: Vec<Vec<usize>>,
    repairs: Option<Vec<RepairRow>>,
    capacity: Option<SizesView>,
    candidates: Option<Vec<CandidateRow>>,
    emptied: Option<String>,
    loads: Option<LoadRows>,
}

#[derive(Debug, Clone, Serialize)]
struct MoveRow {
    number: usize,
    instance: String,
    from_group: String,
    to_group: String,
    from: Nodes,
    to: Nodes,
    copied: i64,
    score: f64,
    legs: Vec<Leg>,
    commands: Vec<String>,
}

#[derive(Debug, Clone, Serialize)]
struct Leg {
    #[serde(rename = "move")]
    kind: &'static str,
    from: Nodes,
    to: Nodes,
}

#[derive(Debug, Clone, Serialize)]
struct RepairRow {
    group: String,
    health: &'static str,
    n1_failing: Vec<String>,
    stranded: Vec<String>,
    repaired: bool,
    moves: usize,
    blocked: Vec<BlockedRow>,
}

#[derive(Debug, Clone, Serialize)]
struct CandidateRow {
    group: String,
    can_be_emptied: bool,
    reason: Option<String>,
    capacity: SizesView,
    instances: usize,
    moves: usize,
    copied: i64,
    placed: usize,
    blocked: Option<BlockedRow>,
}

#[derive(Debug, Clone, Serialize)]
struct LoadRows {
    source: &'static str,
    imbalance_before: f64,
    imbalance_after: f64,
    groups: Vec<LoadRow>,
}

#[derive(Debug, Clone, Serialize)]
struct LoadRow {
    group: String,
    before: SharesView,
    after: SharesView,
}

/// Loads over what the group has; 1 is as much as in the whole cluster.
#[derive(Debug, Clone, Serialize)]
struct SharesView {
    cpu: Option<f64>,
    memory: Option<f64>,
    disk: Option<f64>,
    network: Option<f64>,
}

/// What all documents have.
struct Frame<'c> {
    cluster: &'c Cluster,
    passages: &'c [Passage],
    jobsets: &'c [Jobset],
}

impl Frame<'_> {
    fn document(
        &self,
        command: &'static str,
        summary: String,
        scores: impl Fn(usize) -> f64,
    ) -> Result<RegroupDocument, Impossible> {
        let row = |(at, passage): (usize, &Passage)| move_row(self.cluster, passage, at, scores(at));
        Ok(RegroupDocument {
            schema: SCHEMA,
            generator: Generator::this(),
            command,
            stopped: None,
            summary,
            moves: self.passages.iter().enumerate().map(row).collect::<Result<_, _>>()?,
            jobsets: jobsets(self.jobsets),
            repairs: None,
            capacity: None,
            candidates: None,
            emptied: None,
            loads: None,
        })
    }
}

fn move_row(cluster: &Cluster, passage: &Passage, at: usize, score: f64) -> Result<MoveRow, Impossible> {
    let group = |g: GroupIdx| cluster.group(g).name.clone();
    let nodes = |p: Placement| Nodes::of(cluster, p);
    Ok(MoveRow {
        number: at + 1,
        instance: cluster.instance(passage.instance).name.clone(),
        from_group: group(passage.source),
        to_group: group(passage.target),
        from: nodes(passage.from),
        to: nodes(passage.to),
        copied: passage.copied.0,
        score,
        legs: (passage.legs.iter())
            .map(|leg| Leg { kind: kind(leg.mv), from: nodes(leg.from), to: nodes(leg.to) })
            .collect(),
        commands: texts(&commands(cluster, passage)?),
    })
}

/// The document of a plan that heals groups.
///
/// # Errors
/// A name that Ganeti cannot have: there would be commands with it.
pub fn redistribution(
    cluster: &Cluster,
    storage: &StorageMap,
    plan: &Redistribution,
    passages: &[Passage],
    sets: &[Jobset],
) -> Result<RegroupDocument, Impossible> {
    let frame = Frame { cluster, passages, jobsets: sets };
    let node = |n: &NodeIdx| cluster.node(*n).spec.name.clone();
    let instance = |i: &InstanceIdx| cluster.instance(*i).name.clone();
    let row = |repair: &redistribute::Repair| {
        let (moves, blocked) = match &repair.outcome {
            redistribute::Healing::Repaired(passages) => (passages.len(), Vec::new()),
            redistribute::Healing::TooLong(moves) => (*moves, Vec::new()),
            redistribute::Healing::NoTime(_) => (0, Vec::new()),
            redistribute::Healing::Stuck(all) => {
                (0, all.iter().map(|b| BlockedRow::of(cluster, storage, b)).collect())
            }
        };
        RepairRow {
            group: cluster.group(repair.group).name.clone(),
            health: repair.before.health().as_str(),
            n1_failing: repair.before.n1_failing.iter().map(node).collect(),
            stranded: repair.before.stranded.iter().map(instance).collect(),
            repaired: matches!(repair.outcome, redistribute::Healing::Repaired(_)),
            moves,
            blocked,
        }
    };
    let repairs = Some(plan.repairs.iter().map(row).collect());
    let document = frame.document("redistribute", redistribution_summary(plan), |at| passages[at].score)?;
    Ok(RegroupDocument { stopped: plan.stopped, repairs, ..document })
}

/// The document of groups that can be emptied.
///
/// # Errors
/// A name that Ganeti cannot have: there would be commands with it.
pub fn compression(
    cluster: &Cluster,
    storage: &StorageMap,
    found: &Compression,
    chosen: Option<&GroupCandidate>,
    sets: &[Jobset],
) -> Result<RegroupDocument, Impossible> {
    let passages = chosen.map_or(&[][..], GroupCandidate::passages);
    let frame = Frame { cluster, passages, jobsets: sets };
    let row = |candidate: &GroupCandidate| {
        let (reason, moves, placed, blocked) = match &candidate.outcome {
            compress::Compressed::Unfit(why) => (Some(unfit_text(*why)), 0, 0, None),
            compress::Compressed::Stuck(blocked, placed) => {
                (None, 0, *placed, Some(BlockedRow::of(cluster, storage, blocked)))
            }
            compress::Compressed::TooLong(moves) => (None, *moves, *moves, None),
            compress::Compressed::NoTime(stopped) => (Some(no_time("unknown", *stopped)), 0, 0, None),
            compress::Compressed::Emptied(passages) => (None, passages.len(), passages.len(), None),
        };
        CandidateRow {
            group: cluster.group(candidate.group).name.clone(),
            can_be_emptied: matches!(candidate.outcome, compress::Compressed::Emptied(_)),
            reason,
            capacity: (&candidate.capacity).into(),
            instances: candidate.instances,
            moves,
            copied: candidate.passages().iter().map(|p| p.copied).sum::<Mib>().0,
            placed,
            blocked,
        }
    };
    let candidates = Some(found.candidates.iter().map(row).collect());
    let emptied = chosen.map(|c| cluster.group(c.group).name.clone());
    let summary = compression_summary(found, chosen, cluster);
    let document = frame.document("compress", summary, |at| passages[at].score)?;
    let capacity = Some((&found.total).into());
    Ok(RegroupDocument { stopped: found.stopped, capacity, candidates, emptied, ..document })
}

/// The document of a plan that evens out load.
///
/// # Errors
/// A name that Ganeti cannot have: there would be commands with it.
pub fn balance(
    cluster: &Cluster,
    plan: &Balance,
    passages: &[Passage],
    sets: &[Jobset],
) -> Result<RegroupDocument, Impossible> {
    let frame = Frame { cluster, passages, jobsets: sets };
    let shares = |loads: &Loads, group: GroupIdx| {
        let [cpu, memory, disk, network] = loads.relative(group);
        SharesView { cpu, memory, disk, network }
    };
    let row = |group: &crate::model::Group| LoadRow {
        group: group.name.clone(),
        before: shares(&plan.before, group.idx),
        after: shares(&plan.loads, group.idx),
    };
    let loads = LoadRows {
        source: match plan.loads.source() {
            LoadSource::InUse => "in-use",
            LoadSource::Measured => "measured",
        },
        imbalance_before: plan.before.score(),
        imbalance_after: plan.loads.score(),
        groups: cluster.groups.iter().map(row).collect(),
    };
    let document = frame.document("balance", balance_summary(plan), |at| plan.steps[at].score)?;
    Ok(RegroupDocument { stopped: plan.stopped, loads: Some(loads), ..document })
}
