//! `hspace`: number of further instances that a cluster can hold.
//!
//! The limit (`-l`) works as in Ganeti's tool. With 0 nothing is placed; with -1 there is no limit. With any other
//! negative number the tiered allocation places nothing, and the standard allocation has no limit.

pub(in crate::tools) mod request;
mod room;
mod run;
mod runway;

use super::cli::option::ArgumentKind::{Choices, Float, Text};
use super::cli::value::split_list;
use super::cli::{Given, OptionDef, Spec, ValueError, example};
use super::metrics::{by_status, metered};
use super::options::catalogue::*;
use super::options::measured::MEASURED;
use super::options::*;
use super::output::Output;
use super::pacemaker::ClusterUse;
use super::{ExitStatus, ahead, pacemaker};
use crate::load::merge::apply_node_options;
use crate::load::number::parse_int;
use crate::load::units::parse_size;
use crate::model::{DiskTemplate, RoomRequest};
use crate::search::BalanceOptions;
use crate::search::fill::Size;

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct HspaceOptions {
    pub load: LoadOptions,
    pub output: OutputOptions,
    pub limits: LimitOptions,
    pub balance: BalanceOptions,
    pub cib: CibOptions,
    /// None for the first template of the cluster's policy.
    pub disk_template: Option<DiskTemplate>,
    /// At least 0; none for the value of the cluster's policy.
    pub spindle_use: Option<i64>,
    pub independent_groups: bool,
    pub accept_existing_errors: bool,
    /// `--standard-alloc`; none for the standard size of the cluster's policy.
    pub standard: Option<Size>,
    /// Bound the number of instances of the standard allocation.
    pub proof: bool,
    /// `--make-room`
    pub make_room: Option<RoomRequest>,
    /// `--runway`; the inner value is the cluster's name in metrics, if it was given.
    pub runway: Option<Option<String>>,
    /// `--tiered-alloc`; none for the largest sizes of the cluster's policy.
    pub tiered: Option<Size>,
}

tool_options!(HspaceOptions { limits: LimitOptions, balance: BalanceOptions, cib: CibOptions });

/// Name, purpose and options.
pub(crate) const SPEC: Spec<HspaceOptions> = Spec {
    name: "hspace",
    summary: "estimate how many more instances a cluster can hold",
    forms: &["[OPTION...]"],
    examples: &[
        example("hspace -L", "count how many more instances fit"),
        example("hspace -L --standard-alloc 40g,4g,2", "count instances of this size"),
        example("hspace --simulate p,20,2t,128g,32", "count for a cluster that is planned"),
    ],
    options: &[
        &PRINT_NODES,
        &TEXT_DATA,
        &OptionDef::<HspaceOptions>::new("disk-template", "template of the new instances' disks")
            .otherwise("the first of the cluster's policy")
            .common()
            .takes("TEMPLATE", Choices(DiskTemplate::WORDS), |o, g| {
                g.choice().map(|word| o.disk_template = word.parse().ok())
            }),
        &OptionDef::<HspaceOptions>::new(
            "spindle-use",
            "weight of a new instance on its nodes' spindles, 0 or more",
        )
        .otherwise("from the cluster's policy")
        .takes("SPINDLES", Float, |o, g| weight(g).map(|weight| o.spindle_use = Some(weight))),
        &[SIMULATE.of_ganeti(), MASTER],
        &RAPI_ACCESS,
        &[LUXI, IALLOC_SRC],
        &[XML_FILE, LIVE.rare(), SKIP_UNSUPPORTED],
        &[VERBOSE, QUIET],
        &OptionDef::<HspaceOptions>::flag(
            "independent-groups",
            "leave out node groups that cannot lose a node",
            |o| o.independent_groups = true,
        )
        .more("Otherwise they end the search."),
        &OptionDef::<HspaceOptions>::flag(
            "accept-existing-errors",
            "fill the cluster although nodes fail N+1 already",
            |o| o.accept_existing_errors = true,
        ),
        &OFFLINE,
        &EXCLUSIONS,
        &NO_CAPACITY_CHECKS,
        &MACHINE_READABLE,
        &MAX_CPU,
        &MAX_LENGTH
            .says("place at most N instances; -1: no limit")
            .more("The limit is for each of the two allocations."),
        &MIN_DISK,
        &OptionDef::<HspaceOptions>::new("standard-alloc", "fixed size of instances")
            .more("STDSPEC is DISK,MEMORY,CPUS[,SPINDLES].")
            .otherwise("the standard size of the cluster's policy")
            .common()
            .takes("STDSPEC", Text, |o, g| alloc_size(g).map(|size| o.standard = Some(size))),
        &OptionDef::<HspaceOptions>::new("tiered-alloc", "first of the shrinking sizes")
            .more("TSPEC is DISK,MEMORY,CPUS[,SPINDLES].")
            .otherwise("the largest sizes of the cluster's policy")
            .common()
            .takes("TSPEC", Text, |o, g| alloc_size(g).map(|size| o.tiered = Some(size))),
        &OptionDef::<HspaceOptions>::added_flag(
            "proof",
            "also print how many instances of the fixed size fit at most",
            |o| o.proof = true,
        )
        .more(
            "No placement holds more, whatever its order; the present instances stay where they are. \
             The gap is the share of this bound that was not placed. The bound ignores --max-length.",
        ),
        &OptionDef::<HspaceOptions>::addition(
            "make-room",
            "find the fewest moves that make room, such as for 64g,16c,x2",
        )
        .more(
            "ROOM is MEMORY[,DISKd][,VCPUSc][,TEMPLATE][,xN], as for hbal --keep-room. Nothing is counted \
             then. The exit status is 1 if the room cannot be made.",
        )
        .common()
        .takes("ROOM", Text, |o, g| room(g).map(|room| o.make_room = Some(room))),
        &OptionDef::<HspaceOptions>::addition(
            "runway",
            "show the days until the capacity is used up",
        )
        .more(
            "The growth of memory, disk, CPUs and tiered instances is that of the last 90 days, or of --load-window. \
             With --load-from, it is that of the metrics of htools exporter; CLUSTER is the label of the cluster there, \
             that of the source if none is given, and the cluster itself is not read. \
             Otherwise each run notes the present use in the history of htools, and goes by what earlier runs noted.",
        )
        .may_take("CLUSTER", Text, |o, g| {
            g.string().map(|cluster| o.runway = Some(Some(cluster).filter(|cluster| !cluster.is_empty())))
        }),
        &PRINT_COMMANDS.says("show the commands, or write them to FILE, with --make-room").added(),
        &SAVE.says("save the cluster after each allocation, as files that begin with FILE"),
        &MEASURED,
        &STATIC_KVM_NODE_MEMORY,
        &TIME_LIMIT.says("end the search after SECONDS").common(),
        &WEIGHTS,
        &[JSON, METRICS, REPORT],
        &THREADS,
        &LAST,
    ],
    ..Spec::PLAIN
};

pub(crate) fn run(options: HspaceOptions) -> anyhow::Result<ExitStatus> {
    let (cluster, output) = (pacemaker::label(&options.load, &options.cib), &mut Output::standard());
    metered(SPEC.name, &options.output, cluster, output, by_status, |output| estimate(&options, output))
}

fn estimate(options: &HspaceOptions, output: &mut Output) -> anyhow::Result<ExitStatus> {
    one_form(&[("json", options.output.json), ("machine-readable", options.output.machine_readable)])?;
    runway::check(options)?;
    if let Some(cluster) = &options.runway {
        let result = runway::run(options, cluster.as_deref(), output);
        output.flush()?;
        return result;
    }
    pacemaker::check(&options.cib, &options.load, None, &options.output)?;
    let saved: &[&str] = if options.make_room.is_some() { &["roomy"] } else { &["tiered", "standard"] };
    ahead::files(&options.output, saved)?;
    room::check(options)?;
    let mut cluster = pacemaker::load(&options.load, &options.cib, ClusterUse::Looking, output)?.cluster;
    apply_node_options(&mut cluster, &options.load.nodes)?;
    let result = match options.make_room {
        Some(request) => room::run(options, cluster, request, output),
        None => run::run(options, &cluster, output),
    };
    // output before an error must not be lost
    output.flush()?;
    result
}

fn weight(given: &Given) -> Result<i64, ValueError> {
    let weight = given.int()?;
    if weight < 0 { Err(given.out_of_range("a number from 0 on")) } else { Ok(weight) }
}

/// The spindles of a disk when none are given.
const SPINDLES: &str = "1";

fn alloc_size(given: &Given) -> Result<Size, ValueError> {
    let parts = split_list(given.text()?);
    let (disk, memory, cpus, spindles) = match parts.as_slice() {
        [disk, memory, cpus] => (disk, memory, cpus, SPINDLES),
        [disk, memory, cpus, spindles] => (disk, memory, cpus, spindles.as_str()),
        _ => return Err(given.out_of_range("a size as DISK,MEMORY,CPUS[,SPINDLES]")),
    };
    Ok(Size {
        disk: parse_size(disk).map_err(|e| given.wrong_part("disk", e))?,
        memory: parse_size(memory).map_err(|e| given.wrong_part("memory", e))?,
        vcpus: parse_int(cpus).map_err(|e| given.wrong_part("cpus", e))?,
        spindles: parse_int(spindles).map_err(|e| given.wrong_part("spindles", e))?,
    })
}

impl HspaceOptions {
    /// Maximum number of instances in each allocation (`-l`); none with -1.
    pub(crate) fn limit(&self) -> Option<i64> {
        Some(self.balance.max_length).filter(|limit| *limit != -1)
    }
}

#[cfg(test)]
mod tests;
