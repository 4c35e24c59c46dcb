//! Undoing moves: each finished step is reversed, the last one first.

use std::collections::HashMap;

use super::work::{Relocation, Task, WorkStep};
use htools_model::shown::shown_name;
use htools_model::{Cluster, Concession, InstanceIdx, Move, NodeIdx, Placement, Step};

/// Reason that a step cannot be undone.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UndoError {
    /// The step is about a node.
    #[error("step {number}, {title}: only moves of instances can be undone")]
    Node {
        /// Number of the step, from 1.
        number: usize,
        /// The step in words.
        title: String,
    },
    /// The cluster has no such instance or node any more.
    #[error("step {number}: there is no {kind} '{}'", shown_name(.name))]
    Gone {
        /// Number of the step, from 1.
        number: usize,
        /// Instance or node.
        kind: &'static str,
        /// The name.
        name: String,
    },
    /// The instance has been moved since.
    #[error("step {number}: instance '{}' is on {is}, but the step moved it to {was}", shown_name(.instance))]
    Elsewhere {
        /// Number of the step, from 1.
        number: usize,
        /// The instance.
        instance: String,
        /// Its present placement.
        is: String,
        /// Its placement after the step.
        was: String,
    },
    /// No single move leads back.
    #[error("step {number}: no move brings instance '{}' back", shown_name(.instance))]
    NoMove {
        /// Number of the step, from 1.
        number: usize,
        /// The instance.
        instance: String,
    },
}

/// The move that leads from one placement to another, if there is one.
pub(super) fn leading(from: Placement, to: Placement) -> Option<Move> {
    Some(match (from.secondary, to.secondary) {
        (None, None) if from.primary != to.primary => Move::FailoverTo(to.primary),
        (Some(_), Some(_)) if from == to => return None,
        (Some(old), Some(new)) => {
            if old == to.primary && new == from.primary {
                Move::Failover
            } else if from.primary == to.primary {
                Move::ReplaceSecondary(new)
            } else if old == new {
                Move::ReplacePrimary(to.primary)
            } else if new == from.primary {
                Move::ReplaceAndFailover(to.primary)
            } else if old == to.primary {
                Move::FailoverAndReplace(new)
            } else {
                Move::ReplaceBoth(to.primary, new)
            }
        }
        _ => return None,
    })
}

/// The moves that undo finished steps, which are given with their numbers (from 1) in the order in which they were
/// done.
///
/// # Errors
/// The first step, from the end, that cannot be undone.
pub fn undo_steps(cluster: &Cluster, done: &[(usize, &WorkStep)]) -> Result<Vec<Step>, UndoError> {
    let nodes: HashMap<&str, NodeIdx> =
        cluster.nodes.iter().map(|node| (node.spec.name.as_str(), node.spec.idx)).collect();
    let instances: HashMap<&str, InstanceIdx> =
        cluster.instances.iter().map(|instance| (instance.name.as_str(), instance.idx)).collect();
    let mut places: HashMap<InstanceIdx, Placement> = HashMap::new();
    let mut steps = Vec::new();
    for &(number, step) in done.iter().rev() {
        let (Some(first), Some(last)) = (step.relocations().first(), step.relocations().last()) else {
            match step.task {
                // These steps did nothing that lasts.
                Task::ConfirmEmpty | Task::Await | Task::Stop | Task::Start | Task::Resync => continue,
                _ => return Err(UndoError::Node { number, title: step.title() }),
            }
        };
        let gone = |kind, name: &str| UndoError::Gone { number, kind, name: name.to_owned() };
        let instance =
            *instances.get(step.subject.as_str()).ok_or_else(|| gone("instance", &step.subject))?;
        let mirrored = cluster.instance(instance).template.has_secondary();
        let placement = |place: &Placement<String>| {
            let found = place
                .clone()
                .try_map(|node| nodes.get(node.as_str()).copied().ok_or_else(|| gone("node", &node)))?;
            Ok(Placement { secondary: found.secondary.filter(|_| mirrored), ..found })
        };
        let (Relocation { from: to, .. }, Relocation { to: from, .. }) = (first, last);
        let (from, to) = (placement(from)?, placement(to)?);
        let its = cluster.instance(instance);
        let start = Placement { primary: its.primary, secondary: its.mirror() };
        let is = *places.entry(instance).or_insert(start);
        if is != from {
            let shown = |place: Placement| {
                let name = |node: NodeIdx| shown_name(&cluster.node(node).spec.name).to_string();
                place.nodes().map(name).collect::<Vec<_>>().join(":")
            };
            let instance = step.subject.clone();
            return Err(UndoError::Elsewhere { number, instance, is: shown(is), was: shown(from) });
        }
        let mv =
            leading(from, to).ok_or_else(|| UndoError::NoMove { number, instance: step.subject.clone() })?;
        places.insert(instance, to);
        // Other templates may name a secondary node, which has no meaning.
        let named = |place: Placement| Placement { secondary: place.secondary.or(its.secondary), ..place };
        steps.push(Step {
            instance,
            mv,
            from: named(from),
            to: named(to),
            score: 0.0,
            concession: Concession::None,
        });
    }
    Ok(steps)
}

#[cfg(test)]
mod tests {
    use super::*;
    use htools_model::Leg;

    #[test]
    fn every_move_has_its_way_back() {
        let [p, s, t, u] = [0, 1, 2, 3].map(NodeIdx::new);
        let here = Placement { primary: p, secondary: Some(s) };
        let go = |from: Placement, mv: Move| mv.legs().fold(from, |at, leg: Leg| leg.from(at));
        for mv in [
            Move::Failover,
            Move::ReplaceSecondary(t),
            Move::ReplaceAndFailover(t),
            Move::ReplacePrimary(t),
            Move::FailoverAndReplace(t),
            Move::ReplaceBoth(t, u),
            Move::FailoverAndReplaceBoth(t, u),
        ] {
            let there = go(here, mv);
            let back = leading(there, here).unwrap();
            assert_eq!(go(there, back), here, "{mv:?} {back:?}");
        }
        assert_eq!(leading(here, here), None);
    }
}
