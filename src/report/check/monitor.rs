//! The health of a cluster for Nagios, Icinga and similar systems (`--monitor`), in the form of the Monitoring Plugins'
//! guidelines: one line, a bar, and performance data. Remedies for each problem follow.

use super::CheckResult;
use crate::model::number::{counted, fixed};
use crate::model::shown::printable;
use crate::model::{Cluster, GroupIdx, InstanceIdx, Mib, NodeIdx};
use crate::plan::names::Name;
use crate::plan::shell::Command;
use crate::search::health::{GroupHealth, ProblemCounts, ProblemKind, Severities, Severity};

/// Maximum length of a line for people, in characters.
const LINE: usize = 400;
/// Maximum number of names in a line.
const NAMES: usize = 8;

pub(crate) fn lines(check: &CheckResult, cluster: &Cluster, severities: &Severities) -> Vec<String> {
    let counts = &check.initial.counts;
    let mut kinds: Vec<ProblemKind> =
        ProblemKind::ALL.iter().copied().filter(|kind| amount(counts, *kind) > 0).collect();
    // The most severe first, otherwise in the order of the kinds.
    kinds.sort_by_key(|kind| std::cmp::Reverse(severities.of(*kind)));
    let problems: Vec<String> = kinds.iter().map(|kind| summary(*kind, amount(counts, *kind))).collect();
    let text = match problems.is_empty() {
        true => {
            let instances = cluster.instances.iter().filter(|i| !i.forthcoming).count();
            let nodes = counted(cluster.nodes.len(), "node");
            format!("nothing is wrong with {nodes} and {}", counted(instances, "instance"))
        }
        false => problems.join(", "),
    };
    let mut lines = vec![format!(
        "{} | {}",
        status_line(severities.worst(counts).as_str(), &text),
        performance(check, cluster, severities).join(" ")
    )];
    for (kind, problem) in kinds.iter().zip(problems) {
        let names = names(check, cluster, *kind);
        let severity = severities.of(*kind).as_str().to_uppercase();
        lines.push(shown(&format!("{severity}: {problem}: {}", first_of(&names))));
        lines.extend(remedy(check, cluster, *kind).iter().map(|line| shown(&format!("  {line}"))));
    }
    if let Some(stopped) = check.stopped {
        lines.push(shown(&format!("{} ended the balancing on trial", stopped.subject())));
    }
    lines
}

/// The lines that report why the state is unknown.
pub(crate) fn unknown(why: &str) -> Vec<String> {
    let mut rest = why.lines().map(|line| line.trim_start_matches("Error: ")).filter(|line| !line.is_empty());
    let first = rest.next().unwrap_or("no reason is known");
    let mut lines = vec![status_line("unknown", first)];
    lines.extend(rest.map(shown));
    lines
}

/// Warnings of a source, one line each.
pub(crate) fn remarks(text: &str) -> Vec<String> {
    text.lines().map(shown).collect()
}

/// The first line: the severity and a text.
pub(in crate::report) fn status_line(severity: &str, text: &str) -> String {
    shown(&format!("HTOOLS {} - {text}", severity.to_uppercase()))
}

/// A text as one line without a bar, which would begin performance data, whatever names are in it.
fn shown(text: &str) -> String {
    printable(text, LINE).replace('|', r"\u{7c}")
}

fn amount(counts: &ProblemCounts, kind: ProblemKind) -> usize {
    counts.of(kind).unwrap_or(0)
}

fn summary(kind: ProblemKind, count: usize) -> String {
    let one = count == 1;
    match kind {
        ProblemKind::OfflinePrimary => format!("{} down on offline nodes", counted(count, "instance")),
        ProblemKind::OfflineSecondary => format!("{} without a mirror", counted(count, "instance")),
        ProblemKind::N1Failing => {
            format!("{} {} N+1", counted(count, "node"), if one { "fails" } else { "fail" })
        }
        ProblemKind::NotExpendable => format!("{} could not be emptied", counted(count, "node")),
        ProblemKind::Conflicting => format!("{} with conflicting instances", counted(count, "node")),
    }
}

fn names<'c>(check: &CheckResult, cluster: &'c Cluster, kind: ProblemKind) -> Vec<&'c str> {
    let node = |n: &NodeIdx| cluster.node(*n).spec.name.as_str();
    let instance = |i: &InstanceIdx| cluster.instance(*i).name.as_str();
    let of_group = |group: &GroupHealth| -> Vec<&'c str> {
        match kind {
            ProblemKind::OfflinePrimary => group.offline_primary.iter().map(instance).collect(),
            ProblemKind::OfflineSecondary => group.offline_secondary.iter().map(instance).collect(),
            ProblemKind::N1Failing => group.n1_failing.iter().map(node).collect(),
            ProblemKind::NotExpendable => group.at_risk.iter().flatten().map(node).collect(),
            ProblemKind::Conflicting => group.conflicting.iter().map(node).collect(),
        }
    };
    check.initial.groups.iter().flat_map(of_group).collect()
}

fn first_of(names: &[&str]) -> String {
    let shown = names.iter().take(NAMES).map(|name| printable(name, 60)).collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(NAMES) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// Remedy for problems of a kind: the commands to run on the master.
fn remedy(check: &CheckResult, cluster: &Cluster, kind: ProblemKind) -> Vec<String> {
    let mut lines = Vec::new();
    let several = if check.initial.groups.len() > 1 { " --all-groups" } else { "" };
    // Problems that arise only when a node is lost are not mended by --repair-only.
    let only = if kind == ProblemKind::NotExpendable { "" } else { " --repair-only" };
    let mend = format!("hbal -L -X{only}{several}");
    let left = check.rebalanced.as_ref().map(|after| amount(&after.counts, kind));
    lines.push(match left {
        Some(0) => format!("run: {mend} (balancing on trial ended it)"),
        Some(left) => {
            format!("run: {mend} (balancing on trial left {left}; hcheck -L --list-problems tells which)")
        }
        None => format!("run: {mend}"),
    });
    let groups = || check.initial.groups.iter();
    let further = match kind {
        ProblemKind::OfflinePrimary => groups()
            .find_map(|g| g.offline_primary.first())
            .and_then(|i| Name::node(cluster, cluster.instance(*i).primary).ok())
            .map(|node| Command::new(&["gnt-node", "modify", "--offline=no"]).operand(&node))
            .map(|command| format!("or bring the node back, then: {command}")),
        ProblemKind::NotExpendable => groups()
            .flat_map(|g| g.at_risk.iter().flatten())
            .find_map(|n| {
                Some(Command::new(&["hcheck", "-L"]).option("--without-node", &Name::node(cluster, *n).ok()?))
            })
            .map(|command| format!("what is in the way: {command}")),
        _ => None,
    };
    lines.extend(further);
    lines
}

/// The performance data: counts with their acceptable range, totals, and the score of each group.
fn performance(check: &CheckResult, cluster: &Cluster, severities: &Severities) -> Vec<String> {
    let counts = &check.initial.counts;
    let mut data: Vec<String> = ProblemKind::ALL
        .iter()
        .filter_map(|kind| {
            let range = match severities.of(*kind) {
                Severity::Ok => ";;",
                Severity::Warning => ";0;",
                Severity::Critical => ";;0",
            };
            Some(format!("{}={}{range};0", kind.as_str(), counts.of(*kind)?))
        })
        .collect();
    if check.rebalanced.is_some() {
        data.push(format!("steps={};;;0", check.step_counts().iter().sum::<usize>()));
    }
    let online = || cluster.nodes.iter().filter(|node| !node.spec.offline);
    let existing = cluster.instances.iter().filter(|i| !i.forthcoming).count();
    data.push(format!("nodes={};;;0", cluster.nodes.len()));
    data.push(format!("nodes_offline={};;;0", cluster.nodes.len() - online().count()));
    data.push(format!("instances={existing};;;0"));
    let bytes = |amount: Mib| i128::from(amount.0) * 1024 * 1024;
    let memory: i128 = online().map(|n| bytes(n.state.ledger.mem_unallocated(&n.spec))).sum();
    let disk: i128 = online().map(|n| bytes(n.state.ledger.disk_free)).sum();
    data.push(format!("memory_free={memory}B"));
    data.push(format!("disk_free={disk}B"));
    data.extend(check.initial.groups.iter().map(|group| {
        // U means unknown.
        let score = if group.score.is_finite() { fixed(group.score, 8) } else { "U".to_owned() };
        format!("{}={score};;;0", label(cluster, group.group))
    }));
    data
}

/// The label of a group's score, in apostrophes. Apostrophes inside are doubled, and equals signs are not allowed.
fn label(cluster: &Cluster, group: GroupIdx) -> String {
    let name = shown(&cluster.group(group).name).replace('=', r"\u{3d}").replace('\'', "''");
    format!("'score {name}'")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::check::Snapshot;
    use crate::search::health::GroupHealth;
    use htools_testkit::cluster;

    fn checked(cluster: &Cluster) -> CheckResult {
        let health =
            cluster.groups_with_nodes().into_iter().map(|g| GroupHealth::of(cluster, g, true)).collect();
        CheckResult {
            initial: Snapshot::of(health, true),
            rebalanced: None,
            steps: Vec::new(),
            stopped: None,
            without_simulation: true,
            idle_tags: Vec::new(),
            unmet_keys: Vec::new(),
        }
    }

    #[test]
    fn names_break_nothing() {
        let mut cluster = cluster(
            &["a|4000|0|2000|9000|8000|9|M|u", "b|4000|0|4000|9000|8000|9|Y|u"],
            &["i|1000|1000|1|running|Y|b|a|drbd|", "j|1000|1000|1|running|Y|a|b|drbd|"],
            &[],
        );
        cluster.groups[0].name = "it's|=\n1".to_owned();
        cluster.instances[0].details_mut().name = "x|y=1\u{1b}[2J\nOK".to_owned();
        cluster.nodes[1].spec.name = "b; reboot".to_owned();
        let lines = lines(&checked(&cluster), &cluster, &Severities::default());
        let (text, data) = lines[0].split_once(" | ").unwrap();
        assert!(text.starts_with("HTOOLS CRITICAL - 1 instance down on offline nodes, "), "{text}");
        assert!(data.contains(r"'score it''s\u{7c}\u{3d}\n1'="), "{data}");
        assert!(lines[1..].iter().all(|line| !line.contains(['|', '\n', '\u{1b}'])), "{lines:?}");
        assert!(lines.iter().any(|line| line.contains(r"x\u{7c}y=1\u{1b}[2J\nOK")), "{lines:?}");
        // There is no command with a name that is not valid in Ganeti.
        assert!(!lines.iter().any(|line| line.contains("reboot")), "{lines:?}");
    }

    #[test]
    fn an_error_of_several_lines_begins_with_the_status() {
        let lines = unknown("Error: no | such\nError: Aborting.\n");
        assert_eq!(lines, [r"HTOOLS UNKNOWN - no \u{7c} such", "Aborting."]);
        assert_eq!(unknown(""), ["HTOOLS UNKNOWN - no reason is known"]);
    }
}
