//! Options for carrying a maintenance out.

use std::num::NonZeroUsize;
use std::time::Duration;

use super::HrollerOptions;
use crate::execute::maintenance::{AfterFailure, MaintenanceLimits, OperatorCommands};
use crate::plan::maintenance::{MigrateTo, NodeMark, Return};
use crate::tools::cli::option::ArgumentKind::{Choices, Integer, Text};
use crate::tools::cli::value::shown_time;
use crate::tools::cli::{Given, Heading, OptionDef, ValueError};
use crate::tools::options::ExecutionOptions;
use htools_model::words;

words!(
    /// Way in which nodes are rebooted without a command of the operator.
    pub RebootBy, "way to reboot nodes" {
        /// Ganeti's out-of-band helper.
        Oob = "oob",
    }
);

/// Options for carrying a maintenance out.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MaintainOptions {
    pub node_command: Option<String>,
    pub reboot_by: Option<RebootBy>,
    pub wait_for_operator: bool,
    pub no_reboot: bool,
    pub skip_when: Option<String>,
    pub only_when: Option<String>,
    pub health_command: Option<String>,
    pub master_command: Option<String>,
    pub skip_master: bool,
    pub canary: usize,
    pub soak: Duration,
    /// None: stop.
    pub on_failure: Option<AfterFailure>,
    /// None: drained.
    pub mark: Option<NodeMark>,
    /// None: home.
    pub returns: Option<Return>,
    pub command_timeout: Duration,
    pub check_timeout: Duration,
}

impl Default for MaintainOptions {
    fn default() -> MaintainOptions {
        MaintainOptions {
            node_command: None,
            reboot_by: None,
            wait_for_operator: false,
            no_reboot: false,
            skip_when: None,
            only_when: None,
            health_command: None,
            master_command: None,
            skip_master: false,
            canary: 0,
            soak: Duration::ZERO,
            on_failure: None,
            mark: None,
            returns: None,
            command_timeout: Duration::from_secs(3600),
            check_timeout: Duration::from_secs(300),
        }
    }
}

impl MaintainOptions {
    /// The operator's commands.
    pub(super) fn commands(&self) -> OperatorCommands {
        OperatorCommands {
            node: self.node_command.clone(),
            health: self.health_command.clone(),
            skip_when: self.skip_when.clone(),
            only_when: self.only_when.clone(),
            master: self.master_command.clone(),
        }
    }
}

impl HrollerOptions {
    /// Longest times of the parts of a maintenance.
    pub(super) fn time_limits(&self) -> MaintenanceLimits {
        MaintenanceLimits {
            command: self.maintain.command_timeout.as_secs(),
            boot: self.execution.handling.boot.as_secs(),
            check: self.maintain.check_timeout.as_secs(),
        }
    }
}

impl crate::tools::cli::heading::OptionTopic for MaintainOptions {
    const HEADING: Heading = Heading::Execution;
}

/// Long names of other options that a journal keeps for the resumed run.
pub(super) const IN_JOURNAL: [&str; 11] = [
    "offline-maintenance",
    "node-tags",
    "full-evacuation",
    "skip-non-redundant",
    "ignore-non-redundant",
    "migrate-shared",
    "honour-run-state",
    "max-down",
    "upgrade-order",
    "migrate-to",
    "one-step-only",
];

/// Long names of the options that need `--exec`.
pub(super) const NEED_EXEC: [&str; 17] = [
    "node-command",
    "reboot-by",
    "wait-for-operator",
    "no-reboot",
    "skip-when",
    "only-when",
    "health-command",
    "master-command",
    "skip-master",
    "canary",
    "soak",
    "on-failure",
    "mark",
    "return",
    "command-timeout",
    "check-timeout",
    "boot-timeout",
];

type Def = OptionDef<MaintainOptions>;

fn count(given: &Given) -> Result<usize, ValueError> {
    usize::try_from(given.int()?).map_err(|_| given.out_of_range("a number of nodes, 0 or more"))
}

pub(super) const NODE_COMMAND: Def = Def::addition("node-command", "maintain each node by COMMAND, with --exec")
    .more("It is run by the shell, here, when no instance runs on the node any more. {node} stands for the node's full name; without it, the name is the last argument. Its output goes to a file beside the journal.")
    .common()
    .takes("COMMAND", Text, |o, g| g.string().map(|text| o.node_command = Some(text)));
/// The operator's commands. A saved plan does not have them.
pub(crate) const NODE_COMMANDS: [Def; 5] =
    [NODE_COMMAND, SKIP_WHEN, ONLY_WHEN, HEALTH_COMMAND, MASTER_COMMAND];
pub(super) const REBOOT_BY: Def = Def::addition("reboot-by", "reboot nodes without a command, with --exec")
    .more("oob has Ganeti's out-of-band helper switch the power off and on.")
    .takes("WAY", Choices(RebootBy::WORDS), |o, g| g.choice().map(|word| o.reboot_by = word.parse().ok()));
pub(super) const WAIT_FOR_OPERATOR: Def =
    Def::added_flag("wait-for-operator", "wait until a person has rebooted each node, with --exec", |o| {
        o.wait_for_operator = true
    })
    .more("The run says which nodes are ready, and goes on with a node once it has a new boot ID.");
pub(super) const NO_REBOOT: Def = Def::added_flag(
    "no-reboot",
    "accept nodes that --node-command did not reboot",
    |o| o.no_reboot = true,
)
.more("Otherwise a node that has the same boot ID as before is a failure. After a crash, the command may run again on a node.");
pub(super) const SKIP_WHEN: Def = Def::addition("skip-when", "leave nodes out for which COMMAND succeeds")
    .more("It is run like --node-command, before the node's instances move: for nodes without updates.")
    .takes("COMMAND", Text, |o, g| g.string().map(|text| o.skip_when = Some(text)));
pub(super) const ONLY_WHEN: Def = Def::addition("only-when", "leave nodes out for which COMMAND fails")
    .takes("COMMAND", Text, |o, g| g.string().map(|text| o.only_when = Some(text)));
pub(super) const HEALTH_COMMAND: Def =
    Def::addition("health-command", "use a node again only once COMMAND succeeds")
        .more("It is run like --node-command, and repeated until --check-timeout is over.")
        .takes("COMMAND", Text, |o, g| g.string().map(|text| o.health_command = Some(text)));
pub(super) const MASTER_COMMAND: Def =
    Def::addition("master-command", "make another node the master by COMMAND, with --master")
        .more("It is run like --node-command, for a master candidate, before the master node is maintained. An example is 'ssh {node} gnt-cluster master-failover'.")
        .takes("COMMAND", Text, |o, g| g.string().map(|text| o.master_command = Some(text)));
pub(super) const SKIP_MASTER: Def =
    Def::added_flag("skip-master", "leave the master node out", |o| o.skip_master = true);
pub(super) const CANARY: Def = Def::addition("canary", "maintain N nodes first, then wait for --soak")
    .takes("N", Integer, |o, g| count(g).map(|nodes| o.canary = nodes))
    .default(|o| o.canary.to_string());
pub(super) const SOAK: Def = Def::addition("soak", "wait TIME after the nodes of --canary")
    .takes("TIME", Text, |o, g| g.time().map(|time| o.soak = time))
    .default(|o| shown_time(o.soak));
pub(super) const ON_NODE_FAILURE: Def = Def::addition("on-failure", "choose what follows when a node fails")
    .more("stop takes no other node out of service; skip leaves the node marked and goes on with the others; continue does the same, but a check that fails is only a warning.")
    .under(Heading::Execution)
    .takes("WHAT", Choices(AfterFailure::WORDS), |o, g| {
        g.choice().map(|word| o.on_failure = word.parse().ok())
    })
    .default(|o| o.on_failure.unwrap_or_default().to_string());
pub(super) const MARK: Def = Def::addition("mark", "mark nodes drained or offline meanwhile")
    .more("Ganeti does not talk to nodes that are offline.")
    .takes("MARK", Choices(NodeMark::WORDS), |o, g| g.choice().map(|word| o.mark = word.parse().ok()))
    .default(|o| o.mark.unwrap_or_default().to_string());
pub(super) const RETURN: Def = Def::addition("return", "bring instances home afterwards, or let them stay")
    .takes("WHERE", Choices(Return::WORDS), |o, g| g.choice().map(|word| o.returns = word.parse().ok()))
    .default(|o| o.returns.unwrap_or_default().to_string());
pub(super) const UPGRADE_ORDER: OptionDef<HrollerOptions> = OptionDef::<HrollerOptions>::added_flag(
    "upgrade-order",
    "order the nodes for an upgrade",
    |o| o.upgrade_order = true,
)
.more("Few instances migrate to nodes that are still old, and with --exec none migrates live from an upgraded node to one that is not. It obeys the rules of --max-down.");
pub(super) const MIGRATE_TO: OptionDef<HrollerOptions> = OptionDef::<HrollerOptions>::addition(
    "migrate-to",
    "migrate to newer nodes or to any, with --upgrade-order",
)
.more("It is for instances on shared storage. newer takes upgraded nodes as long as they have room.")
.takes("NODES", Choices(MigrateTo::WORDS), |o, g| g.choice().map(|word| o.migrate_to = word.parse().ok()))
.default(|o| o.migrate_to.unwrap_or_default().to_string());
pub(super) const COMMAND_TIMEOUT: Def =
    Def::addition("command-timeout", "give --node-command at most TIME for a node")
        .takes("TIME", Text, |o, g| g.time().map(|time| o.command_timeout = time))
        .default(|o| shown_time(o.command_timeout));
pub(super) const CHECK_TIMEOUT: Def =
    Def::addition("check-timeout", "repeat checks for at most TIME until they succeed")
        .takes("TIME", Text, |o, g| g.time().map(|time| o.check_timeout = time))
        .default(|o| shown_time(o.check_timeout));
pub(super) const BOOT_TIMEOUT: OptionDef<ExecutionOptions> =
    OptionDef::<ExecutionOptions>::addition("boot-timeout", "wait at most TIME until a node is back")
        .takes("TIME", Text, |o, g| g.time().map(|time| o.handling.boot = time))
        .default(|o| shown_time(o.handling.boot));
pub(super) const REBOOT_TIME: OptionDef<ExecutionOptions> =
    OptionDef::<ExecutionOptions>::addition("reboot-time", "time that a node takes to reboot, for estimates")
        .more("--durations-from learns it from journals.")
        .takes("TIME", Text, |o, g| g.time().map(|time| o.rates.boot = time.as_secs_f64()))
        .default(|o| format!("{}", o.rates.boot));
pub(super) const MAX_DOWN: OptionDef<HrollerOptions> = OptionDef::<HrollerOptions>::addition(
    "max-down",
    "have at most N nodes down at the same time",
)
.more("The nodes that stay up keep room for what they take over, and stay N+1 redundant, as with --exec.")
.common()
.under(Heading::Limits)
.takes("N", Integer, |o, g| {
    let nodes = usize::try_from(g.int()?).ok().and_then(NonZeroUsize::new);
    let nodes = nodes.ok_or_else(|| g.out_of_range("a number of nodes, 1 or more"))?;
    o.rolling.max_down = Some(nodes);
    Ok(())
});
