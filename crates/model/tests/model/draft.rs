//! Changes that are tried and taken back.

use htools_model::{Draft, InstanceIdx, NodeIdx, Placement};
use htools_testkit::shared;

/// A node's state is saved once between two marks, however often it changes, and is restored afterwards.
#[test]
fn states_are_kept_once_from_mark_to_mark() {
    let mut draft = Draft::from(shared(&[(9, 4), (9, 4)], &[(0, 2, 1), (0, 1, 1)]));
    let before = format!("{:?}", *draft);
    let begin = draft.mark();
    // The list of changes is private, but its debug output shows it.
    let states = |draft: &Draft| format!("{draft:?}").matches("State(NodeIdx(").count();
    let go = |draft: &mut Draft, node: usize| {
        let to = Placement { primary: NodeIdx::new(node), secondary: None };
        draft.relocate(InstanceIdx::new(0), to, 0, &[]);
    };
    (0..10).for_each(|at| go(&mut draft, 1 - at % 2));
    assert_eq!(states(&draft), 2);
    let middle = draft.mark();
    let half = format!("{:?}", *draft);
    (0..3).for_each(|at| go(&mut draft, 1 - at % 2));
    assert_eq!(states(&draft), 4);
    draft.back_to(middle);
    assert_eq!(format!("{:?}", *draft), half);
    go(&mut draft, 1);
    draft.back_to(begin);
    assert_eq!(format!("{:?}", *draft), before);
}
