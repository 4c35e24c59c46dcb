//! `hspace --make-room`: the fewest moves that make room for further instances.

use super::{ExitStatus, HspaceOptions};
use crate::model::{Cluster, ClusterRoom, RoomRequest};
use crate::plan::checker::CheckOptions;
use crate::plan::command::{ROOM_TITLE, plan_lines};
use crate::plan::jobset::{Jobset, jobsets};
use crate::plan::shell;
use crate::plan::work::Work;
use crate::report::balance::components::score;
use crate::report::balance::plan::columns::StepColumns;
use crate::report::form::file::write_whole;
use crate::report::form::json;
use crate::report::room::json::document;
use crate::report::room::{fitting_text, made_text};
use crate::score::Board;
use crate::search::make_room::{MadeRoom, make_room};
use crate::search::moves::MoveRules;
use crate::tools::interrupts::Interruptible;
use crate::tools::options::CommandTarget;
use crate::tools::output::Output;
use crate::tools::save::save_cluster;
use crate::tools::{commands, kept_room, listing};

/// Options that only concern counting.
const OF_COUNTING: [&str; 12] = [
    "machine-readable",
    "metrics",
    "report",
    "proof",
    "standard-alloc",
    "tiered-alloc",
    "disk-template",
    "spindle-use",
    "max-length",
    "independent-groups",
    "accept-existing-errors",
    "no-capacity-checks",
];

/// Refuses options that have no effect.
///
/// # Errors
/// Names the first of them.
pub(super) fn check(options: &HspaceOptions) -> anyhow::Result<()> {
    match options.make_room {
        Some(_) => options.output.refuse(&OF_COUNTING, "has no effect with --make-room"),
        None => options.output.refuse(&["print-commands"], "needs --make-room"),
    }
}

/// Searches for the moves and shows them.
pub(super) fn run(
    options: &HspaceOptions,
    mut cluster: Cluster,
    request: RoomRequest,
    output: &mut Output,
) -> anyhow::Result<ExitStatus> {
    kept_room::keep(&mut cluster, Some(request))?;
    let Some(room) = cluster.room() else { return Ok(ExitStatus::Failure) };
    let is_text = !options.output.json;
    if is_text {
        output.line(&fitting_text(room))?;
    }
    let made = {
        let deadline = Interruptible::begin(options.limits.time_limit)?;
        make_room(&cluster, &MoveRules::default(), &deadline)
    };
    if let Some(stopped) = made.stopped {
        output.error_line(&format!("{} ended the search", stopped.subject()))?;
    }
    let scores = [&cluster, &made.after].map(|state| Board::new(state, &state.all_nodes()).score());
    // Moves on the way may use some of the room.
    let mut free = cluster.clone();
    free.keep_room(None);
    let sets = jobsets(&free, &made.steps);
    if is_text {
        show(&made, room, &cluster, scores, output)?;
    } else {
        json::write(&document(&made, room, &cluster, scores, &sets)?, output.stdout())?;
    }
    give_commands(options, &free, &made, &sets, output)?;
    if let Some(fields) = options.output.print_nodes.as_ref().filter(|_| is_text) {
        listing::nodes(output, "Final cluster", &made.after, &made.after.all_nodes(), fields)?;
    }
    save_cluster(options.output.save.as_deref(), "roomy", "after making room", &made.after, output)?;
    Ok(if made.is_complete() { ExitStatus::Success } else { ExitStatus::Failure })
}

/// Prints the moves and their outcome; `scores` are those before and after.
fn show(
    made: &MadeRoom,
    before: &ClusterRoom,
    cluster: &Cluster,
    scores: [f64; 2],
    output: &mut Output,
) -> anyhow::Result<()> {
    let columns = StepColumns::of(cluster, &cluster.all_nodes(), &cluster.all_instances());
    for (number, step) in (1..).zip(&made.steps) {
        output.line(&columns.line(cluster, number, step, ""))?;
    }
    made_text(made, before, cluster).iter().try_for_each(|line| output.line(line))?;
    if !made.steps.is_empty() {
        let [before, after] = scores.map(score);
        output.line(&format!("Cluster score changed from {before} to {after}"))?;
    }
    Ok(())
}

/// Shows or writes the commands, with `-C`.
fn give_commands(
    options: &HspaceOptions,
    free: &Cluster,
    made: &MadeRoom,
    sets: &[Jobset],
    output: &mut Output,
) -> anyhow::Result<()> {
    let Some(target) = &options.output.commands else { return Ok(()) };
    let work = Work::of(free, &made.steps, sets, CheckOptions::default())?;
    let lines = plan_lines(&work, None)?;
    if let CommandTarget::File(path) = target {
        write_whole(path, &shell::script(ROOM_TITLE, "job", &lines))?;
    }
    if options.output.json {
        return Ok(());
    }
    commands::show(Some(target), "Commands to run:", || shell::listing(&lines), output)
}
