//! A progress line on a terminal, for long searches.

use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressState, ProgressStyle};

use crate::model::number::counted;
use crate::report::balance::deep::text::gap;
use crate::search::balance::deep::headway::SearchProgress;
use crate::tools::scarcity;

/// Time before anything is shown; most searches end earlier.
const SILENCE: Duration = Duration::from_secs(2);

/// The progress line of a search. It appears only if standard error is a terminal and the search takes long.
pub(super) struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// Progress of a search that is about to start.
    pub(super) fn start() -> Progress {
        Progress::looking_on(|| None)
    }

    /// Progress of a deep search, read from `headway` at intervals.
    pub(super) fn of_deep(headway: Arc<SearchProgress>) -> Progress {
        Progress::looking_on(move || deep_message(&headway))
    }

    fn looking_on(look: impl Fn() -> Option<String> + Clone + Send + Sync + 'static) -> Progress {
        let bar = ProgressBar::new_spinner();
        let late = move |state: &ProgressState, line: &mut dyn Write| {
            if state.elapsed() >= SILENCE {
                // A failure of the progress line is not worth an error.
                let _ = write!(line, "[{} s] {}", state.elapsed().as_secs(), look().unwrap_or_default());
            }
        };
        // The template is constant and known to be valid; the default style would do as well.
        if let Ok(style) = ProgressStyle::with_template("{late}{msg}") {
            bar.set_style(style.with_key("late", late));
        }
        if scarcity::has_threads() {
            bar.enable_steady_tick(Duration::from_millis(500));
        }
        Progress { bar }
    }

    /// A hidden line, for one of several searches that are shown together.
    pub(super) fn hidden() -> Progress {
        Progress { bar: ProgressBar::hidden() }
    }

    /// Shows the progress of several searches.
    pub(super) fn say(&self, message: String) {
        if self.bar.elapsed() >= SILENCE {
            self.bar.set_message(message);
        }
    }

    /// Shows the progress of the search.
    pub(super) fn step(&mut self, steps: usize, score: f64) {
        let elapsed = self.bar.elapsed();
        if elapsed >= SILENCE {
            self.bar.set_message(message(steps, score, elapsed));
        }
    }

    /// Runs an action that may print, with the progress line hidden.
    pub(super) fn with_line_hidden<R>(&self, action: impl FnOnce() -> R) -> R {
        self.bar.suspend(action)
    }
}

fn message(steps: usize, score: f64, elapsed: Duration) -> String {
    let rate = steps as f64 / elapsed.as_secs_f64();
    format!("{steps} steps, score {score:.8}, {rate:.1} steps a second")
}

/// Progress of a deep search, after its first result.
fn deep_message(headway: &SearchProgress) -> Option<String> {
    let best = headway.best()?;
    let moves = counted(best.moves, "move");
    let bound = headway.floor().map_or_else(
        || "no bound".to_owned(),
        |floor| format!("none is below {floor:.8}, gap {:.1} %", gap(best.score, floor)),
    );
    Some(format!("{:.0} % tried, score {:.8} with {moves} ({bound})", 100.0 * headway.share(), best.score))
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::balance::deep::headway::BestSoFar;

    #[test]
    fn a_deep_search_shows_score_moves_and_bound() {
        let headway = SearchProgress::default();
        assert_eq!(deep_message(&headway), None);
        headway.begin(1000, 0.5);
        headway.advance(250, Some(BestSoFar { moves: 12, score: 1.0 }));
        let line = deep_message(&headway).unwrap_or_default();
        assert_eq!(line, "25 % tried, score 1.00000000 with 12 moves (none is below 0.50000000, gap 50.0 %)");
        headway.begin(1000, f64::NEG_INFINITY);
        headway.advance(1, Some(BestSoFar { moves: 1, score: 1.0 }));
        let line = deep_message(&headway).unwrap_or_default();
        assert_eq!(line, "0 % tried, score 1.00000000 with 1 move (no bound)");
    }

    #[test]
    fn the_line_shows_steps_score_and_rate() {
        let line = message(30, 1.5, Duration::from_secs(4));
        assert_eq!(line, "30 steps, score 1.50000000, 7.5 steps a second");
    }
}
