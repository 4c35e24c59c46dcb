//! The text format (read by `-t`, written by `-S` and hscan): sections of rows with columns separated by `|`.
//!
//! Sections are separated by *empty* lines and identified by their order: groups, nodes, instances, cluster tags,
//! instance policies. Nothing is trimmed or quoted, and a carriage return is part of its line. The rules follow the
//! reference, with one exception: whole numbers that do not fit into 64 bits are refused, not wrapped.

mod doubts;
mod groups;
mod instances;
mod nodes;
mod policies;
mod row;
pub mod writer;

use std::collections::{HashMap, HashSet};

use super::raw::{RawCluster, RawInstance};
use crate::input::encoding::decode;
use crate::input::error::{LoadError, Result};
use crate::input::json::Budget;
use crate::input::kind::FileKind;
use htools_model::shown::shown_source;
use htools_model::{Disk, GroupIdx, NodeIdx};
use policies::Owners;

/// Number of empty lines in the shortest complete file, which may lack the policies.
const FEWEST_SECTIONS: usize = 4;

/// Reads a cluster from bytes in UTF-8. `source` names them in messages.
///
/// # Errors
/// If they are not UTF-8, or [`parse`] refuses them.
pub fn parse_bytes(bytes: &[u8], source: &str) -> Result<RawCluster> {
    parse(decode(bytes, source)?, source)
}

/// Reads a cluster from text. `source` names it in messages.
///
/// Equal names are allowed; references mean the last object of that name.
///
/// # Errors
/// The first row that is incomplete, has a malformed value, or refers to an object that does not exist. The message has
/// file, line, object, field and value.
pub fn parse(text: &str, source: &str) -> Result<RawCluster> {
    read(text, source).map_err(|error| FileKind::Text.unless_other(error, text, source))
}

fn read(text: &str, source: &str) -> Result<RawCluster> {
    check_sections(text, source)?;
    let mut reader = TextReader::new(source);
    let mut section = 0;
    let budget = Budget::new(Budget::FILE);
    for (i, line) in text.split_terminator('\n').enumerate() {
        if line.is_empty() {
            section += 1;
            continue;
        }
        budget.take(weight(line, section)).map_err(|spent| {
            LoadError::one_line(&format!("{}, line {}", shown_source(source), i + 1), &spent.to_string())
        })?;
        match section {
            0 => reader.read_group(line, i + 1)?,
            1 => reader.read_node(line, i + 1)?,
            2 => reader.read_instance(line, i + 1)?,
            3 => reader.cluster.tags.push(line.to_owned()),
            4 => reader.read_policy(line, i + 1)?,
            // Sections of later versions, which the reference ignores, too.
            _ => break,
        }
    }
    Ok(reader.cluster)
}

/// Approximate memory of a parsed line, in bytes.
fn weight(line: &str, section: usize) -> usize {
    let row = match section {
        3 => 0,
        _ => size_of::<RawInstance>() + size_of::<Disk>(),
    };
    let items = 1 + line.bytes().filter(|byte| *byte == b',').count();
    // An item of one character takes as much memory as one of twenty.
    row + line.len() + items * (size_of::<String>() + 32)
}

/// Checks the number of sections before anything is read. A file that is cut short, or has other line ends, must not
/// pass for a smaller cluster.
fn check_sections(text: &str, source: &str) -> Result<()> {
    let found = match text {
        "" => 0,
        _ => 1 + text.split_terminator('\n').filter(|line| line.is_empty()).count(),
    };
    if found >= FEWEST_SECTIONS {
        return Ok(());
    }
    let cause = if text.contains("\r\n") { "; the lines end in CR LF instead of LF" } else { "" };
    Err(LoadError::one_line(
        &shown_source(source),
        &format!("{found} sections instead of {FEWEST_SECTIONS} or more{cause}"),
    ))
}

/// State of the reading.
struct TextReader<'a> {
    source: &'a str,
    cluster: RawCluster,
    /// Groups by UUID.
    groups: HashMap<&'a str, GroupIdx>,
    group_names: HashSet<&'a str>,
    /// Nodes by name.
    nodes: HashMap<&'a str, NodeIdx>,
    instance_names: HashSet<&'a str>,
    /// Groups by the names that policies use; made when the first policy appears.
    owners: Option<Owners>,
}

impl<'a> TextReader<'a> {
    /// Keeps the first doubts.
    fn keep_doubts(&mut self, doubts: impl IntoIterator<Item = String>) {
        let kept = &mut self.cluster.doubts;
        kept.extend(doubts.into_iter().take(doubts::MOST.saturating_sub(kept.len())));
    }

    fn new(source: &'a str) -> Self {
        TextReader {
            source,
            cluster: RawCluster::default(),
            groups: HashMap::new(),
            group_names: HashSet::new(),
            nodes: HashMap::new(),
            instance_names: HashSet::new(),
            owners: None,
        }
    }
}

#[cfg(test)]
mod tests;
