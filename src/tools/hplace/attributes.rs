//! `hplace --strategy affinity` on a Pacemaker cluster, whose attributes hold the keys.

use std::collections::HashMap;

use anyhow::{anyhow, ensure};

use super::HplaceOptions;
use super::affinity::{status, tell};
use crate::affinity::{ChoiceDetail, PacemakerFleet, fleet_of_set, place_all};
use crate::model::shown::{printable, shown_name};
use crate::pacemaker::cib::change::CibChange;
use crate::pacemaker::pinning::pin_running;
use crate::pacemaker::quantity::MeasuredCapacity;
use crate::report::pacemaker::commands;
use crate::tools::ExitStatus;
use crate::tools::hint::WithHint;
use crate::tools::output::Output;

/// Most characters of a warning about an attribute.
const WARNING: usize = 300;

/// Places the machines that should run but do not, and those that must leave their node.
///
/// # Errors
/// Fails if the document cannot be read, or if options conflict.
pub(super) fn run(options: &HplaceOptions, output: &mut Output) -> anyhow::Result<ExitStatus> {
    let commands = options.cib.commands;
    ensure!(
        commands.is_none() || !(options.output.json || options.affinity.verify || options.forms.reasons),
        "option --commands cannot be given with --json, --verify or --with-reasons"
    );
    let cib = options.read_cib(output)?;
    let mut read = fleet_of_set(&cib.set);
    for fault in &read.faults {
        output.error_line(&format!("Warning: {}", printable(&fault.to_string(), WARNING)))?;
    }
    say_figures(&read, output)?;
    if cib.set.frozen {
        output.error_line(
            "Warning: fencing is enabled but there is no fencing device, so Pacemaker starts no resources",
        )?;
    }
    read.fleet.missing_key_lines().iter().try_for_each(|line| output.error_line(line))?;
    read.fleet.options = options.affinity.over(&read.fleet.options).map_err(anyhow::Error::msg)?;
    let is_good = match commands {
        Some(form) => {
            let order = options.affinity.order.unwrap_or_default();
            let choices = place_all(&read.fleet, order, ChoiceDetail::Scores);
            let nodes: HashMap<usize, Option<usize>> =
                choices.iter().map(|choice| (choice.machine, choice.node)).collect();
            for choice in choices.iter().filter(|choice| choice.node.is_none()) {
                let name = shown_name(&read.fleet.machines[choice.machine].name);
                output.error_line(&format!(
                    "Warning: the keys of {name} allow no node, but Pacemaker may still start it"
                ))?;
            }
            let pinning = pin_running(&cib.text, &cib.source, read.hosts(&cib.set, &nodes))?;
            let lines = commands::lines(form, &CibChange::Pin(pinning.pins))?;
            lines.iter().try_for_each(|line| output.line(line))?;
            nodes.values().all(Option::is_some)
        }
        None => tell(options, &read.fleet, output)?.is_good,
    };
    output.flush()?;
    Ok(status(is_good))
}

/// Prints which utilization attributes count as memory and processors, and that the load of nodes is taken as 0.
fn say_figures(read: &PacemakerFleet, output: &mut Output) -> anyhow::Result<()> {
    let Some(memory) = &read.memory else {
        let names = MeasuredCapacity::Memory.names().join(", ");
        return Err(anyhow!("the memory of nodes is unknown, which placement by keys needs")
            .hint(format!("give the nodes a utilization attribute with one of the names {names}")));
    };
    let processors = match &read.processors {
        Some(name) => format!("processors are '{}'", shown_name(name)),
        None => "there are no processors".to_owned(),
    };
    output.error_line(&format!(
        "Of the utilization, memory is '{}' and {processors}; missing values and the load of nodes count as 0",
        shown_name(memory)
    ))?;
    Ok(())
}
