//! Reasons in words, kept in one place for text and documents of all tools. Tools with words of their own have them
//! here, too, or pass them in.

use crate::model::{
    Cluster, FailKind, Immobile, InstanceIdx, NodeIdx, Obstacle, PolicyBreach, Rule, StorageMap,
};
use crate::search::Stopped;
use crate::search::groups::StayReason;
use crate::search::groups::compress::UntriedReason;
use crate::search::place::NoTargets;
use crate::search::squeeze::{Deterioration, Hindrance};
use crate::search::why::{GroupObstacle, GroupWhy, RefusedPlace, Shortfall, StayCause};

/// Text for a group that has room but must not use it.
pub(in crate::report) const EXPOSED: &str =
    "wherever it were used, a node could not be emptied any more (global N+1)";

/// A reason in one word and as a sentence, with the objects that it is about.
pub(in crate::report) struct Words {
    pub name: &'static str,
    pub text: String,
    pub instance: Option<InstanceIdx>,
    pub node: Option<NodeIdx>,
    pub missing: Option<i64>,
}

impl Words {
    fn new(name: &'static str, text: impl Into<String>) -> Words {
        Words { name, text: text.into(), instance: None, node: None, missing: None }
    }

    fn at(self, node: NodeIdx) -> Words {
        Words { node: Some(node), ..self }
    }

    fn about(self, refused_place: &RefusedPlace) -> Words {
        let missing = refused_place.shortfall.as_ref().and_then(Shortfall::missing);
        Words { missing, ..self.at(refused_place.node) }
    }
}

fn name(cluster: &Cluster, node: NodeIdx) -> &str {
    &cluster.node(node).spec.name
}

/// The reason that an instance does not move at all.
pub(in crate::report) fn hold_words(hold: StayCause, cluster: &Cluster) -> Words {
    let (name, text) = match hold {
        StayCause::Immobile(Immobile::Template) => ("disk-template", "its disk template ties it to its node"),
        StayCause::Immobile(Immobile::Cooldown) => ("cooldown", "it moved a short time ago (--cooldown)"),
        StayCause::Immobile(Immobile::Excluded) => ("excluded", "it is excluded (--exclude-instances)"),
        StayCause::Immobile(Immobile::Tagged) => ("excluded-tag", "it has an excluded tag (--exclude-tag)"),
        StayCause::Immobile(Immobile::NotSelected) => {
            ("not-selected", "it is not selected (--select-instances)")
        }
        StayCause::Immobile(Immobile::Split) => ("split", "its two nodes are in different groups"),
        StayCause::Immobile(Immobile::NoSecondary) => {
            ("no-secondary", "it is a DRBD instance without a secondary node")
        }
        StayCause::NotAutoBalanced => ("not-auto-balanced", "its auto_balance flag is off"),
        StayCause::NothingToEvacuate => ("nothing-to-evacuate", "none of its nodes is offline (-E)"),
        StayCause::NoDiskMoves => ("no-disk-moves", "its disks may not be copied (--no-disk-moves)"),
        StayCause::NoInstanceMoves => {
            ("no-instance-moves", "it may not be moved or fail over (--no-instance-moves)")
        }
        StayCause::Forthcoming => ("forthcoming", "it does not exist yet"),
        StayCause::Denied => ("denied", "moves from its group to others are denied"),
        StayCause::NominalSecondary => {
            ("nominal-secondary", "it has a secondary node that its disk template does not use")
        }
        StayCause::NoOnlineNode => ("both-nodes-offline", "both its nodes are offline"),
        StayCause::NoFailover(node, rule) => {
            let why = match rule {
                Rule::MigrationTags => "does not receive migrations from there",
                _ => "has no room to run it",
            };
            let name = name(cluster, node);
            let text = format!("its primary node is offline, and its secondary node {name} {why}");
            return Words::new("no-failover", text);
        }
    };
    Words::new(name, text)
}

/// The reason that an instance stays in its group.
pub(in crate::report) fn stay_words(why: &StayReason, cluster: &Cluster) -> Words {
    match why {
        StayReason::Held(hold) => hold_words(*hold, cluster),
        StayReason::NoPlace(_) => Words::new("no-place", "no group has a place"),
    }
}

/// The reason that no place of a group was tried for a new instance.
pub(in crate::report) fn untried_words(obstacle: &GroupObstacle, cluster: &Cluster) -> Words {
    match obstacle {
        GroupObstacle::Networks(networks) => {
            Words::new("networks", format!("not connected to network {}", networks.join(", ")))
        }
        obstacle => obstacle_words(obstacle, cluster, None),
    }
}

/// The reason that a group does not take an instance of another one.
pub(in crate::report) fn group_words(why: &GroupWhy, cluster: &Cluster, storage: &StorageMap) -> Words {
    if let Some(obstacle) = &why.obstacle {
        return obstacle_words(obstacle, cluster, Some(storage));
    }
    let Some(nearest) = why.places.kept.first() else {
        return obstacle_words(&GroupObstacle::Unreached, cluster, None);
    };
    let places = match why.places.refused {
        1 => "one place refused".to_owned(),
        refused => format!("{refused} places refused"),
    };
    let name =
        if let Obstacle::Policy(_) = nearest.obstacle { "policy" } else { obstacle_name(nearest.obstacle) };
    Words::new(name, format!("{places}, nearest is {}", node_text(nearest, cluster))).about(nearest)
}

fn obstacle_words(obstacle: &GroupObstacle, cluster: &Cluster, storage: Option<&StorageMap>) -> Words {
    let (name, text) = match obstacle {
        GroupObstacle::Denied => ("denied", "moves to it are denied".to_owned()),
        GroupObstacle::Unallocable => ("unallocable", "it is unallocable".to_owned()),
        GroupObstacle::Health(health) => ("not-healthy", format!("it is {} itself", health.as_str())),
        GroupObstacle::Pool(pool) => {
            let pool = storage.map_or_else(|| "a pool".to_owned(), |all| all.pool(*pool).to_string());
            ("pool", format!("it does not reach {pool}"))
        }
        GroupObstacle::Networks(networks) => {
            ("networks", format!("it lacks network {}", networks.join(", ")))
        }
        GroupObstacle::Nodes(reason) => return targets_words(*reason),
        GroupObstacle::Unreached => {
            ("nodes", "it has too few online nodes that reach the storage".to_owned())
        }
        GroupObstacle::Migration(from) => {
            ("migration-tags", format!("too few nodes receive migrations from {}", name(cluster, *from)))
        }
        GroupObstacle::Expendability => {
            ("global-n+1", "a node could not be emptied any more (global N+1)".to_owned())
        }
        GroupObstacle::NoPrimary => ("affinity", "its affinity keys leave no node".to_owned()),
        GroupObstacle::NoTime(stopped) => ("no-time", no_time("not looked at", *stopped)),
    };
    Words::new(name, text)
}

fn targets_words(reason: NoTargets) -> Words {
    match reason {
        NoTargets::NoOnlineNodes => Words::new("no-online-nodes", "No online nodes"),
        NoTargets::NotEnoughOnlineNodes => Words::new("not-enough-online-nodes", "Not enough online nodes"),
        NoTargets::UnsupportedNumber => {
            // The reference has two blanks there.
            Words::new(
                "unsupported-number-of-nodes",
                "Unsupported number of nodes, only one or two  supported",
            )
        }
    }
}

/// The reason that no more is known of something than `known`.
pub(in crate::report) fn no_time(known: &str, stopped: Stopped) -> String {
    format!("{known}: {} ended the search", stopped.subject().to_lowercase())
}

/// The reason that a group is not tried at all.
pub(in crate::report) fn unfit_text(why: UntriedReason) -> String {
    match why {
        UntriedReason::Empty => "it is empty".to_owned(),
        UntriedReason::Denied => "no: moves from it are denied".to_owned(),
        UntriedReason::Isolated => "no: no other group reaches its pools".to_owned(),
        UntriedReason::Exceeds { resource, used, free } => {
            format!("no: it uses {used} of {resource}, and the others have {free} free")
        }
    }
}

/// The obstacle to a place, in one word.
pub(in crate::report) fn obstacle_name(obstacle: Obstacle) -> &'static str {
    match obstacle {
        Obstacle::Policy(PolicyBreach::Memory { .. }) => "policy-memory",
        Obstacle::Policy(PolicyBreach::DiskSize { .. }) => "policy-disk-size",
        Obstacle::Policy(PolicyBreach::Cpus { .. }) => "policy-vcpus",
        Obstacle::Policy(PolicyBreach::Spindles { .. }) => "policy-spindles",
        Obstacle::Policy(PolicyBreach::DiskCount { .. }) => "policy-disk-count",
        Obstacle::Policy(PolicyBreach::Template(_)) => "policy-disk-template",
        Obstacle::Primary(rule) | Obstacle::Secondary(rule) => rule_name(rule),
        Obstacle::Expendability => "global-n+1",
        Obstacle::Offline => "offline",
        Obstacle::Lost => "lost",
    }
}

/// A rule that keeps an instance from a node, in one word.
pub(in crate::report) fn rule_name(rule: Rule) -> &'static str {
    match rule {
        Rule::Memory => "memory",
        Rule::Disk => "disk",
        Rule::DiskReserve => "min-disk",
        Rule::Spindles => "spindles",
        Rule::SpindleRatio => "spindle-ratio",
        Rule::Redundancy => "n+1",
        Rule::JointReserve => "keep-reserve",
        Rule::GroupReserve => "keep-reserve-group",
        Rule::KeptRoom => "keep-room",
        Rule::CpuRatio => "vcpu-ratio",
        Rule::UseLimit => "use-limit",
        Rule::ExclusionTag => "exclusion-tag",
        Rule::MemoryForFailover => "failover-memory",
        Rule::PlannedMemory => "planned-memory",
        Rule::PlannedDisk => "planned-disk",
        Rule::PlannedDiskReserve => "planned-min-disk",
        Rule::PlannedSpindles => "planned-spindles",
        Rule::PlannedSpindleRatio => "planned-spindle-ratio",
        Rule::PlannedCpuRatio => "planned-vcpu-ratio",
        Rule::NotMirrored => "not-mirrored",
        Rule::MigrationTags => "migration-tags",
        Rule::Pool => "pool",
        Rule::KeptOut => "kept-out",
        Rule::ClosedNode => "no-target",
    }
}

/// The obstacle at a node; `offline` is the tool's text for an offline node.
pub(in crate::report) fn obstacle_text(refused_place: &RefusedPlace, offline: &str) -> String {
    match (&refused_place.shortfall, refused_place.obstacle) {
        (Some(shortfall), _) => shortfall_text(shortfall),
        (None, Obstacle::Expendability) => "afterwards a node could not be emptied any more".to_owned(),
        (None, Obstacle::Offline) => offline.to_owned(),
        (None, Obstacle::Lost) => "it is lost, too".to_owned(),
        (None, obstacle) => obstacle_name(obstacle).to_owned(),
    }
}

/// The same with the name of the node.
pub(in crate::report) fn node_text(refused_place: &RefusedPlace, cluster: &Cluster) -> String {
    format!("node {}: {}", name(cluster, refused_place.node), obstacle_text(refused_place, "offline"))
}

/// The reason for refusals to new instances, by kind.
pub(in crate::report) fn failure_words(kind: FailKind) -> &'static str {
    match kind {
        FailKind::Mem => "memory",
        FailKind::Disk => "disk space",
        FailKind::Cpu => "virtual CPUs",
        FailKind::N1 => "what has to survive the loss of a node (N+1)",
        FailKind::Tags => "exclusion tags",
        FailKind::Mig => "migration tags",
        FailKind::DiskCount => "number of disks",
        FailKind::Spindles => "spindles",
        FailKind::Internal => "an inner error",
    }
}

/// The part of a size that a policy refuses, in words.
pub(in crate::report) fn breach_text(breach: PolicyBreach) -> String {
    shortfall_text(&Shortfall::from(breach))
}

/// The missing amounts, in words.
fn shortfall_text(shortfall: &Shortfall) -> String {
    match shortfall {
        Shortfall::Amount { resource, unit, needed, available } => {
            let missing = shortfall.missing().unwrap_or_default();
            format!("{resource}: {needed} {unit} needed, {available} there, {missing} missing")
        }
        Shortfall::Tags(tags) => format!("exclusion tags already there: {}", tags.join(", ")),
        Shortfall::Migration(tags) => format!("migration tags not received there: {}", tags.join(", ")),
        Shortfall::Pools(pools) => format!("storage pools not reached from there: {}", pools.join(", ")),
        Shortfall::KeptOut => "a constraint of the cluster keeps it out".to_owned(),
        Shortfall::ClosedNode => "the node takes nothing more (--no-target or --exclude-tag)".to_owned(),
        Shortfall::UseLimit => "the node would rise above a limit of --only-if".to_owned(),
        Shortfall::NoSecondary => "the instance has no secondary node".to_owned(),
        Shortfall::Range { resource, unit, found, accepted: (min, max) } => {
            let found = found.map_or_else(|| "unknown".to_owned(), |n| n.to_string());
            format!("{resource}: {found}, accepted are {min} to {max} {unit}")
        }
        Shortfall::Template(template) => format!("disk template {template} is not accepted"),
    }
}

/// The reason that a node is not freed.
pub(in crate::report) fn hindrance_words(why: &Hindrance, cluster: &Cluster) -> Words {
    let of_instance = |name, i: InstanceIdx, before: &str, after: &str| {
        let there = cluster.instance(i);
        let text = format!("{before}instance {} ({}){after}", there.name, there.template);
        Words { instance: Some(i), ..Words::new(name, text) }
    };
    let of_node = |word, node, before: &str, after: &str| {
        Words::new(word, format!("{before}node {}{after}", name(cluster, node))).at(node)
    };
    match *why {
        Hindrance::Master => Words::new("master", "it is the master node"),
        Hindrance::LeftAlone => Words::new("left-alone", "it was powered up or down a short while ago"),
        Hindrance::NotInReach(i) => {
            of_instance("not-in-reach", i, "", " is not of a kind that is moved for this")
        }
        Hindrance::SecondaryOf(i) => of_instance("secondary", i, "it is the secondary node of ", ""),
        Hindrance::Fixed(i) => of_instance("fixed-instance", i, "", " is never moved"),
        Hindrance::Stays(i) => of_instance("no-place", i, "", " finds no place elsewhere"),
        Hindrance::Memory(missing) => {
            let text =
                format!("the other nodes together would lack {missing} MiB memory for the target reserve");
            Words { missing: Some(missing), ..Words::new("memory", text) }
        }
        Hindrance::Reserve(ref lack) => {
            let text = format!("the target reserve would be missing: {}", node_text(lack, cluster));
            Words::new("reserve", text).about(lack)
        }
        Hindrance::Room { needed, fitting } => {
            let text = format!("room would be left for only {fitting} of {needed} further instances");
            Words { missing: Some(needed - fitting), ..Words::new("keep-room", text) }
        }
        Hindrance::Redundancy(n) => of_node("n+1", n, "", " would fail N+1"),
        Hindrance::Worse(Deterioration::Exclusion { node, tag }) => {
            let tag = cluster.tag_table.name(tag);
            let before = format!("more instances with the exclusion tag '{tag}' would share ");
            of_node("exclusion-tags", node, &before, "")
        }
        Hindrance::Worse(Deterioration::Policy { node, rule }) => {
            let what = match rule {
                Rule::SpindleRatio | Rule::PlannedSpindleRatio => {
                    "would exceed the spindle ratio of its policy"
                }
                Rule::PlannedDisk => "would lack disk for its planned instances",
                _ => "would exceed the vCPU ratio of its policy",
            };
            of_node("policy", node, "", &format!(" {what}"))
        }
        Hindrance::Worse(Deterioration::SharedLocation) => {
            Words::new("location", "more instances would have both nodes at one location")
        }
        Hindrance::Worse(Deterioration::DesiredLocation) => {
            Words::new("location", "more instances would not be where they desire to be")
        }
        Hindrance::Expendable(n) => {
            of_node("global-n+1", n, "", " could not be emptied any more (global N+1)")
        }
        Hindrance::Exposed(n) => {
            let text = format!("the target reserve would be missing: {EXPOSED}");
            Words::new("reserve-global-n+1", text).at(n)
        }
        Hindrance::LastNode => Words::new("last-node", "it is the last one of its group"),
        Hindrance::MaxNodes => Words::new("max-nodes", "no more nodes are wanted in this run (--max-nodes)"),
        Hindrance::Unlikely => Words::new("unlikely", "too many before it could not be freed"),
        Hindrance::NotTried => Words::new("not-tried", "the search ended before it was tried"),
        Hindrance::Fewest => Words::new("fewest", "fewer nodes than stay on are not enough"),
        Hindrance::NoFewer => Words::new("no-fewer", "no plan was found that leaves fewer nodes on"),
    }
}
