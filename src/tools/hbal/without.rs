//! `hbal --without-step`: makes the plan without the option, and pins the instances of the named steps.

use std::borrow::Cow;

use anyhow::anyhow;

use super::balanced::BalanceStart;
use super::scope::BalancedScope;
use super::search::{BalanceWatch, Searched, search};
use super::views::Text;
use super::{HbalOptions, deep};
use crate::load::merge::apply_node_options;
use crate::model::number::counted;
use crate::model::{Cluster, Draft, Immobile, InstanceIdx, Step};
use crate::tools::group;
use crate::tools::hint::WithHint;
use crate::tools::interrupts::Interruptible;
use crate::tools::options::TypedOption;
use crate::tools::output::{Output, Recording};

/// The options and the cluster with the instances of the steps of `--without-step` pinned.
///
/// # Errors
/// If the plan has no step with such a number.
pub(super) fn steps_left_out<'o>(
    options: &'o HbalOptions,
    mut cluster: Cluster,
    output: &mut Output,
) -> anyhow::Result<(Cow<'o, HbalOptions>, Cluster)> {
    if options.without_steps.is_empty() {
        return Ok((Cow::Borrowed(options), cluster));
    }
    let mut left = options.clone();
    left.without_steps.clear();
    let Some(plan) = FirstPlan::of(&left, cluster.clone(), "without-step", output)? else {
        // The run itself reports that it cannot choose a group.
        return Ok((Cow::Owned(left), cluster));
    };
    let mut pinned = Vec::new();
    for number in &options.without_steps {
        let step = number.checked_sub(1).and_then(|at| plan.steps.get(at)).ok_or_else(|| {
            let problem = match plan.steps.len() {
                0 => anyhow!("option --without-step: there is no plan to leave a step out of"),
                count => {
                    let steps = counted(count, "step");
                    anyhow!("option --without-step: there is no step {number}, the plan has {steps}")
                }
            };
            problem.hint("run hbal without --without-step to see the numbers of the steps")
        })?;
        let name = &cluster.instance(step.instance).name;
        output.error_line(&format!("Without step {number}: {name} stays where it is"))?;
        pinned.push(step.instance);
    }
    pin(&mut left, &mut cluster, &pinned);
    Ok((Cow::Owned(left), cluster))
}

/// Pins instances. They are excluded by name too, so that later plans of the same run, and saved plans, leave them alone.
pub(super) fn pin(options: &mut HbalOptions, cluster: &mut Cluster, instances: &[InstanceIdx]) {
    let excluded = &mut options.load.merge.exclude_instances;
    for instance in instances {
        let instance = &mut cluster.instances[instance.get()];
        instance.immobile = Some(Immobile::Excluded);
        if !excluded.contains(&instance.name) {
            excluded.push(instance.name.clone());
        }
    }
    let value = Some(excluded.join(","));
    options.output.typed.push(TypedOption { long: Some("exclude-instances"), value });
}

/// A plan that is only looked at.
pub(super) struct FirstPlan {
    /// The steps.
    pub steps: Vec<Step>,
    /// The cluster after them.
    pub after: Cluster,
}

impl FirstPlan {
    /// Makes a plan for an option that leaves out parts of it; `None` if the options do not select one group.
    ///
    /// # Errors
    /// If the search ended early, so that the plan can be another one next time.
    pub(super) fn of(
        options: &HbalOptions,
        mut cluster: Cluster,
        option: &str,
        output: &Output,
    ) -> anyhow::Result<Option<FirstPlan>> {
        apply_node_options(&mut cluster, &options.load.nodes)?;
        let draft = &mut Draft::from(cluster);
        let mut silent = Recording::shown(output.is_shown()).output();
        let group = match options.limits.group.as_deref() {
            None => deep::group(options, draft)?,
            Some(_) => None,
        };
        let group = match group {
            Some(group) => Some(group),
            None => group::select(draft, options.limits.group.as_deref(), &mut silent)?,
        };
        let Some(group) = group else { return Ok(None) };
        let start = BalanceStart::of(draft, BalancedScope::of(draft, group));
        if start.is_balanced(options) {
            return Ok(Some(FirstPlan { steps: Vec::new(), after: Cluster::clone(draft) }));
        }
        let mut planning = options.clone();
        // The steps of the chosen placement have numbers only in a plan.
        planning.deep.asked |= options.pareto;
        planning.pareto = false;
        let deadline = Interruptible::begin(options.limits.time_limit)?;
        let watch = BalanceWatch { deadline: &deadline, shown: true };
        let mut text = Text { output: &mut silent, json: true, cib: None };
        let Searched { steps, stopped, .. } = search(&planning, draft, &start.scope, &watch, &mut text)?;
        match stopped {
            None => Ok(Some(FirstPlan { steps, after: Cluster::clone(draft) })),
            Some(stopped) => {
                let cause = stopped.subject();
                Err(anyhow!(
                    "option --{option}: {cause} ended the search, so the steps can have other numbers"
                )
                .hint("give the search more time, or name the instances with --exclude-instances"))
            }
        }
    }
}
