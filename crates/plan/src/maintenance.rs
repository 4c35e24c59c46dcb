//! The work of one batch of a rolling maintenance that htools carries out.
//!
//! The nodes of a batch are drained and emptied, maintained, waited for and checked, and take instances again. The same
//! stages without the first ones finish a batch that failed half-way, or call it off.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::back::leading;
use super::names::Impossible;
use super::opcode::{Opcode, PowerCommand};
use super::rolling::Maintained;
use super::work::{Boots, Builder, Task, Work};
use htools_model::{
    Cluster, Concession, Instance, InstanceIdx, Move, MovedMeanwhile, Node, NodeIdx, Placement, Step, words,
};

words!(
    /// Mark of a node during its maintenance.
    #[derive(Serialize, Deserialize, Default)]
    #[serde(rename_all = "lowercase")]
    pub NodeMark, "mark of a node" {
        /// It is drained: it takes no instances, and Ganeti still talks to it.
        #[default]
        Drained = "drained",
        /// It is offline: Ganeti does not talk to it.
        Offline = "offline",
    }
);

words!(
    /// Place of instances after the maintenance of their nodes.
    #[derive(Serialize, Deserialize, Default)]
    #[serde(rename_all = "lowercase")]
    pub Return, "place of instances afterwards" {
        /// They come back.
        #[default]
        Home = "home",
        /// They stay where they are.
        Stay = "stay",
    }
);

words!(
    /// Nodes to which instances migrate while nodes are upgraded.
    #[derive(Serialize, Deserialize, Default)]
    #[serde(rename_all = "lowercase")]
    pub MigrateTo, "kind of nodes to migrate to" {
        /// Nodes that are upgraded already, as far as they have room.
        #[default]
        Newer = "newer",
        /// Any nodes.
        Any = "any",
    }
);

/// Way in which a node is maintained.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NodeWork {
    /// The operator's command.
    #[default]
    Command,
    /// Ganeti's out-of-band helper switches the power off and on again.
    Oob,
    /// A person at the machine.
    Person,
}

/// Treatment of every node in a maintenance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeTreatment {
    /// Its mark meanwhile.
    pub mark: NodeMark,
    /// Its maintenance.
    pub work: NodeWork,
    /// Effect of the maintenance on its boot ID.
    pub boots: Boots,
    /// Place of its instances afterwards.
    pub returns: Return,
    /// True if the operator has a command that checks its health.
    pub checks_health: bool,
    /// If it is upgraded, the nodes to which instances migrate. Then no instance migrates live from a node that is
    /// upgraded to one that is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upgrade: Option<MigrateTo>,
}

/// A batch of nodes, with the instances that must be elsewhere while the nodes are down.
#[derive(Debug, Clone, Copy)]
pub struct Batch<'p> {
    /// The cluster now.
    pub cluster: &'p Cluster,
    /// The nodes.
    pub nodes: &'p [NodeIdx],
    /// The instances that have to leave, other than by a change of roles.
    pub moved: &'p [MovedMeanwhile],
    /// True if all instances on the nodes are stopped meanwhile.
    pub stops_all: bool,
    /// Instances that an earlier attempt has left away from these nodes.
    pub strays: &'p Strays,
    /// The nodes that an earlier attempt has left offline.
    pub offline: &'p [NodeIdx],
}

/// Instances that an earlier batch has moved or stopped, and where they belong.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Strays {
    /// Instances away from home, with their placements before the maintenance.
    pub moved: Vec<(InstanceIdx, Placement)>,
    /// Instances that were stopped.
    pub stopped: Vec<InstanceIdx>,
    /// The nodes that are upgraded, if nodes are.
    pub upgraded: BTreeSet<NodeIdx>,
}

/// Way in which an open batch is brought to an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Closing {
    /// The nodes were maintained: they are waited for and checked before they are used again.
    Finish,
    /// The nodes were not maintained: they are only put back into use.
    CallOff,
}

impl Batch<'_> {
    /// All steps of the batch.
    ///
    /// # Errors
    /// If a name is not valid in Ganeti.
    pub fn work(&self, treatment: &NodeTreatment) -> Result<Work, Impossible> {
        Batch::work_of_all([*self], treatment)
    }

    /// All steps of these batches, one batch after another.
    ///
    /// # Errors
    /// If a name is not valid in Ganeti.
    pub fn work_of_all<'b>(
        batches: impl IntoIterator<Item = Batch<'b>>,
        treatment: &NodeTreatment,
    ) -> Result<Work, Impossible> {
        let mut work = Builder::default();
        for batch in batches {
            work.barrier();
            batch.plan(treatment, &mut work);
        }
        work.finish()
    }

    fn plan(&self, treatment: &NodeTreatment, work: &mut Builder) {
        let Batch { cluster, nodes, moved, stops_all, strays, offline } = *self;
        let maintained = Maintained::of(cluster, nodes, moved, stops_all);
        let away = maintained.away();
        let named = || names(cluster, nodes);
        work.nodes(&Task::Await, names(cluster, offline), |_| Vec::new());
        work.nodes(&Task::SetOnline, names(cluster, offline), |node| vec![Opcode::set_online_drained(node)]);
        work.nodes(&Task::Drain, named(), |node| vec![Opcode::set_drained(node, true)]);
        work.instances(cluster, &Task::Stop, &maintained.stopped(), Opcode::shutdown);
        work.free_moves(cluster, &away);
        if treatment.mark == NodeMark::Offline {
            work.nodes(&Task::SetOffline, named(), |node| vec![Opcode::set_offline(node, true)]);
        }
        match treatment.work {
            NodeWork::Command => work.nodes(&Task::Maintain(treatment.boots), named(), |_| Vec::new()),
            NodeWork::Oob => {
                work.nodes(&Task::Reboot, named(), |node| vec![Opcode::power(node, PowerCommand::PowerCycle)])
            }
            NodeWork::Person => work.nodes(&Task::AwaitPerson, named(), |_| Vec::new()),
        }
        let mut back = Vec::new();
        if treatment.returns == Return::Home {
            let is_stray = |step: &Step| strays.moved.iter().any(|(one, _)| *one == step.instance);
            back = maintained.back().into_iter().filter(|step| !is_stray(step)).collect();
            for (one, home) in &strays.moved {
                let moved = away.iter().find(|step| step.instance == *one);
                let there = moved.map_or(cluster.instance(*one).placement(), |step| step.to);
                let is_renewed = nodes.contains(&home.primary);
                back.extend(strays.homecoming(cluster, there, (*one, *home), treatment, is_renewed));
            }
        }
        let mut started = maintained.stopped();
        started.extend(strays.stopped.iter().map(|one| cluster.instance(*one)));
        let runs = |instance: &&Instance| instance.status.is_running();
        let mut affected: Vec<&Instance> = maintained.instances().filter(runs).collect();
        affected.extend(strays.moved.iter().map(|(one, _)| cluster.instance(*one)).filter(runs));
        affected.extend(strays.stopped.iter().map(|one| cluster.instance(*one)));
        affected.sort_by_key(|instance| instance.idx);
        affected.dedup_by_key(|instance| instance.idx);
        Reentry {
            cluster,
            nodes,
            treatment,
            waits_for: Some(treatment.boots),
            split: &maintained.split(),
            back: &back,
            started: &started,
            affected: &affected,
            checks: true,
        }
        .plan(work);
    }
}

impl Strays {
    /// The steps that end an open batch of these nodes. Strays that run elsewhere come home only if `treatment` says
    /// so, or if the batch is called off.
    ///
    /// # Errors
    /// If a name is not valid in Ganeti.
    pub fn work(
        &self,
        cluster: &Cluster,
        nodes: &[NodeIdx],
        closing: Closing,
        treatment: &NodeTreatment,
    ) -> Result<Work, Impossible> {
        let mut work = Builder::default();
        self.close(&mut work, cluster, nodes, closing, treatment, true);
        work.finish()
    }

    /// The steps that take a maintenance back: these nodes take instances again, and all strays come home.
    ///
    /// # Errors
    /// If a name is not valid in Ganeti.
    pub fn taking_back(
        &self,
        cluster: &Cluster,
        nodes: &[NodeIdx],
        treatment: &NodeTreatment,
    ) -> Result<Work, Impossible> {
        let mut work = Builder::default();
        self.close(&mut work, cluster, nodes, Closing::CallOff, treatment, false);
        work.finish()
    }

    fn close(
        &self,
        work: &mut Builder,
        cluster: &Cluster,
        nodes: &[NodeIdx],
        closing: Closing,
        treatment: &NodeTreatment,
        checks: bool,
    ) {
        let uses = |instance: &Instance| instance.nodes().any(|node| nodes.contains(&node));
        let running = cluster.instances.iter().filter(|instance| instance.status.is_running());
        let split: Vec<&Instance> =
            running.filter(|instance| instance.template.has_secondary() && uses(instance)).collect();
        let returns = closing == Closing::CallOff || treatment.returns == Return::Home;
        let home = |stray: &(InstanceIdx, Placement)| {
            self.homecoming(cluster, cluster.instance(stray.0).placement(), *stray, treatment, false)
        };
        let back: Vec<Step> = if returns { self.moved.iter().filter_map(home).collect() } else { Vec::new() };
        let instances = |list: Vec<InstanceIdx>| -> Vec<&Instance> {
            list.into_iter().map(|instance| cluster.instance(instance)).collect()
        };
        let mut affected: Vec<InstanceIdx> = self.moved.iter().map(|(instance, _)| *instance).collect();
        affected.extend(&self.stopped);
        affected.extend(split.iter().map(|instance| instance.idx));
        affected.sort_unstable();
        affected.dedup();
        affected.retain(|instance| {
            self.stopped.contains(instance) || cluster.instance(*instance).status.is_running()
        });
        let finishes = closing == Closing::Finish;
        Reentry {
            cluster,
            nodes,
            treatment: &NodeTreatment { checks_health: treatment.checks_health && finishes, ..*treatment },
            waits_for: finishes.then_some(treatment.boots),
            split: if finishes { &split } else { &[] },
            back: &back,
            started: &instances(self.stopped.clone()),
            affected: &instances(affected),
            checks,
        }
        .plan(work);
    }

    /// The move of an instance from a placement to its home; `None` if it is there, or if it would migrate live from an
    /// upgraded node to another one. `is_renewed` is true if its primary node at home is upgraded by then.
    fn homecoming(
        &self,
        cluster: &Cluster,
        there: Placement,
        (instance, home): (InstanceIdx, Placement),
        treatment: &NodeTreatment,
        is_renewed: bool,
    ) -> Option<Step> {
        let instance = cluster.instance(instance);
        let plain = |place: Placement| Placement {
            secondary: place.secondary.filter(|_| instance.template.has_secondary()),
            ..place
        };
        let (from, to) = (plain(there), plain(home));
        let mut mv = leading(from, to)?;
        let upgrades = treatment.upgrade.is_some() && instance.status.is_running();
        let is_new = |node: NodeIdx| self.upgraded.contains(&node);
        if upgrades && is_new(from.primary) && !is_new(to.primary) && !is_renewed {
            return None;
        }
        // It runs on its secondary node meanwhile only if that has room, and if versions do not matter.
        if let (Move::ReplacePrimary(primary), Some(secondary)) = (mv, to.secondary) {
            let Node { spec, state } = cluster.node(secondary);
            let takes = !spec.offline && state.ledger.mem_unallocated(spec) > instance.mem_in_use();
            if upgrades || !takes {
                mv = Move::ReplaceBoth(primary, secondary);
            }
        }
        Some(Step { instance: instance.idx, mv, from, to, score: 0.0, concession: Concession::None })
    }
}

/// The return of nodes, and of their instances, into use.
struct Reentry<'p> {
    cluster: &'p Cluster,
    nodes: &'p [NodeIdx],
    treatment: &'p NodeTreatment,
    /// Boot IDs with which the nodes come back; `None` if the run does not wait for them.
    waits_for: Option<Boots>,
    /// Running instances with a copy of their disks on the nodes.
    split: &'p [&'p Instance],
    back: &'p [Step],
    started: &'p [&'p Instance],
    /// Instances that must run in the end.
    affected: &'p [&'p Instance],
    /// True if the cluster is checked in the end.
    checks: bool,
}

impl Reentry<'_> {
    fn plan(&self, work: &mut Builder) {
        let Reentry { cluster, nodes, treatment, split, back, started, .. } = *self;
        let named = || names(cluster, nodes);
        if treatment.mark == NodeMark::Offline {
            if self.waits_for.is_some() {
                // A dry run finds out whether the node answers, as Ganeti does not ask offline nodes for anything.
                work.nodes(&Task::Await, named(), |_| Vec::new());
            }
            work.nodes(&Task::SetOnline, named(), |node| vec![Opcode::set_online_drained(node)]);
        }
        if let Some(boots) = self.waits_for {
            work.nodes(&Task::AwaitBack(boots), named(), |_| Vec::new());
        }
        // The disks of a stopped instance are not in use, so they are resynchronised after its start.
        let is_started = |instance: &&&Instance| started.iter().any(|other| other.idx == instance.idx);
        let (later, now): (Vec<&Instance>, Vec<&Instance>) = split.iter().partition(is_started);
        work.instances(cluster, &Task::Resync, &now, Opcode::resync);
        if treatment.checks_health {
            work.nodes(&Task::CheckHealth, named(), |_| Vec::new());
        }
        work.nodes(&Task::Undrain, named(), |node| vec![Opcode::set_drained(node, false)]);
        work.free_moves(cluster, back);
        work.instances(cluster, &Task::Start, started, Opcode::startup);
        work.instances(cluster, &Task::Resync, &later, Opcode::resync);
        for node in nodes.iter().filter(|_| self.checks) {
            let name = cluster.node(*node).spec.name.clone();
            work.nodes(&Task::CheckCluster(self.to_run_after(*node)), [name], |_| Vec::new());
        }
    }

    /// Names of the instances that the check after a node asks for: each instance is checked after the first of its
    /// nodes in the batch, or after the first node of all.
    fn to_run_after(&self, node: NodeIdx) -> Vec<String> {
        let first = |instance: &Instance| {
            self.nodes.iter().copied().find(|node| instance.nodes().any(|other| other == *node))
        };
        let its = self
            .affected
            .iter()
            .filter(|instance| first(instance).or_else(|| self.nodes.first().copied()) == Some(node));
        its.map(|instance| instance.name.clone()).collect()
    }
}

fn names(cluster: &Cluster, nodes: &[NodeIdx]) -> Vec<String> {
    nodes.iter().map(|node| cluster.node(*node).spec.name.clone()).collect()
}
