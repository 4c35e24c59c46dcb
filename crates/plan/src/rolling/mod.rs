//! The work of a rolling reboot, group after group.
//!
//! For each group, instances leave, the nodes are rebooted, disks are resynchronised, and the instances come back. The
//! master node, on which the commands run, must be rebooted by a person after all other nodes of its group.
//!
//! [`RollingBound`] bounds the number of groups and the duration from below.

mod bound;
mod times;

use std::collections::BTreeMap;
use std::ops::Range;

pub use self::bound::{BatchProof, RollingBound, RollingFigures, RollingGap};
pub use self::times::{OutageTime, outage_times};
use crate::back::leading;
use crate::command;
use crate::names::Impossible;
use crate::opcode::{Opcode, PowerCommand};
use crate::shell::Line;
use crate::work::{Builder, Task, Work};
use htools_model::{
    Cluster, Concession, Instance, InstanceIdx, Move, MovedMeanwhile, NodeIdx, Placement, Step,
};

/// The reboots of groups of nodes, one group after another.
#[derive(Debug, Clone, Default)]
pub struct Reboots {
    /// All steps.
    pub work: Work,
    /// The groups, in order.
    groups: Vec<DownTogether>,
}

/// A group of nodes that are down together.
#[derive(Debug, Clone)]
struct DownTogether {
    /// Number of nodes.
    nodes: usize,
    /// Positions of its steps.
    steps: Range<usize>,
}

/// Title of a script.
pub const SCRIPT_TITLE: &str = "\
# Reboots the nodes that hroller planned for, group after group: moves instances
# away, power-cycles the nodes, waits for them, and moves the instances back.
";

impl Reboots {
    /// The reboots of groups. Each is given by its nodes, and by the instances that are elsewhere while they are down.
    /// `offline` is set if all instances are stopped meanwhile.
    ///
    /// # Errors
    /// If a name is not valid in Ganeti.
    pub fn of<'p>(
        cluster: &Cluster,
        parts: impl IntoIterator<Item = (&'p [NodeIdx], &'p [MovedMeanwhile])>,
        offline: bool,
    ) -> Result<Reboots, Impossible> {
        let mut work = Builder::default();
        let mut groups = Vec::new();
        for (nodes, moved) in parts {
            let begin = work.len();
            Maintained::of(cluster, nodes, moved, offline).reboot(&mut work);
            groups.push(DownTogether { nodes: nodes.len(), steps: begin..work.len() });
        }
        Ok(Reboots { work: work.finish()?, groups })
    }

    /// Positions of the steps of each group, in order.
    pub fn steps_by_group(&self) -> impl Iterator<Item = Range<usize>> {
        self.groups.iter().map(|group| group.steps.clone())
    }

    /// The lines of each group, in order. The steps after the reboot of the master are comments for a person.
    ///
    /// # Errors
    /// If a name is not valid in Ganeti.
    pub fn lines_by_group(&self) -> Result<Vec<Vec<Line>>, Impossible> {
        let lines = |group: &DownTogether| {
            let steps = &self.work.steps[group.steps.clone()];
            let at = steps.iter().position(|step| step.task == Task::RebootByHand).unwrap_or(steps.len());
            let mut lines = Vec::new();
            for (number, step) in steps.iter().enumerate() {
                for line in command::lines(step, None)? {
                    lines.push(match line {
                        Line::Comment(text) if steps.len() > at + 1 => {
                            Line::Comment(format!("{text}, then run"))
                        }
                        line if number > at => Line::Comment(format!("  {line}")),
                        line => line,
                    });
                }
            }
            Ok(lines)
        };
        self.groups.iter().map(lines).collect()
    }

    /// The lines of all groups, with the points where a script checks for a request to stop.
    ///
    /// # Errors
    /// If a name is not valid in Ganeti.
    pub fn lines(&self) -> Result<Vec<Line>, Impossible> {
        let mut lines = Vec::new();
        for ((number, group), its) in (1..).zip(&self.groups).zip(self.lines_by_group()?) {
            lines.extend((number > 1).then_some(Line::Blank));
            lines.push(Line::heading(format_args!("group {number}, {} nodes", group.nodes)));
            lines.push(Line::Check);
            lines.extend(its);
        }
        Ok(lines)
    }
}

/// One group while its steps are made.
pub(super) struct Maintained<'a> {
    cluster: &'a Cluster,
    nodes: &'a [NodeIdx],
    temporary_moves: Vec<TemporaryMove<'a>>,
}

/// Temporary move of an instance that is affected by the group.
struct TemporaryMove<'a> {
    instance: &'a Instance,
    /// True if it cannot come back before the master node was rebooted.
    awaits_master: bool,
    /// True if it is stopped meanwhile.
    stops: bool,
    away: Option<Step>,
    /// True if a copy of its disks stays on a node that is rebooted.
    is_split: bool,
}

impl<'a> Maintained<'a> {
    pub(super) fn of(
        cluster: &'a Cluster,
        nodes: &'a [NodeIdx],
        moved: &[MovedMeanwhile],
        offline: bool,
    ) -> Maintained<'a> {
        let moved: BTreeMap<InstanceIdx, &MovedMeanwhile> = moved.iter().map(|m| (m.instance, m)).collect();
        let mut down = vec![false; cluster.nodes.len()];
        nodes.iter().for_each(|node| down[node.get()] = true);
        let temporary_move = |instance: &'a Instance| {
            let mut ours = instance.nodes().filter(|node| down[node.get()]).peekable();
            ours.peek()?;
            let moved = moved.get(&instance.idx).copied();
            let runs = instance.status.is_running();
            let runs_here = runs && down[instance.primary.get()];
            let mirrored = instance.template.has_secondary();
            let stops = runs_here && (offline || (!mirrored && moved.is_none()));
            let away = leaves(instance, moved, runs_here && !offline)
                .map(|step| if stops { Step { concession: Concession::Restart, ..step } } else { step });
            let meanwhile = away.map_or(instance.placement(), |step| step.to);
            Some(TemporaryMove {
                instance,
                awaits_master: ours.any(|node| cluster.node(node).spec.master),
                stops,
                away,
                is_split: runs && mirrored && meanwhile.nodes().any(|node| down[node.get()]),
            })
        };
        // A node that loses an instance gets none in the same group, so these moves need no order.
        let temporary_moves = cluster
            .instances
            .iter()
            .filter(|instance| !instance.forthcoming)
            .filter_map(temporary_move)
            .collect();
        Maintained { cluster, nodes, temporary_moves }
    }

    /// The instances with data on the nodes.
    pub(super) fn instances(&self) -> impl Iterator<Item = &'a Instance> {
        self.temporary_moves.iter().map(|temporary_move| temporary_move.instance)
    }

    /// The instances that are stopped meanwhile.
    pub(super) fn stopped(&self) -> Vec<&'a Instance> {
        self.instances_that(|temporary_move| temporary_move.stops)
    }

    /// The running instances with a copy of their disks on the nodes meanwhile.
    pub(super) fn split(&self) -> Vec<&'a Instance> {
        self.instances_that(|temporary_move| temporary_move.is_split)
    }

    fn instances_that(&self, wanted: fn(&TemporaryMove<'a>) -> bool) -> Vec<&'a Instance> {
        let wanted = self.temporary_moves.iter().filter(|temporary_move| wanted(temporary_move));
        wanted.map(|temporary_move| temporary_move.instance).collect()
    }

    /// The moves before the nodes go down.
    pub(super) fn away(&self) -> Vec<Step> {
        self.temporary_moves.iter().filter_map(|temporary_move| temporary_move.away).collect()
    }

    /// The moves that bring all instances back.
    pub(super) fn back(&self) -> Vec<Step> {
        self.away().iter().filter_map(returning).collect()
    }

    fn reboot(&self, work: &mut Builder) {
        let Maintained { cluster, nodes, .. } = self;
        let (by_hand, by_command): (Vec<NodeIdx>, Vec<NodeIdx>) =
            nodes.iter().partition(|node| cluster.node(**node).spec.master);
        let named = |nodes: &[NodeIdx]| -> Vec<String> {
            nodes.iter().map(|node| cluster.node(*node).spec.name.clone()).collect()
        };
        // A group goes down only after the previous one is back.
        work.barrier();
        work.instances(cluster, &Task::Stop, &self.stopped(), Opcode::shutdown);
        work.free_moves(cluster, &self.away());
        let cycle = |node: &str| vec![Opcode::power(node, PowerCommand::PowerCycle)];
        work.nodes(&Task::Reboot, named(&by_command), cycle);
        work.nodes(&Task::Await, named(&by_command), |_| Vec::new());
        self.bring_back(work, false);
        work.nodes(&Task::RebootByHand, named(&by_hand), |_| Vec::new());
        self.bring_back(work, true);
    }

    /// Brings back stopped and moved instances and resynchronises disks, before or after the reboot of the master.
    fn bring_back(&self, work: &mut Builder, after_master: bool) {
        let temporary_moves = || {
            self.temporary_moves.iter().filter(|temporary_move| temporary_move.awaits_master == after_master)
        };
        let instances = |wanted: fn(&TemporaryMove<'_>) -> bool| -> Vec<&Instance> {
            temporary_moves()
                .filter(|temporary_move| wanted(temporary_move))
                .map(|temporary_move| temporary_move.instance)
                .collect()
        };
        let back: Vec<Step> = temporary_moves()
            .filter_map(|temporary_move| temporary_move.away.as_ref().and_then(returning))
            .collect();
        // The disks of a stopped instance are not in use, so they are resynchronised after its start.
        work.instances(self.cluster, &Task::Resync, &instances(|t| t.is_split && !t.stops), Opcode::resync);
        work.free_moves(self.cluster, &back);
        work.instances(self.cluster, &Task::Start, &instances(|t| t.stops), Opcode::startup);
        work.instances(self.cluster, &Task::Resync, &instances(|t| t.is_split && t.stops), Opcode::resync);
    }
}

/// The step by which an instance leaves; `None` if it stays.
fn leaves(instance: &Instance, moved: Option<&MovedMeanwhile>, live: bool) -> Option<Step> {
    let here = Placement { primary: instance.primary, secondary: instance.mirror() };
    let plain = |place: Placement| Placement {
        secondary: place.secondary.filter(|_| instance.template.has_secondary()),
        ..place
    };
    let (mv, from, to) = match (moved, here.secondary) {
        (Some(moved), _) => {
            let (from, to) = (plain(moved.from), plain(moved.to));
            (leading(from, to)?, from, to)
        }
        (None, Some(secondary)) if live => {
            (Move::Failover, here, Placement { primary: secondary, secondary: Some(here.primary) })
        }
        (None, _) => return None,
    };
    Some(Step { instance: instance.idx, mv, from, to, score: 0.0, concession: Concession::None })
}

/// The reverse of a step.
fn returning(step: &Step) -> Option<Step> {
    Some(Step { mv: leading(step.to, step.from)?, from: step.to, to: step.from, ..*step })
}
