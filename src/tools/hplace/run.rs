//! The flow of hplace: read, place, show.

use anyhow::{anyhow, bail};

use super::best;
use super::carry;
use super::cluster::load;
use super::report;
use super::{HplaceOptions, PlacementCommand};
use crate::load::lookup::hint;
use crate::model::shown::shown_name;
use crate::pacemaker::why::PlacementExplainer;
use crate::pacemaker::{
    AllPlaced, ResourceIdx, Strategy, Transition, UnsearchedNode, WorkingSet, transition,
};
use crate::report::form::json;
use crate::report::pacemaker::{
    crm_simulate, json as documents, normalized, text, transition as graphs, why as words,
};
use crate::tools::ExitStatus;
use crate::tools::hint::WithHint;
use crate::tools::output::Output;

/// Places the resources, then prints the result or carries it out.
pub(super) fn run(options: &HplaceOptions, output: &mut Output) -> anyhow::Result<ExitStatus> {
    let as_json = options.output.json;
    options.only_one_form()?;
    carry::check(options)?;
    best::check(options)?;
    if carry::is_asked(options) {
        let cib = options.read_cib(output)?;
        let (strategy, placed) = best::placed(&cib.set, options)?;
        if options.output.report.is_some() {
            let plan = transition(&cib.set, strategy, &placed);
            report::write(options, &cib.set, strategy, &placed, &plan)?;
        }
        return carry::bring(options, &cib, strategy, &placed, output);
    }
    let set = &load(options, output)?;
    if options.forms.show_normalized {
        output.write(&json::text(&normalized::document(set))?)?;
        output.flush()?;
        return Ok(ExitStatus::Success);
    }
    let asked = asked(set, options)?;
    let (strategy, placed) = best::placed(set, options)?;
    let plan = transition(set, strategy, &placed);
    check_order(options, set, &plan)?;
    report::write(options, set, strategy, &placed, &plan)?;
    if as_json && options.forms.transition {
        output.write(&json::text(&documents::document_with_plan(set, strategy, &placed, &plan)?)?)?;
    } else if as_json {
        output.write(&json::text(&documents::document(set, strategy, &placed, &plan.changes)?)?)?;
    } else if options.forms.crm_simulate_format {
        crm_simulate::each_line(set, &placed, |line| output.line(line))?;
    } else if options.forms.dot {
        output.write(&graphs::dot(set, &plan))?;
    } else if options.forms.transition_xml {
        output.write(&graphs::xml(set, &plan))?;
    } else {
        let mut lines = lines(set, strategy, &placed, &plan, options, &asked)?;
        if options.forms.transition {
            lines.push(String::new());
            lines.extend(graphs::lines(set, &plan));
        }
        lines.iter().try_for_each(|line| output.line(line))?;
    }
    output.flush()?;
    if options.forms.crm_simulate_format || options.forms.dot || options.forms.transition_xml {
        // These forms do not list the unplaced resources that cause exit status 2.
        text::unplaced(set, strategy, &placed)?.iter().try_for_each(|line| output.error_line(line))?;
    }
    Ok(status(set, &placed, &plan))
}

/// Refuses to show the order of actions where it is not known: if actions wait in a circle while resources are still to
/// be looked for on a remote node, if one goes to or from a remote node whose connection is stopped, or if instances are
/// managed and their clone is not.
fn check_order(options: &HplaceOptions, set: &WorkingSet, plan: &Transition) -> anyhow::Result<()> {
    let forms = &options.forms;
    if !(forms.transition || forms.dot || forms.transition_xml) {
        return Ok(());
    }
    let name = |resource| shown_name(&set.resource(resource).id);
    let waits_in_circle = plan.stuck().next().is_some();
    let problem = if let Some(UnsearchedNode { node, resource }) =
        set.unsearched().filter(|_| waits_in_circle)
    {
        let node = shown_name(&set.host(node).name);
        format!(
            "actions wait for each other in a circle, and the cluster has not yet looked for resource {} on remote node {node}",
            name(resource)
        )
    } else if let Some(resource) = plan.changes.without_connection(set) {
        format!(
            "resource {} would migrate to or from a remote node whose connection is stopped",
            name(resource)
        )
    } else if let Some(connection) = set.lone_connection() {
        format!("connection {} failed or is lost, while its VM does not run", name(connection))
    } else if let Some((instance, clone)) = plan.changes.without_clone(set) {
        format!(
            "Pacemaker never comes to what is to be done with {}, since its clone {} is not managed",
            name(instance),
            name(clone)
        )
    } else {
        return Ok(());
    };
    Err(anyhow!("the order of actions is not known: {problem}")
        .hint("without the order, hplace shows places and actions"))
}

/// Exit status: [`ExitStatus::Unplaced`] if a resource has no place or stays down, or if actions wait for each other in
/// a circle.
pub(super) fn status(set: &WorkingSet, placed: &AllPlaced, plan: &Transition) -> ExitStatus {
    let are_placed = placed.unplaced(set).next().is_none();
    if are_placed && plan.circles.is_empty() && plan.changes.down(set, placed).is_empty() {
        ExitStatus::Success
    } else {
        ExitStatus::Unplaced
    }
}

/// The resources named after `why`. The name of a clone's primitive stands for all its instances.
fn asked(set: &WorkingSet, options: &HplaceOptions) -> anyhow::Result<Vec<ResourceIdx>> {
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
    options: &HplaceOptions,
    asked: &[ResourceIdx],
) -> anyhow::Result<Vec<String>> {
    let explained = |resources: &mut dyn Iterator<Item = ResourceIdx>| -> anyhow::Result<Vec<String>> {
        let explainer = PlacementExplainer::of(set, strategy, placed)?;
        Ok(resources.flat_map(|resource| words::lines(&explainer, &plan.changes, resource)).collect())
    };
    if !asked.is_empty() {
        return explained(&mut asked.iter().copied());
    }
    let mut lines = text::lines(set, strategy, placed, plan)?;
    if options.forms.reasons {
        lines.push(String::new());
        lines.extend(explained(&mut placed.records.iter().map(|record| record.resource))?);
    }
    Ok(lines)
}
