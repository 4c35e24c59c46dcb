//! Effect of each step of a plan on the score of its node group: the gain, and the metric that improves most.

use std::collections::BTreeMap;

use crate::moves::{MoveRules, perform_step};
use htools_model::score::metrics::METRICS;
use htools_model::score::{Board, Components};
use htools_model::{Draft, GroupIdx, NodeIdx, Step};

/// Effect of a step on the score of its instance's group.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepEffect {
    /// Decrease of the score; negative if it rises.
    pub gain: f64,
    /// Position in the table of the metric whose weighted value falls most; `None` if no metric falls. The
    /// first one wins a tie.
    pub main: Option<usize>,
}

/// Effects of successive steps on a cluster in its state before the first one. The entry is `None` for a step
/// that cannot be made and for all later ones. The draft is left in the state after the steps.
pub fn effects(cluster: &mut Draft, steps: &[Step]) -> Vec<Option<StepEffect>> {
    // Soft errors were already accepted when the plan was made.
    let rules = MoveRules { ignore_soft_errors: true, ..MoveRules::default() };
    let mut known: BTreeMap<GroupIdx, (Vec<NodeIdx>, Components)> = BTreeMap::new();
    let mut effects = Vec::with_capacity(steps.len());
    for step in steps {
        let group = cluster.node(step.from.primary).spec.group;
        let (nodes, before) = known.entry(group).or_insert_with(|| {
            let nodes = cluster.nodes_of(group).to_vec();
            let parts = Board::new(cluster, &nodes).components();
            (nodes, parts)
        });
        if perform_step(cluster, step, &rules).is_err() {
            break;
        }
        let after = Board::new(cluster, nodes).components();
        effects.push(Some(between(before, &after)));
        *before = after;
    }
    effects.resize(steps.len(), None);
    effects
}

fn between(before: &Components, after: &Components) -> StepEffect {
    let falls = |metric: usize| before.weights.of(metric) * (before.values[metric] - after.values[metric]);
    let mut main: Option<usize> = None;
    for metric in (0..METRICS.min(before.values.len())).filter(|metric| falls(*metric) > 0.0) {
        if main.is_none_or(|best| falls(metric) > falls(best)) {
            main = Some(metric);
        }
    }
    StepEffect { gain: before.score() - after.score(), main }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BalanceOptions;
    use crate::balance::run;
    use htools_model::score::TABLE;
    use htools_model::{Cluster, Move};
    use htools_testkit::cluster;

    fn sample() -> Cluster {
        cluster(
            &[
                "a|9000|0|5000|9000|5000|9|M|u",
                "b|9000|0|9000|9000|5000|9|N|u",
                "c|9000|0|9000|9000|9000|9|Y|u",
                "d|9000|0|9000|9000|0|9|N|u",
            ],
            &["one|2000|2000|1|running|Y|a|c|drbd|", "two|2000|2000|1|running|Y|a|b|drbd|"],
            &[],
        )
    }

    /// The gains add up to the differences of the steps' scores, and instances on an offline node come first.
    #[test]
    fn effects_are_those_of_the_scores() {
        let mut draft = Draft::from(sample());
        let nodes = draft.all_nodes();
        let first = Board::new(&draft, &nodes).score();
        let steps = run(&mut draft, &nodes, BalanceOptions::default()).steps;
        assert!(!steps.is_empty());
        let found = effects(&mut Draft::from(sample()), &steps);
        let mut score = first;
        for (step, effect) in steps.iter().zip(&found) {
            let effect = effect.unwrap();
            assert!((score - effect.gain - step.score).abs() < 1e-9, "{effect:?}");
            score = step.score;
            assert!(effect.gain > 0.0 && effect.main.is_some());
        }
        let main = found[0].unwrap().main.map(|metric| TABLE[metric].name);
        assert_eq!(main, Some("offline_all_cnt"));
    }

    /// A step that cannot be made has no known effect, and neither have the later ones.
    #[test]
    fn what_cannot_be_made_has_no_effect() {
        let mut draft = Draft::from(sample());
        let nodes = draft.all_nodes();
        let mut steps = run(&mut draft, &nodes, BalanceOptions::default()).steps;
        let good = steps.len();
        // That node has no disk space left.
        steps.push(Step { mv: Move::ReplaceSecondary(NodeIdx::new(3)), ..steps[0] });
        let found = effects(&mut Draft::from(sample()), &steps);
        assert_eq!(found.iter().filter(|effect| effect.is_some()).count(), good);
        assert_eq!(found.last(), Some(&None));
    }
}
