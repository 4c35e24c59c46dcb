//! Chooses among the possible places.

use std::cmp::Ordering;

use super::{PlaceMetric, PlaceSearch};
use htools_model::{FailCounts, FailKind, Obstacle, Place};

impl PlaceMetric {
    /// Returns true if a place with this metric is preferred to an earlier one with `other`, which it is if it
    /// is at least as good. A score that is not a number never is.
    pub(crate) fn beats_earlier(&self, other: &PlaceMetric) -> bool {
        matches!(self.partial_cmp(other), Some(Ordering::Less | Ordering::Equal))
    }
}

impl PartialOrd for PlaceMetric {
    fn partial_cmp(&self, other: &PlaceMetric) -> Option<Ordering> {
        match (self, other) {
            (PlaceMetric::Score(a), PlaceMetric::Score(b)) => a.partial_cmp(b),
            (PlaceMetric::Lost(a, x), PlaceMetric::Lost(b, y)) => (a, x).partial_cmp(&(b, y)),
            _ => None,
        }
    }
}

/// Chooses the best possible place for which `holds` is true. The places come in the order in which they were
/// tried; among equals, the later one wins. Better places count as refused for lack of redundancy, and worse
/// ones are not checked.
pub(super) fn one(
    places: Vec<(PlaceMetric, Place)>,
    mut failures: FailCounts,
    holds: &mut impl FnMut(&Place) -> bool,
) -> PlaceSearch {
    let mut successes = places.len() as u64;
    let mut ranked: Vec<(usize, &(PlaceMetric, Place))> = places.iter().enumerate().collect();
    // If a score is not a number, the places stay in the order in which they were tried.
    if !places.iter().any(|(metric, _)| matches!(metric, PlaceMetric::Score(score) if score.is_nan())) {
        ranked.sort_by(|(i, (a, _)), (j, (b, _))| a.partial_cmp(b).unwrap_or(Ordering::Equal).then(j.cmp(i)));
    }
    for (_, (metric, place)) in ranked {
        if holds(place) {
            return PlaceSearch { best: Some((metric.clone(), place.clone())), successes, failures };
        }
        successes -= 1;
        failures.add(FailKind::N1, 1);
    }
    PlaceSearch { best: None, successes, failures }
}

/// The best of places that were tried in this order; among equals, the later one wins.
pub(super) fn best_of(places: impl Iterator<Item = Result<(PlaceMetric, Place), Obstacle>>) -> PlaceSearch {
    places.fold(PlaceSearch::default(), |search, place| match place {
        Ok(best) => {
            both(search, PlaceSearch { best: Some(best), successes: 1, failures: FailCounts::default() })
        }
        Err(obstacle) => {
            both(search, PlaceSearch { failures: FailCounts::one(obstacle.kind()), ..PlaceSearch::default() })
        }
    })
}

/// Joins two searches. The later result wins unless the earlier one is better; a score that is not a number is
/// never better.
pub(super) fn both(earlier: PlaceSearch, later: PlaceSearch) -> PlaceSearch {
    let mut failures = earlier.failures;
    failures += later.failures;
    let best = match (earlier.best, later.best) {
        (Some(a), Some(b)) => Some(if a.0 < b.0 { a } else { b }),
        (a, b) => b.or(a),
    };
    PlaceSearch { best, successes: earlier.successes + later.successes, failures }
}
