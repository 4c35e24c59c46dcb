//! The listed differences: where our answer is meant to differ from the
//! reference's. Each has a name, a condition on the input, and whatever can
//! still be compared is compared.

use htools::load::raw::RawCluster;
use htools::model::{DiskTemplate, Mib, Mirroring, NodeIdx};
use htools::plan::names::{Name, NameOf};

use super::cases::Case;
use super::hail_rules;
use super::hroller;
use super::hsqueeze;
use super::tools::Tool;

/// A listed difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// Printed commands hold full names; the reference shortens them. Compared
    /// exactly, after shortening ours.
    FullNamesInCommands,
    /// Commands of forthcoming instances fail over; the reference's migrate if the status says that the instance runs.
    /// Compared exactly, after changing the word.
    ForthcomingFailsOver,
    /// No commands are made with a name that Ganeti cannot have. What was printed until
    /// then is compared.
    ImpossibleNames,
    /// What is known to fail (`-X` where no jobs can be submitted, files that cannot be written, fields that
    /// do not exist) fails before anything is printed.
    ToldAhead,
    /// With `-v` five times, no node is listed both as bad and as happy. Compared
    /// exactly, but for nodes of which a total is zero.
    BadAndHappy,
    /// The heading and the names of split instances are both on standard
    /// output; the reference puts the names on standard error. Compared
    /// exactly, after inserting the names.
    SplitInstanceNames,
    /// hbal prints and saves clusters with split instances; the reference
    /// breaks off. What it printed until then is compared.
    SplitInstanceOutput,
    /// hbal leaves a movable DRBD instance without secondary node alone; the
    /// reference breaks off. What it printed until then is compared.
    DrbdWithoutSecondary,
    /// Diskless instances move like those on shared storage; the reference leaves them where they are. Compared
    /// exactly, after giving them storage that all nodes share.
    DisklessMoves,
    /// An instance whose source names its primary as its secondary as well
    /// counts as a primary; the reference loses it as one.
    OwnSecondary,
    /// Nodes, but none online: the reference shows score 0 and no components.
    AllOffline,
    /// hail looks for places for sizes of the policy where storage is exclusive;
    /// the reference also in some cases where it is not. Compared exactly,
    /// after asking the reference such that it does not.
    DedicatedWithoutExclusive,
    /// A dedicated request for many instances places each beside the former
    /// ones, in any group; the reference forgets them, or the other groups.
    /// Compared exactly for one group, else until the first other group.
    DedicatedOvercommit,
    /// A node that is offline or drained rescues nobody. Compared exactly,
    /// after taking the memory of such nodes away.
    OfflineRescue,
    /// No instance is failed over to a secondary that is drained. Compared
    /// exactly, after taking the memory of such nodes away; the text why the
    /// instance stays is free.
    DrainedSecondary,
    /// With `-t`, hail looks names and tags up in the cluster that it works with.
    /// Compared exactly, after giving the reference the same cluster twice.
    ForeignReferences,
    /// An instance of a request without a disk template has its disks in its nodes; the reference refuses the request.
    /// Compared exactly, after naming the template.
    TemplateMissing,
    /// An instance that is to be moved and named twice is moved once. Compared
    /// exactly, after naming it once.
    RepeatedInstance,
    /// No instance stays in its group because that is listed twice as a target.
    /// Compared exactly, after listing it once.
    RepeatedTarget,
    /// Instances change to a group's nodes of `--restrict-allocation-to` only;
    /// the reference just chooses the group by them. Compared until the
    /// reference first uses another node.
    RestrictedChangeGroup,
    /// An instance changes to the next group if migration tags close the way to the best one; the reference gives up.
    /// Compared until then.
    NextGroup,
    /// A new instance has a number in tables; the reference shows -1. Everything
    /// but that number is compared.
    NewInstanceNumber,
    /// A new instance in a named group may get the number of another one in
    /// the reference, which is then overlooked. Compared exactly, after giving
    /// that group's instances the first numbers.
    GroupIndexShadow,
    /// What is shown and saved after an allocation in one group is the whole
    /// cluster; the reference shows that group, and may break off when saving.
    /// What it shows must be there.
    GroupState,
    /// The check of one group for N+1 redundancy knows instances with one node
    /// elsewhere; the reference breaks off, where it looks. That hail answers is
    /// compared, and what hspace printed until then.
    SplitInstanceCheck,
    /// An instance with its secondary in another group is in what is shown and
    /// saved once on each of its nodes; the reference may count it twice after
    /// it changed its group. The answer is compared.
    SplitInstanceState,
    /// A new DRBD instance with one node is refused; the reference breaks off,
    /// or makes it.
    DrbdOnOneNode,
    /// The text why no group is left for an instance is readable. What
    /// follows its first words is not compared.
    ChangeGroupDump,
    /// hspace with a limit below one prints its whole result; the reference
    /// breaks off in the middle. What it printed until then is compared.
    LimitZero,
    /// hspace allocates nothing if `--independent-groups` leaves out all groups with places; the reference breaks
    /// off. What it printed until then is compared.
    NoGroupLeft,
    /// hspace for programs goes on where instances are forthcoming; the
    /// reference breaks off. What it printed until then is compared.
    ForthcomingCount,
    /// hcheck counts instances that have their secondary on an offline node; the
    /// reference counts offline nodes. Compared exactly, after counting both.
    OfflineSecondaries,
    /// hcheck for shells has a key more, which tells whether balancing leaves problems. Compared exactly, after
    /// working it out from the reference's counts.
    ProblemsLeft,
    /// Without nodes, hcheck shows all values under their names; the reference the
    /// flag under the first one. Compared exactly.
    LabelsWithoutNodes,
    /// Nodes that hroller does not plan for take no part in the plan. Compared
    /// exactly, after putting them behind the others; where that changes where
    /// instances go, our answers to both have the same nodes.
    UnselectedNodes,
    /// hscan writes the memory that KVM nodes are assumed to use, with which its
    /// line is computed; the reference writes what was reported. Compared exactly,
    /// but for that column.
    KvmNodeMemory,
    /// What is shown and saved after moves has the free memory that nodes have then; the
    /// reference has what they reported before. Saved states are compared exactly, once moved
    /// memory is counted in the reference's; tables but for that column.
    SavedFreeMemory,
    /// A node that does not answer but is not marked as offline counts as offline; the
    /// reference stops. Compared exactly, after marking it.
    SilentNode,
    /// A node that does not answer counts as offline; the reference stops. Compared
    /// exactly, after marking it as offline.
    SilentNodes,
    /// A state that would not load back is not saved, with status 1. What is printed is compared.
    LoadsBack,
    /// hsqueeze looks for the reserve on online nodes only; the reference also on those that it frees.
    OfflineReserve,
    /// hsqueeze frees no node if another one would fail N+1 then.
    FreedN1,
    /// hsqueeze moves no DRBD instance unless `--drbd` or `--all` says so.
    DrbdStays,
    /// hsqueeze frees at once what the next run would free.
    FreedAtOnce,
    /// The state after hsqueeze has the standby tags of nodes that were switched. Compared exactly,
    /// without these tags.
    SqueezedTags,
    /// The instances of a node that hail empties on trial leave it by their size; in the reference,
    /// by the order of their list. Compared exactly, after listing them by size.
    EvacuationOrder,
    /// hsqueeze leaves a node online where no node is known to be the master.
    LastNode,
    /// The commands of hsqueeze are complete: they drain, wait, mark nodes and remember
    /// sizes. Compared exactly, after leaving these out.
    CompleteScript,
    /// Whether a node fails N+1 is `unallocated <= reserved` from the start;
    /// the reference begins with `free < reserved`.
    InitialN1,
    /// What harep cannot do about one instance (contradictory tags, a job that is refused, tags that cannot be written)
    /// does not keep it from looking after the others; the reference stops. Compared exactly but for that instance,
    /// after mending the cluster.
    RepairGoesOn,
    /// A repair that ended well a short while ago and has mended nothing counts as a failure; the reference repeats it.
    RepairInVain,
    /// That a repair is not permitted is noted once; the reference replaces the tag by a new one in every run.
    RepairNotedOnce,
    /// A repair without jobs was never begun; to the reference it has ended well.
    RepairNeverBegun,
    /// No repair is begun where there is no room for it; the reference submits its job.
    RepairNoRoom,
    /// Tags of a repair that others have replaced are removed, too.
    RepairOldTags,
    /// An instance whose repair has just ended is left to the next run of harep; the reference may begin the same
    /// repair again. What it says after the end of the first is left out.
    RepairWaits,
    /// harep names the nodes in its opcodes, and stops and starts what gets new disks; the reference leaves the nodes
    /// to hail. Compared exactly, but for these.
    RepairOpcodes,
}

impl Rule {
    /// All of them, in the order in which they are tried.
    pub const ALL: [Rule; 48] = [
        Rule::SilentNodes,
        Rule::FullNamesInCommands,
        Rule::ForthcomingFailsOver,
        Rule::ImpossibleNames,
        Rule::ToldAhead,
        Rule::BadAndHappy,
        Rule::SplitInstanceNames,
        Rule::SplitInstanceOutput,
        Rule::DrbdWithoutSecondary,
        Rule::DisklessMoves,
        Rule::OwnSecondary,
        Rule::TemplateMissing,
        Rule::RepeatedInstance,
        Rule::RepeatedTarget,
        Rule::RestrictedChangeGroup,
        Rule::NextGroup,
        Rule::NewInstanceNumber,
        Rule::DedicatedWithoutExclusive,
        Rule::DedicatedOvercommit,
        Rule::OfflineRescue,
        Rule::DrainedSecondary,
        Rule::ForeignReferences,
        Rule::GroupIndexShadow,
        Rule::GroupState,
        Rule::SplitInstanceCheck,
        Rule::SplitInstanceState,
        Rule::DrbdOnOneNode,
        Rule::ChangeGroupDump,
        Rule::LimitZero,
        Rule::NoGroupLeft,
        Rule::ForthcomingCount,
        Rule::OfflineSecondaries,
        Rule::ProblemsLeft,
        Rule::LabelsWithoutNodes,
        Rule::UnselectedNodes,
        Rule::KvmNodeMemory,
        Rule::SilentNode,
        Rule::CompleteScript,
        Rule::AllOffline,
        Rule::InitialN1,
        Rule::LoadsBack,
        Rule::OfflineReserve,
        Rule::FreedN1,
        Rule::LastNode,
        Rule::DrbdStays,
        Rule::FreedAtOnce,
        Rule::SqueezedTags,
        Rule::EvacuationOrder,
    ];

    /// Those of harep: of several that show in a case, the first one is counted.
    pub const OF_HAREP: [Rule; 8] = [
        Rule::RepairGoesOn,
        Rule::RepairInVain,
        Rule::RepairNotedOnce,
        Rule::RepairNeverBegun,
        Rule::RepairNoRoom,
        Rule::RepairOldTags,
        Rule::RepairWaits,
        Rule::RepairOpcodes,
    ];

    /// The name in the documentation of differences.
    pub fn name(self) -> &'static str {
        match self {
            Rule::FullNamesInCommands => "full-names-in-commands",
            Rule::ForthcomingFailsOver => "forthcoming-fails-over",
            Rule::ImpossibleNames => "impossible-names",
            Rule::ToldAhead => "told-ahead",
            Rule::BadAndHappy => "bad-and-happy",
            Rule::SplitInstanceNames => "split-instance-names",
            Rule::SplitInstanceOutput => "split-instance-output",
            Rule::DrbdWithoutSecondary => "drbd-without-secondary",
            Rule::DisklessMoves => "diskless-moves",
            Rule::OwnSecondary => "own-secondary",
            Rule::AllOffline => "all-offline",
            Rule::InitialN1 => "initial-n1",
            Rule::DedicatedWithoutExclusive => "dedicated-without-exclusive",
            Rule::DedicatedOvercommit => "dedicated-overcommit",
            Rule::OfflineRescue => "offline-rescue",
            Rule::DrainedSecondary => "drained-secondary",
            Rule::ForeignReferences => "foreign-references",
            Rule::TemplateMissing => "template-missing",
            Rule::RepeatedInstance => "repeated-instance",
            Rule::RepeatedTarget => "repeated-target",
            Rule::RestrictedChangeGroup => "restricted-change-group",
            Rule::NextGroup => "next-group",
            Rule::NewInstanceNumber => "new-instance-number",
            Rule::GroupIndexShadow => "group-index-shadow",
            Rule::GroupState => "group-state",
            Rule::SplitInstanceCheck => "split-instance-check",
            Rule::SplitInstanceState => "split-instance-state",
            Rule::DrbdOnOneNode => "drbd-on-one-node",
            Rule::ChangeGroupDump => "change-group-dump",
            Rule::LimitZero => "limit-zero",
            Rule::NoGroupLeft => "no-group-left",
            Rule::ForthcomingCount => "forthcoming-count",
            Rule::OfflineSecondaries => "offline-secondaries",
            Rule::ProblemsLeft => "problems-left",
            Rule::LabelsWithoutNodes => "labels-without-nodes",
            Rule::UnselectedNodes => "unselected-nodes",
            Rule::KvmNodeMemory => "kvm-node-memory",
            Rule::SavedFreeMemory => "saved-free-memory",
            Rule::SilentNode => "silent-node",
            Rule::SilentNodes => "silent-nodes",
            Rule::CompleteScript => "complete-script",
            Rule::LoadsBack => "loads-back",
            Rule::OfflineReserve => "offline-reserve",
            Rule::FreedN1 => "freed-n1",
            Rule::LastNode => "last-node",
            Rule::DrbdStays => "drbd-stays",
            Rule::FreedAtOnce => "freed-at-once",
            Rule::SqueezedTags => "squeezed-tags",
            Rule::EvacuationOrder => "evacuation-order",
            Rule::RepairGoesOn => "repair-goes-on",
            Rule::RepairWaits => "repair-waits",
            Rule::RepairInVain => "repair-in-vain",
            Rule::RepairNoRoom => "repair-no-room",
            Rule::RepairNeverBegun => "repair-never-begun",
            Rule::RepairNotedOnce => "repair-noted-once",
            Rule::RepairOldTags => "repair-old-tags",
            Rule::RepairOpcodes => "repair-opcodes",
        }
    }

    /// Whether the case is one where the answers may differ by this rule.
    pub fn applies(self, case: &Case) -> bool {
        let raw = &case.cluster.raw;
        let (hbal, hinfo) = (case.tool == Tool::Hbal, case.tool == Tool::Hinfo);
        let hspace = case.tool == Tool::Hspace;
        let hcheck = case.tool == Tool::Hcheck;
        let is_hsqueeze = case.tool == Tool::Hsqueeze;
        // they show when both answers are there
        if case.tool == Tool::Harep {
            return false;
        }
        if case.tool == Tool::Hroller {
            return match self {
                Rule::UnselectedNodes => hroller::has_gap(case),
                Rule::OwnSecondary => raw.instances.iter().any(|i| i.secondary == Some(i.primary)),
                _ => false,
            };
        }
        match self {
            Rule::LoadsBack => case.facts.save && case.cluster.has("duplicate names"),
            Rule::OfflineReserve => is_hsqueeze,
            // whatever the template, a secondary node counts
            Rule::FreedN1 => is_hsqueeze && raw.instances.iter().any(|i| i.secondary.is_some()),
            Rule::DrbdStays => {
                is_hsqueeze && raw.instances.iter().any(|i| i.template.mirroring() == Mirroring::Internal)
            }
            Rule::FreedAtOnce => is_hsqueeze,
            Rule::SqueezedTags => is_hsqueeze && case.facts.save,
            Rule::LastNode => is_hsqueeze && raw.instances.is_empty() && !hsqueeze::has_master(case),
            Rule::CompleteScript => is_hsqueeze && case.facts.commands,
            Rule::SilentNodes => case.cluster.has("silent nodes"),
            Rule::FullNamesInCommands => {
                (hbal || is_hsqueeze) && case.facts.commands && !common_suffix(raw).is_empty()
            }
            Rule::ForthcomingFailsOver => hbal && case.facts.commands && !forthcoming_running(raw).is_empty(),
            Rule::ImpossibleNames => {
                let nodes = raw.nodes.iter().map(|node| (NameOf::Node, &node.name));
                let instances = raw.instances.iter().map(|instance| (NameOf::Instance, &instance.name));
                let impossible = |(kind, name): (NameOf, &String)| Name::of(kind, name).is_err();
                (hbal || is_hsqueeze) && case.facts.commands && nodes.chain(instances).any(impossible)
            }
            Rule::ToldAhead => {
                let fails =
                    |word: &String| word == "-X" || ["nosuch", "missing"].iter().any(|w| word.contains(w));
                case.facts.execute || case.words.iter().any(fails)
            }
            Rule::BadAndHappy => hbal && !without_total(raw).is_empty(),
            Rule::SplitInstanceNames => hinfo && !split_instances(raw).is_empty(),
            Rule::SplitInstanceOutput => {
                hbal && (case.facts.print_instances || case.facts.save) && !split_instances(raw).is_empty()
            }
            Rule::DrbdWithoutSecondary => {
                !hinfo
                    && case.tool != Tool::Hscan
                    && raw.instances.iter().any(|instance| {
                        instance.template.mirroring() == Mirroring::Internal
                            && instance.secondary.is_none()
                            // hcheck looks what would become of all
                            && (instance.auto_balance || hcheck && !case.facts.no_capacity_checks)
                    })
            }
            Rule::DisklessMoves => {
                let moves = hbal || hcheck && !case.facts.no_simulation;
                moves && raw.instances.iter().any(|i| i.template == DiskTemplate::Diskless && i.auto_balance)
            }
            Rule::OwnSecondary => raw.instances.iter().any(|i| i.secondary == Some(i.primary)),
            Rule::AllOffline => match case.tool {
                Tool::Hbal | Tool::Hinfo | Tool::Hcheck => all_offline(case),
                Tool::Hspace | Tool::Hscan => none_online(case),
                // only here a node out of use may be chosen, and the score shown
                Tool::Hail => none_online(case) && asks(case, "allocate-secondary"),
                Tool::Hroller | Tool::Hsqueeze | Tool::Harep => false,
            },
            Rule::InitialN1 => (0..raw.nodes.len()).any(|i| {
                let (theirs, ours) = initial_flags(raw, i);
                theirs != ours && !is_offline(case, i)
            }),
            Rule::OfflineSecondaries => hcheck && (0..raw.nodes.len()).any(|i| is_offline(case, i)),
            Rule::ProblemsLeft => hcheck && case.facts.machine_readable,
            Rule::LabelsWithoutNodes => hcheck && raw.nodes.is_empty(),
            Rule::OfflineRescue | Rule::SplitInstanceCheck if hcheck && case.facts.no_capacity_checks => {
                false
            }
            Rule::OfflineRescue if hcheck => (0..raw.nodes.len()).any(|i| is_offline(case, i)),
            Rule::OfflineRescue if hspace => may_rescue_offline(case),
            Rule::SplitInstanceCheck if hspace || hcheck => !split_instances(raw).is_empty(),
            Rule::KvmNodeMemory => case.tool == Tool::Hscan && case.facts.kvm && case.facts.node_memory > 0,
            Rule::SavedFreeMemory => {
                matches!(case.tool, Tool::Hbal | Tool::Hail | Tool::Hspace | Tool::Hsqueeze)
            }
            Rule::SilentNode => case.cluster.features.contains("silent node"),
            Rule::LimitZero => {
                hspace
                    && !case.facts.machine_readable
                    && case.facts.limit.is_some_and(|limit| limit < 1 && limit != -1)
            }
            Rule::NoGroupLeft => hspace && case.words.iter().any(|word| word.starts_with("--ind")),
            Rule::ForthcomingCount => {
                hspace && case.facts.machine_readable && raw.instances.iter().any(|i| i.forthcoming)
            }
            rule => case.asked.as_ref().is_some_and(|asked| hail_rules::applies(rule, case, asked)),
        }
    }
}

/// Whether a node out of use has memory for instances of its group's others.
pub fn may_rescue_offline(case: &Case) -> bool {
    let raw = &case.cluster.raw;
    (0..raw.nodes.len()).any(|i| {
        let node = &raw.nodes[i];
        let others = raw.nodes.iter().filter(|other| other.group == node.group).count() > 1;
        others && is_offline(case, i) && node.mem_free > Mib(0)
    })
}

/// Names of the nodes of which a total is zero: what is free of it is not a
/// number, and such a node is not even equal to itself.
pub fn without_total(raw: &RawCluster) -> Vec<&str> {
    raw.nodes
        .iter()
        .filter(|node| node.mem_total == 0.0 || node.disk_total == 0.0 || node.cpu_total == 0.0)
        .map(|node| node.name.as_str())
        .collect()
}

/// Names of the instances whose two nodes are in different groups.
pub fn split_instances(raw: &RawCluster) -> Vec<&str> {
    let group = |node: NodeIdx| raw.nodes[node.get()].group;
    raw.instances
        .iter()
        .filter(|x| x.secondary.is_some_and(|secondary| group(secondary) != group(x.primary)))
        .map(|x| x.name.as_str())
        .collect()
}

/// The longest ending of the first name that starts at a dot and that all
/// names of nodes and instances share.
pub fn common_suffix(raw: &RawCluster) -> &str {
    let names =
        || raw.nodes.iter().map(|n| n.name.as_str()).chain(raw.instances.iter().map(|i| i.name.as_str()));
    let first = names().next().unwrap_or("");
    first
        .match_indices('.')
        .map(|(at, _)| &first[at..])
        .find(|suffix| names().all(|name| name.ends_with(suffix)))
        .unwrap_or("")
}

/// Memory of a node that neither its instances nor anything unknown uses.
pub fn unallocated(raw: &RawCluster, node: usize) -> i64 {
    let used: i64 = raw
        .instances
        .iter()
        .filter(|x| x.primary.get() == node && x.status.uses_memory() && !x.forthcoming)
        .map(|x| x.mem.0)
        .sum();
    let node = &raw.nodes[node];
    (node.mem_total.trunc() as i64 - node.mem_node.0 - used).min(node.mem_free.0)
}

/// The N+1 flag of a node right after loading: the reference's, and ours.
pub fn initial_flags(raw: &RawCluster, node: usize) -> (bool, bool) {
    let mut peers = vec![0_i64; raw.nodes.len()];
    for instance in &raw.instances {
        let here = instance.secondary.is_some_and(|secondary| secondary.get() == node);
        if here && !instance.forthcoming && instance.auto_balance && !instance.status.is_offline() {
            peers[instance.primary.get()] += instance.mem.0;
        }
    }
    let reserved = peers.into_iter().max().unwrap_or(0).max(0);
    (raw.nodes[node].mem_free.0 < reserved, unallocated(raw, node) <= reserved)
}

/// Whether the data or an option says that the node is out of use.
pub fn is_offline(case: &Case, node: usize) -> bool {
    let raw = &case.cluster.raw;
    // all nodes that share the name are meant
    let means =
        |key: &String| looked_up(raw, key).is_some_and(|at| raw.nodes[at].name == raw.nodes[node].name);
    raw.nodes[node].offline || case.facts.offline.iter().any(means)
}

/// The node that `-O key` means: that very name, or the only one of which the
/// key is the part before a dot.
fn looked_up(raw: &RawCluster, key: &str) -> Option<usize> {
    let exact = raw.nodes.iter().rposition(|node| node.name == key);
    exact.or_else(|| {
        let start = format!("{key}.");
        let mut found = (0..raw.nodes.len()).filter(|i| raw.nodes[*i].name.starts_with(&start));
        found.next().filter(|_| found.next().is_none())
    })
}

/// Whether hail is asked that.
fn asks(case: &Case, kind: &str) -> bool {
    case.asked.as_ref().is_some_and(|asked| asked.kind() == kind)
}

/// Whether there are nodes, none of them online.
fn none_online(case: &Case) -> bool {
    let nodes = case.cluster.raw.nodes.len();
    nodes > 0 && (0..nodes).all(|i| is_offline(case, i))
}

/// Whether there are nodes to look at, none of them online.
fn all_offline(case: &Case) -> bool {
    let raw = &case.cluster.raw;
    let groups = (0..raw.groups.len()).filter(|g| {
        let asked = case.facts.group.as_deref();
        asked.is_none_or(|asked| asked == raw.groups[*g].name || asked == raw.groups[*g].uuid)
    });
    groups
        .map(|g| (0..raw.nodes.len()).filter(|i| raw.nodes[*i].group.get() == g).collect())
        .any(|nodes: Vec<usize>| !nodes.is_empty() && nodes.iter().all(|i| is_offline(case, *i)))
}

/// Names of instances that do not exist yet, of which the status says that they run.
pub fn forthcoming_running(raw: &RawCluster) -> Vec<&str> {
    let them = raw.instances.iter().filter(|instance| instance.forthcoming && instance.status.is_running());
    them.map(|instance| instance.name.as_str()).collect()
}
