//! The listed differences: inputs for which our answer differs from the reference's by design. Each has a name and a
//! condition on the input. Everything that can still be compared is compared.

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
    /// No commands are written with a name that is not valid in Ganeti. The output until then is compared.
    ImpossibleNames,
    /// Foreseeable errors are reported before anything is printed: `-X` where no jobs can be submitted, files that
    /// cannot be written, and unknown fields.
    ToldAhead,
    /// With `-v` five times, no node is listed both as bad and as happy. Compared
    /// exactly, but for nodes of which a total is zero.
    BadAndHappy,
    /// The heading and the names of split instances are both on standard
    /// output; the reference puts the names on standard error. Compared
    /// exactly, after inserting the names.
    SplitInstanceNames,
    /// hbal prints and saves clusters with split instances; the reference crashes. Its output until then is compared.
    SplitInstanceOutput,
    /// hbal does not touch a movable DRBD instance without a secondary node; the reference crashes. Its output until
    /// then is compared.
    DrbdWithoutSecondary,
    /// Diskless instances move like those on shared storage; the reference leaves them where they are. Compared
    /// exactly, after giving them storage that all nodes share.
    DisklessMoves,
    /// An instance whose source names its primary also as its secondary counts as a primary; the reference loses it
    /// as one.
    OwnSecondary,
    /// Nodes, but none online: the reference shows score 0 and no components.
    AllOffline,
    /// hail looks for places for the sizes of the policy if storage is exclusive; the reference sometimes also if it
    /// is not. Compared exactly, after restating the request to avoid this.
    DedicatedWithoutExclusive,
    /// A dedicated request for many instances places each one in addition to the earlier ones, in any group. The
    /// reference forgets the earlier ones, or the other groups. Compared exactly for one group, otherwise up to the
    /// first other group.
    DedicatedOvercommit,
    /// A node that is offline or drained takes no instances. Compared exactly, after removing the memory of such
    /// nodes.
    OfflineRescue,
    /// No instance fails over to a drained secondary. Compared exactly, after removing the memory of such nodes. The
    /// reason why the instance stays may differ.
    DrainedSecondary,
    /// With `-t`, hail looks up names and tags in the actual cluster. Compared exactly, after giving the reference
    /// the same cluster twice.
    ForeignReferences,
    /// An instance of a request without a disk template has its disks on its nodes; the reference refuses the
    /// request. Compared exactly, after adding the template.
    TemplateMissing,
    /// An instance that a request names twice is moved once. Compared exactly, after naming it once.
    RepeatedInstance,
    /// An instance does not stay in its group because the group is listed twice as a target. Compared exactly, after
    /// listing it once.
    RepeatedTarget,
    /// Instances change only to the nodes of `--restrict-allocation-to`. The reference uses these nodes just to
    /// choose the group. Compared until the reference uses another node.
    RestrictedChangeGroup,
    /// If migration tags exclude the best group, an instance changes to the next one; the reference gives up.
    /// Compared until then.
    NextGroup,
    /// A new instance has a number in tables; the reference shows -1. Everything except this number is compared.
    NewInstanceNumber,
    /// In the reference, a new instance in a named group may get the number of another one, which is then overlooked.
    /// Compared exactly, after giving that group's instances the first numbers.
    GroupIndexShadow,
    /// After an allocation in one group, the whole cluster is shown and saved. The reference shows only this group,
    /// and may crash when saving. Its output must be contained in ours.
    GroupState,
    /// The N+1 check of a single group handles instances with one node elsewhere; the reference crashes when it looks
    /// at them. Compared are whether hail answers, and hspace's output until then.
    SplitInstanceCheck,
    /// An instance with its secondary in another group is shown and saved once on each of its nodes. The reference
    /// may count it twice after its group change. The answer is compared.
    SplitInstanceState,
    /// A new DRBD instance with one node is refused; the reference crashes, or creates it.
    DrbdOnOneNode,
    /// The reason why no group is left for an instance is readable. Only its first words are compared.
    ChangeGroupDump,
    /// hspace with a limit below one prints its whole result; the reference crashes on the way. Its output until then
    /// is compared.
    LimitZero,
    /// hspace allocates nothing if `--independent-groups` excludes all groups with places; the reference crashes. Its
    /// output until then is compared.
    NoGroupLeft,
    /// hspace for programs handles forthcoming instances; the reference crashes. Its output until then is compared.
    ForthcomingCount,
    /// hcheck counts instances whose secondary is on an offline node; the reference counts offline nodes. Compared
    /// exactly, after counting both.
    OfflineSecondaries,
    /// hcheck for shells has an additional key that tells if balancing leaves problems. Compared exactly, after
    /// computing it from the reference's counts.
    ProblemsLeft,
    /// Without nodes, hcheck shows all values under their names; the reference shows the flag under the first one.
    /// Compared exactly.
    LabelsWithoutNodes,
    /// Nodes that hroller does not plan for do not affect the plan. Compared exactly, after putting them behind the
    /// others. If that changes the targets of instances, our answers to both must have the same nodes.
    UnselectedNodes,
    /// hscan writes the memory that KVM nodes are assumed to use, and computes its line from it; the reference writes
    /// the reported memory. Compared exactly, except for that column.
    KvmNodeMemory,
    /// The output and the files after moves contain the nodes' free memory at that time; the reference's contain the
    /// reported values from before. Saved states are compared exactly, after correcting the reference's by the moved
    /// memory; tables are compared without that column.
    SavedFreeMemory,
    /// A node that does not answer counts as offline even without a mark; the reference stops. Compared exactly,
    /// after marking it.
    SilentNode,
    /// A node that does not answer counts as offline; the reference stops. Compared exactly, after marking it as
    /// offline.
    SilentNodes,
    /// A state that would not load back is not saved, and the exit status is 1. The output is compared.
    LoadsBack,
    /// hsqueeze requires the reserve on online nodes only; the reference also on the nodes that it frees.
    OfflineReserve,
    /// hsqueeze frees no node if another one would then fail N+1.
    FreedN1,
    /// hsqueeze moves DRBD instances only with `--drbd` or `--all`.
    DrbdStays,
    /// hsqueeze frees at once the nodes that the next run would free.
    FreedAtOnce,
    /// The state after hsqueeze contains the standby tags of switched nodes. Compared exactly, without these tags.
    SqueezedTags,
    /// The instances of a node that hail empties on trial leave it in the order of their sizes; in the reference, in
    /// the order of their list. Compared exactly, after listing them by size.
    EvacuationOrder,
    /// hsqueeze leaves a node online if no node is known to be the master.
    LastNode,
    /// The commands of hsqueeze are complete: they drain, wait, mark nodes and record sizes. Compared exactly, after
    /// leaving these out.
    CompleteScript,
    /// A node fails N+1 if `unallocated <= reserved`, from the start; the reference begins with `free < reserved`.
    InitialN1,
    /// If harep fails for one instance (contradictory tags, a refused job, tags that cannot be written), it still
    /// attends to the others; the reference stops. Compared exactly except for that instance, after repairing the
    /// cluster.
    RepairGoesOn,
    /// A repair that ended well a short while ago without an effect counts as a failure; the reference repeats it.
    RepairInVain,
    /// A missing permission is recorded once; the reference replaces the tag by a new one in every run.
    RepairNotedOnce,
    /// A repair without jobs was never begun; for the reference it has ended well.
    RepairNeverBegun,
    /// No repair begins without room for it; the reference submits its job.
    RepairNoRoom,
    /// Tags of a repair that others have replaced are removed, too.
    RepairOldTags,
    /// An instance whose repair has just ended is left to the next run of harep; the reference may repeat the repair.
    /// Its output after the end of the first repair is ignored.
    RepairWaits,
    /// harep names the nodes in its opcodes, and stops and starts instances that get new disks; the reference leaves
    /// the nodes to hail. Compared exactly, except for these.
    RepairOpcodes,
}

impl Rule {
    /// All except harep's, in the order in which they are tried.
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

    /// Those of harep. If several apply to a case, the first is counted.
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

    /// Name in the documentation of differences.
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

    /// Tells if the answers to the case may differ by this rule.
    pub fn applies(self, case: &Case) -> bool {
        let raw = &case.cluster.raw;
        let (hbal, hinfo) = (case.tool == Tool::Hbal, case.tool == Tool::Hinfo);
        let hspace = case.tool == Tool::Hspace;
        let hcheck = case.tool == Tool::Hcheck;
        let is_hsqueeze = case.tool == Tool::Hsqueeze;
        // They are detected once both answers are known.
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
            // A secondary node counts with any template.
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
                            // hcheck checks the consequences for all instances.
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
                // Only here can a node out of use be chosen and the score be shown.
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

/// Tells if a node out of use has memory for instances of other nodes in its group.
pub fn may_rescue_offline(case: &Case) -> bool {
    let raw = &case.cluster.raw;
    (0..raw.nodes.len()).any(|i| {
        let node = &raw.nodes[i];
        let others = raw.nodes.iter().filter(|other| other.group == node.group).count() > 1;
        others && is_offline(case, i) && node.mem_free > Mib(0)
    })
}

/// Names of the nodes with a total of zero. Their free share is NaN, so such a node is not even equal to itself.
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

/// The longest suffix of the first name that starts at a dot and that all names of nodes and instances share.
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

/// Memory of a node that is used neither by its instances nor by anything unknown.
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

/// The N+1 flag of a node directly after loading: the reference's, and ours.
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

/// Tells if the data or an option marks the node as out of use.
pub fn is_offline(case: &Case, node: usize) -> bool {
    let raw = &case.cluster.raw;
    // The option means all nodes with the name.
    let means =
        |key: &String| looked_up(raw, key).is_some_and(|at| raw.nodes[at].name == raw.nodes[node].name);
    raw.nodes[node].offline || case.facts.offline.iter().any(means)
}

/// The node that `-O key` means: the one with this name, or the only one whose name before a dot is the key.
fn looked_up(raw: &RawCluster, key: &str) -> Option<usize> {
    let exact = raw.nodes.iter().rposition(|node| node.name == key);
    exact.or_else(|| {
        let start = format!("{key}.");
        let mut found = (0..raw.nodes.len()).filter(|i| raw.nodes[*i].name.starts_with(&start));
        found.next().filter(|_| found.next().is_none())
    })
}

/// Tells if hail has a request of this type.
fn asks(case: &Case, kind: &str) -> bool {
    case.asked.as_ref().is_some_and(|asked| asked.kind() == kind)
}

/// Tells if there are nodes, but none of them is online.
fn none_online(case: &Case) -> bool {
    let nodes = case.cluster.raw.nodes.len();
    nodes > 0 && (0..nodes).all(|i| is_offline(case, i))
}

/// Tells if there are nodes to examine, but none of them is online.
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

/// Names of forthcoming instances with the status of running ones.
pub fn forthcoming_running(raw: &RawCluster) -> Vec<&str> {
    let them = raw.instances.iter().filter(|instance| instance.forthcoming && instance.status.is_running());
    them.map(|instance| instance.name.as_str()).collect()
}
