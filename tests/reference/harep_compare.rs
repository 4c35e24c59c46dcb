//! Compares what the two sides said about instances and did to them.
//!
//! Two things are never compared, as no two runs have them in common, also of the reference: times and IDs of repairs that
//! begin ([`super::harep_answer::masked`]), and the words of errors. All else has to be the same, but for the rules
//! that are named here.

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

/// The feature of a case in which nothing is changed.
const ON_TRIAL: &str = "repairs on trial";

/// What is said, and what differs by rule.
type Rules = BTreeSet<Rule>;
/// What an instance counts as to the reference, and to ours.
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
        // not what runs say
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

/// Whether the reference, which gave up, had said the same until then: its last words are about what went wrong.
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

/// Both answers with the repairs that were submitted, and ready to be compared.
fn sides(case: &Case, sides: [(Answer, &Path); 2]) -> Result<[Answer; 2], String> {
    let sides = sides.map(|(answer, directory)| side(case, answer, directory));
    let [a, b] = sides;
    Ok([a?, b?])
}

fn side(case: &Case, mut answer: Answer, directory: &Path) -> Result<Answer, String> {
    let read =
        |name: &str| fs::read_to_string(directory.join(name)).map_err(|error| format!("{name}: {error}"));
    // in other words, the reference has another master
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

/// Compares what is said, visit by visit. Gives the rules by which it differs, and what instances count as to both.
fn paired(known: &Knowledge, theirs: &[Visit], ours: &[Visit]) -> Result<(Rules, Vec<Recount>), String> {
    let mut rules = Rules::new();
    let mut last: BTreeMap<&str, &'static str> = BTreeMap::new();
    let mut first: Vec<&Visit> = Vec::new();
    for visit in theirs {
        match last.insert(&visit.name, visit.status()) {
            None => first.push(visit),
            // a repair that has just ended is seen by the next run, which knows what it has mended; the reference
            // begins the same again on the strength of what was so before
            Some(_) => drop(rules.insert(Rule::RepairWaits)),
        }
    }
    let (spoken, silent): (Vec<&Visit>, Vec<&Visit>) = ours.iter().partition(|visit| !visit.head.is_empty());
    for visit in silent {
        // an instance for which nothing is done otherwise
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

/// Compares what is said of an instance. Gives what it counts as to ours.
fn pair(known: &Knowledge, a: &Visit, b: &Visit, rules: &mut Rules) -> Result<&'static str, String> {
    if a.name != b.name {
        return Err("another instance".to_owned());
    }
    let tags = known.tags.get(&a.name).map_or(&[][..], Vec::as_slice);
    let executes = a.head.starts_with("Executing ");
    let name = &a.name;
    // the damage is there still after a repair that ended well a short while ago: the same again would not mend it
    if executes && b.head.starts_with(&format!("Moving {name} from \"Healthy\" to \"Failure\": ")) {
        let ended = |tag: &String| {
            let failed = tag.replace(&format!(":{FUTURE}:success:"), ":0:failure:");
            failed != *tag && b.added.as_ref() == Some(&masked(&failed, tags))
        };
        rules.insert(Rule::RepairInVain);
        return if tags.iter().any(ended) { Ok("Failure") } else { Err("not in vain".to_owned()) };
    }
    // a repair begins where there is room for the instance; the reference lets the job find that out
    if executes && b.head.starts_with(&format!("Not repairing {name} because no node has room for it")) {
        rules.insert(Rule::RepairNoRoom);
        let silent = b.added.is_none() && b.removed.is_empty() && b.opcodes.is_empty();
        return if silent && known.lacks_places(name) {
            Ok("Needs repair")
        } else {
            Err("there is room".to_owned())
        };
    }
    // without jobs, a repair was announced and never begun; to the reference all of none have ended well
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
    // that a repair is not permitted is noted once; the reference writes it anew every time
    if a.added != b.added {
        let noted = |tag: &String| tag.contains(":result:") && tag.ends_with(":enoperm:");
        if a.status() != "Needs repair" || b.added.is_some() || !tags.iter().any(noted) {
            return Err("tag".to_owned());
        }
        rules.insert(Rule::RepairNotedOnce);
        are_outdated(known, b, &b.removed)?;
    } else if a.removed != b.removed {
        // those of the same repair that another one has replaced go, too
        if !a.removed.is_subset(&b.removed) {
            return Err("tags that go".to_owned());
        }
        are_outdated(known, b, &(&b.removed - &a.removed))?;
        rules.insert(Rule::RepairOldTags);
    }
    opcodes::compare(known, name, &a.opcodes, &b.opcodes, rules)?;
    Ok(a.status())
}

/// Whether tags told nothing any more: an instance has them, and another one of a repair.
fn are_outdated(known: &Knowledge, visit: &Visit, gone: &BTreeSet<String>) -> Result<(), String> {
    let had = known.tags.get(&visit.name).map_or(&[][..], Vec::as_slice);
    let of_repairs = had.iter().filter(|tag| tag.contains(":pending:") || tag.contains(":result:")).count();
    match gone.iter().all(|tag| had.contains(tag)) && (gone.len() < of_repairs || visit.added.is_some()) {
        true => Ok(()),
        false => Err(format!("tags that are not outdated go: {gone:?} of {had:?}")),
    }
}

/// Compares how many instances are how, but for so many of which ours alone knows.
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

/// Instances about which ours says that something went wrong.
fn problems(output: &Output) -> BTreeSet<String> {
    let text = String::from_utf8_lossy(&output.stderr);
    let name = |line: &str| {
        let (_, rest) = line.strip_prefix("Error: ")?.split_once("instance ")?;
        Some(rest.split_once(':')?.0.to_owned())
    };
    text.lines().filter_map(name).collect()
}

/// Compares the answer about the cluster in which nothing goes wrong with ours about the one where it does: that is about
/// single instances. The reference stops at the first.
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
        // without a word, it is suspended in the other words, or under way with old tags that cannot be removed
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
