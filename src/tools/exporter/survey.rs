//! Computes the figures of a cluster: those of hinfo, hcheck, hbal and hspace with their default options.

use std::sync::Arc;
use std::time::Duration;

use crate::affinity::unmet_in;
use crate::load::tag_review::idle_tags;
use crate::model::{Cluster, Draft, GroupIdx};
use crate::report::balance::metrics as balance;
use crate::report::balance::metrics::BalanceFigures;
use crate::report::check::{CheckResult, Snapshot, metrics as check};
use crate::report::cluster::info::text::Information;
use crate::report::cluster::metrics as cluster;
use crate::report::form::metrics::Sheet;
use crate::report::space::{AllocationKind, AllocationRun, metrics as space};
use crate::search::balance::{self as search, Balancing, InitialScore};
use crate::search::fill::{FillGround, FillWatch, Filled};
use crate::search::health::GroupHealth;
use crate::search::place::NoTargets;
use crate::search::{BalanceOptions, Deadline};
use crate::tools::hspace::HspaceOptions;
use crate::tools::hspace::request::FillRequest;

/// Surveys a cluster. The searches for moves and for free room take at most `limit` each.
///
/// # Errors
/// None are known with the default options.
pub(super) fn survey(read: &Cluster, limit: Duration, sheet: &mut Sheet) -> anyhow::Result<()> {
    cluster::tell(sheet, &Information::of(read), read);
    moves(read, limit, sheet);
    room(read, limit, sheet)
}

/// Moves that would balance the groups, and the problems before and after them.
fn moves(read: &Cluster, limit: Duration, sheet: &mut Sheet) {
    let mut draft = Draft::of(read);
    let found = search::all_until(&mut draft, BalanceOptions::default(), &deadline(limit));
    balance::tell(sheet, found.iter().map(|(group, found)| figures(read, *group, found)), read);
    let groups = read.groups_with_nodes();
    let state = |cluster: &Cluster| {
        let health = groups.iter().map(|group| GroupHealth::of(cluster, *group, true)).collect();
        Snapshot::of(health, true)
    };
    let initial = state(read);
    let needs_rebalance = initial.needs_rebalance();
    let result = CheckResult {
        rebalanced: needs_rebalance.then(|| state(&draft)),
        steps: if needs_rebalance {
            found.iter().map(|(_, found)| found.steps.clone()).collect()
        } else {
            Vec::new()
        },
        stopped: found.iter().find_map(|(_, found)| found.stopped),
        without_simulation: false,
        idle_tags: idle_tags(read),
        unmet_keys: unmet_in(read),
        initial,
    };
    check::tell(sheet, &result, read);
}

fn figures<'f>(read: &Cluster, group: GroupIdx, found: &'f Balancing) -> BalanceFigures<'f> {
    let initial_score = InitialScore::of(read, read.nodes_of(group));
    BalanceFigures {
        group,
        before: initial_score.components.score(),
        unavoidable: initial_score.unavoidable,
        after: found.last.score(),
        steps: &found.steps,
        complete: found.stopped.is_none(),
        deep: None,
    }
}

/// Room for more instances; nothing if the policy allows none to be tried.
fn room(read: &Cluster, limit: Duration, sheet: &mut Sheet) -> anyhow::Result<()> {
    if read.policy.disk_templates.is_empty() || read.policy.ranges.is_empty() {
        return Ok(());
    }
    let request = FillRequest::of(&HspaceOptions::default(), read)?;
    let deadline = deadline(limit);
    let ground = FillGround::of_until(read, request.settings, &deadline);
    let run = |kind, sizes: &[_], filled: Result<Filled, NoTargets>| {
        filled.ok().map(|filled| AllocationRun::of(kind, sizes, filled, ground.hopeless))
    };
    let watch = FillWatch { deadline: &deadline, placed: &|_| () };
    let [tiered, standard] = request.fill(&ground, read, [&watch; 2]);
    let tiered = run(AllocationKind::Tiered, &request.tiered, tiered);
    let standard = run(AllocationKind::Standard, &[request.standard], standard);
    if let Some((tiered, standard)) = tiered.zip(standard) {
        space::tell(sheet, read, &[&tiered, &standard]);
    }
    Ok(())
}

fn deadline(limit: Duration) -> Deadline {
    Deadline::new(Some(limit), Arc::default())
}
