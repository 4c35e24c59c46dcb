//! Sections that `hgroup` adds to the page of a plan, and its page without a plan.

use maud::html;

use super::text::{candidate_verdict, stuck_lines};
use crate::model::number::{counted, fixed};
use crate::model::{Cluster, GroupIdx, StorageMap};
use crate::report::balance::plan::steps::PlannedMove;
use crate::report::check::{CheckStage, problem_rows as problems};
use crate::report::cluster::nodes::html::NodeRows;
use crate::report::cluster::summary::Moment;
use crate::report::form::html::bars::change_text;
use crate::report::form::html::commands::NextAction;
use crate::report::form::html::grid::{Grid, GridCell, GridRow};
use crate::report::form::html::{PageAnswer, ReportPage, Section, class, sign, size};
use crate::report::form::table::Align;
use crate::report::form::tone::Tone;
use crate::report::groups::status::html as groups;
use crate::report::groups::status::text::condition_text;
use crate::report::why::words::no_time;
use crate::search::groups::balance::Balance;
use crate::search::groups::compress::{Compression, GroupCandidate};
use crate::search::groups::health::Health;
use crate::search::groups::load::KINDS;
use crate::search::groups::redistribute::{Healing, Redistribution};
use crate::search::groups::status::GroupsStatus;

/// The groups before and after a plan, with the storage pools, if these are known.
pub(crate) fn groups(before: &Cluster, after: &Cluster, changes: bool, knows_pools: bool) -> Option<Section> {
    let then = changes.then(|| GroupsStatus::of(after));
    groups::section(before, &GroupsStatus::of(before), then.as_ref(), knows_pools)
}

/// The moves that heal groups.
pub(crate) fn healing_moves(found: &Redistribution, cluster: &Cluster) -> Vec<PlannedMove> {
    let healed = found.repairs.iter().filter_map(|repair| match &repair.outcome {
        Healing::Repaired(steps) | Healing::ButForthcoming { steps, .. } => Some((repair.group, steps)),
        Healing::Stuck(_) | Healing::TooLong(_) | Healing::NoTime(_) => None,
    });
    let moves = healed.flat_map(|(group, steps)| {
        let purpose = format!("heals group {}", cluster.group(group).name);
        steps.iter().map(move |step| PlannedMove {
            step: *step,
            gain: None,
            price: None,
            purpose: purpose.clone(),
        })
    });
    moves.collect()
}

/// The moves that empty a group, if one is emptied.
pub(crate) fn emptying_moves(chosen: Option<&GroupCandidate>, cluster: &Cluster) -> Vec<PlannedMove> {
    let moves = chosen.into_iter().flat_map(|candidate| {
        let purpose = format!("empties group {}", cluster.group(candidate.group).name);
        let steps = candidate.steps().iter();
        steps.map(move |step| PlannedMove { step: *step, gain: None, price: None, purpose: purpose.clone() })
    });
    moves.collect()
}

/// The moves that even out the load of groups.
pub(crate) fn balancing_moves(found: &Balance) -> Vec<PlannedMove> {
    let before = [found.before.score()].into_iter().chain(found.steps.iter().map(|step| step.score));
    let moves = found.steps.iter().zip(before).map(|(step, before)| PlannedMove {
        step: *step,
        gain: Some(before - step.score),
        price: None,
        purpose: "evens out load of groups".to_owned(),
    });
    moves.collect()
}

/// The repair of each group that is not healthy.
pub(crate) fn repairs(found: &Redistribution, cluster: &Cluster) -> Option<Section> {
    let storage = StorageMap::of(cluster);
    let rows = found.repairs.iter().map(|repair| {
        let (tone, text, details) = match &repair.outcome {
            Healing::Repaired(steps) => {
                (Tone::Good, format!("healthy after {}", counted(steps.len(), "move")), Vec::new())
            }
            Healing::ButForthcoming { steps, left } => {
                let text = format!("{}, but not for what is only planned", counted(steps.len(), "move"));
                (Tone::Bad, text, stuck_lines(left, cluster, &storage))
            }
            Healing::Stuck(instances) => {
                (Tone::Bad, "cannot be repaired".to_owned(), stuck_lines(instances, cluster, &storage))
            }
            Healing::TooLong(moves) => {
                (Tone::Bad, format!("takes {}, more than are wanted", counted(*moves, "move")), Vec::new())
            }
            Healing::NoTime(stopped) => (Tone::Bad, no_time("unknown", *stopped), Vec::new()),
        };
        let outcome = html! {
            span class=[class(tone)] { (sign(tone)) (text) }
            @for line in &details { small class="line" { (line) } }
        };
        GridRow {
            cells: vec![
                GridCell::text(&cluster.group(repair.group).name),
                GridCell::text(condition_text(&repair.before)),
                GridCell::of(outcome),
            ],
            changes: tone == Tone::Good,
        }
    });
    let grid = Grid {
        id: "repair-table",
        caption: "What can be done for groups that are not healthy",
        columns: vec![("Group", Align::Left), ("What is wrong", Align::Left), ("Outcome", Align::Left)],
        rows: rows.collect(),
        noun: Some("group"),
    };
    Section::of("repairs", "Groups that are not healthy", grid.some())
}

/// The groups that can be emptied.
pub(crate) fn candidates(found: &Compression, cluster: &Cluster) -> Option<Section> {
    let rows = found.candidates.iter().map(|candidate| {
        let [moves, copied, verdict] = candidate_verdict(candidate, cluster);
        GridRow {
            cells: vec![
                GridCell::text(&cluster.group(candidate.group).name),
                GridCell::text(verdict),
                GridCell::count(candidate.capacity.nodes),
                GridCell::count(candidate.instances),
                GridCell::text(moves),
                GridCell::text(copied),
            ],
            changes: false,
        }
    });
    let titles = [
        ("Group", Align::Left),
        ("Can be emptied", Align::Left),
        ("Nodes", Align::Right),
        ("Instances", Align::Right),
        ("Moves", Align::Right),
        ("Copied", Align::Right),
    ];
    let grid = Grid {
        id: "candidate-table",
        caption: "Groups, and whether they can be emptied",
        columns: titles.to_vec(),
        rows: rows.collect(),
        noun: Some("group"),
    };
    Section::of("candidates", "Groups that can be emptied", grid.some())
}

/// The loads of groups, before and after.
pub(crate) fn loads(found: &Balance, cluster: &Cluster) -> Option<Section> {
    let row = |group: GroupIdx| {
        let (now, then) = (found.before.relative(group), found.loads.relative(group));
        let shown = |value: Option<f64>| value.map_or("–".to_owned(), |value| fixed(100.0 * value, 1));
        let cells = now.iter().zip(then).map(|(now, then)| {
            let text = change_text(&shown(*now), Some(&shown(then)));
            GridCell::number(text, now.unwrap_or(0.0))
        });
        let name = GridCell::text(&cluster.group(group).name);
        GridRow { cells: [name].into_iter().chain(cells).collect(), changes: now != then }
    };
    let columns = [("Group", Align::Left)].into_iter().chain(KINDS.map(|kind| (kind, Align::Right)));
    let grid = Grid {
        id: "load-table",
        caption: "The loads of the groups",
        columns: columns.collect(),
        rows: cluster.groups.iter().map(|group| row(group.idx)).collect(),
        noun: Some("group"),
    };
    let table = grid.some()?;
    let body = html! { p { "100 is as much as in the whole cluster." } (table) };
    Section::of("loads", "Loads of groups", Some(body))
}

/// The page about the present state of groups.
pub(crate) fn status(status: &GroupsStatus, cluster: &Cluster) -> ReportPage {
    let nodes = cluster.all_nodes();
    let moment = Moment::of(cluster, &nodes);
    let unhealthy = status.groups.iter().filter(|group| group.health() != Health::Healthy).count();
    let answers = vec![
        problems::answer("What is wrong", moment.problems()),
        PageAnswer {
            question: "Node groups",
            tone: if unhealthy == 0 { Tone::Good } else { Tone::Bad },
            text: match unhealthy {
                0 => "all healthy".to_owned(),
                some => format!("{some} of {} not healthy", status.groups.len()),
            },
            details: vec![format!("{} of storage", counted(status.partitions.len(), "pool"))]
                .into_iter()
                .filter(|_| !status.partitions.is_empty())
                .chain(
                    (status.split > 0)
                        .then(|| format!("{} in two groups", counted(status.split, "instance"))),
                )
                .chain(status.denied.then(|| "moves between groups are denied".to_owned()))
                .collect(),
        },
    ];
    let found = problems::list(&moment.health, cluster, CheckStage::Initially);
    let sections = [
        groups::section(cluster, status, None, true),
        problems::section(cluster, found, None),
        NodeRows { before: cluster, after: None, nodes: &nodes }.section(),
    ];
    ReportPage {
        title: "Node groups".to_owned(),
        cluster: cluster.name.clone(),
        subject: size(cluster, &nodes),
        answers,
        sections: sections.into_iter().flatten().collect(),
        next: NextAction::Nothing,
    }
}
