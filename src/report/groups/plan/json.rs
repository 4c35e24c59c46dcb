//! The document of `hgroup redistribute`, `compress` and `balance` with `--json`: schema `htools.regroup/1`.

use serde::Serialize;

use super::text::{balance_summary, compression_summary, redistribution_summary};
use crate::model::{Cluster, GroupIdx, InstanceIdx, Mib, NodeIdx, Placement, Step, StorageMap};
use crate::plan::command::commands;
use crate::plan::jobset::Jobset;
use crate::plan::names::Impossible;
use crate::report::balance::plan::json::jobsets;
use crate::report::form::json::{Generator, Nodes, leg_kind, texts};
use crate::report::groups::status::json::SizesView;
use crate::report::why::json::BlockedRow;
use crate::report::why::words::{no_time, unfit_text};
use crate::search::Stopped;
use crate::search::groups::balance::Balance;
use crate::search::groups::compress::{Compression, GroupCandidate};
use crate::search::groups::load::{LoadSource, Loads};
use crate::search::groups::redistribute::Redistribution;
use crate::search::groups::{Blocked, EmptyingProof, compress, redistribute};

pub(crate) const SCHEMA: &str = "htools.regroup/1";

/// A plan of moves between groups.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct RegroupDocument {
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
    #[serde(skip_serializing_if = "Option::is_none")]
    proof: Option<EmptyingProofView>,
    loads: Option<LoadRows>,
}

#[derive(Debug, Clone, Serialize)]
struct EmptyingProofView {
    bound: usize,
    emptied: usize,
    undecided: Vec<String>,
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
    legs: Vec<LegRow>,
    commands: Vec<String>,
}

#[derive(Debug, Clone, Serialize)]
struct LegRow {
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
    #[serde(skip_serializing_if = "Vec::is_empty")]
    not_expendable: Vec<String>,
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

/// Load of a group relative to its capacity; 1 is the mean of the whole cluster.
#[derive(Debug, Clone, Serialize)]
struct SharesView {
    cpu: Option<f64>,
    memory: Option<f64>,
    disk: Option<f64>,
    network: Option<f64>,
}

/// Parts that all documents share.
struct Frame<'c> {
    cluster: &'c Cluster,
    steps: &'c [Step],
    jobsets: &'c [Jobset],
}

impl Frame<'_> {
    fn document(&self, command: &'static str, summary: String) -> Result<RegroupDocument, Impossible> {
        let row = |(at, step): (usize, &Step)| move_row(self.cluster, step, at);
        Ok(RegroupDocument {
            schema: SCHEMA,
            generator: Generator::of(self.cluster),
            command,
            stopped: None,
            summary,
            moves: self.steps.iter().enumerate().map(row).collect::<Result<_, _>>()?,
            jobsets: jobsets(self.jobsets),
            repairs: None,
            capacity: None,
            candidates: None,
            emptied: None,
            proof: None,
            loads: None,
        })
    }
}

fn move_row(cluster: &Cluster, step: &Step, at: usize) -> Result<MoveRow, Impossible> {
    let group = |g: GroupIdx| cluster.group(g).name.clone();
    let nodes = |p: Placement| Nodes::of(cluster, p);
    let (source, target) = step.groups(cluster);
    Ok(MoveRow {
        number: at + 1,
        instance: cluster.instance(step.instance).name.clone(),
        from_group: group(source),
        to_group: group(target),
        from: nodes(step.from),
        to: nodes(step.to),
        copied: step.copied(cluster).0,
        score: step.score,
        legs: (step.legs())
            .map(|(leg, from, to)| LegRow { kind: leg_kind(leg), from: nodes(from), to: nodes(to) })
            .collect(),
        commands: texts(&commands(cluster, step)?),
    })
}

/// The document of a plan that repairs groups.
///
/// # Errors
/// If a name is not valid in Ganeti, since the document has commands with it.
pub(crate) fn redistribution(
    cluster: &Cluster,
    storage: &StorageMap,
    plan: &Redistribution,
    steps: &[Step],
    sets: &[Jobset],
) -> Result<RegroupDocument, Impossible> {
    let frame = Frame { cluster, steps, jobsets: sets };
    let node = |n: &NodeIdx| cluster.node(*n).spec.name.clone();
    let instance = |i: &InstanceIdx| cluster.instance(*i).name.clone();
    let rows = |all: &[Blocked]| all.iter().map(|b| BlockedRow::of(cluster, storage, b)).collect();
    let row = |repair: &redistribute::Repair| {
        let (moves, blocked) = match &repair.outcome {
            redistribute::Healing::Repaired(steps) => (steps.len(), Vec::new()),
            redistribute::Healing::TooLong(moves) => (*moves, Vec::new()),
            redistribute::Healing::NoTime(_) => (0, Vec::new()),
            redistribute::Healing::Stuck(all) => (0, rows(all)),
            redistribute::Healing::ButForthcoming { steps, left } => (steps.len(), rows(left)),
        };
        RepairRow {
            group: cluster.group(repair.group).name.clone(),
            health: repair.before.health().as_str(),
            n1_failing: repair.before.n1_failing.iter().map(node).collect(),
            not_expendable: repair.before.at_risk.iter().map(node).collect(),
            stranded: repair.before.stranded.iter().map(instance).collect(),
            repaired: matches!(repair.outcome, redistribute::Healing::Repaired(_)),
            moves,
            blocked,
        }
    };
    let repairs = Some(plan.repairs.iter().map(row).collect());
    let document = frame.document("redistribute", redistribution_summary(plan))?;
    Ok(RegroupDocument { stopped: plan.stopped, repairs, ..document })
}

/// The groups that can be emptied, the one to empty, and the bound of their number.
pub(crate) struct CompressionOutcome<'f> {
    pub found: &'f Compression,
    pub chosen: Option<&'f GroupCandidate>,
    pub proof: Option<&'f EmptyingProof>,
}

/// The document about groups that can be emptied.
///
/// # Errors
/// If a name is not valid in Ganeti, since the document has commands with it.
pub(crate) fn compression(
    cluster: &Cluster,
    storage: &StorageMap,
    outcome: CompressionOutcome<'_>,
    sets: &[Jobset],
) -> Result<RegroupDocument, Impossible> {
    let CompressionOutcome { found, chosen, proof } = outcome;
    let steps = chosen.map_or(&[][..], GroupCandidate::steps);
    let frame = Frame { cluster, steps, jobsets: sets };
    let row = |candidate: &GroupCandidate| {
        let (reason, moves, placed, blocked) = match &candidate.outcome {
            compress::Compressed::Untried(why) => (Some(unfit_text(*why)), 0, 0, None),
            compress::Compressed::Stuck(blocked, placed) => {
                (None, 0, *placed, Some(BlockedRow::of(cluster, storage, blocked)))
            }
            compress::Compressed::TooLong(moves) => (None, *moves, *moves, None),
            compress::Compressed::NoTime(stopped) => (Some(no_time("unknown", *stopped)), 0, 0, None),
            compress::Compressed::Emptied(steps) => (None, steps.len(), steps.len(), None),
        };
        CandidateRow {
            group: cluster.group(candidate.group).name.clone(),
            can_be_emptied: matches!(candidate.outcome, compress::Compressed::Emptied(_)),
            reason,
            capacity: (&candidate.capacity).into(),
            instances: candidate.instances,
            moves,
            copied: candidate.steps().iter().map(|step| step.copied(cluster)).sum::<Mib>().0,
            placed,
            blocked,
        }
    };
    let candidates = Some(found.candidates.iter().map(row).collect());
    let emptied = chosen.map(|c| cluster.group(c.group).name.clone());
    let summary = compression_summary(found, chosen, cluster);
    let document = frame.document("compress", summary)?;
    let capacity = Some((&found.total).into());
    let proof = proof.map(|proof| EmptyingProofView {
        bound: proof.most,
        emptied: proof.emptied,
        undecided: proof.undecided.iter().map(|g| cluster.group(*g).name.clone()).collect(),
    });
    Ok(RegroupDocument { stopped: found.stopped, capacity, candidates, emptied, proof, ..document })
}

/// The document of a plan that balances load between groups.
///
/// # Errors
/// If a name is not valid in Ganeti, since the document has commands with it.
pub(crate) fn balance(
    cluster: &Cluster,
    plan: &Balance,
    sets: &[Jobset],
) -> Result<RegroupDocument, Impossible> {
    let frame = Frame { cluster, steps: &plan.steps, jobsets: sets };
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
    let document = frame.document("balance", balance_summary(plan))?;
    Ok(RegroupDocument { stopped: plan.stopped, loads: Some(loads), ..document })
}
