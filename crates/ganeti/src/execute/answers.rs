//! Parsing of Ganeti's answers about jobs, shared by LUXI and RAPI.

use serde_json::{Value, json};

use super::client::{ClusterId, InstanceNow};
use super::job::{JobId, JobMark, JobState, JobStatus, RunInfo};
use super::watch::JobChange;
use crate::input::json::WantedParts;
use crate::remote::CallError;
use htools_model::shown::printable;

/// Maximum length of Ganeti's message about a failure, in characters.
const SHOWN: usize = 400;

/// Fields of the cluster that are read.
pub(super) const CLUSTER: WantedParts =
    WantedParts::Keys(&[("name", WantedParts::Whole), ("uuid", WantedParts::Whole)]);
/// Field of the cluster with its master.
pub(super) const MASTER: WantedParts = WantedParts::Keys(&[("master", WantedParts::Whole)]);
/// Fields of a job's opcodes that are read: those that identify the run.
pub(super) const OPCODES: WantedParts = WantedParts::Items(&[WantedParts::Keys(&[
    ("comment", WantedParts::Whole),
    ("reason", WantedParts::Whole),
])]);

/// Error for an answer in an unexpected form.
pub(super) fn nonsense(what: &str, found: &Value) -> CallError {
    CallError::Nonsense(format!("{what}: unexpected answer {}", printable(&found.to_string(), 120)))
}

/// Name and UUID of the cluster.
pub(super) fn cluster(info: &Value) -> Result<ClusterId, CallError> {
    let text = |key: &str| {
        let value = info.get(key).and_then(Value::as_str).map(str::to_owned);
        value.ok_or_else(|| CallError::Nonsense(format!("the cluster does not say its {key}")))
    };
    Ok(ClusterId { name: text("name")?, uuid: text("uuid")? })
}

/// Full name of the master node.
pub(super) fn master(info: &Value) -> Result<String, CallError> {
    let name = info.get("master").and_then(Value::as_str).filter(|name| !name.is_empty());
    name.map(str::to_owned)
        .ok_or_else(|| CallError::Nonsense("the cluster does not say its master".to_owned()))
}

/// The query of the boot IDs of nodes: the fields of the answer's rows, and the filter.
pub(super) fn boot_query(nodes: &[&str]) -> (Value, Value) {
    let mut filter = vec![json!("|")];
    filter.extend(nodes.iter().map(|node| json!(["=", "name", node])));
    (json!(["name", "bootid"]), filter.into())
}

/// Boot IDs of nodes, in their order, from the answer to [`boot_query`].
pub(super) fn boot_ids(nodes: &[&str], answer: &Value) -> Result<Vec<Option<String>>, CallError> {
    let rows = answer.get("data").and_then(Value::as_array).ok_or_else(|| nonsense("boot IDs", answer))?;
    let of_node = |node: &&str| {
        let its = |row: &&Value| field(row, 0).and_then(Value::as_str) == Some(*node);
        let row =
            rows.iter().find(its).ok_or_else(|| nonsense(&format!("boot ID of node '{node}'"), answer))?;
        let id = field(row, 1).and_then(Value::as_str).filter(|id| !id.is_empty());
        Ok(id.map(str::to_owned))
    };
    nodes.iter().map(of_node).collect()
}

/// The value of a cell of a query's row, if its status is 0 (valid).
pub(super) fn field(row: &Value, at: usize) -> Option<&Value> {
    row.get(at).filter(|cell| cell[0] == 0)?.get(1)
}

/// Role of a node that could become the master.
pub(super) const CANDIDATE: &str = "C";

/// Statuses of instances that certainly do not run.
pub(super) const STOPPED: [&str; 4] = ["ADMIN_down", "ADMIN_offline", "ERROR_down", "USER_down"];

/// A job's number: a number, or a text of one.
pub(super) fn job_id(value: &Value) -> Option<JobId> {
    let number = value.as_u64().or_else(|| value.as_str()?.parse().ok())?;
    Some(JobId(number))
}

/// A job's number in a list of jobs.
pub(super) fn listed_id(value: &Value) -> Result<JobId, CallError> {
    // Leaving a job out because of its number could mean submitting it twice.
    job_id(value).ok_or_else(|| nonsense("number of a job", value))
}

/// Tells if a job with this status has not ended. An unknown status may be that of a job that goes on.
pub(super) fn is_open(status: Option<&Value>) -> bool {
    let status = status.and_then(Value::as_str).and_then(|status| status.parse::<JobStatus>().ok());
    status.is_none_or(|status| !status.is_final())
}

/// The newest of these jobs; 0 if there are none.
pub(super) fn newest<'v>(mut ids: impl Iterator<Item = &'v Value>) -> Result<JobId, CallError> {
    ids.try_fold(JobId(0), |newest, id| Ok(newest.max(listed_id(id)?)))
}

/// The number of a job in the answer to its submission, or the reason that it was refused.
pub(super) fn submitted(answer: &Value) -> Result<Result<JobId, CallError>, CallError> {
    let wrong = || nonsense("submission of a job", answer);
    let pair = answer.as_array().filter(|pair| pair.len() == 2).ok_or_else(wrong)?;
    match (pair[0].as_bool(), &pair[1]) {
        (Some(true), id) => job_id(id).map(Ok).ok_or_else(wrong),
        (Some(false), why) => Ok(Err(CallError::Refused(reason(why)))),
        (None, _) => Err(wrong()),
    }
}

/// State of a job from its status, the results of its opcodes and their messages. All are null for a job that does not
/// exist.
///
/// Ganeti counts a job that switches the power of a node as a success even if the helper program failed. Here the
/// result of the opcode decides, and a failure counts as an error.
pub(super) fn state(status: &Value, results: &Value, log: &Value) -> Result<JobState, CallError> {
    if status.is_null() {
        return Ok(JobState::default());
    }
    let known = status.as_str().and_then(|word| word.parse().ok());
    let status = known.ok_or_else(|| nonsense("status of a job", status))?;
    if status == JobStatus::Success && results.as_array().is_some_and(|r| r.iter().any(is_power_failure)) {
        let message = last_message(log).unwrap_or_else(|| "the power helper of the node failed".to_owned());
        return Ok(JobState {
            status: Some(JobStatus::Error),
            message: Some(message),
            ..JobState::default()
        });
    }
    let failed = matches!(status, JobStatus::Error | JobStatus::Canceled);
    let results = results.as_array().filter(|_| failed).map_or(&[][..], Vec::as_slice);
    let message = results.iter().find_map(failure);
    let is_error = status == JobStatus::Error;
    let is_passing = is_error && results.first().is_some_and(will_pass);
    // Opcodes after the first failure have errors, too, although they were never begun.
    let first = results.iter().position(|result| failure(result).is_some()).filter(|_| is_error);
    let failed_opcode = first.filter(|at| !is_harmless(&results[*at]));
    Ok(JobState { status: Some(status), message, failed_opcode, is_passing })
}

/// Classes of errors with which Ganeti ends an opcode before it has changed anything.
const HARMLESS: [&str; 5] = ["OpPrereqError", "HooksAbort", "LockError", "TimeoutError", "JobQueueFull"];

/// Tells if an opcode failed before it had changed anything, by the class of its error.
fn is_harmless(result: &Value) -> bool {
    result.get(0).and_then(Value::as_str).is_some_and(|class| HARMLESS.contains(&class))
}

/// Tells if an error is temporary, by its class, or by its code if the class is too general.
fn will_pass(result: &Value) -> bool {
    let Some([Value::String(class), Value::Array(args)]) = result.as_array().map(Vec::as_slice) else {
        return false;
    };
    let code = || args.get(1).and_then(Value::as_str);
    match class.as_str() {
        "LockError" | "TimeoutError" | "JobQueueFull" => true,
        "OpPrereqError" => code() == Some("temp_insufficient_resources"),
        _ => false,
    }
}

/// Tells if the result is that of switching the power of nodes, and failed for one of them. For each node there are
/// pairs of a status and a value, the name first; status 0 means success.
fn is_power_failure(result: &Value) -> bool {
    let cell = |cell: &Value| match cell.as_array().map(Vec::as_slice) {
        Some([status, _]) => status.as_u64(),
        _ => None,
    };
    let cells =
        |node: &Value| node.as_array().map(|cells| cells.iter().map(cell).collect::<Option<Vec<_>>>());
    let of_node = |node: &Value| cells(node).flatten().is_some_and(|states| states.iter().any(|s| *s != 0));
    result.as_array().is_some_and(|nodes| nodes.iter().any(of_node))
}

/// The last message of a job's opcodes, each of which has number, time, kind and text.
fn last_message(log: &Value) -> Option<String> {
    let entries = log.as_array()?.iter().filter_map(Value::as_array).flatten();
    let mut texts = entries.filter_map(|entry| entry.get(3)?.as_str());
    texts.next_back().map(|text| printable(text.trim().trim_start_matches("- WARNING: "), SHOWN))
}

/// The names of a node's primary and secondary instances.
pub(super) fn held(lists: [Option<&Value>; 2]) -> Option<Vec<String>> {
    let mut names = Vec::new();
    for list in lists {
        for name in list?.as_array()? {
            names.push(name.as_str()?.to_owned());
        }
    }
    Some(names)
}

/// State of an instance from tags, primary node, other nodes, and the state that the administrator wants.
pub(super) fn instance_now(values: [Option<&Value>; 4]) -> Option<InstanceNow> {
    let texts = |value: &Value| -> Option<Vec<String>> {
        value.as_array()?.iter().map(|text| Some(text.as_str()?.to_owned())).collect()
    };
    let [tags, primary, others, wanted] = values;
    let nodes = [vec![primary?.as_str()?.to_owned()], texts(others?)?].concat();
    Some(InstanceNow { tags: texts(tags?)?, nodes, should_run: wanted?.as_str()? == "up" })
}

/// Message of a failed opcode. Its result is the name of an error with its arguments, or a text.
fn failure(result: &Value) -> Option<String> {
    match result {
        Value::Array(parts) => match parts.as_slice() {
            [Value::String(_), Value::Array(args)] => {
                Some(args.first().map_or_else(|| reason(result), reason))
            }
            _ => None,
        },
        Value::String(text) => Some(printable(text, SHOWN)),
        _ => None,
    }
}

fn reason(value: &Value) -> String {
    match value.as_str() {
        Some(text) => printable(text.trim(), SHOWN),
        None => printable(&value.to_string(), SHOWN),
    }
}

/// The change in the answer to a wait: the fields of the job and its new messages.
pub(super) fn change(fields: &Value, messages: &Value) -> Result<JobChange, CallError> {
    let wrong = || nonsense("wait for a job", fields);
    let status = fields.as_array().and_then(|fields| fields.first()).ok_or_else(wrong)?;
    let status = status.as_str().and_then(|word| word.parse().ok()).ok_or_else(wrong)?;
    let serial = |message: &Value| message.as_array()?.first()?.as_u64();
    let serials = messages.as_array().into_iter().flatten().filter_map(serial);
    Ok(JobChange { status: Some(status), serial: serials.max() })
}

/// The mark of a job of this run. It is in the comment of its first opcode, or in one of its reasons if RAPI allows no
/// comment.
pub(super) fn mark(run: &RunInfo, opcodes: &Value) -> Option<JobMark> {
    let opcode = opcodes.as_array()?.first()?;
    let comment = opcode.get("comment").and_then(Value::as_str);
    let reasons = opcode.get("reason").and_then(Value::as_array).into_iter().flatten();
    let texts = reasons.filter_map(|reason| reason.as_array()?.get(1)?.as_str());
    comment.into_iter().chain(texts).find_map(|text| run.mark(text))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn submissions() {
        assert_eq!(submitted(&json!([true, 25])), Ok(Ok(JobId(25))));
        assert_eq!(submitted(&json!([true, "25"])), Ok(Ok(JobId(25))));
        assert_eq!(
            submitted(&json!([false, "queue is\nbad"])),
            Ok(Err(CallError::Refused(r"queue is\nbad".into())))
        );
        for wrong in
            [json!([true, -1]), json!([true, 1.5]), json!([true]), json!([1, 2]), json!(7), json!(null)]
        {
            assert!(matches!(submitted(&wrong), Err(CallError::Nonsense(_))), "{wrong}");
        }
    }

    #[test]
    fn numbers_of_jobs_are_exact_up_to_the_last() {
        let ids = [json!(3), json!(u64::MAX - 1), json!("18446744073709551613")];
        assert_eq!(newest(ids.iter()), Ok(JobId(u64::MAX - 1)));
        assert_eq!(newest([].iter()), Ok(JobId(0)));
        // One more than the largest number, as Ganeti would write it.
        let beyond: Value = serde_json::from_str("18446744073709551616").unwrap();
        for wrong in [beyond, json!("18446744073709551616"), json!(-1), json!(1.5), json!(null)] {
            let error = newest([json!(1), wrong.clone()].iter()).unwrap_err().to_string();
            assert!(error.starts_with("number of a job: unexpected answer "), "{error}");
        }
    }

    #[test]
    fn states() {
        let results = json!([null, ["OpPrereqError", ["Instance 'x' not known", "unknown_entity"]]]);
        let message = Some("Instance 'x' not known".to_owned());
        assert_eq!(
            state(&json!("error"), &results, &json!(null)),
            Ok(JobState { status: Some(JobStatus::Error), message, ..JobState::default() })
        );
        let running = JobState { status: Some(JobStatus::Running), ..JobState::default() };
        assert_eq!(state(&json!("running"), &results, &json!(null)), Ok(running));
        assert_eq!(state(&json!(null), &json!(null), &json!(null)), Ok(JobState::default()));
        assert!(state(&json!("foo"), &json!([]), &json!([])).is_err());
        assert!(state(&json!(3), &json!([]), &json!([])).is_err());
    }

    #[test]
    fn only_the_first_opcode_that_fails_was_begun() {
        let failed = |status: &str, results: Value| {
            state(&json!(status), &results, &json!(null)).unwrap().failed_opcode
        };
        let error = |class: &str, text: &str| json!([class, [text]]);
        // A real master ends the opcodes after a failed one like this.
        let behind = || error("OpExecError", "Preceding opcode failed");
        let broke = || error("OpExecError", "Could not migrate instance: Domain not found");
        assert_eq!(failed("error", json!([null, broke(), behind()])), Some(1));
        assert_eq!(failed("error", json!([broke(), behind()])), Some(0));
        assert_eq!(failed("error", json!([null, "it died"])), Some(1));
        // Nothing had been done yet.
        for class in HARMLESS {
            assert_eq!(failed("error", json!([null, error(class, "no"), behind()])), None, "{class}");
        }
        assert_eq!(failed("canceled", json!([null, "Job canceled by request"])), None);
        assert_eq!(failed("running", json!([broke()])), None);
        assert_eq!(failed("error", json!(null)), None);
    }

    #[test]
    fn power_that_was_not_switched() {
        // As a real master reports it.
        let result = |status: u64| json!([[[[0, "node4.vc.test"], [status, null]]]]);
        let text = " - WARNING: Out-of-band RPC failed on node 'node4.vc.test': no power\n";
        let log = json!([[[1, [1795311733, 358265], "message", text]]]);
        let good = JobState { status: Some(JobStatus::Success), ..JobState::default() };
        assert_eq!(state(&json!("success"), &result(0), &log), Ok(good.clone()));
        let message = Some("Out-of-band RPC failed on node 'node4.vc.test': no power".to_owned());
        let bad = JobState { status: Some(JobStatus::Error), message, ..JobState::default() };
        assert_eq!(state(&json!("success"), &result(2), &log), Ok(bad));
        let unexplained = state(&json!("success"), &result(2), &json!([[]])).unwrap();
        assert_eq!(unexplained.message.unwrap(), "the power helper of the node failed");
        // Results of other opcodes.
        for other in [json!([[["drained", "False"], ["offline", "True"]]]), json!([[]]), json!([null])] {
            assert_eq!(state(&json!("success"), &other, &log), Ok(good.clone()));
        }
    }

    #[test]
    fn instances_of_a_node() {
        let list = json!(["a", "b"]);
        assert_eq!(held([Some(&list), Some(&json!(["c"]))]).unwrap(), ["a", "b", "c"]);
        assert_eq!(held([Some(&json!([])), Some(&json!([]))]), Some(vec![]));
        // An answer without a list is not an empty list.
        for wrong in [json!(null), json!("a"), json!([1])] {
            assert_eq!(held([Some(&list), Some(&wrong)]), None);
            assert_eq!(held([None, Some(&list)]), None);
        }
    }

    #[test]
    fn changes() {
        let messages =
            json!([[1, [1795250982, 26852], "message", "a"], [2, [1795250982, 26852], "message", "b"]]);
        let running = JobChange { status: Some(JobStatus::Running), serial: Some(2) };
        assert_eq!(change(&json!(["running"]), &messages), Ok(running));
        let quiet = JobChange { status: Some(JobStatus::Running), serial: None };
        assert_eq!(change(&json!(["running"]), &json!([])), Ok(quiet));
        assert!(change(&json!("nochange"), &json!(null)).is_err());
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            prop_oneof![Just("success"), Just("error"), Just("comment"), Just("x")].prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 40, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec(inner, 1).prop_map(|v| json!({"comment": v[0]})),
            ]
        })
    }

    proptest! {
        #[test]
        fn anything_may_come(a in any_json(), b in any_json()) {
            let run = RunInfo {
                tool: "t".into(), began: 1, comment: "c".into(), reason: "r".into(), priority: 0,
            };
            let _ = (submitted(&a), state(&a, &b, &a), held([Some(&a), Some(&b)]), change(&a, &b), job_id(&a));
            prop_assert_eq!(mark(&run, &a), None);
        }
    }
}
