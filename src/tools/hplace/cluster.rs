//! Reading the cluster that the options name.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, bail, ensure};

use crate::execute::pacemaker::{CibClient, SIZE, Suite};
use crate::input::compressed::unpacked;
use crate::input::encoding::decode;
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
    let set = match named(options)? {
        Some(file) => {
            let (document, source) = opened(file)?;
            cib::read(document, &source)?
        }
        None => cib::parse(&Suite.document()?, ASKED)?,
    };
    accept(&set, options, output)?;
    Ok(set)
}

/// The same with the document.
///
/// # Errors
/// The same.
pub(super) fn read_cib(options: &PlacementOptions, output: &mut Output) -> anyhow::Result<ReadCib> {
    let (text, source) = match named(options)? {
        Some(file) => {
            let (document, source) = opened(file)?;
            let bytes = read_limited(document, SIZE).with_context(|| unreadable(&source))?;
            (decode(&bytes, &source)?.to_owned(), source)
        }
        None => (Suite.document()?, ASKED.to_owned()),
    };
    let set = cib::parse(&text, &source)?;
    accept(&set, options, output)?;
    Ok(ReadCib { text, source, set })
}

/// The file that is named; none: the live cluster is.
fn named(options: &PlacementOptions) -> anyhow::Result<Option<&Path>> {
    match (&options.file, options.live) {
        (Some(_), true) => bail!("only one of -x and --live can be given"),
        (None, false) => bail!("no cluster is named: -x FILE, or --live"),
        (file, _) => Ok(file.as_deref()),
    }
}

/// What a file says, and what it is called in messages.
fn opened(file: &Path) -> anyhow::Result<(Box<dyn Read>, String)> {
    if file == Path::new("-") {
        let source = "standard input".to_owned();
        let document = unpacked(std::io::stdin(), SIZE).with_context(|| unreadable(&source))?;
        return Ok((document, source));
    }
    let source = file.to_string_lossy().into_owned();
    let document = File::open(file).and_then(|file| unpacked(file, SIZE));
    Ok((document.with_context(|| unreadable(&source))?, source))
}

fn unreadable(source: &str) -> String {
    format!("cannot read file '{}'", printable(source, 200))
}

/// Names what is outside, and takes the cluster if that is to be skipped.
fn accept(set: &WorkingSet, options: &PlacementOptions, output: &mut Output) -> anyhow::Result<()> {
    for outside in &set.outside {
        output.error_line(&format!("Unsupported: {}", shown(outside)))?;
    }
    ensure!(
        set.outside.is_empty() || options.skip_unsupported,
        "the cluster has what this tool does not know; --skip-unsupported leaves it as it is"
    );
    Ok(())
}

fn shown(outside: &Outside) -> String {
    let id = if outside.id.is_empty() { String::new() } else { format!(" '{}'", printable(&outside.id, 60)) };
    format!("{}{id}: {}", printable(&outside.element, 60), outside.reason)
}
