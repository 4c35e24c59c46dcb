//! `hplace lint` lists likely mistakes in the configuration of a Pacemaker cluster.

use super::HplaceOptions;
use crate::pacemaker::lint::lint;
use crate::report::form::json;
use crate::report::pacemaker::lint::{LintDocument, lines};
use crate::tools::ExitStatus;
use crate::tools::cli::hint::did_you_mean;
use crate::tools::output::Output;

pub(super) fn run(options: &HplaceOptions, output: &mut Output) -> anyhow::Result<ExitStatus> {
    let (text, source) = options.read_text()?;
    let findings = lint(&text, &source, &|name, known| did_you_mean(name, known.iter().copied()))?;
    if options.output.json {
        output.write(&json::text(&LintDocument::of(&findings))?)?
    } else {
        lines(&findings).iter().try_for_each(|line| output.line(line))?
    }
    output.flush()?;
    Ok(if findings.is_empty() { ExitStatus::Success } else { ExitStatus::Unplaced })
}
