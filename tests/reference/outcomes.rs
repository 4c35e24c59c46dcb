//! Results of hail and hspace, in words to be counted. A suite that never sees a failing capacity check does not test
//! it.

use serde_json::Value;

use super::cases::{Case, Source};
use super::hail::{Asked, Place};
use super::run::Output;
use super::tools::Tool;

/// Everything worth counting in the reference's answer.
pub fn outcomes(case: &Case, output: &Output) -> Vec<String> {
    let names = match (&case.asked, case.tool) {
        (Some(asked), _) => of_hail(case, asked, output),
        (None, Tool::Hspace) => of_hspace(case, output),
        _ => Vec::new(),
    };
    names.into_iter().map(|name| format!("{}: {name}", case.tool.name())).collect()
}

fn of_hail(case: &Case, asked: &Asked, output: &Output) -> Vec<String> {
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let end = match answer["success"].as_bool() {
        Some(true) => "success",
        Some(false) => "failure",
        None if output.status == Some(1) && super::statistics::crashed(&output.stderr) => "internal error",
        None => "refused",
    };
    let kind = asked.kind();
    let mut names = vec![format!("{kind}, {end}")];
    let info = answer["info"].as_str().unwrap_or_default();
    let whole = answer.to_string();
    let parts = answer["result"].as_array();
    let part = |i: usize| parts.and_then(|parts| parts.get(i)?.as_array()).map_or(0, Vec::len);
    let moves = ["node-evacuate", "change-group", "multi-allocate"].contains(&kind);
    let holds = [
        (moves && end == "success" && part(0) > 0 && part(1) == 0, format!("{kind}, all of it")),
        (moves && part(0) > 0 && part(1) > 0, format!("{kind}, some of it")),
        (moves && part(0) == 0 && part(1) > 0, format!("{kind}, none of it")),
        (whole.contains("FailN1"), "capacity check drops targets".into()),
        (!asked.checked, "--no-capacity-checks".into()),
        (
            info.contains("score: ([") || asked.kind() == "multi-allocate" && whole.contains("(["),
            "dedicated".into(),
        ),
        (info.matches("Group ").count() > 1, "several groups tried".into()),
        (whole.contains("connected to a network"), "network missing".into()),
        (info.contains("FailMem"), "FailMem".into()),
        (info.contains("FailDisk:"), "FailDisk".into()),
        (info.contains("FailCPU"), "FailCPU".into()),
        (info.contains("FailTags"), "FailTags".into()),
        (info.contains("FailSpindles"), "FailSpindles".into()),
        (asked.group_name().is_some(), "with group_name".into()),
        (asked.damaged, "damaged request".into()),
        (asked.place == Place::Text, "-t".into()),
        (asked.place == Place::Foreign, "-t, with names of its own".into()),
        (asked.place == Place::Simulated, "--simulate".into()),
        (case.source == Source::Input, "standard input".into()),
        (case.facts.mistaken, "mistaken command line".into()),
    ];
    names.extend(holds.into_iter().filter(|(holds, _)| *holds).map(|(_, name)| name));
    names
}

fn of_hspace(case: &Case, output: &Output) -> Vec<String> {
    let stdout = String::from_utf8_lossy(&output.stdout);
    let machine = case.facts.machine_readable;
    let template = stdout
        .split_once(if machine { "SPEC_INI_DISK_TEMPLATE=" } else { "using disk template '" })
        .map_or("(no template)", |(_, rest)| rest.split(['\'', '\n']).next().unwrap_or_default());
    let count = stdout.lines().find_map(|line| {
        let line = line.trim();
        let number = match machine {
            true => line.strip_prefix("HTS_ALLOC_INSTANCES="),
            false => line.strip_suffix(" instances allocated")?.strip_prefix("-"),
        };
        number?.trim().parse::<u32>().ok()
    });
    let tiers = match machine {
        true => stdout.split_once("HTS_TSPEC=").map_or(0, |(_, rest)| {
            rest.lines().next().map_or(0, |line| line.split_whitespace().filter(|w| w.contains('=')).count())
        }),
        false => stdout.matches(" instances of spec ").count(),
    };
    let end = match (output.status, super::statistics::crashed(&output.stderr)) {
        (Some(0), _) => "complete",
        (_, true) => "internal error",
        _ if stdout.is_empty() => "refused",
        _ => "broken off",
    };
    let mut names = vec![format!("template {template}"), end.to_owned()];
    let stopped =
        (machine && stdout.contains("_CNT=1\nHTS_OK") && stdout.contains("ALLOC_FAIL_REASON=FAILN1\n"))
            || stdout.matches("no instances allocated\n  - most likely failure reason: FailN1").count() == 1
                && count == Some(0);
    let checked = stdout.lines().any(|line| {
        (line.starts_with("HTS_ALLOC_FAILN1_CNT=") && !line.ends_with("=0"))
            || line.ends_with("reason: FailN1")
    });
    let holds = [
        (machine, "--machine-readable"),
        (tiers > 1, "several tiers"),
        (count == Some(0), "nothing allocated"),
        (count.is_some_and(|count| count > 20), "more than 20 allocated"),
        (count.is_some_and(|count| count > 60), "more than 60 allocated"),
        (checked, "capacity check effective"),
        (stopped, "stopped, or nothing but FailN1"),
        (stdout.contains("SPN"), "spindles matter"),
        (String::from_utf8_lossy(&output.stderr).contains("\nBad groups:"), "bad groups shown"),
        (case.source == Source::Request, "-I"),
        (case.cluster.has("simulated"), "--simulate"),
        (case.facts.mistaken, "mistaken command line"),
    ];
    names.extend(holds.into_iter().filter(|(holds, _)| *holds).map(|(_, name)| name.to_owned()));
    names
}
