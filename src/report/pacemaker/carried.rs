//! Changes of a cluster, in words.

use crate::model::number::counted;
use crate::model::shown::shown_name;
use crate::pacemaker::cib::change::{CibChange, LocationPin};
use crate::pacemaker::pinning::Foresight;

/// The location constraints that lead to a placement.
pub(crate) fn pins(pins: &[LocationPin]) -> Vec<String> {
    if pins.is_empty() {
        return vec![String::new(), "Pacemaker does that by itself: no constraints are needed.".to_owned()];
    }
    let mut lines =
        vec![String::new(), format!("Pacemaker comes there with {}:", counted(pins.len(), "constraint"))];
    lines.extend(pins.iter().map(|pin| {
        let [id, resource, node] = [&pin.id, &pin.resource, &pin.node].map(|name| shown_name(name));
        format!("  {id}: {resource} on {node}")
    }));
    lines
}

/// A change, in a few words.
pub(crate) fn change(change: &CibChange) -> String {
    let words = change.to_string();
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| format!("{}{}", first.to_uppercase(), letters.as_str()))
}

/// Further changes that the cluster makes after the first transition.
pub(crate) fn later(outlook: &Foresight) -> Vec<String> {
    let Some(end) = outlook.expected() else {
        return vec!["Warning: the cluster never settles: it moves resources back and forth".to_owned()];
    };
    let moves = outlook.first().into_iter().zip(end).filter(|(first, end)| first.node != end.node);
    let line = |of: &str, node: Option<String>| match node {
        Some(node) => format!("Once that is done, {} goes to {}", shown_name(of), shown_name(&node)),
        None => format!("Once that is done, {} is stopped", shown_name(of)),
    };
    moves.map(|(_, end)| line(&end.resource, end.node)).collect()
}
