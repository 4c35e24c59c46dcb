//! Permissions for repairs, and suspensions.

use super::RepairKind;
use crate::known_tags::AUTOREPAIR;
use crate::{Cluster, InstanceIdx};

/// Repairs that are permitted on an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RepairPermission {
    /// None: no tag permits or suspends any.
    NotEnabled,
    /// None until this time in seconds since 1970, or for ever if there is no time.
    Suspended(Option<i64>),
    /// Repairs up to this kind.
    UpTo(RepairKind),
}

/// Permission that the tags of one object give at `now` (seconds since 1970).
///
/// A suspension without end comes first, then the suspension that ends last, then the least of the permissions.
/// Suspensions that are over and tags that make no sense are ignored.
fn permission_by(tags: &[String], now: i64) -> RepairPermission {
    let words = || tags.iter().filter_map(|tag| tag.strip_prefix(AUTOREPAIR));
    if words().any(|word| word == "suspend" || word == "suspend:") {
        return RepairPermission::Suspended(None);
    }
    let until = words().filter_map(|word| moment(word.strip_prefix("suspend:")?));
    if let Some(until) = until.filter(|until| *until > now).max() {
        return RepairPermission::Suspended(Some(until));
    }
    let least = words().filter_map(|word| word.parse::<RepairKind>().ok()).min();
    least.map_or(RepairPermission::NotEnabled, RepairPermission::UpTo)
}

/// Parses seconds since 1970. A number that is too large counts as the last moment that can be expressed.
fn moment(digits: &str) -> Option<i64> {
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().unwrap_or(i64::MAX))
}

/// Permission for repairs of an instance: from its own tags, or else from those of its primary node's group, or else
/// from those of the cluster.
pub fn permission(cluster: &Cluster, instance: InstanceIdx, now: i64) -> RepairPermission {
    let instance = cluster.instance(instance);
    let group = cluster.group(cluster.node(instance.primary).spec.group);
    let said = [&*instance.tags, &group.tags, &cluster.tags].map(|tags| permission_by(tags, now));
    said.into_iter()
        .find(|said| *said != RepairPermission::NotEnabled)
        .unwrap_or(RepairPermission::NotEnabled)
}
