//! Why instances stay in their groups, in words.

use crate::model::{Cluster, GroupIdx, Immobile, Rule, StorageMap};
use crate::report::explain::{hold_name, hold_text, rule_name, shortfall_text};
use crate::search::explain;
use crate::search::regroup::reach::{Barrier, GroupBar, Hold, NearestPlace};
use crate::search::regroup::{Blocked, Why};

/// Why an instance does not move at all.
pub fn held_text(hold: Hold, cluster: &Cluster) -> String {
    match hold {
        Hold::Immobile(why) => hold_text(explain::PassedOver::Immobile(why)).to_owned(),
        Hold::NotAutoBalanced => hold_text(explain::PassedOver::NotAutoBalanced).to_owned(),
        Hold::Forthcoming => "it does not exist yet".to_owned(),
        Hold::Denied => "moves from its group to others are denied".to_owned(),
        Hold::NominalSecondary => "it has a secondary node that its disk template does not use".to_owned(),
        Hold::NoOnlineNode => "both its nodes are offline".to_owned(),
        Hold::NoFailover(node, rule) => {
            let name = &cluster.node(node).spec.name;
            let why = match rule {
                Rule::MigrationTags => "does not receive migrations from there",
                _ => "has no room to run it",
            };
            format!("its primary node is offline, and its secondary node {name} {why}")
        }
    }
}

/// The same in one word.
pub fn held_name(hold: Hold) -> &'static str {
    match hold {
        Hold::Immobile(Immobile::Template) => "disk-template",
        Hold::Immobile(why) => hold_name(explain::PassedOver::Immobile(why)),
        Hold::NotAutoBalanced => "not-auto-balanced",
        Hold::Forthcoming => "forthcoming",
        Hold::Denied => "denied",
        Hold::NominalSecondary => "nominal-secondary",
        Hold::NoOnlineNode => "both-nodes-offline",
        Hold::NoFailover(..) => "no-failover",
    }
}

/// What keeps a group from taking an instance.
pub fn bar_text(bar: &GroupBar, cluster: &Cluster, storage: &StorageMap) -> String {
    match bar {
        GroupBar::Denied => "moves to it are denied".to_owned(),
        GroupBar::Unallocable => "it is unallocable".to_owned(),
        GroupBar::Health(health) => format!("it is {} itself", health.as_str()),
        GroupBar::Pool(pool) => format!("it does not reach {}", storage.pool(*pool)),
        GroupBar::Networks(networks) => format!("it lacks network {}", networks.join(", ")),
        GroupBar::Nodes => "it has too few online nodes that reach the storage".to_owned(),
        GroupBar::Migration(from) => {
            format!("too few nodes receive migrations from {}", cluster.node(*from).spec.name)
        }
        GroupBar::Room(nearest) => room_text(nearest, cluster),
        GroupBar::Expendability => "a node could not be emptied any more (global N+1)".to_owned(),
    }
}

fn room_text(nearest: &NearestPlace, cluster: &Cluster) -> String {
    let NearestPlace { node, shortfall, refused, .. } = nearest;
    let places =
        if *refused == 1 { "one place refused".to_owned() } else { format!("{refused} places refused") };
    format!("{places}, nearest is node {}: {}", cluster.node(*node).spec.name, shortfall_text(shortfall))
}

/// The same in one word.
pub fn bar_name(bar: &GroupBar) -> &'static str {
    match bar {
        GroupBar::Denied => "denied",
        GroupBar::Unallocable => "unallocable",
        GroupBar::Health(_) => "not-healthy",
        GroupBar::Pool(_) => "pool",
        GroupBar::Networks(_) => "networks",
        GroupBar::Nodes => "nodes",
        GroupBar::Migration(_) => "migration-tags",
        GroupBar::Room(nearest) => match nearest.barrier {
            Barrier::Policy(_) => "policy",
            Barrier::Rule(rule) => rule_name(rule),
        },
        GroupBar::Expendability => "global-n+1",
    }
}

/// An instance that stays, and why: a line, and one for each group.
pub fn blocked(blocked: &Blocked, cluster: &Cluster, storage: &StorageMap) -> Vec<String> {
    let i = cluster.instance(blocked.instance);
    let what = format!(
        "{} ({}, {} MiB memory, {} MiB disk, {} vcpus)",
        i.name, i.template, i.mem.0, i.disk.0, i.vcpus
    );
    match &blocked.why {
        Why::Held(hold) => vec![format!("{what}: {}", held_text(*hold, cluster))],
        Why::NoPlace(bars) if bars.is_empty() => vec![format!("{what}: there is no other group")],
        Why::NoPlace(bars) => {
            let line = |(group, bar): &(GroupIdx, GroupBar)| {
                format!("  {}: {}", cluster.group(*group).name, bar_text(bar, cluster, storage))
            };
            let mut lines = vec![format!("{what}: no group has a place")];
            lines.extend(bars.iter().map(line));
            lines
        }
    }
}
