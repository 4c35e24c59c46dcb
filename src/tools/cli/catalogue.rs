//! Every option that exists, once. The tools pick theirs from here, so that an
//! option means the same and reads the same wherever it is accepted.

use super::option::{ArgumentKind, OptionDef};

const YES_NO: ArgumentKind = ArgumentKind::Choices(&["yes", "no"]);

// where the cluster comes from

/// `-t`
pub const TEXT_DATA: OptionDef =
    OptionDef::new("text-data", "read the cluster from the text file FILE (- for standard input)")
        .short('t')
        .takes("FILE", ArgumentKind::File);
/// `-m`
pub const MASTER: OptionDef =
    OptionDef::new("master", "ask the remote API (RAPI) of the cluster at ADDRESS, a host name or a URL")
        .short('m')
        .takes("ADDRESS", ArgumentKind::Host);
pub const RAPI_CREDENTIALS: OptionDef = OptionDef::new(
    "rapi-credentials",
    "read user and password for RAPI from FILE, a line of USER:PASSWORD or of Ganeti's file of RAPI users, which nobody else may read",
)
.takes("FILE", ArgumentKind::File)
.added();
pub const RAPI_CACERT: OptionDef = OptionDef::new(
    "rapi-cacert",
    "ask RAPI only if its certificate is one of those in FILE (PEM), or is for its host and signed by one of them",
)
.takes("FILE", ArgumentKind::File)
.added();
pub const INSECURE_HTTP: OptionDef = OptionDef::new(
    "insecure-http",
    "send a password to another host as plain text, where ADDRESS says http://",
)
.added();
/// `-L`
pub const LUXI: OptionDef = OptionDef::new(
    "luxi",
    "ask the master daemon of this machine over its socket, by default ganeti-query in Ganeti's socket directory",
)
.short('L')
.may_take("SOCKET", ArgumentKind::File);
/// `-I`
pub const IALLOC_SRC: OptionDef = OptionDef::new(
    "ialloc-src",
    "take the cluster from the allocator request in FILE (- for standard input)",
)
.short('I')
.takes("FILE", ArgumentKind::File);
pub const SIMULATE: OptionDef = OptionDef::new(
    "simulate",
    "make up a group of empty nodes, described as POLICY,NODES,DISK,MEMORY,CPUS[,SPINDLES[,EXCLUSIVE]]; once per group",
)
.takes("SPEC", ArgumentKind::Text)
.added();
/// `-U`
pub const DYNU_FILE: OptionDef =
    OptionDef::new("dynu-file", "read the measured load of the instances from FILE")
        .short('U')
        .takes("FILE", ArgumentKind::File);
pub const IGNORE_DYNU: OptionDef =
    OptionDef::new("ignore-dynu", "take the load of every instance as zero, whatever was measured");
pub const MOND: OptionDef = OptionDef::new(
    "mond",
    "whether to ask the monitoring daemons of the nodes for load; yes if no CHOICE is given",
)
.may_take("CHOICE", YES_NO);
pub const MOND_DATA: OptionDef = OptionDef::new(
    "mond-data",
    "read the answers of the monitoring daemons from FILE instead of asking them",
)
.takes("FILE", ArgumentKind::File);
pub const MOND_XEN: OptionDef =
    OptionDef::new("mond-xen", "use the Xen collectors of the monitoring daemons, too");
pub const EXIT_ON_MISSING_MOND_DATA: OptionDef =
    OptionDef::new("exit-on-missing-mond-data", "stop if a monitoring daemon gave no usable data");
pub const STATIC_KVM_NODE_MEMORY: OptionDef = OptionDef::new(
    "static-kvm-node-memory",
    "memory in MiB that a KVM node itself is assumed to use, 0 to believe what it reports [4096]",
)
.takes("N", ArgumentKind::Integer);

// what is shown

/// `-p`
pub const PRINT_NODES: OptionDef = OptionDef::new(
    "print-nodes",
    "show the nodes with these FIELDS, or with +FIELDS in addition to the usual ones",
)
.short('p')
.may_take("FIELDS", ArgumentKind::NodeFields);
pub const PRINT_INSTANCES: OptionDef = OptionDef::new("print-instances", "show the instances");
/// `-C`
pub const PRINT_COMMANDS: OptionDef = OptionDef::new(
    "print-commands",
    "show the commands that carry the plan out, or write them to FILE as a script",
)
.short('C')
.may_take("FILE", ArgumentKind::NewFile);
/// `-S`
pub const SAVE: OptionDef =
    OptionDef::new("save", "save the cluster before and after as text files whose names start with FILE")
        .short('S')
        .takes("FILE", ArgumentKind::NewFile);
/// `-v`
pub const VERBOSE: OptionDef = OptionDef::new("verbose", "say more; may be repeated").short('v');
/// `-q`
pub const QUIET: OptionDef = OptionDef::new("quiet", "say less; may be repeated").short('q');
pub const MACHINE_READABLE: OptionDef = OptionDef::new(
    "machine-readable",
    "whether to print KEY=VALUE lines for a shell; yes if no CHOICE is given",
)
.may_take("CHOICE", YES_NO);
pub const SUMMARY: OptionDef = OptionDef::new(
    "summary",
    "end with what the plan costs and brings, as on a terminal: moves, disks copied, scores and nodes before and after",
)
.added();
pub const JSON: OptionDef = OptionDef::new("json", "print the result as one JSON document").added();
pub const EXPLAIN: OptionDef = OptionDef::new(
    "explain",
    "for this instance, show every target with the score it would give or the rule that forbids it; may be repeated",
)
.takes("INSTANCE", ArgumentKind::None)
.added();

// what may be moved, and how far

/// `-O`
pub const OFFLINE: OptionDef = OptionDef::new("offline", "treat NODE as offline; may be repeated")
    .short('O')
    .takes("NODE", ArgumentKind::OneNode);
/// `-G`
pub const GROUP: OptionDef = OptionDef::new("group", "work on the node group with this name or UUID")
    .short('G')
    .takes("ID", ArgumentKind::OneGroup);
pub const WORST_GROUP: OptionDef = OptionDef::new(
    "worst-group",
    "score all node groups, and balance the worst of those that can be improved",
)
.added();
pub const ALL_GROUPS: OptionDef =
    OptionDef::new("all-groups", "balance every node group, in one plan").added();
/// `-l`
pub const MAX_LENGTH: OptionDef =
    OptionDef::new("max-length", "stop after N steps; a negative number sets no limit [-1]")
        .short('l')
        .takes("N", ArgumentKind::Integer);
pub const TIME_LIMIT: OptionDef =
    OptionDef::new("time-limit", "end the search after the step in progress once SECONDS have passed")
        .takes("SECONDS", ArgumentKind::Float)
        .added();
/// `--time-limit` of hail
pub const ANSWER_TIME_LIMIT: OptionDef =
    OptionDef::new("time-limit", "once SECONDS have passed, answer with what was found by then [840]")
        .takes("SECONDS", ArgumentKind::Float)
        .added();
pub const MAX_CPU: OptionDef =
    OptionDef::new("max-cpu", "most virtual CPUs per physical CPU, above 0 [from the group's policy]")
        .takes("RATIO", ArgumentKind::Float);
pub const MIN_DISK: OptionDef =
    OptionDef::new("min-disk", "part of each node's disk space that stays free, 0 to 1 [0]")
        .takes("RATIO", ArgumentKind::Float);
/// `-g`
pub const MIN_GAIN: OptionDef = OptionDef::new(
    "min-gain",
    "below the limit of --min-gain-limit, stop when a step gains less than DELTA [0.01]",
)
.short('g')
.takes("DELTA", ArgumentKind::Float);
pub const MIN_GAIN_LIMIT: OptionDef =
    OptionDef::new("min-gain-limit", "accept steps with any gain while the score is above SCORE [0.1]")
        .takes("SCORE", ArgumentKind::Float);
/// `-e`
pub const MIN_SCORE: OptionDef =
    OptionDef::new("min-score", "stop when the score is this close to the best that can be reached [1e-9]")
        .short('e')
        .takes("EPSILON", ArgumentKind::Float);
/// `-E`
pub const EVAC_MODE: OptionDef =
    OptionDef::new("evac-mode", "move only instances that have an offline node").short('E');
pub const RESTRICTED_MIGRATION: OptionDef = OptionDef::new(
    "restricted-migration",
    "where the primary node is online, only fail over or replace the secondary",
);
pub const NO_DISK_MOVES: OptionDef =
    OptionDef::new("no-disk-moves", "never copy disks to another node: fail over and migrate only");
pub const NO_INSTANCE_MOVES: OptionDef =
    OptionDef::new("no-instance-moves", "leave every instance on its primary node: replace secondaries only");
pub const SELECT_INSTANCES: OptionDef =
    OptionDef::new("select-instances", "move only these instances, separated by commas")
        .takes("INSTS", ArgumentKind::ManyInstances);
pub const EXCLUDE_INSTANCES: OptionDef =
    OptionDef::new("exclude-instances", "leave these instances alone, separated by commas")
        .takes("INSTS", ArgumentKind::ManyInstances);
pub const EXCLUSION_TAGS: OptionDef = OptionDef::new(
    "exclusion-tags",
    "keep instances apart that share a tag TAG:something; several TAGs are separated by commas",
)
.takes("TAG,...", ArgumentKind::Text);
pub const IGNORE_SOFT_ERRORS: OptionDef = OptionDef::new(
    "ignore-soft-errors",
    "allow steps that break a soft limit, such as the N+1 rule or a policy",
);
pub const NO_CAPACITY_CHECKS: OptionDef = OptionDef::new(
    "no-capacity-checks",
    "accept places after which a node could not be emptied any more (global N+1)",
);
pub const RESTRICT_ALLOCATION_TO: OptionDef = OptionDef::new(
    "restrict-allocation-to",
    "place new instances on these nodes only, full names separated by commas, whatever the request says",
)
.takes("NODES", ArgumentKind::ManyNodes);
pub const ALL_SOLUTIONS: OptionDef = OptionDef::new(
    "all-solutions",
    "add to the response to allocate the best place of every group that has one, best first",
)
.added();
pub const OTHER_GROUPS: OptionDef = OptionDef::new(
    "other-groups",
    "in node-evacuate, move instances that their own group has no room for to other groups",
)
.added();
pub const MAKE_ROOM: OptionDef = OptionDef::new(
    "make-room",
    "if allocate finds no place, add to the response the fewest moves after which there is one",
)
.added();
/// `--json` of hail, whose response is JSON in any case
pub const DETAILS: OptionDef =
    OptionDef::new("json", "add to the response what was in the way, place by place").added();

// what is checked

pub const NO_SIMULATION: OptionDef =
    OptionDef::new("no-simulation", "look at the cluster as it is, without balancing it on trial");
pub const LIST_PROBLEMS: OptionDef =
    OptionDef::new("list-problems", "show every problem by name, too: nodes, instances, tags without effect")
        .added();
pub const WITHOUT_NODE: OptionDef = OptionDef::new(
    "without-node",
    "tell what would become of the instances if NODE were lost, instead of checking; several nodes are lost together",
)
.takes("NODE", ArgumentKind::OneNode)
.added();

// what is filled in

pub const DISK_TEMPLATE: OptionDef = OptionDef::new(
    "disk-template",
    "how the new instances store their disks [the first template of the cluster's policy]",
)
.takes(
    "TEMPLATE",
    ArgumentKind::Choices(&[
        "diskless",
        "file",
        "sharedfile",
        "plain",
        "blockdev",
        "drbd",
        "rbd",
        "ext",
        "gluster",
    ]),
);
pub const SPINDLE_USE: OptionDef = OptionDef::new(
    "spindle-use",
    "weight of a new instance on its nodes' spindles, a whole number from 0 on [from the cluster's policy]",
)
.takes("SPINDLES", ArgumentKind::Float);
pub const STANDARD_ALLOC: OptionDef = OptionDef::new(
    "standard-alloc",
    "the fixed size, as DISK,MEMORY,CPUS[,SPINDLES] [the standard size of the cluster's policy]",
)
.takes("STDSPEC", ArgumentKind::Text);
pub const TIERED_ALLOC: OptionDef = OptionDef::new(
    "tiered-alloc",
    "the first of the shrinking sizes, as DISK,MEMORY,CPUS[,SPINDLES] [the largest sizes of the cluster's policy]",
)
.takes("TSPEC", ArgumentKind::Text);
pub const INDEPENDENT_GROUPS: OptionDef = OptionDef::new(
    "independent-groups",
    "leave node groups out that could not lose a node, instead of giving up because of them",
);
pub const ACCEPT_EXISTING_ERRORS: OptionDef =
    OptionDef::new("accept-existing-errors", "fill the cluster although nodes fail N+1 already");

// rolling maintenance

pub const OFFLINE_MAINTENANCE: OptionDef = OptionDef::new(
    "offline-maintenance",
    "plan as if all instances were stopped: only the two nodes of a DRBD instance are kept apart",
);
pub const FULL_EVACUATION: OptionDef =
    OptionDef::new("full-evacuation", "free the nodes of each group of disk copies, too");
pub const SKIP_NON_REDUNDANT: OptionDef =
    OptionDef::new("skip-non-redundant", "leave out nodes that run instances without a copy on another node");
pub const IGNORE_NON_REDUNDANT: OptionDef = OptionDef::new(
    "ignore-non-redundant",
    "do not move instances without a copy on another node: they go down with it",
);
pub const ONE_STEP_ONLY: OptionDef =
    OptionDef::new("one-step-only", "print only the first group, one node a line");
pub const NODE_TAGS: OptionDef =
    OptionDef::new("node-tags", "plan for nodes that have at least one of these tags, separated by commas")
        .takes("TAG,...", ArgumentKind::Text);
pub const NO_HEADERS: OptionDef = OptionDef::new("no-headers", "leave the heading out");
pub const PRINT_MOVES: OptionDef = OptionDef::new(
    "print-moves",
    "print after each group which instances are elsewhere meanwhile, and where",
);
/// `-f`
pub const FORCE_ROLLING: OptionDef =
    OptionDef::new("force", "go on without a master node, and with --honour-run-state while instances run")
        .short('f');
pub const MIGRATE_SHARED: OptionDef = OptionDef::new(
    "migrate-shared",
    "migrate instances on shared storage to a node that takes them by all the rules, and count them as redundant",
)
.added();
pub const HONOUR_RUN_STATE: OptionDef = OptionDef::new(
    "honour-run-state",
    "stopped instances are not in the way; --offline-maintenance is refused while instances run",
)
.added();

// powering nodes down and up

pub const MINIMAL_RESOURCES: OptionDef = OptionDef::new(
    "minimal-resources",
    "bring nodes online if a node has room for less than FACTOR standard instances [2, or --target-resources if that is less]",
)
.takes("FACTOR", ArgumentKind::Float);
pub const TARGET_RESOURCES: OptionDef = OptionDef::new(
    "target-resources",
    "when nodes are freed, keep room for FACTOR standard instances on every other node [2, or --minimal-resources if that is more]",
)
.takes("FACTOR", ArgumentKind::Float);
pub const SQUEEZE_DRBD: OptionDef = OptionDef::new("drbd", "free nodes with DRBD instances, too").added();
pub const SQUEEZE_ALL: OptionDef =
    OptionDef::new("all", "try every node, whatever its instances are; includes --drbd").added();
pub const MAX_NODES: OptionDef = OptionDef::new("max-nodes", "switch at most N nodes in this run")
    .takes("N", ArgumentKind::Integer)
    .added();
pub const STANDBY_DATA: OptionDef = OptionDef::new(
    "standby-data",
    "look the size of nodes that are off up in FILE, a text file that hscan wrote while they were on",
)
.takes("FILE", ArgumentKind::File)
.added();
pub const DETAILED_STATUS: OptionDef = OptionDef::new(
    "detailed-status",
    "end with status 3 if there is something to do that was not done, 4 if it was done, 0 if there is nothing to do",
)
.added();

/// `--detailed-status` of hcheck
pub const DETAILED_HEALTH: OptionDef = OptionDef::new(
    "detailed-status",
    "end with status 2 after any error, so that 1 means only that the cluster is not healthy",
)
.added();

// moves between node groups

pub const DOT: OptionDef =
    OptionDef::new("dot", "draw the groups and the pools that they reach, as text for Graphviz").added();
pub const SVG: OptionDef =
    OptionDef::new("svg", "draw the groups and the pools that they reach, as an SVG picture").added();
pub const EVACUATE: OptionDef = OptionDef::new(
    "evacuate",
    "plan the moves that empty one group: of those that can be emptied the one with most free memory",
)
.added();
pub const MOVE_COST: OptionDef =
    OptionDef::new("move-cost", "what a GiB of disk that has to be copied takes off the gain of a move [0]")
        .takes("COST", ArgumentKind::Float)
        .added();

// what hscan writes

/// `-d`
pub const OUTPUT_DIR: OptionDef = OptionDef::new("output-dir", "write the files into the directory PATH [.]")
    .short('d')
    .takes("PATH", ArgumentKind::Directory);
pub const ANONYMISE: OptionDef = OptionDef::new(
    "anonymise",
    "replace all names, UUIDs and tags, the same ones by the same ones in all clusters of this run",
)
.added();

// carrying the plan out

/// `-X`
pub const EXEC: OptionDef =
    OptionDef::new("exec", "have Ganeti carry the plan out; needs --luxi or --master").short('X');
pub const YES: OptionDef =
    OptionDef::new("yes", "with --exec, do not ask on a terminal whether to begin").added();
pub const JOURNAL: OptionDef = OptionDef::new(
    "journal",
    "with --exec, keep the journal of the run in FILE, which must not exist [a file in the user's state directory]",
)
.takes("FILE", ArgumentKind::File)
.added();
pub const RESUME: OptionDef =
    OptionDef::new("resume", "go on with the run that this journal is of, instead of making a plan")
        .takes("JOURNAL", ArgumentKind::File)
        .added();
pub const JSON_EVENTS: OptionDef =
    OptionDef::new("json-events", "with --exec, write what happens to FILE, one JSON object a line")
        .takes("FILE", ArgumentKind::File)
        .added();
pub const POWER_COMMAND: OptionDef = OptionDef::new(
    "power-command",
    "with --exec, switch the power of a node by running COMMAND on NODE or COMMAND off NODE, not through Ganeti; needed with --master",
)
.takes("COMMAND", ArgumentKind::Text)
.added();
pub const BOOT_TIMEOUT: OptionDef = OptionDef::new(
    "boot-timeout",
    "with --exec, wait at most TIME until a node that was powered on answers [10m]",
)
.takes("TIME", ArgumentKind::Text)
.added();
pub const COOLDOWN: OptionDef = OptionDef::new(
    "cooldown",
    "leave nodes alone that were powered up or down less than TIME ago, such as 90m, 6h or 2d [0]",
)
.takes("TIME", ArgumentKind::Text)
.added();
pub const FIRST_JOB_GROUP: OptionDef =
    OptionDef::new("first-job-group", "keep only the first jobset, the steps that can start at once");
pub const REASON: OptionDef =
    OptionDef::new("reason", "the reason that the submitted jobs record").takes("REASON", ArgumentKind::None);
pub const PRIORITY: OptionDef = OptionDef::new("priority", "the priority of the submitted jobs")
    .takes("PRIO", ArgumentKind::Choices(&["low", "normal", "high"]));

// the launcher

pub const LIST: OptionDef = OptionDef::new("list", "list the tools, one a line").added();
pub const FORCE: OptionDef =
    OptionDef::new("force", "with install-links: replace files that are in the way").added();

// made-up clusters

pub const SEED: OptionDef = OptionDef::new("seed", "the same seed gives the same cluster [1]")
    .takes("N", ArgumentKind::Integer)
    .added();
pub const GROUPS: OptionDef =
    OptionDef::new("groups", "the number of node groups [1]").takes("G", ArgumentKind::Integer).added();
pub const HETERO: OptionDef = OptionDef::new("hetero", "nodes of different sizes").added();
pub const SKEW: OptionDef =
    OptionDef::new("skew", "the share of the nodes that holds most instances, 0 to 1 [0.5]")
        .takes("S", ArgumentKind::Float)
        .added();
pub const FILL: OptionDef = OptionDef::new("fill", "the mean share of memory in use, 0 to 1 [0.55]")
    .takes("F", ArgumentKind::Float)
    .added();
pub const TAGS: OptionDef = OptionDef::new("tags", "exclusion tags and node locations").added();

// every program

/// `-V`
pub const VERSION: OptionDef = OptionDef::new("version", "print the version and exit").short('V');
/// `-h`
pub const HELP: OptionDef = OptionDef::new("help", "print this list of options and exit").short('h');
pub const HELP_COMPLETION: OptionDef =
    OptionDef::new("help-completion", "print the options and what their arguments are, for programs to read");
