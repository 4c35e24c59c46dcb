//! Plans that are written to files, for `htools show` and `htools apply`.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::bail;

use super::{Undertaking, client, takes_jobs};
use crate::execute::saved::{SCHEMA, SavedPlan};
use crate::model::shown::shown_name;
use crate::model::{Cluster, GroupIdx};
use crate::plan::fresh::fingerprint;
use crate::plan::work::Work;
use crate::report::file::write_whole;
use crate::tools::cli::option::Argument;
use crate::tools::cli::{OptionDef, Spec};
use crate::tools::options::TypedOption;

/// Options that say where a cluster is, who may ask it, and what becomes of a plan: whoever applies it has their own.
const LEFT_OUT: [&str; 32] = [
    "no-config",
    "text-data",
    "master",
    "rapi-credentials",
    "rapi-cacert",
    "insecure-http",
    "luxi",
    "ialloc-src",
    "simulate",
    "exec",
    "yes",
    "journal",
    "resume",
    "json-events",
    "json",
    "svg",
    "reason",
    "print-plan",
    "save-plan",
    "print-commands",
    "print-nodes",
    "print-instances",
    "save",
    "report",
    "summary",
    "metrics",
    "verbose",
    "quiet",
    "durations-from",
    "time-limit",
    "power-command",
    "detailed-status",
];

/// A plan that is to be saved.
pub struct PlanToSave<'p> {
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
/// A cluster that does not say which it is; the file.
pub fn save_plan(undertaking: &Undertaking<'_>, plan: &PlanToSave<'_>, path: &Path) -> anyhow::Result<()> {
    let source = &undertaking.load.source;
    let cluster = if takes_jobs(source) { Some(client(source)?.cluster()?) } else { None };
    let made_at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    let saved = SavedPlan {
        schema: SCHEMA.to_owned(),
        tool: undertaking.tool.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        made_by: maker(),
        made_at: u64::try_from(made_at).unwrap_or(u64::MAX),
        cluster,
        fingerprint: fingerprint(plan.before, plan.groups),
        options: undertaking.typed.iter().filter_map(again).collect(),
        purpose: plan.purpose.to_owned(),
        group: plan.group.to_owned(),
        groups: plan.groups.iter().map(|group| plan.before.group(*group).uuid.clone()).collect(),
        ignore_soft_errors: undertaking.ignore_soft_errors,
        keep_reserve: undertaking.load.nodes.keep_reserve,
        work: plan.work.clone(),
        sum: String::new(),
    };
    Ok(write_whole(path, &saved.sealed().text())?)
}

/// An option as whoever makes the plan anew gives it.
fn again(typed: &TypedOption) -> Option<String> {
    let wanted = typed.long.is_none_or(|long| !LEFT_OUT.contains(&long));
    wanted.then(|| typed.again())
}

/// The options of a saved plan, as words that the tool that made it reads: as they are written, and none that says what
/// becomes of a plan, whoever has put it there.
///
/// # Errors
/// The first that does not belong there.
pub fn options_of(plan: &SavedPlan, spec: &Spec) -> anyhow::Result<Vec<String>> {
    let belongs = |word: &String| {
        let Some(option) = word.strip_prefix("--") else { return !word.starts_with('-') };
        let (long, value) = match option.split_once('=') {
            Some((long, value)) => (long, Some(value)),
            None => (option, None),
        };
        let known = spec.options.iter().find(|known| known.long == long);
        let fits = |known: &OptionDef| match known.argument {
            Argument::None => value.is_none(),
            Argument::Required(_) => value.is_some(),
            Argument::Optional(_) => true,
        };
        known.is_some_and(|known| fits(known) && !LEFT_OUT.contains(&long))
    };
    match plan.options.iter().find(|word| !belongs(word)) {
        None => Ok(plan.options.clone()),
        Some(word) => bail!("its option '{}' does not belong into a plan", shown_name(word)),
    }
}

/// Who makes the plan: user and machine.
fn maker() -> String {
    let user = std::env::var("USER").or_else(|_| std::env::var("LOGNAME"));
    let system = rustix::system::uname();
    let machine = system.nodename().to_string_lossy();
    format!("{}@{machine}", user.unwrap_or_else(|_| "unknown".to_owned()))
}
