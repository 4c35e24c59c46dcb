//! The document of `harep --json`: schema `htools.repair/1`.

use std::collections::BTreeMap;

use serde::Serialize;

use super::text::{RepairEntry, RepairStyle, cleanup_message, counts, damage_words, visit_message};
use crate::model::autorepair::{RepairPermission, RepairTag, VisitOutcome};
use crate::model::{Cluster, NodeIdx};
use crate::plan::opcode::Opcode;
use crate::report::form::json::{Generator, Nodes, node_name, node_names};
use crate::report::why::json::{LackView, PlacesView};
use crate::report::why::words::node_text;
use crate::search::repair::{Damage, LimitReached, RepairDecision};

pub(crate) const SCHEMA: &str = "htools.repair/1";

/// Results of the checks and repairs.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct RepairDocument<'a> {
    schema: &'static str,
    generator: Generator,
    dry_run: bool,
    simulated_failures: Vec<String>,
    counts: BTreeMap<&'static str, usize>,
    instances: Vec<RepairedInstance<'a>>,
}

/// An instance that is not healthy.
#[derive(Debug, Clone, Serialize)]
struct RepairedInstance<'a> {
    name: &'a str,
    nodes: Nodes,
    status: &'static str,
    damage: Option<DamageFound>,
    decision: &'static str,
    repair: Option<&'static str>,
    permitted: Option<&'static str>,
    until: Option<i64>,
    attempt: Option<u32>,
    to: Option<Nodes>,
    choice: Option<ChosenNodes>,
    jobs: Vec<u64>,
    opcodes: &'a [Opcode],
    tag: Option<String>,
    removed_tags: Vec<String>,
    reason: Option<String>,
    problem: Option<&'a str>,
}

#[derive(Debug, Clone, Serialize)]
struct DamageFound {
    kind: &'static str,
    text: String,
}

/// Choice of new nodes.
#[derive(Debug, Clone, Serialize)]
struct ChosenNodes {
    nodes: Vec<String>,
    possible: u64,
    #[serde(flatten)]
    places: PlacesView<LackView>,
}

/// The document of some entries.
pub(crate) fn document<'a>(
    cluster: &'a Cluster,
    entries: &'a [RepairEntry],
    failing: &[NodeIdx],
    style: RepairStyle,
) -> RepairDocument<'a> {
    let told = |entry: &&RepairEntry| {
        !matches!(entry.case.decision, RepairDecision::Well) || entry.problem.is_some()
    };
    RepairDocument {
        schema: SCHEMA,
        generator: Generator::of(cluster),
        dry_run: style.dry,
        simulated_failures: node_names(cluster, failing),
        counts: counts(entries).map(|(status, count)| (status.as_str(), count)).collect(),
        instances: entries.iter().filter(told).map(|entry| repaired(cluster, entry)).collect(),
    }
}

fn repaired<'a>(cluster: &'a Cluster, entry: &'a RepairEntry) -> RepairedInstance<'a> {
    let instance = cluster.instance(entry.case.instance);
    let decision = &entry.case.decision;
    let visit = entry.visit.as_ref();
    let (repair, permitted) = match decision {
        RepairDecision::Repair(kind, ..)
        | RepairDecision::Later(kind, _)
        | RepairDecision::Changed(kind)
        | RepairDecision::NoRoom(kind, _)
        | RepairDecision::NotPermitted { needed: kind, .. } => (Some(*kind), None),
        RepairDecision::BeyondPermission { needed, permitted, .. } => (Some(*needed), Some(*permitted)),
        RepairDecision::UnderWay(tag)
        | RepairDecision::InVain(tag)
        | RepairDecision::BackOff(tag, _)
        | RepairDecision::GiveUp(tag)
        | RepairDecision::Failed(tag) => (Some(tag.kind), None),
        RepairDecision::Well | RepairDecision::ForPeople | RepairDecision::Unclear(_) => (None, None),
    };
    let way = match decision {
        RepairDecision::Repair(_, way, _) => Some(way),
        _ => None,
    };
    let refused = match decision {
        RepairDecision::NoRoom(_, no_way) => Some((Vec::new(), 0, &no_way.refused)),
        _ => way.and_then(|way| way.choice.as_ref()).map(|c| (c.nodes.clone(), c.possible, &c.refused)),
    };
    let tag = visit.and_then(|visit| match &visit.attended {
        VisitOutcome::Begun(tag)
        | VisitOutcome::UnderWay(tag)
        | VisitOutcome::Ended(tag)
        | VisitOutcome::InVain(tag)
        | VisitOutcome::Failed(tag) => Some(tag),
        _ => None,
    });
    let tag = tag.or(match decision {
        RepairDecision::UnderWay(tag)
        | RepairDecision::InVain(tag)
        | RepairDecision::BackOff(tag, _)
        | RepairDecision::GiveUp(tag)
        | RepairDecision::Failed(tag) => Some(tag),
        _ => None,
    });
    RepairedInstance {
        name: &instance.name,
        nodes: Nodes::of(cluster, instance.placement()),
        status: entry.status().as_str(),
        damage: entry
            .case
            .damage
            .as_ref()
            .map(|damage| DamageFound { kind: damage_kind(damage), text: damage_words(cluster, damage) }),
        decision: decision_word(decision),
        repair: repair.map(|kind| kind.as_str()),
        permitted: permitted.map(|kind| kind.as_str()),
        until: match decision {
            RepairDecision::BackOff(_, until) => Some(*until),
            RepairDecision::NotPermitted { refused: RepairPermission::Suspended(until), .. } => *until,
            _ => None,
        },
        attempt: tag.map(RepairTag::attempt),
        to: way.map(|way| Nodes::of(cluster, way.to)),
        choice: refused.map(|(nodes, possible, refused)| ChosenNodes {
            nodes: node_names(cluster, &nodes),
            possible,
            places: PlacesView::of(cluster, refused, LackView::of),
        }),
        jobs: tag.map(|tag| tag.jobs.iter().map(|id| id.0).collect()).unwrap_or_default(),
        opcodes: &entry.opcodes,
        tag: visit.and_then(|visit| visit.attended.added()),
        removed_tags: visit.map(|v| v.removed.iter().map(ToString::to_string).collect()).unwrap_or_default(),
        reason: visit_reason(entry).or_else(|| reason(cluster, decision)),
        problem: entry.problem.as_deref(),
    }
}

/// The reason that a repair failed, and the cleanup command.
fn visit_reason(entry: &RepairEntry) -> Option<String> {
    let parts: Vec<String> = visit_message(entry).into_iter().chain(cleanup_message(entry)).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// The reason that no repair was begun, or that it failed.
fn reason(cluster: &Cluster, decision: &RepairDecision) -> Option<String> {
    match decision {
        RepairDecision::Later(_, LimitReached::All(most)) => Some(format!("--limit={most}")),
        RepairDecision::Later(_, LimitReached::Node(node, most)) => {
            Some(format!("--max-per-node={most} on {}", node_name(cluster, *node)))
        }
        RepairDecision::NoRoom(_, no_way) => {
            let nearest = no_way.refused.kept.first().map(|refused_place| node_text(refused_place, cluster));
            Some(nearest.unwrap_or_else(|| "no node is in use there".to_owned()))
        }
        RepairDecision::Unclear(why) => Some(why.to_string()),
        _ => None,
    }
}

fn decision_word(decision: &RepairDecision) -> &'static str {
    match decision {
        RepairDecision::Well => "well",
        RepairDecision::Repair(..) => "repair",
        RepairDecision::Later(..) => "later",
        RepairDecision::Changed(_) => "changed",
        RepairDecision::NoRoom(..) => "no-room",
        RepairDecision::BeyondPermission { .. } => "beyond-permission",
        RepairDecision::NotPermitted { refused: RepairPermission::Suspended(_), .. } => "suspended",
        RepairDecision::NotPermitted { .. } => "not-enabled",
        RepairDecision::ForPeople => "for-people",
        RepairDecision::UnderWay(_) => "under-way",
        RepairDecision::InVain(_) => "in-vain",
        RepairDecision::BackOff(..) => "back-off",
        RepairDecision::GiveUp(_) => "give-up",
        RepairDecision::Failed(_) => "failed",
        RepairDecision::Unclear(_) => "unclear",
    }
}

fn damage_kind(damage: &Damage) -> &'static str {
    match damage {
        Damage::Down => "down",
        Damage::Disks(_) => "disks",
        Damage::SecondaryOut => "secondary-out",
        Damage::PrimaryDrained => "primary-drained",
        Damage::PrimaryOut => "primary-out",
        Damage::AllOut => "all-out",
        Damage::Silent(_) => "silent-node",
        Damage::Blocked(_) => "blocked",
        Damage::Elsewhere => "elsewhere",
    }
}
