//! Options that several programs share, with spelling, help, default and effect. Each is defined once, so that it means
//! and reads the same everywhere. Options of a single program are in its own list.

use super::values::{
    affinity_weight, at_least_one, count, node_fields, ratio_above_zero, room, time_above_zero, weights,
};
use super::{
    CibOptions, CommandTarget, DeepChoices, ExecutionOptions, LimitOptions, LoadOptions, OutputOptions,
    Priority,
};
use crate::model::Mib;
use crate::report::pacemaker::commands::CommandForm;
use crate::search::BalanceOptions;
use crate::search::moves::MoveRules;
use crate::tools::cli::option::ArgumentKind::{
    self, Choices, File, Float, Host, Integer, ManyInstances, NewFile, NodeFields, OneGroup, OneNode, Text,
};
use crate::tools::cli::option::OptionShape;
use crate::tools::cli::{Heading, OptionDef};
use crate::tools::output::ColourUse;

/// Definition of an option, by the part of a tool's options that it sets.
pub(crate) type LoadDef = OptionDef<LoadOptions>;
type CibDef = OptionDef<CibOptions>;
type OutputDef = OptionDef<OutputOptions>;
type LimitDef = OptionDef<LimitOptions>;
type BalanceDef = OptionDef<BalanceOptions>;
type RuleDef = OptionDef<MoveRules>;
type DeepDef = OptionDef<DeepChoices>;
pub(crate) type ExecutionDef = OptionDef<ExecutionOptions>;

const YES_NO: ArgumentKind = Choices(&["yes", "no"]);

// source of the cluster

pub(crate) const TEXT_DATA: LoadDef = LoadDef::new("text-data", "read the cluster from FILE, or - for stdin")
    .common()
    .short('t')
    .takes("FILE", File, |o, g| g.path().map(|path| o.source.text_data = path));
pub(crate) const MASTER: LoadDef = LoadDef::new("master", "ask the remote API (RAPI) at ADDRESS")
    .more("ADDRESS is a host name, a URL, or @NAME of a cluster in the configuration.")
    .common()
    .short('m')
    .takes("ADDRESS", Host, |o, g| {
        g.string().map(|address| o.source.rapi = Some(address).filter(|a| !a.is_empty()))
    });
pub(crate) const RAPI_CREDENTIALS: LoadDef = LoadDef::addition(
    "rapi-credentials",
    "read the RAPI user and password from FILE",
)
.more(
    "It is a line of USER:PASSWORD, or of Ganeti's file of RAPI users. Nobody else may be able to read FILE.",
)
.takes("FILE", File, |o, g| g.path().map(|path| o.source.rapi_access.credentials = path));
pub(crate) const RAPI_CACERT: LoadDef =
    LoadDef::addition("rapi-cacert", "trust only the certificates or authorities in FILE (PEM) for RAPI")
        .more("The server's certificate must be in FILE, or be for its host and signed by one in FILE.")
        .takes("FILE", File, |o, g| g.path().map(|path| o.source.rapi_access.certificates = path));
pub(crate) const INSECURE_HTTP: LoadDef = LoadDef::added_flag(
    "insecure-http",
    "send a password to another host in plain text, over http://",
    |o| o.source.rapi_access.insecure_http = true,
);
/// Options for access to RAPI.
pub(crate) const RAPI_ACCESS: [LoadDef; 3] = [RAPI_CREDENTIALS, RAPI_CACERT, INSECURE_HTTP];
pub(crate) const LUXI: LoadDef = LoadDef::new("luxi", "ask the local master daemon over its socket")
    .common()
    .short('L')
    .may_take("SOCKET", File, |o, g| g.path().map(|path| o.source.luxi = Some(path)));
pub(crate) const IALLOC_SRC: LoadDef =
    LoadDef::new("ialloc-src", "read the cluster from the allocator request in FILE, or - for stdin")
        .short('I')
        .takes("FILE", File, |o, g| g.path().map(|path| o.source.ialloc = path));
pub(crate) const XML_FILE: CibDef =
    CibDef::addition("xml-file", "read a Pacemaker CIB from FILE, or - for stdin")
        .more("FILE is what cibadmin -Q prints; it may be compressed with gzip or bzip2.")
        .common()
        .short('x')
        .takes("FILE", File, |o, g| g.path().map(|path| o.file = path));
pub(crate) const LIVE: CibDef =
    CibDef::added_flag("live", "ask this node's Pacemaker cluster for its CIB", |o| o.live = true)
        .more("It is asked with cibadmin -Q.")
        .common();
pub(crate) const SKIP_UNSUPPORTED: CibDef = CibDef::added_flag(
    "skip-unsupported",
    "keep unsupported resources where they run instead of refusing",
    |o| o.skip_unsupported = true,
);
pub(crate) const ALLOW_RESTARTS: CibDef = CibDef::added_flag(
    "allow-restarts",
    "move Pacemaker resources also where that restarts something",
    |o| o.allow_restarts = true,
)
.more("By default only resources move that migrate while they run, and with which no others are restarted.");
pub(crate) const COMMANDS_FORM: CibDef =
    CibDef::addition("commands", "print Pacemaker commands in FORM, with -C or --json")
        .more("cib stands for cibadmin's.")
        .takes("FORM", Choices(CommandForm::WORDS), |o, g| {
            g.choice().map(|word| o.commands = word.parse().ok())
        });
pub(crate) const SIMULATE: LoadDef =
    LoadDef::addition("simulate", "make up a group of empty nodes; once per group")
        .more("SPEC is POLICY,NODES,DISK,MEMORY,CPUS[,SPINDLES[,EXCLUSIVE]].")
        .takes("SPEC", Text, |o, g| g.string().map(|group| o.source.simulate.push(group)));
pub(crate) const DYNU_FILE: LoadDef = LoadDef::new(
    "dynu-file",
    "read the measured load of instances from FILE",
)
.short('U')
.takes("FILE", File, |o, g| g.path().map(|path| o.utilisation = path));
pub(crate) const IGNORE_DYNU: LoadDef =
    LoadDef::flag("ignore-dynu", "take the load of every instance as zero", |o| o.merge.ignore_dynu = true);
pub(crate) const MOND: LoadDef = LoadDef::new("mond", "ask the nodes' monitoring daemons for load, or not")
    .more("Without CHOICE they are asked.")
    .may_take("CHOICE", YES_NO, |o, g| g.yes().map(|yes| o.mond = yes));
pub(crate) const MOND_DATA: LoadDef = LoadDef::new(
    "mond-data",
    "read the answers of the monitoring daemons from FILE",
)
.takes("FILE", File, |o, g| g.path().map(|path| o.mond_data = path));
pub(crate) const MOND_XEN: LoadDef =
    LoadDef::flag("mond-xen", "use the Xen collectors of the monitoring daemons, too", |o| o.mond_xen = true);
pub(crate) const EXIT_ON_MISSING_MOND_DATA: LoadDef =
    LoadDef::flag("exit-on-missing-mond-data", "stop if a monitoring daemon gave no usable data", |o| {
        o.exit_on_missing_mond_data = true
    });
pub(crate) const STATIC_KVM_NODE_MEMORY: LoadDef =
    LoadDef::new("static-kvm-node-memory", "memory in MiB that a KVM node itself uses; 0: as it reports")
        .takes("N", Integer, |o, g| g.int().map(|mib| o.static_kvm_node_memory = Mib(mib)))
        .default(|o| o.static_kvm_node_memory.0.to_string());

// output

pub(crate) const PRINT_NODES: OutputDef =
    OutputDef::new("print-nodes", "show the nodes, with FIELDS, or +FIELDS more")
        .more("FIELDS are separated by commas.")
        .common()
        .short('p')
        .may_take("FIELDS", NodeFields, |o, g| node_fields(g).map(|fields| o.print_nodes = Some(fields)));
pub(crate) const PRINT_INSTANCES: OutputDef =
    OutputDef::flag("print-instances", "show the instances", |o| o.print_instances = true);
pub(crate) const PRINT_COMMANDS: OutputDef =
    OutputDef::new("print-commands", "show the commands, or write them to FILE")
        .more("FILE becomes a script.")
        .common()
        .short('C')
        .may_take("FILE", NewFile, |o, g| g.path().map(|path| o.commands = Some(CommandTarget::of(path))));
pub(crate) const SAVE: OutputDef =
    OutputDef::new("save", "save the cluster before and after, as files that begin with FILE")
        .more("They are text files as -t reads them.")
        .short('S')
        .takes("FILE", NewFile, |o, g| g.path().map(|path| o.save = path));
pub(crate) const REPORT: OutputDef =
    OutputDef::addition("report", "write the result to FILE as a page for browsers")
        .more("The page is complete in itself: problems, plan, scores and nodes, before and after.")
        .takes("FILE", NewFile, |o, g| g.path().map(|path| o.report = path));
pub(crate) const VERBOSE: LoadDef =
    LoadDef::flag("verbose", "say more; may be repeated", |o| o.verbosity = o.verbosity.saturating_add(1))
        .under(Heading::General)
        .short('v');
pub(crate) const QUIET: LoadDef =
    LoadDef::flag("quiet", "say less; may be repeated", |o| o.verbosity = o.verbosity.saturating_sub(1))
        .under(Heading::General)
        .short('q');
pub(crate) const MACHINE_READABLE: OutputDef =
    OutputDef::new("machine-readable", "print KEY=VALUE lines for a shell, or not")
        .more("Without CHOICE they are printed.")
        .may_take("CHOICE", YES_NO, |o, g| g.yes().map(|yes| o.machine_readable = yes));
pub(crate) const SUMMARY: OutputDef =
    OutputDef::added_flag("summary", "end with the plan's costs and gains, as on a terminal", |o| {
        o.summary = true
    })
    .more("They are moves, disks copied, and the scores and nodes before and after.");
pub(crate) const COLOUR: OutputDef =
    OutputDef::addition("colour", "use colours in the summary; auto: on terminals")
        .takes("WHEN", Choices(ColourUse::WORDS), |o, g| {
            g.choice().map(|word| o.colour = word.parse().unwrap_or_default())
        })
        .default(|o| o.colour.to_string());
pub(crate) const THREADS: OutputDef =
    OutputDef::addition("threads", "use N threads; the answer is the same with any number")
        .more("The environment variable RAYON_NUM_THREADS has the same meaning.")
        .under(Heading::General)
        .takes("N", Integer, |o, g| at_least_one(g).map(|number| o.threads = Some(number)))
        .otherwise("one for each processor");
pub(crate) const JSON: OutputDef =
    OutputDef::added_flag("json", "print the result as one JSON document", |o| o.json = true).common();

pub(crate) const METRICS: OutputDef =
    OutputDef::addition("metrics", "write figures to FILE in Prometheus's format, also on failure")
        .more("FILE is for the textfile collector of Prometheus's node exporter.")
        .takes("FILE", NewFile, |o, g| g.path().map(|path| o.metrics = path));

// rules and limits

pub(crate) const OFFLINE: LoadDef = LoadDef::new("offline", "treat NODE as offline; may be repeated")
    .under(Heading::Limits)
    .common()
    .short('O')
    .takes("NODE", OneNode, |o, g| g.string().map(|node| o.nodes.offline.push(node)));
pub(crate) const GROUP: LimitDef = LimitDef::new("group", "work on the node group with this name or UUID")
    .common()
    .short('G')
    .takes("ID", OneGroup, |o, g| g.string().map(|group| o.group = Some(group)));
pub(crate) const MAX_LENGTH: BalanceDef =
    BalanceDef::new("max-length", "stop after N steps; negative: no limit")
        .common()
        .short('l')
        .takes("N", Integer, |o, g| g.int().map(|most| o.max_length = most))
        .default(|o| o.max_length.to_string());
pub(crate) const TIME_LIMIT: LimitDef = LimitDef::addition(
    "time-limit",
    "end the search after SECONDS, and the step in progress",
)
.takes("SECONDS", Float, |o, g| time_above_zero(g).map(|time| o.time_limit = Some(time)));
pub(crate) const MAX_CPU: LoadDef = LoadDef::new("max-cpu", "most virtual CPUs per physical CPU, above 0")
    .otherwise("from the group's policy")
    .under(Heading::Limits)
    .takes("RATIO", Float, |o, g| ratio_above_zero(g).map(|ratio| o.nodes.max_cpu = Some(ratio)));
pub(crate) const MIN_DISK: LoadDef =
    LoadDef::new("min-disk", "share of each node's disk space that stays free, 0 to 1")
        .under(Heading::Limits)
        .takes("RATIO", Float, |o, g| g.float().map(|ratio| o.nodes.min_disk = ratio))
        .default(|o| o.nodes.min_disk.to_string());
pub(crate) const KEEP_RESERVE: LoadDef =
    LoadDef::addition("keep-reserve", "keep enough memory free for the loss of any K nodes of a group")
        .more("Places that would leave less are refused. 1 is N+1, which counts in any case.")
        .under(Heading::Limits)
        .takes("K", Integer, |o, g| at_least_one(g).map(|nodes| o.nodes.keep_reserve = Some(nodes)));
pub(crate) const KEEP_ROOM: LoadDef =
    LoadDef::addition("keep-room", "keep room for more instances, such as 64g,16c,x2")
        .more(
            "ROOM is MEMORY[,DISKd][,VCPUSc][,TEMPLATE][,xN] for N instances. What is left out comes from \
             the cluster's policy. Places that would leave less are refused.",
        )
        .under(Heading::Limits)
        .takes("ROOM", Text, |o, g| room(g).map(|room| o.nodes.keep_room = Some(room)));
pub(crate) const NO_TARGET: LoadDef = LoadDef::addition("no-target", "move nothing to NODE; may be repeated")
    .more("The node keeps what it has. What must leave offline nodes may go there.")
    .under(Heading::Limits)
    .takes("NODE", OneNode, |o, g| g.string().map(|node| o.nodes.closed.push(node)));
pub(crate) const EXCLUDE_TAG: LoadDef =
    LoadDef::addition("exclude-tag", "leave instances with TAG alone; move nothing to nodes with TAG")
        .more("May be repeated.")
        .under(Heading::Limits)
        .takes("TAG", Text, |o, g| g.string().map(|tag| o.nodes.excluded_tags.push(tag)));
/// Options for nodes and instances that stay out of the tools' choices.
pub(crate) const EXCLUSIONS: [LoadDef; 2] = [NO_TARGET, EXCLUDE_TAG];
pub(crate) const MIN_GAIN: BalanceDef =
    BalanceDef::new("min-gain", "stop when a step gains less than DELTA, below --min-gain-limit")
        .short('g')
        .takes("DELTA", Float, |o, g| g.float().map(|gain| o.min_gain = gain))
        .default(|o| o.min_gain.to_string());
pub(crate) const MIN_GAIN_LIMIT: BalanceDef =
    BalanceDef::new("min-gain-limit", "accept steps with any gain while the score is above SCORE")
        .takes("SCORE", Float, |o, g| g.float().map(|score| o.min_gain_limit = score))
        .default(|o| o.min_gain_limit.to_string());
pub(crate) const MIN_SCORE: BalanceDef =
    BalanceDef::new("min-score", "stop when the score is this close to the best possible")
        .short('e')
        .takes("EPSILON", Float, |o, g| g.float().map(|score| o.min_score = score))
        .default(|o| format!("{:e}", o.min_score));
pub(crate) const DEEP: DeepDef =
    DeepDef::added_flag("deep", "search for the best placement, not step by step", |o| o.asked = true)
        .more("The distance from the best possible placement is told.")
        .common();
pub(crate) const EFFORT: DeepDef = DeepDef::addition("effort", "try N changes altogether, with --deep")
    .otherwise("by the number of instances")
    .takes("N", Integer, |o, g| count(g).map(|tries| o.effort = Some(tries)));
pub(crate) const EVAC_MODE: BalanceDef =
    BalanceDef::flag("evac-mode", "move only instances that have an offline node", |o| o.evacuate = true)
        .short('E');
pub(crate) const NO_DISK_MOVES: RuleDef =
    RuleDef::flag("no-disk-moves", "copy no disks to other nodes: only fail over and migrate", |o| {
        o.disk_moves = false
    });
pub(crate) const NO_INSTANCE_MOVES: RuleDef =
    RuleDef::flag("no-instance-moves", "keep every instance on its primary: only replace secondaries", |o| {
        o.instance_moves = false
    });
pub(crate) const RESTRICTED_MIGRATION: RuleDef = RuleDef::flag(
    "restricted-migration",
    "migrate only off offline primaries; else fail over or replace",
    |o| o.restricted_migration = true,
)
.more("Where the primary node is online, only failovers and replacements of the secondary are planned.");
pub(crate) const SELECT_INSTANCES: LoadDef =
    LoadDef::new("select-instances", "move only these instances, separated by commas")
        .under(Heading::Limits)
        .takes("INSTS", ManyInstances, |o, g| g.list().map(|names| o.merge.select_instances = names));
pub(crate) const EXCLUDE_INSTANCES: LoadDef =
    LoadDef::new("exclude-instances", "leave these instances alone, separated by commas")
        .under(Heading::Limits)
        .takes("INSTS", ManyInstances, |o, g| g.list().map(|names| o.merge.exclude_instances = names));
pub(crate) const EXCLUSION_TAGS: LoadDef =
    LoadDef::new("exclusion-tags", "keep instances apart that share a tag beginning with TAG")
        .more("Several TAGs are separated by commas.")
        .under(Heading::Limits)
        .takes("TAG,...", Text, |o, g| g.list().map(|tags| o.merge.exclusion_tags = tags));
pub(crate) const IGNORE_SOFT_ERRORS: RuleDef = RuleDef::flag(
    "ignore-soft-errors",
    "allow steps that break a soft limit, such as N+1 or a policy",
    |o| o.ignore_soft_errors = true,
);
pub(crate) const NO_CAPACITY_CHECKS: LimitDef = LimitDef::flag(
    "no-capacity-checks",
    "accept places after which a node cannot be emptied (global N+1)",
    |o| o.no_capacity_checks = true,
);

pub(crate) const WEIGHTS: LoadDef =
    LoadDef::addition("weights", "weigh metrics of the score, by NAME=WEIGHT and commas")
        .more("0 switches a metric off. Without WEIGHTS, Ganeti's own hold again.")
        .otherwise("Ganeti's weights")
        .under(Heading::Limits)
        .takes("WEIGHTS", Text, |o, g| weights(g, &mut o.merge.weights));

pub(crate) const AFFINITY_WEIGHT: LoadDef =
    LoadDef::addition("affinity-weight", "count affinity keys and copies of sticky keys, times WEIGHT")
        .otherwise("0")
        .under(Heading::Affinity)
        .takes("WEIGHT", Float, |o, g| affinity_weight(g, &mut o.merge.weights));

// headings and exit status

pub(crate) const NO_HEADERS: OutputDef =
    OutputDef::flag("no-headers", "leave the heading out", |o| o.no_headers = true);

pub(crate) const DETAILED_STATUS: OutputDef = OutputDef::added_flag(
    "detailed-status",
    "end with status 3 if anything is left to do, 4 if it was done",
    |o| o.detailed_status = true,
)
.more("0 says that there is nothing to do.");

// carrying the plan out

pub(crate) const EXEC: ExecutionDef =
    ExecutionDef::flag("exec", "have Ganeti carry the plan out", |o| o.exec = true)
        .more("It needs --luxi or --master.")
        .common()
        .short('X');
/// [`EXEC`] for tools that also take Pacemaker clusters.
pub(crate) const EXEC_ANYWHERE: ExecutionDef = EXEC
    .says("have Ganeti or Pacemaker carry the plan out")
    .more("It needs --luxi or --master, or for Pacemaker --live.")
    .common();
pub(crate) const YES: ExecutionDef =
    ExecutionDef::added_flag("yes", "begin without asking on a terminal, with --exec", |o| o.yes = true);
pub(crate) const JOURNAL: ExecutionDef =
    ExecutionDef::addition("journal", "keep the journal of the run in FILE, with --exec")
        .more("FILE must not exist.")
        .otherwise("a file in the user's state directory")
        .takes("FILE", File, |o, g| g.path().map(|path| o.journal = path));
pub(crate) const POWER_COMMAND: ExecutionDef =
    ExecutionDef::addition("power-command", "run COMMAND on NODE, or COMMAND off NODE, to switch nodes")
        .more("It is used with --exec instead of Ganeti's own commands, and needed with --master.")
        .takes("COMMAND", Text, |o, g| g.path().map(|path| o.handling.power_command = path.map(Into::into)));
pub(crate) const RESUME: ExecutionDef = ExecutionDef::addition(
    "resume",
    "go on with the run that this journal is of, without a new plan",
)
.takes("JOURNAL", File, |o, g| g.path().map(|path| o.resume = path));
pub(crate) const JSON_EVENTS: ExecutionDef =
    ExecutionDef::addition("json-events", "write what happens to FILE, one JSON object a line, with --exec")
        .takes("FILE", File, |o, g| g.path().map(|path| o.json_events = path));
pub(crate) const REASON: ExecutionDef = ExecutionDef::new("reason", "reason that the submitted jobs record")
    .takes("REASON", ArgumentKind::None, |o, g| g.string().map(|reason| o.reason = Some(reason)));
pub(crate) const PRIORITY: ExecutionDef = ExecutionDef::new("priority", "priority of the submitted jobs")
    .takes("PRIO", Choices(Priority::WORDS), |o, g| g.choice().map(|word| o.priority = word.parse().ok()));

// every program

pub(crate) const NO_CONFIG: OptionShape =
    OptionDef::<()>::new("no-config", "read no configuration files, except for the cluster of -m @NAME")
        .added()
        .shape;
pub(crate) const VERSION: OptionShape =
    OptionDef::<()>::new("version", "print the version and exit").short('V').shape;
pub(crate) const HELP: OptionShape =
    OptionDef::<()>::new("help", "print a short help (-h), or all options (--help)").short('h').shape;
pub(crate) const HELP_COMPLETION: OptionShape =
    OptionDef::<()>::new("help-completion", "print the options and kinds of arguments, for programs").shape;
/// Options of all tools, at the end of their lists.
pub(crate) const LAST: [OptionShape; 4] = [NO_CONFIG, VERSION, HELP, HELP_COMPLETION];
