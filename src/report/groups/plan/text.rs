//! Plans of moves between groups as text.

use crate::model::number::{counted, fixed};
use crate::model::shown::printable;
use crate::model::{Cluster, GroupIdx, Mib, NodeIdx, Placement, Step, StorageMap};
use crate::report::balance::components::score;
use crate::report::form::table::{Align, Table};
use crate::report::groups::status::text::{LINE, condition_text, denials};
use crate::report::why::words::{group_words, no_time, stay_words, unfit_text};
use crate::search::groups::balance::Balance;
use crate::search::groups::compress::{Compression, GroupCandidate};
use crate::search::groups::health::Health;
use crate::search::groups::load::{KINDS, Loads};
use crate::search::groups::redistribute::{Redistribution, Repair};
use crate::search::groups::status::Capacity;
use crate::search::groups::{Blocked, EmptyingProof, StayReason, compress, redistribute};
use crate::search::why::GroupWhy;

/// Maximum number of instances without a place that are named for a group, unless all are wanted.
const NAMED: usize = 5;

/// The moves as a table: number, instance, nodes before and after, copied data, and score.
fn moves<'p>(cluster: &Cluster, steps: impl IntoIterator<Item = &'p Step>, first: usize) -> Vec<String> {
    let alias = |n: NodeIdx| cluster.node(n).spec.alias();
    let nodes = |p: Placement| match p.secondary {
        Some(secondary) => format!("{}:{}", alias(p.primary), alias(secondary)),
        None => alias(p.primary).to_owned(),
    };
    let group = |g: GroupIdx| cluster.group(g).name.as_str();
    let aligns =
        [Align::Right, Align::Left, Align::Left, Align::Left, Align::Left, Align::Right, Align::Right];
    let mut table = Table::new(aligns.map(|align| (String::new(), align)));
    for (number, step) in (first..).zip(steps) {
        let (source, target) = step.groups(cluster);
        table.push(vec![
            format!("{number}."),
            cluster.instance(step.instance).alias().to_owned(),
            format!("{}/{}", group(source), nodes(step.from)),
            "=>".to_owned(),
            format!("{}/{}", group(target), nodes(step.to)),
            copied(step.copied(cluster)),
            score(step.score),
        ]);
    }
    table.lines(" ").into_iter().skip(1).collect()
}

fn copied(amount: Mib) -> String {
    if amount == Mib::ZERO { "-".to_owned() } else { format!("{} GiB", fixed(amount.as_f64() / 1024.0, 1)) }
}

/// The plan that repairs groups.
pub(crate) fn redistribution(
    plan: &Redistribution,
    cluster: &Cluster,
    storage: &StorageMap,
    level: i32,
) -> Vec<String> {
    let mut lines = Vec::new();
    let mut first = 1;
    for repair in &plan.repairs {
        lines.extend(repair_lines(repair, cluster, storage, level, &mut first));
    }
    lines.push(redistribution_summary(plan));
    lines
}

/// The plan in one line.
pub(crate) fn redistribution_summary(plan: &Redistribution) -> String {
    let repaired = |r: &&Repair| match &r.outcome {
        redistribute::Healing::Repaired(_) => true,
        redistribute::Healing::ButForthcoming { steps, .. } => !steps.is_empty(),
        _ => false,
    };
    let moves = counted(plan.steps().count(), "move");
    let mut summary = match (plan.repairs.iter().filter(repaired).count(), plan.repairs.len()) {
        (_, 0) => "All groups are healthy, nothing to do.".to_owned(),
        (0, 1) => "The group cannot be repaired.".to_owned(),
        (1, 1) => format!("The group can be repaired, with {moves}."),
        (0, all) => format!("None of {all} groups can be repaired."),
        (count, all) => format!("{count} of {all} groups can be repaired, with {moves}."),
    };
    let left = plan.repairs.iter().map(|repair| match &repair.outcome {
        redistribute::Healing::ButForthcoming { left, .. } => left.len(),
        _ => 0,
    });
    let left: usize = left.sum();
    if left > 0 {
        let verb = if left == 1 { "is" } else { "are" };
        summary += &format!(" {} {verb} planned on offline nodes.", counted(left, "forthcoming instance"));
    }
    summary
}

fn repair_lines(
    repair: &Repair,
    cluster: &Cluster,
    storage: &StorageMap,
    level: i32,
    first: &mut usize,
) -> Vec<String> {
    let name = &cluster.group(repair.group).name;
    let health = match repair.before.health() {
        Health::Healthy => "healthy, but",
        health => health.as_str(),
    };
    let mut lines = vec![format!("Group {name} is {health}: {}", condition_text(&repair.before))];
    match &repair.outcome {
        redistribute::Healing::Repaired(steps) => {
            lines.push(format!("  It is healthy after {}:", counted(steps.len(), "move")));
            lines.extend(moves(cluster, steps, *first).iter().map(|line| format!("  {line}")));
            *first += steps.len();
        }
        redistribute::Healing::ButForthcoming { steps, left } => {
            if !steps.is_empty() {
                lines.push(format!("  After {} all that exists is well:", counted(steps.len(), "move")));
                lines.extend(moves(cluster, steps, *first).iter().map(|line| format!("  {line}")));
                *first += steps.len();
            }
            lines.push("  Nothing moves what is only planned:".to_owned());
            lines.extend(blocked_lines(left, cluster, storage, level));
        }
        redistribute::Healing::TooLong(needed) => {
            lines
                .push(format!("  It stays as it is: {} are needed (--max-length)", counted(*needed, "move")));
        }
        redistribute::Healing::NoTime(stopped) => {
            lines.push(format!("  It stays as it is: {}", no_time("unknown", *stopped)));
        }
        redistribute::Healing::Stuck(instances) => {
            lines.push("  It cannot be repaired:".to_owned());
            lines.extend(blocked_lines(instances, cluster, storage, level));
        }
    }
    lines
}

fn blocked_lines(instances: &[Blocked], cluster: &Cluster, storage: &StorageMap, level: i32) -> Vec<String> {
    let shown = if level > 1 { instances.len() } else { NAMED };
    let (shown, left) = instances.split_at(instances.len().min(shown));
    let mut lines = match instances.is_empty() {
        true => vec!["no instance could leave that would help".to_owned()],
        false => stuck_lines(shown, cluster, storage),
    };
    if !left.is_empty() {
        lines.push(format!("and {} (-v shows all)", counted(left.len(), "more instance")));
    }
    lines.iter().map(|line| format!("    {}", printable(line, LINE))).collect()
}

/// Instances that cannot move, with the reasons: a line for each, and one for each group.
pub(crate) fn stuck_lines(instances: &[Blocked], cluster: &Cluster, storage: &StorageMap) -> Vec<String> {
    instances.iter().flat_map(|one| blocked(one, cluster, storage)).collect()
}

/// The groups that can be emptied, and the plan for one of them.
pub(crate) fn compression(
    found: &Compression,
    chosen: Option<&GroupCandidate>,
    cluster: &Cluster,
    storage: &StorageMap,
    level: i32,
) -> Vec<String> {
    let mut lines = vec!["Groups (memory in MiB, disk in GiB):".to_owned()];
    let left = [("Group", Align::Left)];
    let right = ["Nodes", "Inst", "t_mem", "f_mem", "t_dsk", "f_dsk", "t_cpu", "f_cpu", "Moves", "Copied"]
        .map(|t| (t, Align::Right));
    let mut table = Table::new(left.into_iter().chain(right).chain([("Can be emptied", Align::Left)]));
    for candidate in &found.candidates {
        table.push(candidate_row(candidate, cluster));
    }
    let verdict = ["-".to_owned(), "-".to_owned(), String::new()];
    table.push([amounts("(all)", &found.total, cluster.instances.len()), verdict.into()].concat());
    lines.extend(table.trimmed_lines(" "));
    for candidate in &found.candidates {
        if let compress::Compressed::Stuck(instance, placed) = &candidate.outcome
            && level > 1
        {
            let name = &cluster.group(candidate.group).name;
            let others = counted(*placed, "instance");
            lines.push(format!("Group {name}: after {others} have found a place"));
            lines.extend(blocked_lines(std::slice::from_ref(instance), cluster, storage, level));
        }
    }
    if let Some(chosen) = chosen {
        lines.push(format!("Group {} is emptied by:", cluster.group(chosen.group).name));
        lines.extend(moves(cluster, chosen.steps(), 1));
    }
    lines.push(compression_summary(found, chosen, cluster));
    lines
}

/// The result in one line.
pub(crate) fn compression_summary(
    found: &Compression,
    chosen: Option<&GroupCandidate>,
    cluster: &Cluster,
) -> String {
    let emptied =
        || found.candidates.iter().filter(|c| matches!(c.outcome, compress::Compressed::Emptied(_)));
    if let Some(chosen) = chosen {
        let won = &chosen.capacity;
        return format!(
            "Emptying group {} takes {} and frees {} with {} MiB memory, {} GiB disk and {} vCPUs.",
            cluster.group(chosen.group).name,
            counted(chosen.steps().len(), "move"),
            counted(won.nodes, "node"),
            won.memory.total,
            Mib(won.disk.total).gib_floor(),
            won.vcpus.total
        );
    }
    match (emptied().count(), emptied().next()) {
        (0, _) => "No group can be emptied.".to_owned(),
        (1, Some(only)) => format!("Group {} can be emptied.", cluster.group(only.group).name),
        (count, _) => format!("{count} groups can be emptied, each by itself."),
    }
}

/// The upper bound of the number of groups that can be emptied, and the groups between it and the plans.
pub(crate) fn emptying_bound(proof: &EmptyingProof, cluster: &Cluster) -> String {
    let groups = counted(proof.most, "group");
    let name = |group: &GroupIdx| cluster.group(*group).name.clone();
    let undecided: Vec<String> = proof.undecided.iter().map(name).collect();
    let undecided = match &undecided[..] {
        [] => String::new(),
        names => format!("; undecided: {}", names.join(", ")),
    };
    let line =
        format!("At most {groups} can be emptied, each by itself ({} found{undecided}).", proof.emptied);
    printable(&line, LINE)
}

fn candidate_row(candidate: &GroupCandidate, cluster: &Cluster) -> Vec<String> {
    let name = &cluster.group(candidate.group).name;
    let verdict = candidate_verdict(candidate, cluster).into();
    [amounts(name, &candidate.capacity, candidate.instances), verdict].concat()
}

/// Number of moves that empty a group, the data that they copy, and the verdict.
pub(crate) fn candidate_verdict(candidate: &GroupCandidate, cluster: &Cluster) -> [String; 3] {
    let (count, amount, verdict) = match &candidate.outcome {
        compress::Compressed::Untried(why) => ("-".to_owned(), "-".to_owned(), unfit_text(*why)),
        compress::Compressed::Stuck(blocked, _) => {
            let name = cluster.instance(blocked.instance).alias();
            let why = stay_words(&blocked.why, cluster).text;
            ("-".to_owned(), "-".to_owned(), format!("no: {name}: {why}"))
        }
        compress::Compressed::TooLong(moves) => {
            (moves.to_string(), "-".to_owned(), "not with so few moves (--max-length)".to_owned())
        }
        compress::Compressed::NoTime(stopped) => {
            ("-".to_owned(), "-".to_owned(), no_time("unknown", *stopped))
        }
        compress::Compressed::Emptied(steps) => {
            let amount = steps.iter().map(|step| step.copied(cluster)).sum();
            (steps.len().to_string(), copied(amount), "yes".to_owned())
        }
    };
    [count, amount, verdict]
}

/// Total and free capacity of some nodes.
fn amounts(name: &str, capacity: &Capacity, instances: usize) -> Vec<String> {
    let Capacity { memory, disk, vcpus, .. } = capacity;
    let disk = [disk.total, disk.free].map(|amount| Mib(amount).gib_floor());
    let sizes = [memory.total, memory.free, disk[0], disk[1], vcpus.total, vcpus.free];
    let numbers = [capacity.nodes, instances].map(|n| n.to_string());
    [name.to_owned()].into_iter().chain(numbers).chain(sizes.map(|n| n.to_string())).collect()
}

/// An instance that cannot move, with the reasons: a line for it, and one for each group.
fn blocked(blocked: &Blocked, cluster: &Cluster, storage: &StorageMap) -> Vec<String> {
    let i = cluster.instance(blocked.instance);
    let what = format!(
        "{} ({}, {} MiB memory, {} MiB disk, {} vcpus)",
        i.name, i.template, i.mem.0, i.disk.0, i.vcpus
    );
    let groups = match &blocked.why {
        StayReason::NoPlace(groups) if groups.is_empty() => {
            return vec![format!("{what}: there is no other group")];
        }
        StayReason::NoPlace(groups) => &groups[..],
        StayReason::Held(_) => &[],
    };
    let line = |why: &GroupWhy| {
        format!("  {}: {}", cluster.group(why.group).name, group_words(why, cluster, storage).text)
    };
    let why = format!("{what}: {}", stay_words(&blocked.why, cluster).text);
    std::iter::once(why).chain(groups.iter().map(line)).collect()
}

/// The plan that balances load between groups.
pub(crate) fn balance(plan: &Balance, cluster: &Cluster) -> Vec<String> {
    let mut lines = loads("Loads before", &plan.before, cluster);
    lines.push(format!("Imbalance: {}", score(plan.before.score())));
    lines.extend(moves(cluster, &plan.steps, 1));
    if !plan.steps.is_empty() {
        lines.extend(loads("Loads afterwards", &plan.loads, cluster));
    }
    lines.extend(denials(cluster));
    lines.push(balance_summary(plan));
    lines
}

/// The plan in one line.
pub(crate) fn balance_summary(plan: &Balance) -> String {
    let (before, after) = (score(plan.before.score()), score(plan.loads.score()));
    match plan.steps.len() {
        0 => format!("No move gains enough: the imbalance stays {before}."),
        moves => format!("Imbalance improved from {before} to {after} with {}.", counted(moves, "move")),
    }
}

fn loads(title: &str, loads: &Loads, cluster: &Cluster) -> Vec<String> {
    let mut table =
        Table::new([("Group", Align::Left)].into_iter().chain(KINDS.map(|kind| (kind, Align::Right))));
    for group in &cluster.groups {
        let value = |v: Option<f64>| v.map_or("-".to_owned(), |v| fixed(100.0 * v, 1));
        let cells = loads.relative(group.idx).map(value);
        table.push([group.name.clone()].into_iter().chain(cells).collect());
    }
    let mut lines = vec![format!("{title} (100: as much as in the whole cluster):")];
    lines.extend(table.lines(" "));
    lines
}
