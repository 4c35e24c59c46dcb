//! A line on a terminal that shows that a long search is alive.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// The progress line of a search. Nothing is shown unless standard error is a
/// terminal.
pub struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// Begins a search.
    pub fn start() -> Progress {
        let bar = ProgressBar::new_spinner();
        // the template is fixed and known to be valid; the plain style is a fine substitute
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} [{elapsed}]") {
            bar.set_style(style);
        }
        bar.set_message("looking for the first step");
        bar.enable_steady_tick(Duration::from_millis(200));
        Progress { bar }
    }

    /// Shows how far the search is.
    pub fn step(&mut self, steps: usize, score: f64) {
        self.bar.set_message(format!("{steps} steps, score {score:.8}"));
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
