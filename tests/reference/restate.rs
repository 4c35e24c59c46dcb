//! Restated cases: where the reference is known to go wrong, it is run with an equivalent input that avoids the
//! error. Its answer must then equal ours.

use htools::load::raw::{RawCluster, RawGroup, RawInstance, RawNode};
use htools::model::{
    AllocPolicy, Class, DiskParameters, DiskTemplate, GroupIdx, InstancePolicy, Mib, NodeIdx,
};
use serde_json::{Value, json};

use super::cases::{Case, REQUEST, Source, TEXT};
use super::decorate::NETWORKS;
use super::hail::{Asked, Place};
use super::hail_rules::{dedicated, group, instance, named_group, once};
use super::rules::{Rule, is_offline};
use super::tools::Tool;
use super::{harep_compare, hcheck, hroller, input, luxi, rapi, requests};

/// Name of a group that only keeps the cluster from being dedicated.
pub const EXTRA: &str = "extra-group";

/// The restated case, and the listed difference that it avoids.
pub fn restated(case: &Case) -> Option<(Rule, Case)> {
    let applying = |rules: &[Rule]| rules.iter().copied().find(|rule| rule.applies(case));
    if let Some(asked) = &case.asked {
        if let Some(request) = with_templates(case) {
            let mut restated = case.clone();
            replace(&mut restated, REQUEST, request);
            return Some((Rule::TemplateMissing, restated));
        }
        let rule = applying(&[
            Rule::RepeatedInstance,
            Rule::RepeatedTarget,
            Rule::ForeignReferences,
            Rule::DedicatedOvercommit,
            Rule::DedicatedWithoutExclusive,
            Rule::GroupIndexShadow,
            Rule::DrainedSecondary,
            Rule::OfflineRescue,
            Rule::EvacuationOrder,
        ])?;
        return question(case, asked).map(|restated| (rule, restated));
    }
    if case.tool == Tool::Hcheck {
        return hcheck::restate(case);
    }
    if case.tool == Tool::Harep {
        return harep_compare::restated(case);
    }
    if case.tool == Tool::Hroller {
        let rule = applying(&[Rule::UnselectedNodes, Rule::OwnSecondary])?;
        let mut restated = case.clone();
        restated.cluster.raw = hroller::gathered(case);
        let text = input::plain_text(&restated.cluster.raw);
        if case.source == Source::Luxi {
            restated.source = Source::Text;
        }
        replace(&mut restated, TEXT, text);
        return Some((rule, restated));
    }
    if Rule::SilentNode.applies(case) {
        let mut restated = case.clone();
        let nodes = restated.files.iter_mut().find(|(name, _)| name.ends_with("nodes.json"))?;
        nodes.1 = rapi::marked_offline(&nodes.1)?;
        return Some((Rule::SilentNode, restated));
    }
    let rule = applying(&[Rule::SilentNodes, Rule::OfflineRescue, Rule::DisklessMoves])?;
    let mut restated = case.clone();
    let in_text = [Rule::OfflineRescue, Rule::DisklessMoves].iter().any(|rule| rule.applies(case));
    if rule == Rule::SilentNodes && !in_text {
        let marked = case.files.iter().find(|(name, _)| *name == luxi::MARKED)?.1.clone();
        replace(&mut restated, luxi::FILES[0], marked);
        return Some((rule, restated));
    }
    if Rule::OfflineRescue.applies(case) {
        disarm(case, &mut restated.cluster.raw);
    }
    if Rule::DisklessMoves.applies(case) {
        share_storage(&mut restated.cluster.raw);
    }
    if case.source == Source::Request {
        forget_spindles(&mut restated.cluster.raw);
    }
    let text = input::plain_text(&restated.cluster.raw);
    match case.source {
        Source::Text | Source::Request => replace(&mut restated, TEXT, text),
        Source::Rapi | Source::Luxi => {
            restated.source = Source::Text;
            replace(&mut restated, TEXT, text);
        }
        _ if case.facts.mistaken => return None,
        _ => given_as_text(&mut restated, text),
    }
    Some((rule, restated))
}

/// The request with the missing disk templates of existing or new instances added; none if none is missing.
pub fn with_templates(case: &Case) -> Option<String> {
    let (_, text) = case.files.iter().find(|(name, _)| *name == REQUEST)?;
    let mut message: Value = serde_json::from_str(text).ok()?;
    let request = message.get("request")?.clone();
    let is_new = |kind: &str| request["type"] == kind;
    let mut filled = false;
    let mut fill = |instance: &mut Value| {
        let nodes = instance["nodes"]
            .as_array()
            .map_or(instance["required_nodes"].as_u64(), |n| Some(n.len() as u64));
        let template = if nodes.is_some_and(|n| n > 1) { "drbd" } else { "plain" };
        if let Some(fields) = instance.as_object_mut().filter(|fields| !fields.contains_key("disk_template"))
        {
            fields.insert("disk_template".to_owned(), template.into());
            filled = true;
        }
    };
    message.get_mut("instances")?.as_object_mut()?.values_mut().for_each(&mut fill);
    if is_new("allocate") {
        fill(&mut message["request"]);
    }
    if is_new("multi-allocate") {
        message["request"].get_mut("instances")?.as_array_mut()?.iter_mut().for_each(&mut fill);
    }
    filled.then(|| format!("{message}\n"))
}

/// The cluster as text, if it is not or must change: with `without_rescue`, nodes out of use have no memory.
pub fn as_text(case: &Case, other: &mut Case, without_rescue: bool) {
    let diskless = Rule::DisklessMoves.applies(case);
    if without_rescue {
        disarm(case, &mut other.cluster.raw);
    }
    if diskless {
        share_storage(&mut other.cluster.raw);
    }
    if !without_rescue && !diskless && case.source != Source::Request {
        return;
    }
    if case.source == Source::Luxi {
        other.source = Source::Text;
    }
    if case.source == Source::Request {
        forget_spindles(&mut other.cluster.raw);
    }
    let text = input::plain_text(&other.cluster.raw);
    replace(other, TEXT, text);
}

/// Replaces a simulated cluster by a text file.
fn given_as_text(case: &mut Case, text: String) {
    let mut words = vec!["-t".to_owned(), TEXT.to_owned()];
    let mut meant = case.words.drain(..);
    while let Some(word) = meant.next() {
        match word.starts_with("--si") {
            true if word.contains('=') => {}
            true => drop(meant.next()),
            false => words.push(word),
        }
    }
    drop(meant);
    case.source_at = if case.source_at == 0 { 0 } else { words.len() };
    case.words = words;
    replace(case, TEXT, text);
}

fn replace(case: &mut Case, name: &'static str, content: String) {
    case.files.retain(|(known, _)| *known != name);
    case.files.push((name, content));
}

/// As in a request, exclusive nodes that are not live have no spindles.
fn forget_spindles(raw: &mut RawCluster) {
    let dead = |node: &&mut RawNode| node.offline && node.exclusive_storage && node.mem_total == 0.0;
    raw.nodes.iter_mut().filter(dead).for_each(|node| node.spindle_total = 0);
}

/// Moves diskless instances to shared storage, because the reference moves them then.
fn share_storage(raw: &mut RawCluster) {
    for instance in raw.instances.iter_mut().filter(|i| i.template == DiskTemplate::Diskless) {
        instance.template = DiskTemplate::SharedFile;
    }
}

/// Puts the largest instance last, because the reference lets the last one leave first. Equal ones are ordered by
/// name.
fn smallest_first(raw: &mut RawCluster) {
    let in_use = |i: &RawInstance| if i.status.uses_memory() { i.mem } else { Mib(0) };
    let size = |i: &RawInstance| match Class::of(i.template) {
        Class::Recreate => (i.mem, i.disk),
        _ => (in_use(i), Mib(0)),
    };
    raw.instances.sort_by(|a, b| size(a).cmp(&size(b)).then_with(|| b.name.cmp(&a.name)));
}

/// Removes the memory of nodes out of use, so that nothing can be placed on them.
fn disarm(case: &Case, raw: &mut RawCluster) {
    for i in 0..raw.nodes.len() {
        if is_offline(case, i) {
            raw.nodes[i].mem_free = raw.nodes[i].mem_free.min(Mib(0));
        }
    }
}

fn question(case: &Case, asked: &Asked) -> Option<Case> {
    let mut raw = case.cluster.raw.clone();
    let mut request = asked.request.clone();
    let secondary = asked.kind() == "allocate-secondary";
    if Rule::OfflineRescue.applies(case) && !secondary || Rule::DrainedSecondary.applies(case) {
        disarm(case, &mut raw);
    }
    if let Some(names) = once(asked, "instances", |key| instance(&raw, key)) {
        request["instances"] = names.into();
    }
    if let Some(names) = once(asked, "target_groups", |key| group(&raw, key)) {
        request["target_groups"] = names.into();
    }
    if let Some(group) = named_group(&raw, asked) {
        request["group_name"] = raw.groups[group].name.clone().into();
        if Rule::GroupIndexShadow.applies(case) {
            raw.instances.sort_by_key(|i| raw.nodes[i.primary.get()].group.get() != group);
        }
        if Rule::DedicatedOvercommit.applies(case) {
            raw = alone(&raw, group)?;
            request.as_object_mut()?.shift_remove("group_name");
        }
    } else if Rule::DedicatedWithoutExclusive.applies(case) && !dedicated(&raw, asked).1 {
        add_group(&mut raw);
    }
    if Rule::EvacuationOrder.applies(case) {
        smallest_first(&mut raw);
    }
    let mut restated = case.clone();
    match asked.place {
        Place::Own => {
            let message = requests::message(&raw, &["xen-pvm"], &request);
            replace(&mut restated, REQUEST, message.to_string());
        }
        Place::Text | Place::Foreign => {
            let tags = RawCluster { tags: raw.tags.clone(), ..RawCluster::default() };
            let own = if asked.place == Place::Foreign { &raw } else { &tags };
            let message = requests::message(own, &[], &request);
            replace(&mut restated, REQUEST, message.to_string());
            replace(&mut restated, TEXT, input::plain_text(&raw));
        }
        Place::Simulated => {
            let message = requests::message(&RawCluster::default(), &[], &request);
            replace(&mut restated, REQUEST, message.to_string());
            if raw != case.cluster.raw {
                given_as_text(&mut restated, input::plain_text(&raw));
            }
        }
    }
    Some(restated)
}

/// Adds a preferred group with one offline, empty node, so that not every node is exclusive.
fn add_group(raw: &mut RawCluster) {
    raw.groups.push(RawGroup {
        name: EXTRA.into(),
        uuid: EXTRA.into(),
        alloc_policy: AllocPolicy::Preferred,
        networks: NETWORKS.map(str::to_owned).to_vec(),
        policy: InstancePolicy::default(),
        disk_parameters: DiskParameters::default(),
        tags: Vec::new(),
    });
    let Some(any) = raw.nodes.first() else { return };
    let node = RawNode {
        name: format!("node.{EXTRA}"),
        mem_total: 0.0,
        mem_node: Mib(0),
        mem_free: Mib(0),
        disk_total: 0.0,
        disk_free: Mib(0),
        cpu_total: 0.0,
        cpu_node: 0,
        exclusive_storage: false,
        offline: true,
        master: false,
        group: GroupIdx::new(raw.groups.len() - 1),
        tags: Vec::new(),
        ..any.clone()
    };
    raw.nodes.push(node);
}

/// The cluster with this group only, which is allocable; none if instances are partly in it.
fn alone(raw: &RawCluster, group: usize) -> Option<RawCluster> {
    let inside = |node: NodeIdx| raw.nodes[node.get()].group.get() == group;
    let kept: Vec<usize> = (0..raw.nodes.len()).filter(|i| inside(NodeIdx::new(*i))).collect();
    let renumber = |node: NodeIdx| kept.iter().position(|i| *i == node.get()).map(NodeIdx::new);
    let mut one = RawCluster {
        groups: vec![RawGroup { alloc_policy: AllocPolicy::Preferred, ..raw.groups[group].clone() }],
        nodes: kept.iter().map(|i| raw.nodes[*i].clone()).collect(),
        instances: Vec::new(),
        ..raw.clone()
    };
    one.nodes.iter_mut().for_each(|node| node.group = GroupIdx::new(0));
    for instance in &raw.instances {
        let primary = renumber(instance.primary);
        let secondary = instance.secondary.and_then(renumber);
        if secondary.is_some() != instance.secondary.is_some() && primary.is_some()
            || primary.is_none() && secondary.is_some()
        {
            return None;
        }
        if let Some(primary) = primary {
            one.instances.push(RawInstance { primary, secondary, ..instance.clone() });
        }
    }
    Some(one)
}

/// Removes the additions of the restated case from the answer.
pub fn without_extra_group(answer: &mut Value) {
    if let Some(info) = answer["info"].as_str() {
        let cut = info.find(&format!(", Group {EXTRA}: ")).unwrap_or(info.len());
        answer["info"] = json!(info[..cut]);
    }
}
