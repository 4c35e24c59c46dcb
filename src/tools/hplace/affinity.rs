//! `hplace --strategy affinity` places machines by their affinity keys.

use std::path::Path;

use anyhow::{Context, anyhow, bail, ensure};

use super::attributes;
use super::cluster::NAME_CLUSTER;
use super::cluster::opened;
use super::{HplaceOptions, PlacementCommand};
use crate::affinity::{
    ChoiceDetail, Fleet, FleetFigures, Misplaced, document, fleet_of, misplaced, place_all,
};
use crate::input::encoding::decode;
use crate::input::local::read_limited;
use crate::load::merge::apply_node_options;
use crate::load::tag_review::idle_tags;
use crate::model::Cluster;
use crate::model::known_tags::KEY;
use crate::model::shown::printable;
use crate::pacemaker::execute::SIZE;
use crate::report::check::problems::tag_text;
use crate::report::form::json;
use crate::report::pacemaker::affinity::AffinityResult;
use crate::tools::hint::WithHint;
use crate::tools::output::Output;
use crate::tools::{ExitStatus, source};

/// Maximum length of a tag in a warning, in characters.
const WARNING: usize = 300;

/// Tells if the options ask for placement by affinity keys.
pub(super) fn is_asked(options: &HplaceOptions) -> bool {
    options.affinity.asked || options.affinity.file.is_some()
}

/// Refuses options for a plan if none is made.
fn no_plan(options: &HplaceOptions) -> anyhow::Result<()> {
    options.output.refuse(&["print-plan", "save-plan"], "needs --plan")
}

/// Places the machines of a document or cluster that have no node.
///
/// # Errors
/// Fails if the input cannot be read, or if options conflict.
pub(super) fn run(options: &HplaceOptions, output: &mut Output) -> anyhow::Result<ExitStatus> {
    let choices = &options.affinity;
    check(options)?;
    if options.cib.is_named() {
        return attributes::run(options, output);
    }
    let mut fleet = match &choices.file {
        Some(file) => of_document(file, output)?,
        None => of_cluster(options, source::load(&options.load, output)?, output)?.1,
    };
    fleet.options = choices.over(&fleet.options).map_err(anyhow::Error::msg)?;
    let is_good = tell(options, &fleet, output)?.is_good;
    output.flush()?;
    Ok(status(is_good))
}

/// Exit status of a placement by keys.
pub(super) fn status(is_good: bool) -> ExitStatus {
    if is_good { ExitStatus::Success } else { ExitStatus::Unplaced }
}

/// Result of a placement by keys.
pub(super) struct FleetOutcome {
    /// True if every machine has a node and, with `--verify`, none is misplaced.
    pub(super) is_good: bool,
    /// Machines that would be started elsewhere today; `None` without `--verify`.
    pub(super) misplaced: Option<Vec<Misplaced>>,
}

/// Places the machines of a fleet and prints where they go.
pub(super) fn tell(
    options: &HplaceOptions,
    fleet: &Fleet,
    output: &mut Output,
) -> anyhow::Result<FleetOutcome> {
    let choices = &options.affinity;
    let placed = place_all(fleet, choices.order.unwrap_or_default(), ChoiceDetail::Terms);
    let elsewhere = choices.verify.then(|| misplaced(fleet));
    let result = AffinityResult { fleet, choices: &placed, misplaced: elsewhere.as_deref() };
    if options.output.json {
        output.write(&json::text(&result.document())?)?;
    } else if !options.execution.prints_document() {
        result.lines(options.forms.reasons).iter().try_for_each(|line| output.line(line))?;
    }
    let is_good = result.is_good();
    Ok(FleetOutcome { is_good, misplaced: elsewhere })
}

fn of_document(file: &Path, output: &mut Output) -> anyhow::Result<Fleet> {
    let (document, source) = opened(file)?;
    let unreadable = || format!("cannot read file '{source}'");
    let bytes = read_limited(document, SIZE).with_context(unreadable)?;
    let (fleet, warnings) = document::parse(decode(&bytes, &source)?, &source)?;
    warnings.iter().try_for_each(|line| output.error_line(line))?;
    Ok(fleet)
}

/// Applies the node options to a Ganeti cluster; also returns its nodes and machines as a fleet.
pub(super) fn of_cluster(
    options: &HplaceOptions,
    mut cluster: Cluster,
    output: &mut Output,
) -> anyhow::Result<(Cluster, Fleet)> {
    apply_node_options(&mut cluster, &options.load.nodes)?;
    warn_of_tags(&cluster, output)?;
    let is_load_known = options.load.utilisation.is_some();
    // A simulation never knows loads, so it needs no warning.
    if !is_load_known && options.command == PlacementCommand::Place {
        output.error_lines([
            "Warning: the load of nodes is unknown and counts as 0",
            "Hint: -U FILE gives it",
        ])?;
    }
    let fleet = fleet_of(
        &cluster,
        FleetFigures { ram_ratio: options.affinity.ram_ratio.unwrap_or(1.0), is_load_known },
    );
    fleet.missing_key_lines().iter().try_for_each(|line| output.error_line(line))?;
    Ok((cluster, fleet))
}

/// Warns of tags that begin as affinity keys do but have no effect.
fn warn_of_tags(cluster: &Cluster, output: &mut Output) -> anyhow::Result<()> {
    let of_keys = idle_tags(cluster).into_iter().filter(|idle| idle.tag.starts_with(KEY));
    for idle in of_keys {
        output.error_line(&format!("Warning: tag {}", printable(&tag_text(&idle), WARNING)))?;
    }
    Ok(())
}

/// Refuses options that conflict with placement by keys.
///
/// # Errors
/// Fails at the first such option.
pub(super) fn check(options: &HplaceOptions) -> anyhow::Result<()> {
    ensure!(options.command == PlacementCommand::Place, "this command does not apply to placement by keys");
    ensure!(
        options.method.is_none(),
        "option --strategy does not apply to documents with keys, which are always placed by affinity"
    );
    let (is_ganeti, is_pacemaker) = (options.load.source.is_named(), options.cib.is_named());
    let own =
        [(options.affinity.ram_ratio.is_some(), "--ram-ratio"), (options.load.utilisation.is_some(), "-U")];
    let own = own.iter().find(|(given, _)| *given).map(|(_, name)| *name);
    match options.affinity.file {
        Some(_) => {
            ensure!(
                !is_pacemaker && !is_ganeti,
                "option -j names a cluster, so no other cluster can be named"
            );
            if let Some(name) = own {
                bail!(
                    "option {name} applies only to Ganeti clusters; a document with keys has these figures itself"
                );
            }
        }
        None if is_ganeti == is_pacemaker => {
            return Err(anyhow!("the strategy 'affinity' needs a document with keys, or one cluster")
                .hint(format!("name a document with -j FILE, or {NAME_CLUSTER}")));
        }
        None if is_pacemaker && let Some(name) = own => {
            bail!("option {name} applies only to Ganeti clusters; a CIB has no measured figures")
        }
        None => {}
    }
    if options.affinity.plan {
        ensure!(
            is_ganeti,
            anyhow!("option --plan applies only to Ganeti clusters")
                .hint("name one with -t FILE, -m ADDRESS or -L")
        );
        ensure!(
            !options.output.json,
            anyhow!("options --plan and --json exclude each other").hint("--print-plan json prints the plan")
        );
    } else {
        no_plan(options)?;
    }
    ensure!(options.stickiness.is_none(), "option --stickiness does not apply to placement by keys");
    ensure!(
        !options.no_keep && !options.undo,
        "options --no-keep and --undo do not apply to placement by keys"
    );
    if !is_pacemaker {
        ensure!(
            !options.execution.exec && options.now.is_none(),
            "options --exec and --now apply only to Pacemaker clusters"
        );
        return options.refuse_forms_except(&["with-reasons"], "placement by keys");
    }
    ensure!(
        !options.execution.exec,
        anyhow!("hplace cannot carry out a placement by keys")
            .hint("--commands FORM prints the commands for it")
    );
    options.refuse_forms_except(&["with-reasons", "commands"], "placement by keys")
}
