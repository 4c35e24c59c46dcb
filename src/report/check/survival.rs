//! Sets of nodes that cannot be lost together (`--survive`).

use super::PREFIX;
use crate::model::number::counted;
use crate::model::shown::printable;
use crate::model::{Cluster, NodeIdx};
use crate::report::form::shell::Assignments;
use crate::report::form::table::{Align, Table};
use crate::search::health::Survival;
use crate::search::health::survival::{GroupSurvival, JointFailure, SizeSurvival};

/// Maximum length of a line, in characters.
const LINE: usize = 400;

fn names(cluster: &Cluster, nodes: &[NodeIdx], between: &str) -> String {
    let names: Vec<&str> = nodes.iter().map(|n| cluster.node(*n).spec.name.as_str()).collect();
    names.join(between)
}

/// The lines for people.
pub(crate) fn text(survival: &Survival, cluster: &Cluster) -> Vec<String> {
    let mut lines = vec![verdict(survival)];
    for group in &survival.groups {
        lines.push(String::new());
        let online = counted(group.online, "online node");
        lines.push(format!("Group {}: {online}", cluster.group(group.group).name));
        lines.extend(sizes(group).lines("   "));
        if !group.worst.is_empty() {
            lines.push(String::new());
            lines.push(format!("The worst of group {}", cluster.group(group.group).name));
            lines.extend(worst(group, cluster).lines("   "));
        }
    }
    if survival.losing() > 0 {
        lines.push(String::new());
        lines.push(
            "Data lost: instances whose disks are on no other node; more room would not help them."
                .to_owned(),
        );
    }
    lines.iter().map(|line| printable(line.trim_end(), LINE)).collect()
}

fn verdict(survival: &Survival) -> String {
    let nodes = match survival.most {
        1 => "any node".to_owned(),
        most => format!("any {most} nodes of a group"),
    };
    let failing = survival.failing();
    if failing > 0 {
        let combinations = if failing == 1 { "combination leaves" } else { "combinations leave" };
        format!(
            "The cluster does not survive the loss of {nodes}: {failing} {combinations} instances without a place."
        )
    } else if survival.is_settled() {
        format!("The cluster survives the loss of {nodes}: every instance that has its disks finds a place.")
    } else {
        format!(
            "It is not shown that the cluster survives the loss of {nodes}: no combination that was examined fails, \
             but not all were."
        )
    }
}

fn sizes(group: &GroupSurvival) -> Table {
    let columns = ["Nodes lost", "Combinations", "Examined", "Without a place", "Data lost"];
    let mut table = Table::new(columns.map(|title| (title, Align::Right)));
    for size in &group.sizes {
        table.push(vec![
            size.size.to_string(),
            combinations(size),
            examined(size),
            size.failing.to_string(),
            size.losing.to_string(),
        ]);
    }
    table
}

fn combinations(size: &SizeSurvival) -> String {
    match size.combinations {
        u64::MAX => "> 10^19".to_owned(),
        number => number.to_string(),
    }
}

/// Number of combinations that were examined. Those settled by sums do not count as missing.
fn examined(size: &SizeSurvival) -> String {
    match size.is_proved && size.examined < size.combinations {
        true => format!("{} (sums show the rest)", size.examined),
        false => size.examined.to_string(),
    }
}

fn worst(group: &GroupSurvival, cluster: &Cluster) -> Table {
    let columns = [
        ("Without a place", Align::Right),
        ("MiB", Align::Right),
        ("Data lost", Align::Right),
        ("Nodes", Align::Left),
    ];
    let mut table = Table::new(columns);
    for failure in &group.worst {
        let JointFailure { nodes, homeless, homeless_mem, lost } = failure;
        table.push(vec![
            homeless.len().to_string(),
            homeless_mem.0.to_string(),
            lost.count.to_string(),
            names(cluster, nodes, ", "),
        ]);
    }
    table
}

/// The lines for shells.
pub(crate) fn assignments(survival: &Survival, cluster: &Cluster) -> Vec<String> {
    let mut lines = Assignments::new(PREFIX);
    lines.push("SURVIVE_NODES", survival.most);
    lines.push("SURVIVE_FAILED", survival.failing());
    lines.push("SURVIVE_LOSING_DATA", survival.losing());
    lines.push("SURVIVE_COMPLETE", u8::from(survival.is_settled()));
    for (at, group) in survival.groups.iter().enumerate() {
        let worst = group.worst.iter().find(|failure| !failure.homeless.is_empty());
        let nodes = worst.map(|failure| names(cluster, &failure.nodes, ",")).unwrap_or_default();
        lines.push(&format!("SURVIVE_WORST_{at}"), nodes);
    }
    lines.push("OK", 1);
    lines.lines()
}
