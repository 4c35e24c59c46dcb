//! Compares the output of both sides about instances, and the actions on them.
//!
//! Two things are never compared, because no two runs agree on them, not even two of the reference: times and IDs of
//! new repairs ([`super::harep_answer::masked`]), and the wording of errors. Everything else must be equal, except
//! for the rules named here.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde_json::Value;

use super::cases::Case;
use super::compare::{Verdict, Words};
use super::harep_answer::{Answer, Visit, masked, parsed};
use super::harep_history::Knowledge;
use super::harep_opcodes as opcodes;
use super::harep_tags::FUTURE;
use super::master::{AFTER, MASTER};
use super::rules::Rule;
use super::run::Output;

/// The feature of a case that changes nothing.
const ON_TRIAL: &str = "repairs on trial";

/// The rules by which the sides differ.
type Rules = BTreeSet<Rule>;
/// State of an instance in the reference's counts, and in ours.
type Recount = (&'static str, &'static str);

/// The case without anything that makes the reference give up.
pub fn restated(case: &Case) -> Option<(Rule, Case)> {
    let known = Knowledge::of(case)?;
    let contradictory = known.contradictory();
    if contradictory.is_empty() && known.names("refused").is_empty() && known.names("failing").is_empty() {
        return None;
    }
    let mut other = case.clone();
    other.files.retain(|(name, _)| *name != MASTER);
    other.files.push((MASTER, known.peaceful(&contradictory).to_string()));
    Some((Rule::RepairGoesOn, other))
}

/// Compares both sides of a case, given their outputs and directories.
pub fn compare(case: &Case, words: Words, theirs: (&Output, &Path), ours: (&Output, &Path)) -> Verdict {
    let [a, b] = [theirs, ours].map(|(output, _)| String::from_utf8_lossy(&output.stdout).into_owned());
    let (Some(known), Some(a), Some(b)) = (Knowledge::of(case), parsed(&a), parsed(&b)) else {
        // The output is not that of a run.
        let same = theirs.0.status == ours.0.status && a == b;
        return if same { Verdict::Agree } else { Verdict::Differ(format!("- {a}\n+ {b}")) };
    };
    let compared = sides(case, [(a, theirs.1), (b, ours.1)]).and_then(|[a, b]| match words {
        Words::Original if theirs.0.status != ours.0.status => {
            Err(format!("exit status: {:?}, ours {:?}", theirs.0.status, ours.0.status))
        }
        Words::Original if a == b => Ok(Rules::new()),
        Words::Original => paired(&known, &a.visits, &b.visits)
            .and_then(|(rules, recounts)| counted(a.counts, b.counts, &recounts, 0).map(|()| rules)),
        Words::Other => but_for_problems(&known, (a, theirs.0), (b, ours.0)),
    });
    match compared.map(|rules| rules.into_iter().next()) {
        Ok(_) if words == Words::Other => Verdict::Agree,
        Ok(None) => Verdict::Agree,
        Ok(Some(rule)) => Verdict::Listed(rule),
        Err(text) => Verdict::Differ(text),
    }
}

/// Tells if the output of the reference before it gave up equals ours. Its last words name the problem.
pub fn same_beginning(case: &Case, theirs: (&Output, &Path), ours: (&Output, &Path)) -> bool {
    let [a, b] = [theirs, ours].map(|(output, _)| parsed(&String::from_utf8_lossy(&output.stdout)));
    let (Some(known), Some(a), Some(b)) = (Knowledge::of(case), a, b) else { return false };
    let Ok([mut a, mut b]) = sides(case, [(a, theirs.1), (b, ours.1)]) else { return false };
    let last = if theirs.0.status == Some(0) { None } else { a.visits.pop().map(|visit| visit.name) };
    let problems = problems(ours.0);
    let is_well = |visit: &Visit| !problems.contains(&visit.name) && Some(&visit.name) != last.as_ref();
    a.visits.retain(is_well);
    b.visits.retain(|visit| is_well(visit) && !visit.head.is_empty());
    let names: Vec<String> = a.visits.iter().map(|visit| visit.name.clone()).collect();
    b.visits.retain(|visit| names.contains(&visit.name));
    paired(&known, &a.visits, &b.visits).is_ok()
}

/// Both answers with their submitted repairs, ready for comparison.
fn sides(case: &Case, sides: [(Answer, &Path); 2]) -> Result<[Answer; 2], String> {
    let sides = sides.map(|(answer, directory)| side(case, answer, directory));
    let [a, b] = sides;
    Ok([a?, b?])
}

fn side(case: &Case, mut answer: Answer, directory: &Path) -> Result<Answer, String> {
    let read =
        |name: &str| fs::read_to_string(directory.join(name)).map_err(|error| format!("{name}: {error}"));
    // In a restated case, the reference has another master.
    let known = Knowledge::parse(&read(MASTER)?).ok_or("no master's file")?;
    let text = read(AFTER)?;
    let after: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    let repairs = after["repairs"].as_array().cloned().unwrap_or_default();
    let left = if case.cluster.has(ON_TRIAL) { repairs } else { answer.attach(&repairs) };
    if !left.is_empty() {
        return Err(format!("submitted, and not said: {left:?}"));
    }
    let changes = !case.cluster.has(ON_TRIAL) && known.names("failing").is_empty() && answer.counts.is_some();
    answer.mask(&known.tags);
    for (name, before) in &known.tags {
        let now = after["tags"][name].as_array().into_iter().flatten().filter_map(Value::as_str);
        let now: BTreeSet<String> = now.map(|tag| masked(tag, before)).collect();
        let mut said: BTreeSet<String> = before.iter().cloned().collect();
        for visit in answer.visits.iter().filter(|visit| visit.name == *name && changes) {
            said.extend(visit.added.clone());
            said.retain(|tag| !visit.removed.contains(tag));
        }
        if now != said && (changes || case.cluster.has(ON_TRIAL)) {
            return Err(format!("tags of {name}: {now:?}, by what was said {said:?}"));
        }
    }
    Ok(answer)
}

/// Compares the visits one by one. Returns the rules by which they differ, and the instances' states on both sides.
fn paired(known: &Knowledge, theirs: &[Visit], ours: &[Visit]) -> Result<(Rules, Vec<Recount>), String> {
    let mut rules = Rules::new();
    let mut last: BTreeMap<&str, &'static str> = BTreeMap::new();
    let mut first: Vec<&Visit> = Vec::new();
    for visit in theirs {
        match last.insert(&visit.name, visit.status()) {
            None => first.push(visit),
            // The next run sees a repair that has just ended, and knows its effect. The reference repeats the repair
            // because of the state before.
            Some(_) => drop(rules.insert(Rule::RepairWaits)),
        }
    }
    let (spoken, silent): (Vec<&Visit>, Vec<&Visit>) = ours.iter().partition(|visit| !visit.head.is_empty());
    for visit in silent {
        // An instance for which nothing else is done.
        are_outdated(known, visit, &visit.removed)?;
        rules.insert(Rule::RepairOldTags);
    }
    let mut recounts = Vec::new();
    for at in 0..first.len().max(spoken.len()) {
        let (Some(a), Some(b)) = (first.get(at), spoken.get(at)) else {
            return Err(format!("- {:?}\n+ {:?}", first.get(at), spoken.get(at)));
        };
        let status = pair(known, a, b, &mut rules).map_err(|what| format!("{what}:\n- {a:?}\n+ {b:?}"))?;
        recounts.push((last[a.name.as_str()], status));
    }
    Ok((rules, recounts))
}

/// Compares two visits of an instance. Returns its state in our counts.
fn pair(known: &Knowledge, a: &Visit, b: &Visit, rules: &mut Rules) -> Result<&'static str, String> {
    if a.name != b.name {
        return Err("another instance".to_owned());
    }
    let tags = known.tags.get(&a.name).map_or(&[][..], Vec::as_slice);
    let executes = a.head.starts_with("Executing ");
    let name = &a.name;
    // The damage is still there after a repair that ended well a short while ago, so repeating it would not help.
    if executes && b.head.starts_with(&format!("Moving {name} from \"Healthy\" to \"Failure\": ")) {
        let ended = |tag: &String| {
            let failed = tag.replace(&format!(":{FUTURE}:success:"), ":0:failure:");
            failed != *tag && b.added.as_ref() == Some(&masked(&failed, tags))
        };
        rules.insert(Rule::RepairInVain);
        return if tags.iter().any(ended) { Ok("Failure") } else { Err("not in vain".to_owned()) };
    }
    // Our repair begins only if there is room for the instance; the reference lets the job find out.
    if executes && b.head.starts_with(&format!("Not repairing {name} because no node has room for it")) {
        rules.insert(Rule::RepairNoRoom);
        let silent = b.added.is_none() && b.removed.is_empty() && b.opcodes.is_empty();
        return if silent && known.lacks_places(name) {
            Ok("Needs repair")
        } else {
            Err("there is room".to_owned())
        };
    }
    // A repair without jobs was announced and never begun. For the reference, all of its jobs have ended well.
    if a.head == format!("Moving {name} from \"Pending repair\" to \"Healthy\"")
        && b.head == format!("{}: it was announced, and never begun", a.head)
    {
        rules.insert(Rule::RepairNeverBegun);
        let goes = |tag: &String| tag.contains(":pending:") && tag.ends_with(':');
        return match b.added.is_none() && b.removed.iter().any(goes) {
            true if known.is_damaged(name) => Ok("Needs repair"),
            true => Ok("Healthy"),
            false => Err("its tag stays".to_owned()),
        };
    }
    if a.head != b.head {
        return Err("what is done".to_owned());
    }
    // A missing permission is recorded once; the reference records it every time.
    if a.added != b.added {
        let noted = |tag: &String| tag.contains(":result:") && tag.ends_with(":enoperm:");
        if a.status() != "Needs repair" || b.added.is_some() || !tags.iter().any(noted) {
            return Err("tag".to_owned());
        }
        rules.insert(Rule::RepairNotedOnce);
        are_outdated(known, b, &b.removed)?;
    } else if a.removed != b.removed {
        // Our tool also removes tags of the same repair that another one has replaced.
        if !a.removed.is_subset(&b.removed) {
            return Err("tags that go".to_owned());
        }
        are_outdated(known, b, &(&b.removed - &a.removed))?;
        rules.insert(Rule::RepairOldTags);
    }
    opcodes::compare(known, name, &a.opcodes, &b.opcodes, rules)?;
    Ok(a.status())
}

/// Tells if tags were outdated: the instance has them, and another tag of a repair.
fn are_outdated(known: &Knowledge, visit: &Visit, gone: &BTreeSet<String>) -> Result<(), String> {
    let had = known.tags.get(&visit.name).map_or(&[][..], Vec::as_slice);
    let of_repairs = had.iter().filter(|tag| tag.contains(":pending:") || tag.contains(":result:")).count();
    match gone.iter().all(|tag| had.contains(tag)) && (gone.len() < of_repairs || visit.added.is_some()) {
        true => Ok(()),
        false => Err(format!("tags that are not outdated go: {gone:?} of {had:?}")),
    }
}

/// Compares the numbers of instances by state, except for those that only ours knows about.
fn counted(
    theirs: Option<BTreeMap<String, i64>>,
    ours: Option<BTreeMap<String, i64>>,
    recounts: &[Recount],
    left_out: i64,
) -> Result<(), String> {
    let (Some(theirs), Some(ours)) = (&theirs, &ours) else {
        return if theirs == ours { Ok(()) } else { Err(format!("counts: {theirs:?}, ours {ours:?}")) };
    };
    let mut expected = theirs.clone();
    for (before, now) in recounts {
        *expected.entry((*before).to_owned()).or_default() -= 1;
        *expected.entry((*now).to_owned()).or_default() += 1;
    }
    let more = |status: &String| ours.get(status).unwrap_or(&0) - expected.get(status).unwrap_or(&0);
    let all: BTreeSet<&String> = expected.keys().chain(ours.keys()).collect();
    let same =
        all.iter().all(|status| more(status) >= 0) && all.into_iter().map(more).sum::<i64>() == left_out;
    if same { Ok(()) } else { Err(format!("counts: {expected:?}, ours {ours:?}")) }
}

/// Instances for which our tool reports a problem.
fn problems(output: &Output) -> BTreeSet<String> {
    let text = String::from_utf8_lossy(&output.stderr);
    let name = |line: &str| {
        let (_, rest) = line.strip_prefix("Error: ")?.split_once("instance ")?;
        Some(rest.split_once(':')?.0.to_owned())
    };
    text.lines().filter_map(name).collect()
}

/// Compares the reference's answer for a cluster without problems with ours for the one with problems, which affect
/// only single instances. The reference would stop at the first problem.
fn but_for_problems(
    known: &Knowledge,
    (mut a, theirs): (Answer, &Output),
    (mut b, ours): (Answer, &Output),
) -> Result<Rules, String> {
    let problems = problems(ours);
    let status = Some(i32::from(!problems.is_empty()));
    if theirs.status != Some(0) || ours.status != status {
        return Err(format!("exit status: {:?}, ours {:?}", theirs.status, ours.status));
    }
    let contradictory = known.contradictory();
    let may: Vec<String> = [known.names("refused"), known.names("failing"), contradictory.clone()]
        .into_iter()
        .flatten()
        .collect();
    let wrong = problems.iter().all(|name| may.contains(name));
    if !wrong || !contradictory.iter().all(|name| problems.contains(name)) {
        return Err(format!("problems with {problems:?}, not with {may:?}"));
    }
    let mut left_out = Vec::new();
    for name in &problems {
        let last = a.visits.iter().rfind(|visit| visit.name == *name);
        // Without output, it is suspended in the restated case, or has a repair under way with old tags that cannot
        // be removed.
        let silent = if contradictory.contains(name) { "Healthy" } else { "Pending repair" };
        left_out.push(last.map_or(silent, Visit::status).to_owned());
    }
    a.visits.retain(|visit| !problems.contains(&visit.name));
    b.visits.retain(|visit| !problems.contains(&visit.name));
    let (rules, recounts) = paired(known, &a.visits, &b.visits)?;
    if let Some(counts) = &mut a.counts {
        left_out.into_iter().for_each(|status| *counts.entry(status).or_default() -= 1);
    }
    counted(a.counts, b.counts, &recounts, problems.len() as i64).map(|()| rules)
}
