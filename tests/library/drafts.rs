//! Changes tried on top of each other, in random walks.

use crate::common::clusters::{Dice, Style, cases, recipes};
use htools::model::{Cluster, Concession, Draft, Instance, Leg, Mark, Mirroring, Move, NodeIdx, Step};
use htools::plan::checker::{CheckOptions, check};
use htools::score::Board;
use htools::search::MoveRules;
use htools::search::moves::{Trial, perform};
use proptest::prelude::*;

const STYLES: &[Style] = &[Style::Mixed, Style::Tight, Style::Symmetric, Style::Stranded];

/// A random move of an instance to online nodes other than its own, if there is one.
fn any_move(cluster: &Cluster, instance: &Instance, dice: &mut Dice) -> Option<Move> {
    let group = cluster.node(instance.primary).spec.group;
    let own = |n: &NodeIdx| *n == instance.primary || Some(*n) == instance.secondary;
    let offline = |n: NodeIdx| cluster.node(n).spec.offline;
    let mut targets = cluster.nodes_of(group).to_vec();
    targets.retain(|n| !own(n) && !offline(*n));
    if !instance.is_movable() || !instance.auto_balance || targets.len() < 2 {
        return None;
    }
    let t = targets.swap_remove(dice.below(targets.len()));
    let u = targets.swap_remove(dice.below(targets.len()));
    let mv = match instance.template.mirroring() {
        Mirroring::None => return None,
        Mirroring::External => Move::FailoverTo(t),
        Mirroring::Internal => dice.of(&[
            Move::Failover,
            Move::ReplaceSecondary(t),
            Move::ReplaceAndFailover(t),
            Move::ReplacePrimary(t),
            Move::FailoverAndReplace(t),
            Move::ReplaceBoth(t, u),
            Move::FailoverAndReplaceBoth(t, u),
        ]),
    };
    let fails_over_first = mv.legs().next() == Some(Leg::Failover);
    (!fails_over_first || instance.mirror().is_some_and(|s| !offline(s))).then_some(mv)
}

/// The whole content of a draft, including its lazily computed parts.
fn everything(draft: &Draft) -> String {
    let cluster = Cluster::clone(draft);
    let reserves: Vec<_> = cluster.groups.iter().map(|group| cluster.group_reserve(group.idx)).collect();
    format!("{cluster:?} {reserves:?}")
}

/// The step of a move, with the score that the search predicts; none if a rule forbids it.
fn promised(draft: &Draft, board: &Board, instance: &Instance, mv: Move) -> Option<Step> {
    let rules = MoveRules::default();
    let trial = Trial::new(draft, instance, &rules);
    let outcome = trial.run(mv).ok()?;
    let from = instance.placement();
    let to = outcome.placement;
    let spec = |n: NodeIdx| Some(&draft.node(n).spec);
    let spread = match from.primary == to.primary {
        true => 0,
        false => board.spread().change(instance, spec(from.primary), spec(to.primary)),
    };
    let score = board.score_with(outcome.touched(), spread);
    Some(Step { instance: instance.idx, mv, from, to, score, concession: Concession::None })
}

proptest! {
    #![proptest_config(cases(256))]

    /// Random moves are made on top of each other, including moves that change both nodes. Each score equals the
    /// prediction to the last bit, and the independent checker agrees. Undoing them restores the start, including the
    /// order of all lists.
    #[test]
    fn drafts_are_exact_and_taken_back(recipe in recipes(STYLES, 3..=12, 1..=30), seed in any::<u64>()) {
        let start = recipe.cluster();
        let mut dice = Dice::new(seed);
        let mut draft = Draft::of(&start);
        let mut marks: Vec<(Mark, usize, String)> = Vec::new();
        let mut steps: Vec<Step> = Vec::new();
        for _ in 0..40 {
            if draft.instances.is_empty() {
                break;
            }
            if dice.chance(20) {
                marks.push((draft.mark(), steps.len(), everything(&draft)));
            }
            if dice.chance(10) && !marks.is_empty() {
                marks.truncate(1 + dice.below(marks.len()));
                let (mark, count, before) = marks.last().expect("one at least");
                draft.back_to(*mark);
                steps.truncate(*count);
                prop_assert_eq!(&everything(&draft), before);
            }
            let instance = draft.instances[dice.below(draft.instances.len())].clone();
            let Some(mv) = any_move(&draft, &instance, &mut dice) else { continue };
            let nodes = draft.nodes_of(draft.node(instance.primary).spec.group).to_vec();
            let Some(step) = promised(&draft, &Board::new(&draft, &nodes), &instance, mv) else { continue };
            prop_assert!(perform(&mut draft, step.instance, mv, &MoveRules::default()).is_ok());
            let score = Board::new(&draft, &nodes).score();
            prop_assert_eq!(score.to_bits(), step.score.to_bits(), "{:?}: {} is not {}", mv, score, step.score);
            steps.push(step);
        }
        let replay = check(&start, &start.all_nodes(), &steps, CheckOptions::default());
        prop_assert!(replay.as_ref().is_ok_and(|replay| replay.leads_to(&draft)), "{:?}", replay);
    }
}
