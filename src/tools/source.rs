//! Reads the cluster that the options name.

use std::fs::File;
use std::path::Path;

use anyhow::{Context, anyhow, bail};

use super::hint::WithHint;
use super::measured;
use super::options::{LoadOptions, SourceOptions};
use super::output::Output;
use crate::affinity::carry_keys;
use crate::input::encoding;
use crate::input::local::{self, Readers, read_limited, read_regular};
use crate::load::LoadError;
use crate::load::iallocator::Request;
use crate::load::load_data;
use crate::load::merge::{Inconsistency, MergeOptions, finish, merge};
use crate::load::monitoring::{self, Collector, MonitoringData};
use crate::load::{RawCluster, iallocator, luxi, mond, rapi, simulate, text, utilisation};
use crate::model::shown::{shown_name, shown_source};
use crate::model::{Cluster, Utilisation};
use crate::remote::luxi::Timeouts;
use crate::remote::rapi::{Access, Address, FetchLimits};

/// Start of error messages about the cluster's data.
const LOADING: &str = "failed to load data, aborting";

/// Reads and completes the cluster; warnings go to standard error.
///
/// # Errors
/// Mistakes in the options, the files or the data.
pub(super) fn load(options: &LoadOptions, output: &mut Output) -> anyhow::Result<Cluster> {
    check_sources(options)?;
    // Mistakes in that file are reported first.
    let utilisation = read_utilisation(options)?;
    let raw = read_source(options)?;
    merged(raw, utilisation, options, output)
}

/// Completes a cluster from another source; warnings go to standard error. `idle` names instances that cause no load,
/// unless a file of the options gives their load.
///
/// # Errors
/// Mistakes in the options, the files or the data.
pub(super) fn complete_raw(
    raw: RawCluster,
    idle: Vec<String>,
    options: &LoadOptions,
    output: &mut Output,
) -> anyhow::Result<Cluster> {
    let idle = idle.into_iter().map(|name| (name, Utilisation::ZERO));
    let utilisation = idle.chain(read_utilisation(options)?).collect();
    merged(raw, utilisation, options, output)
}

fn merged(
    raw: RawCluster,
    utilisation: Vec<(String, Utilisation)>,
    options: &LoadOptions,
    output: &mut Output,
) -> anyhow::Result<Cluster> {
    let mut additions = MergeOptions { utilisation, ..options.merge.clone() };
    if let Some(measured) = measured::read(&raw, options, output)? {
        additions.utilisation = measured.utilisation;
        additions.load_cpus = Some(measured.cpus);
    }
    for warning in raw.warnings.iter().chain(&raw.doubts) {
        output.error_line(&format!("Warning: {warning}"))?;
    }
    let mut cluster = merge(raw, &additions).context(LOADING)?;
    if cluster.weights.affinity() != 0.0 {
        carry_keys(&mut cluster).context(LOADING)?;
    }
    apply_monitoring(&mut cluster, options, output)?;
    complete(&mut cluster, options, output)?;
    tell_weights(&cluster, options, output)?;
    Ok(cluster)
}

/// Label of a cluster in metrics: its name in the configuration or on the command line, without user, password and
/// path.
pub(super) fn cluster_label(source: &SourceOptions) -> String {
    let SourceOptions { text_data, rapi, named, rapi_access: _, luxi, ialloc, simulate } = source;
    if let Some(name) = named {
        return name.clone();
    }
    if let Some(address) = rapi {
        return Address::new(address.as_ref()).bare();
    }
    match (luxi, simulate.is_empty(), text_data.as_ref().or(ialloc.as_ref())) {
        (Some(_), ..) => "local".to_owned(),
        (None, false, _) => "simulated".to_owned(),
        (None, true, file) => file.map_or_else(String::new, |file| file_label(file)),
    }
}

/// Label of a cluster in a file.
pub(super) fn file_label(path: &Path) -> String {
    match path.file_stem() {
        Some(stem) if stem != "-" => stem.to_string_lossy().into_owned(),
        _ => "stdin".to_owned(),
    }
}

/// Reads an allocator message: the cluster and the request. If the options name another cluster, it replaces the
/// message's. The request then concerns the objects with the same names there.
///
/// # Errors
/// Mistakes in the message, in the other cluster, or in the options.
pub(super) fn load_request(
    path: &Path,
    options: &LoadOptions,
    output: &mut Output,
) -> anyhow::Result<(Cluster, Request)> {
    let message = read_named(path, iallocator::parse_bytes)?;
    // A message has no measured load, so `--ignore-dynu` has no effect.
    let weights = options.merge.weights;
    let mut own = merge(message.cluster, &MergeOptions { weights, ..MergeOptions::default() })?;
    let elsewhere = options.source.is_named();
    if !elsewhere {
        apply_monitoring(&mut own, options, output)?;
    }
    complete(&mut own, options, output)?;
    if !elsewhere {
        tell_weights(&own, options, output)?;
        return Ok((own, message.request));
    }
    let cluster = load(options, output)?;
    let request = message.request.transferred(&own, &cluster)?;
    Ok((cluster, request))
}

/// Completes a merged cluster, and warns of nodes with inconsistent figures.
fn complete(cluster: &mut Cluster, options: &LoadOptions, output: &mut Output) -> anyhow::Result<()> {
    let missing = finish(cluster, options.static_kvm_node_memory);
    if !missing.is_empty() && options.verbosity >= 1 {
        warn(&missing, output)?;
    }
    Ok(())
}

/// At high verbosity, lists the weights that differ from Ganeti's.
fn tell_weights(cluster: &Cluster, options: &LoadOptions, output: &mut Output) -> anyhow::Result<()> {
    let chosen: Vec<String> =
        cluster.weights.chosen().map(|(metric, weight)| format!("{}={weight}", metric.name)).collect();
    if options.verbosity > 2 && !chosen.is_empty() {
        output.error_line(&format!("Weights of the score that are not Ganeti's: {}", chosen.join(", ")))?;
    }
    Ok(())
}

fn check_sources(options: &LoadOptions) -> anyhow::Result<()> {
    let source = &options.source;
    let given = [source.rapi.is_some(), source.luxi.is_some(), source.text_data.is_some()];
    if given.iter().filter(|g| **g).count() > 1 {
        bail!("Only one of the rapi, luxi, and data files options should be given.");
    }
    Ok(())
}

/// Reads a whole file unless it is too large. With `stdin`, `-` stands for standard input.
fn read_file(path: &Path, stdin: bool) -> anyhow::Result<Vec<u8>> {
    if stdin && path == Path::new("-") {
        return read_limited(std::io::stdin().lock(), local::SIZE).context("cannot read standard input");
    }
    File::open(path)
        .and_then(|file| read_limited(file, local::SIZE))
        .with_context(|| format!("cannot read file '{}'", path.display()))
}

/// Reads a file other than the cluster's. Errors quote its content only if the user named the file, not a saved plan.
fn read_beside<T>(
    path: &Path,
    options: &LoadOptions,
    parse: impl Fn(&[u8], &str) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let source = path.to_string_lossy();
    if !options.files_of_plan {
        return parse(&read_file(path, false)?, &source);
    }
    let bytes = read_regular(path, local::SIZE, Readers::Anyone).context("file named in the plan")?;
    parse(&bytes, &source).map_err(|_| {
        let shown = shown_source(&source);
        anyhow!("{shown}: the plan names this file, but it does not have the format that its option reads")
    })
}

fn read_utilisation(options: &LoadOptions) -> anyhow::Result<Vec<(String, Utilisation)>> {
    let Some(path) = &options.utilisation else { return Ok(Vec::new()) };
    read_beside(path, options, |bytes, source| {
        utilisation::parse(bytes, source).context("can't parse utilisation data")
    })
}

/// Reads a file in the text format, without completing it.
///
/// # Errors
/// Mistakes in the file.
pub(super) fn read_text(path: &Path, options: &LoadOptions) -> anyhow::Result<RawCluster> {
    read_beside(path, options, |bytes, source| Ok(text::parse_bytes(bytes, source)?))
}

/// Reads a cluster if the options name a source of this kind.
type SourceReader = fn(&LoadOptions) -> Option<anyhow::Result<RawCluster>>;

/// The sources, in the reference's order of preference.
const SOURCES: [SourceReader; 5] = [
    |o| o.source.rapi.as_deref().map(|address| read_rapi(address, o)),
    |o| o.source.luxi.is_some().then(|| read_luxi(o)),
    |o| (!o.source.simulate.is_empty()).then(|| Ok(simulate::parse_specs(&o.source.simulate)?)),
    |o| o.source.text_data.as_deref().map(|path| read_data(path, o)),
    |o| o.source.ialloc.as_deref().map(|path| Ok(read_named(path, iallocator::parse_bytes)?.cluster)),
];

fn read_source(options: &LoadOptions) -> anyhow::Result<RawCluster> {
    let Some(read) = SOURCES.iter().find_map(|source| source(options)) else {
        return Err(anyhow!("{LOADING}: No backend selected! Exiting.")
            .hint("name a cluster with -t FILE, -m ADDRESS (RAPI) or -L (LUXI)"));
    };
    read.context(LOADING)
}

fn read_named<T>(path: &Path, parse: fn(&[u8], &str) -> Result<T, LoadError>) -> anyhow::Result<T> {
    Ok(parse(&read_file(path, true)?, &path.to_string_lossy())?)
}

/// Reads the cluster in a text file. With a time limit, only regular files are read, because a pipe may never end.
fn read_data(path: &Path, options: &LoadOptions) -> anyhow::Result<RawCluster> {
    match options.reading_limit {
        None => read_named(path, text::parse_bytes),
        Some(_) => {
            let bytes = read_regular(path, local::SIZE, Readers::Anyone)?;
            Ok(text::parse_bytes(&bytes, &path.to_string_lossy())?)
        }
    }
}

/// Reads the local cluster.
fn read_luxi(options: &LoadOptions) -> anyhow::Result<RawCluster> {
    let usual = Timeouts::default();
    let limits = options.reading_limit.map_or(usual, |most| Timeouts {
        connect: usual.connect.min(most),
        send: usual.send.min(most),
        silence: usual.silence.min(most),
        answer: most,
        ..usual
    });
    Ok(luxi::parse(&luxi::fetch(&options.source.socket(), limits, options.detail)?)?)
}

/// Reads a cluster over RAPI; warns if the connection is not safe.
fn read_rapi(address: &str, options: &LoadOptions) -> anyhow::Result<RawCluster> {
    let addresses = [Address::new(address.as_ref())];
    let access = Access::read(&options.source.rapi_access, &addresses)?;
    let usual = FetchLimits::default();
    let limits = options.reading_limit.map_or(usual, |most| FetchLimits {
        connect: usual.connect.min(most),
        transfer: usual.transfer.min(most),
        reading: most,
        ..usual
    });
    let mut raw = rapi::load_in(&addresses[0], &access, options.detail, limits)?;
    raw.warnings.splice(0..0, access.warnings(&addresses, options.verbosity >= 1));
    Ok(raw)
}

fn apply_monitoring(cluster: &mut Cluster, options: &LoadOptions, output: &mut Output) -> anyhow::Result<()> {
    if !options.mond || (options.merge.ignore_dynu && options.mond_data.is_none()) {
        return Ok(());
    }
    let collector = if options.mond_xen { Collector::XenCpuAvgLoad } else { Collector::CpuAvgLoad };
    let data = match &options.mond_data {
        Some(path) => read_monitoring(path, options)?,
        None => ask_daemons(cluster, collector, output)?,
    };
    if options.merge.ignore_dynu {
        // The file must be valid even if it is ignored.
        return Ok(());
    }
    if let Err(missing) = load_data::apply(cluster, &data, collector) {
        output.error_line(&missing.to_string())?;
        if options.exit_on_missing_mond_data {
            bail!("Not all required data available");
        }
    }
    Ok(())
}

fn read_monitoring(path: &Path, options: &LoadOptions) -> anyhow::Result<MonitoringData> {
    read_beside(path, options, |bytes, source| {
        let text = encoding::decode(bytes, source).context("can't parse MonD data")?;
        monitoring::parse(text, source).context("can't parse MonD data")
    })
}

/// Asks the daemons of all nodes; reports those that do not answer.
fn ask_daemons(
    cluster: &Cluster,
    collector: Collector,
    output: &mut Output,
) -> anyhow::Result<MonitoringData> {
    let names: Vec<&str> = cluster.nodes.iter().map(|node| node.spec.name.as_str()).collect();
    let answered = mond::ask(&names, collector, mond::MonitorLimits::default());
    for at in answered.unreachable {
        let (node, collector) = (shown_name(names[at]), collector.as_str());
        output.error_line(&format!("Failed to contact node's {node} MonD for DC {collector}"))?;
    }
    Ok(answered.data)
}

fn warn(missing: &[Inconsistency], output: &mut Output) -> anyhow::Result<()> {
    output.error_line("Warning: cluster has inconsistent data:")?;
    for Inconsistency { node, mem, disk } in missing {
        let gib = disk.gib_floor();
        output.error_line(&format!("  - node {node} is missing {} MB ram and {gib} GB disk", mem.0))?;
    }
    output.error_line("")?;
    Ok(())
}
