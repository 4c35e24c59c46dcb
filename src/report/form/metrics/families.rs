//! Table of all metrics: their names, meanings and sources.

/// Behaviour of a family's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FamilyKind {
    /// They go up and down.
    Gauge,
    /// They only grow while the program runs.
    Counter,
}

impl FamilyKind {
    /// The word of the exposition format.
    pub const fn as_str(self) -> &'static str {
        match self {
            FamilyKind::Gauge => "gauge",
            FamilyKind::Counter => "counter",
        }
    }
}

/// Definition of a family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FamilyRow {
    /// Its full name.
    pub name: &'static str,
    /// Behaviour of its values.
    pub kind: FamilyKind,
    /// The names of its labels.
    pub labels: &'static [&'static str],
    /// The tool that provides it. Each tool has families of its own, so that the files of several can be in one
    /// directory.
    pub source: &'static str,
    /// Description, one sentence.
    pub help: &'static str,
}

macro_rules! families {
    ($($family:ident $kind:ident $name:literal [$($label:literal),*] $source:literal $help:literal;)+) => {
        /// A family: the metrics of one name.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Family { $(#[doc = $help] $family),+ }

        impl Family {
            /// All families, in the order in which they are written.
            pub const ALL: &'static [Family] = &[$(Family::$family),+];

            /// Its definition.
            pub fn row(self) -> &'static FamilyRow {
                &ROWS[self as usize]
            }
        }

        const ROWS: &[FamilyRow] = &[$(FamilyRow {
            name: concat!("htools_", $name),
            kind: FamilyKind::$kind,
            labels: &[$($label),*],
            source: $source,
            help: $help,
        }),+];
    };
}

families! {
    ClusterScore Gauge "cluster_score" ["cluster"] "hinfo"
        "Score of all nodes as one population; less is better.";
    SplitInstances Gauge "split_instances" ["cluster"] "hinfo"
        "Instances whose two nodes are in different node groups.";
    GroupScore Gauge "group_score" ["cluster", "group"] "hinfo"
        "Score of the node group by itself; less is better.";
    GroupScorePart Gauge "group_score_component" ["cluster", "group", "component"] "hinfo"
        "What a component adds to the score of the group, weighted: all together are the score.";
    GroupNodes Gauge "group_nodes" ["cluster", "group", "state"] "hinfo"
        "Nodes by state: online, drained, standby (off, with a standby tag), offline, silent (not marked, and without an answer).";
    GroupInstances Gauge "group_instances" ["cluster", "group", "status"] "hinfo"
        "Instances by Ganeti's status, counted in the group of their primary node.";
    GroupFailingNodes Gauge "group_n1_failing_nodes" ["cluster", "group"] "hinfo"
        "Online nodes without the memory for the instances that would fail over to them (N+1).";
    GroupFailingInstances Gauge "group_n1_failing_instances" ["cluster", "group"] "hinfo"
        "Instances in danger as their primary or secondary node fails N+1.";
    GroupMemorySize Gauge "group_memory_size_bytes" ["cluster", "group"] "hinfo"
        "Memory of the online nodes.";
    GroupMemoryUsed Gauge "group_memory_used_bytes" ["cluster", "group"] "hinfo"
        "Memory of the online nodes that no new instance can get: that of instances, of the nodes, and what nobody accounts for.";
    GroupDiskSize Gauge "group_disk_size_bytes" ["cluster", "group"] "hinfo"
        "Disk space of the online nodes.";
    GroupDiskUsed Gauge "group_disk_used_bytes" ["cluster", "group"] "hinfo"
        "Disk space of the online nodes that is not free.";
    GroupCpusLimit Gauge "group_vcpus_limit" ["cluster", "group"] "hinfo"
        "Virtual CPUs that the policy allows on the online nodes.";
    GroupCpusUsed Gauge "group_vcpus_used" ["cluster", "group"] "hinfo"
        "Virtual CPUs in use on the online nodes, those of the nodes themselves included.";
    NodeOnline Gauge "node_online" ["cluster", "group", "node"] "hinfo"
        "Whether the node is in use; of others nothing else is told.";
    NodeFailing Gauge "node_n1_failing" ["cluster", "group", "node"] "hinfo"
        "Whether the node fails N+1.";
    NodeInstances Gauge "node_instances" ["cluster", "group", "node", "role"] "hinfo"
        "Instances of the node, as primary and as secondary.";
    NodeMemorySize Gauge "node_memory_size_bytes" ["cluster", "group", "node"] "hinfo"
        "Memory of the node.";
    NodeMemoryUsed Gauge "node_memory_used_bytes" ["cluster", "group", "node"] "hinfo"
        "Memory of the node that no new instance can get.";
    NodeMemoryReserved Gauge "node_memory_reserved_bytes" ["cluster", "group", "node"] "hinfo"
        "Memory that has to stay free on the node for instances that may fail over to it.";
    NodeDiskSize Gauge "node_disk_size_bytes" ["cluster", "group", "node"] "hinfo"
        "Disk space of the node.";
    NodeDiskUsed Gauge "node_disk_used_bytes" ["cluster", "group", "node"] "hinfo"
        "Disk space of the node that is not free.";
    NodeCpusLimit Gauge "node_vcpus_limit" ["cluster", "group", "node"] "hinfo"
        "Virtual CPUs that the policy allows on the node.";
    NodeCpusUsed Gauge "node_vcpus_used" ["cluster", "group", "node"] "hinfo"
        "Virtual CPUs in use on the node, its own included.";

    CheckHealthy Gauge "check_healthy" ["cluster"] "hcheck"
        "1 if nothing is wrong now, 0 if anything is, even if balancing would mend it.";
    CheckProblems Gauge "check_problems" ["cluster", "group", "problem", "when"] "hcheck"
        "Nodes or instances with a problem, now, and after balancing on trial.";
    CheckMoves Gauge "check_moves" ["cluster", "group"] "hcheck"
        "Moves of the balancing on trial; 0 if nothing had to be mended.";
    CheckIdleTags Gauge "check_idle_tags" ["cluster"] "hcheck"
        "Tags for htools that do nothing: unknown, malformed or unused.";
    CheckUnmetKeys Gauge "check_unmet_keys" ["cluster", "wish"] "hcheck"
        "Customers' affinity keys that are not met where an instance runs: together (nothing on its node meets one), apart (something does that should not).";
    CheckLoss Gauge "check_loss_instances" ["cluster", "outcome"] "hcheck"
        "Instances by what the loss of the nodes of --without-node would mean to them: placed elsewhere, unmirrored, stranded.";

    BalanceScoreBefore Gauge "balance_score_before" ["cluster", "group"] "hbal"
        "Score of the group before the first move.";
    BalanceScoreAfter Gauge "balance_score_after" ["cluster", "group"] "hbal"
        "Score of the group after the last move.";
    BalanceUnavoidable Gauge "balance_score_unavoidable" ["cluster", "group"] "hbal"
        "The part of the score that moves within the group cannot take away.";
    BalanceGain Gauge "balance_gain" ["cluster", "group"] "hbal"
        "What the moves take off the score.";
    BalanceMoves Gauge "balance_moves" ["cluster", "group"] "hbal"
        "Moves that hbal would make, or begins to make with -X.";
    BalanceCopied Gauge "balance_copied_bytes" ["cluster", "group"] "hbal"
        "Disk space that these moves copy.";
    BalanceBound Gauge "balance_score_bound" ["cluster", "group"] "hbal"
        "No placement has a smaller score, by a proof (hbal --deep); with --max-moves none after so many moves.";
    BalanceGap Gauge "balance_gap_ratio" ["cluster", "group"] "hbal"
        "How far the score after the moves is above that bound, as a share of it: 0 is the best possible (hbal --deep).";
    BalanceComplete Gauge "balance_search_complete" ["cluster", "group"] "hbal"
        "Whether the search came to its end, before a time limit or an interrupt.";

    SpaceInstances Gauge "space_instances" ["cluster", "group", "allocation"] "hspace"
        "Instances that still fit: of shrinking sizes (tiered), or all of the standard size.";
    SpaceMemory Gauge "space_memory_bytes" ["cluster", "group", "allocation"] "hspace"
        "Memory of the instances that still fit.";
    SpaceDisk Gauge "space_disk_bytes" ["cluster", "group", "allocation"] "hspace"
        "Disk space of the instances that still fit, without mirrors.";
    SpaceCpus Gauge "space_vcpus" ["cluster", "group", "allocation"] "hspace"
        "Virtual CPUs of the instances that still fit.";
    SpaceBlocked Gauge "space_blocked" ["cluster"] "hspace"
        "Whether nothing was tried, as existing trouble (N+1) has to be mended first.";
    SpaceComplete Gauge "space_search_complete" ["cluster", "allocation"] "hspace"
        "Whether the search came to its end, before a time limit or an interrupt.";

    SqueezeNodes Gauge "squeeze_nodes" ["cluster", "group", "state"] "hsqueeze"
        "Nodes as hsqueeze sees them: online, standby (off, and could be powered up), other (out of use).";
    SqueezeSpare Gauge "squeeze_spare_nodes" ["cluster", "group"] "hsqueeze"
        "Online nodes that could be powered down.";
    SqueezeWanted Gauge "squeeze_wanted_nodes" ["cluster", "group"] "hsqueeze"
        "Standby nodes that have to be powered up.";
    SqueezeMoves Gauge "squeeze_moves" ["cluster", "group"] "hsqueeze"
        "Moves that go with that.";
    SqueezeEnough Gauge "squeeze_reserve_enough" ["cluster", "group"] "hsqueeze"
        "Whether the minimal reserve holds at the end of the plan.";
    SqueezeComplete Gauge "squeeze_search_complete" ["cluster"] "hsqueeze"
        "Whether the search came to its end, before a time limit or an interrupt.";

    MaintenanceNodes Gauge "maintenance_nodes" ["cluster", "stage"] "hroller"
        "Nodes of a maintenance that hroller carries out: done, needless (left out by a command of the operator), marked (drained, offline or in standby), left.";
    MaintenanceBegan Gauge "maintenance_start_timestamp_seconds" ["cluster"] "hroller"
        "Time at which the maintenance began, in seconds since 1970.";

    RegroupHealth Gauge "regroup_group_health" ["cluster", "group", "health"] "hgroup"
        "1 at the state of health of the group (hgroup status): healthy, weak (N+1, or nodes could not be emptied), unhealthy (instances on offline nodes).";
    RegroupStranded Gauge "regroup_stranded_instances" ["cluster", "group"] "hgroup"
        "Instances with an offline node in the group (hgroup status).";
    RegroupMoves Gauge "regroup_moves" ["cluster", "command"] "hgroup"
        "Moves that the command plans.";
    RegroupCopied Gauge "regroup_copied_bytes" ["cluster", "command"] "hgroup"
        "Disk space that these moves copy.";
    RegroupUnhealed Gauge "regroup_unhealed_groups" ["cluster"] "hgroup"
        "Groups that are not healthy and stay so (hgroup redistribute).";
    RegroupEmptied Gauge "regroup_emptiable_groups" ["cluster"] "hgroup"
        "Groups that could be emptied, each by itself (hgroup compress).";
    RegroupImbalance Gauge "regroup_imbalance_ratio" ["cluster", "when"] "hgroup"
        "How unevenly load is spread over the groups, before the moves and after them (hgroup balance, which prints it in per cent).";
    RegroupComplete Gauge "regroup_search_complete" ["cluster", "command"] "hgroup"
        "Whether the search came to its end, before a time limit or an interrupt.";

    RepairInstances Gauge "repair_instances" ["cluster", "state"] "harep"
        "Instances by what harep says of them: healthy, pending_repair, needs_repair, failure.";

    LastRunTime Gauge "last_run_timestamp_seconds" ["cluster", "tool"] "every tool"
        "When the tool last ended, in seconds since 1970.";
    LastRunDuration Gauge "last_run_duration_seconds" ["cluster", "tool"] "every tool"
        "How long its last run took.";
    LastRunSuccess Gauge "last_run_success" ["cluster", "tool"] "every tool"
        "Whether its last run did what it was asked for, or ended with an error.";

    Up Gauge "up" ["cluster"] "exporter"
        "Whether the last reading of the cluster succeeded.";
    ReadingTime Gauge "last_reading_timestamp_seconds" ["cluster"] "exporter"
        "When the cluster was last read successfully, in seconds since 1970; missing before the first time.";
    ReadingAge Gauge "reading_age_seconds" ["cluster"] "exporter"
        "How long ago that was.";
    ReadingDuration Gauge "reading_duration_seconds" ["cluster"] "exporter"
        "How long the last reading took, successful or not.";
    SurveyDuration Gauge "survey_duration_seconds" ["cluster"] "exporter"
        "How long it took to check, balance and fill the cluster on trial after its last successful reading.";
    Readings Counter "readings_total" ["cluster"] "exporter"
        "Readings of the cluster that have ended.";
    ReadingFailures Counter "reading_failures_total" ["cluster"] "exporter"
        "Readings of the cluster that have failed.";
    HistoryReadable Gauge "history_readable" [] "exporter"
        "Whether the history of --history could be read.";
    HistoryRuns Gauge "history_runs" ["cluster", "tool", "ending"] "exporter"
        "Runs of the last 24 hours that carried plans out, by ending; those that are under way or were cut off are unfinished.";
    HistoryMoves Gauge "history_moves" ["cluster", "tool", "outcome"] "exporter"
        "Moves of the last 24 hours, by outcome.";
    HistoryLastRun Gauge "history_last_run_timestamp_seconds" ["cluster", "tool"] "exporter"
        "When the tool last ended such a run, in seconds since 1970.";
    HistoryLastSuccess Gauge "history_last_run_success" ["cluster", "tool"] "exporter"
        "Whether that run, and all moves that it began, ended well.";
    HistoryScore Gauge "history_score" ["cluster", "tool", "when"] "exporter"
        "Score before and after that run.";
    BuildInfo Gauge "build_info" ["version"] "exporter"
        "1, with the version of htools.";
}
