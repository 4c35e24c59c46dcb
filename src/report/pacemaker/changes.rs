//! Changes of resources.

use super::transition::reason;
use crate::model::shown::shown_name;
use crate::pacemaker::promotion::Role;
use crate::pacemaker::tickets::TicketRule;
use crate::pacemaker::working_set::RunCondition;
use crate::pacemaker::{ResourceChange, ResourceChanges, ResourceIdx, WorkingSet};
use htools_model::words;

words!(
    /// Action on a resource, in a word.
    pub ResourceAction, "action" {
        /// It stays as it is.
        None = "none",
        /// It is started.
        Start = "start",
        /// It is stopped.
        Stop = "stop",
        /// It is stopped and started elsewhere.
        Move = "move",
        /// It is live-migrated.
        Migrate = "migrate",
        /// It is stopped and started on the same node.
        Restart = "restart",
        /// It stays, and reads its parameters again.
        Reload = "reload",
        /// It stays, and is promoted.
        Promote = "promote",
        /// It stays, and is demoted.
        Demote = "demote",
        /// It stays, and is demoted and promoted again.
        Repromote = "re-promote",
        /// It should be stopped but cannot be.
        Held = "held",
        /// It has a place and its capacity there, but is not started.
        Blocked = "blocked",
    }
);

impl From<ResourceChange> for ResourceAction {
    fn from(change: ResourceChange) -> ResourceAction {
        match change {
            ResourceChange::Idle | ResourceChange::Stay(_) => ResourceAction::None,
            ResourceChange::Start(_) => ResourceAction::Start,
            ResourceChange::Stop(_) => ResourceAction::Stop,
            ResourceChange::Move { .. } => ResourceAction::Move,
            ResourceChange::Migrate { .. } => ResourceAction::Migrate,
            ResourceChange::Reload(_) => ResourceAction::Reload,
            ResourceChange::Restart(_) => ResourceAction::Restart,
            ResourceChange::Held(_) => ResourceAction::Held,
            ResourceChange::Blocked(_) => ResourceAction::Blocked,
        }
    }
}

impl ResourceAction {
    /// The action on a primitive; none if it is not managed.
    pub(super) fn of(set: &WorkingSet, changes: &ResourceChanges, resource: ResourceIdx) -> ResourceAction {
        let action = match set.is_managed(resource) {
            true => changes.get(resource).into(),
            false => ResourceAction::None,
        };
        let role = changes.roles[resource.get()];
        let was_promoted = set.resource(resource).promoted;
        match (action, role.demoted_on.is_some(), role.promoted_on.is_some()) {
            (ResourceAction::None, true, true) => ResourceAction::Repromote,
            (ResourceAction::None, true, false) => ResourceAction::Demote,
            (ResourceAction::None, false, true) if !was_promoted => ResourceAction::Promote,
            _ => action,
        }
    }

    /// The actions on a primitive, in a few words: `start, promote`.
    pub(super) fn words(set: &WorkingSet, changes: &ResourceChanges, resource: ResourceIdx) -> String {
        let action = ResourceAction::of(set, changes, resource);
        let role = changes.roles[resource.get()];
        let changes_alone =
            matches!(action, ResourceAction::Promote | ResourceAction::Demote | ResourceAction::Repromote);
        match (role.demoted_on, role.promoted_on) {
            _ if changes_alone => action.to_string(),
            (Some(_), Some(_)) => format!("demote, {action}, promote"),
            (Some(_), None) => format!("demote, {action}"),
            (None, Some(_)) if action != ResourceAction::None => format!("{action}, promote"),
            _ if role.is_blocked && action == ResourceAction::None => "not promoted".to_owned(),
            _ if role.is_blocked => format!("{action}, not promoted"),
            _ => action.to_string(),
        }
    }

    /// Role of a part of a promotable clone that runs in the end.
    pub(super) fn role(set: &WorkingSet, changes: &ResourceChanges, resource: ResourceIdx) -> Option<Role> {
        set.promotion(resource)?;
        changes.get(resource).runs_on()?;
        Some(Role::of(changes.roles[resource.get()].ends_promoted))
    }

    /// Role of a part of a promotable clone that runs now.
    pub(super) fn past_role(set: &WorkingSet, resource: ResourceIdx) -> Option<Role> {
        set.promotion(resource)?;
        let details = set.resource(resource);
        details.active.map(|_| Role::of(details.promoted))
    }
}

/// The reason for an action in brackets, if the placement does not explain it.
pub(super) fn remarks(set: &WorkingSet, changes: &ResourceChanges, resource: ResourceIdx) -> String {
    let of = set.resource(resource);
    let action = ResourceAction::of(set, changes, resource);
    let cause = changes.causes[resource.get()].filter(|_| set.is_managed(resource));
    let cause = cause.map(|why| format!(" ({})", reason(set, why))).unwrap_or_default();
    let is_cause = cause.is_empty() && matches!(action, ResourceAction::Restart | ResourceAction::Reload);
    let changed = of.revision.subject().filter(|_| is_cause && of.condition != RunCondition::Failed);
    let changed = changed.map(|what| format!(" ({what} changed)")).unwrap_or_default();
    let is_restart = cause.is_empty() && action == ResourceAction::Restart;
    let failed = if is_restart && of.failed_inside { " (a resource in it failed)" } else { "" };
    let orphaned = if of.orphaned { " (no longer configured)" } else { "" };
    cause + failed + &changed + orphaned
}

/// The state of a missing ticket, and the constraint that needs it.
pub(super) fn ticket(set: &WorkingSet, rule: &TicketRule) -> String {
    let state = set.tickets.state(rule);
    let word = if state.granted { "is in standby" } else { "is not granted" };
    format!("ticket {} {word} ({})", shown_name(&rule.ticket), shown_name(&rule.id))
}

/// The primitives in the order of the document.
pub(super) fn primitives(set: &WorkingSet) -> impl Iterator<Item = ResourceIdx> + '_ {
    set.resource_indices().filter(|resource| set.resource(*resource).is_primitive())
}
