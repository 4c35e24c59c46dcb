//! Reading the cluster that the options name.

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, bail, ensure};

use crate::input::compressed::unpack;
use crate::input::local::read_limited;
use crate::model::shown::printable;
use crate::placement::cib;
use crate::placement::working_set::{Outside, WorkingSet};
use crate::tools::options::PlacementOptions;
use crate::tools::output::Output;

/// Most bytes of a CIB.
const SIZE: u64 = 100 << 20;
/// What asks a live cluster.
const ASK: &str = "cibadmin";

/// Reads the cluster. What is outside is named on standard error.
///
/// # Errors
/// It cannot be read, or something in it is outside and is not to be skipped.
pub(super) fn load(options: &PlacementOptions, output: &mut Output) -> anyhow::Result<WorkingSet> {
    let set = match (&options.file, options.live) {
        (Some(_), true) => bail!("only one of -x and --live can be given"),
        (None, false) => bail!("no cluster is named: -x FILE, or --live"),
        (Some(file), false) => read(file)?,
        (None, true) => ask()?,
    };
    for outside in &set.outside {
        output.error_line(&format!("Unsupported: {}", shown(outside)))?;
    }
    ensure!(
        set.outside.is_empty() || options.skip_unsupported,
        "the cluster has what this tool does not know; --skip-unsupported leaves it as it is"
    );
    Ok(set)
}

fn shown(outside: &Outside) -> String {
    let id = if outside.id.is_empty() { String::new() } else { format!(" '{}'", printable(&outside.id, 60)) };
    format!("{}{id}: {}", printable(&outside.element, 60), outside.reason)
}

fn read(file: &Path) -> anyhow::Result<WorkingSet> {
    let bytes = match file == Path::new("-") {
        true => read_limited(std::io::stdin().lock(), SIZE).context("cannot read standard input")?,
        false => File::open(file)
            .and_then(|file| read_limited(file, SIZE))
            .with_context(|| format!("cannot read file '{}'", printable(&file.to_string_lossy(), 200)))?,
    };
    let source = file.to_string_lossy();
    Ok(cib::parse(&unpack(bytes, &source, SIZE)?, &source)?)
}

/// Asks the cluster of this node.
fn ask() -> anyhow::Result<WorkingSet> {
    let mut asked = Command::new(ASK)
        .arg("-Q")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot run {ASK}"))?;
    let answer = asked.stdout.take().map(|answer| read_limited(answer, SIZE));
    let status = asked.wait().with_context(|| format!("cannot run {ASK}"))?;
    ensure!(status.success(), "{ASK} -Q failed ({status})");
    let bytes = answer.transpose().with_context(|| format!("cannot read what {ASK} says"))?;
    Ok(cib::parse(&unpack(bytes.unwrap_or_default(), ASK, SIZE)?, ASK)?)
}
