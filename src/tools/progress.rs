//! A line on a terminal that shows that a long search is alive.

use std::fmt::Write;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressState, ProgressStyle};

/// Shorter searches show nothing.
const PATIENCE: Duration = Duration::from_secs(2);

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
            if state.elapsed() >= PATIENCE {
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

    /// Shows how far the search is.
    pub fn step(&mut self, steps: usize, score: f64) {
        if self.bar.elapsed() >= PATIENCE {
            self.bar.set_message(format!("{steps} steps, score {score:.8}"));
        }
    }

    /// Does something that may print, with the progress line out of the way.
    pub fn aside<R>(&self, action: impl FnOnce() -> R) -> R {
        self.bar.suspend(action)
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
