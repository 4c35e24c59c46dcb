use super::*;
use crate::testing::groups;

/// The cluster of the specification's transcript, and what harep does about each instance of it.
#[test]
fn decisions_by_nodes_and_tags() {
    const P: &str = "ganeti:watcher:autorepair:";
    let node =
        |name: &str, flag: &str, group: &str| format!("{name}|4000|0|4000|60000|60000|32|{flag}|{group}|4");
    let nodes = [node("n1", "N", "g1"), node("n2", "Y", "g1"), node("n3", "Y", "g1"), node("m1", "Y", "g2")];
    let refused = |until| RepairDecision::NotPermitted(RepairPermission::Suspended(until));
    use RepairDecision::{BeyondPermission, Failed, NotPermitted, Repair, UnderWay, Well};
    use RepairKind::{Failover, FixStorage, Migrate, Reinstall};
    let rows = [
        ("ok", "n1", "", "plain", "", Well),
        ("sec", "n1", "n2", "drbd", "", Repair(FixStorage)),
        ("pri", "n2", "n1", "drbd", "", Repair(Failover)),
        ("both", "n2", "n3", "drbd", "", BeyondPermission { needed: Reinstall, permitted: Failover }),
        ("both2", "n2", "n3", "drbd", "reinstall", Repair(Reinstall)),
        ("pl", "m1", "", "plain", "", NotPermitted(RepairPermission::NotEnabled)),
        ("susp", "n2", "n1", "drbd", "suspend", refused(None)),
        ("suspt", "n2", "n1", "drbd", "suspend:9999999999", refused(Some(9_999_999_999))),
        ("suspold", "n2", "n1", "drbd", "suspend:100", Repair(Failover)),
        ("ext", "n2", "", "ext", "", Well),
        ("failed", "n2", "n1", "drbd", "result:failover:aaaa:1300000000:failure:12+13", Failed),
        ("succ", "n2", "n1", "drbd", "result:failover:bbbb:1300000000:success:12", Repair(Failover)),
        (
            "enop",
            "n2",
            "n3",
            "drbd",
            "result:reinstall:cccc:1300000000:enoperm:",
            BeyondPermission { needed: Reinstall, permitted: Failover },
        ),
        ("pend", "n2", "n1", "drbd", "pending:failover:dddd:1300000000:55", UnderWay),
        ("mig", "n2", "n1", "drbd", "migrate", BeyondPermission { needed: Failover, permitted: Migrate }),
        ("lost", "n2", "", "drbd", "reinstall", Repair(Reinstall)),
        ("alone", "n1", "", "drbd", "reinstall", Well),
    ];
    let instance = |(name, primary, secondary, template, tag, _): &(_, _, _, _, &str, _)| {
        let tag = if tag.is_empty() { String::new() } else { format!("{P}{tag}") };
        format!("{name}|100|1000|1|ADMIN_down|Y|{primary}|{secondary}|{template}|{tag}|1")
    };
    let instances: Vec<String> = rows.iter().map(instance).collect();
    let cluster = groups(&[&format!("g1|{P}failover|"), "g2||"], &nodes, &instances, &[]);
    for (at, (name, .., decision)) in rows.iter().enumerate() {
        let instance = InstanceIdx::new(at);
        assert_eq!(cluster.instance(instance).name, *name);
        assert_eq!(decide(&cluster, instance, 1_795_250_944), *decision, "{name}");
    }
}

#[test]
fn tags_that_contradict_each_other_are_left_to_people() {
    const P: &str = "ganeti:watcher:autorepair:";
    let nodes = ["n1", "n2"].map(|name| format!("{name}|4000|0|4000|60000|60000|32|Y|g|4"));
    let tags = format!("{P}reinstall,{P}pending:failover:u1:100:1,{P}result:failover:u2:200:success:2");
    let rows = [
        format!("x|100|1000|1|running|Y|n1|n2|drbd|{tags}|1"),
        "y|100|1000|1|running|Y|n1|n2|drbd||1".into(),
    ];
    let cluster = groups(&["g||"], &nodes, &rows, &[&format!("{P}reinstall")]);
    let unclear = decide(&cluster, InstanceIdx::new(0), 300);
    let RepairDecision::Unclear(contradiction) = unclear else { panic!("{unclear:?}") };
    assert_eq!(
        contradiction.to_string(),
        format!(
            "found tag \"{P}result:failover:u2:200:success:2\", but the older tag \"{P}pending:failover:u1:100:1\" says that a repair is under way"
        )
    );
    // it keeps nobody else from being mended
    assert_eq!(decide(&cluster, InstanceIdx::new(1), 300), RepairDecision::Repair(RepairKind::Reinstall));
}
