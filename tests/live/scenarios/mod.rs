//! The scenarios on real clusters, in this order.

mod access;
mod allocator;
mod deep;
mod execution;
mod failure;
mod groups;
mod hbal;
mod interruption;
mod maintenance;
mod monitoring;
mod pacemaker;
mod pacemaker_carried;
mod pacemaker_promoted;
mod pacemaker_rolling;
mod package;
mod placement;
mod power;
mod reading;
mod repair;
mod squeeze;
mod stream;

use std::path::Path;

use crate::cluster::Cluster;
use crate::system::{Script, System};

/// Kind of cluster that a scenario needs. The clusters run side by side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Six nodes and sixteen instances, most of them mirrored.
    Large,
    /// Four nodes and a few mirrored instances.
    Small,
    /// Four nodes and instances on shared storage, which move within seconds.
    Shared,
    /// Four small nodes and mirrored instances that hardly leave room.
    Pairs,
    /// Three small nodes, two of them full of instances on shared storage.
    Full,
    /// Five nodes, and instances that are each broken in a different way.
    Repairs,
    /// Three Pacemaker nodes, and three resources.
    Pacemaker,
    /// The same with the Pacemaker 3.0 of Debian 13.
    Pacemaker3,
    /// Four nodes with the Ganeti 3.1 of Debian 13, and a few mirrored instances.
    Ganeti31,
}

/// Files with rows of instances; see `vcluster`.
const SMALL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/live/populations/small");
const PAIRS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/live/populations/pairs");
const FULL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/live/populations/full");
const REPAIRS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/live/populations/repairs");
const SHARED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/live/populations/shared");

impl Kind {
    pub const ALL: [Kind; 9] = [
        Kind::Large,
        Kind::Small,
        Kind::Shared,
        Kind::Pairs,
        Kind::Full,
        Kind::Repairs,
        Kind::Pacemaker,
        Kind::Pacemaker3,
        Kind::Ganeti31,
    ];

    /// Name of its directory.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Large => "large",
            Kind::Small => "small",
            Kind::Shared => "shared",
            Kind::Pairs => "pairs",
            Kind::Full => "full",
            Kind::Repairs => "repairs",
            Kind::Pacemaker => "pacemaker",
            Kind::Pacemaker3 => "pacemaker3",
            Kind::Ganeti31 => "ganeti31",
        }
    }

    /// The script that starts it.
    pub fn script(self) -> Script {
        match self {
            Kind::Pacemaker => Script::pacemaker(System::Own),
            Kind::Pacemaker3 => Script::pacemaker(System::Debian13),
            Kind::Ganeti31 => Script::ganeti(System::Debian13),
            _ => Script::ganeti(System::Own),
        }
    }

    /// Kind of the cluster in a directory.
    pub fn of(directory: &Path) -> Option<Kind> {
        let settings = std::fs::read_to_string(directory.join("settings")).ok()?;
        let is = |setting: &str| settings.lines().any(|line| line == setting);
        Some(match () {
            () if is("PCLUSTER=1") && is("SYSTEM=13") => Kind::Pacemaker3,
            () if is("PCLUSTER=1") => Kind::Pacemaker,
            () if is("SYSTEM=13") => Kind::Ganeti31,
            () if is("VCLUSTER_NODES=6") => Kind::Large,
            () if is("VCLUSTER_NODES=5") => Kind::Repairs,
            () if is("VCLUSTER_NODES=3") => Kind::Full,
            () if is("VCLUSTER_DRBD=0") => Kind::Shared,
            () if is("VCLUSTER_MEM=8192") => Kind::Pairs,
            () => Kind::Small,
        })
    }

    /// Settings of such a cluster; see `vcluster help`.
    pub fn settings(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Kind::Large | Kind::Pacemaker | Kind::Pacemaker3 => &[],
            Kind::Small | Kind::Ganeti31 => &[("VCLUSTER_NODES", "4"), ("VCLUSTER_POPULATE", SMALL)],
            Kind::Shared => &[("VCLUSTER_NODES", "4"), ("VCLUSTER_DRBD", "0"), ("VCLUSTER_POPULATE", SHARED)],
            Kind::Pairs => &[("VCLUSTER_NODES", "4"), ("VCLUSTER_MEM", "8192"), ("VCLUSTER_POPULATE", PAIRS)],
            Kind::Repairs => &[("VCLUSTER_NODES", "5"), ("VCLUSTER_POPULATE", REPAIRS)],
            Kind::Full => &[
                ("VCLUSTER_NODES", "3"),
                ("VCLUSTER_MEM", "8192"),
                ("VCLUSTER_DRBD", "0"),
                ("VCLUSTER_POPULATE", FULL),
            ],
        }
    }
}

pub struct Scenario {
    /// Name for `--only`.
    pub name: &'static str,
    pub kind: Kind,
    /// True if it leaves the cluster unchanged.
    pub only_reads: bool,
    pub run: fn(&Cluster) -> anyhow::Result<()>,
}

type Run = fn(&Cluster) -> anyhow::Result<()>;

const fn reads(name: &'static str, kind: Kind, run: Run) -> Scenario {
    Scenario { name, kind, only_reads: true, run }
}

const fn changes(name: &'static str, kind: Kind, run: Run) -> Scenario {
    Scenario { name, kind, only_reads: false, run }
}

/// All scenarios; those of one cluster run in this order.
pub const ALL: &[Scenario] = &[
    reads("read-rapi", Kind::Large, reading::over_rapi),
    reads("read-luxi", Kind::Large, reading::over_luxi),
    reads("read-default-socket", Kind::Large, reading::default_socket),
    reads("hscan-rapi", Kind::Large, reading::hscan_over_rapi),
    reads("hscan-luxi", Kind::Large, reading::hscan_over_luxi),
    changes("execute-luxi", Kind::Large, execution::over_luxi),
    changes("execute-rapi", Kind::Large, execution::over_rapi),
    reads("credentials", Kind::Small, access::credentials),
    reads("wrong-password", Kind::Small, access::wrong_password),
    reads("certificates", Kind::Small, access::certificates),
    changes("silent-node", Kind::Small, power::silent_node),
    changes("maintenance-killed", Kind::Small, maintenance::killed_and_resumed),
    changes("maintenance-failed", Kind::Small, maintenance::failed_and_resumed),
    changes("monitoring", Kind::Small, monitoring::load_of_nodes),
    changes("allocator", Kind::Small, allocator::decides),
    changes("package", Kind::Small, package::in_place_of_the_original),
    changes("failure-luxi", Kind::Small, failure::over_luxi),
    changes("failure-rapi", Kind::Small, failure::over_rapi),
    changes("execute-shared", Kind::Shared, execution::shared_storage),
    changes("default-journal", Kind::Shared, execution::default_journal),
    changes("drained-queue", Kind::Shared, failure::drained_queue),
    changes("interrupt", Kind::Shared, interruption::interrupt),
    changes("terminate", Kind::Shared, interruption::terminate),
    changes("killed-luxi", Kind::Shared, interruption::killed_over_luxi),
    changes("killed-rapi", Kind::Shared, interruption::killed_over_rapi),
    changes("killed-before-answer", Kind::Shared, interruption::killed_before_answer),
    changes("killed-before-request", Kind::Shared, interruption::killed_before_request),
    changes("lost-answer", Kind::Shared, interruption::lost_answer),
    changes("squeeze-luxi", Kind::Shared, squeeze::over_luxi),
    changes("squeeze-rapi", Kind::Shared, squeeze::over_rapi),
    changes("squeeze-power-off-fails", Kind::Shared, squeeze::power_off_fails),
    changes("squeeze-power-on-fails", Kind::Shared, squeeze::power_on_fails),
    changes("squeeze-command-fails", Kind::Shared, squeeze::power_command_fails),
    changes("squeeze-drain-refused", Kind::Shared, squeeze::drain_refused),
    changes("squeeze-killed", Kind::Shared, squeeze::killed),
    changes("squeeze-move-fails", Kind::Small, squeeze::move_fails),
    changes("groups-balance-luxi", Kind::Small, groups::balance),
    changes("groups-balance-rapi", Kind::Shared, groups::balance_over_rapi),
    changes("groups-hbal", Kind::Shared, groups::all_groups),
    changes("groups-redistribute", Kind::Shared, groups::redistribute),
    changes("deep-pairs", Kind::Pairs, deep::pairs_change_places),
    changes("deep-full", Kind::Full, deep::full_nodes_swap),
    changes("repair-all", Kind::Repairs, repair::all_that_breaks),
    changes("repair-rapi", Kind::Repairs, repair::over_rapi),
    changes("repair-killed", Kind::Repairs, repair::killed),
    changes("repair-original", Kind::Repairs, repair::beside_the_original),
    changes("repair-fails", Kind::Repairs, repair::fails_for_good),
    changes("squeeze-all", Kind::Repairs, squeeze::with_disks_of_one_node),
    changes("stream-undo", Kind::Shared, stream::applied_and_undone),
    changes("stream-window", Kind::Shared, stream::window_and_pause),
    changes("stream-replan", Kind::Small, stream::replanned),
    changes("refused-journals", Kind::Shared, interruption::refused_journals),
    reads("pacemaker-places", Kind::Pacemaker, pacemaker::placed_as_said),
    changes("pacemaker-placed", Kind::Pacemaker, pacemaker_carried::placed_otherwise),
    changes("pacemaker-evacuate", Kind::Pacemaker, pacemaker_carried::evacuated),
    changes("pacemaker-switched", Kind::Pacemaker, pacemaker_carried::switched),
    changes("pacemaker-fails", Kind::Pacemaker, pacemaker_carried::fails),
    changes("pacemaker-killed", Kind::Pacemaker, pacemaker_carried::killed),
    changes("pacemaker-survive", Kind::Pacemaker, pacemaker::survives_as_said),
    changes("pacemaker-promoted", Kind::Pacemaker, pacemaker_promoted::changed_and_survived),
    changes("pacemaker-rolling", Kind::Pacemaker, pacemaker_rolling::rebooted),
    changes("pacemaker-rolling-refused", Kind::Pacemaker, pacemaker_rolling::refused),
    reads("debian13-places", Kind::Pacemaker3, pacemaker::placed_as_said),
    changes("debian13-placed", Kind::Pacemaker3, pacemaker_carried::placed_otherwise),
    changes("debian13-evacuate", Kind::Pacemaker3, pacemaker_carried::evacuated),
    changes("debian13-switched", Kind::Pacemaker3, pacemaker_carried::switched),
    changes("debian13-fails", Kind::Pacemaker3, pacemaker_carried::fails),
    changes("debian13-killed", Kind::Pacemaker3, pacemaker_carried::killed),
    changes("debian13-survive", Kind::Pacemaker3, pacemaker::survives_as_said),
    changes("debian13-promoted", Kind::Pacemaker3, pacemaker_promoted::changed_and_survived),
    changes("debian13-rolling", Kind::Pacemaker3, pacemaker_rolling::rebooted),
    changes("debian13-rolling-refused", Kind::Pacemaker3, pacemaker_rolling::refused),
    reads("debian13-rapi", Kind::Ganeti31, reading::over_rapi),
    reads("debian13-luxi", Kind::Ganeti31, reading::over_luxi),
    reads("debian13-hscan-rapi", Kind::Ganeti31, reading::hscan_over_rapi),
    reads("debian13-hscan-luxi", Kind::Ganeti31, reading::hscan_over_luxi),
    changes("debian13-allocator", Kind::Ganeti31, allocator::decides),
];
