//! The opcodes of the jobs that execute moves, as Ganeti's master takes them.
//!
//! Fields are written in the order in which they are declared.

mod moves;

use serde::{Deserialize, Serialize};
use serde_json::Number;

pub use self::moves::{job, step_job};
use super::names::{Impossible, Name, NameOf};

/// One operation of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "OP_ID", deny_unknown_fields)]
pub enum Opcode {
    /// Migrate the instance to another node, live if it runs.
    #[serde(rename = "OP_INSTANCE_MIGRATE")]
    Migrate {
        /// Full name.
        instance_name: String,
        /// The target, if the storage leaves a choice.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        target_node: Option<String>,
        /// True if its memory may be reduced for it.
        allow_runtime_changes: bool,
        /// True if the policy may be broken.
        ignore_ipolicy: bool,
        /// True if this only cleans up after an earlier attempt.
        cleanup: bool,
        /// True if an instance that does not run is failed over.
        allow_failover: bool,
        /// True if the hypervisor versions may differ.
        ignore_hvversions: bool,
    },
    /// Stop the instance and start it on another node.
    #[serde(rename = "OP_INSTANCE_FAILOVER")]
    Failover {
        /// Full name.
        instance_name: String,
        /// Seconds to wait for it to stop.
        shutdown_timeout: u32,
        /// True if disks need not be consistent.
        ignore_consistency: bool,
        /// The target, if the storage leaves a choice.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        target_node: Option<String>,
        /// True if the policy may be broken.
        ignore_ipolicy: bool,
        /// True if this only cleans up after an earlier attempt.
        cleanup: bool,
    },
    /// Stop the instance.
    #[serde(rename = "OP_INSTANCE_SHUTDOWN")]
    Shutdown {
        /// Full name.
        instance_name: String,
        /// Seconds to wait for it to stop.
        timeout: u32,
        /// True if it counts as stopped when its node is offline.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ignore_offline_nodes: Option<bool>,
    },
    /// Start the instance.
    #[serde(rename = "OP_INSTANCE_STARTUP")]
    Startup {
        /// Full name.
        instance_name: String,
        /// True to override Ganeti's safety checks.
        force: bool,
    },
    /// Rebuild copies of the disks: on a new secondary node, or in place.
    #[serde(rename = "OP_INSTANCE_REPLACE_DISKS")]
    ReplaceDisks {
        /// Full name.
        instance_name: String,
        /// True if the old secondary is released before the copy is complete.
        early_release: bool,
        /// True if the policy may be broken.
        ignore_ipolicy: bool,
        /// Copies to replace.
        mode: ReplaceMode,
        /// The disks; empty for all of them.
        disks: Vec<i64>,
        /// The new secondary node.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        remote_node: Option<String>,
    },
    /// Stop the instance, copy its disks to another node, and start it there.
    #[serde(rename = "OP_INSTANCE_MOVE")]
    MoveDisks {
        /// Full name.
        instance_name: String,
        /// Seconds to wait for it to stop.
        shutdown_timeout: u32,
        /// True if the policy may be broken.
        ignore_ipolicy: bool,
        /// The target.
        target_node: String,
        /// True if disks need not be consistent.
        ignore_consistency: bool,
    },
    /// Connect the copies of the disks with each other.
    #[serde(rename = "OP_INSTANCE_ACTIVATE_DISKS")]
    ActivateDisks {
        /// Full name.
        instance_name: String,
        /// True if the job waits until both copies are in sync.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        wait_for_sync: bool,
    },
    /// Create empty disks.
    #[serde(rename = "OP_INSTANCE_RECREATE_DISKS")]
    RecreateDisks {
        /// Full name.
        instance_name: String,
        /// The disks; empty for all of them.
        disks: Vec<i64>,
        /// The nodes for the disks, the primary node first.
        nodes: Vec<String>,
    },
    /// Reinstall the operating system.
    #[serde(rename = "OP_INSTANCE_REINSTALL")]
    Reinstall {
        /// Full name.
        instance_name: String,
        /// True if the variant of the system may be unknown.
        force_variant: bool,
    },
    /// Query the state of instances and their disks.
    #[serde(rename = "OP_INSTANCE_QUERY_DATA")]
    QueryData {
        /// Full names.
        instances: Vec<String>,
        /// True to answer without asking their nodes.
        r#static: bool,
        /// True to lock them meanwhile.
        use_locking: bool,
    },
    /// Wait.
    #[serde(rename = "OP_TEST_DELAY")]
    Delay {
        /// Duration in seconds.
        duration: Number,
        /// True to wait on the master.
        on_master: bool,
        /// Other nodes to wait on.
        on_nodes: Vec<String>,
        /// Number of repetitions.
        repeat: u32,
        /// True if others may end it early.
        interruptible: bool,
        /// True if nothing is locked.
        no_locks: bool,
    },
    /// Change flags of a node.
    #[serde(rename = "OP_NODE_SET_PARAMS")]
    NodeSetParams {
        /// Full name.
        node_name: String,
        /// True to override Ganeti's safety checks.
        force: bool,
        /// New offline flag, if it changes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        offline: Option<bool>,
        /// New drained flag, if it changes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        drained: Option<bool>,
        /// True if another node may become master candidate in its place.
        auto_promote: bool,
    },
    /// Switch the power of nodes by their helper programs.
    #[serde(rename = "OP_OOB_COMMAND")]
    OobCommand {
        /// Full names.
        node_names: Vec<String>,
        /// Power command.
        command: PowerCommand,
        /// Timeout of the helper, in seconds.
        timeout: u32,
        /// True to ignore the recorded power state.
        ignore_status: bool,
        /// Delay between two nodes that are powered on, in seconds.
        power_delay: u32,
    },
    /// Add tags to an object.
    #[serde(rename = "OP_TAGS_SET")]
    TagsSet {
        /// Kind of the object.
        kind: TagKind,
        /// The tags.
        tags: Vec<String>,
        /// Full name.
        name: String,
    },
    /// Remove tags from an object.
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

/// Power command for a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PowerCommand {
    /// Power on.
    PowerOn,
    /// Power off.
    PowerOff,
    /// Power off and on again.
    PowerCycle,
}

/// Kind of object that has tags.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TagKind {
    /// A node.
    Node,
    /// An instance.
    Instance,
}

impl Opcode {
    /// Stops the instance by a regular shutdown.
    pub fn shutdown(instance: &str) -> Opcode {
        Opcode::Shutdown { instance_name: instance.to_owned(), timeout: 120, ignore_offline_nodes: None }
    }

    /// Fails the instance over: to the node given by its storage, or to `target_node`.
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

    /// Migrates the instance to another node, live if it runs.
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

    /// Waits before the following opcodes of the same job take their locks.
    pub fn delay(seconds: f64) -> Opcode {
        // Write whole seconds without decimals.
        let whole = (seconds.fract() == 0.0 && (0.0..1e15).contains(&seconds)).then_some(seconds as u64);
        let number = || Number::from_f64(seconds).unwrap_or_else(|| Number::from(0));
        Opcode::Delay {
            duration: whole.map_or_else(number, Number::from),
            on_master: true,
            on_nodes: Vec::new(),
            repeat: 0,
            interruptible: false,
            // The lock of the master node would delay other jobs, including repairs of other instances.
            no_locks: true,
        }
    }

    /// Queries the state of instances and their disks.
    pub fn query_data(instances: &[String]) -> Opcode {
        Opcode::QueryData { instances: instances.to_vec(), r#static: false, use_locking: false }
    }

    /// Starts the instance.
    pub fn startup(instance: &str) -> Opcode {
        Opcode::Startup { instance_name: instance.to_owned(), force: false }
    }

    /// Resynchronises the disks of a running instance.
    pub(crate) fn resync(instance: &str) -> Opcode {
        Opcode::ActivateDisks { instance_name: instance.to_owned(), wait_for_sync: true }
    }

    /// Sets the offline flag of the node.
    pub fn set_offline(node: &str, offline: bool) -> Opcode {
        let node_name = node.to_owned();
        let offline = Some(offline);
        Opcode::NodeSetParams { node_name, force: false, offline, drained: None, auto_promote: false }
    }

    /// Sets a node online that takes no instances yet.
    pub fn set_online_drained(node: &str) -> Opcode {
        let node_name = node.to_owned();
        let (offline, drained) = (Some(false), Some(true));
        Opcode::NodeSetParams { node_name, force: false, offline, drained, auto_promote: false }
    }

    /// Sets the drained flag of the node. A drained node is no longer a master candidate; another one may take its
    /// place.
    pub fn set_drained(node: &str, drained: bool) -> Opcode {
        let node_name = node.to_owned();
        let auto_promote = drained;
        let drained = Some(drained);
        Opcode::NodeSetParams { node_name, force: false, offline: None, drained, auto_promote }
    }

    /// Adds tags to a node.
    pub fn tag_node(node: &str, tags: Vec<String>) -> Opcode {
        Opcode::TagsSet { kind: TagKind::Node, tags, name: node.to_owned() }
    }

    /// Removes tags from a node.
    pub fn untag_node(node: &str, tags: Vec<String>) -> Opcode {
        Opcode::TagsDel { kind: TagKind::Node, tags, name: node.to_owned() }
    }

    /// Switches the power of a node in the way of Ganeti's own programs.
    pub fn power(node: &str, command: PowerCommand) -> Opcode {
        let node_names = vec![node.to_owned()];
        Opcode::OobCommand { node_names, command, timeout: 60, ignore_status: false, power_delay: 2 }
    }
}

impl Opcode {
    /// The migration that cleans up after this one, if it has failed half-way; `None` for other opcodes.
    pub(crate) fn cleanup(&self) -> Option<Opcode> {
        let mut tidying = self.clone();
        match &mut tidying {
            Opcode::Migrate { cleanup, .. } => *cleanup = true,
            _ => return None,
        }
        Some(tidying)
    }

    /// Checks that all names in it are valid in Ganeti.
    ///
    /// # Errors
    /// The first that is not.
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

/// Copies to replace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ReplaceMode {
    /// Those on the secondary, by copies on another node.
    #[serde(rename = "replace_new_secondary")]
    NewSecondary,
    /// Those on the secondary, in place.
    #[serde(rename = "replace_on_secondary")]
    OnSecondary,
    /// Those on the primary, in place.
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
