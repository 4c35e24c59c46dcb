//! Compares the opcodes of repairs.

use std::collections::BTreeSet;

use serde_json::Value;

use super::harep_history::Knowledge;
use super::rules::Rule;

/// Free keys: those that name nodes or choose them, and the locks of a delay, for which others would wait.
const FREE: [&str; 4] = ["iallocator", "remote_node", "nodes", "no_locks"];
/// Additional opcodes of ours: an instance that should run is stopped before it gets new disks, and started
/// afterwards.
const BESIDES: [&str; 2] = ["OP_INSTANCE_SHUTDOWN", "OP_INSTANCE_STARTUP"];

/// Compares the opcodes of a repair. The nodes that ours chooses must be usable.
pub fn compare(
    known: &Knowledge,
    instance: &str,
    theirs: &[Value],
    ours: &[Value],
    rules: &mut BTreeSet<Rule>,
) -> Result<(), String> {
    if theirs == ours {
        return Ok(());
    }
    // Our tool chooses the nodes of all repairs together before it begins any. The reference leaves the choice to
    // hail, one by one.
    rules.insert(Rule::RepairOpcodes);
    let places = known.places(instance);
    let chosen = ours.iter().flat_map(|opcode| {
        let nodes = opcode["nodes"].as_array().into_iter().flatten();
        nodes.chain(opcode.get("remote_node")).filter_map(Value::as_str)
    });
    if let Some(node) = chosen.into_iter().find(|node| !places.iter().any(|place| place == node)) {
        return Err(format!("node {node} is out of use, or has the instance"));
    }
    let besides = |opcode: &&Value| !BESIDES.iter().any(|id| opcode["OP_ID"] == **id);
    let [a, b] = [theirs, ours].map(|side| side.iter().filter(besides).map(plain).collect::<Vec<_>>());
    if a == b { Ok(()) } else { Err(format!("opcodes {a:?} and {b:?}")) }
}

/// An opcode without free keys and null values, with numbers as floats.
fn plain(opcode: &Value) -> Vec<(String, Value)> {
    let keys = opcode.as_object().into_iter().flatten();
    let said = keys.filter(|(key, value)| !FREE.contains(&key.as_str()) && !value.is_null());
    let mut plain: Vec<(String, Value)> =
        said.map(|(key, value)| (key.clone(), value.as_f64().map_or(value.clone(), Value::from))).collect();
    plain.sort_by(|a, b| a.0.cmp(&b.0));
    plain
}
