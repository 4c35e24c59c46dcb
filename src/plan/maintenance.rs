//! The commands of a rolling reboot: group after group, instances away, reboot,
//! instances back.

use std::collections::BTreeMap;

use crate::model::{Cluster, Instance, InstanceIdx, Mirroring, NodeIdx, Placement};
use crate::search::rolling::{Moved, Part, RollingOptions};

/// The commands of one group, in order.
#[derive(Debug, Clone, Default)]
pub struct GroupCommands {
    /// Number of nodes.
    pub nodes: usize,
    /// Before the reboot.
    pub away: Vec<String>,
    /// The reboot, and waiting for its end.
    pub reboot: Vec<String>,
    /// After the reboot.
    pub back: Vec<String>,
    /// What is left to do by hand, as comments: the reboot of the master node,
    /// and what follows it.
    pub by_hand: Vec<String>,
}

impl GroupCommands {
    /// All of them, in order.
    pub fn all(&self) -> impl Iterator<Item = &String> {
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
    /// The commands that carry the groups out.
    pub fn of(cluster: &Cluster, parts: &[Part], options: &RollingOptions) -> Maintenance {
        Maintenance {
            groups: parts.iter().map(|part| Group::of(cluster, part, options).commands()).collect(),
        }
    }
}

/// One group while its commands are made.
struct Group<'a> {
    cluster: &'a Cluster,
    part: &'a Part,
    /// Whether a node is in the group.
    down: Vec<bool>,
    /// Whether instances are down while their nodes are.
    offline: bool,
    moved: BTreeMap<InstanceIdx, &'a Moved>,
}

/// What happens to one instance.
#[derive(Default)]
struct Trip {
    /// The instance has a node that cannot be rebooted by these commands.
    with_master: bool,
    away: Vec<String>,
    back: Vec<String>,
}

impl<'a> Group<'a> {
    fn of(cluster: &'a Cluster, part: &'a Part, options: &RollingOptions) -> Group<'a> {
        let moved = part.moves.iter().map(|m| (m.instance, m)).collect();
        let mut down = vec![false; cluster.nodes.len()];
        part.nodes.iter().for_each(|n| down[n.get()] = true);
        Group { cluster, part, down, offline: options.offline_maintenance, moved }
    }

    fn commands(&self) -> GroupCommands {
        let mut commands = GroupCommands { nodes: self.part.nodes.len(), ..GroupCommands::default() };
        let mut after_master = Vec::new();
        // a node that loses an instance never gets one in the same group, so the order is free
        for instance in self.cluster.instances.iter().filter(|i| !i.forthcoming) {
            let trip = self.trip(instance);
            commands.away.extend(trip.away);
            if trip.with_master { &mut after_master } else { &mut commands.back }.extend(trip.back);
        }
        for node in &self.part.nodes {
            let spec = &self.cluster.node(*node).spec;
            let name = quoted(&spec.name);
            if spec.master {
                commands.by_hand.push(format!("# {name} is the master node: reboot it by hand, then run"));
            } else {
                commands.reboot.push(format!("gnt-node power -f cycle {name}"));
            }
        }
        for node in self.part.nodes.iter().filter(|n| !self.is_master(**n)) {
            let name = quoted(&self.cluster.node(*node).spec.name);
            commands.reboot.push(format!("until ssh -o BatchMode=yes {name} true; do sleep 10; done"));
        }
        if after_master.is_empty() {
            commands.by_hand.iter_mut().for_each(|line| line.truncate(line.len() - ", then run".len()));
        }
        commands.by_hand.extend(after_master.into_iter().map(|line| format!("#   {line}")));
        // nothing in a name may end the comment
        commands.by_hand.iter_mut().for_each(|line| *line = line.replace(char::is_control, "?"));
        commands
    }

    fn is_master(&self, node: NodeIdx) -> bool {
        self.cluster.node(node).spec.master
    }

    /// The commands for an instance; none if it has nothing to do with the group.
    fn trip(&self, instance: &Instance) -> Trip {
        let here = |n: NodeIdx| self.down[n.get()];
        let ours: Vec<NodeIdx> = instance.nodes().filter(|n| here(*n)).collect();
        let mut trip = Trip { with_master: ours.iter().any(|n| self.is_master(*n)), ..Trip::default() };
        if ours.is_empty() {
            return trip;
        }
        let name = quoted(&instance.name);
        let running = instance.status.is_running();
        let stops = running && here(instance.primary) && (self.offline || self.stays(instance));
        if stops {
            trip.away.push(format!("gnt-instance shutdown {name}"));
        }
        let live = running && !self.offline;
        match self.moved.get(&instance.idx) {
            Some(moved) => {
                trip.away.extend(self.journey(instance, live, moved.from, moved.to));
                trip.back.extend(self.journey(instance, live, moved.to, moved.from));
            }
            None if instance.template.has_secondary() && here(instance.primary) && live => {
                let go = format!("gnt-instance migrate -f {name}");
                trip.away.push(go.clone());
                trip.back.extend([in_step(&name), go]);
            }
            None => {}
        }
        if stops {
            trip.back.push(format!("gnt-instance startup {name}"));
        }
        let copies_stayed = instance.template.has_secondary() && !self.moved.contains_key(&instance.idx);
        let already = !stops && here(instance.primary);
        if copies_stayed && running && !already {
            trip.back.push(in_step(&name));
        }
        trip
    }

    /// Whether the instance goes down with its node.
    fn stays(&self, instance: &Instance) -> bool {
        !instance.template.has_secondary() && !self.moved.contains_key(&instance.idx)
    }

    /// The commands that bring an instance from one place to another.
    fn journey(&self, instance: &Instance, live: bool, from: Placement, to: Placement) -> Vec<String> {
        let name = quoted(&instance.name);
        let node = |n: NodeIdx| quoted(&self.cluster.node(n).spec.name);
        let verb = if live { "migrate" } else { "failover" };
        if !instance.template.has_secondary() {
            let target = node(to.primary);
            return vec![match instance.template.mirroring() {
                Mirroring::External => format!("gnt-instance {verb} -f -n {target} {name}"),
                _ => format!("gnt-instance move -f -n {target} {name}"),
            }];
        }
        let go = format!("gnt-instance {verb} -f {name}");
        let copy =
            |t: Option<NodeIdx>| t.map(|t| format!("gnt-instance replace-disks -n {} {name}", node(t)));
        let mut commands = Vec::new();
        if to.primary == from.primary {
            commands.extend(copy(to.secondary));
        } else if Some(to.primary) == from.secondary {
            commands.push(go);
            if to.secondary != Some(from.primary) {
                commands.extend(copy(to.secondary));
            }
        } else {
            // the copy goes where the instance will run, then it goes there itself
            commands.extend(copy(Some(to.primary)));
            commands.push(go);
            if to.secondary != Some(from.primary) {
                commands.extend(copy(to.secondary));
            }
        }
        commands
    }
}

/// Waits until both copies of a running instance are the same again.
fn in_step(name: &str) -> String {
    format!("gnt-instance activate-disks --wait-for-sync {name}")
}

/// A word as a shell takes it; names are plain words unless the data is odd.
pub(super) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// The commands of all groups; `check` is where a script looks whether it should
/// stop.
fn lines(maintenance: &Maintenance, check: bool) -> Vec<String> {
    let mut lines = Vec::new();
    for (number, group) in (1..).zip(&maintenance.groups) {
        lines.push(String::new());
        lines.push(format!("echo group {number}, {} nodes", group.nodes));
        if check {
            lines.push("  check".to_owned());
        }
        lines.extend(group.all().map(|line| format!("  {line}")));
    }
    lines
}

/// What stands before the commands of a script.
const SCRIPT_HEAD: &str = "\
#!/bin/sh

# Reboots the nodes that hroller planned for, group after group: moves instances
# away, power-cycles the nodes, waits for them, and moves the instances back.
# The script stops at the first command that fails, and before the next group
# once this file exists: /tmp/stop-htools

set -e

check() {
  if [ -e /tmp/stop-htools ]; then
    echo 'Stopping: /tmp/stop-htools exists'
    exit 0
  fi
}
";

/// A shell script of the commands.
pub fn script(maintenance: &Maintenance) -> String {
    let lines = lines(maintenance, true);
    SCRIPT_HEAD.to_owned() + &lines.iter().map(|line| format!("{line}\n")).collect::<String>()
}

/// The commands for a person: indented, without the points to stop at.
pub fn listing(maintenance: &Maintenance) -> Vec<String> {
    lines(maintenance, false).iter().map(|line| format!("  {line}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::rolling::Conflicts;
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
        Maintenance::of(&cluster, &parts, &options).groups[at].all().cloned().collect()
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

    #[test]
    fn odd_names_stay_one_word() {
        assert_eq!(quoted("a.b-c_9"), "a.b-c_9");
        assert_eq!(quoted("a; rm b"), "'a; rm b'");
        assert_eq!(quoted("a'b"), r"'a'\''b'");
    }
}
