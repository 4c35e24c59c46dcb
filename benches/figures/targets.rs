//! The project's targets, and the results.

use std::fmt::Write;

use crate::common::numbers::memory;

/// Lines of the last table.
#[derive(Default)]
pub struct Targets(String);

impl Targets {
    /// Records a target that was measured.
    pub fn check(&mut self, target: &str, measured: &str, met: bool) {
        self.line(target, measured, if met { "met" } else { "MISSED" });
    }

    /// Records a memory limit, if the system reports the memory.
    pub fn memory(&mut self, target: &str, mib: Option<f64>, most: f64) {
        match mib {
            Some(measured) => self.check(target, &memory(mib), measured < most),
            None => self.open(target, &memory(mib)),
        }
    }

    /// Records a target that was not measured, with the reason.
    pub fn open(&mut self, target: &str, reason: &str) {
        self.line(target, reason, "open");
    }

    fn line(&mut self, target: &str, measured: &str, verdict: &str) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.0, "| {target} | {measured} | {verdict} |");
    }

    /// Prints the table.
    pub fn print(&self) {
        println!("| target | measured | |\n|---|---|---|\n{}", self.0);
    }
}
