//! Jobs of moves.

use super::{Opcode, ReplaceMode};
use htools_model::{Cluster, Instance, Leg, Mirroring, Move, NodeIdx, Step};

/// The job that executes `moves` of an instance, one after another. Names are full names.
pub fn job(cluster: &Cluster, instance: &Instance, moves: &[Move]) -> Vec<Opcode> {
    let legs = moves.iter().flat_map(|mv| mv.legs());
    // A forthcoming instance cannot be migrated.
    legs.map(|leg| opcode(cluster, instance, leg, instance.forthcoming)).collect()
}

/// The job that executes a step, with an opcode for each leg. Ganeti turns a migration of a stopped instance into a
/// failover.
pub fn step_job(cluster: &Cluster, step: &Step) -> Vec<Opcode> {
    let instance = cluster.instance(step.instance);
    let stopped = |from| instance.forthcoming || step.leaves_offline(cluster, from);
    step.legs().map(|(leg, from, _)| opcode(cluster, instance, leg, stopped(from))).collect()
}

fn opcode(cluster: &Cluster, instance: &Instance, leg: Leg, stopped: bool) -> Opcode {
    let node = |n: NodeIdx| cluster.node(n).spec.name.clone();
    let target_node = match leg {
        Leg::ReplaceSecondary(to) => return replace(instance, node(to)),
        // Its disks are on the node that it leaves.
        Leg::FailoverTo(to) if instance.template.mirroring() == Mirroring::None => {
            return move_disks(instance, node(to));
        }
        Leg::Failover => None,
        Leg::FailoverTo(to) => Some(node(to)),
    };
    if stopped {
        Opcode::failover(&instance.name, target_node)
    } else {
        Opcode::migrate(&instance.name, target_node)
    }
}

fn move_disks(instance: &Instance, target_node: String) -> Opcode {
    Opcode::MoveDisks {
        instance_name: instance.name.clone(),
        shutdown_timeout: 120,
        ignore_ipolicy: false,
        target_node,
        ignore_consistency: false,
    }
}

fn replace(instance: &Instance, remote_node: String) -> Opcode {
    Opcode::ReplaceDisks {
        instance_name: instance.name.clone(),
        early_release: false,
        ignore_ipolicy: false,
        mode: ReplaceMode::NewSecondary,
        disks: Vec::new(),
        remote_node: Some(remote_node),
    }
}
