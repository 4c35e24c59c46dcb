//! Explanations (`hbal --explain`) as text.

use super::components::score;
use super::table::{Align, Table};
use crate::model::{Cluster, Immobile, NodeIdx, Placement, Rule};
use crate::plan::command::notation;
use crate::search::explain::{ExplainedMove, Explanation, InstanceOutlook, PassedOver};
use crate::search::shortfall::Shortfall;

/// Why an instance is passed over.
pub fn hold_text(hold: PassedOver) -> &'static str {
    match hold {
        PassedOver::Immobile(Immobile::Template) => "its disk template ties it to its node",
        PassedOver::Immobile(Immobile::Excluded) => "it is excluded (--exclude-instances)",
        PassedOver::Immobile(Immobile::NotSelected) => "it is not selected (--select-instances)",
        PassedOver::Immobile(Immobile::Split) => "its two nodes are in different groups",
        PassedOver::Immobile(Immobile::NoSecondary) => "it is a DRBD instance without a secondary node",
        PassedOver::NotAutoBalanced => "its auto_balance flag is off",
        PassedOver::NothingToEvacuate => "none of its nodes is offline (-E)",
    }
}

/// Why an instance is passed over, in one word.
pub fn hold_name(hold: PassedOver) -> &'static str {
    match hold {
        PassedOver::Immobile(Immobile::Template) => "disk-template",
        PassedOver::Immobile(Immobile::Excluded) => "excluded",
        PassedOver::Immobile(Immobile::NotSelected) => "not-selected",
        PassedOver::Immobile(Immobile::Split) => "split",
        PassedOver::Immobile(Immobile::NoSecondary) => "no-secondary",
        PassedOver::NotAutoBalanced => "not-auto-balanced",
        PassedOver::NothingToEvacuate => "nothing-to-evacuate",
    }
}

/// A rule, in one word.
pub fn rule_name(rule: Rule) -> &'static str {
    match rule {
        Rule::Memory => "memory",
        Rule::Disk => "disk",
        Rule::DiskReserve => "min-disk",
        Rule::Spindles => "spindles",
        Rule::SpindleRatio => "spindle-ratio",
        Rule::Redundancy => "n+1",
        Rule::CpuRatio => "vcpu-ratio",
        Rule::ExclusionTag => "exclusion-tag",
        Rule::MemoryForFailover => "failover-memory",
        Rule::PlannedMemory => "planned-memory",
        Rule::PlannedDisk => "planned-disk",
        Rule::PlannedDiskReserve => "planned-min-disk",
        Rule::PlannedSpindles => "planned-spindles",
        Rule::PlannedSpindleRatio => "planned-spindle-ratio",
        Rule::PlannedCpuRatio => "planned-vcpu-ratio",
        Rule::NotMirrored => "not-mirrored",
        Rule::MigrationTags => "migration-tags",
    }
}

/// An outlook, in one word.
pub fn outlook_name(outlook: &InstanceOutlook) -> &'static str {
    match outlook {
        InstanceOutlook::Next => "next",
        InstanceOutlook::OtherFirst(_) => "other-first",
        InstanceOutlook::GainTooSmall => "gain-too-small",
        InstanceOutlook::NoImprovement => "no-improvement",
        InstanceOutlook::NothingPossible => "nothing-possible",
        InstanceOutlook::Balanced => "balanced",
        InstanceOutlook::Held => "held",
    }
}

/// What was missing.
pub fn shortfall_text(shortfall: &Shortfall) -> String {
    match shortfall {
        Shortfall::Amount { resource, unit, needed, available } => {
            let missing = shortfall.missing().unwrap_or_default();
            format!("{resource}: {needed} {unit} needed, {available} there, {missing} missing")
        }
        Shortfall::Tags(tags) => format!("exclusion tags already there: {}", tags.join(", ")),
        Shortfall::Migration(tags) => format!("migration tags not received there: {}", tags.join(", ")),
        Shortfall::NoSecondary => "the instance has no secondary node".to_owned(),
        Shortfall::Range { resource, unit, found, accepted: (min, max) } => {
            let found = found.map_or_else(|| "unknown".to_owned(), |n| n.to_string());
            format!("{resource}: {found}, accepted are {min} to {max} {unit}")
        }
        Shortfall::Template(template) => format!("disk template {template} is not accepted"),
    }
}

/// The explanation of one instance: what it is, its moves as a table, and what
/// becomes of it.
pub fn explanation(e: &Explanation, cluster: &Cluster, min_gain: f64, min_gain_limit: f64) -> Vec<String> {
    let i = cluster.instance(e.instance);
    let alias = |n: NodeIdx| cluster.node(n).spec.alias().to_owned();
    let nodes = |p: Placement| {
        let primary = alias(p.primary);
        p.secondary.map_or_else(|| primary.clone(), |s| format!("{primary}:{}", alias(s)))
    };
    let here = nodes(Placement { primary: i.primary, secondary: i.secondary });
    let mut lines = vec![format!(
        "Instance {} ({}, {} MiB memory, {} MiB disk, {} vcpus) is on {here}.",
        i.name, i.template, i.mem.0, i.disk.0, i.vcpus
    )];
    lines.extend(e.holds.iter().map(|h| format!("It is not moved: {}.", hold_text(*h))));
    if !e.moves.is_empty() {
        let columns = [
            ("Move", Align::Left),
            ("Nodes", Align::Left),
            ("Score", Align::Right),
            ("Gain", Align::Right),
            ("Forbidden by", Align::Left),
        ];
        let mut table = Table::new(columns);
        for (at, m) in e.moves.iter().enumerate() {
            let best = if e.best == Some(at) { "best of these" } else { "" };
            let (after, gain, reason) = match &m.verdict {
                ExplainedMove::Possible(s) => (score(*s), score(e.score - s), best.to_owned()),
                ExplainedMove::TargetOffline => ("-".into(), "-".into(), "the new node is offline".into()),
                ExplainedMove::Refused(r, s) => {
                    ("-".into(), "-".into(), format!("{}: {}", alias(r.node), shortfall_text(s)))
                }
            };
            table.push(vec![notation(cluster, m.mv), nodes(m.to), after, gain, reason]);
        }
        lines.extend(table.lines(" ").iter().map(|line| line.trim_end().to_owned()));
    }
    lines.push(outlook_text(e, cluster, min_gain, min_gain_limit));
    lines
}

fn outlook_text(e: &Explanation, cluster: &Cluster, min_gain: f64, min_gain_limit: f64) -> String {
    let best = e.best.map(|b| notation(cluster, e.moves[b].mv)).unwrap_or_default();
    match &e.outlook {
        InstanceOutlook::Next => format!("Its move {best} is the next step."),
        InstanceOutlook::OtherFirst(step) => {
            let other = cluster.instance(step.instance).alias();
            let mv = notation(cluster, step.mv);
            format!("The next step is a better one: {other} {mv}, to a score of {}.", score(step.score))
        }
        InstanceOutlook::GainTooSmall => format!(
            "The score is not above {min_gain_limit} (--min-gain-limit), and no move gains {min_gain} (--min-gain): \
             balancing ends."
        ),
        InstanceOutlook::NoImprovement => "No move of it would improve the score.".to_owned(),
        InstanceOutlook::NothingPossible if e.moves.is_empty() => "It has no moves.".to_owned(),
        InstanceOutlook::NothingPossible => "None of its moves is possible.".to_owned(),
        InstanceOutlook::Balanced => "The group is well balanced: nothing moves.".to_owned(),
        InstanceOutlook::Held => "It stays where it is.".to_owned(),
    }
}
