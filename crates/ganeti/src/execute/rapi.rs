//! Job client for the remote API (RAPI): each opcode is a request and a job of its own.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::answers::{
    CANDIDATE, CLUSTER, MASTER, OPCODES, STOPPED, boot_ids, boot_query, change, cluster, held, instance_now,
    is_open, job_id, listed_id, mark, master, newest, nonsense, state,
};
use super::client::{ClusterId, InstanceNow, JobClient, OpenJob};
use super::job::{Job, JobId, JobMark, JobState, RunInfo, WatchedJob, dependency};
use super::luxi::with_reasons;
use super::watch::{ANSWER, JobChange, Wait, Watchers};
use crate::input::json::WantedParts;
use crate::remote::CallError;
use crate::remote::rapi::{Session, Verb};
use htools_plan::arrival::NodeFlags;
use htools_plan::opcode::{Opcode, TagKind};

/// Maximum time for Ganeti to enter a job into its queue, or to list its jobs.
const ENTER: Duration = Duration::from_secs(180);
/// Maximum number of archived jobs that are looked up one by one, as no list has them.
const ARCHIVED: usize = 10_000;

/// Maximum time for Ganeti to answer a question about one object.
const LOOK: Duration = Duration::from_secs(60);

/// Fields of a job that are read.
const JOB: WantedParts = WantedParts::Keys(&[
    ("status", WantedParts::Whole),
    ("opresult", WantedParts::Whole),
    ("oplog", WantedParts::Whole),
    ("ops", OPCODES),
]);
/// Fields of a list of jobs that are read: the numbers.
const NUMBERS: WantedParts = WantedParts::Each(&WantedParts::Keys(&[("id", WantedParts::Whole)]));
/// Fields of a list of whole jobs that are read.
const JOBS: WantedParts =
    WantedParts::Each(&WantedParts::Keys(&[("id", WantedParts::Whole), ("ops", OPCODES)]));
/// Fields of a list of whole jobs that tell what they do.
const OPEN_JOBS: WantedParts = WantedParts::Each(&WantedParts::Keys(&[
    ("id", WantedParts::Whole),
    ("status", WantedParts::Whole),
    (
        "ops",
        WantedParts::Each(&WantedParts::Keys(&[
            ("OP_ID", WantedParts::Whole),
            ("instance_name", WantedParts::Whole),
            ("node_name", WantedParts::Whole),
        ])),
    ),
]));
/// Fields of a job with its results.
const RESULTS: WantedParts = WantedParts::Keys(&[("opresult", WantedParts::Whole)]);
/// Field of a job with all its opcodes.
const WHOLE_OPCODES: WantedParts = WantedParts::Keys(&[("ops", WantedParts::Whole)]);
/// Fields of an instance that are read.
const INSTANCE: WantedParts = WantedParts::Keys(&[
    ("name", WantedParts::Whole),
    ("tags", WantedParts::Whole),
    ("pnode", WantedParts::Whole),
    ("snodes", WantedParts::Whole),
    ("admin_state", WantedParts::Whole),
]);
/// Fields of an instance that tell whether it runs.
const STATUS: WantedParts =
    WantedParts::Keys(&[("name", WantedParts::Whole), ("status", WantedParts::Whole)]);
/// Fields of the list of nodes that tell which could become the master.
const ROLES: WantedParts =
    WantedParts::Each(&WantedParts::Keys(&[("name", WantedParts::Whole), ("role", WantedParts::Whole)]));
/// Fields of a node that are read.
const NODE: WantedParts = WantedParts::Keys(&[
    ("name", WantedParts::Whole),
    ("pinst_list", WantedParts::Whole),
    ("sinst_list", WantedParts::Whole),
    ("offline", WantedParts::Whole),
    ("drained", WantedParts::Whole),
    ("powered", WantedParts::Whole),
]);

/// The remote API of a cluster.
pub struct RapiClient {
    session: Arc<Session>,
    watchers: Watchers,
}

impl RapiClient {
    /// A client of a session. Nothing is sent yet.
    pub fn new(session: Session) -> RapiClient {
        RapiClient { session: Arc::new(session), watchers: Watchers::default() }
    }

    fn job(&self, id: JobId) -> Result<Value, CallError> {
        self.session.look(&format!("jobs/{id}"), &[], JOB, LOOK)
    }

    fn node(&self, node: &str) -> Result<Value, CallError> {
        let answer = self.session.look(&format!("nodes/{node}"), &[], NODE, LOOK)?;
        if answer.get("name").and_then(Value::as_str) == Some(node) {
            Ok(answer)
        } else {
            Err(nonsense(&format!("node '{node}'"), &answer))
        }
    }

    /// Sends a request that creates a job.
    fn enter(&self, request: &JobRequest) -> Result<JobId, CallError> {
        let JobRequest { verb, resource, query, body } = request;
        let query: Vec<(&str, &str)> = query.iter().map(|(key, value)| (*key, value.as_str())).collect();
        let answer = self.session.send(*verb, resource, &query, body.as_ref(), ENTER)?;
        job_id(&answer).ok_or_else(|| nonsense("submission of a job", &answer))
    }
}

/// A request that creates a job.
struct JobRequest {
    verb: Verb,
    resource: String,
    query: Vec<(&'static str, String)>,
    body: Option<Value>,
}

impl JobRequest {
    fn without_body(verb: Verb, resource: String) -> JobRequest {
        JobRequest { verb, resource, query: Vec::new(), body: None }
    }
}

/// The request that creates a job with an opcode.
fn request(opcode: &Opcode) -> Result<JobRequest, CallError> {
    let mut body = serde_json::to_value(opcode).map_err(|error| CallError::NotSent(error.to_string()))?;
    // These fields are part of the resource.
    if let Some(fields) = body.as_object_mut() {
        for key in ["OP_ID", "instance_name", "node_name"] {
            fields.shift_remove(key);
        }
    }
    let (verb, resource) = match opcode {
        Opcode::Migrate { instance_name, .. } => (Verb::Put, format!("instances/{instance_name}/migrate")),
        Opcode::Failover { instance_name, .. } => (Verb::Put, format!("instances/{instance_name}/failover")),
        Opcode::Shutdown { instance_name, .. } => (Verb::Put, format!("instances/{instance_name}/shutdown")),
        Opcode::Startup { instance_name, .. } => (Verb::Put, format!("instances/{instance_name}/startup")),
        Opcode::ReplaceDisks { instance_name, .. } => {
            (Verb::Post, format!("instances/{instance_name}/replace-disks"))
        }
        Opcode::RecreateDisks { instance_name, .. } => {
            (Verb::Post, format!("instances/{instance_name}/recreate-disks"))
        }
        Opcode::Reinstall { instance_name, .. } => {
            // RAPI stops the instance by itself, and would also start it.
            let query = vec![("nostartup", "1".to_owned())];
            let resource = format!("instances/{instance_name}/reinstall");
            return Ok(JobRequest { verb: Verb::Post, resource, query, body: None });
        }
        Opcode::MoveDisks { .. } => {
            return Err(CallError::Refused("RAPI cannot move disks that are on one node only".to_owned()));
        }
        Opcode::ActivateDisks { instance_name, .. } => {
            return Ok(JobRequest::without_body(
                Verb::Put,
                format!("instances/{instance_name}/activate-disks"),
            ));
        }
        Opcode::QueryData { instances, .. } => {
            let [instance] = instances.as_slice() else {
                return Err(CallError::NotSent("RAPI can describe only one instance at a time".to_owned()));
            };
            return Ok(JobRequest::without_body(Verb::Get, format!("instances/{instance}/info")));
        }
        Opcode::Delay { .. } => {
            return Err(CallError::NotSent("RAPI has no job that waits".to_owned()));
        }
        Opcode::NodeSetParams { node_name, .. } => (Verb::Post, format!("nodes/{node_name}/modify")),
        Opcode::TagsSet { kind, tags, name } => return Ok(tags_request(Verb::Put, *kind, tags, name)),
        Opcode::TagsDel { kind, tags, name } => return Ok(tags_request(Verb::Delete, *kind, tags, name)),
        Opcode::OobCommand { .. } => {
            return Err(CallError::Refused("RAPI cannot switch the power of nodes".to_owned()));
        }
    };
    Ok(JobRequest { verb, resource, query: Vec::new(), body: Some(body) })
}

/// Request for tags, which are in the query; there is no body.
fn tags_request(verb: Verb, kind: TagKind, tags: &[String], name: &str) -> JobRequest {
    let kind = match kind {
        TagKind::Node => "nodes",
        TagKind::Instance => "instances",
    };
    let query = tags.iter().map(|tag| ("tag", tag.clone())).collect();
    JobRequest { verb, resource: format!("{kind}/{name}/tags"), query, body: None }
}

impl JobClient for RapiClient {
    fn cluster(&mut self) -> Result<ClusterId, CallError> {
        cluster(&self.session.look("info", &[], CLUSTER, LOOK)?)
    }

    fn joins_opcodes(&self) -> bool {
        false
    }

    fn submit(
        &mut self,
        run: &RunInfo,
        jobs: &[Job<'_>],
    ) -> Result<Vec<Result<JobId, CallError>>, CallError> {
        let [job @ Job { opcodes: [opcode], .. }] = jobs else {
            return Err(CallError::NotSent("a request is one job with one opcode".to_owned()));
        };
        let JobRequest { verb, resource, mut query, mut body } = request(opcode)?;
        let reason = match &mut body {
            Some(body) => {
                body["priority"] = run.priority.into();
                body["comment"] = run.comment(job.mark).into();
                if let Some(id) = job.depends {
                    body["depends"] = json!(dependency(id));
                }
                run.reason.clone()
            }
            // A request without a body has no room for a comment.
            None => run.comment(job.mark),
        };
        query.push(("reason", reason));
        Ok(vec![Ok(self.enter(&JobRequest { verb, resource, query, body })?)])
    }

    fn newest(&mut self) -> Result<JobId, CallError> {
        let jobs = self.session.look("jobs", &[], NUMBERS, LOOK)?;
        let ids = jobs.as_array().ok_or_else(|| nonsense("list of jobs", &jobs))?;
        newest(ids.iter().map(|job| job.get("id").unwrap_or(job)))
    }

    fn open_jobs(&mut self) -> Result<Vec<OpenJob>, CallError> {
        let list = self.session.look("jobs", &[("bulk", "1")], OPEN_JOBS, ENTER)?;
        let jobs = list.as_array().ok_or_else(|| nonsense("list of jobs", &list))?;
        let mut open = Vec::new();
        for job in jobs.iter().filter(|job| is_open(job.get("status"))) {
            let id = listed_id(job.get("id").unwrap_or(job))?;
            open.push(OpenJob::of(id, job.get("ops").unwrap_or(&Value::Null)));
        }
        open.sort_unstable_by_key(|job| job.id);
        Ok(open)
    }

    fn states(&mut self, ids: &[JobId]) -> Result<Vec<JobState>, CallError> {
        let of_job = |id: &JobId| {
            let job = self.job(*id)?;
            let field = |key: &str| job.get(key).ok_or_else(|| nonsense("job", &job));
            state(field("status")?, field("opresult")?, job.get("oplog").unwrap_or(&Value::Null))
        };
        ids.iter().map(of_job).collect()
    }

    fn next_change(
        &mut self,
        jobs: &[WatchedJob],
        at_most: Duration,
    ) -> Result<Vec<(JobId, JobState)>, CallError> {
        let session = Arc::clone(&self.session);
        let make = || -> Wait {
            let session = Arc::clone(&session);
            Box::new(move |job, serial| wait(&session, job, serial))
        };
        let changes = self.watchers.next(jobs, at_most, make)?;
        with_reasons(self, changes)
    }

    fn jobs_of(&mut self, run: &RunInfo, after: JobId) -> Result<Vec<(JobId, JobMark)>, CallError> {
        let list = self.session.look("jobs", &[("bulk", "1")], JOBS, ENTER)?;
        let jobs = list.as_array().ok_or_else(|| nonsense("list of jobs", &list))?;
        let mut found = Vec::new();
        let mut listed = BTreeSet::new();
        for job in jobs {
            let id = listed_id(job.get("id").unwrap_or(job))?;
            if id <= after {
                continue;
            }
            listed.insert(id);
            found.extend(job.get("ops").and_then(|ops| mark(run, ops)).map(|mark| (id, mark)));
        }
        // Numbers are assigned in order. A number missing in the list is that of an archived job, up to the first that
        // does not exist.
        let newest = listed.last().copied();
        for id in (after.0..=u64::MAX).skip(1).take(ARCHIVED).map(JobId) {
            if listed.contains(&id) {
                continue;
            }
            let job = self.job(id)?;
            let exists = job.get("status").is_some_and(|status| !status.is_null());
            if !exists && newest.is_none_or(|newest| id > newest) {
                break;
            }
            found.extend(job.get("ops").and_then(|ops| mark(run, ops)).map(|mark| (id, mark)));
        }
        Ok(found)
    }

    fn instances_on(&mut self, node: &str) -> Result<Vec<String>, CallError> {
        let answer = self.node(node)?;
        held([answer.get("pinst_list"), answer.get("sinst_list")])
            .ok_or_else(|| nonsense(&format!("node '{node}'"), &answer))
    }

    fn running_on(&mut self, node: &str) -> Result<Vec<String>, CallError> {
        let answer = self.node(node)?;
        let wrong = || nonsense(&format!("instances of node '{node}'"), &answer);
        let names = answer.get("pinst_list").and_then(Value::as_array).ok_or_else(wrong)?;
        let mut running = Vec::new();
        for name in names {
            let name = name.as_str().ok_or_else(wrong)?;
            let instance = self.session.look(&format!("instances/{name}"), &[], STATUS, LOOK)?;
            let status = instance.get("status").and_then(Value::as_str);
            let status = status.ok_or_else(|| nonsense(&format!("instance '{name}'"), &instance))?;
            running.extend((!STOPPED.contains(&status)).then(|| name.to_owned()));
        }
        Ok(running)
    }

    fn boot_ids(&mut self, nodes: &[&str]) -> Result<Vec<Option<String>>, CallError> {
        let (fields, filter) = boot_query(nodes);
        let body = json!({"fields": fields, "qfilter": filter});
        boot_ids(nodes, &self.session.send(Verb::Put, "query/node", &[], Some(&body), LOOK)?)
    }

    fn master_candidates(&mut self) -> Result<Vec<String>, CallError> {
        let nodes = self.session.look("nodes", &[("bulk", "1")], ROLES, LOOK)?;
        let rows = nodes.as_array().ok_or_else(|| nonsense("roles of nodes", &nodes))?;
        let text = |row: &Value, key: &str| row.get(key).and_then(Value::as_str).map(str::to_owned);
        let of_row =
            |row: &Value| text(row, "name").filter(|_| text(row, "role").as_deref() == Some(CANDIDATE));
        Ok(rows.iter().filter_map(of_row).collect())
    }

    fn master(&mut self) -> Result<String, CallError> {
        master(&self.session.look("info", &[], MASTER, LOOK)?)
    }

    fn node_flags(&mut self, node: &str) -> Result<NodeFlags, CallError> {
        let answer = self.node(node)?;
        let flag = |key: &str| answer.get(key).and_then(Value::as_bool);
        Ok(NodeFlags { offline: flag("offline"), drained: flag("drained"), powered: flag("powered") })
    }

    fn instance_now(&mut self, instance: &str) -> Result<InstanceNow, CallError> {
        let answer = self.session.look(&format!("instances/{instance}"), &[], INSTANCE, LOOK)?;
        if answer.get("name").and_then(Value::as_str) != Some(instance) {
            return Err(nonsense(&format!("instance '{instance}'"), &answer));
        }
        instance_now(["tags", "pnode", "snodes", "admin_state"].map(|key| answer.get(key)))
            .ok_or_else(|| nonsense(&format!("instance '{instance}'"), &answer))
    }

    fn results(&mut self, id: JobId) -> Result<Vec<Value>, CallError> {
        match self
            .session
            .look(&format!("jobs/{id}"), &[], RESULTS, LOOK)?
            .get_mut("opresult")
            .map(Value::take)
        {
            Some(Value::Array(results)) => Ok(results),
            _ => Ok(Vec::new()),
        }
    }

    fn opcode(&mut self, id: JobId, position: usize) -> Result<Value, CallError> {
        let mut job = self.session.look(&format!("jobs/{id}"), &[], WHOLE_OPCODES, LOOK)?;
        Ok(job.get_mut("ops").and_then(|ops| ops.get_mut(position)).map(Value::take).unwrap_or_default())
    }

    fn cancel(&mut self, id: JobId) -> Result<(), CallError> {
        self.session.send(Verb::Delete, &format!("jobs/{id}"), &[], None, LOOK).map(drop)
    }

    fn try_out(&mut self, run: &RunInfo, opcode: &Opcode) -> Result<JobId, CallError> {
        let mut request = request(opcode)?;
        if let Some(body) = &mut request.body {
            body["priority"] = run.priority.into();
            body["comment"] = run.trial_comment().into();
        }
        request.query.extend([("dry-run", "1".to_owned()), ("reason", run.reason.clone())]);
        self.enter(&request)
    }
}

fn wait(session: &Session, job: WatchedJob, serial: Option<u64>) -> Result<JobChange, CallError> {
    let body = json!({
        "fields": ["status"], "previous_job_info": [job.status], "previous_log_serial": serial,
    });
    match session.send(Verb::Get, &format!("jobs/{}/wait", job.id), &[], Some(&body), ANSWER) {
        // Nothing has changed.
        Ok(Value::Null) | Err(CallError::Late(_)) => Ok(JobChange::default()),
        Ok(answer) => match (answer.get("job_info"), answer.get("log_entries")) {
            (Some(fields), Some(messages)) => change(fields, messages),
            _ => Err(nonsense("wait for a job", &answer)),
        },
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use htools_plan::opcode::ReplaceMode;

    #[test]
    fn opcodes_become_requests() {
        let made = request(&Opcode::ReplaceDisks {
            instance_name: "web.example.com".into(),
            early_release: false,
            ignore_ipolicy: false,
            mode: ReplaceMode::NewSecondary,
            disks: Vec::new(),
            remote_node: Some("n3".into()),
        })
        .unwrap();
        assert_eq!(
            (made.verb, made.resource.as_str()),
            (Verb::Post, "instances/web.example.com/replace-disks")
        );
        assert_eq!(
            made.body.unwrap().to_string(),
            r#"{"early_release":false,"ignore_ipolicy":false,"mode":"replace_new_secondary","disks":[],"remote_node":"n3"}"#
        );
        let made = request(&Opcode::set_offline("n1", true)).unwrap();
        assert_eq!((made.verb, made.resource.as_str()), (Verb::Post, "nodes/n1/modify"));
        let body = r#"{"force":false,"offline":true,"auto_promote":false}"#;
        assert_eq!(made.body.unwrap().to_string(), body);
        let tags = vec!["a".to_owned(), "b".to_owned()];
        let made = request(&Opcode::TagsDel { kind: TagKind::Node, tags, name: "n1".into() }).unwrap();
        assert_eq!((made.verb, made.resource.as_str()), (Verb::Delete, "nodes/n1/tags"));
        assert_eq!(made.query, [("tag", "a".to_owned()), ("tag", "b".to_owned())]);
    }
}
