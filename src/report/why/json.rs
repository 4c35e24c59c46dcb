//! Reasons in documents: obstacles, and missing amounts.

use serde::Serialize;

use super::words::{group_words, obstacle_name, obstacle_text, rule_name, stay_words, untried_words};
use crate::model::{Cluster, Placement, StorageMap};
use crate::report::form::json::{kind, node_name};
use crate::search::groups::{Blocked, StayReason};
use crate::search::moves::Refusal;
use crate::search::requests::why::PlacementObstacles;
use crate::search::why::{GroupObstacle, GroupWhy, Nearest, RefusedPlace, Shortfall};

pub(crate) fn nodes(cluster: &Cluster, place: Placement) -> Vec<String> {
    [Some(place.primary), place.secondary].into_iter().flatten().map(|n| node_name(cluster, n)).collect()
}

/// Missing amounts, as numbers or names.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
enum AmountsView {
    Missing { resource: &'static str, unit: &'static str, needed: i64, available: i64, missing: Option<i64> },
    Outside { resource: &'static str, unit: &'static str, found: Option<i64>, min: i64, max: i64 },
    Tags { tags: Vec<String> },
    Template { template: &'static str },
}

impl AmountsView {
    fn of(shortfall: &Shortfall) -> Option<AmountsView> {
        Some(match shortfall {
            &Shortfall::Amount { resource, unit, needed, available } => {
                AmountsView::Missing { resource, unit, needed, available, missing: shortfall.missing() }
            }
            &Shortfall::Range { resource, unit, found, accepted: (min, max) } => {
                AmountsView::Outside { resource, unit, found, min, max }
            }
            Shortfall::Tags(tags) | Shortfall::Migration(tags) | Shortfall::Pools(tags) => {
                AmountsView::Tags { tags: tags.clone() }
            }
            Shortfall::Template(template) => AmountsView::Template { template: template.as_str() },
            Shortfall::NoSecondary | Shortfall::KeptOut | Shortfall::ClosedNode | Shortfall::UseLimit => {
                return None;
            }
        })
    }
}

/// Obstacle at a node: `hcheck` with `shortfall`, `hbal --deep` with `role`.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct RefusingNodeView {
    node: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'static str>,
    rule: &'static str,
    /// Null if nothing countable is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    shortfall: Option<Option<AmountsView>>,
}

impl RefusingNodeView {
    pub(crate) fn of(cluster: &Cluster, refused_place: &RefusedPlace) -> RefusingNodeView {
        RefusingNodeView {
            node: node_name(cluster, refused_place.node),
            role: None,
            rule: obstacle_name(refused_place.obstacle),
            shortfall: Some(refused_place.shortfall.as_ref().and_then(AmountsView::of)),
        }
    }

    pub(crate) fn of_role(cluster: &Cluster, refusal: &Refusal) -> RefusingNodeView {
        RefusingNodeView {
            node: node_name(cluster, refusal.node),
            role: Some(if refusal.role_is_primary { "primary" } else { "secondary" }),
            rule: rule_name(refusal.rule),
            shortfall: None,
        }
    }
}

/// Obstacle at a node in words: `harep`, and `hsqueeze` with `amount`.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct LackView {
    pub node: String,
    pub text: String,
    /// Null if nothing countable is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub amount: Option<Option<i64>>,
}

impl LackView {
    pub(crate) fn of(cluster: &Cluster, refused_place: &RefusedPlace) -> LackView {
        let text = obstacle_text(refused_place, "offline");
        LackView { node: node_name(cluster, refused_place.node), text, amount: None }
    }
}

/// Places that refuse an instance: their number, and those closest to being possible.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct PlacesView<T> {
    refused: usize,
    nearest: Vec<T>,
}

impl<T> PlacesView<T> {
    pub(crate) fn of(
        cluster: &Cluster,
        nearest: &Nearest,
        view: fn(&Cluster, &RefusedPlace) -> T,
    ) -> PlacesView<T> {
        let views = nearest.kept.iter().map(|refused_place| view(cluster, refused_place));
        PlacesView { refused: nearest.refused, nearest: views.collect() }
    }
}

/// The same for a move, which policies do not forbid: `hbal`.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct MoveRefusalView {
    node: String,
    rule: &'static str,
    needed: Option<i64>,
    available: Option<i64>,
    missing: Option<i64>,
    unit: Option<&'static str>,
    tags: Vec<String>,
}

impl MoveRefusalView {
    pub(crate) fn of(cluster: &Cluster, refused_place: &RefusedPlace) -> MoveRefusalView {
        let (amounts, tags) = match &refused_place.shortfall {
            &Some(Shortfall::Amount { unit, needed, available, .. }) => {
                (Some((needed, available, unit)), Vec::new())
            }
            Some(Shortfall::Tags(tags) | Shortfall::Migration(tags) | Shortfall::Pools(tags)) => {
                (None, tags.clone())
            }
            _ => (None, Vec::new()),
        };
        MoveRefusalView {
            node: node_name(cluster, refused_place.node),
            rule: obstacle_name(refused_place.obstacle),
            needed: amounts.map(|a| a.0),
            available: amounts.map(|a| a.1),
            missing: refused_place.shortfall.as_ref().and_then(Shortfall::missing),
            unit: amounts.map(|a| a.2),
            tags,
        }
    }
}

/// Obstacles for one instance: `hail`.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Details {
    instance: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    groups: Vec<GroupDetails>,
    #[serde(skip_serializing_if = "Option::is_none")]
    moves: Option<PlacesView<PlaceView>>,
}

#[derive(Debug, Clone, Serialize)]
struct GroupDetails {
    group: String,
    policy: &'static str,
    /// Reason that no place was tried, if so.
    untried: Option<&'static str>,
    /// UUIDs of networks that the group lacks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    networks: Vec<String>,
    #[serde(flatten)]
    places: PlacesView<PlaceView>,
}

#[derive(Debug, Clone, Serialize)]
struct PlaceView {
    #[serde(rename = "move", skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    nodes: Vec<String>,
    at: String,
    rule: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    shortfall: Option<AmountsView>,
}

impl Details {
    pub(crate) fn of(cluster: &Cluster, why: &PlacementObstacles) -> Details {
        Details {
            instance: why.instance.clone(),
            groups: why.groups.iter().map(|g| GroupDetails::of(cluster, g)).collect(),
            moves: why.moves.as_ref().map(|m| PlacesView::of(cluster, m, PlaceView::of)),
        }
    }
}

impl GroupDetails {
    fn of(cluster: &Cluster, why: &GroupWhy) -> GroupDetails {
        let group = cluster.group(why.group);
        GroupDetails {
            group: group.name.clone(),
            policy: group.alloc_policy.as_str(),
            untried: why.obstacle.as_ref().map(|obstacle| untried_words(obstacle, cluster).name),
            networks: match &why.obstacle {
                Some(GroupObstacle::Networks(networks)) => networks.clone(),
                _ => Vec::new(),
            },
            places: PlacesView::of(cluster, &why.places, PlaceView::of),
        }
    }
}

impl PlaceView {
    fn of(cluster: &Cluster, refused_place: &RefusedPlace) -> PlaceView {
        PlaceView {
            kind: refused_place.mv.map(kind),
            nodes: nodes(cluster, refused_place.place),
            at: node_name(cluster, refused_place.node),
            rule: obstacle_name(refused_place.obstacle),
            shortfall: refused_place.shortfall.as_ref().and_then(AmountsView::of),
        }
    }
}

/// Reason that an instance stays in its group: `hgroup`.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct BlockedRow {
    instance: String,
    reason: &'static str,
    text: String,
    groups: Vec<GroupObstacleRow>,
}

#[derive(Debug, Clone, Serialize)]
struct GroupObstacleRow {
    group: String,
    reason: &'static str,
    text: String,
    node: Option<String>,
    shortfall: Option<String>,
    missing: Option<i64>,
}

impl BlockedRow {
    pub(crate) fn of(cluster: &Cluster, storage: &StorageMap, blocked: &Blocked) -> BlockedRow {
        let row = |why: &GroupWhy| {
            let words = group_words(why, cluster, storage);
            GroupObstacleRow {
                group: cluster.group(why.group).name.clone(),
                reason: words.name,
                text: words.text,
                node: words.node.map(|n| node_name(cluster, n)),
                shortfall: why.places.kept.first().map(|nearest| obstacle_text(nearest, "offline")),
                missing: words.missing,
            }
        };
        let words = stay_words(&blocked.why, cluster);
        BlockedRow {
            instance: cluster.instance(blocked.instance).name.clone(),
            reason: words.name,
            text: words.text,
            groups: match &blocked.why {
                StayReason::Held(_) => Vec::new(),
                StayReason::NoPlace(groups) => groups.iter().map(row).collect(),
            },
        }
    }
}
