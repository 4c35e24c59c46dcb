//! The jobs of moves.

use super::{Opcode, ReplaceMode};
use crate::model::{Cluster, Instance, Leg, Mirroring, Move, NodeIdx, Step};

/// The job that carries out `moves` of an instance, one after the other. Names are
/// full names.
pub fn job(cluster: &Cluster, instance: &Instance, moves: &[Move]) -> Vec<Opcode> {
    let legs = moves.iter().flat_map(|mv| mv.legs());
    // there is nothing yet that could migrate
    legs.map(|leg| opcode(cluster, instance, leg, instance.forthcoming)).collect()
}

/// The job that carries out a step, an opcode a leg. Ganeti itself fails over what does not run when it is to migrate.
pub fn step_job(cluster: &Cluster, step: &Step) -> Vec<Opcode> {
    let instance = cluster.instance(step.instance);
    let stopped = |from| instance.forthcoming || step.leaves_offline(cluster, from);
    step.legs().map(|(leg, from, _)| opcode(cluster, instance, leg, stopped(from))).collect()
}

fn opcode(cluster: &Cluster, instance: &Instance, leg: Leg, stopped: bool) -> Opcode {
    let node = |n: NodeIdx| cluster.node(n).spec.name.clone();
    let target_node = match leg {
        Leg::ReplaceSecondary(to) => return replace(instance, node(to)),
        // its disks are on the node that it leaves
        Leg::FailoverTo(to) if instance.template.mirroring() == Mirroring::None => {
            return move_disks(instance, node(to));
        }
        Leg::Failover => None,
        Leg::FailoverTo(to) => Some(node(to)),
    };
    match stopped {
        true => Opcode::failover(&instance.name, target_node),
        false => Opcode::migrate(&instance.name, target_node),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    const MIGRATE: &str = r#"{"OP_ID":"OP_INSTANCE_MIGRATE","instance_name":"i","allow_runtime_changes":false,"ignore_ipolicy":false,"cleanup":false,"allow_failover":true,"ignore_hvversions":true}"#;
    const REPLACE: &str = r#"{"OP_ID":"OP_INSTANCE_REPLACE_DISKS","instance_name":"i","early_release":false,"ignore_ipolicy":false,"mode":"replace_new_secondary","disks":[],"remote_node":"n3"}"#;

    fn job_of(mv: Move, forthcoming: bool) -> String {
        let nodes = [
            "n1|4096|0|3072|10240|9216|4|N|u|1",
            "n2|4096|0|4096|10240|9216|4|N|u|1",
            "n3|4096|0|4096|10240|10240|4|N|u|1",
        ];
        let mut cluster = testing::cluster(&nodes, &["i|1024|1024|1|running|Y|n1|n2|drbd||1"], &[]);
        cluster.instances[0].details_mut().forthcoming = forthcoming;
        serde_json::to_string(&job(&cluster, &cluster.instances[0], &[mv])).unwrap()
    }

    #[test]
    fn moves_in_opcodes() {
        let node = NodeIdx::new(2);
        let to = MIGRATE.replace(r#""i","#, r#""i","target_node":"n3","#);
        for (mv, opcodes) in [
            (Move::Failover, vec![MIGRATE]),
            (Move::FailoverTo(node), vec![&*to]),
            (Move::ReplaceSecondary(node), vec![REPLACE]),
            (Move::ReplaceAndFailover(node), vec![REPLACE, MIGRATE]),
            (Move::ReplacePrimary(node), vec![MIGRATE, REPLACE, MIGRATE]),
            (Move::FailoverAndReplace(node), vec![MIGRATE, REPLACE]),
        ] {
            assert_eq!(job_of(mv, false), format!("[{}]", opcodes.join(",")), "{mv:?}");
        }
    }

    #[test]
    fn what_does_not_exist_yet_fails_over() {
        let text = |target: &str| {
            format!(
                r#"[{{"OP_ID":"OP_INSTANCE_FAILOVER","instance_name":"i","shutdown_timeout":120,"ignore_consistency":false,{target}"ignore_ipolicy":false,"cleanup":false}}]"#
            )
        };
        assert_eq!(job_of(Move::Failover, true), text(""));
        assert_eq!(job_of(Move::FailoverTo(NodeIdx::new(2)), true), text(r#""target_node":"n3","#));
    }
}
