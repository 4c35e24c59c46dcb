//! Cluster-wide properties that do not fit the rest of the configuration.

use super::super::place::{PlacingError, place};
use super::super::resource::Resource;
use super::super::score::AllocationScore;
use super::super::working_set::Strategy;
use super::complaint::{Complaint, LintedCib};
use htools_model::shown::shown_name;

const PROPERTY: &str = "cluster_property_set";

/// Nodes should be fenced, but there is no fencing device: nothing is started or stopped.
pub(super) fn no_fencing(cib: &LintedCib<'_, '_>) -> Result<Vec<Complaint>, PlacingError> {
    let complaint = || {
        Complaint::of(
            PROPERTY,
            "",
            "stonith-enabled is true (the default), and no resource is a fencing device: nothing is started, stopped or moved"
                .to_owned(),
            "add a resource of class stonith, or set stonith-enabled=false where nothing is shared".to_owned(),
        )
    };
    Ok(cib.set.frozen.then(complaint).into_iter().collect())
}

/// Pacemaker does not know the strategy.
pub(super) fn unknown_strategy(cib: &LintedCib<'_, '_>) -> Result<Vec<Complaint>, PlacingError> {
    let complaint = |word: &String| {
        let meant = (cib.suggest)(word, Strategy::WORDS);
        let known = Strategy::WORDS.join(", ");
        let problem =
            format!("there is no placement-strategy '{}': Pacemaker takes 'default'", shown_name(word));
        Complaint::of(PROPERTY, "", problem, format!("name one of {known}{meant}"))
    };
    Ok(cib.set.unknown_strategy.iter().map(complaint).collect())
}

/// Resources have utilization, but the strategy ignores it.
pub(super) fn utilization_ignored(cib: &LintedCib<'_, '_>) -> Result<Vec<Complaint>, PlacingError> {
    let is_given = cib.set.resources.iter().any(|resource| !resource.utilization.is_empty());
    let complaint = || {
        Complaint::of(
            PROPERTY,
            "",
            "resources have utilization, and the placement strategy is 'default': nodes can be filled beyond what they have".to_owned(),
            "set placement-strategy to balanced, utilization or minimal".to_owned(),
        )
    };
    Ok((is_given && cib.set.strategy() == Strategy::Default).then(complaint).into_iter().collect())
}

/// Running resources move for balance, as they have no stickiness.
pub(super) fn needless_moves(cib: &LintedCib<'_, '_>) -> Result<Vec<Complaint>, PlacingError> {
    let set = cib.set;
    let is_loose = |one: &super::super::index::ResourceIdx| {
        let details = set.resource(*one);
        let is_meant =
            details.is_primitive() && !details.orphaned && !details.fences() && set.is_managed(*one);
        is_meant && details.stickiness == AllocationScore::ZERO
    };
    let loose: Vec<_> = set.resource_indices().filter(is_loose).collect();
    let Some(first) = loose.first().filter(|_| set.strategy() == Strategy::Balanced) else {
        return Ok(Vec::new());
    };
    let others = match loose.len() {
        1 => String::new(),
        count => format!(" and {} others have", count - 1),
    };
    let has = if others.is_empty() { " has" } else { &others };
    let first = &set.resource(*first).id;
    let problem = format!(
        "{}{has} no stickiness under the strategy 'balanced': they move whenever another node has more room",
        shown_name(first)
    );
    let advice = "set resource-stickiness to at least 1 in rsc_defaults".to_owned();
    Ok(vec![Complaint::of("primitive", first, problem, advice)])
}

/// There is not room for all resources, and chance decides which are left out.
pub(super) fn no_priorities(cib: &LintedCib<'_, '_>) -> Result<Vec<Complaint>, PlacingError> {
    let set = cib.set;
    let is_meant = |resource: &&Resource| resource.is_primitive() && !resource.orphaned;
    let mut priorities = set.resources.iter().filter(is_meant).map(|resource| resource.priority);
    let first = priorities.next();
    if set.strategy() == Strategy::Default || priorities.any(|priority| Some(priority) != first) {
        return Ok(Vec::new());
    }
    let placed = place(set, set.strategy())?;
    let unplaced: Vec<String> = placed.unplaced(set).map(|one| shown_name(&set.resource(one).id)).collect();
    let complaint = || {
        let problem = format!(
            "not all resources have a place, and none has a priority: it is not said that {} matter least",
            unplaced.join(", ")
        );
        Complaint::of("resources", "", problem, "give priorities to those that must run".to_owned())
    };
    Ok((!unplaced.is_empty()).then(complaint).into_iter().collect())
}
