//! `hplace --strategy affinity`: machines are placed by their keys.

use anyhow::{Context, bail, ensure};

use super::cluster::opened;
use super::run::no_forms_but;
use crate::execute::pacemaker::SIZE;
use crate::input::encoding::decode;
use crate::input::local::read_limited;
use crate::placement::affinity::{ChoiceDetail, document, misplaced, place_all};
use crate::report::json;
use crate::report::placement::affinity::AffinityResult;
use crate::tools::ExitStatus;
use crate::tools::options::{Options, PlacementCommand, PlacementOptions};
use crate::tools::output::Output;

/// Whether the options are about keys.
pub(super) fn is_asked(options: &Options) -> bool {
    options.affinity.asked || options.affinity.file.is_some()
}

/// Refuses options about keys where nothing is placed by them.
///
/// # Errors
/// Such an option.
pub(super) fn check_not_asked(options: &Options) -> anyhow::Result<()> {
    match options.affinity.stray() {
        Some(name) => bail!("option {name} means nothing without --strategy affinity"),
        None => Ok(()),
    }
}

/// Places the machines of a document.
///
/// # Errors
/// It cannot be read, or options do not go together.
pub(super) fn run(all: &Options, output: &mut Output) -> anyhow::Result<ExitStatus> {
    let (choices, placement) = (&all.affinity, &all.placement);
    let Some(file) = &choices.file else {
        bail!("the strategy 'affinity' needs a document with keys: -j FILE")
    };
    check(all, placement)?;
    let (document, source) = opened(file)?;
    let unreadable = || format!("cannot read file '{source}'");
    let bytes = read_limited(document, SIZE).with_context(unreadable)?;
    let (mut fleet, warnings) = document::parse(decode(&bytes, &source)?, &source)?;
    warnings.iter().try_for_each(|line| output.error_line(line))?;
    fleet.options = choices.over(&fleet.options).map_err(anyhow::Error::msg)?;
    let placed = place_all(&fleet, choices.order.unwrap_or_default(), ChoiceDetail::Terms);
    let elsewhere = choices.verify.then(|| misplaced(&fleet));
    let result = AffinityResult { fleet: &fleet, choices: &placed, misplaced: elsewhere.as_deref() };
    match all.json {
        true => output.write(&json::text(&result.document())?)?,
        false => result.lines(placement.explain).iter().try_for_each(|line| output.line(line))?,
    }
    output.flush()?;
    Ok(if result.is_good() { ExitStatus::Success } else { ExitStatus::Unplaced })
}

fn check(all: &Options, placement: &PlacementOptions) -> anyhow::Result<()> {
    ensure!(placement.command == PlacementCommand::Place, "this is not known of placement by keys");
    ensure!(placement.method.is_none(), "a document with keys is placed by the strategy 'affinity' only");
    ensure!(
        placement.file.is_none() && !placement.live && all.load.source == Default::default(),
        "only one cluster can be named: -j stands alone"
    );
    ensure!(!all.execution.exec && placement.now.is_none(), "--exec and --now are for Pacemaker clusters");
    no_forms_but(placement, "--explain", "placement by keys")
}
