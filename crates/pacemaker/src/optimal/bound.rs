//! Bounds that no placement can beat, computed without trying any.

use super::super::index::ResourceIdx;
use super::super::optimum::PlacingStage;
use super::rules::PlacingRules;
use super::value::PlacementValue;

/// Greatest number that can run of each priority, if as many of each higher priority run as in `placed`. All hosts
/// together have no room for more, even of the smallest ones.
pub(super) fn most(rules: &PlacingRules<'_>, placed: &[usize]) -> Vec<usize> {
    let of_level = |level: usize| -> Vec<ResourceIdx> {
        rules.movable.iter().copied().filter(|one| rules.level[one.get()] == level).collect()
    };
    let levels: Vec<Vec<ResourceIdx>> = (0..rules.priorities.len()).map(of_level).collect();
    let mut most: Vec<usize> = levels.iter().map(Vec::len).collect();
    let has_negative = |kind: usize| rules.movable.iter().any(|one| rules.amounts(*one)[kind] < 0);
    for kind in (0..rules.kinds).filter(|kind| !has_negative(*kind)) {
        let mut left: i128 = rules.room.chunks(rules.kinds).map(|room| i128::from(room[kind].max(0))).sum();
        for (level, members) in levels.iter().enumerate() {
            let mut amounts: Vec<i64> = members.iter().map(|one| rules.amounts(*one)[kind]).collect();
            amounts.sort_unstable();
            let mut sum = 0i128;
            let fitting = amounts.iter().take_while(|amount| {
                sum += i128::from(**amount);
                sum <= left
            });
            most[level] = most[level].min(fitting.count());
            left -= amounts.iter().take(placed[level]).map(|amount| i128::from(*amount)).sum::<i128>();
        }
    }
    most
}

/// The last stage up to which no placement can be better.
pub(super) fn proved(rules: &PlacingRules<'_>, value: &PlacementValue) -> Option<PlacingStage> {
    if most(rules, &value.placed) != value.placed {
        return None;
    }
    let is_all = rules.movable.len() == value.placed.iter().sum::<usize>();
    let best_score = |one: &ResourceIdx| {
        let hosts = rules.allowed[one.get()].iter();
        let best = hosts.map(|host| rules.worth(*one, *host)).max().unwrap_or(0);
        let wishes = rules.wishes[one.get()].iter().map(|tie| {
            if rules.allowed[tie.other.get()].is_empty() {
                // A wish counts at both of its ends, and this sum lacks the other end.
                2 * tie.score.max(0)
            } else {
                tie.score.max(0)
            }
        });
        2 * best + wishes.sum::<i64>()
    };
    let score: i64 = rules.movable.iter().map(best_score).sum();
    if !is_all || score != 2 * value.score {
        return Some(PlacingStage::Placed);
    }
    let forced = |one: &&ResourceIdx| rules.home(**one).is_some_and(|home| !rules.allows(**one, home));
    match value.stops + value.migrations == 0 || {
        let (mut stops, mut migrations) = (0, 0);
        for one in rules.movable.iter().filter(forced) {
            let details = rules.set.resource(*one);
            let lives =
                details.allow_migrate && details.active.is_some_and(|home| rules.set.host(home).state.online);
            migrations += usize::from(lives);
            stops += usize::from(!lives);
        }
        (stops, migrations) == (value.stops, value.migrations)
    } {
        true => Some(PlacingStage::Disruption),
        false => Some(PlacingStage::Scores),
    }
}
