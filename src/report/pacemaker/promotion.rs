//! Explanation of the role of an instance of a promotable clone.

use super::changes::ticket;
use crate::model::shown::shown_name;
use crate::pacemaker::promotion::{PromotionPart, PromotionSource};
use crate::pacemaker::why::PlacementExplainer;
use crate::pacemaker::{AllocationScore, ResourceChanges, ResourceIdx, WorkingSet};

/// The role of an instance, and the parts of its promotion score; `None` if it has no role or no host.
pub(super) fn line(
    explainer: &PlacementExplainer<'_>,
    changes: &ResourceChanges,
    resource: ResourceIdx,
) -> Option<String> {
    let set = explainer.set;
    let (score, is_promoted) = explainer.promotion(resource)?;
    let host = score.host?;
    let change = changes.roles[resource.get()];
    let role = if change.is_blocked {
        "It is not promoted, as something that it needs is missing"
    } else if is_promoted || change.ends_promoted {
        "It is promoted"
    } else if score.score < AllocationScore::ZERO {
        "It is not promoted, as its promotion score is below 0"
    } else {
        "It is not promoted, as enough others are"
    };
    let parts: Vec<String> = score.parts.iter().map(|part| part_text(set, part)).collect();
    let on = shown_name(&set.host(host).name);
    Some(format!("{role}; promotion score {} on {on}: {}.", score.score, parts.join(", ")))
}

fn part_text(set: &WorkingSet, part: &PromotionPart) -> String {
    let source = match part.source {
        PromotionSource::Agent => "wish of its agent".to_owned(),
        PromotionSource::Unasked => "no wish of its agent".to_owned(),
        PromotionSource::Unmanaged => "promoted and not managed".to_owned(),
        PromotionSource::TargetRole => "target-role".to_owned(),
        PromotionSource::Partial => "a member without a node".to_owned(),
        PromotionSource::Failed => "failed promotion".to_owned(),
        PromotionSource::Location(at) => format!("location {}", shown_name(&set.promotion_locations[at].id)),
        PromotionSource::BestPlacement => "the best placement".to_owned(),
        PromotionSource::Ticket(at) => ticket(set, &set.tickets.rules[at]),
        PromotionSource::Clone => "score of the clone".to_owned(),
        PromotionSource::Colocation(at) => format!("colocation {}", shown_name(&set.colocations[at].id)),
    };
    format!("{} {source}", part.score)
}
