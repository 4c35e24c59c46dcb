//! Saves plans to files, for `htools show` and `htools apply`.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::bail;

use super::{ExecutionContext, client, takes_jobs};
use crate::execute::saved::{SCHEMA, SavedPlan};
use crate::model::shown::shown_name;
use crate::model::{Cluster, GroupIdx};
use crate::plan::fresh::fingerprint;
use crate::plan::work::Work;
use crate::report::form::file::write_unshared;
use crate::tools::cli::option::Argument;
use crate::tools::cli::{OptionRow, Program};
use crate::tools::options::TypedOption;

/// Options that decide the plan's content; a saved plan records these and no others. The user who applies the plan
/// chooses the cluster, the credentials and the handling of the plan.
const IN_PLANS: [&str; 119] = [
    "affinity-weight",
    "all",
    "all-groups",
    "allow-interruptions",
    "allow-overcommit-during-migration",
    "allow-restarts",
    "bandwidth",
    "boot-timeout",
    "canary",
    "check-timeout",
    "command-timeout",
    "cooldown",
    "copy-cost",
    "deep",
    "drbd",
    "dynu-file",
    "effort",
    "empty-one",
    "evac-mode",
    "evacuate",
    "exclude-instances",
    "exclude-tag",
    "exclusion-tags",
    "exit-on-missing-mond-data",
    "final-msav",
    "first-job-group",
    "force",
    "forecast",
    "full-evacuation",
    "group",
    "honour-run-state",
    "ignore-dynu",
    "ignore-non-redundant",
    "ignore-soft-errors",
    "initial-msav",
    "keep-reserve",
    "keep-room",
    "load-from",
    "load-label",
    "load-missing",
    "load-pattern",
    "load-preset",
    "load-quantile",
    "load-query",
    "load-window",
    "margin",
    "mark",
    "max-cpu",
    "max-data",
    "max-down",
    "max-duration",
    "max-in-per-node",
    "max-length",
    "max-moves",
    "max-nodes",
    "max-out-per-node",
    "max-parallel",
    "max-per-group",
    "max-syncs",
    "merge",
    "migrate-shared",
    "migrate-to",
    "min-disk",
    "min-gain",
    "min-gain-limit",
    "min-move-gain",
    "min-score",
    "minimal-resources",
    "mond",
    "mond-data",
    "mond-xen",
    "moves-per-day",
    "msav-steps",
    "no-capacity-checks",
    "no-disk-moves",
    "no-instance-moves",
    "no-reboot",
    "no-return",
    "no-target",
    "node-tags",
    "offline",
    "offline-maintenance",
    "on-failure",
    "one-step-only",
    "only-if",
    "order",
    "overhead",
    "pay-back",
    "plan",
    "priority",
    "ram-ratio",
    "reboot-by",
    "reboot-time",
    "repair-only",
    "replans",
    "restricted-migration",
    "return",
    "rounds",
    "seed",
    "select-instances",
    "skip-master",
    "skip-non-redundant",
    "skip-unsupported",
    "soak",
    "standby-data",
    "static-kvm-node-memory",
    "strategy",
    "stream",
    "sync-rate",
    "target-resources",
    "tie",
    "until",
    "until-below",
    "upgrade-order",
    "verify",
    "wait-for-operator",
    "weights",
    "worst-group",
    "zero-weight-disables",
];

/// Commands of hgroup that make plans.
const COMMANDS_IN_PLANS: [&str; 3] = ["redistribute", "compress", "balance"];

/// A plan to be saved.
pub(crate) struct PlanToSave<'p> {
    pub before: &'p Cluster,
    /// The groups that it touches.
    pub groups: &'p [GroupIdx],
    pub group: &'p str,
    pub purpose: &'p str,
    pub work: &'p Work,
}

/// Writes a plan to a file.
///
/// # Errors
/// If the cluster cannot be identified, or the file cannot be written.
pub(crate) fn save_plan(
    context: &ExecutionContext<'_>,
    plan: &PlanToSave<'_>,
    path: &Path,
) -> anyhow::Result<()> {
    let source = &context.load.source;
    let cluster = if takes_jobs(source) { Some(client(source)?.cluster()?) } else { None };
    let made_at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    let saved = SavedPlan {
        schema: SCHEMA.to_owned(),
        tool: context.tool.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        made_by: maker(),
        made_at: u64::try_from(made_at).unwrap_or(u64::MAX),
        cluster,
        fingerprint: fingerprint(plan.before, plan.groups),
        options: context.typed.iter().filter_map(again).collect(),
        purpose: plan.purpose.to_owned(),
        group: plan.group.to_owned(),
        groups: plan.groups.iter().map(|group| plan.before.group(*group).uuid.clone()).collect(),
        ignore_soft_errors: context.ignore_soft_errors,
        keep_reserve: context.load.nodes.keep_reserve,
        work: plan.work.clone(),
        sum: String::new(),
    };
    Ok(write_unshared(path, &saved.sealed().text())?)
}

/// An option in the form that makes the same plan again; none if the option does not shape the plan.
fn again(typed: &TypedOption) -> Option<String> {
    let wanted = typed.long.is_none_or(|long| IN_PLANS.contains(&long));
    wanted.then(|| typed.again())
}

/// Returns a saved plan's options as words for the tool that made it. The file is not trusted: only options that
/// decide the plan's content are accepted.
///
/// # Errors
/// The first option that does not belong in a plan.
pub(crate) fn options_of(plan: &SavedPlan, program: &dyn Program) -> anyhow::Result<Vec<String>> {
    let belongs = |word: &String| {
        let Some(option) = word.strip_prefix("--") else { return COMMANDS_IN_PLANS.contains(&&**word) };
        let (long, value) = match option.split_once('=') {
            Some((long, value)) => (long, Some(value)),
            None => (option, None),
        };
        let fits = |known: &dyn OptionRow| match known.argument {
            Argument::None => value.is_none(),
            Argument::Required(_) => value.is_some(),
            Argument::Optional(_) => true,
        };
        program.find(long).is_some_and(|known| fits(known) && IN_PLANS.contains(&known.long))
    };
    match plan.options.iter().find(|word| !belongs(word)) {
        None => Ok(plan.options.clone()),
        Some(word) => bail!("its option '{}' is not allowed in a plan", shown_name(word)),
    }
}

/// User and host that made the plan.
fn maker() -> String {
    let user = std::env::var("USER").or_else(|_| std::env::var("LOGNAME"));
    let system = rustix::system::uname();
    let machine = system.nodename().to_string_lossy();
    format!("{}@{machine}", user.unwrap_or_else(|_| "unknown".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::TOOLS;

    /// Options of tools that save plans, but that a saved plan does not record.
    const NOT_IN_PLANS: [&str; 84] = [
        "arrivals",
        "colour",
        "commands",
        "crm-simulate-format",
        "days",
        "detailed-status",
        "dot",
        "durations-from",
        "exec",
        "explain",
        "fleet",
        "grant",
        "health-command",
        "help",
        "help-completion",
        "history",
        "ialloc-src",
        "insecure-http",
        "journal",
        "json",
        "json-events",
        "lifetime",
        "live",
        "load-cacert",
        "load-credentials",
        "luxi",
        "master",
        "master-command",
        "measured",
        "metrics",
        "min-priority",
        "nightly",
        "no-config",
        "no-headers",
        "no-keep",
        "node-command",
        "nodes",
        "now",
        "only-when",
        "pacemaker-version",
        "pareto",
        "poisson",
        "power-command",
        "prices",
        "print-commands",
        "print-instances",
        "print-moves",
        "print-nodes",
        "print-plan",
        "proof",
        "quiet",
        "rapi-cacert",
        "rapi-credentials",
        "reason",
        "report",
        "resume",
        "revoke",
        "save",
        "save-plan",
        "show-normalized",
        "simulate",
        "skip-when",
        "stickiness",
        "summary",
        "svg",
        "svg-file",
        "text-data",
        "then",
        "threads",
        "ticket-activate",
        "ticket-standby",
        "time-limit",
        "top",
        "transition",
        "transition-dot",
        "transition-xml",
        "undo",
        "verbose",
        "version",
        "wait-limit",
        "with-reasons",
        "without-step",
        "xml-file",
        "yes",
    ];

    /// Every option of a tool that saves plans is in exactly one of the two lists.
    #[test]
    fn each_option_belongs_into_plans_or_not() {
        let savers = TOOLS.iter().filter(|tool| tool.spec.find("save-plan").is_some());
        let longs = savers.flat_map(|tool| tool.spec.options().into_iter().map(|option| option.long));
        let known: std::collections::BTreeSet<&str> = longs.collect();
        let both: Vec<&str> = IN_PLANS.into_iter().filter(|long| NOT_IN_PLANS.contains(long)).collect();
        assert_eq!(both, Vec::<&str>::new());
        let listed = || IN_PLANS.into_iter().chain(NOT_IN_PLANS);
        let unknown: Vec<&str> = listed().filter(|long| !known.contains(long)).collect();
        let unlisted: Vec<&str> =
            known.iter().copied().filter(|long| !listed().any(|other| other == *long)).collect();
        assert_eq!((unlisted, unknown), (Vec::new(), Vec::new()));
    }
}
