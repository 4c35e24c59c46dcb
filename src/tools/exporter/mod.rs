//! `htools exporter`: serves metrics of clusters to Prometheus.
//!
//! A thread for each cluster reads it at intervals and stores its figures (`watch.rs`). The server answers with the
//! stored figures, so a request never waits for a cluster.

mod past;
mod serve;
mod survey;
mod watch;

use std::ffi::OsString;
use std::io;
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, SystemTime};

use anyhow::{Context, anyhow, ensure};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use self::past::WatchedHistory;
use self::watch::{WatchTerms, WatchedCluster};
use super::ExitStatus;
use super::cli::heading::OptionTopic;
use super::cli::option::ArgumentKind::{File, Float, Host};
use super::cli::{Heading, OptionDef, Spec, example};
use super::options::catalogue::*;
use super::options::{LoadOptions, SourceOptions, ToolOptions, not_negative, parts, time_above_zero};
use super::output::Output;
use super::source::cluster_label;
use crate::model::shown::shown_name;
use crate::remote::rapi::{AccessOptions, Address, variable_in_use};
use crate::report::form::metrics::{Sheet, distinct_names, exposition};
use crate::report::readings;
use crate::tools::hint::WithHint;

/// Options of `htools exporter`.
#[derive(Debug, Clone, PartialEq)]
pub struct ExporterOptions {
    /// Options for reading that apply to all clusters.
    pub load: LoadOptions,
    /// In the order given.
    pub clusters: Vec<SourceOptions>,
    /// Address and port.
    pub listen: String,
    /// Time between the starts of two readings.
    pub every: Duration,
    /// Longest time for a reading.
    pub timeout: Duration,
    /// Longest time for the search for moves, and again for that of the capacity.
    pub search: Duration,
    /// Time for which figures are shown after the last successful reading.
    pub keep: Duration,
    /// `--history`
    pub history: Option<PathBuf>,
}

impl Default for ExporterOptions {
    fn default() -> Self {
        ExporterOptions {
            load: LoadOptions::default(),
            clusters: Vec::new(),
            listen: "127.0.0.1:9715".to_owned(),
            every: Duration::from_secs(60),
            timeout: Duration::from_secs(30),
            search: Duration::from_secs(10),
            keep: Duration::from_secs(900),
            history: None,
        }
    }
}

impl OptionTopic for ExporterOptions {}

impl ToolOptions for ExporterOptions {
    fn sources(&mut self) -> Vec<&mut SourceOptions> {
        std::iter::once(&mut self.load.source).chain(&mut self.clusters).collect()
    }
}

parts!(ExporterOptions { load: LoadOptions });

impl ExporterOptions {
    fn watch(&mut self, cluster: SourceOptions) {
        self.clusters.push(cluster);
    }
}

/// Returns the access options of the last RAPI cluster before this option, or the defaults for all that follow.
fn access(options: &mut ExporterOptions) -> &mut AccessOptions {
    match options.clusters.iter_mut().rev().find(|cluster| cluster.rapi.is_some()) {
        Some(cluster) => &mut cluster.rapi_access,
        None => &mut options.load.source.rapi_access,
    }
}

/// Name, purpose and options.
pub const SPEC: Spec<ExporterOptions> = Spec {
    name: "htools exporter",
    summary: "serve figures of clusters to Prometheus over HTTP",
    forms: &["[OPTION...]"],
    examples: &[
        example("htools exporter -L", "serve the figures of this cluster"),
        example("htools exporter -m @prod -m @lab", "serve those of two clusters"),
        example("htools exporter -L --listen 0.0.0.0:9715", "listen on all addresses"),
    ],
    options: &[
        &OptionDef::<ExporterOptions>::new("master", "watch the cluster whose RAPI is at ADDRESS").more("ADDRESS is a host name, a URL, or @NAME of a cluster in the configuration. May be repeated.").under(Heading::Cluster).common()
            .short('m')
            .takes("ADDRESS", Host, |o, g| {
                let rapi_access = o.load.source.rapi_access.clone();
                let source = |rapi| SourceOptions { rapi: Some(rapi), rapi_access, ..SourceOptions::default() };
                g.string().map(|address| o.watch(source(address)))
            })
            .added(),
        &OptionDef::<ExporterOptions>::addition(
            "rapi-credentials",
            "read user and password from FILE, for the --master before it",
        ).more("Before the first --master it holds for all. Nobody else may be able to read FILE.").under(Heading::Cluster)
        .takes("FILE", File, |o, g| g.path().map(|path| access(o).credentials = path)),
        &OptionDef::<ExporterOptions>::addition(
            "rapi-cacert",
            "trust only the certificates or authorities in FILE (PEM)",
        ).more("The server's certificate must be in FILE, or be for its host and signed by one in FILE. It is placed like --rapi-credentials.").under(Heading::Cluster)
        .takes("FILE", File, |o, g| g.path().map(|path| access(o).certificates = path)),
        &OptionDef::<ExporterOptions>::added_flag(
            "insecure-http",
            "send a password to another host in plain text, over http://",
            |o| access(o).insecure_http = true,
        ).more("It is placed like --rapi-credentials.").under(Heading::Cluster),
        &OptionDef::<ExporterOptions>::new("luxi", "watch this machine's cluster, over its socket").under(Heading::Cluster).common()
            .short('L')
            .may_take("SOCKET", File, |o, g| {
                let source = |socket| SourceOptions { luxi: Some(socket), ..SourceOptions::default() };
                g.path().map(|socket| o.watch(source(socket)))
            })
            .added(),
        &OptionDef::<ExporterOptions>::new("text-data", "watch the cluster in FILE; may be repeated").more("FILE is read again each time.").under(Heading::Cluster).common()
            .short('t')
            .takes("FILE", File, |o, g| {
                let source = |text_data| SourceOptions { text_data, ..SourceOptions::default() };
                g.path().map(|path| o.watch(source(path)))
            })
            .added(),
        &OptionDef::<ExporterOptions>::addition("listen", "listen at ADDRESS (HOST:PORT; port 0: any)").common()
            .takes("ADDRESS", Host, |o, g| g.string().map(|address| o.listen = address))
            .default(|o| o.listen.clone()),
        &OptionDef::<ExporterOptions>::addition("every", "read each cluster every SECONDS").common()
            .takes("SECONDS", Float, |o, g| time_above_zero(g).map(|time| o.every = time))
            .default(|o| o.every.as_secs().to_string()),
        &OptionDef::<ExporterOptions>::addition("timeout", "give up a reading after SECONDS").common()
            .takes("SECONDS", Float, |o, g| time_above_zero(g).map(|time| o.timeout = time))
            .default(|o| o.timeout.as_secs().to_string()),
        &OptionDef::<ExporterOptions>::addition("time-limit", "search at most SECONDS after each reading").more("The limit holds for moves, and again for capacity.").common()
            .takes("SECONDS", Float, |o, g| time_above_zero(g).map(|time| o.search = time))
            .default(|o| o.search.as_secs().to_string()),
        &OptionDef::<ExporterOptions>::addition("keep", "show the last figures for SECONDS after a reading").more("Only a reading that succeeded counts.").common()
            .takes("SECONDS", Float, |o, g| not_negative(g).map(|time| o.keep = seconds(time)))
            .default(|o| o.keep.as_secs().to_string()),
        &OptionDef::<ExporterOptions>::addition("history", "serve the runs and moves in FILE, too")
            .more("FILE is history.jsonl in the state directory of the user who runs the tools. It is read again when it has changed.")
            .takes("FILE", File, |o, g| g.path().map(|path| o.history = path)),
        &[STATIC_KVM_NODE_MEMORY, WEIGHTS],
        &[VERSION, HELP],
    ],
    ..Spec::PLAIN
};

/// Converts seconds to a duration; longer times become the longest duration.
fn seconds(time: f64) -> Duration {
    Duration::try_from_secs_f64(time).unwrap_or(Duration::MAX)
}

/// Reads the arguments after `exporter`, and serves until a signal ends the program.
///
/// # Errors
/// If the options are invalid, or the server cannot listen at the address.
pub fn start(args: &[OsString]) -> anyhow::Result<ExitStatus> {
    let options = match SPEC.parse(args) {
        Ok(options) => options,
        Err(stop) => return stop.show(&mut Output::standard()),
    };
    check(&options)?;
    let listener = bind(&options.listen)?;
    // before the first thread, so that no signal is missed
    let signals = Signals::new([SIGINT, SIGTERM]).context("cannot prepare for signals")?;
    let clusters = watched(&options);
    // the first line has the address, so it is printed before the first reading, which may print messages
    log_line(&format!("Listening on http://{}/metrics", listener.local_addr()?));
    begin(&clusters)?;
    let history = options.history.as_deref().map(|path| Arc::new(WatchedHistory::new(path)));
    if let Some(history) = history.clone() {
        let watch = move || history.watch(options.every);
        thread::Builder::new().spawn(watch).context("cannot begin to watch the history")?;
    }
    let page = move || page(&clusters, history.as_deref(), SystemTime::now());
    serve::serve(listener, page, signals).context("cannot serve")?;
    Ok(ExitStatus::Success)
}

/// Hint for passwords in the wrong place.
const CREDENTIALS: &str = "use --rapi-credentials FILE";

/// Refuses clusters that cannot be watched, and passwords that others could see.
fn check(options: &ExporterOptions) -> anyhow::Result<()> {
    ensure!(
        !options.clusters.is_empty(),
        anyhow!("no cluster is named").hint("name at least one with -m ADDRESS, -L or -t FILE")
    );
    for cluster in &options.clusters {
        if let Some(file) = &cluster.text_data {
            ensure!(
                file.as_os_str() != "-",
                anyhow!("standard input can be read only once").hint("name a file")
            );
            // a file that does not exist yet may appear later
            let is_other = file.metadata().is_ok_and(|about| !about.is_file());
            ensure!(!is_other, "{}: not a regular file, so it cannot be read repeatedly", file.display());
        }
        let Some(rapi) = &cluster.rapi else { continue };
        let address = Address::new(rapi.as_ref());
        let shown = shown_name(&address.shown());
        if address.holds_password() {
            return Err(anyhow!(
                "{shown}: the address has a password, which other users can see in the list of processes"
            )
            .hint(CREDENTIALS));
        }
        if let Some(name) = variable_in_use().filter(|_| cluster.rapi_access.credentials.is_none()) {
            return Err(
                anyhow!("{shown}: htools exporter does not take credentials from {name}").hint(CREDENTIALS)
            );
        }
    }
    Ok(())
}

fn bind(address: &str) -> anyhow::Result<TcpListener> {
    TcpListener::bind(address).with_context(|| format!("cannot listen at '{}'", shown_name(address)))
}

/// The clusters that are to be watched.
fn watched(options: &ExporterOptions) -> Vec<Arc<WatchedCluster>> {
    let labels: Vec<String> = options.clusters.iter().map(cluster_label).collect();
    let labels = distinct_names(labels.iter().map(String::as_str));
    let &ExporterOptions { every, timeout, search, keep, .. } = options;
    let terms = WatchTerms { every, timeout, search, keep };
    let load =
        |source: &SourceOptions| LoadOptions { source: source.clone(), verbosity: 0, ..options.load.clone() };
    let named = options.clusters.iter().zip(labels);
    named.map(|(source, label)| Arc::new(WatchedCluster::new(label, load(source), terms))).collect()
}

/// Starts a thread for each cluster. The threads end with the program.
fn begin(clusters: &[Arc<WatchedCluster>]) -> anyhow::Result<()> {
    for cluster in clusters.iter().map(Arc::clone) {
        thread::Builder::new().spawn(move || cluster.watch()).context("cannot begin to watch a cluster")?;
    }
    Ok(())
}

/// The page of metrics at a time.
fn page(clusters: &[Arc<WatchedCluster>], history: Option<&WatchedHistory>, now: SystemTime) -> String {
    let mut own = Sheet::default();
    readings::tell_build(&mut own);
    let known: Vec<(Sheet, Option<Arc<Sheet>>)> = clusters.iter().map(|cluster| cluster.known(now)).collect();
    let sheets =
        known.iter().flat_map(|(readings, figures)| std::iter::once(readings).chain(figures.as_deref()));
    let past = history.map(WatchedHistory::sheets).unwrap_or_default();
    exposition(&std::iter::once(&own).chain(sheets).chain(&past).collect::<Vec<_>>())
}

/// A line on standard error, from any thread.
fn log_line(line: &str) {
    // nothing is left to do if even this cannot be written
    let _ = Output::to(Box::new(io::sink()), Box::new(io::stderr())).error_line(line);
}

#[cfg(test)]
mod tests;
