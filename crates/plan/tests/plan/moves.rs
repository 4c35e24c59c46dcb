//! Moves as opcodes.

use htools_model::{Move, NodeIdx};
use htools_plan::opcode::job;
use htools_testkit::cluster;

const MIGRATE: &str = r#"{"OP_ID":"OP_INSTANCE_MIGRATE","instance_name":"i","allow_runtime_changes":false,"ignore_ipolicy":false,"cleanup":false,"allow_failover":true,"ignore_hvversions":true}"#;
const REPLACE: &str = r#"{"OP_ID":"OP_INSTANCE_REPLACE_DISKS","instance_name":"i","early_release":false,"ignore_ipolicy":false,"mode":"replace_new_secondary","disks":[],"remote_node":"n3"}"#;

fn job_of(mv: Move, forthcoming: bool) -> String {
    let nodes = [
        "n1|4096|0|3072|10240|9216|4|N|u|1",
        "n2|4096|0|4096|10240|9216|4|N|u|1",
        "n3|4096|0|4096|10240|10240|4|N|u|1",
    ];
    let mut cluster = cluster(&nodes, &["i|1024|1024|1|running|Y|n1|n2|drbd||1"], &[]);
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
