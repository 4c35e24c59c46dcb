//! The opcodes of the jobs that carry moves out, as Ganeti's master takes them.
//!
//! The order of the fields is the order in which they are written.

mod moves;

use serde::{Deserialize, Serialize};
use serde_json::Number;

pub use self::moves::{job, step_job};
use super::names::{Impossible, Name, NameOf};

/// One operation of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "OP_ID", deny_unknown_fields)]
pub enum Opcode {
    /// The instance changes to another node, running if it can.
    #[serde(rename = "OP_INSTANCE_MIGRATE")]
    Migrate {
        /// Full name.
        instance_name: String,
        /// The node, where the storage leaves a choice.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        target_node: Option<String>,
        /// True if its memory may shrink for it.
        allow_runtime_changes: bool,
        /// True if the policy may be broken.
        ignore_ipolicy: bool,
        /// True if this only tidies up after an earlier attempt.
        cleanup: bool,
        /// True if an instance that does not run fails over.
        allow_failover: bool,
        /// True if versions of the hypervisor may differ.
        ignore_hvversions: bool,
    },
    /// The instance is stopped and started on another node.
    #[serde(rename = "OP_INSTANCE_FAILOVER")]
    Failover {
        /// Full name.
        instance_name: String,
        /// Seconds to wait for it to stop.
        shutdown_timeout: u32,
        /// True if disks need not be consistent.
        ignore_consistency: bool,
        /// The node, where the storage leaves a choice.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        target_node: Option<String>,
        /// True if the policy may be broken.
        ignore_ipolicy: bool,
        /// True if this only tidies up after an earlier attempt.
        cleanup: bool,
    },
    /// The instance is stopped.
    #[serde(rename = "OP_INSTANCE_SHUTDOWN")]
    Shutdown {
        /// Full name.
        instance_name: String,
        /// Seconds to wait for it to stop.
        timeout: u32,
        /// True if it counts as stopped if its node is offline.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ignore_offline_nodes: Option<bool>,
    },
    /// The instance is started.
    #[serde(rename = "OP_INSTANCE_STARTUP")]
    Startup {
        /// Full name.
        instance_name: String,
        /// True if it is done against advice.
        force: bool,
    },
    /// Copies of the disks are made anew: on a new secondary node, or where they are.
    #[serde(rename = "OP_INSTANCE_REPLACE_DISKS")]
    ReplaceDisks {
        /// Full name.
        instance_name: String,
        /// True if the old secondary is let go before the copy is complete.
        early_release: bool,
        /// True if the policy may be broken.
        ignore_ipolicy: bool,
        /// Disks that are replaced.
        mode: ReplaceMode,
        /// The disks; none for all of them.
        disks: Vec<i64>,
        /// The new secondary node.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        remote_node: Option<String>,
    },
    /// The instance is stopped, its disks are copied to another node, and it is started there.
    #[serde(rename = "OP_INSTANCE_MOVE")]
    MoveDisks {
        /// Full name.
        instance_name: String,
        /// Seconds to wait for it to stop.
        shutdown_timeout: u32,
        /// True if the policy may be broken.
        ignore_ipolicy: bool,
        /// The node.
        target_node: String,
        /// True if disks need not be consistent.
        ignore_consistency: bool,
    },
    /// The copies of the disks are connected with each other.
    #[serde(rename = "OP_INSTANCE_ACTIVATE_DISKS")]
    ActivateDisks {
        /// Full name.
        instance_name: String,
        /// True if the job ends only when both copies are the same.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        wait_for_sync: bool,
    },
    /// Empty disks are made.
    #[serde(rename = "OP_INSTANCE_RECREATE_DISKS")]
    RecreateDisks {
        /// Full name.
        instance_name: String,
        /// The disks; none for all of them.
        disks: Vec<i64>,
        /// The nodes that they are made on, the primary node first.
        nodes: Vec<String>,
    },
    /// The operating system is installed anew.
    #[serde(rename = "OP_INSTANCE_REINSTALL")]
    Reinstall {
        /// Full name.
        instance_name: String,
        /// True if the variant of the system need not be known.
        force_variant: bool,
    },
    /// Ganeti tells of the state of instances and their disks.
    #[serde(rename = "OP_INSTANCE_QUERY_DATA")]
    QueryData {
        /// Full names.
        instances: Vec<String>,
        /// True if their nodes need not be asked.
        r#static: bool,
        /// True if nobody may change them meanwhile.
        use_locking: bool,
    },
    /// Time passes.
    #[serde(rename = "OP_TEST_DELAY")]
    Delay {
        /// Its length, in seconds.
        duration: Number,
        /// True if time passes on the master.
        on_master: bool,
        /// Other nodes where it does.
        on_nodes: Vec<String>,
        /// Number of repetitions.
        repeat: u32,
        /// True if others may end it.
        interruptible: bool,
        /// True if nothing is locked.
        no_locks: bool,
    },
    /// Flags of a node change.
    #[serde(rename = "OP_NODE_SET_PARAMS")]
    NodeSetParams {
        /// Full name.
        node_name: String,
        /// True if it is done against advice.
        force: bool,
        /// True if the node is offline from now on.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        offline: Option<bool>,
        /// True if the node is drained from now on.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        drained: Option<bool>,
        /// True if another node may become a master candidate for it.
        auto_promote: bool,
    },
    /// The power of nodes is switched by their helper programs.
    #[serde(rename = "OP_OOB_COMMAND")]
    OobCommand {
        /// Full names.
        node_names: Vec<String>,
        /// On or off.
        command: PowerCommand,
        /// Seconds that the helper may take.
        timeout: u32,
        /// True if what is known of the power does not matter.
        ignore_status: bool,
        /// Seconds between two nodes that are powered on.
        power_delay: u32,
    },
    /// An object gets tags.
    #[serde(rename = "OP_TAGS_SET")]
    TagsSet {
        /// Kind of the object.
        kind: TagKind,
        /// The tags.
        tags: Vec<String>,
        /// Full name.
        name: String,
    },
    /// An object loses tags.
    #[serde(rename = "OP_TAGS_DEL")]
    TagsDel {
        /// Kind of the object.
        kind: TagKind,
        /// The tags.
        tags: Vec<String>,
        /// Full name.
        name: String,
    },
}

/// Change of the power of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PowerCommand {
    /// Power comes.
    PowerOn,
    /// Power goes.
    PowerOff,
    /// Power goes and comes again.
    PowerCycle,
}

/// Kind of things that have tags.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TagKind {
    /// A node.
    Node,
    /// An instance.
    Instance,
}

impl Opcode {
    /// The instance is stopped as it stops by itself.
    pub fn shutdown(instance: &str) -> Opcode {
        Opcode::Shutdown { instance_name: instance.to_owned(), timeout: 120, ignore_offline_nodes: None }
    }

    /// The instance is started elsewhere: where its storage says, or on a node.
    pub fn failover(instance: &str, target_node: Option<String>) -> Opcode {
        Opcode::Failover {
            instance_name: instance.to_owned(),
            shutdown_timeout: 120,
            ignore_consistency: false,
            target_node,
            ignore_ipolicy: false,
            cleanup: false,
        }
    }

    /// The instance changes to another node, running if it can.
    pub fn migrate(instance: &str, target_node: Option<String>) -> Opcode {
        Opcode::Migrate {
            instance_name: instance.to_owned(),
            target_node,
            allow_runtime_changes: false,
            ignore_ipolicy: false,
            cleanup: false,
            allow_failover: true,
            ignore_hvversions: true,
        }
    }

    /// Time passes before what follows in the same job, and takes its locks.
    pub fn delay(seconds: f64) -> Opcode {
        // whole ones are written so
        let whole = (seconds.fract() == 0.0 && (0.0..1e15).contains(&seconds)).then_some(seconds as u64);
        let number = || Number::from_f64(seconds).unwrap_or_else(|| Number::from(0));
        Opcode::Delay {
            duration: whole.map_or_else(number, Number::from),
            on_master: true,
            on_nodes: Vec::new(),
            repeat: 0,
            interruptible: false,
            // the lock of the master node would keep others waiting, and repairs of other instances
            no_locks: true,
        }
    }

    /// Ganeti tells of the state of instances and their disks.
    pub fn query_data(instances: &[String]) -> Opcode {
        Opcode::QueryData { instances: instances.to_vec(), r#static: false, use_locking: false }
    }

    /// The instance is started.
    pub fn startup(instance: &str) -> Opcode {
        Opcode::Startup { instance_name: instance.to_owned(), force: false }
    }

    /// Both copies of the disks of a running instance become the same again.
    pub(crate) fn resync(instance: &str) -> Opcode {
        Opcode::ActivateDisks { instance_name: instance.to_owned(), wait_for_sync: true }
    }

    /// The node is offline, or not any more.
    pub fn set_offline(node: &str, offline: bool) -> Opcode {
        let node_name = node.to_owned();
        let offline = Some(offline);
        Opcode::NodeSetParams { node_name, force: false, offline, drained: None, auto_promote: false }
    }

    /// The node takes no more instances, or does again. A node that is drained is no
    /// master candidate any more; another one may take its place.
    pub fn set_drained(node: &str, drained: bool) -> Opcode {
        let node_name = node.to_owned();
        let auto_promote = drained;
        let drained = Some(drained);
        Opcode::NodeSetParams { node_name, force: false, offline: None, drained, auto_promote }
    }

    /// A node gets tags.
    pub fn tag_node(node: &str, tags: Vec<String>) -> Opcode {
        Opcode::TagsSet { kind: TagKind::Node, tags, name: node.to_owned() }
    }

    /// A node loses tags.
    pub fn untag_node(node: &str, tags: Vec<String>) -> Opcode {
        Opcode::TagsDel { kind: TagKind::Node, tags, name: node.to_owned() }
    }

    /// The node's power, as Ganeti's own programs have it switched.
    pub fn power(node: &str, command: PowerCommand) -> Opcode {
        let node_names = vec![node.to_owned()];
        Opcode::OobCommand { node_names, command, timeout: 60, ignore_status: false, power_delay: 2 }
    }
}

impl Opcode {
    /// The migration that tidies up after this one where it has failed half-way; none for other opcodes.
    pub(crate) fn cleanup(&self) -> Option<Opcode> {
        let mut tidying = self.clone();
        match &mut tidying {
            Opcode::Migrate { cleanup, .. } => *cleanup = true,
            _ => return None,
        }
        Some(tidying)
    }

    /// Checks that Ganeti can have all names in it.
    ///
    /// # Errors
    /// The first that it cannot have.
    pub fn check_names(&self) -> Result<(), Impossible> {
        let check =
            |kind: NameOf, names: &[String]| names.iter().try_for_each(|name| Name::of(kind, name).map(drop));
        let instance = |name: &String| check(NameOf::Instance, std::slice::from_ref(name));
        let node = |name: &String| check(NameOf::Node, std::slice::from_ref(name));
        match self {
            Opcode::Migrate { instance_name, target_node, .. }
            | Opcode::Failover { instance_name, target_node, .. } => {
                instance(instance_name)?;
                target_node.as_ref().map_or(Ok(()), node)
            }
            Opcode::Shutdown { instance_name, .. }
            | Opcode::Startup { instance_name, .. }
            | Opcode::ActivateDisks { instance_name, .. }
            | Opcode::Reinstall { instance_name, .. } => instance(instance_name),
            Opcode::MoveDisks { instance_name, target_node, .. } => {
                instance(instance_name)?;
                node(target_node)
            }
            Opcode::RecreateDisks { instance_name, nodes, .. } => {
                instance(instance_name)?;
                check(NameOf::Node, nodes)
            }
            Opcode::QueryData { instances, .. } => check(NameOf::Instance, instances),
            Opcode::Delay { on_nodes, .. } => check(NameOf::Node, on_nodes),
            Opcode::ReplaceDisks { instance_name, remote_node, .. } => {
                instance(instance_name)?;
                remote_node.as_ref().map_or(Ok(()), node)
            }
            Opcode::NodeSetParams { node_name, .. } => node(node_name),
            Opcode::OobCommand { node_names, .. } => check(NameOf::Node, node_names),
            Opcode::TagsSet { kind, tags, name } | Opcode::TagsDel { kind, tags, name } => {
                match kind {
                    TagKind::Node => node(name)?,
                    TagKind::Instance => instance(name)?,
                }
                check(NameOf::Tag, tags)
            }
        }
    }
}

/// Disks that are replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ReplaceMode {
    /// The secondary node's, by such on another node.
    #[serde(rename = "replace_new_secondary")]
    NewSecondary,
    /// Those on the secondary node, which stay there.
    #[serde(rename = "replace_on_secondary")]
    OnSecondary,
    /// Those on the primary node, which stay there.
    #[serde(rename = "replace_on_primary")]
    OnPrimary,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_in_opcodes() {
        let text = |opcode: &Opcode| serde_json::to_string(opcode).unwrap();
        assert_eq!(
            text(&Opcode::set_offline("n", true)),
            r#"{"OP_ID":"OP_NODE_SET_PARAMS","node_name":"n","force":false,"offline":true,"auto_promote":false}"#
        );
        assert_eq!(
            text(&Opcode::power("n", PowerCommand::PowerOff)),
            r#"{"OP_ID":"OP_OOB_COMMAND","node_names":["n"],"command":"power-off","timeout":60,"ignore_status":false,"power_delay":2}"#
        );
        let tags = Opcode::TagsSet { kind: TagKind::Node, tags: vec!["a".into()], name: "n".into() };
        assert_eq!(text(&tags), r#"{"OP_ID":"OP_TAGS_SET","kind":"node","tags":["a"],"name":"n"}"#);
    }
}
