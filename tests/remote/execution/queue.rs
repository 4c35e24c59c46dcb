//! A job queue in memory: jobs take time, change the cluster, and fail on request.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::cluster::Cluster;
use super::server::Act;

/// Fate of a job that does not succeed.
#[derive(Debug, Clone, Copy)]
pub enum Fate {
    /// Its first opcode fails, with this text.
    Fails(&'static str),
    /// The opcode at this position fails with an error of this class and this text.
    FailsIn(usize, &'static str, &'static str),
    /// It is cancelled.
    Cancelled,
    /// It leaves the queue.
    Vanishes,
    /// It is not accepted.
    Refused(&'static str),
}

#[derive(Debug, Clone)]
pub struct Job {
    pub ops: Vec<Value>,
    pub status: &'static str,
    pub results: Vec<Value>,
    /// Messages: number, time, kind, text.
    pub log: Vec<Value>,
    depends: Option<u64>,
}

/// Tells if a job with this status has ended.
pub fn is_final(status: &str) -> bool {
    matches!(status, "success" | "error" | "canceled")
}

/// Called when the cluster is read, with the number of the reading, from 0.
pub type OnRead = Box<dyn FnMut(usize, &mut Cluster) + Send>;

pub struct State {
    pub cluster: Cluster,
    pub jobs: BTreeMap<u64, Job>,
    next: u64,
    /// Duration of each state of a job.
    pub pace: Duration,
    /// True to keep running jobs running.
    pub held: bool,
    /// Jobs from this number on are kept running.
    pub held_from: u64,
    /// Fates by job number.
    pub fates: HashMap<u64, Fate>,
    /// Actions instead of an answer, by kind of request; once each.
    instead: HashMap<&'static str, VecDeque<Vec<Act>>>,
    /// The same, after the request was executed.
    after: HashMap<&'static str, VecDeque<Vec<Act>>>,
    /// The same as `instead`, but every time.
    pub always: HashMap<&'static str, Vec<Act>>,
    /// Submissions in their original form.
    pub submissions: Vec<String>,
    /// Number of requests, by kind.
    pub calls: HashMap<String, usize>,
    on_read: Option<OnRead>,
    /// Actions after an opcode that contains this text; once each.
    then: Vec<(&'static str, Then)>,
    reads: usize,
    /// Opcodes that contain such a text succeed without an effect.
    pub lies: Vec<&'static str>,
    /// The reason why no jobs are accepted.
    pub drained: Option<Value>,
    /// True if the daemon is not there.
    pub gone: bool,
}

/// A change of the cluster by somebody else.
pub type Then = Box<dyn FnOnce(&mut Cluster) + Send>;

impl State {
    fn carry_out(&mut self, opcode: &Value) -> Result<Value, String> {
        let text = opcode.to_string();
        if self.lies.iter().any(|part| text.contains(part)) {
            return Ok(Value::Null);
        }
        let result = self.cluster.carry_out(opcode);
        if let Some(at) = self.then.iter().position(|(part, _)| text.contains(part)) {
            let (_, action) = self.then.remove(at);
            action(&mut self.cluster);
        }
        result
    }
}

/// The cluster and its jobs.
pub struct World {
    state: Mutex<State>,
    changed: Condvar,
}

/// Number of the next job on the recorded cluster.
pub const FIRST: u64 = 25;

impl World {
    pub fn new() -> Arc<World> {
        let old = |id: u64| {
            let ops = vec![json!({"OP_ID": "OP_TEST_DELAY", "comment": null})];
            (id, Job { ops, status: "success", results: vec![Value::Null], log: Vec::new(), depends: None })
        };
        let state = State {
            cluster: Cluster::unbalanced(),
            jobs: (FIRST - 3..FIRST).map(old).collect(),
            next: FIRST,
            pace: Duration::from_millis(1),
            held: false,
            held_from: u64::MAX,
            fates: HashMap::new(),
            instead: HashMap::new(),
            after: HashMap::new(),
            always: HashMap::new(),
            submissions: Vec::new(),
            calls: HashMap::new(),
            on_read: None,
            then: Vec::new(),
            reads: 0,
            lies: Vec::new(),
            drained: None,
            gone: false,
        };
        Arc::new(World { state: Mutex::new(state), changed: Condvar::new() })
    }

    pub fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// Changes the state and wakes those that wait for it.
    pub fn change<R>(&self, action: impl FnOnce(&mut State) -> R) -> R {
        let result = action(&mut self.lock());
        self.changed.notify_all();
        result
    }

    /// Waits for a condition, at most for this time. Returns true if it holds.
    pub fn wait_until(&self, time: Duration, mut test: impl FnMut(&State) -> bool) -> bool {
        let end = Instant::now() + time;
        let mut state = self.lock();
        while !test(&state) {
            let Some(left) = end.checked_duration_since(Instant::now()) else { return false };
            state = self.changed.wait_timeout(state, left.min(Duration::from_millis(200))).unwrap().0;
        }
        true
    }

    /// Waits for a condition that must come true.
    pub fn await_that(&self, what: &str, test: impl FnMut(&State) -> bool) {
        assert!(self.wait_until(Duration::from_secs(60), test), "{what}");
    }

    pub fn hold(&self, held: bool) {
        self.change(|state| state.held = held);
    }

    /// The next request of this kind gets these actions instead of an answer.
    pub fn instead(&self, kind: &'static str, acts: Vec<Act>) {
        self.lock().instead.entry(kind).or_default().push_back(acts);
    }

    /// The next request of this kind is executed, and gets these actions instead of an answer.
    pub fn after(&self, kind: &'static str, acts: Vec<Act>) {
        self.lock().after.entry(kind).or_default().push_back(acts);
    }

    /// Counts the request, and returns the actions that replace its answer, if any.
    pub fn takes_instead(&self, kind: &str) -> Option<Vec<Act>> {
        self.change(|state| {
            *state.calls.entry(kind.to_owned()).or_default() += 1;
            let once = state.instead.get_mut(kind).and_then(VecDeque::pop_front);
            once.or_else(|| state.always.get(kind).cloned())
        })
    }

    pub fn takes_after(&self, kind: &str) -> Option<Vec<Act>> {
        self.lock().after.get_mut(kind)?.pop_front()
    }

    pub fn on_read(&self, action: impl FnMut(usize, &mut Cluster) + Send + 'static) {
        self.lock().on_read = Some(Box::new(action));
    }

    /// After the next opcode that contains this text, somebody changes the cluster.
    pub fn then(&self, part: &'static str, action: impl FnOnce(&mut Cluster) + Send + 'static) {
        self.lock().then.push((part, Box::new(action)));
    }

    /// Must be called before the cluster is read.
    pub fn read(&self) {
        let state = &mut *self.lock();
        if let Some(action) = &mut state.on_read {
            action(state.reads, &mut state.cluster);
        }
        state.reads += 1;
    }

    /// Enters jobs; returns an answer for each.
    pub fn submit(
        self: &Arc<World>,
        jobs: Vec<Vec<Value>>,
        depends: Option<u64>,
    ) -> Vec<Result<u64, String>> {
        jobs.into_iter().map(|ops| self.enter(ops, depends)).collect()
    }

    fn enter(self: &Arc<World>, ops: Vec<Value>, depends: Option<u64>) -> Result<u64, String> {
        let mut state = self.lock();
        let id = state.next;
        if let Some(Fate::Refused(why)) = state.fates.get(&id) {
            return Err((*why).to_owned());
        }
        state.next += 1;
        state.jobs.insert(id, Job { ops, status: "queued", results: Vec::new(), log: Vec::new(), depends });
        drop(state);
        self.changed.notify_all();
        let world = Arc::clone(self);
        thread::spawn(move || world.work(id));
        Ok(id)
    }

    /// Runs a job from its start to its end.
    fn work(&self, id: u64) {
        let (pace, fate) = {
            let state = self.lock();
            (state.pace, state.fates.get(&id).copied())
        };
        let job = |state: &State| state.jobs[&id].clone();
        let Job { ops, depends, .. } = job(&self.lock());
        if let Some(before) = depends {
            self.await_that("a dependency", |state| is_final(state.jobs[&before].status));
            if self.lock().jobs[&before].status != "success" {
                // In the words of a real master.
                let text = format!(
                    "Dependency job {before} finished with status 'error', not one of 'success' as required"
                );
                return self.end(id, "error", vec![json!(["OpExecError", [text]])]);
            }
        }
        let mut results = Vec::new();
        for (at, op) in ops.iter().enumerate() {
            for status in ["waiting", "running"] {
                thread::sleep(pace);
                self.set(id, status, at);
            }
            thread::sleep(pace);
            self.await_that("being let go", |state| !state.held && id < state.held_from);
            match fate {
                Some(Fate::Fails(why)) => {
                    return self.end(id, "error", vec![json!(["OpExecError", [why]])]);
                }
                Some(Fate::FailsIn(position, class, why)) if position == at => {
                    results.push(json!([class, [why]]));
                    results.resize(ops.len(), json!(["OpExecError", ["Preceding opcode failed"]]));
                    return self.end(id, "error", results);
                }
                Some(Fate::Cancelled) => {
                    return self.end(id, "canceled", vec![json!("Job canceled by request")]);
                }
                Some(Fate::Vanishes) => {
                    return self.change(|state| drop(state.jobs.remove(&id)));
                }
                _ => {}
            }
            match self.change(|state| state.carry_out(op)) {
                Ok(result) => results.push(result),
                Err(why) => return self.end(id, "error", vec![json!(["OpPrereqError", [why]])]),
            }
            if at + 1 < ops.len() {
                self.set(id, "queued", at);
            }
        }
        self.end(id, "success", results);
    }

    fn set(&self, id: u64, status: &'static str, at: usize) {
        self.change(|state| {
            let job = state.jobs.get_mut(&id).unwrap();
            job.status = status;
            if status == "running" {
                let serial = job.log.len() + 1;
                job.log.push(json!([serial, [1795250982, 26852], "message", format!("opcode {at}")]));
            }
        });
    }

    fn end(&self, id: u64, status: &'static str, results: Vec<Value>) {
        self.change(|state| {
            let job = state.jobs.get_mut(&id).unwrap();
            (job.status, job.results) = (status, results);
        });
    }

    /// The status of a job and its messages after a number, as soon as either is new.
    pub fn change_of(&self, id: u64, before: &Value, serial: u64, time: Duration) -> Option<(Value, Value)> {
        let news = |state: &State| {
            let Some(job) = state.jobs.get(&id) else { return Some((Value::Null, json!([]))) };
            let log: Vec<Value> =
                job.log.iter().filter(|m| m[0].as_u64().unwrap() > serial).cloned().collect();
            (*before != job.status || !log.is_empty()).then(|| (json!(job.status), json!(log)))
        };
        self.wait_until(time, |state| state.gone || news(state).is_some());
        news(&self.lock())
    }

    /// Jobs submitted by the programs of these tests.
    pub fn new_jobs(&self) -> Vec<(u64, Job)> {
        self.lock().jobs.range(FIRST..).map(|(id, job)| (*id, job.clone())).collect()
    }
}
