//! Free memory after moves: the reference shows and saves the values from before.

use std::collections::{HashMap, HashSet};

use htools::load::raw::RawCluster;
use htools::model::RunStatus;

/// Number of columns in a node's row of a saved state, and in an instance's.
const NODE: usize = 15;
const INSTANCE: usize = 13;

/// Heading of the column with free memory.
const HEADING: &str = "f_mem";

/// Turns a state that the reference saved after moves into the one that ours must equal. Each node has the memory
/// returned by departed instances, minus that of new ones.
pub fn moved(raw: &RawCluster, state: &str) -> String {
    let mut more: HashMap<&str, i64> = HashMap::new();
    for instance in raw.instances.iter().filter(|i| i.status.uses_memory() && !i.forthcoming) {
        *more.entry(raw.nodes[instance.primary.get()].name.as_str()).or_default() += instance.mem.0;
    }
    let rows: Vec<Vec<&str>> = state.split('\n').map(|line| line.split('|').collect()).collect();
    for row in rows.iter().filter(|row| row.len() == INSTANCE && row[12] == "N") {
        let status: Option<RunStatus> = row[4].parse().ok();
        if let (Some(true), Ok(memory)) = (status.map(RunStatus::uses_memory), row[1].parse::<i64>()) {
            *more.entry(row[6]).or_default() -= memory;
        }
    }
    let line = |row: &Vec<&str>| {
        let free = (row.len() == NODE).then(|| row[3].parse::<i64>().ok()).flatten();
        let (Some(free), Some(more)) = (free, more.get(row[0])) else { return row.join("|") };
        let free = free.wrapping_add(*more).to_string();
        [&row[..3], &[free.as_str()], &row[4..]].concat().join("|")
    };
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Tells if the names of nodes are not unique, so that they do not identify an instance's node.
pub fn has_namesakes(raw: &RawCluster) -> bool {
    let mut names = HashSet::new();
    !raw.nodes.iter().all(|node| names.insert(node.name.as_str()))
}

/// A saved state without the free memory of nodes.
pub fn without_reported(state: &str) -> String {
    let line = |line: &str| {
        let mut row: Vec<&str> = line.split('|').collect();
        if row.len() == NODE {
            row[3] = "";
        }
        row.join("|")
    };
    state.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

/// Tables after moves, without the free memory of nodes.
pub fn without_free(tables: &str) -> String {
    let mut columns: Vec<usize> = Vec::new();
    let mut after = false;
    let mut text = String::new();
    for line in tables.lines() {
        if !line.starts_with(' ') {
            after = line.starts_with("Final ") || line.contains(" allocation ");
            columns.clear();
        }
        if after && line.contains(HEADING) {
            let ends = line.match_indices(HEADING).map(|(at, _)| line[..at].chars().count() + HEADING.len());
            columns = ends.collect();
        }
        if columns.is_empty() {
            text.push_str(line);
        } else {
            text.push_str(&masked(line, &columns));
        }
        text.push('\n');
    }
    text
}

/// The words of a line, separated by one blank, without those that end at these columns.
fn masked(line: &str, ends: &[usize]) -> String {
    let mut at = 0;
    let word = |part: &str| {
        at += part.chars().count();
        let shown = if ends.contains(&at) { "*" } else { part }.to_owned();
        at += 1;
        shown
    };
    let words: Vec<String> = line.split(' ').map(word).filter(|word| !word.is_empty()).collect();
    words.join(" ")
}
