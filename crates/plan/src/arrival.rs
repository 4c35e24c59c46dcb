//! Comparison of a cluster with the state that the work of a plan should lead to.
//!
//! Jobs can succeed without having done what they were for. So the effects of the work on instances and nodes are
//! compared with the cluster afterwards. Objects that the work did not touch are ignored, since others may have changed
//! them meanwhile. The steps in every journal name their results, so that old journals can be compared, too.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::opcode::Opcode;
use super::work::{Relocation, Task, Work, WorkStep};
use htools_model::shown::shown_name;
use htools_model::{Cluster, Instance, Placement};

/// Flags of a node that the work sets. Flags that are unknown or not set are not compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NodeFlags {
    /// True if it is out of use.
    pub offline: Option<bool>,
    /// True if it takes no more instances.
    pub drained: Option<bool>,
    /// True if it has power, according to Ganeti.
    pub powered: Option<bool>,
}

/// An effect of the work that the cluster does not show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingEffect {
    /// The full name of the instance or the node.
    pub subject: String,
    /// True if it is a node.
    pub is_node: bool,
    /// Its state, and the state that it should have, in one line.
    pub text: String,
}

/// A node as the work leaves it.
#[derive(Debug, Default)]
struct PlannedNode {
    flags: NodeFlags,
    /// For each tag, whether the node should have it.
    tags: BTreeMap<String, bool>,
}

/// Instances and nodes as the work leaves them, in the order of their names.
#[derive(Debug, Default)]
pub struct PlannedEnd<'w> {
    instances: BTreeMap<&'w str, &'w Placement<String>>,
    nodes: BTreeMap<&'w str, PlannedNode>,
}

impl<'w> PlannedEnd<'w> {
    /// The state that the steps of some work lead to, if all are done.
    pub fn of(work: &'w Work) -> PlannedEnd<'w> {
        let mut end = PlannedEnd::default();
        for step in &work.steps {
            match &step.task {
                Task::Move(Relocation { to, .. }) => drop(end.instances.insert(&step.subject, to)),
                Task::Cross(legs) => {
                    let last = legs.last().map(|leg| (step.subject.as_str(), &leg.to));
                    end.instances.extend(last);
                }
                task if task.is_of_instance() => {}
                task => end.nodes.entry(&step.subject).or_default().take(task, step),
            }
        }
        end
    }

    /// The nodes whose flags must be known.
    pub fn nodes(&self) -> impl Iterator<Item = &'w str> + '_ {
        let asked = self.nodes.iter().filter(|(_, end)| end.flags != NodeFlags::default());
        asked.map(|(name, _)| *name)
    }

    /// Differences of a cluster from this state. `flags` are those of its nodes, by name.
    pub fn missing_effects(&self, now: &Cluster, flags: &HashMap<String, NodeFlags>) -> Vec<MissingEffect> {
        let mut by_name: HashMap<&str, Vec<&Instance>> = HashMap::new();
        for instance in now.instances.iter().filter(|i| self.instances.contains_key(i.name.as_str())) {
            by_name.entry(&instance.name).or_default().push(instance);
        }
        let instances = self.instances.iter().filter_map(|(name, wanted)| {
            let there: Vec<Placement<String>> =
                by_name.get(name).into_iter().flatten().map(|instance| place(now, instance)).collect();
            // If an instance of that name is as wanted, others of the same name are different ones.
            let found = there.first().filter(|_| !there.contains(wanted));
            let text = match found {
                Some(found) => format!("is {}, and should be {}", shown(found), shown(wanted)),
                None if there.is_empty() => format!("is gone, and should be {}", shown(wanted)),
                None => return None,
            };
            let text = format!("instance '{}' {text}", shown_name(name));
            Some(MissingEffect { subject: (*name).to_owned(), is_node: false, text })
        });
        let nodes = self.nodes.iter().filter_map(|(name, wanted)| {
            let flags = flags.get(*name).copied().unwrap_or_default();
            let node = now.nodes.iter().find(|node| node.spec.name == **name);
            let wrong = match node {
                Some(node) => wanted.wrong(flags, &node.spec.tags),
                None => vec!["is gone".to_owned()],
            };
            let text = format!("node '{}' {}", shown_name(name), wrong.join(", "));
            (!wrong.is_empty()).then(|| MissingEffect { subject: (*name).to_owned(), is_node: true, text })
        });
        instances.chain(nodes).collect()
    }
}

impl PlannedNode {
    fn take(&mut self, task: &Task, step: &WorkStep) {
        let PlannedNode { flags, tags } = self;
        // Ganeti does not know about power commands of this program.
        let by_ganeti = step.opcodes.iter().any(|opcode| matches!(opcode, Opcode::OobCommand { .. }));
        match task {
            Task::Drain => flags.drained = Some(true),
            Task::Undrain => flags.drained = Some(false),
            // For Ganeti, an offline node is not drained.
            Task::SetOffline => (flags.offline, flags.drained) = (Some(true), None),
            Task::SetOnline => flags.offline = Some(false),
            Task::PowerOff if by_ganeti => flags.powered = Some(false),
            Task::PowerOn if by_ganeti => flags.powered = Some(true),
            Task::Tag | Task::Untag => {
                for opcode in &step.opcodes {
                    match opcode {
                        Opcode::TagsSet { tags: named, .. } => {
                            tags.extend(named.iter().map(|tag| (tag.clone(), true)));
                        }
                        Opcode::TagsDel { tags: named, .. } => {
                            tags.extend(named.iter().map(|tag| (tag.clone(), false)));
                        }
                        _ => {}
                    }
                }
            }
            Task::PowerOff | Task::PowerOn | Task::Await | Task::ConfirmEmpty => {}
            Task::Move(_) | Task::Cross(_) | Task::Stop | Task::Start | Task::Resync => {}
            Task::Reboot | Task::RebootByHand | Task::Maintain(_) | Task::AwaitPerson => {}
            Task::AwaitBack(_) | Task::CheckHealth | Task::CheckCluster(_) => {}
        }
    }

    fn wrong(&self, flags: NodeFlags, tags: &[String]) -> Vec<String> {
        let flag = |wanted: Option<bool>, found: Option<bool>, [yes, no]: [&str; 2]| {
            let (wanted, found) = (wanted?, found?);
            (wanted != found).then(|| format!("is {}", if found { yes } else { no }))
        };
        let there: BTreeSet<&str> = tags.iter().map(String::as_str).collect();
        let tag = |(tag, wanted): (&String, &bool)| {
            let has = there.contains(tag.as_str());
            let verb = if has { "still has" } else { "has not" };
            (has != *wanted).then(|| format!("{verb} the tag '{}'", shown_name(tag)))
        };
        let end = &self.flags;
        [
            flag(end.offline, flags.offline, ["still offline", "not offline"]),
            flag(end.drained, flags.drained, ["still drained", "not drained"]),
            flag(end.powered, flags.powered, ["still powered", "not powered"]),
        ]
        .into_iter()
        .flatten()
        .chain(self.tags.iter().filter_map(tag))
        .collect()
    }
}

fn place(cluster: &Cluster, instance: &Instance) -> Placement<String> {
    let name = |node| cluster.node(node).spec.name.clone();
    Placement { primary: name(instance.primary), secondary: instance.secondary.map(name) }
}

fn shown(place: &Placement<String>) -> String {
    match &place.secondary {
        Some(secondary) => format!("on {} and {}", shown_name(&place.primary), shown_name(secondary)),
        None => format!("on {}", shown_name(&place.primary)),
    }
}
