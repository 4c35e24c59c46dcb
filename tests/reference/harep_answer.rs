//! What harep said, instance by instance.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::harep_tags::{FUTURE, PREFIX};
use super::master::FIRST_JOB;

/// What every opcode has when it is submitted: who did that, when, and why.
const COMMON: [&str; 4] = ["priority", "depends", "comment", "reason"];

/// What was said, and what was left at the end.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answer {
    /// In the order in which it was said.
    pub visits: Vec<Visit>,
    /// How many instances are how; none if the run was cut off.
    pub counts: Option<BTreeMap<String, i64>>,
}

/// What was said at a time about an instance.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Visit {
    pub name: String,
    /// What is done, or why nothing is.
    pub head: String,
    /// The opcodes of a repair.
    pub opcodes: Vec<Value>,
    pub added: Option<String>,
    pub removed: BTreeSet<String>,
}

impl Visit {
    /// What the instance counts as after it, as the reference says it.
    pub fn status(&self) -> &'static str {
        match self.head.split(' ').next() {
            Some("Executing") => "Pending repair",
            Some("Moving") if self.head.ends_with("to \"Failure\"") => "Failure",
            Some("Not") if self.head.starts_with("Not performing") => "Needs repair",
            _ => "Healthy",
        }
    }
}

/// The answer that a text is, if it is one.
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
    /// What is being said about an instance.
    fn of(&mut self, name: &str) -> &mut Visit {
        if self.visits.last().is_none_or(|visit| visit.name != name) {
            self.visits.push(Visit { name: name.to_owned(), ..Visit::default() });
        }
        self.visits.last_mut().expect("one was just pushed")
    }

    /// Puts the repairs that were submitted where they were spoken of; gives those that were not.
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

    /// Takes what must differ out of tags.
    pub fn mask(&mut self, tags: &BTreeMap<String, Vec<String>>) {
        for visit in &mut self.visits {
            let known = tags.get(&visit.name).map_or(&[][..], Vec::as_slice);
            visit.added = visit.added.as_ref().map(|tag| masked(tag, known));
            visit.removed = visit.removed.iter().map(|tag| masked(tag, known)).collect();
        }
    }
}

/// The instance that a first line is about.
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

/// A tag without what differs from run to run: when it was written, the ID of a repair that begins, and the numbers of
/// jobs that are submitted. Tags that an instance had are left as they are, and so are their IDs.
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
