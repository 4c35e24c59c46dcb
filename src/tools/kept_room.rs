//! `--keep-room`: room for further instances that plans and placements keep.

use anyhow::anyhow;

use crate::model::{Cluster, RoomRequest};
use crate::report::room::{fitting_text, refused_text};
use crate::tools::hint::WithHint;
use crate::tools::output::Output;

/// Makes placement keep room.
///
/// # Errors
/// If no policy accepts the size.
pub(super) fn keep(cluster: &mut Cluster, request: Option<RoomRequest>) -> anyhow::Result<()> {
    let wanted = request.map(|request| request.on(cluster));
    cluster.keep_room(wanted);
    check(cluster)
}

/// Checks that some policy accepts the size for which room is kept, if any.
///
/// # Errors
/// If none does.
pub(super) fn check(cluster: &Cluster) -> anyhow::Result<()> {
    let refusal =
        cluster.wanted_room().and_then(|wanted| Some((wanted, cluster.refuses_everywhere(&wanted.size)?)));
    refusal.map_or(Ok(()), |(wanted, breach)| {
        Err(anyhow!("{}", refused_text(wanted, breach))
            .hint("give another size or disk template for the room"))
    })
}

/// Says on standard error if the cluster lacks the room that it should keep.
///
/// # Errors
/// If the output cannot be written.
pub(super) fn warn(cluster: &Cluster, verbosity: i32, output: &mut Output) -> anyhow::Result<()> {
    let lacking = cluster.room().filter(|room| verbosity >= 0 && room.count() < room.wanted().count);
    if let Some(room) = lacking {
        output.error_line(&format!(
            "Warning: {}; no less will be kept, and hspace --make-room can make it",
            fitting_text(room)
        ))?;
    }
    Ok(())
}
