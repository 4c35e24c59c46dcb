//! Job client for the master daemon's socket.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};

use super::answers::{
    CANDIDATE, CLUSTER, MASTER, OPCODES, STOPPED, boot_ids, boot_query, change, cluster, field, held,
    instance_now, is_open, listed_id, mark, master, newest, nonsense, state, submitted,
};
use super::client::{ClusterId, InstanceNow, JobClient, OpenJob};
use super::job::{Job, JobId, JobMark, JobState, JobStatus, RunInfo, SubmittedOpcode, WatchedJob};
use super::watch::{ANSWER, JobChange, Wait, Watchers};
use crate::input::json::WantedParts;
use crate::remote::CallError;
use crate::remote::luxi::{Connection, Timeouts};
use htools_plan::arrival::NodeFlags;
use htools_plan::opcode::Opcode;

/// Time in seconds for which the daemon waits for a change before it answers that there is none.
const WAIT: u64 = 60;

/// A field of a row, with its status.
const FIELD: WantedParts = WantedParts::Items(&[WantedParts::Whole, WantedParts::Whole]);
/// Fields of the rows of jobs that are read: their numbers, and the run that they belong to.
const JOBS: WantedParts = WantedParts::Keys(&[(
    "data",
    WantedParts::Each(&WantedParts::Items(&[FIELD, WantedParts::Items(&[WantedParts::Whole, OPCODES])])),
)]);

/// Client of the master daemon, on the master node itself.
pub struct LuxiClient {
    socket: PathBuf,
    manner: Timeouts,
    connection: Option<Connection>,
    watchers: Watchers,
}

impl LuxiClient {
    /// A client of the daemon at this socket. It connects on first use.
    pub fn new(socket: PathBuf, manner: Timeouts) -> LuxiClient {
        LuxiClient { socket, manner, connection: None, watchers: Watchers::default() }
    }

    fn call(&mut self, method: &str, args: Value) -> Result<Value, CallError> {
        self.look(method, args, WantedParts::Whole)
    }

    /// Makes a call and reads the parts of its result that `shape` names.
    fn look(&mut self, method: &str, args: Value, shape: WantedParts) -> Result<Value, CallError> {
        let connection = match self.connection.take().filter(Connection::is_open) {
            Some(connection) => self.connection.insert(connection),
            None => self.connection.insert(Connection::open(&self.socket, self.manner)?),
        };
        connection.look(method, &args, shape)
    }

    /// The row of the object of this kind and name.
    fn row<const N: usize>(&mut self, kind: &str, name: &str, fields: [&str; N]) -> Result<Value, CallError> {
        let args = json!([kind, fields.as_slice(), ["=", "name", name]]);
        let mut answer = self.call("Query", args)?;
        match answer.get_mut("data").and_then(Value::as_array_mut).map(Vec::as_mut_slice) {
            Some([row]) => Ok(row.take()),
            _ => Err(nonsense(&format!("fields of {kind} '{name}'"), &answer)),
        }
    }

    fn rows(&mut self, method: &str, args: Value) -> Result<Vec<Value>, CallError> {
        match self.call(method, args)? {
            Value::Array(rows) => Ok(rows),
            other => Err(nonsense(method, &other)),
        }
    }
}

impl JobClient for LuxiClient {
    fn cluster(&mut self) -> Result<ClusterId, CallError> {
        cluster(&self.look("QueryClusterInfo", json!([]), CLUSTER)?)
    }

    fn joins_opcodes(&self) -> bool {
        true
    }

    fn submit(
        &mut self,
        run: &RunInfo,
        jobs: &[Job<'_>],
    ) -> Result<Vec<Result<JobId, CallError>>, CallError> {
        let jobs: Vec<_> = jobs.iter().map(|job| SubmittedOpcode::of(run, job)).collect();
        let jobs = serde_json::to_value(jobs).map_err(|error| CallError::NotSent(error.to_string()))?;
        let answers = self.rows("SubmitManyJobs", json!([jobs]))?;
        answers.iter().map(submitted).collect()
    }

    fn newest(&mut self) -> Result<JobId, CallError> {
        let rows = self.rows("QueryJobs", json!([null, ["id"]]))?;
        newest(rows.iter().map(|row| row.get(0).unwrap_or(row)))
    }

    fn open_jobs(&mut self) -> Result<Vec<OpenJob>, CallError> {
        let rows = self.rows("QueryJobs", json!([null, ["id", "status"]]))?;
        let mut open = Vec::new();
        for row in &rows {
            if is_open(row.get(1)) {
                open.push(listed_id(row.get(0).unwrap_or(row))?);
            }
        }
        open.sort_unstable();
        if open.is_empty() {
            return Ok(Vec::new());
        }
        let rows = self.rows("QueryJobs", json!([open, ["ops"]]))?;
        // A job may have ended and been archived meanwhile.
        let with_ops = open.into_iter().zip(rows).filter(|(_, row)| !row.is_null());
        Ok(with_ops.map(|(id, row)| OpenJob::of(id, row.get(0).unwrap_or(&Value::Null))).collect())
    }

    fn states(&mut self, ids: &[JobId]) -> Result<Vec<JobState>, CallError> {
        let rows = self.rows("QueryJobs", json!([ids, ["status", "opresult", "oplog"]]))?;
        let of_row = |row: &Value| match row.as_array().map(Vec::as_slice) {
            Some([status, results, log]) => state(status, results, log),
            None if row.is_null() => state(row, row, row),
            _ => Err(nonsense("QueryJobs", row)),
        };
        rows.iter().map(of_row).collect()
    }

    fn next_change(
        &mut self,
        jobs: &[WatchedJob],
        at_most: Duration,
    ) -> Result<Vec<(JobId, JobState)>, CallError> {
        let (socket, manner) = (self.socket.clone(), self.manner);
        let wait = || -> Wait {
            let socket = socket.clone();
            Box::new(move |job, serial| wait(Connection::open(&socket, manner)?, job, serial))
        };
        let changes = self.watchers.next(jobs, at_most, wait)?;
        with_reasons(self, changes)
    }

    fn jobs_of(&mut self, run: &RunInfo, after: JobId) -> Result<Vec<(JobId, JobMark)>, CallError> {
        // The last field makes Ganeti include archived jobs.
        let args = json!(["job", ["id", "ops", "archived"], [">", "id", after]]);
        let answer = self.look("Query", args, JOBS)?;
        let rows = answer.get("data").and_then(Value::as_array);
        let rows = rows.ok_or_else(|| nonsense("Query for jobs", &answer))?;
        let value = |row: &Value, at: usize| row.get(at)?.get(1).cloned();
        let mut found = Vec::new();
        for row in rows {
            let id = listed_id(&value(row, 0).unwrap_or(Value::Null))?;
            found.extend(value(row, 1).and_then(|ops| mark(run, &ops)).map(|mark| (id, mark)));
        }
        Ok(found)
    }

    fn instances_on(&mut self, node: &str) -> Result<Vec<String>, CallError> {
        let row = self.row("node", node, ["pinst_list", "sinst_list"])?;
        held([field(&row, 0), field(&row, 1)])
            .ok_or_else(|| nonsense(&format!("instances of node '{node}'"), &row))
    }

    fn running_on(&mut self, node: &str) -> Result<Vec<String>, CallError> {
        let args = json!(["instance", ["name", "status"], ["=", "pnode", node]]);
        let answer = self.call("Query", args)?;
        let wrong = || nonsense(&format!("instances of node '{node}'"), &answer);
        let rows = answer.get("data").and_then(Value::as_array).ok_or_else(wrong)?;
        let text = |row: &Value, at: usize| field(row, at).and_then(Value::as_str).map(str::to_owned);
        let mut running = Vec::new();
        for row in rows {
            let (name, status) = (text(row, 0).ok_or_else(wrong)?, text(row, 1).ok_or_else(wrong)?);
            running.extend((!STOPPED.contains(&status.as_str())).then_some(name));
        }
        Ok(running)
    }

    fn boot_ids(&mut self, nodes: &[&str]) -> Result<Vec<Option<String>>, CallError> {
        let (fields, filter) = boot_query(nodes);
        boot_ids(nodes, &self.call("Query", json!(["node", fields, filter]))?)
    }

    fn master_candidates(&mut self) -> Result<Vec<String>, CallError> {
        let answer = self.call("Query", json!(["node", ["name", "role"], null]))?;
        let rows = answer.get("data").and_then(Value::as_array);
        let rows = rows.ok_or_else(|| nonsense("roles of nodes", &answer))?;
        let text = |row: &Value, at: usize| field(row, at).and_then(Value::as_str).map(str::to_owned);
        let of_row = |row: &Value| text(row, 0).filter(|_| text(row, 1).as_deref() == Some(CANDIDATE));
        Ok(rows.iter().filter_map(of_row).collect())
    }

    fn master(&mut self) -> Result<String, CallError> {
        master(&self.look("QueryClusterInfo", json!([]), MASTER)?)
    }

    fn node_flags(&mut self, node: &str) -> Result<NodeFlags, CallError> {
        let row = self.row("node", node, ["offline", "drained", "powered"])?;
        let flag = |at: usize| field(&row, at).and_then(Value::as_bool);
        Ok(NodeFlags { offline: flag(0), drained: flag(1), powered: flag(2) })
    }

    fn instance_now(&mut self, instance: &str) -> Result<InstanceNow, CallError> {
        let row = self.row("instance", instance, ["tags", "pnode", "snodes", "admin_state"])?;
        instance_now([0, 1, 2, 3].map(|at| field(&row, at)))
            .ok_or_else(|| nonsense(&format!("instance '{instance}'"), &row))
    }

    fn results(&mut self, id: JobId) -> Result<Vec<Value>, CallError> {
        let mut rows = self.rows("QueryJobs", json!([[id], ["opresult"]]))?;
        match rows.as_mut_slice() {
            [Value::Null] => Ok(Vec::new()),
            [row] => match row.get_mut(0).map(Value::take) {
                Some(Value::Array(results)) => Ok(results),
                _ => Err(nonsense("results of a job", row)),
            },
            _ => Err(nonsense("results of a job", &rows.into())),
        }
    }

    fn opcode(&mut self, id: JobId, position: usize) -> Result<Value, CallError> {
        let mut rows = self.rows("QueryJobs", json!([[id], ["ops"]]))?;
        // Each row has one field.
        Ok(rows
            .get_mut(0)
            .and_then(|row| row.get_mut(0)?.get_mut(position))
            .map(Value::take)
            .unwrap_or_default())
    }

    fn cancel(&mut self, id: JobId) -> Result<(), CallError> {
        self.call("CancelJob", json!([id])).map(drop)
    }

    fn try_out(&mut self, run: &RunInfo, opcode: &Opcode) -> Result<JobId, CallError> {
        let job = [SubmittedOpcode::trial(run, opcode)];
        let job = serde_json::to_value(job).map_err(|error| CallError::NotSent(error.to_string()))?;
        let answers = self.rows("SubmitManyJobs", json!([[job]]))?;
        let [answer] = answers.as_slice() else {
            return Err(nonsense("submission of a job", &answers.into()));
        };
        submitted(answer)?
    }
}

fn wait(mut connection: Connection, job: WatchedJob, serial: Option<u64>) -> Result<JobChange, CallError> {
    let args = json!([job.id, ["status"], [job.status], serial, WAIT]);
    let answer = connection.call_within("WaitForJobChange", &args, ANSWER)?;
    match answer.as_array().map(Vec::as_slice) {
        Some([fields, messages]) => change(fields, messages),
        // The answer is "nochange".
        _ if answer.is_string() => Ok(JobChange::default()),
        _ => Err(nonsense("WaitForJobChange", &answer)),
    }
}

/// The states of jobs that have changed, with the reason for those that did not succeed.
pub(super) fn with_reasons(
    client: &mut dyn JobClient,
    changes: Vec<(JobId, JobStatus)>,
) -> Result<Vec<(JobId, JobState)>, CallError> {
    let state = |(id, status): (JobId, JobStatus)| {
        if status.is_final() && status != JobStatus::Success {
            let states = client.states(&[id])?;
            return Ok(states.into_iter().next().map(|state| (id, state)));
        }
        Ok(Some((id, JobState { status: Some(status), ..JobState::default() })))
    };
    changes.into_iter().map(state).filter_map(Result::transpose).collect()
}
