//! What the options of the programs mean: typed, with every default in place.

pub(crate) mod affinity;
pub(crate) mod catalogue;
pub(crate) mod pace;
pub(crate) mod simulation;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::bail;

use self::affinity::AffinityChoices;
use self::pace::{PlanForm, Window};
use self::simulation::SimulationChoices;
use super::cli::{Given, ValueError};
use super::exporter::ExporterOptions;
use super::hgroup::GroupCommand;
use super::output::ColourUse;
use crate::execute::journal::OnFailure;
use crate::execute::nodes::Handling;
use crate::generate::ClusterSpec;
use crate::load::Detail;
use crate::load::merge::{MergeOptions, NodeOptions};
use crate::load::units::parse_size;
use crate::model::metrics::{AFFINITY, named};
use crate::model::{DiskTemplate, Mib, WeightError, Weights};
use crate::pacemaker::optimal::ThenGoal;
use crate::pacemaker::{AllocationScore, PlacementMethod};
use crate::plan::durations::Rates;
use crate::plan::stream::StreamLimits;
use crate::plan::work::Work;
use crate::remote::luxi::default_socket;
use crate::remote::rapi::AccessOptions;
use crate::report::nodes::{fields, unknown_field};
use crate::report::pacemaker::commands::CommandForm;
use crate::search::BalanceOptions;
use crate::search::fill::Size;
use crate::search::health::Severities;
use crate::search::rolling::RollingOptions;
use crate::search::squeeze::Reach;
use htools_model::words;

/// Which Pacemaker cluster is placed, how, and what of it is shown.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PlacementOptions {
    /// `-x`; `-` is standard input.
    pub file: Option<PathBuf>,
    pub live: bool,
    /// None: the cluster's own.
    pub method: Option<PlacementMethod>,
    /// What decides last between the best placements; none: what goes with the cluster's strategy.
    pub then: Option<ThenGoal>,
    /// The most running resources that may be moved.
    pub max_moves: Option<usize>,
    /// How many changes are tried; none: the usual number.
    pub steps: Option<u64>,
    /// What it is worth to a Ganeti instance to stay where it is; none: 1.
    pub stickiness: Option<AllocationScore>,
    pub skip_unsupported: bool,
    /// When the cluster is looked at; none: when its document says, or now.
    pub now: Option<jiff::Timestamp>,
    /// Whether other tools may move what cannot move while it runs.
    pub allow_restarts: bool,
    pub explain: bool,
    pub crm_simulate_format: bool,
    pub show_normalized: bool,
    /// What is done, and what waits for what, as text.
    pub transition: bool,
    /// The same for Graphviz.
    pub dot: bool,
    /// The same in Pacemaker's XML.
    pub transition_xml: bool,
    pub command: PlacementCommand,
    /// `--nodes`: how many are lost at once; none: 1.
    pub lost: Option<usize>,
    /// From which priority on it counts that a resource stays down; none: 1, or 0 where no resource has one.
    pub least_priority: Option<i64>,
    /// How many losses are shown; none: 10.
    pub top: Option<usize>,
    /// How many nodes more resources are to survive the loss of.
    pub survive: usize,
    /// Whose commands are printed.
    pub commands: Option<CommandForm>,
    /// Whether constraints are taken away once the resources are where they should be.
    pub no_keep: bool,
    /// Whether what hplace has changed is taken back.
    pub undo: bool,
    /// How long the cluster may take, in seconds; none: ten minutes.
    pub wait_limit: Option<u64>,
}

/// What `hplace` is asked.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum PlacementCommand {
    /// Where the resources go.
    #[default]
    Place,
    /// Why some of them do.
    Why(Vec<String>),
    /// What the loss of nodes means.
    Survive,
    /// How many more of a size fit: its words.
    Fit(Vec<String>),
    /// What putting a node in standby does.
    Evacuate(String),
    /// What is very likely not meant.
    Lint,
    /// What the strategies come to with machines that come and go.
    Simulate,
}

/// What a program is asked to do. One type for all of them, as an option means the same wherever it is
/// accepted; a program reads what the options of its list can set.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Options {
    /// The options as they were given, each with its long name.
    pub typed: Vec<TypedOption>,
    /// Reading the cluster.
    pub load: LoadOptions,
    /// How groups are balanced.
    pub balance: BalanceOptions,
    /// Carrying the plan out.
    pub execution: ExecutionOptions,
    /// `-p`: the fields as typed; empty for the usual ones.
    pub print_nodes: Option<String>,
    pub print_instances: bool,
    /// `-C`
    pub commands: Option<CommandTarget>,
    /// `-S`: what the names of the saved files start with.
    pub save: Option<PathBuf>,
    /// `--metrics`
    pub metrics: Option<PathBuf>,
    /// `--report`: the page for a browser.
    pub report: Option<PathBuf>,
    pub no_headers: bool,
    pub machine_readable: bool,
    pub summary: bool,
    /// `--colour`
    pub colour: ColourUse,
    pub json: bool,
    pub detailed_status: bool,
    /// `-G`
    pub group: Option<String>,
    pub time_limit: Option<Duration>,
    pub no_capacity_checks: bool,

    // hail
    /// The file with the request; `-` is standard input.
    pub request: PathBuf,
    /// `--restrict-allocation-to`: full names of nodes.
    pub restrict_to: Option<Vec<String>>,
    pub all_solutions: bool,
    pub other_groups: bool,
    pub make_room: bool,

    // hbal
    pub first_job_group: bool,
    pub worst_group: bool,
    pub all_groups: bool,
    /// In the order given.
    pub explain: Vec<String>,
    pub deep: bool,
    pub pareto: bool,
    pub max_moves: Option<u64>,
    pub max_data: Option<Mib>,
    /// `--move-cost`: the least gain in score that a moved instance must be worth.
    pub least_gain: Option<f64>,
    /// Changes that the deep search tries.
    pub effort: Option<u64>,
    pub repair_only: bool,
    /// `htools apply`: whether another plan is made where the first one does not fit.
    pub replan: bool,
    /// The plan that was approved, where nothing else is to be done.
    pub approved: Option<Work>,
    /// Whether instances that step after step moves twice move once.
    pub merge: bool,
    /// `--evacuate`: the nodes, as typed.
    pub emptied: Vec<String>,

    // harep
    /// How many repairs there may be, and how many failures.
    pub repairs: RepairLimits,
    /// Seconds before the repair in its job; none: the usual ones.
    pub job_delay: Option<f64>,
    pub dry_run: bool,
    pub no_disk_check: bool,
    /// `--simulate-failure`, in the order given.
    pub failing: Vec<String>,

    // hcheck
    pub no_simulation: bool,
    pub list_problems: bool,
    /// `--without-node`, in the order given.
    pub without: Vec<String>,
    /// `--survive`: how many nodes are lost at once.
    pub survive: Option<usize>,
    /// `--top`
    pub top: Option<usize>,
    pub monitor: bool,
    /// `--severity`
    pub severities: Severities,

    // hgroup
    pub group_command: GroupCommand,
    pub dot: bool,
    pub svg: bool,
    pub evacuate: bool,
    pub move_cost: f64,

    // hplace
    pub placement: PlacementOptions,
    pub affinity: AffinityChoices,
    /// Comparing strategies with machines that come and go.
    pub simulation: SimulationChoices,

    // hroller
    /// What the maintenance has to respect.
    pub rolling: RollingOptions,
    pub skip_non_redundant: bool,
    /// Nodes with at least one of these; none: all nodes.
    pub node_tags: Option<Vec<String>>,
    pub print_moves: bool,
    pub one_step_only: bool,
    /// Of the launcher and its `install`, too.
    pub force: bool,

    // hscan
    /// The addresses of the clusters; none: the local one.
    pub clusters: Vec<OsString>,
    /// `-d`; empty: the current directory.
    pub directory: PathBuf,
    pub anonymise: bool,

    // hspace
    /// None: the first one of the cluster's policy.
    pub disk_template: Option<DiskTemplate>,
    /// From 0 on; none: as the cluster's policy says.
    pub spindle_use: Option<i64>,
    pub independent_groups: bool,
    pub accept_existing_errors: bool,
    /// `--standard-alloc`; none: the standard size of the cluster's policy.
    pub standard: Option<Size>,
    /// `--tiered-alloc`; none: the largest sizes of the cluster's policy.
    pub tiered: Option<Size>,

    // hsqueeze
    /// `--minimal-resources`
    pub minimal: Option<f64>,
    /// `--target-resources`
    pub target: Option<f64>,
    pub reach: Reach,
    pub max_nodes: Option<usize>,
    pub cooldown: Duration,
    pub standby_data: Option<PathBuf>,

    // the exporter
    pub exporter: ExporterOptions,

    // the launcher, and what it makes up
    pub list: bool,
    pub made: ClusterSpec,

    // htools install
    /// None: the usual one.
    pub prefix: Option<PathBuf>,
    pub hail_dir: Option<PathBuf>,
    pub uninstall: bool,
}

/// How many repairs there may be, and how many failures.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RepairLimits {
    /// `--limit`
    pub all: Option<usize>,
    /// `--max-per-node`
    pub per_node: Option<usize>,
    /// `--backoff`
    pub most_failures: Option<u32>,
}

impl Options {
    /// Whether standard output has no room for what happens during a run.
    pub fn is_silent(&self) -> bool {
        self.json || self.load.verbosity < 1
    }

    /// Whether hbal ends what is wrong, or empties nodes, instead of balancing.
    pub fn mends(&self) -> bool {
        self.repair_only || !self.emptied.is_empty()
    }

    /// Whether hbal looks for the best placement, not for the next step.
    pub fn is_deep(&self) -> bool {
        self.deep || self.pareto
    }
}

/// An option as it was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypedOption {
    /// Its long name, without dashes; none for a word that is no option.
    pub long: Option<&'static str>,
    /// Its argument, as far as that is text.
    pub value: Option<String>,
}

impl TypedOption {
    /// The same, to be typed again.
    pub fn again(&self) -> String {
        match (self.long, &self.value) {
            (None, word) => word.clone().unwrap_or_default(),
            (Some(long), None) => format!("--{long}"),
            (Some(long), Some(value)) => format!("--{long}={value}"),
        }
    }
}

words!(
    /// The priority of submitted jobs.
    pub Priority, "priority" {
        Low = "low",
        Normal = "normal",
        High = "high",
    }
);

impl Priority {
    /// Ganeti's number.
    pub fn number(self) -> i8 {
        match self {
            Priority::Low => 10,
            Priority::Normal => 0,
            Priority::High => -10,
        }
    }
}

/// What is asked for about carrying plans out.
#[derive(Debug, Clone, PartialEq)]
pub struct ExecutionOptions {
    /// `-X`
    pub exec: bool,
    pub yes: bool,
    pub journal: Option<PathBuf>,
    pub resume: Option<PathBuf>,
    pub json_events: Option<PathBuf>,
    pub reason: Option<String>,
    pub priority: Option<Priority>,
    /// How nodes are powered up and down.
    pub handling: Handling,
    pub print_plan: Option<PlanForm>,
    pub save_plan: Option<PathBuf>,
    /// How long steps take, unless journals tell.
    pub rates: Rates,
    pub durations_from: Vec<PathBuf>,
    pub stream: bool,
    pub limits: StreamLimits,
    pub window: Window,
    pub on_failure: Option<OnFailure>,
    pub replans: usize,
}

impl Default for ExecutionOptions {
    fn default() -> Self {
        ExecutionOptions {
            exec: false,
            yes: false,
            journal: None,
            resume: None,
            json_events: None,
            reason: None,
            priority: None,
            handling: Handling::default(),
            print_plan: None,
            save_plan: None,
            rates: Rates::default(),
            durations_from: Vec::new(),
            stream: false,
            limits: StreamLimits::default(),
            window: Window::default(),
            on_failure: None,
            replans: 2,
        }
    }
}

impl ExecutionOptions {
    /// Whether the plan is needed as work, not only as lines.
    pub fn wants_work(&self) -> bool {
        self.exec || self.print_plan.is_some() || self.save_plan.is_some()
    }

    /// Whether standard output is for a form of the plan alone.
    pub fn prints_document(&self) -> bool {
        self.print_plan.is_some_and(PlanForm::is_document)
    }
}

/// Where the cluster is to be read from. Several may be given; which of them
/// count, and which exclude each other, is decided when loading.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SourceOptions {
    /// `-t`
    pub text_data: Option<PathBuf>,
    /// `-m`; an empty address counts as not given.
    pub rapi: Option<String>,
    /// What the configuration calls the cluster, if it is from there.
    pub named: Option<String>,
    /// `--rapi-credentials` and `--rapi-cacert`
    pub rapi_access: AccessOptions,
    /// `-L`; the inner value is the socket, if not the default one.
    pub luxi: Option<Option<PathBuf>>,
    /// `-I`; `-` is standard input.
    pub ialloc: Option<PathBuf>,
    /// `--simulate`, once per group.
    pub simulate: Vec<String>,
}

impl PlacementOptions {
    /// Whether a Pacemaker cluster is named.
    pub(crate) fn is_named(&self) -> bool {
        self.file.is_some() || self.live
    }
}

impl SourceOptions {
    /// Whether a Ganeti cluster is named.
    pub(crate) fn is_named(&self) -> bool {
        *self != SourceOptions::default()
    }

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
    /// What is added to the source's data; the file of `-U` is read when loading.
    pub merge: MergeOptions,
    /// What is changed in the nodes once the cluster is complete.
    pub nodes: NodeOptions,
    /// `-U`
    pub utilisation: Option<PathBuf>,
    pub mond: bool,
    /// `--mond-data`
    pub mond_data: Option<PathBuf>,
    /// `--mond-xen`
    pub mond_xen: bool,
    /// `--exit-on-missing-mond-data`
    pub exit_on_missing_mond_data: bool,
    /// `--static-kvm-node-memory`; zero or less: believe what nodes report.
    pub static_kvm_node_memory: Mib,
    /// 1, one more for each `-v`, one less for each `-q`.
    pub verbosity: i32,
    /// Most time for asking the cluster, if not the usual one; a file must be one whose end comes then.
    pub reading_limit: Option<Duration>,
    /// Whether a saved plan named the files besides the cluster: errors quote nothing of them then.
    pub files_of_plan: bool,
}

impl Default for LoadOptions {
    fn default() -> Self {
        LoadOptions {
            source: SourceOptions::default(),
            detail: Detail::Usual,
            merge: MergeOptions::default(),
            nodes: NodeOptions::default(),
            utilisation: None,
            mond: false,
            mond_data: None,
            mond_xen: false,
            exit_on_missing_mond_data: false,
            static_kvm_node_memory: Mib(4096),
            verbosity: 1,
            reading_limit: None,
            files_of_plan: false,
        }
    }
}

impl LoadOptions {
    /// The same with the `--keep-reserve` that a plan was made with, if that was given.
    #[must_use]
    pub fn keeping(&self, keep_reserve: Option<usize>) -> LoadOptions {
        let nodes =
            NodeOptions { keep_reserve: keep_reserve.or(self.nodes.keep_reserve), ..self.nodes.clone() };
        LoadOptions { nodes, ..self.clone() }
    }
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
    fn of(path: Option<PathBuf>) -> CommandTarget {
        match path {
            Some(path) if path.as_os_str() != "-" => CommandTarget::File(path),
            _ => CommandTarget::Stdout,
        }
    }
}

impl Options {
    /// Refuses a rule that another option leaves out.
    ///
    /// # Errors
    /// Both, by name.
    pub fn check_rules(&self) -> anyhow::Result<()> {
        one_form(&[
            ("keep-reserve", self.load.nodes.keep_reserve.is_some()),
            ("ignore-soft-errors", self.balance.rules.ignore_soft_errors),
        ])
    }
}

/// Refuses options that each say what the whole of standard output is.
///
/// # Errors
/// Two of them, by name.
pub(crate) fn one_form(given: &[(&str, bool)]) -> anyhow::Result<()> {
    let mut wanted = given.iter().filter(|(_, wanted)| *wanted).map(|(long, _)| long);
    match (wanted.next(), wanted.next()) {
        (Some(one), Some(other)) => bail!("options --{one} and --{other} exclude each other"),
        _ => Ok(()),
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

/// A time in seconds, more than none.
pub(crate) fn time_above_zero(given: &Given) -> Result<Duration, ValueError> {
    let seconds = given.float()?;
    if !(seconds > 0.0 && seconds.is_finite()) {
        return Err(given.out_of_range("a time in seconds, above 0"));
    }
    // beyond what a duration can hold nothing is ever late
    Ok(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
}

/// A whole number from 0 on.
pub(crate) fn count(given: &Given) -> Result<u64, ValueError> {
    u64::try_from(given.int()?).map_err(|_| given.out_of_range("a whole number, 0 or more"))
}

/// A number of things, 1 or more.
pub(crate) fn some(given: &Given) -> Result<usize, ValueError> {
    match count(given)? {
        0 => Err(given.out_of_range("a whole number, 1 or more")),
        number => Ok(usize::try_from(number).unwrap_or(usize::MAX)),
    }
}

/// A number of things, not too large for any list.
pub(crate) fn at_least_one(given: &Given) -> Result<usize, ValueError> {
    let expected = "a whole number from 1 to 1000";
    let number = usize::try_from(given.int()?).map_err(|_| given.out_of_range(expected))?;
    if (1..=1000).contains(&number) { Ok(number) } else { Err(given.out_of_range(expected)) }
}

/// A size with its unit.
pub(crate) fn size(given: &Given) -> Result<Mib, ValueError> {
    let size = parse_size(given.text()?).map_err(|error| given.wrong_part("size", error))?;
    if size < Mib::ZERO { Err(given.out_of_range("a size, 0 or more")) } else { Ok(size) }
}

/// Chooses the weights of some metrics; none at all means Ganeti's.
fn weights(given: &Given, chosen: &mut Weights) -> Result<(), ValueError> {
    let list = given.list()?;
    if list.is_empty() {
        *chosen = Weights::default();
    }
    let unknown = |name: &str| given.no_word_of("metric", name, named().map(|metric| metric.name).collect());
    for item in &list {
        let Some((name, weight)) = item.split_once('=') else {
            return Err(given.wrong_item(item, "NAME=WEIGHT"));
        };
        if name == AFFINITY {
            return Err(unknown(name));
        }
        chosen.set(name, given.number(weight)?).map_err(|error| match error {
            WeightError::UnknownMetric(name) => unknown(&name),
            WeightError::OutOfRange => given.wrong_item(item, "0 or a weight from 1e-6 to 1e6"),
        })?;
    }
    Ok(())
}

/// Chooses what affinity keys count for.
fn affinity_weight(given: &Given, chosen: &mut Weights) -> Result<(), ValueError> {
    chosen.set(AFFINITY, given.float()?).map_err(|_| given.out_of_range("0 or a weight from 1e-6 to 1e6"))
}

/// A number from 0 on.
pub(crate) fn not_negative(given: &Given) -> Result<f64, ValueError> {
    let number = given.float()?;
    if number >= 0.0 && number.is_finite() {
        Ok(number)
    } else {
        Err(given.out_of_range("a number, 0 or more"))
    }
}
