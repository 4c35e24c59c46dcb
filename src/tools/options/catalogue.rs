//! The options that several programs take, once: spelling, help, default and what they set, so that an option
//! means the same and reads the same wherever it is accepted. What one program alone takes is in its own list.

use super::{
    CommandTarget, Priority, affinity_weight, at_least_one, count, node_fields, ratio_above_zero,
    time_above_zero, weights,
};
use crate::model::Mib;
use crate::report::pacemaker::commands::CommandForm;
use crate::tools::cli::OptionDef;
use crate::tools::cli::option::ArgumentKind::{
    self, Choices, File, Float, Host, Integer, ManyInstances, NewFile, NodeFields, OneGroup, OneNode, Text,
};
use crate::tools::output::ColourUse;

const YES_NO: ArgumentKind = Choices(&["yes", "no"]);

// where the cluster comes from

pub(crate) const TEXT_DATA: OptionDef =
    OptionDef::new("text-data", "read the cluster from the text file FILE (- for standard input)")
        .short('t')
        .takes("FILE", File, |o, g| g.path().map(|path| o.load.source.text_data = path));
pub(crate) const MASTER: OptionDef =
    OptionDef::new("master", "ask the remote API (RAPI) of the cluster at ADDRESS, a host name or a URL")
        .short('m')
        .takes("ADDRESS", Host, |o, g| {
            g.string().map(|address| o.load.source.rapi = Some(address).filter(|a| !a.is_empty()))
        });
pub(crate) const RAPI_CREDENTIALS: OptionDef = OptionDef::new(
    "rapi-credentials",
    "read user and password for RAPI from FILE, a line of USER:PASSWORD or of Ganeti's file of RAPI users, which nobody else may read",
)
.takes("FILE", File, |o, g| g.path().map(|path| o.load.source.rapi_access.credentials = path))
.added();
pub(crate) const RAPI_CACERT: OptionDef = OptionDef::new(
    "rapi-cacert",
    "ask RAPI only if its certificate is one of those in FILE (PEM), or is for its host and signed by one of them",
)
.takes("FILE", File, |o, g| g.path().map(|path| o.load.source.rapi_access.certificates = path))
.added();
pub(crate) const INSECURE_HTTP: OptionDef = OptionDef::flag(
    "insecure-http",
    "send a password to another host as plain text, where ADDRESS says http://",
    |o| o.load.source.rapi_access.insecure_http = true,
)
.added();
pub(crate) const LUXI: OptionDef = OptionDef::new(
    "luxi",
    "ask the master daemon of this machine over its socket, by default ganeti-query in Ganeti's socket directory",
)
.short('L')
.may_take("SOCKET", File, |o, g| g.path().map(|path| o.load.source.luxi = Some(path)));
pub(crate) const IALLOC_SRC: OptionDef = OptionDef::new(
    "ialloc-src",
    "take the cluster from the allocator request in FILE (- for standard input)",
)
.short('I')
.takes("FILE", File, |o, g| g.path().map(|path| o.load.source.ialloc = path));
pub(crate) const XML_FILE: OptionDef = OptionDef::new(
    "xml-file",
    "read the cluster from FILE, a CIB as cibadmin -Q prints it, or compressed with gzip or bzip2; - is standard input",
)
.short('x')
.takes("FILE", File, |o, g| g.path().map(|path| o.placement.file = path))
.added();
pub(crate) const LIVE: OptionDef =
    OptionDef::flag("live", "ask the cluster of this node for its CIB, with cibadmin -Q", |o| {
        o.placement.live = true
    })
    .added();
pub(crate) const SKIP_UNSUPPORTED: OptionDef = OptionDef::flag(
    "skip-unsupported",
    "leave what is beyond this tool as it is, where it runs, instead of refusing the cluster",
    |o| o.placement.skip_unsupported = true,
)
.added();
pub(crate) const ALLOW_RESTARTS: OptionDef = OptionDef::flag(
    "allow-restarts",
    "of a Pacemaker cluster, also move resources that are stopped and started for that, or with which others are",
    |o| o.placement.allow_restarts = true,
)
.added();
pub(crate) const COMMANDS_FORM: OptionDef = OptionDef::new(
    "commands",
    "of a Pacemaker cluster, with -C or --json, whose commands: cibadmin's (cib), pcs', crmsh's or crm_resource's",
)
.takes("FORM", Choices(CommandForm::WORDS), |o, g| {
    g.choice().map(|word| o.placement.commands = word.parse().ok())
})
.added();
pub(crate) const SIMULATE: OptionDef = OptionDef::new(
    "simulate",
    "make up a group of empty nodes, described as POLICY,NODES,DISK,MEMORY,CPUS[,SPINDLES[,EXCLUSIVE]]; once per group",
)
.takes("SPEC", Text, |o, g| g.string().map(|group| o.load.source.simulate.push(group)))
.added();
pub(crate) const DYNU_FILE: OptionDef = OptionDef::new(
    "dynu-file",
    "read the measured load of the instances from FILE",
)
.short('U')
.takes("FILE", File, |o, g| g.path().map(|path| o.load.utilisation = path));
pub(crate) const IGNORE_DYNU: OptionDef =
    OptionDef::flag("ignore-dynu", "take the load of every instance as zero, whatever was measured", |o| {
        o.load.merge.ignore_dynu = true
    });
pub(crate) const MOND: OptionDef = OptionDef::new(
    "mond",
    "whether to ask the monitoring daemons of the nodes for load; yes if no CHOICE is given",
)
.may_take("CHOICE", YES_NO, |o, g| g.yes().map(|yes| o.load.mond = yes));
pub(crate) const MOND_DATA: OptionDef = OptionDef::new(
    "mond-data",
    "read the answers of the monitoring daemons from FILE instead of asking them",
)
.takes("FILE", File, |o, g| g.path().map(|path| o.load.mond_data = path));
pub(crate) const MOND_XEN: OptionDef =
    OptionDef::flag("mond-xen", "use the Xen collectors of the monitoring daemons, too", |o| {
        o.load.mond_xen = true
    });
pub(crate) const EXIT_ON_MISSING_MOND_DATA: OptionDef =
    OptionDef::flag("exit-on-missing-mond-data", "stop if a monitoring daemon gave no usable data", |o| {
        o.load.exit_on_missing_mond_data = true
    });
pub(crate) const STATIC_KVM_NODE_MEMORY: OptionDef = OptionDef::new(
    "static-kvm-node-memory",
    "memory in MiB that a KVM node itself is assumed to use, 0 to believe what it reports",
)
.takes("N", Integer, |o, g| g.int().map(|mib| o.load.static_kvm_node_memory = Mib(mib)))
.default(|o| o.load.static_kvm_node_memory.0.to_string());

// what is shown

pub(crate) const PRINT_NODES: OptionDef = OptionDef::new(
    "print-nodes",
    "show the nodes with these FIELDS, or with +FIELDS in addition to the usual ones",
)
.short('p')
.may_take("FIELDS", NodeFields, |o, g| node_fields(g).map(|fields| o.print_nodes = Some(fields)));
pub(crate) const PRINT_INSTANCES: OptionDef =
    OptionDef::flag("print-instances", "show the instances", |o| o.print_instances = true);
pub(crate) const PRINT_COMMANDS: OptionDef = OptionDef::new(
    "print-commands",
    "show the commands that carry the plan out, or write them to FILE as a script",
)
.short('C')
.may_take("FILE", NewFile, |o, g| g.path().map(|path| o.commands = Some(CommandTarget::of(path))));
pub(crate) const SAVE: OptionDef =
    OptionDef::new("save", "save the cluster before and after as text files whose names start with FILE")
        .short('S')
        .takes("FILE", NewFile, |o, g| g.path().map(|path| o.save = path));
pub(crate) const REPORT: OptionDef = OptionDef::new(
    "report",
    "write the result to FILE as a page for browsers, complete in itself: problems, plan, scores and nodes, before and after",
)
.takes("FILE", NewFile, |o, g| g.path().map(|path| o.report = path))
.added();
pub(crate) const VERBOSE: OptionDef = OptionDef::flag("verbose", "say more; may be repeated", |o| {
    o.load.verbosity = o.load.verbosity.saturating_add(1)
})
.short('v');
pub(crate) const QUIET: OptionDef = OptionDef::flag("quiet", "say less; may be repeated", |o| {
    o.load.verbosity = o.load.verbosity.saturating_sub(1)
})
.short('q');
pub(crate) const MACHINE_READABLE: OptionDef = OptionDef::new(
    "machine-readable",
    "whether to print KEY=VALUE lines for a shell; yes if no CHOICE is given",
)
.may_take("CHOICE", YES_NO, |o, g| g.yes().map(|yes| o.machine_readable = yes));
pub(crate) const SUMMARY: OptionDef = OptionDef::flag(
    "summary",
    "end with what the plan costs and brings, as on a terminal: moves, disks copied, scores and nodes before and after",
    |o| o.summary = true,
)
.added();
pub(crate) const COLOUR: OptionDef =
    OptionDef::new("colour", "when the summary has colours; auto: on terminals")
        .takes("WHEN", Choices(ColourUse::WORDS), |o, g| {
            g.choice().map(|word| o.colour = word.parse().unwrap_or_default())
        })
        .default(|o| o.colour.to_string())
        .added();
pub(crate) const JSON: OptionDef =
    OptionDef::flag("json", "print the result as one JSON document", |o| o.json = true).added();

pub(crate) const METRICS: OptionDef = OptionDef::new(
    "metrics",
    "write the figures of the run to FILE, in Prometheus's format, also if it fails: for the textfile collector of its node exporter",
)
.takes("FILE", NewFile, |o, g| g.path().map(|path| o.metrics = path))
.added();

// what may be moved, and how far

pub(crate) const OFFLINE: OptionDef = OptionDef::new("offline", "treat NODE as offline; may be repeated")
    .short('O')
    .takes("NODE", OneNode, |o, g| g.string().map(|node| o.load.nodes.offline.push(node)));
pub(crate) const GROUP: OptionDef = OptionDef::new("group", "work on the node group with this name or UUID")
    .short('G')
    .takes("ID", OneGroup, |o, g| g.string().map(|group| o.group = Some(group)));
pub(crate) const MAX_LENGTH: OptionDef =
    OptionDef::new("max-length", "stop after N steps; a negative number sets no limit")
        .short('l')
        .takes("N", Integer, |o, g| g.int().map(|most| o.balance.max_length = most))
        .default(|o| o.balance.max_length.to_string());
pub(crate) const TIME_LIMIT: OptionDef =
    OptionDef::new("time-limit", "end the search after the step in progress once SECONDS have passed")
        .takes("SECONDS", Float, |o, g| time_above_zero(g).map(|time| o.time_limit = Some(time)))
        .added();
pub(crate) const MAX_CPU: OptionDef = OptionDef::new(
    "max-cpu",
    "most virtual CPUs per physical CPU, above 0 [from the group's policy]",
)
.takes("RATIO", Float, |o, g| ratio_above_zero(g).map(|ratio| o.load.nodes.max_cpu = Some(ratio)));
pub(crate) const MIN_DISK: OptionDef =
    OptionDef::new("min-disk", "part of each node's disk space that stays free, 0 to 1")
        .takes("RATIO", Float, |o, g| g.float().map(|ratio| o.load.nodes.min_disk = ratio))
        .default(|o| o.load.nodes.min_disk.to_string());
pub(crate) const KEEP_RESERVE: OptionDef = OptionDef::new(
    "keep-reserve",
    "refuse places where too little memory would be left for the loss of any K nodes of a group at once; 1 is N+1, which counts in any case",
)
.takes("K", Integer, |o, g| at_least_one(g).map(|nodes| o.load.nodes.keep_reserve = Some(nodes)))
.added();
pub(crate) const MIN_GAIN: OptionDef =
    OptionDef::new("min-gain", "below the limit of --min-gain-limit, stop when a step gains less than DELTA")
        .short('g')
        .takes("DELTA", Float, |o, g| g.float().map(|gain| o.balance.min_gain = gain))
        .default(|o| o.balance.min_gain.to_string());
pub(crate) const MIN_GAIN_LIMIT: OptionDef =
    OptionDef::new("min-gain-limit", "accept steps with any gain while the score is above SCORE")
        .takes("SCORE", Float, |o, g| g.float().map(|score| o.balance.min_gain_limit = score))
        .default(|o| o.balance.min_gain_limit.to_string());
pub(crate) const MIN_SCORE: OptionDef =
    OptionDef::new("min-score", "stop when the score is this close to the best that can be reached")
        .short('e')
        .takes("EPSILON", Float, |o, g| g.float().map(|score| o.balance.min_score = score))
        .default(|o| format!("{:e}", o.balance.min_score));
pub(crate) const DEEP: OptionDef = OptionDef::flag(
    "deep",
    "look for the best placement, not for one step after the other, and tell how far from the best possible it is",
    |o| o.deep = true,
)
.added();
pub(crate) const EFFORT: OptionDef =
    OptionDef::new("effort", "with --deep, try N changes altogether [by the number of instances]")
        .takes("N", Integer, |o, g| count(g).map(|tries| o.effort = Some(tries)))
        .added();
pub(crate) const EVAC_MODE: OptionDef =
    OptionDef::flag("evac-mode", "move only instances that have an offline node", |o| {
        o.balance.evacuate = true
    })
    .short('E');
pub(crate) const NO_DISK_MOVES: OptionDef =
    OptionDef::flag("no-disk-moves", "never copy disks to another node: fail over and migrate only", |o| {
        o.balance.rules.disk_moves = false
    });
pub(crate) const NO_INSTANCE_MOVES: OptionDef = OptionDef::flag(
    "no-instance-moves",
    "leave every instance on its primary node: replace secondaries only",
    |o| o.balance.rules.instance_moves = false,
);
pub(crate) const RESTRICTED_MIGRATION: OptionDef = OptionDef::flag(
    "restricted-migration",
    "where the primary node is online, only fail over or replace the secondary",
    |o| o.balance.rules.restricted_migration = true,
);
pub(crate) const SELECT_INSTANCES: OptionDef = OptionDef::new(
    "select-instances",
    "move only these instances, separated by commas",
)
.takes("INSTS", ManyInstances, |o, g| g.list().map(|names| o.load.merge.select_instances = names));
pub(crate) const EXCLUDE_INSTANCES: OptionDef = OptionDef::new(
    "exclude-instances",
    "leave these instances alone, separated by commas",
)
.takes("INSTS", ManyInstances, |o, g| g.list().map(|names| o.load.merge.exclude_instances = names));
pub(crate) const EXCLUSION_TAGS: OptionDef = OptionDef::new(
    "exclusion-tags",
    "keep instances apart that share a tag TAG:something; several TAGs are separated by commas",
)
.takes("TAG,...", Text, |o, g| g.list().map(|tags| o.load.merge.exclusion_tags = tags));
pub(crate) const IGNORE_SOFT_ERRORS: OptionDef = OptionDef::flag(
    "ignore-soft-errors",
    "allow steps that break a soft limit, such as the N+1 rule or a policy",
    |o| o.balance.rules.ignore_soft_errors = true,
);
pub(crate) const NO_CAPACITY_CHECKS: OptionDef = OptionDef::flag(
    "no-capacity-checks",
    "accept places after which a node could not be emptied any more (global N+1)",
    |o| o.no_capacity_checks = true,
);

pub(crate) const WEIGHTS: OptionDef = OptionDef::new(
    "weights",
    "what metrics count for in the score, as NAME=WEIGHT,..., instead of Ganeti's weights; 0 switches one off, no WEIGHTS at all is Ganeti's again",
)
.takes("WEIGHTS", Text, |o, g| weights(g, &mut o.load.merge.weights))
.added();

pub(crate) const AFFINITY_WEIGHT: OptionDef = OptionDef::new(
    "affinity-weight",
    "let customers' affinity keys and copies of sticky keys count in the score, times WEIGHT [0]",
)
.takes("WEIGHT", Float, |o, g| affinity_weight(g, &mut o.load.merge.weights))
.added();

// rolling maintenance

pub(crate) const NO_HEADERS: OptionDef =
    OptionDef::flag("no-headers", "leave the heading out", |o| o.no_headers = true);

// powering nodes down and up

pub(crate) const DETAILED_STATUS: OptionDef = OptionDef::flag(
    "detailed-status",
    "end with status 3 if there is something to do that was not done, 4 if it was done, 0 if there is nothing to do",
    |o| o.detailed_status = true,
)
.added();

// carrying the plan out

pub(crate) const EXEC: OptionDef =
    OptionDef::flag("exec", "have Ganeti carry the plan out; needs --luxi or --master", |o| {
        o.execution.exec = true
    })
    .short('X');
/// [`EXEC`] where the cluster can be one of Pacemaker's.
pub(crate) const EXEC_ANYWHERE: OptionDef =
    EXEC.says("have Ganeti, or Pacemaker, carry the plan out; needs --luxi or --master, or --live");
pub(crate) const YES: OptionDef =
    OptionDef::flag("yes", "with --exec, do not ask on a terminal whether to begin", |o| {
        o.execution.yes = true
    })
    .added();
pub(crate) const JOURNAL: OptionDef = OptionDef::new(
    "journal",
    "with --exec, keep the journal of the run in FILE, which must not exist [a file in the user's state directory]",
)
.takes("FILE", File, |o, g| g.path().map(|path| o.execution.journal = path))
.added();
pub(crate) const POWER_COMMAND: OptionDef = OptionDef::new(
    "power-command",
    "with --exec, switch the power of a node by running COMMAND on NODE or COMMAND off NODE, not through Ganeti; needed with --master",
)
.takes("COMMAND", Text, |o, g| {
    g.path().map(|path| o.execution.handling.power_command = path.map(Into::into))
})
.added();
pub(crate) const RESUME: OptionDef =
    OptionDef::new("resume", "go on with the run that this journal is of, instead of making a plan")
        .takes("JOURNAL", File, |o, g| g.path().map(|path| o.execution.resume = path))
        .added();
pub(crate) const JSON_EVENTS: OptionDef =
    OptionDef::new("json-events", "with --exec, write what happens to FILE, one JSON object a line")
        .takes("FILE", File, |o, g| g.path().map(|path| o.execution.json_events = path))
        .added();
pub(crate) const REASON: OptionDef = OptionDef::new("reason", "the reason that the submitted jobs record")
    .takes("REASON", ArgumentKind::None, |o, g| g.string().map(|reason| o.execution.reason = Some(reason)));
pub(crate) const PRIORITY: OptionDef = OptionDef::new("priority", "the priority of the submitted jobs")
    .takes("PRIO", Choices(Priority::WORDS), |o, g| {
        g.choice().map(|word| o.execution.priority = word.parse().ok())
    });

// every program

pub(crate) const NO_CONFIG: OptionDef =
    OptionDef::new("no-config", "take nothing from configuration files but the clusters that -m @NAME names")
        .added();
pub(crate) const VERSION: OptionDef = OptionDef::new("version", "print the version and exit").short('V');
pub(crate) const HELP: OptionDef = OptionDef::new("help", "print this list of options and exit").short('h');
pub(crate) const HELP_COMPLETION: OptionDef =
    OptionDef::new("help-completion", "print the options and what their arguments are, for programs to read");
