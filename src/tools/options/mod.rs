//! What the options of each tool mean: typed, with every default in place.

pub(super) mod execution;
mod hail;
mod hcheck;
mod hgroup;
mod hroller;
mod hscan;
mod hspace;
mod hsqueeze;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::bail;

pub use execution::ExecutionOptions;
pub use hail::HailOptions;
pub use hcheck::HcheckOptions;
pub use hgroup::{GroupCommand, HgroupOptions};
pub use hroller::HrollerOptions;
pub use hscan::HscanOptions;
pub use hspace::HspaceOptions;
pub use hsqueeze::HsqueezeOptions;

use super::cli::{Given, ValueError};
use crate::load::Detail;
use crate::model::Mib;
use crate::remote::luxi::default_socket;
use crate::remote::rapi::AccessOptions;
use crate::report::nodes::{fields, unknown_field};

/// Where the cluster is to be read from. Several may be given; which of them
/// count, and which exclude each other, is decided when loading.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SourceOptions {
    /// `-t`
    pub text_data: Option<PathBuf>,
    /// `-m`; an empty address counts as not given.
    pub rapi: Option<String>,
    /// `--rapi-credentials` and `--rapi-cacert`
    pub rapi_access: AccessOptions,
    /// `-L`; the inner value is the socket, if not the default one.
    pub luxi: Option<Option<PathBuf>>,
    /// `-I`; `-` is standard input.
    pub ialloc: Option<PathBuf>,
    /// `--simulate`, once per group.
    pub simulate: Vec<String>,
}

impl SourceOptions {
    /// The master daemon's socket: the one that was named, or the default one.
    pub(crate) fn socket(&self) -> PathBuf {
        self.luxi.clone().flatten().unwrap_or_else(default_socket)
    }
}

/// How the cluster is read and prepared, and how much is said on the way.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadOptions {
    /// Where the cluster comes from.
    pub source: SourceOptions,
    /// How much the tool has to know of it.
    pub detail: Detail,
    /// `-U`
    pub utilisation: Option<PathBuf>,
    pub ignore_dynu: bool,
    pub mond: bool,
    /// `--mond-data`
    pub mond_data: Option<PathBuf>,
    /// `--mond-xen`
    pub mond_xen: bool,
    /// `--exit-on-missing-mond-data`
    pub exit_on_missing_mond_data: bool,
    /// `--static-kvm-node-memory`; zero or less: believe what nodes report.
    pub static_kvm_node_memory: Mib,
    /// `--exclusion-tags` as typed: the tag prefix is the item and a colon.
    pub exclusion_tags: Vec<String>,
    /// `--select-instances`; empty: no restriction.
    pub select_instances: Vec<String>,
    /// `--exclude-instances`
    pub exclude_instances: Vec<String>,
    /// `-O`, in the order given.
    pub offline: Vec<String>,
    /// `--max-cpu`; none: as the policies say.
    pub max_cpu: Option<f64>,
    /// `--min-disk`
    pub min_disk: f64,
    /// 1, one more for each `-v`, one less for each `-q`.
    pub verbosity: i32,
}

impl Default for LoadOptions {
    fn default() -> Self {
        LoadOptions {
            source: SourceOptions::default(),
            detail: Detail::Usual,
            utilisation: None,
            ignore_dynu: false,
            mond: false,
            mond_data: None,
            mond_xen: false,
            exit_on_missing_mond_data: false,
            static_kvm_node_memory: Mib(4096),
            exclusion_tags: Vec::new(),
            select_instances: Vec::new(),
            exclude_instances: Vec::new(),
            offline: Vec::new(),
            max_cpu: None,
            min_disk: 0.0,
            verbosity: 1,
        }
    }
}

impl LoadOptions {
    /// Takes an option if it is one of these; false if it is not.
    pub fn apply(&mut self, given: &Given) -> Result<bool, ValueError> {
        match given.option.long {
            "text-data" => self.source.text_data = given.path(),
            "master" => self.source.rapi = Some(given.text()?.to_owned()).filter(|a| !a.is_empty()),
            "rapi-credentials" => self.source.rapi_access.credentials = given.path(),
            "rapi-cacert" => self.source.rapi_access.certificates = given.path(),
            "insecure-http" => self.source.rapi_access.insecure_http = true,
            "luxi" => self.source.luxi = Some(given.path()),
            "ialloc-src" => self.source.ialloc = given.path(),
            "simulate" => self.source.simulate.push(given.text()?.to_owned()),
            "dynu-file" => self.utilisation = given.path(),
            "ignore-dynu" => self.ignore_dynu = true,
            "mond" => self.mond = given.value.is_none() || given.choice()? == "yes",
            "mond-data" => self.mond_data = given.path(),
            "mond-xen" => self.mond_xen = true,
            "exit-on-missing-mond-data" => self.exit_on_missing_mond_data = true,
            "static-kvm-node-memory" => self.static_kvm_node_memory = Mib(given.int()?),
            "exclusion-tags" => self.exclusion_tags = given.list()?,
            "select-instances" => self.select_instances = given.list()?,
            "exclude-instances" => self.exclude_instances = given.list()?,
            "offline" => self.offline.push(given.text()?.to_owned()),
            "max-cpu" => self.max_cpu = Some(ratio_above_zero(given)?),
            "min-disk" => self.min_disk = given.float()?,
            "verbose" => self.verbosity = self.verbosity.saturating_add(1),
            "quiet" => self.verbosity = self.verbosity.saturating_sub(1),
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// The fields of a list of nodes, as typed.
fn node_fields(given: &Given) -> Result<String, ValueError> {
    let text = given.text()?;
    match unknown_field(text) {
        None => Ok(text.to_owned()),
        Some(field) => Err(given.no_word_of("field", field, fields().map(|(field, ..)| field).collect())),
    }
}

fn ratio_above_zero(given: &Given) -> Result<f64, ValueError> {
    let ratio = given.float()?;
    if ratio <= 0.0 { Err(given.out_of_range("a ratio above 0")) } else { Ok(ratio) }
}

fn time_above_zero(given: &Given) -> Result<Duration, ValueError> {
    let seconds = given.float()?;
    if !(seconds > 0.0 && seconds.is_finite()) {
        return Err(given.out_of_range("a time in seconds, above 0"));
    }
    // beyond what a duration can hold nothing is ever late
    Ok(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
}

/// Where the commands of a plan go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandTarget {
    /// To standard output, for a person.
    Stdout,
    /// To a file, as a script.
    File(PathBuf),
}

impl CommandTarget {
    /// What the value of `-C` names; nothing and `-` are standard output.
    fn of(given: &Given) -> CommandTarget {
        match given.path() {
            Some(path) if path.as_os_str() != "-" => CommandTarget::File(path),
            _ => CommandTarget::Stdout,
        }
    }
}

/// Which groups `hbal` balances.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Groups {
    /// The one that is named, or the only one.
    One,
    /// The worst that can be improved.
    Worst,
    /// All.
    All,
}

/// What `hbal` is asked to do.
#[derive(Debug, Clone, PartialEq)]
pub struct HbalOptions {
    /// Reading the cluster.
    pub load: LoadOptions,
    /// `-p`: the fields as typed; empty for the usual ones.
    pub print_nodes: Option<String>,
    /// `--print-instances`
    pub print_instances: bool,
    /// `-C`
    pub commands: Option<CommandTarget>,
    /// `-E`
    pub evac_mode: bool,
    /// `--restricted-migration`
    pub restricted_migration: bool,
    /// Carrying the plan out.
    pub execution: ExecutionOptions,
    /// `--first-job-group`
    pub first_job_group: bool,
    /// `-G`
    pub group: Option<String>,
    /// `--worst-group`
    pub worst_group: bool,
    /// `--all-groups`
    pub all_groups: bool,
    /// `-l`; negative: no limit.
    pub max_length: i64,
    /// `--time-limit`
    pub time_limit: Option<Duration>,
    /// `-e`
    pub min_score: f64,
    /// `-g`
    pub min_gain: f64,
    /// `--min-gain-limit`
    pub min_gain_limit: f64,
    /// Whether disks may move; not with `--no-disk-moves`.
    pub disk_moves: bool,
    /// Whether primaries may change; not with `--no-instance-moves`.
    pub instance_moves: bool,
    /// `--ignore-soft-errors`
    pub ignore_soft_errors: bool,
    /// `-S`: what the names of the saved files start with.
    pub save: Option<PathBuf>,
    /// `--json`
    pub json: bool,
    /// `--summary`
    pub summary: bool,
    /// `--explain`, in the order given.
    pub explain: Vec<String>,
}

impl Default for HbalOptions {
    fn default() -> Self {
        HbalOptions {
            load: LoadOptions::default(),
            print_nodes: None,
            print_instances: false,
            commands: None,
            evac_mode: false,
            restricted_migration: false,
            execution: ExecutionOptions::default(),
            first_job_group: false,
            group: None,
            worst_group: false,
            all_groups: false,
            max_length: -1,
            time_limit: None,
            min_score: 1e-9,
            min_gain: 0.01,
            min_gain_limit: 0.1,
            disk_moves: true,
            instance_moves: true,
            ignore_soft_errors: false,
            save: None,
            json: false,
            summary: false,
            explain: Vec::new(),
        }
    }
}

/// Refuses options that each say what the whole of standard output is.
///
/// # Errors
/// Two of them, by name.
pub fn one_form(given: &[(&str, bool)]) -> anyhow::Result<()> {
    let mut wanted = given.iter().filter(|(_, wanted)| *wanted).map(|(long, _)| long);
    match (wanted.next(), wanted.next()) {
        (Some(one), Some(other)) => bail!("options --{one} and --{other} exclude each other"),
        _ => Ok(()),
    }
}

impl HbalOptions {
    /// Which groups to balance.
    ///
    /// # Errors
    /// If the options contradict each other.
    pub fn groups(&self) -> anyhow::Result<Groups> {
        match (self.worst_group, self.all_groups, &self.group) {
            (false, false, _) => Ok(Groups::One),
            (true, false, None) => Ok(Groups::Worst),
            (false, true, None) => Ok(Groups::All),
            (true, true, _) => bail!("options --worst-group and --all-groups exclude each other"),
            (true, false, Some(key)) => bail!("options --worst-group and --group={key} exclude each other"),
            (false, true, Some(key)) => bail!("options --all-groups and --group={key} exclude each other"),
        }
    }

    /// Takes an option; false if it means nothing to this tool.
    pub fn apply(&mut self, given: &Given) -> Result<bool, ValueError> {
        match given.option.long {
            "print-nodes" => self.print_nodes = Some(node_fields(given)?),
            "print-instances" => self.print_instances = true,
            "print-commands" => self.commands = Some(CommandTarget::of(given)),
            "evac-mode" => self.evac_mode = true,
            "restricted-migration" => self.restricted_migration = true,
            "first-job-group" => self.first_job_group = true,
            "group" => self.group = Some(given.text()?.to_owned()),
            "worst-group" => self.worst_group = true,
            "all-groups" => self.all_groups = true,
            "max-length" => self.max_length = given.int()?,
            "time-limit" => self.time_limit = Some(time_above_zero(given)?),
            "min-score" => self.min_score = given.float()?,
            "min-gain" => self.min_gain = given.float()?,
            "min-gain-limit" => self.min_gain_limit = given.float()?,
            "no-disk-moves" => self.disk_moves = false,
            "no-instance-moves" => self.instance_moves = false,
            "ignore-soft-errors" => self.ignore_soft_errors = true,
            "save" => self.save = given.path(),
            "summary" => self.summary = true,
            "json" => self.json = true,
            "explain" => self.explain.push(given.text()?.to_owned()),
            _ => return Ok(self.execution.apply(given)? || self.load.apply(given)?),
        }
        Ok(true)
    }
}

/// What `hinfo` is asked to show.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HinfoOptions {
    /// Reading the cluster.
    pub load: LoadOptions,
    /// `-p`: the fields as typed; empty for the usual ones.
    pub print_nodes: Option<String>,
    /// `--print-instances`
    pub print_instances: bool,
    /// `--json`
    pub json: bool,
}

impl HinfoOptions {
    /// Takes an option; false if it means nothing to this tool.
    pub fn apply(&mut self, given: &Given) -> Result<bool, ValueError> {
        match given.option.long {
            "print-nodes" => self.print_nodes = Some(node_fields(given)?),
            "print-instances" => self.print_instances = true,
            "json" => self.json = true,
            _ => return self.load.apply(given),
        }
        Ok(true)
    }
}
