//! `hplace lint`: what is very likely not meant.

use anyhow::{bail, ensure};

use super::cluster::read_text;
use super::run::forms;
use crate::placement::lint::lint;
use crate::report::json;
use crate::report::placement::lint::{LintDocument, lines};
use crate::tools::ExitStatus;
use crate::tools::cli::hint::did_you_mean;
use crate::tools::options::Options;
use crate::tools::output::Output;

/// Looks a cluster through.
pub(super) fn run(options: &Options, output: &mut Output) -> anyhow::Result<ExitStatus> {
    let (alone, others) = forms(&options.placement);
    if let Some((_, name)) = alone.iter().chain(&others).find(|(given, _)| *given) {
        bail!("option {name} means nothing to 'hplace lint'");
    }
    ensure!(
        options.placement.method.is_none(),
        "the rules look at the cluster's own strategy: --strategy cannot be given"
    );
    ensure!(!options.execution.exec, "option --exec means nothing to 'hplace lint'");
    let (text, source) = read_text(options)?;
    let findings = lint(&text, &source, &|name, known| did_you_mean(name, known.iter().copied()))?;
    match options.json {
        true => output.write(&json::text(&LintDocument::of(&findings))?)?,
        false => lines(&findings).iter().try_for_each(|line| output.line(line))?,
    }
    output.flush()?;
    Ok(if findings.is_empty() { ExitStatus::Success } else { ExitStatus::Unplaced })
}
