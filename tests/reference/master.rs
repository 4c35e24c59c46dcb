//! A master daemon with a memory: it has a cluster and jobs, accepts more of them, and keeps the tags that they set.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use serde_json::{Map, Value, json};

use super::cases::Case;
use super::server::{Act, Server, message};

/// The file with the master's initial knowledge:
///
/// - rows of `node`, `instance` and `group`: objects by field names, with null for unknown values;
/// - `info`;
/// - `jobs`: the statuses of existing jobs, by number;
/// - `refused` and `failing`: names of instances for which no repairs are accepted, or whose tags cannot be changed;
/// - `mute`: true if requests about jobs get no answer.
pub const MASTER: &str = "master.json";

/// The file with its final knowledge: the submitted `repairs`, as opcodes, and `tags` by instance.
pub const AFTER: &str = "after.json";

/// Number of the first submitted job.
pub const FIRST_JOB: u64 = 1000;

/// Starts a server in the case's directory, if the case has a file with a master's knowledge.
pub fn serve(case: &Case, directory: &Path) -> io::Result<Option<Server>> {
    let Some((_, text)) = case.files.iter().find(|(name, _)| *name == MASTER) else { return Ok(None) };
    let known = serde_json::from_str(text).map_err(io::Error::other)?;
    let master = Mutex::new(Master::new(known, directory.join(AFTER)));
    master.lock().expect("nobody has it").save();
    Ok(Some(Server::new(directory, move |_, request| {
        let mut master = master.lock().expect("no request makes it panic");
        master.answer(request).map_or_else(|| vec![Act::Close], message)
    })))
}

struct Master {
    known: Value,
    submitted: Vec<Submitted>,
    after: PathBuf,
}

/// A submitted job; it has ended already.
struct Submitted {
    opcodes: Value,
    is_well: bool,
}

impl Master {
    fn new(known: Value, after: PathBuf) -> Master {
        Master { known, submitted: Vec::new(), after }
    }

    /// The answer to a request; none if the request is invalid.
    fn answer(&mut self, request: &str) -> Option<String> {
        let request: Value = serde_json::from_str(request).ok()?;
        let args = request.get("args")?;
        let result = match request.get("method")?.as_str()? {
            "Query" if args.get(0)? == "job" => self.query_for_jobs(args)?,
            "Query" => self.query(args)?,
            "QueryClusterInfo" => self.known.get("info")?.clone(),
            "QueryJobs" if self.known["mute"] == true => {
                return Some(json!({"success": false, "result": ["OpPrereqError", ["mute"]]}).to_string());
            }
            "QueryJobs" => self.query_jobs(args.get(0)?, args.get(1)?)?,
            "SubmitManyJobs" => args.get(0)?.as_array()?.iter().map(|job| self.submit(job)).collect(),
            "WaitForJobChange" => json!([[self.job(args.get(0)?.as_u64()?)["status"]], []]),
            _ => return None,
        };
        Some(json!({"success": true, "result": result}).to_string())
    }

    /// Answers a query for nodes, instances or groups: all, or the one with a name.
    fn query(&self, args: &Value) -> Option<Value> {
        let rows = self.known.get(args.get(0)?.as_str()?)?.as_array()?;
        let fields = args.get(1)?.as_array()?;
        let name = args.get(2)?.as_array().and_then(|filter| filter.get(2));
        let cell = |row: &Value, field: &Value| match row.get(field.as_str().unwrap_or_default()) {
            None => json!([1, null]),
            Some(Value::Null) => json!([2, null]),
            Some(value) => json!([0, value]),
        };
        let meant = rows.iter().filter(|row| name.is_none_or(|name| row["name"] == *name));
        let data: Value =
            meant.map(|row| fields.iter().map(|field| cell(row, field)).collect::<Value>()).collect();
        Some(json!({"fields": [], "data": data}))
    }

    /// The jobs with numbers above a given one.
    fn query_for_jobs(&self, args: &Value) -> Option<Value> {
        let after = args.get(2)?.get(2)?.as_u64()?;
        let row = |id: u64| -> Value {
            let job = self.job(id);
            let value = |field: &Value| json!([0, job[field.as_str().unwrap_or_default()]]);
            args[1].as_array().into_iter().flatten().map(value).collect()
        };
        let data: Value = self.numbers().into_iter().filter(|id| *id > after).map(row).collect();
        Some(json!({"fields": [], "data": data}))
    }

    fn query_jobs(&self, ids: &Value, fields: &Value) -> Option<Value> {
        let fields = fields.as_array()?;
        let ids: Vec<u64> = match ids.as_array() {
            None => self.numbers(),
            Some(ids) => ids.iter().map(Value::as_u64).collect::<Option<_>>()?,
        };
        let row = |id: &u64| match self.job(*id) {
            Value::Null => Value::Null,
            job => fields.iter().map(|field| job[field.as_str().unwrap_or_default()].clone()).collect(),
        };
        Some(ids.iter().map(row).collect())
    }

    fn numbers(&self) -> Vec<u64> {
        let first = self.known["jobs"].as_object().into_iter().flat_map(Map::keys);
        let first = first.filter_map(|id| id.parse().ok());
        first.chain((FIRST_JOB..).take(self.submitted.len())).collect()
    }

    /// A job, by field names.
    fn job(&self, id: u64) -> Value {
        let failure = json!([["OpExecError", ["something failed"]]]);
        let (status, opcodes, results) = match id.checked_sub(FIRST_JOB) {
            Some(at) => {
                let Some(Submitted { opcodes, is_well }) = self.submitted.get(at as usize) else {
                    return Value::Null;
                };
                match is_well {
                    true => (json!("success"), opcodes.clone(), results(opcodes)),
                    false => (json!("error"), opcodes.clone(), failure),
                }
            }
            None => {
                let status = self.known["jobs"][id.to_string()].clone();
                if status.is_null() {
                    return Value::Null;
                }
                let results = if status == "error" { failure } else { json!([null]) };
                (status, json!([{"OP_ID": "OP_TEST_DELAY"}]), results)
            }
        };
        json!({
            "id": id, "status": status, "ops": opcodes, "opresult": results, "oplog": [[]], "archived": false,
        })
    }

    /// Accepts a job, which ends at once; a repair is only recorded.
    fn submit(&mut self, job: &Value) -> Value {
        let names = |key: &str| -> Vec<Value> { self.known[key].as_array().cloned().unwrap_or_default() };
        let opcodes = || job.as_array().into_iter().flatten();
        let repaired = opcodes().find_map(|opcode| opcode.get("instance_name"));
        if repaired.is_some_and(|name| names("refused").contains(name)) {
            return json!([false, "the queue is drained"]);
        }
        let is_well =
            !opcodes().any(|opcode| is_about_tags(opcode) && names("failing").contains(&opcode["name"]));
        if is_well {
            opcodes().filter(|opcode| is_about_tags(opcode)).for_each(|opcode| self.change_tags(opcode));
        }
        self.submitted.push(Submitted { opcodes: job.clone(), is_well });
        self.save();
        json!([true, FIRST_JOB + self.submitted.len() as u64 - 1])
    }

    fn change_tags(&mut self, opcode: &Value) {
        let changed = opcode["tags"].as_array().cloned().unwrap_or_default();
        let instances = self.known["instance"].as_array_mut().into_iter().flatten();
        for instance in instances.filter(|instance| instance["name"] == opcode["name"]) {
            let Some(tags) = instance["tags"].as_array_mut() else { continue };
            tags.retain(|tag| !changed.contains(tag));
            if opcode["OP_ID"] == "OP_TAGS_SET" {
                tags.extend(changed.iter().cloned());
            }
        }
    }

    /// Writes the parts that the comparison needs.
    fn save(&self) {
        let is_repair = |job: &&Submitted| {
            job.opcodes
                .as_array()
                .is_some_and(|opcodes| opcodes.iter().any(|op| op.get("instance_name").is_some()))
        };
        let repairs: Vec<&Value> = self.submitted.iter().filter(is_repair).map(|job| &job.opcodes).collect();
        let rows = self.known["instance"].as_array().into_iter().flatten();
        let tags: Map<String, Value> =
            rows.filter_map(|row| Some((row["name"].as_str()?.to_owned(), row["tags"].clone()))).collect();
        // If this fails there is nothing to compare, which is noticed.
        let _ = fs::write(&self.after, json!({"repairs": repairs, "tags": tags}).to_string());
    }
}

fn is_about_tags(opcode: &Value) -> bool {
    opcode["OP_ID"].as_str().is_some_and(|id| id.starts_with("OP_TAGS_"))
}

/// Results of a job's opcodes: the disks of instances are healthy.
fn results(opcodes: &Value) -> Value {
    let copy = json!(["/dev/drbd0", 147, 0, null, null, false, 1]);
    let well = json!({"disks": [{"pstatus": copy, "sstatus": copy, "children": []}]});
    let result = |opcode: &Value| match opcode["instances"].as_array() {
        None => Value::Null,
        Some(names) => {
            names.iter().filter_map(Value::as_str).map(|name| (name.to_owned(), well.clone())).collect()
        }
    };
    opcodes.as_array().into_iter().flatten().map(result).collect()
}
