//! What the options of `hscan` mean.

use std::ffi::OsString;
use std::path::PathBuf;

use super::{LoadOptions, node_fields};
use crate::tools::cli::{Given, ValueError};

/// What `hscan` is asked to do.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HscanOptions {
    /// Completing the clusters.
    pub load: LoadOptions,
    /// The addresses of the clusters; none: the local one.
    pub clusters: Vec<OsString>,
    /// `-p`: the fields as typed; empty for the usual ones.
    pub print_nodes: Option<String>,
    /// `-d`; empty: the current directory.
    pub directory: PathBuf,
    pub no_headers: bool,
    pub anonymise: bool,
}

impl HscanOptions {
    /// Takes an option; false if it means nothing to this tool.
    pub fn apply(&mut self, given: &Given) -> Result<bool, ValueError> {
        match given.option.long {
            "print-nodes" => self.print_nodes = Some(node_fields(given)?),
            "output-dir" => self.directory = given.path().unwrap_or_default(),
            "no-headers" => self.no_headers = true,
            "anonymise" => self.anonymise = true,
            _ => return self.load.apply(given),
        }
        Ok(true)
    }
}
