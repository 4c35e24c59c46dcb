//! hplace compared with crm_simulate on documents of others: all `*.xml` files in a directory, such as the inputs of
//! Pacemaker's own scheduler tests.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::simulator::Simulator;
use super::{By, Verdict, compare};

/// Names in documents of Pacemaker 3, and those that the installed crm_simulate (2.1.5) knows.
const FORMER: [(&str, &str); 8] = [
    (r#"name="fencing-enabled""#, r#"name="stonith-enabled""#),
    (r#"name="fencing-action""#, r#"name="stonith-action""#),
    (r#"name="fencing-timeout""#, r#"name="stonith-timeout""#),
    (r#"name="fencing-reaction""#, r#"name="fence-reaction""#),
    (r#"name="fencing-watchdog-timeout""#, r#"name="stonith-watchdog-timeout""#),
    (r#"name="stop-removed-resources""#, r#"name="stop-orphan-resources""#),
    (r#"name="cancel-removed-actions""#, r#"name="stop-orphan-actions""#),
    (r#"validate-with="pacemaker-3.10""#, r#"validate-with="pacemaker-3.9""#),
];

/// Results for a directory.
#[derive(Debug, Default)]
pub struct ComparedDocuments {
    same: usize,
    other_numbers: usize,
    order_dependent: usize,
    /// Documents that hplace refuses, or for which crm_simulate has no answer.
    left_out: usize,
    different: Vec<String>,
}

impl ComparedDocuments {
    /// Tells if there was no difference.
    pub fn good(&self) -> bool {
        self.different.is_empty()
    }

    /// The final lines of a run.
    pub fn summary(&self) -> String {
        let differences: String = self.different.iter().map(|text| format!("{text}\n")).collect();
        let all =
            self.same + self.other_numbers + self.order_dependent + self.left_out + self.different.len();
        format!(
            "{differences}hplace and crm_simulate on {all} documents: {} the same, {} in which instances have other numbers, {} in which \
             crm_simulate's own answer depends on its memory, {} refused or without an answer, {} different",
            self.same,
            self.other_numbers,
            self.order_dependent,
            self.left_out,
            self.different.len()
        )
    }
}

/// Compares all documents in a directory, by name.
///
/// # Errors
/// If the directory has no documents, crm_simulate is not installed, or files cannot be written.
pub fn run(simulator: &Simulator, directory: &Path, work: &Path) -> io::Result<ComparedDocuments> {
    fs::create_dir_all(work)?;
    let entries = fs::read_dir(directory)?.collect::<io::Result<Vec<_>>>()?;
    let mut files: Vec<PathBuf> = entries.into_iter().map(|entry| entry.path()).collect();
    files.retain(|file| file.extension() == Some(OsStr::new("xml")));
    files.sort();
    if files.is_empty() {
        return Err(io::Error::new(io::ErrorKind::NotFound, "the directory has no documents (*.xml)"));
    }
    let mut counts = ComparedDocuments::default();
    for file in files {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let text = fs::read_to_string(&file)?;
        let text = FORMER.iter().fold(text, |text, (new, former)| text.replace(new, former));
        let copy = work.join(&name);
        fs::write(&copy, text)?;
        if super::ours(simulator, &copy, &["--crm-simulate-format"])?.status.code() == Some(1) {
            counts.left_out += 1;
            continue;
        }
        // With guest nodes, hplace refuses the graph.
        let has_graph = super::ours(simulator, &copy, &["--dot"])?.status.code() != Some(1);
        match compare(simulator, &copy, if has_graph { By::Order } else { By::Summary })? {
            Verdict::Same { .. } => counts.same += 1,
            Verdict::OtherNumbers => counts.other_numbers += 1,
            Verdict::OrderDependent => counts.order_dependent += 1,
            Verdict::Refused | Verdict::Aborted => counts.left_out += 1,
            Verdict::Different(text) => counts.different.push(format!("{name}\n{text}")),
        }
    }
    Ok(counts)
}
