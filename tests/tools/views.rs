//! The views of a plan agree: commands and the printed plan have the same actions, in compatible orders.

use std::collections::HashMap;
use std::fs;
use std::process::Command;

use htools::load::text::writer::whole_cluster_text;

use crate::common::clusters::{Dice, Recipe, Style, cases};

/// An action and its object.
type Action = (&'static str, String);

/// A step of a printed plan, with the numbers of the steps that it waits for.
struct PrintedStep {
    action: Action,
    before: Vec<usize>,
}

/// The last word of a command, without quotes.
fn last(command: &str) -> String {
    command.rsplit(' ').next().unwrap_or_default().trim_matches('\'').to_owned()
}

/// The action of a command; none if the line is not a command.
fn action(line: &str) -> Option<Action> {
    let words: Vec<&str> = line.split(' ').collect();
    let done = match words[..] {
        ["gnt-instance", "migrate" | "failover" | "move" | "replace-disks", ..] => ("move", last(line)),
        ["gnt-instance", "shutdown", ..] => ("stop", last(line)),
        ["gnt-instance", "startup", ..] => ("start", last(line)),
        ["gnt-instance", "activate-disks", "--wait-for-sync", ..] => ("resync", last(line)),
        ["gnt-node", "modify", .., "--drained=yes", _] => ("drain", last(line)),
        ["gnt-node", "modify", .., "--offline=yes", _] => ("set offline", last(line)),
        ["gnt-node", "modify", .., "--offline=no", _] => ("set online", last(line)),
        ["gnt-node", "add-tags", node, ..] => ("tag", node.to_owned()),
        ["gnt-node", "remove-tags", node, ..] => ("untag", node.to_owned()),
        ["gnt-node", "power", "-f", "cycle", node] => ("reboot", node.to_owned()),
        ["gnt-node", "power", "-f", "off", node] => ("power off", node.to_owned()),
        ["gnt-node", "power", "-f", "on", node] => ("power on", node.to_owned()),
        ["until", "ssh", .., node, "true;", "do", "sleep", "10;", "done"] => ("wait", node.to_owned()),
        [node, "is", "the", "master", "node:", "reboot", "it", "by", "hand" | "hand,", ..] => {
            ("by hand", node.to_owned())
        }
        _ => {
            let node = line.strip_prefix("test \"$(gnt-node list ")?.split_once(")\" = 0:0 || ")?.0;
            ("check", last(node))
        }
    };
    Some(done)
}

/// The actions of commands in order. Consecutive commands for an instance are one action.
fn commanded(lines: &[&str]) -> Vec<Action> {
    let mut actions: Vec<Action> = Vec::new();
    let mut goes_on = false;
    for line in lines {
        let Some(action) = action(line.trim_start_matches(['#', ' '])) else {
            goes_on = false;
            continue;
        };
        if !(goes_on && action.0 == "move" && actions.last() == Some(&action)) {
            actions.push(action);
        }
        goes_on = true;
    }
    actions
}

/// The action in a line of a printed plan.
fn planned(text: &str) -> Action {
    if let Some(node) =
        text.strip_prefix("reboot ").and_then(|it| it.strip_suffix(", the master node, by hand"))
    {
        return ("by hand", node.to_owned());
    }
    let words = [
        ("resync the disks of ", "resync"),
        ("make sure that nothing is on ", "check"),
        ("set offline ", "set offline"),
        ("set online ", "set online"),
        ("power off ", "power off"),
        ("power on ", "power on"),
        ("wait for ", "wait"),
        ("reboot ", "reboot"),
        ("drain ", "drain"),
        ("untag ", "untag"),
        ("tag ", "tag"),
        ("stop ", "stop"),
        ("start ", "start"),
    ];
    let found = words.iter().find_map(|(start, kind)| Some((*kind, text.strip_prefix(start)?.to_owned())));
    found.unwrap_or_else(|| ("move", text.split(' ').next().unwrap().to_owned()))
}

/// The steps of a printed plan.
fn steps(plan: &str) -> Vec<PrintedStep> {
    let mut steps: Vec<PrintedStep> = Vec::new();
    for line in plan.lines().skip(1).take_while(|line| line.starts_with(' ')) {
        let line = line.trim_start();
        if let Some(waits) = line.strip_prefix("waits for ") {
            let number: usize = waits.split(':').next().unwrap().parse().unwrap();
            steps.last_mut().unwrap().before.push(number - 1);
        } else {
            let (_, step) = line.split_once(". ").unwrap();
            let (text, _) = step.rsplit_once(", ").unwrap();
            steps.push(PrintedStep { action: planned(text), before: Vec::new() });
        }
    }
    steps
}

/// Positions of actions, by action, in order.
fn positions(actions: &[Action]) -> HashMap<&Action, Vec<usize>> {
    let mut found: HashMap<&Action, Vec<usize>> = HashMap::new();
    actions.iter().enumerate().for_each(|(at, action)| found.entry(action).or_default().push(at));
    found
}

fn run(words: &[&str]) -> Option<String> {
    let output = Command::new(env!("CARGO_BIN_EXE_htools")).args(words).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() || said.starts_with("Error: ") || said.contains("\nError: "), "{said}");
    output.status.success().then(|| String::from_utf8(output.stdout).unwrap())
}

/// Compares both views of a plan, and returns the actions.
fn agree(words: &[&str], heading: &str) -> Option<Vec<Action>> {
    let text = run(&[words, &["-C", "--print-plan=text"]].concat())?;
    let (_, text) = text.split_once(heading).unwrap_or_else(|| panic!("{words:?}\n{text}"));
    let at = text.find("Plan of ").unwrap_or_else(|| panic!("{words:?}\n{text}"));
    let (commands, plan) = text.split_at(at);
    let lines: Vec<&str> = commands.lines().map(str::trim_start).collect();
    let actions = commanded(&lines);
    let steps = steps(plan);
    // A node is checked once more directly before it loses its power.
    let is_look = |at: usize| {
        let off = |node: &String| actions.get(at + 1) == Some(&("power off", node.clone()));
        actions[at].0 == "check" && off(&actions[at].1)
    };
    let looks = (0..actions.len()).filter(|at| is_look(*at)).count();
    assert_eq!(looks, steps.iter().filter(|step| step.action.0 == "power off").count(), "{text}");
    let kept: Vec<Action> =
        (0..actions.len()).filter(|at| !is_look(*at)).map(|at| actions[at].clone()).collect();
    let wanted: Vec<Action> = steps.iter().map(|step| step.action.clone()).collect();
    let (there, wanted_at) = (positions(&kept), positions(&wanted));
    let mut place = vec![0; steps.len()];
    for (action, numbers) in &wanted_at {
        let found = there.get(action).map_or(&[][..], Vec::as_slice);
        assert_eq!(found.len(), numbers.len(), "{action:?}\n{text}");
        numbers.iter().zip(found).for_each(|(number, at)| place[*number] = *at);
    }
    assert_eq!(kept.len(), wanted.len(), "{text}");
    for (number, step) in steps.iter().enumerate() {
        assert!(step.before.iter().all(|before| place[*before] < place[number]), "step {number}\n{text}");
    }
    // Documents contain the same commands.
    let document: serde_json::Value =
        serde_json::from_str(&run(&[words, &["--json"]].concat()).unwrap()).unwrap();
    let quoted = document["groups"].as_array().unwrap().iter().flat_map(|group| {
        group["commands"].as_array().unwrap().iter().map(|line| line.as_str().unwrap().to_owned())
    });
    let printed = lines.iter().filter(|line| !line.is_empty() && !line.starts_with("echo "));
    assert!(printed.map(|line| (*line).to_owned()).eq(quoted), "{words:?}");
    Some(kept)
}

/// Plans random clusters, each with some of the options. Counts the plans that contain each kind of action.
fn survey(
    (tool, always): (&str, &[[&'static str; 2]]),
    heading: &str,
    options: &[&'static str],
) -> HashMap<&'static str, usize> {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("c.data");
    let path = path.to_str().unwrap();
    let mut seen: HashMap<&str, usize> = HashMap::new();
    for seed in 0..u64::from(cases(60).cases) {
        let mut dice = Dice::new(seed);
        let style = dice.of(&[Style::Mixed, Style::Symmetric, Style::Symmetric]);
        let (nodes, instances) = (3 + dice.below(6), dice.below(16));
        let mut cluster = Recipe { style, nodes, instances, seed }.cluster();
        cluster.nodes[0].spec.master = true;
        for node in cluster.nodes.iter_mut().skip(1) {
            let is_empty = node.state.primaries.is_empty() && node.state.secondaries.is_empty();
            node.spec.offline |= is_empty && dice.chance(60);
            node.spec.tags.extend(node.spec.offline.then(|| "htools:standby:auto".to_owned()));
        }
        fs::write(path, whole_cluster_text(&cluster)).unwrap();
        let chosen: Vec<&str> = options.iter().copied().filter(|_| dice.chance(40)).collect();
        let pair = dice.of(always);
        let words = [&[tool, "-t", path, "-q", "-q"], &pair[..], &chosen[..]].concat();
        for (kind, _) in agree(&words, heading).into_iter().flatten() {
            *seen.entry(kind).or_default() += 1;
        }
    }
    seen
}

#[test]
fn reboots_are_the_same_in_all_views() {
    let options =
        ["--offline-maintenance", "--full-evacuation", "--ignore-non-redundant", "--migrate-shared"];
    let seen = survey(("hroller", &[["-f", "-f"]]), "Commands to run for this maintenance:", &options);
    for kind in ["move", "stop", "start", "resync", "reboot", "wait", "by hand"] {
        assert!(seen.get(kind).is_some_and(|count| *count > 10), "{kind}: {seen:?}");
    }
}

#[test]
fn switched_nodes_are_the_same_in_all_views() {
    let reserves = [
        ["--minimal-resources=0", "--target-resources=0.5"],
        ["--minimal-resources=500", "--target-resources=500"],
    ];
    let options = ["--no-capacity-checks", "--ignore-soft-errors", "--drbd"];
    let seen = survey(("hsqueeze", &reserves), "Commands to run:", &options);
    let down = ["drain", "move", "check", "tag", "set offline", "power off"];
    for kind in down.into_iter().chain(["power on", "wait", "set online", "untag"]) {
        assert!(seen.get(kind).is_some_and(|count| *count > 5), "{kind}: {seen:?}");
    }
}
