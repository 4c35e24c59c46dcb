//! Reading the cluster that the options name.

use std::fs::File;
use std::path::Path;

use anyhow::{Context, bail, ensure};

use crate::execute::pacemaker::{CibClient, SIZE, Suite};
use crate::input::compressed::unpack;
use crate::input::local::read_limited;
use crate::model::shown::printable;
use crate::placement::cib;
use crate::placement::working_set::{Outside, WorkingSet};
use crate::tools::options::PlacementOptions;
use crate::tools::output::Output;

/// Where the document of a live cluster is from, for messages.
const ASKED: &str = "cibadmin";

/// A cluster with its document.
pub(super) struct ReadCib {
    /// The document.
    pub text: String,
    /// Where it is from, for messages.
    pub source: String,
    /// What it says.
    pub set: WorkingSet,
}

/// Reads the cluster. What is outside is named on standard error.
///
/// # Errors
/// It cannot be read, or something in it is outside and is not to be skipped.
pub(super) fn load(options: &PlacementOptions, output: &mut Output) -> anyhow::Result<WorkingSet> {
    Ok(read_cib(options, output)?.set)
}

/// The same with the document.
///
/// # Errors
/// The same.
pub(super) fn read_cib(options: &PlacementOptions, output: &mut Output) -> anyhow::Result<ReadCib> {
    let (text, source) = match (&options.file, options.live) {
        (Some(_), true) => bail!("only one of -x and --live can be given"),
        (None, false) => bail!("no cluster is named: -x FILE, or --live"),
        (Some(file), false) => read(file)?,
        (None, true) => (Suite.document()?, ASKED.to_owned()),
    };
    let set = cib::parse(&text, &source)?;
    for outside in &set.outside {
        output.error_line(&format!("Unsupported: {}", shown(outside)))?;
    }
    ensure!(
        set.outside.is_empty() || options.skip_unsupported,
        "the cluster has what this tool does not know; --skip-unsupported leaves it as it is"
    );
    Ok(ReadCib { text, source, set })
}

fn shown(outside: &Outside) -> String {
    let id = if outside.id.is_empty() { String::new() } else { format!(" '{}'", printable(&outside.id, 60)) };
    format!("{}{id}: {}", printable(&outside.element, 60), outside.reason)
}

/// The text of a file, and what it is called in messages.
fn read(file: &Path) -> anyhow::Result<(String, String)> {
    let bytes = match file == Path::new("-") {
        true => read_limited(std::io::stdin().lock(), SIZE).context("cannot read standard input")?,
        false => File::open(file)
            .and_then(|file| read_limited(file, SIZE))
            .with_context(|| format!("cannot read file '{}'", printable(&file.to_string_lossy(), 200)))?,
    };
    let source = file.to_string_lossy().into_owned();
    Ok((unpack(bytes, &source, SIZE)?, source))
}
