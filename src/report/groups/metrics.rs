//! Metrics of `hgroup`: the health of groups, and moves between them.

use crate::model::{Cluster, Step};
use crate::report::form::metrics::{Family, GroupLabels, Sheet, copied};
use crate::search::groups::balance::Balance;
use crate::search::groups::compress::{Compressed, Compression};
use crate::search::groups::health::Health;
use crate::search::groups::redistribute::{Healing, Redistribution};
use crate::search::groups::status::GroupsStatus;

/// Adds the state of the groups.
pub(crate) fn tell_status(sheet: &mut Sheet, status: &GroupsStatus, cluster: &Cluster) {
    let groups = GroupLabels::of(cluster);
    for group in &status.groups {
        let label = groups.get(group.group);
        for health in Health::ALL {
            sheet.flag(Family::RegroupHealth, &[label, health.as_str()], group.health() == *health);
        }
        sheet.count(Family::RegroupStranded, &[label], group.condition.stranded.len());
    }
}

/// Result of a command of `hgroup`.
#[derive(Debug, Clone, Copy)]
pub(crate) enum RegroupFound<'f> {
    Redistribution(&'f Redistribution),
    Compression(&'f Compression),
    Balance(&'f Balance),
}

/// Adds a plan and the result that it belongs to.
pub(crate) fn tell_plan(sheet: &mut Sheet, found: &RegroupFound<'_>, steps: &[Step], cluster: &Cluster) {
    let (command, stopped) = match found {
        RegroupFound::Redistribution(found) => {
            let unhealed = found.repairs.iter().filter(|r| !matches!(r.outcome, Healing::Repaired(_)));
            sheet.count(Family::RegroupUnhealed, &[], unhealed.count());
            ("redistribute", found.stopped)
        }
        RegroupFound::Compression(found) => {
            let emptied = found.candidates.iter().filter(|c| matches!(c.outcome, Compressed::Emptied(_)));
            sheet.count(Family::RegroupEmptied, &[], emptied.count());
            ("compress", found.stopped)
        }
        RegroupFound::Balance(found) => {
            sheet.put(Family::RegroupImbalance, &["before"], found.before.score() / 100.0);
            sheet.put(Family::RegroupImbalance, &["after"], found.loads.score() / 100.0);
            ("balance", found.stopped)
        }
    };
    sheet.count(Family::RegroupMoves, &[command], steps.len());
    sheet.bytes(Family::RegroupCopied, &[command], copied(cluster, steps));
    sheet.flag(Family::RegroupComplete, &[command], stopped.is_none());
}
