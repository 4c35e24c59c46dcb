//! Takes back part of a placement, fills it in another order, and keeps improvements.

use super::super::index::ResourceIdx;
use super::draft::PlacingDraft;
use super::improve::{Improvement, pseudo_random};
use super::limits::PlacingLimits;

/// Number of rounds in a row without an improvement that end it.
const ROUNDS: u64 = 60;

/// Takes back some changes of a placement, and places the resources that are left out then, round after round.
pub(super) fn shake(draft: &mut PlacingDraft<'_>, limits: &PlacingLimits) {
    let mut value = draft.value();
    let mut in_vain = 0;
    let mut round = 0;
    while in_vain < ROUNDS && !limits.reached(draft.steps) {
        round += 1;
        in_vain += 1;
        let mark = draft.mark();
        if !take_back(draft, round) {
            return;
        }
        let mut improvement = Improvement::new(draft, limits, round);
        improvement.place_all();
        improvement.come_home();
        let new = draft.value();
        if new > value && limits.allow(draft.moves()) {
            value = new;
            in_vain = 0;
        } else {
            draft.back_to(mark);
        }
    }
}

/// Takes back part of the resources that are not where they run; these go back there if they can. Returns false if
/// there are none.
fn take_back(draft: &mut PlacingDraft<'_>, round: u64) -> bool {
    let rules = draft.rules;
    let is_alone = |one: &ResourceIdx| {
        let at = one.get();
        rules.followers[at].is_empty() && rules.dependents[at].is_empty() && rules.primaries[at].is_empty()
    };
    let changed = |one: &ResourceIdx| draft.host(*one).is_some() && draft.host(*one) != rules.home(*one);
    let mut taken: Vec<ResourceIdx> =
        rules.movable.iter().copied().filter(is_alone).filter(changed).collect();
    // a quarter, a half, or nearly all
    let part = [64, 128, 224][(round % 3) as usize];
    taken.retain(|one| pseudo_random(round, *one) % 256 < part);
    taken.sort_unstable_by_key(|one| pseudo_random(round + 1, *one));
    taken.iter().for_each(|one| draft.put(*one, None));
    for one in &taken {
        if let Some(home) = rules.home(*one).filter(|home| draft.can_be(*one, *home)) {
            draft.put(*one, Some(home));
        }
    }
    !taken.is_empty()
}
