//! `hplace survive` and `hplace fit`: the effects of losing nodes, and the room for more resources.

use anyhow::{Context, anyhow, bail, ensure};

use super::HplaceOptions;
use super::cluster::{ReadCib, ensure_quorum, load};
use crate::model::shown::shown_name;
use crate::pacemaker::fit::FitQuestion;
use crate::pacemaker::loss::{losses, restless};
use crate::pacemaker::{AllocationScore, Capacities, Strategy, WorkingSet, at_rest, place};
use crate::report::form::json;
use crate::report::pacemaker::fit::FitResult;
use crate::report::pacemaker::survive::{SurvivalResult, least_priority};
use crate::tools::ExitStatus;
use crate::tools::cli::hint::did_you_mean;
use crate::tools::hint::WithHint;
use crate::tools::output::Output;

/// Default number of losses shown.
const TOP: usize = 10;

/// Shows the effects of losing each node, or each pair of nodes.
pub(super) fn survive(options: &HplaceOptions, output: &mut Output) -> anyhow::Result<ExitStatus> {
    let (settled, strategy) = settled(options, output)?;
    let at_once = options.nodes_lost.unwrap_or(1);
    let losses = losses(&settled, strategy, at_once)?;
    let least = options.least_priority.map_or_else(|| least_priority(&settled), AllocationScore::of);
    let result = SurvivalResult { settled: &settled, strategy, at_once, losses: &losses, least };
    if options.output.json {
        output.write(&json::text(&result.document())?)?
    } else {
        let lines = result.lines(options.top.unwrap_or(TOP))?;
        lines.iter().try_for_each(|line| output.line(line))?;
    }
    output.flush()?;
    Ok(if result.survives() { ExitStatus::Success } else { ExitStatus::Unplaced })
}

/// Shows how many more resources of a size fit.
pub(super) fn fit(
    options: &HplaceOptions,
    size: &[String],
    output: &mut Output,
) -> anyhow::Result<ExitStatus> {
    let (settled, strategy) = settled(options, output)?;
    ensure!(
        strategy != Strategy::Default,
        anyhow!("the strategy 'default' ignores capacities, so any number of resources fits")
            .hint("choose another strategy with --strategy")
    );
    ensure!(
        settled.symmetric,
        "the allowed nodes of a new resource are unknown: not every resource may run on every node (symmetric-cluster=false; node groups or local disks of Ganeti)"
    );
    let question = FitQuestion { size: parse_size(&settled, size)?, survive: options.kept_reserve };
    let more = question.answer(&settled, strategy)?;
    let result = FitResult { settled: &settled, strategy, question: &question, more: &more };
    if options.output.json {
        output.write(&json::text(&result.document())?)?
    } else {
        result.lines().iter().try_for_each(|line| output.line(line))?
    }
    output.flush()?;
    Ok(if more.count > 0 { ExitStatus::Success } else { ExitStatus::Unplaced })
}

/// The cluster after its pending actions, and the strategy by which it is placed.
fn settled(options: &HplaceOptions, output: &mut Output) -> anyhow::Result<(WorkingSet, Strategy)> {
    let (set, document) = if options.load.source.is_named() {
        (load(options, output)?, None)
    } else {
        let ReadCib { text, source, set } = options.read_cib(output)?;
        let is_read_anew = set.has_guests_or_bundles();
        (set, is_read_anew.then_some((text, source)))
    };
    ensure_quorum(&set)?;
    let method = options.method.unwrap_or(set.strategy().into());
    let strategy = method
        .strategy()
        .context(
            "option --strategy optimal does not apply here, because Pacemaker itself places the resources",
        )
        .hint("choose one of Pacemaker's strategies")?;
    if let Some((text, source)) = document {
        let settled = at_rest(&text, &source, strategy)?;
        let settled = settled.context("the cluster does not come to rest by its pending actions")?;
        return Ok((settled, strategy));
    }
    let settled = set.settled(strategy, &place(&set, strategy)?);
    if let Some(clone) = restless(&settled, strategy)? {
        bail!(
            "the instances of the promotable clone {} do not come to rest: after its pending actions, \
             Pacemaker changes their places or roles again",
            shown_name(&settled.resource(clone).id)
        );
    }
    Ok((settled, strategy))
}

/// Parses a size such as `cpu=2,memory=4096`.
fn parse_size(set: &WorkingSet, words: &[String]) -> anyhow::Result<Capacities> {
    let mut size = Capacities::default();
    for part in words.iter().flat_map(|word| word.split(',')) {
        let shown = shown_name(part);
        let (name, amount) = part.split_once('=').with_context(|| format!("'{shown}' is not NAME=AMOUNT"))?;
        let kinds = || set.attribute_indices().map(|kind| set.attributes[kind.get()].as_str());
        let Some(kind) = set.attribute_indices().find(|kind| set.attributes[kind.get()] == name) else {
            bail!("no node has a capacity '{}'{}", shown_name(name), did_you_mean(name, kinds()));
        };
        let amount: i64 = amount
            .parse()
            .ok()
            .filter(|amount| *amount > 0)
            .with_context(|| format!("'{shown}': the amount is not a whole number above 0"))?;
        ensure!(size.get(kind) == 0, "'{}' is given twice", shown_name(name));
        size.set(kind, amount);
    }
    Ok(size)
}
