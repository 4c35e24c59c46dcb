//! Pacemaker clusters in the tools that work with nodes and instances.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use anyhow::{anyhow, bail, ensure};

use super::ExitStatus;
use super::execution::check_journal;
use super::hint::WithHint;
use super::hplace::carry::{carry_out_change, carry_out_pinning};
use super::hplace::cluster::{ClusterOrigin, ReadCib, WhatIf, ensure_quorum, read_cib};
use super::options::{CibOptions, ExecutionOptions, LoadOptions, OutputOptions};
use super::output::Output;
use super::source;
use crate::affinity::bridges::instances::{
    HoldReason, MovableResources, MovableUnit, ResourcesAsInstances, resources_as_instances,
};
use crate::load::raw::RawInstance;
use crate::model::number::counted;
use crate::model::shown::shown_name;
use crate::model::{Cluster, Draft, Mib, NodeIdx, Step};
use crate::pacemaker::cib::change::{CibChange, LocationPin, PinSurvey};
use crate::pacemaker::pinning::{Foresight, Pinning, pin_running};
use crate::pacemaker::{HostIdx, Strategy};
use crate::report::balance::plan::json::ganeti_commands;
use crate::report::pacemaker::carried::{loses_role, roles};
use crate::report::pacemaker::commands::{CommandForm, check_roles, lines, making};
use crate::search::Stopped;
use crate::search::moves::{MoveRules, perform_step};
use crate::search::squeeze::{Decision, GroupPlan, Squeeze};

/// A cluster, with its CIB if it is a Pacemaker cluster.
pub(super) struct LoadedCluster {
    pub cluster: Cluster,
    pub cib: Option<CibOrigin>,
}

/// The CIB behind a cluster, and the resources behind its instances.
pub(super) struct CibOrigin {
    read: ReadCib,
    /// The unit of resources that each instance stands for, by instance.
    units: Vec<MovableUnit>,
    /// Tool whose commands are shown. If none: those of `cibadmin` for plans, and of `crm_resource` for a step.
    form: Option<CommandForm>,
    /// Constraint ids in use, computed lazily.
    survey: OnceCell<PinSurvey>,
    /// The steps of the plan to execute, and the cause of an early end of the search.
    planned: OnceCell<(Vec<Step>, Option<Stopped>)>,
}

/// The changes that switch the nodes of a plan, and the forecast of the cluster's reaction.
struct NodeSwitching {
    /// In the order in which they can be made one by one.
    parts: Vec<CibChange>,
    outlook: Foresight,
}

/// Label of a cluster in metrics, for Ganeti and Pacemaker.
pub(super) fn label(load: &LoadOptions, cib: &CibOptions) -> String {
    let local = cib.live.then(|| "local".to_owned());
    let named = cib.file.as_deref().map(source::file_label).or(local);
    named.unwrap_or_else(|| source::cluster_label(&load.source))
}

/// Options that do not apply to Pacemaker clusters, of all tools that take one.
const OF_GANETI: [&str; 19] = [
    // Pacemaker's limits are hard.
    "ignore-soft-errors",
    "max-cpu",
    "allow-overcommit-during-migration",
    "allow-interruptions",
    // hplace predicts the consequences exactly.
    "offline",
    "evacuate",
    "repair-only",
    "without-node",
    "survive",
    // These are Ganeti's terms and formats.
    "mond",
    "load-from",
    "disk-template",
    "save",
    "print-plan",
    "save-plan",
    "first-job-group",
    "pay-back",
    "stream",
    "standby-data",
];

/// Refuses options that contradict a Pacemaker cluster, or that need one if there is none.
///
/// # Errors
/// The first such option.
pub(super) fn check(
    cib: &CibOptions,
    load: &LoadOptions,
    execution: Option<&ExecutionOptions>,
    output: &OutputOptions,
) -> anyhow::Result<()> {
    if !cib.is_named() {
        let own = ["skip-unsupported", "allow-restarts", "commands"];
        return match own.into_iter().find(|long| output.has(long)) {
            Some(long) => Err(anyhow!("option --{long} applies only to Pacemaker clusters")
                .hint("name one with -x FILE or --live")),
            None => Ok(()),
        };
    }
    ensure!(
        cib.commands.is_none() || output.commands.is_some() || output.json,
        "option --commands needs -C or --json"
    );
    if let Some(execution) = execution.filter(|execution| execution.exec) {
        ensure!(
            cib.live,
            anyhow!("option --exec needs a live cluster").hint("use --live on a node of the cluster")
        );
        ensure!(!output.json, "options --json and --exec exclude each other");
        check_journal(execution.journal.as_deref())?;
    }
    ensure!(
        execution.is_none_or(|execution| execution.resume.is_none()),
        anyhow!("option --resume does not apply to Pacemaker clusters")
            .hint("hplace --resume JOURNAL resumes a run on a Pacemaker cluster, whichever tool began it")
    );
    // `--mond=no` requests nothing.
    let refused = OF_GANETI.into_iter().filter(|long| *long != "mond" || load.mond);
    output.refuse(&refused.collect::<Vec<_>>(), "does not apply to Pacemaker clusters")
}

/// Effect of a tool on running resources.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClusterUse {
    /// Leaves them where they are.
    Looking,
    /// Moves them, or tries moves.
    Moving,
    /// Moves them away from nodes, even if they have no requirements.
    Emptying,
}

/// Reads the cluster that the options name.
///
/// # Errors
/// Mistakes in the options, the files or the data.
pub(super) fn load(
    load: &LoadOptions,
    cib: &CibOptions,
    cluster_use: ClusterUse,
    output: &mut Output,
) -> anyhow::Result<LoadedCluster> {
    if !cib.is_named() {
        return Ok(LoadedCluster { cluster: source::load(load, output)?, cib: None });
    }
    let read = read_cib(&ClusterOrigin::named(load, cib)?, cib, WhatIf::default(), output)?;
    ensure_quorum(&read.set)?;
    let looking = cluster_use == ClusterUse::Looking;
    let restarts = looking || cib.allow_restarts;
    let movable = MovableResources { restarts, weightless: cluster_use != ClusterUse::Moving };
    let ResourcesAsInstances { raw, units, running, held, unmeasured } =
        resources_as_instances(&read.set, movable);
    if load.verbosity >= 1 {
        let mut notes = Vec::new();
        notes.extend(stay(running, &held).filter(|_| !looking));
        notes.extend(respected(&unmeasured));
        if read.set.strategy() == Strategy::Default {
            let note = "Warning: the cluster has the placement-strategy 'default', by which Pacemaker ignores capacities";
            notes.push(note.to_owned());
        }
        notes.iter().try_for_each(|note| output.error_line(note))?;
    }
    let needs_nothing =
        |instance: &&RawInstance| (instance.mem, instance.disk, instance.vcpus) == (Mib::ZERO, Mib::ZERO, 0);
    let idle = raw.instances.iter().filter(needs_nothing).map(|instance| instance.name.clone()).collect();
    let cluster = source::complete_raw(raw, idle, load, output)?;
    let form = cib.commands;
    let cib = CibOrigin { read, units, form, survey: OnceCell::new(), planned: OnceCell::new() };
    Ok(LoadedCluster { cluster, cib: Some(cib) })
}

/// Number of resources that stay where they run, with the reasons.
fn stay(running: usize, held: &BTreeMap<HoldReason, usize>) -> Option<String> {
    let all: usize = held.values().sum();
    let reasons: Vec<String> = held.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
    let (all_running, stay) = (
        counted(running, "running resource"),
        if all == 1 { "stays where it is" } else { "stay where they are" },
    );
    (all > 0).then(|| format!("{all} of {all_running} {stay}: {}", reasons.join(", ")))
}

/// Names the capacities that Ganeti's nodes do not have.
fn respected(unmeasured: &[String]) -> Option<String> {
    let names: Vec<String> = unmeasured.iter().map(|name| shown_name(name).to_string()).collect();
    (!names.is_empty())
        .then(|| format!("Capacities that are not balanced, but not exceeded either: {}", names.join(", ")))
}

/// Tells if a step of some plans breaks a limit of Pacemaker. In Ganeti, emptying a node may break it.
pub(super) fn breaks_limits(cluster: &Cluster, found: &Squeeze) -> bool {
    let mut draft = Draft::of(cluster);
    found.plans.iter().any(|plan| {
        // Nodes that are powered down are emptied first, and those that come up are switched first.
        if plan.decision == Decision::Expand {
            plan.switch(&mut draft);
        }
        plan.steps.iter().any(|step| perform_step(&mut draft, step, &MoveRules::default()).is_err())
    })
}

impl CibOrigin {
    /// Commands after which Pacemaker reaches the placement at the end of these steps.
    ///
    /// # Errors
    /// If Pacemaker does not reach the placement with any commands, or a name cannot be used in a command.
    pub(super) fn commands(&self, steps: &[Step]) -> anyhow::Result<Vec<String>> {
        let ReadCib { text, source, .. } = &self.read;
        if steps.is_empty() {
            return Ok(lines(self.plan_form(), &CibChange::Pin(Vec::new()))?);
        }
        let pinning = pin_running(text, source, self.hosts_after(steps))?;
        self.lines(&CibChange::Pin(pinning.pins), &pinning.outlook)
    }

    /// Commands for a change, with changes of roles as comments in front of them.
    fn lines(&self, change: &CibChange, outlook: &Foresight) -> anyhow::Result<Vec<String>> {
        check_roles(self.plan_form(), change, &self.read.set)?;
        let comments = roles(outlook).into_iter().map(|role| format!("# {role}"));
        Ok(comments.chain(lines(self.plan_form(), change)?).collect())
    }

    fn plan_form(&self) -> CommandForm {
        self.form.unwrap_or(CommandForm::Cib)
    }

    /// Keeps a plan that may be executed.
    pub(super) fn remember(&self, steps: &[Step], stopped: Option<Stopped>) {
        // A run has only one plan.
        let _ = self.planned.set((steps.to_vec(), stopped));
    }

    /// Executes the remembered plan.
    ///
    /// # Errors
    /// As for [`commands`](Self::commands), and obstacles to starting or failures.
    pub(super) fn carry_out(
        &self,
        execution: &ExecutionOptions,
        output: &mut Output,
    ) -> anyhow::Result<ExitStatus> {
        let ReadCib { text, source, .. } = &self.read;
        let Some((steps, stopped)) = self.planned.get().filter(|(steps, _)| !steps.is_empty()) else {
            return Ok(ExitStatus::Success);
        };
        if *stopped == Some(Stopped::Interrupt) {
            output.error_line("Nothing was executed, because the search was interrupted.")?;
            return Ok(ExitStatus::Failure);
        }
        let pinning = pin_running(text, source, self.hosts_after(steps))?;
        carry_out_pinning(execution, &self.read, pinning, output)
    }

    /// Commands for a plan whose nodes go to standby at the end, or leave standby at the beginning.
    ///
    /// # Errors
    /// As for [`commands`](Self::commands).
    pub(super) fn switch_commands(&self, plan: &GroupPlan) -> anyhow::Result<Vec<String>> {
        let NodeSwitching { parts, outlook } = self.switching(plan)?;
        self.lines(&CibChange::Together(parts), &outlook)
    }

    /// The same commands, one complete call each, without those for taking them back.
    ///
    /// # Errors
    /// As for [`commands`](Self::commands).
    pub(super) fn switch_calls(&self, plan: &GroupPlan) -> anyhow::Result<Vec<String>> {
        let mut calls = Vec::new();
        for part in &self.switching(plan)?.parts {
            calls.push(making(self.plan_form(), part)?.join("\n"));
            calls.push("crm_resource --wait".to_owned());
        }
        Ok(calls)
    }

    /// Switches the nodes of a plan and executes its steps.
    ///
    /// # Errors
    /// As for [`commands`](Self::commands), and obstacles to starting or failures.
    pub(super) fn carry_out_switching(
        &self,
        execution: &ExecutionOptions,
        plan: &GroupPlan,
        output: &mut Output,
    ) -> anyhow::Result<ExitStatus> {
        let NodeSwitching { parts, outlook } = self.switching(plan)?;
        roles(&outlook).iter().try_for_each(|role| output.line(role))?;
        carry_out_change(execution, &self.read, CibChange::Together(parts), outlook, output)
    }

    fn switching(&self, plan: &GroupPlan) -> anyhow::Result<NodeSwitching> {
        let ReadCib { text, source, set } = &self.read;
        if plan.is_idle() {
            let outlook = Foresight::of(text, source)?;
            return Ok(NodeSwitching { parts: Vec::new(), outlook });
        }
        let name = |node: &NodeIdx| set.host(host(*node)).name.clone();
        let switch = if plan.decision == Decision::Expand { CibChange::Online } else { CibChange::Standby };
        let switches: Vec<CibChange> = plan.nodes.iter().map(|node| switch(name(node))).collect();
        let switched = CibChange::Together(switches.clone()).made_in(text, source)?;
        let mut hosts = self.hosts_after(&plan.steps);
        if plan.decision != Decision::Expand {
            self.release_instances(&plan.nodes, &mut hosts);
        }
        let Pinning { pins, outlook, .. } = pin_running(&switched, source, hosts)?;
        if let Some(loser) = loses_role(&outlook) {
            let nodes: Vec<String> =
                plan.nodes.iter().map(|node| shown_name(&name(node)).to_string()).collect();
            bail!(
                "fewer instances of {} would be promoted with these nodes in standby: {}",
                shown_name(&loser),
                nodes.join(", ")
            );
        }
        let pins = vec![CibChange::Pin(pins)];
        let parts = if plan.decision == Decision::Expand { [switches, pins] } else { [pins, switches] };
        let parts = parts.concat().into_iter().filter(|part| !part.is_empty()).collect();
        Ok(NodeSwitching { parts, outlook })
    }

    /// Required node of each resource after these steps; none if the cluster may choose.
    fn hosts_after(&self, steps: &[Step]) -> Vec<Option<HostIdx>> {
        let mut hosts: Vec<Option<HostIdx>> =
            self.read.set.resources.iter().map(|resource| resource.active).collect();
        // The cluster moves or stops these by itself.
        let goes =
            |unit: &&MovableUnit| matches!(unit.hold, Some(HoldReason::Leaving | HoldReason::Stopping));
        for unit in self.units.iter().filter(goes) {
            unit.members.iter().for_each(|member| hosts[member.get()] = None);
        }
        for step in steps {
            let members = &self.units[step.instance.get()].members;
            members.iter().for_each(|member| hosts[member.get()] = Some(host(step.to.primary)));
        }
        // The connections to guest nodes follow their VMs.
        let nodes = self.read.set.hosts.iter().filter(|host| !host.replica);
        for parts in nodes.filter_map(|host| host.guest) {
            hosts[parts.connection.get()] = hosts[parts.machine.get()];
        }
        hosts
    }

    /// Requires no instances of clones on nodes that go to standby: they stop there.
    fn release_instances(&self, nodes: &[NodeIdx], hosts: &mut [Option<HostIdx>]) {
        let set = &self.read.set;
        let leaves = |host: HostIdx| nodes.iter().any(|node| self::host(*node) == host);
        let of_clones = set.clones().flat_map(|clone| set.primitives(&clone).into_owned());
        let of_bundles = set.resource_indices().filter(|one| set.resource(*one).in_bundle);
        for part in of_clones.chain(of_bundles) {
            let required = &mut hosts[part.get()];
            *required = required.filter(|host| !leaves(*host));
        }
    }

    /// Id for a location constraint of a resource.
    ///
    /// # Errors
    /// None that reading the cluster has not found already.
    fn id_for(&self, resource: &str) -> anyhow::Result<String> {
        let survey = match self.survey.get() {
            Some(survey) => survey,
            None => {
                let found = PinSurvey::of(&self.read.text, &self.read.source)?;
                self.survey.get_or_init(|| found)
            }
        };
        Ok(survey.id_alone(resource))
    }

    /// Complete commands for one step, provided that nothing else is in its way.
    ///
    /// # Errors
    /// If a name cannot be used in a command.
    fn step_commands(&self, step: &Step) -> anyhow::Result<Vec<String>> {
        let set = &self.read.set;
        let resource = set.resource(self.units[step.instance.get()].resource).id.clone();
        let node = set.host(host(step.to.primary)).name.clone();
        let form = self.form.unwrap_or(CommandForm::CrmResource);
        let id = match form {
            // `crm_resource` names the constraint itself.
            CommandForm::CrmResource => resource.clone(),
            CommandForm::Cib | CommandForm::Pcs | CommandForm::Crmsh => self.id_for(&resource)?,
        };
        let pin = CibChange::Pin(vec![LocationPin { id, resource, node, promoted: false }]);
        Ok(vec![making(form, &pin)?.join("\n")])
    }
}

/// Commands of a step, for documents.
pub(super) fn step_commands<'a>(
    cluster: &'a Cluster,
    cib: Option<&'a CibOrigin>,
) -> impl Fn(&Step) -> anyhow::Result<Vec<String>> + 'a {
    move |step| match cib {
        Some(cib) => cib.step_commands(step),
        None => Ok(ganeti_commands(cluster, step)?),
    }
}

/// Script with the commands of a plan for Pacemaker.
pub(super) fn cib_script(tool: &str, lines: &[String]) -> String {
    let head =
        format!("#!/bin/sh\n\n# Has Pacemaker come to a placement that {tool} has found\n\nset -e\n\n");
    format!("{head}{}\n", lines.join("\n"))
}

/// The host of a node.
fn host(node: NodeIdx) -> HostIdx {
    HostIdx::new(node.get())
}
