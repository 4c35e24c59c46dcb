//! Who permits which repairs, and who has suspended them.

use super::RepairKind;
use crate::known_tags::AUTOREPAIR;
use crate::{Cluster, InstanceIdx};

/// What may be done about an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RepairPermission {
    /// No tag says anything.
    NotEnabled,
    /// Nothing, until this moment in seconds since 1970; without one, for ever.
    Suspended(Option<i64>),
    /// Repairs up to this one.
    UpTo(RepairKind),
}

/// What the tags of one object say at a moment, in seconds since 1970: a suspension without end counts before one that ends
/// later than others, that before permissions, of which the least counts. What is over, or makes no sense, counts for
/// nothing.
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

/// Seconds since 1970, in digits; what is beyond all numbers is the last moment of all.
fn moment(digits: &str) -> Option<i64> {
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().unwrap_or(i64::MAX))
}

/// What may be done about an instance: what its own tags say, or else those of the group of its primary node, or else those of the
/// cluster.
pub fn permission(cluster: &Cluster, instance: InstanceIdx, now: i64) -> RepairPermission {
    let instance = cluster.instance(instance);
    let group = cluster.group(cluster.node(instance.primary).spec.group);
    let said = [&*instance.tags, &group.tags, &cluster.tags].map(|tags| permission_by(tags, now));
    said.into_iter()
        .find(|said| *said != RepairPermission::NotEnabled)
        .unwrap_or(RepairPermission::NotEnabled)
}
