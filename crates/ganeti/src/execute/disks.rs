//! State of the disks of instances. Only their nodes know whether a copy is good.

use std::collections::HashMap;
use std::time::Duration;

use serde_json::Value;

use super::client::JobClient;
use super::host::RunHost;
use super::job::{Job, JobId, JobMark, JobStatus, RunInfo, WatchedJob};
use crate::remote::CallError;
use htools_model::autorepair::{DiskFault, DiskSight};
use htools_plan::graph::StepIdx;
use htools_plan::opcode::Opcode;

/// Maximum number of instances that one job asks about, as it waits for every other job that changes one of them.
const MOST_IN_JOB: usize = 25;
/// Ganeti's status of a copy that cannot be used.
const FAULTY: u64 = 4;
/// Ganeti's status of a copy that is resynchronising.
const SYNCING: u64 = 2;

/// State of disks, as far as it could be found out.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DiskSurvey {
    /// Faults, by the full names of instances.
    pub faults: HashMap<String, DiskFault>,
    /// Full names of the instances whose state is unknown.
    pub unknown: Vec<String>,
    /// Full names of the instances with disks that are being resynchronised, and how far that is, in per cent.
    pub syncing: HashMap<String, f64>,
}

/// Asks for the state of the disks of instances. Instances that have not answered by the time limit count as unknown,
/// and their jobs are cancelled.
///
/// # Errors
/// If Ganeti cannot be asked at all.
pub fn survey(
    client: &mut dyn JobClient,
    host: &mut dyn RunHost,
    run: &RunInfo,
    instances: &[String],
    at_most: Duration,
) -> Result<DiskSurvey, CallError> {
    let size = if client.joins_opcodes() { MOST_IN_JOB } else { 1 };
    let mut found = DiskSurvey::default();
    let mut asked: Vec<(WatchedJob, &[String])> = Vec::new();
    for (part, names) in instances.chunks(size).enumerate() {
        let opcodes = [Opcode::query_data(names)];
        let job = Job { opcodes: &opcodes, mark: JobMark { step: StepIdx::new(0), part }, depends: None };
        match client.submit(run, &[job])?.pop() {
            Some(Ok(id)) => asked.push((WatchedJob { id, status: JobStatus::Queued }, names)),
            _ => found.unknown.extend_from_slice(names),
        }
    }
    let end = host.now() + at_most;
    loop {
        let open: Vec<WatchedJob> =
            asked.iter().map(|(job, _)| *job).filter(|job| !job.status.is_final()).collect();
        let Ok(left) = end.duration_since(host.now()) else { break };
        if open.is_empty() {
            break;
        }
        for (id, state) in client.next_change(&open, left)? {
            let job = asked.iter_mut().find(|(job, _)| job.id == id);
            // A job that has left the queue will not answer.
            job.into_iter().for_each(|(job, _)| job.status = state.status.unwrap_or(JobStatus::Canceled));
        }
    }
    for (job, names) in asked {
        if !job.status.is_final() {
            // The job may have begun, but its answer is no longer needed.
            let _ = client.cancel(job.id);
        }
        let answers =
            if job.status == JobStatus::Success { job_answers(client, job.id)? } else { Value::Null };
        for name in names {
            found.syncing.extend(answers.get(name).and_then(progress).map(|done| (name.clone(), done)));
            match answers.get(name).and_then(sights) {
                None => found.unknown.push(name.clone()),
                Some(disks) => found.faults.extend(DiskFault::of(&disks).map(|fault| (name.clone(), fault))),
            }
        }
    }
    Ok(found)
}

/// Answers of a job, by instance.
fn job_answers(client: &mut dyn JobClient, id: JobId) -> Result<Value, CallError> {
    Ok(client.results(id)?.into_iter().next().unwrap_or_default())
}

/// The disks of an instance.
fn sights(instance: &Value) -> Option<Vec<DiskSight>> {
    instance.get("disks")?.as_array()?.iter().map(sight).collect()
}

/// Progress of the disk that is farthest from being resynchronised, in per cent; `None` if all are in sync.
fn progress(instance: &Value) -> Option<f64> {
    let disks = instance.get("disks")?.as_array()?;
    let of_disk = |disk: &Value| disk.get("pstatus")?.get(3)?.as_f64();
    disks.iter().filter_map(of_disk).min_by(f64::total_cmp)
}

/// One disk, as both nodes see it and the volumes below it: path, numbers, progress in per cent and seconds, a flag for
/// degraded disks, and the status of the local copy.
fn sight(disk: &Value) -> Option<DiskSight> {
    let [primary, secondary] = ["pstatus", "sstatus"].map(|side| disk.get(side));
    let (primary, secondary) = (primary?, secondary?);
    let state = |copy: &Value| copy.get(6).and_then(Value::as_u64);
    let below = disk.get("children")?.as_array()?;
    let lacks = |side: &str| below.iter().any(|volume| volume.get(side).is_some_and(Value::is_null));
    // A node where the disk is not in use, or that does not answer, reports nothing. Then nothing can be done here.
    if primary.is_null() {
        return Some(DiskSight::default());
    }
    let syncs = primary.get(3).is_some_and(|done| !done.is_null()) || state(primary) == Some(SYNCING);
    Some(DiskSight {
        primary_lost: state(primary) == Some(FAULTY) || lacks("pstatus"),
        secondary_lost: state(secondary) == Some(FAULTY) || lacks("sstatus"),
        degraded: primary.get(5)?.as_bool()? && !syncs,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn progress_is_that_of_the_slowest_disk() {
        let disk = |done: Value| json!({"pstatus": ["/dev/drbd0", 147, 0, done, 100, true, 1]});
        assert_eq!(
            progress(&json!({"disks": [disk(json!(17.5)), disk(json!(null)), disk(json!(3))]})),
            Some(3.0)
        );
        assert_eq!(progress(&json!({"disks": [disk(json!(null)), {"pstatus": null}]})), None);
    }

    /// As a real master reported copies that were broken on purpose.
    #[test]
    fn what_nodes_say_of_disks() {
        let volume = json!(["/dev/xenvg/d", 253, 1, null, null, false, 1]);
        let copy = |degraded: bool, state: u64| json!(["/dev/drbd0", 147, 0, null, null, degraded, state]);
        let disk = |primary: Value, secondary: Value, volumes: [Value; 2]| {
            let [p, s] = volumes;
            json!({"pstatus": primary, "sstatus": secondary, "children": [{"pstatus": p, "sstatus": s}]})
        };
        let both = || [volume.clone(), volume.clone()];
        let syncing = json!(["/dev/drbd0", 147, 0, 17.5, 100, true, 1]);
        for (disk, fault) in [
            (disk(copy(false, 1), copy(false, 1), both()), None),
            // Being resynchronised.
            (disk(syncing, copy(true, 2), both()), None),
            // Down on the secondary node.
            (disk(copy(true, 1), json!(null), both()), Some(DiskFault::Apart)),
            // Detached on the secondary node.
            (disk(copy(false, 1), copy(true, 4), both()), Some(DiskFault::SecondaryLost(vec![0]))),
            // Its volumes are gone.
            (
                disk(copy(true, 1), json!(null), [volume.clone(), json!(null)]),
                Some(DiskFault::SecondaryLost(vec![0])),
            ),
            (disk(copy(true, 4), copy(false, 1), both()), Some(DiskFault::PrimaryLost(vec![0]))),
            (disk(copy(true, 4), copy(true, 4), both()), Some(DiskFault::BothLost)),
            // Not in use.
            (disk(json!(null), json!(null), both()), None),
        ] {
            let answers = json!({"disks": [disk]});
            assert_eq!(DiskFault::of(&sights(&answers).unwrap()), fault, "{answers}");
        }
        for wrong in
            [json!({}), json!({"disks": 1}), json!({"disks": [{}]}), json!({"disks": [{"pstatus": []}]})]
        {
            assert_eq!(sights(&wrong), None, "{wrong}");
        }
        let second = json!({"disks": [disk(copy(false, 1), copy(false, 1), both()), disk(copy(false, 1), copy(true, 4), both())]});
        assert_eq!(DiskFault::of(&sights(&second).unwrap()), Some(DiskFault::SecondaryLost(vec![1])));
    }
}
