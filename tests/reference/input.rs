//! A cluster as the files that the tools read: text in all its historic
//! forms, now and then broken; or an allocator request.

use htools::generate::random::Random;
use htools::load::raw::{RawCluster, RawGroup, RawInstance, RawNode};
use htools::model::{InstancePolicy, InstanceSpec, NodeIdx, RunStatus};
use htools::report::text::policy_row;
use serde_json::{Value, json};

use super::clusters::OddCluster;

/// The text form. Trailing columns that hold their defaults may be left out,
/// as older versions did.
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
    let parts: Vec<String> =
        sections.iter().map(|rows| rows.iter().map(|row| format!("{row}\n")).collect()).collect();
    let whole = parts.join("\n");
    if random.chance(0.02) { whole.trim_end_matches('\n').to_owned() } else { whole }
}

fn yes_no(yes: bool) -> &'static str {
    if yes { "Y" } else { "N" }
}

fn group_row(group: &RawGroup) -> String {
    let RawGroup { name, uuid, alloc_policy, networks, tags, policy: _ } = group;
    format!("{name}|{uuid}|{alloc_policy}|{}|{}", tags.join(","), networks.join(","))
}

fn instance_row(cluster: &RawCluster, instance: &RawInstance) -> String {
    let node = |node: NodeIdx| cluster.nodes[node.get()].name.as_str();
    // one unknown number makes the sum unknown
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
    // totals as they are: a fraction is part of the comparison
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

/// Leaves out up to all trailing columns that hold their defaults.
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

/// Other ways to write the same whole numbers.
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

/// Makes the file one that is refused, or nearly so.
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
        2 => columns[column].clear(),
        _ => columns[column].push(' '),
    }
    rows[row] = columns.join("|");
}

/// Takes from the cluster what an allocator request cannot say.
pub fn limit_to_request(odd: &mut OddCluster, random: &mut Random) {
    odd.unknown.clear();
    odd.features.remove("unknown nodes");
    odd.features.insert("allocator request");
    odd.raw.policy = InstancePolicy::default();
    for node in &mut odd.raw.nodes {
        (node.mem_total, node.disk_total) = (node.mem_total.trunc(), node.disk_total.trunc());
        node.cpu_speed = 1.0;
        node.master = false;
    }
    for instance in &mut odd.raw.instances {
        instance.auto_balance = true;
        if !matches!(instance.status, RunStatus::AdminDown | RunStatus::AdminOffline) {
            instance.status = RunStatus::Running;
        }
        if instance.disk.0 > 10 && random.chance(0.3) && instance.disks[0].spindles.is_none() {
            let mut parts = [instance.disks[0]; 2];
            parts[0].size.0 = 7;
            parts[1].size.0 -= 7;
            instance.disks = parts.to_vec();
        }
    }
}

/// The cluster as a request to an allocator, to evacuate nothing.
pub fn request(odd: &OddCluster) -> String {
    let raw = &odd.raw;
    let groups = raw.groups.iter().map(|group| {
        let value = json!({
            "name": group.name, "alloc_policy": group.alloc_policy.as_str(), "networks": [],
            "tags": group.tags, "ipolicy": policy(&group.policy),
        });
        (group.uuid.clone(), value)
    });
    let nodes = raw.nodes.iter().enumerate().map(|(i, node)| {
        let value = json!({
            // every other node that is out of use is drained: its numbers count
            "offline": node.offline && i % 2 == 0, "drained": node.offline && i % 2 == 1,
            "group": raw.groups[node.group.get()].uuid, "vm_capable": true, "tags": node.tags,
            "ndparams": {"exclusive_storage": node.exclusive_storage, "spindle_count": node.spindle_total},
            "total_spindles": node.spindle_total, "free_spindles": node.spindle_free,
            "total_memory": node.mem_total as i64, "reserved_memory": node.mem_node.0,
            "free_memory": node.mem_free.0, "total_disk": node.disk_total as i64,
            "free_disk": node.disk_free.0, "total_cpus": node.cpu_total as i64,
            "reserved_cpus": node.cpu_node,
        });
        (node.name.clone(), value)
    });
    let instances = raw.instances.iter().map(|instance| {
        let places: Vec<&str> = std::iter::once(instance.primary)
            .chain(instance.secondary)
            .map(|node| raw.nodes[node.get()].name.as_str())
            .collect();
        let disks: Vec<Value> = instance
            .disks
            .iter()
            .map(|disk| match disk.spindles {
                Some(spindles) => json!({"mode": "rw", "size": disk.size.0, "spindles": spindles}),
                None => json!({"mode": "rw", "size": disk.size.0}),
            })
            .collect();
        let state = match instance.status {
            RunStatus::AdminDown => "down",
            RunStatus::AdminOffline => "offline",
            _ => "up",
        };
        let value = json!({
            "disk_space_total": instance.disk.0, "disks": disks, "memory": instance.mem.0,
            "vcpus": instance.vcpus, "tags": instance.tags, "spindle_use": instance.spindle_use,
            "disk_template": instance.template.as_str(), "nics": [], "admin_state": state,
            "forthcoming": instance.forthcoming, "nodes": places,
        });
        (instance.name.clone(), value)
    });
    let whole = json!({
        "request": {"type": "node-evacuate", "instances": [], "evac_mode": "all"},
        "nodegroups": Value::Object(groups.collect()),
        "nodes": Value::Object(nodes.collect()),
        "instances": Value::Object(instances.collect()),
        "cluster_tags": raw.tags,
        // on kvm the nodes' own memory would be replaced
        "enabled_hypervisors": ["xen-pvm"],
    });
    whole.to_string() + "\n"
}

fn policy(policy: &InstancePolicy) -> Value {
    let spec = |s: &InstanceSpec| {
        json!({
            "memory-size": s.memory.0, "cpu-count": s.cpus, "disk-size": s.disk_size.0,
            "disk-count": s.disk_count, "nic-count": s.nic_count, "spindle-use": s.spindle_use,
        })
    };
    let ranges: Vec<Value> =
        policy.ranges.iter().map(|r| json!({"min": spec(&r.min), "max": spec(&r.max)})).collect();
    let templates: Vec<&str> = policy.disk_templates.iter().map(|t| t.as_str()).collect();
    json!({
        "minmax": ranges, "std": spec(&policy.std), "disk-templates": templates,
        "vcpu-ratio": policy.vcpu_ratio, "spindle-ratio": policy.spindle_ratio,
    })
}
