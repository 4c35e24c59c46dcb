//! The commands of a rolling reboot: group after group, instances away, reboot,
//! instances back.

use std::collections::BTreeMap;

use super::command::leg_command;
use super::names::{Impossible, Name};
use super::power::{power, wait};
use super::shell::{self, Command, Line};
use crate::model::{Cluster, Instance, InstanceIdx, Leg, Mirroring, MovedMeanwhile, NodeIdx, Placement};

/// The commands of one group, in order.
#[derive(Debug, Clone, Default)]
pub struct GroupCommands {
    /// Number of nodes.
    pub nodes: usize,
    /// Before the reboot.
    pub away: Vec<Line>,
    /// The reboot, and waiting for its end.
    pub reboot: Vec<Line>,
    /// After the reboot.
    pub back: Vec<Line>,
    /// What is left to do by hand, as comments: the reboot of the master node,
    /// and what follows it.
    pub by_hand: Vec<Line>,
}

impl GroupCommands {
    /// All of them, in order.
    pub fn all(&self) -> impl Iterator<Item = &Line> {
        self.away.iter().chain(&self.reboot).chain(&self.back).chain(&self.by_hand)
    }
}

/// The commands of a whole maintenance.
#[derive(Debug, Clone)]
pub struct Maintenance {
    /// Group by group.
    pub groups: Vec<GroupCommands>,
}

impl Maintenance {
    /// The commands that carry groups out, each given by its nodes and by what is elsewhere while
    /// they are down; `offline` if all instances are stopped meanwhile.
    ///
    /// # Errors
    /// A name that Ganeti cannot have.
    pub fn of<'p>(
        cluster: &Cluster,
        parts: impl IntoIterator<Item = (&'p [NodeIdx], &'p [MovedMeanwhile])>,
        offline: bool,
    ) -> Result<Maintenance, Impossible> {
        let commands = |(nodes, moves)| MaintainedGroup::of(cluster, nodes, moves, offline).commands();
        Ok(Maintenance { groups: parts.into_iter().map(commands).collect::<Result<_, _>>()? })
    }
}

/// One group while its commands are made.
struct MaintainedGroup<'a> {
    cluster: &'a Cluster,
    nodes: &'a [NodeIdx],
    /// Whether a node is in the group.
    down: Vec<bool>,
    /// Whether instances are down while their nodes are.
    offline: bool,
    moved: BTreeMap<InstanceIdx, &'a MovedMeanwhile>,
}

/// What happens to one instance.
#[derive(Default)]
struct Trip {
    /// The instance has a node that cannot be rebooted by these commands.
    with_master: bool,
    away: Vec<Command>,
    back: Vec<Command>,
}

impl<'a> MaintainedGroup<'a> {
    fn of(
        cluster: &'a Cluster,
        nodes: &'a [NodeIdx],
        moves: &'a [MovedMeanwhile],
        offline: bool,
    ) -> MaintainedGroup<'a> {
        let moved = moves.iter().map(|m| (m.instance, m)).collect();
        let mut down = vec![false; cluster.nodes.len()];
        nodes.iter().for_each(|n| down[n.get()] = true);
        MaintainedGroup { cluster, nodes, down, offline, moved }
    }

    fn commands(&self) -> Result<GroupCommands, Impossible> {
        let mut commands = GroupCommands { nodes: self.nodes.len(), ..GroupCommands::default() };
        let mut after_master = Vec::new();
        // a node that loses an instance never gets one in the same group, so the order is free
        for instance in self.cluster.instances.iter().filter(|i| !i.forthcoming) {
            let trip = self.trip(instance)?;
            commands.away.extend(trip.away.into_iter().map(Line::Run));
            match trip.with_master {
                true => after_master.extend(trip.back),
                false => commands.back.extend(trip.back.into_iter().map(Line::Run)),
            }
        }
        let then = if after_master.is_empty() { "" } else { ", then run" };
        let mut waits = Vec::new();
        for node in self.nodes {
            let name = Name::node(self.cluster, *node)?;
            if self.is_master(*node) {
                let text = format!("{} is the master node: reboot it by hand{then}", name.as_str());
                commands.by_hand.push(Line::Comment(text));
            } else {
                commands.reboot.push(power("cycle", &name));
                waits.push(wait(&name));
            }
        }
        commands.reboot.extend(waits);
        commands.by_hand.extend(after_master.iter().map(|command| Line::Comment(format!("  {command}"))));
        Ok(commands)
    }

    fn is_master(&self, node: NodeIdx) -> bool {
        self.cluster.node(node).spec.master
    }

    /// The commands for an instance; none if it has nothing to do with the group.
    fn trip(&self, instance: &Instance) -> Result<Trip, Impossible> {
        let here = |n: NodeIdx| self.down[n.get()];
        let ours: Vec<NodeIdx> = instance.nodes().filter(|n| here(*n)).collect();
        let mut trip = Trip { with_master: ours.iter().any(|n| self.is_master(*n)), ..Trip::default() };
        if ours.is_empty() {
            return Ok(trip);
        }
        let name = Name::instance(instance)?;
        let of_instance = |verb: &'static str| Command::new(&["gnt-instance", verb]).operand(&name);
        let running = instance.status.is_running();
        let stops = running && here(instance.primary) && (self.offline || self.stays(instance));
        if stops {
            trip.away.push(of_instance("shutdown"));
        }
        let live = running && !self.offline;
        match self.moved.get(&instance.idx) {
            Some(moved) => {
                trip.away.extend(self.journey(instance, live, moved.from, moved.to)?);
                trip.back.extend(self.journey(instance, live, moved.to, moved.from)?);
            }
            None if instance.template.has_secondary() && here(instance.primary) && live => {
                let go = leg_command(self.cluster, Leg::Failover, "migrate", &name)?;
                trip.away.push(go.clone());
                trip.back.extend([in_step(&name), go]);
            }
            None => {}
        }
        if stops {
            trip.back.push(of_instance("startup"));
        }
        let copies_stayed = instance.template.has_secondary() && !self.moved.contains_key(&instance.idx);
        let already = !stops && here(instance.primary);
        if copies_stayed && running && !already {
            trip.back.push(in_step(&name));
        }
        Ok(trip)
    }

    /// Whether the instance goes down with its node.
    fn stays(&self, instance: &Instance) -> bool {
        !instance.template.has_secondary() && !self.moved.contains_key(&instance.idx)
    }

    /// The commands that bring an instance from one place to another.
    fn journey(
        &self,
        instance: &Instance,
        live: bool,
        from: Placement,
        to: Placement,
    ) -> Result<Vec<Command>, Impossible> {
        let name = Name::instance(instance)?;
        let verb = if live { "migrate" } else { "failover" };
        if !instance.template.has_secondary() {
            let verb = if instance.template.mirroring() == Mirroring::External { verb } else { "move" };
            return Ok(vec![leg_command(self.cluster, Leg::FailoverTo(to.primary), verb, &name)?]);
        }
        // a copy goes where the instance will run, then it goes there itself
        let arrives = (Some(to.primary) != from.secondary).then_some(Leg::ReplaceSecondary(to.primary));
        let leaves = to.secondary.filter(|node| *node != from.primary).map(Leg::ReplaceSecondary);
        let legs = match to.primary == from.primary {
            true => [None, None, to.secondary.map(Leg::ReplaceSecondary)],
            false => [arrives, Some(Leg::Failover), leaves],
        };
        legs.into_iter().flatten().map(|leg| leg_command(self.cluster, leg, verb, &name)).collect()
    }
}

/// Waits until both copies of a running instance are the same again.
fn in_step(name: &Name) -> Command {
    Command::new(&["gnt-instance", "activate-disks", "--wait-for-sync"]).operand(name)
}

/// The commands of all groups, with the points where a script looks whether it should stop.
pub fn lines(maintenance: &Maintenance) -> Vec<Line> {
    let mut lines = Vec::new();
    for (number, group) in (1..).zip(&maintenance.groups) {
        if number > 1 {
            lines.push(Line::Blank);
        }
        lines.push(Line::heading(format_args!("group {number}, {} nodes", group.nodes)));
        lines.push(Line::Check);
        lines.extend(group.all().cloned());
    }
    lines
}

/// What a script is about.
const SCRIPT_TITLE: &str = "\
# Reboots the nodes that hroller planned for, group after group: moves instances
# away, power-cycles the nodes, waits for them, and moves the instances back.
";

/// A shell script of the commands.
pub fn script(maintenance: &Maintenance) -> String {
    shell::script(SCRIPT_TITLE, "group", &lines(maintenance))
}

/// The commands for a person: indented, without the points to stop at.
pub fn listing(maintenance: &Maintenance) -> Vec<String> {
    shell::listing(&[vec![Line::Blank], lines(maintenance)].concat())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::rolling::{Conflicts, RollingOptions};
    use crate::testing::cluster;

    const NODES: [&str; 3] = [
        "n1.x|9000|0|8000|90000|50000|9|N|u|1",
        "n2.x|9000|0|8000|90000|50000|9|N|u|1",
        "n3.x|9000|0|8000|90000|50000|9|M|u|1",
    ];

    /// The commands of the group that one node is in.
    fn commands(instances: &[&str], node: usize, options: RollingOptions) -> Vec<String> {
        let cluster = cluster(&NODES, instances, &[]);
        let conflicts = Conflicts::among(&cluster, &cluster.all_nodes(), &options).unwrap();
        let parts = conflicts.plan(&cluster, &options).unwrap();
        let at = parts.iter().position(|p| p.nodes.contains(&NodeIdx::new(node))).unwrap();
        let parts = parts.iter().map(|part| (&part.nodes[..], &part.moves[..]));
        let maintenance = Maintenance::of(&cluster, parts, options.offline_maintenance).unwrap();
        maintenance.groups[at].all().map(Line::to_string).collect()
    }

    #[test]
    fn away_and_back() {
        let instances = [
            "web|100|1000|1|running|Y|n1.x|n2.x|drbd|",
            "down|100|1000|1|ADMIN_down|Y|n1.x|n2.x|drbd|",
            "local|100|1000|1|running|Y|n1.x||plain|",
            "shared|100|1000|1|ADMIN_down|Y|n1.x||ext|",
            "copy|100|1000|1|running|Y|n2.x|n1.x|drbd|",
        ];
        let expected = [
            "gnt-instance migrate -f web",
            "gnt-instance move -f -n n2.x local",
            "gnt-instance failover -f -n n2.x shared",
            "gnt-node power -f cycle n1.x",
            "until ssh -o BatchMode=yes n1.x true; do sleep 10; done",
            "gnt-instance activate-disks --wait-for-sync web",
            "gnt-instance migrate -f web",
            "gnt-instance move -f -n n1.x local",
            "gnt-instance failover -f -n n1.x shared",
            "gnt-instance activate-disks --wait-for-sync copy",
        ];
        let found = commands(&instances, 0, RollingOptions::default());
        let ours: Vec<&String> = found.iter().filter(|line| !line.contains("n3.x")).collect();
        assert_eq!(ours, expected.iter().collect::<Vec<_>>());
    }

    #[test]
    fn data_leaves_and_comes_back() {
        let options = RollingOptions { full_evacuation: true, ..RollingOptions::default() };
        let found = commands(&["web|100|1000|1|running|Y|n1.x|n2.x|drbd|"], 0, options);
        let expected = [
            "gnt-instance migrate -f web",
            "gnt-instance replace-disks -n n3.x web",
            "gnt-node power -f cycle n1.x",
            "until ssh -o BatchMode=yes n1.x true; do sleep 10; done",
            "gnt-instance replace-disks -n n1.x web",
            "gnt-instance migrate -f web",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn what_goes_down_with_its_node_is_stopped_and_started() {
        let instances =
            ["web|100|1000|1|running|Y|n1.x|n2.x|drbd|", "local|100|1000|1|running|Y|n1.x||plain|"];
        let options = RollingOptions {
            offline_maintenance: true,
            ignore_non_redundant: true,
            ..RollingOptions::default()
        };
        let found = commands(&instances, 0, options);
        let expected = [
            "gnt-instance shutdown web",
            "gnt-instance shutdown local",
            "gnt-node power -f cycle n1.x",
            "until ssh -o BatchMode=yes n1.x true; do sleep 10; done",
            "gnt-instance startup web",
            "gnt-instance activate-disks --wait-for-sync web",
            "gnt-instance startup local",
        ];
        let ours: Vec<&String> = found.iter().filter(|line| !line.contains("n3.x")).collect();
        assert_eq!(ours, expected.iter().collect::<Vec<_>>());
    }

    #[test]
    fn the_master_is_left_to_people() {
        let found = commands(&["web|100|1000|1|running|Y|n3.x|n2.x|drbd|"], 2, RollingOptions::default());
        let last = [
            "# n3.x is the master node: reboot it by hand, then run",
            "#   gnt-instance activate-disks --wait-for-sync web",
            "#   gnt-instance migrate -f web",
        ];
        assert_eq!(found[found.len() - 3..], last);
        assert_eq!(found[0], "gnt-instance migrate -f web");
        assert!(!found.iter().any(|line| line.contains("cycle n3.x")));
    }
}
