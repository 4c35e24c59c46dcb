//! Progress of a deep search, for display. It has no influence on the result.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::Deadline;

/// The best placement known so far.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BestSoFar {
    /// Number of instances that move.
    pub moves: usize,
    /// Score of the placement.
    pub score: f64,
}

/// Progress of a running search; any thread may read it.
#[derive(Debug, Default)]
pub struct SearchProgress(Mutex<ProgressRecord>);

#[derive(Debug, Default, Clone, Copy)]
struct ProgressRecord {
    effort: u64,
    tried: u64,
    floor: Option<f64>,
    best: Option<BestSoFar>,
}

/// Deadline and progress of a deep search.
#[derive(Debug, Clone, Copy)]
pub struct DeepWatch<'a> {
    /// Latest end of the search.
    pub deadline: &'a Deadline,
    /// Receives the progress of the search.
    pub headway: &'a SearchProgress,
}

impl SearchProgress {
    /// Begins a search that will try `effort` changes. `floor` is a lower bound of the score of all placements.
    pub fn begin(&self, effort: u64, floor: f64) {
        let floor = floor.is_finite().then_some(floor);
        *self.news() = ProgressRecord { effort, floor, ..ProgressRecord::default() };
    }

    /// Reports further changes that were tried, and the best placement they led to.
    pub fn advance(&self, tried: u64, best: Option<BestSoFar>) {
        let mut news = self.news();
        news.tried += tried;
        if let Some(best) = best.filter(|best| news.best.is_none_or(|known| best.score < known.score)) {
            news.best = Some(best);
        }
    }

    /// Share of the effort that is done, from 0 to 1; 0 before the search begins.
    pub fn share(&self) -> f64 {
        let ProgressRecord { effort, tried, .. } = *self.news();
        if effort == 0 { 0.0 } else { (tried as f64 / effort as f64).min(1.0) }
    }

    /// The best placement so far.
    pub fn best(&self) -> Option<BestSoFar> {
        self.news().best
    }

    /// Lower bound of the score, if there is one.
    pub fn floor(&self) -> Option<f64> {
        self.news().floor
    }

    fn news(&self) -> MutexGuard<'_, ProgressRecord> {
        // The news stay consistent even if the thread that wrote them panicked.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_of_all_threads_is_seen() {
        let headway = SearchProgress::default();
        assert_eq!((headway.share(), headway.best(), headway.floor()), (0.0, None, None));
        headway.begin(200, 0.5);
        let glimpse = |moves, score| Some(BestSoFar { moves, score });
        headway.advance(50, glimpse(3, 2.0));
        headway.advance(40, glimpse(9, 2.5));
        headway.advance(10, None);
        assert_eq!((headway.share(), headway.best(), headway.floor()), (0.5, glimpse(3, 2.0), Some(0.5)));
        headway.advance(1000, glimpse(4, 1.0));
        assert_eq!((headway.share(), headway.best()), (1.0, glimpse(4, 1.0)));
        headway.begin(10, f64::NEG_INFINITY);
        assert_eq!((headway.share(), headway.best(), headway.floor()), (0.0, None, None));
    }
}
