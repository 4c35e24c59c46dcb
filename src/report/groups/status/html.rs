//! Node groups, and the storage that they share.

use maud::html;

use super::text::condition_text;
use crate::model::Cluster;
use crate::model::number::fixed;
use crate::report::form::html::Section;
use crate::report::form::html::bars::{SharePair, change_text};
use crate::report::form::html::grid::{Grid, GridCell, GridRow};
use crate::report::form::table::Align;
use crate::report::groups::group_names;
use crate::search::groups::health::Health;
use crate::search::groups::status::{Amounts, Capacity, GroupStatus, GroupsStatus};

/// The groups before and, if anything changes, after, with the storage pools, if these are known. `None` if there is
/// only one group.
pub(in crate::report) fn section(
    cluster: &Cluster,
    before: &GroupsStatus,
    after: Option<&GroupsStatus>,
    knows_pools: bool,
) -> Option<Section> {
    if before.groups.len() < 2 {
        return None;
    }
    let row = |(at, group): (usize, &GroupStatus)| row(cluster, group, after.map(|after| &after.groups[at]));
    let grid = Grid {
        id: "group-table",
        caption: "Node groups",
        columns: vec![
            ("Group", Align::Left),
            ("State", Align::Left),
            ("Memory", Align::Left),
            ("Disk", Align::Left),
            ("CPUs", Align::Left),
            ("Nodes", Align::Right),
            ("Instances", Align::Right),
            ("Score", Align::Right),
        ],
        rows: before.groups.iter().enumerate().map(row).collect(),
        noun: Some("group"),
    };
    let pools = partitions(cluster, before).filter(|_| knows_pools);
    let body = html! { (grid.markup()) @if let Some(pools) = pools { (pools) } };
    Section::of("groups", "Node groups", Some(body))
}

fn row(cluster: &Cluster, now: &GroupStatus, then: Option<&GroupStatus>) -> GridRow {
    let used = |of: fn(&Capacity) -> Amounts| {
        let share = |group: &GroupStatus| {
            let Amounts { total, used, .. } = of(&group.capacity);
            used as f64 / total as f64
        };
        GridCell::share(SharePair { before: share(now), after: then.map(share) }, None)
    };
    let text = |of: fn(&GroupStatus) -> String| change_text(&of(now), then.map(of).as_deref());
    let nodes = |group: &GroupStatus| match group.capacity {
        Capacity { nodes, offline: 0, .. } => nodes.to_string(),
        Capacity { nodes, offline, .. } => format!("{nodes}, {offline} offline"),
    };
    GridRow {
        cells: vec![
            GridCell::text(&cluster.group(now.group).name),
            state(now, then),
            used(|c| c.memory),
            used(|c| c.disk),
            used(|c| c.vcpus),
            GridCell::number(text(nodes), now.capacity.nodes as f64),
            GridCell::number(text(|g| g.instances.to_string()), now.instances as f64),
            GridCell::number(text(|g| fixed(g.score, 4)), now.score),
        ],
        changes: then.is_some_and(|then| then != now),
    }
}

fn state(now: &GroupStatus, then: Option<&GroupStatus>) -> GridCell {
    let badge = |health: Health| match health {
        Health::Healthy => ("good", format!("✓ {health}")),
        Health::Weak | Health::Unhealthy => ("bad", format!("⚠ {health}")),
    };
    let states = [Some(badge(now.health())), then.map(|then| badge(then.health()))];
    let mut states: Vec<(&str, String)> = states.into_iter().flatten().collect();
    states.dedup();
    let wrong = condition_text(&now.condition);
    GridCell::of(html! {
        @for (at, (class, text)) in states.iter().enumerate() {
            @if at > 0 { " → " }
            span class={ "badge " (class) } { (text) }
        }
        @if !wrong.is_empty() { small class="line" { (wrong) } }
    })
}

/// The groups that reach each storage pool.
fn partitions(cluster: &Cluster, status: &GroupsStatus) -> Option<maud::Markup> {
    let row = |partition: &crate::model::Partition| GridRow {
        cells: vec![
            GridCell::text(status.storage.pool(partition.pool).to_string()),
            GridCell::count(partition.instances),
            GridCell::text(group_names(cluster, &partition.groups)),
        ],
        changes: false,
    };
    let grid = Grid {
        id: "partition-table",
        caption: "Pools of storage, and the groups that reach them",
        columns: vec![
            ("Pool", Align::Left),
            ("Instances", Align::Right),
            ("Groups that reach it", Align::Left),
        ],
        rows: status.partitions.iter().map(row).collect(),
        noun: Some("pool"),
    };
    let table = grid.some()?;
    Some(html! { h3 { "Partitions: who shares storage" } (table) })
}
