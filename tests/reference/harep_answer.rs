//! The output of harep, instance by instance.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::harep_tags::{FUTURE, PREFIX};
use super::master::FIRST_JOB;

/// Keys of every submitted opcode for its sender, time and reason.
const COMMON: [&str; 4] = ["priority", "depends", "comment", "reason"];

/// The output and the final counts.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answer {
    /// In the order of the output.
    pub visits: Vec<Visit>,
    /// Number of instances by state; none if the run was cut off.
    pub counts: Option<BTreeMap<String, i64>>,
}

/// The output of one visit to an instance.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Visit {
    pub name: String,
    /// The action, or the reason why there is none.
    pub head: String,
    /// The opcodes of a repair.
    pub opcodes: Vec<Value>,
    pub added: Option<String>,
    pub removed: BTreeSet<String>,
}

impl Visit {
    /// The instance's state afterwards, in the reference's words.
    pub fn status(&self) -> &'static str {
        match self.head.split(' ').next() {
            Some("Executing") => "Pending repair",
            Some("Moving") if self.head.ends_with("to \"Failure\"") => "Failure",
            Some("Not") if self.head.starts_with("Not performing") => "Needs repair",
            _ => "Healthy",
        }
    }
}

/// Parses the output, if it is valid.
pub fn parsed(text: &str) -> Option<Answer> {
    let mut answer = Answer::default();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let quoted = |line: &str| Some(line.strip_prefix('"')?.strip_suffix('"')?.to_owned());
        if let Some(name) = name_in(line) {
            let head = line.to_owned();
            answer.visits.push(Visit { name: name.to_owned(), head, ..Visit::default() });
        } else if let Some(jobs) = line.strip_prefix("jobs: ") {
            let jobs: Vec<Vec<Value>> = serde_json::from_str(jobs).ok()?;
            answer.visits.last_mut()?.opcodes = jobs.into_iter().flatten().collect();
        } else if let Some(name) = line.strip_prefix(">>> Adding the following tag to ") {
            answer.of(name.strip_suffix(':')?).added = Some(quoted(lines.next()?)?);
        } else if let Some(name) = line.strip_prefix(">>> Removing the following tags from ") {
            let visit = answer.of(name.strip_suffix(':')?);
            while let Some(tag) = lines.next_if(|line| line.starts_with('"')) {
                visit.removed.insert(quoted(tag)?);
            }
        } else if line == "---------------------" {
            let title = [lines.next()?, lines.next()?];
            if title != ["Instance status count", line] {
                return None;
            }
            let count = |line: &str| {
                let (status, count) = line.split_once(": ")?;
                Some((status.to_owned(), count.parse().ok()?))
            };
            answer.counts = Some(lines.by_ref().map(count).collect::<Option<_>>()?);
        } else {
            return None;
        }
    }
    Some(answer)
}

impl Answer {
    /// The current visit of an instance.
    fn of(&mut self, name: &str) -> &mut Visit {
        if self.visits.last().is_none_or(|visit| visit.name != name) {
            self.visits.push(Visit { name: name.to_owned(), ..Visit::default() });
        }
        self.visits.last_mut().expect("one was just pushed")
    }

    /// Assigns submitted repairs to the visits that mention them. Returns the others.
    pub fn attach(&mut self, repairs: &[Value]) -> Vec<Value> {
        let mut left = Vec::new();
        for repair in repairs {
            let mut opcodes = repair.as_array().cloned().unwrap_or_default();
            for opcode in opcodes.iter_mut().filter_map(Value::as_object_mut) {
                opcode.retain(|key, _| !COMMON.contains(&key.as_str()));
            }
            let name = opcodes.iter().find_map(|opcode| opcode.get("instance_name"));
            let visit = self.visits.iter_mut().find(|visit| {
                visit.opcodes.is_empty()
                    && visit.head.starts_with("Executing ")
                    && name.is_some_and(|name| *name == visit.name)
            });
            match visit {
                Some(visit) => visit.opcodes = opcodes,
                None => left.push(repair.clone()),
            }
        }
        left
    }

    /// Removes the parts of tags that always differ.
    pub fn mask(&mut self, tags: &BTreeMap<String, Vec<String>>) {
        for visit in &mut self.visits {
            let known = tags.get(&visit.name).map_or(&[][..], Vec::as_slice);
            visit.added = visit.added.as_ref().map(|tag| masked(tag, known));
            visit.removed = visit.removed.iter().map(|tag| masked(tag, known)).collect();
        }
    }
}

/// The instance named in a visit's first line.
fn name_in(line: &str) -> Option<&str> {
    let word = match line.split(' ').next()? {
        "Moving" => line.split(' ').nth(1)?,
        "Executing" => line.split_once(" repair on ")?.1,
        "Not" => {
            line.strip_prefix("Not repairing ")
                .or_else(|| Some(line.split_once(" on ")?.1))?
                .split_once(" because ")?
                .0
        }
        _ => return None,
    };
    Some(word.split_once(": ").map_or(word, |(name, _)| name))
}

/// A tag without the parts that differ from run to run: its time, the ID of a new repair, and the numbers of
/// submitted jobs. The tags and IDs that an instance had before are unchanged.
pub fn masked(tag: &str, known: &[String]) -> String {
    if known.iter().any(|known| known == tag) {
        return tag.to_owned();
    }
    let mut fields: Vec<String> =
        tag.strip_prefix(PREFIX).unwrap_or(tag).split(':').map(str::to_owned).collect();
    let id = |tag: &str| tag.strip_prefix(PREFIX)?.split(':').nth(2).map(str::to_owned);
    if let [_, _, case, time, .., jobs] = fields.as_mut_slice() {
        if !known.iter().filter_map(|tag| id(tag)).any(|id| id == *case) {
            *case = "NEW".to_owned();
        }
        if time.parse().is_ok_and(|time: i64| time < FUTURE) {
            *time = "NOW".to_owned();
        }
        let number = |job: &str| match job.parse::<u64>() {
            Ok(id) if id >= FIRST_JOB => "JOB".to_owned(),
            _ => job.to_owned(),
        };
        *jobs = jobs.split('+').map(number).collect::<Vec<_>>().join("+");
    }
    fields.join(":")
}
