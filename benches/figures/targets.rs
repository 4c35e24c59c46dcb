//! What the project wants to reach, and whether it does.

use std::fmt::Write;

use crate::common::numbers::memory;

/// Lines of the last table.
#[derive(Default)]
pub struct Targets(String);

impl Targets {
    /// A target that was looked at.
    pub fn check(&mut self, target: &str, measured: &str, met: bool) {
        self.line(target, measured, if met { "met" } else { "MISSED" });
    }

    /// A limit of memory, where the system tells how much it is.
    pub fn memory(&mut self, target: &str, mib: Option<f64>, most: f64) {
        match mib {
            Some(measured) => self.check(target, &memory(mib), measured < most),
            None => self.open(target, &memory(mib)),
        }
    }

    /// A target that was not looked at, and why.
    pub fn open(&mut self, target: &str, reason: &str) {
        self.line(target, reason, "open");
    }

    fn line(&mut self, target: &str, measured: &str, verdict: &str) {
        // writing to a string cannot fail
        let _ = writeln!(self.0, "| {target} | {measured} | {verdict} |");
    }

    /// Prints the table.
    pub fn print(&self) {
        println!("| target | measured | |\n|---|---|---|\n{}", self.0);
    }
}
