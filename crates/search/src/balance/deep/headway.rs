//! How far a deep search is, for whoever looks on. Nothing here has an influence on what is found.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::Deadline;

/// The best placement that is known while a search goes on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Glimpse {
    /// How many instances move.
    pub moves: usize,
    /// Its score.
    pub score: f64,
}

/// What is told while a search goes on; any thread may look.
#[derive(Debug, Default)]
pub struct Headway(Mutex<HeadwayNews>);

#[derive(Debug, Default, Clone, Copy)]
struct HeadwayNews {
    effort: u64,
    tried: u64,
    floor: Option<f64>,
    best: Option<Glimpse>,
}

/// What a deep search heeds and tells while it runs.
#[derive(Debug, Clone, Copy)]
pub struct DeepWatch<'a> {
    /// When it ends at the latest.
    pub deadline: &'a Deadline,
    /// How far it is.
    pub headway: &'a Headway,
}

impl Headway {
    /// A search begins that will try so many changes; no placement that it may find is below `floor`.
    pub fn begin(&self, effort: u64, floor: f64) {
        let floor = floor.is_finite().then_some(floor);
        *self.news() = HeadwayNews { effort, floor, ..HeadwayNews::default() };
    }

    /// So many changes more were tried, and this is the best placement that came of them.
    pub fn advance(&self, tried: u64, best: Option<Glimpse>) {
        let mut news = self.news();
        news.tried += tried;
        if let Some(best) = best.filter(|best| news.best.is_none_or(|known| best.score < known.score)) {
            news.best = Some(best);
        }
    }

    /// The share of the effort that is behind, from 0 to 1; 0 before the search begins.
    pub fn share(&self) -> f64 {
        let HeadwayNews { effort, tried, .. } = *self.news();
        if effort == 0 { 0.0 } else { (tried as f64 / effort as f64).min(1.0) }
    }

    /// The best placement so far.
    pub fn best(&self) -> Option<Glimpse> {
        self.news().best
    }

    /// The score below which nothing can be found, if there is such a bound.
    pub fn floor(&self) -> Option<f64> {
        self.news().floor
    }

    fn news(&self) -> MutexGuard<'_, HeadwayNews> {
        // what was told is whole whatever happened to the thread that told it
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_of_all_threads_is_seen() {
        let headway = Headway::default();
        assert_eq!((headway.share(), headway.best(), headway.floor()), (0.0, None, None));
        headway.begin(200, 0.5);
        let glimpse = |moves, score| Some(Glimpse { moves, score });
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
