//! Explanations (`hbal --explain`) as text.

use crate::model::{Cluster, NodeIdx, Obstacle, Placement};
use crate::plan::command::notation;
use crate::report::balance::components::score;
use crate::report::form::table::{Align, Table};
use crate::report::why::words::{hold_words, obstacle_text};
use crate::search::balance::explain::{Explanation, InstanceOutlook};

/// An outlook, in one word.
pub(crate) fn outlook_name(outlook: &InstanceOutlook) -> &'static str {
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

/// The explanation of one instance: its state, its moves as a table, and the conclusion.
pub(crate) fn explanation(
    e: &Explanation,
    cluster: &Cluster,
    min_gain: f64,
    min_gain_limit: f64,
) -> Vec<String> {
    let i = cluster.instance(e.instance);
    let alias = |n: NodeIdx| cluster.node(n).spec.alias().to_owned();
    let nodes = |p: Placement| {
        let primary = alias(p.primary);
        p.secondary.map_or_else(|| primary.clone(), |s| format!("{primary}:{}", alias(s)))
    };
    let here = nodes(i.placement());
    let mut lines = vec![format!(
        "Instance {} ({}, {} MiB memory, {} MiB disk, {} vcpus) is on {here}.",
        i.name, i.template, i.mem.0, i.disk.0, i.vcpus
    )];
    lines.extend(e.holds.iter().map(|h| format!("It is not moved: {}.", hold_words(*h, cluster).text)));
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
                Ok(s) => (score(*s), score(e.score - s), best.to_owned()),
                Err(refused_place) => {
                    let text = obstacle_text(refused_place, "the new node is offline");
                    let is_offline = refused_place.obstacle == Obstacle::Offline;
                    let text =
                        if is_offline { text } else { format!("{}: {text}", alias(refused_place.node)) };
                    ("-".into(), "-".into(), text)
                }
            };
            table.push(vec![notation(cluster, m.mv), nodes(m.to), after, gain, reason]);
        }
        lines.extend(table.trimmed_lines(" "));
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
