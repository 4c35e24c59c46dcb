//! The flow of hplace: read, place, show.

use anyhow::bail;

use super::best;
use super::carry;
use super::cluster::{load_with, read_cib};
use crate::load::lookup::hint;
use crate::model::shown::shown_name;
use crate::pacemaker::cib::GuestReading;
use crate::pacemaker::why::Grounds;
use crate::pacemaker::{
    AllPlaced, PlacementMethod, ResourceIdx, Strategy, Transition, WorkingSet, transition,
};
use crate::report::json;
use crate::report::pacemaker::{crm_simulate, json as documents, text, transition as graphs, why as words};
use crate::tools::ExitStatus;
use crate::tools::options::{Options, PlacementCommand, PlacementOptions};
use crate::tools::output::Output;

/// Does what the options ask for.
pub(super) fn run(all: &Options, output: &mut Output) -> anyhow::Result<ExitStatus> {
    let (options, as_json) = (&all.placement, all.json);
    only_one_form(options, as_json)?;
    carry::check(all)?;
    best::check(all)?;
    if carry::is_asked(all) {
        let cib = read_cib(all, output)?;
        let (strategy, placed) = best::placed(&cib.set, all)?;
        return carry::bring(all, &cib, strategy, &placed, output);
    }
    let set = &load_with(all, guests(options), output)?;
    if options.show_normalized {
        output.write(&json::text(&documents::normalized(set))?)?;
        output.flush()?;
        return Ok(ExitStatus::Success);
    }
    let asked = asked(set, options)?;
    let (strategy, placed) = best::placed(set, all)?;
    let plan = transition(set, strategy, &placed);
    match () {
        () if as_json && options.transition => {
            output.write(&json::text(&documents::document_with_plan(set, strategy, &placed, &plan)?)?)?;
        }
        () if as_json => {
            output.write(&json::text(&documents::document(set, strategy, &placed, &plan.changes)?)?)?;
        }
        () if options.crm_simulate_format => {
            crm_simulate::each_line(set, &placed, |line| output.line(line))?;
        }
        () if options.dot => output.write(&graphs::dot(set, &plan))?,
        () if options.transition_xml => output.write(&graphs::xml(set, &plan))?,
        () => {
            let mut lines = lines(set, strategy, &placed, &plan, options, &asked)?;
            if options.transition {
                lines.push(String::new());
                lines.extend(graphs::lines(set, &plan));
            }
            lines.iter().try_for_each(|line| output.line(line))?;
        }
    }
    output.flush()?;
    if options.crm_simulate_format || options.dot || options.transition_xml {
        // these forms do not tell what the status is about
        text::unplaced(set, strategy, &placed)?.iter().try_for_each(|line| output.error_line(line))?;
    }
    Ok(status(set, &placed, &plan))
}

/// What becomes of guest nodes: placing them and what runs there is known, what is done then, and in which order, is not.
fn guests(options: &PlacementOptions) -> GuestReading {
    let graph = options.transition || options.dot || options.transition_xml;
    match () {
        () if graph || options.show_normalized => GuestReading::Outside,
        () if options.method == Some(PlacementMethod::Optimal) => GuestReading::Outside,
        () if options.skip_unsupported => GuestReading::IfAllIsKnown,
        () => GuestReading::Followed,
    }
}

/// Whether anything that should run has no place, or does not run in the end, or Pacemaker never gets there.
pub(super) fn status(set: &WorkingSet, placed: &AllPlaced, plan: &Transition) -> ExitStatus {
    let are_placed = placed.unplaced(set).next().is_none();
    match are_placed && plan.circles.is_empty() && plan.changes.down(set, placed).is_empty() {
        true => ExitStatus::Success,
        false => ExitStatus::Unplaced,
    }
}

/// A form in which a placement can be shown: whether it is wanted, and its option.
type PlacementForm = (bool, &'static str);

/// The forms in which nothing but a placement can be shown: those that are printed alone, and those that go with others.
pub(super) fn forms(options: &PlacementOptions) -> ([PlacementForm; 5], [PlacementForm; 2]) {
    let alone = [
        (options.crm_simulate_format, "--crm-simulate-format"),
        (options.show_normalized, "--show-normalized"),
        (options.dot, "--dot"),
        (options.transition_xml, "--transition-xml"),
        (options.commands.is_some(), "--commands"),
    ];
    (alone, [(options.transition, "--transition"), (options.explain, "--explain")])
}

/// Refuses the forms of a placement where no placement is shown; `what` is shown there.
pub(super) fn no_forms(options: &PlacementOptions, what: &str) -> anyhow::Result<()> {
    no_forms_but(options, &[], what)
}

/// The same, but for the forms of some options.
pub(super) fn no_forms_but(options: &PlacementOptions, known: &[&str], what: &str) -> anyhow::Result<()> {
    let (alone, others) = forms(options);
    match alone.iter().chain(&others).find(|(given, name)| *given && !known.contains(name)) {
        Some((_, name)) => bail!("option {name} means nothing to {what}"),
        None => Ok(()),
    }
}

/// Some forms are printed alone.
pub(super) fn only_one_form(options: &PlacementOptions, as_json: bool) -> anyhow::Result<()> {
    let (alone, others) = forms(options);
    let json = [(as_json, "--json")];
    let why = [(matches!(options.command, PlacementCommand::Why(_)), "why")];
    let mut given = alone
        .iter()
        .chain(&json)
        .chain(&others)
        .chain(&why)
        .filter(|(given, _)| *given)
        .map(|(_, name)| name);
    if let (true, Some(one), Some(other)) =
        (alone.iter().any(|(given, _)| *given), given.next(), given.next())
    {
        bail!("only one of {one} and {other} can be given");
    }
    Ok(())
}

/// The resources that the words behind `why` mean. What a clone is made of is known by its instances.
fn asked(set: &WorkingSet, options: &PlacementOptions) -> anyhow::Result<Vec<ResourceIdx>> {
    let mut asked = Vec::new();
    let PlacementCommand::Why(names) = &options.command else { return Ok(asked) };
    for name in names {
        let before = asked.len();
        asked.extend(set.resource_indices().find(|one| set.resource(*one).id == *name));
        if asked.len() == before {
            asked.extend(set.resource_indices().filter(|one| set.common_name(*one) == name));
        }
        if asked.len() == before {
            let hint = hint(name, set.resource_indices().map(|one| set.resource(one).id.as_str()));
            bail!("there is no resource '{}'{hint}", shown_name(name));
        }
    }
    Ok(asked)
}

fn lines(
    set: &WorkingSet,
    strategy: Strategy,
    placed: &AllPlaced,
    plan: &Transition,
    options: &PlacementOptions,
    asked: &[ResourceIdx],
) -> anyhow::Result<Vec<String>> {
    let explained = |resources: &mut dyn Iterator<Item = ResourceIdx>| -> anyhow::Result<Vec<String>> {
        let grounds = Grounds::of(set, strategy, placed)?;
        Ok(resources.flat_map(|resource| words::lines(&grounds, &plan.changes, resource)).collect())
    };
    if !asked.is_empty() {
        return explained(&mut asked.iter().copied());
    }
    let mut lines = text::lines(set, strategy, placed, plan)?;
    if options.explain {
        lines.push(String::new());
        lines.extend(explained(&mut placed.records.iter().map(|record| record.resource))?);
    }
    Ok(lines)
}
