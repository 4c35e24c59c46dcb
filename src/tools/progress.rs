//! A line on a terminal that shows that a long search is alive.

use std::fmt::Write;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressState, ProgressStyle};

/// Searches show nothing in their first moments, and most are over then.
const SILENCE: Duration = Duration::from_secs(2);

/// The progress line of a search. Nothing is shown unless standard error is a
/// terminal and the search takes long.
pub struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// Begins a search.
    pub fn start() -> Progress {
        let bar = ProgressBar::new_spinner();
        let late = |state: &ProgressState, line: &mut dyn Write| {
            if state.elapsed() >= SILENCE {
                // an indicator is not worth an error
                let _ = write!(line, "[{} s] ", state.elapsed().as_secs());
            }
        };
        // the template is fixed and known to be valid; the plain style is a fine substitute
        if let Ok(style) = ProgressStyle::with_template("{late}{msg}") {
            bar.set_style(style.with_key("late", late));
        }
        bar.enable_steady_tick(Duration::from_millis(500));
        Progress { bar }
    }

    /// A search that is one of several, which are shown together.
    pub fn hidden() -> Progress {
        Progress { bar: ProgressBar::hidden() }
    }

    /// Shows how far several searches are.
    pub fn say(&self, message: String) {
        if self.bar.elapsed() >= SILENCE {
            self.bar.set_message(message);
        }
    }

    /// Shows how far the search is.
    pub fn step(&mut self, steps: usize, score: f64) {
        let elapsed = self.bar.elapsed();
        if elapsed >= SILENCE {
            self.bar.set_message(message(steps, score, elapsed));
        }
    }

    /// Does something that may print, with the progress line out of the way.
    pub fn aside<R>(&self, action: impl FnOnce() -> R) -> R {
        self.bar.suspend(action)
    }
}

fn message(steps: usize, score: f64, elapsed: Duration) -> String {
    let rate = steps as f64 / elapsed.as_secs_f64();
    format!("{steps} steps, score {score:.8}, {rate:.1} steps a second")
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_shows_steps_score_and_rate() {
        let line = message(30, 1.5, Duration::from_secs(4));
        assert_eq!(line, "30 steps, score 1.50000000, 7.5 steps a second");
    }
}
