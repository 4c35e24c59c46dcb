//! Conditions for hail's listed differences.

use htools::load::raw::{RawCluster, RawInstance};
use htools::model::{AllocPolicy, Class};
use serde_json::Value;

use super::cases::{Case, REQUEST};
use super::hail::{Asked, Place};
use super::restate;
use super::rules::{Rule, common_suffix, is_offline, may_rescue_offline, split_instances};

/// Tells if the rule can affect the answer to a request.
pub fn applies(rule: Rule, case: &Case, asked: &Asked) -> bool {
    let raw = &case.cluster.raw;
    if rule == Rule::TemplateMissing {
        return restate::with_templates(case).is_some();
    }
    if asked.damaged || case.facts.mistaken {
        return rule == Rule::ChangeGroupDump && asked.kind() == "change-group";
    }
    let (theirs, ours) = dedicated(raw, asked);
    match rule {
        Rule::DedicatedWithoutExclusive => theirs != ours,
        Rule::DedicatedOvercommit => {
            ours && asked.entries().len() > 1 && (named_group(raw, asked).is_some() || raw.groups.len() > 1)
        }
        Rule::OfflineRescue => asked.checked && places_new(asked) && !ours && may_rescue_offline(case),
        Rule::EvacuationOrder => asked.checked && places_new(asked) && !ours && has_departures(raw),
        Rule::DrainedSecondary => {
            asked.kind() == "node-evacuate" && listed(raw, asked).any(|i| drained_secondary(case, i))
        }
        Rule::ForeignReferences => match asked.entries().is_empty() {
            true => asked.place == Place::Foreign,
            false => asked.place != Place::Own && own_tags(case) != raw.tags,
        },
        Rule::RepeatedInstance => once(asked, "instances", |key| instance(raw, key)).is_some(),
        Rule::RepeatedTarget => once(asked, "target_groups", |key| group(raw, key)).is_some(),
        Rule::RestrictedChangeGroup => asked.kind() == "change-group" && case.facts.restricted.is_some(),
        Rule::NextGroup => asked.kind() == "change-group" && raw.groups.len() > 2,
        Rule::NewInstanceNumber => {
            let listed = |word: &String| word.contains("plist") || word.contains("slist");
            !asked.entries().is_empty() && case.words.iter().any(listed)
        }
        Rule::GroupIndexShadow => asked.checked && !ours && shadows(raw, asked),
        Rule::GroupState => {
            (theirs || ours || named_group(raw, asked).is_some())
                && !asked.entries().is_empty()
                && raw.groups.len() > 1
        }
        Rule::SplitInstanceCheck => !split_instances(raw).is_empty(),
        Rule::SplitInstanceState => {
            let split = split_instances(raw);
            asked.kind() == "change-group" && listed(raw, asked).any(|i| split.contains(&i.name.as_str()))
        }
        Rule::DrbdOnOneNode => asked
            .entries()
            .iter()
            .any(|entry| entry["disk_template"] == "drbd" && entry["required_nodes"] == 1),
        Rule::ChangeGroupDump => asked.kind() == "change-group",
        _ => false,
    }
}

/// The group that the request names, by name or UUID.
pub fn named_group(raw: &RawCluster, asked: &Asked) -> Option<usize> {
    group(raw, asked.group_name()?)
}

/// The group with this name or UUID.
pub fn group(raw: &RawCluster, key: &str) -> Option<usize> {
    raw.groups.iter().position(|group| group.name == key || group.uuid == key)
}

/// The instance with this name, complete or without the common suffix.
pub fn instance(raw: &RawCluster, key: &str) -> Option<usize> {
    let suffix = common_suffix(raw);
    raw.instances.iter().position(|i| i.name == key || i.name.strip_suffix(suffix) == Some(key))
}

/// The names in a list of a request to move instances, without repetitions of the same object; none if there are no
/// repetitions.
pub fn once(asked: &Asked, list: &str, meaning: impl Fn(&str) -> Option<usize>) -> Option<Vec<Value>> {
    let names = asked.request[list].as_array().filter(|_| asked.entries().is_empty())?;
    let means = |name: &Value| name.as_str().and_then(&meaning);
    let first = |(at, name): &(usize, &Value)| {
        let meant = means(name);
        meant.is_none() || !names[..*at].iter().any(|former| means(former) == meant)
    };
    let kept: Vec<Value> = names.iter().enumerate().filter(first).map(|(_, name)| name.clone()).collect();
    (kept.len() < names.len()).then_some(kept)
}

/// The cluster's tags in the request's own message.
fn own_tags(case: &Case) -> Vec<String> {
    let message = case.files.iter().find(|(name, _)| *name == REQUEST);
    let message: Value = message.and_then(|(_, text)| serde_json::from_str(text).ok()).unwrap_or_default();
    let tags = message["cluster_tags"].as_array().into_iter().flatten();
    tags.filter_map(|tag| tag.as_str().map(str::to_owned)).collect()
}

/// Tells if the reference treats the request as one for a dedicated cluster, and if we do.
pub fn dedicated(raw: &RawCluster, asked: &Asked) -> (bool, bool) {
    let named = named_group(raw, asked);
    let allocable = |g: usize| raw.groups[g].alloc_policy != AllocPolicy::Unallocable;
    let any_allocable = (0..raw.groups.len()).any(allocable);
    let concerns = |g: usize| named.map_or(!any_allocable || allocable(g), |named| named == g);
    let there = raw.nodes.iter().filter(|node| named.is_none_or(|named| named == node.group.get())).count();
    if asked.entries().is_empty() || there == 0 || asked.group_name().is_some() && named.is_none() {
        return (false, false);
    }
    let theirs = raw.nodes.iter().all(|node| {
        let group = node.group.get();
        let concerned = match asked.group_name() {
            Some(name) => raw.groups[group].name == name,
            None => allocable(group),
        };
        node.exclusive_storage || !concerned
    });
    let mut nodes = raw.nodes.iter().filter(|node| concerns(node.group.get())).peekable();
    let ours = nodes.peek().is_some() && nodes.all(|node| node.exclusive_storage);
    (theirs, ours)
}

/// Tells if the request places an instance on entirely new nodes.
fn places_new(asked: &Asked) -> bool {
    ["allocate", "multi-allocate", "change-group", "allocate-secondary"].contains(&asked.kind())
}

/// Tells if an instance on shared storage would leave its node if that is emptied. A new one may leave it before or
/// after.
fn has_departures(raw: &RawCluster) -> bool {
    raw.instances.iter().any(|i| Class::of(i.template) == Class::Relocate && !i.forthcoming)
}

/// The instances to evacuate.
pub fn listed<'a>(raw: &'a RawCluster, asked: &'a Asked) -> impl Iterator<Item = &'a RawInstance> {
    let keys = asked.request["instances"].as_array().into_iter().flatten().filter_map(Value::as_str);
    keys.filter_map(move |key| Some(&raw.instances[instance(raw, key)?]))
}

/// Tells if the instance's secondary is out of use but has memory, or needs none in the reference.
pub fn drained_secondary(case: &Case, instance: &RawInstance) -> bool {
    forced(case, instance)
        || instance.template.has_secondary()
            && instance.secondary.is_some_and(|secondary| {
                is_offline(case, secondary.get()) && case.cluster.raw.nodes[secondary.get()].mem_free.0 > 0
            })
}

/// Tells if both nodes are out of use. The reference requires no memory to leave an offline node.
pub fn forced(case: &Case, instance: &RawInstance) -> bool {
    instance.template.has_secondary()
        && is_offline(case, instance.primary.get())
        && instance.secondary.is_some_and(|secondary| is_offline(case, secondary.get()))
}

/// Tells if a new instance gets a number that an instance of the named group has.
fn shadows(raw: &RawCluster, asked: &Asked) -> bool {
    let Some(group) = named_group(raw, asked) else { return false };
    let inside = |i: usize| raw.nodes[raw.instances[i].primary.get()].group.get() == group;
    let count = (0..raw.instances.len()).filter(|i| inside(*i)).count();
    (count..count + asked.entries().len()).any(|i| i < raw.instances.len() && inside(i))
}
