//! The client and the host of a maintenance in a simulated world.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::world::{Killed, SimJob, World};
use htools::execute::job::{Job, JobId, JobMark, JobState, JobStatus, RunInfo, WatchedJob};
use htools::execute::journal::{Header, Read};
use htools::execute::maintenance::{
    BatchKind, BatchProposal, BegunBatch, CommandFate, CommandRun, LeftNode, MaintenanceHost,
    MaintenanceProgress, MaintenanceTerms, PlannedBatch,
};
use htools::execute::{
    ClusterId, Event, InstanceNow, JobClient, NodeTaskError, OpenJob, Report, RunHost, RunTerms,
};
use htools::plan::arrival::NodeFlags;
use htools::plan::durations::Rates;
use htools::plan::maintenance::Closing;
use htools::plan::opcode::Opcode;
use htools::plan::stream::StreamLimits;
use htools::plan::work::{Task, Work, WorkStep};
use htools::remote::CallError;
use htools::search::maintenance::{BatchPlanner, NextBatch, Unmaintained, closing_batch, problem_after};
use serde_json::Value;

pub type Shared = Rc<RefCell<World>>;

/// A call that may be the last of the program.
fn call<T>(world: &Shared, done: impl FnOnce(&mut World) -> T) -> T {
    let mut world = world.borrow_mut();
    let survives = world.enter_call();
    let answer = done(&mut world);
    if !survives {
        drop(world);
        std::panic::resume_unwind(Box::new(Killed));
    }
    answer
}

pub struct SimClient(pub Shared);

impl JobClient for SimClient {
    fn cluster(&mut self) -> Result<ClusterId, CallError> {
        Ok(ClusterId { name: "w".into(), uuid: "w".into() })
    }

    fn joins_opcodes(&self) -> bool {
        false
    }

    fn submit(
        &mut self,
        run: &RunInfo,
        jobs: &[Job<'_>],
    ) -> Result<Vec<Result<JobId, CallError>>, CallError> {
        call(&self.0, |world| {
            let mut ids = Vec::new();
            for job in jobs {
                let id = world.jobs.len() as u64 + 1;
                world.jobs.push(SimJob {
                    comment: run.comment(job.mark),
                    opcodes: job.opcodes.to_vec(),
                    depends: job.depends,
                    status: JobStatus::Queued,
                    looks: (id % 4) as u32,
                    fails: world.failing_jobs.contains(&id),
                });
                ids.push(Ok(JobId(id)));
            }
            Ok(ids)
        })
    }

    fn newest(&mut self) -> Result<JobId, CallError> {
        Ok(JobId(self.0.borrow().jobs.len() as u64))
    }

    fn open_jobs(&mut self) -> Result<Vec<OpenJob>, CallError> {
        Ok(Vec::new())
    }

    fn states(&mut self, ids: &[JobId]) -> Result<Vec<JobState>, CallError> {
        call(&self.0, |world| {
            let state = |id: &JobId| {
                let job = usize::try_from(id.0).ok().and_then(|id| world.jobs.get(id.checked_sub(1)?));
                let status = job.map(|job| job.status);
                let message = (status == Some(JobStatus::Error)).then(|| "it broke".to_owned());
                JobState { status, message, ..JobState::default() }
            };
            Ok(ids.iter().map(state).collect())
        })
    }

    fn next_change(&mut self, jobs: &[WatchedJob], _: Duration) -> Result<Vec<(JobId, JobState)>, CallError> {
        call(&self.0, World::advance);
        let ids: Vec<JobId> = jobs.iter().map(|job| job.id).collect();
        let states = self.states(&ids)?;
        Ok(ids.into_iter().zip(states).collect())
    }

    fn jobs_of(&mut self, run: &RunInfo, after: JobId) -> Result<Vec<(JobId, JobMark)>, CallError> {
        call(&self.0, |world| {
            let jobs = (1..).map(JobId).zip(&world.jobs).filter(|(id, _)| *id > after);
            Ok(jobs.filter_map(|(id, job)| Some((id, run.mark(&job.comment)?))).collect())
        })
    }

    fn instances_on(&mut self, _: &str) -> Result<Vec<String>, CallError> {
        Ok(Vec::new())
    }

    fn running_on(&mut self, node: &str) -> Result<Vec<String>, CallError> {
        call(&self.0, |world| {
            let at = world.node(node);
            let its = world.instances.iter().filter(|i| Some(i.primary) == at && i.runs);
            Ok(its.map(|i| i.name.clone()).collect())
        })
    }

    fn boot_ids(&mut self, nodes: &[&str]) -> Result<Vec<Option<String>>, CallError> {
        call(&self.0, |world| {
            let boot = |name: &&str| {
                let node = &world.nodes[world.node(name)?];
                let answers = node.up_from <= world.clock && !node.offline;
                answers.then(|| format!("{name} {}", node.boot))
            };
            Ok(nodes.iter().map(boot).collect())
        })
    }

    fn master_candidates(&mut self) -> Result<Vec<String>, CallError> {
        Ok(Vec::new())
    }

    fn master(&mut self) -> Result<String, CallError> {
        Ok(self.0.borrow().nodes[0].name.clone())
    }

    fn node_flags(&mut self, _: &str) -> Result<NodeFlags, CallError> {
        Ok(NodeFlags::default())
    }

    fn instance_now(&mut self, _: &str) -> Result<InstanceNow, CallError> {
        Err(CallError::NotSent("never".to_owned()))
    }

    fn results(&mut self, _: JobId) -> Result<Vec<Value>, CallError> {
        Ok(Vec::new())
    }

    fn opcode(&mut self, _: JobId, _: usize) -> Result<Value, CallError> {
        Ok(Value::Null)
    }

    fn cancel(&mut self, _: JobId) -> Result<(), CallError> {
        Ok(())
    }

    /// A dry run succeeds if the node answers.
    fn try_out(&mut self, run: &RunInfo, opcode: &Opcode) -> Result<JobId, CallError> {
        call(&self.0, |world| {
            let Opcode::NodeSetParams { node_name, .. } = opcode else {
                return Err(CallError::NotSent("never".to_owned()));
            };
            let answers = world.node(node_name).is_some_and(|at| world.nodes[at].up_from <= world.clock);
            world.jobs.push(SimJob {
                comment: format!("{}; trial", run.comment),
                opcodes: Vec::new(),
                depends: None,
                status: JobStatus::Queued,
                looks: 0,
                fails: !answers,
            });
            Ok(JobId(world.jobs.len() as u64))
        })
    }
}

pub struct SimHost {
    pub world: Shared,
    /// Number of batches after which the run is asked to stop.
    pub stop_after: Option<usize>,
    pub batches: usize,
}

impl MaintenanceHost for SimHost {
    fn next(
        &mut self,
        _: &mut dyn JobClient,
        read: &Read,
        progress: &MaintenanceProgress,
        given_up: &BTreeSet<String>,
    ) -> Result<BatchProposal, String> {
        let cluster = call(&self.world, |world| world.cluster());
        let planner = BatchPlanner {
            cluster: &cluster,
            terms: read.header.maintenance.as_ref().unwrap(),
            progress,
            given_up,
            master: &cluster.nodes[0].spec.name,
            has_soaked: read.course.soaks_until.is_some(),
            rates: &Rates::default(),
            limits: StreamLimits::default(),
        };
        Ok(match planner.next().unwrap() {
            NextBatch::Maintain(batch) => BatchProposal::Maintain(batch),
            NextBatch::Soak(time) => BatchProposal::Soak(time),
            NextBatch::Master(left) | NextBatch::End(left) => {
                let named = |left: Unmaintained| LeftNode { node: left.node, why: format!("{:?}", left.why) };
                BatchProposal::End { left: left.into_iter().map(named).collect(), is_late: false }
            }
        })
    }

    fn close(
        &mut self,
        _: &mut dyn JobClient,
        terms: &MaintenanceTerms,
        progress: &MaintenanceProgress,
        nodes: &[String],
        closing: Closing,
    ) -> Result<PlannedBatch, String> {
        let cluster = call(&self.world, |world| world.cluster());
        closing_batch(&cluster, terms, progress, nodes, closing).map_err(|error| error.to_string())
    }

    fn run_terms(&mut self, work: &Work) -> RunTerms {
        RunTerms { seconds: Rates::default().of(work), ..RunTerms::default() }
    }

    fn batch(
        &mut self,
        header: &Header,
        batch: &BegunBatch,
        run: &mut dyn FnMut(&mut dyn RunHost) -> Report,
    ) -> Report {
        self.batches += 1;
        self.world.borrow_mut().not_redundant = batch.not_redundant.clone();
        if batch.kind == BatchKind::Maintain {
            let moves = header.work.steps[batch.steps.clone()].iter().filter(|s| s.task == Task::Drain);
            assert_eq!(moves.count(), batch.nodes.len());
        }
        run(&mut SimBatch { world: Rc::clone(&self.world), batch })
    }

    fn wants_to_stop(&self) -> bool {
        self.stop_after.is_some_and(|most| self.batches >= most)
    }

    fn pause(&mut self, time: Duration) {
        call(&self.world, |world| world.pass(time.as_secs().max(1)));
    }

    fn now(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(self.world.borrow().clock)
    }
}

struct SimBatch<'b> {
    world: Shared,
    batch: &'b BegunBatch,
}

impl RunHost for SimBatch<'_> {
    fn event(&mut self, event: &Event) {
        if let Event::Waiting { title, .. } = event {
            // Somebody reboots the node some time later, once.
            let mut world = self.world.borrow_mut();
            let name = title.rsplit(' ').next().unwrap_or_default().to_owned();
            if let Some(at) = world.node(&name)
                && world.nodes[at].reboots == 0
                && world.due.iter().all(|(_, due)| *due != at)
            {
                let time = world.clock + 40;
                world.due.push((time, at));
            }
        }
    }

    fn wants_to_stop(&self) -> bool {
        false
    }

    fn perform(&mut self, _: &mut dyn JobClient, _: &RunInfo, step: &WorkStep) -> Result<(), NodeTaskError> {
        Err(NodeTaskError::NotOurs(step.title()))
    }

    fn start_command(&mut self, run: &CommandRun<'_>) -> Result<(), NodeTaskError> {
        call(&self.world, |world| world.start(run.mark.step.get(), run.node, run.command == "health"));
        Ok(())
    }

    fn command_fate(&mut self, run: &CommandRun<'_>) -> CommandFate {
        call(&self.world, |world| world.fate(run.mark.step.get(), run.node))
    }

    fn check_cluster(&mut self, _: &mut dyn JobClient, instances: &[String]) -> Result<(), String> {
        let cluster = call(&self.world, |world| world.cluster());
        problem_after(&cluster, self.batch, instances).map_or(Ok(()), Err)
    }

    fn pause(&mut self, time: Duration) {
        call(&self.world, |world| world.pass(time.as_secs().max(1)));
    }

    fn now(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(self.world.borrow().clock)
    }
}
