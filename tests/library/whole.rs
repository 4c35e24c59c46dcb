//! Whole clusters: all groups, the worst group, and the example in `examples/`.

#[path = "../../examples/library.rs"]
mod example;

use crate::common::clusters::{Style, balance_options, cases, recipes};
use htools::model::{Cluster, Draft};
use htools::search::balance::{InitialScore, all, run, worst};
use proptest::prelude::*;

const STYLES: &[Style] = &[Style::Mixed, Style::Tight, Style::Symmetric, Style::Stranded, Style::Weird];

fn shown(draft: Draft) -> String {
    format!("{:?}", draft.into_cluster().instances)
}

proptest! {
    #![proptest_config(cases(128))]

    /// Balancing groups in parallel gives the same result as one after another. The worst group is the one with the
    /// highest score among those that are improved.
    #[test]
    fn groups_are_balanced_alone(recipe in recipes(STYLES, 3..=20, 0..=40), options in balance_options()) {
        let start: Cluster = recipe.cluster();
        let (mut together, mut alone) = (Draft::of(&start), Draft::of(&start));
        let found = all(&mut together, options);
        for (group, found) in &found {
            let single = run(&mut alone, start.nodes_of(*group), options);
            prop_assert_eq!(format!("{:?}", single.steps), format!("{:?}", found.steps));
        }
        prop_assert_eq!(shown(together), shown(alone));
        let mut one = Draft::of(&start);
        let chosen = worst(&mut one, options).map(|(group, _)| group);
        let improved = found.iter().filter(|(_, found)| !found.steps.is_empty());
        let initial_score = |group| InitialScore::of(&start, start.nodes_of(group));
        let expected = improved.map(|(group, _)| *group).min_by(|a, b| initial_score(*a).worst_first(&initial_score(*b)));
        prop_assert_eq!(chosen, expected);
    }
}

#[test]
fn the_example_runs() {
    example::main().unwrap();
}
