//! Table of all tags that mean something to the tools: prefix, bearers and effect. The review of tags, anonymous files
//! and the manual use it.

/// Prefix of all tags that are meant for these tools.
pub const PREFIX: &str = "htools:";
/// Keeps instances apart.
pub const EXCLUSION: &str = "htools:iextags:";
/// Preferred locations of instances.
pub const DESIRED_LOCATION: &str = "htools:desiredlocation:";
/// Locations of nodes.
pub const LOCATION: &str = "htools:nlocation:";
/// Restricts migration.
pub const MIGRATION: &str = "htools:migration:";
/// Allows exceptions from migration restrictions.
pub const ALLOW_MIGRATION: &str = "htools:allowmigration:";
/// A storage pool: of the cluster, groups and nodes, one that is reached; of an instance, the pool of its disks.
pub const POOL: &str = "htools:pool:";
/// Keeps the instances of the cluster, or of one group, in their groups.
pub const DENY: &str = "htools:intergroup:deny";
/// Nodes that may be brought online.
pub const STANDBY: &str = "htools:standby:";
/// Nodes that the program has freed.
pub const STANDBY_AUTO: &str = "htools:standby:auto";
/// The size of a node, remembered while it is off.
pub const STANDBY_SIZE: &str = "htools:standby-size:";
/// Time at which a node was powered up or down, in seconds since 1970.
pub const SWITCHED: &str = "htools:switched:";

/// Prefix of all affinity keys (see [`super::key_tags`]), and by itself of the keys of nodes.
pub const KEY: &str = "htools:key:";
/// Keys of nodes that instances take along.
pub const KEY_STICKY: &str = "htools:key:sticky:";
/// Keys that the operator set for instances.
pub const KEY_SYSTEM: &str = "htools:key:system:";
/// Keys that a customer set for instances.
pub const KEY_CUSTOMER: &str = "htools:key:customer:";

/// Automatic repairs: permissions, those under way, and results. Set by Ganeti's watcher and harep.
pub const AUTOREPAIR: &str = "ganeti:watcher:autorepair:";

/// Object that carries a tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bearer {
    /// The cluster.
    Cluster,
    /// A node group.
    Group,
    /// A node.
    Node,
    /// An instance.
    Instance,
}

/// A tag that means something to the tools.
#[derive(Debug, Clone, Copy)]
pub struct KnownTag {
    /// Prefix, or the whole tag if no value follows.
    pub start: &'static str,
    /// Description of the value; empty if none follows.
    pub value: &'static str,
    /// Objects that can carry it.
    pub bearers: &'static [Bearer],
    /// Effect, for the manual.
    pub meaning: &'static str,
    /// Tools that use it, and the rule that they name when they refuse something because of it; for the manual.
    pub heeded: &'static str,
}

const fn known(
    start: &'static str,
    value: &'static str,
    bearers: &'static [Bearer],
    meaning: &'static str,
    heeded: &'static str,
) -> KnownTag {
    KnownTag { start, value, bearers, meaning, heeded }
}

/// All known tags.
pub const KNOWN: [KnownTag; 15] = [
    known(
        EXCLUSION,
        "START",
        &[Bearer::Cluster],
        "Primary instances of one node should not share a tag that begins with START. --exclusion-tags=TAG says the same of tags that begin with TAG and a colon.",
        "Every tool that chooses a node for an instance heeds it, and names the rule exclusion-tag. A tool breaks it only where a node has to be emptied and no other node is left.",
    ),
    known(
        DESIRED_LOCATION,
        "START",
        &[Bearer::Cluster],
        "Tags of instances that begin with START are locations (tags of nodes, see htools:nlocation:) where they should run: each that the primary node does not have adds to location_score.",
        "hbal, hail, hspace, hsqueeze and hgroup count it in the score. No tool refuses a place because of it.",
    ),
    known(
        LOCATION,
        "NAME",
        &[Bearer::Cluster],
        "Tags of nodes that begin with NAME and a colon are locations, things that fail together: each that both nodes of an instance have adds to location_score, and instances with the same exclusion tag should not share one.",
        "hbal, hail, hspace, hsqueeze and hgroup count it in the score. No tool refuses a place because of it.",
    ),
    known(
        MIGRATION,
        "NAME",
        &[Bearer::Cluster],
        "Tags of nodes that begin with NAME and a colon restrict migration: instances move only to nodes that have all of those of the node where they run.",
        "hbal, hail, hsqueeze, hgroup, hroller and hcheck --survive move no instance against it, and name the rule migration-tags. New instances may go to any node.",
    ),
    known(
        ALLOW_MIGRATION,
        "FROM::TO",
        &[Bearer::Cluster],
        "An exception: a node with the migration tag TO takes instances as if it had FROM, too. Not transitive.",
        "The tools that heed htools:migration: heed it, too.",
    ),
    known(
        POOL,
        "NAME",
        &[Bearer::Group, Bearer::Node, Bearer::Instance],
        "The group or the node reaches the external storage pool NAME, and no others but those of further such tags; the disks of the instance are there. Instances run only on nodes that reach their disks, and what survives the loss of nodes is counted by pool.",
        "Every tool that chooses a node heeds it, and names the rule pool. hcheck, hinfo and hspace count by pool what survives the loss of nodes.",
    ),
    known(
        DENY,
        "",
        &[Bearer::Cluster, Bearer::Group],
        "No instance leaves its group, or this group, and none enters it.",
        "hgroup, hail --other-groups and change-group requests heed it, and say that moves from the group, or to it, are denied. A request may still name a target group if hail has --ignore-soft-errors. No other tool moves an instance to another group.",
    ),
    known(
        STANDBY_AUTO,
        "",
        &[Bearer::Node],
        "hsqueeze set it when it powered the node down, and removes it when it powers the node up. Such nodes come up after all other standby nodes.",
        "hsqueeze sets it and goes by it.",
    ),
    known(
        STANDBY,
        "WORD",
        &[Bearer::Node],
        "hsqueeze may power the node up while it is offline: numbers first, lower ones before higher ones, then other words.",
        "hsqueeze goes by it, and leaves an offline node without such a tag off.",
    ),
    known(
        STANDBY_SIZE,
        "MEM/NODEMEM/DISK/FREEDISK/CPUS/NODECPUS/SPINDLES/FREESPINDLES",
        &[Bearer::Node],
        "The size of the node, in MiB and numbers, which hsqueeze sets when it powers the node down, as a node that is off reports none.",
        "hsqueeze counts on that size before the node is up.",
    ),
    known(
        SWITCHED,
        "SECONDS",
        &[Bearer::Node],
        "When hsqueeze powered the node up or down, in seconds since 1970, for --cooldown.",
        "hsqueeze reads it for --cooldown.",
    ),
    known(
        KEY,
        "NAME:VALUE",
        &[Bearer::Node],
        "A key of the node, by which hplace --strategy affinity places instances: those whose keys have a value less than 1 away are drawn there, or kept away if their weight is below 0. Operators' keys are compared with it, or customers' if NAME begins with _. No name has a colon or an equals sign in it.",
        "hplace --strategy affinity, hail --affinity for new instances, and hbal --affinity-weight weigh it. No tool refuses a place because of it.",
    ),
    known(
        KEY_STICKY,
        "NAME:VALUE:WEIGHT",
        &[Bearer::Node],
        "The same; instances that run there, or ran there last, have a copy of this weight, so that they stay with nodes of that value.",
        "The tools that weigh htools:key: weigh it, too.",
    ),
    known(
        KEY_SYSTEM,
        "NAME:VALUE:WEIGHT",
        &[Bearer::Cluster, Bearer::Group, Bearer::Instance],
        "A key of the operator's for all instances, those of the group, or the instance, compared with keys of nodes. The lowest level counts. A name that begins with @, as in @RAM, @CPU and @LOAD, is one of the special keys: how much of a node is used.",
        "The tools that weigh htools:key: weigh it, too.",
    ),
    known(
        KEY_CUSTOMER,
        "NAME:VALUE:WEIGHT",
        &[Bearer::Cluster, Bearer::Group, Bearer::Instance],
        "The same for a customer's key, compared with the customers' keys of the instances that run on a node, and with the node's keys whose names begin with _.",
        "The tools that weigh htools:key: weigh it, too.",
    ),
];

/// Tells if a tag has a meaning by itself on such a bearer.
pub fn means_something(tag: &str, bearer: Bearer) -> bool {
    KNOWN.iter().filter(|known| known.bearers.contains(&bearer)).any(|known| match known.value {
        "" => tag == known.start,
        _ => tag.strip_prefix(known.start).is_some_and(|value| !value.is_empty()),
    })
}
