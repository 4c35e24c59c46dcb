//! Access to a cluster through Pacemaker's own programs, which run on one of its nodes.

use std::io;
use std::io::Write as _;
use std::thread;
use std::time::{Duration, Instant};

use tempfile::NamedTempFile;

use super::client::{CibCallError, CibClient};
use crate::cib::change::{CibChange, LocationPin};
use crate::cib::underway::is_busy;
use htools_ganeti::execute::program::{ProgramCall, ProgramProblem};
use htools_model::shown::printable;

/// Greatest size of a document, in bytes.
pub const SIZE: u64 = 100 << 20;
/// Longest time for an answer.
pub(super) const LIMIT: Duration = Duration::from_secs(60);
/// Time between two checks if something has ended.
const LOOK: Duration = Duration::from_millis(300);
/// Exit status of Pacemaker's programs after a timeout.
const TIME_IS_UP: i32 = 124;
/// Source of documents, for errors.
const SOURCE: &str = "cibadmin";

/// The cluster of this node.
#[derive(Debug, Default)]
pub struct LocalCluster;

pub(super) fn good(words: &[&str], input: &str) -> Result<String, CibCallError> {
    Ok(ProgramCall { words, input, limit: LIMIT, most: SIZE }.good()?)
}

impl CibClient for LocalCluster {
    fn document(&mut self) -> Result<String, CibCallError> {
        good(&[SOURCE, "-Q"], "")
    }

    fn make(&mut self, change: &CibChange) -> Result<(), CibCallError> {
        match change {
            CibChange::Pin(pins) => {
                let section: String = pins.iter().map(LocationPin::xml).collect();
                let section = format!("<constraints>{section}</constraints>");
                good(&[SOURCE, "-M", "-o", "constraints", "--allow-create", "--xml-pipe"], &section)?;
            }
            CibChange::Unpin(pins) => {
                let ids: Vec<String> = pins.iter().map(|pin| format!("@id='{}'", pin.id)).collect();
                let path = format!("//rsc_location[{}]", ids.join(" or "));
                good(&[SOURCE, "--delete-all", "--force", "--xpath", &path], "")?;
            }
            CibChange::Standby(node) => {
                let node = format!("--node={node}");
                good(&["crm_attribute", "--name=standby", &node, "--update=on"], "")?;
            }
            CibChange::Online(node) => {
                let node = format!("--node={node}");
                good(&["crm_attribute", "--name=standby", &node, "--delete"], "")?;
            }
            CibChange::Together(_) => {
                let before = self.document()?;
                let made = change.made_in(&before, SOURCE);
                let made = made.map_err(|error| CibCallError::Nonsense(error.to_string()))?;
                if let Some(patch) = patch(&before, &made)? {
                    good(&[SOURCE, "--patch", "--xml-pipe"], &patch)?;
                }
            }
        }
        Ok(())
    }

    fn await_rest(&mut self, at_most: Duration) -> Result<bool, CibCallError> {
        let end = Instant::now() + at_most;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            if !has_nothing_to_begin(left)? {
                return Ok(false);
            }
            // crm_resource does not wait for actions that have begun.
            let document = self.document()?;
            let busy =
                is_busy(&document, SOURCE).map_err(|error| CibCallError::Nonsense(error.to_string()))?;
            if !busy || Instant::now() >= end {
                return Ok(!busy);
            }
            thread::sleep(LOOK);
        }
    }
}

/// Waits until the cluster would begin nothing new. Returns false if it still would.
fn has_nothing_to_begin(at_most: Duration) -> Result<bool, CibCallError> {
    let seconds = at_most.as_millis().div_ceil(1000).max(1).to_string();
    let words = ["crm_resource", "--wait", "--timeout", &seconds];
    let answer = ProgramCall { words: &words, input: "", limit: at_most + LIMIT, most: SIZE }.run()?;
    match answer.status.code() {
        Some(0) => Ok(true),
        Some(TIME_IS_UP) => Ok(false),
        _ => Err(CibCallError::Nonsense(format!(
            "crm_resource --wait failed: {}{}",
            answer.status, answer.last_words
        ))),
    }
}

/// Patch that turns one document into another, for the cluster to apply in one step; `None` if they say the same.
fn patch(before: &str, after: &str) -> Result<Option<String>, CibCallError> {
    let (before, after) = (written(before)?, written(after)?);
    let (from, to) = (before.path().to_string_lossy(), after.path().to_string_lossy());
    // Without versions, the patch fits even if nodes write their status meanwhile.
    let words = ["crm_diff", "--no-version", "--original", &from, "--new", &to];
    let answer = ProgramCall { words: &words, input: "", limit: LIMIT, most: SIZE }.run()?;
    match answer.status.code() {
        Some(0) => Ok(None),
        Some(1) => Ok(Some(answer.text)),
        _ => Err(CibCallError::Nonsense(format!("crm_diff failed: {}{}", answer.status, answer.last_words))),
    }
}

/// A temporary file with a text.
fn written(text: &str) -> Result<NamedTempFile, CibCallError> {
    let mut file = temporary()?;
    file.write_all(text.as_bytes()).and_then(|()| file.flush()).map_err(problem)?;
    Ok(file)
}

fn temporary() -> Result<NamedTempFile, CibCallError> {
    tempfile::Builder::new().prefix("hplace").suffix(".xml").tempfile().map_err(problem)
}

fn problem(error: io::Error) -> CibCallError {
    CibCallError::Nonsense(printable(&error.to_string(), 200))
}

/// Result of Pacemaker's own simulation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Simulation {
    /// The program is not installed.
    Absent,
    /// The document after the actions of the cluster.
    Document(String),
}

/// Lets Pacemaker's own program simulate the actions of a cluster.
///
/// # Errors
/// Fails if the simulation does.
pub fn simulate(document: &str) -> Result<Simulation, CibCallError> {
    let (before, after) = (written(document)?, temporary()?);
    let (from, to) = (before.path().to_string_lossy(), after.path().to_string_lossy());
    let words = ["crm_simulate", "-S", "-Q", "-x", &from, "-O", &to];
    match (ProgramCall { words: &words, input: "", limit: LIMIT * 10, most: SIZE }).good() {
        Ok(_) => std::fs::read_to_string(after.path()).map(Simulation::Document).map_err(problem),
        Err(error) => match &error.problem {
            ProgramProblem::Start(why) if why.kind() == io::ErrorKind::NotFound => Ok(Simulation::Absent),
            _ => Err(error.into()),
        },
    }
}
