//! A cluster as the text files that the tools read, in all their historic forms and sometimes damaged.

use htools::generate::random::Random;
use htools::load::raw::{RawCluster, RawGroup, RawInstance, RawNode};
use htools::load::text::writer::policy_row;
use htools::model::NodeIdx;

use super::clusters::OddCluster;

/// The text form. Trailing columns with default values may be left out, as in older versions.
pub fn text(odd: &mut OddCluster, random: &mut Random) -> String {
    let short = random.chance(0.25);
    let strange_numbers = random.chance(0.03);
    if short {
        odd.features.insert("historic columns");
    }
    if strange_numbers {
        odd.features.insert("strange numbers");
    }
    let raw = &odd.raw;
    let mut sections: Vec<Vec<String>> = vec![
        raw.groups.iter().map(|g| shorten(group_row(g), 4, &[""], short, random)).collect(),
        Vec::new(),
        Vec::new(),
        raw.tags.clone(),
        Vec::new(),
    ];
    for (i, node) in raw.nodes.iter().enumerate() {
        let mut row = node_row(&raw.groups[node.group.get()].uuid, node);
        if odd.unknown.contains(&i) {
            row = with_unknown(&row, random);
        } else if strange_numbers {
            row = restyle(&row, &[2, 3, 5], random);
        }
        sections[1].push(shorten(row, 9, &["1", "", "N", "0", "1", "1.0"], short, random));
    }
    for instance in &raw.instances {
        let mut row = instance_row(raw, instance);
        if strange_numbers {
            row = restyle(&row, &[1, 2, 3], random);
        }
        sections[2].push(shorten(row, 10, &["1", "-", "N"], short, random));
    }
    if odd.features.contains("no policy") {
        sections.pop();
    } else {
        sections[4].push(policy_row("", &raw.policy));
        for group in &raw.groups {
            let owner = if random.chance(0.3) { &group.uuid } else { &group.name };
            sections[4].push(policy_row(owner, &group.policy));
        }
    }
    if random.chance(0.025) {
        odd.features.insert("broken file");
        damage(&mut sections, random);
    }
    let whole = joined(&sections);
    if random.chance(0.02) { whole.trim_end_matches('\n').to_owned() } else { whole }
}

/// The text form with all columns and no peculiarities.
pub fn plain_text(raw: &RawCluster) -> String {
    let node = |node: &RawNode| node_row(&raw.groups[node.group.get()].uuid, node);
    let mut policies = vec![policy_row("", &raw.policy)];
    policies.extend(raw.groups.iter().map(|group| policy_row(&group.uuid, &group.policy)));
    joined(&[
        raw.groups.iter().map(group_row).collect(),
        raw.nodes.iter().map(node).collect(),
        raw.instances.iter().map(|instance| instance_row(raw, instance)).collect(),
        raw.tags.clone(),
        policies,
    ])
}

fn joined(sections: &[Vec<String>]) -> String {
    let parts: Vec<String> =
        sections.iter().map(|rows| rows.iter().map(|row| format!("{row}\n")).collect()).collect();
    parts.join("\n")
}

fn yes_no(yes: bool) -> &'static str {
    if yes { "Y" } else { "N" }
}

fn group_row(group: &RawGroup) -> String {
    let RawGroup { name, uuid, alloc_policy, networks, tags, policy: _, disk_parameters: _ } = group;
    format!("{name}|{uuid}|{alloc_policy}|{}|{}", tags.join(","), networks.join(","))
}

fn instance_row(cluster: &RawCluster, instance: &RawInstance) -> String {
    let node = |node: NodeIdx| cluster.nodes[node.get()].name.as_str();
    // One unknown number makes the sum unknown.
    let spindles: Option<i64> = instance.disks.iter().map(|disk| disk.spindles).sum();
    let sizes = [instance.mem.0, instance.disk.0, instance.vcpus].map(|size| size.to_string());
    let columns = [
        instance.name.as_str(),
        &sizes.join("|"),
        instance.status.as_str(),
        yes_no(instance.auto_balance),
        node(instance.primary),
        instance.secondary.map_or("", node),
        instance.template.as_str(),
        &instance.tags.join(","),
        &instance.spindle_use.to_string(),
        &spindles.map_or("-".to_owned(), |n| n.to_string()),
        yes_no(instance.forthcoming),
    ];
    columns.join("|")
}

fn node_row(uuid: &str, node: &RawNode) -> String {
    let role = match (node.offline, node.master) {
        (true, _) => "Y",
        (false, true) => "M",
        (false, false) => "N",
    };
    // Totals are unchanged: a fraction is part of the comparison.
    format!(
        "{}|{}|{}|{}|{}|{}|{}|{role}|{uuid}|{}|{}|{}|{}|{}|{:?}",
        node.name,
        node.mem_total,
        node.mem_node.0,
        node.mem_free.0,
        node.disk_total,
        node.disk_free.0,
        node.cpu_total,
        node.spindle_total,
        node.tags.join(","),
        yes_no(node.exclusive_storage),
        node.spindle_free,
        node.cpu_node,
        node.cpu_speed,
    )
}

/// Leaves out some trailing columns with default values.
fn shorten(row: String, least: usize, defaults: &[&str], wanted: bool, random: &mut Random) -> String {
    if !wanted {
        return row;
    }
    let mut columns: Vec<&str> = row.split('|').collect();
    while columns.len() > least {
        let default = columns.len().checked_sub(least + 1).and_then(|i| defaults.get(i));
        if columns.last() != default || random.chance(0.1) {
            break;
        }
        columns.pop();
    }
    columns.join("|")
}

fn with_unknown(row: &str, random: &mut Random) -> String {
    let mut columns: Vec<&str> = row.split('|').collect();
    columns[1 + random.below(6)] = "?";
    columns.join("|")
}

/// Writes the same integers in other ways.
fn restyle(row: &str, which: &[usize], random: &mut Random) -> String {
    let mut columns: Vec<String> = row.split('|').map(str::to_owned).collect();
    for i in which {
        let Ok(value) = columns[*i].parse::<i64>() else { continue };
        columns[*i] = match random.below(4) {
            0 => format!("({value})"),
            1 => format!(" {value}"),
            2 if value >= 0 => format!("{value:#x}"),
            _ => continue,
        };
    }
    columns.join("|")
}

/// Damages the file, so that it is usually refused.
fn damage(sections: &mut Vec<Vec<String>>, random: &mut Random) {
    let section = random.below(sections.len().min(3));
    let rows = &mut sections[section];
    if rows.is_empty() || random.chance(0.15) {
        sections.truncate(3);
        return;
    }
    let row = random.below(rows.len());
    let mut columns: Vec<String> = rows[row].split('|').map(str::to_owned).collect();
    let column = random.below(columns.len());
    match random.below(4) {
        0 => columns.truncate(column),
        1 => columns[column] = "1.5x".into(),
        // An instance without a secondary is a different case.
        2 if (section, column) != (2, 7) => columns[column].clear(),
        _ => columns[column].push(' '),
    }
    rows[row] = columns.join("|");
}
