//! The master's knowledge in a case of harep, as far as the comparison needs it.

use std::collections::BTreeMap;

use serde_json::Value;

use super::cases::Case;
use super::harep_tags::PREFIX;
use super::master::MASTER;

/// Nodes, instances and their faults.
pub struct Knowledge {
    value: Value,
    /// Tags of instances.
    pub tags: BTreeMap<String, Vec<String>>,
}

impl Knowledge {
    /// The knowledge of a case.
    pub fn of(case: &Case) -> Option<Knowledge> {
        let (_, text) = case.files.iter().find(|(name, _)| *name == MASTER)?;
        Knowledge::parse(text)
    }

    /// The knowledge in a master's file.
    pub fn parse(text: &str) -> Option<Knowledge> {
        let value: Value = serde_json::from_str(text).ok()?;
        let row = |row: &Value| Some((row["name"].as_str()?.to_owned(), strings(&row["tags"])));
        let tags = value["instance"].as_array()?.iter().map(row).collect::<Option<_>>()?;
        Some(Knowledge { value, tags })
    }

    /// Names under a key of the master's file.
    pub fn names(&self, key: &str) -> Vec<String> {
        strings(&self.value[key])
    }

    fn row<'v>(&'v self, kind: &str, name: &str) -> &'v Value {
        let rows = self.value[kind].as_array().into_iter().flatten();
        rows.into_iter().find(|row| row["name"] == *name).unwrap_or(&Value::Null)
    }

    fn is_out(&self, node: &str) -> bool {
        let row = self.row("node", node);
        row["offline"] == true || row["vm_capable"] == false
    }

    /// The nodes of an instance, its primary first.
    fn nodes_of(&self, instance: &str) -> Vec<String> {
        let row = self.row("instance", instance);
        let primary = row["pnode"].as_str().map(str::to_owned);
        primary.into_iter().chain(strings(&row["snodes"])).collect()
    }

    /// Tells if a node that the instance needs is out of use.
    pub fn is_damaged(&self, instance: &str) -> bool {
        self.nodes_of(instance).iter().any(|node| self.is_out(node))
    }

    /// Nodes that can take an instance and do not have it yet.
    pub fn places(&self, instance: &str) -> Vec<String> {
        let own = self.nodes_of(instance);
        let group = own.first().map_or(&Value::Null, |node| &self.row("node", node)["group.uuid"]);
        let rows = self.value["node"].as_array().into_iter().flatten();
        let others = rows.filter(|row| row["group.uuid"] == *group).filter_map(|row| row["name"].as_str());
        others
            .filter(|name| !self.is_out(name) && !own.iter().any(|own| own == name))
            .map(str::to_owned)
            .collect()
    }

    /// Tells if there are too few nodes to repair an instance. If it has lost all nodes, it needs as many new ones;
    /// otherwise it needs a new secondary.
    pub fn lacks_places(&self, instance: &str) -> bool {
        let own = self.nodes_of(instance);
        let needed = match own.iter().all(|node| self.is_out(node)) {
            true => own.len(),
            // The secondary takes over.
            false if own.first().is_some_and(|node| self.is_out(node)) => 0,
            false => 1,
        };
        self.places(instance).len() < needed
    }

    /// Instances whose tags indicate that a repair began before another one had ended.
    pub fn contradictory(&self) -> Vec<String> {
        self.tags.iter().filter(|(_, tags)| contradict(tags)).map(|(name, _)| name.clone()).collect()
    }

    /// The same knowledge for a master that accepts every job. The named instances are suspended.
    pub fn peaceful(&self, left_out: &[String]) -> Value {
        let mut value = self.value.clone();
        value["refused"] = Value::Array(Vec::new());
        value["failing"] = Value::Array(Vec::new());
        for row in value["instance"].as_array_mut().into_iter().flatten() {
            if row["name"].as_str().is_some_and(|name| left_out.iter().any(|other| other == name)) {
                row["tags"] = serde_json::json!([format!("{PREFIX}suspend")]);
            }
        }
        value
    }
}

fn strings(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// A repair tag: ID, time, and rank of its result.
fn repair(tag: &str) -> Option<(&str, i64, usize)> {
    let fields: Vec<&str> = tag.strip_prefix(PREFIX)?.split(':').collect();
    let (kind, id, time, result, jobs) = match fields[..] {
        ["pending", kind, id, time, jobs] => (kind, id, time, 0, jobs),
        ["result", kind, id, time, result, jobs] => {
            let at = ["enoperm", "success", "failure"].iter().position(|known| *known == result)?;
            (kind, id, time, at + 1, jobs)
        }
        _ => return None,
    };
    let is_known = ["fix-storage", "migrate", "failover", "reinstall"].contains(&kind);
    let are_jobs = jobs.is_empty() || jobs.split('+').all(|job| job.parse::<u64>().is_ok());
    Some((id, time.parse().ok()?, result)).filter(|_| is_known && are_jobs)
}

fn contradict(tags: &[String]) -> bool {
    // By ID: the earliest time, and the highest result; a pending one ranks lowest.
    let mut repairs: BTreeMap<&str, (i64, usize)> = BTreeMap::new();
    for (id, time, result) in tags.iter().filter_map(|tag| repair(tag)) {
        let (earliest, greatest) = repairs.entry(id).or_insert((time, result));
        (*earliest, *greatest) = ((*earliest).min(time), (*greatest).max(result));
    }
    let mut repairs: Vec<(i64, usize)> = repairs.into_values().collect();
    repairs.sort_unstable();
    let end = repairs.iter().position(|(_, result)| *result == 3).unwrap_or(repairs.len());
    let pending = repairs[..end].iter().position(|(_, result)| *result == 0);
    pending.is_some_and(|at| at + 1 < repairs.len())
}
