//! Execution of whole plans.

use std::fs;

use anyhow::{Context, ensure};
use serde_json::{Value, json};

use super::hbal::{Hbal, ids, nothing_twice};
use crate::child::{self, Output};
use crate::cluster::Cluster;
use crate::proxy::{Proxy, requests};
use crate::tools::{self, READING, same_text};

/// Recorded messages and output of Ganeti's own hbal on such a cluster.
const MESSAGES: &str = include_str!("../fixtures/hbal-X.luxi.jsonl");
const PRINTED: &str = include_str!("../fixtures/hbal-X.out");

/// Over LUXI: the output and the opcodes, key by key, equal the reference's.
pub fn over_luxi(cluster: &Cluster) -> anyhow::Result<()> {
    let proxy = Proxy::before(cluster.socket())?;
    let hbal = Hbal::over(cluster, format!("-L{}", proxy.socket().display()))?;
    let goal = hbal.goal(&[])?;
    let output = hbal.run(&[])?.good()?;
    same_text("hbal -X", &printed_by_reference()?, &output.stdout)?;
    goal.rest(&output)?;
    same_submissions(&recorded()?, &proxy.requests("SubmitManyJobs")?)?;
    all_went_well(&hbal, &output, goal.steps)?;
    ensure!(hbal.finished_jobs()?.len() == goal.steps, "not one job a step");
    goal.is_reached(cluster)
}

/// Over RAPI: the result is the same.
pub fn over_rapi(cluster: &Cluster) -> anyhow::Result<()> {
    let hbal = Hbal::over_rapi(cluster)?;
    let goal = hbal.goal(&[])?;
    let output = hbal.run(&[])?.good()?;
    let rest = goal.rest(&output)?;
    ensure!(rest.lines().all(|line| line.starts_with(super::hbal::GOT)), "odd output:\n{rest}");
    let opcodes: usize = recorded()?
        .iter()
        .flat_map(|args| args[0].as_array())
        .flatten()
        .filter_map(Value::as_array)
        .map(Vec::len)
        .sum();
    let jobs = hbal.finished_jobs()?;
    ensure!(jobs.len() == opcodes, "{} jobs for {opcodes} opcodes", jobs.len());
    all_went_well(&hbal, &output, goal.steps)?;
    goal.is_reached(cluster)
}

/// Instances that can move to any node. Afterwards there is nothing left to do.
pub fn shared_storage(cluster: &Cluster) -> anyhow::Result<()> {
    let hbal = Hbal::over_luxi(cluster)?;
    let goal = hbal.goal(&[])?;
    let output = hbal.run(&[])?.good()?;
    goal.rest(&output)?;
    all_went_well(&hbal, &output, goal.steps)?;
    goal.is_reached(cluster)?;
    let again = Hbal::over_luxi(cluster)?;
    let output = again.run(&[])?.good()?;
    let source = format!("--luxi={}", cluster.socket());
    tools::same(
        &child::run(tools::reference(cluster.system(), "hbal").args([&*source, "-X"]), READING)?,
        &output,
    )?;
    ensure!(again.jobs()?.is_empty(), "there was nothing to do");
    Ok(())
}

/// By default, the journal is in the user's state directory. Without a terminal, nobody is asked.
pub fn default_journal(cluster: &Cluster) -> anyhow::Result<()> {
    let state = tempfile::tempdir()?;
    let mut command = tools::ours("hbal");
    command.args([&*format!("-L{}", cluster.socket()), "-X", "--first-job-group"]);
    child::run(command.env("XDG_STATE_HOME", state.path()), READING)?.good()?;
    let directory = state.path().join("htools");
    let entries = fs::read_dir(&directory).with_context(|| format!("no {}", directory.display()))?;
    let mut names = entries.map(|entry| Ok(entry?.file_name())).collect::<anyhow::Result<Vec<_>>>()?;
    // The history of all runs is beside the journals.
    let count = names.len();
    names.retain(|name| name != "history.jsonl");
    ensure!(names.len() == 1 && count == 2, "{names:?} of {count} files in {}", directory.display());
    Ok(())
}

/// All jobs succeeded, were printed, and were reported as events.
fn all_went_well(hbal: &Hbal<'_>, output: &Output, steps: usize) -> anyhow::Result<()> {
    let jobs = hbal.finished_jobs()?;
    let bad = jobs.iter().find(|job| job.status != "success");
    ensure!(bad.is_none(), "a job did not succeed: {bad:?}");
    nothing_twice(&jobs)?;
    let there: Vec<u64> = jobs.iter().map(|job| job.id).collect();
    ensure!(
        ids(&output.stdout).concat() == there,
        "printed were other jobs than {there:?}{}",
        output.streams()
    );
    let events = hbal.events()?;
    let last = events.last().context("no events")?;
    let counts = ["done", "failed", "running", "not_started"].map(|key| last[key].clone());
    ensure!(last["event"] == "ended", "the last event is {last}");
    ensure!(
        last["ending"]["how"] == "done" && counts == [json!(steps), json!(0), json!(0), json!(0)],
        "{last}"
    );
    let ended =
        events.iter().filter(|event| event["event"] == "step_ended" && event["state"] == "done").count();
    ensure!(ended == steps, "events tell of {ended} steps, not of {steps}");
    Ok(())
}

/// The reference's standard output, without the first line (the command) and the last one (the status).
fn printed_by_reference() -> anyhow::Result<String> {
    let (_, text) = PRINTED.split_once('\n').context("an empty fixture")?;
    Ok(text.split_inclusive('\n').filter(|line| !line.starts_with("exit code ")).collect())
}

fn recorded() -> anyhow::Result<Vec<Value>> {
    let parse = |line: &str| -> anyhow::Result<Value> { Ok(serde_json::from_str(line)?) };
    let lines: Vec<Value> = MESSAGES.lines().map(parse).collect::<Result<_, _>>()?;
    let texts = lines.iter().filter(|line| line["dir"] == "C>S").filter_map(|line| line["message"].as_str());
    requests(texts.map(str::to_owned), "SubmitManyJobs")
}

/// Compares two lists of submissions: the same jobs in the same calls, key by key in the same order, except for the
/// sender.
fn same_submissions(theirs: &[Value], ours: &[Value]) -> anyhow::Result<()> {
    ensure!(theirs.len() == ours.len(), "{} submissions, the reference's are {}", ours.len(), theirs.len());
    for (number, (theirs, ours)) in (1..).zip(theirs.iter().zip(ours)) {
        let text = |args: &Value| -> anyhow::Result<String> {
            let mut args = args.clone();
            let jobs = args[0].as_array_mut().context("no jobs")?;
            for opcode in jobs.iter_mut().filter_map(Value::as_array_mut).flatten() {
                anonymise(opcode)?;
            }
            Ok(args.to_string().replace("},", "},\n"))
        };
        same_text(&format!("submission {number}"), &text(theirs)?, &text(ours)?)?;
    }
    Ok(())
}

/// Checks the format of the parts that differ, and removes them.
fn anonymise(opcode: &mut Value) -> anyhow::Result<()> {
    let comment = opcode["comment"].as_str().context("no comment")?;
    let known = ["rebalancing via hbal (ganeti) version ", "rebalancing via hbal (htools) version "];
    ensure!(known.iter().any(|begin| comment.starts_with(begin)), "comment {comment:?}");
    opcode["comment"] = json!("comment");
    let reason = opcode["reason"].clone();
    let Some([source, text, time]) = reason[0].as_array().map(Vec::as_slice) else {
        anyhow::bail!("reason {reason}");
    };
    let called = |text: &str| text.starts_with("hbal (") && text.ends_with(" called");
    ensure!(source == "hbal" && text.as_str().is_some_and(called) && time.is_u64(), "reason {reason}");
    opcode["reason"] = json!("reason");
    Ok(())
}
